//! Starting the process that asks one question, and ending it where a solver does not keep to its limit.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use unravel_solve::SolverChoice;

use super::question::{Measured, Question, Said};
use xtask::error::Error;
use xtask::workspace::{line, name};

/// What reading the trace, building the model and the end of a solver may take besides. In seconds.
const PATIENCE: f64 = 30.0;
const TICK: Duration = Duration::from_millis(2);

/// What to ask, and about what.
pub struct Ask<'a> {
    pub trace: &'a Path,
    pub question: Question,
    pub solver: SolverChoice,
    /// In seconds.
    pub limit: f64,
    pub near: Option<&'a Path>,
    pub scratch: &'a Path,
}

pub fn ask(ask: &Ask<'_>) -> Result<Measured, Error> {
    let start = |source| Error::Start { program: "itself".into(), source };
    let answer = ask.scratch.join("answer.json");
    let mut command = Command::new(std::env::current_exe().map_err(start)?);
    command.arg("solve-one").arg(ask.trace).args(["--question", ask.question.name()]);
    command.args(["--solver", ask.solver.name(), "--limit", &ask.limit.to_string()]);
    command.arg("--answer").arg(&answer);
    if let Some(near) = ask.near {
        command.arg("--near").arg(near);
    }
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .spawn()
        .map_err(|source| Error::Start { program: name(&command), source })?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(start)? {
            break status;
        }
        if started.elapsed().as_secs_f64() > ask.limit + PATIENCE {
            child.kill().and_then(|()| child.wait()).map_err(start)?;
            let said = Said::GaveUp("it did not keep to its limit".to_owned());
            let (conflicts, megabytes, schedule) = (None, 0.0, None);
            return Ok(Measured { seconds: ask.limit, conflicts, megabytes, said, schedule });
        }
        std::thread::sleep(TICK);
    };
    if !status.success() {
        return Err(Error::Failed { command: line(&command), status });
    }
    let text = std::fs::read_to_string(&answer)
        .map_err(|source| Error::File { path: answer.clone(), source })?;
    serde_json::from_str(&text)
        .map_err(|error| Error::Answer { command: line(&command), problem: error.to_string() })
}
