//! What must hold for a case:
//!
//! 1. `find` with default settings finds the bug within 2,000 schedules and 20 s: the expected kind of
//!    failure at an expected line, with the deviations of the environment that it needs, if the case says
//!    them. A case with a `known-gap` inverts this: it complains once it is found.
//! 2. A second search, with another number of workers, writes the same trace to the byte, and the trace
//!    replays 20 times to the same outcome and the same events.
//! 3. The trace is diagnosed ([`diagnosis`]); with a `known-gap`, that of a search with the flags `find-with`.
//! 4. `explain` tells the same story of the program and of its twin ([`explanation`]).
//! 5. The fixed twin passes 500 schedules of every strategy, with exit code 0 (or `twin-exit`) and nothing inconclusive.
//! 6. The fixed twin has no data race in 200 schedules.
//! 7. `causes` finds as many as the case says, if it says so ([`causes`]).
//!
//! With [`Depth::Full`] also: whatever any strategy finds in the buggy program replays, and it is repaired or the case says
//! why it is not ([`repairs`]).

mod causes;
mod diagnosis;
mod explanation;
mod failing;
mod hunt;
mod repairs;
mod truth;

pub use explanation::Measured;
pub use failing::{Failing, failing};

use std::path::{Path, PathBuf};

use super::answer::{Finding, Replay, Search, Simplified, ask};
use super::case::Case;
use super::caused::{Causes, Repair, Repairs};
use super::hunted::{Exposed, Hunt};
use super::{Depth, Version};

/// The strategies that the twin must stand, and the full suite tries.
const STRATEGIES: [&str; 14] = [
    "run-to-block",
    "round-robin",
    "random",
    "pct",
    "pos",
    "uniform",
    "race-directed",
    "atomicity-directed",
    "deadlock-directed",
    "segments",
    "rounds",
    "bounded",
    "exhaustive",
    "portfolio",
];
/// How many schedules of each the twin must stand.
const TWIN_SCHEDULES: u64 = 500;
/// How many schedules of the twin are searched for races.
const RACE_SCHEDULES: u64 = 200;
/// What the first claim allows a search.
const LIMITS: [&str; 4] = ["--schedules", "2000", "--time", "20s"];
/// How often a trace is replayed.
const REPLAYS: u32 = 20;

/// Everything that does not hold, in words.
pub fn check(tool: &Path, case: &Case, depth: Depth) -> Vec<String> {
    let scratch = match tempfile::tempdir() {
        Ok(scratch) => scratch,
        Err(error) => return vec![format!("cannot make a temporary directory: {error}")],
    };
    let lab = Lab { tool, case, scratch: scratch.path() };
    let mut complaints = Vec::new();
    complaints.extend(lab.bug().err());
    complaints.extend(explanation::bug(&lab, &lab.limits()).err());
    complaints.extend(explanation::twin(&lab).err());
    complaints.extend(causes::check(&lab).err());
    complaints.extend(STRATEGIES.iter().filter_map(|s| lab.twin(s, 1, TWIN_SCHEDULES).err()));
    complaints.extend(lab.races(RACE_SCHEDULES).err());
    if depth == Depth::Full {
        complaints.extend(repairs::check(&lab).err());
        complaints.extend(lab.races(20_000).err());
        complaints.extend(STRATEGIES.iter().filter_map(|s| lab.everything(s).err()));
        complaints.extend(STRATEGIES.iter().filter_map(|s| lab.twin(s, 2, 20_000).err()));
    }
    complaints
}

/// A trace of the bug.
pub fn trace(tool: &Path, case: &Case, scratch: &Path) -> Result<PathBuf, String> {
    let lab = Lab { tool, case, scratch };
    let search = lab.find(&case.expect.sources, &lab.limits(), "found", 1)?;
    let finding = search.findings.into_iter().next();
    Ok(finding.ok_or("it was not found")?.trace)
}

