//! Stepping through the failing schedule: slider, keys, rows, source lines, gaps.

use serde_json::json;

use crate::support::{self, explained};
use crate::tab::Tab;
use crate::{is_seen, open, open_diagnosis};

#[test]
fn the_slider_changes_the_values() {
    let mut tab = open_diagnosis(support::lost_update());
    // The first event of the root cause: T0.1 reads total.
    assert_eq!(tab.text(".failing .row.current .what"), "T0.1 read total = 100");
    assert_eq!(tab.value_of("total"), "100");
    tab.get("document.querySelector('.slider').focus()");
    tab.press("ArrowRight");
    assert_eq!(tab.text(".failing .row.current .what"), "T0.2 read total = 100");
    assert_eq!(tab.value_of("total"), "100");
    tab.press("ArrowRight");
    assert_eq!(tab.text(".failing .row.current .what"), "T0.2 write total := 200");
    assert_eq!(tab.value_of("total"), "100 200");
    assert_eq!(tab.count(".values tr.changed"), 1);
    tab.click(".back");
    assert_eq!(tab.value_of("total"), "100");
    // The write of rate is left out, but its value is known afterwards.
    tab.press("Home");
    assert_eq!(tab.value_of("rate"), "–");
    tab.click(".forth");
    assert_eq!(tab.value_of("rate"), "7");
    tab.assert_no_trouble();
}

#[test]
fn who_holds_a_lock_and_who_waits_is_told() {
    let mut tab = open_diagnosis(support::deadlock());
    tab.press("End");
    assert_eq!(tab.value_of("a"), "held by T0.1");
    assert_eq!(tab.value_of("b"), "held by T0.2");
    let threads = tab.text(".threads");
    assert!(threads.contains("T0.111: waits for mutex 'b', held by T0.2"), "{threads}");
    assert_eq!(tab.count(".failing .row.missing"), 2);
    tab.assert_no_trouble();
}

#[test]
fn keys_step_and_zoom() {
    let mut tab = open_diagnosis(support::lost_update());
    let slider = |tab: &mut Tab| tab.get("Number(document.querySelector('.slider').value)");
    assert_eq!(slider(&mut tab), 1);
    for (key, step) in [
        ("j", 2),
        ("ArrowRight", 3),
        ("k", 2),
        ("ArrowLeft", 1),
        ("n", 2),
        ("n", 3),
        ("n", 4),
        ("n", 4),
        ("p", 3),
    ] {
        tab.press(key);
        assert_eq!(slider(&mut tab), step, "{key}");
    }
    tab.press("End");
    assert_eq!(slider(&mut tab), tab.get("Number(document.querySelector('.slider').max)"));
    tab.press("Home");
    assert_eq!(slider(&mut tab), 0);
    let height =
        |tab: &mut Tab| tab.get("document.querySelector('.failing .row').offsetHeight").as_f64();
    let comfortable = height(&mut tab);
    tab.press("-");
    assert!(height(&mut tab) < comfortable);
    tab.press("-");
    assert!(!is_seen(&mut tab, ".failing .row .source"), "the overview has no labels");
    assert!(is_seen(&mut tab, ".failing .row svg"));
    tab.press("+");
    tab.press("+");
    assert_eq!(height(&mut tab), comfortable);
    tab.assert_no_trouble();
}

#[test]
fn keys_with_modifiers_or_in_a_field_are_left_alone() {
    let mut tab = open_diagnosis(support::lost_update());
    tab.press_with("a", 2);
    tab.press_with("j", 1);
    assert_eq!(tab.attribute(".all", "aria-pressed").as_deref(), Some("false"));
    tab.get("document.querySelector('main').prepend(document.createElement('input'))");
    tab.get("document.querySelector('input').focus()");
    tab.press("a");
    assert_eq!(tab.get("document.querySelector('input').value"), "a");
    assert_eq!(tab.attribute(".all", "aria-pressed").as_deref(), Some("false"));
    assert_eq!(tab.get("Number(document.querySelector('.slider').value)"), 1);
}

#[test]
fn rows_and_source_lines_point_at_each_other() {
    let mut tab = open_diagnosis(support::lost_update());
    tab.hover(".failing .row[data-event='10']");
    assert_eq!(tab.text(".sources li.linked .number"), "31");
    assert_eq!(tab.attribute(".passing .row.linked", "data-event").as_deref(), Some("10"));
    let writer = tab.count(".failing .row.linked[data-event='7']");
    assert_eq!(writer, 1, "the write that the read takes its value from");
    tab.hover(".sources li[data-place$=':13']");
    let linked = "[...document.querySelectorAll('.row.linked')].map((row) => row.querySelector('.line').textContent)";
    assert_eq!(tab.get(linked), json!(["13", "13", "13", "13"]));
    tab.click(".sources li[data-place$=':13']");
    assert_eq!(tab.attribute(".failing .row.current", "data-event").as_deref(), Some("6"));
    tab.click(".sources li[data-place$=':13']");
    assert_eq!(tab.attribute(".failing .row.current", "data-event").as_deref(), Some("7"));
    tab.click(".passing .row[data-event='6']");
    assert_eq!(tab.attribute(".failing .row.current", "data-event").as_deref(), Some("5"));
    assert_eq!(tab.text(".sources li.current .number"), "12");
    tab.assert_no_trouble();
}

#[test]
fn gaps_open_one_by_one_or_all_at_once() {
    let mut tab = open_diagnosis(support::lost_update());
    assert_eq!((tab.count(".failing .step"), tab.count(".passing .step")), (8, 7));
    tab.click(".failing .gap button");
    assert_eq!((tab.count(".failing .step"), tab.count(".passing .step")), (11, 7));
    assert_eq!(tab.text(".failing .row[data-event='1'] .what"), "T0 write rate := 7");
    assert_eq!(tab.text(".failing .row[data-event='1'] .source"), "rate = 7;");
    tab.click(".failing .row[data-event='1']");
    assert_eq!(tab.value_of("rate"), "7");
    tab.press("a");
    assert_eq!((tab.count(".failing .step"), tab.count(".passing .step")), (11, 11));
    tab.press("a");
    assert_eq!((tab.count(".failing .step"), tab.count(".passing .step")), (8, 7));
    assert_eq!(tab.attribute(".failing .row.current", "data-event").as_deref(), Some("0"));
    tab.assert_no_trouble();
}

#[test]
fn keys_are_for_the_bug_that_the_reader_looks_at() {
    let (mut several, sources) = explained::several();
    several.bugs[1].same_cause_as = None;
    let mut tab = open((several, sources));
    tab.click("#bug-2 .forth");
    tab.press("End");
    let step = |tab: &mut Tab, bug: u32| {
        tab.get(&format!("document.querySelector('#bug-{bug} .slider').value"))
    };
    assert_eq!((step(&mut tab, 1), step(&mut tab, 2)), (json!("1"), json!("7")));
    tab.click("#bug-1 .forth");
    assert_eq!((step(&mut tab, 1), step(&mut tab, 2)), (json!("2"), json!("7")));
    tab.assert_no_trouble();
}
