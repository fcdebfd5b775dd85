//! Events in words, the same in all reports: `read accounts[3].balance = 100`.

use unravel_results::{
    CausalOrder, Diagnosis, ExplainedBug, Participant, Pattern, Projection, Status, Verdict,
};
use unravel_trace::{Event, EventKind, Failure, FailureKind, Place, Trace, Value, Verb, WakeCause};

/// An event in words, in parts, so that a narrow report can shorten the name and keep the value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phrase {
    pub verb: &'static str,
    /// What it touches; may be empty.
    pub name: String,
    /// What follows the name, with the blank or sign before it: ` = 100`.
    pub rest: String,
}

impl Phrase {
    /// The parts as one text.
    pub fn text(&self) -> String {
        let gap = if self.name.is_empty() { "" } else { " " };
        format!("{}{gap}{}{}", self.verb, self.name, self.rest)
    }
}

/// What an event does.
pub fn phrase(trace: &Trace, event: &Event) -> Phrase {
    let verb = event.kind.verb();
    let thread = |id: unravel_trace::ThreadId| {
        trace.threads.get(id.index()).map_or_else(|| "?".to_owned(), ToString::to_string)
    };
    let location = event.kind.location().and_then(|at| trace.locations.get(at.0 as usize));
    let name = location.map_or(String::new(), |location| location.shown().to_owned());
    let show = |value: &Value| location.map_or_else(|| value.to_string(), |at| at.show(value));
    let with = |rest: String| Phrase { verb, name: name.clone(), rest };
    match &event.kind {
        EventKind::Read { value, .. } => with(format!(" = {}", show(value))),
        EventKind::Write { value, .. } => with(format!(" := {}", show(value))),
        EventKind::ReadModifyWrite { old, new, .. } => {
            with(format!(": {} -> {}", show(old), show(new)))
        }
        EventKind::Wait { mutex, .. } => match trace.locations.get(mutex.0 as usize) {
            Some(mutex) => with(format!(", release {}", mutex.name)),
            None => with(String::new()),
        },
        EventKind::Wake { by, .. } => with(match by {
            WakeCause::Signal(by) => format!(" (by {})", thread(*by)),
            WakeCause::Timeout => " (timeout)".to_owned(),
            WakeCause::Spurious => " (spurious)".to_owned(),
            WakeCause::Cancel => " (cancelled)".to_owned(),
        }),
        EventKind::Signal { woken: Some(woken), .. } => with(format!(", wakes {}", thread(*woken))),
        EventKind::Signal { woken: None, .. } => with(", nobody waits".to_owned()),
        EventKind::Broadcast { woken, .. } => with(format!(", wakes {woken}")),
        EventKind::Fork { child } | EventKind::Join { child } => {
            Phrase { verb, name: thread(*child), rest: String::new() }
        }
        EventKind::Cancel { target } => Phrase { verb, name: thread(*target), rest: String::new() },
        EventKind::External { name } | EventKind::Descriptor { name } => {
            Phrase { verb, name: name.clone(), rest: String::new() }
        }
        _ => with(String::new()),
    }
}

/// Where an event is, in the user's own code if a library's header was called or inlined there.
pub fn place<'t>(trace: &'t Trace, event: &Event) -> Option<&'t Place> {
    trace.place(event)
}

/// `bank.c:12`, also for a place that nothing is known of.
pub fn at(place: &Place) -> String {
    match (place.line, place.function.is_empty()) {
        (0, true) => "(no line information)".to_owned(),
        _ => place.short(),
    }
}

/// `deadlock: 2 threads wait for each other`. A message that begins with its kind does not need it twice.
pub fn failure(failure: &Failure) -> String {
    if failure.message.to_lowercase().starts_with(failure.kind.name()) {
        failure.message.clone()
    } else {
        format!("{}: {}", failure.kind, failure.message)
    }
}

/// Why it is not known why a bug happens; `None` if it is known.
pub fn undiagnosed(bug: &ExplainedBug) -> Option<&str> {
    match &bug.verdict {
        Verdict::Undiagnosed { reason } => Some(reason),
        Verdict::Diagnosed(diagnosis) => match &diagnosis.status {
            Status::Inconclusive { reason } => Some(reason),
            Status::Confirmed | Status::Modelled => None,
        },
    }
}

/// The name of a pattern in files, as other names there: `lost-update`.
pub fn pattern_name(pattern: Pattern) -> String {
    pattern.to_string().replace(' ', "-")
}

