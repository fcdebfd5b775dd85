//! A thread looks at something, then waits for ever for something else, and what it looked at changes when it waits already: a flag
//! that says *stop*, say, and a wait for the next job. An order keeps the failure away (the change before the look, which was tried),
//! but what is missing is that who makes the change wakes the waiter.
//!
//! The failing run shows the rest: the waiter's last look decided that it waits, the change comes after it, and the wait never ends.
//! *Not modelled*: waits on condition variables, of which `unsignalled.rs` tells more, and locks, barriers and joins, which nobody is
//! woken from by a signal. Errs towards silence.

use unravel_results::Pattern;
use unravel_trace::{Event, EventKind, Shield, Value, Wants, shown_name};

use super::blocked::{blocked_at, name};
use super::ordering::decides;
use super::orders::Wanted;
use crate::failing::Failing;
use crate::held::held;
use crate::pattern::Words;

/// The words for an order whose later end is a look before a wait that nobody ends.
pub fn describe(failing: &Failing, wanted: &Wanted) -> Option<Words> {
    let trace = &failing.observed.trace;
    let requests = failing.requests()?;
    if !matches!(wanted.shield, Shield::Order { .. }) {
        return None;
    }
    let Wanted { first, then, .. } = wanted;
    let request =
        requests.iter().find(|request| *trace.thread_name(request.thread) == then.thread)?;
    let how = match request.wants {
        Wants::Semaphore { at } => format!(" (post {})", name(trace, at)),
        // What holds it up may be a lock, of which not all runs tell, unless nobody else has one.
        Wants::Other => {
            let others = held(trace).into_iter().filter(|held| held.released.is_none());
            let mut others = others.filter(|held| held.thread != request.thread);
            others.next().is_none().then(String::new)?
        }
        _ => return None,
    };
    let waits_at = blocked_at(failing, request)?;
    let at = trace.events[then.event?].kind.location()?;
    let same = |kind: &EventKind| {
        kind.location().is_some_and(|other| trace.address(other) == trace.address(at))
    };
    // Its last look: an earlier one did not make it wait.
    let look = trace.events.iter().rposition(|event| {
        event.thread == request.thread
            && matches!(event.kind, EventKind::Read { .. })
            && same(&event.kind)
    })?;
    let EventKind::Read { value: seen, .. } = &trace.events[look].kind else { return None };
    let is_change = |event: &&Event| {
        let new: Option<&Value> = match &event.kind {
            EventKind::Write { value, .. } | EventKind::ReadModifyWrite { new: value, .. } => {
                Some(value)
            }
            _ => None,
        };
        *trace.thread_name(event.thread) == first.thread
            && same(&event.kind)
            && new.is_some_and(|new| new != seen)
    };
    let change = trace.events[look..].iter().find(is_change)?;
    let (here, there) = (trace.place(&trace.events[look])?, trace.place(change)?);
    if !decides(failing, look, trace.events.len()) {
        return None;
    }
    let object = shown_name(&wanted.object);
    let (me, other) = (&then.thread, &first.thread);
    let (here_is, there_is, wait_is) = (here.short(), there.short(), waits_at.short());
    Some(Words {
        pattern: Pattern::MissingSignal,
        sentence: format!(
            "{me} looks at {object} at {here_is} and then waits at {wait_is} for ever: {other} writes {object} at {there_is} only \
             after that look, and does not wake {me}"
        ),
        advice: format!(
            "{other} has to wake {me} from its wait at {wait_is}{how} after {there_is}, unless that comes before {here_is}"
        ),
        region: vec![there.clone(), waits_at],
    })
}
