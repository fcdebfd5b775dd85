//! Search over recorded paths: an imported trace beside the other executions that were recorded with it.
//!
//! After Cortex (thesis §5.2.2 and §5.2.3). Where no order of the execution's own steps fails, threads are followed to where they
//! want to go while another waits ([`crate::probing`]); then combinations with paths of other executions are tried, fewest foreign parts first, until one fails; where none of the failing paths' orders passes, the same
//! for one that passes, and the two are compared with the branches that differ (the differential path-schedule projection).
//!
//! Everything is *modelled*. A combination says what threads did in different executions: that the program can do all of that in one is not
//! known, except that what each read is written by another and takes it where it went. Errs, with that, towards failures that
//! the program does not have; and towards none where a path was never recorded.

use std::collections::BTreeMap;
use std::time::Instant;

use rustc_hash::FxHashSet;
use unravel_database::Database;
use unravel_results::{Diagnosis, Effort, Observed};
use unravel_solve::{Answer, Bounds, Evaluator, Model, Query, Solver, StepId, Verdict, Wish};
use unravel_trace::{
    Bug, Combined, Condition, Failure, Initial, Otherwise, Outcome, Place, Rng, Run, Schedule,
    Symbolic, ThreadId, VisibleSet, combine,
};

use crate::alternate::{Nearby, rank};
use crate::budgets::{
    COMBINED_CONFLICTS, COMBINED_STEPS, COMBINED_TIME, COMBINED_WALKS, ENOUGH_ELSEWHERE,
    MOST_COMBINED, MOST_FOREIGN, MOST_PARTING, MOST_PROBED, MOST_PROBES,
};
use crate::combinations::{Combination, Met, PartId, Pool};
use crate::diagnose::{DiagnoseError, Options, Stage};
use crate::imported::{Start, Wanted, diagnose_order, own_failing, walk_at_random};
use crate::modelled::{reordered, schedule};
use crate::probing::{Held, Probed, holds, probe};

/// Diagnoses an imported trace, with all executions that the database of its folder has.
pub fn diagnose_recorded(
    program: &str,
    recorded: &Run,
    database: &Database,
    solver: &mut dyn Solver,
    options: &Options,
    progress: &mut dyn FnMut(Stage),
) -> Result<Diagnosis, DiagnoseError> {
    let pool = Pool::new(database, &recorded.trace);
    let mut effort = Effort { solver: Some(solver.name()), ..Effort::default() };
    progress(Stage::Replaying);
    let (found, from) = match own_failing(recorded, solver, options, &mut effort) {
        Ok((model, order)) => {
            let found = Found { run: recorded.clone(), model, order, note: None };
            (found, pool.own(&recorded.trace).cloned())
        }
        Err(DiagnoseError::NoFailingSchedule(why)) if !pool.whole().is_empty() => {
            let mut search =
                Search { pool: &pool, solver, effort: &mut effort, begun: Instant::now(), options };
            let (found, combination) = search.failing(recorded, &why)?;
            (found, Some(combination))
        }
        Err(error) => return Err(error),
    };
    let Found { run, model, order, note } = found;
    let notes = note.into_iter().collect();
    let start = Start { recorded: &run, model, order, effort, notes };
    let mut elsewhere = |wanted: Wanted<'_>| match &from {
        Some(from) => passing(&pool, from, wanted, options),
        None => Vec::new(),
    };
    let mut diagnosis = diagnose_order(program, start, solver, options, progress, &mut elsewhere)?;
    if diagnosis.alternates.iter().any(|alternate| alternate.goal == GOAL) {
        diagnosis.notes.push(
            "no order of the failing paths passes that was found: the alternate is on other recorded paths"
                .to_owned(),
        );
    }
    Ok(diagnosis)
}

/// What an alternate on other recorded paths is said to be found by.
const GOAL: &str = "recorded";

/// A run that fails in this order.
struct Found {
    run: Run,
    model: Model,
    order: Vec<StepId>,
    note: Option<String>,
}

struct Search<'s, 'd> {
    pool: &'s Pool<'d>,
    solver: &'s mut dyn Solver,
    effort: &'s mut Effort,
    begun: Instant,
    options: &'s Options,
}

