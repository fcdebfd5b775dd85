//! Alternates on the recorded path: found in its model or by a solver, and executed.
//!
//! The default goal tries first and asks then (MaxSMT DSPs §4.2 for the criteria): for the fewest data flows or the proof that there are
//! none fewer, and, unless what was executed cannot be beaten, for the fewest broken segments among those. That is the question of
//! `--goal lexico`, with the same bounds, so that its answer is never better than the default's (of runs up to [`LONG_RUN`]).
//!
//! *Not modelled*: what a run does after the failing one ended. An order that passes on the recorded steps may fail, or leave the
//! path, when it is executed; what is executed counts.

use unravel_execute::Laboratory;
use unravel_results::Effort;
use unravel_solve::{Bounds, Goal as SolverGoal, Model, Solver, StepId, Weights};

use crate::alternate::{Nearby, Reference, rank};
use crate::budgets::{EVALUATION_BUDGET, LONG_RUN, MAX_CONFIRMED};
use crate::confirm::confirm_completed;
use crate::diagnose::Options;
use crate::failing::Failing;
use crate::goals::{self, Goal, Sought};
use crate::minimal::{self, LowerBound};
use crate::modelled::Modelled;
use crate::pairs::immediate;
use crate::world::World;

/// The recorded path, where the model answers.
pub struct Path<'p> {
    pub failing: &'p Failing,
    pub model: &'p Model,
    pub solver: &'p mut dyn Solver,
    pub options: &'p Options,
}

/// What there is on the path.
#[derive(Default)]
pub struct OnPath {
    /// Nearest first; they were executed and passed.
    pub candidates: Vec<Nearby>,
    /// None on the path differs in fewer data flows.
    pub bound: LowerBound,
    /// Data flows that differ in the nearest order of the recorded steps, which need not pass when it is executed to its end.
    pub recorded: Option<u32>,
    /// No run on the path differs in fewer data flows, or in as many and breaks fewer segments, if it was asked for those.
    pub is_nearest: bool,
}

impl Path<'_> {
    /// Alternates on the recorded path, found in the model and confirmed by execution, and a bound on their
    /// data-flow variations.
    pub fn alternates(
        &mut self,
        lab: &mut Laboratory<'_>,
        reference: &mut Reference,
        effort: &mut Effort,
        notes: &mut Vec<String>,
    ) -> OnPath {
        let Some(symbolic) = &self.failing.symbolic else { return OnPath::default() };
        let trace = &self.failing.observed.trace;
        let order = self.model.observed().expect("the run was observed");
        let visible = self.failing.observed.schedule.visible.clone();
        let mut world =
            Modelled::new(self.model, trace, symbolic, order, visible, EVALUATION_BUDGET)
                .until(lab.limit());
        let wanted = self.options.alternates.max(1);
        let (model, options) = (self.model, self.options);
        let is_default = options.goal == Goal::Local;
        let (found, bound) = if is_default {
            let near = minimal::nearest(&mut world, model, reference, wanted + 2, MAX_CONFIRMED);
            proved(near, &mut world, model, reference, self.solver, options, effort)
        } else {
            published(model, &mut world, self.solver, options, reference, effort, notes)
        };
        let recorded = found.iter().map(|near| near.distance.data_flow).min();
        let mut candidates = self.confirmed(found, lab, reference);
        let asks_segments = !options.segments_time.is_zero();
        let mut is_nearest = match asks_segments {
            true => is_unbeatable(&candidates, bound),
            false => candidates.first().is_some_and(|best| has_fewest_flows(best, bound)),
        };
        if is_default && !is_nearest && asks_segments && model.len() as u64 <= LONG_RUN {
            let (found, answered) =
                in_whole_segments(&mut world, model, reference, self.solver, options, effort);
            candidates.extend(self.confirmed(found.into_iter().collect(), lab, reference));
            candidates = distinct(candidates);
            let best = candidates.first().filter(|best| best.same_path);
            is_nearest = answered && best.is_some_and(|best| best.distance.data_flow <= bound.0);
        }
        effort.evaluated += world.evaluated();
        candidates.truncate(wanted);
        OnPath { candidates, bound, recorded, is_nearest }
    }

    /// Those that pass when they are executed, nearest first.
    fn confirmed(
        &self,
        found: Vec<Nearby>,
        lab: &mut Laboratory<'_>,
        reference: &mut Reference,
    ) -> Vec<Nearby> {
        let bug = &self.failing.bug;
        let again = |near: Nearby| {
            confirm_completed(lab, &near.observed.schedule, bug, reference, near.goal)
        };
        let mut candidates: Vec<Nearby> = found.into_iter().filter_map(again).collect();
        candidates.sort_by_key(rank);
        candidates
    }
}

/// Whether the nearest has as few data-flow variations as can be, and breaks no segment.
fn is_unbeatable(candidates: &[Nearby], bound: LowerBound) -> bool {
    candidates
        .first()
        .is_some_and(|best| has_fewest_flows(best, bound) && best.distance.segments == 0)
}

fn has_fewest_flows(near: &Nearby, bound: LowerBound) -> bool {
    near.same_path && near.distance.data_flow <= bound.0
}

