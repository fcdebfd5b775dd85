//! An executor of toy programs: threads that are lists of acts over cells, locks, semaphores and condition variables.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod watch;

use unravel_trace::*;

/// What a thread does, an event each. Numbers are those of cells, locks, conditions, semaphores or threads.
#[derive(Clone, Debug)]
pub enum Act {
    Read(usize),
    Write(usize, u32),
    /// Adds one.
    Update(usize),
    /// Reads; goes on `.2` acts further if the value is not `.1`.
    Unless(usize, u32, usize),
    /// Reads; fails if the value is not this.
    Expect(usize, u32),
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
}

/// A program: its threads, the first being `main`, and what its semaphores begin with.
#[derive(Clone, Debug, Default)]
pub struct Toy {
    pub threads: Vec<Vec<Act>>,
    pub semaphores: Vec<u32>,
}

const OBJECTS: usize = 8;
const CELLS: u64 = 0x1000;
const LOCKS: u64 = 0x2000;
const CONDITIONS: u64 = 0x3000;
const SEMAPHORES: u64 = 0x4000;

fn at(base: u64, number: usize) -> u64 {
    base + number as u64 * 64
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// Its number in the run, once it was created.
    id: Option<u32>,
    next: usize,
    started: bool,
    ended: bool,
    /// It waits on a condition, to take the lock again.
    waits: Option<(usize, usize)>,
    woken: bool,
    timed: bool,
}

struct State<'a> {
    toy: &'a Toy,
    cells: [u32; OBJECTS],
    owner: [Option<usize>; OBJECTS],
    readers: [Vec<usize>; OBJECTS],
    waiting: [Vec<usize>; OBJECTS],
    semaphores: Vec<u32>,
    threads: Vec<Thread>,
    names: Vec<ThreadName>,
    /// Which thread has a number.
    by_id: Vec<usize>,
    failed: bool,
}

impl Executor for Toy {
    fn run(
        &mut self,
        _input: &Input,
        _visible: &VisibleSet,
        scheduler: &mut dyn Scheduler,
        _want: Want,
    ) -> Run {
        let mut state = State::new(self);
        let mut events = 0;
        let mut segments: Vec<Segment> = Vec::new();
        let mut choices = Vec::new();
        let mut current = ThreadId::MAIN;
        let mut why = Why::Start;
        let mut budget = 0;
        let outcome = loop {
            let me = state.by_id[current.index()];
            if state.failed {
                break failure(FailureKind::Assertion, &state.names[current.index()]);
            }
            if state.is_over() {
                break Outcome::Exited { code: 0 };
            }
            if events > 0 {
                why = match () {
                    () if state.threads[me].ended => Why::Ended,
                    () if !state.can_go_on(me) => Why::Blocked,
                    () => Why::UsedUp,
                };
            }
            if budget == 0 || why != Why::UsedUp {
                let enabled = state.candidates();
                if enabled.is_empty() {
                    break failure(FailureKind::Deadlock, &state.names[current.index()]);
                }
                let view = View { enabled: &enabled, names: &state.names, current, why, events };
                let choice = scheduler.next(&view);
                assert!(view.is_enabled(choice.thread), "a thread that is not enabled");
                if choice.events == 0 {
                    assert!(events > 0, "stopped at the very first decision");
                    break Outcome::Discarded;
                }
                current = choice.thread;
                budget = choice.events;
            }
            budget -= 1;
            events += 1;
            let thread = current.0;
            match segments.last_mut() {
                Some(last) if last.thread == thread => last.events += 1,
                _ => segments.push(Segment { thread, events: 1 }),
            }
            let me = state.by_id[current.index()];
            if let Some(ends) = state.step(me, events, scheduler, &mut choices) {
                break ends;
            }
        };
        scheduler.finish(events);
        let threads = state.names;
        let schedule = Schedule { threads, segments, choices, visible: VisibleSet::default() };
        Run {
            trace: Trace::default(),
            schedule,
            outcome,
            steps: events,
            learned: VisibleSet::default(),
            nondet: Vec::new(),
            notes: Vec::new(),
            symbolic: None,
        }
    }

    fn all_sites(&self) -> VisibleSet {
        VisibleSet::default()
    }
}

fn failure(kind: FailureKind, thread: &ThreadName) -> Outcome {
    let (stack, related) = (Vec::new(), Vec::new());
    let message = String::new();
    Outcome::Failed(Box::new(Failure { kind, message, thread: thread.clone(), stack, related }))
}

