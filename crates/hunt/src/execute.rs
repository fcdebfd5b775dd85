//! Executes what the solver promised. Nothing is reported that was not.
//!
//! The order is tried with as few context switches as fail in the model, then as it was found. If neither fails, the first
//! thing that went another way says why: a branch that depends on something the model does not have, a thread that could not
//! run when it should.

use unravel_diagnose::{Steps, reduce_fully};
use unravel_execute::{Divergence, Laboratory, Replay};
use unravel_results::InputValue;
use unravel_trace::{
    Capability, Combined, Detail, FreeInput, Input, Nondet, Outcome, Run, Schedule, ThreadTrace,
    VisibleSet, Want, separate,
};

use crate::ask::Promise;

/// The program, and how it is run.
pub struct Stage<'a> {
    pub lab: Laboratory<'a>,
    pub free: FreeInput,
    /// What turned out to be shared that is not visible.
    pub learned: VisibleSet,
    /// Runs that failed by themselves, one for each bug.
    pub failed: Vec<Performed>,
}

/// A run, and what its threads did.
#[derive(Debug)]
pub struct Performed {
    pub run: Run,
    pub input: Input,
    /// Empty if it could not be taken apart.
    pub parts: Vec<ThreadTrace>,
}

impl Performed {
    /// The values of its input, where they were symbols.
    pub fn values(&self) -> Vec<InputValue> {
        let cells = self.run.symbolic.iter().flat_map(|symbolic| &symbolic.inputs);
        cells.map(InputValue::from).collect()
    }
}

/// What became of a promise.
#[derive(Debug)]
pub enum Kept {
    Failed(Box<Performed>),
    /// It passed: as it should, if a flip was promised. Where the run left the order, if it did.
    Passed(Box<Performed>, Option<Divergence>),
    /// Neither: why.
    Refused(String),
}

impl Stage<'_> {
    /// One run, taken apart.
    pub fn perform(
        &mut self,
        input: &Input,
        scheduler: &mut dyn unravel_trace::Scheduler,
    ) -> Performed {
        let learn = self.lab.can(Capability::Learn);
        let want = Want { free: self.free, learn, ..Want::only(Detail::Separable) };
        let visible = self.lab.visible().clone();
        let run = self.lab.run_with(input, &visible, scheduler, &mut (), want);
        self.learned.merge(&run.learned.without(&visible));
        let parts = separate(&run, &run.branches(), &[]).unwrap_or_default();
        let mut input = run.input(input);
        if run.nondet.is_empty() {
            // Values that the program did not ask for make no difference.
            input.nondet = self.lab.input().nondet.clone();
        }
        Performed { run, input, parts }
    }

    /// The same run again.
    pub fn again(&mut self, schedule: &Schedule, input: &Input, detail: Detail) -> Run {
        let mut replay = Replay::new(schedule);
        self.lab.run_with(input, &schedule.visible, &mut replay, &mut (), Want::only(detail))
    }

    /// A run failed that nobody asked to. Kept if it is the first with its bug.
    pub fn put_aside(&mut self, performed: Performed) {
        let bug = |performed: &Performed| performed.run.outcome.failure().map(|f| f.id());
        if !self.failed.iter().any(|other| bug(other) == bug(&performed)) {
            self.failed.push(performed);
        }
    }

    /// The input that a promise needs.
    pub fn input_for(&self, base: &Input, promise: &Promise) -> Input {
        if promise.inputs.is_empty() {
            return base.clone();
        }
        let cells: Vec<_> = promise.inputs.iter().map(|(cell, _)| cell.clone()).collect();
        let value = |cell: &unravel_trace::InputCell| {
            let known = promise.inputs.iter().find(|(other, _)| other.address == cell.address);
            known.map_or(cell.value, |(_, value)| *value)
        };
        let base = Input { nondet: Nondet::default(), ..base.clone() };
        base.with_values(&cells, &value)
    }

    /// Executes a promise. `base` is the input of the run it was derived from.
    pub fn execute(&mut self, base: &Input, promise: &Promise) -> Kept {
        let input = self.input_for(base, promise);
        let (reduced, _) = reduce_fully(&promise.model, promise.order.clone());
        let steps = Steps {
            model: &promise.model,
            trace: &promise.cut.trace,
            symbolic: &promise.cut.symbolic,
            unscheduled: &promise.cut.unscheduled,
        };
        let mut last = None;
        let mut schedules: Vec<Schedule> = Vec::new();
        for order in [&promise.order, &reduced] {
            let schedule = steps.schedule(order, self.lab.visible());
            if schedules.contains(&schedule) {
                continue;
            }
            let mut replay = Replay::new(&schedule);
            let performed = self.perform(&input, &mut replay);
            if matches!(performed.run.outcome, Outcome::Failed(_)) {
                return Kept::Failed(Box::new(performed));
            }
            let divergence = replay.divergence();
            last.get_or_insert((performed, divergence));
            schedules.push(schedule);
        }
        match last {
            Some((performed, divergence))
                if matches!(performed.run.outcome, Outcome::Exited { .. }) =>
            {
                Kept::Passed(Box::new(performed), divergence)
            }
            Some((performed, divergence)) => Kept::Refused(match divergence {
                Some(divergence) => format!("{}; {divergence}", performed.run.outcome),
                None => performed.run.outcome.to_string(),
            }),
            None => Kept::Refused("there is nothing to execute".to_owned()),
        }
    }
}

/// Why a run that should have failed passed: the first branch at which a thread went another way than in the combination.
pub fn departure(combined: &Combined, parts: &[&ThreadTrace], performed: &Performed) -> String {
    for expected in parts {
        let name = expected.name();
        let Some(actual) = performed.parts.iter().find(|part| part.name() == name) else {
            return format!("{name} did nothing");
        };
        let same = expected.path.iter().zip(&actual.path).take_while(|(a, b)| a == b).count();
        if same < expected.path.len() && same < actual.path.len() {
            let index = same as u32;
            let turns = |c: &&unravel_trace::Condition| c.otherwise.branch() == Some(index);
            let condition = expected.symbolic.conditions.iter().find(turns);
            let place = condition.and_then(|c| combined.trace.site(c.site));
            return match place {
                Some(site) => format!("{name} takes another branch at {}", site.place.short()),
                None => format!("{name} takes another branch, on something that is not watched"),
            };
        }
    }
    "every thread takes its path, but the failure does not show".to_owned()
}
