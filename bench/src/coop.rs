//! `cargo xtask bench coop`: CoopREP's evaluation (thesis §3.5) on our programs.
//!
//! Complete logs are of controlled runs of the machine (long slices where the program fails so at least once in 2,000 runs, else switches
//! at any event; the table says which), and partial logs are drawn from them, as in the paper's §3.5.1. Two columns of attempts: the paper's merge alone,
//! and with holes filled. What recording costs natively is measured by `overhead.rs`. *Not measured*: logs of native runs, which
//! `crates/cli/tests/coop_native.rs` tests.

mod growth;
pub mod overhead;
pub mod paper;
mod study;

use std::time::{Duration, Instant};

use unravel_coop::{Attempts, Coverage, Heuristic, Metric, Mode};
use xtask::error::Error;
use xtask::workspace;

use crate::scale::Scale;
use growth::{growth, weigh};
use paper::{Paper, ROWS};
use study::{Extent, Runs, Study, Subject};

const COVERAGES: [Coverage; 3] =
    [Coverage::Percent(25), Coverage::Percent(50), Coverage::Percent(75)];

/// How much is done.
#[derive(Clone, Copy, Debug)]
struct Effort {
    failing: usize,
    draws: u64,
    attempts: u32,
    /// For collecting the runs of a program in a mode, and for each configuration of its replays.
    collecting: Duration,
    replaying: Duration,
    sizes: &'static [u64],
}

/// What was seen of a program in a mode.
struct Seen {
    /// By coverage (one element, 25, 50, 75 %), by whether holes are filled: the fewest attempts of both heuristics, medians over the draws.
    attempts: [[Option<u32>; 2]; 4],
}

pub fn run(filter: Option<&str>, draws: u64, scale: Scale) -> Result<bool, Error> {
    let effort = Effort {
        failing: scale.choose(500, 30),
        draws,
        attempts: scale.choose(500, 50),
        collecting: Duration::from_secs(scale.choose(60, 5)),
        replaying: Duration::from_secs(scale.choose(20, 2)),
        sizes: scale.choose(&[1_000, 10_000, 100_000][..], &[1_000][..]),
    };
    let chosen: Vec<&Paper> =
        ROWS.iter().filter(|row| filter.is_none_or(|part| row.case.contains(part))).collect();
    if chosen.is_empty() {
        return Err(Error::NoCase(filter.unwrap_or_default().to_owned()));
    }
    let (mut replayed, mut at_half, mut slow) = (0, 0, Vec::new());
    for mode in [Mode::Orders, Mode::Blocks] {
        println!("{}", title(mode));
        for row in &chosen {
            match measure(row, mode, &effort) {
                Ok((study, seen)) => {
                    println!("{}", line(row, &study, &seen));
                    if mode == Mode::Orders {
                        replayed += u32::from(seen.attempts.iter().any(|by| by[0].is_some()));
                        at_half += u32::from(seen.attempts[2][0].is_some());
                        if study.accesses() > 100_000 || scale == Scale::Smoke {
                            slow.extend(time(row, &study, &effort)?);
                        }
                    }
                }
                Err(why) => println!("  {:17} not measured: {why}", row.program),
            }
        }
    }
    for line in &slow {
        println!("{line}");
    }
    println!("at 50 %: {at_half} of {}", chosen.len());
    println!("coop: replayed {replayed} of {}", chosen.len());
    Ok(replayed as usize == chosen.len())
}

fn title(mode: Mode) -> String {
    let (what, table) = match mode {
        Mode::Orders => ("order-based", "3.7"),
        Mode::Blocks => ("block-based", "3.8"),
    };
    format!(
        "{what}: attempts with one element a log, 25 %, 50 % and 75 % of them, the better of SGM and DGM with DSIM, the merge alone / with \
         holes filled / the paper's table {table}; X: not replayed\n  {:17} {:>9} {:>15} {:>13} {:>13}  {:>14} {:>14} {:>14} {:>14}",
        "program", "elements", "accesses", "failing", "runs", "1", "25 %", "50 %", "75 %"
    )
}

