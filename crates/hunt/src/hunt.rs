//! The way from a program to failures that it never showed.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use unravel_database::{Database, DatabaseError};
use unravel_execute::{Apart, Attended, Laboratory, Limit};
use unravel_files::ProgramRef;
use unravel_results::{
    Attempt, Exposed, Hunt, HuntBounds, HuntEffort, HuntEnd, HuntGap, HuntStop, RunsSeen,
};
use unravel_solve::{Heeding, Solver, SolverChoice};
use unravel_trace::{
    EngineError, Executor, FreeInput, Input, Nondet, Rules, Run, Schedule, VisibleSet,
};

use crate::budgets::{DEPTH, EPOCHS, FLIPS, RUNS, TELLING_SHARE, TICK, TIME, TRACES};
use crate::collect::Wanted;
use crate::execute::Stage;
use crate::search::{Caught, Limits, Search};
use crate::tell::{approach, by_itself, diagnose_caught, tell};

/// What to hunt for.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    pub program: &'a ProgramRef,
    pub input: &'a Input,
    pub rules: &'a Rules,
    /// Where runs are kept, and known ones found; `None` for this hunt alone.
    pub database: Option<&'a Path>,
    pub options: Options,
    /// Runs that passed somewhere else, and were rebuilt. If there are any, the hunt starts from them, and lets no others pass.
    pub recorded: &'a [Recorded],
    /// The command that asks for this.
    pub command: String,
}

/// A run that passed somewhere else.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub schedule: Schedule,
    pub input: Input,
    /// Where it comes from.
    pub from: String,
}

/// How far to look.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Runs that have to pass before the hunt begins.
    pub runs: u64,
    pub seed: u64,
    pub bounds: HuntBounds,
    pub time: Duration,
    /// Go on after the first failure.
    pub all: bool,
    /// Which inputs are open.
    pub free: FreeInput,
    /// Diagnose what was found.
    pub diagnose: bool,
    /// Search at all, or only let runs pass and keep them.
    pub search: bool,
    pub solver: SolverChoice,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            runs: RUNS,
            seed: 0,
            bounds: HuntBounds { depth: DEPTH, traces: TRACES, flips: FLIPS },
            time: TIME,
            all: false,
            free: FreeInput::Nondet,
            diagnose: true,
            search: true,
            solver: SolverChoice::default(),
        }
    }
}

/// A hunt, with a failing run for each failure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bag {
    pub hunt: Hunt,
    pub runs: Vec<Quarry>,
}

/// A failing run and the input it needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Quarry {
    pub run: Run,
    pub input: Input,
}

/// What is going on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Progress {
    Running(RunsSeen),
    Searching { effort: HuntEffort, what: String },
    Diagnosing,
}

#[derive(Debug, thiserror::Error)]
pub enum HuntError {
    #[error("no process can be started: {0}")]
    Fork(#[source] std::io::Error),
    #[error("{0}")]
    Work(String),
    #[error("the program killed the process that ran it (signal {signal})")]
    Killed { signal: i32 },
}

/// Why a hunt in this process came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum HereError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Progress(Progress),
    Failed(String),
    /// What there is to say if nothing more comes.
    SoFar(Box<Bag>),
    Ends(Box<Bag>),
}

/// Hunts in a process of its own: whatever the program does to it, we are still there.
pub fn hunt(
    executor: &mut dyn Executor,
    request: &Task<'_>,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Bag, HuntError> {
    let started = Instant::now();
    let mut work: Apart<Message> = Apart::start(executor, |executor, stop, send| {
        match here(executor, request, stop, &mut |told| {
            send(&match told {
                Told::Progress(progress) => Message::Progress(progress),
                Told::SoFar(bag) => Message::SoFar(bag),
            });
        }) {
            Ok(bag) => send(&Message::Ends(Box::new(bag))),
            Err(error) => send(&Message::Failed(error.to_string())),
        }
    })
    .map_err(HuntError::Fork)?;
    let limit = Limit::new(Some(started + request.options.time), Some(interrupted));
    let mut so_far = None;
    let attended = work.attend(limit, |message| {
        match message? {
            Message::Progress(now) => progress(now),
            Message::SoFar(bag) => so_far = Some(*bag),
            Message::Ends(bag) => return Some(Ok(*bag)),
            Message::Failed(reason) => return Some(Err(HuntError::Work(reason))),
        }
        None
    });
    match (attended, so_far) {
        (Attended::Done(result), _) => result,
        (_, Some(known)) => Ok(known),
        (Attended::Ended { signal }, None) => Err(HuntError::Killed { signal }),
        (Attended::Late, None) => {
            let why = out_of_time(interrupted, 0);
            Ok(Bag { hunt: empty(request, why, started.elapsed()), runs: Vec::new() })
        }
    }
}

