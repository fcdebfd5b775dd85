//! `cargo xtask bench coop`: CoopREP's evaluation (thesis §3.5) on our programs.
//!
//! Complete logs are of controlled runs of the machine, and partial logs are drawn from them, as in the paper's §3.5.1. Threads get slices under
//! which the program fails about as often as the paper's did (tables 3.2 and 3.6), but at least in one of twenty runs, so that five hundred
//! failing ones can be had; if no slices make it fail, switches come at any event. The table says which. Two columns of attempts: the paper's merge alone,
//! and with holes filled. What recording costs natively is measured by `overhead.rs`. *Not measured*: logs of native runs, which
//! `crates/cli/tests/coop_native.rs` tests.

mod growth;
pub mod overhead;
pub mod paper;
mod study;

use std::time::{Duration, Instant};

use unravel_coop::{Attempts, Coverage, Heuristic, Metric, Mode, Sharing, Tried};
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
    what: What,
    attempts: u32,
    /// For collecting the runs of a program in a mode, and for each configuration of its replays.
    collecting: Duration,
    replaying: Duration,
    sizes: &'static [u64],
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct What {
    /// How often elements are drawn.
    pub draws: u64,
    /// Order-based only.
    pub orders: bool,
    /// The paper's merge alone, no holes filled.
    pub alone: bool,
    pub sharing: Sharing,
}

/// What was seen of a program in a mode.
struct Seen {
    /// By coverage (one element, 25, 50, 75 %), by whether holes are filled.
    cells: [[Option<Cell>; 2]; 4],
}

/// The heuristic with the fewest attempts.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// Medians over the draws. `None`: not replayed.
    attempts: Option<u32>,
    /// The time was over before that was known of half of the draws.
    cut: bool,
    /// Of all its draws together.
    tried: Tried,
}

impl Cell {
    fn text(&self) -> String {
        match (self.attempts, self.cut) {
            (Some(attempts), _) => attempts.to_string(),
            (None, false) => "X".to_owned(),
            (None, true) => "?".to_owned(),
        }
    }
}

/// Below this rate of failing runs, in per cent, five hundred of them take too long.
const LEAST_RATE: u32 = 5;

