//! `cargo xtask bench diagnose`: how large diagnoses are and how long they take, beside the papers' figures.
//!
//! Programs of the corpus are searched as the corpus tests do, then diagnosed by the tool as users have it, which says
//! what its stages took (`--timings`). Rows of EVALUATION.md are diagnosed with every goal, others with the default
//! one. A goal's time is that of its alternate alone; *whole* is the command with all it does, building included
//! (from the cache).

mod growth;
pub mod measured;
mod paper;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::measure::{milliseconds, stay_on_one_core};
use crate::scale::Scale;
use measured::{Alternate, Measured, diagnose};
use xtask::corpus;
use xtask::error::Error;
use xtask::workspace::{self, Profile, demand};

/// The first is the default.
const GOALS: [&str; 6] = ["local", "pair", "maxsmt", "lexico", "progressive", "progressive-lexico"];
/// For each query of a solver.
const GOAL_TIME: [&str; 2] = ["--time", "20s"];

pub fn run(filter: Option<&str>, imported: &[PathBuf], scale: Scale) -> Result<(), Error> {
    let tool = workspace::build_tool(Profile::Release)?;
    let scratch =
        tempfile::tempdir().map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
    stay_on_one_core()?;
    let bench = Bench { tool, scratch: scratch.path().to_owned() };
    let mut count = Count::default();

    heading();
    let mut others = Vec::new();
    for path in corpus::cases(filter)? {
        let name = corpus::name(&path);
        let program = name.rsplit('/').next().unwrap_or_default().to_owned();
        let trace = match bench.find(&path, &name) {
            Ok(trace) => trace,
            Err(problem) => {
                println!("{name}: {problem}");
                count.programs += 1;
                continue;
            }
        };
        if paper::of(&program).next().is_some() {
            bench.row(&program, &trace, &mut count)?;
        } else {
            others.push((program, trace));
        }
    }
    for directory in imported {
        let trace = bench.import(directory)?;
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        bench.row(&format!("{name} (imported)"), &trace, &mut count)?;
    }
    println!("\nthe other programs, by the default goal");
    others_heading();
    for (program, trace) in &others {
        bench.short_row(program, trace, &mut count)?;
    }
    let longest = growth::print(&bench.tool, &bench.scratch, scale)?;
    println!(
        "\ndiagnose: {} of {} confirmed, slowest {} {:.2} s; {} of {} imported modelled; \
         longest generated {longest:.1} s",
        count.confirmed,
        count.programs,
        count.slowest.0,
        count.slowest.1,
        count.modelled,
        imported.len(),
    );
    Ok(())
}

/// What the headline says.
#[derive(Default)]
struct Count {
    confirmed: u64,
    programs: u64,
    /// Imported traces: nothing can be executed.
    modelled: u64,
    slowest: (String, f64),
}

impl Count {
    fn add(&mut self, program: &str, measured: &Measured) {
        match measured.diagnosis.status.kind.as_str() {
            "modelled" => self.modelled += 1,
            kind => {
                self.programs += 1;
                self.confirmed += u64::from(kind == "confirmed");
            }
        }
        if measured.wall > self.slowest.1 {
            self.slowest = (program.to_owned(), measured.wall);
        }
    }
}

struct Bench {
    tool: PathBuf,
    scratch: PathBuf,
}

impl Bench {
    /// A failing trace of a corpus case.
    fn find(&self, case: &Path, name: &str) -> Result<PathBuf, String> {
        let scratch = self.scratch.join(name.replace('/', "-"));
        std::fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
        corpus::find(&self.tool, case, &scratch)
    }

    fn import(&self, directory: &Path) -> Result<PathBuf, Error> {
        let name = directory.file_name().unwrap_or_default();
        let trace = self.scratch.join(name).with_extension("imported");
        let mut command = Command::new(&self.tool);
        command.args(["import", "symbiosis"]).arg(directory).arg("-o").arg(&trace);
        demand(command.stdout(Stdio::null()))?;
        Ok(trace)
    }

    /// A program with every goal.
    fn row(&self, program: &str, trace: &Path, count: &mut Count) -> Result<(), Error> {
        let first = diagnose(&self.tool, trace, &[])?;
        count.add(program, &first);
        let mut cells = vec![cell(&first, GOALS[0])];
        for goal in &GOALS[1..] {
            let flags = ["--goal", goal, GOAL_TIME[0], GOAL_TIME[1]];
            cells.push(match diagnose(&self.tool, trace, &flags) {
                Ok(measured) => cell(&measured, goal),
                Err(_) => "gave up".to_owned(),
            });
        }
        print!("{program:<20} {}", facts(&first));
        for cell in &cells {
            print!(" {cell:>20}");
        }
        println!();
        for row in paper::of(program) {
            println!(
                "{:<20} {:>7}  Symbiosis or Cortex: {}; best MaxSMT: {}",
                "  the papers:", row.events, row.symbiosis, row.maxsmt
            );
        }
        Ok(())
    }

    fn short_row(&self, program: &str, trace: &Path, count: &mut Count) -> Result<(), Error> {
        let measured = diagnose(&self.tool, trace, &[])?;
        count.add(program, &measured);
        println!("{program:<20} {} {:>20}", facts(&measured), cell(&measured, GOALS[0]));
        Ok(())
    }
}

fn heading() {
    println!(
        "alternates: time of the search in ms and OP/DF/BS/CTX; * DF proved minimal, ~ on another path,"
    );
    println!("– if no schedule that the goal can reach passes");
    others_heading_part();
    for goal in GOALS {
        print!(" {goal:>20}");
    }
    println!();
}

fn others_heading() {
    others_heading_part();
    println!(" {:>20}", GOALS[0]);
}

fn others_heading_part() {
    print!(
        "{:<20} {:>7} {:>5} {:>11} {:>6} {:>8} {:>9} {:>11}",
        "program", "events", "cond.", "evaluate µs", "cause", "cause ms", "whole ms", "status"
    );
}

/// The columns that do not depend on the goal.
fn facts(measured: &Measured) -> String {
    let (diagnosis, timings) = (&measured.diagnosis, &measured.timings);
    format!(
        "{:>7} {:>5} {:>11} {:>6} {:>8} {:>9} {:>11}",
        diagnosis.failing.events,
        timings.conditions,
        timings.evaluate.map_or("–".into(), |seconds| format!("{:.1}", seconds * 1e6)),
        diagnosis.root_cause.as_ref().map_or("none".into(), |c| c.orders.len().to_string()),
        milliseconds(timings.cause),
        milliseconds(measured.wall),
        diagnosis.status.kind,
    )
}

/// Time and size of the alternate that a goal found.
fn cell(measured: &Measured, goal: &str) -> String {
    let time = milliseconds(measured.timings.alternate);
    match measured.diagnosis.alternates.first() {
        Some(alternate) if alternate.found_by == goal => format!("{time} {}", size(alternate)),
        // What is shown then was found otherwise.
        _ => format!("{time} –"),
    }
}

/// OP/DF/BS/CTX.
pub fn size(alternate: &Alternate) -> String {
    let distance = &alternate.distance;
    format!(
        "{}/{}/{}/{}{}{}",
        distance.operations,
        distance.data_flow,
        distance.broken_segments,
        distance.context_switches,
        if alternate.minimality.proved { "*" } else { "" },
        if alternate.same_path { "" } else { "~" },
    )
}
