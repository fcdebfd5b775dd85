//! An explanation, all causes, repairs or a hunt as one HTML page that needs nothing else: no network, no other file.
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
mod cause_graph;
mod causes;
mod embed;
mod every;
mod facts;
mod hunt;
mod panes;
mod repairs;
mod row;
mod shown;
mod stages;
mod strings;
mod strip;
mod summary;
mod timeline;
mod twins;
mod values;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use unravel_results::{Causes, Explanation, Hunt, Repairs};

use crate::escape::visible;
use crate::source::Sources;

/// The page of an explanation.
pub fn explanation(explanation: &Explanation, sources: &Sources) -> String {
    let body = html! {
        (summary::header(&explanation.program, true))
        main {
            (summary::overview(explanation))
            @for (index, bug) in explanation.bugs.iter().enumerate() {
                (bug::section(explanation, index, bug, sources))
            }
            @if let Some(repairs) = &explanation.repairs {
                (causes::verdict(&repairs.causes))
                (causes::graphs(&repairs.causes, sources))
                (repairs::others(repairs, &explanation.patches))
            }
            (summary::put_aside(explanation))
            (summary::search(explanation))
        }
        (help())
    };
    page(&explanation.program, &embed::explanation_script(), &body)
}

/// The page of all causes.
pub fn causes(causes: &Causes, sources: &Sources) -> String {
    let body = html! {
        (summary::header(&causes.program, false))
        main {
            (causes::overview(causes))
            (causes::sections(causes, sources))
        }
    };
    page(&causes.program, &embed::reading_script(), &body)
}

/// The page of repairs, with the causes above. `patches` are the files that the diffs were written to, one each, if they
/// were.
pub fn repairs(repairs: &Repairs, sources: &Sources, patches: &[String]) -> String {
    let causes = &repairs.causes;
    let body = html! {
        (summary::header(&causes.program, false))
        main {
            (causes::overview(causes))
            (causes::sections(causes, sources))
            (repairs::sections(repairs, patches))
        }
    };
    page(&causes.program, &embed::reading_script(), &body)
}

/// The page of a hunt. `typed` is how the program of each failure is typed again, with the input it needs.
pub fn hunt(hunt: &Hunt, sources: &Sources, typed: &[String]) -> String {
    let body = html! {
        (summary::header(&hunt.program, true))
        main {
            (hunt::overview(hunt))
            @for index in 0..hunt.exposed.len() { (hunt::section(hunt, index, typed.get(index), sources)) }
            (hunt::searched(hunt))
        }
        (help())
    };
    page(&hunt.program, &embed::explanation_script(), &body)
}

/// What all pages have around them.
fn page(program: &str, script: &str, body: &Markup) -> String {
    let title = format!("{program} – unravel");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(embed::policy(script));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (visible(&title)) }
                style { (PreEscaped(embed::STYLE)) }
            }
            body {
                (body)
                script type="module" { (PreEscaped(script)) }
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
