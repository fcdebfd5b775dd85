//! What was observed: events, and the trace that holds them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{LocationId, ObjectId, Place, Shape, Site, SiteId, ThreadId, ThreadName, user_place};

/// One visible event. Its position in [`Trace::events`] is its place in the total order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Event {
    pub thread: ThreadId,
    pub site: SiteId,
    /// If the site is in a header of the system or in a thin wrapper: the innermost call from other code of the user's.
    pub caller: Option<SiteId>,
    pub kind: EventKind,
}

/// A value of memory: up to eight bytes as a little-endian word, more as bytes. No bytes at all where nobody knows
/// (imported traces).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Value {
    Word(u64),
    Bytes(Box<[u8]>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Arena addresses and other large words read better in hexadecimal.
            Value::Word(w) if *w >= 1 << 40 && *w < u64::MAX - (1 << 40) => write!(f, "{w:#x}"),
            Value::Word(w) => write!(f, "{}", *w as i64),
            Value::Bytes(bytes) if bytes.is_empty() => f.write_str("?"),
            Value::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum EventKind {
    Read {
        at: LocationId,
        value: Value,
    },
    Write {
        at: LocationId,
        value: Value,
    },
    /// One atomic step. A failed compare-and-exchange leaves `new` equal to `old`.
    ReadModifyWrite {
        at: LocationId,
        old: Value,
        new: Value,
    },
    /// A lock of any kind is acquired; `shared` for the reading side of a rwlock.
    Lock {
        at: LocationId,
        shared: bool,
    },
    Unlock {
        at: LocationId,
    },
    TryLock {
        at: LocationId,
        shared: bool,
        acquired: bool,
    },
    /// The release part of a condition wait.
    Wait {
        at: LocationId,
        mutex: LocationId,
    },
    /// Its re-acquire part, and what ended the wait.
    Wake {
        at: LocationId,
        mutex: LocationId,
        by: WakeCause,
    },
    Signal {
        at: LocationId,
        woken: Option<ThreadId>,
    },
    Broadcast {
        at: LocationId,
        woken: u32,
    },
    SemWait {
        at: LocationId,
    },
    SemTryWait {
        at: LocationId,
        acquired: bool,
    },
    SemPost {
        at: LocationId,
    },
    BarrierArrive {
        at: LocationId,
    },
    BarrierLeave {
        at: LocationId,
    },
    /// `pthread_once`, `std::call_once` or a function static: `won` runs the initialiser.
    Once {
        at: LocationId,
        won: bool,
    },
    OnceDone {
        at: LocationId,
    },
    /// A sync object is set up or torn down; `value` is a semaphore's count, a barrier's number of threads.
    SyncInit {
        at: LocationId,
        value: u32,
    },
    SyncDestroy {
        at: LocationId,
    },
    Fork {
        child: ThreadId,
    },
    Start,
    Exit,
    Join {
        child: ThreadId,
    },
    Cancel {
        target: ThreadId,
    },
    Alloc {
        at: LocationId,
    },
    Free {
        at: LocationId,
    },
    Assertion,
    Fence,
    Yield,
    /// A call of a library function with effects outside memory.
    External {
        name: String,
    },
    /// `__VERIFIER_atomic_begin`: everything up to the end is one step.
    AtomicBegin,
    /// An operation on a pipe, socket or other descriptor inside the process, named with its object: `read pipe 5`.
    Descriptor {
        name: String,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum WakeCause {
    Signal(ThreadId),
    Timeout,
    Spurious,
    Cancel,
}

impl EventKind {
    /// The location this event touches, if it touches one.
    pub fn location(&self) -> Option<LocationId> {
        use EventKind::*;
        match self {
            Read { at, .. }
            | Write { at, .. }
            | ReadModifyWrite { at, .. }
            | Lock { at, .. }
            | Unlock { at }
            | TryLock { at, .. }
            | Wait { at, .. }
            | Wake { at, .. }
            | Signal { at, .. }
            | Broadcast { at, .. }
            | SemWait { at }
            | SemTryWait { at, .. }
            | SemPost { at }
            | BarrierArrive { at }
            | BarrierLeave { at }
            | Once { at, .. }
            | OnceDone { at }
            | SyncInit { at, .. }
            | SyncDestroy { at }
            | Alloc { at }
            | Free { at } => Some(*at),
            Fork { .. }
            | Start
            | Exit
            | Join { .. }
            | Cancel { .. }
            | Assertion
            | Fence
            | Yield
            | External { .. }
            | Descriptor { .. }
            | AtomicBegin => None,
        }
    }

    /// The word for this kind, as reports print it.
    pub fn verb(&self) -> &'static str {
        use EventKind::*;
        match self {
            Read { .. } => "read",
            Write { .. } => "write",
            ReadModifyWrite { .. } => "update",
            Lock { shared: false, .. } => "lock",
            Lock { shared: true, .. } => "lock shared",
            Unlock { .. } => "unlock",
            TryLock { acquired: true, .. } => "trylock",
            TryLock { acquired: false, .. } => "trylock failed",
            Wait { .. } => "wait",
            Wake { .. } => "wake",
            Signal { .. } => "signal",
            Broadcast { .. } => "broadcast",
            SemWait { .. } => "sem wait",
            SemTryWait { acquired: true, .. } => "sem trywait",
            SemTryWait { acquired: false, .. } => "sem trywait failed",
            SemPost { .. } => "sem post",
            BarrierArrive { .. } => "barrier arrive",
            BarrierLeave { .. } => "barrier leave",
            Once { won: true, .. } => "once begin",
            Once { won: false, .. } => "once",
            OnceDone { .. } => "once done",
            SyncInit { .. } => "init",
            SyncDestroy { .. } => "destroy",
            Fork { .. } => "create",
            Start => "start",
            Exit => "exit",
            Join { .. } => "join",
            Cancel { .. } => "cancel",
            Alloc { .. } => "alloc",
            Free { .. } => "free",
            Assertion => "assertion",
            Fence => "fence",
            Yield => "yield",
            External { .. } | Descriptor { .. } => "call",
            AtomicBegin => "atomic begin",
        }
    }
}

/// An object that events refer to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Object {
    /// `accounts`, or `heap object 3 of T0`.
    pub name: String,
    pub address: u64,
    pub bytes: u64,
    /// Where it was allocated, for a heap object.
    pub site: Option<SiteId>,
}

/// A byte range of an object, with the name the programmer would use.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Location {
    pub object: ObjectId,
    pub offset: u64,
    pub bytes: u32,
    pub name: String,
    pub shape: Shape,
}

