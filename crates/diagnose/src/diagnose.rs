//! The way from a failing run to its diagnosis.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use unravel_execute::{Laboratory, Limit};
use unravel_results::{
    Alternate, Diagnosis, Effort, FlowsRecorded, Minimality, Observed, Pattern, RootCause, Status,
};
use unravel_solve::{Bounds, Model, Solver};
use unravel_trace::{
    BugId, Capability, Detail, EngineError, FailureKind, Outcome, Run, Schedule, Trace,
};

use crate::alternate::{Nearby, Reference, Wanted, nearest, rank};
use crate::budgets::{
    ALTERNATE_WORK, CAUSE_WORK, EVALUATION_BUDGET, GOAL_TIME, LONG_PATH, LONG_RUN, MOST_TRIED,
    PROOF_TIME, SAMPLES, SEGMENTS_TIME, SHIELD_WORK,
};
use crate::calls::Calls;
use crate::confirm::confirm;
use crate::execution::Execution;
use crate::failing::{Failing, reduce_switches, usable_model};
use crate::flows;
use crate::goals::Goal;
use crate::localised::{Localised, localise};
use crate::minimal::{self, LowerBound};
use crate::modelled::Modelled;
use crate::on_path::{OnPath, Path, distinct};
use crate::projection::{Side, operations, project};
use crate::race;
use crate::refute::{NoRefuter, PathRefuter};
use crate::relevance::Relevance;
use crate::root_cause::{Cause, root_cause};
use crate::settle::settle;
use crate::shields::{self, Verdict};
use crate::tell::tell;
use crate::world::{Ending, Mode, Tried, World, ending};

/// What to look for and how hard.
#[derive(Clone, Debug)]
pub struct Options {
    pub goal: Goal,
    /// How many alternates to report.
    pub alternates: usize,
    pub conflict_limit: Option<u64>,
    /// For each query of the solver that makes a goal's alternate.
    pub goal_time: Duration,
    /// For the question which alternate breaks the fewest segments, of the default goal and of `lexico` alike. Zero: it is not asked.
    pub segments_time: Duration,
    /// For each proof nobody asked for.
    pub proof_time: Duration,
    /// Schedules tried at random against the root cause.
    pub samples: u64,
    /// The solver keeps proofs: it is asked to prove what is known without it, too.
    pub certify: bool,
    /// What a search has learned before.
    pub searched: Searched,
}

/// What a search knows about schedules of the same program.
#[derive(Clone, Debug, Default)]
pub struct Searched {
    /// Schedules that passed with the same input.
    pub passing: Vec<Schedule>,
    /// How many passed, with whatever input, of how many.
    pub passed: u64,
    pub of: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            goal: Goal::default(),
            alternates: 1,
            conflict_limit: None,
            goal_time: GOAL_TIME,
            segments_time: SEGMENTS_TIME,
            proof_time: PROOF_TIME,
            samples: SAMPLES,
            certify: false,
            searched: Searched::default(),
        }
    }
}

/// What is being done, for progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Stage {
    Replaying,
    /// From the paths alone: which order of them fails.
    SeekingFailing,
    Reducing,
    SeekingAlternate,
    SeekingCause,
}

