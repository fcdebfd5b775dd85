//! `cargo xtask bench record`: what recording costs, how much it writes, how fast it is decoded.
//!
//! Programs of our own (`bench/record`), CPU-bound, recursive, interpreter-like, compressing and lock-heavy, each compiled by clang with `-O2` and
//! by `unravel cc` with `-O2`. Ratios are of CPU time (user and system) to the plain program, medians of turns in which all variants
//! run one after the other on one core. A copy of the plain program runs as a control: what it differs by is the noise.
//!
//! Beside it stand the papers' figures of what profiling cost them; they are of other programs on other machines.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::measure::{median, spend, stay_on_one_core};
use crate::scale::Scale;
use xtask::error::Error;
use xtask::workspace::{self, Profile, demand};

/// Name, rounds for about a second, whether it is lock-heavy.
const PROGRAMS: [(&str, &str, bool); 13] = [
    ("sieve", "330", false),
    ("matmul", "2000", false),
    ("quicksort", "110", false),
    ("calls", "7000", false),
    ("interpreter", "100000", false),
    ("compress", "180", false),
    ("hash", "600", false),
    ("search", "220", false),
    ("parse", "1000", false),
    ("tree", "140", false),
    ("bank", "1200", true),
    ("queue", "220", true),
    ("store", "1100", true),
];

/// What a program is run as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Variant {
    Plain,
    Control,
    /// The flight recorder with sync records and restart points.
    Flight,
    /// Without sync records.
    Paths,
    Whole,
}

const VARIANTS: [Variant; 5] =
    [Variant::Plain, Variant::Control, Variant::Flight, Variant::Paths, Variant::Whole];

/// Profiling by the papers, in per cent of the run time.
const PAPERS: &str = "Symbiosis, table I: 1.3 to 34 %; Cortex: below 22 %";

struct Bench {
    tool: PathBuf,
    scratch: PathBuf,
}

/// What was measured of one program.
struct Row {
    name: &'static str,
    locks: bool,
    /// By variant, in the order of [`VARIANTS`]: CPU seconds.
    seconds: Vec<f64>,
    /// Of the whole log.
    bytes: f64,
    branches: f64,
    decode: f64,
}

impl Row {
    fn ratio(&self, variant: Variant) -> f64 {
        let at = VARIANTS.iter().position(|v| *v == variant).expect("all are measured");
        self.seconds[at] / self.seconds[0]
    }
}

pub fn run(scale: Scale) -> Result<(), Error> {
    let tool = workspace::build_tool(Profile::Release)?;
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let scratch =
        tempfile::tempdir_in(&folder).map_err(|source| Error::File { path: folder, source })?;
    stay_on_one_core()?;
    let bench = Bench { tool, scratch: scratch.path().to_owned() };
    let (turns, programs) = scale.choose((7, &PROGRAMS[..]), (1, &PROGRAMS[10..11]));
    println!(
        "{:12} {:>9} {:>8} {:>8} {:>8} {:>8} {:>10} {:>10} {:>12}",
        "program",
        "plain",
        "control",
        "flight",
        "paths",
        "whole",
        "log MB/s",
        "bits/br.",
        "decode M/s"
    );
    let mut rows = Vec::new();
    for &(name, rounds, locks) in programs {
        let row = bench.program(name, scale.choose(rounds, "2"), locks, turns)?;
        println!(
            "{:12} {:>7.3} s {:>8.3} {:>8.3} {:>8.3} {:>8.3} {:>10.1} {:>10.2} {:>12.1}",
            row.name,
            row.seconds[0],
            row.ratio(Variant::Control),
            row.ratio(Variant::Flight),
            row.ratio(Variant::Paths),
            row.ratio(Variant::Whole),
            row.bytes / 1e6 / row.seconds[0],
            row.bytes * 8.0 / row.branches.max(1.0),
            row.branches / 1e6 / row.decode.max(1e-9),
        );
        rows.push(row);
    }
    let mean = |variant: Variant| {
        let logs: f64 = rows.iter().map(|row| row.ratio(variant).ln()).sum();
        (logs / rows.len() as f64).exp()
    };
    let worst = |variant: Variant, locks: bool| {
        let of = rows.iter().filter(|row| row.locks || !locks).map(|row| row.ratio(variant));
        of.fold(0.0, f64::max)
    };
    println!("papers: {PAPERS}");
    println!(
        "record: flight {:.3} in the mean, lock-heavy at most {:.3}, worst {:.3}; paths alone {:.3}, worst {:.3}; whole {:.3}; control {:.3}",
        mean(Variant::Flight),
        worst(Variant::Flight, true),
        worst(Variant::Flight, false),
        mean(Variant::Paths),
        worst(Variant::Paths, false),
        mean(Variant::Whole),
        mean(Variant::Control),
    );
    Ok(())
}

