//! Telling when a thread is offered only because nothing else could happen: its wait has timed out.
//!
//! A view does not say so. But a timed wait is offered when nothing else is, so there is no timeout as long as one thread
//! is offered that could go on anyway: one that was offered before, one whose event needs nothing, one that the last
//! step let go on. Where this cannot be told apart it is taken for a timeout, which costs runs but no class.

use unravel_trace::{Op, Ready, View, Why};

use super::footprint::accesses;
use super::order::Order;
use super::tree::Node;

/// Whether those that are offered after the last step have timed out.
pub(super) fn have_timed_out(view: &View<'_>, order: &Order, before: Option<&Node>) -> bool {
    match view.why {
        Why::Start | Why::UsedUp => return false,
        Why::Blocked if view.current_is_enabled() => return true,
        Why::Blocked | Why::Ended | Why::Yielded => {}
    }
    let could_before = |candidate: &Ready| {
        before.is_some_and(|node| !node.timeouts && node.enabled.contains(candidate.thread.0))
    };
    let needs_nothing = |candidate: &Ready| {
        !matches!(candidate.pending.op, Op::Acquire | Op::AcquireShared | Op::Join)
    };
    !view.enabled.iter().any(|candidate| {
        needs_nothing(candidate) || could_before(candidate) || is_let_go_on(candidate, order)
    })
}

/// Whether the last step may be what a thread waited for.
fn is_let_go_on(candidate: &Ready, order: &Order) -> bool {
    let Some(last) = (order.len() as u32).checked_sub(1) else { return false };
    let pending = &candidate.pending;
    let touches = |step: u32, address: u64| {
        order.accesses(step).iter().any(|access| access.touch.address == address)
    };
    match order.step(last).op {
        Op::Acquire | Op::AcquireShared => false,
        Op::Cancel => true,
        _ if pending.op == Op::Acquire && pending.mutex().is_some() => {
            // A condition wait goes on if it was signalled, once the mutex is free.
            let since = order.last_of(candidate.thread.0);
            let signalled =
                |step: u32| order.step(step).op == Op::Signal && touches(step, pending.address);
            (since..=last).any(signalled)
        }
        _ => accesses(pending).any(|wanted| {
            order.accesses(last).iter().any(|made| made.touch.conflicts(&wanted.touch))
        }),
    }
}
