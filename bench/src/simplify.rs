//! `cargo xtask bench simplify`: how much simpler failing runs get, and at what cost, beside Tinertia's tables.
//!
//! Of each bug of the corpus failing traces are made by random search, one a seed, and simplified by the tool as users have it.
//! All figures are means over the traces of a bug. *Local* is what Tinertia's operations reach, *after* what the exact search
//! makes of it; the distance is between the two, where the latter is proved.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::measure::{stay_on_one_core, time};
use xtask::corpus;
use xtask::error::Error;
use xtask::workspace::{self, Profile};

/// What the paper reports of a program of that name: switches before and after, preemptive after; iterations, executions,
/// seconds.
pub struct Paper {
    pub program: &'static str,
    pub before: f64,
    pub after: f64,
    pub preemptive: f64,
    pub iterations: f64,
    pub executions: u64,
    pub seconds: f64,
}

const fn row(
    program: &'static str,
    before: f64,
    after: f64,
    preemptive: f64,
    (iterations, executions, seconds): (f64, u64, f64),
) -> Paper {
    Paper { program, before, after, preemptive, iterations, executions, seconds }
}

/// Tables 1 and 2.
const PAPER: [Paper; 11] = [
    row("bbuf", 168.4, 21.5, 1.8, (2.7, 298, 19.4)),
    row("blackscholes", 20.6, 14.0, 0.0, (2.0, 54, 9.6)),
    row("bzip2smp", 60.3, 4.7, 2.9, (2.9, 64, 162.5)),
    row("canneal", 52.4, 24.0, 2.0, (2.2, 138, 29.9)),
    row("ctrace", 160.2, 9.1, 6.7, (2.1, 250, 21.4)),
    row("dedup", 56.2, 3.4, 3.2, (2.0, 49, 90.8)),
    row("pbzip2", 128.6, 3.8, 1.6, (2.5, 78, 41.1)),
    row("pfscan", 99.4, 3.3, 2.5, (2.7, 109, 12.2)),
    row("streamcluster", 1284.2, 627.0, 0.0, (2.7, 2586, 769.3)),
    row("swarm", 613.4, 107.1, 2.0, (2.5, 1300, 1651.2)),
    row("x264", 148.5, 18.2, 2.2, (2.1, 187, 1107.9)),
];

/// What `unravel simplify --json` answers, as far as it is looked at.
#[derive(Debug, Deserialize)]
pub struct Answer {
    pub before: Size,
    local: Switches,
    pub after: Size,
    optimality: String,
    pub at_least: u64,
    pub evaluated: u64,
    pub executed: u64,
    proof_executions: u64,
    pub iterations: u64,
    pub removed: Removed,
}

#[derive(Debug, Deserialize)]
pub struct Size {
    pub events: u64,
    pub switches: Switches,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Switches {
    pub preemptive: u64,
    forced: u64,
}

/// Switches that each operation took away.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Removed {
    coarse: u64,
    pub remove_last: u64,
    pub consolidate_up: u64,
    pub consolidate_down: u64,
    stay: u64,
    defer: u64,
    exact: u64,
}

impl Removed {
    /// By operations that are not Tinertia's.
    pub fn of_ours(self) -> u64 {
        self.coarse + self.stay + self.defer + self.exact
    }
}

/// The row of a program.
pub fn paper(program: &str) -> Option<&'static Paper> {
    PAPER.iter().find(|paper| paper.program == program)
}

impl Switches {
    pub fn all(self) -> u64 {
        self.preemptive + self.forced
    }
}

impl Answer {
    /// The number of switches is the least there is.
    pub fn is_proved(&self) -> bool {
        self.at_least == self.after.switches.all()
    }

    fn is_wholly_proved(&self) -> bool {
        self.optimality == "proved minimal"
    }

    /// Switches that Tinertia's operations left too many.
    fn distance(&self) -> u64 {
        self.local.all() - self.after.switches.all()
    }

    /// Preemptions that they left too many, where the number of switches is the same.
    fn preemptions_too_many(&self) -> u64 {
        self.local.preemptive.saturating_sub(self.after.switches.preemptive)
    }
}