impl Bench {
    fn program(
        &self,
        name: &'static str,
        rounds: &str,
        locks: bool,
        turns: usize,
    ) -> Result<Row, Error> {
        let source = workspace::root().join("bench/record").join(name).with_extension("c");
        let (plain, control, recorded) =
            (self.file(name), self.file("control"), self.file("recorded"));
        let compile = |command: &mut Command, to: &Path| {
            command.args(["-O2", "-w"]).arg(&source).arg("-o").arg(to).args(["-pthread", "-lm"]);
            demand(command)
        };
        compile(&mut Command::new("clang-19"), &plain)?;
        std::fs::copy(&plain, &control)
            .map_err(|source| Error::File { path: control.clone(), source })?;
        compile(Command::new(&self.tool).arg("cc"), &recorded)?;
        let mut seconds = vec![Vec::new(); VARIANTS.len()];
        for _ in 0..turns {
            for (variant, times) in VARIANTS.into_iter().zip(&mut seconds) {
                let program = match variant {
                    Variant::Plain => &plain,
                    Variant::Control => &control,
                    _ => &recorded,
                };
                times.push(self.once(program, variant, rounds)?);
            }
        }
        // The last variant's log is there still.
        let log = self.file("log");
        let stats = self.stats(&log)?;
        let figure = |key: &str| stats[key].as_f64().unwrap_or(f64::NAN);
        Ok(Row {
            name,
            locks,
            seconds: seconds.into_iter().map(median).collect(),
            bytes: figure("bytes"),
            branches: figure("branches"),
            decode: figure("decode_seconds"),
        })
    }

    /// What `unravel log stats` says.
    fn stats(&self, log: &Path) -> Result<serde_json::Value, Error> {
        let mut command = Command::new(&self.tool);
        command.args(["log", "stats", "--json"]).arg(log);
        let start = |source| Error::Start { program: "unravel log stats".to_owned(), source };
        let output = command.output().map_err(start)?;
        serde_json::from_slice(&output.stdout).map_err(|problem| Error::Answer {
            command: "unravel log stats".to_owned(),
            problem: problem.to_string(),
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// CPU seconds of one run.
    fn once(&self, program: &Path, variant: Variant, rounds: &str) -> Result<f64, Error> {
        let log = self.file("log");
        let _ = std::fs::remove_file(&log);
        let mut command = Command::new(program);
        command.arg(rounds).stdin(Stdio::null()).stdout(Stdio::null());
        match variant {
            Variant::Plain | Variant::Control => command.env_remove("UNRAVEL_LOG"),
            _ => command.env("UNRAVEL_LOG", &log),
        };
        match variant {
            Variant::Flight => command.env("UNRAVEL_FLIGHT", "4"),
            Variant::Paths => command.env("UNRAVEL_FLIGHT", "4").env("UNRAVEL_SYNC", "0"),
            _ => command.env_remove("UNRAVEL_FLIGHT"),
        };
        Ok(spend(&mut command)?.processor_seconds)
    }
}
