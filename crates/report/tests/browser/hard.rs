//! Runs of 100,000 events, and programs whose names want to run scripts.

use unravel_report::html;

use crate::open;
use crate::support::pages;
use crate::tab::Tab;

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
    assert!(most < 4000, "{most} elements");
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
    assert!(most < 4000, "{most} elements");
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
