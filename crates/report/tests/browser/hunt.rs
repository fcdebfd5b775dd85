//! The page of a hunt.

use unravel_report::html;

use crate::is_seen;
use crate::support::{hunted, pages};
use crate::tab::Tab;

#[test]
fn every_page_opens_without_trouble_and_nothing_is_wider_than_it() {
    let mut tab = Tab::open("");
    for (name, hunt, sources) in hunted::all() {
        let typed = vec![pages::INJECTION.to_owned(); hunt.exposed.len()];
        let page = html::hunt(&hunt, &sources, &typed);
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
fn both_comparisons_can_be_stepped_through() {
    let (hunt, sources) = hunted::by_path();
    let mut tab = Tab::open(&html::hunt(&hunt, &sources, &["src/bank.c".to_owned()]));
    assert_eq!(tab.count(".explorer"), 2);
    assert_eq!(tab.count(".explorer .panel.passing"), 2);
    assert!(is_seen(&mut tab, ".journal td"));
    let titles = "[...document.querySelectorAll('.panel.passing h4')].map((h) => h.textContent)";
    assert_eq!(
        tab.get(titles),
        serde_json::json!(["✓ Nearest passing schedule", "✓ Run it was derived from"])
    );
    let steps = "[...document.querySelectorAll('.explorer')].map((root) => {
        const before = root.querySelector('.where').textContent;
        root.querySelector('.back').click();
        return before !== root.querySelector('.where').textContent; })";
    assert_eq!(tab.get(steps), serde_json::json!([true, true]));
    tab.assert_no_trouble();
}
