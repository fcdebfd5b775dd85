//! Annotations: one a line, within GitHub's limits, and nothing of the program begins one.

mod support;

use support::explained;
use unravel_report::annotations;

#[test]
fn a_bug_is_an_error_its_root_cause_a_warning_a_known_bug_a_notice() {
    let (several, _) = explained::several();
    let text = annotations::explanation(&several);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "::error file=src/bank.c,line=31,col=5,title=unravel%3A assertion (lost update)::assertion 'total == 300' \
         failed%0ARoot cause: T0.1 and T0.2 both read total (bank.c:12 and bank.c:12) before either writes it back \
         (bank.c:13 and bank.c:13): one update is lost.%0Areading and writing total should be one atomic step: from \
         bank.c:12 to bank.c:13%0AReplay: unravel replay unravel-out/bank-1.trace"
    );
    assert!(lines[1].starts_with("::error file=src/bank.c,line=33,"), "{text}");
    assert!(lines[2].contains("%0AWhy it happens is not known: the time was up%0A"), "{text}");
    assert_eq!(
        lines[3],
        "::warning file=src/bank.c,line=12,col=5,title=unravel%3A root cause of assertion at bank.c%3A31::T0.1 reads \
         total before T0.2 writes total (bank.c:13)%0AT0.2 reads total before T0.1 writes total (bank.c:13)"
    );
    assert!(lines[4].starts_with("::warning file=src/bank.c,line=13,"), "{text}");
    assert!(lines[5].starts_with("::notice file=src/bank.c,line=88,title="), "{text}");
    assert!(lines[6].starts_with("::notice title="), "other.c is not known: {text}");
    assert_eq!(lines.len(), 7, "the second bug has the root cause of the first: {text}");
}

#[test]
fn nothing_found_is_nothing_said_unless_nothing_was_followed() {
    assert_eq!(annotations::explanation(&explained::explanation(vec![])), "");
    let text = annotations::explanation(&explained::all_inconclusive());
    assert!(text.starts_with("::warning title=unravel%3A inconclusive::"), "{text}");
    assert!(text.contains("it calls 'fork'"), "{text}");
}

#[test]
fn there_are_no_more_than_github_shows() {
    let (diagnosis, _) = support::many(6, "sum", 1, 1);
    let bugs = (1..=25).map(|line| {
        let mut diagnosis = diagnosis.clone();
        diagnosis.failure.stack[0].line = line;
        explained::diagnosed(diagnosis)
    });
    let mut many = explained::explanation(bugs.collect());
    many.put_aside =
        (1..30).map(|line| explained::put_aside(&format!("bank.c:{line}"), 1)).collect();
    let text = annotations::explanation(&many);
    for level in ["error", "warning", "notice"] {
        let of_level = text.lines().filter(|line| line.starts_with(&format!("::{level} ")));
        assert_eq!(of_level.count(), 10, "{level}: {text}");
    }
    let last = text.lines().nth(9).unwrap();
    assert_eq!(
        last,
        "::error title=unravel::16 more bugs were found. All of them: unravel explain src/bank.c --seed 7"
    );
}

#[test]
fn nothing_of_the_program_begins_a_command_or_ends_a_property() {
    for (name, explanation, _) in explained::explanations() {
        for line in annotations::explanation(&explanation).lines() {
            let (head, _) = line[2..].split_once("::").expect(name);
            let (level, properties) = head.split_once(' ').expect(name);
            assert!(["error", "warning", "notice"].contains(&level), "{name}: {line}");
            for property in properties.split(',') {
                let (key, value) = property.split_once('=').expect(name);
                assert!(["file", "line", "col", "title"].contains(&key), "{name}: {line}");
                assert!(!value.contains(':'), "{name}: {line}");
            }
            assert!(!line.contains(char::is_control), "{name}: {line:?}");
        }
    }
    let (hostile, _) = explained::hostile_explanation();
    let text = annotations::explanation(&hostile);
    assert!(text.starts_with("::error file=a b/ü#?%25%2C%3A\\n.c,line=3,col=7,"), "{text}");
}
