//! A thread waits for ever for what is there: it changed while the thread waited, and nobody signalled after that.
//!
//! That is executed: the failing run once more, with the waiter woken when all others have done what they do. If it goes on then
//! instead of waiting again, what it waited for is there; what it looks at when it is woken says what that is.

use unravel_results::Pattern;
use unravel_trace::{
    Bug, Event, EventKind, Forced, LocationId, Request, ThreadId, Trace, WakeCause, Wants,
};

use super::ground::Ground;
use crate::budgets::MOST_QUESTIONS;
use crate::failing::Failing;
use crate::pattern::Words;

/// The words for the first waiter of which that is so.
pub fn describe(ground: &mut dyn Ground, failing: &Failing) -> Option<Words> {
    let trace = &failing.observed.trace;
    let Bug::Deadlock { requests } = &failing.symbolic.as_ref()?.bug else { return None };
    requests.iter().find_map(|request| {
        let Wants::Wake { at: cond, .. } = request.wants else { return None };
        let waits = trace.events.iter().rposition(|event| {
            event.thread == request.thread
                && matches!(event.kind, EventKind::Wait { at, .. } if at == cond)
        })?;
        // Nobody can have changed anything for it.
        if waits + 1 == trace.events.len() || !ground.may_go_on() {
            return None;
        }
        let Woken::GoesOn(looked) = woken(ground, trace, request, waits)? else { return None };
        let changed = (waits + 1..trace.events.len()).rev().find(|index| {
            let event = &trace.events[*index];
            let writes =
                matches!(event.kind, EventKind::Write { .. } | EventKind::ReadModifyWrite { .. });
            let at = event.kind.location().filter(|_| writes && event.thread != request.thread);
            at.is_some_and(|at| looked.contains(&trace.address(at)))
        })?;
        let is_signalled = trace.events[changed..].iter().any(|event| match event.kind {
            EventKind::Signal { at, .. } | EventKind::Broadcast { at, .. } => at == cond,
            _ => false,
        });
        (!is_signalled).then(|| words(trace, cond, waits, changed)).flatten()
    })
}

/// What a waiter does when it is woken at the end of the run, and the addresses that it has looked at by then.
pub enum Woken {
    GoesOn(Vec<u64>),
    /// What it waits for is not there.
    WaitsAgain(Vec<u64>),
}

/// What the waiter does when it is woken once all others have done what they do: its last wait is the event `waits`.
pub fn woken(
    ground: &mut dyn Ground,
    trace: &Trace,
    request: &Request,
    waits: usize,
) -> Option<Woken> {
    let name = trace.thread_name(request.thread);
    let earlier = waits_of(&trace.events[..waits], request.thread);
    // Waits are among the thread's questions to the environment; there may be others before them.
    let (woken, from) = (earlier..earlier + MOST_QUESTIONS).find_map(|question| {
        let forced = Forced { thread: name.clone(), question: question as u32 };
        let woken = ground.may_go_on().then(|| ground.woken(forced))??.trace;
        let from = woken.events.iter().position(|event| {
            let spurious = matches!(event.kind, EventKind::Wake { by: WakeCause::Spurious, .. });
            spurious && woken.thread_name(event.thread) == name
        })?;
        let thread = woken.events[from].thread;
        (waits_of(&woken.events[..from], thread) == earlier + 1).then_some((woken, from))
    })?;
    let thread = woken.events[from].thread;
    let EventKind::Wake { mutex, .. } = woken.events[from].kind else { return None };
    let mut looked = Vec::new();
    for event in woken.events[from..].iter().filter(|event| event.thread == thread) {
        match event.kind {
            EventKind::Read { at, .. } => looked.push(woken.address(at)),
            EventKind::Wait { .. } => return Some(Woken::WaitsAgain(looked)),
            EventKind::Write { .. } | EventKind::ReadModifyWrite { .. } | EventKind::Exit => {
                return Some(Woken::GoesOn(looked));
            }
            // It leaves the critical section that it waited in.
            EventKind::Unlock { at } if at == mutex => return Some(Woken::GoesOn(looked)),
            _ => {}
        }
    }
    None
}

fn waits_of(events: &[Event], thread: ThreadId) -> usize {
    let is_wait =
        |event: &&Event| event.thread == thread && matches!(event.kind, EventKind::Wait { .. });
    events.iter().filter(is_wait).count()
}

fn words(trace: &Trace, cond: LocationId, waits: usize, changed: usize) -> Option<Words> {
    let (wait, change) = (&trace.events[waits], &trace.events[changed]);
    let (here, there) = (trace.place(wait)?, trace.place(change)?);
    let (me, other) = (trace.thread_name(wait.thread), trace.thread_name(change.thread));
    let cond = &trace.location(cond).name;
    let what = &trace.location(change.kind.location()?).name;
    Some(Words {
        pattern: Pattern::MissingSignal,
        sentence: format!(
            "{me} waits for {cond} at {} and could go on since {other} changed {what} at {}, but nobody signals {cond} after that",
            here.short(),
            there.short()
        ),
        advice: format!("signal {cond} after {}", there.short()),
        region: vec![there.clone(), here.clone()],
    })
}
