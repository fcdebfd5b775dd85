//! Threads that wait for each other: producers and consumers, with one atomicity violation.
//!
//! The interleaving is executed by a small machine of its own, which never stops while somebody can go on.

use super::acts::children;
use super::*;

// Memory that is 0 before the run.
const COUNT: u64 = 0x3000;
const HEAD: u64 = COUNT + 12;
const TAIL: u64 = COUNT + 24;
const SERVED: u64 = COUNT + 36;
const BALANCE: u64 = COUNT + 48;
const SLOTS: u64 = 0x4000;
const NOT_FULL: u64 = 0x5000;
const NOT_EMPTY: u64 = 0x5100;
const SEMAPHORE: u64 = 0x6000;
const BARRIER: u64 = 0x7000;
/// The mutex of the buffer, and that of the balance.
const BUFFER_LOCK: u32 = 0;
const BALANCE_LOCK: u32 = 1;
const CAPACITY: u32 = 3;
/// What each thread passes through the buffer between two meetings.
const ITEMS: u32 = 2;

/// About `events` events of `threads` threads besides the main one, an even number. Half of them produce, half
/// consume, through a bounded buffer with a mutex and two condition variables; consumers count under a semaphore, and
/// now and then all meet at a barrier. In the first round two of them update a balance without holding its lock
/// from the read to the write, and the main thread finds an update lost.
pub fn waiting(events: usize, threads: usize, seed: u64) -> Generated {
    let pairs = threads.div_ceil(2).max(1);
    let round = pairs * (ITEMS as usize * (8 + 12) + 4);
    let rounds = (events / round).max(1) as u32;
    let mut machine = Machine::new(2 * pairs, rounds, seed);
    machine.run();
    machine.recording.join_all(2 * pairs);
    machine.recording.fails_unless(BALANCE, 2)
}

/// The next thing that a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    Arrive,
    Leave,
    ReadBalance,
    WriteBalance,
    Lock,
    /// Looks whether there is room, or something.
    Look,
    Wake,
    /// Puts an item in or takes one out, and wakes somebody.
    Pass,
    Unlock,
    EnterSemaphore,
    Serve,
    Done,
}

struct Worker {
    at: At,
    rounds: u32,
    /// Items until the next meeting.
    items: u32,
    /// What it read of the balance.
    balance: Option<ExprId>,
    count: Option<ExprId>,
    /// What it is carrying.
    item: Option<ExprId>,
    woken_by: Option<ThreadId>,
    generation: u32,
}

struct Machine {
    recording: Recording,
    rng: Rng,
    /// By thread, without the main one. Producers have even indices.
    workers: Vec<Worker>,
    locked: bool,
    /// Who waits for room, and who for something.
    waiting: [Vec<usize>; 2],
    semaphore: u32,
    arrived: usize,
    generation: u32,
}

fn id(worker: usize) -> ThreadId {
    ThreadId(worker as u32 + 1)
}

/// The side of the buffer that a worker waits on: 0 for room.
fn side(worker: usize) -> usize {
    worker % 2
}

impl Machine {
    fn new(workers: usize, rounds: u32, seed: u64) -> Machine {
        let mut recording = Recording::new(workers + 1);
        let semaphore = recording.location(SEMAPHORE, 32);
        let barrier = recording.location(BARRIER, 32);
        let states =
            [(semaphore, SyncState::Semaphore(1)), (barrier, SyncState::Barrier(workers as u32))];
        recording.symbolic.sync.extend(states.map(|(at, state)| InitialSync { at, state }));
        recording.fork_all(workers);
        let worker = |thread: ThreadId| Worker {
            at: if thread.0 <= 2 { At::ReadBalance } else { At::Lock },
            rounds,
            items: ITEMS,
            balance: None,
            count: None,
            item: None,
            woken_by: None,
            generation: 0,
        };
        Machine {
            recording,
            rng: Rng::new(seed),
            workers: children(workers).map(worker).collect(),
            locked: false,
            waiting: [Vec::new(), Vec::new()],
            semaphore: 1,
            arrived: 0,
            generation: 0,
        }
    }

