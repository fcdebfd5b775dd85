//! A scheduler as production has it: a thread runs until it blocks or its time slice ends, which is seldom.
//!
//! The slice is drawn for each run, so that a hundred runs see a busy machine and an idle one; who is next is drawn each time.
//! What such runs do not show is what hunting is for.
//!
//! In place of Cortex's runs of users (thesis §5.2.1).

use unravel_trace::{Choice, Op, Question, Rng, Scheduler, View, Why};

/// Mean events in a slice.
const SLICES: [u32; 4] = [8, 25, 100, 1_000];

#[derive(Debug)]
pub struct Production {
    rng: Rng,
    slice: u32,
}

impl Production {
    pub fn new(seed: u64) -> Production {
        let mut rng = Rng::new(seed);
        let slice = *rng.pick(&SLICES);
        Production { rng, slice }
    }

    /// The same machine in every run: slices of so many events in the mean, 1 at least.
    pub fn sliced(seed: u64, slice: u32) -> Production {
        Production { rng: Rng::new(seed), slice: slice.clamp(1, u32::MAX / 2) }
    }
}

impl Scheduler for Production {
    fn next(&mut self, view: &View<'_>) -> Choice {
        // The end of the process waits for what is still going on, as it mostly would.
        let others: Vec<_> = view
            .enabled
            .iter()
            .filter(|c| {
                c.pending.op != Op::End && !(view.why == Why::Yielded && c.thread == view.current)
            })
            .collect();
        let thread = match others.is_empty() {
            true => view.enabled[self.rng.below(view.enabled.len() as u32) as usize].thread,
            false => others[self.rng.below(others.len() as u32) as usize].thread,
        };
        Choice { thread, events: 1 + self.rng.below(2 * self.slice) }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.rng.below(options)
    }
}
