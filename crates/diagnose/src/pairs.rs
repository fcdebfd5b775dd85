//! Pairs of conflicting points: which orders of a run could matter, and which ones another run breaks.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_trace::{Key, Role, ThreadKey};

use crate::budgets::{LOOK_BACK, MAX_BROKEN, MAX_CONFLICTS, MAX_SECTION};
use crate::points::{Extents, Point, Touch};
use crate::steer::Positions;
use crate::world::{Order, World};

/// What points may conflict over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Object {
    /// Four bytes of memory.
    Granule(u64),
    Sync(u64),
    /// A heap object that is freed.
    Heap(u64),
}

/// Points of a run by what they touch.
fn by_object(points: &[Point], extents: &Extents) -> FxHashMap<Object, Vec<u32>> {
    let mut lists: FxHashMap<Object, Vec<u32>> = FxHashMap::default();
    let freed: FxHashSet<u64> = points
        .iter()
        .filter_map(|p| if let Touch::Free { address } = p.touch { Some(address) } else { None })
        .collect();
    for (index, point) in points.iter().enumerate() {
        let mut add = |object| {
            let list = lists.entry(object).or_default();
            if list.last() != Some(&(index as u32)) {
                list.push(index as u32);
            }
        };
        let single = [point.touch];
        let touches = match point.touch {
            Touch::Section(section) => extents.section(section),
            _ => &single,
        };
        for touch in touches {
            match *touch {
                Touch::Nothing | Touch::Section(_) => {}
                Touch::Memory { address, bytes, .. } => {
                    let last = (address + u64::from(bytes.max(1)) - 1) >> 2;
                    (address >> 2..=last)
                        .take(64)
                        .for_each(|granule| add(Object::Granule(granule)));
                }
                Touch::Free { address } => add(Object::Heap(address)),
                Touch::Sync { address, .. } => add(Object::Sync(address)),
            }
            if let Touch::Memory { address, .. } | Touch::Sync { address, .. } = *touch {
                for object in freed.iter().filter(|o| extents.contains(**o, address)) {
                    add(Object::Heap(*object));
                }
            }
        }
    }
    lists
}

/// Conflicting pairs of different threads with nothing between them that makes their order follow from others:
/// the orders of which a schedule is made. Nearest to the end of the run first, then nearest to each other.
pub fn immediate(points: &[Point], extents: &Extents) -> Vec<Order> {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for list in by_object(points, extents).values() {
        for (at, &index) in list.iter().enumerate() {
            let point = &points[index as usize];
            // Backwards until something that orders everything before it: a conflicting write or operation of
            // another thread.
            let conflicting = list[..at]
                .iter()
                .rev()
                .take(LOOK_BACK)
                .filter(|i| points[**i as usize].touch.conflicts(&point.touch, extents));
            for &before in conflicting.take(MAX_CONFLICTS) {
                let other = &points[before as usize];
                if other.thread != point.thread {
                    found.push((before, index));
                }
                let is_barrier = match other.touch {
                    Touch::Memory { write, .. } => write,
                    Touch::Free { .. } | Touch::Section(_) => true,
                    Touch::Sync { role, .. } => {
                        role != Role::Release && other.thread != point.thread
                    }
                    Touch::Nothing => false,
                };
                if is_barrier {
                    break;
                }
            }
        }
    }
    found.sort_by_key(|(a, b)| (std::cmp::Reverse(*b), std::cmp::Reverse(*a)));
    found.dedup();
    found.into_iter().map(|(a, b)| (points[a as usize].key, points[b as usize].key)).collect()
}

