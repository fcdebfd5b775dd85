//! Which schedules a search tries.

use std::fmt;
use std::str::FromStr;

use unravel_trace::{Method, Rng, Scheduler};

use crate::knowledge::{Knowledge, Sight};
use crate::portfolio::ARMS;
use crate::{
    AtomicityDirected, DeadlockDirected, Pct, Pos, RaceDirected, Random, RoundRobin, Rounds,
    RunToBlock, Segments, Uniform,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// All of them: see [`crate::portfolio`].
    Portfolio,
    RunToBlock,
    RoundRobin,
    Random,
    /// With this depth, or with one that grows as the search goes on.
    Pct(Option<u32>),
    /// Partial-order sampling.
    Pos,
    /// Selectively uniform sampling.
    Uniform,
    /// Brings races and contended locks together.
    RaceDirected,
    /// Holds threads in the middle of two accesses, for another to come between.
    AtomicityDirected,
    /// Holds threads in cycles of locks.
    DeadlockDirected,
    /// Few preemptions, at shared locations.
    Segments,
    /// Turns of one shape, again and again.
    Rounds,
    /// Iterative context bounding, up to so many preemptions.
    Bounded(Option<u32>),
    /// Every class of schedules once.
    Exhaustive,
}

/// What a strategy has to be told of the program, of all that runs can teach: nothing else is collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    pub profile: bool,
    pub conflicts: bool,
    pub splits: bool,
    pub lock_orders: bool,
}

impl Strategy {
    /// The strategies that a test tries each of.
    pub const EACH: [Strategy; 14] = [
        Strategy::RunToBlock,
        Strategy::RoundRobin,
        Strategy::Random,
        Strategy::Pct(None),
        Strategy::Pos,
        Strategy::Uniform,
        Strategy::RaceDirected,
        Strategy::AtomicityDirected,
        Strategy::DeadlockDirected,
        Strategy::Segments,
        Strategy::Rounds,
        Strategy::Bounded(None),
        Strategy::Exhaustive,
        Strategy::Portfolio,
    ];

    /// The scheduler of run number `index`, if this is a strategy whose runs do not depend on each other, and of what the
    /// run may switch at.
    pub fn scheduler(
        self,
        seed: u64,
        index: u64,
        knowledge: &Knowledge,
        sight: Sight,
    ) -> Box<dyn Scheduler> {
        let run_seed = Rng::derive(seed, index);
        let events = knowledge.events(sight);
        match self {
            Strategy::RunToBlock => Box::new(RunToBlock),
            Strategy::RoundRobin => Box::new(RoundRobin { events: 1 + (index % 16) as u32 }),
            Strategy::Random => Box::new(Random::new(run_seed)),
            Strategy::Pct(depth) => {
                let depth = depth.unwrap_or_else(|| adaptive_depth(run_seed, index, events));
                Box::new(Pct::new(run_seed, depth, events))
            }
            Strategy::Pos => Box::new(Pos::new(run_seed)),
            Strategy::Uniform => Box::new(Uniform::new(run_seed, &knowledge.profile)),
            Strategy::RaceDirected => match knowledge.conflicts.pairs() {
                [] => Box::new(Random::new(run_seed)),
                pairs => {
                    let pair = *Rng::new(run_seed).pick(pairs);
                    Box::new(RaceDirected::new(Rng::derive(run_seed, 1), pair))
                }
            },
            Strategy::AtomicityDirected => match knowledge.splits.all() {
                [] => Box::new(Random::new(run_seed)),
                splits => Box::new(AtomicityDirected::new(run_seed, splits)),
            },
            Strategy::DeadlockDirected => match knowledge.lock_orders.cycles() {
                [] => Box::new(Random::new(run_seed)),
                cycles => {
                    let cycle = Rng::new(run_seed).pick(cycles);
                    Box::new(DeadlockDirected::new(Rng::derive(run_seed, 1), cycle))
                }
            },
            Strategy::Segments => {
                let locations = knowledge.profile.locations.len() as u64;
                let changes = adaptive_depth(run_seed, index, 4 * locations);
                Box::new(Segments::new(run_seed, changes, &knowledge.profile))
            }
            Strategy::Rounds => Box::new(Rounds::new(run_seed, knowledge.threads as usize)),
            // Their runs depend on each other; a single one is as plain as any.
            Strategy::Bounded(_) | Strategy::Exhaustive => Box::new(RunToBlock),
            Strategy::Portfolio => match index {
                0 => Box::new(RunToBlock),
                1 => Box::new(RoundRobin { events: 1 }),
                _ => match ARMS[knowledge.shares.arm(index)] {
                    // Every quantum has its turn.
                    Strategy::RoundRobin => Strategy::RoundRobin.scheduler(
                        seed,
                        index / ARMS.len() as u64,
                        knowledge,
                        sight,
                    ),
                    // Where there is nothing to bring together, others have its turn.
                    Strategy::DeadlockDirected if knowledge.lock_orders.cycles().is_empty() => {
                        Strategy::Segments.scheduler(seed, index, knowledge, sight)
                    }
                    Strategy::AtomicityDirected if knowledge.splits.all().is_empty() => {
                        Strategy::Pos.scheduler(seed, index, knowledge, sight)
                    }
                    arm => arm.scheduler(seed, index, knowledge, sight),
                },
            },
        }
    }

