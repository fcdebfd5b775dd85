//! Measures that are edits of the text: whoever proposes one knows the words, and says which kind of repair comes of it.

use std::ops::Range;

use unravel_results::RepairKind;

use crate::source::{Exit, Region};

/// Edits that are one measure together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rewrite {
    pub kind: RepairKind,
    /// What it does, in half a sentence.
    pub title: String,
    pub edits: Vec<Edit>,
}

/// One edit of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    pub file: String,
    pub deed: Deed,
}

/// What is done to the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Deed {
    Replace {
        bytes: Range<usize>,
        text: String,
    },
    /// Takes a statement away.
    Remove {
        statement: Range<usize>,
    },
    /// Puts statements before a region, or after it.
    Before {
        region: Region,
        text: String,
    },
    After {
        region: Region,
        text: String,
    },
    /// Puts a statement before these ways out of a region, after the values that they return have been computed.
    BeforeExits {
        region: Region,
        exits: Vec<Exit>,
        text: String,
    },
    /// One more member of a structure, after its last. `globals` are those whose value is another one with it.
    Member {
        at: usize,
        text: String,
        globals: Vec<String>,
    },
    Include {
        header: String,
    },
    /// Declares something at file scope, for a use at a byte.
    Declare {
        text: String,
        used_at: usize,
    },
}

impl Edit {
    pub fn replace(file: &str, bytes: Range<usize>, text: &str) -> Edit {
        Edit { file: file.to_owned(), deed: Deed::Replace { bytes, text: text.to_owned() } }
    }

    pub fn remove(file: &str, statement: Range<usize>) -> Edit {
        Edit { file: file.to_owned(), deed: Deed::Remove { statement } }
    }

    pub fn before(file: &str, region: &Region, text: &str) -> Edit {
        let (region, text) = (region.clone(), text.to_owned());
        Edit { file: file.to_owned(), deed: Deed::Before { region, text } }
    }

    pub fn after(file: &str, region: &Region, text: &str) -> Edit {
        let (region, text) = (region.clone(), text.to_owned());
        Edit { file: file.to_owned(), deed: Deed::After { region, text } }
    }
}
