//! All causes: what fails and how far that is complete, a graph a class of causes, the orders between lines, the counts
//! of ConcBugAssist's table 5.2, and what to type next.

use unravel_results::{CauseClass, Causes, CausesVerdict, replay_command};

use super::line::{Line, Tone};
use super::page::Page;
use super::{cause, cause_graph, headline, notes};
use crate::cause_graph::CauseGraph;
use crate::source::Sources;
use crate::words::count;
use crate::{causes as said, file_names, inputs};

/// Classes drawn; more are counted.
const MOST_CLASSES: usize = 12;
/// Failures and orders of lines that are listed.
const MOST_LISTED: usize = 24;

pub fn write(page: &mut Page, causes: &Causes, sources: &Sources, html: Option<&str>) {
    what_fails(page, causes);
    for (index, class) in causes.classes.iter().take(MOST_CLASSES).enumerate() {
        section(page, causes, index, class, sources);
    }
    if let Some(more) = causes.classes.len().checked_sub(MOST_CLASSES).filter(|more| *more > 0) {
        page.blank();
        page.prose("  ", &format!("{} more", count(more as u64, "cause")), Tone::Dim);
    }
    unique(page, causes);
    if !causes.classes.is_empty() {
        page.section("In numbers");
        let counts: Vec<String> =
            said::counts(causes).into_iter().map(|(name, text)| format!("{name} {text}")).collect();
        page.prose("  ", &counts.join(", "), Tone::Plain);
    }
    notes(page, &said::notes(causes));
    next(page, causes, html);
}

/// The failures, how many causes they have, and whether these are all.
pub fn what_fails(page: &mut Page, causes: &Causes) {
    for (index, bug) in causes.bugs.iter().take(MOST_LISTED).enumerate() {
        if index > 0 {
            page.blank();
        }
        headline::failure(page, &bug.failure, &causes.program, None);
        if causes.bugs.len() > 1 {
            let classes = count(bug.classes, "class of schedules");
            let fail = if bug.classes == 1 { "fails" } else { "fail" };
            let with = inputs::with_which(causes, &bug.inputs);
            let with = with.map_or_else(String::new, |with| format!(", {with}"));
            page.prose("  ", &format!("{classes} {fail} so{with}"), Tone::Plain);
        }
    }
    let (lead, tone) = match causes.verdict {
        CausesVerdict::NothingFails => ("", Tone::Plain),
        CausesVerdict::Sequential | CausesVerdict::Concurrent => ("  ", Tone::Strong),
    };
    if causes.bugs.len() > 1 {
        page.blank();
    }
    page.prose(lead, &said::headline(causes), tone);
    let complete = causes.extent.is_complete();
    let tone = if complete { Tone::Good } else { Tone::Strong };
    // The headline of a program that does not fail has said the rest.
    let fails = causes.verdict != CausesVerdict::NothingFails;
    if fails || !complete {
        page.prose(lead, &said::extent(causes), tone);
    }
    if fails {
        page.prose(lead, "sequential consistency", Tone::Plain);
    }
}

fn section(page: &mut Page, causes: &Causes, index: usize, class: &CauseClass, sources: &Sources) {
    let which = match causes.classes.len() {
        1 => "Cause".to_owned(),
        all => format!("Cause {} of {all}", index + 1),
    };
    page.section(&format!("{which}: {}", class.pattern));
    page.prose("  ", &class.sentence, Tone::Plain);
    if let Some(first) = class.causes.first().filter(|cause| !cause.orders.is_empty()) {
        page.blank();
        let failure = said::failure(causes, class);
        if !cause_graph::draw(page, &CauseGraph::of(first, failure), sources) {
            for (index, order) in first.orders.iter().enumerate() {
                let lead = format!("  {}  ", index + 1);
                cause::write_order(page, &lead, failure, order, sources);
            }
        }
        page.blank();
    }
    if !class.advice.is_empty() {
        page.prose("  ", &class.advice, Tone::Good);
    }
    let bullet = format!("  {} ", page.glyphs.bullet);
    said::facts(causes, class).iter().for_each(|fact| page.prose(&bullet, fact, Tone::Plain));
}

/// The orders of all causes between lines.
fn unique(page: &mut Page, causes: &Causes) {
    if causes.unique.is_empty() {
        return;
    }
    page.section("Orders between lines, of all causes");
    let arrow = page.glyphs.before;
    let names = file_names::of_orders(causes);
    for order in causes.unique.iter().take(MOST_LISTED) {
        let (first, second) = (names.line(&order.first), names.line(&order.second));
        let text = format!("  {first} {arrow} {second}  ");
        page.line(Line::new().with(&text, Tone::Plain).with(&order.object, Tone::Dim));
    }
    if let Some(more) = causes.unique.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
        page.line(Line::new().with(&format!("  {more} more"), Tone::Dim));
    }
}

fn next(page: &mut Page, causes: &Causes, html: Option<&str>) {
    let replays: Vec<String> =
        causes.bugs.iter().filter_map(|bug| bug.trace.as_deref()).map(replay_command).collect();
    let repair = (causes.verdict == CausesVerdict::Concurrent)
        .then(|| said::repair_command(&causes.command))
        .flatten();
    if replays.is_empty() && repair.is_none() && html.is_none() {
        return;
    }
    page.blank();
    replays.iter().for_each(|command| page.row("replay", command));
    if let Some(command) = repair {
        page.row("repair", &command);
    }
    if let Some(html) = html {
        page.row("page", html);
    }
}
