//! Data races: two accesses to the same bytes by different threads, one of them a write, not both atomic, and
//! nothing orders them.
//!
//! A happens-before detector with vector clocks and epochs, after FastTrack (Flanagan & Freund, PLDI 2009), over the events of
//! a run. What orders: creating and joining a thread; locks of every kind (readers of a rwlock do not order each other);
//! condition variables; semaphores; barriers; one-time initialisation; futexes; cancellation; atomic operations; atomic sections.
//! `volatile` orders nothing, nor do library calls such as `printf`, which do not race either. Freeing counts as
//! writing; what is accessed after it was freed is another failure.
//!
//! Atomic operations: a load takes what stores and updates of that location left, whatever memory order they ask for. Runs
//! are sequentially consistent, so that is what C11 says of `memory_order_seq_cst`; a publication by `memory_order_relaxed`
//! is taken for one that works, and the race behind it is missed. That a load or store came *before* a store orders nothing,
//! as in C11.
//!
//! Atomic sections (`__VERIFIER_atomic_begin`): like one lock for all of them. What happens inside counts as atomic: it may
//! meet atomic operations, but races with plain accesses outside.
//!
//! Deviates: where events do not tell enough, an order is assumed (`sync.rs`). What the last thread alive does alone are no
//! events, so it is taken to have looked at every atomic location. So races are missed rather than made up. What
//! is seen are visible events: a location that the search has not yet found shared shows its races in later runs.

mod clock;
mod conflicts;
mod executor;
mod shadow;
mod sync;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashSet;
use unravel_trace::{Alarm, Executed, Observer, Observes, Op, Operand, Pending, ThreadId};

pub use conflicts::Collector;
pub use executor::RaceChecked;

use clock::Clock;
use shadow::{Accessor, Shadow};
use sync::Objects;

/// What an event races with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The earlier event's number, its thread and what it did.
    pub earlier: u64,
    pub thread: ThreadId,
    pub what: Pending,
}

impl From<Race> for Alarm {
    fn from(Race { earlier, thread, what }: Race) -> Alarm {
        Alarm::Race { earlier, thread, what }
    }
}

/// Watches the events of a run for races.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    /// By [`ThreadId`].
    threads: Vec<Thread>,
    alive: usize,
    memory: Shadow,
    objects: Objects,
    section: Section,
    /// Where the stacks of threads began, for those whose place is taken by a later thread.
    stacks: FxHashSet<u64>,
}

#[derive(Clone, Debug)]
struct Thread {
    clock: Clock,
    ended: bool,
    /// What those knew who cancelled it, until its next event.
    cancelled: Option<Clock>,
}

/// Atomic sections: what happens inside carries the number of the event that began it.
#[derive(Clone, Debug, Default)]
struct Section {
    /// What sections hand on to each other.
    clock: Clock,
    /// The last event of the run.
    last: Option<(ThreadId, u64)>,
    /// Who is inside.
    inside: Option<ThreadId>,
}

/// The first race ends the run.
impl Observer for Detector {
    fn observes(&self) -> Observes {
        Observes::EventsAndStacks
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        self.first_race(executed).map(Alarm::from)
    }
}

impl Detector {
    pub fn new() -> Detector {
        Detector::default()
    }

    /// Makes it the detector of a new run, keeping its memory.
    pub fn clear(&mut self) {
        self.threads.clear();
        self.alive = 0;
        self.memory.clear();
        self.objects.clear();
        self.section = Section::default();
        self.stacks.clear();
    }

    /// Takes the next event; returns the first race it is part of.
    pub fn first_race(&mut self, executed: &Executed<'_>) -> Option<Race> {
        let mut first = None;
        self.each_race(executed, |race| {
            first.get_or_insert(race);
        });
        first
    }

    /// Takes the next event; tells all races it is part of.
    pub fn each_race(&mut self, executed: &Executed<'_>, mut found: impl FnMut(Race)) {
        let Executed { number, thread, ref what, .. } = *executed;
        self.know(thread);
        let inside = self.enter_section(thread, number);
        let me = thread.index();
        if let Some(clock) = self.threads[me].cancelled.take() {
            self.threads[me].clock.join(&clock);
        }
        let by = Accessor { number, thread, clock: &self.threads[me].clock };
        match what.op {
            Op::Free => {
                self.memory.free(by, what, &mut found);
                self.objects.forget(what.address, u64::from(what.bytes));
            }
            // Without an address it is the thread's own.
            Op::Read | Op::Write | Op::Update if what.address == 0 => {}
            Op::Read | Op::Write | Op::Update => {
                self.memory.access(by, what, what.atomic || inside, &mut found);
                if what.atomic {
                    self.operate_atomically(thread, what);
                }
            }
            _ => self.synchronise(thread, what),
        }
    }

