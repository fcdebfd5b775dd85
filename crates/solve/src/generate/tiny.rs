//! Tiny traces of every kind: what they cover is more important than that they look like programs.
//!
//! The interleaving is executed here by a small machine of its own, which follows the models of the VM.

use super::*;

/// What a tiny trace is to be like.
#[derive(Clone, Copy, Debug)]
pub struct Tiny {
    /// At most; at least 2.
    pub threads: u32,
    /// About.
    pub events: u32,
    /// Say what sync objects were like when recording began, instead of leaving it to be inferred.
    pub list_sync: bool,
}

impl Default for Tiny {
    fn default() -> Tiny {
        Tiny { threads: 4, events: 12, list_sync: true }
    }
}

/// A tiny failing run.
pub fn tiny(seed: u64, like: Tiny) -> Generated {
    let mut rng = Rng::new(seed);
    let threads = 2 + rng.below(like.threads.max(2) - 1) as usize;
    let theme = rng.below(10);
    let mut programs: Vec<Vec<Act>> = Vec::new();
    for _ in 0..threads {
        let share = (like.events / threads as u32).max(2);
        programs.push(program(&mut rng, theme, share));
    }
    if rng.below(3) == 0 {
        fork_and_join(&mut rng, &mut programs);
    }
    let mut machine = Machine::new(rng, programs, like, theme);
    machine.run();
    machine.finish()
}

/// What a thread does at one of its points.
#[derive(Clone, Debug)]
enum Act {
    Read(u32),
    Write(u32),
    Update(u32),
    Lock {
        lock: u32,
        shared: bool,
    },
    /// Jumps over so many acts if it fails.
    TryLock {
        lock: u32,
        shared: bool,
        skip: usize,
    },
    Unlock(u32),
    Wait,
    Wake {
        timed: bool,
    },
    Signal,
    Broadcast,
    SemWait,
    SemTryWait,
    SemPost,
    Arrive,
    Leave,
    /// Jumps over the end if it lost.
    Once,
    OnceDone,
    Atomic(Vec<Act>),
    Nothing,
    External,
    Fork(u32),
    Start,
    Exit,
    Join(u32),
}

/// Variables that overlap, so that cells matter.
const VARIABLES: [(u64, u8); 5] = [(0x1000, 4), (0x1010, 4), (0x1004, 2), (0x1000, 8), (0x1002, 1)];
const LOCKS: u64 = 0x2000;
const COND: u64 = 0x3000;
const SEMAPHORE: u64 = 0x4000;
const BARRIER: u64 = 0x5000;
const ONCE: u64 = 0x6000;

fn access(rng: &mut Rng) -> Act {
    let variable = [0, 0, 0, 1, 1, 2, 3, 4][rng.below(8) as usize];
    match rng.below(5) {
        0 | 1 => Act::Read(variable),
        2 | 3 => Act::Write(variable),
        _ => Act::Update(variable),
    }
}

fn program(rng: &mut Rng, theme: u32, share: u32) -> Vec<Act> {
    let mut acts = Vec::new();
    while (acts.len() as u32) < share {
        let kind = if rng.below(4) == 0 { rng.below(10) } else { theme };
        match kind {
            0 | 1 => acts.push(access(rng)),
            2 => section(rng, &mut acts, false),
            3 => {
                let (lock, shared) = (rng.below(2), rng.below(2) == 0);
                let body = rng.below(2) as usize;
                acts.push(Act::TryLock { lock, shared, skip: body + 1 });
                acts.extend((0..body).map(|_| access(rng)));
                acts.push(Act::Unlock(lock));
            }
            4 => {
                let outer = rng.below(2);
                acts.push(Act::Lock { lock: outer, shared: false });
                section(rng, &mut acts, false);
                acts.push(Act::Unlock(outer));
            }
            5 if rng.below(2) == 0 => {
                let timed = rng.below(3) == 0;
                acts.push(Act::Lock { lock: 0, shared: false });
                acts.extend([Act::Wait, Act::Wake { timed }, Act::Unlock(0)]);
            }
            5 => acts.push(if rng.below(3) == 0 { Act::Broadcast } else { Act::Signal }),
            6 => {
                let kinds = [Act::SemWait, Act::SemPost, Act::SemTryWait];
                acts.push(rng.pick(&kinds).clone());
            }
            7 => acts.extend([Act::Arrive, Act::Leave]),
            8 if rng.below(2) == 0 => acts.extend([Act::Once, Act::OnceDone]),
            8 => section(rng, &mut acts, true),
            _ => match rng.below(3) {
                0 => acts.push(Act::Atomic(vec![access(rng), access(rng)])),
                1 => acts.push(Act::Nothing),
                _ => acts.push(Act::External),
            },
        }
    }
    acts
}

