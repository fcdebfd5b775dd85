//! Orders that should have held: those of the root cause, the other way round.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use unravel_results::{Participant, RootCause};
use unravel_trace::{
    Event, EventKind, FailureKind, LocationId, Mark, Object, Place, Shield, ThreadName, ThreadTag,
    Trace, Value, Verb,
};

use super::naming::writes;
use crate::budgets::{
    LEAST_ADDRESS, LOOK_BACK, MOST_ORDERS, MOST_OTHER_ORDERS, MOST_RIVALS, WINDOW,
};
use crate::failing::Failing;
use crate::held::{Held, held};
use crate::points::{Extents, Touch};
use crate::relevance::Relevance;

/// `first` should come before `then`.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub shield: Shield,
    pub first: End,
    pub then: End,
    pub object: String,
    /// What comes then is the last before a function returns.
    pub is_return: bool,
}

/// What should come first, what then, and what both are about.
type Pair = (End, End, String);

/// One of the two.
#[derive(Clone, Debug)]
pub struct End {
    pub thread: ThreadName,
    pub place: Place,
    pub verb: Verb,
    /// In the failing run.
    pub event: Option<usize>,
    pub mark: Mark,
}

pub fn candidates(failing: &Failing, cause: &RootCause, all: &[&Trace]) -> Vec<Wanted> {
    let trace = &failing.observed.trace;
    let passing = all.first().copied();
    let locks = held(trace);
    let mut pairs: Vec<Pair> = Vec::new();
    pairs.extend(all.iter().find_map(|run| misuse(failing, run)));
    pairs.extend(use_before_free(failing));
    for order in &cause.orders {
        let end = |who: &Participant| End::of(who, trace, passing);
        let pair = (end(&order.second), end(&order.first), order.object.clone());
        let outside =
            before_lock(&pair.1, trace, &locks).map(|then| (pair.0.clone(), then, pair.2.clone()));
        pairs.push(in_sections(&pair, trace, all).unwrap_or(pair));
        pairs.extend(outside);
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    for pair in pairs {
        let count = |mark: Mark| {
            let of = |trace: &Trace| {
                let is_it = |event: &&Event| {
                    event.kind != EventKind::Start && Mark::of_event(trace, event) == mark
                };
                trace.events.iter().filter(is_it).count() as u32
            };
            all.iter().map(|run| of(run)).max().unwrap_or(0).max(of(trace))
        };
        add(&mut wanted, pair, count);
    }
    wanted.truncate(MOST_ORDERS);
    if let Some(returned) = Returned::of(failing, all) {
        let mut kept = Vec::new();
        add(&mut kept, (returned.used, returned.last, String::new()), |_| 1);
        kept.iter_mut().for_each(|wanted| wanted.is_return = true);
        wanted.splice(0..0, kept);
    }
    wanted
}

/// The shields that keep one order; `count` says how often a mark is seen in a run.
fn add(wanted: &mut Vec<Wanted>, (first, then, object): Pair, count: impl Fn(Mark) -> u32) {
    let mut shields = Vec::new();
    if first.mark == then.mark {
        // Who of two threads comes first to one place.
        let (of, by) = (ThreadTag::of(&first.thread), ThreadTag::of(&then.thread));
        if of != by {
            shields.push(Shield::Between { first: first.mark, of, then: then.mark, by });
        }
    } else {
        let most = count(first.mark).max(1);
        let last = matches!(then.verb, Verb::Frees | Verb::Destroys).then_some(u32::MAX);
        let times = [1, most].into_iter().chain(last);
        shields.extend(times.map(|times| Shield::Order {
            first: first.mark,
            times,
            then: then.mark,
        }));
        if count(then.mark) > 1 {
            let (first, then) = (first.mark, then.mark);
            // What was there before counts for one.
            shields.extend([0, 1].map(|ahead| Shield::Turns { first, then, ahead }));
        }
    }
    for shield in shields {
        if !wanted.iter().any(|known| known.shield == shield) {
            let (first, then, object) = (first.clone(), then.clone(), object.clone());
            wanted.push(Wanted { shield, first, then, object, is_return: false });
        }
    }
}

/// Orders of a run that fails so, the other way round, and turns that its threads might take: what the failure depends on first,
/// then the last.
pub fn of_run(run: &Trace, relevance: &Relevance, extents: &Extents) -> Vec<Wanted> {
    let mut found: Vec<(u32, Reverse<usize>, Pair)> = Vec::new();
    let mut seen: FxHashMap<LocationId, Vec<usize>> = FxHashMap::default();
    // What comes at the end of a long run says enough, and every pair is looked at.
    let begin = run.events.len().saturating_sub(WINDOW);
    let mut locks = held(run);
    locks.retain(|held| held.released.is_none_or(|released| released >= begin));
    let mut counts: FxHashMap<Mark, u32> = FxHashMap::default();
    for (index, event) in run.events.iter().enumerate() {
        if event.kind != EventKind::Start {
            *counts.entry(Mark::of_event(run, event)).or_default() += 1;
        }
        let Some(at) = event.kind.location() else { continue };
        let touch = Touch::of_event(run, event);
        let is_data = matches!(touch, Touch::Memory { .. });
        if index < begin || !is_data || !relevance.may_matter(&touch, extents) {
            continue;
        }
        let rank = relevance.rank(&touch, extents);
        let known = seen.entry(at).or_default();
        let mut marks: Vec<Mark> = Vec::new();
        for before in known.iter().rev().take(LOOK_BACK) {
            let other = &run.events[*before];
            let mark = Mark::of_event(run, other);
            let conflicts = other.thread != event.thread
                && touch.conflicts(&Touch::of_event(run, other), extents);
            if !conflicts || marks.contains(&mark) || marks.len() >= MOST_RIVALS {
                continue;
            }
            marks.push(mark);
            let Some((later, earlier)) = End::at(run, index).zip(End::at(run, *before)) else {
                continue;
            };
            let name = || run.location(at).name.clone();
            let absent = |end: End| End { event: None, ..end };
            // What came first should come later, or, where both come again, one of the other each time.
            for (first, then) in [(&later, &earlier), (&earlier, &later)] {
                let is_turn = std::ptr::eq(first, &earlier);
                if is_turn && (!writes(&run.events[*before].kind) || writes(&event.kind)) {
                    continue;
                }
                let outside = before_lock(then, run, &locks);
                for then in outside.into_iter().chain([then.clone()]) {
                    let pair = (absent(first.clone()), absent(then), name());
                    found.push((rank, Reverse(index), pair));
                }
            }
        }
        known.push(index);
    }
    found.sort_by_key(|(rank, last, _)| (*rank, *last));
    let mut wanted = Vec::new();
    for (_, _, pair) in found {
        add(&mut wanted, pair, |mark| counts.get(&mark).copied().unwrap_or(0));
    }
    wanted.truncate(MOST_OTHER_ORDERS);
    wanted
}

/// Of an order of two locks: what is done with them held is what matters. The marks stay where the locks are taken, because
/// nobody can wait further inside.
fn in_sections((first, then, _): &Pair, failing: &Trace, passing: &[&Trace]) -> Option<Pair> {
    if !first.verb.takes_lock() || !then.verb.takes_lock() {
        return None;
    }
    let later = section(failing, then)?;
    let earlier = section(failing, first)
        .or_else(|| passing.iter().find_map(|passing| section(passing, first)))?;
    let is_freed = |kind: &EventKind| matches!(kind, EventKind::Free { .. });
    // What is given back matters more than what is changed.
    let freed = later.iter().filter(|(index, trace)| is_freed(&trace.events[*index].kind));
    for (other, failing) in freed.chain(&later) {
        for (accessed, trace) in &earlier {
            let (one, two) = (&trace.events[*accessed].kind, &failing.events[*other].kind);
            let (Some(at), Some(then_at)) = (one.location(), two.location()) else { continue };
            let object =
                |trace: &Trace, at| trace.objects[trace.location(at).object.0 as usize].address;
            let same = match is_freed(one) || is_freed(two) {
                true => object(trace, at) == object(failing, then_at),
                false => {
                    trace.address(at) == failing.address(then_at) && (writes(one) || writes(two))
                }
            };
            if same {
                // The name of what is used says more than that of the whole object.
                let name = match is_freed(two) {
                    true => trace.location(at).name.clone(),
                    false => failing.location(then_at).name.clone(),
                };
                let first = End { mark: first.mark, event: None, ..End::at(trace, *accessed)? };
                let then = End { mark: then.mark, ..End::at(failing, *other)? };
                return Some((first, then, name));
            }
        }
    }
    None
}

/// The accesses of a thread with the lock that it takes here.
fn section<'t>(trace: &'t Trace, end: &End) -> Option<Vec<(usize, &'t Trace)>> {
    let thread = trace.threads.iter().position(|name| *name == end.thread)?;
    let own = |index: &usize| trace.events[*index].thread.index() == thread;
    let taken = match end.event {
        Some(index) if own(&index) => index,
        _ => (0..trace.events.len()).filter(own).find(|at| {
            let event = &trace.events[*at];
            // A thread begins at the place of what it does first.
            event.kind != EventKind::Start && Mark::of_event(trace, event) == end.mark
        })?,
    };
    let lock = trace.events[taken].kind.location()?;
    let inside = (taken + 1..trace.events.len()).filter(own).take_while(
        |index| !matches!(trace.events[*index].kind, EventKind::Unlock { at } if at == lock),
    );
    let accesses = inside.filter(|index| {
        matches!(
            trace.events[*index].kind,
            EventKind::Read { .. }
                | EventKind::Write { .. }
                | EventKind::ReadModifyWrite { .. }
                | EventKind::Free { .. }
        )
    });
    Some(accesses.map(|index| (index, trace)).collect())
}

