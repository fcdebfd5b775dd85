//! The trail: what to do to take a change of the state back.

use unravel_trace::ThreadId;

use super::Mark;
use super::state::State;
use super::sync::{Barrier, Once, Sync};
use crate::{Cell, Source, SyncId};

#[derive(Clone, Copy, Debug)]
pub(super) enum Undo {
    /// The value in two halves, which keeps entries small.
    Memory {
        cell: Cell,
        value: [u64; 2],
        source: Source,
    },
    Writer {
        lock: SyncId,
        was: Option<ThreadId>,
    },
    Lingers {
        lock: SyncId,
        was: Option<bool>,
    },
    ReaderCame {
        lock: SyncId,
    },
    ReaderLeft {
        lock: SyncId,
        index: u32,
        thread: ThreadId,
    },
    WaiterCame {
        cond: SyncId,
    },
    WaiterLeft {
        cond: SyncId,
        index: u32,
        thread: ThreadId,
    },
    Woken {
        thread: ThreadId,
        was: bool,
    },
    Semaphore {
        id: SyncId,
        was: Option<u32>,
    },
    Barrier {
        id: SyncId,
        was: Barrier,
    },
    Generation {
        thread: ThreadId,
        was: u32,
    },
    Once {
        id: SyncId,
        was: Once,
    },
    Forked {
        thread: ThreadId,
        was: bool,
    },
    Exited {
        thread: ThreadId,
        was: bool,
    },
    Chose,
    Awaited {
        index: u32,
    },
    Passed {
        was: bool,
    },
    Next {
        thread: ThreadId,
    },
    Due {
        thread: ThreadId,
    },
    AsideCame,
    AsideLeft {
        index: u32,
        thread: ThreadId,
    },
}

impl State<'_> {
    pub fn mark(&self) -> Mark {
        Mark { trail: self.trail.len() as u32, performed: self.performed.len() as u32 }
    }

    pub fn undo_to(&mut self, mark: Mark) {
        self.performed.truncate(mark.performed as usize);
        while self.trail.len() > mark.trail as usize {
            if let Some(undo) = self.trail.pop() {
                self.undo(undo);
            }
        }
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Memory { cell, value: [low, high], source } => {
                let value = u128::from(high) << 64 | u128::from(low);
                self.memory[cell.index()] = (value, source);
            }
            Undo::Next { thread } => self.next[thread.index()] -= 1,
            Undo::Due { thread } => self.due[thread.index()] -= 1,
            Undo::Woken { thread, was } => self.woken[thread.index()] = was,
            Undo::Generation { thread, was } => self.generation[thread.index()] = was,
            Undo::Forked { thread, was } => self.forked[thread.index()] = was,
            Undo::Exited { thread, was } => self.exited[thread.index()] = was,
            Undo::Chose => drop(self.choices.pop()),
            Undo::Awaited { index } => self.awaited[index as usize] += 1,
            Undo::Passed { was } => self.passed = was,
            Undo::AsideCame => drop(self.aside.pop()),
            Undo::AsideLeft { index, thread } => self.aside.insert(index as usize, thread),
            Undo::Semaphore { id, was } => {
                self.syncs[id.index()] = Sync::Semaphore(was);
            }
            Undo::Barrier { id, was } => self.syncs[id.index()] = Sync::Barrier(was),
            Undo::Once { id, was } => self.syncs[id.index()] = Sync::Once(was),
            Undo::Writer { lock, was } => {
                if let Sync::Lock { writer, .. } = &mut self.syncs[lock.index()] {
                    *writer = was;
                }
            }
            Undo::Lingers { lock, was } => {
                if let Sync::Lock { lingers, .. } = &mut self.syncs[lock.index()] {
                    *lingers = was;
                }
            }
            Undo::ReaderCame { lock } => drop(self.list(lock).pop()),
            Undo::ReaderLeft { lock, index, thread } => {
                self.list(lock).insert(index as usize, thread);
            }
            Undo::WaiterCame { cond } => drop(self.list(cond).pop()),
            Undo::WaiterLeft { cond, index, thread } => {
                self.list(cond).insert(index as usize, thread);
            }
        }
    }
}
