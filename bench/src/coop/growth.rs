//! How long it takes to weigh logs: 500 of the longest program by each metric (table 3.4), and fleets of up to 100,000 logs that a
//! documented generator makes in memory (`coop::generate`); reading them from files is not part of it.

use std::time::Instant;

use unravel_coop::{
    Collection, Coverage, Draw, Ending, Heuristic, Log, LogId, MOST_PASSING, Metric, Mode, Profile,
    generate,
};
use xtask::error::Error;

use super::study::Study;

/// Seconds to rank the failing logs of a program that logs three quarters, by metric: PSIM, DSIM, DHS.
pub fn weigh(study: &Study) -> [f64; 3] {
    let logs = study.drawn(Coverage::Percent(75), 1);
    Metric::ALL.map(|metric| {
        let started = Instant::now();
        let ranked = logs.group(study.failure).ranked(Heuristic::Sgm, metric);
        assert_eq!(ranked.len(), study.failing().len(), "every failing log is ranked");
        started.elapsed().as_secs_f64()
    })
}

/// A fleet of so many logs, one in fifty failing.
pub struct Grown {
    pub logs: u64,
    pub failing: usize,
    pub seconds: f64,
    /// The most memory this process had so far, in MB.
    pub memory: u64,
}

/// Makes fleets of growing size out of the logs of a program, and weighs each with SGM and DSIM.
pub fn growth(study: &Study, sizes: &[u64]) -> Result<Vec<Grown>, Error> {
    let profile = Profile::new(
        0,
        Mode::Orders,
        &study.surveyed,
        (Coverage::Percent(100), Draw::Uniform),
        1,
        1,
    );
    let complete = |log: usize, failed: bool| Log {
        id: LogId(log as u128),
        build: 0,
        ending: if failed { Ending::Failed(study.failure) } else { Ending::Passed },
        vectors: study.complete(log),
    };
    let group = study.logs.group(study.failure);
    let failing: Vec<Log> = group.failing.iter().map(|log| complete(*log, true)).collect();
    let passing: Vec<Log> = group.passing.iter().map(|log| complete(*log, false)).collect();
    let mut all = Vec::new();
    for &size in sizes {
        let started = Instant::now();
        let mut collection = Collection::new(profile.ids());
        let mut passed = 0;
        for number in 0..size {
            let is_failing = number % 50 == 0 || passing.is_empty();
            let mut log = generate(if is_failing { &failing } else { &passing }, 1, number);
            // In the order of a store.
            log.id = LogId(u128::from(number));
            passed += usize::from(!is_failing);
            if is_failing || passed <= MOST_PASSING {
                collection.add(&log).map_err(|error| Error::Answer {
                    command: "growth".into(),
                    problem: error.to_string(),
                })?;
            }
        }
        let group = collection.group(study.failure);
        let ranked = group.ranked(Heuristic::Sgm, Metric::Dsim);
        let seconds = started.elapsed().as_secs_f64();
        all.push(Grown { logs: size, failing: ranked.len(), seconds, memory: memory() });
    }
    Ok(all)
}

fn memory() -> u64 {
    // SAFETY: fills in a structure of ours.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    usage.ru_maxrss as u64 / 1024
}
