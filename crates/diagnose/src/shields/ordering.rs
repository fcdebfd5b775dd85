//! The words for an order that should have held.

use unravel_results::Pattern;
use unravel_trace::{Event, EventKind, FailureKind, Value, Verb};

use super::orders::{End, Wanted};
use crate::calls;
use crate::failing::Failing;
use crate::pattern::Words;

pub fn describe(failing: &Failing, wanted: &Wanted) -> Words {
    let Wanted { first, then, object, .. } = wanted;
    let pattern = pattern(failing, wanted);
    let what = if object.is_empty() { String::new() } else { format!(" {object}") };
    let (here, there) = (then.place.short(), first.place.short());
    let did = |end: &End| format!("{} {}{what} at {}", end.thread, end.verb, end.place.short());
    if let Some(flag) = published(failing, wanted) {
        return flag.words(failing, wanted);
    }
    let (sentence, advice) = match pattern {
        _ if gives_away_local(failing, wanted) => {
            let failed = failing.failure.place().map_or_else(|| there.clone(), |at| at.short());
            (
                format!(
                    "{} hands out the address of a local variable ({object}) at {here}; {} uses it at {failed} when the function \
                     that it belongs to has returned",
                    then.thread, failing.failure.thread
                ),
                format!(
                    "what is handed to another thread at {here} has to live as long as that uses it: wait for {} before the \
                     function returns, or keep it elsewhere",
                    failing.failure.thread
                ),
            )
        }
        Pattern::EarlyFree => (
            format!(
                "{} while {}{} still needs it at {there}",
                did(then),
                first.thread,
                got_it(failing, wanted)
            ),
            format!(
                "{there} in {} has to come before {here}: wait for it, or count who still uses it",
                first.thread
            ),
        ),
        Pattern::MissingJoin => (
            format!(
                "{} before {} at {there}: nobody has waited for {} to end",
                did(then),
                verb_of(first, &what),
                first.thread
            ),
            format!("join {} before {here}", first.thread),
        ),
        Pattern::EarlyUse => (
            format!("{} before {} at {there}", did(then), verb_of(first, &what)),
            format!(
                "{there} in {} has to come before {here}: start or wake {} only after it",
                first.thread, then.thread
            ),
        ),
        _ => (
            format!("{} before {} at {there}", did(then), verb_of(first, &what)),
            format!(
                "{} at {there} has to come first: let {} wait for it at {here}",
                first.thread, then.thread
            ),
        ),
    };
    Words { pattern, sentence, advice, region: vec![first.place.clone(), then.place.clone()] }
}

/// What says that something is ready although it is not: where it is written, and where it was read.
struct Flag {
    written: usize,
    read: usize,
}

/// The flag that a thread looked at last before it used what the other had not written yet, if the other had set it.
fn published(failing: &Failing, wanted: &Wanted) -> Option<Flag> {
    let trace = &failing.observed.trace;
    let used = wanted.then.event?;
    let value = |verb: Verb| matches!(verb, Verb::Reads | Verb::Writes | Verb::Updates);
    if !value(wanted.first.verb) || !value(wanted.then.verb) {
        return None;
    }
    let own = |index: &usize| {
        trace.events[*index].thread == trace.events[used].thread
            && !matches!(trace.events[*index].kind, EventKind::Yield)
    };
    let read = (0..used).rev().find(own)?;
    let EventKind::Read { at, .. } = trace.events[read].kind else { return None };
    let same = |other: &EventKind| match *other {
        EventKind::Write { at: other, .. } | EventKind::ReadModifyWrite { at: other, .. } => {
            trace.address(other) == trace.address(at)
        }
        _ => false,
    };
    let written = trace.events[..read].iter().rposition(|event| same(&event.kind))?;
    let by = trace.thread_name(trace.events[written].thread);
    let is_other = trace.events[used].kind.location() != Some(at);
    // What was written before a thread was created is no news for it.
    let reader = trace.events[used].thread;
    let created =
        |event: &Event| matches!(event.kind, EventKind::Fork { child } if child == reader);
    if trace.events[written..].iter().any(created) {
        return None;
    }
    (*by == wanted.first.thread && is_other).then_some(Flag { written, read })
}

