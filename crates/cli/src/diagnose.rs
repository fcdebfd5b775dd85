//! `unravel diagnose`: why a recorded run failed, and the nearest schedule that passes.

use std::time::{Duration, Instant};

use unravel_diagnose::{DiagnoseError, Options, Stage, Subject, diagnose_imported};
use unravel_explore::Silence;
use unravel_trace::{Diagnosis, Status, TraceFile};

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::DiagnoseFlags;
use crate::recorded::{self, Opened};

const TIME: Duration = Duration::from_secs(30);

pub fn diagnose(flags: &DiagnoseFlags) -> Result<Exit, CliError> {
    let file = TraceFile::read(&flags.trace)?;
    let options = Options {
        goal: flags.goal,
        alternates: flags.alternates.max(1),
        conflict_limit: flags.conflict_limit,
        samples: flags.samples,
        ..Options::default()
    };
    let began = Instant::now();
    let diagnosis = run(flags, &file, &options)?;
    eprintln!("{:?}", began.elapsed());
    if let Some(r) = &diagnosis.root_cause {
        println!("{}: {}\n  {}", r.pattern, r.sentence, r.advice);
        for o in &r.orders {
            println!(
                "   {} {} {} @{:?}  ->  {} {} {} @{:?}  [{}] witness {}",
                o.first.key.thread,
                o.first.verb,
                o.first.place.short(),
                o.first.event,
                o.second.key.thread,
                o.second.verb,
                o.second.place.short(),
                o.second.event,
                o.object,
                o.witness.is_some()
            );
        }
        println!("  kept and failed {}, proved {}", r.kept_and_failed, r.proved_on_path);
    }
    println!(
        "status {}; switches {} -> {}",
        diagnosis.status,
        diagnosis.switches_given,
        diagnosis.failing.schedule.context_switches()
    );
    for a in &diagnosis.alternates {
        println!(
            "  alternate {:?} same path {} {} proj {}+{} of {} events",
            a.distance,
            a.same_path,
            a.minimality,
            a.projection.failing.len(),
            a.projection.alternate.len(),
            diagnosis.failing.trace.events.len()
        );
    }
    println!("{:?} {:?}", diagnosis.effort, diagnosis.notes);
    Ok(match diagnosis.status {
        Status::Inconclusive { .. } => Exit::Inconclusive,
        _ => Exit::Finding,
    })
}

fn run(flags: &DiagnoseFlags, file: &TraceFile, options: &Options) -> Result<Diagnosis, CliError> {
    let mut solver = NoSolver;
    let mut progress = |_: Stage| {};
    if file.program.sources.is_empty() && file.program.built.is_none() {
        let diagnosis =
            diagnose_imported(&file.program.name, &file.run, &mut solver, options, &mut progress);
        return diagnosis.map_err(CliError::from);
    }
    if file.run.outcome.failure().is_none() {
        return Err(DiagnoseError::NoFailure.into());
    }
    let Opened { mut vm, .. } = recorded::open(file, &flags.program)?;
    let (_silence, judge) = Silence::begin(&file.rules).map_err(CliError::Stdin)?;
    let deadline = Instant::now() + flags.time.unwrap_or(TIME);
    let visible = file.run.schedule.visible.clone();
    let mut subject = Subject::new(&mut vm, judge, file.run.input(&file.input), visible)
        .until(Some(deadline), None);
    let name = &file.program.name;
    let diagnosis = unravel_diagnose::diagnose(
        &mut subject,
        name,
        &file.run,
        &mut solver,
        options,
        &mut progress,
    );
    diagnosis.map_err(CliError::from)
}

struct NoSolver;
impl unravel_solve::Solver for NoSolver {
    fn name(&self) -> String {
        "none".into()
    }
    fn find(
        &mut self,
        _: &unravel_solve::Query<'_>,
    ) -> unravel_solve::Answer<unravel_solve::Found> {
        unravel_solve::Answer::Unknown { reason: "no solver".into(), best: None }
    }
    fn core(&mut self, _: &unravel_solve::Query<'_>) -> unravel_solve::Answer<Vec<usize>> {
        unravel_solve::Answer::Unknown { reason: "no solver".into(), best: None }
    }
    fn nearest(
        &mut self,
        _: &unravel_solve::Query<'_>,
        _: unravel_solve::Goal,
    ) -> unravel_solve::Answer<unravel_solve::Nearest> {
        unravel_solve::Answer::Unknown { reason: "no solver".into(), best: None }
    }
}
