//! `cargo xtask bench classes`: how many classes of schedules exhaustive search has to execute, by shape and number of threads.
//!
//! Each shape (`bench/classes/`) is one idiom of synchronisation with N threads, N from 2 up. Beside what is counted stands
//! what there has to be at least if events are told apart as the best published algorithms do it: a failed
//! compare-exchange is a read, a wait has happened once it is over, threads meet at a barrier in no order. In `ttas` the
//! look that saw the lock free read what any of the releases before left, or the first value: who takes it as the k-th has k
//! ways to (GenMC's own tests have four for two threads, too). Of `writers` it is the number of reads-from classes, which
//! nobody here looks for.
//!
//! A row ends with the first N that is not complete within the limit. Times are of the whole process, start-up included.
//! The benchmark fails if a program that must pass does not, or if there are fewer classes than there must be: then some
//! were missed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde::Deserialize;

use crate::measure::stay_on_one_core;
use xtask::error::Error;
use xtask::workspace::{self, Profile, demand, line, name};

#[derive(Debug, Args)]
pub struct ClassesFlags {
    /// Only shapes whose name contains this.
    filter: Option<String>,
    /// Up to so many threads.
    #[arg(long, value_name = "N", default_value_t = 8)]
    threads: u64,
    /// Seconds for one search.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    limit: u64,
}

impl ClassesFlags {
    pub fn shrink(&mut self) {
        self.threads = 2;
    }
}

/// An idiom, and how many classes it has at least.
struct Shape {
    name: &'static str,
    source: &'static str,
    fewest: fn(u64) -> u64,
}

macro_rules! shape {
    ($name:literal, $fewest:expr) => {
        Shape {
            name: $name,
            source: include_str!(concat!("../classes/", $name, ".c")),
            fewest: $fewest,
        }
    };
}

const THREADS: &str = include_str!("../classes/threads.h");

const SHAPES: [Shape; 11] = [
    shape!("cas", |n| n),
    shape!("flags", |_| 1),
    shape!("spinlock", factorial),
    shape!("ttas", |n| factorial(n).pow(2)),
    shape!("ticket", factorial),
    shape!("barrier", |_| 1),
    shape!("assume", |_| 1),
    shape!("ends", |_| 1),
    shape!("detached", |_| 1),
    shape!("adds", |_| 1),
    shape!("writers", |n| n),
];

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

/// What is used of the answer to `unravel find --json`.
#[derive(Deserialize)]
struct Answer {
    findings: Vec<serde_json::Value>,
    systematic: Vec<Systematic>,
}

#[derive(Deserialize)]
struct Systematic {
    classes: u64,
    schedules: u64,
    complete: bool,
}

/// What a search came to.
struct Searched {
    classes: u64,
    starts: u64,
    is_complete: bool,
    fails: bool,
    /// Of the processor.
    seconds: f64,
}

pub fn run(flags: &ClassesFlags) -> Result<bool, Error> {
    let tool = workspace::build_tool(Profile::Release)?;
    let scratch =
        tempfile::tempdir().map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
    stay_on_one_core()?;
    let bench = Bench { tool, scratch: scratch.path().to_owned(), limit: flags.limit };
    let chosen =
        |shape: &&Shape| flags.filter.as_deref().is_none_or(|filter| shape.name.contains(filter));
    println!(
        "{:10} {:>2} {:>9} {:>10} {:>10} {:>7} {:>9}",
        "shape", "N", "at least", "classes", "starts", "each", "CPU"
    );
    let (mut rows, mut fewest, mut wrong) = (0, 0, 0);
    for shape in SHAPES.iter().filter(chosen) {
        for threads in 2..=flags.threads {
            let searched = bench.search(shape, threads)?;
            let least = (shape.fewest)(threads);
            let is_wrong = searched.fails || searched.is_complete && searched.classes < least;
            print_row(shape, threads, least, &searched);
            rows += 1;
            fewest += u64::from(searched.is_complete && searched.classes == least);
            wrong += u64::from(is_wrong);
            if !searched.is_complete {
                break;
            }
        }
    }
    println!(
        "classes: {fewest} of {rows} searches with no class more than needed, {wrong} wrong answers"
    );
    Ok(wrong == 0)
}

fn print_row(shape: &Shape, threads: u64, least: u64, searched: &Searched) {
    let Searched { classes, starts, is_complete, fails, seconds } = *searched;
    let more = if is_complete { "" } else { ">" };
    println!(
        "{:10} {threads:>2} {least:>9} {:>10} {starts:>10} {:>7.2} {seconds:>7.2} s{}",
        shape.name,
        format!("{more}{classes}"),
        starts as f64 / classes.max(1) as f64,
        if fails { "  FAILS" } else { "" }
    );
}

struct Bench {
    tool: PathBuf,
    scratch: PathBuf,
    limit: u64,
}

impl Bench {
    fn search(&self, shape: &Shape, threads: u64) -> Result<Searched, Error> {
        let source = self.scratch.join(format!("{}{threads}.c", shape.name));
        let text = format!("#define N {threads}\n{THREADS}{}", shape.source);
        std::fs::write(&source, text)
            .map_err(|error| Error::File { path: source.clone(), source: error })?;
        let built = self.build(&source)?;
        let mut command = Command::new(&self.tool);
        command.arg("find").arg(&built).arg("--out").arg(&self.scratch);
        command.args(["--strategy", "exhaustive", "--jobs", "1", "--json", "--time"]);
        command.arg(format!("{}s", self.limit)).stdin(Stdio::null());
        let before = processor_time();
        let output =
            command.output().map_err(|source| Error::Start { program: name(&command), source })?;
        let seconds = processor_time() - before;
        let answer: Answer = serde_json::from_slice(&output.stdout).map_err(|error| {
            Error::Answer { command: line(&command), problem: error.to_string() }
        })?;
        let Some(reached) = answer.systematic.first() else {
            let problem = "no systematic search was made".into();
            return Err(Error::Answer { command: line(&command), problem });
        };
        Ok(Searched {
            classes: reached.classes,
            starts: reached.schedules,
            is_complete: reached.complete,
            fails: !answer.findings.is_empty(),
            seconds,
        })
    }

    fn build(&self, source: &Path) -> Result<PathBuf, Error> {
        let built = source.with_extension("unravel");
        let mut command = Command::new(&self.tool);
        demand(command.arg("build").arg(source).arg("-o").arg(&built).stdout(Stdio::null()))?;
        Ok(built)
    }
}

/// Seconds of the processor that processes have taken which this one has started and waited for.
fn processor_time() -> f64 {
    // SAFETY: the structure is ours, and all zeroes are a value of it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
