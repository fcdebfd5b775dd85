//! An explanation as one HTML page that needs nothing else: no network, no other file.
//!
//! All that is text stands in the page as it is loaded, so it can be read without scripts and on paper: what failed,
//! why, the rows of both schedules, the sources. Scripts (`html/page/`) add the lanes and arrows, the step slider with
//! values, the links between rows and source lines, and, on demand, every event of both runs.
//!
//! Texts of the program under test reach the page in two ways only: through `maud`, which escapes them, and as JSON in
//! an inert block, which scripts insert as text. Should both fail, the page's policy lets no script run but ours.
//! The same explanation gives the same bytes.

mod bug;
mod cause;
mod embed;
mod every;
mod facts;
mod panes;
mod row;
mod shown;
mod stages;
mod strings;
mod summary;
mod timeline;
mod twins;
mod values;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use unravel_trace::Explanation;

use crate::escape::visible;
use crate::source::Sources;

/// The page.
pub fn explanation(explanation: &Explanation, sources: &Sources) -> String {
    let title = format!("{} – unravel", explanation.program);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(embed::policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (visible(&title)) }
                style { (PreEscaped(embed::STYLE)) }
            }
            body {
                (summary::header(explanation))
                main {
                    (summary::overview(explanation))
                    @for (index, bug) in explanation.bugs.iter().enumerate() {
                        (bug::section(explanation, index, bug, sources))
                    }
                    (summary::put_aside(explanation))
                }
                (help())
                script type="module" { (PreEscaped(embed::script())) }
            }
        }
    };
    page.into_string()
}

/// What the keys do, shown by `?`.
fn help() -> Markup {
    let keys = [
        ("← →", "k j", "step back and forth through the failing schedule"),
        ("Home End", "", "the first and the last step"),
        ("p n", "", "the previous and the next event of the root cause"),
        ("a", "", "all events, or only those that matter"),
        ("+ −", "Ctrl+wheel", "zoom"),
        ("t", "", "light or dark"),
        ("?", "Esc", "this help"),
    ];
    html! {
        dialog #help aria-labelledby="help-title" {
            h2 #help-title { "Keys" }
            dl {
                @for (keys, also, what) in keys {
                    dt {
                        @for key in keys.split(' ') { kbd { (key) } " " }
                        @for key in also.split(' ').filter(|key| !key.is_empty()) { kbd { (key) } " " }
                    }
                    dd { (what) }
                }
            }
            p { "Click a row to step there, a source line to go to the next event at it, ⋮ to see what is left out." }
            form method="dialog" { button autofocus { "Close" } }
        }
    }
}
