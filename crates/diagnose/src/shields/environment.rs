//! What the environment does too early, or otherwise than it usually does: a wait that times out before what it waits for has come,
//! a sleep that is over before another thread has done its part, a process that ends before its threads, a wake-up without a signal,
//! a weak operation that fails for no reason.
//!
//! All are tried like any other shield: a wait or a sleep that is patient, a process that ends last, usual answers. That somebody
//! unlocks what it did not get is shown by the failing run itself. *Not modelled*: sleeps that are too short although nobody is late.

use unravel_results::{Kept, Pattern, RootCause};
use unravel_trace::{
    Deviation, EventKind, FailureKind, Mark, Place, Shield, ThreadId, ThreadName, Trace, WakeCause,
};

use crate::answers::{answered, is_answer};
use crate::failing::Failing;
use crate::pattern::Words;

/// A shield of this kind, and the words for it.
pub struct Late {
    pub kept: Kept,
    pub words: Words,
}

/// Answers of the environment that the failing run needs.
pub fn answers(failing: &Failing) -> Option<Late> {
    let needed = failing.needs.iter().find(|needed| is_answer(needed.kind))?;
    let place = needed.place.clone()?;
    let words = answered(&failing.needs);
    Some(Late { kept: Kept { shield: Shield::Usual, from: place.clone(), to: place }, words })
}

/// Sleeps, clocks and timers of the failing run that were over while others were late.
pub fn sleeps(failing: &Failing, cause: &RootCause) -> Vec<Late> {
    let trace = &failing.observed.trace;
    let stalls = failing.deviated.iter().filter(|deviated| deviated.kind == Deviation::Stall);
    let mut found: Vec<Late> = Vec::new();
    for stall in stalls {
        let is_it = |event: &&unravel_trace::Event| {
            event.thread == stall.thread && event.site == stall.site
        };
        let Some(event) = trace.events.iter().find(is_it) else { continue };
        let Some(place) = trace.place(event) else { continue };
        let shield = Shield::Patient { at: Mark::of_event(trace, event) };
        if found.iter().any(|known| known.kept.shield == shield) {
            continue;
        }
        let me = trace.thread_name(stall.thread);
        // Whom it should have waited for: who comes second although it should not.
        let late = cause
            .orders
            .iter()
            .find(|order| order.first.key.thread == *me && order.second.key.thread != *me);
        let (what, whom) = match late {
            Some(order) => {
                let second = &order.second;
                let who = &second.key.thread;
                let at = second.place.short();
                (format!("{who} {} {} at {at}", second.verb, order.object), who.to_string())
            }
            None => ("others have done their part".to_owned(), "the others".to_owned()),
        };
        let mut region = vec![place.clone()];
        region.extend(late.map(|order| order.second.place.clone()));
        let at = place.short();
        let (sentence, advice) = match event.kind {
            EventKind::Yield => (
                format!(
                    "{me} waits at {at} for some time, which is over before {what}: time orders nothing"
                ),
                format!(
                    "at {at} wait for {whom}, not for time: join, or a condition that is announced"
                ),
            ),
            _ => (
                format!("the timer of {at} runs out before {what}: time orders nothing"),
                format!(
                    "do not count on the timer of {at} to come later: what it does has to wait for {whom}"
                ),
            ),
        };
        let words = Words { pattern: Pattern::OrderByTime, sentence, advice, region };
        found.push(Late { kept: Kept { shield, from: place.clone(), to: place.clone() }, words });
    }
    found
}

/// Somebody unlocks what it tried to lock and did not get. That it is the same lock is seen where the unlocking succeeds.
pub fn not_acquired(failing: &Failing, passing: &[&Trace]) -> Option<Words> {
    if failing.failure.kind != FailureKind::SyncMisuse {
        return None;
    }
    let trace = &failing.observed.trace;
    let thread = trace.threads.iter().position(|name| *name == failing.failure.thread)?;
    let failed_at = failing.failure.place()?;
    let mut own = trace.events.iter().filter(|event| event.thread.index() == thread).rev();
    let tried = own.find_map(|event| match event.kind {
        EventKind::TryLock { acquired, at, .. } => Some((!acquired).then_some((event, at))),
        EventKind::Lock { .. } | EventKind::Unlock { .. } | EventKind::Wake { .. } => Some(None),
        _ => None,
    })??;
    let (event, at) = tried;
    let (place, what) = (trace.place(event)?, &trace.location(at).name);
    let unlocks = |run: &&Trace| {
        run.events.iter().any(|event| {
            matches!(event.kind, EventKind::Unlock { at: other } if run.address(other) == trace.address(at))
                && run.place(event).is_some_and(|place| place == failed_at)
        })
    };
    if !passing.iter().any(unlocks) {
        return None;
    }
    let me = &failing.failure.thread;
    Some(Words {
        pattern: Pattern::TakenForGranted,
        sentence: format!(
            "{me} does not get {what} at {}, goes on as if it had, and unlocks it at {}",
            place.short(),
            failed_at.short()
        ),
        advice: format!("look at what the attempt to lock {what} at {} returns", place.short()),
        region: vec![place.clone(), failed_at.clone()],
    })
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
    // Where a library ends a thread says nothing of what the program does with the answer.
    let goes_on = goes_on.and_then(|event| trace.place(event)).filter(|next| !next.is_system());
    let goes_on = goes_on.map_or_else(
        || format!("{me} goes on"),
        |next| format!("{me} goes on at {} all the same", next.short()),
    );
    let before = comes.as_ref().map_or_else(String::new, |(who, does, at)| {
        format!(" before {who} {does} it at {}", at.short())
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
