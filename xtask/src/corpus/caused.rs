//! What `unravel causes --json` and `unravel repair --json` answer, as far as it is looked at here.

use serde::Deserialize;

use super::answer::Frame;

#[derive(Debug, Deserialize)]
pub struct Causes {
    pub verdict: String,
    pub extent: Extent,
    pub counts: Counts,
    /// By lines; each has one cause or more.
    pub classes: Vec<Class>,
}

#[derive(Debug, Deserialize)]
pub struct Extent {
    pub complete: bool,
}

/// As the paper counts them.
#[derive(Debug, Deserialize)]
pub struct Counts {
    pub iterations: u64,
    pub orders_a_schedule: f64,
    pub orders_a_cause: f64,
    pub unique: u64,
    pub reduction_ratio: f64,
}

#[derive(Debug, Deserialize)]
pub struct Class {
    pub pattern: String,
    pub causes: Vec<Cause>,
}

#[derive(Debug, Deserialize)]
pub struct Cause {
    pub orders: Vec<Order>,
    pub minimal: bool,
}

#[derive(Debug, Deserialize)]
pub struct Order {
    pub first: Participant,
    pub second: Participant,
}

#[derive(Debug, Deserialize)]
pub struct Participant {
    pub thread: String,
    pub place: Frame,
}

impl Causes {
    /// All causes, of all classes.
    pub fn all(&self) -> impl Iterator<Item = &Cause> {
        self.classes.iter().flat_map(|class| &class.causes)
    }

    /// Every order of every cause is needed.
    pub fn are_minimal(&self) -> bool {
        self.all().all(|cause| cause.minimal)
    }
}

impl Order {
    /// `28 -> 21`: programs of one file need no more.
    pub fn lines(&self) -> String {
        format!("{} -> {}", self.first.place.line, self.second.place.line)
    }
}

#[derive(Debug, Deserialize)]
pub struct Repairs {
    pub causes: Causes,
    /// The best first.
    pub repairs: Vec<Repair>,
    pub rejected: Vec<Rejected>,
}

#[derive(Debug, Deserialize)]
pub struct Repair {
    pub title: String,
    pub kind: String,
    pub diff: String,
    /// The patched files as a whole.
    pub files: Vec<PatchedFile>,
    pub cost: Cost,
}

#[derive(Debug, Deserialize)]
pub struct PatchedFile {
    pub path: String,
    pub text: String,
}

#[derive(Debug, Deserialize)]
pub struct Cost {
    pub lines_added: u32,
    pub lines_removed: u32,
}

#[derive(Debug, Deserialize)]
pub struct Rejected {
    pub title: String,
    pub reason: String,
}
