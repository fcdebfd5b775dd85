//! A diagnosis, an explanation, all causes, repairs or a hunt for a person at a terminal: what failed, why, what to
//! do next.
//!
//! No line is wider than the style says, but for commands and diffs: they are there to be copied.

mod cause;
mod cause_graph;
mod causes;
mod columns;
mod explanation;
mod headline;
mod hunt;
pub(crate) mod line;
mod numbers;
mod page;
mod race;
mod repair_in_short;
mod repairs;
mod schedules;

use unravel_results::{
    Causes, Diagnosis, ExplainedBug, Explanation, Exposed, Hunt, Repairs, replay_command,
};

use crate::searched::searched;
use crate::source::Sources;
use crate::{FileNames, escape, file_names, hunts};
use page::{Limits, Page};

/// Lines of a brief report of one bug.
const ONE_SCREEN: usize = 60;
/// Of these, what is left for a repair and the commands at the end; and for those commands alone.
const REPAIR_LINES: usize = 22;
const LAST_LINES: usize = 6;
/// Narrower terminals get lines that their terminal breaks.
const NARROWEST: usize = 40;

/// How the text may look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    pub color: bool,
    /// Columns of the terminal; below 40 it counts as 40.
    pub width: usize,
    /// Whether the terminal shows arrows and lines; else everything that we add is ASCII.
    pub unicode: bool,
    /// Only what a person needs to understand the bug: no numbers, few orders, of the runs only what the cause names
    /// and what differs.
    pub brief: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style { color: false, width: 100, unicode: true, brief: false }
    }
}

/// The whole diagnosis. `replay` is the command that makes the failure happen again.
pub fn diagnosis(
    diagnosis: &Diagnosis,
    sources: &Sources,
    style: Style,
    replay: Option<&str>,
) -> String {
    let mut page = Page::new(style, FileNames::of_failures([&diagnosis.failure]));
    headline::failure(&mut page, &diagnosis.failure, &diagnosis.program, Some(diagnosis));
    headline::status(&mut page, &diagnosis.status);
    told(&mut page, diagnosis, sources);
    if let Some(command) = replay {
        page.section("Replay");
        page.command(command);
    }
    page.finish()
}

/// What `explain` found out. `html` is where its page is.
pub fn explanation(
    explanation: &Explanation,
    sources: &Sources,
    style: Style,
    html: Option<&str>,
) -> String {
    let bugs = bugs(explanation, sources, style, explanation.repairs.is_some());
    let rest = rest(explanation, style, html, bugs.lines().count());
    bugs + &rest
}

/// The bugs, which are known before any repair is: a section each. `more` says whether repairs will follow, so that all of it has
/// room on a screen.
pub fn bugs(all: &Explanation, sources: &Sources, style: Style, more: bool) -> String {
    let kept = if more { REPAIR_LINES } else { LAST_LINES };
    let screen = (ONE_SCREEN - kept) * screens(all);
    short_enough(all, style, screen, |page| explanation::write_bugs(page, all, sources))
}

/// What follows the bugs, which took `above` lines: repairs, what was explored, and what to type next.
pub fn rest(all: &Explanation, style: Style, html: Option<&str>, above: usize) -> String {
    let screen = (ONE_SCREEN * screens(all)).saturating_sub(above);
    short_enough(all, style, screen, |page| explanation::write_rest(page, all, html))
}

/// Bugs that are told in full.
fn screens(all: &Explanation) -> usize {
    all.bugs.iter().filter(|bug| bug.same_cause_as.is_none()).count().max(1)
}

/// A part of a report, with as much shown as there is room for if it is to be brief.
fn short_enough(
    all: &Explanation,
    style: Style,
    screen: usize,
    write: impl Fn(&mut Page),
) -> String {
    let names = FileNames::of_failures(all.bugs.iter().map(|bug| &bug.failure));
    let written = |limits: &Limits| {
        let mut page = Page::new(style, names.clone());
        page.limits = *limits;
        write(&mut page);
        page
    };
    let mut tried = Limits::ALL.iter().map(written);
    let mut page = tried.next().expect("there are limits");
    while style.brief && page.lines() > screen {
        let Some(shorter) = tried.next() else { break };
        page = shorter;
    }
    page.finish()
}

