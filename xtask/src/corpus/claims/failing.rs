//! A failing run of a case, of a certain size, for benchmarks.
//!
//! A failure that ends the run ends it early or late, by the schedule. So that runs compare with those of a paper, a program
//! gets the arguments that make it as long, and of several seeds the failing run counts whose length is nearest to the
//! paper's.

use std::path::{Path, PathBuf};

use super::Lab;
use crate::corpus::answer::Finding;
use crate::corpus::case::Case;

/// Seeds that are tried; fewer, if one is near enough.
const SEEDS: u64 = 24;
/// Near enough: so much of the length that is wanted.
const NEAR: f64 = 0.05;
/// What a search of one seed may take.
const LIMITS: [&str; 4] = ["--schedules", "10000", "--time", "10s"];

/// A failing run, which a trace file has.
#[derive(Clone, Debug)]
pub struct Failing {
    pub trace: PathBuf,
    pub events: u64,
    pub threads: usize,
}

/// A failing run of the buggy program: with about so many events, if that is said, by this strategy; else as the claims find
/// it.
pub fn failing(
    tool: &Path,
    case: &Case,
    scratch: &Path,
    near: Option<(&str, u64)>,
) -> Result<Failing, String> {
    let lab = Lab { tool, case, scratch };
    let mut words = vec![crate::corpus::name(&case.folder)];
    words.extend(case.expect.args.iter().cloned());
    let out = words.join("-").replace('/', "-");
    match near {
        Some((strategy, events)) => lab.failing_near(strategy, events, &out),
        None => lab.failing(&out),
    }
}

impl From<Finding> for Failing {
    fn from(finding: Finding) -> Failing {
        let Finding { trace, run, .. } = finding;
        Failing { trace, events: run.events, threads: run.threads.len() }
    }
}

impl Lab<'_> {
    /// The failing run that the claims of the case find.
    fn failing(&self, out: &str) -> Result<Failing, String> {
        let search = self.find(&self.case.expect.sources, &self.limits(), out, 1)?;
        self.bug_among(search.findings).ok_or("it was not found".into())
    }

    /// The failing run with about so many events, of several seeds of a strategy.
    fn failing_near(&self, strategy: &str, events: u64, out: &str) -> Result<Failing, String> {
        let mut nearest: Option<Failing> = None;
        let distance = |failing: &Failing| failing.events.abs_diff(events);
        for seed in 1..=SEEDS {
            let number = seed.to_string();
            let flags = [&["--strategy", strategy, "--seed", &number][..], &LIMITS].concat();
            let out = format!("{out}-{strategy}-{seed}");
            let search = self.find(&self.case.expect.sources, &flags, &out, 1)?;
            let Some(failing) = self.bug_among(search.findings) else { continue };
            if nearest.as_ref().is_none_or(|known| distance(&failing) < distance(known)) {
                nearest = Some(failing);
            }
            let enough = events as f64 * NEAR;
            if nearest.as_ref().is_some_and(|known| distance(known) as f64 <= enough) {
                break;
            }
        }
        match nearest {
            Some(nearest) => Ok(nearest),
            // Not every strategy finds every bug.
            None => self.failing(out),
        }
    }

    fn bug_among(&self, findings: Vec<Finding>) -> Option<Failing> {
        let mut findings = findings.into_iter();
        findings.find(|finding| finding.run.outcome.is_bug_of(self.case)).map(Failing::from)
    }
}
