//! Edits of one source, laid out as the code around them.

mod edit;
mod guard;
mod preamble;
mod statements;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use edit::{Edit, Rank, splice};
use guard::ExitEdit;
use preamble::Declaration;

use super::Source;
use super::outline::BlockId;
use super::region::Region;

/// Why an edit was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PatchError {
    #[error("line {line} could not be parsed, so nothing is edited there")]
    Unparsed { line: u32 },
    #[error("two edits of line {line} overlap")]
    Overlap { line: u32 },
    #[error(
        "control never comes past the statement at line {line}, so nothing can be put after it"
    )]
    AfterJump { line: u32 },
    #[error("the label `{label}` at line {line} is jumped to from outside the statements to guard")]
    JumpInto { label: String, line: u32 },
    #[error("`{name}` is used after the statements to guard, which need braces of their own")]
    NameEscapes { name: String },
}

/// What is put around a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Guard {
    /// A statement before it, and one after it and before every exit.
    Statements { lock: String, unlock: String },
    /// A declaration before it whose destructor unlocks, and the statement that unlocks early (C++); where it lives to the end of
    /// its block anyway, a declaration that need not be able to.
    Scoped { declaration: String, release: String, to_the_end: String },
}

/// Edits of one source.
pub struct Patch<'s> {
    source: &'s Source,
    edits: Vec<Edit>,
    /// Statements and braces that get a line of their own, with the indentation of that line.
    breaks: BTreeMap<usize, String>,
    braced: BTreeSet<BlockId>,
    /// The exits that unlock, by where they start.
    exits: BTreeMap<usize, ExitEdit>,
    includes: Vec<String>,
    declarations: Vec<Declaration>,
}

impl<'s> Patch<'s> {
    /// A patch without edits.
    pub fn new(source: &'s Source) -> Patch<'s> {
        Patch {
            source,
            edits: Vec::new(),
            breaks: BTreeMap::new(),
            braced: BTreeSet::new(),
            exits: BTreeMap::new(),
            includes: Vec::new(),
            declarations: Vec::new(),
        }
    }

    /// Replaces a stretch, or inserts where it is empty.
    pub fn replace(&mut self, bytes: Range<usize>, text: &str) {
        self.edits.push(Edit::new(bytes, text, Rank::Replace, 0));
    }

    /// Exchanges two stretches.
    pub fn swap(&mut self, a: Range<usize>, b: Range<usize>) {
        let source = self.source;
        self.replace(a.clone(), &source.text[b.clone()]);
        self.replace(b, &source.text[a]);
    }

    /// The text with all edits. Edits at the same place keep the order in which they were made; overlapping ones are an
    /// error.
    pub fn apply(&self) -> Result<String, PatchError> {
        let mut edits = self.edits.clone();
        for (&at, indent) in &self.breaks {
            let gap = self.source.gap_before(at)..at;
            // What goes away needs no line of its own.
            let is_gone = |edit: &Edit| {
                edit.text.is_empty() && edit.at.start <= gap.start && gap.end < edit.at.end
            };
            if self.edits.iter().any(is_gone) {
                continue;
            }
            edits.push(Edit::new(gap, &format!("\n{indent}"), Rank::Break, 0));
        }
        edits.extend(self.exits.values().flat_map(|exit| self.exit_edits(exit)));
        edits.extend(self.include_edit());
        edits.extend(self.declaration_edits());
        splice(self.source, edits)
    }

    /// Refuses a region that the parser did not understand.
    fn check_parsed(&self, region: &Region) -> Result<(), PatchError> {
        match self.source.error_in(&region.bytes) {
            Some(at) => Err(PatchError::Unparsed { line: self.source.position_of(at).line }),
            None => Ok(()),
        }
    }
}
