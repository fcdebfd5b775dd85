//! Runs in which nobody can go on: who waits for what, who has it, and whether that can ever change.

use unravel_results::Pattern;
use unravel_trace::{
    Condition, Event, EventKind, LocationId, Place, Request, ThreadId, Trace, Wants, user_place,
};

use super::ground::Ground;
use super::unsignalled::{self, Astray, Woken, astray};
use crate::failing::Failing;
use crate::held::{Held, held};
use crate::pattern::Words;

/// What the failing run shows, of one that could have been avoided; `None` if that is not enough to say what is wrong. A wake-up is
/// lost only if it would have helped: that is tried.
pub fn describe(ground: &mut dyn Ground, failing: &Failing) -> Option<Words> {
    let trace = &failing.observed.trace;
    let requests = &failing.requests()?;
    if let Some(words) = by_locks(failing) {
        return Some(words);
    }
    let useless = requests.iter().any(|request| is_useless(ground, trace, request));
    let lost = if useless { None } else { lost(trace, requests) };
    lost.or_else(|| unannounced(failing, requests))
        .or_else(|| nobody_left(failing, requests).filter(|_| useless))
}

/// The same of a run that could not: where every schedule ends so, no lost wake-up is why.
pub fn in_every_schedule(failing: &Failing) -> Option<Words> {
    let requests = &failing.requests()?;
    by_locks(failing)
        .or_else(|| unannounced(failing, requests))
        .or_else(|| nobody_left(failing, requests))
        .or_else(|| nobody_comes(failing, requests))
}

/// Whether waking a thread that waits on a condition variable would change nothing: woken when all others have done what they do,
/// it waits again, for something that no signaller has ever changed. (What was changed and changed back may have been missed; what
/// only the waiter uses is in no event, and nobody changes it.)
fn is_useless(ground: &mut dyn Ground, trace: &Trace, request: &Request) -> bool {
    let Wants::Wake { at: cond, .. } = request.wants else { return false };
    let own = |event: &Event| event.thread == request.thread;
    let waits = trace.events.iter().rposition(|event| {
        own(event) && matches!(event.kind, EventKind::Wait { at, .. } if at == cond)
    });
    let Some(waits) = waits.filter(|_| ground.may_go_on()) else { return false };
    let Some(Woken::WaitsAgain(looked)) = unsignalled::woken(ground, trace, request, waits) else {
        return false;
    };
    let signals = |event: &&Event| match event.kind {
        EventKind::Signal { at, .. } | EventKind::Broadcast { at, .. } => at == cond && !own(event),
        _ => false,
    };
    let signallers: Vec<ThreadId> =
        trace.events.iter().filter(signals).map(|event| event.thread).collect();
    let begun = trace.events.iter().position(own).unwrap_or(0);
    !signallers.is_empty()
        && !trace.events[begun..].iter().any(|event| {
            let writes =
                matches!(event.kind, EventKind::Write { .. } | EventKind::ReadModifyWrite { .. });
            writes
                && signallers.contains(&event.thread)
                && event.kind.location().is_some_and(|at| looked.contains(&trace.address(at)))
        })
}

/// Where locks alone say it.
pub fn by_locks(failing: &Failing) -> Option<Words> {
    let symbolic = failing.symbolic.as_ref()?;
    let requests = &failing.requests()?;
    let held = kept(&failing.observed.trace);
    not_released(failing, requests, &held, &symbolic.conditions)
        .or_else(|| cycle(failing, requests, &held))
}

/// Locks that nobody has given back.
fn kept(trace: &Trace) -> Vec<Held> {
    held(trace).into_iter().filter(|held| held.released.is_none()).collect()
}

fn wanted(request: &Request) -> Option<LocationId> {
    match request.wants {
        Wants::Lock { at, .. } => Some(at),
        _ => None,
    }
}

pub fn name(trace: &Trace, at: LocationId) -> &str {
    &trace.location(at).name
}

pub fn place(trace: &Trace, index: usize) -> Option<&Place> {
    trace.place(&trace.events[index])
}

/// Where a thread is blocked, in the user's own code: the failure knows the stacks.
pub fn blocked_at(failing: &Failing, request: &Request) -> Option<Place> {
    let trace = &failing.observed.trace;
    let own = trace.site(request.site).map(|site| &site.place);
    let who = format!("{} ", trace.thread_name(request.thread));
    let related = failing.failure.related.iter().find(|related| related.message.starts_with(&who));
    own.filter(|place| place.is_own())
        .or_else(|| user_place(&related?.stack))
        .filter(|place| place.line != 0)
        .cloned()
}

