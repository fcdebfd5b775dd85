//! Room `simplify`: the same failure with as few context switches as possible, so that a person can follow it.
//!
//! A failure that needs less of its environment is simpler than one with fewer switches, so [`deviations`] come first. Then, in
//! stages, a file each: [`coarse`] merges the turns of long runs window by window, [`tinertia`] merges and removes turns one
//! by one, mostly by evaluation ([`foresight`]), [`exact`] searches all schedules with fewer switches and so finds a better
//! one or proves that there is none. Everything that is claimed was executed.
//!
//! `course.rs` is a failing run as turns, `tolerant.rs` executes other turns as far as the program fits them, `trial.rs` is where that
//! happens, `recording.rs` notes what came of it, `switches.rs` counts. `exact/walk.rs` is one execution of the exact search.
//!
//! What is minimal is minimal for this program, this input and this visible set: a thread is interrupted only before the
//! events of the recorded run's visible set. Memory is sequentially consistent.

mod budgets;
mod coarse;
mod course;
mod deviations;
mod exact;
mod foresight;
mod recording;
mod switches;
mod tinertia;
mod tolerant;
mod trial;

use crate::budgets::{EXECUTIONS, LONG, PROOF_EXECUTIONS, PROOF_WORK, ROUNDS};
use std::time::Instant;

use unravel_execute::Laboratory;
use unravel_trace::{BlindSpot, Detail, EngineError, Executor, Input, Outcome, Run, VisibleSet};

pub use budgets::budgets;
pub use switches::Switches;

use trial::Trial;

/// How much may be done.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Executions of the simplification.
    pub executions: u64,
    /// Executions of the proof; 0 for none.
    pub proof_executions: u64,
    /// Instructions that the proof may execute.
    pub proof_steps: u64,
    /// When to stop, whatever is done by then.
    pub until: Option<Instant>,
    /// Only the last so many events are simplified; what comes before stays as it is (§5.4 of the Tinertia paper).
    pub suffix: Option<u64>,
}

impl Default for Budget {
    fn default() -> Self {
        Budget {
            executions: EXECUTIONS,
            proof_executions: PROOF_EXECUTIONS,
            proof_steps: PROOF_WORK,
            until: None,
            suffix: None,
        }
    }
}

/// What is being done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    Replaying,
    /// Doing without what an ordinary environment hardly ever does.
    Deviations,
    /// Merging the turns of whole windows.
    Coarse,
    /// Merging and removing turns.
    Tinertia,
    /// Looking for fewer switches, or for the proof that there are none.
    Proving,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub stage: Stage,
    /// Context switches of the best run so far.
    pub switches: usize,
    pub counts: Counts,
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Candidates that were evaluated on the symbolic trace.
    pub evaluated: u64,
    /// Executions of the simplification.
    pub executed: u64,
    /// Executions of the proof.
    pub proof_executions: u64,
    /// Rounds through all of Tinertia's operations.
    pub iterations: u64,
    pub removed: Removed,
}

/// Context switches that each operation took away.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Removed {
    /// Windows of a long run.
    pub coarse: usize,
    /// Tinertia's three. What happens after the failure is decided counts as the last.
    pub remove_last: usize,
    pub consolidate_up: usize,
    pub consolidate_down: usize,
    /// Ours, which are meant for preemptions.
    pub stay: usize,
    pub defer: usize,
    /// The exact search.
    pub exact: usize,
}

/// How good the result is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Optimality {
    /// No schedule fails so with fewer switches, nor with as many and fewer preemptions.
    ProvedMinimal,
    /// No schedule fails so with fewer switches; whether fewer of them can be preemptions is not known.
    FewestSwitches { why: Unproved },
    /// No operation improves it. `at_least`: so many switches are needed in any case.
    LocalOptimum { at_least: usize, why: Unproved },
}

/// Why not more is proved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unproved {
    NotAsked,
    /// All but the end of the run was to stay as it is.
    Suffix,
    /// What spins is pruned, so a livelock would not show.
    Livelock,
    Unseen(BlindSpot),
    /// The failure needs an environment that deviates, and where it could do so instead was not tried.
    Deviations,
    /// Cancellation acts on a thread without touching what its events touch.
    Cancellation,
    /// A schedule could not be followed to its end, for this reason.
    Inconclusive {
        reason: String,
    },
    /// The program called a function whose effects cannot be undone.
    Damaged,
    Stopped,
    /// So many schedules were executed, and there are more.
    NotEnough {
        schedules: u64,
    },
    /// The best schedule has other switches, or does not fail so, when it is replayed without pruning.
    CountsOtherwise,
    FailsOtherwise,
}

