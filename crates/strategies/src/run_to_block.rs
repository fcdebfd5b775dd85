//! Run to block: a thread runs until it cannot, then the next in order of creation. What a test on an
//! idle machine mostly sees.

use unravel_trace::{Choice, Scheduler, View, Why};

#[derive(Debug, Default)]
pub struct RunToBlock;

impl Scheduler for RunToBlock {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let stay = view.current_is_enabled() && view.why != Why::Yielded;
        let thread = if stay { view.current } else { next_in_order(view) };
        Choice { thread, events: u32::MAX }
    }
}

/// The enabled thread that follows the current one, going round.
pub fn next_in_order(view: &View<'_>) -> unravel_trace::ThreadId {
    let mut threads = view.enabled.iter().map(|c| c.thread);
    threads
        .clone()
        .find(|t| *t > view.current)
        .or_else(|| threads.next())
        .expect("something is enabled")
}
