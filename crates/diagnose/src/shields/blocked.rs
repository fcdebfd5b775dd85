//! Runs in which nobody can go on: who waits for what, who has it, and whether that can ever change.

use unravel_results::{Pattern, RootCause};
use unravel_trace::{Bug, Condition, EventKind, LocationId, Place, Request, ThreadId, Trace, Verb, Wants};

use crate::failing::Failing;
use crate::pattern::Words;

/// A lock that a thread has, and where it took it.
struct Held {
    thread: ThreadId,
    at: LocationId,
    taken: usize,
}

/// What the failing run shows; `None` if that is not enough to say what is wrong.
pub fn describe(failing: &Failing, cause: &RootCause) -> Option<Words> {
    let trace = &failing.observed.trace;
    let symbolic = failing.symbolic.as_ref()?;
    let Bug::Deadlock { requests } = &symbolic.bug else { return None };
    let held = held(trace);
    not_released(trace, requests, &held, &symbolic.conditions)
        .or_else(|| cycle(trace, requests, &held))
        .or_else(|| lost(trace, requests, cause))
        .or_else(|| unannounced(trace, requests, cause))
}

fn held(trace: &Trace) -> Vec<Held> {
    let mut held: Vec<Held> = Vec::new();
    for (taken, event) in trace.events.iter().enumerate() {
        let thread = event.thread;
        match event.kind {
            EventKind::Lock { at, .. } | EventKind::TryLock { at, acquired: true, .. } => {
                held.push(Held { thread, at, taken });
            }
            EventKind::Wake { mutex: at, .. } => held.push(Held { thread, at, taken }),
            EventKind::Unlock { at } | EventKind::Wait { mutex: at, .. } => {
                if let Some(index) = held.iter().rposition(|h| h.thread == thread && h.at == at) {
                    held.remove(index);
                }
            }
            _ => {}
        }
    }
    held
}

fn wanted(request: &Request) -> Option<LocationId> {
    match request.wants {
        Wants::Lock { at, .. } => Some(at),
        _ => None,
    }
}

fn name(trace: &Trace, at: LocationId) -> &str {
    &trace.location(at).name
}

fn place(trace: &Trace, index: usize) -> Option<&Place> {
    trace.place(&trace.events[index])
}

/// Where a thread is blocked: in its own code.
fn blocked_at(trace: &Trace, request: &Request) -> Option<Place> {
    trace.site(request.site).map(|site| site.place.clone()).filter(|place| !place.is_system())
}

/// Somebody waits for a lock whose owner has ended.
fn not_released(
    trace: &Trace,
    requests: &[Request],
    held: &[Held],
    conditions: &[Condition],
) -> Option<Words> {
    let ended = |thread: ThreadId| {
        trace.events.iter().rposition(|event| event.thread == thread && event.kind == EventKind::Exit)
    };
    requests.iter().find_map(|request| {
        let at = wanted(request)?;
        let owner = held.iter().find(|held| held.at == at)?;
        let end = ended(owner.thread)?;
        let taken = place(trace, owner.taken)?;
        let lock = name(trace, at);
        // The branch by which it left shows the way it took.
        let last = conditions
            .iter()
            .filter(|c| c.thread == owner.thread && (owner.taken..end).contains(&(c.after as usize)))
            .filter_map(|condition| Some(&trace.site(condition.site)?.place))
            .find(|place| place.function == taken.function && place.line != 0);
        let (me, other) = (trace.thread_name(request.thread), trace.thread_name(owner.thread));
        let mut region = vec![taken.clone()];
        region.extend(last.cloned());
        let after = last.filter(|last| last.line != taken.line).map_or_else(String::new, |last| {
            format!(", going by what it saw at {}", last.short())
        });
        Some(Words {
            pattern: Pattern::LockNotReleased,
            sentence: format!(
                "{other} has ended with {lock} locked (since {}){after}; {me} waits for it for ever{}",
                taken.short(),
                blocked_at(trace, request).map_or_else(String::new, |at| format!(" at {}", at.short()))
            ),
            advice: format!("unlock {lock} on every way out after {}", taken.short()),
            region,
        })
    })
}

/// Each waits for a lock that the next one has.
fn cycle(trace: &Trace, requests: &[Request], held: &[Held]) -> Option<Words> {
    let next = |request: &Request| {
        let at = wanted(request)?;
        let owner = held.iter().find(|held| held.at == at)?;
        requests.iter().find(|other| other.thread == owner.thread)
    };
    for start in requests {
        let mut members = vec![start];
        while let Some(request) = next(members[members.len() - 1]) {
            if request.thread == start.thread {
                return told_cycle(trace, &members, held);
            }
            if members.iter().any(|member| member.thread == request.thread) {
                break;
            }
            members.push(request);
        }
    }
    None
}

fn told_cycle(trace: &Trace, members: &[&Request], held: &[Held]) -> Option<Words> {
    let mut clauses = Vec::new();
    let mut locks = Vec::new();
    let mut region = Vec::new();
    for (index, request) in members.iter().enumerate() {
        let wants = wanted(request)?;
        let before = members[(index + members.len() - 1) % members.len()];
        let has = wanted(before)?;
        let owned = held.iter().find(|held| held.at == has && held.thread == request.thread)?;
        let taken = place(trace, owned.taken)?;
        let blocked = blocked_at(trace, request);
        clauses.push(format!(
            "{} has {} (since {}) and waits for {}{}",
            trace.thread_name(request.thread),
            name(trace, has),
            taken.short(),
            name(trace, wants),
            blocked.as_ref().map_or_else(String::new, |at| format!(" at {}", at.short()))
        ));
        locks.push(name(trace, wants).to_owned());
        region.push(taken.clone());
        region.extend(blocked);
    }
    locks.sort();
    locks.dedup();
    let advice = match locks.as_slice() {
        [one] => format!("do not take {one} again while it is held"),
        all => format!("let all threads take these in the same order: {}", all.join(", ")),
    };
    Some(Words { pattern: Pattern::Deadlock, sentence: clauses.join("; "), advice, region })
}