/// A trace of the bug that random search finds with this seed; for the first seed, if it does not, that of the flags
/// which are known to find it.
pub fn random_trace(
    tool: &Path,
    case: &Case,
    scratch: &Path,
    seed: u64,
) -> Result<PathBuf, String> {
    let lab = Lab { tool, case, scratch };
    let number = seed.to_string();
    let mut flags = vec!["--strategy", "random", "--seed", &number];
    flags.extend(["--schedules", "20000", "--time", "10s"]);
    let out = format!("{}-{seed}", super::name(&case.folder).replace('/', "-"));
    let search = lab.find(&case.expect.sources, &flags, &out, 1)?;
    let bug = |search: Search| {
        let kind = &case.expect.bug.outcome;
        search.findings.into_iter().find(|f| f.run.outcome.kind == *kind).map(|f| f.trace)
    };
    match bug(search) {
        Some(trace) => Ok(trace),
        None if seed == 1 => {
            let search = lab.find(&case.expect.sources, &lab.limits(), &out, 1)?;
            bug(search).ok_or("it was not found".into())
        }
        None => Err("random search does not find it".into()),
    }
}

/// A search, as far as benchmarks look at it.
#[derive(Debug)]
pub struct Searched {
    /// The first schedule that failed, counted from 1.
    pub schedule: Option<u64>,
    pub trace: Option<PathBuf>,
    pub schedules: u64,
    pub seconds: f64,
}

/// A search of the buggy program, with one worker.
pub fn search(
    tool: &Path,
    case: &Case,
    scratch: &Path,
    flags: &[&str],
) -> Result<Searched, String> {
    let lab = Lab { tool, case, scratch };
    let search = lab.find(&case.expect.sources, flags, "searched", 1)?;
    let first = search.findings.into_iter().next();
    Ok(Searched {
        schedule: first.as_ref().map(|finding| finding.schedule),
        trace: first.map(|finding| finding.trace),
        schedules: search.schedules,
        seconds: search.seconds,
    })
}

/// The executions that simplifying a trace takes, without those that prove something.
pub fn simplify(tool: &Path, case: &Case, scratch: &Path, trace: &Path) -> Result<u64, String> {
    let path = |path: &Path| path.display().to_string();
    let simple = scratch.join("simple.trace");
    let arguments =
        ["simplify", &path(trace), "-o", &path(&simple), "--json", "--no-proof"].map(str::to_owned);
    let simplified: Simplified = ask(tool, case, &arguments, &[1])?;
    Ok(simplified.executed)
}

/// What explaining the buggy program takes.
pub fn measure(tool: &Path, case: &Case, scratch: &Path) -> Result<Measured, String> {
    explanation::measure(&Lab { tool, case, scratch })
}

/// The causes of the buggy program.
pub fn causes(tool: &Path, case: &Case, scratch: &Path, flags: &[&str]) -> Result<Causes, String> {
    causes::measure(&Lab { tool, case, scratch }, flags)
}

/// A hunt of one of the two programs.
pub fn hunt(tool: &Path, case: &Case, scratch: &Path, version: Version) -> Result<Hunt, String> {
    let sources = match version {
        Version::Buggy => &case.expect.sources,
        Version::Fixed => &case.expect.fixed,
    };
    hunt::measure(&Lab { tool, case, scratch }, sources)
}

/// Whether what a hunt exposed is the case's bug and replays: why not, if not.
pub fn confirm(tool: &Path, case: &Case, scratch: &Path, exposed: &Exposed) -> Result<(), String> {
    hunt::confirm(&Lab { tool, case, scratch }, exposed)
}

/// The repairs of the buggy program.
pub fn repairs(tool: &Path, case: &Case, scratch: &Path) -> Result<Repairs, String> {
    repairs::measure(&Lab { tool, case, scratch })
}

/// Whether nothing fails any more with each of these repairs: why not, if not.
pub fn stand(tool: &Path, case: &Case, scratch: &Path, all: &[Repair]) -> Vec<Result<(), String>> {
    let lab = Lab { tool, case, scratch };
    all.iter().enumerate().map(|(number, repair)| repairs::stands(&lab, repair, number)).collect()
}

