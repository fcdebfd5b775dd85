//! Stretches of a failing run that were interrupted.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_trace::{
    Event, EventKind, ExprId, Location, LocationId, Mark, ObjectId, Place, Shield, SymbolId,
    Symbolic, ThreadId, Trace,
};

use crate::budgets::{MOST_GAPS, MOST_STRETCHES, MOST_WIDTH, NESTED, STRETCH_ENDS};
use crate::calls::Calls;
use crate::held::{Held, held};
use crate::points::{Extents, Touch};
use crate::relevance::Relevance;

/// From one event of a thread to a later one; others act in between on what both touch.
#[derive(Clone, Debug)]
pub struct Stretch {
    pub shield: Shield,
    /// Events of the run that it comes from.
    pub begin: usize,
    pub end: usize,
    /// Events of the thread from the one to the other.
    pub length: u32,
    /// It begins with a lock written by hand.
    pub takes_lock: bool,
    /// It ends in the next round of a loop around both.
    pub next_round: bool,
    /// It is one statement that reads something and writes it at once.
    pub is_update: bool,
    pub from: Place,
    pub to: Place,
}

/// What others do between two events of a thread.
struct Gap {
    /// The thread's events around it, by their position among its own.
    before: usize,
    /// Only what conflicts with an event of the thread that may be an end there: others may do much in between.
    touches: Vec<Touch>,
    /// Others use a pipe, a socket or the like.
    descriptors: bool,
}

/// The failing run, and what its threads would have done next.
#[derive(Clone, Debug)]
pub struct Extended {
    /// The events of the run, then those that only another run has.
    pub trace: Trace,
    /// How many events are the run's own.
    pub real: usize,
    /// Addresses of what some branch went by.
    branched: FxHashSet<u64>,
    /// Addresses of what is written with something computed from it: sums and counts.
    counted: FxHashSet<u64>,
}

impl Extended {
    /// `passing` shows how threads go on that the failure cut short, as long as they had done the same before.
    pub fn new(failing: &Trace, passing: &[&Trace], symbolic: Option<&Symbolic>) -> Extended {
        let mut trace = failing.clone();
        let real = trace.events.len();
        for index in 0..failing.threads.len() {
            let goes_on =
                passing.iter().find_map(|other| Some((*other, goes_on(failing, other, index)?)));
            let Some((other, events)) = goes_on else { continue };
            for at in events.into_iter().take(STRETCH_ENDS) {
                let event = &other.events[at];
                if let Some(kind) = moved(&mut trace, other, &event.kind) {
                    let thread = ThreadId(index as u32);
                    trace.events.push(Event { thread, kind, ..event.clone() });
                }
            }
        }
        for (id, site) in passing.iter().flat_map(|passing| &passing.sites) {
            if let Err(place) = trace.sites.binary_search_by_key(id, |(id, _)| *id) {
                trace.sites.insert(place, (*id, site.clone()));
            }
        }
        let branched = symbolic.map_or_else(FxHashSet::default, branched);
        let counted = symbolic.map_or_else(FxHashSet::default, counted);
        Extended { trace, real, branched, counted }
    }
}

/// What a thread does in another run after all that it did in this one.
fn goes_on(failing: &Trace, passing: &Trace, thread: usize) -> Option<Vec<usize>> {
    let other = passing.threads.iter().position(|name| *name == failing.threads[thread])?;
    let of = |trace: &Trace, thread: usize| -> Vec<usize> {
        let all = 0..trace.events.len();
        all.filter(|at| trace.events[*at].thread.index() == thread).collect()
    };
    let (own, mut more) = (of(failing, thread), of(passing, other));
    let is_same = |pair: (&usize, &usize)| {
        Mark::of_event(failing, &failing.events[*pair.0])
            == Mark::of_event(passing, &passing.events[*pair.1])
    };
    let goes_on = own.len() < more.len() && own.iter().zip(&more).all(is_same);
    goes_on.then(|| more.split_off(own.len()))
}

impl Extended {
    /// Whether some branch went by what is there.
    pub fn is_branched(&self, at: LocationId) -> bool {
        self.branched.contains(&self.trace.address(at))
    }
}