    fn know(&mut self, thread: ThreadId) {
        while self.threads.len() <= thread.index() {
            let mut clock = Clock::default();
            clock.tick(ThreadId(self.threads.len() as u32));
            self.threads.push(Thread { clock, ended: false, cancelled: None });
            self.alive += 1;
        }
    }

    /// Whether this event happens in an atomic section. It is over when an event with another number comes.
    fn enter_section(&mut self, thread: ThreadId, number: u64) -> bool {
        let section = &mut self.section;
        let inside = section.last == Some((thread, number));
        section.last = Some((thread, number));
        match (section.inside, inside) {
            (None, true) => {
                section.inside = Some(thread);
                self.threads[thread.index()].clock.join(&section.clock);
            }
            (Some(before), false) => {
                section.inside = None;
                let clock = &mut self.threads[before.index()].clock;
                section.clock.join(clock);
                clock.tick(before);
            }
            _ => {}
        }
        inside
    }

    fn operate_atomically(&mut self, thread: ThreadId, what: &Pending) {
        let clock = &mut self.threads[thread.index()].clock;
        let bytes = u64::from(what.bytes.max(1));
        if what.op != Op::Write {
            self.objects.take(what.address, bytes, clock);
        }
        if what.op != Op::Read {
            self.objects.give_atomically(what.address, bytes, clock);
            clock.tick(thread);
        }
    }

    fn synchronise(&mut self, thread: ThreadId, what: &Pending) {
        let other = what.thread().unwrap_or(ThreadId::MAIN);
        if matches!(what.op, Op::Fork | Op::Join | Op::Cancel) {
            self.know(other);
        }
        let (objects, me) = (&mut self.objects, thread.index());
        let clock = &mut self.threads[me].clock;
        match (what.op, what.operand) {
            (Op::Acquire, Operand::Mutex(mutex)) => {
                objects.wake(what.address, thread, clock);
                objects.acquire(mutex, thread, clock);
            }
            (Op::Acquire, _) => objects.acquire(what.address, thread, clock),
            (Op::AcquireShared, _) => objects.acquire_shared(what.address, thread, clock),
            (Op::Release, operand) => {
                objects.release(what.address, thread, clock);
                if let Operand::Parties(count) = operand {
                    objects.set_up_barrier(what.address, u64::from(count));
                }
                clock.tick(thread);
            }
            (Op::Wait, Operand::Mutex(mutex)) => {
                objects.wait(what.address, thread);
                objects.release(mutex, thread, clock);
                clock.tick(thread);
            }
            (Op::Wait, _) => {
                objects.arrive(what.address, thread, clock);
                clock.tick(thread);
            }
            (Op::Signal, _) => {
                objects.signal(what.address, clock);
                clock.tick(thread);
            }
            (Op::Fork, _) => {
                let known = clock.clone();
                clock.tick(thread);
                self.threads[other.index()].clock.join(&known);
            }
            (Op::Cancel, _) => {
                let known = clock.clone();
                clock.tick(thread);
                let cancelled = &mut self.threads[other.index()].cancelled;
                cancelled.get_or_insert_default().join(&known);
            }
            // Without the other's end, the time was up or the waiting thread was cancelled.
            (Op::Join, _) if self.threads[other.index()].ended => {
                let known = self.threads[other.index()].clock.clone();
                self.threads[me].clock.join(&known);
            }
            (Op::Start, _) => self.start(what),
            (Op::Exit, _) => self.exit(thread),
            _ => {}
        }
    }

    /// The stack of a thread may be that of an ended one, whose variables are gone.
    fn start(&mut self, what: &Pending) {
        if what.bytes > 0 && !self.stacks.insert(what.address) {
            self.memory.forget(what.address, u64::from(what.bytes));
            self.objects.forget(what.address, u64::from(what.bytes));
        }
    }

    fn exit(&mut self, thread: ThreadId) {
        self.threads[thread.index()].ended = true;
        self.alive -= 1;
        if self.alive == 1
            && let Some(last) = self.threads.iter_mut().find(|thread| !thread.ended)
        {
            last.clock.join(self.objects.atomics());
            last.clock.join(&self.section.clock);
        }
    }
}
