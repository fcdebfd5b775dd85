//! Who looks: races, coverage, recordings. Observers decide nothing, but may object.
//!
//! Several are one: a tuple of observers tells each of them everything, the first before the second, and the first alarm
//! counts.

use crate::{Choice, Pending, Question, ThreadId, ThreadName, View};

/// Sees a run as it goes on.
pub trait Observer {
    /// What it wants to be told of. Asked once, when the run begins.
    fn observes(&self) -> Observes {
        Observes::Nothing
    }

    /// An event that is about to be executed. An alarm ends the run, before the event, as failed.
    fn observe(&mut self, _executed: &Executed<'_>) -> Option<Alarm> {
        None
    }

    /// A decision of the scheduler, whatever the observer wants to be told of.
    fn decided(&mut self, _view: &View<'_>, _choice: Choice) {}

    /// The same of a choice other than "which thread".
    fn answered(&mut self, _what: Question, _options: u32, _answer: u32) {}
}

/// What an observer wants to be told while a run goes on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Observes {
    Nothing,
    Events,
    /// Events; and the executor keeps their stacks, so that an alarm can name an earlier one.
    EventsAndStacks,
}

/// An event as it is executed. What happens inside an atomic section carries the number of the event that began it.
#[derive(Clone, Copy, Debug)]
pub struct Executed<'a> {
    /// Counted from 1, as [`View::events`] counts.
    pub number: u64,
    pub thread: ThreadId,
    pub what: Pending,
    /// It repeats a round of a busy wait and is part of the step before it: nobody was asked ([`crate::Want::skip_rounds`]).
    pub repeats: bool,
    /// Names of all threads so far, indexed by [`ThreadId`].
    pub names: &'a [ThreadName],
}

/// What an observer may object to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alarm {
    /// The event and an earlier one touch the same memory, one writes, and nothing orders them.
    Race {
        /// The earlier event's number, its thread and what it did.
        earlier: u64,
        thread: ThreadId,
        what: Pending,
    },
}

/// Nobody looks.
impl Observer for () {}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn observes(&self) -> Observes {
        (**self).observes()
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        (**self).observe(executed)
    }

    fn decided(&mut self, view: &View<'_>, choice: Choice) {
        (**self).decided(view, choice);
    }

    fn answered(&mut self, what: Question, options: u32, answer: u32) {
        (**self).answered(what, options, answer);
    }
}

/// Perhaps somebody.
impl<O: Observer> Observer for Option<O> {
    fn observes(&self) -> Observes {
        self.as_ref().map_or(Observes::Nothing, O::observes)
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        self.as_mut().and_then(|observer| observer.observe(executed))
    }

    fn decided(&mut self, view: &View<'_>, choice: Choice) {
        if let Some(observer) = self {
            observer.decided(view, choice);
        }
    }

    fn answered(&mut self, what: Question, options: u32, answer: u32) {
        if let Some(observer) = self {
            observer.answered(what, options, answer);
        }
    }
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn observes(&self) -> Observes {
        self.0.observes().max(self.1.observes())
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        // Both, whatever the first says: an alarm ends the run, and what the other has not seen it could not learn from.
        let first = self.0.observe(executed);
        let second = self.1.observe(executed);
        first.or(second)
    }

    fn decided(&mut self, view: &View<'_>, choice: Choice) {
        self.0.decided(view, choice);
        self.1.decided(view, choice);
    }

    fn answered(&mut self, what: Question, options: u32, answer: u32) {
        self.0.answered(what, options, answer);
        self.1.answered(what, options, answer);
    }
}
