//! What failed, where, in which thread, and how far the diagnosis may be trusted.

use unravel_trace::{Diagnosis, Place, Status, user_place};

use super::line::{Line, Tone};
use super::page::Page;
use crate::words;

/// Other places of a failure that are shown; a deadlock of many threads has many.
const MOST_RELATED: usize = 8;

pub fn write(page: &mut Page, diagnosis: &Diagnosis) {
    let failure = &diagnosis.failure;
    let lead = format!("{} ", page.glyphs.fail);
    page.prose(&lead, &words::failure(failure), Tone::Bad);
    let place = failure.place().map_or(String::new(), |place| format!("{}, ", whereabouts(place)));
    page.prose(
        "  ",
        &format!("{place}thread {}, program {}", failure.thread, diagnosis.program),
        Tone::Plain,
    );
    // The root cause of a deadlock says who waits for what.
    let cause = diagnosis.root_cause.as_ref().map_or("", |cause| &cause.sentence);
    let related: Vec<_> = (failure.related.iter())
        .filter(|related| related.message.is_empty() || !cause.contains(&related.message))
        .collect();
    for related in related.iter().take(MOST_RELATED) {
        let place =
            user_place(&related.stack).map_or(String::new(), |p| format!(" ({})", words::at(p)));
        page.prose("  ", &format!("{}{place}", related.message), Tone::Plain);
    }
    if let Some(more) = related.len().checked_sub(MOST_RELATED + 1) {
        page.line(Line::new().with(&format!("  {} more", more + 1), Tone::Dim));
    }
    let tone = match diagnosis.status {
        Status::Confirmed => Tone::Good,
        Status::Modelled | Status::Inconclusive { .. } => Tone::Strong,
    };
    page.prose("  ", &diagnosis.status.to_string(), tone);
}

/// `bank.c:31 in main`.
fn whereabouts(place: &Place) -> String {
    if place.line == 0 || place.function.is_empty() {
        words::at(place)
    } else {
        format!("{} in {}", words::at(place), place.function)
    }
}
