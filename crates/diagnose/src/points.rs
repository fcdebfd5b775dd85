//! Points of runs, named so that they can be compared across runs: (thread, site, occurrence).

use rustc_hash::FxHashMap;
use unravel_trace::{Event, EventKind, LocationId, Op, Pending, SiteId, ThreadName, Trace};

/// A point across runs; interned in [`Keys`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key(pub u32);

/// A thread across runs, by its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ThreadKey(pub u32);

/// The names of points, numbered.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    threads: Vec<ThreadName>,
    by_name: FxHashMap<ThreadName, ThreadKey>,
    points: Vec<(ThreadKey, SiteId, u32)>,
    by_point: FxHashMap<(ThreadKey, SiteId, u32), Key>,
}

impl Keys {
    pub fn thread(&mut self, name: &ThreadName) -> ThreadKey {
        if let Some(key) = self.by_name.get(name) {
            return *key;
        }
        let key = ThreadKey(self.threads.len() as u32);
        self.threads.push(name.clone());
        self.by_name.insert(name.clone(), key);
        key
    }

    pub fn key(&mut self, thread: ThreadKey, site: SiteId, occurrence: u32) -> Key {
        let next = Key(self.points.len() as u32);
        let key = *self.by_point.entry((thread, site, occurrence)).or_insert(next);
        if key == next {
            self.points.push((thread, site, occurrence));
        }
        key
    }

    pub fn name(&self, thread: ThreadKey) -> &ThreadName {
        &self.threads[thread.0 as usize]
    }

    /// Thread, site and occurrence of a key.
    pub fn parts(&self, key: Key) -> (ThreadKey, SiteId, u32) {
        self.points[key.0 as usize]
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

/// Numbers the points of one run as they come.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    seen: FxHashMap<(ThreadKey, SiteId), u32>,
}

impl Counter {
    /// The occurrence that the next point of this thread at this site has.
    pub fn upcoming(&self, thread: ThreadKey, site: SiteId) -> u32 {
        self.seen.get(&(thread, site)).copied().unwrap_or(0)
    }

    pub fn advance(&mut self, thread: ThreadKey, site: SiteId) -> u32 {
        let next = self.seen.entry((thread, site)).or_insert(0);
        *next += 1;
        *next - 1
    }
}

/// One executed point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    pub key: Key,
    pub thread: ThreadKey,
    pub touch: Touch,
}

/// What a point does to something that others may touch too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch {
    Nothing,
    Memory {
        address: u64,
        bytes: u32,
        write: bool,
    },
    Free {
        address: u64,
    },
    Sync {
        address: u64,
        role: Role,
    },
    /// Several at once, as of an atomic section: indexes [`Extents::sections`].
    Section(u32),
}

/// What an operation does with a sync object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Acquire,
    AcquireShared,
    Release,
    Wait,
    Signal,
}

impl Touch {
    pub fn of(pending: &Pending) -> Touch {
        let Pending { op, address, bytes, .. } = *pending;
        if address == 0 {
            return Touch::Nothing;
        }
        let sync = |role| Touch::Sync { address, role };
        match op {
            Op::Read => Touch::Memory { address, bytes, write: false },
            Op::Write | Op::Update => Touch::Memory { address, bytes, write: true },
            Op::Free => Touch::Free { address },
            Op::Acquire => sync(Role::Acquire),
            Op::AcquireShared => sync(Role::AcquireShared),
            Op::Release => sync(Role::Release),
            Op::Wait => sync(Role::Wait),
            Op::Signal => sync(Role::Signal),
            _ => Touch::Nothing,
        }
    }

