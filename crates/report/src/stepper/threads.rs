//! Where each thread is at a position: about to do which event, waiting for what, ended.
//!
//! That a thread waits is worked out from its next event, which the run has if it got that far. A thread that waits
//! for ever has no next event; what is known of it is what the failure says.

use unravel_trace::{EventKind, LocationId, Outcome, Place, ThreadId, WakeCause, user_place};

use super::history::{History, first_from, last_before};
use super::sync::Sync;
use crate::words;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stage {
    NotCreated,
    /// Just before this event of its own.
    Before {
        event: usize,
        waits: Option<Waits>,
    },
    /// It has no further event in this run: `at` is the last place known of it. `says` is what the failure says of it,
    /// which is true at the end and may not be before.
    Over {
        at: Option<Place>,
        says: Option<String>,
    },
    Ended {
        event: usize,
    },
}

/// What a thread waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Waits {
    Lock { at: LocationId, by: Vec<ThreadId> },
    Signal { at: LocationId },
    Semaphore { at: LocationId },
    Barrier { at: LocationId },
    Once { at: LocationId, by: ThreadId },
    End { of: ThreadId },
}

impl History<'_> {
    pub fn stage(&self, thread: ThreadId, position: usize, outcome: &Outcome) -> Stage {
        let own = self.of_thread(thread);
        if self.created(thread).is_some_and(|created| created >= position) {
            return Stage::NotCreated;
        }
        if let Some(event) = first_from(own, position) {
            return Stage::Before { event, waits: self.waits(thread, event, position) };
        }
        if let Some(event) = self.ended(thread) {
            return Stage::Ended { event };
        }
        let (stack, says) = self.said_of(thread, outcome).unzip();
        let last = last_before(own, position).and_then(|e| words::place(self.trace, self.event(e)));
        let at = stack.and_then(user_place).or(last).cloned();
        Stage::Over { at, says }
    }

    /// What the failure says of a thread, and where that is.
    fn said_of<'o>(&self, thread: ThreadId, outcome: &'o Outcome) -> Option<(&'o [Place], String)> {
        let name = self.trace.threads.get(thread.index())?;
        let failure = outcome.failure()?;
        let start = format!("{name} ");
        let mut related = failure.related.iter();
        if let Some(related) = related.find(|related| related.message.starts_with(&start)) {
            return Some((&related.stack, related.message[start.len()..].to_owned()));
        }
        (failure.thread == *name).then(|| (failure.stack.as_slice(), "fails here".to_owned()))
    }

    /// The event that ends a thread.
    pub fn ended(&self, thread: ThreadId) -> Option<usize> {
        let own = self.of_thread(thread);
        let last = *own.last()?;
        matches!(self.event(last).kind, EventKind::Exit).then_some(last)
    }

    /// What keeps a thread from executing its next event at `position`.
    fn waits(&self, thread: ThreadId, event: usize, position: usize) -> Option<Waits> {
        match &self.event(event).kind {
            EventKind::Lock { at, shared } => self.lock_is_held(*at, *shared, thread, position),
            EventKind::Wake { at, mutex, by } => {
                if self.is_woken(thread, event, *by, position) {
                    self.lock_is_held(*mutex, false, thread, position)
                } else {
                    Some(Waits::Signal { at: *at })
                }
            }
            EventKind::SemWait { at } => match self.sync(*at, position) {
                Sync::Semaphore { count: Some(..=0) } => Some(Waits::Semaphore { at: *at }),
                _ => None,
            },
            EventKind::BarrierLeave { at } => {
                self.barrier_is_closed(*at, event, position).then_some(Waits::Barrier { at: *at })
            }
            EventKind::Once { at, won: false } => match self.sync(*at, position) {
                Sync::Once { running: Some(running), .. } if running.thread != thread => {
                    Some(Waits::Once { at: *at, by: running.thread })
                }
                _ => None,
            },
            EventKind::Join { child } => {
                let last = self.of_thread(*child).last();
                last.is_some_and(|last| *last >= position).then_some(Waits::End { of: *child })
            }
            _ => None,
        }
    }

    fn lock_is_held(
        &self,
        at: LocationId,
        shared: bool,
        thread: ThreadId,
        position: usize,
    ) -> Option<Waits> {
        let Sync::Lock { holders, .. } = self.sync(at, position) else { return None };
        let others = holders.iter().filter(|h| h.since.thread != thread && !(shared && h.shared));
        let by: Vec<ThreadId> = others.map(|holder| holder.since.thread).collect();
        (!by.is_empty()).then_some(Waits::Lock { at, by })
    }

    /// Whether what ends a condition wait has happened.
    fn is_woken(&self, thread: ThreadId, wake: usize, by: WakeCause, position: usize) -> bool {
        let WakeCause::Signal(by) = by else { return true };
        let Some(at) = self.event(wake).kind.location() else { return true };
        let Some(wait) = last_before(self.of_thread(thread), wake) else { return true };
        let between = self.syncs(at).iter().filter(|i| (wait..position).contains(i));
        between.into_iter().any(|index| {
            let event = self.event(*index);
            event.thread == by
                && match &event.kind {
                    EventKind::Signal { woken, .. } => *woken == Some(thread),
                    EventKind::Broadcast { .. } => true,
                    _ => false,
                }
        })
    }

    /// Whether threads have still to arrive before one that is at a barrier may leave.
    fn barrier_is_closed(&self, at: LocationId, leave: usize, position: usize) -> bool {
        let Some(arrive) = last_before(self.of_thread(self.event(leave).thread), leave) else {
            return false;
        };
        let Sync::Barrier { arrived: before, of: Some(of @ 1..) } = self.sync(at, arrive) else {
            return false;
        };
        let Sync::Barrier { arrived, .. } = self.sync(at, position) else { return false };
        let of = u64::from(of);
        arrived < (before / of + 1) * of
    }
}
