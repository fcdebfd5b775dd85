//! What failed, where, in which thread, and how far the diagnosis may be trusted.

use unravel_results::{Diagnosis, Status};
use unravel_trace::{Failure, FailureKind, Place, user_place};

use super::line::{Line, Tone};
use super::page::Page;
use crate::words;

/// Other places of a failure that are shown; a deadlock of many threads has many.
const MOST_RELATED: usize = 8;
/// Calls shown that led to each of the two accesses of a race.
const MOST_CALLS: usize = 6;

/// What failed, and where. A diagnosis, if there is one, may say the rest.
pub fn failure(page: &mut Page, failure: &Failure, program: &str, diagnosis: Option<&Diagnosis>) {
    let lead = format!("{} ", page.glyphs.fail);
    page.prose(&lead, &words::failure(failure), Tone::Bad);
    let place =
        failure.place().map_or(String::new(), |place| format!("{}, ", whereabouts(page, place)));
    page.prose("  ", &format!("{place}thread {}, program {program}", failure.thread), Tone::Plain);
    // Of a race, neither place says more than the other.
    let is_race = failure.kind == FailureKind::DataRace;
    if is_race {
        calls(page, &failure.stack);
    }
    // The root cause of a deadlock says who waits for what, as far as that matters.
    use FailureKind::{Deadlock, Livelock};
    let is_told = diagnosis.is_some_and(|d| d.root_cause.is_some());
    if page.style.brief && is_told && matches!(failure.kind, Deadlock | Livelock) {
        return;
    }
    let cause = diagnosis.and_then(|d| d.root_cause.as_ref()).map_or("", |cause| &cause.sentence);
    let related: Vec<_> = (failure.related.iter())
        .filter(|related| related.message.is_empty() || !cause.contains(&related.message))
        .collect();
    for related in related.iter().take(MOST_RELATED) {
        let place = user_place(&related.stack)
            .map_or(String::new(), |p| format!(" ({})", page.names.place(p)));
        page.prose("  ", &format!("{}{place}", related.message), Tone::Plain);
        if is_race {
            calls(page, &related.stack);
        }
    }
    if let Some(more) = related.len().checked_sub(MOST_RELATED + 1) {
        page.line(Line::new().with(&format!("  {} more", more + 1), Tone::Dim));
    }
}

/// The calls that led to the innermost place of a stack.
fn calls(page: &mut Page, stack: &[Place]) {
    for place in
        stack.iter().filter(|place| !place.is_system() && !place.wrapper).skip(1).take(MOST_CALLS)
    {
        let text = format!("called at {}", whereabouts(page, place));
        page.prose("    ", &text, Tone::Plain);
    }
}

/// How far a diagnosis may be trusted.
pub fn status(page: &mut Page, status: &Status) {
    let tone = match status {
        Status::Confirmed => Tone::Good,
        Status::Modelled | Status::Inconclusive { .. } => Tone::Strong,
    };
    page.prose("  ", &trust(status), tone);
}

pub fn trust(status: &Status) -> String {
    format!("{status}; sequential consistency")
}

/// `bank.c:31 in main`.
fn whereabouts(page: &Page, place: &Place) -> String {
    if place.line == 0 || place.function.is_empty() {
        page.names.place(place)
    } else {
        format!("{} in {}", page.names.place(place), place.function)
    }
}
