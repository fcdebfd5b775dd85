//! The two accesses of a race, each with the locks its thread holds, and what guards the object elsewhere.

use unravel_results::Race;

use super::line::{Line, Tone};
use super::page::Page;
use crate::source::Sources;
use crate::{escape, races, words};

pub fn write(page: &mut Page, race: &Race, sources: &Sources) {
    page.blank();
    for (index, access) in race.accesses.iter().enumerate() {
        let lead = format!("  {}  ", index + 1);
        let text =
            format!("{}  {}", races::access(access, &race.object), words::at(&access.who.place));
        page.prose(&lead, &text, Tone::Strong);
        if let Some(source) = sources.line(&access.who.place) {
            let source = escape::visible(&source).into_owned();
            page.line(Line::new().with(&format!("     {source}"), Tone::Dim));
        }
        page.prose("     ", &races::locks(access), Tone::Plain);
    }
    if let Some(text) = races::guard(race) {
        page.prose("  ", &text, Tone::Plain);
    }
}
