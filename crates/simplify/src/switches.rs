//! What a simplification counts.

use unravel_trace::{Op, View, Why};

/// The context switches of a run. Smaller is simpler: first fewer switches, then fewer preemptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Switches {
    /// The thread that stopped could have gone on.
    pub preemptive: usize,
    /// It was blocked, had ended, or gave up its turn.
    pub forced: usize,
}

impl Switches {
    pub fn all(&self) -> usize {
        self.preemptive + self.forced
    }

    /// What is compared.
    pub fn cost(&self) -> (usize, usize) {
        (self.all(), self.preemptive)
    }
}

/// Whether the current thread cannot go on here, or gives up its turn: then a switch is no preemption.
pub(crate) fn is_forced(view: &View<'_>) -> bool {
    let current = view.enabled.iter().find(|c| c.thread == view.current);
    current.is_none_or(|c| c.pending.op == Op::Yield) || view.why == Why::Yielded
}
