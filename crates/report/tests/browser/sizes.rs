//! Pages with few and many threads, steps and bugs: everything can be read on screens of every width.

use serde_json::json;
use unravel_report::html;

use crate::support::{explained, pages};
use crate::tab::Tab;

const WIDTHS: [u32; 3] = [400, 800, 1400];

/// Three, eight and thirty threads, one bug and five, short and long runs.
pub fn pages_of_all_sizes() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for threads in [3, 8, 30] {
        let (explanation, sources) = pages::threads(threads);
        all.push((format!("{threads} threads"), html::explanation(&explanation, &sources)));
    }
    let bugs = [3, 8, 30, 3, 8].map(|threads| {
        let (mut explanation, _) = pages::threads(threads);
        explanation.bugs.remove(0)
    });
    let (_, sources) = pages::threads(3);
    let five = explained::explanation(bugs.into_iter().collect());
    all.push(("five bugs".to_owned(), html::explanation(&five, &sources)));
    let (explanation, sources) = pages::long(2_000);
    all.push(("long".to_owned(), html::explanation(&explanation, &sources)));
    all
}

#[test]
fn nothing_is_cut_off_at_any_width() {
    let mut tab = Tab::open("");
    // What is wider than its box, and whose box neither shows what stands out nor scrolls.
    let cut = "[...document.querySelectorAll('main *')].filter((node) => {
        const style = getComputedStyle(node);
        return node.scrollWidth > node.clientWidth + 1 && style.overflowX === 'hidden' && node.clientWidth > 0
            && !node.closest('thead'); }).map((node) => `${node.className || node.tagName}: ${node.textContent.slice(0, 60)}`)";
    let sideways = "document.documentElement.scrollWidth > innerWidth";
    for (name, page) in pages_of_all_sizes() {
        for width in WIDTHS {
            tab.resize(width, 900);
            tab.load(&page);
            assert_eq!(tab.get(sideways), false, "{name} scrolls sideways at {width}");
            assert_eq!(tab.get(cut), json!([]), "{name} is cut off at {width}");
            tab.assert_no_trouble();
        }
    }
}

#[test]
fn badges_stand_beside_the_code() {
    let mut tab = Tab::open("");
    let over = "[...document.querySelectorAll('.sources .badges')].filter((badges) => {
        const code = document.createRange();
        code.selectNodeContents(badges.closest('li').querySelector('code'));
        const box = badges.getBoundingClientRect();
        return [...code.getClientRects()].some((line) => line.width > 0 && line.left < box.right - 1
            && box.left < line.right - 1 && line.top < box.bottom - 4 && box.top < line.bottom - 4); })
        .map((badges) => badges.closest('li').textContent)";
    for (name, page) in pages_of_all_sizes() {
        for width in WIDTHS {
            tab.resize(width, 900);
            tab.load(&page);
            assert!(tab.count(".sources .badges") > 0, "{name}");
            assert_eq!(tab.get(over), json!([]), "{name} at {width}");
        }
    }
}

#[test]
fn lanes_are_as_high_as_their_rows() {
    let mut tab = Tab::open("");
    let gaps = "[...document.querySelectorAll('.panel .row')].filter((row) =>
        Math.abs(row.querySelector('svg').getBoundingClientRect().height - row.offsetHeight) > 1)
        .map((row) => row.textContent)";
    for (name, page) in pages_of_all_sizes() {
        for width in [1400, 400] {
            // Also where a page is made narrower after it was opened.
            if width == 1400 {
                tab.resize(width, 900);
                tab.load(&page);
            } else {
                tab.resize(width, 900);
                tab.get("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
            }
            assert_eq!(tab.get(gaps), json!([]), "{name} at {width}");
        }
    }
}

#[test]
fn a_long_run_has_a_strip_that_leads_everywhere() {
    let (explanation, sources) = pages::long(2_000);
    let mut tab = Tab::open(&html::explanation(&explanation, &sources));
    assert_eq!(tab.count(".strip"), 1);
    assert!(tab.count(".strip .causal") >= 4, "where the root cause is");
    let now = |tab: &mut Tab| tab.attribute(".strip .now", "x1").unwrap().parse::<f64>().unwrap();
    tab.press("Home");
    let first = now(&mut tab);
    tab.press("End");
    assert!(now(&mut tab) > first);
    tab.press("a");
    tab.click(".strip");
    let middle = tab.get("Number(document.querySelector('.failing .row.current').dataset.event)");
    assert!((900..=1100).contains(&middle.as_u64().unwrap()), "{middle}");
    let (short, sources) = pages::threads(3);
    tab.load(&html::explanation(&short, &sources));
    assert_eq!(tab.count(".strip"), 0, "a short run is seen at a glance");
    tab.assert_no_trouble();
}

#[test]
fn every_step_has_an_address() {
    let (explanation, sources) = pages::threads(8);
    let page = html::explanation(&explanation, &sources);
    let mut tab = Tab::open(&page);
    tab.press("End");
    let last = tab.attribute(".failing .row.current", "data-event");
    let address = tab.get("location.hash").as_str().unwrap().to_owned();
    assert_eq!(tab.attribute(".link", "href").as_deref(), Some(&*address));
    tab.press("Home");
    assert_ne!(tab.attribute(".failing .row.current", "data-event"), last);
    tab.get(&format!("location.hash = {}; 0", json!(address)));
    tab.get("new Promise((done) => setTimeout(done, 50))");
    assert_eq!(tab.attribute(".failing .row.current", "data-event"), last);
    // An address that names nothing leaves the page as it opens.
    tab.get("location.hash = '#step-9-9'; 0");
    tab.get("new Promise((done) => setTimeout(done, 50))");
    assert_eq!(tab.attribute(".failing .row.current", "data-event"), last);
    tab.assert_no_trouble();
}
