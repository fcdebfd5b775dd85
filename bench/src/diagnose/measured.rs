//! One diagnosis by the tool, with what its stages took.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::Deserialize;
use serde::de::IgnoredAny;

use xtask::error::Error;
use xtask::workspace::{line, name};

/// No diagnosis takes longer. In seconds.
const PATIENCE: &str = "120";

/// What `unravel diagnose --json --timings` says, as far as it is looked at here.
pub struct Measured {
    pub diagnosis: Diagnosis,
    pub timings: Timings,
    /// The whole command, in seconds.
    pub wall: f64,
}

#[derive(Deserialize)]
pub struct Diagnosis {
    pub status: Status,
    pub failing: Failing,
    pub context_switches: Switches,
    pub root_cause: Option<RootCause>,
    pub alternates: Vec<Alternate>,
    pub notes: Vec<String>,
}

#[derive(Deserialize)]
pub struct Status {
    pub kind: String,
}

#[derive(Deserialize)]
pub struct Failing {
    pub events: u64,
}

/// Of the run that was given, and of that which is shown.
#[derive(Deserialize)]
pub struct Switches {
    pub given: u64,
    pub reduced: u64,
}

#[derive(Deserialize)]
pub struct RootCause {
    pub orders: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
pub struct Alternate {
    pub same_path: bool,
    pub found_by: String,
    pub minimality: Minimality,
    pub distance: Distance,
    pub projection: Projection,
}

/// Of which only the sizes matter here.
#[derive(Deserialize)]
pub struct Projection {
    /// Events of the failing run.
    pub failing: Vec<IgnoredAny>,
    pub flows: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
pub struct Minimality {
    pub proved: bool,
}

#[derive(Deserialize)]
pub struct Distance {
    pub data_flow: u32,
    pub broken_segments: u32,
    pub context_switches: u32,
    pub operations: u32,
}

/// Seconds. A stage that was not reached took none.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Timings {
    pub conditions: u64,
    pub model: Option<f64>,
    pub evaluate: Option<f64>,
    /// From paths to a failing schedule.
    pub failing: f64,
    pub reducing: f64,
    pub alternate: f64,
    pub cause: f64,
    pub total: f64,
    /// Data flows of the run that was given.
    pub flows_given: u64,
    /// In the nearest order of the recorded steps alone.
    pub flows_recorded: Option<FlowsRecorded>,
}

#[derive(Deserialize)]
pub struct FlowsRecorded {
    pub differ: u32,
    pub proved: bool,
}

/// Diagnoses a trace with these flags.
pub fn diagnose(tool: &Path, trace: &Path, flags: &[&str]) -> Result<Measured, Error> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", PATIENCE]).arg(tool).arg("diagnose").arg(trace).args(flags);
    command.args(["--json", "--timings"]).stdin(Stdio::null());
    let started = Instant::now();
    let output =
        command.output().map_err(|source| Error::Start { program: name(&command), source })?;
    let wall = started.elapsed().as_secs_f64();
    let errors = String::from_utf8_lossy(&output.stderr);
    if !matches!(output.status.code(), Some(1 | 3)) {
        let problem = errors.split_whitespace().collect::<Vec<_>>().join(" ");
        return Err(Error::Answer { command: line(&command), problem });
    }
    let wrong = |error: serde_json::Error| Error::Answer {
        command: line(&command),
        problem: error.to_string(),
    };
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(wrong)?;
    if answer.get("failing").is_none() {
        let problem = answer["status"]["reason"].as_str().unwrap_or_default().to_owned();
        return Err(Error::Inconclusive(problem));
    }
    let diagnosis = serde_json::from_value(answer).map_err(wrong)?;
    let timings = errors.lines().last().unwrap_or_default();
    let timings = serde_json::from_str(timings).map_err(wrong)?;
    Ok(Measured { diagnosis, timings, wall })
}
