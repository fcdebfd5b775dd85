//! Threads that wait for each other by looking again and again: each has set something that the next one waits to see set back, and
//! would set it back only after its own wait.
//!
//! The failing run shows who looks at what and who wrote that last, a run that passes that the writer sets it back once it is past
//! its own wait. *Not modelled*: what a thread waits for that somebody else than its last writer changes. Errs towards silence.

use unravel_results::Pattern;
use unravel_trace::{Event, EventKind, FailureKind, Mark, Place, ThreadId, ThreadName, Trace};

use super::naming::writes;
use crate::failing::Failing;
use crate::pattern::Words;

/// A thread that looks at something, and who wrote it last.
struct Look {
    thread: ThreadId,
    read: usize,
    written: usize,
}

pub fn describe(failing: &Failing, passing: &[&Trace]) -> Option<Words> {
    if failing.failure.kind != FailureKind::Livelock {
        return None;
    }
    let trace = &failing.observed.trace;
    let threads = (0..trace.threads.len()).map(|thread| ThreadId(thread as u32));
    let looks: Vec<Look> = threads.filter_map(|thread| look(trace, thread, passing)).collect();
    let next =
        |look: &Look| looks.iter().find(|other| other.thread == trace.events[look.written].thread);
    looks.iter().find_map(|start| {
        let mut members = vec![start];
        loop {
            let member = next(members.last()?)?;
            if member.thread == start.thread {
                break;
            }
            if members.iter().any(|other| other.thread == member.thread) {
                return None;
            }
            members.push(member);
        }
        (members.len() > 1).then(|| told(trace, &members)).flatten()
    })
}

/// What a thread looks at for ever, if who wrote it last sets it back after what it looks at itself.
fn look(trace: &Trace, thread: ThreadId, passing: &[&Trace]) -> Option<Look> {
    let round = round(trace, thread);
    round.into_iter().rev().find_map(|read| {
        let address = trace.address(trace.events[read].kind.location()?);
        let writes_it = |event: &Event| {
            let at = event.kind.location().filter(|_| writes(&event.kind));
            at.is_some_and(|at| trace.address(at) == address)
        };
        let written = trace.events.iter().rposition(writes_it)?;
        let writer = trace.events[written].thread;
        // The last that it does is a part of its own wait.
        let waits = round_of(trace, writer).into_iter().next_back()?;
        let past = Mark::of_event(trace, &trace.events[waits]);
        let name = trace.thread_name(writer);
        let back =
            writer != thread && passing.iter().any(|run| sets_back(run, name, past, address));
        back.then_some(Look { thread, read, written })
    })
}

/// The events that only look, of one round of what a thread does last.
fn round(trace: &Trace, thread: ThreadId) -> Vec<usize> {
    let all = round_of(trace, thread);
    let mark = |index: &usize| Mark::of_event(trace, &trace.events[*index]);
    let Some(last) = all.last().map(mark) else { return all };
    let before = all[..all.len() - 1].iter().rposition(|index| mark(index) == last);
    match before {
        Some(before) => all[before + 1..].to_vec(),
        // It was seen to go round before it had done so in full.
        None => all[all.len() - 1..].to_vec(),
    }
}

fn round_of(trace: &Trace, thread: ThreadId) -> Vec<usize> {
    let own = (0..trace.events.len()).rev().filter(|index| trace.events[*index].thread == thread);
    let mut all: Vec<usize> = own
        .take_while(|index| match &trace.events[*index].kind {
            EventKind::Read { .. } => true,
            EventKind::ReadModifyWrite { old, new, .. } => old == new,
            _ => false,
        })
        .collect();
    all.reverse();
    all
}

/// Whether a thread writes something after it has been at a place, in a run.
fn sets_back(run: &Trace, who: &ThreadName, past: Mark, address: u64) -> bool {
    let own = || run.events.iter().filter(|event| run.thread_name(event.thread) == who);
    let mut after = own().skip_while(|event| Mark::of_event(run, event) != past);
    after.any(|event| {
        let at = event.kind.location().filter(|_| writes(&event.kind));
        at.is_some_and(|at| run.address(at) == address)
    })
}

fn told(trace: &Trace, members: &[&Look]) -> Option<Words> {
    let place = |index: usize| trace.place(&trace.events[index]);
    let mut clauses = Vec::new();
    let mut flags: Vec<&str> = Vec::new();
    let mut region: Vec<Place> = Vec::new();
    for look in members {
        let (read, written) = (place(look.read)?, place(look.written)?);
        let flag = trace.location(trace.events[look.read].kind.location()?).shown();
        clauses.push(format!(
            "{} waits at {} for {flag} to change, which {} has written at {}",
            trace.thread_name(look.thread),
            read.short(),
            trace.thread_name(trace.events[look.written].thread),
            written.short()
        ));
        if !flags.contains(&flag) {
            flags.push(flag);
        }
        region.extend([read.clone(), written.clone()]);
    }
    Some(Words {
        pattern: Pattern::Deadlock,
        sentence: format!(
            "{}: each would set back what it has written only after its own wait",
            clauses.join("; ")
        ),
        advice: format!(
            "who has to wait must set back what others wait for ({}) and try again; or let a lock decide who goes first",
            flags.join(", ")
        ),
        region,
    })
}
