//! From each thread's branches alone to a failing schedule, as Symbiosis does it: neither the order of the failing run
//! nor any value of it is used.
//!
//! The paths are rebuilt by a guided run ([`unravel_trace::Guide`]), whose symbolic side says what each thread did but not
//! when; a failing order is walked to at random or asked of the solver ([`crate::imported::failing_schedule`]), and
//! executed. If a thread cannot be led along its path, or no order fails, a value that was guessed is wrong: other
//! values that were written to the same place are tried, the attempts being a bounded search, depth first while
//! threads are stuck and breadth first once all paths are complete. Where none of this leads to a failing run, the program
//! is executed with its real values and steered along the same paths (`paths_steered.rs`).
//!
//! Orders may be known of the run, as its log of access vectors has them (CoopREP): then only schedules are found that keep them, and the
//! rest is filled in ([`failing_along`]).
//!
//! *Not modelled*: failures that only execution can tell: livelocks are for steering; wrong output and the user's checks are found by neither. What is shared
//! (the visible set) is taken from executions of the program, which a static analysis would have to say otherwise. Errs
//! on the side of finding nothing: a schedule is only reported if its execution showed the same failure.

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use unravel_execute::{Apart, Attended, Laboratory};
use unravel_results::{Diagnosis, Effort};
use unravel_solve::{Before, Model, Solver, StepId};
use unravel_trace::{
    Bug, BugId, Condition, ConditionKind, Detail, EngineError, FailureKind, Guess, Guided, Outcome,
    Paths, Rng, Run, Symbolic, Trace,
};

use crate::budgets::{
    AT_ONCE, LEADING_SHARE, MOST_ATTEMPTS, MOST_COMPLETE, RELAXED_EXECUTIONS, RELAXED_WALKS,
    SOLVER_TIME,
};
use crate::diagnose::{DiagnoseError, Options, Stage, diagnose, not_reproduced};
use crate::executable::Steps;
use crate::imported::{failing_schedule, reduce_fully, walk_at_random};
use crate::paths_steered::Steered;
use crate::settle::settle;
use crate::world::{Ending, ending};

/// Diagnoses a failing run of which only the paths are taken.
pub fn diagnose_paths(
    lab: &mut Laboratory<'_>,
    program: &str,
    recorded: &Run,
    solver: &mut dyn Solver,
    options: &Options,
    progress: &mut dyn FnMut(Stage),
) -> Result<Diagnosis, DiagnoseError> {
    let bug = recorded.outcome.failure().ok_or(DiagnoseError::NoFailure)?.id();
    progress(Stage::Replaying);
    let (paths, steered) = paths_of(lab, recorded, &bug)?;
    progress(Stage::SeekingFailing);
    let mut effort = Effort::default();
    let known: &mut Known<'_> = &mut |_| Vec::new();
    let found = match rebuild_apart(lab, &paths, &bug, (solver, known), options, &mut effort) {
        Err(DiagnoseError::NoFailingSchedule(why)) => match steered {
            Some(steered) => steered.seek(lab, &why)?,
            None => return Err(DiagnoseError::NoFailingSchedule(why)),
        },
        found => found?,
    };
    let mut diagnosis = diagnose(lab, program, &found.run, solver, options, progress)?;
    diagnosis.effort.evaluated += effort.evaluated;
    diagnosis.effort.queries += effort.queries;
    diagnosis.notes.insert(0, found.note);
    Ok(diagnosis)
}

/// Orders that are known of a run, over the events of a trace with its paths: pairs of positions, the first before the second.
pub type Known<'a> = dyn FnMut(&Trace) -> Vec<(u32, u32)> + 'a;

/// A run that fails as these paths do and keeps what is known of their order; the solver fills in the rest. Executed.
pub fn failing_along(
    lab: &mut Laboratory<'_>,
    paths: &Paths,
    known: &mut Known<'_>,
    solver: &mut dyn Solver,
    options: &Options,
) -> Result<Run, DiagnoseError> {
    let bug = paths.failure.id();
    let mut effort = Effort::default();
    let found = rebuild_apart(lab, paths, &bug, (solver, known), options, &mut effort)?;
    Ok(found.run)
}

