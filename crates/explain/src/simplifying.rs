//! The failing run made simple before it is diagnosed: a diagnosis of a few switches is one that a person can follow.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use unravel_execute::clock;
use unravel_explore::Finding;
use unravel_simplify::{Budget, simplify};
use unravel_trace::{Executor, Input, Run};

use crate::budgets::{LONG, MOST_SIMPLIFYING, PROOF_EXECUTIONS, PROOF_WORK, SIMPLIFYING_SHARE};

/// A finding's run, simplified if that is possible.
pub fn simplified(
    executor: &mut dyn Executor,
    input: &Input,
    finding: &Finding,
    deadline: Instant,
    interrupted: &AtomicBool,
) -> Run {
    let left = deadline.saturating_duration_since(clock::now());
    // Of a long run nothing else can be told before it is simple.
    let most = match finding.run.schedule.events() > LONG {
        true => left / 2,
        false => MOST_SIMPLIFYING.min(left / SIMPLIFYING_SHARE),
    };
    let budget = Budget {
        proof_executions: PROOF_EXECUTIONS,
        proof_steps: PROOF_WORK,
        until: Some(clock::now() + most),
        ..Budget::default()
    };
    let mut watch = |_: &_| !interrupted.load(Ordering::Relaxed);
    match simplify(executor, input, &finding.run, &budget, &mut watch) {
        Ok(simple) => simple.run,
        // The diagnosis will say that it does not fail again.
        Err(_) => finding.run.clone(),
    }
}
