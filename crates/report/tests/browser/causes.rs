//! The pages of all causes and of repairs.

use serde_json::json;
use unravel_report::html;

use crate::is_seen;
use crate::support::{self, caused};
use crate::tab::Tab;

const PATCHES: [&str; 2] = ["unravel-out/repair-1.diff", "unravel-out/repair-2.diff"];

fn repaired() -> String {
    let (repairs, sources) = caused::repaired();
    html::repairs(&repairs, &sources, &PATCHES.map(str::to_owned))
}

/// Where the boxes of events are: `[left, top, right, bottom]` each.
fn boxes(tab: &mut Tab, cause: &str) -> Vec<[f64; 4]> {
    let script = format!(
        "[...document.querySelectorAll('{cause} .event rect')].map((node) => {{
            const box = node.getBoundingClientRect();
            return [box.left, box.top, box.right, box.bottom]; }})"
    );
    serde_json::from_value(tab.get(&script)).unwrap()
}

#[test]
fn every_page_opens_without_trouble_and_nothing_is_wider_than_it() {
    let mut tab = Tab::open("");
    let mut pages: Vec<(&str, String)> = caused::all()
        .into_iter()
        .map(|(name, causes, sources)| (name, html::causes(&causes, &sources)))
        .collect();
    pages.push(("repairs", repaired()));
    let (injected, sources) = caused::injected_repairs();
    pages.push((
        "injected",
        html::repairs(&injected, &sources, &[support::pages::INJECTION.into()]),
    ));
    for (name, page) in pages {
        for width in [1400, 420] {
            tab.resize(width, 900);
            tab.load(&page);
            let started = tab.get("document.documentElement.classList.contains('started')");
            assert_eq!(started, true, "{name}");
            assert_eq!(tab.get("window.pwned === undefined"), true, "{name}");
            let overflow = tab.get("document.documentElement.scrollWidth > innerWidth");
            assert_eq!(overflow, false, "{name} scrolls sideways at {width}");
            tab.assert_no_trouble();
        }
    }
}

#[test]
fn causes_stand_side_by_side_with_a_row_an_event() {
    let (causes, sources) = caused::figure_3_2();
    let mut tab = Tab::open(&html::causes(&causes, &sources));
    assert_eq!(tab.count(".cause-class"), 2);
    assert_eq!((tab.count("#cause-1 .event"), tab.count("#cause-1 .causal-order")), (4, 2));
    assert_eq!(tab.text("#cause-1 .event:nth-of-type(1) .source"), "5: x = 0;");
    let [first, second] = [boxes(&mut tab, "#cause-1"), boxes(&mut tab, "#cause-2")];
    assert_eq!(first[0][1], second[0][1], "side by side");
    for pair in first.windows(2) {
        assert!(pair[0][3] <= pair[1][1], "time goes down: {first:?}");
    }
    assert!(first[0][2] < first[1][0], "T0.2 is right of T0.1: {first:?}");
    assert_eq!(first[0][0], first[3][0], "one column a thread: {first:?}");
    let inside = "[...document.querySelectorAll('.event')].every((event) => {
        const right = event.querySelector('rect').getBoundingClientRect().right;
        return [...event.querySelectorAll('text')].every((text) => text.getBoundingClientRect().right <= right); })";
    assert_eq!(tab.get(inside), true, "texts stay in their boxes");
    tab.resize(420, 900);
    let [first, second] = [boxes(&mut tab, "#cause-1"), boxes(&mut tab, "#cause-2")];
    assert!(first[3][3] < second[0][1], "one below the other");
}

#[test]
fn arrows_end_at_their_boxes() {
    let (causes, sources) = caused::three_threads();
    let mut tab = Tab::open(&html::causes(&causes, &sources));
    let boxes = boxes(&mut tab, "#cause-1");
    let heads = "[...document.querySelectorAll('.causal-head')].map((node) => {
        const box = node.getBoundingClientRect(); return [box.left, box.right, (box.top + box.bottom) / 2]; })";
    let heads: Vec<[f64; 3]> = serde_json::from_value(tab.get(heads)).unwrap();
    // In order: to 30 from the left, to 10 from the right, to 32 from the left.
    for (head, (to, side)) in heads.iter().zip([(1, 0), (3, 2), (4, 0)]) {
        let [left, right, middle] = *head;
        let point = if side == 0 { right } else { left };
        assert!((point - boxes[to][side]).abs() < 2.0, "{head:?} at {:?}", boxes[to]);
        assert!(boxes[to][1] < middle && middle < boxes[to][3], "{head:?} at {:?}", boxes[to]);
    }
}

#[test]
fn light_dark_and_paper() {
    let ground = "getComputedStyle(document.body).backgroundColor";
    let added = "getComputedStyle(document.querySelector('.diff .added')).backgroundColor";
    let mut tab = Tab::open(&repaired());
    let light = (tab.get(ground), tab.get(added));
    tab.press("t");
    let dark = (tab.get(ground), tab.get(added));
    assert!(light.0 != dark.0 && light.1 != dark.1, "{light:?} {dark:?}");
    tab.click("#theme");
    assert_eq!((tab.get(ground), tab.get(added)), light);
    tab.chromium.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    assert!(!is_seen(&mut tab, "#theme") && !is_seen(&mut tab, ".copy"));
    assert!(is_seen(&mut tab, ".cause-graph") && is_seen(&mut tab, ".diff .added"));
    tab.assert_no_trouble();
}

#[test]
fn without_scripts_everything_is_there() {
    let mut tab = Tab::prepared(&repaired(), |chromium| {
        chromium.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    });
    for part in
        ["#cause-2 .causal-order", ".line-orders", "#repair-1 .diff .removed", ".checked li"]
    {
        assert!(is_seen(&mut tab, part), "{part}");
    }
}
