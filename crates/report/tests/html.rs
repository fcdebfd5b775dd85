//! What the HTML report says, as text. How it behaves in a browser is tested in `browser/`.

mod support;

use unravel_report::{Sources, html};
use unravel_results::{Diagnosis, Explanation, Status};

use support::{caused, explained, pages};

fn page((explanation, sources): (Explanation, Sources)) -> String {
    html::explanation(&explanation, &sources)
}

fn page_of((diagnosis, sources): (Diagnosis, Sources)) -> String {
    page((explained::explanation(vec![explained::diagnosed(diagnosis)]), sources))
}

/// The text of a page without tags, its data and its script.
fn text(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, tag)) = rest.split_once('<') {
        text += before;
        let closing = ["script", "style"].iter().find(|name| tag.starts_with(*name));
        let end = closing.map_or(">".to_owned(), |name| format!("</{name}>"));
        let (_, after) = tag.split_once(&end).unwrap();
        text.push(' ');
        rest = after;
    }
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn assert_has(page: &str, parts: &[&str]) {
    let text = text(page);
    for part in parts {
        assert!(text.contains(part), "not found: {part}\n\nin:\n{text}");
    }
}

/// The blocks of data.
fn data(page: &str) -> Vec<serde_json::Value> {
    let blocks = page.split("<script type=\"application/json\"").skip(1);
    let json =
        blocks.map(|block| block.split_once('>').unwrap().1.split_once("</script>").unwrap().0);
    json.map(|json| serde_json::from_str(json).unwrap()).collect()
}

#[test]
fn a_bug_is_told_in_words() {
    let page = page_of(support::lost_update());
    assert_has(
        &page,
        &[
            "unravel bank",
            "1 bug found in 120 schedules",
            "✗ assertion 'total == 300' failed",
            "bank.c:31 in main , thread T0",
            "confirmed by execution",
            "proved minimal",
            "sequential consistency",
            "Root cause: lost update",
            "one update is lost.",
            "T0.1 reads total bank.c:12 int seen = total; before T0.2 writes total bank.c:13 total = seen + 100;",
            "300 schedules that keep these orders: all fail; proved on the recorded path.",
            "each is needed: with that one alone reversed the program passes (executed).",
            "What should hold reading and writing total should be one atomic step",
            "bank.c:12 int seen = total; bank.c:13 total = seen + 100;",
            "unravel replay unravel-out/bank-1.trace Copy",
            "Schedule 12 of the search (strategy portfolio, seed 7) failed so first; 3 of 120 schedules did.",
            "Replayed, it failed again.",
            "T0.2 read total = 100 ● ◀ from T0:25",
            "9 in the run given, 4 after reduction",
            "[[suppress]] kind = \"assertion\" site = \"bank.c:31\" reason = \"…\"",
        ],
    );
}

#[test]
fn what_is_not_known_is_said() {
    assert_has(
        &page_of(support::order_violation()),
        &[
            "best found, gap at most 1",
            "not reached in the failing run",
            "condition waits without a signal were not explored",
        ],
    );
    let (mut diagnosis, sources) = support::order_violation();
    diagnosis.status = Status::Modelled;
    assert_has(&page_of((diagnosis, sources)), &["modelled (the trace cannot be executed)"]);
    assert_has(
        &page_of(support::inconclusive()),
        &[
            "inconclusive because no passing run was found in 1000 schedules",
            "no run that passes was found",
        ],
    );
    let undiagnosed = explained::explanation(vec![explained::undiagnosed()]);
    assert_has(
        &page((undiagnosed, Sources::none())),
        &["not diagnosed the time was up", "unravel diagnose unravel-out/bank-1.trace"],
    );
    assert_has(&page_of(support::without_lines()), &["There is no line information"]);
    let (diagnosis, _) = support::lost_update();
    assert_has(&page_of((diagnosis, Sources::none())), &["src/bank.c This file was not found"]);
}

