//! Values of `__VERIFIER_nondet_*` that assumptions let pass.
//!
//! Programs of the verification competition *guess*: they ask for any value and assume what it has to be, say the number of a
//! cell that is free. Nearly every drawn value is refused then, and of a run with a dozen guesses nothing is seen but its
//! beginning. So a run that an assumption ended is executed again with the same decisions and another last value, until it goes
//! further or no value is left; then the next guess is looked at. Values that passed are tried first elsewhere.
//!
//! *Not modelled*: assumptions about several values at once, and large constants (`hunt` asks a solver about those). An assumption
//! about something else than the last value is looked at in vain; where that is usual, [`Guesses::pay`] says so. Errs on the side
//! of executing runs for nothing: none is left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use unravel_trace::{Nondet, Outcome, Rng, Run};

use crate::budgets::{GUESSED_EVENTS, GUESSES, LEAST_GUESSES};

/// Values that are tried of each guess: where programs index small tables, all there are.
const SMALL: u64 = 16;
/// Of the values that passed elsewhere, so many are tried first.
const FAVOURITES: usize = 8;
/// Values that a run is given behind its last guess. It draws what it asks for besides.
const BEHIND: usize = 64;

/// What guesses came to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Guesses {
    tried: u64,
    /// How often each value passed, of the small ones.
    passed: BTreeMap<u64, u64>,
}

impl Guesses {
    /// What is known where these values let a run come to where it was to come.
    pub fn that_passed(values: &[u64]) -> Guesses {
        let mut known = Guesses::default();
        values.iter().for_each(|value| known.note(*value, true));
        known
    }

    pub fn merge(&mut self, other: &Guesses) {
        self.tried += other.tried;
        for (value, times) in &other.passed {
            *self.passed.entry(*value).or_default() += times;
        }
    }

    /// Whether trying other values takes runs further often enough.
    pub fn pay(&self) -> bool {
        self.tried < LEAST_GUESSES || self.passed.values().sum::<u64>() * 50 >= self.tried
    }

    fn note(&mut self, value: u64, passed: bool) {
        self.tried += 1;
        if passed {
            *self.passed.entry(value).or_default() += 1;
        }
    }

    fn favourites(&self) -> Vec<u64> {
        let mut values: Vec<(u64, u64)> =
            self.passed.iter().map(|(v, times)| (*times, *v)).collect();
        values.sort_by_key(|(times, value)| (u64::MAX - times, *value));
        values.into_iter().take(FAVOURITES).map(|(_, value)| value).collect()
    }
}

/// One sample, whose guesses are tried again.
#[derive(Debug)]
pub struct Guessing<'k> {
    known: &'k Guesses,
    rng: Rng,
    left: u32,
    /// The guess that is looked at, and what it has not been yet, the next one last.
    at: usize,
    untried: Vec<u64>,
    /// The value that is being executed.
    now: Option<u64>,
    own: Guesses,
}

impl<'k> Guessing<'k> {
    pub fn new(known: &'k Guesses, seed: u64) -> Guessing<'k> {
        let left = if known.pay() { GUESSES } else { 0 };
        let (rng, own) = (Rng::new(seed), Guesses::default());
        Guessing { known, rng, left, at: 0, untried: Vec::new(), now: None, own }
    }

    /// The values with which the decisions of this run are to be executed again, if an assumption ended it that another last
    /// value might keep.
    pub fn again(&mut self, run: &Run) -> Option<Nondet> {
        let asked = run.nondet.len();
        let is_refused = run.outcome == Outcome::Discarded;
        if let Some(value) = self.now.take() {
            self.own.note(value, !is_refused || asked > self.at);
        }
        let is_long = run.schedule.events() > GUESSED_EVENTS;
        let last = *run.nondet.last().filter(|_| is_refused && !is_long && self.left > 0)?;
        if asked != self.at {
            self.at = asked;
            self.untried = self.order();
            self.untried.retain(|value| *value != last);
        }
        let value = self.untried.pop()?;
        self.now = Some(value);
        self.left -= 1;
        let mut values = run.nondet[..asked - 1].to_vec();
        values.push(value);
        values.extend((0..BEHIND).map(|_| Nondet::drawn(&mut self.rng)));
        Some(Nondet::List(values))
    }

    /// What this sample came to.
    pub fn finish(self) -> Guesses {
        self.own
    }

    /// All values of a guess, the next one last: what passed elsewhere, then the other small ones.
    fn order(&mut self) -> Vec<u64> {
        let mut first = self.known.favourites();
        let mut order: Vec<u64> = (0..SMALL).filter(|value| !first.contains(value)).collect();
        self.shuffle(&mut order);
        self.shuffle(&mut first);
        order.extend(first);
        order
    }

    fn shuffle(&mut self, values: &mut [u64]) {
        for at in (1..values.len()).rev() {
            values.swap(at, self.rng.below(at as u32 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of a program that assumes of its values what `wanted` says, one after the other.
    fn run(from: &Nondet, wanted: &[u64]) -> Run {
        let Nondet::List(values) = from else { panic!("values are given") };
        let mut run = Run::default();
        for (at, wanted) in wanted.iter().enumerate() {
            run.nondet.push(values[at]);
            if values[at] != *wanted {
                run.outcome = Outcome::Discarded;
                return run;
            }
        }
        run.outcome = Outcome::Exited { code: 0 };
        run
    }

    fn runs_to_the_end(known: &Guesses, wanted: &[u64]) -> (u32, Guesses) {
        let mut guessing = Guessing::new(known, 7);
        let mut last = run(&Nondet::List(vec![99]), wanted);
        let mut runs = 1;
        while let Some(values) = guessing.again(&last) {
            last = run(&values, wanted);
            runs += 1;
        }
        assert_eq!(last.outcome, Outcome::Exited { code: 0 }, "after {runs} runs");
        assert_eq!(last.nondet, wanted);
        (runs, guessing.finish())
    }

    #[test]
    fn guess_after_guess_is_put_right() {
        let (runs, learned) = runs_to_the_end(&Guesses::default(), &[3, 0, 2, 3]);
        assert!(runs <= 1 + 4 * SMALL as u32);
        let (fewer, _) = runs_to_the_end(&learned, &[3, 0, 2, 3]);
        assert!(fewer <= 1 + 4 * 3, "{fewer} runs");
    }

    #[test]
    fn a_value_that_nothing_helps_is_given_up() {
        let known = Guesses::default();
        let mut guessing = Guessing::new(&known, 7);
        let discarded = || Run { outcome: Outcome::Discarded, nondet: vec![99], ..Run::default() };
        let mut runs = 0;
        while guessing.again(&discarded()).is_some() {
            runs += 1;
        }
        assert_eq!(runs, SMALL);
        let mut all = guessing.finish();
        for _ in 0..LEAST_GUESSES {
            all.note(5, false);
        }
        assert!(!all.pay());
        assert!(Guessing::new(&all, 7).again(&discarded()).is_none());
    }
}
