//! A wait for one of several reasons, after which nobody looks again: the reason that it waited for is over when it is woken, and
//! another has come before it has the lock.
//!
//! `recheck.rs` evaluates the condition as it was looked at. Another reason is looked at on another way, or was not looked at at all
//! (`a || b` stops at `a`), so here it is executed: a run in which the other has done what it did before the waiter looks. If the
//! waiter waits there, at the same place and for what holds when it goes on in the failing run, it would have had to wait again. That
//! this is what makes it fail is tried like any order: with the other behind the wake-up, nothing fails.
//!
//! *Not modelled*: who takes the lock at the same place as the waiter (another of its kind). Errs towards silence.

use unravel_results::{Evidence, Kept, Pattern};
use unravel_trace::{
    Event, EventKind, Mark, Place, Shield, ThreadId, ThreadTag, Trace, Value, WakeCause,
};

use super::naming::writes;
use super::recheck::Waiting;
use super::samples::{read, written};
use super::trial::Trials;
use crate::budgets::{MOST_TAKERS, MOST_WAITS};
use crate::failing::Failing;
use crate::pattern::Words;

pub fn describe(trials: &mut Trials<'_>, failing: &Failing) -> Option<(Words, Evidence)> {
    let trace = &failing.observed.trace;
    let wakes = (0..trace.events.len()).rev().filter(|index| {
        matches!(trace.events[*index].kind, EventKind::Wake { by: WakeCause::Signal(_), .. })
    });
    let waits: Vec<Waiting> =
        wakes.filter_map(|wake| Waiting::ended_by(trace, wake)).take(MOST_WAITS).collect();
    waits.iter().find_map(|waiting| {
        takers(trace, waiting).into_iter().find_map(|taker| of(trials, trace, waiting, taker))
    })
}

/// What others write while a thread waits, the last of each location, the latest first.
fn takers(trace: &Trace, waiting: &Waiting) -> Vec<usize> {
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for index in (waiting.wait..waiting.wake).rev() {
        let event = &trace.events[index];
        let at = event.kind.location().filter(|_| writes(&event.kind));
        let Some(address) = at.map(|at| trace.address(at)) else { continue };
        if event.thread != waiting.thread && !seen.contains(&address) {
            seen.push(address);
            found.push(index);
        }
    }
    found.truncate(MOST_TAKERS);
    found
}

fn of(
    trials: &mut Trials<'_>,
    trace: &Trace,
    waiting: &Waiting,
    taker: usize,
) -> Option<(Words, Evidence)> {
    let mark = |index: usize| Mark::of_event(trace, &trace.events[index]);
    let tag = |index: usize| ThreadTag::of(trace.thread_name(trace.events[index].thread));
    if !trials.may_go_on() || !matches!(trace.events[waiting.lock].kind, EventKind::Lock { .. }) {
        return None;
    }
    let entered = enters(trace, waiting, taker)?;
    let before = Shield::Between {
        first: mark(taker),
        of: tag(taker),
        then: mark(waiting.lock),
        by: tag(waiting.lock),
    };
    let run = trials.passing_trace(&[before]).or_else(|| trials.failing_trace(&[before], 0))?;
    let check = waits_too(trace, waiting, taker, &run)?;
    // Waiting and going on are two events at one place. Who waits where the other enters, too, cannot be told from it.
    let (woken, entry) = (mark(waiting.wake), mark(entered));
    if entry == mark(waiting.lock) {
        return None;
    }
    let times = 1 + u32::from(woken == mark(waiting.wait));
    let after = Shield::Order { first: woken, times, then: entry };
    let is_promising = trials.quickly(&[after]).is_promising();
    let trial = is_promising.then(|| trials.thoroughly(&[after]))?;
    let place = |index: usize| trace.place(&trace.events[index]);
    let kept = Kept {
        shield: after,
        from: place(waiting.wake).or_else(|| place(waiting.wait))?.clone(),
        to: place(entered)?.clone(),
    };
    let words = trial.is_gone().then(|| told(trace, waiting, taker, &check))??;
    Some((words, trial.evidence(vec![kept])))
}

/// Where the other took the lock of the waiter for what it wrote.
fn enters(trace: &Trace, waiting: &Waiting, taker: usize) -> Option<usize> {
    let EventKind::Wake { mutex, .. } = trace.events[waiting.wake].kind else { return None };
    let thread = trace.events[taker].thread;
    (waiting.wait..taker).rev().find(|index| {
        let event = &trace.events[*index];
        event.thread == thread
            && matches!(event.kind, EventKind::Lock { at, .. } if trace.address(at) == trace.address(mutex))
    })
}

/// What a location holds when the waiter goes on in the failing run, if the run tells.
fn value_at(trace: &Trace, address: u64, until: usize) -> Option<&Value> {
    let is_there =
        |event: &&Event| event.kind.location().is_some_and(|at| trace.address(at) == address);
    let before = trace.events[..until].iter().rev().filter(is_there);
    let known = before.into_iter().find_map(|event| written(&event.kind).or(read(&event.kind)));
    // Nobody had touched it: it is what the first to read it finds.
    let later = || trace.events[until..].iter().find(is_there).and_then(|event| read(&event.kind));
    known.or_else(later)
}

/// The place where the waiter looks at what the other wrote, if it then waits in this run for what holds when it goes on in the
/// failing one.
fn waits_too(trace: &Trace, waiting: &Waiting, taker: usize, run: &Trace) -> Option<Place> {
    let name = trace.thread_name(waiting.thread);
    let me = (0..run.threads.len())
        .map(|thread| ThreadId(thread as u32))
        .find(|thread| run.thread_name(*thread) == name)?;
    let mark = |index: usize| Mark::of_event(trace, &trace.events[index]);
    let is = |index: &usize, of: Mark| {
        run.events[*index].thread == me && Mark::of_event(run, &run.events[*index]) == of
    };
    let lock = (0..run.events.len()).find(|index| is(index, mark(waiting.lock)))?;
    let wait = (lock..run.events.len()).find(|index| is(index, mark(waiting.wait)))?;
    let taken = trace.address(trace.events[taker].kind.location()?);
    let mut check = None;
    for event in run.events[lock..wait].iter().filter(|event| event.thread == me) {
        if matches!(event.kind, EventKind::Unlock { .. }) {
            return None;
        }
        let (Some(at), Some(seen)) = (event.kind.location(), read(&event.kind)) else { continue };
        let address = run.address(at);
        if value_at(trace, address, waiting.wake) != Some(seen) {
            return None;
        }
        if address == taken {
            check = run.place(event).cloned();
        }
    }
    check
}

fn told(trace: &Trace, waiting: &Waiting, taker: usize, check: &Place) -> Option<Words> {
    let place = |index: usize| trace.place(&trace.events[index]);
    let (wait, taken) = (place(waiting.wait)?, place(taker)?);
    let (me, other) =
        (trace.thread_name(waiting.thread), trace.thread_name(trace.events[taker].thread));
    let at = trace.location(trace.events[taker].kind.location()?);
    let (what, value) = (at.shown(), at.show(written(&trace.events[taker].kind)?));
    Some(Words {
        pattern: Pattern::MissedRecheck,
        sentence: format!(
            "{me} is woken at {}, but {other} has written {what} = {value} at {} before {me} has the lock again, for which it would have to \
             wait as well ({}); it goes on as if nothing were in its way",
            wait.short(),
            taken.short(),
            check.short()
        ),
        advice: format!(
            "look at {what} again after the wait at {}: `while` instead of `if` at {}",
            wait.short(),
            check.short()
        ),
        region: vec![check.clone(), wait.clone()],
    })
}