#[test]
fn several_bugs_are_listed_and_linked() {
    let page = page(explained::several());
    assert_has(
        &page,
        &[
            "Bug 2 of 3",
            "Its root cause is that of bug 1 .",
            "same cause as bug 1",
            "Put aside by unravel.toml",
            "deadlock at bank.c:88 seen in 4 schedules: known, see ticket 17",
            "deadlock at bank.c:99 not seen: known, see ticket 17",
            "one worker ended early",
        ],
    );
    for bug in 1..=3 {
        assert!(page.contains(&format!("href=\"#bug-{bug}\"")));
        assert!(page.contains(&format!("id=\"bug-{bug}\"")));
    }
}

#[test]
fn nothing_found_says_what_was_tried_and_how_to_go_on() {
    let nothing = explained::explanation(vec![]);
    assert_has(
        &page((nothing, Sources::none())),
        &[
            "no failure found in 120 schedules",
            "not a proof",
            "strategy portfolio, seed 7",
            "look further with --time",
        ],
    );
    assert_has(&page((explained::all_inconclusive(), Sources::none())), &["it calls 'fork'"]);
}

#[test]
fn the_page_needs_nothing_else_and_is_the_same_each_time() {
    for (name, explanation, sources) in explained::explanations() {
        let page = html::explanation(&explanation, &sources);
        assert_eq!(page, html::explanation(&explanation, &sources), "{name}");
        // The name of SVG's elements is no address.
        let addresses = page.replace("http://www.w3.org/2000/svg", "");
        for loaded in
            ["http://", "https://", "url(", "@import", "import(", "fetch(", "<link", "<img"]
        {
            assert!(!addresses.contains(loaded), "{name}: {loaded}");
        }
        assert!(!page.contains(" style="), "{name}: the policy refuses style attributes");
        data(&page);
    }
}

#[test]
fn what_the_program_says_is_text() {
    let page = page(pages::injected());
    assert!(!page.contains("<script>window"));
    assert!(!page.contains("<img"));
    assert!(!page.contains("<svg"));
    assert_eq!(page.matches("<script type=\"module\">").count(), 1);
    assert_eq!(page.matches("<script").count(), 1 + data(&page).len());
    // Direction overrides and control characters are written out.
    let page = self::page(explained::hostile_explanation());
    assert!(!page.contains(['\u{202e}', '\x1b', '\x07', '\u{9b}']));
    assert_has(&page, &["\\u{202e}"]);
}

#[test]
fn long_files_are_shown_near_the_lines_that_matter() {
    let (diagnosis, _) = support::lost_update();
    let long: Vec<String> = (1..=1000).map(|line| format!("line {line};")).collect();
    let sources = Sources::none().with(support::FILE, &long.join("\n"));
    let page = page_of((diagnosis, sources));
    let text = text(&page);
    assert!(text.contains("46 line 46;") && !text.contains("47 line 47;"));
}

#[test]
fn every_event_is_there_on_demand() {
    let (explanation, sources) = pages::long(2_000);
    let page = html::explanation(&explanation, &sources);
    let [shown, every] = data(&page).try_into().unwrap();
    let diagnosis = explanation.bugs[0].verdict.diagnosis().unwrap();
    let events = diagnosis.failing.trace.events.len();
    assert_eq!(shown["failing"]["events"], events);
    assert!(shown["changes"].as_array().unwrap().len() < 200);
    for column in ["thread", "place", "verb", "name", "rest", "twin"] {
        for side in ["failing", "passing"] {
            assert_eq!(every[side][column].as_array().unwrap().len(), events, "{side} {column}");
        }
    }
    assert!(page.matches("<li class=\"row").count() < 40);
}