    fn run(&mut self) {
        loop {
            let all = 0..self.workers.len();
            let enabled: Vec<usize> = all.filter(|worker| self.can_go_on(*worker)).collect();
            if enabled.is_empty() {
                break;
            }
            let worker = *self.rng.pick(&enabled);
            for _ in 0..1 + self.rng.below(6) {
                if self.can_go_on(worker) {
                    self.go_on(worker);
                }
            }
        }
        let all_done = self.workers.iter().all(|worker| worker.at == At::Done);
        assert!(all_done, "as much is produced as is consumed between two meetings");
    }

    fn can_go_on(&self, worker: usize) -> bool {
        let me = &self.workers[worker];
        match me.at {
            At::Done => false,
            At::Lock => !self.locked,
            At::Wake => me.woken_by.is_some() && !self.locked,
            At::Leave => me.generation != self.generation,
            At::EnterSemaphore => self.semaphore > 0,
            // Both read before either writes: that is the bug.
            At::WriteBalance => self.workers[..2].iter().all(|worker| worker.balance.is_some()),
            _ => true,
        }
    }

    fn go_on(&mut self, worker: usize) {
        let me = id(worker);
        let next = match self.workers[worker].at {
            At::ReadBalance => {
                self.recording.lock(me, BALANCE_LOCK);
                self.workers[worker].balance = Some(self.recording.load_word(me, BALANCE));
                self.recording.unlock(me, BALANCE_LOCK);
                At::WriteBalance
            }
            At::WriteBalance => {
                let seen = self.workers[worker].balance.expect("it was read before");
                let more = self.recording.plus(seen, 1);
                self.recording.lock(me, BALANCE_LOCK);
                self.recording.store_word(me, BALANCE, more);
                self.recording.unlock(me, BALANCE_LOCK);
                At::Lock
            }
            At::Lock => {
                self.locked = true;
                self.recording.lock(me, BUFFER_LOCK);
                At::Look
            }
            At::Look => self.look(worker),
            At::Wake => self.wake(worker),
            At::Pass => self.pass(worker),
            At::Unlock => {
                self.locked = false;
                self.recording.unlock(me, BUFFER_LOCK);
                if side(worker) == 0 { self.next_item(worker) } else { At::EnterSemaphore }
            }
            At::EnterSemaphore | At::Serve => self.serve(worker),
            At::Arrive | At::Leave => self.meet(worker),
            At::Done => At::Done,
        };
        self.workers[worker].at = next;
    }

    fn condition_variable(&mut self, side: usize) -> LocationId {
        self.recording.location([NOT_FULL, NOT_EMPTY][side], 48)
    }

    /// `while (count == CAPACITY) wait(not_full)`, or the other way round.
    fn look(&mut self, worker: usize) -> At {
        let me = id(worker);
        let bad = [CAPACITY, 0][side(worker)];
        let count = self.recording.load_word(me, COUNT);
        let limit = self.recording.word(bad);
        let stuck = self.recording.equal(count, limit);
        self.recording.condition(stuck);
        self.workers[worker].count = Some(count);
        if self.recording.concrete(count) != u128::from(bad) {
            return At::Pass;
        }
        let at = self.condition_variable(side(worker));
        let mutex = self.recording.lock_at(BUFFER_LOCK);
        self.locked = false;
        self.waiting[side(worker)].push(worker);
        self.recording.act(me, EventKind::Wait { at, mutex });
        At::Wake
    }

    fn wake(&mut self, worker: usize) -> At {
        let at = self.condition_variable(side(worker));
        let mutex = self.recording.lock_at(BUFFER_LOCK);
        let by = self.workers[worker].woken_by.take().expect("somebody woke it");
        self.locked = true;
        self.recording.act(id(worker), EventKind::Wake { at, mutex, by: WakeCause::Signal(by) });
        At::Look
    }

