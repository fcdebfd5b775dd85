//! The root cause in words: its kind, one sentence, and what should hold instead.

use unravel_results::{CausalOrder, Participant, Pattern};
use unravel_trace::{
    Event, EventKind, Failure, FailureKind, Place, SourceLine, ThreadName, Trace, Verb,
};

/// What there is to say about a set of orders.
#[derive(Clone, Debug)]
pub struct Words {
    pub pattern: Pattern,
    pub sentence: String,
    pub advice: String,
    pub region: Vec<Place>,
}

/// `failing` is the trace that the orders are of.
pub fn describe(failure: &Failure, orders: &[CausalOrder], failing: &Trace) -> Words {
    if failure.kind == FailureKind::Deadlock {
        return deadlock(failure, orders, failing);
    }
    let double = match orders {
        [order] => return single(order),
        [a, b] => double(a, b, failing),
        _ => None,
    };
    double
        .or_else(|| stale(failure, orders, failing))
        .or_else(|| overlap(orders))
        .unwrap_or_else(|| compound(orders))
}

fn deadlock(failure: &Failure, orders: &[CausalOrder], failing: &Trace) -> Words {
    let waits: Vec<&str> = failure.related.iter().map(|r| r.message.as_str()).collect();
    let lost = orders.iter().find(|o| matches!(o.first.verb, Verb::Signals | Verb::Broadcasts));
    if let Some(order) = lost {
        return Words {
            pattern: Pattern::LostWakeUp,
            sentence: format!(
                "{} before {}: the wake-up is lost, and {} waits for ever",
                clause(&order.first, &order.object),
                clause(&order.second, &order.object),
                order.second.key.thread
            ),
            advice: format!(
                "what is waited for has to be checked in one critical section with the wait at {}, and changed with \
                 the same lock held before the signal at {}",
                order.second.place.short(),
                order.first.place.short()
            ),
            region: vec![order.second.place.clone(), order.first.place.clone()],
        };
    }
    Words {
        pattern: Pattern::Deadlock,
        sentence: waits.join("; "),
        advice: stuck_advice(orders, failing),
        region: places(orders),
    }
}

/// What helps against a deadlock depends on what the threads wait for.
fn stuck_advice(orders: &[CausalOrder], failing: &Trace) -> String {
    if orders.is_empty() {
        return "nobody can go on: see who waits for what".to_owned();
    }
    // One lock alone has no order: somebody waits for something else with it in hand.
    let is_one = orders.iter().all(|order| order.object == orders[0].object);
    let takes =
        |order: &CausalOrder| order.first.verb.takes_lock() && order.second.verb.takes_lock();
    if !is_one && orders.iter().all(takes) {
        return format!(
            "let all threads take these in the same order: {}",
            names(orders.iter().map(|o| o.object.as_str()))
        );
    }
    if awaits_signal(failing) {
        let went_astray = failing
            .events
            .iter()
            .any(|event| matches!(event.kind, EventKind::Signal { woken: Some(_), .. }));
        return if went_astray {
            "one wake-up was not enough, or went to the wrong thread: wake all who wait (broadcast), or have a condition \
             variable for each thing that is waited for"
        } else {
            "signal whenever what is waited for changes, and check it again before and after each wait"
        }
        .to_owned();
    }
    "it is enough to make one of these orders impossible".to_owned()
}

/// Whether a thread waits on a condition variable at the end of the run, and nobody has woken it.
fn awaits_signal(failing: &Trace) -> bool {
    let events = &failing.events;
    (0..failing.threads.len()).any(|thread| {
        let Some(last) = events.iter().rposition(|event| event.thread.index() == thread) else {
            return false;
        };
        let EventKind::Wait { at: cond, .. } = events[last].kind else { return false };
        !events[last + 1..].iter().any(|later| match later.kind {
            EventKind::Signal { at, woken: Some(woken) } => at == cond && woken.index() == thread,
            EventKind::Broadcast { at, .. } => at == cond,
            _ => false,
        })
    })
}

/// One order: it should be the other way round.
fn single(order: &CausalOrder) -> Words {
    let (first, second) = (&order.first, &order.second);
    let late = if second.event.is_none() { ", which comes too late" } else { "" };
    Words {
        pattern: Pattern::OrderViolation,
        sentence: format!(
            "{} before {}{late}",
            clause(first, &order.object),
            clause(second, &order.object)
        ),
        advice: format!(
            "{} at {} has to come first: let {} wait for it at {}",
            second.key.thread,
            second.place.short(),
            first.key.thread,
            first.place.short()
        ),
        region: vec![second.place.clone(), first.place.clone()],
    }
}

