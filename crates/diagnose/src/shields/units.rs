//! Deadlocks over what a semaphore counts: threads that have taken some of it and wait for more, or for a lock, which the others have;
//! and waits for a semaphore with a lock held that its poster needs.
//!
//! Who waits for a semaphore and never posts it waits for news, not for something to use: that a thread has one of them is said only
//! where a run that passes shows that it gives back what it took. The failing run is the evidence, as of a cycle of locks.
//!
//! *Not modelled*: who has ended with something of it taken; threads that give back what others took. Errs towards silence.

use unravel_results::Pattern;
use unravel_trace::{Event, EventKind, LocationId, Request, ThreadId, ThreadName, Trace, Wants};

use super::blocked::{blocked_at, name, place};
use crate::failing::Failing;
use crate::held::held;
use crate::pattern::Words;

/// What a blocked thread has, and the event that took it.
struct Has {
    address: u64,
    at: LocationId,
    taken: usize,
}

/// A blocked thread, what it wants and what it has.
struct Member<'r> {
    request: &'r Request,
    wants: LocationId,
    address: u64,
    has: Vec<Has>,
}

pub fn describe(failing: &Failing, passing: &[&Trace]) -> Option<Words> {
    let trace = &failing.observed.trace;
    let requests = failing.requests()?;
    let members = requests.iter().filter_map(|request| {
        let (Wants::Semaphore { at } | Wants::Lock { at, .. }) = request.wants else { return None };
        let has = taken(trace, request.thread, passing);
        Some(Member { request, wants: at, address: trace.address(at), has })
    });
    let circle = closed(members.collect());
    let counts = |member: &Member<'_>| matches!(member.request.wants, Wants::Semaphore { .. });
    circle.iter().any(counts).then(|| told(failing, &circle)).flatten()
}

/// Somebody waits for a semaphore, or at a barrier, with a lock held that another one needs before it posts it, or comes there.
pub fn with_lock(failing: &Failing, passing: &[&Trace]) -> Option<Words> {
    let trace = &failing.observed.trace;
    let requests = failing.requests()?;
    let all = held(trace);
    requests.iter().find_map(|request| {
        let (at, helps) = match request.wants {
            Wants::Semaphore { at } => (at, "post it"),
            Wants::Barrier { at } => (at, "come there, too"),
            _ => return None,
        };
        let address = trace.address(at);
        requests.iter().find_map(|other| {
            let Wants::Lock { at: lock, .. } = other.wants else { return None };
            let own = all.iter().find(|held| {
                held.thread == request.thread && held.lock == lock && held.released.is_none()
            })?;
            let who = trace.thread_name(other.thread);
            let runs = std::iter::once(trace).chain(passing.iter().copied());
            let comes = runs.into_iter().any(|run| comes(run, who, address));
            let (taken, wait) = (place(trace, own.taken)?, blocked_at(failing, request)?);
            let blocked = blocked_at(failing, other)?;
            let (what, lock) = (name(trace, at), name(trace, lock));
            comes.then(|| Words {
                pattern: Pattern::DeadlockByCondition,
                sentence: format!(
                    "{} waits for {what} at {} with {lock} locked (since {}); {who} needs {lock} at {} before it can {helps}",
                    trace.thread_name(request.thread),
                    wait.short(),
                    taken.short(),
                    blocked.short()
                ),
                advice: format!("do not wait for {what} while {lock} is held: wait at {} before {lock} is taken at {}", wait.short(), taken.short()),
                region: vec![taken.clone(), wait.clone(), blocked.clone()],
            })
        })
    })
}

/// Whether a thread ever posts a semaphore, or comes to a barrier.
fn comes(run: &Trace, who: &ThreadName, address: u64) -> bool {
    run.events.iter().any(|event| match event.kind {
        EventKind::SemPost { at } | EventKind::BarrierArrive { at } => {
            run.address(at) == address && run.thread_name(event.thread) == who
        }
        _ => false,
    })
}

