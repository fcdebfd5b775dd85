//! The HTML report in a real browser: Chromium, without a window.

mod chromium;
#[path = "../support/mod.rs"]
mod support;
mod tab;

use serde_json::json;
use support::{explained, pages};
use tab::Tab;
use unravel_report::{Sources, html};
use unravel_trace::{Diagnosis, Explanation};

fn open((explanation, sources): (Explanation, Sources)) -> Tab {
    Tab::open(&html::explanation(&explanation, &sources))
}

fn open_diagnosis((diagnosis, sources): (Diagnosis, Sources)) -> Tab {
    open((explained::explanation(vec![explained::diagnosed(diagnosis)]), sources))
}

/// Whether an element has a size.
fn is_seen(tab: &mut Tab, selector: &str) -> bool {
    let size = format!(
        "(() => {{ const box = document.querySelector({})?.getBoundingClientRect();
            return box !== undefined && (box.width > 0 || box.height > 0); }})()",
        json!(selector)
    );
    tab.get(&size) == true
}

#[test]
fn every_explanation_opens_without_trouble() {
    let mut tab = Tab::open("");
    for (name, explanation, sources) in explained::explanations() {
        tab.load(&html::explanation(&explanation, &sources));
        let started = tab.get("document.documentElement.classList.contains('started')");
        assert_eq!(started, true, "{name}");
        let diagnosed = explanation.bugs.iter().filter(|bug| bug.verdict.diagnosis().is_some());
        assert_eq!(tab.count(".explorer"), diagnosed.count() as u64, "{name}");
        tab.assert_no_trouble();
    }
}

#[test]
fn both_schedules_stand_side_by_side_with_lanes_and_arrows() {
    let mut tab = open_diagnosis(support::lost_update());
    for part in [
        ".failing .row.causal",
        ".passing .row.causal",
        ".failing svg .bar",
        ".failing svg path.switch",
        ".failing svg path.flow.enters",
        ".failing svg path.flow.leaves",
        ".passing svg path.flow.enters",
        ".failing svg path.bracket",
        ".failing .row.end",
        ".values tr",
        ".sources li.current",
    ] {
        assert!(is_seen(&mut tab, part), "{part} is not seen");
    }
    assert_eq!(tab.text(".failing .lane-names"), "T0T0.1T0.2");
    let tops = "['failing', 'passing'].map((side) => document.querySelector(`.panel.${side}`).getBoundingClientRect().top)";
    let side_by_side = tab.get(tops);
    assert_eq!(side_by_side[0], side_by_side[1]);
    tab.resize(420, 900);
    let stacked = tab.get(tops);
    assert!(stacked[0].as_f64() < stacked[1].as_f64());
    let overflow = tab.get("document.documentElement.scrollWidth > innerWidth");
    assert_eq!(overflow, false, "a narrow page scrolls sideways");
    tab.assert_no_trouble();
}

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
fn help_opens_and_closes() {
    let mut tab = open_diagnosis(support::lost_update());
    let is_open = "document.querySelector('#help').open";
    tab.press("?");
    assert_eq!(tab.get(is_open), true);
    tab.press("j");
    assert_eq!(
        tab.get("Number(document.querySelector('.slider').value)"),
        1,
        "help covers the page"
    );
    tab.click("#help button");
    assert_eq!(tab.get(is_open), false);
    tab.click("#keys");
    assert_eq!(tab.get(is_open), true);
    tab.assert_no_trouble();
}

