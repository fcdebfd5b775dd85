//! A thread waits for ever for what is there: it changed while the thread waited, and nobody signalled after that, or the signal woke
//! another one, which waits for something else.
//!
//! That is executed: the failing run once more, with the waiter woken when all others have done what they do. If it goes on then
//! instead of waiting again, what it waited for is there; what it looks at when it is woken says what that is.

use unravel_results::Pattern;
use unravel_trace::{
    Event, EventKind, Forced, LocationId, Request, ThreadId, Trace, WakeCause, Wants,
};

use super::blocked::{name, place};
use super::ground::Ground;
use crate::budgets::MOST_QUESTIONS;
use crate::failing::Failing;
use crate::pattern::Words;

/// The words for the first waiter of which that is so.
pub fn describe(ground: &mut dyn Ground, failing: &Failing) -> Option<Words> {
    let trace = &failing.observed.trace;
    let requests = failing.requests()?;
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
        let signalled = trace.events[changed..].iter().rposition(|event| match event.kind {
            EventKind::Signal { at, .. } | EventKind::Broadcast { at, .. } => at == cond,
            _ => false,
        });
        match signalled {
            None => words(trace, cond, waits, changed),
            Some(after) => match astray(trace, cond, changed + after) {
                Some(astray) => words_of_astray(trace, cond, (waits, changed), &astray),
                None => words_of_one(trace, cond, (waits, changed), changed + after),
            },
        }
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
        let is_it = waits_of(&woken.events[..from], thread) == earlier + 1
            && goes_as_before(trace, &woken, from);
        is_it.then_some((woken, from))
    })?;
    let thread = woken.events[from].thread;
    let EventKind::Wake { mutex, .. } = woken.events[from].kind else { return None };
    let counted = counted(trace, request.thread, waits);
    let is_counter = |at: LocationId| counted.contains(&woken.address(at));
    let mut looked = Vec::new();
    for event in woken.events[from..].iter().filter(|event| event.thread == thread) {
        match event.kind {
            EventKind::Read { at, .. }
            | EventKind::Write { at, .. }
            | EventKind::ReadModifyWrite { at, .. }
                if is_counter(at) => {}
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

/// Whether all that the failing run does comes before the wake-up, in the same way: who is woken without a signal does not wait any
/// more, so a signal may wake another one, and what is there at the end is not what the waiter of the failing run could have had.
fn goes_as_before(trace: &Trace, woken: &Trace, from: usize) -> bool {
    let is_same = |before: &Event, now: &Event| {
        let does = match (&before.kind, &now.kind) {
            (EventKind::Read { value: old, .. }, EventKind::Read { value: new, .. })
            | (EventKind::Write { value: old, .. }, EventKind::Write { value: new, .. })
            | (
                EventKind::ReadModifyWrite { new: old, .. },
                EventKind::ReadModifyWrite { new, .. },
            ) => old == new,
            (EventKind::Signal { woken: old, .. }, EventKind::Signal { woken: new, .. }) => {
                old.map(|old| trace.thread_name(old)) == new.map(|new| woken.thread_name(new))
            }
            _ => true,
        };
        does && before.site == now.site
            && trace.thread_name(before.thread) == woken.thread_name(now.thread)
    };
    from == trace.events.len()
        && trace.events.iter().zip(&woken.events).all(|(before, now)| is_same(before, now))
}

/// What the waiter itself wrote before it waited, in the same critical section: that it waits, say, which it takes back when it is
/// woken. That is neither what it waits for nor going on.
fn counted(trace: &Trace, waiter: ThreadId, waits: usize) -> Vec<u64> {
    let own = trace.events[..waits].iter().rev().filter(|event| event.thread == waiter);
    own.take_while(|event| !matches!(event.kind, EventKind::Lock { .. } | EventKind::Wake { .. }))
        .filter(|event| {
            matches!(event.kind, EventKind::Write { .. } | EventKind::ReadModifyWrite { .. })
        })
        .filter_map(|event| Some(trace.address(event.kind.location()?)))
        .collect()
}

fn waits_of(events: &[Event], thread: ThreadId) -> usize {
    let is_wait =
        |event: &&Event| event.thread == thread && matches!(event.kind, EventKind::Wait { .. });
    events.iter().filter(is_wait).count()
}

/// That it could go on, and since when.
fn could_go_on(
    trace: &Trace,
    cond: LocationId,
    (waits, changed): (usize, usize),
) -> Option<String> {
    let (wait, change) = (&trace.events[waits], &trace.events[changed]);
    Some(format!(
        "{} waits for {} at {} and could go on since {} changed {} at {}",
        trace.thread_name(wait.thread),
        name(trace, cond),
        trace.place(wait)?.short(),
        trace.thread_name(change.thread),
        name(trace, change.kind.location()?),
        trace.place(change)?.short()
    ))
}

/// Nobody signals.
fn words(trace: &Trace, cond: LocationId, waits: usize, changed: usize) -> Option<Words> {
    let (here, there) = (place(trace, waits)?, place(trace, changed)?);
    let could = could_go_on(trace, cond, (waits, changed))?;
    let cond = name(trace, cond);
    Some(Words {
        pattern: Pattern::MissingSignal,
        sentence: format!("{could}, but nobody signals {cond} after that"),
        advice: format!("signal {cond} after {}", there.short()),
        region: vec![there.clone(), here.clone()],
    })
}

/// The signal wakes one who can go on, and this one could, too.
fn words_of_one(
    trace: &Trace,
    cond: LocationId,
    (waits, changed): (usize, usize),
    signal: usize,
) -> Option<Words> {
    let EventKind::Signal { woken: Some(woken), .. } = trace.events[signal].kind else {
        return None;
    };
    let (here, signal_at) = (place(trace, waits)?, place(trace, signal)?);
    let could = could_go_on(trace, cond, (waits, changed))?;
    let cond = name(trace, cond);
    Some(Words {
        pattern: Pattern::MissingSignal,
        sentence: format!(
            "{could}, but the signal of {cond} at {} wakes only {}",
            signal_at.short(),
            trace.thread_name(woken)
        ),
        advice: format!("wake all who wait for {cond} (broadcast at {})", signal_at.short()),
        region: vec![signal_at.clone(), here.clone()],
    })
}

/// A signal that woke somebody who could not go on.
pub struct Astray {
    pub signal: usize,
    pub woken: ThreadId,
    /// Where that one waits again.
    pub again: usize,
}

/// Whether who was woken by a signal waits again, without having left the critical section that it waited in.
pub fn astray(trace: &Trace, cond: LocationId, signal: usize) -> Option<Astray> {
    let EventKind::Signal { woken: Some(woken), .. } = trace.events[signal].kind else {
        return None;
    };
    let own = |index: &usize| trace.events[*index].thread == woken;
    let mut rest = (signal..trace.events.len()).filter(own);
    let mutex = rest.find_map(|index| match trace.events[index].kind {
        EventKind::Wake { at, mutex, by: WakeCause::Signal(_) } if at == cond => Some(mutex),
        _ => None,
    })?;
    let again = rest.find(|index| match trace.events[*index].kind {
        EventKind::Wait { .. } | EventKind::Exit => true,
        EventKind::Unlock { at } => at == mutex,
        _ => false,
    })?;
    let waits = matches!(trace.events[again].kind, EventKind::Wait { at, .. } if at == cond);
    waits.then_some(Astray { signal, woken, again })
}

fn words_of_astray(
    trace: &Trace,
    cond: LocationId,
    (waits, changed): (usize, usize),
    astray: &Astray,
) -> Option<Words> {
    let (here, signal) = (place(trace, waits)?, place(trace, astray.signal)?);
    let again = place(trace, astray.again)?;
    let could = could_go_on(trace, cond, (waits, changed))?;
    let (cond, woken) = (name(trace, cond), trace.thread_name(astray.woken));
    let apart = match here == again {
        true => "for each thing that is waited for".to_owned(),
        false => format!("each for the waits at {} and at {}", here.short(), again.short()),
    };
    Some(Words {
        pattern: Pattern::WrongWakeUp,
        sentence: format!(
            "{could}, but the signal of {cond} at {} wakes {woken} instead, which cannot go on and waits again at {}",
            signal.short(),
            again.short()
        ),
        advice: format!(
            "wake all who wait for {cond} (broadcast at {}), or have a condition variable {apart}",
            signal.short()
        ),
        region: vec![signal.clone(), here.clone()],
    })
}
