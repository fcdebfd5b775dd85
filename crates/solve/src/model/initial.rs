//! What sync objects were like when recording began, where the trace does not list it.
//!
//! Taken from the recorded order: the smallest value of a semaphore that lets its waits go on, the most threads for
//! a barrier that explain who left it, a lock held by whoever releases it without having taken it. Without an
//! order, from each thread alone. A guess, but one under which the recorded order is feasible.

use unravel_trace::{KnownOrder, SyncState, ThreadId};

use super::{Model, Op, StepId, SyncFamily, SyncObject};

pub(super) fn infer(model: &mut Model) {
    let mut objects = std::mem::take(&mut model.syncs);
    for object in &mut objects {
        match object.family {
            SyncFamily::Lock => infer_lock(object, model),
            SyncFamily::Semaphore if object.initial.is_empty() => infer_semaphore(object, model),
            SyncFamily::Barrier if object.initial.is_empty() => infer_barrier(object, model),
            SyncFamily::Once if object.initial.is_empty() => {
                let won = |(_, op): &(StepId, Op)| matches!(op, Op::OnceEnter { won: true, .. });
                let entered = |(s, op): &(StepId, Op)| {
                    matches!(op, Op::OnceEnter { .. }) && !model.is_request(*s)
                };
                if object.ops.iter().any(entered) && !object.ops.iter().any(won) {
                    object.initial.push(SyncState::Done);
                }
            }
            _ => {}
        }
    }
    model.syncs = objects;
}

fn infer_lock(object: &mut SyncObject, model: &Model) {
    let listed = !object.initial.is_empty();
    let observed = model.order == KnownOrder::Observed;
    let mut holders: Vec<(ThreadId, bool)> = Vec::new();
    for state in &object.initial {
        if let SyncState::Held { by, shared } = *state {
            holders.push((by, shared));
        }
    }
    let (mut seen_shared, mut untouched) = (false, !listed);
    for (step, op) in &object.ops {
        let me = model.owner(*step);
        let refused = match op {
            Op::TryAcquire { acquired, .. } => !acquired,
            _ => model.is_request(*step),
        };
        if refused && untouched && observed {
            // Though nobody took it: whoever ran before recording began holds it.
            object.initial.push(SyncState::Held { by: ThreadId::MAIN, shared: false });
            holders.push((ThreadId::MAIN, false));
        }
        untouched = false;
        if refused {
            continue;
        }
        if let Some((_, shared)) = op.takes() {
            holders.push((me, shared));
            seen_shared |= shared;
        } else if matches!(op, Op::Release { .. }) {
            if let Some(mine) = holders.iter().rposition(|(by, _)| *by == me) {
                holders.remove(mine);
                continue;
            }
            let others_only_share = holders.iter().all(|(_, shared)| *shared);
            if listed || (observed && !others_only_share) {
                // A spin lock that one thread takes and another gives back.
                object.regular = false;
                holders.pop();
            } else {
                let shared = seen_shared || !holders.is_empty() && observed;
                object.initial.push(SyncState::Held { by: me, shared });
            }
        }
    }
}

fn infer_semaphore(object: &mut SyncObject, model: &Model) {
    let observed = model.order == KnownOrder::Observed;
    if !observed && object.ops.iter().any(|(_, op)| matches!(op, Op::SemInit { .. })) {
        return;
    }
    let (mut value, mut least) = (0i64, 0i64);
    let mut used = false;
    let mut empty_at = None;
    for (step, op) in &object.ops {
        match op {
            Op::SemInit { .. } => {
                if !used {
                    return;
                }
                break;
            }
            // Who did not get it saw it at 0.
            Op::SemAcquire { .. } if model.is_request(*step) => empty_at = Some(value),
            Op::SemTryAcquire { acquired: false, .. } => empty_at = Some(value),
            Op::SemAcquire { .. } | Op::SemTryAcquire { acquired: true, .. } => value -= 1,
            Op::SemPost { .. } => value += 1,
            _ => {}
        }
        used = true;
        least = least.min(value);
    }
    let needed = match empty_at {
        Some(then) if observed => (-then).max(-least),
        _ if observed => -least,
        _ => (-value).max(0),
    };
    object.initial.push(SyncState::Semaphore(needed as u32));
}

fn infer_barrier(object: &mut SyncObject, model: &Model) {
    let first_init = object.ops.iter().position(|(_, op)| matches!(op, Op::BarrierInit { .. }));
    let uses = &object.ops[..first_init.unwrap_or(object.ops.len())];
    if uses.is_empty() || first_init.is_some() && model.order == KnownOrder::Unknown {
        return;
    }
    let arrivals = || uses.iter().filter(|(_, op)| matches!(op, Op::Arrive { .. }));
    let count = if model.order == KnownOrder::Unknown {
        let mut threads: Vec<ThreadId> = arrivals().map(|(step, _)| model.owner(*step)).collect();
        threads.sort();
        threads.dedup();
        threads.len() as u32
    } else {
        // The most that explain the recorded order: usually all threads meet.
        let most = arrivals().count() as u32 + 1;
        (1..=most).rev().find(|count| explains(*count, uses, model)).unwrap_or(most)
    };
    object.initial.push(SyncState::Barrier(count));
}

/// Whether all who left a barrier of this count could leave, and those who did not could not.
fn explains(count: u32, uses: &[(StepId, Op)], model: &Model) -> bool {
    let (mut arrived, mut generation) = (0, 0);
    let mut arrived_in = vec![0; model.threads()];
    uses.iter().all(|(step, op)| {
        let mine = &mut arrived_in[model.owner(*step).index()];
        if matches!(op, Op::Arrive { .. }) {
            *mine = generation;
            arrived += 1;
            if arrived == count {
                (arrived, generation) = (0, generation + 1);
            }
            return true;
        }
        (*mine != generation) != model.is_request(*step)
    })
}
