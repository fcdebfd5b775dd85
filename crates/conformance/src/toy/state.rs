//! The state of a run of a toy program: who is where, who could go on, and what acts do to cells and sync objects.

use unravel_trace::*;

use super::sharing::Sharing;
use super::{Act, Toy};

const OBJECTS: usize = 8;
const CELLS: u64 = 0x1000;
const LOCKS: u64 = 0x2000;
const CONDITIONS: u64 = 0x3000;
const SEMAPHORES: u64 = 0x4000;

fn at(base: u64, number: usize) -> u64 {
    base + number as u64 * 64
}

#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    /// Its number in the run, once it was created.
    pub id: Option<u32>,
    pub next: usize,
    register: u32,
    pub started: bool,
    pub ended: bool,
    /// It waits on a condition, to take the lock again.
    pub waits: Option<(usize, usize)>,
    woken: bool,
    timed: bool,
}

pub(super) struct State<'a> {
    pub toy: &'a Toy,
    cells: [u32; OBJECTS],
    owner: [Option<usize>; OBJECTS],
    readers: [Vec<usize>; OBJECTS],
    waiting: [Vec<usize>; OBJECTS],
    semaphores: Vec<u32>,
    pub threads: Vec<Thread>,
    pub names: Vec<ThreadName>,
    /// Which thread has a number.
    pub by_id: Vec<usize>,
    pub sharing: Sharing,
    pub output: Vec<u8>,
    pub failed: bool,
}

impl<'a> State<'a> {
    pub fn new(toy: &'a Toy) -> State<'a> {
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
            sharing: Sharing::default(),
            output: Vec::new(),
            failed: false,
        }
    }

