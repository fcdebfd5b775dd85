//! The words for an order that should have held.

use unravel_results::Pattern;
use unravel_trace::{
    Event, EventKind, FailureKind, LocationId, Mark, Shield, ThreadId, ThreadName, Trace, Value,
    Verb, shown_name,
};

use super::naming::writes;
use super::orders::{End, Returned, Wanted};
use super::unwoken;
use crate::budgets::LOOK_BACK;
use crate::calls;
use crate::failing::Failing;
use crate::pattern::Words;

pub fn describe(failing: &Failing, wanted: &Wanted) -> Words {
    let Wanted { first, then, .. } = wanted;
    let object = shown_name(&wanted.object);
    let pattern = pattern(failing, wanted);
    let what = if object.is_empty() { String::new() } else { format!(" {object}") };
    let (here, there) = (then.place.short(), first.place.short());
    let did = |end: &End| format!("{} {}{what} at {}", end.thread, end.verb, end.place.short());
    if let Some(flag) = published(failing, wanted) {
        return flag.words(failing, first, then, object);
    }
    if let Some(words) = unwoken::describe(failing, wanted) {
        return words;
    }
    let (sentence, advice) = match pattern {
        _ if wanted.is_return => {
            let (used, last) = (first.clone(), then.clone());
            return returned(failing, &Returned { used, last });
        }
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
        _ if lends_and_changes(failing, wanted) => (
            format!(
                "{} has handed {} the address of {object}, and {} it at {here} before {} {} it at {there}",
                then.thread, first.thread, then.verb, first.thread, first.verb
            ),
            format!(
                "give {} the value, or a variable of its own, not the address of {object}: {} goes on to change it at {here}",
                first.thread, then.thread
            ),
        ),
        _ if matches!(wanted.shield, Shield::Turns { .. }) => (
            format!(
                "{} more often than {} at {there}: it does not wait for one of its own each time",
                did(then),
                verb_of(first, &what)
            ),
            format!(
                "each time {} comes to {here} it has to wait until {} has been at {there} once more",
                then.thread, first.thread
            ),
        ),
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
        Pattern::EarlyUse if is_next_phase(wanted) => (
            format!("{} before {} at {there}", did(then), verb_of(first, &what)),
            format!(
                "{there} in {} has to come before {here} in {}, and both run {}: let all of them wait for each other between the two, at \
                 a barrier",
                first.thread, then.thread, then.place.function
            ),
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
                "{} at {there} has to come first: let {} wait for it at {here}{}",
                first.thread,
                then.thread,
                or_look(failing, wanted)
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

/// The flag that a thread went by when it used what the other had not written yet, if the other had set it: the last of them.
fn published(failing: &Failing, wanted: &Wanted) -> Option<Flag> {
    let trace = &failing.observed.trace;
    let used = wanted.then.event?;
    // What is announced is written, and who goes by it reads it.
    let is_told = matches!(wanted.first.verb, Verb::Writes | Verb::Updates)
        && matches!(wanted.then.verb, Verb::Reads | Verb::Updates);
    if !is_told {
        return None;
    }
    let by = |thread: ThreadId| *trace.thread_name(thread) == wanted.first.thread;
    announced(failing, used, &by)
}

/// The last that a thread went by when it used something that one of others had not written yet, although that had announced it: a
/// flag, or a semaphore that was posted.
fn announced(failing: &Failing, used: usize, by: &dyn Fn(ThreadId) -> bool) -> Option<Flag> {
    let trace = &failing.observed.trace;
    let own = |index: &usize| trace.events[*index].thread == trace.events[used].thread;
    let before = (0..used).rev().filter(own).take(LOOK_BACK);
    before.into_iter().find_map(|read| {
        flag_of(failing, by, read, used).or_else(|| post_of(trace, by, read, used))
    })
}

/// The semaphore that was waited for here, if who posted it never waits for it itself, as for a lock, and has not written since what
/// is used.
fn post_of(trace: &Trace, by: &dyn Fn(ThreadId) -> bool, read: usize, used: usize) -> Option<Flag> {
    let (EventKind::SemWait { at } | EventKind::SemTryWait { at, acquired: true }) =
        trace.events[read].kind
    else {
        return None;
    };
    let same = |other: LocationId| trace.address(other) == trace.address(at);
    let posts =
        |event: &Event| matches!(event.kind, EventKind::SemPost { at: other } if same(other));
    let written = trace.events[..read].iter().rposition(posts)?;
    let poster = trace.events[written].thread;
    let takes = |event: &Event| match event.kind {
        EventKind::SemWait { at: other } | EventKind::SemTryWait { at: other, .. } => {
            event.thread == poster && same(other)
        }
        _ => false,
    };
    let data = trace.events[used].kind.location();
    let is_there = trace.events[written..used].iter().any(|event| {
        event.thread == poster && event.kind.location() == data && writes(&event.kind)
    });
    (by(poster) && !is_there && !trace.events.iter().any(takes)).then_some(Flag { written, read })
}

/// The words for several threads that nobody waits for, where one of them has said that it is done: in all runs that show both it
/// says so before it does what was used. `late` is what it does.
pub fn announced_by_some(
    failing: &Failing,
    early: &End,
    late: &End,
    object: &str,
    threads: &[ThreadName],
    runs: &[&Trace],
) -> Option<Words> {
    let trace = &failing.observed.trace;
    let by = |thread: ThreadId| threads.contains(trace.thread_name(thread));
    let flag = announced(failing, early.event?, &by)?;
    let said = Mark::of_event(trace, &trace.events[flag.written]);
    let comes_later = |run: &Trace| {
        (0..run.threads.len()).any(|thread| {
            let own = run.events.iter().filter(|event| event.thread.index() == thread);
            let marks: Vec<Mark> = own.map(|event| Mark::of_event(run, event)).collect();
            let said = marks.iter().position(|mark| *mark == said);
            let done = marks.iter().position(|mark| *mark == late.mark);
            said.zip(done).is_some_and(|(said, done)| said < done)
        })
    };
    let writer = trace.thread_name(trace.events[flag.written].thread).clone();
    runs.iter().any(|run| comes_later(run)).then(|| {
        let first = End { thread: writer, ..late.clone() };
        flag.words(failing, &first, early, shown_name(object))
    })
}

/// The flag that was read here, if it is one.
fn flag_of(
    failing: &Failing,
    by: &dyn Fn(ThreadId) -> bool,
    read: usize,
    used: usize,
) -> Option<Flag> {
    let trace = &failing.observed.trace;
    let EventKind::Read { at, .. } = trace.events[read].kind else { return None };
    let same = |other: &EventKind| match *other {
        EventKind::Write { at: other, .. } | EventKind::ReadModifyWrite { at: other, .. } => {
            trace.address(other) == trace.address(at)
        }
        _ => false,
    };
    let written = trace.events[..read].iter().rposition(|event| same(&event.kind))?;
    let is_other = trace.events[used].kind.location() != Some(at);
    // What a thread had written before it created another is no news for that; what somebody else writes meanwhile is.
    let (reader, writer) = (trace.events[used].thread, trace.events[written].thread);
    let created = |event: &Event| {
        matches!(event.kind, EventKind::Fork { child } if child == reader) && event.thread == writer
    };
    if trace.events[written..].iter().any(created) {
        return None;
    }
    let is_flag = by(trace.events[written].thread) && is_other && decides(failing, read, used);
    is_flag.then_some(Flag { written, read })
}

/// Whether a thread goes by what it read when it uses something: what it only looked at says of nothing that it is there.
pub fn decides(failing: &Failing, read: usize, used: usize) -> bool {
    let Some(symbolic) = &failing.symbolic else { return false };
    let Some(shadow) = symbolic.shadows.get(read) else { return false };
    let symbols = shadow.first..shadow.first + shadow.reads;
    symbolic.conditions.iter().any(|condition| {
        condition.thread == failing.observed.trace.events[read].thread
            && (read..used).contains(&(condition.after as usize))
            && symbolic.exprs.symbols(condition.holds).iter().any(|s| symbols.contains(&s.0))
    })
}

impl Flag {
    fn words(&self, failing: &Failing, first: &End, then: &End, object: &str) -> Words {
        let trace = &failing.observed.trace;
        let event = &trace.events[self.read];
        let is_posted = matches!(trace.events[self.written].kind, EventKind::SemPost { .. });
        let (tells, sees) = if is_posted { ("posts", "gets past") } else { ("writes", "sees") };
        let flag = event.kind.location().map_or("it", |at| trace.location(at).shown());
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
                "{} {tells} {flag}{} before it writes {object} at {there}; {} {sees} {flag}{} and {} {object} at {here}, which is not there yet",
                first.thread,
                at(self.written),
                then.thread,
                at(self.read),
                then.verb
            ),
            advice: format!(
                "in {} write {object} ({there}) before it {tells} {flag}{}, which says that it is there",
                first.thread,
                at(self.written)
            ),
            region,
        }
    }
}

/// A local variable that is used when its function has returned; seen in the failing run, whatever would keep it away.
pub fn returned(failing: &Failing, returned: &Returned) -> Words {
    let Returned { used, last } = returned;
    let (here, there) = (last.place.short(), used.place.short());
    let trace = &failing.observed.trace;
    let joins = trace.events.iter().any(|event| match event.kind {
        EventKind::Join { child } => *trace.thread_name(child) == used.thread,
        _ => false,
    });
    let is_creator = last.thread.is_ancestor_of(&used.thread);
    Words {
        pattern: if is_creator && !joins { Pattern::MissingJoin } else { Pattern::EarlyFree },
        sentence: format!(
            "{} leaves after {here} the function whose local variable {} uses at {there}: it is gone by then",
            last.thread, used.thread
        ),
        advice: format!(
            "let {} wait for {} before that function returns, after {here}, or keep what {there} uses where it lives long enough",
            last.thread, used.thread
        ),
        region: vec![used.place.clone(), last.place.clone()],
    }
}

/// Whether what comes too early is a free, and what it should have waited for is the very use that failed.
pub fn is_free_before_failure(failing: &Failing, wanted: &Wanted) -> bool {
    let Wanted { first, then, .. } = wanted;
    then.verb == Verb::Frees
        && first.thread == failing.failure.thread
        && failing.failure.place() == Some(&first.place)
        && matches!(wanted.shield, Shield::Order { .. })
}

/// Several orders that have to hold together.
pub fn together(failing: &Failing, wanted: &[Wanted]) -> Words {
    let mut words = describe(failing, &wanted[0]);
    let short = |end: &End| format!("{} at {}", end.thread, end.place.short());
    let mut all: Vec<String> = Vec::new();
    for wanted in wanted {
        let Wanted { first, then, .. } = wanted;
        let order = match wanted.shield {
            Shield::Turns { .. } => format!(
                "{} has to wait each time until {} has come once more",
                short(then),
                short(first)
            ),
            _ => format!("{} has to come before {}", short(first), short(then)),
        };
        if !all.contains(&order) {
            all.push(order);
        }
        for place in [&first.place, &then.place] {
            if !words.region.contains(place) {
                words.region.push(place.clone());
            }
        }
    }
    // Parts of one condition are read one after the other: that is one order.
    if all.len() > 1 {
        words.pattern = Pattern::OrderViolation;
        words.advice = format!("it takes {} orders together: {}", all.len(), all.join(", and "));
    }
    words
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

/// Whether two threads of one kind come to both ends, one after the other.
fn is_next_phase(wanted: &Wanted) -> bool {
    let (first, then) = (&wanted.first.place, &wanted.then.place);
    let related = wanted.first.thread.is_ancestor_of(&wanted.then.thread)
        || wanted.then.thread.is_ancestor_of(&wanted.first.thread);
    !related
        && (&first.file, &first.function) == (&then.file, &then.function)
        && first.line < then.line
}

/// Whether what a thread reads is a variable of who created it, by the address that it was given: it reads nothing of what was
/// visible before, and the variable is changed after the thread was created.
fn lends_and_changes(failing: &Failing, wanted: &Wanted) -> bool {
    let Wanted { first, then, .. } = wanted;
    let trace = &failing.observed.trace;
    let Some(changed) = then.event else { return false };
    let EventKind::Write { at, .. } = trace.events[changed].kind else { return false };
    let is_child = then.thread.is_ancestor_of(&first.thread)
        && first.thread.0.len() == then.thread.0.len() + 1;
    let created = trace.events[..changed].iter().any(|event| match event.kind {
        EventKind::Fork { child } => *trace.thread_name(child) == first.thread,
        _ => false,
    });
    // It is the first that the thread looks at, and nobody but its owner ever changes it.
    let is_own = |event: &&Event| *trace.thread_name(event.thread) == first.thread;
    let looks_first =
        trace.events.iter().filter(is_own).find(|event| event.kind.location().is_some());
    let others_change = trace.events.iter().any(|event| {
        event.kind.location() == Some(at)
            && writes(&event.kind)
            && *trace.thread_name(event.thread) != then.thread
    });
    // A local variable belongs to no object that is known as a whole.
    let object = &trace.objects[trace.location(at).object.0 as usize];
    let is_local = object.site.is_none() && u64::from(trace.location(at).bytes) > object.bytes;
    is_child
        && created
        && is_local
        && !others_change
        && first.verb == Verb::Reads
        && looks_first.is_none_or(|event| event.kind.location() == Some(at))
}

/// Of a null pointer that another thread has left there: who uses it can look.
fn or_look(failing: &Failing, wanted: &Wanted) -> String {
    let trace = &failing.observed.trace;
    let written = wanted.then.event.map(|index| &trace.events[index].kind);
    let is_null = matches!(written, Some(EventKind::Write { value: Value::Word(0), .. }))
        && failing.failure.kind == FailureKind::NullDereference
        && wanted.first.thread == failing.failure.thread;
    match is_null {
        true => format!(
            "; or let {} look whether there is still something at {} before it uses it, in one step with the use",
            wanted.first.thread,
            wanted.first.place.short()
        ),
        false => String::new(),
    }
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

fn is_stuck(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::Deadlock | FailureKind::Livelock)
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
        _ if matches!(wanted.shield, Shield::Turns { .. }) => Pattern::OrderViolation,
        // Who waits for something that never comes would not be helped by waiting for an end as well.
        _ if creator && !joins && !is_stuck(failing.failure.kind) => Pattern::MissingJoin,
        Verb::Frees | Verb::Destroys => Pattern::EarlyFree,
        Verb::Signals | Verb::Broadcasts => Pattern::LostWakeUp,
        Verb::Reads | Verb::Updates if matches!(first.verb, Verb::Writes | Verb::Updates) => {
            Pattern::EarlyUse
        }
        _ => Pattern::OrderViolation,
    }
}
