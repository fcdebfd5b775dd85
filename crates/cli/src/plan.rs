//! What the user wants of a search: flags, then `unravel.toml`, then what is sensible.

use unravel_explore::{AfterFirst, Plan, Shard};
use unravel_results::Explored;
use unravel_strategies::Strategy;

use crate::budgets::{DEFAULT_TIME, DEVIATIONS, FEW_SCHEDULES};
use crate::config::Config;
use crate::exit::Exit;
use crate::flags::{SearchFlags, parse_time};

/// Worker processes, if the user says nothing: one a core.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// A search that stops at the first bug and puts none aside.
pub fn plan(flags: &SearchFlags, config: &Config) -> Plan {
    let wishes = &config.search;
    let strategy = flags
        .strategy
        .or_else(|| wishes.strategy.as_ref()?.parse().ok())
        .unwrap_or(Strategy::Portfolio);
    let schedules = flags.schedules.or(wishes.schedules);
    let time = flags
        .time
        .or_else(|| parse_time(wishes.time.as_ref()?).ok())
        .or(schedules.is_none().then_some(DEFAULT_TIME));
    Plan {
        strategy,
        seed: flags.seed.or(wishes.seed).unwrap_or(1),
        // One schedule of a strategy that has only one is enough.
        schedules: if strategy.is_random() { schedules.unwrap_or(u64::MAX) } else { 9 },
        time,
        jobs: flags.jobs.or(wishes.jobs).unwrap_or_else(cores),
        shard: flags.shard.unwrap_or(Shard::WHOLE),
        after_first: AfterFirst::Stop,
        deviations: flags.deviations.or(wishes.deviations).unwrap_or(DEVIATIONS),
        exit_codes: true,
        known: Vec::new(),
    }
}

/// Whether the time of a search is one that nobody asked for.
pub fn is_patient(flags: &SearchFlags, config: &Config) -> bool {
    flags.time.is_none() && config.search.time.is_none()
}

/// How a command ends that searched and found so many bugs.
pub fn exit(explored: &Explored, bugs: usize) -> Exit {
    let tally = &explored.tally;
    if bugs > 0 {
        Exit::Finding
    } else if tally.discarded < tally.schedules
        && !tally.has_doubt()
        && !tally.is_endless()
        && tally.inconclusive * FEW_SCHEDULES < tally.schedules
    {
        Exit::Clean
    } else {
        Exit::Inconclusive
    }
}