/// What happens with a lock held waits before the lock: who waited inside would keep others from doing what it waits for.
fn before_lock(then: &End, failing: &Trace, held: &[Held]) -> Option<End> {
    let event = then.event?;
    let thread = failing.events[event].thread;
    let outermost = held.iter().find(|h| h.thread == thread && h.at(event))?;
    let mark = Mark::of_event(failing, &failing.events[outermost.taken]);
    Some(End { mark, ..then.clone() })
}

/// Of a sync object that is destroyed in use, or used destroyed: the use, and who destroys it. What failed is no event, but a run
/// that passes has it.
fn misuse(failing: &Failing, passing: &Trace) -> Option<Pair> {
    if failing.failure.kind != FailureKind::SyncMisuse {
        return None;
    }
    let trace = &failing.observed.trace;
    let (thread, place) = (&failing.failure.thread, failing.failure.place()?);
    let failed = passing.events.iter().position(|event| {
        passing.thread_name(event.thread) == thread && passing.place(event) == Some(place)
    })?;
    let at = passing.events[failed].kind.location()?;
    let (address, name) = (passing.address(at), passing.location(at).name.clone());
    let absent = |index: usize| Some(End { event: None, ..End::at(passing, index)? });
    if let EventKind::SyncDestroy { .. } = passing.events[failed].kind {
        let used = passing.events[..failed].iter().rposition(|event| {
            let same = event.kind.location().is_some_and(|at| passing.address(at) == address);
            same && passing.thread_name(event.thread) != thread
        })?;
        return Some((absent(used)?, absent(failed)?, name));
    }
    let destroyed = trace.events.iter().rposition(|event| match event.kind {
        EventKind::SyncDestroy { at } => trace.address(at) == address,
        _ => false,
    })?;
    (trace.thread_name(trace.events[destroyed].thread) != thread)
        .then(|| Some((absent(failed)?, End::at(trace, destroyed)?, name)))?
}

