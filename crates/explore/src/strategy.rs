//! Which schedules a search tries.

use std::fmt;
use std::str::FromStr;

use unravel_trace::{Rng, Scheduler};

use crate::{Pct, Random, RoundRobin, RunToBlock};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// A mixture: the two deterministic strategies once, then random walks and PCT in turn.
    Mix,
    RunToBlock,
    RoundRobin,
    Random,
    /// With this depth.
    Pct(u32),
}

impl Strategy {
    /// The strategies that a test tries each of.
    pub const EACH: [Strategy; 5] = [
        Strategy::RunToBlock,
        Strategy::RoundRobin,
        Strategy::Random,
        Strategy::Pct(3),
        Strategy::Mix,
    ];

    /// The scheduler of run number `index`. `events` estimates how long a run is.
    pub fn scheduler(self, seed: u64, index: u64, events: u64) -> Box<dyn Scheduler> {
        let run_seed = Rng::derive(seed, index);
        match self {
            Strategy::RunToBlock => Box::new(RunToBlock),
            Strategy::RoundRobin => Box::new(RoundRobin { events: 1 + (index % 16) as u32 }),
            Strategy::Random => Box::new(Random::new(run_seed)),
            Strategy::Pct(depth) => Box::new(Pct::new(run_seed, depth, events)),
            Strategy::Mix => match index {
                0 => Box::new(RunToBlock),
                1 => Box::new(RoundRobin { events: 1 }),
                _ if index.is_multiple_of(2) => Box::new(Random::new(run_seed)),
                _ => Box::new(Pct::new(run_seed, 1 + (index / 2 % 4) as u32, events)),
            },
        }
    }

    /// Whether two runs of this strategy can differ.
    pub fn is_random(self) -> bool {
        !matches!(self, Strategy::RunToBlock)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Mix => f.write_str("mix"),
            Strategy::RunToBlock => f.write_str("run-to-block"),
            Strategy::RoundRobin => f.write_str("round-robin"),
            Strategy::Random => f.write_str("random"),
            Strategy::Pct(depth) => write!(f, "pct:{depth}"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "no strategy is called '{0}'; there are mix, random, pct, pct:DEPTH, round-robin and run-to-block"
)]
pub struct UnknownStrategy(String);

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(text: &str) -> Result<Self, UnknownStrategy> {
        let unknown = || UnknownStrategy(text.to_owned());
        Ok(match text {
            "mix" => Strategy::Mix,
            "run-to-block" => Strategy::RunToBlock,
            "round-robin" => Strategy::RoundRobin,
            "random" => Strategy::Random,
            "pct" => Strategy::Pct(3),
            _ => {
                let depth = text.strip_prefix("pct:").ok_or_else(unknown)?;
                Strategy::Pct(
                    depth.parse().ok().filter(|d| (1..=100).contains(d)).ok_or_else(unknown)?,
                )
            }
        })
    }
}