fn section(rng: &mut Rng, acts: &mut Vec<Act>, rwlock: bool) {
    let lock = rng.below(2);
    acts.push(Act::Lock { lock, shared: rwlock && rng.below(2) == 0 });
    for _ in 0..rng.below(3) {
        acts.push(access(rng));
    }
    // Some forget it.
    if rng.below(8) > 0 {
        acts.push(Act::Unlock(lock));
    }
}

fn fork_and_join(rng: &mut Rng, programs: &mut [Vec<Act>]) {
    let children = programs.len() as u32 - 1;
    for child in 1..=children {
        let own = &mut programs[child as usize];
        own.truncate(3);
        own.insert(0, Act::Start);
        own.push(Act::Exit);
        let main = &mut programs[0];
        main.insert(0, Act::Fork(child));
        if rng.below(2) == 0 {
            main.insert(main.len().min(child as usize + 2), Act::Join(child));
        }
    }
}

struct Thread {
    acts: Vec<Act>,
    next: usize,
    /// What it read so far.
    seen: Vec<ExprId>,
    held: Vec<u32>,
    woken_by: Option<ThreadId>,
    generation: u32,
    started: bool,
    exited: bool,
}

struct Machine {
    recording: Recording,
    rng: Rng,
    threads: Vec<Thread>,
    /// By lock: holders, and whether they share.
    holders: [Vec<(usize, bool)>; 2],
    waiting: Vec<usize>,
    semaphore: u32,
    count: u32,
    arrived: u32,
    generation: u32,
    running: bool,
    done: bool,
    /// Steps after which the next read fails.
    patience: u32,
    failed: Option<Bug>,
}

impl Machine {
    fn new(mut rng: Rng, programs: Vec<Vec<Act>>, like: Tiny, theme: u32) -> Machine {
        let threads = programs.len();
        let mut recording = Recording::new(threads);
        let semaphore = rng.below(3);
        let count = 1 + rng.below(threads as u32);
        let mut holders = [Vec::new(), Vec::new()];
        let mut programs = programs;
        if theme == 2 && rng.below(3) == 0 {
            holders[0].push((0, false));
            let place = rng.below(programs[0].len() as u32 + 1) as usize;
            programs[0].insert(place, Act::Unlock(0));
        }
        let child = |acts: &[Act]| matches!(acts.first(), Some(Act::Start));
        let state = |acts: Vec<Act>| Thread {
            started: !child(&acts),
            acts,
            next: 0,
            seen: Vec::new(),
            held: Vec::new(),
            woken_by: None,
            generation: 0,
            exited: false,
        };
        let mut threads: Vec<Thread> = programs.into_iter().map(state).collect();
        if !holders[0].is_empty() {
            threads[0].held.push(0);
        }
        if rng.below(2) == 0 && theme == 6 && threads.iter().all(|t| t.started) {
            // Set up within the trace, by the first step.
            let at = recording.location(SEMAPHORE, 32);
            recording.step(ThreadId::MAIN);
            recording.event(EventKind::SyncInit { at, value: semaphore });
        } else if like.list_sync {
            let at = recording.location(SEMAPHORE, 32);
            let state = SyncState::Semaphore(semaphore);
            recording.symbolic.sync.push(InitialSync { at, state });
        }
        if like.list_sync {
            let at = recording.location(BARRIER, 32);
            recording.symbolic.sync.push(InitialSync { at, state: SyncState::Barrier(count) });
            if !holders[0].is_empty() {
                let at = recording.location(LOCKS, 40);
                let state = SyncState::Held { by: ThreadId(0), shared: false };
                recording.symbolic.sync.push(InitialSync { at, state });
            }
        }
        let patience = rng.below(like.events.max(2));
        Machine {
            recording,
            rng,
            threads,
            holders,
            waiting: Vec::new(),
            semaphore,
            count,
            arrived: 0,
            generation: 0,
            running: false,
            done: false,
            patience,
            failed: None,
        }
    }