fn measure(row: &Paper, mode: Mode, effort: &Effort) -> Result<(Study, Seen), String> {
    let folder = workspace::root().join("corpus").join(row.case);
    let mut subject = Subject::load(&folder, row.args)?;
    let extent = Extent { failing: effort.failing, passing: 100, time: effort.collecting };
    let study = Study::collect(&mut subject, mode, &extent)?;
    let mut attempts = [[None; 2]; 4];
    let coverages = [Coverage::One].into_iter().chain(COVERAGES);
    for (at, coverage) in coverages.enumerate() {
        for (column, fills) in [(0, 0), (1, unravel_coop::DEFAULT_FILLS)] {
            let mut best = None;
            for heuristic in Heuristic::ALL {
                let until = Instant::now() + effort.replaying;
                let mut draws: Vec<u32> = Vec::new();
                for draw in 0..effort.draws {
                    let logs = study.drawn(coverage, draw);
                    let tried = Attempts { most: effort.attempts, fills, seed: draw };
                    let how = (heuristic, Metric::Dsim);
                    let found = study.replay(&mut subject, &logs, how, tried, until)?.0;
                    draws.push(found.unwrap_or(u32::MAX));
                    if Instant::now() >= until {
                        break;
                    }
                }
                draws.sort_unstable();
                let median = draws[draws.len() / 2];
                best = [best, Some(median)].into_iter().flatten().min();
            }
            attempts[at][column] = best.filter(|best| *best != u32::MAX);
        }
    }
    Ok((study, Seen { attempts }))
}

fn line(row: &Paper, study: &Study, seen: &Seen) -> String {
    let (theirs, single) = match study.mode {
        Mode::Orders => (row.orders, row.single[0]),
        Mode::Blocks => (row.blocks, row.single[1]),
    };
    let number = |found: Option<u32>| found.map_or("X".to_owned(), |found| found.to_string());
    let paper = |found: u32| number(Some(found).filter(|found| *found > 0));
    let theirs = [single, theirs[0], theirs[1], theirs[2]];
    let cells = seen.attempts.iter().zip(theirs).map(|([alone, filled], theirs)| {
        format!("{:>14}", format!("{}/{}/{}", number(*alone), number(*filled), paper(theirs)))
    });
    let failing = study.failing();
    let by = match study.by {
        Runs::Slices => "slices",
        Runs::Random => "random",
    };
    format!(
        "  {:17} {:>9} {:>15} {:>13} {:>13}  {}",
        row.program,
        format!("{}/{}", study.surveyed.table.len(), row.elements),
        format!("{}/{}", study.accesses(), row.accesses),
        format!("{} ({})", failing.len(), study.logs.distinct(&failing)),
        format!("{} {by}", study.runs),
        cells.collect::<Vec<_>>().join(" ")
    )
}

fn time(row: &Paper, study: &Study, effort: &Effort) -> Result<Vec<String>, Error> {
    let [psim, dsim, dhs] = weigh(study);
    let mut lines = vec![format!(
        "{}: {} logs with 75 % of {} accesses weighed with PSIM in {psim:.2} s, DSIM {dsim:.2} s, DHS {dhs:.2} s (paper, on its machine: 1516, \
         2082 and 3532 s)",
        row.program,
        study.failing().len(),
        study.accesses(),
    )];
    // A fleet of short runs: the vectors of a long one would not be many, but large.
    let folder = workspace::root().join("corpus/atomicity/manager");
    let answer = |problem: String| Error::Answer { command: "growth".into(), problem };
    let mut subject = Subject::load(&folder, &["3", "5"]).map_err(answer)?;
    let extent = Extent { failing: effort.failing.min(200), passing: 100, time: effort.collecting };
    let study = Study::collect(&mut subject, Mode::Orders, &extent).map_err(answer)?;
    for grown in growth(&study, effort.sizes)? {
        lines.push(format!(
            "{} generated logs, {} failing: made, collected and ranked (SGM, DSIM) in {:.1} s; at most {} MB so far",
            grown.logs, grown.failing, grown.seconds, grown.memory
        ));
    }
    Ok(lines)
}
