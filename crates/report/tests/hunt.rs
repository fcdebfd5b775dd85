//! A hunt, as a person sees it at a terminal and on a page, and as programs read it.

mod support;

use serde_json::json;
use support::hunted;
use unicode_width::UnicodeWidthStr as _;
use unravel_report::json::{self as documents, HuntDocument};
use unravel_report::terminal::{self, Style};
use unravel_report::{Sources, html};
use unravel_results::{Hunt, HuntEnd, HuntGap, HuntStop, Refused};
use unravel_trace::Outcome;

fn text((hunt, sources): &(Hunt, Sources), style: Style) -> String {
    let typed = vec!["src/bank.c -- 3".to_owned(); hunt.exposed.len()];
    terminal::hunt(hunt, sources, style, &typed, Some("unravel-out/bank-hunt.html"))
}

fn plain(hunt: (Hunt, Sources)) -> String {
    text(&hunt, Style::default())
}

/// Without regard to where lines are broken.
#[track_caller]
fn assert_says(text: &str, sentence: &str) {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(text).contains(&words(sentence)), "not found:\n{sentence}\n\nin:\n{text}");
}

#[track_caller]
fn assert_has(text: &str, lines: &str) {
    let lines = lines.trim_matches('\n');
    assert!(text.contains(lines), "not found:\n{lines}\n\nin:\n{text}");
}

#[test]
fn the_verdict_comes_first_then_how_and_what_it_rests_on() {
    let text = plain(hunted::by_path());
    assert!(
        text.starts_with(
            "exposed: assertion 'total == 300' failed at bank.c:31, which 100 runs never showed\n  program bank; 100 of \
             100 runs passed: 3 different combinations of what threads did\n\n✗ assertion"
        ),
        "{text}"
    );
    assert_says(
        &text,
        "
  how        on another path: T0.1 goes another way at bank.c:12 and T0.2 gets another answer
             with the input argument 1 = -7
  found      in attempt 5 (D 3, N 1 would have been enough), after 7 flips and 2 new traces, in 30 ms
  evidence   confirmed: executed twice, failed twice; the run it was derived from passed again
",
    );
    let derived = "How it fails, and the run it was derived from";
    let order = ["Root cause: lost update", derived, "What was searched"];
    let at: Vec<_> = order.iter().map(|part| text.find(part)).collect();
    assert!(at.is_sorted() && at[0].is_some(), "{at:?}: {text}");
    assert_has(&text, "  2 data flows of 4 and 7 events of 11 differ\n");
    assert!(
        text.ends_with(
            "
  replay     unravel replay unravel-out/bank-assertion-1.trace
  causes     unravel causes src/bank.c -- 3
  repair     unravel repair src/bank.c -- 3
  page       unravel-out/bank-hunt.html
"
        ),
        "{text}"
    );
    assert_has(&plain(hunted::by_schedule()), "  how        by the same steps in another order\n");
}

#[test]
fn evidence_is_what_came_of_the_second_execution() {
    let (mut hunt, sources) = hunted::by_path();
    let derived = hunt.exposed[0].derived.as_mut().unwrap();
    derived.failing.outcome = Outcome::Exited { code: 0 };
    let document = documents::hunt(&hunt);
    assert!(!document.exposed[0].executed_again);
    let text = plain((hunt, sources));
    assert_has(&text, "executed twice, but it did NOT fail so again");
    assert!(!text.contains("confirmed: executed"), "{text}");
    assert!(documents::hunt(&hunted::by_path().0).exposed[0].executed_again);
    let (mut hunt, sources) = hunted::by_path();
    hunt.exposed[0].derived.as_mut().unwrap().passing.run.outcome = Outcome::Discarded;
    let text = plain((hunt, sources));
    assert_says(&text, "the run it was derived from did NOT pass again");
    assert!(!text.contains("confirmed: executed"), "{text}");
}

