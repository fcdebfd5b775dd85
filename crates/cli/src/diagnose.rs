//! `unravel diagnose`: why a recorded run failed, and the nearest schedule that passes.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use unravel_certify::{Certifying, Ledger};
use unravel_database::Database;
use unravel_diagnose::{
    DiagnoseError, Options, diagnose_imported, diagnose_paths, diagnose_recorded,
};
use unravel_execute::{Laboratory, Silence, clock};
use unravel_files::TraceFile;
use unravel_rebuild::{ApartError, Expected};
use unravel_report::{Sources, dot, json, terminal};
use unravel_results::{Diagnosis, Status};
use unravel_solve::{Dumping, Heeding, Solver, SolverChoice};
use unravel_trace::Detail;

use crate::budgets::{DIAGNOSE_TIME, REBUILD_TIME};
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::DiagnoseFlags;
use crate::import::DATABASE;
use crate::interrupt::{self, INTERRUPTED};
use crate::progress::{self, Progress};
use crate::rebuilt::{self, Wanted};
use crate::recorded::{self, Opened};
use crate::style;
use crate::timings::Stopwatch;

pub fn diagnose(flags: &DiagnoseFlags) -> Result<Exit, CliError> {
    if rebuilt::is_log(&flags.trace) {
        return diagnose_log(flags);
    }
    diagnose_trace(flags, &flags.trace, Vec::new())
}

/// Rebuilds the run of a log, and diagnoses it.
fn diagnose_log(flags: &DiagnoseFlags) -> Result<Exit, CliError> {
    let wanted = Wanted {
        out: &flags.out,
        args: &flags.args,
        stdin: flags.stdin.as_deref(),
        libraries: &flags.library,
        stamps: !flags.no_stamps,
        time: flags.time.unwrap_or(REBUILD_TIME),
    };
    let log = rebuilt::read(&flags.trace)?;
    let mut opened = rebuilt::open(&flags.trace, &log, &wanted)?;
    if opened.task.expected == (Expected::Exit { code: 0 }) {
        return Err(CliError::PassedLog { path: flags.trace.clone() });
    }
    interrupt::listen();
    let mut progress = Progress::new(!flags.json);
    progress.show("rebuilding the recorded run");
    let found = opened.rebuild(&wanted);
    let mut found = match found {
        Ok(found) => found,
        Err(error @ ApartError::NotRebuilt(_)) => {
            drop(progress);
            return Ok(say_inconclusive(
                flags,
                &format!("the recorded run was not rebuilt: {error}"),
            ));
        }
        Err(source) => return Err(CliError::Rebuild { path: flags.trace.clone(), source }),
    };
    // Said of the run as it was rebuilt.
    let note = rebuilt::note(&found, &flags.trace);
    progress.show("removing context switches");
    let simplified = opened.simplify(&mut found, &wanted)?;
    drop(progress);
    let trace = opened.keep(&found, &flags.out)?;
    // A process has room for one machine.
    drop(opened);
    diagnose_trace(flags, &trace, vec![note, simplified])
}