pub fn run(filter: Option<&str>, traces: u64) -> Result<(), Error> {
    let tool = workspace::build_tool(Profile::Release)?;
    let scratch =
        tempfile::tempdir().map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
    stay_on_one_core()?;
    println!(
        "{:<34} {:>6} {:>8} {:>7} {:>7} {:>6} {:>6} {:>9} {:>8} {:>8} {:>8} {:>7} {:>5} {:>5}",
        "program",
        "traces",
        "before",
        "local",
        "after",
        "pre.",
        "pre.",
        "evaluated",
        "executed",
        "proof",
        "ms",
        "proved",
        "dist.",
        "pre.+"
    );
    println!("{:<34} {:>6} {:>8} {:>7} {:>7} {:>6} {:>6}", "", "", "", "", "", "local", "after");
    let mut all: Vec<Answer> = Vec::new();
    for path in corpus::cases(filter)? {
        let name = corpus::name(&path);
        let found: Vec<PathBuf> = (1..=traces)
            .filter_map(|seed| corpus::find_with_seed(&tool, &path, scratch.path(), &[], seed).ok())
            .collect();
        if found.is_empty() {
            println!("{name}: random search finds no failing trace");
            continue;
        }
        let mut answers = Vec::new();
        let mut milliseconds = 0.0;
        for trace in &found {
            let (seconds, answer) = time(|| simplify(&tool, trace))?;
            milliseconds += seconds * 1e3;
            answers.push(answer);
        }
        print_row(&name, &answers, milliseconds / found.len() as f64);
        all.append(&mut answers);
    }
    let proved = all.iter().filter(|a| a.is_proved()).count();
    let near = all.iter().filter(|a| a.is_proved() && a.distance() <= 1).count();
    let logarithms: f64 = all.iter().map(|a| (a.executed.max(1) as f64).ln()).sum();
    println!(
        "\nsimplify: {near} of {} traces within 1 switch of the proved optimum, {proved} proved, \
         geometric mean {:.1} executions",
        all.len(),
        (logarithms / all.len().max(1) as f64).exp(),
    );
    Ok(())
}

pub fn simplify(tool: &Path, trace: &Path) -> Result<Answer, Error> {
    let mut command = Command::new(tool);
    command.arg("simplify").arg(trace).arg("--json").stdin(Stdio::null()).stderr(Stdio::null());
    let said = command
        .output()
        .map_err(|source| Error::Start { program: tool.display().to_string(), source })?;
    serde_json::from_slice(&said.stdout).map_err(|error| Error::File {
        path: trace.to_owned(),
        source: std::io::Error::other(error.to_string()),
    })
}

fn print_row(name: &str, answers: &[Answer], milliseconds: f64) {
    let mean = |figure: fn(&Answer) -> u64| {
        answers.iter().map(|a| figure(a) as f64).sum::<f64>() / answers.len() as f64
    };
    let proved: Vec<&Answer> = answers.iter().filter(|a| a.is_proved()).collect();
    let wholly = answers.iter().filter(|a| a.is_wholly_proved()).count();
    let most = |figure: fn(&Answer) -> u64| {
        proved.iter().map(|a| figure(a)).max().map_or("–".to_owned(), |most| most.to_string())
    };
    println!(
        "{name:<34} {:>6} {:>8.1} {:>7.1} {:>7.1} {:>6.1} {:>6.1} {:>9.0} {:>8.1} {:>8.0} {:>8.0} {:>7} {:>5} {:>5}",
        answers.len(),
        mean(|a| a.before.switches.all()),
        mean(|a| a.local.all()),
        mean(|a| a.after.switches.all()),
        mean(|a| a.local.preemptive),
        mean(|a| a.after.switches.preemptive),
        mean(|a| a.evaluated),
        mean(|a| a.executed),
        mean(|a| a.proof_executions),
        milliseconds,
        format!("{}/{wholly}", proved.len()),
        most(Answer::distance),
        most(Answer::preemptions_too_many),
    );
    let program = name.rsplit('/').next().unwrap_or_default();
    if let Some(paper) = paper(program) {
        let Paper { before, after, preemptive, executions, .. } = paper;
        println!(
            "{:<34} {:>6} {before:>8.1} {after:>7.1} {:>7} {preemptive:>6.1} {:>6} {:>9} {executions:>8}",
            "  the paper:", "", "", "", ""
        );
    }
}
