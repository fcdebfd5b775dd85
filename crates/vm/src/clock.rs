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
//! to what it has waited; if one is over early, the others are late until the waiting ends. All who wait so look together, just before
//! each deadline of somebody else and at it, so that whose waiting ends first is known: whether a loop ends before a sleep, after it, or at
//! the same moment, and then in any order. When exactly it ended is not known otherwise, only between which looks: the clock may be
//! fast by that from then on (its *slack*). A loop that sleeps of its own looks when it does, at first.
//!
//! Who changes something works until
//! the clock says so: after many looks, each takes time. What the looks of several threads tell them about their order is no event, nor
//! when that time passed; a run in which it may matter, or in which deadlines are closer to each other than the clock is exact, has a
//! note ([`Note::ClockOrder`]).
//!
//! All clocks are one, and deadlines in the past are over at once.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use unravel_trace::{Deviated, Deviation, Note, Op, Ready, SiteId};

use crate::budgets::{CLOCK_LOOKS, OVERDUE, ROUNDS_BY_TIME, YIELD_WEIGHT};
use crate::machine::{Machine, State};
use crate::thread::{Need, Thread};

pub(crate) const SECOND: u64 = 1_000_000_000;
/// The virtual clock starts here: 2020-01-01.
pub(crate) const EPOCH: u64 = 1_577_836_800 * SECOND;
/// What a second look at the clock takes for who is alone: with others it would be an order of what is no event.
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
    /// By how much it may be fast, or when somebody began to sleep depends on what is no event; and how much of this is the latter.
    slack: u64,
    worked: u64,
    /// Some thread has slept until its next look.
    pub awaited: bool,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock {
            now: EPOCH,
            passed_at: 0,
            looked: None,
            several: false,
            ticked: false,
            slack: 0,
            worked: 0,
            awaited: false,
        }
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
    /// It sleeps until its next look, at this moment at the latest.
    until: Option<u64>,
    /// How long before its last look, at the end of a sleep, it knew that it had to wait on: what it waited for was
    /// somewhere in between, unless it comes back to look again.
    gap: u64,
}

impl Clock {
    pub fn pass(&mut self, to: u64, events: u64) {
        if to > self.now {
            let Clock { slack, worked, awaited, .. } = *self;
            *self =
                Clock { now: to, passed_at: events, slack, worked, awaited, ..Clock::default() };
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

    /// Sets when those look next who wait by looking: together, and just before somebody's deadline comes and then at it. Of those who
    /// sleep again and again, when the sleep is over that is not over before anything else happens.
    pub fn align_looks(&mut self) {
        let now = self.clock.now;
        let (mut look, mut deadline) = (u64::MAX, u64::MAX);
        for (index, time) in self.deadlines(&[]).filter(|(_, time)| *time > now) {
            let Thread { looks, period, .. } = &self.threads[index];
            match (looks.until, period) {
                (Some(until), _) => look = look.min(until),
                (None, Some(_)) => {}
                (None, None) => deadline = deadline.min(time),
            }
        }
        let next = match deadline <= look {
            true if deadline - 1 > now => deadline - 1,
            true => deadline,
            false => look,
        };
        for index in 0..self.thread_count {
            let thread = &mut self.threads[index];
            if !thread.timed || thread.deadline <= now {
                continue;
            }
            if thread.looks.until.is_some() {
                thread.deadline = next;
            } else if let Some((first, period)) = thread.period {
                let other = deadline.min(look);
                let from = if other == u64::MAX { now + 1 } else { other };
                thread.deadline = first + from.saturating_sub(first).div_ceil(period) * period;
            }
        }
    }

    /// Time is about to pass to the deadline of a thread: whether it would be another's turn if the clock were exact.
    fn doubt_order(&mut self, index: usize) {
        for other in 0..self.thread_count {
            let thread = &mut self.threads[other];
            // Whoever still looks has not come to an end.
            if thread.looks.until.is_none() {
                self.clock.slack += std::mem::take(&mut thread.looks.gap);
            }
        }
        let Clock { now, slack, worked, .. } = self.clock;
        if slack == 0 {
            return;
        }
        let first = self.threads[index].deadline;
        let is_close = |(other, time): (usize, u64)| {
            other != index && time != first && time.abs_diff(first) < slack
        };
        if first - now < worked || self.deadlines(&[]).any(is_close) {
            self.clock_decides = true;
        }
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
            self.clock_decides = true;
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
        if self.threads[index].deadline > self.clock.now {
            self.doubt_order(index);
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
            let thread = self.current_thread();
            // Who looks at the clock goes on once that says so, and it will.
            match thread.looks.until.is_some() && thread.looks.count <= ROUNDS_BY_TIME {
                true => thread.idle = 0,
                false => thread.idle += YIELD_WEIGHT,
            }
        }
        let thread = self.current_thread();
        thread.timed = true;
        thread.deadline = until;
        self.budget = 0;
        self.point(Op::Yield, 0, 0, site, Need::Time);
        self.current_thread().period = None;
        self.record(site, unravel_trace::EventKind::Yield);
    }

    /// What time it is.
    pub fn read_clock(&mut self, site: SiteId) -> u64 {
        let place = self.place_of_look(site);
        let (now, alone) = (self.clock.now, self.alive <= 1);
        let thread = self.current_thread();
        let (changes, looks) = (thread.changes, &mut thread.looks);
        let waits = looks.place == place && looks.changes == changes;
        match waits {
            true => looks.gap = 0,
            false => {
                let Looks { last, count, gap, .. } = *looks;
                *looks = Looks { last, count, gap, first: now, ..Looks::default() };
            }
        }
        looks.count += 1;
        let often = looks.count > CLOCK_LOOKS;
        let takes = (now.saturating_sub(looks.first) / PART).max(LONG_LOOK);
        // What sleeps of its own need not wait for its look, unless it takes very many.
        let passed = if looks.last < now && often { takes.min(now - looks.last) } else { 0 };
        let has_slept = looks.last < now && (!often || passed == takes);
        if waits && !looks.stalled && !alone {
            if !has_slept {
                // What it would have slept of its own is not what it sleeps now.
                self.clock.slack += passed;
                self.sleep_until_look(takes - passed, site);
            }
        } else if waits || often && looks.last == now {
            self.tick(takes);
        } else if alone && looks.last == now {
            self.tick(LOOK);
        }
        let now = self.clock.now;
        let thread = self.current_thread();
        let changes = thread.changes;
        thread.looks = Looks { last: now, place, changes, ..thread.looks };
        self.compare_looks();
        now
    }

    /// Who waits by looking at the clock sleeps until its next look, at most this long.
    fn sleep_until_look(&mut self, takes: u64, site: SiteId) {
        let until = self.clock.now.saturating_add(takes);
        let thread = self.current_thread();
        let before = thread.looks.last;
        thread.came_early = false;
        thread.looks.until = Some(until);
        self.clock.awaited = true;
        self.sleep(takes, site);
        // Looking is no sleep that a signal would end.
        self.was_interrupted();
        let now = self.clock.now;
        let thread = self.current_thread();
        thread.looks.until = None;
        thread.looks.stalled = thread.came_early;
        // One that comes right after the one before has told the moment.
        thread.looks.gap = if now - before > 1 { now - before } else { 0 };
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
        if self.alive > 1 {
            self.clock.ticked = true;
            self.clock.slack += takes + 1;
            self.clock.worked += takes + 1;
        }
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