fn diagnose_trace(
    flags: &DiagnoseFlags,
    trace: &Path,
    notes: Vec<String>,
) -> Result<Exit, CliError> {
    let file = TraceFile::read(trace)?;
    let paths = Paths::new(flags);
    let (mut solver, ledger) = solver(flags, &paths)?;
    let made = match &paths.smt {
        None => make(flags, &file, &mut *solver),
        Some(directory) => {
            let write = |source| CliError::Write { path: directory.clone(), source };
            let mut solver = Dumping::new(solver, directory).map_err(write)?;
            let made = make(flags, &file, &mut solver);
            let queries = solver.finish().map_err(write)?;
            let word = if queries == 1 { "query" } else { "queries" };
            warnln!("{queries} {word} written to {}", directory.display());
            made
        }
    };
    let mut diagnosis = match made {
        Err(CliError::Diagnose(error)) if gave_up(flags, &error) => {
            return Ok(say_inconclusive(flags, &error.to_string()));
        }
        made => made?,
    };
    diagnosis.notes.splice(0..0, notes);
    if flags.certify.is_some() {
        certify(&mut diagnosis, &ledger.borrow())?;
    }
    let sources = Sources::under(&file.program.cwd);
    if let Some(path) = &paths.dot {
        std::fs::write(path, dot::projection(&diagnosis, 0, &sources))
            .map_err(|source| CliError::Write { path: path.clone(), source })?;
    }
    if flags.json {
        sayln!("{}", json::diagnosis(&diagnosis));
    } else {
        let replay = file.is_executable().then(|| {
            format!("unravel replay {}", unravel_results::shell_word(&trace.to_string_lossy()))
        });
        say!("{}", terminal::diagnosis(&diagnosis, &sources, style::style(), replay.as_deref()));
    }
    Ok(match diagnosis.status {
        Status::Inconclusive { .. } => Exit::Inconclusive,
        Status::Confirmed | Status::Modelled => Exit::Finding,
    })
}

/// A solver, and what its checked proofs came to.
type Checked = (Box<dyn Solver>, Rc<RefCell<Ledger>>);

/// The solver that was chosen; Ctrl-C and the end of the time end its queries. If its proofs are checked, the ledger is
/// filled.
fn solver(flags: &DiagnoseFlags, paths: &Paths) -> Result<Checked, CliError> {
    let until = Instant::now() + flags.time.unwrap_or(DIAGNOSE_TIME);
    let mut ledger = Rc::default();
    let mut solver = flags.solver.make();
    if flags.certify.is_some() && flags.solver == SolverChoice::Orders {
        let directory = paths.certificates.as_deref();
        let (certifying, kept) = Certifying::new(directory).map_err(|source| CliError::Write {
            path: directory.unwrap_or(Path::new(".")).to_owned(),
            source,
        })?;
        (solver, ledger) = (Box::new(certifying), kept);
    }
    Ok((Box::new(Heeding::new(solver, &INTERRUPTED).until(Some(until))), ledger))
}

/// Says what came of the proofs; loudly, if one was refused.
fn certify(diagnosis: &mut Diagnosis, ledger: &Ledger) -> Result<(), CliError> {
    diagnosis.certified = Some(ledger.of(diagnosis));
    for why in &ledger.refused {
        warnln!("a certificate of the solver was REFUSED, its claim is withdrawn: {why}");
    }
    if let Some((path, kind)) = &ledger.problem {
        return Err(CliError::Write { path: path.clone(), source: (*kind).into() });
    }
    Ok(())
}

/// Whether that nothing was found says something of the method, not of the trace.
fn gave_up(flags: &DiagnoseFlags, error: &DiagnoseError) -> bool {
    flags.paths_only && matches!(error, DiagnoseError::NoFailingSchedule(_))
}

fn say_inconclusive(flags: &DiagnoseFlags, error: &str) -> Exit {
    if flags.json {
        let status = serde_json::json!({ "kind": "inconclusive", "reason": error });
        sayln!("{}", serde_json::json!({ "status": status }));
    } else {
        sayln!("inconclusive: {error}");
    }
    Exit::Inconclusive
}

/// Where things are written, whatever directory the program is run in.
struct Paths {
    smt: Option<PathBuf>,
    certificates: Option<PathBuf>,
    dot: Option<PathBuf>,
}

impl Paths {
    fn new(flags: &DiagnoseFlags) -> Paths {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Paths {
            smt: flags.dump_smt.as_deref().map(absolute),
            certificates: flags.certify.as_ref().and_then(|dir| dir.as_deref()).map(absolute),
            dot: flags.dot.as_deref().map(absolute),
        }
    }
}

