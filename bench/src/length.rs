//! `cargo xtask bench length`: what an explanation costs by the length of the run.
//!
//! `bench/length/update.c` loses an update at the end of 1,000 to 1,000,000 events of four threads, which take a lock all
//! the time or update a number without one. The whole of `unravel explain` counts, compilation and all its processes
//! included, but not repairs, which are given a time and take it. It has to say that an update is lost, from line to
//! line; the benchmark fails where it says something else, or takes more processor time or memory than it may.
//!
//! Memory is that of the largest process so far; lengths grow, so it is that of the row, or of a shorter one.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::measure::{largest_child, processor_time};
use crate::scale::Scale;
use xtask::error::Error;
use xtask::workspace::{self, Profile};

const SOURCE: &str = include_str!("../length/update.c");

/// A kind of rounds, and how many events one of them has.
struct Noise {
    name: &'static str,
    flag: &'static str,
    events: u64,
}

const NOISE: [Noise; 2] = [
    Noise { name: "locked", flag: "-DLOCKED", events: 4 },
    Noise { name: "unlocked", flag: "-DUNLOCKED", events: 2 },
];

/// Events of a run, and how many processor seconds its explanation may take.
const LENGTHS: [(u64, f64); 4] = [(1_000, 2.0), (10_000, 4.0), (100_000, 12.0), (1_000_000, 60.0)];
const MEGABYTES: u64 = 2_000;

pub fn run(scale: Scale) -> Result<bool, Error> {
    let tool = workspace::build_tool(Profile::Release)?;
    let lines = lines_of_the_update();
    let lengths = scale.choose(&LENGTHS[..], &LENGTHS[..1]);
    let (mut good, mut all, mut most) = (0, 0, 0.0_f64);
    println!(
        "{:10} {:>9}  {:24} {:>9} {:>6} {:>9}",
        "noise", "events", "said", "CPU", "most", "memory"
    );
    for &(events, seconds) in lengths {
        for noise in &NOISE {
            let rounds = events / 4 / noise.events;
            let explained = explain(&tool, noise, rounds)?;
            let in_time = scale == Scale::Smoke || explained.seconds <= seconds;
            let right = explained.said == Some(("lost-update".into(), lines));
            all += 1;
            good += u32::from(right && in_time && explained.megabytes <= MEGABYTES);
            most = most.max(explained.seconds);
            let said = match &explained.said {
                Some((pattern, (from, to))) => format!("{pattern}, {from} to {to}"),
                None => "nothing".to_owned(),
            };
            println!(
                "{:10} {events:>9}  {said:24} {:>7.1} s {seconds:>4.0} s {:>6} MB",
                noise.name, explained.seconds, explained.megabytes
            );
        }
    }
    println!(
        "length: {good} of {all} explained as the lost update within their bounds, at most {most:.1} s"
    );
    Ok(good == all)
}

/// What is read and what is written by the update.
fn lines_of_the_update() -> (u64, u64) {
    let line = |text: &str| {
        let index = SOURCE.lines().position(|line| line.contains(text));
        index.map_or(0, |index| index as u64 + 1)
    };
    (line("int seen = hits;"), line("hits = seen + 1;"))
}

struct Explained {
    /// The pattern, and the lines that should be one step.
    said: Option<(String, (u64, u64))>,
    seconds: f64,
    megabytes: u64,
}

fn explain(tool: &Path, noise: &Noise, rounds: u64) -> Result<Explained, Error> {
    let folder =
        tempfile::tempdir().map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
    let source = folder.path().join("update.c");
    std::fs::write(&source, SOURCE).map_err(|error| Error::File { path: source, source: error })?;
    let mut command = Command::new(tool);
    command
        .args(["explain", "update.c", "--json", "--repair-time", "0s", "--cflag", noise.flag])
        .args(["--", &rounds.to_string()])
        .current_dir(folder.path())
        // Compiling is part of it.
        .env("UNRAVEL_CACHE", "off")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let (seconds, output) = processor_time(|| {
        command.output().map_err(|source| Error::Start { program: "unravel".into(), source })
    })?;
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|problem| {
        Error::Answer { command: "unravel explain".into(), problem: problem.to_string() }
    })?;
    Ok(Explained { said: said(&report), seconds, megabytes: largest_child() / 1024 })
}

/// What the first bug is said to be.
fn said(report: &Value) -> Option<(String, (u64, u64))> {
    let cause = &report["bugs"][0]["diagnosis"]["root_cause"];
    let kept = &cause["evidence"]["kept"][0];
    let line = |end: &str| kept[end]["line"].as_u64();
    Some((cause["pattern"].as_str()?.to_owned(), (line("from")?, line("to")?)))
}