#[test]
fn all_causes_and_how_far_they_are_complete_are_told() {
    let (causes, sources) = caused::figure_3_2();
    let page = html::causes(&causes, &sources);
    assert_has(
        &page,
        &[
            "bank: 2 causes; 2 of 27 classes of schedules fail",
            "complete: all 27 classes of schedules of this input, up to 20,000,000 steps a run",
            "✗ assertion 'x == y' failed",
            "unravel replay unravel-out/bank-1.trace",
            "unravel repair src/bank.c -- 3",
            "Cause 2 of 2: atomicity violation T0.1 comes between two writes of T0.2.",
            "What should hold no other thread should come between bank.c:5 and bank.c:6.",
            "the same two regions as cause 1, the other way round",
            "bank.c:11 → bank.c:6 y",
            "reduction ratio 50.0%",
        ],
    );
    assert_eq!(page, html::causes(&causes, &sources), "the same causes give the same bytes");
    let (early, sources) = caused::too_early();
    assert_has(&html::causes(&early, &sources), &["writes session->band (not reached)"]);
    let (incomplete, sources) = caused::incomplete();
    assert_has(
        &html::causes(&incomplete, &sources),
        &[
            "left: parts are missing; what follows the creation of 128 threads",
            "✗ abort was called",
            "values of __VERIFIER_nondet_* were fixed",
        ],
    );
    let (sequential, sources) = caused::sequential();
    let page = html::causes(&sequential, &sources);
    assert_has(&page, &["bank: fails under every schedule: this is a sequential bug"]);
    assert!(!page.contains("unravel repair"));
    let (nothing, sources) = caused::nothing_fails();
    assert_has(
        &html::causes(&nothing, &sources),
        &["bank: no failure: all 27 classes of schedules explored"],
    );
}

#[test]
fn repairs_stand_below_the_causes_with_their_diffs() {
    let (repairs, sources) = caused::repaired();
    let patches = ["unravel-out/repair-1.diff".to_owned()];
    let page = html::repairs(&repairs, &sources, &patches);
    assert_has(
        &page,
        &[
            "Cause 2 of 2: atomicity violation",
            "2 repairs found, the best first",
            "Repair 1 of 2 a new mutex around bank.c:5 to 6 and bank.c:10 to 11 new lock every class of schedules passes \
             rules out both causes",
            "virtually: all 12 classes of schedules pass",
            "keeps 6 of 8 passing classes",
            "patch -p1 < unravel-out/repair-1.diff",
            "not every schedule was tried",
            "patched and compiled: 2,000 schedules, none fails; not all: parts are missing",
            "Tried, and no repair take 'm' around bank.c:5 : deadlocks:",
        ],
    );
    assert!(page.contains("<span class=\"removed\">-  y = 0; // slow\n</span>"), "{page}");
    assert_eq!(page.matches("patch -p1").count(), 1, "the other diff was not written");
    let (none, sources) = caused::unrepaired();
    assert_has(
        &html::repairs(&none, &sources, &[]),
        &["no repair found: 1 candidate tried, none stood the checks"],
    );
}

#[test]
fn an_explanation_has_its_repair_beside_the_bug_and_ends_with_all_causes() {
    let page = page(explained::repaired());
    assert_has(
        &page,
        &[
            "2 causes; 2 of 27 classes of schedules fail complete: all 27 classes of schedules",
            "Cause 2 of 2: atomicity violation",
            "Repair: a new mutex around bank.c:5 to 6 and bank.c:10 to 11",
            "Repair 2 of 2",
            "patch -p1 < unravel-out/bank-repair-1.diff",
            "Tried, and no repair",
        ],
    );
    let at = |id: &str| page.find(&format!("id=\"{id}\"")).expect(id);
    let order = ["bug-1", "repair-1", "cause-1", "repair-2"].map(at);
    assert!(order.is_sorted(), "the best repair stands beside its bug: {order:?}");
    assert_eq!(page.matches("id=\"bug-1\"").count(), 1, "the failures are told once");
    let without = self::page(explained::several());
    assert!(!without.contains("class=\"causes\"") && !without.contains("repair-1"));
}

#[test]
fn texts_of_causes_and_repairs_are_escaped() {
    let (repairs, sources) = caused::injected_repairs();
    let page = html::repairs(&repairs, &sources, &[pages::INJECTION.to_owned()]);
    assert_eq!(page.matches("<script").count(), 1, "ours");
    let (_, injected, sources) = explained::explanations()
        .into_iter()
        .find(|(name, ..)| *name == "injected repairs")
        .expect("one has repairs that inject");
    let all = html::explanation(&injected, &sources);
    assert_eq!(all.matches("<script").count(), 1 + data(&all).len(), "ours");
    assert!(!all.contains("<img") && !all.contains("<!--") && !all.contains("<svg onload"));
    assert!(!page.contains("<img") && !page.contains("<!--") && !page.contains("<svg onload"));
    assert!(!page.contains(['\x1b', '\u{202e}']));
}
