//! How time grows with the length of a trace: generated traces with one atomicity violation in the middle.
//!
//! They have no program, so that the diagnosis is modelled; their order is known.

use std::path::Path;

use unravel_solve::generate::large;

use super::measured::diagnose;
use super::size;
use crate::generated;
use crate::measure::milliseconds;
use crate::scale::Scale;
use xtask::error::Error;

const SIZES: [usize; 7] = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000];
const THREADS: usize = 4;
const SEED: u64 = 1;

/// Prints the table; the time of the longest trace in seconds.
pub fn print(tool: &Path, scratch: &Path, scale: Scale) -> Result<f64, Error> {
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
    for &events in scale.choose(&SIZES[..], &SIZES[..1]) {
        let path = scratch.join("generated.trace");
        generated::write(large(events, THREADS, SEED), &path)?;
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
