//! Runs that passed: executed now, as production would, and kept in the database.
//!
//! What threads share is learnt first, from a few runs that may switch anywhere; what the database was made with joins it.
//! A run that fails by itself is put aside: it needs no hunting, but is reported.
//!
//! The first phase of Cortex (thesis §5.2.1). Runs come from production if there are logs of it (`unravel-rebuild` makes
//! schedules of them), else they are executed here. Deviates: traces are concolic ones, made in an execution, not rebuilt from
//! logged paths alone.

use std::time::Instant;
use unravel_strategies::Production;

use unravel_database::{Database, DatabaseError};
use unravel_execute::{Lesson, Recount};
use unravel_results::RunsSeen;
use unravel_trace::{FreeInput, Input, Nondet, Outcome, Rng, ThreadId, VisibleSet};

use crate::budgets::MOST_TRIES;
use crate::execute::{Performed, Stage};
use crate::hunt::Recorded;

/// How many runs to look at, and from which seed on.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub runs: u64,
    pub seed: u64,
    /// Values of `__VERIFIER_nondet_*` are drawn anew for each run.
    pub vary_input: bool,
}

impl Stage<'_> {
    /// What threads share, as a few runs show it.
    pub fn learn(&mut self, until: Instant) -> VisibleSet {
        let vary = self.free != FreeInput::None;
        let lesson = Lesson { until: Some(until), ..Lesson::default() };
        let mut failed = Vec::new();
        let shared = self.lab.learn(
            &lesson,
            |input, number| varied(input, number, vary),
            |run, input| {
                if matches!(run.outcome, Outcome::Failed(_)) {
                    let input = run.input(&input);
                    failed.push(Performed { run, input, parts: Vec::new() });
                }
            },
        );
        failed.into_iter().for_each(|performed| self.put_aside(performed));
        // What these runs did not execute may share the same memory.
        self.lab.executor().sites().kin(&shared)
    }

    /// Executes until enough runs have passed.
    pub fn collect(
        &mut self,
        database: &mut Database,
        wanted: Wanted,
        go_on: &mut dyn FnMut(&RunsSeen) -> bool,
    ) -> Result<RunsSeen, DatabaseError> {
        let mut seen = RunsSeen::default();
        while seen.passing < wanted.runs && seen.executed < wanted.runs * MOST_TRIES {
            if !go_on(&seen) || !self.lab.may_go_on() {
                break;
            }
            let number = wanted.seed + seen.executed;
            let input = varied(self.lab.input(), number, wanted.vary_input);
            let mut scheduler = Production::new(Rng::derive(7, number));
            let performed = self.perform(&input, &mut scheduler);
            seen.executed += 1;
            match performed.run.outcome {
                Outcome::Exited { .. } => {
                    seen.passing += 1;
                    keep(database, performed, format!("seed {number}"))?;
                }
                Outcome::Failed(_) => {
                    seen.failing += 1;
                    self.put_aside(performed);
                }
                Outcome::Discarded | Outcome::Inconclusive { .. } => seen.unusable += 1,
            }
        }
        Ok(seen)
    }
}

impl Stage<'_> {
    /// Executes runs that passed somewhere else once more, with all visible that is known to be shared.
    pub fn collect_recorded(
        &mut self,
        database: &mut Database,
        recorded: &[Recorded],
        go_on: &mut dyn FnMut(&RunsSeen) -> bool,
    ) -> Result<RunsSeen, DatabaseError> {
        let mut seen = RunsSeen::default();
        for Recorded { schedule, input, from } in recorded {
            if !go_on(&seen) || !self.lab.may_go_on() {
                break;
            }
            let performed = self.perform(input, &mut Recount::new(schedule));
            seen.executed += 1;
            match performed.run.outcome {
                Outcome::Exited { .. } => {
                    seen.passing += 1;
                    keep(database, performed, from.clone())?;
                }
                Outcome::Failed(_) => {
                    seen.failing += 1;
                    self.put_aside(performed);
                }
                Outcome::Discarded | Outcome::Inconclusive { .. } => seen.unusable += 1,
            }
        }
        Ok(seen)
    }
}

/// Another input for each run, where the program may be given any.
fn varied(input: &Input, number: u64, vary: bool) -> Input {
    match (&input.nondet, vary) {
        (Nondet::Seed(seed), true) => {
            let nondet = Nondet::Seed(Rng::derive(*seed, number));
            Input { nondet, ..input.clone() }
        }
        _ => input.clone(),
    }
}

/// Puts a run into the database; its number there.
pub fn keep(
    database: &mut Database,
    performed: Performed,
    from: String,
) -> Result<usize, DatabaseError> {
    let turns = turns(&performed);
    let Performed { run, input, parts } = performed;
    Ok(database.add(parts, turns, run.schedule, input, from)?.run)
}

/// Whose step each step of a run is.
pub fn turns(performed: &Performed) -> Vec<ThreadId> {
    let steps = performed.run.symbolic.iter().flat_map(|symbolic| &symbolic.steps);
    steps.map(|step| step.thread).collect()
}
