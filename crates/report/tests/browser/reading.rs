//! What can be seen: on screens, on paper, in the dark, without scripts.

use serde_json::json;
use unravel_report::html;

use crate::support::{self, explained};
use crate::tab::Tab;
use crate::{is_seen, open_diagnosis};

#[test]
fn every_explanation_opens_without_trouble() {
    let mut tab = Tab::open("");
    for (name, explanation, sources) in explained::explanations() {
        tab.load(&html::explanation(&explanation, &sources));
        let started = tab.get("document.documentElement.classList.contains('started')");
        assert_eq!(started, true, "{name}");
        // What another bug tells is not told again.
        let told = explanation.bugs.iter().filter(|bug| bug.same_cause_as.is_none());
        let diagnosed = told.filter(|bug| bug.verdict.diagnosis().is_some());
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