/// What a thread has of semaphores that it gives back where it can, and of locks.
fn taken(trace: &Trace, thread: ThreadId, passing: &[&Trace]) -> Vec<Has> {
    let locks =
        held(trace).into_iter().filter(|held| held.thread == thread && held.released.is_none());
    let mut all: Vec<Has> = locks
        .map(|held| Has { address: trace.address(held.lock), at: held.lock, taken: held.taken })
        .collect();
    let mut open: Vec<Has> = Vec::new();
    for (index, event) in trace.events.iter().enumerate().filter(|(_, e)| e.thread == thread) {
        if let Some(at) = takes(&event.kind) {
            open.push(Has { address: trace.address(at), at, taken: index });
        } else if let EventKind::SemPost { at } = event.kind
            && let Some(last) = open.iter().rposition(|has| has.address == trace.address(at))
        {
            open.remove(last);
        }
    }
    let who = trace.thread_name(thread);
    open.retain(|has| passing.iter().any(|run| gives_back(run, who, has.address)));
    all.extend(open);
    all
}

fn takes(kind: &EventKind) -> Option<LocationId> {
    match *kind {
        EventKind::SemWait { at } | EventKind::SemTryWait { at, acquired: true } => Some(at),
        _ => None,
    }
}

/// Whether a thread takes something of a semaphore in a run, and has given all of it back in the end.
fn gives_back(run: &Trace, who: &ThreadName, address: u64) -> bool {
    let mut has = 0_usize;
    let mut ever = false;
    let own = |event: &&Event| run.thread_name(event.thread) == who;
    for event in run.events.iter().filter(own) {
        match event.kind {
            EventKind::SemPost { at } if run.address(at) == address => has = has.saturating_sub(1),
            ref kind if takes(kind).is_some_and(|at| run.address(at) == address) => {
                (has, ever) = (has + 1, true);
            }
            _ => {}
        }
    }
    ever && has == 0
}

/// Those who wait for each other: all that have what one of them wants are among them, and each has what another one, or itself,
/// wants.
fn closed(mut members: Vec<Member<'_>>) -> Vec<Member<'_>> {
    loop {
        let before = members.len();
        let has =
            |member: &Member<'_>, address: u64| member.has.iter().any(|has| has.address == address);
        let wanted: Vec<u64> = members.iter().map(|member| member.address).collect();
        let gets = |member: &Member<'_>| members.iter().any(|other| has(other, member.address));
        let stays: Vec<bool> = members
            .iter()
            .map(|member| gets(member) && wanted.iter().any(|address| has(member, *address)))
            .collect();
        let mut stays = stays.into_iter();
        members.retain(|_| stays.next() == Some(true));
        if members.len() == before {
            return members;
        }
    }
}

fn told(failing: &Failing, circle: &[Member<'_>]) -> Option<Words> {
    let trace = &failing.observed.trace;
    let mut region = Vec::new();
    let mut objects: Vec<&str> = Vec::new();
    // Threads that do the same are told together.
    let mut clauses: Vec<(Vec<String>, String)> = Vec::new();
    let mut spans = Vec::new();
    for member in circle {
        let is_wanted = |has: &&Has| circle.iter().any(|other| other.address == has.address);
        let has = member.has.iter().rfind(is_wanted)?;
        let taken = place(trace, has.taken)?;
        let blocked = blocked_at(failing, member.request)?;
        let (owned, wanted) = (name(trace, has.at), name(trace, member.wants));
        objects.extend([owned, wanted]);
        let (since, here) = (taken.short(), blocked.short());
        let does = match has.address == member.address {
            true => format!("has one of {owned} (since {since}) and waits for one more at {here}"),
            false => format!("has {owned} (since {since}) and waits for {wanted} at {here}"),
        };
        let me = trace.thread_name(member.request.thread).to_string();
        match clauses.iter_mut().find(|(_, other)| *other == does) {
            Some((threads, _)) => threads.push(me),
            None => clauses.push((vec![me], does)),
        }
        let span = format!("{since} to {here}");
        if !spans.contains(&span) {
            spans.push(span);
        }
        for place in [taken.clone(), blocked] {
            if !region.contains(&place) {
                region.push(place);
            }
        }
    }
    objects.sort_unstable();
    objects.dedup();
    let told = clauses.iter().map(|(threads, does)| match threads.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            format!("each of {} and {last} {does}", rest.join(", "))
        }
        _ => format!("{} {does}", threads.concat()),
    });
    let told: Vec<String> = told.collect();
    let sentence = format!("{}: nobody is left who would give one back", told.join("; "));
    let advice = match objects.as_slice() {
        [one] => format!(
            "take all that is needed of {one} in one step ({} should be atomic), or give back what is there before waiting for more",
            spans.join(", ")
        ),
        all => format!("let all threads take these in the same order: {}", all.join(", ")),
    };
    Some(Words { pattern: Pattern::Deadlock, sentence, advice, region })
}