    fn run(&mut self) {
        while self.failed.is_none() {
            let all = 0..self.threads.len();
            let mut enabled: Vec<usize> = all.clone().filter(|t| self.can_go_on(*t)).collect();
            if enabled.is_empty() {
                enabled = all.filter(|t| self.can_time_out(*t)).collect();
            }
            if enabled.is_empty() {
                return;
            }
            let thread = *self.rng.pick(&enabled);
            self.recording.step(ThreadId(thread as u32));
            let act = self.threads[thread].acts[self.threads[thread].next].clone();
            self.threads[thread].next += 1;
            self.perform(thread, act);
            self.patience = self.patience.saturating_sub(1);
        }
    }

    fn current(&self, thread: usize) -> Option<&Act> {
        let thread = &self.threads[thread];
        thread.acts.get(thread.next).filter(|_| thread.started || thread.next > 0)
    }

    fn can_go_on(&self, thread: usize) -> bool {
        match self.current(thread) {
            None => false,
            Some(Act::Lock { lock, shared }) => self.is_free(*lock, *shared),
            Some(Act::Wake { .. }) => {
                self.threads[thread].woken_by.is_some() && self.is_free(0, false)
            }
            Some(Act::SemWait) => self.semaphore > 0,
            Some(Act::Leave) => self.generation != self.threads[thread].generation,
            Some(Act::Once) => !self.running,
            Some(Act::Join(child)) => self.threads[*child as usize].exited,
            Some(_) => true,
        }
    }

    fn can_time_out(&self, thread: usize) -> bool {
        matches!(self.current(thread), Some(Act::Wake { timed: true })) && self.is_free(0, false)
    }

    fn is_free(&self, lock: u32, shared: bool) -> bool {
        self.holders[lock as usize].iter().all(|(_, other)| shared && *other)
    }

    fn take(&mut self, me: usize, lock: u32, shared: bool) {
        self.holders[lock as usize].push((me, shared));
        self.threads[me].held.push(lock);
    }

    fn give(&mut self, me: usize, lock: u32) {
        if let Some(mine) = self.holders[lock as usize].iter().position(|(by, _)| *by == me) {
            self.holders[lock as usize].remove(mine);
        }
        if let Some(last) = self.threads[me].held.iter().rposition(|l| *l == lock) {
            self.threads[me].held.remove(last);
        }
    }

    fn lock_at(&mut self, lock: u32) -> LocationId {
        self.recording.location(LOCKS + 64 * u64::from(lock), 40)
    }

    fn perform(&mut self, me: usize, act: Act) {
        match act {
            Act::Read(_) | Act::Write(_) | Act::Update(_) => self.access(me, act, true),
            Act::Atomic(acts) => {
                self.recording.event(EventKind::AtomicBegin);
                acts.into_iter().for_each(|act| self.access(me, act, false));
            }
            Act::Lock { lock, shared } => {
                let at = self.lock_at(lock);
                self.take(me, lock, shared);
                self.recording.event(EventKind::Lock { at, shared });
            }
            Act::TryLock { lock, shared, skip } => {
                let at = self.lock_at(lock);
                let acquired = self.is_free(lock, shared);
                if acquired {
                    self.take(me, lock, shared);
                } else {
                    self.threads[me].next += skip;
                }
                self.recording.event(EventKind::TryLock { at, shared, acquired });
            }
            Act::Unlock(lock) => {
                let at = self.lock_at(lock);
                if self.threads[me].held.contains(&lock) {
                    self.give(me, lock);
                    self.recording.event(EventKind::Unlock { at });
                }
            }
            Act::Nothing => {}
            Act::External => {
                self.recording.event(EventKind::External { name: "puts".into() });
            }
            Act::Fork(child) => {
                self.threads[child as usize].started = true;
                self.recording.event(EventKind::Fork { child: ThreadId(child) });
            }
            Act::Start => drop(self.recording.event(EventKind::Start)),
            Act::Exit => {
                self.threads[me].exited = true;
                self.recording.event(EventKind::Exit);
            }
            Act::Join(child) => {
                self.recording.event(EventKind::Join { child: ThreadId(child) });
            }
            other => self.perform_sync(me, other),
        }
    }

