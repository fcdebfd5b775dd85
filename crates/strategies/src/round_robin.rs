//! Round robin: every thread in turn, for the same number of events.

use unravel_trace::{Choice, Scheduler, View};

use crate::run_to_block::next_in_order;

#[derive(Debug)]
pub struct RoundRobin {
    pub events: u32,
}

impl Scheduler for RoundRobin {
    fn next(&mut self, view: &View<'_>) -> Choice {
        Choice { thread: next_in_order(view), events: self.events.max(1) }
    }
}
