//! Threads that try to take each other's lock and put back their own when they do not get it, in step and for ever.
//!
//! The failing run shows who tried what, who had it then, and that the thread gave its own lock back. *Not modelled*: locks written by
//! hand, and who waits between two attempts. Errs towards silence.

use unravel_results::Pattern;
use unravel_trace::{EventKind, FailureKind, LocationId, Place, ThreadId, Trace};

use crate::failing::Failing;
use crate::held::{Held, held};
use crate::pattern::Words;

/// An attempt to take what another thread has.
struct Attempt {
    tried: usize,
    wanted: LocationId,
    /// What the thread had then, and gave back.
    own: Held,
    /// What the other had.
    other: Held,
}

pub fn describe(failing: &Failing) -> Option<Words> {
    if failing.failure.kind != FailureKind::Livelock {
        return None;
    }
    let trace = &failing.observed.trace;
    let all = held(trace);
    let attempts: Vec<Attempt> = (0..trace.threads.len())
        .filter_map(|thread| last_attempt(trace, &all, ThreadId(thread as u32)))
        .collect();
    // Who wants what the next has, round to the first.
    attempts.iter().find_map(|start| {
        let mut members = vec![start];
        loop {
            let last = members.last()?;
            let next = attempts.iter().find(|next| {
                next.own.thread == last.other.thread && same(trace, next.own.lock, last.wanted)
            })?;
            if next.own.thread == start.own.thread {
                break;
            }
            if members.iter().any(|member| member.own.thread == next.own.thread) {
                return None;
            }
            members.push(next);
        }
        (members.len() > 1).then(|| told(trace, &members)).flatten()
    })
}

fn same(trace: &Trace, one: LocationId, other: LocationId) -> bool {
    trace.address(one) == trace.address(other)
}

/// The last time that a thread tried in vain to take a lock with another one in hand, which it gave back after that.
fn last_attempt(trace: &Trace, all: &[Held], thread: ThreadId) -> Option<Attempt> {
    let tried = (0..trace.events.len()).rev().filter(|index| trace.events[*index].thread == thread);
    tried.into_iter().find_map(|tried| {
        let EventKind::TryLock { at: wanted, acquired: false, .. } = trace.events[tried].kind
        else {
            return None;
        };
        let own = all
            .iter()
            .rfind(|held| held.thread == thread && held.at(tried) && held.released.is_some())?;
        let other = all.iter().find(|held| {
            held.thread != thread && held.at(tried) && same(trace, held.lock, wanted)
        })?;
        Some(Attempt { tried, wanted, own: *own, other: *other })
    })
}

fn told(trace: &Trace, members: &[&Attempt]) -> Option<Words> {
    let place = |index: usize| trace.place(&trace.events[index]);
    let name = |lock: LocationId| trace.location(lock).name.as_str();
    let mut clauses = Vec::new();
    let mut locks: Vec<&str> = Vec::new();
    let mut region: Vec<Place> = Vec::new();
    for member in members {
        let (taken, tried) = (place(member.own.taken)?, place(member.tried)?);
        let back = place(member.own.released?)?;
        clauses.push(format!(
            "{} has {} (since {}), does not get {} at {}, which {} has, and gives {} back at {}",
            trace.thread_name(member.own.thread),
            name(member.own.lock),
            taken.short(),
            name(member.wanted),
            tried.short(),
            trace.thread_name(member.other.thread),
            name(member.own.lock),
            back.short()
        ));
        locks.push(name(member.own.lock));
        region.extend([taken.clone(), tried.clone()]);
    }
    locks.sort_unstable();
    locks.dedup();
    Some(Words {
        pattern: Pattern::Deadlock,
        sentence: format!("{}: in step they begin again for ever", clauses.join("; ")),
        advice: format!("let all threads take these in the same order: {}", locks.join(", ")),
        region,
    })
}