#[test]
fn light_and_dark() {
    let ground = "getComputedStyle(document.body).backgroundColor";
    let (explanation, sources) = explained::several();
    let page = html::explanation(&explanation, &sources);
    let mut tab = Tab::open(&page);
    let light = tab.get(ground);
    tab.press("t");
    let dark = tab.get(ground);
    assert_ne!(light, dark);
    tab.click("#theme");
    assert_eq!(tab.get(ground), light);
    let scheme = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    let mut tab = Tab::prepared(&page, |chromium| {
        chromium.call("Emulation.setEmulatedMedia", scheme);
    });
    assert_eq!(tab.get(ground), dark);
    tab.press("t");
    assert_eq!(tab.get(ground), light);
    tab.assert_no_trouble();
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
fn long_runs_open_with_what_matters_and_show_all_on_demand() {
    let (explanation, sources) = pages::long(100_000);
    let diagnosis = explanation.bugs[0].verdict.diagnosis().unwrap();
    let events = diagnosis.failing.trace.events.len() as u64;
    assert!(events >= 100_000);
    let mut tab = Tab::open(&html::explanation(&explanation, &sources));
    assert!(tab.count(".step") < 30);
    assert_eq!(tab.value_of("total"), "100");
    assert_eq!(tab.value_of("mutex"), "free", "what hidden events did is known");
    tab.click(".all");
    let most = tab.count("*");
    assert!(most < 2000, "{most} elements");
    assert_eq!(tab.get("Number(document.querySelector('.slider').max)"), events - 1);
    assert_eq!(tab.text(".failing .row.current .what"), "T0.1 read total = 100");
    tab.press("Home");
    assert_eq!(tab.text(".failing .row.current .what"), "T0.1 lock mutex");
    assert_eq!(tab.value_of("mutex"), "held by T0.1");
    tab.press("End");
    assert_eq!(tab.text(".failing .row.current .what"), "T0 read total = 200");
    tab.get("document.querySelector('.failing .scroller').scrollTop = 1e6");
    tab.get(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))",
    );
    let shown = "[...document.querySelectorAll('.failing .row')].some((row) => {
        const list = document.querySelector('.failing .scroller').getBoundingClientRect();
        const box = row.getBoundingClientRect();
        return box.top >= list.top && box.bottom <= list.bottom && row.textContent.length > 0; })";
    assert_eq!(tab.get(shown), true, "rows appear where one scrolls to");
    let most = tab.count("*");
    assert!(most < 2000, "{most} elements");
    tab.assert_no_trouble();
}

#[test]
fn names_of_the_program_run_nothing() {
    let mut tab = open(pages::injected());
    assert_eq!(tab.count(".explorer"), 1);
    for key in ["a", "End", "k", "k", "Home", "-", "-", "+", "+"] {
        tab.press(key);
    }
    tab.hover(".failing .row[data-event='10']");
    tab.click(".copy");
    assert_eq!(tab.get("typeof window.pwned"), "undefined");
    assert_eq!(tab.count("img, iframe, object, embed, link"), 0);
    assert_eq!(tab.count("script:not([type='application/json'])"), 1);
    assert!(tab.text("h1").contains(pages::INJECTION));
    assert!(tab.text(".sources li code").contains(pages::INJECTION));
    assert!(tab.text(".failing .row[data-event='5'] .what").contains(pages::INJECTION));
    assert!(tab.text(".failing .row[data-event='3'] .what").contains(pages::INJECTION));
    tab.assert_no_trouble();
}

#[test]
fn keys_are_for_the_bug_that_the_reader_looks_at() {
    let mut tab = open(explained::several());
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

#[test]
fn on_paper_there_are_no_controls_and_all_rows() {
    let mut tab = open_diagnosis(support::lost_update());
    tab.press("-");
    tab.press("-");
    tab.chromium.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    tab.get("dispatchEvent(new Event('beforeprint'))");
    for part in [".toolbar", ".state", "#theme", ".copy"] {
        assert!(!is_seen(&mut tab, part), "{part}");
    }
    for part in [".failing .row .source", ".passing .row.end", ".sources li.near", ".numbers td"] {
        assert!(is_seen(&mut tab, part), "{part}");
    }
    tab.get("dispatchEvent(new Event('afterprint'))");
    tab.chromium.call("Emulation.setEmulatedMedia", json!({ "media": "" }));
    assert!(!is_seen(&mut tab, ".failing .row .source"), "the zoom is what it was");
    let pdf = tab.chromium.call("Page.printToPDF", json!({}));
    assert!(pdf["data"].as_str().unwrap().len() > 1000);
    tab.assert_no_trouble();
}

#[test]
fn without_scripts_the_page_can_be_read() {
    let (diagnosis, sources) = support::lost_update();
    let all = explained::explanation(vec![explained::diagnosed(diagnosis)]);
    let mut tab = Tab::prepared(&html::explanation(&all, &sources), |chromium| {
        chromium.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    });
    for part in [
        ".cause .sentence",
        ".orders",
        ".failing .row.causal",
        ".passing .row.end",
        ".sources code",
    ] {
        assert!(is_seen(&mut tab, part), "{part}");
    }
    assert!(!is_seen(&mut tab, ".toolbar"), "controls that do nothing are not shown");
}
