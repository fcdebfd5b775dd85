//! The root cause in words: the orders with their source lines, what they rest on, and what should hold instead.

use std::ops::Range;

use maud::{Markup, html};
use unravel_results::{CausalOrder, Diagnosis, Participant, Race, RootCause};
use unravel_trace::Place;

use crate::escape::visible;
use crate::side::{self, RegionKind};
use crate::source::Sources;
use crate::summary::summary;
use crate::{evidence, library, races, words};

/// Orders that are shown unfolded.
const MOST_ORDERS: usize = 3;
/// Lines of a region that are shown in full; of a longer one the ends.
const LONGEST_REGION: u32 = 12;

pub fn root_cause(diagnosis: &Diagnosis, cause: &RootCause, sources: &Sources) -> Markup {
    html! {
        section.cause {
            h3 { "Root cause: " (cause.pattern) }
            p.sentence { (visible(&summary(diagnosis).unwrap_or_default())) }
            (orders(diagnosis, &cause.orders, sources))
            @if let Some(race) = &diagnosis.race { (accesses(race, sources)) }
            @for sentence in evidence::sentences(diagnosis, cause) { p.evidence { (visible(&sentence)) "." } }
        }
    }
}

/// A few are shown, the others fold: with thirty threads there are as many as threads.
fn orders(diagnosis: &Diagnosis, all: &[CausalOrder], sources: &Sources) -> Markup {
    let shown = if all.len() <= MOST_ORDERS + 1 { all.len() } else { MOST_ORDERS };
    let table = |range: Range<usize>| {
        html! {
            table.orders {
                thead { tr { th scope="col" { "Order" } th scope="col" { "first" } td {} th scope="col" { "then" } } }
                tbody {
                    @for index in range {
                        tr {
                            th scope="row" { (index + 1) }
                            td { (participant(diagnosis, &all[index].first, &all[index].object, sources)) }
                            td.before { "before" }
                            td { (participant(diagnosis, &all[index].second, &all[index].object, sources)) }
                        }
                    }
                }
            }
        }
    };
    html! {
        @if shown > 0 { (table(0..shown)) }
        @if shown < all.len() {
            details.waiting {
                summary { (all.len() - shown) " more orders" }
                (table(shown..all.len()))
            }
        }
    }
}

/// The two accesses of a race with their locks.
fn accesses(race: &Race, sources: &Sources) -> Markup {
    html! {
        table.orders {
            thead { tr { th scope="col" { "Access" } th scope="col" { "what" } th scope="col" { "locks" } } }
            tbody {
                @for (index, access) in race.accesses.iter().enumerate() {
                    tr {
                        th scope="row" { (index + 1) }
                        td {
                            div { (visible(&races::access(access, &race.object))) " " span.dim { (visible(&words::at(&access.who.place))) } }
                            @if let Some(source) = sources.line(&access.who.place) { code { (visible(&source)) } }
                        }
                        td { (visible(&races::locks(access))) }
                    }
                }
            }
        }
        @if let Some(guard) = races::guard(race) { p.evidence { (visible(&guard)) "." } }
    }
}

fn participant(
    diagnosis: &Diagnosis,
    who: &Participant,
    object: &str,
    sources: &Sources,
) -> Markup {
    html! {
        div { b { (who.key.thread) } " " (who.verb) " " b { (visible(object)) } " " span.dim { (visible(&words::at_called(who))) } }
        @if let Some(source) = sources.line(&who.place) { code { (visible(&source)) } }
        @if who.event.is_none() { div.absent { (words::absent(who, Some(&diagnosis.failure))) " in the failing run" } }
    }
}

pub fn what_should_hold(diagnosis: &Diagnosis, sources: &Sources) -> Markup {
    let Some(cause) = diagnosis.root_cause.as_ref().filter(|cause| !cause.advice.is_empty()) else {
        return html! {};
    };
    html! {
        section.remedy {
            h3 { "What should hold" }
            p { (visible(&cause.advice)) "." }
            (remedy(diagnosis, sources))
        }
    }
}

/// The lines of the region in a bracket, or the two that should be in this order.
fn remedy(diagnosis: &Diagnosis, sources: &Sources) -> Markup {
    let Some((kind, start, end)) = side::remedy_places(diagnosis) else { return html! {} };
    if start.line == 0 || end.line == 0 {
        return html! {};
    }
    let (class, mut lines) = match kind {
        RegionKind::Order => ("order", vec![Some(start.clone()), Some(end.clone())]),
        RegionKind::Atomic => ("atomic", region(start, end, sources)),
    };
    let library = library::at_fault(diagnosis).unwrap_or_default();
    lines.extend(library.into_iter().map(|place| Some(place.clone())));
    html! {
        ol.region.(class) {
            @for line in &lines {
                @match line {
                    Some(place) => li {
                        span.dim { (visible(&words::at(place))) } " "
                        code { (visible(&sources.line(place).unwrap_or_default())) }
                    }
                    None => li { "⋮" }
                }
            }
        }
    }
}

/// The lines of a region without the blank ones; `None` where some are left out.
fn region(start: &Place, end: &Place, sources: &Sources) -> Vec<Option<Place>> {
    if start.file == end.file && start.line == end.line {
        return vec![Some(start.clone())];
    }
    // Between the ends of two functions is code that has nothing to do with it.
    let whole = start.file == end.file
        && start.function == end.function
        && start.line < end.line
        && end.line - start.line < LONGEST_REGION;
    let mut lines = vec![Some(start.clone())];
    if whole {
        let between = (start.line + 1..end.line).map(|line| Place { line, ..start.clone() });
        lines.extend(between.filter(|place| sources.line(place).is_some()).map(Some));
    } else {
        lines.push(None);
    }
    lines.push(Some(end.clone()));
    lines
}
