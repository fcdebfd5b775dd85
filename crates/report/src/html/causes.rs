//! All causes: what fails and how far that is complete, the graphs of the causes side by side, the orders between lines
//! and the counts of ConcBugAssist's table 5.2.

use maud::{Markup, html};
use unravel_results::{CauseClass, Causes, CausesVerdict, replay_command};

use super::{bug, cause_graph, facts};
use crate::cause_graph::CauseGraph;
use crate::escape::visible;
use crate::source::Sources;
use crate::words::{self, count};
use crate::{FileNames, causes as said, file_names};

/// Classes that are drawn; more would make a page that nobody reads.
const MOST_CLASSES: usize = 60;
/// Events of a graph that is drawn; of a larger one the orders are listed.
const MOST_EVENTS: usize = 60;

/// The verdict, and what it rests on.
pub fn overview(causes: &Causes) -> Markup {
    let found = causes.verdict != CausesVerdict::NothingFails;
    let extent = if causes.extent.is_complete() { "sure" } else { "unsure" };
    let notes = said::notes(causes);
    html! {
        section.overview aria-label="Summary" {
            p.verdict.(if found { "found" } else { "nothing" }) {
                @if causes.verdict == CausesVerdict::NothingFails { (visible(&said::headline(causes))) }
                @else { (visible(&causes.program)) ": " (visible(&said::headline(causes))) }
            }
            // The headline of a program that does not fail has said the rest.
            @if found || !causes.extent.is_complete() { p.extent.(extent) { (visible(&said::extent(causes))) } }
            p.command-line { span { "Made by" } " " code { (visible(&causes.command)) } }
            @if !notes.is_empty() { ul.notes { @for note in &notes { li { (visible(note)) } } } }
        }
    }
}

/// The verdict on a page that has told of the failures.
pub fn verdict(causes: &Causes) -> Markup {
    let extent = if causes.extent.is_complete() { "sure" } else { "unsure" };
    let notes = said::notes(causes);
    html! {
        section #causes .overview.causes-found aria-label="All causes" {
            p.verdict { (visible(&said::headline(causes))) }
            p.extent.(extent) { (visible(&said::extent(causes))) }
            @if !notes.is_empty() { ul.notes { @for note in &notes { li { (visible(note)) } } } }
        }
    }
}

/// The failures and their causes.
pub fn sections(causes: &Causes, sources: &Sources) -> Markup {
    html! {
        @if !causes.bugs.is_empty() { (failures(causes)) }
        (graphs(causes, sources))
    }
}

/// The causes alone.
pub fn graphs(causes: &Causes, sources: &Sources) -> Markup {
    html! {
        @if !causes.classes.is_empty() {
            section.causes aria-label="Causes" {
                @for (index, class) in causes.classes.iter().take(MOST_CLASSES).enumerate() {
                    (section(causes, index, class, sources))
                }
            }
            @if let Some(more) = causes.classes.len().checked_sub(MOST_CLASSES).filter(|more| *more > 0) {
                p.dim { (count(more as u64, "cause")) " more, in the JSON." }
            }
            (in_numbers(causes))
        }
    }
}

/// What fails, and how to see it fail again.
fn failures(causes: &Causes) -> Markup {
    let repair = (causes.verdict == CausesVerdict::Concurrent)
        .then(|| said::repair_command(&causes.command))
        .flatten();
    let names = FileNames::of_failures(causes.bugs.iter().map(|bug| &bug.failure));
    html! {
        @for (index, bug) in causes.bugs.iter().enumerate() {
            article.card.bug id=(format!("bug-{}", index + 1)) {
                header {
                    h2 { span.sign aria-hidden="true" { "✗" } " " (visible(&words::failure(&bug.failure))) }
                    p.trust {
                        span.chip { (count(bug.classes, "class of schedules")) @if bug.classes == 1 { " fails" } @else { " fail" } " so" }
                        " " span.chip title="bugs that need a weaker memory model are not found" { "sequential consistency" }
                    }
                }
                div.story {
                    div.why { (bug::stack(&bug.failure, None, &names)) }
                    div.then {
                        @if let Some(trace) = &bug.trace {
                            section.replay { h3 { "Replay" } (facts::command(&replay_command(trace))) }
                        }
                        @if let Some(repair) = repair.as_deref().filter(|_| index == 0) {
                            section.replay { h3 { "Repair" } (facts::command(repair)) }
                        }
                    }
                }
            }
        }
    }
}

fn section(causes: &Causes, index: usize, class: &CauseClass, sources: &Sources) -> Markup {
    let title = match causes.classes.len() {
        1 => format!("Cause: {}", class.pattern),
        all => format!("Cause {} of {all}: {}", index + 1, class.pattern),
    };
    html! {
        article.card.cause-class id=(format!("cause-{}", index + 1)) {
            h2 { (title) }
            p.sentence { (visible(&class.sentence)) "." }
            @if let Some(first) = class.causes.first() {
                @let graph = CauseGraph::of(first, said::failure(causes, class));
                @if graph.events.len() <= MOST_EVENTS && !graph.events.is_empty() {
                    figure tabindex="0" role="group" aria-label="Which events come before which" { (cause_graph::draw(&graph, sources, &class.sentence)) }
                } @else {
                    ol { @for (a, b) in said::shown_lines(class, &file_names::of_orders(causes)) { li { code { (visible(&a)) } " before " code { (visible(&b)) } } } }
                }
            }
            @if !class.advice.is_empty() {
                section.remedy { h3 { "What should hold" } p { (visible(&class.advice)) "." } }
            }
            ul.cause-facts { @for fact in said::facts(causes, class) { li { (visible(&fact)) } } }
        }
    }
}

fn in_numbers(causes: &Causes) -> Markup {
    html! {
        section.card.explored {
            h2 { "Orders between lines, of all causes" }
            div.facts {
                section {
                    ul.line-orders {
                        @let names = file_names::of_orders(causes);
                        @for order in &causes.unique {
                            li {
                                code { (visible(&names.line(&order.first))) } " → "
                                code { (visible(&names.line(&order.second))) }
                                " " span.dim { (visible(&order.object)) }
                            }
                        }
                    }
                }
                section.numbers {
                    h3 { "In numbers" }
                    table {
                        @for (name, text) in said::counts(causes) { tr { th scope="row" { (name) } td { (text) } } }
                    }
                    p.dim { "The columns of ConcBugAssist's table 5.2." }
                }
            }
        }
    }
}