/// A case with what is needed to try it.
struct Lab<'a> {
    tool: &'a Path,
    case: &'a Case,
    scratch: &'a Path,
}

impl Lab<'_> {
    /// Flags with which a search finds the bug.
    fn limits(&self) -> Vec<&str> {
        match self.case.expect.bug.find_with.as_slice() {
            [] => LIMITS.to_vec(),
            flags => flags.iter().map(String::as_str).collect(),
        }
    }

    /// Claims 1 to 3.
    fn bug(&self) -> Result<(), String> {
        let bug = &self.case.expect.bug;
        let expected = format!("{} at {}", bug.outcome, bug.at.join(" or "));
        let search = self.find(&self.case.expect.sources, &LIMITS, "first", 1)?;
        let gap = bug.known_gap.as_deref();
        let finding = match (search.findings.first(), gap) {
            (Some(finding), None) => finding,
            (None, None) => {
                let reason = search.reason.map_or(String::new(), |r| format!(" ({r})"));
                return Err(format!(
                    "expected {expected}, seen nothing in {} schedules{reason}",
                    search.schedules
                ));
            }
            (None, Some(_)) => return self.gap(),
            (Some(finding), Some(gap)) => {
                return Err(format!(
                    "expected the known gap '{gap}', seen {} in schedule {}: the gap is closed, remove known-gap",
                    finding.run.outcome.describe(self.case),
                    finding.schedule
                ));
            }
        };
        let outcome = &finding.run.outcome;
        if !outcome.is_bug_of(self.case) {
            return Err(format!("expected {expected}, seen {}", outcome.describe(self.case)));
        }
        finding.run.deviates_as_said(self.case)?;
        self.replay(finding)?;
        diagnosis::check(self.tool, self.case, &finding.trace)?;
        // The number of workers must not matter.
        let again = self.find(&self.case.expect.sources, &LIMITS, "second", 2)?;
        let trace = again.findings.first().map(|f| f.trace.clone()).unwrap_or_default();
        if self.read(&trace)? != self.read(&finding.trace)? {
            return Err("expected the same trace from two searches with one seed, seen two".into());
        }
        Ok(())
    }

    /// A bug that a search with default settings misses is replayed and diagnosed like any other.
    fn gap(&self) -> Result<(), String> {
        let search = self.find(&self.case.expect.sources, &self.limits(), "gap", 1)?;
        let finding = search.findings.first().ok_or_else(|| {
            format!(
                "expected a finding with {}, seen none",
                self.case.expect.bug.find_with.join(" ")
            )
        })?;
        self.replay(finding)?;
        diagnosis::check(self.tool, self.case, &finding.trace)
    }

    /// Claim 5.
    fn twin(&self, strategy: &str, seed: u64, schedules: u64) -> Result<(), String> {
        let (seed, schedules) = (seed.to_string(), schedules.to_string());
        let mut flags = vec!["--strategy", strategy, "--seed", &seed, "--schedules", &schedules];
        flags.extend(["--time", "60s"]);
        // A code that every run has is no finding unless it is asked for.
        if self.case.expect.twin_exit.is_none() {
            flags.push("--fail-on-exit");
        }
        let search = self.find(&self.case.expect.fixed, &flags, "twin", 1)?;
        // Strategies that vary no values may see nothing else.
        let may_discard = self.case.expect.assumes
            && (search.discarded * 2 < search.schedules || strategy != "portfolio");
        let discarded = if may_discard { 0 } else { search.discarded };
        let seen = if let Some(finding) = search.findings.first() {
            format!("{} in schedule {}", finding.run.outcome.describe(self.case), finding.schedule)
        } else if search.inconclusive + discarded > 0 {
            let reason = search.reason.unwrap_or_else(|| "discarded".into());
            format!("{} inconclusive: {reason}", search.inconclusive + discarded)
        } else if !search.ends_well() {
            format!("only {} schedules, stopped by {}", search.schedules, search.stopped)
        } else {
            return Ok(());
        };
        Err(format!("twin with {strategy}: expected no finding, seen {seen}"))
    }

    /// Claim 6.
    fn races(&self, schedules: u64) -> Result<(), String> {
        let schedules = schedules.to_string();
        let flags = ["--races", "--schedules", &schedules, "--time", "60s"];
        let search = self.find(&self.case.expect.fixed, &flags, "races", 1)?;
        match search.findings.first() {
            None => Ok(()),
            Some(finding) => Err(format!(
                "twin with --races: expected no finding, seen {} in schedule {}",
                finding.run.outcome.describe(self.case),
                finding.schedule
            )),
        }
    }

    /// Whatever a strategy finds in the buggy program replays.
    fn everything(&self, strategy: &str) -> Result<(), String> {
        let flags = ["--strategy", strategy, "--schedules", "20000", "--time", "60s", "--all"];
        let search = self.find(&self.case.expect.sources, &flags, strategy, 1)?;
        search
            .findings
            .iter()
            .try_for_each(|finding| self.replay(finding))
            .map_err(|problem| format!("{strategy}: {problem}"))
    }

    fn replay(&self, finding: &Finding) -> Result<(), String> {
        let seen = finding.run.outcome.describe(self.case);
        if !finding.replayed {
            return Err(format!("{seen} did not fail again when find replayed it"));
        }
        let trace = finding.trace.display().to_string();
        let arguments =
            ["replay", &trace, "--times", &REPLAYS.to_string(), "--json"].map(str::to_owned);
        // A replay that differs exits with 3 and says where.
        let replay: Replay = ask(self.tool, self.case, &arguments, &[1, 3])?;
        if !replay.same {
            let difference = replay.difference.unwrap_or_default();
            return Err(format!(
                "expected {REPLAYS} equal replays of {seen}, seen a difference: {difference}"
            ));
        }
        if replay.run != finding.run {
            return Err(format!("expected a replay of {:?}, seen {:?}", finding.run, replay.run));
        }
        Ok(())
    }

    /// `unravel find` with one of the two programs; traces go to a folder of their own.
    fn find(
        &self,
        sources: &[String],
        flags: &[&str],
        out: &str,
        jobs: u32,
    ) -> Result<Search, String> {
        let out = self.scratch.join(out.replace(':', "-"));
        let jobs = jobs.to_string();
        let flags = [flags, &["--jobs", &jobs]].concat();
        let arguments = self.arguments("find", sources, &flags, &out)?;
        ask(self.tool, self.case, &arguments, &[0, 1, 3])
    }

    /// The arguments of a command that executes one of the two programs.
    fn arguments(
        &self,
        command: &str,
        sources: &[String],
        flags: &[&str],
        out: &Path,
    ) -> Result<Vec<String>, String> {
        let expect = &self.case.expect;
        let mut arguments = vec![command.to_owned()];
        arguments.extend(sources.iter().cloned());
        arguments.extend(expect.libs.iter().map(|library| format!("-l{library}")));
        arguments.extend(["--json".into(), "--out".into(), out.display().to_string()]);
        arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
        if expect.bug.needs.as_deref() == Some("malloc") {
            let times = expect.bug.deviations.unwrap_or_default();
            arguments.extend(["--malloc-fails".into(), times.to_string()]);
        }
        if let Some(stdin) = &expect.stdin {
            arguments.extend(["--stdin".into(), self.stdin_file(stdin)?.display().to_string()]);
        }
        arguments.push("--".into());
        arguments.extend(expect.args.iter().cloned());
        Ok(arguments)
    }

    fn stdin_file(&self, text: &str) -> Result<PathBuf, String> {
        let path = self.scratch.join("stdin");
        std::fs::write(&path, text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(path)
    }

    fn read(&self, trace: &Path) -> Result<Vec<u8>, String> {
        std::fs::read(trace)
            .map_err(|error| format!("cannot read the trace {}: {error}", trace.display()))
    }
}
