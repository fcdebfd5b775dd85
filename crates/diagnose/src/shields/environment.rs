//! What the environment does too early: a wait that times out before what it waits for has come, a process that ends before
//! its threads.
//!
//! Both are tried like any other shield: a wait that is patient, a process that ends last. *Not modelled*: sleeps that are too short
//! (no wait is to be mended there).

use unravel_results::{Kept, Pattern};
use unravel_trace::{
    EventKind, FailureKind, Mark, Place, Shield, ThreadId, ThreadName, Trace, WakeCause,
};

use crate::failing::Failing;
use crate::pattern::Words;

/// A shield of this kind, and the words for it.
pub struct Late {
    pub kept: Kept,
    pub words: Words,
}

/// Waits of the failing run that timed out, the last first.
pub fn waits(failing: &Failing, passing: &[&Trace]) -> Vec<Late> {
    let trace = &failing.observed.trace;
    let timed_out = (0..trace.events.len()).rev().filter(|index| match trace.events[*index].kind {
        EventKind::Wake { by, .. } => by == WakeCause::Timeout,
        EventKind::TryLock { acquired, .. } | EventKind::SemTryWait { acquired, .. } => !acquired,
        _ => false,
    });
    let mut found: Vec<Late> = Vec::new();
    for index in timed_out {
        let shield = Shield::Patient { at: Mark::of_event(trace, &trace.events[index]) };
        if found.iter().any(|known| known.kept.shield == shield) {
            continue;
        }
        let Some(place) = trace.place(&trace.events[index]) else { continue };
        let Some(words) = timeout(trace, index, place, passing) else { continue };
        let kept = Kept { shield, from: place.clone(), to: place.clone() };
        found.push(Late { kept, words });
    }
    found
}

fn timeout(trace: &Trace, index: usize, place: &Place, passing: &[&Trace]) -> Option<Words> {
    let event = &trace.events[index];
    let me = trace.thread_name(event.thread);
    let at = event.kind.location()?;
    let what = &trace.location(at).name;
    let address = trace.address(at);
    // Who ends the wait where it does not time out.
    let comes = passing.iter().find_map(|run| {
        let ends = |kind: &EventKind| match *kind {
            EventKind::Signal { at, .. }
            | EventKind::Broadcast { at, .. }
            | EventKind::SemPost { at }
            | EventKind::Unlock { at } => run.address(at) == address,
            _ => false,
        };
        let event = run
            .events
            .iter()
            .find(|other| ends(&other.kind) && run.thread_name(other.thread) != me)?;
        Some((run.thread_name(event.thread), event.kind.does(), run.place(event)?))
    });
    let goes_on = trace.events[index + 1..].iter().find(|other| {
        other.thread == event.thread
            && matches!(
                other.kind,
                EventKind::Read { .. }
                    | EventKind::Write { .. }
                    | EventKind::ReadModifyWrite { .. }
                    | EventKind::Free { .. }
                    | EventKind::SyncDestroy { .. }
            )
    });
    let goes_on = goes_on.and_then(|event| trace.place(event)).map_or_else(
        || format!("{me} goes on"),
        |next| format!("{me} goes on at {} as if it had come", next.short()),
    );
    let before = comes.as_ref().map_or_else(String::new, |(who, does, at)| {
        format!(" just before {who} {does} it at {}", at.short())
    });
    let mut region = vec![place.clone()];
    region.extend(comes.map(|(_, _, at)| at.clone()));
    Some(Words {
        pattern: Pattern::Timeout,
        sentence: format!(
            "the wait of {me} for {what} at {} times out{before}; {goes_on}",
            place.short()
        ),
        advice: format!(
            "when the wait at {} has timed out, nothing is known of the other thread: look at what was waited for again, or do \
             not use it",
            place.short()
        ),
        region,
    })
}

/// The end of the process, if others had not ended.
pub fn end(failing: &Failing, passing: &[&Trace]) -> Option<Late> {
    let trace = &failing.observed.trace;
    let judged = matches!(
        failing.failure.kind,
        FailureKind::Output | FailureKind::Check | FailureKind::ExitCode
    );
    let by_main = failing.failure.thread == ThreadName::main();
    let has_ended = |trace: &Trace, thread: usize| {
        let exits = |event: &unravel_trace::Event| {
            event.thread.index() == thread && matches!(event.kind, EventKind::Exit)
        };
        trace.events.iter().any(exits)
    };
    let left = (1..trace.threads.len()).find(|thread| !has_ended(trace, *thread))?;
    if !judged && !by_main {
        return None;
    }
    let name = &trace.threads[left];
    let last = trace.events.iter().rfind(|event| event.thread == ThreadId::MAIN)?;
    let place = trace.place(last)?;
    // What it would have done: the first of it that the failing run lacks.
    let done = trace.events.iter().filter(|event| event.thread.index() == left).count();
    let undone = passing.iter().find_map(|run| {
        let other = run.threads.iter().position(|known| known == name)?;
        let mut own = run.events.iter().filter(|event| event.thread.index() == other).skip(done);
        let event = own.find(|event| !matches!(event.kind, EventKind::Start | EventKind::Exit))?;
        run.place(event)
    });
    let doing = undone.map_or_else(
        || format!("{name} has ended"),
        |at| format!("{name} does what it should at {}", at.short()),
    );
    let mut region = vec![place.clone()];
    region.extend(undone.cloned());
    let words = Words {
        pattern: Pattern::EarlyExit,
        sentence: format!(
            "main returns, or the process exits, after {} before {doing}: with the process all its threads end",
            place.short()
        ),
        advice: format!("join {name} before main returns"),
        region,
    };
    let to = undone.unwrap_or(place).clone();
    Some(Late { kept: Kept { shield: Shield::Outlived, from: place.clone(), to }, words })
}
