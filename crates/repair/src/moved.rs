//! A statement that goes elsewhere in its function.

use crate::spots::Stretch;

/// A statement, and the statement of the same block that it goes before or after.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    pub what: Stretch,
    pub side: Side,
    pub of: Stretch,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Before,
    After,
}

impl Move {
    /// What it does, in half a sentence.
    pub fn title(&self) -> String {
        let side = match self.side {
            Side::Before => "before",
            Side::After => "after",
        };
        format!("{} goes {side} {}", self.what.name(), self.of.lines())
    }
}
