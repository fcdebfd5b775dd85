//! The failing run: replayed, modelled, with fewer context switches.

use rustc_hash::FxHashSet;
use unravel_execute::Laboratory;
use unravel_results::{Effort, Needed, Observed};
use unravel_solve::{CheckId, Evaluator, Model, Verdict};
use unravel_trace::{
    Bug, BugId, Condition, Detail, Deviated, EventKind, Failure, FailureKind, LocationId,
    Otherwise, Place, Request, Run, SiteId, Step, Symbolic, ThreadId, Trace, Wants,
};

use crate::calls::Calls;
use crate::modelled::schedule;
use crate::reduce::reduce;
use crate::world::{Ending, ending};

/// The failing run as everything else sees it.
#[derive(Clone, Debug)]
pub struct Failing {
    pub observed: Observed,
    pub failure: Failure,
    pub bug: BugId,
    pub symbolic: Option<Box<Symbolic>>,
    /// What it had of its environment.
    pub needs: Vec<Needed>,
    /// Where the environment deviated.
    pub deviated: Vec<Deviated>,
    /// Who called its events; empty until somebody asked.
    pub calls: Calls,
}

impl Failing {
    pub fn new(run: Run) -> Option<Failing> {
        let failure = run.outcome.failure()?.clone();
        let (bug, needs) = (failure.id(), Needed::of(&run));
        let observed = Observed { trace: run.trace, schedule: run.schedule, outcome: run.outcome };
        Some(Failing {
            observed,
            failure,
            bug,
            symbolic: run.symbolic,
            needs,
            deviated: run.deviated,
            calls: Calls::default(),
        })
    }

    pub fn steps(&self) -> &[Step] {
        self.symbolic.as_ref().map_or(&[], |s| &s.steps)
    }

    /// What everybody waits for at the end of a run in which nobody can go on. With descriptors the model leaves that to execution, and
    /// the events say as much as they do: who waits on a condition variable has not been woken since. What they say nothing of (locks,
    /// joins, descriptors) is `Wants::Other`, at no site; whoever goes by that has to rule out what it is not.
    pub fn requests(&self) -> Option<Vec<Request>> {
        match &self.symbolic.as_ref()?.bug {
            Bug::Deadlock { requests } => Some(requests.clone()),
            Bug::Opaque if self.failure.kind == FailureKind::Deadlock => {
                let trace = &self.observed.trace;
                let threads = (0..trace.threads.len() as u32).map(ThreadId);
                Some(threads.filter_map(|thread| requested(trace, thread)).collect())
            }
            _ => None,
        }
    }
}

/// What a thread waits for when a run ends, as its last event tells.
fn requested(trace: &Trace, thread: ThreadId) -> Option<Request> {
    let last = trace.events.iter().rposition(|event| event.thread == thread)?;
    let event = &trace.events[last];
    let is_woken = |at: LocationId| {
        trace.events[last..].iter().any(|later| match later.kind {
            EventKind::Signal { at: of, woken } => of == at && woken == Some(thread),
            EventKind::Broadcast { at: of, .. } => of == at,
            _ => false,
        })
    };
    let (site, wants) = match event.kind {
        EventKind::Exit => return None,
        EventKind::Wait { at, mutex } => match is_woken(at) {
            true => (event.site, Wants::Lock { at: mutex, shared: false }),
            false => (event.site, Wants::Wake { at, mutex }),
        },
        _ => (SiteId(u32::MAX), Wants::Other),
    };
    Some(Request { thread, site, wants })
}

/// The model of the failing run, if it says of it what execution said.
pub fn usable_model(failing: &Failing, notes: &mut Vec<String>) -> Option<Model> {
    let symbolic = failing.symbolic.as_ref()?;
    let model = match Model::new(&failing.observed.trace, symbolic) {
        Ok(model) => model,
        Err(error) => {
            let by_rule = matches!(
                failing.failure.kind,
                FailureKind::ExitCode | FailureKind::Output | FailureKind::Check
            );
            notes.push(if by_rule {
                "what counts as this failure is not modelled: everything was executed".to_owned()
            } else {
                format!("the run is not modelled: {error}")
            });
            return None;
        }
    };
    let verdict = Evaluator::new(&model).evaluate(&model.observed()?);
    if matches!(verdict, Verdict::Fails { .. }) {
        return Some(model);
    }
    notes.push(format!(
        "the model does not reproduce the failing run ({verdict}); everything was found by execution"
    ));
    None
}

/// Replaces the failing run by one with fewer context switches, if there is one: that fails in the same way, and may do so earlier; else one that
/// fails at the very same step.
pub fn reduce_switches(lab: &mut Laboratory<'_>, failing: &mut Failing, effort: &mut Effort) {
    let Some(model) = usable_model(failing, &mut Vec::new()) else { return };
    let Some(observed) = model.observed() else { return };
    let earlier = earlier_failures(&model, failing);
    let candidates: [&dyn Fn(CheckId) -> bool; 2] = [&|check| earlier.contains(&check), &|_| false];
    for same in candidates.into_iter().skip(usize::from(earlier.is_empty())) {
        let (order, evaluated) = reduce(&model, &observed, same, lab.limit());
        effort.evaluated += evaluated;
        if order == observed {
            continue;
        }
        let mut evaluator = Evaluator::new(&model);
        evaluator.evaluate(&order);
        let choices = evaluator.choices().to_vec();
        let visible = &failing.observed.schedule.visible;
        let shorter =
            schedule(&model, &failing.observed.trace, evaluator.performed(), choices, visible);
        let run = lab.replay(&shorter, Detail::Symbolic);
        let better = ending(&run.outcome, &failing.bug) == Ending::Failed
            && run.deviated.len() <= failing.deviated.len()
            && run.schedule.context_switches() < failing.observed.schedule.context_switches();
        if better && let Some(new) = Failing::new(run) {
            *failing = new;
            return;
        }
    }
}

/// Checks that the recorded run passed, at the line where it failed at last.
fn earlier_failures(model: &Model, failing: &Failing) -> FxHashSet<CheckId> {
    let line = |place: &Place| (place.file.clone(), place.line);
    let Some(wanted) = failing.failure.stack.first().map(line) else {
        return FxHashSet::default();
    };
    let is_it = |condition: &Condition| {
        let site = failing.observed.trace.site(condition.site);
        condition.otherwise == Otherwise::Fails
            && site.is_some_and(|site| line(&site.place) == wanted)
    };
    let checks = model.checks().iter().enumerate().filter(|(_, condition)| is_it(condition));
    checks.map(|(index, _)| CheckId(index as u32)).collect()
}
