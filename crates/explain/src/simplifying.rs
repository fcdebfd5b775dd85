//! The failing run made simple before it is diagnosed: a diagnosis of a few switches is one that a person can follow.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use unravel_execute::Judge;
use unravel_explore::Finding;
use unravel_simplify::{Budget, simplify};
use unravel_trace::{Executor, Input, Run};

/// Simplifying may take this part of a diagnosis' time, and no more than this.
const SHARE: u32 = 4;
const MOST: Duration = Duration::from_secs(3);
/// Executions of the search for fewer switches that is exact: a tenth of what the command itself spends.
const PROOF_EXECUTIONS: u64 = 20_000;
const PROOF_STEPS: u64 = 60_000_000;

/// A finding's run, simplified if that is possible.
pub fn simplified<E: Executor>(
    executor: &mut E,
    judge: &mut Judge,
    input: &Input,
    finding: &Finding,
    deadline: Instant,
    interrupted: &AtomicBool,
) -> Run {
    let left = deadline.saturating_duration_since(Instant::now());
    let budget = Budget {
        proof_executions: PROOF_EXECUTIONS,
        proof_steps: PROOF_STEPS,
        until: Some(Instant::now() + MOST.min(left / SHARE)),
        ..Budget::default()
    };
    let mut watch = |_: &_| !interrupted.load(Ordering::Relaxed);
    match simplify(executor, judge, input, &finding.run, &budget, &mut watch) {
        Ok(simple) => simple.run,
        // The diagnosis will say that it does not fail again.
        Err(_) => finding.run.clone(),
    }
}
