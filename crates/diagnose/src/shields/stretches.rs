//! Stretches of a failing run that were interrupted.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_execute::{Mark, Shield};
use unravel_trace::{Event, EventKind, LocationId, Place, ThreadId, Trace};

use crate::budgets::{MOST_GAPS, MOST_STRETCHES, STRETCH_ENDS};
use crate::points::{Extents, Touch};
use crate::relevance::Relevance;

/// From one event of a thread to a later one; others act in between on what both touch.
#[derive(Clone, Debug)]
pub struct Stretch {
    pub shield: Shield,
    /// Events of the run that it comes from.
    pub begin: usize,
    pub end: usize,
    pub from: Place,
    pub to: Place,
}

/// What others do between two events of a thread.
struct Gap {
    /// The thread's events around it, by their position among its own.
    before: usize,
    touches: Vec<Touch>,
}

/// The most that is kept of a gap: what comes after it is more of the same.
const MOST_TOUCHES: usize = 512;
/// Gaps that one stretch may have.
const MOST_WIDTH: usize = 4;

/// The likeliest first: what no lock protects before what one does, what the failure depends on before other data, short
/// before long.
pub fn candidates(trace: &Trace, relevance: &Relevance, extents: &Extents) -> Vec<Stretch> {
    let guards = lock_like(trace);
    let mut found: FxHashMap<(Mark, Mark), (Rank, Stretch)> = FxHashMap::default();
    for thread in 0..trace.threads.len() {
        let thread = ThreadId(thread as u32);
        let own: Vec<usize> = (0..trace.events.len())
            .filter(|index| trace.events[*index].thread == thread)
            .collect();
        let gaps = gaps(trace, &own);
        for (number, first) in gaps.iter().enumerate() {
            for last in &gaps[number..(number + MOST_WIDTH).min(gaps.len())] {
                for (begin, end) in ends(trace, &own, first, last, extents) {
                    let (a, b) = (&trace.events[own[begin]], &trace.events[own[end]]);
                    let (from, to) = (Mark::of_event(a), Mark::of_event(b));
                    let Some((from_place, to_place)) = trace.place(a).zip(trace.place(b)) else {
                        continue;
                    };
                    let length = (end - begin) as u32;
                    let rank = |event: &Event| {
                        match event.kind.location().is_some_and(|at| guards.contains(&at)) {
                            true => 0,
                            false => 1 + relevance.rank(&Touch::of_event(trace, event), extents),
                        }
                    };
                    let rank = Rank {
                        protected: is_protected(trace, &own[begin..=end], thread),
                        relevance: rank(a) + rank(b),
                        length,
                    };
                    let stretch = Stretch {
                        shield: Shield::Atomic { from, to, most: length * 2 + 4 },
                        begin: own[begin],
                        end: own[end],
                        from: from_place.clone(),
                        to: to_place.clone(),
                    };
                    let known = found.entry((from, to)).or_insert_with(|| (rank, stretch.clone()));
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

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank {
    protected: bool,
    relevance: u32,
    length: u32,
}

fn gaps(trace: &Trace, own: &[usize]) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for (before, pair) in own.windows(2).enumerate().rev() {
        if pair[1] == pair[0] + 1 || gaps.len() >= MOST_GAPS {
            continue;
        }
        let mut seen = FxHashSet::default();
        let mut touches = Vec::new();
        for event in &trace.events[pair[0] + 1..pair[1]] {
            let Some(at) = event.kind.location() else { continue };
            let touch = Touch::of_event(trace, event);
            let is_new = seen.insert((at, std::mem::discriminant(&event.kind)));
            if is_new && !matches!(touch, Touch::Nothing | Touch::Sync { .. }) {
                touches.push(touch);
            }
            if touches.len() >= MOST_TOUCHES {
                break;
            }
        }
        gaps.push(Gap { before, touches });
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
    let before = (0..=first.before).rev().take(STRETCH_ENDS).filter(|at| interferes(first, *at));
    let after: Vec<usize> = (last.before + 1..own.len())
        .take(STRETCH_ENDS)
        .filter(|at| interferes(last, *at))
        .collect();
    before.flat_map(|begin| after.iter().map(move |end| (begin, *end)).collect::<Vec<_>>()).collect()
}

/// Whether one lock is held from before the first to after the last of these events of a thread.
fn is_protected(trace: &Trace, own: &[usize], thread: ThreadId) -> bool {
    let (Some(&begin), Some(&end)) = (own.first(), own.last()) else { return false };
    let mut held: Vec<LocationId> = Vec::new();
    for event in trace.events[..end].iter().filter(|event| event.thread == thread) {
        match event.kind {
            EventKind::Lock { at, .. } | EventKind::TryLock { at, acquired: true, .. } => held.push(at),
            EventKind::Wake { mutex, .. } => held.push(mutex),
            EventKind::Unlock { at } => held.retain(|lock| *lock != at),
            EventKind::Wait { mutex, .. } => held.retain(|lock| *lock != mutex),
            _ => {}
        }
    }
    let released = own.iter().filter_map(|index| match trace.events[*index].kind {
        EventKind::Unlock { at } => Some(at),
        EventKind::Wait { mutex, .. } => Some(mutex),
        _ => None,
    });
    let released: Vec<LocationId> = released.collect();
    let taken_inside = |lock: &LocationId| {
        own.iter().any(|index| {
            *index > begin
                && matches!(trace.events[*index].kind, EventKind::Lock { at, .. } if at == *lock)
        })
    };
    held.iter().any(|lock| !released.contains(lock) && !taken_inside(lock))
}

/// Locations that a thread changes, and changes back after it has touched other shared data, while others look at them: locks
/// written by hand.
pub fn lock_like(trace: &Trace) -> FxHashSet<LocationId> {
    #[derive(Default)]
    struct Held {
        before: Option<u64>,
        set_at: Option<usize>,
        restored: bool,
    }
    let mut values: FxHashMap<LocationId, u64> = FxHashMap::default();
    let mut held: FxHashMap<(ThreadId, LocationId), Held> = FxHashMap::default();
    let mut readers: FxHashMap<LocationId, FxHashSet<ThreadId>> = FxHashMap::default();
    let mut others: FxHashMap<ThreadId, Vec<(usize, LocationId)>> = FxHashMap::default();
    for (index, event) in trace.events.iter().enumerate() {
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
                    touched.iter().any(|(when, other)| *when > since && *other != at)
                });
                state.restored |= touched;
            } else if before.unwrap_or(0) != new {
                *state = Held { before, set_at: Some(index), restored: state.restored };
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
            readers.get(at).is_some_and(|readers| readers.iter().any(|other| other != thread))
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
