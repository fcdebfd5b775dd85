//! `cargo xtask bench hunt`: the bugs of Cortex's programs exposed from runs that passed, beside its tables 5.2 to 5.4.
//!
//! The programs are our re-creations of its table 5.1, most of them much shorter than its own: attempts, sizes and times
//! compare as a guide. Each program is hunted once by the tool as users have it, one after the other; what it exposes is
//! replayed, and has to be the bug that the corpus knows of. Its fixed twin is hunted in the same way, and nothing may be
//! exposed there.
//!
//! Attempts are counted as Cortex counts them: executions that were synthesised and asked about. What costs none is asking
//! about combinations that were observed; how many these were stands in a column of its own.

pub mod logs;
mod notes;
pub mod paper;
pub mod table;

use std::path::Path;
use std::time::Instant;

use paper::{ROWS, Row};
use xtask::corpus::{self, Exposed, Hunt, Version};
use xtask::error::Error;
use xtask::workspace::{self, Profile};

/// What a program may take where Cortex' solver took hours, in seconds. It is told, and fails nothing: the machine may have
/// other work.
const QUICK_SECONDS: f64 = 10.0;

/// False if a bug is not exposed, not confirmed, or takes more attempts than it may, or if a twin yields a failure.
pub fn run(filter: Option<&str>) -> Result<bool, Error> {
    let rows: Vec<&Row> =
        ROWS.iter().filter(|row| filter.is_none_or(|f| row.case.contains(f))).collect();
    if rows.is_empty() {
        return Err(Error::NoCase(filter.unwrap_or_default().to_owned()));
    }
    let tool = workspace::build_tool(Profile::Release)?;
    let scratch =
        tempfile::tempdir().map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
    println!("{}", table::bug_heading());
    let mut trials = Vec::new();
    for row in rows {
        let trial = Trial::new(&tool, row, row.args, scratch.path());
        println!("{}", table::bug_line(&trial));
        trials.push(trial);
    }
    println!("\n{}", table::projection_heading());
    trials.iter().for_each(|trial| println!("{}", table::projection_line(trial)));
    println!("{}", table::means(&trials));
    println!("\n{}", table::twin_heading());
    trials.iter().for_each(|trial| println!("{}", table::twin_line(trial)));
    print_remarks(&trials);
    println!("{}", table::headline(&trials));
    Ok(trials.iter().all(|trial| trial.complaints().is_empty()))
}

/// What became of a row.
pub struct Trial {
    row: &'static Row,
    pub bug: Result<Bug, String>,
    twin: Result<Hunt, String>,
}

/// A hunt of a buggy program.
pub struct Bug {
    pub hunt: Hunt,
    /// The whole command.
    pub seconds: f64,
    /// Why what was exposed is not the bug, or does not replay, if so.
    confirmed: Result<(), String>,
}

impl Trial {
    /// Hunts the program of a row and its twin with these arguments, if there are any.
    pub fn new(tool: &Path, row: &'static Row, args: &[&str], scratch: &Path) -> Trial {
        let folder = workspace::root().join("corpus").join(row.case);
        let hunt = |version| corpus::hunt(tool, &folder, scratch, version, args);
        let started = Instant::now();
        let bug = hunt(Version::Buggy).map(|hunt| {
            let seconds = started.elapsed().as_secs_f64();
            let confirmed = hunt
                .quarry()
                .map_or(Ok(()), |quarry| corpus::confirm(tool, &folder, scratch, quarry));
            Bug { hunt, seconds, confirmed }
        });
        Trial { row, bug, twin: hunt(Version::Fixed) }
    }

    pub fn quarry(&self) -> Option<&Exposed> {
        self.bug.as_ref().ok()?.hunt.quarry()
    }

    /// The bug was exposed, and confirmed by execution.
    pub fn is_exposed(&self) -> bool {
        self.quarry().is_some() && self.bug.as_ref().is_ok_and(|bug| bug.confirmed.is_ok())
    }

    pub fn is_within(&self) -> bool {
        self.is_exposed() && self.quarry().is_some_and(|quarry| quarry.attempt <= self.row.at_most)
    }

    /// The twin was hunted, and nothing exposed.
    pub fn is_silent(&self) -> bool {
        self.twin.as_ref().is_ok_and(|twin| twin.exposed.is_empty() && twin.runs.passing > 0)
    }

    /// Everything that does not hold, in words.
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        match &self.bug {
            Err(problem) => complaints.push(problem.clone()),
            Ok(Bug { confirmed: Err(problem), .. }) => complaints.push(problem.clone()),
            Ok(bug) => match bug.hunt.quarry() {
                None => complaints.push(format!("nothing was exposed ({})", bug.hunt.ending())),
                Some(quarry) if quarry.attempt > self.row.at_most => complaints.push(format!(
                    "exposed in attempt {}, at most {} are allowed",
                    quarry.attempt, self.row.at_most
                )),
                Some(_) => {}
            },
        }
        match &self.twin {
            Err(problem) => complaints.push(format!("twin: {problem}")),
            Ok(twin) if twin.runs.passing == 0 => {
                complaints.push("twin: no run passed, there was nothing to start from".into());
            }
            Ok(twin) => complaints
                .extend(twin.exposed.iter().map(|exposed| format!("twin: fails {}", exposed.how))),
        }
        complaints
    }

    /// Why it is of another kind than in the thesis, if it is.
    pub fn note(&self) -> Option<String> {
        let (quarry, cortex) = (self.quarry()?, self.row.cortex?);
        (quarry.is_by_path() != cortex.guided.is_some()).then(|| {
            let note = notes::of(self.row.program);
            note.unwrap_or("NOT EXPLAINED: look into it, and say why in notes.rs").to_owned()
        })
    }

    /// A program that should be quick and was not.
    fn is_slow(&self) -> bool {
        self.row.quick && self.bug.as_ref().is_ok_and(|bug| bug.seconds > QUICK_SECONDS)
    }
}

fn print_remarks(trials: &[Trial]) {
    let notes: Vec<(&str, String)> =
        trials.iter().filter_map(|trial| Some((trial.row.program, trial.note()?))).collect();
    if !notes.is_empty() {
        println!("\n{}", notes::PREFACE);
    }
    for (program, note) in notes {
        println!("{program:<12} {note}");
    }
    println!();
    for trial in trials.iter().filter(|trial| trial.is_slow()) {
        println!("SLOW {}: more than {QUICK_SECONDS:.0} s", trial.row.program);
    }
    for trial in trials {
        for complaint in trial.complaints() {
            println!("DOES NOT HOLD {}: {complaint}", trial.row.program);
        }
    }
}

#[cfg(test)]
mod tests;
