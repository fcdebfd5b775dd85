//! The best repair in a brief report: what it does, the lines it changes with their numbers, how it was checked, how to
//! apply it; then how many interleavings fail, and where the rest is told.
//!
//! The diff in full is in the file that the command names; here a line around each change is enough to know the place.

use unravel_results::{Causes, CausesVerdict, Repair, Repairs};

use super::line::{Line, Tone};
use super::page::Page;
use super::repairs::{capitalised, said_of, tone};
use crate::causes as all_causes;
use crate::repairs::{self as said, DiffLine};
use crate::words::count;

/// Lines shown around a change.
const AROUND: usize = 1;

pub fn write(page: &mut Page, repairs: &Repairs, patches: &[String]) {
    let Repairs { causes, repairs: found, .. } = repairs;
    match found.split_first() {
        Some((best, others)) => {
            page.section(&format!("Repair: {}", best.kind));
            section(page, repairs, best, patches.first());
            let is_for_some = repairs.are_for_some();
            for (repair, patch) in others.iter().zip(patches.iter().skip(1)).filter(|_| is_for_some)
            {
                let whose = said::mends(repairs, repair).unwrap_or_default();
                page.prose("  ", &format!("{} ({whose})", repair.title), Tone::Plain);
                page.row("apply", &said::apply_command(repair, patch));
            }
            if !others.is_empty() && !is_for_some {
                let others = count(others.len() as u64, "more repair");
                page.row("more", &format!("{}   ({others})", causes.command));
            }
        }
        // The headline of the causes has said why.
        None if causes.verdict == CausesVerdict::Sequential => {}
        None => {
            page.section(&capitalised(&said::headline(repairs)));
            page.row("search on", &causes.command);
        }
    }
    how_many(page, causes);
    let known = all_causes::notes(causes);
    for note in known.iter().chain(&repairs.notes) {
        page.prose("  note: ", note, Tone::Plain);
    }
}

fn section(page: &mut Page, all: &Repairs, repair: &Repair, patch: Option<&String>) {
    page.prose("  ", &repair.title, Tone::Plain);
    if let Some(whose) = said::mends(all, repair) {
        page.prose("  ", &whose, Tone::Strong);
    }
    changes(page, repair, patch);
    // A patch that was compiled and explored says more than one that was tried in the machine.
    if let Some(check) = repair.checks.last() {
        let tone = if check.complete { Tone::Good } else { Tone::Plain };
        let meaning = repair.meaning.map_or("", |_| "; thread by thread it does as before");
        let text = format!("{}{meaning}", said::checked_in_short(&all.causes, check));
        said_of(page, "checked", &text, tone);
    }
    said_of(page, "cost", &said::cost_in_short(&repair.cost), Tone::Plain);
    let is_part = repair.covers.len() < all.causes.classes.len();
    if let Some(causes) = said::rules_out(all, repair).filter(|_| is_part) {
        said_of(page, "rules out", &causes, Tone::Plain);
    }
    repair.notes.iter().for_each(|note| said_of(page, "note", note, Tone::Plain));
    if let Some(patch) = patch {
        page.row("apply", &said::apply_command(repair, patch));
    }
}

/// The changed lines with their numbers, as many as there is room for.
fn changes(page: &mut Page, repair: &Repair, patch: Option<&String>) {
    let rows = said::changed_lines(&repair.diff, AROUND);
    let most = page.limits.diff.max(3);
    let mut shown = if rows.len() > most { most - 1 } else { rows.len() };
    while shown < rows.len() && shown > 0 && rows[shown - 1].kind == DiffLine::Hunk {
        shown -= 1;
    }
    let digits = rows.iter().map(|row| row.number.to_string().len()).max().unwrap_or(1);
    for row in &rows[..shown] {
        let number = if row.number == 0 { String::new() } else { row.number.to_string() };
        let text = match row.kind {
            DiffLine::File => format!("  {}", row.text),
            DiffLine::Hunk => format!("  {:>digits$}", page.glyphs.gap),
            _ => format!("  {number:>digits$} {}", row.text),
        };
        page.whole(Line::new().with(text.trim_end(), tone(row.kind)));
    }
    if shown < rows.len() {
        let more = count((rows.len() - shown) as u64, "more line");
        let place = patch.map_or(String::new(), |patch| format!(": {patch}"));
        page.line(Line::new().with(&format!("  {more}{place}"), Tone::Dim));
    }
}

/// How many interleavings fail, of how many, and where several causes are told.
fn how_many(page: &mut Page, causes: &Causes) {
    let tone = if causes.extent.is_complete() { Tone::Dim } else { Tone::Strong };
    page.prose("  ", &all_causes::in_short(causes), tone);
    // What each of them is takes more than a line, and the root cause has told what matters.
    let command = all_causes::causes_command(&causes.command);
    if let Some(command) = command.filter(|_| causes.classes.len() > 1) {
        page.row("causes", &command);
    }
}