/// There is nothing to diagnose.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DiagnoseError {
    #[error("the recorded run did not fail: there is nothing to diagnose")]
    NoFailure,
    #[error("the recorded failure does not show again: {0}")]
    NotReproduced(String),
    #[error("the trace has no symbolic part and cannot be executed")]
    NotSymbolic,
    #[error("there is no model of this run: {0}")]
    NoModel(String),
    #[error("no failing schedule was found in the trace: {0}")]
    NoFailingSchedule(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Why a failure did not show again.
pub(crate) fn not_reproduced(lab: &Laboratory<'_>, run: &Run) -> DiagnoseError {
    match lab.problem() {
        Some(problem) => DiagnoseError::Engine(problem.clone()),
        None => DiagnoseError::NotReproduced(run.outcome.to_string()),
    }
}

/// The failing run once more, with its symbolic trace, and what threads share settled.
fn reproduced(lab: &mut Laboratory<'_>, recorded: &Run, bug: &BugId) -> Result<Run, DiagnoseError> {
    let settled = settle(lab, &recorded.schedule, bug);
    let run =
        lab.replay(settled.as_ref().unwrap_or(&recorded.schedule), lab.at_most(Detail::Symbolic));
    match ending(&run.outcome, bug) {
        Ending::Failed => Ok(run),
        _ => Err(not_reproduced(lab, &run)),
    }
}

/// The model that a diagnosis of this run asks its solver about, for whoever checks certificates.
pub fn model_of(lab: &mut Laboratory<'_>, recorded: &Run) -> Result<Model, DiagnoseError> {
    let bug = recorded_id(recorded).ok_or(DiagnoseError::NoFailure)?;
    let mut failing = Failing::new(reproduced(lab, recorded, &bug)?).expect("it failed");
    reduce_switches(lab, &mut failing, &mut Effort::default());
    let mut notes = Vec::new();
    usable_model(&failing, &mut notes).ok_or_else(|| DiagnoseError::NoModel(notes.join("; ")))
}

/// Diagnoses a failing run by executing its program again.
pub fn diagnose(
    lab: &mut Laboratory<'_>,
    program: &str,
    recorded: &Run,
    solver: &mut dyn Solver,
    options: &Options,
    progress: &mut dyn FnMut(Stage),
) -> Result<Diagnosis, DiagnoseError> {
    let Outcome::Failed(recorded_failure) = &recorded.outcome else {
        return Err(DiagnoseError::NoFailure);
    };
    let mut effort = Effort { solver: Some(solver.name()), ..Effort::default() };
    let mut notes = Vec::new();
    progress(Stage::Replaying);
    let bug = recorded_failure.id();
    if recorded.schedule.events() > LONG_RUN
        && options.goal == Goal::Local
        && let Some(diagnosis) = diagnose_long(lab, program, recorded, effort.clone())
    {
        return Ok(diagnosis);
    }
    let run = reproduced(lab, recorded, &bug)?;
    if !lab.can(Capability::Symbolic) {
        let what = EngineError::Cannot(Capability::Symbolic);
        notes.push(format!("{what}: what it says was tried, and nothing is proved"));
    }
    let switches_given = run.schedule.context_switches();
    // It was recorded with one visible set and replayed with a better one, which may be the smaller.
    effort.flows_given = flows::count(&recorded.trace).max(flows::count(&run.trace));
    let has_timers = run.notes.contains(&unravel_trace::Note::TimerMoments);
    let mut failing = Failing::new(run).expect("it failed");
    progress(Stage::Reducing);
    reduce_switches(lab, &mut failing, &mut effort);
    failing.calls = Calls::new(lab, &failing);

    if failing.failure.kind == FailureKind::DataRace
        && let Some(diagnosis) = diagnose_race(lab, program, &failing, switches_given, &effort)
    {
        return Ok(diagnosis);
    }
    progress(Stage::SeekingAlternate);
    let model = match has_timers {
        true => {
            notes.push("when a timer fires is not modelled: everything was executed".to_owned());
            None
        }
        false => usable_model(&failing, &mut notes),
    };
    let mut reference = Reference::new(failing.observed.clone(), failing.symbolic.as_deref());
    let mut bound = Bound::default();
    let mut on_path = OnPath::default();
    if let Some(model) = &model {
        bound.anywhere = minimal::lower_bound(model, &failing.observed.trace);
        let mut path = Path { failing: &failing, model, solver, options };
        on_path = path.alternates(lab, &mut reference, &mut effort, &mut notes);
        bound.on_path = on_path.bound;
        effort.flows_recorded = on_path
            .recorded
            .map(|differ| FlowsRecorded { differ, proved: differ <= bound.on_path.0 });
    }
    let OnPath { mut candidates, is_nearest, .. } = on_path;
    let relevance = model.as_ref().map_or_else(Relevance::default, |model| {
        Relevance::new(model, &model.observed().unwrap_or_default())
    });
    let told_relevance = relevance.clone();
    let mut world = Execution::new(lab, &failing.observed, failing.steps(), relevance);
    if candidates.is_empty() || options.goal == Goal::Local && !is_nearest {
        // The model ends where the failing run ended, and knows no other path.
        world.lab().allow(ALTERNATE_WORK);
        let count = options.alternates.max(1);
        let wanted = Wanted { count, keep: count, flows: bound.anywhere.0, doubles: false };
        candidates.extend(nearest(&mut world, &mut reference, wanted));
        candidates = distinct(candidates);
        candidates.truncate(count);
    }
    if candidates.is_empty() {
        // Far away perhaps, but it passes.
        let known = options.searched.passing.iter();
        candidates = known
            .filter_map(|schedule| {
                confirm(world.lab(), schedule, &failing.bug, &mut reference, "search")
            })
            .take(1)
            .collect();
    }
    if candidates.is_empty() && world.lab().could_deviate() {
        // Where everybody sleeps in the middle of something, everybody is there at once in every run of an ordinary system.
        candidates = kept_whole(&mut world, &failing, &told_relevance)
            .and_then(|schedule| {
                confirm(world.lab(), &schedule, &failing.bug, &mut reference, "shield")
            })
            .into_iter()
            .collect();
    }
    progress(Stage::SeekingCause);
    let mut passing: Vec<Schedule> =
        candidates.iter().filter_map(|c| Some(c.tried.as_ref()?.schedule.clone())).collect();
    if let Some(model) = model.as_ref().filter(|m| m.len() > LONG_PATH && !candidates.is_empty()) {
        passing.extend(modelled_witnesses(&failing, model, &mut effort, world.lab().limit()));
    }
    let passing = replayed(&mut world, passing);
    world.lab().allow(CAUSE_WORK);
    let path = model.as_ref().map(|model| (model, &failing.observed));
    let (cause, proved) = cause_of(&mut world, passing, path, solver, options, &mut effort);
    if let Some(cause) = &cause
        && (options.goal == Goal::Local || candidates.is_empty())
    {
        let more = from_witnesses(world.lab(), cause, &failing.bug, &mut reference, options);
        candidates.extend(more);
        candidates.sort_by_key(rank);
        candidates.dedup_by(|a, b| a.lineup.edges == b.lineup.edges);
        candidates.truncate(options.alternates.max(1));
    }
    let witnesses = cause.iter().flat_map(|cause| &cause.witnesses);
    let others: Vec<Option<Trace>> = witnesses
        .map(|w| w.as_ref().map(|s| world.lab().replay(s, Detail::Events).trace))
        .collect();
    let root_cause = cause.as_ref().map(|cause| {
        let mut told = tell(&world, &failing, cause, &others);
        if !cause.complete {
            told.sentence = format!("as far as was searched, {}", told.sentence);
            if !world.lab().has_time() {
                // Hardly begun: nothing can be advised on the strength of it.
                told.advice.clear();
                told.region.clear();
            }
        }
        told
    });
    let root_cause = match candidates.is_empty() {
        true => root_cause,
        false => {
            let near = candidates.iter().map(|near| &near.observed.trace);
            let passing: Vec<&Trace> = near.chain(others.iter().flatten()).collect();
            world.lab().allow(SHIELD_WORK);
            // What keeps it away may be known though no order of events is to blame.
            let mut told = root_cause.clone().unwrap_or_else(RootCause::unsaid);
            match shields::explain(&mut world, &failing, &told_relevance, &passing, &mut told) {
                Verdict::Said => Some(told),
                verdict => root_cause.map(|told| unproved(told, verdict)),
            }
        }
    };
    // In whatever order: with usual answers of the environment it may pass all the same.
    let answered = match candidates.is_empty() {
        true => shields::explain_answered(&mut world, &failing),
        false => None,
    };
    let usual = answered.as_ref().and_then(|_| world.usual(reference.detail));
    let root_cause = match candidates.is_empty() {
        // Who waits for whom is known, whether it can be avoided or not.
        true => answered.or_else(|| shields::explain_blocked(&failing)).or(root_cause),
        false => root_cause,
    };
    let mut root_cause = root_cause;
    if told_weakly(root_cause.as_ref()) {
        let near = candidates.iter().map(|near| &near.observed.trace);
        let passing: Vec<&Trace> = near.chain(others.iter().flatten()).collect();
        let schedule = &failing.observed.schedule;
        if let Some(missing) = race::missing_lock(world.lab(), schedule, &failing.failure, &passing)
        {
            // What is published too early is told more simply by that, and mended by more than a lock.
            let is_published =
                root_cause.as_ref().is_some_and(|cause| cause.pattern == Pattern::EarlyPublication);
            let tried = (!candidates.is_empty() && !is_published)
                .then(|| shields::by_lock(&mut world, &missing));
            match tried.flatten() {
                Some(evidence) => {
                    let RootCause { pattern, sentence, advice, region, .. } = missing.cause;
                    let told = root_cause.unwrap_or_else(RootCause::unsaid);
                    let evidence = Some(evidence);
                    root_cause =
                        Some(RootCause { pattern, sentence, advice, region, evidence, ..told });
                }
                None => notes.push(missing.note()),
            }
        }
    }
    // Where nothing on the path passes there is nothing to prove.
    let proved = proved && candidates.iter().any(|c| c.same_path);
    effort.executed = world.lab().runs();
    if cause.as_ref().is_some_and(|c| c.complete && c.kept_and_failed == 0) {
        notes.push(
            "no schedule that was tried at random kept all orders of the root cause: it may lack orders".to_owned(),
        );
    }
    if cause.as_ref().is_some_and(|c| !c.complete) {
        notes.push("the search for the root cause was cut short: it may lack orders".to_owned());
    }
    if let Some(problem) = world.lab().problem() {
        return Err(DiagnoseError::Engine(problem.clone()));
    }
    let status = if candidates.is_empty() && usual.is_none() {
        let Searched { passed, of, .. } = options.searched;
        let searched = format!(
            "{passed} of {of} schedules of the search passed, with another input or in a way that was not met again"
        );
        Status::Inconclusive {
            reason: format!(
                "it fails under every schedule tried ({}): {}",
                effort.executed,
                match failing.failure.kind {
                    _ if !world.lab().input().forced.is_empty() =>
                        "what makes it fail is what the environment does, in whatever order the threads run",
                    _ if world.gives_up() && options.searched.passing.is_empty() =>
                        "the others end early, where a thread ends the process with a code other than 0, and what they would have come to \
                         is not known",
                    _ if options.searched.passed > 0 => &searched,
                    _ if !world.lab().has_time() =>
                        "the time was up before one was found that passes",
                    FailureKind::DataRace =>
                        "what is missing is synchronisation, not another schedule",
                    FailureKind::Deadlock | FailureKind::Livelock =>
                        "whatever the order, somebody waits for ever",
                    _ if world.lab().passes_one_after_another() =>
                        "all of these are near this one; with its threads one after another it passes, and `unravel explain` \
                         searches further",
                    _ if world.fails_otherwise() =>
                        "in this way or in another, and which one depends on the order of the threads; none that passes was met",
                    FailureKind::SyncMisuse if !world.lab().input().limits.lenient_locks =>
                        "this looks like a sequential bug, or one that depends on the input; what lies behind it may show with \
                         --lenient-locks",
                    _ if world.lab().could_deviate() =>
                        "this looks like a sequential bug, one that depends on the input, or one of time: in none of these is a thread \
                         late (--deviations)",
                    _ => "this looks like a sequential bug, or one that depends on the input",
                }
            ),
        }
    } else {
        Status::Confirmed
    };
    let mut alternates = finish(candidates, &reference, bound);
    if let Some(observed) = usual {
        let beside = reference.measure(observed, None, "usual-answers");
        alternates = finish(vec![beside], &reference, Bound::default());
        alternates[0].usual_answers = true;
    }
    Ok(Diagnosis {
        program: program.to_owned(),
        failure: failing.failure,
        status,
        failing: failing.observed,
        switches_given,
        root_cause: root_cause.map(|r| RootCause { proved_on_path: proved, ..r }),
        race: None,
        alternates,
        effort,
        notes,
        certified: None,
    })
}

/// A schedule that passes because it waits for who sleeps inside of a stretch, as a lock would make it.
fn kept_whole(
    world: &mut Execution<'_, '_>,
    failing: &Failing,
    relevance: &Relevance,
) -> Option<Schedule> {
    let run = shields::Extended::new(&failing.observed.trace, &[], failing.symbolic.as_deref());
    let stretches = shields::candidates(&run, relevance, &failing.calls, world.extents());
    stretches.into_iter().take(MOST_TRIED).find_map(|stretch| {
        if !world.may_go_on() {
            return None;
        }
        let (ending, run) = world.run_shielded(&[stretch.shield], Mode::Follow, Detail::Outcome);
        (ending == Ending::Passed).then_some(run.schedule)
    })
}

/// Whether a cause says an order, or nothing, where a lock may be what is missing.
fn told_weakly(cause: Option<&RootCause>) -> bool {
    use Pattern::{
        AtomicityViolation, Compound, EarlyFree, EarlyPublication, EarlyUse, OrderViolation,
    };
    cause.is_none_or(|cause| {
        matches!(
            cause.pattern,
            AtomicityViolation
                | Compound
                | EarlyFree
                | EarlyPublication
                | EarlyUse
                | OrderViolation
        )
    })
}

/// The diagnosis of a run that is too long for a model; `None` if its cause is not in one place.
fn diagnose_long(
    lab: &mut Laboratory<'_>,
    program: &str,
    recorded: &Run,
    mut effort: Effort,
) -> Option<Diagnosis> {
    let run = lab.replay(&recorded.schedule, Detail::Events);
    let switches_given = run.schedule.context_switches();
    let failing =
        Failing::new(run).filter(|f| Some(&f.failure.id()) == recorded_id(recorded).as_ref())?;
    let Localised { failing, mut cause, passing } = localise(lab, &failing)?;
    let mut reference = Reference::new(failing.observed.clone(), failing.symbolic.as_deref());
    let near = confirm(lab, &passing, &failing.bug, &mut reference, "shield")?;
    // With its stretch kept, the run does the first as before, and the other the other way round.
    if let Some(last) = cause.orders.last_mut() {
        last.witness = Some(passing.clone());
    }
    effort.executed = lab.runs();
    Some(Diagnosis {
        program: program.to_owned(),
        failure: failing.failure,
        status: Status::Confirmed,
        failing: failing.observed,
        switches_given,
        root_cause: Some(cause),
        race: None,
        alternates: finish(vec![near], &reference, Bound::default()),
        effort,
        notes: vec![
            "the run is long: what the root cause does not need was moved out of its way, and only the rest was varied"
                .to_owned(),
        ],
        certified: None,
    })
}

/// The diagnosis of a race: no order causes it, so no run is put beside it.
fn diagnose_race(
    lab: &mut Laboratory<'_>,
    program: &str,
    failing: &Failing,
    switches_given: usize,
    effort: &Effort,
) -> Option<Diagnosis> {
    let (race, cause) = race::tell(lab, &failing.observed.schedule, &failing.failure)?;
    Some(Diagnosis {
        program: program.to_owned(),
        failure: failing.failure.clone(),
        status: Status::Confirmed,
        failing: failing.observed.clone(),
        switches_given,
        root_cause: Some(cause),
        race: Some(race),
        certified: None,
        alternates: Vec::new(),
        effort: Effort { executed: lab.runs(), ..effort.clone() },
        notes: Vec::new(),
    })
}

fn recorded_id(recorded: &Run) -> Option<BugId> {
    recorded.outcome.failure().map(|failure| failure.id())
}

/// What the form of orders suggests is no pattern: nothing that was kept has kept the failure away.
fn unproved(told: RootCause, verdict: Verdict) -> RootCause {
    let many = told.orders.len();
    RootCause {
        pattern: Pattern::Compound,
        advice: match (many, verdict) {
            (0 | 1, _) => String::new(),
            (_, Verdict::NothingHelps) => format!(
                "these {many} orders must come together: no one stretch or order that was tried keeps the failure away"
            ),
            _ => format!(
                "these {many} orders come together; what keeps the failure away was not found out"
            ),
        },
        region: Vec::new(),
        ..told
    }
}

/// The same runs with the keys of this world.
fn replayed(world: &mut Execution<'_, '_>, schedules: Vec<Schedule>) -> Vec<Tried> {
    let again = schedules.iter().map(|schedule| world.replay(schedule));
    again.filter(|t| t.ending == Ending::Passed).collect()
}

/// Passing schedules of a long run that break few orders, found where trying is cheap: in its model.
fn modelled_witnesses(
    failing: &Failing,
    model: &Model,
    effort: &mut Effort,
    limit: Limit<'_>,
) -> Vec<Schedule> {
    let (Some(symbolic), Some(order)) = (&failing.symbolic, model.observed()) else {
        return Vec::new();
    };
    let visible = failing.observed.schedule.visible.clone();
    let trace = &failing.observed.trace;
    let mut world =
        Modelled::new(model, trace, symbolic, order, visible, EVALUATION_BUDGET).until(limit);
    let cause = root_cause(&mut world, Vec::new(), 0, &mut NoRefuter);
    effort.evaluated += world.evaluated();
    cause.into_iter().flat_map(|cause| cause.witnesses).flatten().collect()
}

/// The runs that witness the root cause are passing runs too.
fn from_witnesses(
    lab: &mut Laboratory<'_>,
    cause: &Cause,
    bug: &BugId,
    reference: &mut Reference,
    options: &Options,
) -> Vec<Nearby> {
    let mut candidates: Vec<Nearby> = cause
        .witnesses
        .iter()
        .flatten()
        .filter_map(|schedule| confirm(lab, schedule, bug, reference, "local"))
        .collect();
    candidates.sort_by_key(rank);
    candidates.truncate(options.alternates.max(1));
    candidates
}

/// The root cause, refuted on the recorded path as long as a solver can; whether it proved in the end that no
/// schedule on the path keeps all orders and passes.
pub fn cause_of(
    world: &mut dyn World,
    passing: Vec<Tried>,
    path: Option<(&Model, &Observed)>,
    solver: &mut dyn Solver,
    options: &Options,
    effort: &mut Effort,
) -> (Option<Cause>, bool) {
    let Some((model, failing)) = path else {
        return (root_cause(world, passing, options.samples, &mut NoRefuter), false);
    };
    let bounds = Bounds {
        conflicts: options.conflict_limit,
        time: Some(options.proof_time),
        interrupt: None,
    };
    let mut refuter = PathRefuter {
        model,
        trace: &failing.trace,
        visible: &failing.schedule.visible,
        solver,
        bounds,
        queries: 0,
        proved: None,
    };
    let cause = root_cause(world, passing, options.samples, &mut refuter);
    effort.queries += refuter.queries;
    let proved = cause.as_ref().is_some_and(|c| refuter.proved.as_ref() == Some(&c.orders));
    (cause, proved)
}

/// No alternate has fewer data-flow variations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bound {
    pub on_path: LowerBound,
    pub anywhere: LowerBound,
}

impl Bound {
    /// The bound for runs on the path of this one, or on any.
    fn of(self, candidate: &Nearby) -> LowerBound {
        match candidate.same_path {
            true => self.on_path.max(self.anywhere),
            false => self.anywhere,
        }
    }
}

pub fn finish(candidates: Vec<Nearby>, reference: &Reference, bound: Bound) -> Vec<Alternate> {
    let failing = Side { trace: &reference.observed.trace, lineup: &reference.lineup };
    candidates
        .into_iter()
        .map(|candidate| {
            let side = Side { trace: &candidate.observed.trace, lineup: &candidate.lineup };
            let projection = project(&reference.keys, &reference.branches, failing, side);
            let bound = bound.of(&candidate);
            let mut distance = candidate.distance;
            distance.operations = operations(&projection, failing.lineup, side.lineup);
            let gap = distance.data_flow.saturating_sub(bound.0);
            Alternate {
                same_path: candidate.same_path,
                minimality: if gap == 0 {
                    Minimality::Proved
                } else {
                    Minimality::BestFound { gap }
                },
                run: candidate.observed,
                distance,
                projection,
                goal: candidate.goal.to_owned(),
                usual_answers: false,
            }
        })
        .collect()
}