    fn pass(&mut self, worker: usize) -> At {
        let me = id(worker);
        let produces = side(worker) == 0;
        let (end, change) = if produces { (TAIL, 1) } else { (HEAD, u32::MAX) };
        let place = self.recording.load_word(me, end);
        let now = self.recording.concrete(place) as u32;
        let known = self.recording.word(now);
        let here = self.recording.equal(place, known);
        self.recording.condition(here);
        let slot = SLOTS + 4 * u64::from(now % CAPACITY);
        if produces {
            let item = self.recording.word(self.rng.below(100));
            self.recording.store_word(me, slot, item);
        } else {
            self.workers[worker].item = Some(self.recording.load_word(me, slot));
        }
        let next = self.recording.plus(place, 1);
        self.recording.store_word(me, end, next);
        let count = self.workers[worker].count.expect("it looked before");
        let count = self.recording.plus(count, change);
        self.recording.store_word(me, COUNT, count);
        self.signal(me, 1 - side(worker));
        At::Unlock
    }

    fn signal(&mut self, me: ThreadId, side: usize) {
        let at = self.condition_variable(side);
        let count = self.waiting[side].len() as u32;
        let woken = (count > 0).then(|| {
            let chosen = self.waiting[side].remove(self.rng.below(count) as usize);
            self.workers[chosen].woken_by = Some(me);
            id(chosen)
        });
        self.recording.act(me, EventKind::Signal { at, woken });
    }

    /// Adds what was taken to what was served, under a semaphore.
    fn serve(&mut self, worker: usize) -> At {
        let me = id(worker);
        let at = self.recording.location(SEMAPHORE, 32);
        if self.workers[worker].at == At::EnterSemaphore {
            self.semaphore -= 1;
            self.recording.act(me, EventKind::SemWait { at });
            return At::Serve;
        }
        let item = self.workers[worker].item.take().expect("it took something");
        let served = self.recording.load_word(me, SERVED);
        let sum = self.recording.symbolic.exprs.binary(BinaryOp::Add, served, item);
        self.recording.store_word(me, SERVED, sum);
        self.semaphore += 1;
        self.recording.act(me, EventKind::SemPost { at });
        self.next_item(worker)
    }

    fn next_item(&mut self, worker: usize) -> At {
        let worker = &mut self.workers[worker];
        worker.items -= 1;
        if worker.items == 0 { At::Arrive } else { At::Lock }
    }

    fn meet(&mut self, worker: usize) -> At {
        let at = self.recording.location(BARRIER, 32);
        let all = self.workers.len();
        let me = &mut self.workers[worker];
        if me.at == At::Arrive {
            me.generation = self.generation;
            self.arrived += 1;
            if self.arrived == all {
                self.arrived = 0;
                self.generation += 1;
            }
            self.recording.act(id(worker), EventKind::BarrierArrive { at });
            return At::Leave;
        }
        me.rounds -= 1;
        me.items = ITEMS;
        let next = if me.rounds == 0 { At::Done } else { At::Lock };
        self.recording.act(id(worker), EventKind::BarrierLeave { at });
        next
    }
}

#[cfg(test)]
mod tests {
    use super::super::acts::assert_fails;
    use super::*;

    #[test]
    fn everybody_waits_and_an_update_is_lost() {
        let mut kinds = [0; 4];
        for seed in 0..20 {
            let generated = waiting(600, 4, seed);
            let model = assert_fails(&generated);
            assert!((400..900).contains(&model.len()), "seed {seed}: {} steps", model.len());
            for event in &generated.trace.events {
                match event.kind {
                    EventKind::Wake { .. } => kinds[0] += 1,
                    EventKind::Signal { woken: None, .. } => kinds[1] += 1,
                    EventKind::SemWait { .. } => kinds[2] += 1,
                    EventKind::BarrierLeave { .. } => kinds[3] += 1,
                    _ => {}
                }
            }
        }
        assert!(kinds.iter().all(|count| *count > 50), "{kinds:?}");
    }
}
