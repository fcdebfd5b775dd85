//! A statement that goes elsewhere in its function.

use crate::source::Source;
use crate::spots::Stretch;

/// A statement, and the statement of the same block that it goes before or after.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    pub what: Stretch,
    pub side: Side,
    pub of: Stretch,
    /// Whether threads that only disturbed each other no longer run at the same time.
    pub parts_threads: bool,
    /// Whether other threads still look at what it moves without anything that orders them.
    pub leaves_race: bool,
    /// Both in their own words, shortened.
    words: (String, String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Before,
    After,
}

/// How much of a statement a title has.
const MOST_CHARS: usize = 40;

impl Move {
    pub fn new(what: Stretch, side: Side, of: Stretch, source: &Source) -> Move {
        let words = (words(&what, source), words(&of, source));
        Move { what, side, of, parts_threads: false, leaves_race: false, words }
    }

    /// What it does, in half a sentence.
    pub fn title(&self) -> String {
        let side = match self.side {
            Side::Before => "before",
            Side::After => "after",
        };
        let (what, of) = (self.what.name(), self.of.lines());
        format!("`{}` in {what} goes {side} `{}` ({of})", self.words.0, self.words.1)
    }
}

/// The first line of a statement, as far as it tells what the statement is.
fn words(stretch: &Stretch, source: &Source) -> String {
    let text = &source.text()[stretch.region.bytes.clone()];
    let line = text.lines().next().unwrap_or(text).trim_end_matches([';', '{', ' ', '\t']);
    match line.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