    fn perform_sync(&mut self, me: usize, act: Act) {
        let id = ThreadId(me as u32);
        let place = match act {
            Act::SemWait | Act::SemTryWait | Act::SemPost => (SEMAPHORE, 32),
            Act::Arrive | Act::Leave => (BARRIER, 32),
            Act::Once | Act::OnceDone => (ONCE, 4),
            _ => (COND, 48),
        };
        let at = self.recording.location(place.0, place.1);
        let mutex = self.lock_at(0);
        let kind = match act {
            Act::Wait => {
                self.give(me, 0);
                self.waiting.push(me);
                self.threads[me].woken_by = None;
                EventKind::Wait { at, mutex }
            }
            Act::Wake { .. } => {
                self.waiting.retain(|t| *t != me);
                self.take(me, 0, false);
                let by = match self.threads[me].woken_by.take() {
                    Some(by) => WakeCause::Signal(by),
                    None => WakeCause::Timeout,
                };
                EventKind::Wake { at, mutex, by }
            }
            Act::Signal => {
                let count = self.waiting.len() as u32;
                let woken = (count > 0).then(|| {
                    let chosen = self.waiting.remove(self.rng.below(count) as usize);
                    self.threads[chosen].woken_by = Some(id);
                    ThreadId(chosen as u32)
                });
                EventKind::Signal { at, woken }
            }
            Act::Broadcast => {
                let all = std::mem::take(&mut self.waiting);
                all.iter().for_each(|t| self.threads[*t].woken_by = Some(id));
                EventKind::Broadcast { at, woken: all.len() as u32 }
            }
            Act::SemWait => {
                self.semaphore -= 1;
                EventKind::SemWait { at }
            }
            Act::SemTryWait => {
                let acquired = self.semaphore > 0;
                self.semaphore -= u32::from(acquired);
                EventKind::SemTryWait { at, acquired }
            }
            Act::SemPost => {
                self.semaphore += 1;
                EventKind::SemPost { at }
            }
            Act::Arrive => {
                self.threads[me].generation = self.generation;
                self.arrived += 1;
                if self.arrived >= self.count {
                    self.arrived = 0;
                    self.generation += 1;
                }
                EventKind::BarrierArrive { at }
            }
            Act::Leave => EventKind::BarrierLeave { at },
            Act::Once => {
                let won = !self.done;
                self.running = won;
                self.threads[me].next += usize::from(!won);
                EventKind::Once { at, won }
            }
            _ => {
                self.running = false;
                self.done = true;
                EventKind::OnceDone { at }
            }
        };
        self.recording.event(kind);
    }

    fn access(&mut self, me: usize, act: Act, may_fail: bool) {
        let (Act::Read(variable) | Act::Write(variable) | Act::Update(variable)) = act else {
            return;
        };
        let (address, bytes) = VARIABLES[variable as usize];
        let bits = 8 * bytes;
        match act {
            Act::Write(_) => {
                let value = self.expression(me, bits);
                self.recording.write(address, bytes, value);
            }
            Act::Read(_) => {
                let seen = self.recording.read(address, bytes);
                self.threads[me].seen.push(seen);
            }
            _ => {
                let at = self.recording.location(address, bytes.into());
                let old = self.recording.load(address, bytes) as u64;
                let event = self.recording.event(EventKind::Fence);
                let seen = self.recording.read_access(address, bytes);
                let amount = self.expression(me, bits);
                let new = self.recording.symbolic.exprs.binary(BinaryOp::Add, seen, amount);
                let word = self.recording.concrete(new) as u64;
                self.recording.write_access(address, bytes, new);
                let (old, new) = (Value::Word(old), Value::Word(word));
                self.recording.trace.events[event as usize].kind =
                    EventKind::ReadModifyWrite { at, old, new };
                self.threads[me].seen.push(seen);
            }
        }
        if self.threads[me].seen.is_empty() {
            return;
        }
        if may_fail && self.patience == 0 {
            self.fail(me);
        } else if self.rng.below(3) == 0 {
            let holds = self.predicate(me);
            self.recording.condition(holds);
        }
    }

