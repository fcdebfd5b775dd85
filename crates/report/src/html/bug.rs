//! One bug: what failed, why, the two schedules, and what is known besides.

use maud::{Markup, html};
use unravel_results::{Diagnosis, ExplainedBug, Explanation, Status, Verdict};
use unravel_trace::{Failure, FailureKind, Place, Related, ThreadName, user_place};

use super::every::Every;
use super::shown::{Shown, watched};
use super::timeline::Timeline;
use super::values::Changes;
use super::{cause, embed, facts, panes, repairs, row, strip};
use crate::escape::visible;
use crate::source::Sources;
use crate::stepper::history::History;
use crate::{FileNames, evidence, file_names, words};

/// Frames shown of a stack.
const MOST_FRAMES: usize = 8;
/// Threads that wait outside of a deadlock's cycle, shown one by one.
const MOST_WAITING: usize = 3;

pub fn section(all: &Explanation, index: usize, bug: &ExplainedBug, sources: &Sources) -> Markup {
    let diagnosis = bug.verdict.diagnosis();
    let names = FileNames::of_failures(all.bugs.iter().map(|bug| &bug.failure));
    let told = all.bugs.iter().position(|bug| bug.same_cause_as.is_none());
    // One for all bugs stands beside the first, else each beside its own.
    let repairs = all.repairs.as_ref();
    let repairs = repairs.filter(|repairs| repairs.are_for_some() || told == Some(index));
    let repair = repairs.and_then(|repairs| Some((repairs, repairs.of_bug(&bug.id)?)));
    let head = html! {
        header {
            @if all.bugs.len() > 1 { p.which { "Bug " (index + 1) " of " (all.bugs.len()) } }
            h2 { span.sign aria-hidden="true" { "✗" } " " (visible(&words::failure(&bug.failure))) }
            (trust(&bug.verdict))
        }
    };
    // What another bug tells is not told again with its threads swapped.
    if let Some(earlier) = bug.same_cause_as {
        return html! {
            article.card.bug.again id=(format!("bug-{}", index + 1)) {
                (head)
                (stack(&bug.failure, diagnosis, &names))
                p.same-cause {
                    "Its root cause is that of "
                    a href=(format!("#bug-{}", earlier + 1)) { "bug " (earlier + 1) } "."
                    @if bug.vanished.is_some() { " " (evidence::vanished(bug, earlier)) "." }
                }
                (facts::replay(bug))
                (facts::suppress(bug, &file_names::of_explanation(all)))
            }
        };
    }
    html! {
        article.card.bug id=(format!("bug-{}", index + 1)) {
            (head)
            div.story {
                div.why {
                    (stack(&bug.failure, diagnosis, &names))
                    @if let Some((diagnosis, cause)) = diagnosis.and_then(|d| Some((d, d.root_cause.as_ref()?))) {
                        (cause::root_cause(diagnosis, cause, sources))
                    }
                }
                div.then {
                    @if let Some(diagnosis) = diagnosis { (cause::what_should_hold(diagnosis, sources)) }
                    (facts::replay(bug))
                    (facts::found(all, bug))
                }
            }
            @if let Some((repairs, repair)) = repair { (repairs::beside_bug(repairs, repair, &all.patches)) }
            @if let Some(diagnosis) = diagnosis {
                @let timeline = Timeline::of(diagnosis);
                (explorer(&timeline, sources))
                div.facts {
                    (facts::numbers(diagnosis))
                    (facts::differences(diagnosis, &timeline.names))
                    (facts::notes(&diagnosis.notes))
                }
            }
            (facts::suppress(bug, &file_names::of_explanation(all)))
        }
    }
}

/// How far what is said may be trusted.
fn trust(verdict: &Verdict) -> Markup {
    let diagnosis = match verdict {
        Verdict::Diagnosed(diagnosis) => diagnosis,
        Verdict::Undiagnosed { reason } => {
            return html! {
                p.trust { span.chip.unsure { "not diagnosed" } " " (visible(reason)) }
            };
        }
    };
    let class = if diagnosis.status == Status::Confirmed { "sure" } else { "unsure" };
    html! {
        p.trust {
            span.chip.(class) { (visible(&diagnosis.status.to_string())) }
            @if let Some(cause) = &diagnosis.root_cause {
                " " span.chip { (cause.pattern) }
                @if cause.proved_on_path { " " span.chip.sure { "proved on the recorded path" } }
            }
            @if let Some(alternate) = diagnosis.alternates.first() {
                " " span.chip title="whether another passing schedule can differ in fewer data flows" {
                    "nearest passing schedule: " (alternate.minimality)
                }
            }
            " " span.chip title="bugs that need a weaker memory model are not found" { "sequential consistency" }
        }
    }
}

