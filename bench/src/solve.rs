//! `cargo xtask bench solve`: our own solver and Z3 on the same instances, in one run.
//!
//! Every question is asked in a process of its own, so that its memory is its own; its time is that of the query, the
//! model being there. Answers that both have proved must be the same, or the benchmark fails. Z3 is not asked about
//! more than some 1,000 events unless wanted: it does not come back.

mod child;
mod instances;
mod question;
mod summary;

use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use unravel_solve::SolverChoice;
use xtask::error::Error;

use crate::measure::{milliseconds, stay_on_one_core};
use crate::scale::Scale;

use child::{Ask, ask};
use instances::{Family, Instance, Selection};
use question::{Measured, Said};

pub use question::{One, Question, answer};

/// Z3 is not asked about more events, unless wanted.
const Z3_EVENTS: usize = 1_050;
/// What a question may take in a smoke run.
const SMOKE_SECONDS: f64 = 0.5;

/// What to measure.
#[derive(Debug, Args)]
pub struct SolveFlags {
    /// Only instances whose name contains this: a corpus case, or a family and its numbers.
    filter: Option<String>,
    /// Only these families of instances.
    #[arg(long = "family", value_name = "FAMILY")]
    families: Vec<Family>,
    /// Only these questions.
    #[arg(long = "question", value_name = "QUESTION")]
    questions: Vec<Question>,
    /// How long each question may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    limit: f64,
    /// Ask Z3 about traces of any length.
    #[arg(long)]
    all: bool,
    /// Do not ask Z3.
    #[arg(long, conflicts_with = "all")]
    alone: bool,
}

impl SolveFlags {
    /// For a smoke run. Z3 does not answer everything in that time, which is part of what is tried.
    pub fn shrink(&mut self) {
        self.limit = self.limit.min(SMOKE_SECONDS);
    }
}

/// A question about an instance, and what both said, each within `limit` seconds.
struct Row {
    family: Family,
    name: String,
    events: usize,
    question: Question,
    limit: f64,
    ours: Measured,
    theirs: Option<Measured>,
}

/// Z3's time divided by ours.
struct Ratio {
    value: f64,
    /// Z3 gave up: the true ratio is larger.
    at_least: bool,
}

impl Row {
    /// Who gave up took the limit: no less, and no more either, which is in favour of the other.
    fn seconds(&self, measured: &Measured) -> f64 {
        if measured.said.is_proved() { measured.seconds } else { self.limit }
    }

    /// Why ours gave up before its time.
    fn early(&self) -> Option<&str> {
        self.ours.said.reason().filter(|_| self.ours.seconds < 0.9 * self.limit)
    }

    /// If both were asked, and one of them came to an answer.
    fn ratio(&self) -> Option<Ratio> {
        let theirs = self.theirs.as_ref()?;
        let at_least = !theirs.said.is_proved();
        if at_least && !self.ours.said.is_proved() {
            return None;
        }
        let value = self.seconds(theirs) / self.seconds(&self.ours).max(1e-6);
        Some(Ratio { value, at_least })
    }
}

/// False if the two contradict each other, or if an answer is not so.
pub fn run(flags: &SolveFlags, scale: Scale) -> Result<bool, Error> {
    let scratch =
        tempfile::tempdir().map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
    let scratch = scratch.path();
    let selection =
        Selection { families: &flags.families, filter: flags.filter.as_deref(), scale, scratch };
    let instances = selection.instances()?;
    stay_on_one_core()?;
    heading(flags);
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    for instance in &instances {
        let mut near = None;
        for &question in &instance.questions {
            let wanted = flags.questions.is_empty() || flags.questions.contains(&question);
            let needed = question == Question::Failing && instance.gives_order();
            if !(wanted || needed) {
                continue;
            }
            if instance.is_unordered && question != Question::Failing && near.is_none() {
                println!("{:<28} {}: no failing order is known", instance.name, question.name());
                continue;
            }
            let row = measure(flags, instance, question, near.as_deref(), scratch)?;
            if question == Question::Failing && near.is_none() {
                near = keep_order(&row, scratch)?;
            }
            println!("{row}");
            if let Some(reason) = row.early() {
                println!("{:<28} {reason}", "");
            }
            wrong.extend(problem(&row));
            rows.push(row);
        }
    }
    summary::print(&rows);
    wrong.iter().for_each(|problem| println!("WRONG: {problem}"));
    println!("\nsolve: {} questions, {} wrong answers", rows.len(), wrong.len());
    Ok(wrong.is_empty())
}