impl Search<'_, '_> {
    /// The first combination that fails; `why` none of the recorded execution's orders does.
    fn failing(
        &mut self,
        recorded: &Run,
        why: &str,
    ) -> Result<(Found, Combination), DiagnoseError> {
        let pool = self.pool;
        let mut met = Met::default();
        if let Some(own) = pool.own(&recorded.trace) {
            met.is_new(own);
        }
        for whole in pool.whole().iter().take(MOST_PROBED) {
            if let Some(found) = self.probed(whole, recorded) {
                return Ok(found);
            }
        }
        let (mut tried, mut open, mut left) = (0u64, 0u64, false);
        'all: for foreign in 0..=MOST_FOREIGN {
            for whole in pool.whole() {
                let many = MOST_COMBINED - tried.min(MOST_COMBINED);
                let (combinations, more) = match foreign {
                    0 => (vec![whole.clone()], false),
                    _ => pool.derived(whole, foreign, many as usize),
                };
                left |= more;
                for combination in combinations.into_iter().filter(|c| met.is_new(c)) {
                    if tried >= MOST_COMBINED || self.begun.elapsed() > self.options.goal_time {
                        left = true;
                        break 'all;
                    }
                    tried += 1;
                    match self.fails(&combination, recorded) {
                        Asked::Yes(found) => return Ok((*found, combination)),
                        Asked::No => {}
                        Asked::Unknown => open += 1,
                    }
                }
            }
        }
        let rest = match (open, left) {
            (0, false) => "proved".to_owned(),
            (_, false) => format!("{open} of them not decided"),
            (_, true) => format!("{open} of them not decided, and there are more"),
        };
        let what =
            format!("{why}; nor does one of {tried} combinations of recorded paths ({rest})");
        Err(DiagnoseError::NoFailingSchedule(what))
    }

    /// A combination that fails with one thread held back, found by following threads to where they want to go ([`crate::probing`]).
    fn probed(&mut self, whole: &Combination, recorded: &Run) -> Option<(Found, Combination)> {
        let known = recorded.outcome.failure()?;
        let mut seen: FxHashSet<(Vec<PartId>, ThreadId, usize, Held)> = FxHashSet::default();
        let mut todo: BTreeMap<Likely, (Combination, Option<Held>)> = BTreeMap::new();
        todo.insert(Likely::default(), (whole.clone(), None));
        let (mut left, mut number) = (MOST_PROBES, 0);
        while let Some((likely, (combination, held))) = todo.pop_first() {
            let traces = self.pool.traces(&combination);
            let Ok(combined) = combine(&traces, &combination.turns) else { continue };
            for target in assertions(&combined, known) {
                let symbolic = aimed(&combined, Some(target));
                let Ok(model) = Model::new(&combined.trace, &symbolic) else { continue };
                // The execution itself is held everywhere; what comes of that, as it was held there.
                let ways = match held {
                    Some(held) => vec![held],
                    None => holds(&model),
                };
                for held in ways {
                    if left == 0 || self.begun.elapsed() > self.options.goal_time * 2 / 3 {
                        return None;
                    }
                    left -= 1;
                    self.effort.evaluated += 1;
                    let stuck = match probe(&model, Some(held)) {
                        Probed::Fails(order) => {
                            let failure = failure(&combined, &symbolic, known);
                            let run = run(combined, symbolic, failure);
                            let note = Some(self.note(&combination));
                            return Some((Found { run, model, order, note }, combination));
                        }
                        Probed::Stuck(stuck) => stuck,
                    };
                    let many = stuck.len();
                    for (thread, step) in stuck {
                        if seen.insert((combination.parts.clone(), thread, step, held)) {
                            for (rank, with) in self.elsewhere(&combination, thread, step) {
                                number += 1;
                                let rank = likely.rank + rank + many;
                                todo.insert(Likely { rank, number }, (with, Some(held)));
                            }
                        }
                    }
                }
            }
        }
        None
    }

    /// The combination with other paths of a thread that do the same up to a step, by rank.
    fn elsewhere(
        &self,
        combination: &Combination,
        thread: ThreadId,
        step: usize,
    ) -> Vec<(usize, Combination)> {
        let Some(part) = self.pool.part_of(combination, thread) else { return Vec::new() };
        let Some(step) = self.pool.get(part).symbolic.steps.get(step) else { return Vec::new() };
        let others = self.pool.parting(part, step.range().end).into_iter().take(MOST_PARTING);
        let with = others.filter_map(|other| self.pool.with(combination, other));
        with.filter(|with| with.foreign.len() <= MOST_FOREIGN).enumerate().collect()
    }

    /// An order of this combination that fails, at whichever of its assertions.
    fn fails(&mut self, combination: &Combination, recorded: &Run) -> Asked {
        let traces = self.pool.traces(combination);
        let Ok(combined) = combine(&traces, &combination.turns) else { return Asked::No };
        let mut answer = Asked::No;
        let Some(known) = recorded.outcome.failure() else { return Asked::No };
        for target in assertions(&combined, known) {
            let symbolic = aimed(&combined, Some(target));
            match self.order(&combined, &symbolic, Wish::Fails) {
                Asked::Yes((model, order)) => {
                    let failure = failure(&combined, &symbolic, known);
                    let run = run(combined, symbolic, failure);
                    let note = Some(self.note(combination));
                    return Asked::Yes(Box::new(Found { run, model, order, note }));
                }
                Asked::No => {}
                Asked::Unknown => answer = Asked::Unknown,
            }
        }
        answer
    }

    /// By chance where that is cheap, then by the solver.
    fn order(
        &mut self,
        combined: &Combined,
        symbolic: &Symbolic,
        wish: Wish,
    ) -> Asked<(Model, Vec<StepId>)> {
        let Ok(mut model) = Model::new(&combined.trace, symbolic) else { return Asked::Unknown };
        let walks = COMBINED_WALKS.min(COMBINED_STEPS / (model.len() as u64 + 1));
        for walk in 0..walks {
            self.effort.evaluated += 1;
            let rng = Rng::new(Rng::derive(5, walk));
            let order = match wish {
                Wish::Fails => walk_at_random(&model, rng, &[]),
                // First as it failed, then near that, then anyhow.
                Wish::Passes => match walk {
                    0 => follow(&model, rng, 0),
                    _ if walk < walks / 2 => follow(&model, rng, LEAVE),
                    _ => follow(&model, rng, 100),
                },
            };
            if let Some(order) = order {
                return Asked::Yes((model, order));
            }
        }
        let near: Vec<StepId> = model.steps().collect();
        let bounds = Bounds {
            conflicts: Some(COMBINED_CONFLICTS),
            time: Some(COMBINED_TIME),
            interrupt: None,
        };
        let query = Query { bounds, near: Some(&near), ..Query::new(&model, wish) };
        self.effort.queries += 1;
        match self.solver.find(&query) {
            Answer::No => Asked::No,
            Answer::Unknown { .. } => Asked::Unknown,
            Answer::Yes(found) => {
                for (cell, value) in &found.initial {
                    model.set_initial(*cell, *value);
                }
                let verdict = Evaluator::new(&model).evaluate(&found.order);
                let as_wished = match wish {
                    Wish::Fails => matches!(verdict, Verdict::Fails { .. }),
                    Wish::Passes => verdict == Verdict::Passes,
                };
                if as_wished { Asked::Yes((model, found.order)) } else { Asked::Unknown }
            }
        }
    }

    /// Whose paths come from where.
    fn note(&self, combination: &Combination) -> String {
        let from: Vec<String> = combination
            .foreign
            .iter()
            .map(|part| {
                let (name, source) = (self.pool.get(*part).name(), self.pool.source(*part));
                let source: String =
                    source.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                format!("{name} as in {source}")
            })
            .collect();
        match from.is_empty() {
            true => {
                "no order of the execution that was read fails, as far as is known: this is another that was recorded".to_owned()
            }
            false => format!(
                "no order of one execution was found that fails: paths of several were put together ({})",
                from.join(", ")
            ),
        }
    }
}