    pub fn act(&self, thread: usize) -> Option<&'a Act> {
        self.toy.threads[thread].get(self.threads[thread].next)
    }

    pub fn alive(&self) -> usize {
        self.threads.iter().filter(|thread| thread.id.is_some() && !thread.ended).count()
    }

    /// `main` has come to its end alone: that is no event.
    pub fn is_over(&self) -> bool {
        let main = &self.threads[0];
        main.started && self.act(0).is_none() && main.waits.is_none() && self.alive() == 1
    }

    pub fn pending(&self, thread: usize) -> Pending {
        let me = &self.threads[thread];
        let site = match me.started {
            true => self.toy.site(thread, me.next),
            false => self.toy.start(thread),
        };
        let event = |op, address, bytes, operand| Pending {
            op,
            address,
            bytes,
            site,
            caller: None,
            operand,
            atomic: false,
        };
        let plain = |op, address, bytes| event(op, address, bytes, Operand::None);
        let own = Operand::Thread(ThreadId(me.id.expect("it was created")));
        if !me.started {
            return event(Op::Start, 0, 0, own);
        }
        let with = |lock| Operand::Mutex(at(LOCKS, lock));
        if let Some((condition, lock)) = me.waits {
            return event(Op::Acquire, at(CONDITIONS, condition), 48, with(lock));
        }
        let Some(act) = self.act(thread) else {
            return match thread {
                0 => plain(Op::End, 0, 0),
                _ => event(Op::Exit, 0, 0, own),
            };
        };
        if let (Some((op, atomic)), Some(cell)) = (act.access(), act.cell()) {
            return Pending { atomic, ..plain(op, at(CELLS, cell), 4) };
        }
        match act {
            Act::Atomic(_) => plain(Op::Fence, 0, 0),
            Act::Lock(lock) => event(Op::Acquire, at(LOCKS, *lock), 40, Operand::Alone),
            Act::TryLock(lock, _) => plain(Op::Acquire, at(LOCKS, *lock), 40),
            Act::LockShared(lock) => plain(Op::AcquireShared, at(LOCKS, *lock), 40),
            Act::Unlock(lock) => plain(Op::Release, at(LOCKS, *lock), 40),
            Act::Wait(condition, lock) | Act::TimedWait(condition, lock) => {
                event(Op::Wait, at(CONDITIONS, *condition), 48, with(*lock))
            }
            Act::Signal(condition) | Act::Broadcast(condition) => {
                plain(Op::Signal, at(CONDITIONS, *condition), 48)
            }
            Act::Post(semaphore) => plain(Op::Release, at(SEMAPHORES, *semaphore), 32),
            Act::Down(semaphore) => plain(Op::Acquire, at(SEMAPHORES, *semaphore), 32),
            // Before it is executed, nobody knows whom a fork creates.
            Act::Fork(_) => plain(Op::Fork, 0, 0),
            Act::Join(other) => {
                let other = ThreadId(self.threads[*other].id.unwrap_or(u32::MAX));
                event(Op::Join, 0, 0, Operand::End(other))
            }
            Act::Print(_) => plain(Op::External, 0, 0),
            other => unreachable!("{other:?} is no event"),
        }
    }

    /// What an act inside of an atomic section is, which the act around it is at.
    pub fn inside(&self, act: &Act, section: &Pending) -> Pending {
        let (op, atomic) = act.access().expect("only cells in atomic sections");
        let address = at(CELLS, act.cell().expect("it is an access"));
        Pending { op, address, bytes: 4, atomic, ..*section }
    }

    pub fn can_go_on(&self, thread: usize) -> bool {
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

    /// Who can go on; if nobody can, who waits only for a while.
    pub fn ready(&self) -> Vec<Ready> {
        let offered = |can: &dyn Fn(usize) -> bool| {
            let able = self.by_id.iter().enumerate().filter(|(_, thread)| can(**thread));
            able.map(|(id, thread)| Ready {
                thread: ThreadId(id as u32),
                pending: self.pending(*thread),
                by_time: !self.can_go_on(*thread),
                is_over: false,
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

    /// Executes a thread's next act. `choose` says which of several waiters a signal wakes.
    pub fn execute(&mut self, thread: usize, choose: &mut dyn FnMut(u32) -> u32) {
        let act = self.act(thread);
        let me = &mut self.threads[thread];
        if !me.started {
            me.started = true;
            return;
        }
        if let Some((condition, lock)) = me.waits.take() {
            self.owner[lock] = Some(thread);
            self.waiting[condition].retain(|t| *t != thread);
            (me.woken, me.timed) = (false, false);
            me.next += 1;
            return;
        }
        let Some(act) = act else {
            me.ended = true;
            return;
        };
        if !matches!(act, Act::Wait(..) | Act::TimedWait(..)) {
            me.next += 1;
        }
        match act {
            Act::FailIf(value) => self.failed |= me.register == *value,
            Act::SkipIf(value, acts) => {
                if me.register == *value {
                    me.next += acts;
                }
            }
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
                let answer = match waiting.len() {
                    0 => return,
                    1 => 0,
                    options => choose(options as u32),
                };
                let woken = waiting.remove(answer as usize);
                self.threads[woken].woken = true;
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
                self.names.push(ThreadName::main().child(*other as u32));
            }
            Act::Print(text) => self.output.extend_from_slice(text.as_bytes()),
            _ => self.touch(thread, act),
        }
    }

    /// What an act does to a cell.
    pub fn touch(&mut self, thread: usize, act: &Act) {
        let me = &mut self.threads[thread];
        match act {
            Act::Read(cell) | Act::Load(cell) => me.register = self.cells[*cell],
            Act::Write(cell, value) | Act::Store(cell, value) => self.cells[*cell] = *value,
            Act::Put(cell, more) => self.cells[*cell] = me.register + more,
            Act::Update(cell) => self.cells[*cell] += 1,
            Act::Unless(cell, value, skip) if self.cells[*cell] != *value => me.next += skip,
            Act::Expect(cell, value) => self.failed |= self.cells[*cell] != *value,
            _ => {}
        }
    }

    /// What the threads that cannot go on wait for.
    pub fn blocked(&self) -> Vec<Related> {
        let alive = self.by_id.iter().filter(|thread| !self.threads[**thread].ended);
        alive
            .map(|thread| Related {
                message: format!("{} waits", self.name(*thread)),
                stack: vec![self.toy.place(self.pending(*thread).site)],
            })
            .collect()
    }

    pub fn name(&self, thread: usize) -> &ThreadName {
        &self.names[self.threads[thread].id.expect("it was created") as usize]
    }
}
