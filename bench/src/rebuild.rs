//! `cargo xtask bench rebuild`: from a native failure to a diagnosis, by the log alone.
//!
//! Every program of the corpus is built as `unravel-cc -O2` builds it and run natively, recorded, until it fails (assertion, crash or
//! hang), with random delays from a preloaded library (`bench/noise/noise.c`). Then `unravel diagnose` gets the log and nothing else but
//! the arguments. A row says how often it had to run, how it failed, and what became of the log: *same* is a failure of the kind
//! and at a line that the corpus expects; *other* is a confirmed failure of the recorded end at another line or of another kind, to be
//! looked at by a person; all else has its reason. Optimised code has other lines than the truth in places where calls were
//! inlined.

mod page;

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use xtask::corpus::{self, Case, Outcome};
use xtask::error::Error;
use xtask::workspace::{self, Profile};

use crate::native;

/// Milliseconds after which a run counts as hanging.
const HANGS: &str = "2000";
/// No program runs longer. In seconds.
const PATIENCE: &str = "8";

/// How many native runs, and how long, until a program counts as not failing.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub runs: u64,
    pub time: Duration,
}

/// What became of a program.
enum Row {
    /// Why it is not in the table.
    Left(String),
    Silent {
        runs: u64,
    },
    Failed {
        runs: u64,
        status: ExitStatus,
        became: Became,
        took: Duration,
    },
}

enum Became {
    Same(String),
    Other(String),
    Not(String),
}

pub fn run(
    filter: Option<&str>,
    extent: Extent,
    keep: Option<&Path>,
    page: Option<&Path>,
) -> Result<bool, Error> {
    let scratch =
        tempfile::tempdir().map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
    let tool = copy(&workspace::build_tool(Profile::Release)?, scratch.path())?;
    let noise = noise(scratch.path())?;
    let (mut failed, mut same, mut other) = (0, 0, 0);
    let mut rows = Vec::new();
    println!("{:34} {:>6}  what became of it", "program", "runs");
    for folder in corpus::cases(filter)? {
        let name = corpus::name(&folder);
        let place = keep.unwrap_or(scratch.path()).join(name.replace('/', "-"));
        let row = match Case::read(&folder) {
            Ok(case) => measure(&tool, &case, &noise, &place, extent),
            Err(problem) => Row::Left(problem),
        };
        if let Row::Failed { became, .. } = &row {
            failed += 1;
            same += u32::from(matches!(became, Became::Same(_)));
            other += u32::from(matches!(became, Became::Other(_)));
        }
        println!("{name:34} {row}");
        rows.push((name, row));
    }
    if let Some(page) = page {
        page::update(page, &rows)?;
    }
    println!(
        "rebuild: of {failed} programs that failed natively {same} are confirmed from the log alone, {other} more as another failure"
    );
    Ok((same + other) * 10 >= failed * 9)
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Row::Left(why) => write!(f, "{:>6}  not run: {why}", ""),
            Row::Silent { runs } => write!(f, "{runs:>6}  did not fail"),
            Row::Failed { runs, status, became, took } => {
                let (word, what) = match became {
                    Became::Same(what) => ("same", what),
                    Became::Other(what) => ("OTHER", what),
                    Became::Not(why) => ("NOT", why),
                };
                write!(f, "{runs:>6}  {status}: {word}, {what}, {:.1} s", took.as_secs_f64())
            }
        }
    }
}

/// The tool as it is now: a table takes an hour, and builds go on beside it.
fn copy(tool: &Path, folder: &Path) -> Result<PathBuf, Error> {
    let copy = folder.join("unravel");
    std::fs::copy(tool, &copy).map_err(|source| Error::File { path: copy.clone(), source })?;
    Ok(copy)
}

/// The library with random delays.
fn noise(folder: &Path) -> Result<PathBuf, Error> {
    let library = folder.join("noise.so");
    let source = workspace::root().join("bench/noise/noise.c");
    let mut command = Command::new("clang-19");
    command.args(["-O2", "-fPIC", "-shared", "-o"]).arg(&library).arg(source);
    workspace::demand(&mut command)?;
    Ok(library)
}

fn measure(tool: &Path, case: &Case, noise: &Path, place: &Path, extent: Extent) -> Row {
    let program = place.join("program");
    if let Err(error) = std::fs::create_dir_all(place) {
        return Row::Left(error.to_string());
    }
    if let Err(why) = native::build(case, "-O2", &program) {
        return Row::Left(why);
    }
    let (log, begun) = (place.join("run.log"), Instant::now());
    let mut runs = 0;
    while runs < extent.runs && begun.elapsed() < extent.time {
        let status = match recorded(case, &program, noise, &log, runs) {
            Ok(status) => status,
            Err(error) => return Row::Left(error.to_string()),
        };
        runs += 1;
        // Exit codes are no native failure.
        if status.signal().is_some() || status.code().is_some_and(|code| code > 128) {
            let begun = Instant::now();
            let became = diagnose(tool, case, &log, place);
            return Row::Failed { runs, status, became, took: begun.elapsed() };
        }
    }
    Row::Silent { runs }
}

/// One native run, recorded.
fn recorded(
    case: &Case,
    program: &Path,
    noise: &Path,
    log: &Path,
    seed: u64,
) -> std::io::Result<ExitStatus> {
    let _ = std::fs::remove_file(log);
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", PATIENCE]).arg("env");
    command.arg(format!("LD_PRELOAD={}", noise.display())).arg(program).args(&case.expect.args);
    command.env("UNRAVEL_LOG", log).env("UNRAVEL_HANG_AFTER_MS", HANGS);
    command.env("NOISE_SEED", seed.to_string());
    command.stdin(stdin(case, log)?).stdout(Stdio::null()).stderr(Stdio::null());
    command.status()
}

/// What the program reads, from a file beside the log.
fn stdin(case: &Case, log: &Path) -> std::io::Result<Stdio> {
    let Some(text) = &case.expect.stdin else { return Ok(Stdio::null()) };
    let path = log.with_extension("stdin");
    std::fs::write(&path, text)?;
    Ok(std::fs::File::open(path)?.into())
}

fn diagnose(tool: &Path, case: &Case, log: &Path, place: &Path) -> Became {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "200"]).arg(tool).arg("diagnose").arg(log);
    command.args(["--json", "--time", "60s", "--out"]).arg(place);
    case.expect.libs.iter().for_each(|library| {
        command.args(["-l", library]);
    });
    if case.expect.stdin.is_some() {
        command.arg("--stdin").arg(log.with_extension("stdin"));
    }
    command.arg("--").args(&case.expect.args).current_dir(&case.folder).stdin(Stdio::null());
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return Became::Not(error.to_string()),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(answer) = text.lines().find_map(|line| serde_json::from_str::<Value>(line).ok())
    else {
        return Became::Not(format!("no answer ({})", output.status));
    };
    let Ok(outcome) = serde_json::from_value::<Outcome>(answer["failure"].clone()) else {
        let why = answer["status"]["reason"].as_str().or_else(|| answer["error"].as_str());
        return Became::Not(why.unwrap_or("no failure in the answer").to_owned());
    };
    let what = outcome.describe(case);
    match (answer["status"]["kind"].as_str(), outcome.is_bug_of(case)) {
        (Some("confirmed"), true) => Became::Same(what),
        (Some("confirmed"), false) => Became::Other(what),
        // It was rebuilt and executed; only its cause was not found.
        (_, true) => Became::Same(format!("{what}, undiagnosed")),
        (_, false) => Became::Other(format!("{what}, undiagnosed")),
    }
}