/// Of a use of memory that was given back: the use, and who gave it back.
fn use_before_free(failing: &Failing) -> Option<Pair> {
    if !matches!(failing.failure.kind, FailureKind::UseAfterFree | FailureKind::SyncMisuse) {
        return None;
    }
    let trace = &failing.observed.trace;
    let owner = &failing.failure.thread;
    let used = trace.events.iter().rposition(|event| {
        trace.thread_name(event.thread) == owner && event.kind.location().is_some()
    })?;
    let at = trace.events[used].kind.location()?;
    let object = trace.location(at).object;
    let freed = trace.events.iter().rposition(|event| match event.kind {
        EventKind::Free { at } | EventKind::SyncDestroy { at } => {
            trace.location(at).object == object
        }
        _ => false,
    })?;
    let end = |index: usize| End::at(trace, index);
    (trace.events[freed].thread != trace.events[used].thread)
        .then(|| Some((end(used)?, end(freed)?, trace.location(at).name.clone())))?
}

/// A local variable that a thread uses when its function has returned, though runs that pass use it there, too. Who has lent
/// it: the thread that wrote down its address for the other, else the one that began it.
///
/// *Not modelled*: an access to a stack is no event, nor is the return of a function: what comes next stands for the one, what
/// came last for the other.
#[derive(Clone, Debug)]
pub struct Returned {
    /// The use, in a run that passes.
    pub used: End,
    /// The last that is seen of the thread whose variable it is, before its function returns.
    pub last: End,
}