impl<'a> State<'a> {
    fn new(toy: &'a Toy) -> State<'a> {
        let mut threads = vec![Thread::default(); toy.threads.len()];
        threads[0].id = Some(0);
        State {
            toy,
            cells: [0; OBJECTS],
            owner: [None; OBJECTS],
            readers: Default::default(),
            waiting: Default::default(),
            semaphores: toy.semaphores.clone(),
            threads,
            names: vec![ThreadName::main()],
            by_id: vec![0],
            failed: false,
        }
    }

    fn act(&self, thread: usize) -> Option<&'a Act> {
        self.toy.threads[thread].get(self.threads[thread].next)
    }

    /// Whether another thread is alive.
    fn has_company(&self, thread: usize) -> bool {
        (0..self.threads.len())
            .any(|t| t != thread && self.threads[t].id.is_some() && !self.threads[t].ended)
    }

    /// `main` has come to its end alone.
    fn is_over(&self) -> bool {
        let main = &self.threads[0];
        main.started && self.act(0).is_none() && main.waits.is_none() && !self.has_company(0)
    }

    fn pending(&self, thread: usize) -> Pending {
        let me = &self.threads[thread];
        let site = SiteId((thread * 100 + me.next) as u32);
        let event =
            |op, address, bytes, other| Pending { op, address, bytes, site, other, atomic: false };
        let id = u64::from(me.id.expect("it was created"));
        if !me.started {
            return event(Op::Start, 0, 0, id);
        }
        if let Some((condition, lock)) = me.waits {
            return event(Op::Acquire, at(CONDITIONS, condition), 48, at(LOCKS, lock));
        }
        match self.act(thread) {
            None if thread == 0 => event(Op::End, 0, 0, 0),
            None => event(Op::Exit, 0, 0, id),
            Some(Act::Read(cell) | Act::Unless(cell, ..) | Act::Expect(cell, _)) => {
                event(Op::Read, at(CELLS, *cell), 4, 0)
            }
            Some(Act::Write(cell, _)) => event(Op::Write, at(CELLS, *cell), 4, 0),
            Some(Act::Update(cell)) => event(Op::Update, at(CELLS, *cell), 4, 0),
            Some(Act::Atomic(_)) => event(Op::Fence, 0, 0, 0),
            Some(Act::Lock(lock) | Act::TryLock(lock, _)) => {
                event(Op::Acquire, at(LOCKS, *lock), 40, 0)
            }
            Some(Act::LockShared(lock)) => event(Op::AcquireShared, at(LOCKS, *lock), 40, 0),
            Some(Act::Unlock(lock)) => event(Op::Release, at(LOCKS, *lock), 40, 0),
            Some(Act::Wait(condition, lock) | Act::TimedWait(condition, lock)) => {
                event(Op::Wait, at(CONDITIONS, *condition), 48, at(LOCKS, *lock))
            }
            Some(Act::Signal(condition) | Act::Broadcast(condition)) => {
                event(Op::Signal, at(CONDITIONS, *condition), 48, 0)
            }
            Some(Act::Post(semaphore)) => event(Op::Release, at(SEMAPHORES, *semaphore), 32, 0),
            Some(Act::Down(semaphore)) => event(Op::Acquire, at(SEMAPHORES, *semaphore), 32, 0),
            Some(Act::Fork(_)) => event(Op::Fork, 0, 0, self.by_id.len() as u64),
            Some(Act::Join(other)) => {
                event(Op::Join, 0, 0, u64::from(self.threads[*other].id.unwrap_or(u32::MAX)))
            }
        }
    }

    fn can_go_on(&self, thread: usize) -> bool {
        let me = &self.threads[thread];
        if me.id.is_none() || me.ended {
            return false;
        }
        if !me.started {
            return true;
        }
        if let Some((_, lock)) = me.waits {
            return me.woken && self.owner[lock].is_none();
        }
        match self.act(thread) {
            Some(Act::Lock(lock)) => self.owner[*lock].is_none() && self.readers[*lock].is_empty(),
            Some(Act::LockShared(lock)) => self.owner[*lock].is_none(),
            Some(Act::Down(semaphore)) => self.semaphores[*semaphore] > 0,
            Some(Act::Join(other)) => self.threads[*other].ended,
            _ => true,
        }
    }

