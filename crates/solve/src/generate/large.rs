//! Long traces with one atomicity violation in the middle.

use super::*;

const BALANCE: u64 = 0x1000;
const COUNTERS: u64 = 0x10000;
const FLAGS: u64 = 0x8_0000;

/// About `events` events of `threads` threads besides the main one. They update counters under locks, pass values
/// on through unprotected flags, branch on what they read; in the middle of their work two of them each read a
/// balance in one section and write it in the next, and the other comes between. The main thread joins them and
/// finds an update lost.
pub fn large(events: usize, threads: usize, seed: u64) -> Generated {
    let threads = threads.max(2);
    let mut run = Run::new(events, threads, seed);
    run.recording.fork_all(threads);
    run.work();
    for child in 1..=threads {
        run.recording.act(ThreadId::MAIN, EventKind::Join { child: ThreadId(child as u32) });
    }
    run.finds_too_little()
}

/// Such a run while it is made. Threads are numbered, 0 is the main one.
pub(super) struct Run {
    pub recording: Recording,
    pub rng: Rng,
    pub threads: usize,
    /// Counters; each has a lock of its own out of a quarter as many.
    counters: u32,
    /// By thread: events still to make, what it read last, how far it is with the balance.
    left: Vec<usize>,
    last: Vec<Option<ExprId>>,
    half: usize,
}

impl Run {
    pub fn new(events: usize, threads: usize, seed: u64) -> Run {
        let share = (events.saturating_sub(4 * threads + 12) / threads).max(4);
        Run {
            recording: Recording::new(threads + 1),
            rng: Rng::new(seed),
            threads,
            counters: (events / 20).max(4) as u32,
            left: vec![share; threads + 1],
            last: vec![None; threads + 1],
            half: share / 2,
        }
    }

    fn step(&mut self, thread: usize) {
        self.recording.step(ThreadId(thread as u32));
    }

    fn work(&mut self) {
        let mut order: Vec<usize> = (1..=self.threads).collect();
        let mut violated = false;
        while !order.is_empty() {
            let index = self.rng.below(order.len() as u32) as usize;
            let thread = order[index];
            let blocks = 1 + self.rng.below(4);
            for _ in 0..blocks {
                if self.left[thread] > 0 {
                    self.block(thread);
                }
            }
            if !violated && self.left[1].min(self.left[2]) <= self.half {
                self.violate();
                violated = true;
            }
            if self.left[thread] == 0 {
                order.swap_remove(index);
                self.step(thread);
                self.recording.event(EventKind::Exit);
            }
        }
    }

    fn spend(&mut self, thread: usize, events: usize) {
        self.left[thread] = self.left[thread].saturating_sub(events);
    }

    /// A thread does something or other.
    pub fn block(&mut self, thread: usize) {
        match self.rng.below(10) {
            0..=5 => self.count(thread),
            6 | 7 => self.look(thread),
            _ => self.tell(thread),
        }
    }

    /// Updates a counter under its lock.
    fn count(&mut self, thread: usize) {
        let counter = self.rng.below(self.counters);
        let address = COUNTERS + 4 * u64::from(counter);
        self.lock(thread, counter / 4, true);
        self.step(thread);
        let old = self.recording.read(address, 4);
        let exprs = &mut self.recording.symbolic.exprs;
        let amount = exprs.constant(1 + u128::from(self.rng.below(3)), 32);
        let new = exprs.binary(BinaryOp::Add, old, amount);
        self.step(thread);
        self.recording.write(address, 4, new);
        self.lock(thread, counter / 4, false);
        self.last[thread] = Some(old);
        self.spend(thread, 4);
    }

    fn lock(&mut self, thread: usize, lock: u32, take: bool) {
        let thread = ThreadId(thread as u32);
        if take {
            self.recording.lock(thread, lock);
        } else {
            self.recording.unlock(thread, lock);
        }
    }

    fn flag(&mut self) -> u64 {
        FLAGS + 4 * u64::from(self.rng.below(self.counters / 4 + 1))
    }

    /// Reads a flag that others write without a lock, and branches on it.
    fn look(&mut self, thread: usize) {
        let address = self.flag();
        self.step(thread);
        let seen = self.recording.read(address, 4);
        if self.rng.below(3) == 0 {
            let limit = self.recording.concrete(seen) + u128::from(self.rng.below(8));
            let exprs = &mut self.recording.symbolic.exprs;
            let limit = exprs.constant(limit, 32);
            let holds = exprs.compare(CompareOp::Ule, seen, limit);
            self.recording.condition(holds);
        }
        self.last[thread] = Some(seen);
        self.spend(thread, 1);
    }

    fn tell(&mut self, thread: usize) {
        let address = self.flag();
        let exprs = &mut self.recording.symbolic.exprs;
        let amount = exprs.constant(u128::from(self.rng.below(5)), 32);
        let value = match self.last[thread] {
            Some(seen) => exprs.binary(BinaryOp::Add, seen, amount),
            None => amount,
        };
        self.step(thread);
        self.recording.write(address, 4, value);
        self.spend(thread, 1);
    }

    /// Threads 1 and 2 add to the balance; the second reads before the first has written.
    fn violate(&mut self) {
        let seen = [1, 2].map(|thread| self.read_balance(thread));
        for (thread, old) in [1, 2].into_iter().zip(seen) {
            self.write_balance(thread, old);
        }
    }

    /// A section that reads the balance.
    pub fn read_balance(&mut self, thread: usize) -> ExprId {
        self.lock(thread, self.counters, true);
        self.step(thread);
        let seen = self.recording.read(BALANCE, 8);
        self.lock(thread, self.counters, false);
        seen
    }

    /// A section that writes ten more than what was read.
    pub fn write_balance(&mut self, thread: usize, old: ExprId) {
        let exprs = &mut self.recording.symbolic.exprs;
        let amount = exprs.constant(10, 64);
        let new = exprs.binary(BinaryOp::Add, old, amount);
        self.lock(thread, self.counters, true);
        self.step(thread);
        self.recording.write(BALANCE, 8, new);
        self.lock(thread, self.counters, false);
    }

    /// The main thread reads the balance, which lacks an update.
    pub fn finds_too_little(mut self) -> Generated {
        let expected =
            (0..8).map(|i| u128::from(initial_byte(BALANCE + i)) << (8 * i)).sum::<u128>();
        self.step(0);
        let total = self.recording.read(BALANCE, 8);
        let exprs = &mut self.recording.symbolic.exprs;
        let expected = exprs.constant(expected + 20, 64);
        let holds = exprs.eq(total, expected);
        let fails = exprs.not(holds);
        let after = self.recording.trace.events.len() as u32 - 1;
        self.recording.finish(Bug::Condition { thread: ThreadId::MAIN, after, fails })
    }
}
