//! How time grows with the length of a trace: generated traces with one atomicity violation in the middle.
//!
//! They have no program, so that the diagnosis is modelled; their order is known.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use unravel_solve::generate::{Generated, large};
use unravel_trace::{
    Failure, FailureKind, Input, Outcome, Place, ProgramRef, Rules, Run, Schedule, Site,
    ThreadName, TraceFile, VisibleSet,
};

use super::measured::diagnose;
use super::{milliseconds, size};
use crate::error::Error;

const SIZES: [usize; 7] = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000];
const THREADS: usize = 4;
const SEED: u64 = 1;

/// Prints the table; the time of the longest trace in seconds.
pub fn print(tool: &Path, scratch: &Path) -> Result<f64, Error> {
    println!("\ngenerated traces, {THREADS} threads and the main one; times of stages in ms");
    println!(
        "{:>8} {:>10} {:>10} {:>12} {:>10} {:>10} {:>16} {:>10} {:>8} {:>10}",
        "events",
        "conditions",
        "model",
        "evaluate µs",
        "switches",
        "alternate",
        "OP/DF/BS/CTX",
        "cause",
        "orders",
        "whole"
    );
    let mut longest = 0.0;
    for events in SIZES {
        let path = write(&large(events, THREADS, SEED), scratch)?;
        let measured = diagnose(tool, &path, &[])?;
        let (diagnosis, timings) = (&measured.diagnosis, &measured.timings);
        println!(
            "{:>8} {:>10} {:>10} {:>12} {:>10} {:>10} {:>16} {:>10} {:>8} {:>10}",
            diagnosis.failing.events,
            timings.conditions,
            timings.model.map_or("–".into(), milliseconds),
            timings.evaluate.map_or("–".into(), |seconds| format!("{:.1}", seconds * 1e6)),
            milliseconds(timings.reducing),
            milliseconds(timings.alternate),
            diagnosis.alternates.first().map_or("none".into(), size),
            milliseconds(timings.cause),
            diagnosis.root_cause.as_ref().map_or("none".into(), |c| c.orders.len().to_string()),
            milliseconds(measured.wall),
        );
        longest = measured.wall;
    }
    Ok(longest)
}

fn write(generated: &Generated, scratch: &Path) -> Result<PathBuf, Error> {
    let mut trace = generated.trace.clone();
    // Every event has a site of its own; the reader wants all of them described.
    let (function, file): (Arc<str>, Arc<str>) = ("work".into(), "generated.c".into());
    trace.sites = (trace.events.iter().zip(1..))
        .map(|(event, line)| {
            let (function, file) = (function.clone(), file.clone());
            let place = Place { function, file, line, column: 1 };
            (event.site, Site { place, inlined_at: Vec::new() })
        })
        .collect();
    let failure = Failure {
        kind: FailureKind::Assertion,
        message: "an update was lost".into(),
        thread: ThreadName::main(),
        stack: Vec::new(),
        related: Vec::new(),
    };
    let file = TraceFile {
        program: ProgramRef { name: "generated".into(), ..ProgramRef::default() },
        input: Input::default(),
        rules: Rules::default(),
        strategy: "generated".into(),
        seed: Some(SEED),
        run: Run {
            trace,
            schedule: Schedule::default(),
            outcome: Outcome::Failed(Box::new(failure)),
            steps: 0,
            learned: VisibleSet::default(),
            nondet: Vec::new(),
            notes: Vec::new(),
            symbolic: Some(Box::new(generated.symbolic.clone())),
        },
    };
    let path = scratch.join("generated.trace");
    file.write(&path)
        .map_err(|error| Error::Trace { path: path.clone(), problem: error.to_string() })?;
    Ok(path)
}