/// Somebody waits for a lock whose owner has ended.
fn not_released(
    failing: &Failing,
    requests: &[Request],
    held: &[Held],
    conditions: &[Condition],
) -> Option<Words> {
    let trace = &failing.observed.trace;
    let ended = |thread: ThreadId| {
        trace
            .events
            .iter()
            .rposition(|event| event.thread == thread && event.kind == EventKind::Exit)
    };
    requests.iter().find_map(|request| {
        let at = wanted(request)?;
        let owner = held.iter().find(|held| held.lock == at)?;
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
                blocked_at(failing, request).map_or_else(String::new, |at| format!(" at {}", at.short()))
            ),
            advice: format!("unlock {lock} on every way out after {}{}", taken.short(), or_guard(taken)),
            region,
        })
    })
}

/// What C++ has for that: a guard also unlocks where an exception leaves.
fn or_guard(taken: &Place) -> &'static str {
    let extension = taken.file.rsplit('.').next().unwrap_or_default();
    match ["cpp", "cc", "cxx", "C", "hpp", "hh", "hxx"].contains(&extension) {
        true => ", by a std::lock_guard, so that an exception does, too",
        false => "",
    }
}

/// Each waits for a lock that the next one has, or for its end.
fn cycle(failing: &Failing, requests: &[Request], held: &[Held]) -> Option<Words> {
    let next = |request: &Request| {
        let thread = match request.wants {
            Wants::Join { child } => child,
            _ => {
                let at = wanted(request)?;
                held.iter().find(|held| held.lock == at)?.thread
            }
        };
        requests.iter().find(|other| other.thread == thread)
    };
    for start in requests {
        let mut members = vec![start];
        while let Some(request) = next(members[members.len() - 1]) {
            if request.thread == start.thread {
                return told_cycle(failing, &members, held);
            }
            if members.iter().any(|member| member.thread == request.thread) {
                break;
            }
            members.push(request);
        }
    }
    None
}

fn told_cycle(failing: &Failing, members: &[&Request], held: &[Held]) -> Option<Words> {
    let trace = &failing.observed.trace;
    let mut clauses = Vec::new();
    let mut locks = Vec::new();
    let mut joins = Vec::new();
    let mut region = Vec::new();
    for (index, request) in members.iter().enumerate() {
        let me = trace.thread_name(request.thread);
        let before = members[(index + members.len() - 1) % members.len()];
        let mut has = String::new();
        if let Some(lock) = wanted(before) {
            let is_it = |held: &&Held| held.lock == lock && held.thread == request.thread;
            let taken = place(trace, held.iter().find(is_it)?.taken)?;
            has = format!("has {} (since {}) and ", name(trace, lock), taken.short());
            region.push(taken.clone());
        }
        let blocked = blocked_at(failing, request);
        let at = blocked.as_ref().map_or_else(String::new, |at| format!(" at {}", at.short()));
        let waits = match request.wants {
            Wants::Join { child } => {
                joins.push(trace.thread_name(child));
                format!("for {} to end", trace.thread_name(child))
            }
            _ => {
                let lock = name(trace, wanted(request)?);
                locks.push(lock.to_owned());
                format!("for {lock}")
            }
        };
        clauses.push(format!("{me} {has}waits {waits}{at}"));
        region.extend(blocked);
    }
    locks.sort();
    locks.dedup();
    let advice = match locks.as_slice() {
        [] => return None,
        all if !joins.is_empty() => {
            let joined: Vec<String> = joins.iter().map(ToString::to_string).collect();
            format!(
                "do not wait for {} to end while {} is held: it is needed for that",
                joined.join(", "),
                all.join(", ")
            )
        }
        [one] => format!("do not take {one} again while it is held"),
        all => format!("let all threads take these in the same order: {}", all.join(", ")),
    };
    Some(Words { pattern: Pattern::Deadlock, sentence: clauses.join("; "), advice, region })
}

