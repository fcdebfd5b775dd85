//! Virtual time, as discrete events: an instruction takes none, and the earliest deadline comes first.
//!
//! A thread that sleeps, or waits with a timeout, has a deadline. Time passes when nobody can go on without it, to the
//! earliest deadline; several of the same time come in any order. So sleeps order things as their programmer thinks. That
//! nothing promises this is what deviations are for: a thread whose time has not come is offered apart
//! ([`unravel_trace::View::early`]), and to choose it means that the others are late.
//!
//! Work takes time after all, or a thread that works until another has slept would never end: after [`OVERDUE`] events
//! without a pause the earliest deadline has to come. Such a run has the same note as one of which the clock tells more
//! than its events.
//!
//! Who looks at the clock again and again and changes nothing waits for it: each look is a sleep, ever longer, in proportion
//! to what it has waited; if one is over early, the others are late until the waiting ends. Who changes something works until
//! the clock says so: after many looks, each takes time. What the looks of several threads tell them about their order is no event; a run
//! in which it may matter has a note ([`Note::ClockOrder`]).
//!
//! All clocks are one, and deadlines in the past are over at once.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use unravel_trace::{Deviated, Deviation, Note, Op, Ready, SiteId};

use crate::budgets::{CLOCK_LOOKS, OVERDUE, YIELD_WEIGHT};
use crate::machine::{Machine, State};
use crate::thread::Need;

pub(crate) const SECOND: u64 = 1_000_000_000;
/// The virtual clock starts here: 2020-01-01.
pub(crate) const EPOCH: u64 = 1_577_836_800 * SECOND;
/// What a second look at the clock takes.
const LOOK: u64 = 1000;
/// What a look takes at least for who waits by looking, and which part of its waiting so far.
const LONG_LOOK: u64 = 1_000_000;
const PART: u64 = 16;

#[derive(Debug)]
pub(crate) struct Clock {
    /// Nanoseconds.
    pub now: u64,
    /// How many events there had been when time last passed.
    passed_at: u64,
    /// Since then, while there were several threads: who looked, whether another did, whether a look took time.
    looked: Option<usize>,
    several: bool,
    ticked: bool,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { now: EPOCH, passed_at: 0, looked: None, several: false, ticked: false }
    }
}

/// What a thread has seen of the clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Looks {
    last: u64,
    pub count: u32,
    /// Where it last looked, and what it had changed by then: who is there again and has changed nothing waits.
    place: u64,
    changes: u64,
    /// When it began to wait.
    first: u64,
    /// The others are late, for as long as it waits.
    stalled: bool,
}

impl Clock {
    pub fn pass(&mut self, to: u64, events: u64) {
        if to > self.now {
            *self = Clock { now: to, passed_at: events, ..Clock::default() };
        }
    }
}

impl State {
    /// Whether the pending event of a thread may be executed by running out of time, sooner or later.
    fn has_deadline(&self, index: usize) -> bool {
        let thread = &self.threads[index];
        let signalled = matches!(thread.need, Need::Wake { .. }) && thread.woken_by.is_some();
        thread.timed
            && !thread.ended
            && !signalled
            && !self.is_satisfied(index, thread.need)
            && !self.is_interrupted(index)
            && (!thread.cancellation.requested || !self.is_cancellable(index))
    }

    /// Whether it has run out of time.
    pub fn is_due(&self, index: usize) -> bool {
        self.threads[index].deadline <= self.clock.now && self.has_deadline(index)
    }

    /// The threads but for these that have a deadline, with it.
    fn deadlines(&self, but: &[Ready]) -> impl Iterator<Item = (usize, u64)> {
        (0..self.thread_count)
            .filter(|index| self.has_deadline(*index))
            .filter(|index| !but.iter().any(|ready| ready.thread.index() == *index))
            .map(|index| (index, self.threads[index].deadline))
    }

    fn ready_by_time(&self, index: usize) -> Ready {
        let thread = &self.threads[index];
        Ready { thread: thread.id, pending: thread.pending, by_time: true, is_over: false }
    }

    /// The earliest deadline of a thread.
    pub fn earliest_deadline(&self) -> Option<u64> {
        self.deadlines(&[]).map(|(_, deadline)| deadline).min()
    }

    /// Adds those whose deadline comes first, of these, to who can go on.
    pub fn add_earliest(&mut self, of: impl Fn(&State, usize) -> bool) {
        let mut ready = std::mem::take(&mut self.ready);
        let deadlines = || self.deadlines(&ready).filter(|(index, _)| of(self, *index));
        if let Some(earliest) = deadlines().map(|(_, deadline)| deadline).min() {
            let first: Vec<usize> = deadlines()
                .filter(|(_, deadline)| *deadline == earliest)
                .map(|(index, _)| index)
                .collect();
            ready.extend(first.into_iter().map(|index| self.ready_by_time(index)));
        }
        self.ready = ready;
    }

    /// Whether time has to pass although somebody could go on.
    pub fn time_is_overdue(&self) -> bool {
        self.events - self.clock.passed_at >= OVERDUE
    }

    /// Where threads have worked for long, time passes although they could go on.
    pub fn let_work_take_time(&mut self) {
        if !self.time_is_overdue() {
            return;
        }
        let able = self.ready.len();
        self.add_earliest(|state, index| !state.is_watchdog(index));
        if self.ready.len() > able {
            self.ready.drain(..able);
            self.work_took_time = true;
        }
    }