impl Flag {
    fn words(&self, failing: &Failing, wanted: &Wanted) -> Words {
        let Wanted { first, then, object, .. } = wanted;
        let trace = &failing.observed.trace;
        let event = &trace.events[self.read];
        let flag = event.kind.location().map_or("it", |at| &trace.location(at).name);
        let place = |index: usize| trace.place(&trace.events[index]);
        let at = |index: usize| {
            place(index).map_or_else(String::new, |at| format!(" at {}", at.short()))
        };
        let (there, here) = (first.place.short(), then.place.short());
        let mut region: Vec<_> = place(self.written).cloned().into_iter().collect();
        region.push(first.place.clone());
        Words {
            pattern: Pattern::EarlyPublication,
            sentence: format!(
                "{} writes {flag}{} before {object} at {there}; {} sees {flag}{} and {} {object} at {here}, which is not there yet",
                first.thread,
                at(self.written),
                then.thread,
                at(self.read),
                then.verb
            ),
            advice: format!(
                "in {} write {object} ({there}) before {flag}{}, which says that it is there",
                first.thread,
                at(self.written)
            ),
            region,
        }
    }
}

/// Whether a thread writes a pointer that the failing thread reads there, and what it pointed to was a local variable.
fn gives_away_local(failing: &Failing, wanted: &Wanted) -> bool {
    let trace = &failing.observed.trace;
    let Some(EventKind::Write { at, value }) = wanted.then.event.map(|i| &trace.events[i].kind)
    else {
        return false;
    };
    failing.failure.kind == FailureKind::DeadStack
        && *value != Value::Word(0)
        && trace.events.iter().any(|event| {
            *trace.thread_name(event.thread) == failing.failure.thread
                && matches!(&event.kind, EventKind::Read { at: from, value: got } if from == at && got == value)
        })
}

/// Where a thread got what was taken from it: the last it saw of it before.
fn got_it(failing: &Failing, wanted: &Wanted) -> String {
    let trace = &failing.observed.trace;
    let Some(freed) = wanted.then.event else { return String::new() };
    let Some(at) = trace.events[freed].kind.location() else { return String::new() };
    let object = &trace.objects[trace.location(at).object.0 as usize];
    let inside = object.address..object.address + object.bytes.max(1);
    let last = trace.events[..freed].iter().rposition(|event| {
        let points = match &event.kind {
            EventKind::Read { value: Value::Word(word), .. } => inside.contains(word),
            _ => false,
        };
        let touches = event.kind.location().is_some_and(|at| inside.contains(&trace.address(at)));
        *trace.thread_name(event.thread) == wanted.first.thread && (points || touches)
    });
    let Some(last) = last else { return String::new() };
    let Some(place) = trace.place(&trace.events[last]) else { return String::new() };
    if *place == wanted.first.place {
        return String::new();
    }
    let called = calls::said(match used(failing, &wanted.first) {
        Some(used) => failing.calls.beside(last, used),
        None => failing.calls.apart(last, trace.events[last].site),
    });
    format!(", which was at {}{called},", place.short())
}

/// The event that still needs it.
fn used(failing: &Failing, end: &End) -> Option<usize> {
    let trace = &failing.observed.trace;
    let is_it = |index: &usize| {
        let event = &trace.events[*index];
        *trace.thread_name(event.thread) == end.thread && trace.place(event) == Some(&end.place)
    };
    end.event.or_else(|| (0..trace.events.len()).rev().find(is_it))
}

fn verb_of(end: &End, what: &str) -> String {
    format!("{} {}{what}", end.thread, end.verb)
}

fn pattern(failing: &Failing, wanted: &Wanted) -> Pattern {
    let Wanted { first, then, .. } = wanted;
    let trace = &failing.observed.trace;
    let joins = trace.events.iter().any(|event| match event.kind {
        EventKind::Join { child } => *trace.thread_name(child) == first.thread,
        _ => false,
    });
    let creator = then.thread.is_ancestor_of(&first.thread);
    match then.verb {
        _ if gives_away_local(failing, wanted) => Pattern::EarlyFree,
        _ if creator && !joins => Pattern::MissingJoin,
        Verb::Frees | Verb::Destroys => Pattern::EarlyFree,
        Verb::Signals | Verb::Broadcasts => Pattern::LostWakeUp,
        Verb::Reads | Verb::Updates if matches!(first.verb, Verb::Writes | Verb::Updates) => {
            Pattern::EarlyUse
        }
        _ => Pattern::OrderViolation,
    }
}
