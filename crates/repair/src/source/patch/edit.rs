//! Single edits and the order in which they come at one place.

use std::ops::Range;

use super::PatchError;
use crate::source::Source;

/// What comes first where several edits meet: what ends a region before what begins one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Rank {
    Closing,
    Opening,
    Break,
    Include,
    Declare,
    Before,
    Exit,
    Indent,
    Replace,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Edit {
    pub(super) at: Range<usize>,
    /// Its newlines are `\n`, whatever the file has.
    pub(super) text: String,
    rank: Rank,
    /// Decides between edits of one rank: of regions that end at one place the smaller closes first, of those that start
    /// at one place the larger opens first.
    weight: usize,
}

impl Edit {
    pub(super) fn new(at: Range<usize>, text: &str, rank: Rank, extent: usize) -> Edit {
        let weight = if rank == Rank::Closing { extent } else { usize::MAX - extent };
        Edit { at, text: text.to_owned(), rank, weight }
    }
}

pub(super) fn splice(source: &Source, mut edits: Vec<Edit>) -> Result<String, PatchError> {
    // The sort is stable, so what is equal keeps the order in which it was made.
    edits.sort_by_key(|edit| (edit.at.start, edit.rank, edit.weight));
    // Removing or replacing a thing twice in the same way is removing it once.
    edits.dedup_by(|a, b| a == b && !a.at.is_empty());
    let mut text = String::with_capacity(
        source.text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>(),
    );
    let mut done = 0;
    for edit in edits {
        if edit.at.start < done {
            return Err(PatchError::Overlap { line: source.position_of(edit.at.start).line });
        }
        text.push_str(&source.text[done..edit.at.start]);
        text.push_str(&edit.text.replace("\r\n", "\n").replace('\n', source.layout.newline));
        done = edit.at.end;
    }
    text.push_str(&source.text[done..]);
    Ok(text)
}