/// All executions that were recorded with an imported trace. One that lies beside it and is of another folder is left alone.
fn database(flags: &DiagnoseFlags, file: &TraceFile) -> Result<Option<Database>, CliError> {
    if let Some(directory) = &flags.db {
        let database = Database::read(directory)?;
        if database.programs().fingerprint != file.program.fingerprint {
            let (db, trace) = (directory.clone(), flags.trace.clone());
            return Err(CliError::OtherFolder { db, trace });
        }
        return Ok(Some(database));
    }
    let beside = flags.trace.with_extension(DATABASE);
    if !beside.is_dir() {
        return Ok(None);
    }
    let database = Database::read(&beside)?;
    let is_its = database.programs().fingerprint == file.program.fingerprint;
    if !is_its {
        warnln!("note: {} is not of this trace's folder and was not used", beside.display());
    }
    Ok(is_its.then_some(database))
}

fn make(
    flags: &DiagnoseFlags,
    file: &TraceFile,
    solver: &mut dyn Solver,
) -> Result<Diagnosis, CliError> {
    let usual = Options::default();
    let options = Options {
        goal: flags.goal,
        alternates: flags.alternates.max(1),
        conflict_limit: flags.conflict_limit,
        samples: flags.samples,
        certify: flags.certify.is_some() && flags.solver == SolverChoice::Orders,
        goal_time: flags.time.unwrap_or(DIAGNOSE_TIME),
        segments_time: flags.time.map_or(usual.segments_time, |time| time / 2),
        ..usual
    };
    let name = &file.program.name;
    let mut watch = Stopwatch::start();
    if !file.is_executable() {
        let mut progress = Progress::new(true);
        let show = &mut |stage| {
            watch.begin(stage);
            progress.show(progress::stage(stage));
        };
        let diagnosis = match database(flags, file)? {
            Some(database) => {
                diagnose_recorded(name, &file.run, &database, solver, &options, show)?
            }
            None => diagnose_imported(name, &file.run, solver, &options, show)?,
        };
        drop(progress);
        if flags.timings {
            watch.stop();
            // What was put together of several executions is another trace.
            if let Some(symbolic) = &file.run.symbolic
                && diagnosis.failing.trace.events.len() == file.run.trace.events.len()
            {
                watch.evaluate(&file.run.trace, symbolic, &diagnosis.failing.schedule);
            }
            warnln!("{}", watch.report());
        }
        return Ok(diagnosis);
    }
    if file.run.outcome.failure().is_none() {
        return Err(DiagnoseError::NoFailure.into());
    }
    let Opened { mut vm, visible, recorded, .. } = recorded::open(file, &flags.program)?;
    interrupt::listen();
    let shown = !flags.json && std::io::stderr().is_terminal();
    let silence = Silence::begin().map_err(CliError::Stdin)?;
    let mut progress = Progress::on(if shown { silence.stderr().ok() } else { None });
    if flags.time.is_none() {
        clock::be_patient();
    }
    let deadline = clock::now() + flags.time.unwrap_or(DIAGNOSE_TIME);
    let mut lab = Laboratory::new(&mut vm, file.run.input(&file.input), visible)
        .until(Some(deadline), Some(&INTERRUPTED));
    let by = if flags.paths_only { diagnose_paths } else { unravel_diagnose::diagnose };
    let diagnosis = by(&mut lab, name, &recorded, solver, &options, &mut |stage| {
        watch.begin(stage);
        progress.show(progress::stage(stage));
    });
    if flags.timings
        && let Ok(diagnosis) = &diagnosis
    {
        watch.stop();
        watch.count(&diagnosis.effort);
        let failing = &diagnosis.failing.schedule;
        let run = lab.replay(failing, Detail::Symbolic);
        if let Some(symbolic) = &run.symbolic {
            watch.evaluate(&run.trace, symbolic, failing);
        }
    }
    drop(progress);
    drop(silence);
    let mut diagnosis = diagnosis?;
    if flags.timings {
        warnln!("{}", watch.report());
    }
    if INTERRUPTED.load(Ordering::Relaxed) {
        diagnosis.notes.push("interrupted: this is what was known by then".to_owned());
    } else if clock::now() >= deadline {
        diagnosis.notes.push("the time was up: more may be found with a larger --time".to_owned());
    }
    Ok(diagnosis)
}