    fn candidates(&self) -> Vec<Candidate> {
        let offered = |can: &dyn Fn(usize) -> bool| {
            let able = self.by_id.iter().enumerate().filter(|(_, thread)| can(**thread));
            able.map(|(id, thread)| Candidate {
                thread: ThreadId(id as u32),
                pending: self.pending(*thread),
            })
            .collect::<Vec<_>>()
        };
        let enabled = offered(&|thread| self.can_go_on(thread));
        if !enabled.is_empty() {
            return enabled;
        }
        offered(&|thread| {
            let me = &self.threads[thread];
            me.timed && me.waits.is_some_and(|(_, lock)| self.owner[lock].is_none())
        })
    }

    /// Executes a thread's next event; says how the run ends if it does.
    fn step(
        &mut self,
        thread: usize,
        number: u64,
        scheduler: &mut dyn Scheduler,
        choices: &mut Vec<u32>,
    ) -> Option<Outcome> {
        let id = ThreadId(self.threads[thread].id.expect("it was chosen"));
        let what = self.pending(thread);
        scheduler.observe(&Executed { number, thread: id, what, names: &self.names });
        let act = self.act(thread);
        let me = &mut self.threads[thread];
        if !me.started {
            me.started = true;
            return None;
        }
        if let Some((condition, lock)) = me.waits.take() {
            self.owner[lock] = Some(thread);
            self.waiting[condition].retain(|t| *t != thread);
            (me.woken, me.timed) = (false, false);
            me.next += 1;
            return None;
        }
        let Some(act) = act else {
            if thread == 0 {
                return Some(Outcome::Exited { code: 0 });
            }
            me.ended = true;
            return None;
        };
        if !matches!(act, Act::Wait(..) | Act::TimedWait(..)) {
            me.next += 1;
        }
        match act {
            Act::Lock(lock) => self.owner[*lock] = Some(thread),
            Act::LockShared(lock) => self.readers[*lock].push(thread),
            Act::TryLock(lock, skip) => {
                if self.owner[*lock].is_none() && self.readers[*lock].is_empty() {
                    self.owner[*lock] = Some(thread);
                } else {
                    me.next += skip;
                }
            }
            Act::Unlock(lock) => {
                if self.owner[*lock] == Some(thread) {
                    self.owner[*lock] = None;
                } else {
                    self.readers[*lock].retain(|t| *t != thread);
                }
            }
            Act::Wait(condition, lock) | Act::TimedWait(condition, lock) => {
                self.failed |= self.owner[*lock] != Some(thread);
                self.owner[*lock] = None;
                self.waiting[*condition].push(thread);
                me.timed = matches!(act, Act::TimedWait(..));
                me.waits = Some((*condition, *lock));
            }
            Act::Signal(condition) => {
                let waiting = &mut self.waiting[*condition];
                if !waiting.is_empty() {
                    let options = waiting.len() as u32;
                    let mut answer = 0;
                    if options > 1 {
                        answer = scheduler.choose(Question::Waiter, options);
                        choices.push(answer);
                    }
                    let woken = waiting.remove(answer as usize);
                    self.threads[woken].woken = true;
                }
            }
            Act::Broadcast(condition) => {
                for woken in std::mem::take(&mut self.waiting[*condition]) {
                    self.threads[woken].woken = true;
                }
            }
            Act::Post(semaphore) => self.semaphores[*semaphore] += 1,
            Act::Down(semaphore) => self.semaphores[*semaphore] -= 1,
            Act::Fork(other) => {
                self.threads[*other].id = Some(self.by_id.len() as u32);
                self.by_id.push(*other);
                self.names.push(ThreadName(vec![*other as u32]));
            }
            Act::Join(_) => {}
            Act::Atomic(acts) => {
                for act in acts {
                    let (op, cell) = match act {
                        Act::Read(cell) => (Op::Read, cell),
                        Act::Write(cell, _) => (Op::Write, cell),
                        Act::Update(cell) => (Op::Update, cell),
                        _ => panic!("only cells in atomic sections"),
                    };
                    let what = Pending { op, address: at(CELLS, *cell), bytes: 4, ..what };
                    scheduler.observe(&Executed { number, thread: id, what, names: &self.names });
                    self.touch(thread, act);
                }
            }
            _ => self.touch(thread, act),
        }
        None
    }

    /// What an act does to a cell.
    fn touch(&mut self, thread: usize, act: &Act) {
        match act {
            Act::Write(cell, value) => self.cells[*cell] = *value,
            Act::Update(cell) => self.cells[*cell] += 1,
            Act::Unless(cell, value, skip) if self.cells[*cell] != *value => {
                self.threads[thread].next += skip;
            }
            Act::Expect(cell, value) => self.failed |= self.cells[*cell] != *value,
            _ => {}
        }
    }
}
