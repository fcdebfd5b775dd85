//! What is known of a bug besides its reason: how to replay it, how it was found, numbers, notes, how to put it aside.

use maud::{Markup, html};
use unravel_results::{Diagnosis, ExplainedBug, Explanation, Verdict};

use crate::escape::visible;
use crate::names::Names;
use crate::words::count;
use crate::{FileNames, differences, numbers};

/// Alternates and branches told of.
const MOST_TOLD: usize = 5;

pub fn replay(bug: &ExplainedBug) -> Markup {
    html! {
        section.replay {
            h3 { "Replay" }
            (command(&bug.replay))
            @if let Verdict::Undiagnosed { .. } = bug.verdict {
                p { "Diagnose it with" }
                (command(&format!("unravel diagnose {}", unravel_results::shell_word(&bug.trace))))
            }
        }
    }
}

/// A command to be copied.
pub fn command(command: &str) -> Markup {
    html! {
        div.command {
            code { (visible(command)) }
            button.copy type="button" title="copy this command" { "Copy" }
        }
    }
}

pub fn found(all: &Explanation, bug: &ExplainedBug) -> Markup {
    let found = &bug.found;
    let explored = &all.explored;
    html! {
        section.found {
            h3 { "How it was found" }
            p {
                "Schedule " (found.schedule) " of the search (strategy " (visible(&explored.strategy)) ", seed "
                (explored.seed) ") failed so first; " (found.times) " of " (count(explored.tally.schedules, "schedule"))
                " did. "
                @if found.replayed { "Replayed, it failed again." }
                @else { strong { "Replayed, it did not fail again." } }
            }
            @if let Some(needs) = crate::deviations::sentence(&bug.needs) { p { "It " (visible(&needs)) "." } }
            p.dim {
                "That run had " (count(found.threads, "thread")) ", " (count(found.events, "event")) " and "
                (count(found.switches, "context switch")) "."
            }
        }
    }
}

pub fn numbers(diagnosis: &Diagnosis) -> Markup {
    html! {
        section.numbers {
            h3 { "In numbers" }
            table {
                @for (name, text) in numbers::rows(diagnosis) {
                    tr { th scope="row" { (name) } td { (visible(&text)) } }
                }
            }
        }
    }
}

/// Where paths part, and the other runs that pass.
pub fn differences(diagnosis: &Diagnosis, names: &Names) -> Markup {
    let branches = diagnosis.alternates.first().map_or(&[][..], |a| &a.projection.branches);
    let others = diagnosis.alternates.get(1..).unwrap_or_default();
    html! {
        @if !branches.is_empty() {
            section.branches {
                h3 { "Other paths" }
                ul {
                    @for branch in branches.iter().take(MOST_TOLD) { li { (visible(&differences::branch(branch))) } }
                    (more(branches.len(), "thread"))
                }
            }
        }
        @if !others.is_empty() {
            section.alternates {
                h3 { "Other runs that pass" }
                ol start="2" {
                    @for alternate in others.iter().take(MOST_TOLD) {
                        li {
                            (numbers::distance(alternate.distance, alternate.minimality)) "; "
                            @if alternate.same_path { "same path" } @else { "another path" }
                            "; found by " (visible(&alternate.goal))
                            @if let Some(flow) = differences::first_flow(diagnosis, alternate, names) {
                                div.dim { (visible(&flow)) }
                            }
                        }
                    }
                    (more(others.len(), "run"))
                }
            }
        }
    }
}

fn more(all: usize, noun: &str) -> Markup {
    html! {
        @if let Some(more) = all.checked_sub(MOST_TOLD).filter(|more| *more > 0) {
            li.dim { (count(more as u64, noun)) " more" }
        }
    }
}

pub fn notes(notes: &[String]) -> Markup {
    html! {
        @if !notes.is_empty() {
            section.notes {
                h3 { "Notes" }
                ul { @for note in notes { li { (visible(note)) } } }
            }
        }
    }
}

/// What to write into `unravel.toml` so that searches pass this bug over.
pub fn suppress(bug: &ExplainedBug, names: &FileNames) -> Markup {
    let Some(site) = bug.id.places.first() else { return html! {} };
    html! {
        details.suppress {
            summary { "Put this bug aside" }
            p { "With this in " code { "unravel.toml" } " searches pass it over, and reports say so:" }
            pre {
                (visible("[[suppress]]")) "\n"
                (visible(&format!("kind = {}", quoted(bug.id.kind.name())))) "\n"
                (visible(&format!("site = {}", quoted(&names.line(site))))) "\n"
                "reason = \"…\"\n"
            }
        }
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
