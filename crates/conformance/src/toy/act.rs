//! What threads of toy programs do, and which event that is.

use unravel_trace::Op;

/// What a thread does. Numbers are those of cells, locks, conditions, semaphores or threads. Each thread has a register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Into the register.
    Read(usize),
    Write(usize, u32),
    /// Writes the register plus so much.
    Put(usize, u32),
    /// Atomically into the register.
    Load(usize),
    /// Atomically.
    Store(usize, u32),
    /// Adds one, atomically.
    Update(usize),
    /// Reads; goes on `.2` acts further if the value is not `.1`.
    Unless(usize, u32, usize),
    /// Reads; fails if the value is not this.
    Expect(usize, u32),
    /// Fails if the register has this value. No event.
    FailIf(u32),
    /// Passes over so many acts if the register has this value. No event.
    SkipIf(u32, usize),
    /// Reads and writes of cells, in one step.
    Atomic(Vec<Act>),
    Lock(usize),
    LockShared(usize),
    /// Goes on so many acts further if the lock is taken.
    TryLock(usize, usize),
    Unlock(usize),
    /// Waits on the condition, giving up the lock meanwhile.
    Wait(usize, usize),
    /// The same, if nothing else happens only for a while.
    TimedWait(usize, usize),
    Signal(usize),
    Broadcast(usize),
    Post(usize),
    Down(usize),
    Fork(usize),
    Join(usize),
    /// Writes to the standard output.
    Print(&'static str),
    /// The engine dies by this signal, for no reason that the program is to blame for. No event.
    Die(i32),
}

impl Act {
    /// The cell that it accesses; of an atomic section one of them.
    pub fn cell(&self) -> Option<usize> {
        use Act::*;
        match self {
            Read(cell) | Write(cell, _) | Put(cell, _) | Load(cell) | Store(cell, _) => Some(*cell),
            Update(cell) | Unless(cell, ..) | Expect(cell, _) => Some(*cell),
            Atomic(acts) => acts.iter().find_map(Act::cell),
            _ => None,
        }
    }

    /// What it does to its cell, and whether atomically.
    pub fn access(&self) -> Option<(Op, bool)> {
        use Act::*;
        match self {
            Read(_) | Unless(..) | Expect(..) => Some((Op::Read, false)),
            Write(..) | Put(..) => Some((Op::Write, false)),
            Load(_) => Some((Op::Read, true)),
            Store(..) => Some((Op::Write, true)),
            Update(_) => Some((Op::Update, true)),
            _ => None,
        }
    }

    pub fn is_event(&self) -> bool {
        !matches!(self, Act::FailIf(_) | Act::SkipIf(..) | Act::Die(_))
    }
}
