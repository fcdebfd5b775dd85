//! Repairs: each with its diff, what was checked and what it costs; then what was tried and is no repair.

use maud::{Markup, html};
use unravel_results::{Repair, Repairs};

use super::facts;
use crate::escape::visible;
use crate::repairs::{self as said, DiffLine};

/// A repair within the card of its bug: what it changes, how that was checked, how to apply it.
pub fn beside_bug(
    repairs: &Repairs,
    (index, repair): (usize, &Repair),
    patches: &[String],
) -> Markup {
    html! {
        section.best-repair id=(format!("repair-{}", index + 1)) {
            h3 { "Repair: " (visible(&repair.title)) }
            @if let Some(whose) = said::mends(repairs, repair) { p { (visible(&whose)) "." } }
            (diff(&repair.diff))
            p.evidence {
                @if let Some(check) = repair.checks.last() {
                    "Checked: " (visible(&said::checked_in_short(&repairs.causes, check))) "; "
                }
                @if repair.meaning.is_some() { "thread by thread it does as before; " }
                (said::cost_in_short(&repair.cost)) "."
            }
            @for note in &repair.notes { p.evidence { "Note: " (visible(note)) "." } }
            @if let Some(patch) = patches.get(index) { (facts::command(&said::apply_command(repair, patch))) }
        }
    }
}

/// The repairs after the best, and what was tried and is none.
pub fn others(repairs: &Repairs, patches: &[String]) -> Markup {
    html! {
        section.overview.repairs-found aria-label="Repairs" {
            p.verdict { (visible(&said::headline(repairs))) }
            @if repairs.are_for_some() { p { "Each stands beside its bug." } }
            @else if !repairs.repairs.is_empty() { p { a href="#repair-1" { "The best" } " stands beside its bug." } }
            @if !repairs.notes.is_empty() { ul.notes { @for note in &repairs.notes { li { (visible(note)) } } } }
        }
        @for (index, repair) in repairs.repairs.iter().enumerate().skip(1).filter(|_| !repairs.are_for_some()) {
            (section(repairs, index, repair, patches.get(index)))
        }
        (rejected(repairs))
    }
}

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
    let is_whole = |check: &unravel_results::Check| check.complete && check.aside == 0;
    let certain = !repair.checks.is_empty() && repair.checks.iter().all(is_whole);
    html! {
        article.card.repair id=(format!("repair-{}", index + 1)) {
            header {
                p.which { "Repair " (index + 1) " of " (all.repairs.len()) }
                h2 { (visible(&repair.title)) }
                @if let Some(whose) = said::mends(all, repair) { p { (visible(&whose)) "." } }
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
