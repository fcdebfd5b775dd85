//! The HTML report in a real browser: Chromium, without a window.

mod axe;
mod causes;
mod chromium;
mod hard;
mod hunt;
mod reading;
mod sizes;
mod stepping;
#[path = "../support/mod.rs"]
mod support;
mod tab;

use serde_json::json;
use unravel_report::{Sources, html};
use unravel_results::{Diagnosis, Explanation};

use support::explained;
use tab::Tab;

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