/// `bank.c:12`, or `bank.c:12, called at bank.c:53` where that tells it apart.
pub fn at_called(who: &Participant) -> String {
    match &who.called {
        Some(call) => format!("{}, called at {}", at(&who.place), at(call)),
        None => at(&who.place),
    }
}

/// `at bank.c:12`; of what has no line, the function: `in main`.
pub fn at_or_in(who: &Participant) -> String {
    match (who.place.line, who.place.function.is_empty()) {
        (0, true) => String::new(),
        (0, false) => format!("in {}", who.place.function),
        _ => match &who.called {
            Some(call) => format!("at {} (called at {})", at(&who.place), at(call)),
            None => format!("at {}", at(&who.place)),
        },
    }
}

/// What is said of an event that a thread waits for in vain.
pub const WAITS: &str = "waits here for ever";
/// What is said of an event that a run lacks.
pub const NOT_REACHED: &str = "not reached";
const FAILS: &str = "fails here";

/// Why an event of a cause is not in the run that fails so.
pub fn absent(who: &Participant, failure: Option<&Failure>) -> &'static str {
    let Some(failure) = failure else { return NOT_REACHED };
    if is_what_failed(who, failure) {
        return FAILS;
    }
    use Verb::{Reads, Signals, Unlocks, Updates, Writes};
    let waits = !matches!(who.verb, Reads | Writes | Updates | Signals | Unlocks);
    let stuck = waits && matches!(failure.kind, FailureKind::Deadlock | FailureKind::Livelock);
    let mut blocked = failure.related.iter().flat_map(|related| &related.stack);
    if stuck && blocked.any(|place| place.file == who.place.file && place.line == who.place.line) {
        WAITS
    } else {
        NOT_REACHED
    }
}

/// An access that fails is the last thing of its thread, and no event: it never had an effect.
fn is_what_failed(who: &Participant, failure: &Failure) -> bool {
    use FailureKind::{DataRace, DoubleFree, NullDereference, SyncMisuse, UseAfterFree};
    matches!(failure.kind, UseAfterFree | NullDereference | DoubleFree | DataRace | SyncMisuse)
        && who.key.thread == failure.thread
        && failure.place().is_some_and(|p| p.file == who.place.file && p.line == who.place.line)
}

/// The places that a person should look at: those of the projection and of the orders, each line once.
pub fn lines_to_look_at(
    diagnosis: &Diagnosis,
    projection: Option<(&Projection, &Trace)>,
) -> Vec<Place> {
    let failing = &diagnosis.failing.trace;
    let mut places: Vec<Place> = Vec::new();
    let mut take = |trace: &Trace, indices: &[u32]| {
        let events = indices.iter().filter_map(|i| trace.events.get(*i as usize));
        places.extend(events.filter_map(|event| place(trace, event)).cloned());
    };
    if let Some((projection, alternate)) = projection {
        take(failing, &projection.failing);
        take(alternate, &projection.alternate);
    }
    let orders = diagnosis.root_cause.iter().flat_map(|cause| &cause.orders);
    let ends = orders.flat_map(|o: &CausalOrder| [&o.first, &o.second]);
    places.extend(ends.flat_map(|who| [Some(who.place.clone()), who.called.clone()]).flatten());
    let race = diagnosis.race.iter().flat_map(|race| &race.accesses);
    places.extend(race.map(|access| access.who.place.clone()));
    places.extend(diagnosis.failure.place().cloned());
    places.retain(|place| place.line != 0);
    places.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    places.dedup_by(|a, b| a.file == b.file && a.line == b.line);
    // Headers of the system and wrappers are for those who have nothing else.
    if places.iter().any(Place::is_own) {
        places.retain(Place::is_own);
    }
    places
}

/// `1 event`, `2 events`.
pub fn count(number: impl Into<u64>, noun: &str) -> String {
    match (number.into(), noun) {
        (1, noun) => format!("1 {noun}"),
        (number, "context switch") => format!("{number} context switches"),
        (number, "switch") => format!("{number} switches"),
        (number, "query") => format!("{number} queries"),
        (number, "class of schedules") => format!("{number} classes of schedules"),
        (number, noun) => format!("{number} {noun}s"),
    }
}

/// `20,000,000`: a number that nobody should have to count the digits of.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1, 2 and 5`.
pub fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}
