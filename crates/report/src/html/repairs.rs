//! Repairs: each with its diff, what was checked and what it costs; then what was tried and is no repair.

use maud::{Markup, html};
use unravel_results::{Repair, Repairs};

use super::facts;
use crate::escape::visible;
use crate::repairs::{self as said, DiffLine};

pub fn sections(repairs: &Repairs, patches: &[String]) -> Markup {
    html! {
        section.overview.repairs-found aria-label="Repairs" {
            p.verdict { (visible(&said::headline(repairs))) }
            @if !repairs.notes.is_empty() { ul.notes { @for note in &repairs.notes { li { (visible(note)) } } } }
        }
        @for (index, repair) in repairs.repairs.iter().enumerate() {
            (section(repairs, index, repair, patches.get(index)))
        }
        (rejected(repairs))
    }
}

fn section(all: &Repairs, index: usize, repair: &Repair, patch: Option<&String>) -> Markup {
    let certain = !repair.checks.is_empty() && repair.checks.iter().all(|check| check.complete);
    html! {
        article.card.repair id=(format!("repair-{}", index + 1)) {
            header {
                p.which { "Repair " (index + 1) " of " (all.repairs.len()) }
                h2 { (visible(&repair.title)) }
                p.trust {
                    span.chip { (repair.kind) }
                    @if certain { " " span.chip.sure { "every class of schedules passes" } }
                    @else { " " span.chip.unsure { "not every schedule was tried" } }
                    @if let Some(causes) = said::rules_out(all, repair) { " " span.chip { "rules out " (causes) } }
                }
            }
            (diff(&repair.diff))
            div.facts {
                section.checked {
                    h3 { "What was checked" }
                    ul {
                        @for check in &repair.checks { li { (visible(&said::checked(&all.causes, check))) } }
                        @if let Some(meaning) = &repair.meaning { li { (visible(&said::meaning(meaning))) } }
                    }
                    h3 { "What it costs" }
                    p { (said::cost(&repair.cost)) }
                }
                section {
                    @if let Some(patch) = patch {
                        h3 { "Apply" }
                        (facts::command(&said::apply_command(repair, patch)))
                    }
                    (facts::notes(&repair.notes))
                }
            }
        }
    }
}

fn diff(diff: &str) -> Markup {
    html! {
        pre.diff tabindex="0" {
            @for (kind, text) in said::diff_lines(diff) {
                @let class = match kind {
                    DiffLine::File => "file",
                    DiffLine::Hunk => "hunk",
                    DiffLine::Added => "added",
                    DiffLine::Removed => "removed",
                    DiffLine::Context => "context",
                };
                span.(class) { (visible(&text)) "\n" }
            }
        }
    }
}

fn rejected(repairs: &Repairs) -> Markup {
    html! {
        @if !repairs.rejected.is_empty() {
            section.card.put-aside {
                h2 { "Tried, and no repair" }
                ul {
                    @for candidate in &repairs.rejected {
                        li { b { (visible(&candidate.title)) } ": " (visible(&candidate.reason)) }
                    }
                }
            }
        }
    }
}