/// A signal came when nobody waited, and the waiter came later.
fn lost(trace: &Trace, requests: &[Request], cause: &RootCause) -> Option<Words> {
    let order = cause.orders.iter().find(|order| {
        matches!(order.first.verb, Verb::Signals | Verb::Broadcasts)
    });
    requests.iter().find_map(|request| {
        let Wants::Wake { at: cond, .. } = request.wants else { return None };
        let waits = trace.events.iter().rposition(|event| {
            event.thread == request.thread && matches!(event.kind, EventKind::Wait { at, .. } if at == cond)
        })?;
        let signalled = trace.events[..waits].iter().rposition(|event| match event.kind {
            EventKind::Signal { at, woken } => at == cond && woken.is_none(),
            EventKind::Broadcast { at, woken } => at == cond && woken == 0,
            _ => false,
        })?;
        // Another signal after it would wake it.
        let (signal_at, wait_at) = (place(trace, signalled)?, place(trace, waits)?);
        let signaller = trace.thread_name(trace.events[signalled].thread);
        let me = trace.thread_name(request.thread);
        let cond_name = name(trace, cond);
        // What was waited for: the last it looked at before.
        let check = trace.events[..waits].iter().enumerate().rev().find(|(_, event)| {
            event.thread == request.thread && matches!(event.kind, EventKind::Read { .. })
        });
        let (what, checked) = match check {
            Some((index, event)) => (
                event.kind.location().map(|at| name(trace, at).to_owned()),
                place(trace, index).cloned(),
            ),
            None => (None, None),
        };
        if order.is_none() && what.is_none() {
            return None;
        }
        let looked = match (&what, &checked) {
            (Some(what), Some(at)) => format!("{me} looks at {what} at {}, then ", at.short()),
            _ => String::new(),
        };
        Some(Words {
            pattern: Pattern::LostWakeUp,
            sentence: format!(
                "{looked}{signaller} signals {cond_name} at {}, and nobody waits yet; {me} begins to wait at {} and is never woken",
                signal_at.short(),
                wait_at.short()
            ),
            advice: format!(
                "{} has to be checked in one critical section with the wait at {}, and changed with the same lock held before the \
                 signal at {}",
                what.as_deref().unwrap_or("what is waited for"),
                wait_at.short(),
                signal_at.short()
            ),
            region: vec![wait_at.clone(), signal_at.clone()],
        })
    })
}

/// Somebody waits on a condition variable, and those who could signal it wait themselves or have ended.
fn unannounced(trace: &Trace, requests: &[Request], cause: &RootCause) -> Option<Words> {
    let waiting: Vec<(&Request, LocationId)> = requests
        .iter()
        .filter_map(|request| match request.wants {
            Wants::Wake { at, .. } => Some((request, at)),
            _ => None,
        })
        .collect();
    let (request, cond) = *waiting.first()?;
    let held = held(trace);
    let waits = |request: &Request| {
        trace.events.iter().rposition(|event| {
            event.thread == request.thread && matches!(event.kind, EventKind::Wait { .. })
        })
    };
    let wait_at = place(trace, waits(request)?)?;
    let me = trace.thread_name(request.thread);
    let cond_name = name(trace, cond);
    // Somebody else wants a lock that the waiter keeps.
    let kept = requests.iter().find_map(|other| {
        let at = wanted(other)?;
        let owner = held.iter().find(|held| held.at == at && held.thread == request.thread)?;
        Some((other, at, owner.taken))
    });
    if let Some((other, lock, taken)) = kept {
        let taken = place(trace, taken)?;
        let lock = name(trace, lock);
        let blocked = blocked_at(trace, other);
        let mut region = vec![taken.clone(), wait_at.clone()];
        region.extend(blocked.clone());
        return Some(Words {
            pattern: Pattern::DeadlockByCondition,
            sentence: format!(
                "{me} waits for {cond_name} at {} with {lock} locked (since {}); {} needs {lock}{} before it can signal",
                wait_at.short(),
                taken.short(),
                trace.thread_name(other.thread),
                blocked.map_or_else(String::new, |at| format!(" at {}", at.short()))
            ),
            advice: format!("do not wait for {cond_name} while {lock} is held"),
            region,
        });
    }
    let signals: Vec<(usize, ThreadId)> = trace
        .events
        .iter()
        .enumerate()
        .filter_map(|(index, event)| match event.kind {
            EventKind::Signal { at, woken: Some(woken) } if at == cond => Some((index, woken)),
            _ => None,
        })
        .collect();
    let went_astray = signals.iter().rev().find(|(_, woken)| *woken != request.thread);
    let (index, woken) = *went_astray?;
    let signal_at = place(trace, index)?;
    let _ = cause;
    Some(Words {
        pattern: Pattern::DeadlockByCondition,
        sentence: format!(
            "the signal of {cond_name} at {} wakes {}, which is not the one that can go on; {} wait for {cond_name} for ever at {}",
            signal_at.short(),
            trace.thread_name(woken),
            match waiting.len() {
                1 => format!("{me} has to"),
                many => format!("{many} threads"),
            },
            wait_at.short()
        ),
        advice: format!(
            "wake all who wait for {cond_name} (broadcast at {}), or have a condition variable for each thing that is waited for",
            signal_at.short()
        ),
        region: vec![signal_at.clone(), wait_at.clone()],
    })
}
