//! A diagnosis for a person at a terminal: what failed, why, the two schedules side by side, what to do next.
//!
//! No line is wider than the style says, but for the command that the caller gives: it is there to be copied.

mod cause;
mod columns;
mod headline;
mod line;
mod names;
mod numbers;
mod page;
mod schedules;

use unravel_trace::Diagnosis;

use crate::source::Sources;
use page::Page;

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
}

impl Default for Style {
    fn default() -> Self {
        Style { color: false, width: 100, unicode: true }
    }
}

/// The whole diagnosis. `replay` is the command that makes the failure happen again.
pub fn diagnosis(
    diagnosis: &Diagnosis,
    sources: &Sources,
    style: Style,
    replay: Option<&str>,
) -> String {
    let style = Style { width: style.width.max(NARROWEST), ..style };
    let mut page = Page::new(style);
    headline::write(&mut page, diagnosis);
    if let Some(cause) = &diagnosis.root_cause {
        cause::write(&mut page, diagnosis, cause, sources);
    }
    schedules::write(&mut page, diagnosis, sources);
    numbers::write(&mut page, diagnosis);
    notes(&mut page, diagnosis);
    if let Some(command) = replay {
        page.section("Replay");
        page.command(command);
    }
    page.finish()
}

fn notes(page: &mut Page, diagnosis: &Diagnosis) {
    if diagnosis.notes.is_empty() {
        return;
    }
    page.section("Notes");
    for note in &diagnosis.notes {
        let bullet = format!("{} ", page.glyphs.bullet);
        page.prose(&format!("  {bullet}"), note, line::Tone::Plain);
    }
}
