//! What is in a trace database, in numbers. The room of that name counts it, reports print it.

use unravel_trace::ThreadName;

/// What could not be read. None of it stands in the way of the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Damage {
    /// Records that cannot be read, or that contradict themselves.
    pub records: u64,
    /// Segments whose end is missing: their writers were stopped.
    pub torn: u64,
    /// Segments that do not begin as this program's do.
    pub segments: u64,
    /// Runs that refer to a trace which is not there.
    pub incomplete: u64,
}

impl Damage {
    pub fn any(&self) -> bool {
        *self != Damage::default()
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stats {
    /// The program's name, and what identifies its bitcode.
    pub program: String,
    pub fingerprint: u64,
    /// Runs that were added, and how many combinations of traces and input they were.
    pub seen: u64,
    pub distinct: usize,
    /// Distinct traces of all threads.
    pub traces: usize,
    /// By name.
    pub threads: Vec<ThreadStats>,
    pub visible_sets: usize,
    pub inputs: usize,
    /// Files, and their size. None in memory.
    pub segments: usize,
    pub bytes: u64,
    pub damage: Damage,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadStats {
    pub thread: ThreadName,
    pub traces: usize,
    pub paths: usize,
    /// Branches of the shortest and of the longest path.
    pub shortest: usize,
    pub longest: usize,
    /// Branches of all traces together, and how many of them are stored in so many nodes.
    pub branches: usize,
    pub stored: usize,
    pub nodes: usize,
}
