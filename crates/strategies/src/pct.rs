//! PCT: random priorities with `d - 1` random points at which the running thread's priority drops
//! (Burckhardt et al., ASPLOS 2010). A bug of depth d among n threads and k events is hit with
//! probability at least 1 / (n · k^(d-1)).
//!
//! Deviates: the number of events is an estimate from earlier runs, and a thread that yields or spins
//! drops too, or programs that wait busily would never end.

use unravel_trace::{Choice, Op, Question, Rng, Scheduler, ThreadId, View, Why};

#[derive(Debug)]
pub struct Pct {
    rng: Rng,
    /// By [`ThreadId`]; larger runs first.
    priorities: Vec<i64>,
    /// Event numbers at which the running thread drops, last first, and the priority it drops to: below all that
    /// threads begin with, and in no particular order.
    changes: Vec<(u64, i64)>,
    /// The next priority below all others.
    lowest: i64,
    /// Whether the end of the process waits until nothing else can happen.
    linger: bool,
}

/// The least priority that a thread begins with; no run has so many changes.
const ABOVE_CHANGES: i64 = 1 << 20;

impl Pct {
    /// `events` is about how many events a run has.
    pub fn new(seed: u64, depth: u32, events: u64) -> Pct {
        let mut rng = Rng::new(seed);
        let range = events.clamp(1, u64::from(u32::MAX)) as u32;
        let mut changes: Vec<(u64, i64)> =
            (1..depth).map(|n| (1 + u64::from(rng.below(range)), i64::from(n))).collect();
        changes.sort_unstable_by(|a, b| b.cmp(a));
        let linger = rng.below(2) == 0;
        Pct { rng, priorities: Vec::new(), changes, lowest: 0, linger }
    }

    fn set_priority(&mut self, thread: ThreadId, to: i64) {
        if let Some(priority) = self.priorities.get_mut(thread.index()) {
            *priority = to;
        }
    }
}

impl Scheduler for Pct {
    fn next(&mut self, view: &View<'_>) -> Choice {
        while self.priorities.len() < view.names.len() {
            let priority = i64::from(self.rng.below(1 << 30)) + ABOVE_CHANGES;
            self.priorities.push(priority);
        }
        while let Some((_, to)) = self.changes.pop_if(|(at, _)| *at <= view.events) {
            self.set_priority(view.current, to);
        }
        if view.why == Why::Yielded {
            self.lowest -= 1;
            self.set_priority(view.current, self.lowest);
        }
        let thread = view
            .enabled
            .iter()
            .max_by_key(|c| {
                // Where main does not join, most orders end before anything happened.
                let ends = self.linger && c.pending.op == Op::End;
                (!ends, self.priorities[c.thread.index()])
            })
            .expect("something is enabled")
            .thread;
        // A thread created or woken by the next event may have a higher priority: decide every time.
        Choice { thread, events: 1 }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.rng.below(options)
    }
}