impl Returned {
    pub fn of(failing: &Failing, passing: &[&Trace]) -> Option<Returned> {
        if failing.failure.kind != FailureKind::DeadStack {
            return None;
        }
        let trace = &failing.observed.trace;
        let (who, place) = (&failing.failure.thread, failing.failure.place()?);
        let of = |run: &Trace, name: &ThreadName| -> Vec<usize> {
            let is_own = |index: &usize| run.thread_name(run.events[*index].thread) == name;
            (0..run.events.len()).filter(is_own).collect()
        };
        let done = of(trace, who);
        let used = passing.iter().find_map(|run| {
            let own = of(run, who);
            let mark = |run: &Trace, index: usize| Mark::of_event(run, &run.events[index]);
            let goes_on = own.len() > done.len()
                && done.iter().zip(&own).all(|(a, b)| mark(trace, *a) == mark(run, *b));
            let next = goes_on.then(|| own[done.len()])?;
            Some(End { event: None, place: place.clone(), ..End::at(run, next)? })
        })?;
        let creator = ThreadName(who.0[..who.0.len().checked_sub(1)?].to_vec());
        let owner = lender(trace, who).unwrap_or(&creator);
        let is_seen = |index: &&usize| {
            trace.place(&trace.events[**index]).is_some_and(|place| !place.is_system())
        };
        let last = *of(trace, owner).iter().rfind(is_seen)?;
        Some(Returned { used, last: End::at(trace, last)? })
    }
}

/// Who wrote down an address of nothing that is known by name, which a thread has read.
fn lender<'t>(trace: &'t Trace, who: &ThreadName) -> Option<&'t ThreadName> {
    let is_known = |word: u64| {
        let inside = |object: &Object| {
            (object.address..object.address + object.bytes.max(1)).contains(&word)
        };
        trace.objects.iter().any(inside)
    };
    let read = trace.events.iter().rposition(|event| {
        let points = |value: &Value| matches!(value, Value::Word(word) if *word > LEAST_ADDRESS && !is_known(*word));
        trace.thread_name(event.thread) == who
            && matches!(&event.kind, EventKind::Read { value, .. } if points(value))
    })?;
    let at = trace.events[read].kind.location();
    let written = trace.events[..read]
        .iter()
        .rfind(|event| event.kind.location() == at && writes(&event.kind))?;
    Some(trace.thread_name(written.thread)).filter(|name| *name != who)
}

impl End {
    fn at(trace: &Trace, index: usize) -> Option<End> {
        let event = &trace.events[index];
        Some(End {
            thread: trace.thread_name(event.thread).clone(),
            place: trace.place(event)?.clone(),
            verb: event.kind.does(),
            event: Some(index),
            mark: Mark::of_event(trace, event),
        })
    }