/// An access of another run, with the locations of this one.
fn moved(trace: &mut Trace, from: &Trace, kind: &EventKind) -> Option<EventKind> {
    let at = kind.location()?;
    let location = from.location(at);
    let object = &from.objects[location.object.0 as usize];
    let known = trace.locations.iter().position(|other| {
        (other.offset, other.bytes) == (location.offset, location.bytes)
            && trace.objects[other.object.0 as usize].address == object.address
    });
    let to = match known {
        Some(index) => LocationId(index as u32),
        None => {
            let number = trace.objects.len() as u32;
            trace.objects.push(object.clone());
            trace.locations.push(Location { object: ObjectId(number), ..location.clone() });
            LocationId(trace.locations.len() as u32 - 1)
        }
    };
    Some(match kind {
        EventKind::Read { value, .. } => EventKind::Read { at: to, value: value.clone() },
        EventKind::Write { value, .. } => EventKind::Write { at: to, value: value.clone() },
        EventKind::ReadModifyWrite { old, new, .. } => {
            EventKind::ReadModifyWrite { at: to, old: old.clone(), new: new.clone() }
        }
        EventKind::Free { .. } => EventKind::Free { at: to },
        EventKind::Lock { shared, .. } => EventKind::Lock { at: to, shared: *shared },
        EventKind::Unlock { .. } => EventKind::Unlock { at: to },
        _ => return None,
    })
}

/// What branches, and whatever else decides a path, were computed from.
fn branched(symbolic: &Symbolic) -> FxHashSet<u64> {
    let mut found = FxHashSet::default();
    let mut seen: FxHashSet<ExprId> = FxHashSet::default();
    for condition in symbolic.conditions.iter().filter(|c| seen.insert(c.holds)) {
        for symbol in symbolic.exprs.symbols(condition.holds) {
            if let Some(access) = symbolic.accesses.get(symbol.0 as usize) {
                found.insert(access.address);
            }
        }
    }
    found
}

/// What is written with something computed from it.
fn counted(symbolic: &Symbolic) -> FxHashSet<u64> {
    let mut found = FxHashSet::default();
    for shadow in &symbolic.shadows {
        let first = (shadow.first + shadow.reads) as usize;
        for written in &symbolic.accesses[first..first + shadow.writes as usize] {
            let is_own = |symbol: &SymbolId| {
                let read = symbolic.accesses.get(symbol.0 as usize);
                read.is_some_and(|read| read.address == written.address)
            };
            if !found.contains(&written.address)
                && symbolic.exprs.symbols(written.value).iter().any(is_own)
            {
                found.insert(written.address);
            }
        }
    }
    found
}