/// Which combination is probed next: one that few threads were stuck in before few of its parts were replaced by others that do about
/// as much, then the one met first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Likely {
    rank: usize,
    number: u64,
}

/// What is known of a question.
enum Asked<T = Box<Found>> {
    Yes(T),
    /// Proved.
    No,
    Unknown,
}

/// The conditions that fail otherwise, by their index: where the recorded one is, or it would be another bug.
fn assertions(combined: &Combined, known: &Failure) -> Vec<usize> {
    let line = |place: &Place| (place.file.clone(), place.line);
    let wanted = known.stack.first().map(line);
    let is_it = |condition: &Condition| {
        let site = combined.trace.site(condition.site);
        condition.otherwise == Otherwise::Fails && site.map(|site| line(&site.place)) == wanted
    };
    let conditions = combined.symbolic.conditions.iter().enumerate();
    conditions.filter(|(_, condition)| is_it(condition)).map(|(index, _)| index).collect()
}

/// The combination with one of its assertions as what can fail; with none, nothing can.
fn aimed(combined: &Combined, target: Option<usize>) -> Symbolic {
    let mut symbolic = combined.symbolic.clone();
    let (thread, after, fails) = match target {
        Some(target) => {
            let condition = symbolic.conditions.remove(target);
            (condition.thread, condition.after, symbolic.exprs.not(condition.holds))
        }
        None => {
            let main = combined.trace.events.iter().position(|e| e.thread == ThreadId::MAIN);
            (ThreadId::MAIN, main.unwrap_or(0) as u32, symbolic.exprs.constant(0, 1))
        }
    };
    symbolic.bug = Bug::Condition { thread, after, fails };
    symbolic
}

