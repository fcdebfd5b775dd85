//! Traces that cannot be executed: everything is found in the model, and said to be *modelled*.
//!
//! Their order is unknown. As in Symbiosis, a failing schedule is found first: by walking the steps at random within
//! what the conditions allow, then by the solver, which also finds initial values nobody recorded.

use std::collections::HashMap;
use std::time::Instant;

use unravel_execute::Limit;
use unravel_results::{Diagnosis, Effort, Observed, Status};
use unravel_solve::{
    Answer, Before, Bounds, Evaluator, Model, ModelError, Query, Solver, StepId, Verdict, Wish,
};
use unravel_trace::{
    Bug, Initial, InitialSync, KnownOrder, Outcome, Rng, Run, Step, Symbolic, Trace, VisibleSet,
};

use crate::alternate::{Nearby, Reference};
use crate::budgets::{WALK_STEPS, WALKS};
use crate::calls::Calls;
use crate::diagnose::{Bound, DiagnoseError, Options, Stage, cause_of, finish};
use crate::failing::{Failing, usable_model};
use crate::minimal;
use crate::modelled::{Modelled, schedule};
use crate::on_path::{modelled, published};
use crate::reduce::reduce;
use crate::tell::tell;

/// Diagnoses a trace by its symbolic part alone.
pub fn diagnose_imported(
    program: &str,
    recorded: &Run,
    solver: &mut dyn Solver,
    options: &Options,
    progress: &mut dyn FnMut(Stage),
) -> Result<Diagnosis, DiagnoseError> {
    let mut effort = Effort { solver: Some(solver.name()), ..Effort::default() };
    progress(Stage::Replaying);
    let (model, order) = own_failing(recorded, solver, options, &mut effort)?;
    let start = Start { recorded, model, order, effort, notes: Vec::new() };
    diagnose_order(program, start, solver, options, progress, &mut |_| Vec::new())
}

/// An order of a run's own steps that fails.
pub fn own_failing(
    recorded: &Run,
    solver: &mut dyn Solver,
    options: &Options,
    effort: &mut Effort,
) -> Result<(Model, Vec<StepId>), DiagnoseError> {
    recorded.outcome.failure().ok_or(DiagnoseError::NoFailure)?;
    let symbolic = recorded.symbolic.as_ref().ok_or(DiagnoseError::NotSymbolic)?;
    let mut model = model_of(&recorded.trace, symbolic)?;
    let order = failing_schedule(&mut model, solver, Vec::new(), options, effort)?;
    Ok((model, order))
}

/// A run whose order was found, which fails in it.
pub struct Start<'r> {
    pub recorded: &'r Run,
    pub model: Model,
    pub order: Vec<StepId>,
    pub effort: Effort,
    pub notes: Vec<String>,
}

/// What whoever looks for passing runs on other paths may use.
pub struct Wanted<'w> {
    pub failing: &'w Failing,
    pub reference: &'w mut Reference,
    pub solver: &'w mut dyn Solver,
    pub many: usize,
    pub effort: &'w mut Effort,
}