/// The likeliest first: what no lock protects before what one does, what the failure depends on before other data, short
/// before long.
pub fn candidates(
    run: &Extended,
    relevance: &Relevance,
    calls: &Calls,
    extents: &Extents,
) -> Vec<Stretch> {
    let trace = &run.trace;
    let guards = lock_like(run);
    let all_held = held(trace);
    let mut takers: FxHashMap<LocationId, FxHashSet<ThreadId>> = FxHashMap::default();
    for held in &all_held {
        takers.entry(held.lock).or_default().insert(held.thread);
    }
    // What the failing run did not come to is not in the model, which cannot say what depends on it.
    let unreached: FxHashSet<u64> = trace.events[run.real..]
        .iter()
        .filter_map(|event| event.kind.location())
        .map(|at| trace.address(at))
        .collect();
    let mut found: FxHashMap<(Mark, Mark), (Rank, Stretch)> = FxHashMap::default();
    for thread in 0..trace.threads.len() {
        let thread = ThreadId(thread as u32);
        let own: Vec<usize> =
            (0..trace.events.len()).filter(|index| trace.events[*index].thread == thread).collect();
        let gaps = gaps(run, &own, extents);
        let held: Vec<Held> =
            all_held.iter().filter(|held| held.thread == thread).copied().collect();
        // A lock that nobody else takes keeps nobody out.
        let is_shared =
            |held: &&Held| takers.get(&held.lock).is_some_and(|takers| takers.len() > 1);
        let shared: Vec<Held> = held.iter().filter(is_shared).copied().collect();
        for (number, first) in gaps.iter().enumerate() {
            for last in &gaps[number..(number + MOST_WIDTH).min(gaps.len())] {
                for (begin, end) in ends(trace, &own, first, last, extents) {
                    let (a, b) = (&trace.events[own[begin]], &trace.events[own[end]]);
                    let Some((at, to)) = trace.place(a).zip(trace.place(b)) else { continue };
                    if own[begin..=end].iter().any(|index| waits(&trace.events[*index].kind)) {
                        continue;
                    }
                    let may_matter = |event: &Event| {
                        let at = event.kind.location();
                        at.is_some_and(|at| unreached.contains(&trace.address(at)))
                            || relevance.may_matter(&Touch::of_event(trace, event), extents)
                    };
                    if !may_matter(a) || !may_matter(b) {
                        continue;
                    }
                    let relevance = |event: &Event| match event
                        .kind
                        .location()
                        .is_some_and(|at| guards.contains(&at))
                    {
                        true => 0,
                        false => 1 + relevance.rank(&Touch::of_event(trace, event), extents),
                    };
                    let length = (end - begin) as u32;
                    let rank = Rank {
                        protected: is_protected(&shared, own[begin], own[end]),
                        relevance: relevance(a) + relevance(b),
                        length,
                    };
                    let entered = entered(&held, own[begin], own[end]);
                    let first = entered.unwrap_or(own[begin]);
                    let Some(from) = trace.place(&trace.events[first]) else { continue };
                    let marks =
                        (Mark::of_event(trace, &trace.events[first]), Mark::of_event(trace, b));
                    let before = own[..begin].iter().rev().take_while(|index| **index >= first);
                    let before = before.count() as u32;
                    let stretch = Stretch {
                        shield: Shield::Atomic {
                            from: marks.0,
                            to: marks.1,
                            most: (before + length) * 2 + 4,
                            lock: taken_inside(trace, &own[begin..end], &held),
                        },
                        begin: own[begin],
                        end: own[end],
                        length,
                        takes_lock: relevance(a) == 0,
                        next_round: ends_in_next_round(trace, calls, &held, own[begin], own[end]),
                        is_update: length == 1
                            && is_update(a, b)
                            && (&at.file, at.line) == (&to.file, to.line),
                        from: from.clone(),
                        to: to.clone(),
                    };
                    let known = found.entry(marks).or_insert_with(|| (rank, stretch.clone()));
                    if rank < known.0 {
                        *known = (rank, stretch);
                    }
                }
            }
        }
    }
    let mut found: Vec<(Rank, Stretch)> = found.into_values().collect();
    found.sort_by_key(|(rank, stretch)| (*rank, stretch.begin, stretch.end));
    found.into_iter().map(|(_, stretch)| stretch).take(MOST_STRETCHES).collect()
}

/// Where the thread has taken a lock for reading, if it holds that when the stretch begins and gives it back before the stretch ends.
/// Who is to be alone then has to be so from there: two threads that hold the lock for reading would both have begun, and each would
/// wait for the other to give it back.
fn entered(held: &[Held], begin: usize, end: usize) -> Option<usize> {
    let given_back = |held: &&Held| {
        held.shared && held.at(begin) && held.released.is_some_and(|released| released < end)
    };
    held.iter().filter(given_back).map(|held| held.taken).min()
}

/// The first lock that a thread takes on the way, with none held when it begins.
fn taken_inside(trace: &Trace, own: &[usize], held: &[Held]) -> Option<u64> {
    let begin = *own.first()?;
    if held.iter().any(|held| held.at(begin)) {
        return None;
    }
    let taken = own.iter().find_map(|index| match trace.events[*index].kind {
        EventKind::Lock { at, .. } => Some(at),
        _ => None,
    })?;
    Some(trace.address(taken))
}

/// Whether two events of a thread read something and write it.
fn is_update(a: &Event, b: &Event) -> bool {
    matches!(a.kind, EventKind::Read { .. })
        && matches!(b.kind, EventKind::Write { .. })
        && a.kind.location() == b.kind.location()
}

