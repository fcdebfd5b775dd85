//! Any strategy, with an environment that deviates now and then.
//!
//! Which threads run is the strategy's; at some decisions a thread whose time has not come goes on instead, and some
//! questions are answered by a deviation. How likely that is differs from run to run, because runs differ in how many
//! occasions they have.

use unravel_trace::{Choice, Deviation, Executed, Question, Rng, Scheduler, View};

use crate::budgets::{EPOCH, SAMPLED};

/// So many deviations of sample `index` at most, if runs may have `most`: a quarter of the samples has some, once the
/// others have had their chance, and first one only.
pub fn deviations_of(index: u64, most: u32) -> u32 {
    /// More than any bound that a search by classes comes to: orders of sleeps that nothing promises.
    const MANY: u32 = 64;
    if index < EPOCH || index % 4 != 3 {
        return 0;
    }
    match index / 4 % 4 {
        _ if index < SAMPLED => most.min(1),
        1 => most.min(2),
        2 if most > 1 => MANY,
        _ => most.min(1),
    }
}

pub struct Deviating<'a> {
    strategy: Box<dyn Scheduler + 'a>,
    rng: Rng,
    left: u32,
    /// One occasion in so many is taken.
    rarely: u32,
}

impl<'a> Deviating<'a> {
    pub fn new(strategy: Box<dyn Scheduler + 'a>, seed: u64, most: u32) -> Deviating<'a> {
        let mut rng = Rng::new(seed);
        let rarely = *rng.pick(&[2, 4, 16, 64]);
        Deviating { strategy, rng, left: most, rarely }
    }

    fn takes_occasion(&mut self) -> bool {
        let takes = self.left > 0 && self.rng.below(self.rarely) == 0;
        self.left -= u32::from(takes);
        takes
    }
}

impl Scheduler for Deviating<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        if !view.early.is_empty() && self.takes_occasion() {
            let thread = view.early[self.rng.below(view.early.len() as u32) as usize].thread;
            return Choice { thread, events: 1 };
        }
        self.strategy.next(view)
    }

    fn choose(&mut self, what: Question, options: u32) -> u32 {
        self.strategy.choose(what, options)
    }

    fn deviate(&mut self, _what: Deviation) -> bool {
        self.takes_occasion()
    }

    fn finish(&mut self, events: u64) {
        self.strategy.finish(events);
    }

    fn watches(&self) -> bool {
        self.strategy.watches()
    }

    fn watch(&mut self, executed: &Executed<'_>) {
        self.strategy.watch(executed);
    }
}