fn failure(combined: &Combined, symbolic: &Symbolic, known: &Failure) -> Failure {
    let Bug::Condition { thread, after, .. } = symbolic.bug else {
        unreachable!("the combination aims at a condition")
    };
    let site = combined.trace.site(combined.trace.events[after as usize].site);
    Failure {
        kind: known.kind,
        message: "the recorded assertion can fail".to_owned(),
        thread: combined.trace.thread_name(thread).clone(),
        stack: site.map(|site| site.place.clone()).into_iter().collect(),
        related: Vec::new(),
    }
}

fn run(combined: Combined, symbolic: Symbolic, failure: Failure) -> Run {
    Run {
        schedule: Schedule { threads: combined.trace.threads.clone(), ..Schedule::default() },
        outcome: Outcome::Failed(Box::new(failure)),
        steps: combined.trace.events.len() as u64,
        symbolic: Some(Box::new(symbolic)),
        trace: combined.trace,
        ..Run::default()
    }
}

/// Passing runs on other recorded paths, nearest first: with the fewest foreign parts with which there are any.
fn passing(
    pool: &Pool<'_>,
    from: &Combination,
    wanted: Wanted<'_>,
    options: &Options,
) -> Vec<Nearby> {
    let Wanted { failing, reference, solver, many, effort } = wanted;
    let mut search = Search { pool, solver, effort, begun: Instant::now(), options };
    let turns: Vec<ThreadId> = failing.steps().iter().map(|step| step.thread).collect();
    let from = Combination { turns, ..from.clone() };
    let initial = failing.symbolic.as_deref().map_or(&[][..], |symbolic| &symbolic.initial);
    let mut found: Vec<Nearby> = Vec::new();
    for foreign in 1..=MOST_FOREIGN {
        let (combinations, _) = pool.derived(&from, foreign, MOST_COMBINED as usize);
        for combination in combinations {
            if found.len() >= ENOUGH_ELSEWHERE || search.begun.elapsed() > options.goal_time {
                break;
            }
            let observed = search.passes(&combination, initial, &failing.failure);
            let measured = observed.map(|observed| reference.measure(observed, None, GOAL));
            // What does the same and passes was recorded by somebody who calls another thing a failure.
            found.extend(measured.filter(|nearby| !nearby.same_path));
        }
        if !found.is_empty() {
            break;
        }
    }
    found.sort_by_key(rank);
    found.truncate(many);
    found
}

impl Search<'_, '_> {
    /// An order of this combination in which nothing fails, with memory as it was where it failed.
    fn passes(
        &mut self,
        combination: &Combination,
        initial: &[Initial],
        known: &Failure,
    ) -> Option<Observed> {
        let mut combined = combine(&self.pool.traces(combination), &combination.turns).ok()?;
        for cell in &mut combined.symbolic.initial {
            let same =
                |other: &&Initial| other.address == cell.address && other.bytes == cell.bytes;
            cell.value = initial.iter().find(same).map_or(cell.value, |other| other.value);
        }
        let symbolic = aimed(&combined, assertions(&combined, known).first().copied());
        let Asked::Yes((model, order)) = self.order(&combined, &symbolic, Wish::Passes) else {
            return None;
        };
        let mut evaluator = Evaluator::new(&model);
        evaluator.evaluate(&order);
        let choices = evaluator.choices().to_vec();
        let visible = VisibleSet::default();
        Some(Observed {
            schedule: schedule(&model, &combined.trace, &order, choices, &visible),
            trace: reordered(&model, &combined.trace, &symbolic, &evaluator, &order),
            outcome: Outcome::Exited { code: 0 },
        })
    }
}

/// Of a hundred steps, how many are another's than the order says, in walks near an order.
const LEAVE: u32 = 8;

/// Executes all steps, each as soon as it can, in the order they stand in; at so many of a hundred steps any other that can. `None` if that
/// fails or gets stuck.
fn follow(model: &Model, mut rng: Rng, leave: u32) -> Option<Vec<StepId>> {
    let mut evaluator = Evaluator::new(model);
    let mut next = vec![0usize; model.threads()];
    let mut order = Vec::with_capacity(model.len());
    while order.len() < model.len() {
        let mut options: Vec<StepId> = (0..model.threads())
            .filter_map(|thread| {
                model.thread_steps(ThreadId(thread as u32)).get(next[thread]).copied()
            })
            .collect();
        options.sort();
        if leave > 0 && rng.below(100) < leave {
            let first = rng.below(options.len() as u32) as usize;
            options[..=first].rotate_right(1);
        }
        let step = options.into_iter().find(|step| match evaluator.push(*step) {
            None => true,
            Some(_) => {
                evaluator.pop();
                false
            }
        })?;
        order.push(step);
        next[model.owner(step).index()] += 1;
    }
    (evaluator.verdict() == Verdict::Passes).then_some(order)
}
