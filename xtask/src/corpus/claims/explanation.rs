//! What `unravel explain` must make of a case.
//!
//! 1. Of the buggy program: exit code 1, every bug diagnosed and confirmed, one of them the expected one; the page, JSON,
//!    SARIF and DOT are written. The failing trace replays and fails with the events and context switches of the
//!    report, the passing one replays and passes.
//!    Nothing in the report contradicts the rest of it ([`crate::consistent`]), and where the truth was written by hand, it is
//!    said ([`super::truth`]).
//! 2. Of the twin: exit code 0, no bug, schedules that were explored, and a page that says so.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Deserialize;
use serde_json::Value;

use super::Lab;
use crate::corpus::answer::{Outcome, Replay, ask, ask_text};

/// Schedules of the twin.
const TWIN: [&str; 4] = ["--schedules", "200", "--time", "60s"];

#[derive(Debug, Deserialize)]
struct Explanation {
    program: String,
    explored: Explored,
    bugs: Vec<Bug>,
}

#[derive(Debug, Deserialize)]
struct Explored {
    schedules: u64,
    seconds: f64,
}

#[derive(Debug, Deserialize)]
struct Bug {
    bug: String,
    failure: Outcome,
    trace: PathBuf,
    diagnosis: Option<Diagnosis>,
    undiagnosed: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Diagnosis {
    status: Status,
    failing: Failing,
    context_switches: Switches,
}

#[derive(Debug, Deserialize)]
struct Status {
    kind: String,
}

#[derive(Debug, Deserialize)]
struct Failing {
    events: u64,
}

#[derive(Debug, Deserialize)]
struct Switches {
    reduced: u64,
}

/// The first claim.
pub fn bug(lab: &Lab<'_>, flags: &[&str]) -> Result<(), String> {
    let out = lab.scratch.join("explained");
    let (said, text) = explain(lab, &lab.case.expect.sources, flags, &out, 1)?;
    let expected = &lab.case.expect.bug;
    if !said.bugs.iter().any(|bug| bug.failure.is_bug_of(lab.case)) {
        return Err(format!("explain: expected {} among its bugs", expected.outcome));
    }
    for bug in &said.bugs {
        if expected.undiagnosed.is_some() && bug.failure.is_bug_of(lab.case) {
            continue;
        }
        match (&bug.diagnosis, &bug.undiagnosed) {
            (Some(diagnosis), None) if diagnosis.status.kind == "confirmed" => {
                replays(lab, bug, diagnosis)?;
            }
            (diagnosis, reason) => {
                return Err(format!(
                    "explain: expected {} confirmed, seen {diagnosis:?} {reason:?}",
                    bug.bug
                ));
            }
        }
    }
    let report: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if let Some(complaint) = crate::consistent::check(&report).first() {
        return Err(format!("explain: contradicts itself: {complaint}"));
    }
    if let Some(truth) = &lab.case.expect.truth {
        let index = said.bugs.iter().position(|bug| bug.failure.is_bug_of(lab.case)).unwrap_or(0);
        super::truth::check(truth, &report["bugs"][index]["diagnosis"]["root_cause"])?;
    }
    files(&out, &said, &text)
}

/// What an explanation took, for benchmarks.
#[derive(Debug)]
pub struct Measured {
    pub bugs: usize,
    pub confirmed: usize,
    /// Seconds of the whole command, and of its search.
    pub whole: f64,
    pub search: f64,
    /// The failing run of each bug, with its symbolic side if it was diagnosed.
    pub traces: Vec<PathBuf>,
}

/// Explains the buggy program, without judging what comes of it.
pub fn measure(lab: &Lab<'_>) -> Result<Measured, String> {
    let out = lab.scratch.join("measured");
    let started = Instant::now();
    let (said, _) = explain(lab, &lab.case.expect.sources, &lab.limits(), &out, 1)?;
    let whole = started.elapsed().as_secs_f64();
    let confirmed = |bug: &&Bug| {
        bug.diagnosis.as_ref().is_some_and(|diagnosis| diagnosis.status.kind == "confirmed")
    };
    Ok(Measured {
        bugs: said.bugs.len(),
        confirmed: said.bugs.iter().filter(confirmed).count(),
        whole,
        search: said.explored.seconds,
        traces: said.bugs.into_iter().map(|bug| bug.trace).collect(),
    })
}

/// The second claim.
pub fn twin(lab: &Lab<'_>) -> Result<(), String> {
    let out = lab.scratch.join("explained-twin");
    let (said, text) = explain(lab, &lab.case.expect.fixed, &TWIN, &out, 0)?;
    if !said.bugs.is_empty() || said.explored.schedules == 0 {
        return Err(format!("explain: expected a clean twin, seen {said:?}"));
    }
    files(&out, &said, &text)
}

fn explain(
    lab: &Lab<'_>,
    sources: &[String],
    flags: &[&str],
    out: &Path,
    code: i32,
) -> Result<(Explanation, String), String> {
    // Causes and repairs have claims of their own.
    let flags = [flags, &["--jobs", "1", "--repair-time", "0s"]].concat();
    let arguments = lab.arguments("explain", sources, &flags, out)?;
    let text = ask_text(lab.tool, lab.case, &arguments, &[code])?;
    let said = serde_json::from_str(&text)
        .map_err(|error| format!("unravel explain: not the JSON expected: {error}"))?;
    Ok((said, text))
}

fn replays(lab: &Lab<'_>, bug: &Bug, told: &Diagnosis) -> Result<(), String> {
    let replay = |trace: &Path, code| {
        let arguments = ["replay", &trace.display().to_string(), "--json"].map(str::to_owned);
        ask::<Replay>(lab.tool, lab.case, &arguments, &[code])
    };
    let failing = replay(&bug.trace, 1)?;
    let as_told = failing.run.context_switches == told.context_switches.reduced
        && failing.run.events == told.failing.events;
    if !failing.same || !as_told {
        return Err(format!("explain: {} does not replay as told: {failing:?}", bug.bug));
    }
    let passing = replay(&bug.trace.with_extension("passing.trace"), 0)?;
    if passing.same {
        Ok(())
    } else {
        Err(format!("explain: the passing run differs: {passing:?}"))
    }
}

fn files(out: &Path, said: &Explanation, printed: &str) -> Result<(), String> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let main = |ending: &str| read(&out.join(format!("{}.{ending}", said.program)));
    if main("json")?.trim() != printed.trim() {
        return Err("explain: expected the JSON file to be what is printed".to_owned());
    }
    let results = main("sarif")?.matches("\"ruleId\"").count();
    if results < said.bugs.len() {
        return Err(format!("explain: expected a SARIF result for each bug, seen {results}"));
    }
    if !main("html")?.trim_end().ends_with("</html>") {
        return Err("explain: expected a whole page".to_owned());
    }
    for bug in &said.bugs {
        read(&bug.trace.with_extension("dot"))?;
    }
    Ok(())
}