/// Where it failed, innermost first, and the other places that belong to it.
pub fn stack(failure: &Failure, diagnosis: Option<&Diagnosis>, names: &FileNames) -> Markup {
    let cause = diagnosis.and_then(|d| d.root_cause.as_ref()).map_or("", |cause| &cause.sentence);
    let is_news = |r: &&Related| r.message.is_empty() || !cause.contains(&r.message);
    let related: Vec<&Related> = failure.related.iter().filter(is_news).collect();
    // Who waits behind a deadlock is not what it comes from.
    let folds = failure.kind == FailureKind::Deadlock && related.len() > MOST_WAITING;
    let each = html! { @for related in &related { (relation(failure.kind, related, names)) } };
    html! {
        (frames(&failure.stack, Some(&failure.thread), names))
        @if folds {
            details.waiting {
                summary { "all " (related.len()) " threads that wait" }
                (each)
            }
        } @else {
            (each)
        }
    }
}

fn relation(kind: FailureKind, related: &Related, names: &FileNames) -> Markup {
    html! {
        // Of a race, neither stack says more than the other.
        @if kind == FailureKind::DataRace {
            p.related { (visible(&related.message)) }
            (frames(&related.stack, None, names))
        } @else {
            p.related {
                (visible(&related.message))
                @if let Some(place) = user_place(&related.stack) { " (" (whereabouts(place, names)) ")" }
            }
        }
    }
}

fn frames(stack: &[Place], thread: Option<&ThreadName>, names: &FileNames) -> Markup {
    // What happens inside the libraries' headers and in wrappers says little.
    let own: Vec<&Place> =
        stack.iter().filter(|place| !place.is_system() && !place.wrapper).collect();
    let frames = if own.is_empty() { stack.iter().collect() } else { own };
    html! {
        ul.stack {
            @for (depth, place) in frames.iter().take(MOST_FRAMES).enumerate() {
                li {
                    (whereabouts(place, names))
                    @if let Some(thread) = thread.filter(|_| depth == 0) { ", thread " b { (thread) } }
                }
            }
            @if frames.len() > MOST_FRAMES { li { (frames.len() - MOST_FRAMES) " more" } }
        }
    }
}

/// `bank.c:31 in main`.
fn whereabouts(place: &Place, names: &FileNames) -> Markup {
    html! {
        @if place.line == 0 || place.function.is_empty() {
            code { (visible(&names.place(place))) }
        } @else {
            code { (visible(&names.place(place))) } " in " code { (visible(&place.function)) }
        }
    }
}

/// The schedules with everything one can do with them.
pub fn explorer(timeline: &Timeline<'_>, sources: &Sources) -> Markup {
    let watched = watched(&timeline.failing);
    let history = History::new(&timeline.failing.run.trace);
    let mut changes = Changes::of(&history, &watched);
    let watched = watched.iter().map(|at| changes.variable(*at) + 1).max().unwrap_or(0) as usize;
    html! {
        section.explorer aria-label="Schedules" {
            h3 {
                @if timeline.passing.is_some() { "How it fails, and " (timeline.beside.name()) }
                @else if timeline.diagnosis.race.is_some() { "How it comes to it" }
                @else { "How it fails; no run that passes was found" }
            }
            (toolbar(timeline))
            (strip::strip(timeline))
            div.workspace {
                (timeline.view(sources))
                div.inspector {
                    div.state tabindex="0" role="region" aria-label="Values and threads" { h4 { "Values" } div.values {} h4 { "Threads" } div.threads {} }
                    (panes::panes(timeline, sources))
                }
            }
            (legend(timeline))
            (row::template())
            (embed::data("shown", &Shown::of(timeline, &history, &changes, watched)))
            @if timeline.is_complete() {
                (embed::data("every", &Every::of(timeline, &changes, sources)))
            } @else {
                p.dim { "The runs are too long for all of their events to be in this page." }
            }
        }
    }
}

fn toolbar(timeline: &Timeline<'_>) -> Markup {
    html! {
        div.toolbar role="toolbar" aria-label="Step through the failing schedule" {
            button.back type="button" aria-label="step back" title="step back (←)" { "◀" }
            input.slider type="range" min="0" value="0" aria-label="step of the failing schedule";
            button.forth type="button" aria-label="step forth" title="step forth (→)" { "▶" }
            output.where aria-live="polite" {}
            a.link href="#" title="the address of this step" { "Link" }
            button.smaller type="button" aria-label="zoom out" title="zoom out (−)" { "−" }
            button.larger type="button" aria-label="zoom in" title="zoom in (+)" { "+" }
            @if timeline.is_complete() {
                button.all type="button" aria-pressed="false" title="all events of both runs (a)" { "All events" }
            }
        }
    }
}

/// What the signs mean.
fn legend(timeline: &Timeline<'_>) -> Markup {
    let region = timeline.failing.region.or(timeline.passing.as_ref().and_then(|side| side.region));
    html! {
        ul.legend {
            @if timeline.diagnosis.root_cause.is_some() { li { span.sample.causal { "●" } " named by the root cause" } }
            li { span.sample.flow { "⤷" } " a read takes its value from this write, in this run only" }
            li { span.sample.strong { "bold" } " differs between the runs; " span.dim { "dim" } " is context" }
            @if region.is_some() { li { span.sample.region { "[" } " what should be atomic, or in this order" } }
        }
    }
}