    fn of(who: &Participant, failing: &Trace, passing: Option<&Trace>) -> End {
        let seen = who.event.map(|index| (failing, index as usize)).or_else(|| {
            let trace = passing?;
            let is_it = |event: &unravel_trace::Event| {
                event.site == who.key.site
                    && event.kind != EventKind::Start
                    && *trace.thread_name(event.thread) == who.key.thread
            };
            Some((trace, trace.events.iter().position(is_it)?))
        });
        let mark = match seen {
            Some((trace, index)) => Mark::of_event(trace, &trace.events[index]),
            None => Mark { site: who.key.site, caller: None },
        };
        End {
            thread: who.key.thread.clone(),
            place: who.place.clone(),
            verb: who.verb,
            event: who.event.map(|index| index as usize),
            mark,
        }
    }
}

impl Wanted {
    /// Whether what comes too early gives something back or destroys it, or ends the life of a local variable.
    pub fn gives_back(&self) -> bool {
        self.is_return || matches!(self.then.verb, Verb::Frees | Verb::Destroys)
    }

    /// Whether somebody should wait until threads below have done something more than once, each of them perhaps.
    pub fn is_of_many(&self) -> bool {
        !matches!(self.shield, Shield::Order { times: 1, .. } | Shield::Between { .. })
            && self.then.thread.is_ancestor_of(&self.first.thread)
    }

    /// Whether a thread uses what its creator sets up later, or a creator what its thread has not done yet, and does not write
    /// it itself: no stretch of anybody is interrupted then.
    pub fn is_early_use(&self, failing: &Trace) -> bool {
        let related = self.first.thread.is_ancestor_of(&self.then.thread)
            || self.then.thread.is_ancestor_of(&self.first.thread);
        let Some(used) = self.then.event else { return false };
        let kind = &failing.events[used].kind;
        // Who takes a lock uses nothing yet, and who waits for each of many is not too early once.
        let uses = matches!(
            kind,
            EventKind::Read { .. }
                | EventKind::Write { .. }
                | EventKind::ReadModifyWrite { .. }
                | EventKind::Free { .. }
                | EventKind::SyncDestroy { .. }
        );
        if !uses || matches!(self.shield, Shield::Turns { .. }) {
            return false;
        }
        let at = kind.location();
        let own = |event: &&unravel_trace::Event| {
            *failing.thread_name(event.thread) == self.then.thread && event.kind.location() == at
        };
        let writes = |event: &unravel_trace::Event| writes(&event.kind);
        let is_update = failing.events.iter().filter(own).any(writes);
        let frees = matches!(
            failing.events[used].kind,
            EventKind::Free { .. } | EventKind::SyncDestroy { .. }
        );
        let before = &failing.events[..used];
        let is_unset = !before.iter().any(|event| event.kind.location() == at && writes(event));
        let joined = before.iter().any(|event| match event.kind {
            EventKind::Join { child } => *failing.thread_name(child) == self.first.thread,
            _ => false,
        });
        related
            && !is_update
            && !joined
            && !self.is_interrupted(failing, used)
            && (is_unset || frees || self.then.thread.is_ancestor_of(&self.first.thread))
    }

    /// Whether the thread sees later what the other has done since it looked, at this or, since the other began, at the same:
    /// then it was interrupted.
    fn is_interrupted(&self, failing: &Trace, used: usize) -> bool {
        let thread = |event: &unravel_trace::Event| failing.thread_name(event.thread);
        let at = failing.events[used].kind.location();
        let begun = failing.events.iter().position(|event| match event.kind {
            EventKind::Fork { child } => *failing.thread_name(child) == self.first.thread,
            _ => false,
        });
        let looks = |event: &unravel_trace::Event| {
            *thread(event) == self.then.thread && event.kind.location() == at
        };
        let looked =
            begun.and_then(|begun| (begun..used).find(|index| looks(&failing.events[*index])));
        let sees = |from: usize, same: bool| {
            let later = || failing.events[from..].iter().enumerate();
            let written = later().filter(|(_, event)| {
                *thread(event) == self.first.thread
                    && writes(&event.kind)
                    && (!same || event.kind.location() == at)
            });
            written.into_iter().any(|(index, event)| {
                later().skip(index + 1).any(|(_, other)| {
                    *thread(other) == self.then.thread
                        && other.kind.location() == event.kind.location()
                })
            })
        };
        sees(used, false) || looked.is_some_and(|looked| sees(looked, true))
    }
}
