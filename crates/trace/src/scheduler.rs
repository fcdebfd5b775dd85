//! Who decides: which thread runs next, and what a scheduler sees.

use crate::{Deviation, Executed, Pending, ThreadId, ThreadName};

/// Decides which thread runs next.
pub trait Scheduler {
    /// The next decision. Asked at the start, whenever the last decision is used up or can go no
    /// further, and never with nothing enabled.
    fn next(&mut self, view: &View<'_>) -> Choice;

    /// Any other choice: a number below `options`, which is at least 2. The first option is what
    /// an ordinary system would do.
    fn choose(&mut self, _what: Question, _options: u32) -> u32 {
        0
    }

    /// Whether the environment deviates here, in something that the current thread does. An ordinary system does not.
    fn deviate(&mut self, _what: Deviation) -> bool {
        false
    }

    /// The run is over; `events` visible events were executed.
    fn finish(&mut self, _events: u64) {}

    /// Whether its decisions depend on what was executed, so that [`Scheduler::watch`] is to be called. Asked once, when
    /// the run begins.
    fn watches(&self) -> bool {
        false
    }

    /// Whether it tells events in headers of the system apart by who called ([`Pending::caller`]). Asked once, when the run
    /// begins.
    fn names_callers(&self) -> bool {
        false
    }

    /// An event that is about to be executed. Whoever only looks is an [`crate::Observer`].
    fn watch(&mut self, _executed: &Executed<'_>) {}
}

/// Run `thread` for `events` visible events, or until it can go no further. No events at all: stop here, the rest of
/// this run is of no interest ([`crate::Outcome::Discarded`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    pub thread: ThreadId,
    pub events: u32,
}

/// Choices other than "which thread".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Which of the waiting threads, longest waiting first, a signal wakes.
    Waiter,
    /// Which of the threads that do not block it a signal for the process goes to.
    SignalTarget,
}

/// What a scheduler sees.
#[derive(Debug)]
pub struct View<'a> {
    /// Threads that can execute their pending event, in order of creation. Never empty.
    pub enabled: &'a [Ready],
    /// Threads that could go on only if time passed before it has to: one that sleeps or waits with a timeout, while others
    /// can run or have an earlier deadline. To choose one is a deviation ([`Deviation::Stall`],
    /// [`Deviation::EarlyTimeout`]); whoever does not mean it leaves them alone.
    pub early: &'a [Ready],
    /// Names of all threads so far, indexed by [`ThreadId`].
    pub names: &'a [ThreadName],
    /// Who executed the last event.
    pub current: ThreadId,
    /// Why a decision is needed.
    pub why: Why,
    /// Visible events executed so far.
    pub events: u64,
}

/// A thread that can execute its pending event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ready {
    pub thread: ThreadId,
    pub pending: Pending,
    /// It goes on because time passes: it sleeps, or its wait times out.
    pub by_time: bool,
    /// Its time has passed already, because others slept longer.
    pub is_over: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The run begins.
    Start,
    /// The last choice is used up; the current thread could go on.
    UsedUp,
    /// The current thread cannot execute its pending event.
    Blocked,
    /// The current thread has ended.
    Ended,
    /// The current thread gave up its turn, or waits busily for others.
    Yielded,
    /// The current thread is back in the state that it was in so many of its steps ago, at least one, and has changed nothing
    /// and asked no clock since ([`crate::Want::awaits`]).
    Waits { steps: u32 },
}

impl View<'_> {
    #[inline]
    pub fn is_enabled(&self, thread: ThreadId) -> bool {
        self.enabled.iter().any(|ready| ready.thread == thread)
    }

    pub fn current_is_enabled(&self) -> bool {
        self.is_enabled(self.current)
    }

    /// This thread with its pending event, if it can execute it now or early.
    #[inline]
    pub fn ready(&self, thread: ThreadId) -> Option<&Ready> {
        self.enabled.iter().chain(self.early).find(|ready| ready.thread == thread)
    }

    /// The thread of this name, if it can execute its pending event.
    pub fn ready_named(&self, name: &ThreadName) -> Option<&Ready> {
        let index = self.names.iter().position(|other| other == name)?;
        self.ready(ThreadId(index as u32))
    }
}
