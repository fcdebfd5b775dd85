//! Partial-order sampling: a random priority for each *event*, drawn anew when an event it depends on is executed (Yuan,
//! Yang and Gu, CAV 2018). Orders of dependent events are then drawn almost uniformly, however many independent
//! events lie between; a random walk favours orders in which all threads progress alike.
//!
//! Deviates: a thread that yields or spins goes last, or programs that wait busily would not end; half of the runs
//! let the end of the process come last, as the other strategies do.

use unravel_trace::{Choice, Op, Question, Rng, Scheduler, View, Why, depend};

#[derive(Debug)]
pub struct Pos {
    rng: Rng,
    /// By [`unravel_trace::ThreadId`]: the priority of its pending event. The largest is executed.
    priorities: Vec<Option<u64>>,
    /// Whether the end of the process waits until nothing else can happen.
    linger: bool,
}

impl Pos {
    pub fn new(seed: u64) -> Pos {
        let mut rng = Rng::new(seed);
        let linger = rng.below(2) == 0;
        Pos { rng, priorities: Vec::new(), linger }
    }
}

impl Scheduler for Pos {
    fn next(&mut self, view: &View<'_>) -> Choice {
        self.priorities.resize(view.names.len(), None);
        for candidate in view.enabled {
            let rng = &mut self.rng;
            // Above 0, which is for those that gave up their turn.
            self.priorities[candidate.thread.index()].get_or_insert_with(|| rng.word() | 1);
        }
        if view.why == Why::Yielded {
            self.priorities[view.current.index()] = Some(0);
        }
        let chosen = view
            .enabled
            .iter()
            .max_by_key(|c| {
                let ends = self.linger && c.pending.op == Op::End;
                (!ends, self.priorities[c.thread.index()])
            })
            .expect("something is enabled");
        self.priorities[chosen.thread.index()] = None;
        for other in view.enabled {
            if other.thread != chosen.thread && depend(&chosen.pending, &other.pending) {
                self.priorities[other.thread.index()] = None;
            }
        }
        Choice { thread: chosen.thread, events: 1 }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.rng.below(options)
    }
}
