//! Repairs: the causes in short, then each repair with its diff, what was checked and what it costs, then what was tried
//! and is no repair.

use unravel_results::{Causes, CausesVerdict, Repair, Repairs};

use super::line::{Line, Tone};
use super::page::Page;
use super::{causes, notes, repair_in_short};
use crate::repairs::{self as said, DiffLine};
use crate::words::count;
use crate::{causes as all_causes, file_names};

/// Causes that are named, and candidates that are told of.
const MOST_LISTED: usize = 8;
/// Columns of the names before what is said of a repair.
const NAMES: usize = 11;

pub fn write(page: &mut Page, repairs: &Repairs, patches: &[String], html: Option<&str>) {
    causes::what_fails(page, &repairs.causes);
    in_short(page, &repairs.causes);
    page.section(&capitalised(&said::headline(repairs)));
    for (index, repair) in repairs.repairs.iter().enumerate() {
        page.blank();
        let title = format!("Repair {} of {}: {}", index + 1, repairs.repairs.len(), repair.kind);
        page.rule(&title);
        section(page, repairs, repair, patches.get(index));
    }
    rejected(page, repairs);
    let known = all_causes::notes(&repairs.causes);
    notes(page, &[known, repairs.notes.clone()].concat());
    if let Some(html) = html {
        page.blank();
        page.row("page", html);
    }
}

/// What an explanation says of them: all causes in short, the best repair, and how to see the others.
pub fn of_an_explanation(page: &mut Page, repairs: &Repairs, patches: &[String]) {
    let Repairs { causes, repairs: found, .. } = repairs;
    if page.style.brief {
        return repair_in_short::write(page, repairs, patches);
    }
    page.section(&capitalised(&all_causes::headline(causes)));
    listed(page, causes);
    extent(page, causes);
    match found.split_first() {
        Some((best, others)) => {
            page.section(&format!("Repair: {}", best.kind));
            section(page, repairs, best, patches.first());
            if !others.is_empty() {
                let others = count(others.len() as u64, "more repair");
                page.command(&format!("{others}: {}", causes.command));
            }
        }
        // The headline of the causes has said why.
        None if causes.verdict == CausesVerdict::Sequential => {}
        None => {
            page.section(&capitalised(&said::headline(repairs)));
            page.command(&format!("look longer: {}", causes.command));
        }
    }
    let known = all_causes::notes(causes);
    for note in known.iter().chain(&repairs.notes) {
        page.prose("  note: ", note, Tone::Plain);
    }
}

/// How far causes are complete.
fn extent(page: &mut Page, causes: &Causes) {
    let tone = if causes.extent.is_complete() { Tone::Good } else { Tone::Strong };
    page.prose("  ", &all_causes::extent(causes), tone);
}

fn in_short(page: &mut Page, causes: &Causes) {
    if !causes.classes.is_empty() {
        page.section("Causes");
        listed(page, causes);
    }
}

/// A line a cause.
fn listed(page: &mut Page, causes: &Causes) {
    let arrow = page.glyphs.before;
    let names = file_names::of_orders(causes);
    for (index, class) in causes.classes.iter().take(MOST_LISTED).enumerate() {
        let orders = all_causes::shown_lines(class, &names);
        let orders: Vec<String> = orders.iter().map(|(a, b)| format!("{a} {arrow} {b}")).collect();
        let text = format!("{}: {}", class.pattern, orders.join(", "));
        page.prose(&format!("  {}  ", index + 1), &text, Tone::Plain);
    }
    more(page, causes.classes.len(), MOST_LISTED);
}

fn section(page: &mut Page, all: &Repairs, repair: &Repair, patch: Option<&String>) {
    page.prose("", &repair.title, Tone::Strong);
    if let Some(whose) = said::mends(all, repair) {
        page.prose("", &whose, Tone::Strong);
    }
    page.blank();
    for (kind, text) in said::diff_lines(&repair.diff) {
        let tone = tone(kind);
        page.whole(Line::new().with("  ", Tone::Plain).with(&text, tone));
    }
    page.blank();
    for (index, check) in repair.checks.iter().enumerate() {
        let name = if index == 0 { "checked" } else { "" };
        let tone = if check.complete { Tone::Good } else { Tone::Plain };
        said_of(page, name, &said::checked(&all.causes, check), tone);
    }
    if let Some(meaning) = &repair.meaning {
        said_of(page, "", &said::meaning(meaning), Tone::Good);
    }
    said_of(page, "cost", &said::cost(&repair.cost), Tone::Plain);
    if let Some(causes) = said::rules_out(all, repair) {
        said_of(page, "rules out", &causes, Tone::Plain);
    }
    repair.notes.iter().for_each(|note| said_of(page, "note", note, Tone::Plain));
    if let Some(patch) = patch {
        page.row("apply", &said::apply_command(repair, patch));
    }
}

pub fn tone(line: DiffLine) -> Tone {
    match line {
        DiffLine::File => Tone::Strong,
        DiffLine::Hunk => Tone::Place,
        DiffLine::Added => Tone::Good,
        DiffLine::Removed => Tone::Bad,
        DiffLine::Context => Tone::Plain,
    }
}

pub fn said_of(page: &mut Page, name: &str, text: &str, tone: Tone) {
    page.prose(&format!("  {name:NAMES$}"), text, tone);
}

fn rejected(page: &mut Page, repairs: &Repairs) {
    if repairs.rejected.is_empty() {
        return;
    }
    page.section("Tried, and no repair");
    let bullet = format!("  {} ", page.glyphs.bullet);
    for candidate in repairs.rejected.iter().take(MOST_LISTED) {
        page.prose(&bullet, &format!("{}: {}", candidate.title, candidate.reason), Tone::Plain);
    }
    more(page, repairs.rejected.len(), MOST_LISTED);
}

pub fn more(page: &mut Page, all: usize, shown: usize) {
    if let Some(more) = all.checked_sub(shown).filter(|more| *more > 0) {
        page.line(Line::new().with(&format!("  {more} more"), Tone::Dim));
    }
}

pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