/// Alternates that local search found, and what a solver can add to them: fewer variations, or a proof.
fn proved(
    (mut candidates, mut bound): (Vec<Nearby>, LowerBound),
    world: &mut Modelled<'_>,
    model: &Model,
    reference: &mut Reference,
    solver: &mut dyn Solver,
    options: &Options,
    effort: &mut Effort,
) -> (Vec<Nearby>, LowerBound) {
    if model.len() > solver.proves_up_to() {
        return (candidates, bound);
    }
    let bounds = Bounds {
        conflicts: options.conflict_limit,
        time: Some(options.proof_time),
        interrupt: None,
    };
    let best = candidates.first().filter(|c| c.same_path).map(|c| c.distance);
    let known = best.is_some_and(|best| best.data_flow <= bound.0);
    // What is known is proved once more for a certificate; nothing else comes of it.
    if !known || options.certify {
        effort.queries += 1;
        let flow = SolverGoal::Sum(Weights { data_flow: 1, segments: 0, switches: 0 });
        let nearest = minimal::by_solver(world, model, reference, solver, bounds, flow);
        if !known {
            candidates.extend(nearest.found);
            candidates = distinct(candidates);
            bound = bound.max(nearest.bound);
        }
    }
    (candidates, bound)
}

/// What `--goal lexico` asks, as it asks it; and whether there was an answer.
fn in_whole_segments(
    world: &mut Modelled<'_>,
    model: &Model,
    reference: &mut Reference,
    solver: &mut dyn Solver,
    options: &Options,
    effort: &mut Effort,
) -> (Option<Nearby>, bool) {
    let bounds = Bounds {
        conflicts: options.conflict_limit,
        time: Some(options.segments_time),
        interrupt: None,
    };
    effort.queries += 1;
    let lexico = SolverGoal::Lexicographic;
    let nearest = minimal::by_solver(world, model, reference, solver, bounds, lexico);
    (nearest.found, nearest.answered)
}

/// The default goal without a program: what was tried, what a solver adds to it, and a bound.
pub fn modelled(
    near: (Vec<Nearby>, LowerBound),
    world: &mut Modelled<'_>,
    model: &Model,
    reference: &mut Reference,
    solver: &mut dyn Solver,
    options: &Options,
    effort: &mut Effort,
) -> (Vec<Nearby>, LowerBound) {
    let (mut candidates, bound) = proved(near, world, model, reference, solver, options, effort);
    let is_long = model.len() as u64 > LONG_RUN;
    if !candidates.is_empty() && !is_unbeatable(&candidates, bound) && !is_long {
        let found = in_whole_segments(world, model, reference, solver, options, effort).0;
        candidates.extend(found);
        candidates = distinct(candidates);
    }
    (candidates, bound)
}

/// Nearest first, of each data flow the nearest only.
pub fn distinct(mut candidates: Vec<Nearby>) -> Vec<Nearby> {
    candidates.sort_by_key(rank);
    let mut kept: Vec<Nearby> = Vec::new();
    for candidate in candidates {
        if !kept.iter().any(|known| known.lineup.edges == candidate.lineup.edges) {
            kept.push(candidate);
        }
    }
    kept
}

/// What a published algorithm finds.
pub fn published(
    model: &Model,
    world: &mut Modelled<'_>,
    solver: &mut dyn Solver,
    options: &Options,
    reference: &mut Reference,
    effort: &mut Effort,
    notes: &mut Vec<String>,
) -> (Vec<Nearby>, LowerBound) {
    let goal = options.goal;
    let (sought, count) = seek(model, world, solver, options);
    if goal == Goal::Pair {
        effort.evaluated += count;
    } else {
        effort.queries += count;
    }
    match sought {
        Sought::Found { order, fewest, stopped } => {
            let observed = world.observe_order(&order);
            let candidate = observed.map(|o| reference.measure(o, None, goal.name()));
            let mut candidates: Vec<Nearby> = candidate.into_iter().collect();
            if let Some(reason) = &stopped {
                notes.push(format!(
                    "--goal {goal}: the solver gave up: {reason}; the nearest by then is shown"
                ));
            }
            // What it had by then may be far away. And what the criteria do not see (where a run ends, the events of another
            // path) may be better in one that was only tried.
            if stopped.is_some() || goal == Goal::Lexico {
                let near = minimal::nearest(world, model, reference, options.alternates, 1);
                candidates.extend(near.0);
            }
            let bound = LowerBound(fewest).max(minimal::bound_on_path(model, world.order()));
            (candidates, bound)
        }
        Sought::None => {
            notes.push(format!(
                "--goal {goal}: no order of the recorded steps that it can reach passes: what is shown was found by trying"
            ));
            Default::default()
        }
        Sought::Unknown { reason } => {
            notes.push(format!(
                "--goal {goal}: the solver gave up: {reason}; what is shown was found by trying"
            ));
            minimal::nearest(world, model, reference, options.alternates, 1)
        }
    }
}

fn seek(
    model: &Model,
    world: &Modelled<'_>,
    solver: &mut dyn Solver,
    options: &Options,
) -> (Sought, u64) {
    if options.goal == Goal::Pair {
        let pairs: Vec<(StepId, StepId)> = immediate(world.failing(), world.extents())
            .into_iter()
            .filter_map(|(a, b)| Some((world.step(a)?, world.step(b)?)))
            .collect();
        return goals::by_pairs(model, world.order(), &pairs);
    }
    let time = match options.goal {
        Goal::Lexico => options.segments_time,
        _ => options.goal_time,
    };
    let effort = goals::Effort { conflicts: options.conflict_limit, time };
    goals::by_solver(model, world.order(), options.goal, solver, effort)
}