/// All causes, each as a graph. `html` is where their page is.
pub fn causes(causes: &Causes, sources: &Sources, style: Style, html: Option<&str>) -> String {
    let bugs = causes.bugs.iter().map(|bug| &bug.failure);
    let mut page = Page::new(style, FileNames::of_failures(bugs));
    causes::write(&mut page, causes, sources, html);
    page.finish()
}

/// The repairs that stood every check. `patches` are the files that their diffs were written to, one each, if they
/// were; `html` is where their page is.
pub fn repairs(repairs: &Repairs, style: Style, patches: &[String], html: Option<&str>) -> String {
    let bugs = repairs.causes.bugs.iter().map(|bug| &bug.failure);
    let mut page = Page::new(style, FileNames::of_failures(bugs));
    repairs::write(&mut page, repairs, patches, html);
    page.finish()
}

/// What a hunt exposed, and what it searched. `typed` is how the program of each failure is typed again, with the input
/// it needs; `html` is where the page is.
pub fn hunt(
    hunt: &Hunt,
    sources: &Sources,
    style: Style,
    typed: &[String],
    html: Option<&str>,
) -> String {
    let failures = hunt.exposed.iter().map(|exposed| &exposed.failure);
    let mut page = Page::new(style, FileNames::of_failures(failures));
    hunt::write(&mut page, hunt, sources, typed, html);
    page.finish()
}

/// A line an exposed failure: what, where, the command that replays it. If nothing could be searched, why.
pub fn brief_hunt(hunt: &Hunt) -> String {
    let names = file_names::of_hunt(hunt);
    let line = |exposed: &Exposed| {
        let replay = exposed.trace.as_deref().map(replay_command);
        let replay = replay.map_or(String::new(), |command| format!("  {command}"));
        let text = format!("{}: {}{replay}", hunt.program, names.bug(&exposed.failure.id()));
        format!("{}\n", escape::visible(&text))
    };
    if hunts::weight(hunt) == hunts::Weight::Inconclusive {
        return format!("{}: {}\n", escape::visible(&hunt.program), hunts::headline(hunt));
    }
    hunt.exposed.iter().map(line).collect()
}

/// A line a bug: what, where, the command that replays it. If there is none and that says nothing, why.
pub fn brief(explanation: &Explanation, inconclusive: bool) -> String {
    if explanation.bugs.is_empty() && inconclusive {
        let said = searched(&explanation.program, &explanation.explored, 0);
        return format!("{}\n", escape::visible(&said.headline));
    }
    let names = file_names::of_explanation(explanation);
    let line = |bug: &ExplainedBug| {
        let text = format!("{}: {}  {}", explanation.program, names.bug(&bug.id), bug.replay);
        format!("{}\n", escape::visible(&text))
    };
    explanation.bugs.iter().map(line).collect()
}

/// All that a diagnosis says of its failure.
fn told(page: &mut Page, diagnosis: &Diagnosis, sources: &Sources) {
    if let Some(cause) = &diagnosis.root_cause {
        cause::write(page, diagnosis, cause, sources);
    }
    schedules::write(page, diagnosis, sources);
    if !page.style.brief {
        numbers::write(page, diagnosis);
    }
    notes(page, &diagnosis.notes);
}

fn notes(page: &mut Page, notes: &[String]) {
    if notes.is_empty() {
        return;
    }
    page.section("Notes");
    for (index, note) in notes.iter().enumerate() {
        // Rooms that worked one after the other may say the same, such as that they were interrupted.
        if notes[..index].contains(note) {
            continue;
        }
        let bullet = format!("{} ", page.glyphs.bullet);
        page.prose(&format!("  {bullet}"), note, line::Tone::Plain);
    }
}
