//! What a combination has that no question here is about, so that the end of a hunt proves less.

use rustc_hash::FxHashMap;
use unravel_trace::{Combined, EventKind, ThreadId, WakeCause};

/// Why an exhausted hunt of this combination would not be a proof.
pub fn gaps(combined: &Combined) -> Vec<&'static str> {
    let events = &combined.trace.events;
    let has = |what: fn(&EventKind) -> bool| events.iter().any(|event| what(&event.kind));
    let mut gaps = Vec::new();
    if has(|kind| matches!(kind, EventKind::Wake { by, .. } if !matches!(by, WakeCause::Signal(_))))
    {
        gaps.push("whether a wait times out is as it was");
    }
    if has(|kind| matches!(kind, EventKind::BarrierArrive { .. })) {
        gaps.push("barriers that some thread never reaches were not asked about");
    }
    if has(|kind| matches!(kind, EventKind::Cancel { .. })) {
        gaps.push("where a cancelled thread ends is as it was");
    }
    if has(|kind| matches!(kind, EventKind::SemWait { .. })) {
        gaps.push("semaphores were asked about one wait at a time, not in cycles");
    }
    if has(|kind| matches!(kind, EventKind::SyncDestroy { .. })) {
        gaps.push("uses of locks and the like after they were destroyed were not asked about");
    }
    if waits_with_lock(combined) {
        gaps.push("threads that hold a lock while they join or initialise were not asked about");
    }
    if several_wait(combined) {
        gaps.push("which of several waiting threads a signal wakes is as it was, where it can be");
    }
    gaps
}

/// Whether a thread joins another, or may wait for an initialiser, while it holds a lock.
fn waits_with_lock(combined: &Combined) -> bool {
    let mut held: FxHashMap<ThreadId, i64> = FxHashMap::default();
    for event in &combined.trace.events {
        let held = held.entry(event.thread).or_default();
        match event.kind {
            EventKind::Lock { .. }
            | EventKind::TryLock { acquired: true, .. }
            | EventKind::Wake { .. } => *held += 1,
            EventKind::Unlock { .. } | EventKind::Wait { .. } => *held -= 1,
            EventKind::Join { .. } | EventKind::Once { .. } if *held > 0 => return true,
            _ => {}
        }
    }
    false
}

/// Whether two threads wait on one condition variable that is signalled.
fn several_wait(combined: &Combined) -> bool {
    let events = &combined.trace.events;
    let waiters = |cond| -> Vec<ThreadId> {
        let waits = events.iter().filter(|event| match event.kind {
            EventKind::Wait { at, .. } => at == cond,
            _ => false,
        });
        let mut threads: Vec<ThreadId> = waits.map(|event| event.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    };
    events.iter().any(|event| match event.kind {
        EventKind::Signal { at, .. } => waiters(at).len() > 1,
        _ => false,
    })
}
