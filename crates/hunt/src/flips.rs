//! Which branches to flip: the D nearest to an assertion in the schedule that passed (thesis §5.2.2.2).
//!
//! Distance is counted in steps of that schedule, in either direction: what another thread does after the assertion could
//! have come before it. Data flow comes first (Cortex goes by distance alone): a branch that no known write could turn is no
//! candidate, and a branch that decides whether something is written that an assertion depends on, or an assertion is
//! reached at all, goes before one that does not.

use rustc_hash::FxHashSet;
use unravel_trace::{Combined, Condition, ConditionKind, Otherwise, ThreadId};

use crate::values::Values;

/// A branch that could go the other way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// Index into the combination's conditions.
    pub condition: usize,
    pub thread: ThreadId,
    /// Its number in the thread's path.
    pub branch: u32,
    /// Steps between it and the nearest assertion.
    pub distance: u32,
    /// How many nearer branches there are, those that cannot be turned not counted.
    pub rank: u32,
}

/// All branches of a combination that could be flipped, nearest first, and how many data flow rules out.
pub fn candidates(combined: &Combined, values: &Values) -> (Vec<Candidate>, u64) {
    let symbolic = &combined.symbolic;
    let mut step_of = vec![0u32; combined.trace.events.len()];
    for (index, step) in symbolic.steps.iter().enumerate() {
        step.range().for_each(|event| step_of[event] = index as u32);
    }
    let place = |condition: &Condition| step_of.get(condition.after as usize).copied().unwrap_or(0);
    let asserts = |c: &&Condition| c.otherwise == Otherwise::Fails && c.why != ConditionKind::Alive;
    let mut assertions: Vec<u32> =
        symbolic.conditions.iter().filter(asserts).map(&place).collect();
    if assertions.is_empty() {
        assertions.push(symbolic.steps.len() as u32);
    }
    let mut ruled_out = 0;
    let mut found: Vec<Candidate> = Vec::new();
    let mut exprs = symbolic.exprs.clone();
    let mut seen: FxHashSet<(ThreadId, u32)> = FxHashSet::default();
    for (index, condition) in symbolic.conditions.iter().enumerate() {
        let Otherwise::Turns(branch) = condition.otherwise else { continue };
        let turned = exprs.not(condition.holds);
        if !values.may_hold(symbolic, &exprs, turned) {
            ruled_out += 1;
            continue;
        }
        if !seen.insert((condition.thread, branch)) {
            continue;
        }
        let at = place(condition);
        let distance = assertions.iter().map(|other| other.abs_diff(at)).min().unwrap_or(0);
        let thread = condition.thread;
        found.push(Candidate { condition: index, thread, branch, distance, rank: 0 });
    }
    found.sort_by_key(|candidate| (candidate.distance, candidate.thread, candidate.branch));
    for (rank, candidate) in found.iter_mut().enumerate() {
        candidate.rank = rank as u32 + 1;
    }
    (found, ruled_out)
}

/// A branch that was turned.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Turned {
    pub thread: unravel_trace::ThreadName,
    pub site: unravel_trace::SiteId,
    pub branch: u32,
}