    /// Whether the order of the two can matter to what is read or who goes on.
    pub fn conflicts(&self, other: &Touch, extents: &Extents) -> bool {
        use Touch::*;
        match (*self, *other) {
            (
                Memory { address: a, bytes: n, write: v },
                Memory { address: b, bytes: m, write: w },
            ) => (v || w) && a < b + u64::from(m) && b < a + u64::from(n),
            (Free { address: object }, Memory { address, .. })
            | (Memory { address, .. }, Free { address: object })
            | (Free { address: object }, Sync { address, .. })
            | (Sync { address, .. }, Free { address: object }) => extents.contains(object, address),
            (Free { address: a }, Free { address: b }) => a == b,
            (Sync { address: a, role: r }, Sync { address: b, role: s }) => {
                a == b && r.conflicts(s)
            }
            (Section(section), touch) | (touch, Section(section)) => {
                extents.section(section).iter().any(|part| part.conflicts(&touch, extents))
            }
            _ => false,
        }
    }

    /// What an event does.
    pub fn of_event(trace: &Trace, event: &Event) -> Touch {
        use EventKind::*;
        let memory = |at: LocationId, write| Touch::Memory {
            address: trace.address(at),
            bytes: trace.location(at).bytes,
            write,
        };
        let sync = |at: LocationId, role| Touch::Sync { address: trace.address(at), role };
        match event.kind {
            Read { at, .. } => memory(at, false),
            Write { at, .. } | ReadModifyWrite { at, .. } => memory(at, true),
            Free { at } => Touch::Free { address: trace.address(at) },
            Lock { at, shared: true } | TryLock { at, shared: true, .. } => {
                sync(at, Role::AcquireShared)
            }
            Lock { at, .. }
            | TryLock { at, .. }
            | SemWait { at }
            | SemTryWait { at, .. }
            | Once { at, .. }
            | Wake { at, .. }
            | BarrierLeave { at } => sync(at, Role::Acquire),
            Unlock { at }
            | SemPost { at }
            | OnceDone { at }
            | SyncInit { at, .. }
            | SyncDestroy { at } => sync(at, Role::Release),
            Wait { at, .. } | BarrierArrive { at } => sync(at, Role::Wait),
            Signal { at, .. } | Broadcast { at, .. } => sync(at, Role::Signal),
            _ => Touch::Nothing,
        }
    }
}

impl Role {
    fn conflicts(self, other: Role) -> bool {
        use Role::*;
        !matches!((self, other), (AcquireShared, AcquireShared) | (Release, Release) | (Wait, Wait))
    }
}

/// The sizes of heap objects, and what atomic sections do.
#[derive(Clone, Debug, Default)]
pub struct Extents {
    objects: FxHashMap<u64, u64>,
    sections: Vec<Vec<Touch>>,
}

impl Extents {
    pub fn add(&mut self, address: u64, bytes: u64) {
        let known = self.objects.entry(address).or_insert(0);
        *known = (*known).max(bytes);
    }

    /// What happens in an atomic section of the failing run, or in waiting and waking up.
    pub fn section(&self, index: u32) -> &[Touch] {
        &self.sections[index as usize]
    }

    /// The touch of a step with these events.
    pub fn touch(&mut self, trace: &Trace, events: &[Event]) -> Touch {
        let touches = events.iter().flat_map(|event| {
            // Waiting on a condition variable gives the mutex back, waking up takes it again.
            let mutex = match event.kind {
                EventKind::Wait { mutex, .. } => Some((mutex, Role::Release)),
                EventKind::Wake { mutex, .. } => Some((mutex, Role::Acquire)),
                _ => None,
            };
            let mutex = mutex.map(|(at, role)| Touch::Sync { address: trace.address(at), role });
            [Some(Touch::of_event(trace, event)), mutex].into_iter().flatten()
        });
        let touches = touches.filter(|touch| *touch != Touch::Nothing).collect();
        self.combined(touches)
    }

    /// One touch for several.
    pub fn combined(&mut self, mut touches: Vec<Touch>) -> Touch {
        match touches.len() {
            0 => Touch::Nothing,
            1 => touches.remove(0),
            _ => {
                self.sections.push(touches);
                Touch::Section(self.sections.len() as u32 - 1)
            }
        }
    }

    pub fn contains(&self, object: u64, address: u64) -> bool {
        let bytes = self.objects.get(&object).copied().unwrap_or(1).max(1);
        (object..object + bytes).contains(&address)
    }
}