fn measure(
    flags: &SolveFlags,
    instance: &Instance,
    question: Question,
    near: Option<&Path>,
    scratch: &Path,
) -> Result<Row, Error> {
    let by = |solver| {
        let Instance { trace, .. } = instance;
        ask(&Ask { trace, question, solver, limit: flags.limit, near, scratch })
    };
    let ours = by(SolverChoice::Orders)?;
    let is_asked = !flags.alone && (flags.all || instance.events <= Z3_EVENTS);
    let theirs = if is_asked { Some(by(SolverChoice::Z3)?) } else { None };
    let (family, name, events) = (instance.family, instance.name.clone(), instance.events);
    Ok(Row { family, name, events, question, limit: flags.limit, ours, theirs })
}

/// The failing order that was found, for later questions.
fn keep_order(row: &Row, scratch: &Path) -> Result<Option<PathBuf>, Error> {
    let theirs = || row.theirs.as_ref().and_then(|theirs| theirs.schedule.as_ref());
    let Some(schedule) = row.ours.schedule.as_ref().or_else(theirs) else { return Ok(None) };
    let path = scratch.join("near.json");
    question::keep(schedule, &path)
        .map_err(|problem| Error::Trace { path: path.clone(), problem })?;
    Ok(Some(path))
}

/// What cannot be so.
fn problem(row: &Row) -> Option<String> {
    let what = format!("{}, {}", row.name, row.question.name());
    for (solver, measured) in [("ours", Some(&row.ours)), ("Z3", row.theirs.as_ref())] {
        if let Some(Measured { said: Said::Wrong(problem), .. }) = measured {
            return Some(format!("{what}, {solver}: {problem}"));
        }
    }
    let theirs = row.theirs.as_ref()?;
    let (ours, theirs) = (&row.ours.said, &theirs.said);
    let agree = match (ours, theirs) {
        // Minimal, not smallest: there may be several.
        (Said::Core(_), Said::Core(_)) => true,
        (Said::Minimum(cost), Said::Gap { cost: other, bound, .. })
        | (Said::Gap { cost: other, bound, .. }, Said::Minimum(cost)) => {
            bound <= cost && cost <= other
        }
        _ => ours == theirs || !ours.is_proved() || !theirs.is_proved(),
    };
    (!agree).then(|| format!("{what}: ours says {ours}, Z3 {theirs}"))
}

fn heading(flags: &SolveFlags) {
    println!(
        "times of queries in ms, at most {} s each; DF of alternates, members of minimal cores",
        flags.limit
    );
    println!(
        "{:<28} {:>7} {:<9} {:>9} {:>9} {:>6} {:<18} {:>9} {:<18} {:>8}",
        "instance",
        "events",
        "question",
        "ours ms",
        "conflicts",
        "MB",
        "answer",
        "Z3 ms",
        "answer",
        "ratio"
    );
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { name, events, question, ours, theirs, .. } = self;
        let conflicts = ours.conflicts.map_or("–".to_owned(), |count| count.to_string());
        write!(
            f,
            "{name:<28} {events:>7} {:<9} {:>9} {conflicts:>9} {:>6.0} {:<18}",
            question.name(),
            milliseconds(ours.seconds),
            ours.megabytes,
            ours.said.to_string()
        )?;
        let Some(theirs) = theirs else { return write!(f, " {:>9}", "–") };
        let ratio = self.ratio().map_or("–".to_owned(), |ratio| ratio.to_string());
        write!(f, " {:>9} {:<18} {ratio:>8}", milliseconds(theirs.seconds), theirs.said.to_string())
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.at_least { ">" } else { "" };
        let places = if self.value < 10.0 { 2 } else { 0 };
        write!(f, "{sign}{:.places$}", self.value)
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Said::Minimum(cost) => write!(f, "DF {cost} proved"),
            Said::Gap { cost, bound, .. } => write!(f, "DF {cost}, at least {bound}"),
            Said::Core(1) => f.write_str("1 member"),
            Said::Core(members) => write!(f, "{members} members"),
            Said::LargerCore { members, .. } => write!(f, "at most {members}"),
            Said::Schedule => f.write_str("found"),
            Said::None => f.write_str("none"),
            Said::GaveUp(_) => f.write_str("gave up"),
            Said::Wrong(_) => f.write_str("WRONG"),
        }
    }
}