impl Location {
    /// The name as far as the programmer wrote it: members of a library's class are left away, `parcels` for
    /// `parcels._M_impl._M_start`. Several locations may be called so; what tells them apart is [`Location::name`].
    pub fn shown(&self) -> &str {
        shown_name(&self.name)
    }
}

/// A name up to its first part that is reserved for libraries: an underscore and a capital letter.
pub fn shown_name(name: &str) -> &str {
    let is_reserved = |rest: &str| {
        let mut chars = rest.chars();
        chars.next() == Some('_') && chars.next().is_some_and(|c| c.is_ascii_uppercase())
    };
    let dots = name.match_indices('.').map(|(at, _)| (at, at + 1));
    let arrows = name.match_indices("->").map(|(at, _)| (at, at + 2));
    let cut = dots.chain(arrows).filter(|(_, after)| is_reserved(&name[*after..]));
    cut.map(|(at, _)| at).min().filter(|at| *at > 0).map_or(name, |at| &name[..at])
}

/// What was observed in one run. Empty of events unless they were asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Trace {
    /// Indexed by [`ThreadId`].
    pub threads: Vec<ThreadName>,
    pub events: Vec<Event>,
    pub objects: Vec<Object>,
    pub locations: Vec<Location>,
    /// The sites that events, objects and the visible set refer to, sorted by id.
    pub sites: Vec<(SiteId, Site)>,
}

impl Trace {
    pub fn site(&self, id: SiteId) -> Option<&Site> {
        self.sites.binary_search_by_key(&id, |(i, _)| *i).ok().map(|i| &self.sites[i].1)
    }

    /// Where an event is shown: in the user's own code, if a header of the system or a thin wrapper was called or inlined there.
    pub fn place(&self, event: &Event) -> Option<&Place> {
        let site = self.site(event.site)?;
        let is_own = |place: &&Place| place.is_own();
        let inlined = || user_place(&site.inlined_at).filter(is_own);
        let caller = || {
            let caller = self.site(event.caller?)?;
            Some(&caller.place).filter(is_own).or_else(|| user_place(&caller.inlined_at))
        };
        let own = Some(&site.place).filter(is_own).or_else(inlined).or_else(caller);
        Some(own.unwrap_or(&site.place))
    }

    pub fn location(&self, id: LocationId) -> &Location {
        &self.locations[id.0 as usize]
    }

    /// Where a location was in memory.
    pub fn address(&self, id: LocationId) -> u64 {
        let location = self.location(id);
        self.objects[location.object.0 as usize].address + location.offset
    }

    pub fn thread_name(&self, id: ThreadId) -> &ThreadName {
        &self.threads[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_where_a_library_begins() {
        assert_eq!(shown_name("belt.parcels._M_impl._M_start._M_cur"), "belt.parcels");
        assert_eq!(shown_name("this->_M_impl"), "this");
        assert_eq!(shown_name("q->head.next"), "q->head.next");
        assert_eq!(shown_name("s._count"), "s._count");
        assert_eq!(shown_name("_M_impl"), "_M_impl");
    }
}