#[test]
fn nobody_claims_that_runs_never_showed_what_they_may_have_shown() {
    let (mut hunt, sources) = hunted::by_schedule();
    hunt.runs.failing = 2;
    hunt.runs.executed = 102;
    let text = plain((hunt, sources));
    assert!(!text.contains("never showed"), "{text}");
    assert_says(&text, "2 of 102 runs failed by themselves, perhaps so");
    // What happened before a hunt began anew is not known any more.
    let (mut hunt, sources) = hunted::by_schedule();
    hunt.effort.renewals = 1;
    assert_has(&plain((hunt, sources)), "which the last 100 runs never showed\n");
    let text = plain(hunted::several());
    assert!(
        text.starts_with(
            "exposed: assertion 'total == 300' failed at bank.c:31, which runs also showed by"
        ),
        "{text}"
    );
    assert_has(&text, "  diagnosis  none: the time was up\n");
}

#[test]
fn what_failed_by_itself_needs_no_hunting() {
    let text = plain(hunted::by_itself());
    assert!(text.starts_with("failed by itself in 3 of 103 runs; nothing to hunt: use"), "{text}");
    assert_has(&text, "  explain    unravel explain src/bank.c -- 3\n");
    assert!(!text.contains("unravel repair"), "{text}");
}

#[test]
fn that_nothing_was_exposed_says_how_far_that_goes() {
    let exhausted = plain(hunted::nothing(HuntEnd::Exhausted));
    assert!(
        exhausted
            .starts_with("nothing exposed: no order of any execution within these bounds fails\n"),
        "{exhausted}"
    );
    assert_has(
        &exhausted,
        "  exhausted: every combination that was seen, and every flip of it within D 16",
    );
    let why = "a question had no answer: too large";
    let gap = HuntGap::Unanswered { why: "too large".into() };
    let open = plain(hunted::nothing(HuntEnd::Incomplete { why: vec![gap] }));
    assert_has(&open, "  not exhausted, although nothing is left to ask");
    assert_has(&open, &format!("  • {why}\n"));
    let stopped = HuntEnd::Stopped { why: HuntStop::Time, left: 12 };
    let stopped = plain(hunted::nothing(stopped));
    assert!(
        stopped.starts_with("nothing exposed before the time was up: 12 branches left to flip\n"),
        "{stopped}"
    );
    for text in [open, stopped] {
        assert!(!text.contains("no order of any execution"), "{text}");
        assert!(!text.contains("  exhausted"), "{text}");
        assert_has(&text, "look further with a larger");
    }
}

#[test]
fn an_end_is_no_proof_if_nothing_was_asked() {
    let (mut hunt, sources) = hunted::nothing(HuntEnd::Exhausted);
    hunt.effort.observed = 0;
    assert_eq!(serde_json::to_value(documents::hunt(&hunt)).unwrap()["verdict"], "open");
    let text = plain((hunt, sources));
    assert!(!text.contains("no order of any execution"), "{text}");
    assert_has(&text, "  not exhausted: no combination that was seen was asked about\n");
}

#[test]
fn without_a_run_that_passed_nothing_is_claimed() {
    let (mut hunt, sources) = hunted::empty();
    let text = plain((hunt.clone(), sources));
    assert!(text.starts_with("inconclusive: no run came to its end"), "{text}");
    assert!(!text.contains("exhausted"), "{text}");
    hunt.runs.executed = 40;
    hunt.runs.unusable = 40;
    assert!(terminal::brief_hunt(&hunt).starts_with("bank: inconclusive: none of 40 runs can be"));
    assert_eq!(serde_json::to_value(documents::hunt(&hunt)).unwrap()["verdict"], "inconclusive");
}

#[test]
fn refusals_are_counted_and_explained() {
    let (mut hunt, sources) = hunted::nothing(HuntEnd::Exhausted);
    let refused = |reason: &str, count| Refused { reason: reason.into(), count };
    hunt.effort.refused =
        vec![refused("a thread could not run", 3), refused("it took another path", 1)];
    hunt.effort.unknown = 1;
    assert_says(
        &plain((hunt, sources)),
        "
  4 orders promised by the solver, 4 refused by execution: a thread could not run (3); it took another
  path (1); 1 question without an answer
",
    );
}

