//! Random walk: any enabled thread, for a random number of events.
//!
//! A walk that may switch at every event rarely lets one thread run far ahead, and one that seldom switches
//! rarely hits a small window. So each run draws how long its segments are on average.

use unravel_trace::{Choice, Op, Question, Rng, Scheduler, View, Why};

#[derive(Debug)]
pub struct Random {
    rng: Rng,
    /// Mean length of a segment.
    length: u32,
    /// Whether the end of the process waits until nothing else can happen.
    linger: bool,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut rng = Rng::new(seed);
        let length = *rng.pick(&[1, 1, 2, 5, 20, 100]);
        let linger = rng.below(2) == 0;
        Random { rng, length, linger }
    }
}

impl Scheduler for Random {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let mut index = self.rng.below(view.enabled.len() as u32) as usize;
        // A thread that gave up its turn is chosen again only if drawn twice.
        if view.why == Why::Yielded && view.enabled[index].thread == view.current {
            index = self.rng.below(view.enabled.len() as u32) as usize;
        }
        // Where main does not join, most orders end before anything happened.
        if self.linger && view.enabled.len() > 1 {
            while view.enabled[index].pending.op == Op::End {
                index = (index + 1) % view.enabled.len();
            }
        }
        let events = if self.length == 1 { 1 } else { 1 + self.rng.below(2 * self.length - 1) };
        Choice { thread: view.enabled[index].thread, events }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.rng.below(options)
    }
}