/// A failing run, made simple.
#[derive(Clone, Debug)]
pub struct Simplified {
    /// With events, and symbolic if the run it was made from was.
    pub run: Run,
    /// By context switch of `run`: it was forced.
    pub forced: Vec<bool>,
    pub before: Switches,
    /// After Tinertia, before the exact search.
    pub local: Switches,
    pub after: Switches,
    pub optimality: Optimality,
    pub counts: Counts,
    /// It ended before it was through: the time was up, or somebody wanted it to.
    pub stopped: bool,
}

/// Why nothing could be simplified.
#[derive(Debug, thiserror::Error)]
pub enum SimplifyError {
    #[error("the run did not fail: there is nothing to simplify")]
    NoFailure,
    #[error("the recorded run does not fail any more: {0}")]
    FailsNoMore(Box<Outcome>),
    #[error(transparent)]
    Engine(EngineError),
}

/// Simplifies a failing run. `input` is that of the run. `watch` is told what is done and ends it by answering false; what was reached by then is the result.
pub fn simplify(
    executor: &mut dyn Executor,
    input: &Input,
    run: &Run,
    budget: &Budget,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Simplified, SimplifyError> {
    let bug = run.outcome.failure().ok_or(SimplifyError::NoFailure)?.id();
    let visible = run.schedule.visible.clone();
    let mut trial = Trial {
        lab: Laboratory::new(executor, run.input(input), visible).until(budget.until, None),
        bug,
        deviations: run.deviated.len(),
        counts: Counts::default(),
        stage: Stage::Replaying,
        switches: run.schedule.context_switches(),
        watch,
        left: budget.executions,
        fixed: 0,
        learned: VisibleSet::default(),
        stopped: false,
    };
    let schedule = trial.widen(&run.schedule);
    let (replayed, course) = trial.replay(&schedule, Detail::Outcome);
    let Some(mut course) = course else { return Err(no_more(&trial, replayed)) };
    let before = course.switches();
    if budget.suffix.is_none() {
        trial.stage = Stage::Deviations;
        course = deviations::fewer(&mut trial, course);
    }
    if let Some(suffix) = budget.suffix {
        trial.fixed = course.turns_within(course.events().saturating_sub(suffix));
    }
    if before.all() > LONG.0 || course.events() > LONG.1 {
        trial.stage = Stage::Coarse;
        course = coarse::coarse(&mut trial, course);
        trial.counts.removed.coarse = before.all().saturating_sub(course.switches().all());
    }
    let mut rounds = ROUNDS;
    let (local, schedule, optimality) = loop {
        trial.stage = Stage::Tinertia;
        course = tinertia::tinertia(&mut trial, course);
        let local = course.switches();
        trial.stage = Stage::Proving;
        let (improved, optimality) = exact::prove(&mut trial, local, budget);
        let course_so_far = improved.unwrap_or(course);
        trial.counts.removed.exact += local.all().saturating_sub(course_so_far.switches().all());
        let schedule = course_so_far.schedule(trial.lab.visible());
        // Other schedules share more than the recorded one: with that visible, once more.
        rounds -= 1;
        let wider = match rounds {
            0 => None,
            _ => trial.with_learned(&schedule),
        };
        match wider.and_then(|wider| trial.replay(&wider, Detail::Outcome).1) {
            Some(wider) => course = wider,
            None => break (local, schedule, optimality),
        }
    };
    // The result is shown only as it was executed, once more.
    let (shown, again) = trial.replay(&schedule, run.detail().max(Detail::Events));
    let Some(course) = again else { return Err(no_more(&trial, shown)) };
    let after = course.switches();
    let mut forced = course.forced;
    forced.truncate(after.all());
    let (counts, stopped) = (trial.counts, trial.stopped);
    Ok(Simplified { run: shown, forced, before, local, after, optimality, counts, stopped })
}

/// Why a run did not fail that should have.
fn no_more(trial: &Trial<'_>, run: Run) -> SimplifyError {
    match trial.lab.problem() {
        Some(problem) => SimplifyError::Engine(problem.clone()),
        None => SimplifyError::FailsNoMore(Box::new(run.outcome)),
    }
}
