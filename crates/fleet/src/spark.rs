//! The same analysis by Apache Spark: for fleets that one machine does not hold.
//!
//! The job ([`JOB`]) is a small PySpark file that stands in the project. It is written beside its answer and submitted with
//! `spark-submit`; it reads the files of a store as they are, or any folder or bucket with such files, and computes DSIM, DHS and both rankings
//! over integers, so that its answer is that of `coop` to the last digit. Only the ranking comes back: candidates are put together and
//! replayed here.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use unravel_coop::{FailureSite, Heuristic, LogId, Metric};

/// The job.
pub const JOB: &str = include_str!("job.py");

#[derive(Debug, Error)]
pub enum SparkError {
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
    #[error("spark-submit failed ({status}): {said}")]
    Failed { status: std::process::ExitStatus, said: String },
    #[error("the job's answer cannot be read: line {line}")]
    Answer { line: usize },
}

/// A log with its relevance, as the job says: both numbers of a fraction, as decimal texts of any length.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SparkRanked {
    pub log: String,
    pub numerator: String,
    pub denominator: String,
}

/// What a job is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// A folder or an address that Spark reads.
    pub logs: &'a str,
    /// `local[2]`, `spark://…`, `yarn`; what the configuration says if there is none.
    pub master: Option<&'a str>,
    pub failure: FailureSite,
    /// These of its logs, if several bugs fail so.
    pub only: Option<&'a [LogId]>,
    /// How many elements the program has.
    pub elements: usize,
    pub heuristic: Heuristic,
    pub metric: Metric,
    /// Into how many parts the logs are split, if that is not Spark's to decide.
    pub partitions: Option<u32>,
}

/// Writes the job into a folder, submits it, and reads its answer: the failing logs, the most relevant first.
pub fn spark(question: &Question<'_>, folder: &Path) -> Result<Vec<SparkRanked>, SparkError> {
    let io = |what: &Path| {
        let what = what.display().to_string();
        move |source| SparkError::Io { what, source }
    };
    let (job, answer) = (folder.join("job.py"), folder.join("ranked.txt"));
    std::fs::write(&job, JOB).map_err(io(&job))?;
    let mut command = Command::new("spark-submit");
    if let Some(master) = question.master {
        command.args(["--master", master]);
    }
    command.arg(&job).arg(question.logs).arg(&answer);
    command.arg(question.failure.kind.name()).arg(question.failure.places.to_string());
    command.arg(question.elements.to_string());
    command.arg(question.heuristic.name()).arg(question.metric.name());
    command.arg(question.partitions.unwrap_or(0).to_string());
    if let Some(only) = question.only {
        let ids = folder.join("only.txt");
        let text: String = only.iter().map(|id| format!("{id}\n")).collect();
        std::fs::write(&ids, text).map_err(io(&ids))?;
        command.arg(&ids);
    }
    let output = command.stdin(Stdio::null()).output().map_err(io(Path::new("spark-submit")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said.lines().rev().take(12).collect();
        let said = lines.into_iter().rev().collect::<Vec<_>>().join("\n");
        return Err(SparkError::Failed { status: output.status, said });
    }
    let text = std::fs::read_to_string(&answer).map_err(io(&answer))?;
    let line = |(at, line): (usize, &str)| match line.split(' ').collect::<Vec<_>>()[..] {
        [log, numerator, denominator] => Ok(SparkRanked {
            log: log.to_owned(),
            numerator: numerator.to_owned(),
            denominator: denominator.to_owned(),
        }),
        _ => Err(SparkError::Answer { line: at + 1 }),
    };
    text.lines().enumerate().map(line).collect()
}
