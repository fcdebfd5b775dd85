//! The default search: all strategies at once, each where it pays.
//!
//! No strategy is best everywhere. The first run goes from block to block, the second switches at every event; then
//! the sampling strategies take turns, and the systematic ones get slots in between: a third of the first runs, then a fifth, and
//! half once sampling has had its chance, so that small programs are explored completely. How often a sampling
//! strategy has its turn depends on how many new pairs of a write and a read it brought to light in the runs that
//! learn, and on how many events these had: arms share events, not runs. Late in a search half of the samples are random walks. Which run is whose depends on its number and on what all shards know, never on time.

use serde::{Deserialize, Serialize};
use unravel_trace::Method;

use crate::Strategy;
use crate::budgets::{EPOCH, FIRST, LATE, LEARNING, SAMPLED};

/// The sampling strategies that take turns.
pub const ARMS: [Strategy; 10] = [
    Strategy::Uniform,
    Strategy::RaceDirected,
    Strategy::Pos,
    Strategy::Random,
    Strategy::Pct(None),
    Strategy::RoundRobin,
    Strategy::AtomicityDirected,
    Strategy::Rounds,
    Strategy::Segments,
    Strategy::DeadlockDirected,
];
/// Which of them the random walk is.
const WALK: usize = 3;
/// The arms of the first runs: what finds most bugs at once.
const EARLY: [usize; LEARNING as usize] = [5, 5, 0, 2, 0, 0, 2, 1];
/// How many turns of a round each has at least, and at most.
const TURNS: [(u32, u32); ARMS.len()] =
    [(2, 4), (3, 6), (2, 4), (1, 2), (1, 2), (1, 2), (2, 4), (1, 1), (1, 2), (1, 1)];

/// The most that a run counts for: two to this power of the cheapest.
const DEAREST: u32 = 5;

/// How often each of [`ARMS`] has its turn.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Shares {
    credits: [Credit; ARMS.len()],
    /// The turns of a round, by arm; empty at first, when all have one.
    turns: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Credit {
    runs: u32,
    /// New pairs of a write and a read.
    flows: u32,
    /// Events of those runs.
    events: u64,
}

impl Credit {
    /// Events of a run.
    fn cost(&self) -> u64 {
        (self.events / u64::from(self.runs.max(1))).max(1)
    }
}

impl Shares {
    /// The arm that run `index` belongs to.
    pub fn arm(&self, index: u64) -> usize {
        if index < LEARNING {
            return EARLY[index as usize];
        }
        // The odd ones are a systematic search's.
        if index >= LATE && index % 4 == 2 {
            return WALK;
        }
        // Shifted from round to round, or the runs that learn would all be one strategy's.
        let turn = index + index / 16;
        match self.turns.len() as u64 {
            0 => (turn % ARMS.len() as u64) as usize,
            turns => usize::from(self.turns[(turn % turns) as usize]),
        }
    }

    /// Counts what a run that learns brought to light.
    pub fn credit(&mut self, arm: usize, flows: usize, events: u64) {
        let credit = &mut self.credits[arm];
        credit.runs += 1;
        credit.flows += flows as u32;
        credit.events = credit.events.saturating_add(events);
    }

    /// By arm: as so many runs of the cheapest count one of it, in powers of two, so that it does not change with every event.
    fn dearness(&self) -> [u32; ARMS.len()] {
        let known = self.credits.iter().filter(|credit| credit.runs > 0);
        let cheapest = known.map(Credit::cost).min().unwrap_or(1);
        self.credits.map(|credit| match credit.runs {
            0 => 0,
            _ => (credit.cost() / cheapest).max(1).ilog2().min(DEAREST),
        })
    }

    /// Divides the turns of the next epoch anew.
    pub fn divide(&mut self) {
        let yields = self.credits.map(|c| f64::from(c.flows) / f64::from(c.runs.max(1)));
        let best = yields.iter().fold(0.0f64, |a, b| a.max(*b));
        let turns: Vec<u32> = yields
            .iter()
            .zip(TURNS)
            .map(|(y, (least, most))| match best {
                0.0 => least,
                best => least + (f64::from(most - least) * y / best).round() as u32,
            })
            .collect();
        // Arms share events, not runs: one whose runs are four times as long has a quarter of the turns.
        let dearness = self.dearness();
        let dearest = dearness.iter().copied().max().unwrap_or(0);
        let turns: Vec<u32> = turns.iter().zip(dearness).map(|(n, d)| n << (dearest - d)).collect();
        self.turns.clear();
        for nth in 1..=turns.iter().copied().max().unwrap_or(0) {
            let has_turn = (0..ARMS.len()).filter(|arm| turns[*arm] >= nth);
            self.turns.extend(has_turn.map(|arm| arm as u8));
        }
    }
}

/// The systematic search that run `index` belongs to, if it is not a sample.
pub fn slot(index: u64) -> Option<Method> {
    match index {
        0..FIRST => None,
        FIRST..LEARNING => matches!(index, 4 | 6).then_some(Method::Exhaustive),
        SAMPLED.. if index % 2 == 1 => Some(match index % 16 {
            15 => Method::Bounded,
            _ => Method::Exhaustive,
        }),
        _ => match index % 16 {
            15 => Some(Method::Bounded),
            1 | 9 => Some(Method::Exhaustive),
            5 | 13 if index < EPOCH => Some(Method::Exhaustive),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_strategies_have_turns_and_learn_in_turn() {
        let shares = Shares::default();
        let learning = (8..2000).filter(|index| crate::knowledge::is_full(*index));
        let mut runs = [0; ARMS.len()];
        for index in learning {
            runs[shares.arm(index)] += 1;
        }
        assert!(runs.iter().all(|n| *n > 5), "{runs:?}");
    }

    #[test]
    fn late_in_a_search_half_of_the_samples_are_random_walks() {
        assert_eq!(ARMS[WALK], Strategy::Random);
        let mut runs = [0; ARMS.len()];
        let samples = (LATE..LATE + 1600).filter(|index| slot(*index).is_none());
        samples.for_each(|index| runs[Shares::default().arm(index)] += 1);
        assert!((400..=480).contains(&runs[WALK]), "{runs:?}");
        assert!(runs.iter().all(|n| *n > 20), "nobody is left out: {runs:?}");
    }

    #[test]
    fn arms_share_events_not_runs() {
        let mut shares = Shares::default();
        for arm in 0..ARMS.len() {
            shares.credit(arm, 0, if arm == 0 { 4_000 } else { 1_000 });
        }
        shares.divide();
        let turns = |arm| shares.turns.iter().filter(|turn| **turn == arm).count();
        assert_eq!((turns(0), turns(2)), (2, 8), "both have at least two turns, of as many events");
        let mut even = Shares::default();
        (0..ARMS.len()).for_each(|arm| even.credit(arm, 0, 1_000 + arm as u64));
        even.divide();
        assert_eq!(even.turns.len(), TURNS.iter().map(|(least, _)| *least as usize).sum::<usize>());
    }

    #[test]
    fn what_brings_more_has_more_turns() {
        let mut shares = Shares::default();
        for arm in 0..ARMS.len() {
            shares.credit(arm, if arm == 2 { 9 } else { 0 }, 100);
        }
        shares.divide();
        let turns = |arm| shares.turns.iter().filter(|turn| **turn == arm).count();
        assert_eq!((turns(2), turns(0), turns(3)), (4, 2, 1), "from two turns to four");
        assert!((0..100).any(|index| shares.arm(index) == 5), "nobody is left out");
    }
}