/// A hunt that came to nothing.
fn empty(request: &Task<'_>, end: HuntEnd, time: Duration) -> Hunt {
    Hunt {
        program: request.program.name.clone(),
        command: request.command.clone(),
        runs: RunsSeen::default(),
        bounds: request.options.bounds,
        effort: HuntEffort::default(),
        exposed: Vec::new(),
        end,
        journal: Vec::new(),
        notes: Vec::new(),
        time,
    }
}

/// What is told on the way.
#[derive(Debug)]
pub enum Told {
    Progress(Progress),
    SoFar(Box<Bag>),
}

/// The same in this process. What the program prints goes where this process's output goes.
pub fn here(
    executor: &mut dyn Executor,
    request: &Task<'_>,
    interrupted: &AtomicBool,
    told: &mut dyn FnMut(Told),
) -> Result<Bag, HereError> {
    let begun = Instant::now();
    let options = &request.options;
    let end = begun + options.time;
    // What is caught has to be told, too.
    let deadline = end - options.time / TELLING_SHARE;
    let mut progress = |now| told(Told::Progress(now));
    let mut solver = Heeding::new(options.solver.make(), interrupted).until(Some(end));
    let searched = search(executor, request, &mut solver, deadline, interrupted, &mut progress)?;
    let Searched { mut stage, database, seen, end: hunted, effort, mut caught, journal } = searched;
    database.finish()?;
    let mut hunt = Hunt { runs: seen, effort, journal, ..empty(request, hunted, Duration::ZERO) };
    let mut runs = Vec::new();
    let mut exposed: Vec<Exposed> = Vec::new();
    if caught.is_empty() || options.all {
        for performed in by_itself(&mut stage) {
            exposed.push(performed.exposed);
            runs.push(performed.quarry);
        }
    }
    let by_itself = exposed.len();
    for caught in &mut caught {
        approach(&mut stage, caught);
        let (told, quarry) = tell(&mut stage, caught);
        exposed.push(told);
        runs.push(quarry);
    }
    // Whatever becomes of the diagnoses, this is known.
    hunt.exposed = exposed;
    hunt.effort.executions = stage.lab.runs();
    hunt.time = begun.elapsed();
    let known = Bag { hunt, runs };
    told(Told::SoFar(Box::new(known.clone())));
    let Bag { mut hunt, runs } = known;
    for (caught, exposed) in caught.iter().zip(&mut hunt.exposed[by_itself..]) {
        if !options.diagnose {
            break;
        }
        told(Told::Progress(Progress::Diagnosing));
        let limit = Limit::new(Some(end), Some(interrupted));
        match diagnose_caught(&mut stage, &mut solver, request, &caught.performed, limit) {
            Ok(diagnosis) => exposed.diagnosis = Some(Box::new(diagnosis)),
            Err(why) => exposed.undiagnosed = Some(why),
        }
    }
    if let Some(problem) = stage.lab.problem() {
        return Err(problem.clone().into());
    }
    hunt.effort.executions = stage.lab.runs();
    hunt.time = begun.elapsed();
    Ok(Bag { hunt, runs })
}

/// What a search came to.
pub struct Searched<'a> {
    pub stage: Stage<'a>,
    /// All runs that passed.
    pub database: Database,
    pub seen: RunsSeen,
    pub end: HuntEnd,
    pub effort: HuntEffort,
    pub caught: Vec<Caught>,
    pub journal: Vec<Attempt>,
}

