//! The failing run made simple before it is diagnosed: a diagnosis of a few switches is one that a person can follow.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use unravel_explore::{Finding, Judge};
use unravel_simplify::{Budget, Optimality, Simplified, simplify};
use unravel_trace::{Executor, Input, Run};

/// Simplifying may take this part of a diagnosis' time, and no more than this.
const SHARE: u32 = 4;
const MOST: Duration = Duration::from_secs(3);
/// Executions of the proof that no schedule has fewer switches: a tenth of what the command itself spends.
const PROOF_EXECUTIONS: u64 = 20_000;
const PROOF_STEPS: u64 = 60_000_000;

/// A finding's run, simplified if that is possible, and what is to be said of it if it was proved to be the simplest.
pub fn simplified<E: Executor>(
    executor: &mut E,
    judge: &mut Judge,
    input: &Input,
    finding: &Finding,
    deadline: Instant,
    interrupted: &AtomicBool,
) -> (Run, Option<Simplest>) {
    let left = deadline.saturating_duration_since(Instant::now());
    let budget = Budget {
        proof_executions: PROOF_EXECUTIONS,
        proof_steps: PROOF_STEPS,
        until: Some(Instant::now() + MOST.min(left / SHARE)),
        ..Budget::default()
    };
    let mut watch = |_: &_| !interrupted.load(Ordering::Relaxed);
    match simplify(executor, judge, input, &finding.run, &budget, &mut watch) {
        Ok(simple) => {
            let simplest = Simplest::of(&simple);
            (simple.run, simplest)
        }
        // The diagnosis will say that it does not fail again.
        Err(_) => (finding.run.clone(), None),
    }
}

/// A run that no failing schedule has fewer context switches than.
#[derive(Debug)]
pub struct Simplest {
    switches: usize,
}

impl Simplest {
    fn of(simple: &Simplified) -> Option<Simplest> {
        let proved = matches!(
            simple.optimality,
            Optimality::ProvedMinimal | Optimality::FewestSwitches { .. }
        );
        proved.then_some(Simplest { switches: simple.after.all() })
    }

    /// What to say if the diagnosis is about a run with so many switches.
    pub fn note(&self, switches: usize) -> Option<String> {
        (switches == self.switches).then(|| {
            format!("the failing schedule is proved minimal: no schedule fails so with fewer than {switches} context switches")
        })
    }
}
