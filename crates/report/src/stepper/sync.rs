//! The state of a sync object at a position: who holds a lock, who waits on a condition, what a semaphore counts.
//!
//! Found by walking the events of that object alone. A lock that is taken again by its holder counts how often.

use unravel_trace::{EventKind, LocationId, ThreadId};

use super::history::History;

/// A thread that has something, since an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Since {
    pub thread: ThreadId,
    pub event: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sync {
    /// `released` is the last event after which nobody held it.
    Lock {
        holders: Vec<Holder>,
        released: Option<usize>,
    },
    Condition {
        waiting: Vec<Since>,
    },
    /// The count is unknown where the initialisation is no event.
    Semaphore {
        count: Option<i64>,
    },
    Barrier {
        arrived: u64,
        of: Option<u32>,
    },
    Once {
        running: Option<Since>,
        done: Option<usize>,
    },
    /// Set up or torn down, never used.
    Unused,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    pub since: Since,
    pub shared: bool,
    pub times: u32,
}

impl History<'_> {
    /// What kind of sync object a location is, and how it stands before the event at `position`.
    pub fn sync(&self, at: LocationId, position: usize) -> Sync {
        let mut state = self.sync_at_start(at);
        for index in self.syncs(at).iter().take_while(|index| **index < position) {
            let event = self.event(*index);
            state.follow(at, Since { thread: event.thread, event: *index }, &event.kind);
        }
        state
    }

    /// What kind of sync object a location is, before anything happened to it.
    pub fn sync_at_start(&self, at: LocationId) -> Sync {
        use EventKind::*;
        let kinds = self.syncs(at).iter().map(|index| &self.event(*index).kind);
        let known = kinds.filter_map(|kind| match kind {
            Wait { mutex, .. } | Wake { mutex, .. } if *mutex == at => Some(FREE),
            Lock { .. } | Unlock { .. } | TryLock { .. } => Some(FREE),
            Wait { .. } | Wake { .. } | Signal { .. } | Broadcast { .. } => {
                Some(Sync::Condition { waiting: Vec::new() })
            }
            SemWait { .. } | SemTryWait { .. } | SemPost { .. } => {
                Some(Sync::Semaphore { count: None })
            }
            BarrierArrive { .. } | BarrierLeave { .. } => {
                Some(Sync::Barrier { arrived: 0, of: None })
            }
            Once { .. } | OnceDone { .. } => Some(Sync::Once { running: None, done: None }),
            _ => None,
        });
        known.into_iter().next().unwrap_or(Sync::Unused)
    }
}

impl Sync {
    /// What an event makes of the object at `at`.
    pub fn follow(&mut self, at: LocationId, since: Since, kind: &EventKind) {
        match self {
            Sync::Lock { holders, released } => lock(holders, released, at, since, kind),
            Sync::Condition { waiting } => match kind {
                EventKind::Wait { .. } => waiting.push(since),
                EventKind::Wake { .. } => waiting.retain(|w| w.thread != since.thread),
                _ => {}
            },
            Sync::Semaphore { count } => match kind {
                EventKind::SyncInit { value, .. } => *count = Some((*value).into()),
                EventKind::SemPost { .. } => *count = count.map(|c| c + 1),
                EventKind::SemWait { .. } | EventKind::SemTryWait { acquired: true, .. } => {
                    *count = count.map(|c| c - 1);
                }
                _ => {}
            },
            Sync::Barrier { arrived, of } => match kind {
                EventKind::SyncInit { value, .. } => (*arrived, *of) = (0, Some(*value)),
                EventKind::BarrierArrive { .. } => *arrived += 1,
                _ => {}
            },
            Sync::Once { running, done } => match kind {
                EventKind::Once { won: true, .. } => *running = Some(since),
                EventKind::OnceDone { .. } => (*running, *done) = (None, Some(since.event)),
                _ => {}
            },
            Sync::Unused => {}
        }
    }
}

/// A lock that nobody holds.
const FREE: Sync = Sync::Lock { holders: Vec::new(), released: None };

fn lock(
    holders: &mut Vec<Holder>,
    released: &mut Option<usize>,
    at: LocationId,
    since: Since,
    kind: &EventKind,
) {
    let own = holders.iter().position(|holder| holder.since.thread == since.thread);
    let shared = match kind {
        EventKind::Lock { shared, .. } => *shared,
        EventKind::TryLock { shared, acquired: true, .. } => *shared,
        EventKind::Wake { mutex, .. } if *mutex == at => false,
        EventKind::Unlock { .. } => {
            if let Some(own) = own {
                holders[own].times -= 1;
                if holders[own].times == 0 {
                    holders.remove(own);
                }
            }
            if holders.is_empty() {
                *released = Some(since.event);
            }
            return;
        }
        // All of it, however often it was taken.
        EventKind::Wait { mutex, .. } if *mutex == at => {
            holders.retain(|holder| holder.since.thread != since.thread);
            *released = Some(since.event);
            return;
        }
        _ => return,
    };
    match own {
        Some(own) => holders[own].times += 1,
        None => holders.push(Holder { since, shared, times: 1 }),
    }
}