/// Whether the end comes in the next round of a loop around both: the thread came to such an end first, then to such a begin.
/// `held` are the locks of the thread.
fn ends_in_next_round(
    trace: &Trace,
    calls: &Calls,
    held: &[Held],
    begin: usize,
    end: usize,
) -> bool {
    // One function that is called twice is no loop: the calls tell.
    if let Some((from, to)) = calls.beside(begin, end).zip(calls.beside(end, begin)) {
        return from.function == to.function && to.line < from.line;
    }
    let first = |of: usize| {
        let of = &trace.events[of];
        let alike = |event: &Event| event.thread == of.thread && event.site == of.site;
        trace.events.iter().position(alike)
    };
    let (from, to) = (&trace.events[begin], &trace.events[end]);
    // The same again; on other data it may be one step of several that belong together, unless each has a section of its own with
    // the same lock.
    let parted = || {
        let around = |event: usize| {
            let before = held.partition_point(|held| held.taken < event);
            held[..before].iter().rev().take(NESTED).filter(move |held| held.at(event))
        };
        let is_parted = around(begin)
            .any(|one| around(end).any(|other| other.lock == one.lock && other.taken != one.taken));
        // Twice may be two calls; more often is a loop.
        let alike = |event: &&Event| event.thread == from.thread && event.site == from.site;
        is_parted && trace.events.iter().filter(alike).count() > 2
    };
    let is_again = from.site == to.site && (from.kind.location() == to.kind.location() || parted());
    is_again || first(end) < first(begin)
}

/// What a thread cannot do in one step, however it is written: it needs others to go on.
fn waits(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Join { .. }
            | EventKind::Wait { .. }
            | EventKind::Wake { .. }
            | EventKind::BarrierArrive { .. }
            | EventKind::BarrierLeave { .. }
    )
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank {
    protected: bool,
    relevance: u32,
    length: u32,
}

fn gaps(run: &Extended, own: &[usize], extents: &Extents) -> Vec<Gap> {
    let trace = &run.trace;
    let mut gaps = Vec::new();
    for (before, pair) in own.windows(2).enumerate().rev() {
        let until = pair[1].min(run.real);
        if until <= pair[0] + 1 || gaps.len() >= MOST_GAPS {
            continue;
        }
        let ends = before.saturating_sub(STRETCH_ENDS)..own.len().min(before + 1 + STRETCH_ENDS);
        let ends: Vec<Touch> =
            own[ends].iter().map(|at| Touch::of_event(trace, &trace.events[*at])).collect();
        let mut seen = FxHashSet::default();
        let mut touches = Vec::new();
        let others = &trace.events[pair[0] + 1..until];
        let descriptors = others.iter().any(|event| is_descriptor(&event.kind));
        for event in others {
            let Some(at) = event.kind.location() else { continue };
            if !seen.insert((at, std::mem::discriminant(&event.kind))) {
                continue;
            }
            let touch = Touch::of_event(trace, event);
            if !matches!(touch, Touch::Nothing | Touch::Sync { .. })
                && ends.iter().any(|end| end.conflicts(&touch, extents))
            {
                touches.push(touch);
            }
        }
        gaps.push(Gap { before, touches, descriptors });
    }
    gaps.reverse();
    gaps
}

/// Events of the thread, the first before one gap and the other behind the same or a later one, that others interfere with
/// there.
fn ends(
    trace: &Trace,
    own: &[usize],
    first: &Gap,
    last: &Gap,
    extents: &Extents,
) -> Vec<(usize, usize)> {
    let interferes = |gap: &Gap, position: usize| {
        let touch = Touch::of_event(trace, &trace.events[own[position]]);
        matches!(touch, Touch::Memory { .. } | Touch::Free { .. })
            && gap.touches.iter().any(|other| touch.conflicts(other, extents))
    };
    // What two threads do with a pipe or the like has no address: any two may be about one.
    let drains = |at: usize| last.descriptors && is_descriptor(&trace.events[own[at]].kind);
    let after: Vec<usize> = (last.before + 1..own.len())
        .take(STRETCH_ENDS)
        .filter(|at| interferes(last, *at) || drains(*at))
        .collect();
    let location = |position: usize| trace.events[own[position]].kind.location();
    let mut found = Vec::new();
    for begin in (0..=first.before).rev().take(STRETCH_ENDS) {
        let begins = interferes(first, begin);
        // What it has read there and is about to change, others take for what it was.
        let changes = |end: &&usize| {
            begins || location(begin).is_some() && location(begin) == location(**end)
        };
        found.extend(after.iter().filter(changes).map(|end| (begin, *end)));
    }
    found
}

