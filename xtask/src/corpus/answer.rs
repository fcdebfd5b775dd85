//! What `unravel` answers with `--json`, as far as it is looked at here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::case::Case;

#[derive(Debug, Deserialize)]
pub struct Search {
    pub findings: Vec<Finding>,
    pub schedules: u64,
    pub stopped: String,
    pub inconclusive: u64,
    pub reason: Option<String>,
    pub discarded: u64,
    pub seconds: f64,
}

impl Search {
    /// It tried as many schedules as it was to, or all there are.
    pub fn ends_well(&self) -> bool {
        self.schedules > 0 && matches!(self.stopped.as_str(), "schedules" | "exhausted")
    }
}

#[derive(Debug, Deserialize)]
pub struct Simplified {
    /// Runs executed, without those of a proof.
    pub executed: u64,
}

#[derive(Debug, Deserialize)]
pub struct Finding {
    /// Counted from 1.
    pub schedule: u64,
    pub replayed: bool,
    pub trace: PathBuf,
    pub run: Run,
}

#[derive(Debug, Deserialize)]
pub struct Replay {
    pub run: Run,
    pub same: bool,
    pub difference: Option<String>,
}

/// Two runs that are equal here had the same outcome to the byte, and the same size.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Run {
    pub outcome: Outcome,
    pub threads: Vec<String>,
    pub events: u64,
    pub context_switches: u64,
    pub steps: u64,
    /// What the environment did that an ordinary one does not.
    #[serde(default)]
    pub deviations: Vec<Deviation>,
}

impl Run {
    /// The environment did what the case says, and no more: what it did, if not.
    pub fn deviates_as_said(&self, case: &Case) -> Result<(), String> {
        let bug = &case.expect.bug;
        let (Some(needs), Some(times)) = (bug.needs.as_deref(), bug.deviations) else {
            return Ok(());
        };
        let kinds: Vec<&str> = self.deviations.iter().map(|d| d.kind.as_str()).collect();
        if kinds.len() == times as usize && kinds.iter().all(|kind| *kind == needs) {
            return Ok(());
        }
        Err(format!("expected {times} deviations ({needs}), seen {kinds:?}"))
    }
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Deviation {
    pub kind: String,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Outcome {
    pub kind: String,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub at: Option<At>,
    #[serde(default)]
    pub stack: Vec<Frame>,
    /// Other places that matter; of a deadlock, where each thread is blocked.
    #[serde(default)]
    pub related: Vec<Related>,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Related {
    #[serde(default)]
    pub at: Option<At>,
    pub stack: Vec<Frame>,
}

/// Where reports show something: the call of a wrapper, if that is what the innermost frame is in.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum At {
    Name(String),
    Frame(Frame),
}

impl At {
    fn name(&self) -> Option<String> {
        match self {
            At::Name(name) => Some(name.clone()),
            At::Frame(frame) => frame.name(),
        }
    }
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Frame {
    pub file: String,
    pub line: u32,
}

impl Frame {
    /// `file:line`, without folders.
    pub fn name(&self) -> Option<String> {
        let name = Path::new(&self.file).file_name()?;
        Some(format!("{}:{}", name.to_string_lossy(), self.line))
    }
}

impl Outcome {
    /// The places, as `file:line`, of which one must be expected: where the failure shows, or where
    /// threads are blocked. Frames in headers of libraries are passed over.
    pub fn places(&self, case: &Case) -> Vec<String> {
        let shown = |at: &Option<At>, stack: &[Frame]| {
            let mut own = stack.iter().filter(|frame| case.owns(&frame.file)).map(Frame::name);
            let innermost = own.clone().next()?;
            let at = at.as_ref().and_then(At::name);
            own.find(|name| *name == at).unwrap_or(innermost)
        };
        match self.kind.as_str() {
            "deadlock" | "livelock" => {
                let mut places: Vec<String> =
                    self.related.iter().filter_map(|r| shown(&r.at, &r.stack)).collect();
                places.dedup();
                places
            }
            _ => shown(&self.at, &self.stack).into_iter().collect(),
        }
    }

    /// Whether this is the bug of the case: its kind at one of its lines, or its exit code, which has no line.
    pub fn is_bug_of(&self, case: &Case) -> bool {
        let bug = &case.expect.bug;
        let there = match bug.exit {
            Some(code) => self.message.ends_with(&format!(" code {code}")),
            None => self.places(case).iter().any(|place| bug.at.contains(place)),
        };
        self.kind == bug.outcome && there
    }

    /// In words, with the place.
    pub fn describe(&self, case: &Case) -> String {
        let places = self.places(case);
        let at = if places.is_empty() {
            "no line of the program".to_owned()
        } else {
            places.join(" and ")
        };
        format!("{} at {at}", self.kind)
    }
}

/// No command of a case takes longer, whatever its program does. In seconds.
const PATIENCE: &str = "300";

/// Runs `unravel` in the folder of a case and reads its answer, which comes with one of the exit codes
/// `codes`. Anything else is a complaint.
pub fn ask<T: DeserializeOwned>(
    tool: &Path,
    case: &Case,
    arguments: &[String],
    codes: &[i32],
) -> Result<T, String> {
    let text = ask_text(tool, case, arguments, codes)?;
    // The program's own output may stand before it.
    let last = text.lines().last().unwrap_or_default();
    let start = last.find('{').unwrap_or_default();
    serde_json::from_str(&last[start..])
        .map_err(|error| format!("{}: not the JSON expected: {error}", shown(arguments)))
}

fn shown(arguments: &[String]) -> String {
    format!("unravel {}", arguments.join(" "))
}

/// The same, with all of standard output as it is.
pub fn ask_text(
    tool: &Path,
    case: &Case,
    arguments: &[String],
    codes: &[i32],
) -> Result<String, String> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", PATIENCE]).arg(tool).args(arguments);
    command.current_dir(&case.folder).stdin(Stdio::null());
    let shown = shown(arguments);
    let output = command.output().map_err(|error| format!("cannot start {shown}: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    if code == Some(124) {
        return Err(format!("{shown} did not end within {PATIENCE} s"));
    }
    if !code.is_some_and(|code| codes.contains(&code)) {
        let errors = errors.split_whitespace().collect::<Vec<_>>().join(" ");
        return Err(format!(
            "{shown}: expected exit code {codes:?}, seen {} {errors}",
            output.status
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
