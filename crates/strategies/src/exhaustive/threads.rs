//! Sets of threads.

/// A set of threads, of the first [`ThreadSet::MOST`] of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ThreadSet(u128);

impl ThreadSet {
    /// As many threads as a set has room for. No exhaustive search of more would ever end.
    pub const MOST: u32 = u128::BITS;

    pub fn insert(&mut self, thread: u32) {
        self.0 |= 1 << thread;
    }

    pub fn contains(self, thread: u32) -> bool {
        thread < Self::MOST && self.0 >> thread & 1 == 1
    }

    pub fn with(self, other: ThreadSet) -> ThreadSet {
        ThreadSet(self.0 | other.0)
    }

    pub fn without(self, other: ThreadSet) -> ThreadSet {
        ThreadSet(self.0 & !other.0)
    }

    pub fn meets(self, other: ThreadSet) -> bool {
        self.0 & other.0 != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The thread that was created last.
    pub fn last(self) -> Option<u32> {
        (self.0 != 0).then(|| u128::BITS - 1 - self.0.leading_zeros())
    }

    /// The thread that was created first.
    pub fn first(self) -> Option<u32> {
        (self.0 != 0).then(|| self.0.trailing_zeros())
    }
}
