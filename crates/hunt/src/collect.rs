//! Runs that passed: executed now, as production would, and kept in the database.
//!
//! What threads share is learnt first, from a few runs that may switch anywhere; what the database was made with joins it.
//! A run that fails by itself is put aside: it needs no hunting, but is reported.

use std::time::Instant;

use unravel_database::{Database, DatabaseError};
use unravel_results::RunsSeen;
use unravel_strategies::{Random, YoungestFirst};
use unravel_trace::{
    Detail, Executor, Input, Nondet, Outcome, Rng, Scheduler, ThreadId, VisibleSet, Want,
};

use crate::execute::{Performed, Stage};
use crate::production::Production;

/// Runs at random that look for what is shared, before anything counts.
const LEARNING_RUNS: u64 = 6;
/// So many runs for each one that has to pass, before there are enough that do not.
const MOST_TRIES: u64 = 4;

/// How many runs to look at, and from which seed on.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub runs: u64,
    pub seed: u64,
    /// Values of `__VERIFIER_nondet_*` are drawn anew for each run.
    pub vary_input: bool,
}

impl<E: Executor> Stage<'_, E> {
    /// What threads share, as a few runs show it.
    pub fn learn(&mut self, until: Instant) -> VisibleSet {
        let all = self.executor.all_sites();
        let mut visible = VisibleSet::default();
        let mut schedulers: Vec<Box<dyn Scheduler>> = vec![Box::new(YoungestFirst)];
        for seed in 0..LEARNING_RUNS {
            schedulers.push(Box::new(Random::new(seed)));
        }
        for (number, mut scheduler) in schedulers.into_iter().enumerate() {
            if number > 1 && Instant::now() > until {
                break;
            }
            let want = Want { learn: true, ..Want::only(Detail::Outcome) };
            let input = varied(&self.input, number as u64, self.free != Default::default());
            let mut run = self.executor.run(&input, &all, &mut *scheduler, want);
            self.executions += 1;
            self.judge.judge(&mut run);
            visible.merge(&run.learned);
            if matches!(run.outcome, Outcome::Failed(_)) {
                run.schedule.visible = all.clone();
                let input = run.input(&input);
                self.put_aside(Performed { run, input, parts: Vec::new() });
            }
        }
        // What these runs did not execute may share the same memory.
        self.executor.kin(&visible)
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
            if !go_on(&seen) || self.executor.is_damaged() {
                break;
            }
            let number = wanted.seed + seen.executed;
            let input = varied(&self.input, number, wanted.vary_input);
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