/// Two orders between two threads, in opposite directions: somebody came in between.
fn double(a: &CausalOrder, b: &CausalOrder, failing: &Trace) -> Option<Words> {
    let (enter, leave) = if starts(a, b) {
        (a, b)
    } else if starts(b, a) {
        (b, a)
    } else {
        return None;
    };
    let owner = &enter.first.key.thread;
    if is_lost_update(enter, leave, failing) {
        let (x, y) = (&enter.first, &leave.first);
        return Some(Words {
            pattern: Pattern::LostUpdate,
            sentence: format!(
                "{} and {} both read {} ({} and {}) before either writes it back ({} and {}): one update is lost",
                x.key.thread,
                y.key.thread,
                enter.object,
                x.place.short(),
                y.place.short(),
                leave.second.place.short(),
                enter.second.place.short()
            ),
            advice: format!(
                "reading and writing {} should be one atomic step{}",
                enter.object,
                match (&x.place, &leave.second.place) {
                    (from, to) if same_line(from, to) => format!(" at {}", from.short()),
                    (from, to) => format!(": from {} to {}", from.short(), to.short()),
                }
            ),
            region: vec![x.place.clone(), leave.second.place.clone()],
        });
    }
    let same = enter.second.key == leave.first.key
        || (same_line(&enter.second.place, &leave.first.place)
            && enter.second.verb == leave.first.verb
            && enter.object == leave.object);
    let between = if same {
        clause(&enter.second, &enter.object)
    } else {
        format!(
            "{} and {}",
            clause(&enter.second, &enter.object),
            clause(&leave.first, &leave.object)
        )
    };
    let overwritten = same
        && enter.object == leave.object
        && enter.first.verb == Verb::Reads
        && enter.second.verb == Verb::Writes
        && leave.second.verb == Verb::Writes
        && writes_back(&enter.first, &leave.second, failing);
    let (pattern, consequence) = if overwritten {
        (Pattern::LostUpdate, ", which undoes it")
    } else {
        (Pattern::AtomicityViolation, "")
    };
    Some(Words {
        pattern,
        sentence: format!(
            "{between} between {owner}'s {} at {} and {} at {}{consequence}",
            noun(&enter.first),
            enter.first.place.short(),
            noun(&leave.second),
            leave.second.place.short()
        ),
        advice: atomic(&enter.first.place, &leave.second.place, owner, &enter.second.place.short()),
        region: vec![enter.first.place.clone(), leave.second.place.clone()],
    })
}

/// Whether `enter` lets another thread in and `leave` lets it out again.
fn starts(enter: &CausalOrder, leave: &CausalOrder) -> bool {
    let same_threads = enter.first.key.thread == leave.second.key.thread
        && enter.second.key.thread == leave.first.key.thread;
    let in_order = |a: &Participant, b: &Participant| match (a.event, b.event) {
        (Some(a), Some(b)) => a <= b,
        _ => true,
    };
    same_threads && in_order(&enter.first, &leave.second)
}

/// Whether a thread wrote what it made of this read: it did write, and did not read again before.
fn writes_back(read: &Participant, write: &Participant, failing: &Trace) -> bool {
    let (Some(read), Some(write)) = (read.event, write.event) else { return false };
    let Some(between) = failing.events.get(read as usize + 1..write as usize) else { return false };
    let own = &failing.events[read as usize];
    !between.iter().any(|event| {
        event.thread == own.thread
            && event.kind.location() == own.kind.location()
            && matches!(event.kind, EventKind::Read { .. } | EventKind::ReadModifyWrite { .. })
    })
}

fn is_lost_update(enter: &CausalOrder, leave: &CausalOrder, failing: &Trace) -> bool {
    let reads = |p: &Participant| p.verb == Verb::Reads;
    let writes = |p: &Participant| p.verb == Verb::Writes;
    enter.object == leave.object
        && reads(&enter.first)
        && writes(&enter.second)
        && reads(&leave.first)
        && writes(&leave.second)
        && writes_back(&enter.first, &leave.second, failing)
        && writes_back(&leave.first, &enter.second, failing)
}

/// Many orders, but one of them makes a read of the failing thread stale: others write what it has read before it looks
/// there again.
fn stale(failure: &Failure, orders: &[CausalOrder], failing: &Trace) -> Option<Words> {
    let owner = &failure.thread;
    let order = orders.iter().find(|order| {
        order.first.key.thread == *owner
            && order.first.verb == Verb::Reads
            && order.second.event.is_some()
    })?;
    let start = order.first.event? as usize;
    let location = failing.events.get(start)?.kind.location()?;
    let own = |event: &Event| failing.thread_name(event.thread) == owner;
    let touches = |event: &&Event| event.kind.location() == Some(location);
    let end = failing.events.iter().rposition(|event| own(event) && touches(&event))?;
    let between = failing.events.get(start + 1..end)?;
    let writes = |event: &&Event| {
        matches!(event.kind, EventKind::Write { .. } | EventKind::ReadModifyWrite { .. })
    };
    let writers: Vec<&Event> =
        between.iter().filter(|event| !own(event)).filter(touches).filter(writes).collect();
    let (from, to) = (failing.place(&failing.events[start])?, failing.place(&failing.events[end])?);
    let mut threads: Vec<&ThreadName> =
        writers.iter().map(|event| failing.thread_name(event.thread)).collect();
    threads.sort();
    threads.dedup();
    let mut lines: Vec<SourceLine> =
        writers.iter().filter_map(|event| Some(failing.place(event)?.into())).collect();
    lines.sort();
    lines.dedup();
    let lines: Vec<String> = lines.iter().map(SourceLine::short).collect();
    let last = noun_of(&failing.events[end].kind);
    let (write, threads) = match threads.as_slice() {
        [] => return None,
        [one] => ("writes", one.to_string()),
        [others @ .., last] => {
            let others: Vec<String> = others.iter().map(ToString::to_string).collect();
            ("write", format!("{} and {last}", others.join(", ")))
        }
    };
    Some(Words {
        pattern: Pattern::AtomicityViolation,
        sentence: format!(
            "{threads} {write} {} at {} between {owner}'s read at {} and its {last} at {}; it takes {} orders at once",
            order.object,
            lines.join(", "),
            from.short(),
            to.short(),
            orders.len()
        ),
        advice: atomic(from, to, owner, &lines.join(", ")),
        region: vec![from.clone(), to.clone()],
    })
}