pub fn run(filter: Option<&str>, what: What, scale: Scale) -> Result<bool, Error> {
    let effort = Effort {
        what,
        failing: scale.choose(500, 30),
        attempts: scale.choose(500, 50),
        collecting: Duration::from_secs(scale.choose(300, 5)),
        replaying: Duration::from_secs(scale.choose(60, 2)),
        sizes: scale.choose(&[1_000, 10_000, 100_000][..], &[1_000][..]),
    };
    let chosen: Vec<&Paper> =
        ROWS.iter().filter(|row| filter.is_none_or(|part| row.case.contains(part))).collect();
    if chosen.is_empty() {
        return Err(Error::NoCase(filter.unwrap_or_default().to_owned()));
    }
    let (mut replayed, mut at_half, mut slow) = (0, 0, Vec::new());
    let modes = [Mode::Orders, Mode::Blocks];
    for mode in modes.into_iter().filter(|mode| *mode == Mode::Orders || !what.orders) {
        println!("{}", title(mode));
        for row in &chosen {
            match measure(row, mode, &effort) {
                Ok((study, seen)) => {
                    println!("{}", line(row, &study, &seen));
                    let distinct = study.dispersion().into_iter();
                    let distinct: Vec<_> =
                        distinct.map(|(name, of)| format!("{name} {of}")).collect();
                    println!("  {:17} different vectors: {}", "", distinct.join(", "));
                    if let Some(why) = why(&seen) {
                        println!("  {:17} {why}", "");
                    }
                    if mode == Mode::Orders {
                        replayed +=
                            u32::from(seen.cells.iter().any(|[alone, _]| is_replayed(alone)));
                        at_half += u32::from(is_replayed(&seen.cells[2][0]));
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
         holes filled / the paper's table {table}; X: not replayed, ?: out of time\n  {:17} {:>9} {:>15} {:>13} {:>22}  {:>14} {:>14} {:>14} {:>14}",
        "program", "elements", "accesses", "failing", "runs", "1", "25 %", "50 %", "75 %"
    )
}

fn measure(row: &Paper, mode: Mode, effort: &Effort) -> Result<(Study, Seen), String> {
    let folder = workspace::root().join("corpus").join(row.case);
    let mut subject = Subject::load(&folder, row.args)?;
    let extent = Extent {
        failing: effort.failing,
        passing: 100,
        time: effort.collecting,
        rate: row.rate.max(LEAST_RATE),
        sharing: effort.what.sharing,
    };
    let study = Study::collect(&mut subject, mode, &extent)?;
    let mut cells = [[None; 2]; 4];
    let coverages = [Coverage::One].into_iter().chain(COVERAGES);
    for (at, coverage) in coverages.enumerate() {
        cells[at][0] = Some(best(&study, &mut subject, coverage, 0, effort)?);
        if !effort.what.alone {
            let fills = unravel_coop::DEFAULT_FILLS;
            cells[at][1] = Some(best(&study, &mut subject, coverage, fills, effort)?);
        }
    }
    Ok((study, Seen { cells }))
}

/// What the better of both heuristics takes.
fn best(
    study: &Study,
    subject: &mut Subject,
    coverage: Coverage,
    fills: u32,
    effort: &Effort,
) -> Result<Cell, String> {
    let mut best: Option<Cell> = None;
    for heuristic in Heuristic::ALL {
        let until = Instant::now() + effort.replaying;
        let mut all = Tried::default();
        let mut draws: Vec<u32> = Vec::new();
        let mut is_over = false;
        while draws.len() < effort.what.draws as usize && !is_over {
            let draw = draws.len() as u64;
            let logs = study.drawn(coverage, draw);
            let tried = Attempts { most: effort.attempts, fills, seed: draw };
            let how = (heuristic, Metric::Dsim);
            let (found, tried) = study.replay(subject, &logs, how, tried, until)?;
            is_over = Instant::now() >= until;
            all += tried;
            if found.is_some() || !is_over || draws.is_empty() {
                draws.push(found.unwrap_or(u32::MAX));
            }
        }
        draws.sort_unstable();
        let median = draws[draws.len() / 2];
        let attempts = (median != u32::MAX).then_some(median);
        let cut = is_over && draws.len() <= 1;
        let cell = Cell { attempts, cut, tried: all };
        let rank = |cell: &Cell| (cell.attempts.unwrap_or(u32::MAX), !cell.cut);
        if best.is_none_or(|best| rank(&cell) < rank(&best)) {
            best = Some(cell);
        }
    }
    Ok(best.expect("there are heuristics"))
}

fn is_replayed(cell: &Option<Cell>) -> bool {
    cell.is_some_and(|cell| cell.attempts.is_some())
}

/// What becomes of the candidates where the merge alone does not replay, by the lowest coverage from a half on.
fn why(seen: &Seen) -> Option<String> {
    let [.., half, most] = &seen.cells;
    let found = [("50 %", half), ("75 %", most)];
    let (coverage, cell) = found.iter().find(|(_, [alone, _])| !is_replayed(alone))?;
    let Tried { attempts, contradicted, passed, other_failures, inconclusive, .. } =
        cell[0].as_ref()?.tried;
    Some(format!(
        "at {coverage}, of {attempts} merged logs {contradicted} contradict themselves, {passed} pass, {other_failures} fail otherwise, \
         {inconclusive} cannot be followed"
    ))
}

fn line(row: &Paper, study: &Study, seen: &Seen) -> String {
    let (theirs, single) = match study.mode {
        Mode::Orders => (row.orders, row.single[0]),
        Mode::Blocks => (row.blocks, row.single[1]),
    };
    let paper = |found: u32| match found {
        0 => "X".to_owned(),
        found => found.to_string(),
    };
    let theirs = [single, theirs[0], theirs[1], theirs[2]];
    let text = |cell: &Option<Cell>| cell.map_or_else(|| "-".to_owned(), |cell| cell.text());
    let cells = seen.cells.iter().zip(theirs).map(|([alone, filled], theirs)| {
        format!("{:>14}", format!("{}/{}/{}", text(alone), text(filled), paper(theirs)))
    });
    let failing = study.failing();
    let by = match study.by {
        Runs::Slices(events) => format!("slices of {events}"),
        Runs::Random => "random".to_owned(),
    };
    format!(
        "  {:17} {:>9} {:>15} {:>13} {:>22}  {}",
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
    let extent = Extent {
        failing: effort.failing.min(200),
        passing: 100,
        time: effort.collecting,
        rate: 28,
        sharing: Sharing::Touched,
    };
    let study = Study::collect(&mut subject, Mode::Orders, &extent).map_err(answer)?;
    for grown in growth(&study, effort.sizes)? {
        lines.push(format!(
            "{} generated logs, {} failing: made, collected and ranked (SGM, DSIM) in {:.1} s; at most {} MB so far",
            grown.logs, grown.failing, grown.seconds, grown.memory
        ));
    }
    Ok(lines)
}
