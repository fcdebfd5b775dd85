//! What a combination has that no question here is about, so that the end of a hunt proves less.

use rustc_hash::FxHashMap;
use unravel_results::HuntGap;
use unravel_trace::{Combined, EventKind, ThreadId, WakeCause};

/// Why an exhausted hunt of this combination would not be a proof.
pub fn gaps(combined: &Combined) -> Vec<HuntGap> {
    let events = &combined.trace.events;
    let has = |what: fn(&EventKind) -> bool| events.iter().any(|event| what(&event.kind));
    let mut gaps = Vec::new();
    if has(|kind| matches!(kind, EventKind::Wake { by, .. } if !matches!(by, WakeCause::Signal(_))))
    {
        gaps.push(HuntGap::Timeouts);
    }
    if has(|kind| matches!(kind, EventKind::BarrierArrive { .. })) {
        gaps.push(HuntGap::Barriers);
    }
    if has(|kind| matches!(kind, EventKind::Cancel { .. })) {
        gaps.push(HuntGap::Cancellation);
    }
    if has(|kind| matches!(kind, EventKind::Descriptor { .. })) {
        gaps.push(HuntGap::Descriptors);
    }
    if has(|kind| matches!(kind, EventKind::SemWait { .. })) {
        gaps.push(HuntGap::SemaphoreCycles);
    }
    if has(|kind| matches!(kind, EventKind::SyncDestroy { .. })) {
        gaps.push(HuntGap::Destroyed);
    }
    if waits_with_lock(combined) {
        gaps.push(HuntGap::WaitsWithLock);
    }
    if several_wait(combined) {
        gaps.push(HuntGap::Waiters);
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
