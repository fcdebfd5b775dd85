//! The failing and the passing schedule, what the signs mean, where paths part, and the other alternates.

use unravel_results::{Alternate, BranchChange, Diagnosis};

use super::columns::{Columns, Verdict};
use super::line::{Line, Tone};
use super::page::Page;
use crate::names::{self, Names};
use crate::side::{self, Extent, Item, RegionKind, Side};
use crate::source::Sources;
use crate::words::{self, count};
use crate::{differences, numbers};

/// Events shown of each run; of a brief report's runs without a cause, how many more than with one.
const MOST_EVENTS: usize = 60;
const MORE_EVENTS: usize = 6;
/// Alternates told of besides the first.
const MOST_OTHERS: usize = 5;
/// Branches told of.
const MOST_BRANCHES: usize = 5;

/// The schedules of a diagnosis, and the other alternates.
pub fn write(page: &mut Page, diagnosis: &Diagnosis, sources: &Sources) {
    let names = beside(page, diagnosis, sources, "How it fails, and the nearest run that passes");
    if !page.style.brief {
        others(page, diagnosis, &names);
    }
}

/// The failing schedule beside the first alternate, under this title. Gives the names that were used.
pub fn beside(page: &mut Page, diagnosis: &Diagnosis, sources: &Sources, heading: &str) -> Names {
    let first = diagnosis.alternates.first();
    let told = diagnosis.root_cause.is_some() || diagnosis.race.is_some();
    let extent = match (page.style.brief, told) {
        (true, true) => Extent::Told(page.limits.events),
        // Where no cause is named, what differs is all there is to see.
        (true, false) => Extent::Projection(page.limits.events + MORE_EVENTS),
        (false, _) => Extent::Projection(MOST_EVENTS),
    };
    let failing = side::failing(diagnosis, first.map(|a| &a.projection), extent);
    let passing = first.map(|alternate| side::alternate(diagnosis, alternate, extent));
    let sides: Vec<&Side<'_>> = [&failing].into_iter().chain(&passing).collect();
    let names = Names::of(&sides);
    let file = names.file.as_ref().map_or(String::new(), |file| format!(" ({file})"));
    match first {
        Some(_) => page.section(&format!("{heading}{file}")),
        None if diagnosis.race.is_some() => page.section(&format!("How it comes to it{file}")),
        None => page.section(&format!("How it fails{file}; no run that passes was found")),
    }
    let failed = Verdict {
        tone: Tone::Bad,
        title: title(page, &failing, page.glyphs.fail, "failing", ""),
        sign: page.glyphs.fail,
        end: words::failure(&diagnosis.failure),
        thread: Some(&diagnosis.failure.thread),
    };
    let passed = first.zip(passing.as_ref()).map(|(alternate, passing)| Verdict {
        tone: Tone::Good,
        title: title(page, passing, page.glyphs.pass, "passing", path(alternate)),
        sign: page.glyphs.pass,
        end: alternate.run.outcome.to_string(),
        thread: None,
    });
    let threads = names::threads(&sides, &diagnosis.failure.thread);
    let roles = names::roles(&diagnosis.failing.trace, &threads);
    // The summary of a root cause has said what its threads run.
    if let Some(roles) = roles.filter(|_| !page.style.brief || diagnosis.root_cause.is_none()) {
        page.prose("  ", &roles, Tone::Dim);
    }
    let columns = Columns { names: &names, sources, threads, brief: page.style.brief };
    columns.write(page, (&failing, &failed), passing.as_ref().zip(passed.as_ref()));
    legend(page, &sides);
    first.iter().for_each(|alternate| branches(page, &alternate.projection.branches));
    names
}

fn title(page: &Page, side: &Side<'_>, sign: &str, what: &str, path: &str) -> String {
    if page.style.brief {
        let shown = side.items.iter().filter(|item| matches!(item, Item::Event(_))).count();
        let all = side.run.trace.events.len();
        return format!("{sign} {what}{path} ({shown} of {all} events)");
    }
    let switches = count(side.run.schedule.context_switches() as u64, "context switch");
    format!("{sign} {what}: {switches}{path}")
}

fn path(alternate: &Alternate) -> &'static str {
    if alternate.same_path { "" } else { ", another path" }
}

/// Only the signs that were drawn.
fn legend(page: &mut Page, sides: &[&Side<'_>]) {
    let glyphs = page.glyphs;
    let steps = || {
        sides.iter().flat_map(|side| &side.items).filter_map(|item| match item {
            Item::Event(step) => Some(step),
            Item::Gap { .. } => None,
        })
    };
    let mut signs: Vec<String> = Vec::new();
    if steps().any(|step| step.causal) {
        signs.push(format!("{} root cause", glyphs.causal));
    }
    if steps().any(|step| !step.flows.is_empty()) {
        let text = match page.style.brief {
            true => "not what the other run reads",
            false => "takes its value from elsewhere than in the other run",
        };
        signs.push(format!("{} {text}", glyphs.from));
    }
    if !page.style.brief && steps().any(|step| step.other_path) {
        signs.push(format!("{} the other run takes another path", glyphs.other_path));
    }
    let regions: Vec<RegionKind> = sides.iter().filter_map(|s| Some(s.region?.kind)).collect();
    if regions.contains(&RegionKind::Atomic) {
        signs.push(format!("{}{} should be atomic", glyphs.open, glyphs.close));
    }
    if regions.contains(&RegionKind::Order) {
        signs.push(format!("{}{} should be in this order", glyphs.open, glyphs.arrow));
    }
    if !signs.is_empty() {
        page.prose("  ", &signs.join("; "), Tone::Dim);
    }
}

fn branches(page: &mut Page, branches: &[BranchChange]) {
    for branch in branches.iter().take(MOST_BRANCHES) {
        let lead = format!("  {} ", page.glyphs.other_path);
        page.prose(&lead, &differences::branch(branch), Tone::Plain);
    }
    if let Some(more) = branches.len().checked_sub(MOST_BRANCHES + 1) {
        page.prose(
            "  ",
            &format!("{} more go another way", count(more as u64 + 1, "thread")),
            Tone::Dim,
        );
    }
}

/// The alternates after the first, a line or two each.
fn others(page: &mut Page, diagnosis: &Diagnosis, names: &Names) {
    let others = diagnosis.alternates.get(1..).unwrap_or_default();
    if others.is_empty() {
        return;
    }
    page.section("Other runs that pass");
    for (index, alternate) in others.iter().take(MOST_OTHERS).enumerate() {
        let lead = format!("  {}  ", index + 2);
        let path = if alternate.same_path { "same path" } else { "another path" };
        let distance = numbers::distance(alternate.distance, alternate.minimality);
        page.prose(&lead, &format!("{distance}; {path}; found by {}", alternate.goal), Tone::Plain);
        if let Some(text) = differences::first_flow(diagnosis, alternate, names) {
            page.prose("     ", &text, Tone::Dim);
        }
    }
    if let Some(more) = others.len().checked_sub(MOST_OTHERS + 1) {
        page.line(Line::new().with(&format!("  {} more", more + 1), Tone::Dim));
    }
}