/// Lets runs pass, then searches; both again where more turns out to be shared than was known.
pub fn search<'a>(
    executor: &'a mut dyn Executor,
    request: &Task<'_>,
    solver: &mut dyn Solver,
    deadline: Instant,
    interrupted: &'a AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Searched<'a>, HereError> {
    let begun = Instant::now();
    let options = &request.options;
    let mut database = match request.database {
        Some(path) => Database::open(path, request.program)?,
        None => Database::in_memory(request.program.clone()),
    };
    // Values that the user gave are not to be changed.
    let given = matches!(request.input.nondet, Nondet::List(_));
    let free =
        if given && options.free == FreeInput::Nondet { FreeInput::None } else { options.free };
    let mut stage = Stage {
        lab: Laboratory::new(executor, request.input.clone(), VisibleSet::default())
            .until(Some(deadline), Some(interrupted)),
        free,
        learned: VisibleSet::default(),
        failed: Vec::new(),
    };
    let mut known = visible(&mut stage, &database, begun + options.time / 4);
    for recorded in request.recorded {
        known.merge(&recorded.schedule.visible);
    }
    stage.lab.see(known);
    let wanted =
        Wanted { runs: options.runs, seed: options.seed, vary_input: free != FreeInput::None };
    let limits = Limits {
        bounds: options.bounds,
        deadline,
        interrupted,
        all: options.all,
        exit_code: request.rules.fail_on_exit,
    };
    let (mut effort, mut caught, mut journal) = (HuntEffort::default(), Vec::new(), Vec::new());
    // Not all of the time goes into runs.
    let collecting = if options.search { begun + options.time / 2 } else { deadline };
    let mut epoch = 1;
    let mut last = Instant::now();
    let (seen, hunted) = loop {
        let known_before = usable(&database, stage.lab.visible());
        let mut go_on = |seen: &RunsSeen| {
            if last.elapsed() > TICK {
                last = Instant::now();
                progress(Progress::Running(*seen));
            }
            !interrupted.load(Ordering::Relaxed) && Instant::now() < collecting
        };
        let mut seen = match request.recorded {
            [] => stage.collect(&mut database, wanted, &mut go_on)?,
            recorded => stage.collect_recorded(&mut database, recorded, &mut go_on)?,
        };
        database.flush()?;
        seen.distinct = usable(&database, stage.lab.visible());
        seen.known_before = known_before;
        let mut hunted = out_of_time(interrupted, 0);
        if options.search && (stage.learned.is_empty() || epoch == EPOCHS) {
            let mut tell = |effort: &HuntEffort, what: &'static str| {
                if last.elapsed() > TICK {
                    last = Instant::now();
                    let now = Progress::Searching { effort: effort.clone(), what: what.to_owned() };
                    progress(now);
                }
            };
            let widens = epoch < EPOCHS;
            let mut search = Search::new(stage, &mut database, solver, limits, widens, &mut tell);
            (search.effort, search.caught, search.journal) = (effort, caught, journal);
            if free == FreeInput::All {
                search.gap(HuntGap::OnlyNumbers);
            }
            hunted = search.run()?;
            Search { stage, effort, caught, journal, .. } = search;
        }
        let found = !caught.is_empty() && !options.all;
        if stage.learned.is_empty() || epoch == EPOCHS || found || Instant::now() >= deadline {
            break (seen, hunted);
        }
        // More is shared than was known: everything begins anew, with that visible.
        epoch += 1;
        effort.renewals += 1;
        let learned = std::mem::take(&mut stage.learned);
        let mut wider = stage.lab.visible().clone();
        wider.merge(&learned);
        let wider = stage.lab.executor().sites().kin(&wider);
        stage.lab.see(wider);
    };
    let hunted = match hunted {
        HuntEnd::Exhausted if seen.distinct == 0 => {
            HuntEnd::Incomplete { why: vec![HuntGap::NothingPassed] }
        }
        hunted => hunted,
    };
    Ok(Searched { stage, database, seen, end: hunted, effort, caught, journal })
}

/// The end of a hunt that had to stop, with so many flips left.
pub fn out_of_time(interrupted: &AtomicBool, left: u64) -> HuntEnd {
    let why = match interrupted.load(Ordering::Relaxed) {
        true => HuntStop::Interrupted,
        false => HuntStop::Time,
    };
    HuntEnd::Stopped { why, left }
}

/// What is shared: as the database has it, if that is enough.
fn visible(stage: &mut Stage<'_>, database: &Database, until: Instant) -> VisibleSet {
    let learned = stage.learn(until);
    let known = database.runs().iter().map(|run| &run.schedule.visible);
    let enough = known.filter(|known| learned.without(known).is_empty());
    enough.min_by_key(|known| known.iter().count()).cloned().unwrap_or(learned)
}

/// Runs that were recorded with this visible set.
fn usable(database: &Database, visible: &VisibleSet) -> u64 {
    database.runs().iter().filter(|run| run.schedule.visible.is_same(visible)).count() as u64
}
