//! Points of runs, named so that they can be compared across runs: (thread, site, occurrence).

use rustc_hash::FxHashMap;
use unravel_execute::Laboratory;
use unravel_trace::{
    Alarm, Counter, Detail, Event, EventKind, Executed, Key, Keys, LocationId, Observer, Observes,
    Pending, Role, Run, Schedule, ThreadKey, Trace, Want, touches,
};

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

impl Touch {
    pub fn of(pending: &Pending) -> Touch {
        let Some(touch) = touches(pending).next() else { return Touch::Nothing };
        let unravel_trace::Touch { address, writes: write, role, .. } = touch;
        // Updates that commute are told in their order, as all are: the values on the way differ.
        match role.usual() {
            Role::Data => Touch::Memory { address, bytes: pending.bytes, write },
            Role::Free => Touch::Free { address },
            Role::Life | Role::Outside => Touch::Nothing,
            // Going on after a wait is taking what was waited for.
            Role::Wake => Touch::Sync { address, role: Role::Acquire },
            role => Touch::Sync { address, role },
        }
    }

    /// Whether the order of the two can matter to what is read or who goes on.
    pub fn conflicts(&self, other: &Touch, extents: &Extents) -> bool {
        match (*self, *other) {
            (Touch::Section(section), touch) | (touch, Touch::Section(section)) => {
                extents.section(section).iter().any(|part| part.conflicts(&touch, extents))
            }
            (one, other) => match (one.bytes(extents), other.bytes(extents)) {
                (Some(one), Some(other)) => one.tells_with(&other),
                _ => false,
            },
        }
    }

    /// The same as the bytes that are touched.
    fn bytes(self, extents: &Extents) -> Option<unravel_trace::Touch> {
        let (address, bytes, writes, role) = match self {
            Touch::Memory { address, bytes, write } => {
                (address, u64::from(bytes.max(1)), write, Role::Data)
            }
            Touch::Free { address } => (address, extents.bytes(address), true, Role::Free),
            Touch::Sync { address, role } => (address, 1, role != Role::AcquireShared, role),
            Touch::Nothing | Touch::Section(_) => return None,
        };
        Some(unravel_trace::Touch { address, bytes, writes, role })
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
        (object..object + self.bytes(object)).contains(&address)
    }

    fn bytes(&self, object: u64) -> u64 {
        self.objects.get(&object).copied().unwrap_or(1).max(1)
    }
}

/// Keeps the points of a run, whoever decides.
#[derive(Debug)]
pub struct PointLog<'k> {
    keys: &'k mut Keys,
    counter: Counter,
    number: u64,
    points: Vec<Point>,
}

impl<'k> PointLog<'k> {
    pub fn new(keys: &'k mut Keys) -> PointLog<'k> {
        PointLog { keys, counter: Counter::default(), number: 0, points: Vec::new() }
    }

    pub fn finish(self) -> Vec<Point> {
        self.points
    }
}

impl Observer for PointLog<'_> {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        let (key, thread) = self.counter.count(self.keys, executed);
        // What comes with a point is none of its own, but counts where it is.
        if executed.number != self.number {
            self.number = executed.number;
            self.points.push(Point { key, thread, touch: Touch::of(&executed.what) });
        }
        None
    }
}

/// Executes a schedule and keeps its points.
pub fn replay_points(
    lab: &mut Laboratory<'_>,
    schedule: &Schedule,
    keys: &mut Keys,
    detail: Detail,
) -> (Run, Vec<Point>) {
    let mut log = PointLog::new(keys);
    let (run, _) = lab.replay_seen(schedule, &mut log, Want::only(detail));
    (run, log.finish())
}