fn is_descriptor(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Descriptor { .. })
}

/// Whether a thread holds one lock from before the first to after the last of two of its events; `held` are its own.
fn is_protected(held: &[Held], begin: usize, end: usize) -> bool {
    let before = held.partition_point(|held| held.taken < begin);
    held[..before].iter().rev().take(NESTED).any(|held| held.at(begin) && held.at(end))
}

/// Locations that a thread changes, and changes back after it has touched other shared data, while others look at them and go by
/// what they see: locks written by hand, but for those that work.
pub fn lock_like(run: &Extended) -> FxHashSet<LocationId> {
    let trace = &run.trace;
    #[derive(Default)]
    struct Taken {
        before: Option<u64>,
        set_at: Option<usize>,
        restored: bool,
    }
    let mut values: FxHashMap<LocationId, u64> = FxHashMap::default();
    let mut held: FxHashMap<(ThreadId, LocationId), Taken> = FxHashMap::default();
    let mut readers: FxHashMap<LocationId, FxHashSet<ThreadId>> = FxHashMap::default();
    let mut others: FxHashMap<ThreadId, Vec<(usize, LocationId)>> = FxHashMap::default();
    // Taken by looking and writing in two steps, or written while somebody else has it. What is taken in one atomic step and given
    // back by who took it is a lock that works.
    let mut in_steps: FxHashSet<LocationId> = FxHashSet::default();
    let mut holders: FxHashMap<LocationId, ThreadId> = FxHashMap::default();
    for (index, event) in trace.events[..run.real].iter().enumerate() {
        let (at, old, new) = match &event.kind {
            EventKind::Read { at, value } => (*at, word(value), None),
            EventKind::Write { at, value } => (*at, None, word(value)),
            EventKind::ReadModifyWrite { at, old, new } => (*at, word(old), word(new)),
            _ => continue,
        };
        if new.is_none() || old.is_some() {
            readers.entry(at).or_default().insert(event.thread);
        }
        let before = old.or_else(|| values.get(&at).copied());
        if let Some(new) = new {
            let state = held.entry((event.thread, at)).or_default();
            if state.set_at.is_some() && state.before.unwrap_or(0) == new {
                let since = state.set_at.take().unwrap_or(index);
                let touched = others.get(&event.thread).is_some_and(|touched| {
                    let since = touched.iter().rev().take_while(|(when, _)| *when > since);
                    since.into_iter().any(|(_, other)| *other != at)
                });
                state.restored |= touched;
                holders.remove(&at);
            } else if before.unwrap_or(0) != new {
                let before_it = holders.insert(at, event.thread);
                let is_held = before_it.is_some_and(|holder| holder != event.thread);
                if is_held || matches!(event.kind, EventKind::Write { .. }) {
                    in_steps.insert(at);
                }
                *state = Taken { before, set_at: Some(index), restored: state.restored };
            }
        }
        others.entry(event.thread).or_default().push((index, at));
        if let Some(value) = new.or(old) {
            values.insert(at, value);
        }
    }
    let restored = held.into_iter().filter(|(_, held)| held.restored);
    restored
        .filter(|((thread, at), _)| {
            run.is_branched(*at)
                && in_steps.contains(at)
                && !run.counted.contains(&trace.address(*at))
                && readers
                    .get(at)
                    .is_some_and(|readers| readers.iter().any(|other| other != thread))
        })
        .map(|((_, at), _)| at)
        .collect()
}

fn word(value: &unravel_trace::Value) -> Option<u64> {
    match value {
        unravel_trace::Value::Word(word) => Some(*word),
        unravel_trace::Value::Bytes(_) => None,
    }
}
