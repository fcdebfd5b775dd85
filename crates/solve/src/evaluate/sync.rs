//! Sync objects: what each operation on them does, as in the models of the VM.

use unravel_trace::{SyncState, ThreadId, WakeCause};

use super::state::{Ran, State};
use super::undo::Undo;
use crate::{Op, SyncFamily, SyncId, SyncObject};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Barrier {
    count: u32,
    arrived: u32,
    generation: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Once {
    running: bool,
    /// Wins still to come: an initialiser that throws lets the next one try again.
    wins: u32,
    done: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Sync {
    Lock {
        writer: Option<ThreadId>,
        readers: Vec<ThreadId>,
        /// Released synthetically and not taken since: may as well be held; whether only its shared side.
        lingers: Option<bool>,
    },
    /// Longest waiting first.
    Cond(Vec<ThreadId>),
    /// `None` before it is set up.
    Semaphore(Option<u32>),
    Barrier(Barrier),
    Once(Once),
}

impl Sync {
    /// As it was when recording began.
    pub fn new(object: &SyncObject) -> Sync {
        let states = || object.initial.iter().copied();
        match object.family {
            SyncFamily::Lock => {
                let held = |state, side| match state {
                    SyncState::Held { by, shared } if shared == side => Some(by),
                    _ => None,
                };
                Sync::Lock {
                    writer: states().find_map(|s| held(s, false)),
                    readers: states().filter_map(|s| held(s, true)).collect(),
                    lingers: None,
                }
            }
            SyncFamily::Cond => Sync::Cond(Vec::new()),
            SyncFamily::Semaphore => Sync::Semaphore(states().find_map(|s| match s {
                SyncState::Semaphore(value) => Some(value),
                _ => None,
            })),
            SyncFamily::Barrier => {
                let count = states().find_map(|s| match s {
                    SyncState::Barrier(count) => Some(count),
                    _ => None,
                });
                Sync::Barrier(Barrier { count: count.unwrap_or(0), arrived: 0, generation: 0 })
            }
            SyncFamily::Once => {
                let wins = object.ops.iter();
                let wins =
                    wins.filter(|(_, op)| matches!(op, Op::OnceEnter { won: true, .. })).count();
                let done = states().any(|s| s == SyncState::Done);
                Sync::Once(Once { running: false, wins: wins as u32, done })
            }
        }
    }
}

impl State<'_> {
    pub fn sync_op(&mut self, op: Op, me: ThreadId) -> Ran {
        match op {
            Op::Acquire { lock, shared } => {
                if !self.is_free(lock, shared) {
                    return Ran::Waits;
                }
                self.take(lock, shared, me);
            }
            Op::TryAcquire { lock, shared, acquired } => {
                let free = self.is_free(lock, shared);
                if acquired && free {
                    self.take(lock, shared, me);
                } else if acquired || free && !self.may_be_held(lock, shared) {
                    return Ran::Differs;
                }
            }
            Op::Wait { cond, gives_up } => {
                if !gives_up {
                    self.list(cond).push(me);
                    self.trail.push(Undo::WaiterCame { cond });
                }
                self.set_woken(me, false);
            }
            Op::Wake { cond, by } => return self.wake(cond, by, me),
            Op::Signal { cond, recorded } => self.signal(cond, recorded),
            Op::Broadcast { cond } => {
                while let Some(&thread) = self.list(cond).last() {
                    let index = self.list(cond).len() - 1;
                    self.remove_waiter(cond, index);
                    self.set_woken(thread, true);
                }
            }
            Op::SemInit { semaphore, value } => self.set_semaphore(semaphore, Some(value)),
            Op::SemPost { semaphore } => match self.semaphore(semaphore) {
                Some(value) => self.set_semaphore(semaphore, Some(value.saturating_add(1))),
                None => return Ran::Differs,
            },
            Op::SemAcquire { semaphore } => match self.semaphore(semaphore) {
                Some(0) => return Ran::Waits,
                Some(value) => self.set_semaphore(semaphore, Some(value - 1)),
                None => return Ran::Differs,
            },
            Op::SemTryAcquire { semaphore, acquired } => match self.semaphore(semaphore) {
                Some(value) if (value > 0) == acquired => {
                    self.set_semaphore(semaphore, Some(value - u32::from(acquired)));
                }
                _ => return Ran::Differs,
            },
            Op::BarrierInit { barrier, count } => {
                // Who has not left the one before may still do so.
                let generation = self.barrier(barrier).generation.wrapping_add(1);
                self.set_barrier(barrier, Barrier { count, arrived: 0, generation });
            }
            Op::Arrive { barrier } => return self.arrive(barrier, me),
            Op::Leave { barrier } => {
                if self.barrier(barrier).generation == self.generation[me.index()] {
                    return Ran::Waits;
                }
            }
            Op::OnceEnter { once, won } => {
                let state = self.once(once);
                if state.running {
                    return Ran::Waits;
                }
                if state.done == won {
                    return Ran::Differs;
                }
                if won {
                    let wins = state.wins.saturating_sub(1);
                    self.set_once(once, Once { running: true, wins, ..state });
                }
            }
            Op::OnceDone { once } => {
                let state = self.once(once);
                self.set_once(once, Once { running: false, done: state.wins == 0, ..state });
            }
            Op::Fork { child } => {
                let was = std::mem::replace(&mut self.forked[child.index()], true);
                self.trail.push(Undo::Forked { thread: child, was });
            }
            Op::Start if !self.forked[me.index()] => return Ran::Waits,
            Op::Exit => {
                let was = std::mem::replace(&mut self.exited[me.index()], true);
                self.trail.push(Undo::Exited { thread: me, was });
            }
            Op::Join { child } => {
                // A thread of which nothing was recorded ended before.
                let known = !self.model.threads[child.index()].is_empty();
                if known && !self.exited[child.index()] {
                    return Ran::Waits;
                }
            }
            Op::Never => return Ran::Waits,
            Op::Start
            | Op::Read(_)
            | Op::Write(_)
            | Op::Release { .. }
            | Op::Check(_)
            | Op::Bug => {}
        }
        Ran::Done
    }

    fn is_free(&self, lock: SyncId, shared: bool) -> bool {
        match &self.syncs[lock.index()] {
            Sync::Lock { writer, readers, .. } => {
                writer.is_none() && (shared || readers.is_empty())
            }
            _ => unreachable!("a lock is a lock"),
        }
    }

    /// Whether a thread that was cut off while it held the lock may not have released it yet.
    fn may_be_held(&self, lock: SyncId, shared: bool) -> bool {
        match self.syncs[lock.index()] {
            Sync::Lock { lingers: Some(only_shared), .. } => !(shared && only_shared),
            _ => false,
        }
    }

    pub fn set_lingers(&mut self, lock: SyncId, to: Option<bool>) {
        if let Sync::Lock { lingers, .. } = &mut self.syncs[lock.index()]
            && *lingers != to
        {
            let was = std::mem::replace(lingers, to);
            self.trail.push(Undo::Lingers { lock, was });
        }
    }

    fn take(&mut self, lock: SyncId, shared: bool, me: ThreadId) {
        if self.may_be_held(lock, shared) {
            self.set_lingers(lock, None);
        }
        if shared {
            self.list(lock).push(me);
            self.trail.push(Undo::ReaderCame { lock });
        } else {
            self.set_writer(lock, Some(me));
        }
    }

    /// Who does not hold the lock sets it free all the same, as spin locks allow. True if it was shared.
    pub fn release(&mut self, lock: SyncId, me: ThreadId) -> bool {
        let Sync::Lock { writer, readers, .. } = &mut self.syncs[lock.index()] else {
            return false;
        };
        if *writer != Some(me)
            && let Some(index) = readers.iter().position(|r| *r == me)
        {
            readers.remove(index);
            self.trail.push(Undo::ReaderLeft { lock, index: index as u32, thread: me });
            return true;
        }
        self.set_writer(lock, None);
        false
    }

    fn set_writer(&mut self, lock: SyncId, to: Option<ThreadId>) {
        if let Sync::Lock { writer, .. } = &mut self.syncs[lock.index()] {
            let was = std::mem::replace(writer, to);
            self.trail.push(Undo::Writer { lock, was });
        }
    }

    fn wake(&mut self, cond: SyncId, by: WakeCause, me: ThreadId) -> Ran {
        let woken = self.woken[me.index()];
        match by {
            WakeCause::Signal(_) if !woken => return Ran::Waits,
            // The wait would have returned something else.
            WakeCause::Timeout | WakeCause::Cancel if woken => return Ran::Differs,
            _ => {}
        }
        if let Some(index) = self.list(cond).iter().position(|t| *t == me) {
            self.remove_waiter(cond, index);
        }
        self.set_woken(me, false);
        Ran::Done
    }

    fn signal(&mut self, cond: SyncId, recorded: Option<ThreadId>) {
        let waiting = self.list(cond);
        if waiting.is_empty() {
            return;
        }
        let several = waiting.len() > 1;
        let chosen = waiting.iter().position(|t| Some(*t) == recorded).unwrap_or(0);
        let thread = waiting[chosen];
        if several {
            self.choices.push(chosen as u32);
            self.trail.push(Undo::Chose);
        }
        self.remove_waiter(cond, chosen);
        self.set_woken(thread, true);
    }

    fn remove_waiter(&mut self, cond: SyncId, index: usize) {
        let thread = self.list(cond).remove(index);
        self.trail.push(Undo::WaiterLeft { cond, index: index as u32, thread });
    }

    fn set_woken(&mut self, thread: ThreadId, to: bool) {
        let was = std::mem::replace(&mut self.woken[thread.index()], to);
        self.trail.push(Undo::Woken { thread, was });
    }

    fn arrive(&mut self, id: SyncId, me: ThreadId) -> Ran {
        let mut barrier = self.barrier(id);
        if barrier.count == 0 {
            // Not set up yet.
            return Ran::Differs;
        }
        let was = std::mem::replace(&mut self.generation[me.index()], barrier.generation);
        self.trail.push(Undo::Generation { thread: me, was });
        barrier.arrived += 1;
        if barrier.arrived >= barrier.count {
            barrier.arrived = 0;
            barrier.generation = barrier.generation.wrapping_add(1);
        }
        self.set_barrier(id, barrier);
        Ran::Done
    }

    /// The readers of a lock, or those who wait on a condition variable.
    pub fn list(&mut self, id: SyncId) -> &mut Vec<ThreadId> {
        match &mut self.syncs[id.index()] {
            Sync::Lock { readers: list, .. } | Sync::Cond(list) => list,
            _ => unreachable!("neither a lock nor a condition variable"),
        }
    }

    fn semaphore(&self, id: SyncId) -> Option<u32> {
        match self.syncs[id.index()] {
            Sync::Semaphore(value) => value,
            _ => unreachable!("a semaphore is a semaphore"),
        }
    }

    fn set_semaphore(&mut self, id: SyncId, to: Option<u32>) {
        let was = self.semaphore(id);
        self.syncs[id.index()] = Sync::Semaphore(to);
        self.trail.push(Undo::Semaphore { id, was });
    }

    fn barrier(&self, id: SyncId) -> Barrier {
        match self.syncs[id.index()] {
            Sync::Barrier(barrier) => barrier,
            _ => unreachable!("a barrier is a barrier"),
        }
    }

    fn set_barrier(&mut self, id: SyncId, to: Barrier) {
        let was = self.barrier(id);
        self.syncs[id.index()] = Sync::Barrier(to);
        self.trail.push(Undo::Barrier { id, was });
    }

    fn once(&self, id: SyncId) -> Once {
        match self.syncs[id.index()] {
            Sync::Once(once) => once,
            _ => unreachable!("a once is a once"),
        }
    }

    fn set_once(&mut self, id: SyncId, to: Once) {
        let was = self.once(id);
        self.syncs[id.index()] = Sync::Once(to);
        self.trail.push(Undo::Once { id, was });
    }
}