/// Several orders over one object between two threads, in both directions: neither has finished when the other begins.
fn overlap(orders: &[CausalOrder]) -> Option<Words> {
    let CausalOrder { first, second, object, .. } = orders.first()?;
    let (one, other) = (&first.key.thread, &second.key.thread);
    let between = |order: &CausalOrder, from: &ThreadName, to: &ThreadName| {
        order.first.key.thread == *from && order.second.key.thread == *to
    };
    let there = orders.iter().any(|order| between(order, one, other));
    let back = orders.iter().any(|order| between(order, other, one));
    let only = orders.iter().all(|order| {
        order.object == *object && (between(order, one, other) || between(order, other, one))
    });
    if !there || !back || !only || object.is_empty() {
        return None;
    }
    let mut places = places(orders);
    places.retain(|place| place.line != 0);
    let (from, to) = (places.first()?.clone(), places.last()?.clone());
    if from.file != to.file {
        return None;
    }
    let span = match same_line(&from, &to) {
        true => from.short(),
        false => format!("{} to {}", from.short(), to.short()),
    };
    Some(Words {
        pattern: Pattern::AtomicityViolation,
        sentence: format!(
            "{one} and {other} are in {span} at the same time, and each goes on with what the other changes of {object}; \
             it takes {} orders at once",
            orders.len()
        ),
        advice: format!("{span} should be atomic: one thread at a time"),
        region: vec![from, to],
    })
}

/// `bank.c:53 to bank.c:54 in T0.2 should be atomic with respect to bank.c:54`.
fn atomic(from: &Place, to: &Place, owner: &ThreadName, others: &str) -> String {
    let (begin, end) = (from.short(), to.short());
    if same_line(from, to) {
        format!("{begin} in {owner} should be one atomic step with respect to {others}")
    } else {
        format!("{begin} to {end} in {owner} should be atomic with respect to {others}")
    }
}

fn same_line(one: &Place, other: &Place) -> bool {
    SourceLine::from(one) == SourceLine::from(other)
}

fn noun_of(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Write { .. } => "write",
        EventKind::ReadModifyWrite { .. } => "update",
        _ => "read",
    }
}

fn compound(orders: &[CausalOrder]) -> Words {
    if orders.is_empty() {
        return Words {
            pattern: Pattern::Compound,
            sentence: "no order of events was found that all passing runs break".to_owned(),
            advice: String::new(),
            region: Vec::new(),
        };
    }
    Words {
        pattern: Pattern::Compound,
        sentence: format!(
            "it takes {} orders at once, over {}",
            orders.len(),
            names(orders.iter().map(|o| o.object.as_str()))
        ),
        advice: "it is enough to make one of these orders impossible".to_owned(),
        region: places(orders),
    }
}

/// `T0.2 writes x at bank.c:20`.
fn clause(who: &Participant, object: &str) -> String {
    let object = if object.is_empty() { String::new() } else { format!(" {object}") };
    format!("{} {}{object} at {}", who.key.thread, who.verb, who.place.short())
}

fn noun(who: &Participant) -> &'static str {
    match who.verb {
        Verb::Reads => "read",
        Verb::Writes => "write",
        Verb::Updates => "update",
        Verb::Frees => "free",
        Verb::Locks => "lock",
        _ => "step",
    }
}

fn names<'a>(objects: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = objects.filter(|o| !o.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

fn places(orders: &[CausalOrder]) -> Vec<Place> {
    let mut places: Vec<Place> =
        orders.iter().flat_map(|o| [o.first.place.clone(), o.second.place.clone()]).collect();
    places.sort();
    places.dedup();
    places
}

/// `a`, `a and b`, `a, b, c and d`, `a, b, c and 3 more`.
pub fn listed(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] if texts.len() <= 4 => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", texts[..3].join(", "), texts.len() - 3),
    }
}
