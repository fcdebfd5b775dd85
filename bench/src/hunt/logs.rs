//! `cargo xtask bench hunt --from-logs N`: the bugs of Cortex's programs from logs of native runs that passed.
//!
//! Cortex collects its traces from production runs (§5.2.1); so does this: each program is built by `unravel-cc -O2`, runs natively,
//! recorded, until N runs have passed, and `unravel hunt --from` gets their logs and nothing else. What the compiler's optimisation
//! takes out (two reads of one variable that become one) no log can bring back, so what is not exposed so is tried with `-O0`
//! as well, and the row says which it was.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;
use xtask::corpus::{Case, Outcome};
use xtask::error::Error;
use xtask::workspace::{self, Profile};

use super::paper::{ROWS, Row};
use crate::native;

/// Of a native run, in seconds.
const PATIENCE: &str = "5";
/// Of a hunt.
const HUNT_TIME: &str = "60s";
/// Of the whole command, in seconds.
const LONGEST: &str = "600";

/// False if a bug is not exposed.
pub fn run(filter: Option<&str>, logs: usize) -> Result<bool, Error> {
    let tool = workspace::build_tool(Profile::Release)?;
    println!("{:<12} {:28} {:>5} {:>5}  what was exposed", "program", "case", "runs", "logs");
    let (mut all, mut exposed) = (0, 0);
    for row in ROWS.iter().filter(|row| filter.is_none_or(|f| row.case.contains(f))) {
        all += 1;
        let mut said = String::new();
        for level in ["-O2", "-O0"] {
            let became = trial(&tool, row, level, logs);
            let is_exposed = became.as_ref().is_ok_and(|trial| trial.exposed.is_some());
            said = match became {
                Ok(trial) => {
                    format!("{:>5} {:>5}  {level}: {}", trial.runs, trial.logs, trial.words())
                }
                Err(why) => format!("{:>5} {:>5}  {level}: {why}", "", ""),
            };
            if is_exposed {
                exposed += 1;
                break;
            }
        }
        println!("{:<12} {:28} {said}", row.program, row.case);
    }
    println!("hunt: {exposed} of {all} bugs exposed from {logs} logs of native runs that passed");
    match all {
        0 => Err(Error::NoCase(filter.unwrap_or_default().to_owned())),
        _ => Ok(exposed == all),
    }
}

struct Trial {
    runs: usize,
    logs: usize,
    /// Logs that the machine did not find a run for.
    not_rebuilt: usize,
    /// What was exposed first, if it is the bug of the case; else what else there was to say.
    exposed: Option<String>,
    otherwise: String,
    seconds: f64,
}

impl Trial {
    fn words(&self) -> String {
        let what = self.exposed.as_ref().unwrap_or(&self.otherwise);
        let left_out = match self.not_rebuilt {
            0 => String::new(),
            number => format!(", {number} logs not rebuilt"),
        };
        format!("{what}{left_out}, {:.1} s", self.seconds)
    }
}

fn trial(tool: &Path, row: &Row, level: &str, wanted: usize) -> Result<Trial, String> {
    let case = Case::read(&workspace::root().join("corpus").join(row.case))?.with(row.args);
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let program = scratch.path().join("program");
    native::build(&case, level, &program)?;
    let (mut logs, mut runs) = (Vec::new(), 0);
    while logs.len() < wanted && runs < 10 * wanted {
        let log = scratch.path().join(format!("{runs}.log"));
        runs += 1;
        if passes(&case, &program, &log)? {
            logs.push(log);
        }
    }
    if logs.is_empty() {
        return Err("no native run passed".to_owned());
    }
    let begun = Instant::now();
    let answer = hunt(tool, &case, &logs, scratch.path())?;
    let seconds = begun.elapsed().as_secs_f64();
    let notes = answer["notes"].as_array().into_iter().flatten();
    let not_rebuilt = notes.filter(|note| note.to_string().contains("was not rebuilt")).count();
    let first = &answer["exposed"][0]["failure"];
    let outcome = serde_json::from_value::<Outcome>(first.clone()).ok();
    let is_bug = outcome.as_ref().is_some_and(|outcome| outcome.is_bug_of(&case));
    let otherwise = match &outcome {
        Some(outcome) => format!("ANOTHER FAILURE: {}", outcome.describe(&case)),
        None => "NOTHING".to_owned(),
    };
    let exposed = outcome.filter(|_| is_bug).map(|outcome| outcome.describe(&case));
    Ok(Trial { runs, logs: logs.len(), not_rebuilt, exposed, otherwise, seconds })
}

/// One native run, recorded.
fn passes(case: &Case, program: &Path, log: &Path) -> Result<bool, String> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", PATIENCE]).arg(program).args(&case.expect.args);
    command.env("UNRAVEL_LOG", log);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().map(|status| status.success()).map_err(|error| error.to_string())
}

fn hunt(tool: &Path, case: &Case, logs: &[PathBuf], scratch: &Path) -> Result<Value, String> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", LONGEST]).arg(tool).args(["hunt", "--from"]).args(logs);
    command.args(["--json", "--quiet", "--time", HUNT_TIME, "--out"]).arg(scratch.join("out"));
    command.arg("--").args(&case.expect.args).current_dir(&case.folder).stdin(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let answer = text.lines().find_map(|line| serde_json::from_str(line).ok());
    answer.ok_or_else(|| format!("no answer ({})", output.status))
}