    /// What its schedulers look up in a [`Knowledge`].
    pub fn needs(self) -> Needs {
        let none = Needs::default();
        match self {
            Strategy::Uniform | Strategy::Segments => Needs { profile: true, ..none },
            Strategy::RaceDirected => Needs { conflicts: true, ..none },
            Strategy::AtomicityDirected => Needs { splits: true, ..none },
            Strategy::DeadlockDirected => Needs { lock_orders: true, ..none },
            Strategy::Portfolio => {
                ARMS.iter().map(|arm| arm.needs()).fold(none, |all, needs| Needs {
                    profile: all.profile || needs.profile,
                    conflicts: all.conflicts || needs.conflicts,
                    splits: all.splits || needs.splits,
                    lock_orders: all.lock_orders || needs.lock_orders,
                })
            }
            Strategy::RunToBlock
            | Strategy::RoundRobin
            | Strategy::Random
            | Strategy::Pct(_)
            | Strategy::Pos
            | Strategy::Rounds
            | Strategy::Bounded(_)
            | Strategy::Exhaustive => none,
        }
    }

    /// The systematic search that this is.
    pub fn method(self) -> Option<Method> {
        match self {
            Strategy::Bounded(_) => Some(Method::Bounded),
            Strategy::Exhaustive => Some(Method::Exhaustive),
            _ => None,
        }
    }

    /// Whether two runs of this strategy can differ.
    pub fn is_random(self) -> bool {
        !matches!(self, Strategy::RunToBlock)
    }
}

/// The depth of a PCT run, where the user gave none. After `r` runs of a program of `k` events, bugs of depth 1 + log_k r
/// are likely to have been found: so a little deeper, and shallow ones too, which are what most bugs are.
fn adaptive_depth(seed: u64, index: u64, events: u64) -> u32 {
    let covered = ((index + 1) as f64).ln() / (events.max(2) as f64).ln();
    let deepest = 3 + covered as u32;
    1 + Rng::new(Rng::derive(seed, 2)).below(deepest + 1)
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Portfolio => f.write_str("portfolio"),
            Strategy::RunToBlock => f.write_str("run-to-block"),
            Strategy::RoundRobin => f.write_str("round-robin"),
            Strategy::Random => f.write_str("random"),
            Strategy::Pct(None) => f.write_str("pct"),
            Strategy::Pct(Some(depth)) => write!(f, "pct:{depth}"),
            Strategy::Pos => f.write_str("pos"),
            Strategy::Uniform => f.write_str("uniform"),
            Strategy::RaceDirected => f.write_str("race-directed"),
            Strategy::AtomicityDirected => f.write_str("atomicity-directed"),
            Strategy::DeadlockDirected => f.write_str("deadlock-directed"),
            Strategy::Segments => f.write_str("segments"),
            Strategy::Rounds => f.write_str("rounds"),
            Strategy::Bounded(None) => f.write_str("bounded"),
            Strategy::Bounded(Some(bound)) => write!(f, "bounded:{bound}"),
            Strategy::Exhaustive => f.write_str("exhaustive"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "no strategy is called '{0}'; there are portfolio, random, pct, pct:DEPTH, pos, uniform, race-directed, \
     atomicity-directed, deadlock-directed, segments, rounds, bounded, bounded:PREEMPTIONS, exhaustive, round-robin and run-to-block"
)]
pub struct UnknownStrategy(String);

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(text: &str) -> Result<Self, UnknownStrategy> {
        let number =
            |text: &str, least| text.parse().ok().filter(|n| (least..=100).contains(n)).map(Some);
        let strategy = match text.split_once(':') {
            None => match text {
                // What it was called before it had parts.
                "portfolio" | "mix" => Some(Strategy::Portfolio),
                "run-to-block" => Some(Strategy::RunToBlock),
                "round-robin" => Some(Strategy::RoundRobin),
                "random" => Some(Strategy::Random),
                "pct" => Some(Strategy::Pct(None)),
                "pos" => Some(Strategy::Pos),
                "uniform" => Some(Strategy::Uniform),
                "race-directed" => Some(Strategy::RaceDirected),
                "atomicity-directed" => Some(Strategy::AtomicityDirected),
                "deadlock-directed" => Some(Strategy::DeadlockDirected),
                "segments" => Some(Strategy::Segments),
                "rounds" => Some(Strategy::Rounds),
                "bounded" => Some(Strategy::Bounded(None)),
                "exhaustive" => Some(Strategy::Exhaustive),
                _ => None,
            },
            Some(("pct", depth)) => number(depth, 1).map(Strategy::Pct),
            Some(("bounded", bound)) => number(bound, 0).map(Strategy::Bounded),
            Some(_) => None,
        };
        strategy.ok_or_else(|| UnknownStrategy(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let mut each = Strategy::EACH.to_vec();
        each.extend([Strategy::Pct(Some(3)), Strategy::Bounded(Some(0))]);
        for strategy in each {
            assert_eq!(strategy.to_string().parse::<Strategy>().ok(), Some(strategy));
        }
        assert_eq!("mix".parse::<Strategy>().ok(), Some(Strategy::Portfolio));
        for wrong in ["pct:0", "pct:x", "bounded:-1", "random:3", ""] {
            assert!(wrong.parse::<Strategy>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn depth_grows_with_the_search() {
        let deepest = |runs: std::ops::Range<u64>| {
            runs.map(|i| adaptive_depth(Rng::derive(1, i), i, 30)).max()
        };
        assert_eq!(deepest(0..25), Some(4));
        assert!(deepest(100_000..101_000) > Some(5));
    }
}