/// The orders of the failing run that another run breaks: it executes both points the other way round. A point
/// that the failing run lacks counts as after all of it.
pub fn broken(failing: &Positions, points: &[Point], world: &dyn World) -> Vec<Order> {
    let extents = world.extents();
    // Looked up once: there are many more pairs than points.
    let positions: Vec<Option<u32>> = points.iter().map(|point| failing.get(point.key)).collect();
    let position = |index: u32| positions[index as usize];
    let mut found: Vec<(u32, u32)> = Vec::new();
    let off_path = off_path(failing, points);
    let matters =
        |index: &u32| world.relevance().may_matter(&points[*index as usize].touch, extents);
    for list in by_object(points, extents).values() {
        let sorted = list.windows(2).all(|w| match (position(w[0]), position(w[1])) {
            (Some(a), Some(b)) => a < b,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => true,
        });
        if sorted {
            continue;
        }
        for (at, &index) in list.iter().enumerate() {
            let Some(here) = position(index) else { continue };
            let point = &points[index as usize];
            let reversed = list[..at].iter().rev().take(LOOK_BACK).filter(|before| {
                let other = &points[**before as usize];
                position(**before).is_none_or(|there| there > here)
                    && other.thread != point.thread
                    && other.touch.conflicts(&point.touch, extents)
            });
            found.extend(reversed.take(MAX_CONFLICTS).map(|before| (index, *before)));
        }
    }
    // A run that passes differs in something that matters; if not, the slice is not to be trusted.
    let is_slice = |(later, earlier): &(u32, u32)| matters(later) && matters(earlier);
    if found.iter().any(is_slice) {
        found.retain(is_slice);
    }
    // What a thread does only on another path says less than what led it there.
    if found.iter().any(|(_, earlier)| !off_path[*earlier as usize]) {
        found.retain(|(_, earlier)| !off_path[*earlier as usize]);
    }
    // What the failure depends on first, then the nearest in this run.
    let rank = |index: &u32| world.relevance().rank(&points[*index as usize].touch, extents);
    found.sort_by_cached_key(|(later, earlier)| {
        (rank(later).max(rank(earlier)), later - earlier, *later)
    });
    found.dedup();
    found.truncate(MAX_BROKEN);
    found.into_iter().map(|(a, b)| (points[a as usize].key, points[b as usize].key)).collect()
}

/// By point: whether the failing run lacks it because its thread took another path there, not because the run ended before.
fn off_path(failing: &Positions, points: &[Point]) -> Vec<bool> {
    let mut own: FxHashMap<ThreadKey, usize> = FxHashMap::default();
    points
        .iter()
        .map(|point| {
            let done = own.entry(point.thread).or_default();
            let is_known = failing.get(point.key).is_some();
            *done += usize::from(is_known);
            !is_known && *done < failing.of_thread(point.thread)
        })
        .collect()
}

/// How little an order says to a reader: orders of data before orders of locks.
pub fn weight(touch: &Touch, extents: &Extents) -> u32 {
    match touch {
        Touch::Memory { .. } | Touch::Free { .. } => 0,
        Touch::Section(section) => {
            let parts = extents.section(*section).iter().map(|part| weight(part, extents));
            parts.min().unwrap_or(4)
        }
        Touch::Sync { role: Role::Wait | Role::Signal, .. } => 1,
        Touch::Sync { role: Role::Release, .. } => 3,
        Touch::Sync { .. } => 2,
        Touch::Nothing => 4,
    }
}

/// Where a thread could be stopped instead of at its point number `at`, so that it holds fewer locks there: the
/// acquisitions of the locks it holds at the point, innermost first.
pub fn enclosing_locks(points: &[Point], at: usize) -> Vec<Key> {
    let thread = points[at].thread;
    let mut held: Vec<(u64, Key)> = Vec::new();
    for point in points[at.saturating_sub(MAX_SECTION)..at].iter().filter(|p| p.thread == thread) {
        if let Touch::Sync { address, role } = point.touch {
            match role {
                Role::Acquire | Role::AcquireShared => held.push((address, point.key)),
                Role::Release => {
                    if let Some(last) = held.iter().rposition(|(lock, _)| *lock == address) {
                        held.remove(last);
                    }
                }
                _ => {}
            }
        }
    }
    held.into_iter().rev().map(|(_, key)| key).collect()
}
