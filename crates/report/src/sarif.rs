//! An explanation as SARIF 2.1.0 (OASIS), for code-scanning services and editors.
//!
//! One run. A rule a kind of failure, a result a bug, a code flow for the failing run and one for the nearest run that
//! passes; in a code flow a thread flow a thread, and `executionOrder` is the interleaving. A bug that was not diagnosed
//! is a result all the same. The best repair is a `fix` of each. `docs/formats/sarif.md` says what is where.
//!
//! Not here: the parts of SARIF that a search has nothing to say to. A known bug that `unravel.toml` puts aside is a
//! suppressed result if it was seen and if its file is known; else it is a notification, because a result at a guessed
//! place would be wrong where it matters.

mod fingerprint;
mod fix;
mod flow;
mod log;
mod place;
mod result;
mod rules;

use std::collections::BTreeMap;

use unravel_results::{Explanation, PutAside, Stopped};
use unravel_trace::Place;

pub use log::Log;

use crate::escape::visible;
use crate::source::Sources;
use crate::words::count;
use crate::{file_names, searched, site};
use log::{
    Artifact, AutomationDetails, Driver, Invocation, Message, Notification, Run, RunProperties,
    Tool,
};
use place::Places;

/// Where the schema of this format is published.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The log; its `Display` is the text, on one line or (`{:#}`) indented.
pub fn explanation(explanation: &Explanation, sources: &Sources) -> Log {
    let mut places = Places::new(sources);
    let names = file_names::of_explanation(explanation);
    let bugs = explanation.bugs.iter();
    let mut results: Vec<_> =
        bugs.map(|bug| result::bug(explanation, bug, &names, &mut places)).collect();
    let mut notifications = notifications(explanation);
    for known in explanation.put_aside.iter().filter(|known| known.times > 0) {
        match place_of(explanation, known, sources) {
            Some(place) => results.push(result::put_aside(known, &place, &mut places)),
            None => notifications.push(Notification::new("note", &put_aside(known))),
        }
    }
    let explored = &explanation.explored;
    let run = Run {
        tool: Tool {
            driver: Driver {
                name: "unravel",
                semantic_version: env!("CARGO_PKG_VERSION"),
                rules: rules::all(),
            },
        },
        // What is before the last '/' tells the runs of several programs apart.
        automation_details: AutomationDetails {
            id: format!("unravel/{}/", visible(&explanation.program)),
        },
        invocations: [Invocation {
            command_line: explanation.command.clone(),
            execution_successful: explored.stopped != Stopped::AllInconclusive,
            tool_execution_notifications: notifications,
        }],
        artifacts: places.files().map(Artifact::new).collect(),
        column_kind: "utf16CodeUnits",
        results,
        properties: RunProperties {
            program: explanation.program.clone(),
            memory_model: "sequential consistency",
            strategy: explored.strategy.clone(),
            seed: explored.seed,
            schedules: explored.tally.schedules,
            inconclusive: explored.tally.inconclusive,
            stopped: explored.stopped.name(),
        },
    };
    Log { version: "2.1.0", schema: SCHEMA, runs: [run] }
}

/// What came of the search, and what the reader should know besides.
fn notifications(explanation: &Explanation) -> Vec<Notification> {
    let explored = &explanation.explored;
    let said = searched::searched(&explanation.program, explored, explanation.bugs.len());
    let incomplete = matches!(explored.stopped, Stopped::AllInconclusive | Stopped::Interrupted);
    let level = if incomplete { "warning" } else { "note" };
    let headline = Notification::new(level, &said.headline);
    let notes = said.notes.iter().chain(&explanation.notes);
    [headline].into_iter().chain(notes.map(|note| Notification::new("note", note))).collect()
}

fn put_aside(known: &PutAside) -> String {
    let times = count(known.times, "schedule");
    format!("{}: {times} failed so. Put aside in unravel.toml: {}", known.bug, known.reason)
}

/// The place of a bug that is put aside: in a file that other places name, or that can be read under the name that was written.
fn place_of(explanation: &Explanation, known: &PutAside, sources: &Sources) -> Option<Place> {
    let site = &known.bug.site;
    let bare = || {
        let (file, line) = (site.file.as_str().into(), site.line?);
        let place = Place { function: "".into(), file, line, column: 0, wrapper: false };
        sources.line(&place).map(|_| place)
    };
    site::resolve(explanation, site).or_else(bare)
}

/// A text for people. SARIF gives a meaning to braces (placeholders) and to `[…](…)` (links): here they have none.
fn message(text: &str) -> Message {
    let text = visible(text).replace('{', "{{").replace('}', "}}").replace("](", "] (");
    // An empty text is not allowed.
    Message { text: if text.is_empty() { "?".to_owned() } else { text } }
}

/// A sentence with its full stop.
fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

/// Properties whose names come from the program under test, or a fixed set: in order, so that logs can be compared.
type Dictionary<T> = BTreeMap<String, T>;