    /// Something over what the thread read.
    fn expression(&mut self, me: usize, bits: u8) -> ExprId {
        let constant = u128::from(self.rng.below(4));
        let exprs = &mut self.recording.symbolic.exprs;
        let constant = exprs.constant(constant, bits);
        if self.threads[me].seen.is_empty() || self.rng.below(3) == 0 {
            return constant;
        }
        let seen = *self.rng.pick(&self.threads[me].seen);
        let seen = fit(exprs, seen, bits);
        let ops = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Xor, BinaryOp::And, BinaryOp::Mul];
        let value = exprs.binary(*self.rng.pick(&ops), seen, constant);
        if self.rng.below(4) == 0 {
            let other = *self.rng.pick(&self.threads[me].seen);
            let other = fit(exprs, other, bits);
            return exprs.binary(BinaryOp::Add, value, other);
        }
        value
    }

    fn predicate(&mut self, me: usize) -> ExprId {
        let last = self.threads[me].seen.len() - 1;
        let recent = self.rng.below(2) == 0;
        let seen = if recent {
            self.threads[me].seen[last]
        } else {
            *self.rng.pick(&self.threads[me].seen)
        };
        let bits = self.recording.symbolic.exprs.bits(seen);
        let value = self.recording.concrete(seen);
        let near = u128::from(self.rng.below(3));
        let other = if self.rng.below(4) == 0 {
            self.expression(me, bits)
        } else {
            self.recording.symbolic.exprs.constant(value.wrapping_add(near), bits)
        };
        let ops = [CompareOp::Eq, CompareOp::Ule, CompareOp::Slt];
        self.recording.symbolic.exprs.compare(*self.rng.pick(&ops), seen, other)
    }

    fn fail(&mut self, me: usize) {
        let thread = ThreadId(me as u32);
        let after = self.recording.trace.events.len() as u32 - 1;
        self.failed = Some(match self.rng.below(12) {
            0 => Bug::Reached { thread, after },
            1 => Bug::Opaque,
            _ => {
                let fails = self.predicate(me);
                let fails = self.recording.made_true(fails);
                Bug::Condition { thread, after, fails }
            }
        });
    }

    fn finish(mut self) -> Generated {
        let bug = self.failed.take().unwrap_or_else(|| self.how_it_ended());
        self.recording.finish(bug)
    }

    fn how_it_ended(&mut self) -> Bug {
        let mut requests = Vec::new();
        for thread in 0..self.threads.len() {
            let Some(act) = self.current(thread).cloned() else { continue };
            let site = SiteId(0);
            let wants = match act {
                Act::Lock { lock, shared } => Wants::Lock { at: self.lock_at(lock), shared },
                Act::Wake { .. } => {
                    let at = self.recording.location(COND, 48);
                    Wants::Wake { at, mutex: self.lock_at(0) }
                }
                Act::SemWait => Wants::Semaphore { at: self.recording.location(SEMAPHORE, 32) },
                Act::Leave => Wants::Barrier { at: self.recording.location(BARRIER, 32) },
                Act::Once => Wants::Once { at: self.recording.location(ONCE, 4) },
                Act::Join(child) => Wants::Join { child: ThreadId(child) },
                _ => Wants::Other,
            };
            requests.push(Request { thread: ThreadId(thread as u32), site, wants });
        }
        if requests.is_empty() { Bug::Opaque } else { Bug::Deadlock { requests } }
    }
}

fn fit(exprs: &mut Exprs, value: ExprId, bits: u8) -> ExprId {
    if exprs.bits(value) > bits {
        exprs.extract(value, 0, bits)
    } else {
        exprs.zero_extend(value, bits)
    }
}