/// A signal came when nobody waited, and the waiter came later.
fn lost(trace: &Trace, requests: &[Request]) -> Option<Words> {
    requests.iter().find_map(|request| {
        let Wants::Wake { at: cond, .. } = request.wants else { return None };
        let waits = trace.events.iter().rposition(|event| {
            event.thread == request.thread && matches!(event.kind, EventKind::Wait { at, .. } if at == cond)
        })?;
        let signalled = trace.events[..waits].iter().rposition(|event| match event.kind {
            EventKind::Signal { at, .. } | EventKind::Broadcast { at, .. } => {
                at == cond && event.thread != request.thread
            }
            _ => false,
        })?;
        let (signal_at, wait_at) = (place(trace, signalled)?, place(trace, waits)?);
        let signaller = trace.thread_name(trace.events[signalled].thread);
        let me = trace.thread_name(request.thread);
        let cond_name = name(trace, cond);
        // What was waited for: something that changed after this thread had looked at it for the last time.
        let looks = || {
            let before = trace.events[..waits].iter().enumerate().rev();
            before.filter(|(_, event)| {
                event.thread == request.thread
                    && matches!(event.kind, EventKind::Read { .. } | EventKind::ReadModifyWrite { .. })
            })
        };
        let changes = |at: LocationId, from: usize| {
            trace.events[from..waits].iter().any(|event| {
                event.thread == trace.events[signalled].thread
                    && event.kind.location() == Some(at)
                    && matches!(event.kind, EventKind::Write { .. } | EventKind::ReadModifyWrite { .. })
            })
        };
        let is_last = |index: usize, at: LocationId| {
            !looks().any(|(later, event)| later > index && event.kind.location() == Some(at))
        };
        let stale = looks().find_map(|(index, event)| {
            let at = event.kind.location()?;
            let near = |index: usize| place(trace, index).map(|place| &place.function);
            let stale = index < signalled
                && near(index) == near(waits)
                && is_last(index, at)
                && changes(at, index);
            stale.then(|| (name(trace, at).to_owned(), index))
        });
        let nobody = match trace.events[signalled].kind {
            EventKind::Signal { woken, .. } => woken.is_none(),
            EventKind::Broadcast { woken, .. } => woken == 0,
            _ => false,
        };
        // What was changed for this signal, since the one before it: who looks at that once more has missed nothing, whatever
        // else it saw before.
        let announced = trace.events[..signalled].iter().rposition(|event| {
            event.thread == trace.events[signalled].thread
                && match event.kind {
                    EventKind::Signal { at, .. } | EventKind::Broadcast { at, .. } => at == cond,
                    _ => false,
                }
        });
        let looked_since = looks().any(|(index, event)| {
            index > signalled
                && event.kind.location().is_some_and(|at| changes(at, announced.unwrap_or(0)))
        });
        if looked_since || stale.is_none() && !nobody {
            return None;
        }
        let (what, checked) = match stale {
            Some((what, index)) => (Some(what), place(trace, index).cloned()),
            None => (None, None),
        };
        let looked = match (&what, &checked) {
            (Some(what), Some(at)) => format!("{me} looks at {what} at {}, then ", at.short()),
            _ => String::new(),
        };
        Some(Words {
            pattern: Pattern::LostWakeUp,
            sentence: format!(
                "{looked}{signaller} signals {cond_name} at {}, and {me} does not wait yet; it begins to wait at {} and is never woken",
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

/// Somebody waits on a condition variable, whatever the order, and all others have ended or wait, too.
fn nobody_left(failing: &Failing, requests: &[Request]) -> Option<Words> {
    let trace = &failing.observed.trace;
    let (request, cond) = requests.iter().find_map(|request| match request.wants {
        Wants::Wake { at, .. } => Some((request, at)),
        _ => None,
    })?;
    let me = trace.thread_name(request.thread);
    let own = |event: &Event| event.thread == request.thread;
    let wait = trace
        .events
        .iter()
        .rposition(|event| own(event) && matches!(event.kind, EventKind::Wait { .. }))?;
    let wait_at = place(trace, wait)?;
    let cond = name(trace, cond);
    let woken = trace.events[..wait]
        .iter()
        .filter(|event| own(event) && matches!(event.kind, EventKind::Wake { .. }))
        .count();
    let again = match woken {
        0 => "",
        _ => ", again after it was woken",
    };
    let waiting = requests.iter().filter(|other| other.thread != request.thread);
    let others: Vec<String> = waiting
        .map(|other| {
            let at = blocked_at(failing, other).map(|at| format!(" at {}", at.short()));
            format!("{} waits{}", trace.thread_name(other.thread), at.unwrap_or_default())
        })
        .collect();
    let rest = match others.is_empty() {
        true => "all others have ended".to_owned(),
        false => format!("{}, and the others have ended", others.join(", ")),
    };
    Some(Words {
        pattern: Pattern::DeadlockByCondition,
        sentence: format!(
            "{me} waits for {cond} at {}{again}, and nobody is left to signal it: {rest}",
            wait_at.short()
        ),
        advice: format!(
            "somebody has to make true what is waited for at {}, and signal {cond} after that",
            wait_at.short()
        ),
        region: vec![wait_at.clone()],
    })
}

/// Somebody waits for a semaphore that nobody will post, or at a barrier to which too few come, whatever the order.
fn nobody_comes(failing: &Failing, requests: &[Request]) -> Option<Words> {
    let trace = &failing.observed.trace;
    let (request, at) = requests.iter().find_map(|request| match request.wants {
        Wants::Semaphore { at } | Wants::Barrier { at } => Some((request, at)),
        _ => None,
    })?;
    let blocked = blocked_at(failing, request)?;
    let (what, here) = (name(trace, at), blocked.short());
    let count = |is_it: fn(&EventKind) -> bool| {
        let same = |event: &&Event| event.kind.location() == Some(at) && is_it(&event.kind);
        trace.events.iter().filter(same).count()
    };
    let begun = trace.events.iter().rev().find_map(|event| match event.kind {
        EventKind::SyncInit { at: of, value } if of == at => Some(value),
        _ => None,
    });
    let begun = begun.map_or_else(String::new, |value| match request.wants {
        Wants::Barrier { .. } => format!(", which takes {value}"),
        _ => format!("; it began with {value}"),
    });
    let (sentence, advice) = match request.wants {
        Wants::Barrier { .. } => {
            let waiting = requests.iter().filter(|other| other.wants == request.wants).count();
            (
                format!(
                    "{waiting} threads wait at the barrier {what} at {here}{begun}: nobody else is left to come"
                ),
                format!(
                    "let as many threads come to {here} as {what} was set up for, or set it up for {waiting}"
                ),
            )
        }
        _ => {
            let posts = count(|kind| matches!(kind, EventKind::SemPost { .. }));
            let taken = count(|kind| {
                matches!(
                    kind,
                    EventKind::SemWait { .. } | EventKind::SemTryWait { acquired: true, .. }
                )
            });
            (
                format!(
                    "{} waits for the semaphore {what} at {here}, and nobody is left to post it{begun}, was posted {posts} and taken \
                     {taken} times",
                    trace.thread_name(request.thread)
                ),
                format!(
                    "{what} has to be posted once for every time that it is waited for, as at {here}"
                ),
            )
        }
    };
    Some(Words { pattern: Pattern::DeadlockByCondition, sentence, advice, region: vec![blocked] })
}

/// Somebody waits on a condition variable, and those who could signal it wait themselves or have ended.
fn unannounced(failing: &Failing, requests: &[Request]) -> Option<Words> {
    let trace = &failing.observed.trace;
    let waiting: Vec<(&Request, LocationId)> = requests
        .iter()
        .filter_map(|request| match request.wants {
            Wants::Wake { at, .. } => Some((request, at)),
            _ => None,
        })
        .collect();
    let (request, cond) = *waiting.first()?;
    let held = kept(trace);
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
        let owner = held.iter().find(|held| held.lock == at && held.thread == request.thread)?;
        Some((other, at, owner.taken))
    });
    if let Some((other, lock, taken)) = kept {
        let taken = place(trace, taken)?;
        let lock = name(trace, lock);
        let blocked = blocked_at(failing, other);
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
    // Who was woken and has done its part was the right one.
    let is_signal = |index: &usize| matches!(trace.events[*index].kind, EventKind::Signal { at, .. } if at == cond);
    let mut signals = (0..trace.events.len()).rev().filter(is_signal);
    let Astray { signal: index, woken, .. } =
        signals.find_map(|index| astray(trace, cond, index))?;
    let signal_at = place(trace, index)?;
    Some(Words {
        pattern: Pattern::DeadlockByCondition,
        sentence: format!(
            "the signal of {cond_name} at {} wakes {}, which cannot go on and waits again; {} wait for {cond_name} for ever at {}",
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
