//! The corpus: every bug is found and replays, no fixed twin is accused.
//!
//! `corpus/<kind>/<name>/` holds a buggy program, its fixed twin and the truth about them ([`case`]).
//! What must hold is in [`claims`]. Cases run beside each other, one a core, each search with one worker.

mod answer;
mod case;
mod caused;
mod claims;
mod hunted;
mod patch;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::tally::Tally;
use crate::workspace;

pub use answer::Outcome;
pub use case::{Case, name};
pub use caused::{Cause, Causes, Order, Repair, Repairs};
pub use claims::{Failing, Measured, Searched};
pub use hunted::{Exposed, Hunt};

/// How much is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    Plain,
    /// Every strategy on the buggy programs too, and more schedules.
    Full,
}

/// Cases slower than this are named at the end, so that the suite stays quick.
const SLOW: Duration = Duration::from_secs(30);

/// The folders of the cases whose name contains `filter`.
pub fn cases(filter: Option<&str>) -> Result<Vec<PathBuf>, Error> {
    let mut cases = case::list(&workspace::root().join("corpus"))?;
    cases.retain(|path| filter.is_none_or(|f| case::name(path).contains(f)));
    if cases.is_empty() {
        return Err(Error::NoCase(filter.unwrap_or_default().to_owned()));
    }
    Ok(cases)
}

/// A failing trace of a case, found as its claims say.
pub fn find(tool: &Path, folder: &Path, scratch: &Path) -> Result<PathBuf, String> {
    claims::trace(tool, &Case::read(folder)?, scratch)
}

/// A failing trace of a case, which gets these arguments instead of its own if there are any, found by random search with
/// this seed.
pub fn find_with_seed(
    tool: &Path,
    folder: &Path,
    scratch: &Path,
    args: &[&str],
    seed: u64,
) -> Result<PathBuf, String> {
    claims::random_trace(tool, &Case::read(folder)?.with(args), scratch, seed)
}

/// A failing run of a case, which gets these arguments instead of its own if there are any: found as its claims say, or
/// by a strategy and with about so many events.
pub fn failing(
    tool: &Path,
    folder: &Path,
    scratch: &Path,
    args: &[&str],
    near: Option<(&str, u64)>,
) -> Result<Failing, String> {
    claims::failing(tool, &Case::read(folder)?.with(args), scratch, near)
}

/// A search of the buggy program of a case with these flags.
pub fn search(
    tool: &Path,
    folder: &Path,
    scratch: &Path,
    flags: &[&str],
) -> Result<Searched, String> {
    claims::search(tool, &Case::read(folder)?, scratch, flags)
}

/// How many executions it takes to simplify a trace of a case.
pub fn simplify(tool: &Path, folder: &Path, scratch: &Path, trace: &Path) -> Result<u64, String> {
    claims::simplify(tool, &Case::read(folder)?, scratch, trace)
}

/// What explaining a case takes.
pub fn measure(tool: &Path, folder: &Path, scratch: &Path) -> Result<Measured, String> {
    claims::measure(tool, &Case::read(folder)?, scratch)
}

/// The causes of a case's bug.
pub fn causes(
    tool: &Path,
    folder: &Path,
    scratch: &Path,
    flags: &[&str],
) -> Result<Causes, String> {
    claims::causes(tool, &Case::read(folder)?, scratch, flags)
}

/// The two programs of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    Buggy,
    Fixed,
}

/// A hunt of one program of a case, which gets these arguments instead of its own if there are any.
pub fn hunt(
    tool: &Path,
    folder: &Path,
    scratch: &Path,
    version: Version,
    args: &[&str],
) -> Result<Hunt, String> {
    claims::hunt(tool, &Case::read(folder)?.with(args), scratch, version)
}

/// Whether what a hunt exposed is the bug of the case, and fails again each time: why not, if not.
pub fn confirm(
    tool: &Path,
    folder: &Path,
    scratch: &Path,
    exposed: &Exposed,
) -> Result<(), String> {
    claims::confirm(tool, &Case::read(folder)?, scratch, exposed)
}

/// The repairs of a case's bug.
pub fn repairs(tool: &Path, folder: &Path, scratch: &Path) -> Result<Repairs, String> {
    claims::repairs(tool, &Case::read(folder)?, scratch)
}

/// For each of these repairs of a case: why it is none, if it is none.
pub fn stand(
    tool: &Path,
    folder: &Path,
    scratch: &Path,
    repairs: &[Repair],
) -> Result<Vec<Result<(), String>>, String> {
    Ok(claims::stand(tool, &Case::read(folder)?, scratch, repairs))
}

/// Why no repair of a case's bug is to be expected, if so.
pub fn unrepaired(folder: &Path) -> Result<Option<String>, String> {
    let case = Case::read(folder)?;
    let reason = case.expect.bug.repair.as_deref().and_then(case::reason);
    Ok(reason.map(str::to_owned))
}

/// Runs the cases whose name contains `filter`. Prints a line for each that fails.
pub fn run(tool: &Path, filter: Option<&str>, depth: Depth) -> Result<Tally, Error> {
    let cases = cases(filter)?;
    workspace::announce(&format!("corpus: {} cases", cases.len()));
    let next = AtomicUsize::new(0);
    let tally = Mutex::new(Tally::default());
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(path) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let good = run_case(tool, path, depth);
                    let mut tally = tally.lock().expect("no case panics");
                    *tally += Tally { passed: u64::from(good), failed: u64::from(!good) };
                }
            });
        }
    });
    Ok(tally.into_inner().expect("no case panics"))
}

fn run_case(tool: &Path, path: &Path, depth: Depth) -> bool {
    let started = Instant::now();
    let complaints = match Case::read(path) {
        Ok(case) => claims::check(tool, &case, depth),
        Err(problem) => vec![problem],
    };
    let name = case::name(path);
    let elapsed = started.elapsed();
    if depth == Depth::Plain && elapsed > SLOW {
        eprintln!("note: {name} took {:.0} s", elapsed.as_secs_f64());
    }
    if !complaints.is_empty() {
        println!("FAILED {name}: {}", complaints.join("; "));
    }
    complaints.is_empty()
}
