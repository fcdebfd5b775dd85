//! A condition that is not looked at again: somebody is woken, but what it was woken for is gone before it has the lock.
//!
//! Claimed from the failing run alone, and therefore only if all of this is there: the thread read a value under the lock and waited;
//! it was signalled; others changed that value and it is, when the thread goes on, what it had waited for to change; the thread does
//! not wait again, as it would if it looked; and the failure is its own, or depends on that value.

use unravel_results::Pattern;
use unravel_trace::{EventKind, LocationId, Place, Trace, WakeCause};

use super::naming::writes;
use super::samples::written;
use crate::failing::Failing;
use crate::pattern::Words;
use crate::points::{Extents, Touch};
use crate::relevance::Relevance;

/// The condition, where it was looked at and waited for, who took it away and where it is used.
struct Missed {
    at: LocationId,
    check: usize,
    wait: usize,
    wake: usize,
    taker: usize,
    used: Option<usize>,
}

pub fn missed(failing: &Failing, relevance: &Relevance, extents: &Extents) -> Option<Words> {
    let trace = &failing.observed.trace;
    let wakes = (0..trace.events.len()).rev().filter(|index| {
        matches!(trace.events[*index].kind, EventKind::Wake { by: WakeCause::Signal(_), .. })
    });
    let missed = wakes.filter_map(|wake| after(trace, wake)).find(|missed| {
        let own = *trace.thread_name(trace.events[missed.wake].thread) == failing.failure.thread;
        let touch = Touch::of_event(trace, &trace.events[missed.check]);
        own || relevance.rank(&touch, extents) < 2
    })?;
    told(trace, &missed)
}

/// What was missed after one waking.
fn after(trace: &Trace, wake: usize) -> Option<Missed> {
    let EventKind::Wake { at: cond, mutex, .. } = trace.events[wake].kind else { return None };
    let thread = trace.events[wake].thread;
    let own = |index: &usize| trace.events[*index].thread == thread;
    let waits = |index: &usize| {
        own(index) && matches!(trace.events[*index].kind, EventKind::Wait { at, .. } if at == cond)
    };
    let wait = (0..wake).rev().find(waits)?;
    let takes = |index: &usize| match trace.events[*index].kind {
        EventKind::Lock { at, .. } => at == mutex,
        EventKind::Wake { mutex: taken, .. } => taken == mutex,
        _ => false,
    };
    let lock = (0..wait).rev().find(|index| own(index) && takes(index)).unwrap_or(0);
    let leaves = |index: &usize| {
        own(index) && matches!(trace.events[*index].kind, EventKind::Unlock { at } if at == mutex)
    };
    // Who looks again finds that it has to wait again, with the lock still held.
    let left = (wake + 1..trace.events.len()).find(leaves).unwrap_or(trace.events.len());
    if (wake + 1..left).any(|index| waits(&index)) {
        return None;
    }
    (lock..wait).rev().filter(own).find_map(|check| {
        let EventKind::Read { at, value: seen } = &trace.events[check].kind else { return None };
        let is_it = |index: &usize| trace.events[*index].kind.location() == Some(*at);
        let changes = || {
            (wait..wake)
                .filter(|i| !own(i))
                .filter(is_it)
                .filter(|i| writes(&trace.events[*i].kind))
        };
        let taker = changes().next_back().filter(|_| changes().count() > 1)?;
        let used = (wake + 1..left).filter(own).find(is_it);
        let is_back = written(&trace.events[taker].kind) == Some(seen);
        is_back.then_some(Missed { at: *at, check, wait, wake, taker, used })
    })
}

fn told(trace: &Trace, missed: &Missed) -> Option<Words> {
    let place = |index: usize| trace.place(&trace.events[index]);
    let thread = |index: usize| trace.thread_name(trace.events[index].thread);
    let (wait, check, taken) = (place(missed.wait)?, place(missed.check)?, place(missed.taker)?);
    let used: &Place = missed.used.and_then(place).unwrap_or(wait);
    let value = written(&trace.events[missed.taker].kind)?;
    let (me, other) = (thread(missed.wake), thread(missed.taker));
    let what = &trace.location(missed.at).name;
    Some(Words {
        pattern: Pattern::MissedRecheck,
        sentence: format!(
            "{me} is woken at {}, but {other} sets {what} back to {value} at {} before {me} has the lock again; {me} goes on at {} as if \
             it were not",
            wait.short(),
            taken.short(),
            used.short()
        ),
        advice: format!(
            "look at {what} again after the wait at {}: `while` instead of `if` at {}",
            wait.short(),
            check.short()
        ),
        region: vec![check.clone(), wait.clone()],
    })
}
