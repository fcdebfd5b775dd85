//! The failing run: replayed, modelled, with fewer context switches.

use unravel_execute::Laboratory;
use unravel_results::{Effort, Needed, Observed};
use unravel_solve::{Evaluator, Model, Verdict};
use unravel_trace::{BugId, Detail, Deviated, Failure, FailureKind, Run, Step, Symbolic};

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

/// Replaces the failing run by one with fewer context switches, if there is one.
pub fn reduce_switches(lab: &mut Laboratory<'_>, failing: &mut Failing, effort: &mut Effort) {
    let Some(model) = usable_model(failing, &mut Vec::new()) else { return };
    let Some(observed) = model.observed() else { return };
    let (order, evaluated) = reduce(&model, &observed, lab.limit());
    effort.evaluated += evaluated;
    if order == observed {
        return;
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
    }
}