/// Diagnoses a run in an order in which it fails. `elsewhere` looks for passing runs on other paths, where the recorded ones have too few.
pub fn diagnose_order(
    program: &str,
    start: Start<'_>,
    solver: &mut dyn Solver,
    options: &Options,
    progress: &mut dyn FnMut(Stage),
    elsewhere: &mut dyn FnMut(Wanted<'_>) -> Vec<Nearby>,
) -> Result<Diagnosis, DiagnoseError> {
    let Start { recorded, model, order, mut effort, mut notes } = start;
    let failure = recorded.outcome.failure().ok_or(DiagnoseError::NoFailure)?;
    let symbolic = recorded.symbolic.as_ref().ok_or(DiagnoseError::NotSymbolic)?;
    progress(Stage::Reducing);
    let given = switches(&model, &order);
    let (order, evaluated) = reduce_fully(&model, order);
    effort.evaluated += evaluated;
    let (trace, symbolic) = rearranged(&recorded.trace, symbolic, &model, &order);
    let model = model_of(&trace, &symbolic)?;
    let steps: Vec<StepId> = model.observed().unwrap_or_default();
    let visible = VisibleSet::default();
    let choices = choices(&model, &steps);
    let observed = Observed {
        schedule: schedule(&model, &trace, &steps, choices, &visible),
        trace,
        outcome: Outcome::Failed(Box::new(failure.clone())),
    };
    let failing = Failing {
        observed,
        failure: failure.clone(),
        bug: failure.id(),
        symbolic: Some(Box::new(symbolic)),
        needs: Vec::new(),
        deviated: Vec::new(),
        calls: Calls::default(),
    };
    let mut why = Vec::new();
    if usable_model(&failing, &mut why).is_none() {
        return Err(DiagnoseError::NoFailingSchedule(why.join("; ")));
    }

    progress(Stage::SeekingAlternate);
    let ended = up_to_failure(&failing.observed, &model);
    let mut reference = Reference::new(ended, failing.symbolic.as_deref());
    let symbolic = failing.symbolic.as_ref().expect("imported traces are symbolic");
    let trace = &failing.observed.trace;
    let mut world = Modelled::new(&model, trace, symbolic, steps, visible, WALK_STEPS);
    let wanted = options.alternates.max(1);
    let mut bound = Bound { anywhere: minimal::lower_bound(&model, trace), ..Bound::default() };
    let mut candidates;
    let near = minimal::nearest(&mut world, &model, &mut reference, wanted, wanted);
    (candidates, bound.on_path) =
        modelled(near, &mut world, &model, &mut reference, solver, options, &mut effort);
    candidates.truncate(wanted);
    if options.goal != crate::goals::Goal::Local {
        (candidates, bound.on_path) =
            published(&model, &mut world, solver, options, &mut reference, &mut effort, &mut notes);
    }
    if candidates.len() < wanted {
        let many = wanted - candidates.len();
        candidates.extend(elsewhere(Wanted {
            failing: &failing,
            reference: &mut reference,
            solver,
            many,
            effort: &mut effort,
        }));
    }
    progress(Stage::SeekingCause);
    let passing = candidates.iter().filter_map(|c| c.tried.clone()).collect();
    let path = Some((&model, &failing.observed));
    let (cause, proved) = cause_of(&mut world, passing, path, solver, options, &mut effort);
    let told = cause.as_ref().map(|cause| tell(&world, &failing, cause, &[]));
    effort.evaluated += world.evaluated();
    let status = if candidates.is_empty() {
        Status::Inconclusive {
            reason: "no schedule of the recorded paths was found that passes".to_owned(),
        }
    } else {
        Status::Modelled
    };
    let alternates = finish(candidates, &reference, bound);
    Ok(Diagnosis {
        program: program.to_owned(),
        failure: failing.failure,
        status,
        failing: failing.observed,
        switches_given: given,
        root_cause: told.map(|r| unravel_results::RootCause { proved_on_path: proved, ..r }),
        race: None,
        alternates,
        effort,
        notes,
        certified: None,
    })
}

/// The failing run as it would have been recorded: it ends where it fails. What comes after is known, but not in
/// which order, nor that it is executed at all.
pub fn up_to_failure(observed: &Observed, model: &Model) -> Observed {
    let mut evaluator = Evaluator::new(model);
    evaluator.evaluate(&model.observed().unwrap_or_default());
    let ends = evaluator.performed().iter().map(|step| model.events_of(*step).end);
    let mut observed = observed.clone();
    observed.trace.events.truncate(ends.max().unwrap_or(0) as usize);
    observed
}

pub fn model_of(trace: &Trace, symbolic: &Symbolic) -> Result<Model, DiagnoseError> {
    Model::new(trace, symbolic).map_err(|error| match error {
        ModelError::NoFailure => DiagnoseError::NoFailure,
        other => DiagnoseError::NoFailingSchedule(other.to_string()),
    })
}

/// `Φ_fail`: an order of the recorded steps that fails, and obeys what is known of it.
pub fn failing_schedule(
    model: &mut Model,
    solver: &mut dyn Solver,
    keep: Vec<Before>,
    options: &Options,
    effort: &mut Effort,
) -> Result<Vec<StepId>, DiagnoseError> {
    if let Some(observed) = model.observed() {
        return Ok(observed);
    }
    let begun = Instant::now();
    for walk in 0..WALKS {
        if begun.elapsed() > options.goal_time {
            break;
        }
        effort.evaluated += 1;
        if let Some(order) = walk_at_random(model, Rng::new(Rng::derive(3, walk)), &keep) {
            return Ok(order);
        }
    }
    let bounds = Bounds {
        conflicts: options.conflict_limit,
        time: Some(options.goal_time),
        interrupt: None,
    };
    let query = Query { bounds, keep, ..Query::new(model, Wish::Fails) };
    effort.queries += 1;
    match solver.find(&query) {
        Answer::Yes(found) => {
            for (cell, value) in &found.initial {
                model.set_initial(*cell, *value);
            }
            match Evaluator::new(model).evaluate(&found.order) {
                Verdict::Fails { .. } => Ok(found.order),
                other => Err(DiagnoseError::NoFailingSchedule(format!(
                    "the solver's schedule does not fail ({other}); this is a bug in unravel"
                ))),
            }
        }
        Answer::No => Err(DiagnoseError::NoFailingSchedule(
            "no order of the recorded steps fails (proved by the solver)".to_owned(),
        )),
        Answer::Unknown { reason, .. } => {
            Err(DiagnoseError::NoFailingSchedule(format!("the solver gave up: {reason}")))
        }
    }
}

/// Executes steps that can be executed without leaving a path, chosen at random among those whose turn it may be, until it fails or nothing
/// can.
pub fn walk_at_random(model: &Model, mut rng: Rng, keep: &[Before]) -> Option<Vec<StepId>> {
    let mut evaluator = Evaluator::new(model);
    let mut first: HashMap<StepId, Vec<StepId>> = HashMap::new();
    for before in keep {
        first.entry(before.second).or_default().push(before.first);
    }
    let mut done = vec![false; model.len()];
    let mut next = vec![0usize; model.threads()];
    let mut order: Vec<StepId> = Vec::new();
    loop {
        let mut options: Vec<StepId> = next
            .iter()
            .enumerate()
            .filter_map(|(thread, next)| {
                model.thread_steps(unravel_trace::ThreadId(thread as u32)).get(*next).copied()
            })
            .filter(|step| {
                first.get(step).is_none_or(|all| all.iter().all(|one| done[one.index()]))
            })
            .collect();
        let mut went_on = false;
        while !options.is_empty() {
            let step = options.swap_remove(rng.below(options.len() as u32) as usize);
            match evaluator.push(step) {
                None => {
                    order.push(step);
                    done[step.index()] = true;
                    next[model.owner(step).index()] += 1;
                    went_on = true;
                    break;
                }
                Some(Verdict::Fails { .. }) => {
                    order.push(step);
                    return complete(model, order, &mut next);
                }
                Some(_) => evaluator.pop(),
            }
        }
        if !went_on {
            let all = order.len() == model.len();
            let fails = matches!(evaluator.verdict(), Verdict::Fails { .. });
            return (all && fails).then_some(order);
        }
    }
}

/// Steps after the failure, in any order.
fn complete(model: &Model, mut order: Vec<StepId>, next: &mut [usize]) -> Option<Vec<StepId>> {
    let failed = *order.last()?;
    next[model.owner(failed).index()] += 1;
    for (thread, done) in next.iter().enumerate() {
        let steps = model.thread_steps(unravel_trace::ThreadId(thread as u32));
        order.extend(&steps[(*done).min(steps.len())..]);
    }
    Some(order)
}

/// Fewer context switches, all steps kept.
pub fn reduce_fully(model: &Model, order: Vec<StepId>) -> (Vec<StepId>, u64) {
    let (mut reduced, evaluated) = reduce(model, &order, &|_| false, Limit::default());
    let there: std::collections::HashSet<StepId> = reduced.iter().copied().collect();
    reduced.extend(order.into_iter().filter(|step| !there.contains(step)));
    (reduced, evaluated)
}

fn switches(model: &Model, order: &[StepId]) -> usize {
    order.windows(2).filter(|w| model.owner(w[0]) != model.owner(w[1])).count()
}

fn choices(model: &Model, order: &[StepId]) -> Vec<u32> {
    let mut evaluator = Evaluator::new(model);
    evaluator.evaluate(order);
    evaluator.choices().to_vec()
}

/// The same trace with its steps in this order, which counts as observed from now on.
pub fn rearranged(
    trace: &Trace,
    symbolic: &Symbolic,
    model: &Model,
    order: &[StepId],
) -> (Trace, Symbolic) {
    let mut evaluator = Evaluator::new(model);
    evaluator.evaluate(order);
    let steps: Vec<StepId> = order.iter().copied().filter(|s| !model.is_request(*s)).collect();
    let moved = crate::modelled::reordered(model, trace, symbolic, &evaluator, &steps);
    let mut result = symbolic.clone();
    let mut new_place = vec![0u32; trace.events.len()];
    result.steps.clear();
    result.shadows.clear();
    for step in &steps {
        let old = symbolic.steps[step.index()];
        let first = result.shadows.len() as u32;
        result.steps.push(Step { first, ..old });
        for event in old.range() {
            new_place[event] = result.shadows.len() as u32;
            result.shadows.push(symbolic.shadows[event]);
        }
    }
    for condition in &mut result.conditions {
        condition.after = new_place[condition.after as usize];
    }
    if let Bug::Condition { after, .. } | Bug::Reached { after, .. } = &mut result.bug {
        *after = new_place[*after as usize];
    }
    let unknown = result.initial.iter_mut().filter(|i| i.value.is_none());
    unknown.for_each(|initial| initial.value = Some(initial_value(model, initial)));
    // What was inferred from the recorded order holds in every other.
    let known = model.syncs().iter().map(|object| (object.at, &object.initial));
    result.sync = known
        .flat_map(|(at, states)| states.iter().map(move |state| InitialSync { at, state: *state }))
        .collect();
    result.order = KnownOrder::Observed;
    (moved, result)
}

/// What the model took an unknown initial value to be.
fn initial_value(model: &Model, initial: &Initial) -> u128 {
    let mut value = 0;
    for cell in model.cells() {
        let (address, _) = model.cell_range(cell);
        if (initial.address..initial.address + u64::from(initial.bytes)).contains(&address) {
            value |= model.initial(cell).unwrap_or(0) << (8 * (address - initial.address));
        }
    }
    value
}