    /// Finds those that could go on only if time passed before it has to.
    pub fn collect_early(&mut self) {
        let mut early = std::mem::take(&mut self.early);
        early.clear();
        let deadlines = self.deadlines(&self.ready).filter(|(index, _)| !self.is_watchdog(*index));
        early.extend(deadlines.map(|(index, _)| self.ready_by_time(index)));
        self.could_deviate |= !early.is_empty();
        self.early = early;
    }

    /// A thread was chosen: if it goes on by running out of time, that time has passed.
    pub fn pass_time_for(&mut self, index: usize) {
        if !self.threads[index].timed || !self.has_deadline(index) {
            return;
        }
        let thread = &mut self.threads[index];
        thread.timed_out = thread.need != Need::Time;
        self.clock.pass(thread.deadline, self.events);
    }

    /// A thread was chosen although its time had not come.
    pub fn note_early(&mut self, index: usize) {
        let Some(ready) = self.early.iter().find(|ready| ready.thread.index() == index) else {
            return;
        };
        let kind = match self.threads[index].need {
            Need::Time => Deviation::Stall,
            _ => Deviation::EarlyTimeout,
        };
        let deviated =
            Deviated { kind, thread: ready.thread, site: ready.pending.site, question: None };
        self.deviated.push(deviated);
        self.threads[index].came_early = true;
    }
}

impl Machine {
    /// The current thread sleeps.
    pub fn sleep(&mut self, nanoseconds: u64, site: SiteId) {
        let until = self.clock.now.saturating_add(nanoseconds.min(3600 * SECOND));
        if self.alive <= 1 || self.concolic.guide.is_on() {
            self.clock.now = until;
            if self.alive > 1 {
                self.yield_point(site);
            }
            return;
        }
        if until == self.clock.now {
            return self.yield_point(site);
        }
        if !self.prune_spins {
            self.current_thread().idle += YIELD_WEIGHT;
        }
        let thread = self.current_thread();
        thread.timed = true;
        thread.deadline = until;
        self.budget = 0;
        self.point(Op::Yield, 0, 0, site, Need::Time);
        self.record(site, unravel_trace::EventKind::Yield);
    }

    /// What time it is.
    pub fn read_clock(&mut self, site: SiteId) -> u64 {
        let place = self.place_of_look(site);
        let (now, alone) = (self.clock.now, self.alive <= 1);
        let thread = self.current_thread();
        let (changes, looks) = (thread.changes, &mut thread.looks);
        let waits = looks.place == place && looks.changes == changes;
        if !waits {
            *looks = Looks { last: looks.last, count: looks.count, first: now, ..Looks::default() };
        }
        looks.count += 1;
        let often = looks.count > CLOCK_LOOKS;
        let takes = (now.saturating_sub(looks.first) / PART).max(LONG_LOOK);
        if waits && !looks.stalled && !alone {
            self.current_thread().came_early = false;
            self.sleep(takes, site);
            // Looking is no sleep that a signal would end.
            self.was_interrupted();
            let thread = self.current_thread();
            thread.looks.stalled = thread.came_early;
        } else if waits || often {
            self.tick(takes);
        } else if looks.last == now {
            self.tick(LOOK);
        }
        let now = self.clock.now;
        let thread = self.current_thread();
        let changes = thread.changes;
        thread.looks = Looks { last: now, place, changes, ..thread.looks };
        self.compare_looks();
        now
    }

    /// Where a thread looks, its callers included.
    fn place_of_look(&self, site: SiteId) -> u64 {
        let mut hasher = FxHasher::default();
        site.0.hash(&mut hasher);
        for frame in &self.threads[self.current].frames {
            (frame.caller.pc as usize).hash(&mut hasher);
        }
        hasher.finish()
    }

    fn tick(&mut self, takes: u64) {
        self.clock.now += takes;
        self.clock.ticked |= self.alive > 1;
        // Somebody wakes by what is no event.
        if self.alive > 1 && self.earliest_deadline().is_some_and(|first| first <= self.clock.now) {
            self.note(Note::ClockOrder);
        }
    }

    /// Whether several threads can tell from the clock in which order they looked.
    fn compare_looks(&mut self) {
        if self.alive <= 1 {
            return;
        }
        let me = self.current;
        let clock = &mut self.clock;
        clock.several |= clock.looked.is_some_and(|other| other != me);
        clock.looked = Some(me);
        if clock.several && clock.ticked {
            self.note(Note::ClockOrder);
        }
    }

    /// Whether the environment deviates in what the current thread does.
    pub fn deviate(&mut self, kind: Deviation, site: SiteId) -> bool {
        if self.concolic.guide.is_on() {
            return false;
        }
        let me = self.current;
        let question = self.threads[me].questions;
        self.threads[me].questions += 1;
        let forced = self
            .forced
            .iter()
            .any(|forced| forced.question == question && forced.thread == self.names[me]);
        let scheduler = self.scheduler.expect("a run has a scheduler");
        // SAFETY: as in `ask`.
        let deviates = forced || unsafe { (*scheduler).deviate(kind) };
        if deviates {
            let thread = unravel_trace::ThreadId(me as u32);
            self.deviated.push(Deviated { kind, thread, site, question: Some(question) });
        } else {
            self.could_deviate = true;
        }
        deviates
    }
}