#[test]
fn quiet_is_a_line_a_failure() {
    assert_eq!(
        terminal::brief_hunt(&hunted::by_path().0),
        "bank: assertion at bank.c:31  unravel replay unravel-out/bank-assertion-1.trace\n"
    );
    assert_eq!(terminal::brief_hunt(&hunted::nothing(HuntEnd::Exhausted).0), "");
    assert_eq!(terminal::brief_hunt(&hunted::several().0).lines().count(), 2);
}

#[test]
fn lines_fit_and_nothing_is_obeyed() {
    for (name, hunt, sources) in hunted::all() {
        let made = (hunt, sources);
        for (width, unicode) in [(100, true), (60, false)] {
            let style = Style { width, unicode, ..Style::default() };
            let text = text(&made, style);
            for line in text.lines() {
                // Commands are there to be copied.
                let command = line.contains("unravel ") || line.contains("unravel-out");
                assert!(command || line.width() <= width, "{name} at {width}: {line}");
            }
            assert!(unicode || text.is_ascii(), "{name}: {text}");
        }
    }
    let (mut hunt, sources) = hunted::by_path();
    hunt.exposed[0].failure.message = "\x1b[31mred".into();
    hunt.program = "\x1b[2J".into();
    let quiet = terminal::brief_hunt(&hunt);
    assert!(!plain((hunt, sources)).contains('\x1b') && !quiet.contains('\x1b'));
}

#[test]
fn the_page_has_the_verdict_both_comparisons_and_the_journal() {
    let (hunt, sources) = hunted::by_path();
    let page = html::hunt(&hunt, &sources, &["src/bank.c -- 3".to_owned()]);
    for part in [
        "bank: exposed: assertion 'total == 300' failed at bank.c:31, which 100 runs never showed",
        "How it fails, and the nearest run that passes",
        "How it fails, and the run it was derived from",
        "Run it was derived from",
        "confirmed: executed twice, failed twice",
        "no order fails",
        "unravel repair src/bank.c -- 3",
    ] {
        assert!(page.contains(part), "not found: {part}");
    }
    assert_eq!(page.matches("class=\"explorer\"").count(), 2);
    let (nothing, sources) = hunted::nothing(HuntEnd::Exhausted);
    let page = html::hunt(&nothing, &sources, &[]);
    assert!(page.contains("nothing exposed: no order of any execution within these bounds fails"));
    assert_eq!(page.matches("class=\"explorer\"").count(), 0);
}

#[test]
fn a_document_can_be_read_back_and_says_what_the_hunt_says() {
    for (name, hunt, _) in hunted::all() {
        let document = documents::hunt(&hunt);
        assert_eq!(HuntDocument::read(&document.to_string()).unwrap(), document, "{name}");
    }
    let document = serde_json::to_value(documents::hunt(&hunted::by_path().0)).unwrap();
    assert_eq!(document["schema"], "unravel.hunt/1");
    assert_eq!(document["verdict"], "found");
    let exposed = &document["exposed"][0];
    assert_eq!(exposed["how"], "by-path");
    assert_eq!(exposed["flips"][0]["place"]["line"], 12);
    assert_eq!(exposed["flips"][1]["kind"], "answer");
    assert_eq!(exposed["inputs"], json!([{ "what": "argument 1", "value": "-7" }]));
    assert_eq!(exposed["derived"]["passing"]["projection"]["all_flows"], 4);
    assert_eq!(exposed["replay"], "unravel replay unravel-out/bank-assertion-1.trace");
    assert_eq!(document["journal"][1]["result"], "fails");
    let stopped = HuntEnd::Stopped { why: HuntStop::Time, left: 12 };
    let document = serde_json::to_value(documents::hunt(&hunted::nothing(stopped).0)).unwrap();
    assert_eq!(document["verdict"], "open");
    assert_eq!(
        document["end"],
        json!({ "kind": "stopped", "why": ["the time was up"], "left": 12 })
    );
}