/// Two replays, of which everything but the paths is forgotten: as guided runs need them, and as steered ones do.
fn paths_of(
    lab: &mut Laboratory<'_>,
    recorded: &Run,
    bug: &BugId,
) -> Result<(Paths, Option<Steered>), DiagnoseError> {
    let settled = settle(lab, &recorded.schedule, bug);
    let schedule = settled.as_ref().unwrap_or(&recorded.schedule);
    let run = lab.replay(schedule, Detail::Symbolic);
    if ending(&run.outcome, bug) != Ending::Failed {
        return Err(not_reproduced(lab, &run));
    }
    let paths = Paths::of(&run).ok_or(DiagnoseError::NotSymbolic)?;
    Ok((paths, Steered::along(lab, schedule, bug)?))
}

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Found { run: Box<Run>, note: String, effort: Effort },
    None { why: String, effort: Effort },
    Failed(String),
}

/// Threads are led in a process of their own: with guessed values native code may crash, and leave a process in disorder in which
/// nothing more could be executed.
fn rebuild_apart(
    lab: &mut Laboratory<'_>,
    paths: &Paths,
    bug: &BugId,
    (solver, known): (&mut dyn Solver, &mut Known<'_>),
    options: &Options,
    effort: &mut Effort,
) -> Result<Found, DiagnoseError> {
    let (input, visible) = (lab.input().clone(), lab.visible().clone());
    let mut limit = lab.limit();
    if let Some(left) = limit.left() {
        limit = limit.at_most(Instant::now() + left / LEADING_SHARE);
    }
    let work: std::io::Result<Apart<Message>> =
        Apart::start(lab.executor(), |executor, stop, send| {
            let mut lab =
                Laboratory::new(executor, input, visible).until(limit.deadline, Some(stop));
            let mut effort = Effort::default();
            send(&match rebuild(&mut lab, paths, bug, (solver, known), options, &mut effort) {
                Ok(Found { run, note }) => Message::Found { run: Box::new(run), note, effort },
                Err(DiagnoseError::NoFailingSchedule(why)) => Message::None { why, effort },
                Err(other) => Message::Failed(other.to_string()),
            });
        });
    let mut work = work.map_err(|error| EngineError::Failed(error.to_string()))?;
    let none = |why: &str| Err(DiagnoseError::NoFailingSchedule(why.to_owned()));
    match work.attend(limit, |message| message) {
        Attended::Done(Message::Found { run, note, effort: spent }) => {
            *effort = spent;
            Ok(Found { run: *run, note })
        }
        Attended::Done(Message::None { why, effort: spent }) => {
            *effort = spent;
            none(&why)
        }
        Attended::Done(Message::Failed(why)) => Err(EngineError::Failed(why).into()),
        Attended::Ended { signal } => {
            none(&format!("leading threads along their paths ended its process (signal {signal})"))
        }
        Attended::Late => none("leading threads along their paths took too long"),
    }
}

/// A failing run, and how it was found.
pub struct Found {
    pub run: Run,
    pub note: String,
}

/// What became of an attempt.
enum Attempt {
    Found {
        run: Box<Run>,
        by: &'static str,
    },
    /// A thread did not get along its path.
    Stuck(String),
    /// All did, but no order of their steps was found that fails, in the model or when executed.
    Complete(String),
    /// There is no use in trying on.
    Hopeless(String),
}

fn rebuild(
    lab: &mut Laboratory<'_>,
    paths: &Paths,
    bug: &BugId,
    (solver, known): (&mut dyn Solver, &mut Known<'_>),
    options: &Options,
    effort: &mut Effort,
) -> Result<Found, DiagnoseError> {
    if is_opaque(bug.kind) {
        return Err(DiagnoseError::NoFailingSchedule(format!(
            "only an execution can tell that it fails ({})",
            bug.kind
        )));
    }
    let mut options = Options { goal_time: options.goal_time.min(SOLVER_TIME), ..options.clone() };
    let mut todo: VecDeque<Vec<Guess>> = VecDeque::from([Vec::new()]);
    let mut seen: HashSet<Vec<Guess>> = HashSet::new();
    let (mut attempts, mut complete) = (0, 0);
    let mut reason: Option<String> = None;
    while let Some(guesses) = todo.pop_front() {
        if attempts >= MOST_ATTEMPTS || complete >= MOST_COMPLETE || !lab.may_go_on() {
            break;
        }
        attempts += 1;
        if let Some(left) = lab.limit().left() {
            options.goal_time = options.goal_time.min(left);
        }
        let guided = lab.guided(paths, &guesses)?;
        let more = guided.others.iter().map(|other| {
            let mut all = guesses.clone();
            all.push(other.clone());
            all.sort_by(|a, b| (&a.thread, a.index).cmp(&(&b.thread, b.index)));
            all
        });
        let more: Vec<Vec<Guess>> = more.filter(|all| seen.insert(all.clone())).collect();
        match attempt(lab, &guided, bug, (solver, known), &options, effort) {
            Attempt::Found { run, by } => {
                let note = format!(
                    "--paths-only: the failing schedule was found from {} branches of {} threads, without their \
                     order or any value: by {by}, in {attempts} attempt{}",
                    paths.branches(),
                    paths.threads.len(),
                    if attempts == 1 { "" } else { "s" },
                );
                return Ok(Found { run: *run, note });
            }
            Attempt::Stuck(why) => {
                let mut more = more;
                let later = more.split_off(more.len().min(AT_ONCE));
                more.into_iter().rev().for_each(|guesses| todo.push_front(guesses));
                todo.extend(later);
                // That no order fails says more than that a thread is stuck.
                if complete == 0 {
                    reason.get_or_insert(why);
                }
            }
            Attempt::Complete(why) => {
                todo.extend(more);
                if complete == 0 {
                    reason = Some(why);
                }
                complete += 1;
            }
            Attempt::Hopeless(why) => {
                return Err(DiagnoseError::NoFailingSchedule(why));
            }
        }
    }
    let why = reason.unwrap_or_else(|| "the time was up".to_owned());
    let attempts = format!("{attempts} attempt{}", if attempts == 1 { "" } else { "s" });
    Err(DiagnoseError::NoFailingSchedule(format!(
        "the paths alone do not lead to one in {attempts}: {why}"
    )))
}

/// Failures that no condition over what was read says.
fn is_opaque(kind: FailureKind) -> bool {
    use FailureKind::{Check, DataRace, Livelock, Output, StackOverflow};
    matches!(kind, Check | DataRace | Livelock | Output | StackOverflow)
}

fn attempt(
    lab: &mut Laboratory<'_>,
    guided: &Guided,
    bug: &BugId,
    (solver, known): (&mut dyn Solver, &mut Known<'_>),
    options: &Options,
    effort: &mut Effort,
) -> Attempt {
    if let Outcome::Inconclusive { reason, .. } = &guided.run.outcome {
        return Attempt::Stuck(reason.clone());
    }
    let Some(symbolic) = &guided.run.symbolic else {
        return Attempt::Hopeless("the run has no symbolic side".to_owned());
    };
    if symbolic.bug == Bug::Opaque {
        return Attempt::Hopeless("only an execution can tell that it fails".to_owned());
    }
    let trace = &guided.run.trace;
    let mut model = match Model::new(trace, symbolic) {
        Ok(model) => model,
        Err(error) => return Attempt::Complete(error.to_string()),
    };
    let keep: Vec<Before> = (known(trace).into_iter())
        .map(|(first, second)| (model.step_of_event(first), model.step_of_event(second)))
        .filter(|(first, second)| first != second)
        .map(|(first, second)| Before { first, second })
        .collect();
    let asked = effort.queries;
    let is_known = !keep.is_empty();
    let why = match failing_schedule(&mut model, solver, keep, options, effort) {
        Ok(order) => {
            let by = if effort.queries > asked { "the solver" } else { "a random walk" };
            let executable = Executable { model: &model, trace, symbolic, guided, is_known };
            match executable.execute(lab, order, bug, effort) {
                Ok(run) => return Attempt::Found { run, by },
                Err(refused) => format!(
                    "an order of the steps fails in the model, but not when it is executed ({refused})"
                ),
            }
        }
        Err(DiagnoseError::NoFailingSchedule(why)) => why,
        Err(other) => other.to_string(),
    };
    // Those keep to nothing that is known.
    let relaxed = if is_known { None } else { relaxed(lab, guided, symbolic, bug, effort) };
    match relaxed {
        Some(run) => {
            Attempt::Found { run, by: "a random walk that let addresses go their own way" }
        }
        None => Attempt::Complete(why),
    }
}

/// Orders that fail if guessed addresses and arguments are no conditions: which element of a buffer is written often
/// does not matter to the failure. The model is wrong about what is read from there, so most of them are refused.
fn relaxed(
    lab: &mut Laboratory<'_>,
    guided: &Guided,
    symbolic: &Symbolic,
    bug: &BugId,
    effort: &mut Effort,
) -> Option<Box<Run>> {
    let guesses = |c: &Condition| matches!(c.why, ConditionKind::Address | ConditionKind::Fixed);
    if !symbolic.conditions.iter().any(guesses) {
        return None;
    }
    let mut relaxed = symbolic.clone();
    relaxed.conditions.retain(|condition| !guesses(condition));
    let trace = &guided.run.trace;
    let model = Model::new(trace, &relaxed).ok()?;
    let is_known = false;
    let executable = Executable { model: &model, trace, symbolic: &relaxed, guided, is_known };
    let mut executions = 0;
    for walk in 0..RELAXED_WALKS {
        if !lab.may_go_on() {
            return None;
        }
        effort.evaluated += 1;
        let Some(order) = walk_at_random(&model, Rng::new(Rng::derive(5, walk)), &[]) else {
            continue;
        };
        if let Ok(run) = executable.execute(lab, order, bug, effort) {
            return Some(run);
        }
        executions += 1;
        if executions >= RELAXED_EXECUTIONS || !lab.may_go_on() {
            break;
        }
    }
    None
}

/// An order of steps as decisions of a schedule.
struct Executable<'a> {
    model: &'a Model,
    trace: &'a Trace,
    symbolic: &'a Symbolic,
    guided: &'a Guided,
    /// Something is known of the order: it is executed as it is.
    is_known: bool,
}

impl Executable<'_> {
    /// Executes an order, with as few context switches as fail in the model, then as it is. How it ended if not with
    /// this bug.
    fn execute(
        &self,
        lab: &mut Laboratory<'_>,
        order: Vec<StepId>,
        bug: &BugId,
        effort: &mut Effort,
    ) -> Result<Box<Run>, String> {
        let mut orders = vec![order.clone()];
        if !self.is_known {
            let (reduced, evaluated) = reduce_fully(self.model, order);
            effort.evaluated += evaluated;
            orders.insert(0, reduced);
        }
        let mut refused = String::new();
        for order in orders {
            let steps = Steps {
                model: self.model,
                trace: self.trace,
                symbolic: self.symbolic,
                unscheduled: &self.guided.unscheduled,
            };
            let schedule = steps.schedule(&order, lab.visible());
            let run = lab.replay(&schedule, Detail::Outcome);
            if ending(&run.outcome, bug) == Ending::Failed {
                return Ok(Box::new(run));
            }
            refused = run.outcome.to_string();
        }
        Err(refused)
    }
}
