//! The state of the program between steps, and what each op does to it. Agrees with the models of the VM.

use unravel_trace::{Bug, Node, SyncState, ThreadId, WakeCause, mask};

use super::undo::Undo;
use crate::{CheckId, Model, Op, Source, StepId, SyncFamily, SyncId};

/// How a step went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ran {
    Done,
    /// It has to wait. The state is to be undone, as for `Differs`.
    Waits,
    /// It would go on, but not as recorded.
    Differs,
    Fails,
    Leaves(CheckId),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Barrier {
    count: u32,
    arrived: u32,
    generation: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Once {
    running: bool,
    /// Wins still to come: an initialiser that throws lets the next one try again.
    wins: u32,
    done: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Sync {
    Lock {
        writer: Option<ThreadId>,
        readers: Vec<ThreadId>,
    },
    /// Longest waiting first.
    Cond(Vec<ThreadId>),
    /// `None` before it is set up.
    Semaphore(Option<u32>),
    Barrier(Barrier),
    Once(Once),
}

#[derive(Clone, Debug)]
pub(super) struct State<'m> {
    model: &'m Model,
    pub memory: Vec<(u128, Source)>,
    pub symbols: Vec<u128>,
    /// By expression; what was not computed since its step was last undone is stale, and not used.
    values: Vec<u128>,
    pub sources: Vec<Source>,
    pub syncs: Vec<Sync>,
    /// By thread: a signal or broadcast ended its wait.
    pub woken: Vec<bool>,
    /// By thread: of the barrier it arrived at last.
    pub generation: Vec<u32>,
    pub forked: Vec<bool>,
    pub exited: Vec<bool>,
    pub choices: Vec<u32>,
    /// By deferred condition: steps still to come.
    pub awaited: Vec<u32>,
    pub passed: bool,
    /// By thread: steps performed, and steps whose turn has come.
    pub next: Vec<u32>,
    pub due: Vec<u32>,
    /// Threads that wait although their turn has come.
    pub aside: Vec<ThreadId>,
    pub performed: Vec<StepId>,
    /// If the last step performed ended it: how many of its ops were executed.
    pub ops_of_last: usize,
    pub trail: Vec<Undo>,
}

impl<'m> State<'m> {
    pub fn new(model: &'m Model) -> State<'m> {
        let threads = model.threads();
        let mut forked = vec![true; threads];
        for op in &model.ops {
            if let Op::Fork { child } = op {
                forked[child.index()] = false;
            }
        }
        let constant = |node: Node| if let Node::Const(value) = node { value } else { 0 };
        let values = model.exprs().iter().map(|(_, node, _)| constant(node)).collect();
        State {
            model,
            memory: model.initial.iter().map(|v| (v.unwrap_or(0), Source::Initial)).collect(),
            symbols: vec![0; model.slots.len()],
            values,
            sources: vec![Source::Initial; model.reads().len()],
            syncs: model.syncs().iter().map(initial_sync).collect(),
            woken: vec![false; threads],
            generation: vec![0; threads],
            forked,
            exited: vec![false; threads],
            choices: Vec::new(),
            awaited: model.slices.deferred.iter().map(|d| d.steps).collect(),
            passed: false,
            next: vec![0; threads],
            due: vec![0; threads],
            aside: Vec::new(),
            performed: Vec::with_capacity(model.len()),
            ops_of_last: 0,
            trail: Vec::with_capacity(4 * model.len()),
        }
    }

    /// Executes the next step of its thread.
    pub fn execute(&mut self, step: StepId) -> Ran {
        let model = self.model;
        let thread = model.owner(step);
        for position in model.op_range(step) {
            let ran = self.op(position, thread);
            if ran != Ran::Done {
                if matches!(ran, Ran::Fails | Ran::Leaves(_)) {
                    self.count(step, thread);
                    self.ops_of_last = position + 1 - model.op_range(step).start;
                }
                return ran;
            }
        }
        self.count(step, thread);
        self.ops_of_last = usize::MAX;
        if model.slices.deferred.is_empty() { Ran::Done } else { self.decide_deferred(step) }
    }

    fn count(&mut self, step: StepId, thread: ThreadId) {
        self.next[thread.index()] += 1;
        self.trail.push(Undo::Next { thread });
        self.performed.push(step);
    }

    fn op(&mut self, position: usize, me: ThreadId) -> Ran {
        let model = self.model;
        match model.ops[position] {
            Op::Read(slot) => {
                let read = &model.reads[slot.index()];
                let (value, source) = self.memory[read.cell.index()];
                self.sources[slot.index()] = source;
                let symbol = &mut self.symbols[read.symbol.0 as usize];
                // The slots of a read come lowest bytes first.
                *symbol = if read.offset == 0 {
                    value
                } else {
                    *symbol | value << (8 * u32::from(read.offset))
                };
            }
            Op::Write(index) => {
                self.compute(position);
                let write = &model.writes[index as usize];
                let all = self.values[write.value.index()];
                let new = (all >> (8 * u32::from(write.offset))) & mask(8 * write.bytes);
                let place = &mut self.memory[write.cell.index()];
                let (value, source) = std::mem::replace(place, (new, Source::Write(index)));
                self.trail.push(Undo::Memory { cell: write.cell, value, source });
            }
            Op::Check(check) => {
                if !model.slices.is_deferred(Op::Check(check)) {
                    self.compute(position);
                    if self.values[model.check(check).holds.index()] == 0 {
                        return Ran::Leaves(check);
                    }
                }
            }
            Op::Bug => {
                if !model.slices.is_deferred(Op::Bug) {
                    self.compute(position);
                    return self.decide_bug();
                }
            }
            op => return self.sync_op(op, me),
        }
        Ran::Done
    }

    fn compute(&mut self, position: usize) {
        let slices = &self.model.slices;
        for &node in slices.before(position) {
            self.values[node.index()] = self.value_of(node);
        }
    }

    fn value_of(&self, id: unravel_trace::ExprId) -> u128 {
        let exprs = &self.model.exprs;
        match exprs.node(id) {
            Node::Symbol(symbol) => self.symbols[symbol.0 as usize] & mask(exprs.bits(id)),
            _ => exprs.apply(id, |of| self.values[of.index()]),
        }
    }

    fn decide_bug(&mut self) -> Ran {
        match self.model.bug {
            Bug::Condition { fails, .. } if self.values[fails.index()] != 0 => Ran::Fails,
            Bug::Condition { .. } => {
                self.trail.push(Undo::Passed { was: self.passed });
                self.passed = true;
                Ran::Done
            }
            _ => Ran::Fails,
        }
    }

    /// Decides the conditions that waited for this step last.
    fn decide_deferred(&mut self, step: StepId) -> Ran {
        let slices = &self.model.slices;
        let Some(waiting) = slices.awaited_by.get(&step) else { return Ran::Done };
        let mut ran = Ran::Done;
        for &index in waiting {
            let awaited = &mut self.awaited[index as usize];
            *awaited -= 1;
            self.trail.push(Undo::Awaited { index });
            if *awaited > 0 || ran != Ran::Done {
                continue;
            }
            let deferred = &slices.deferred[index as usize];
            for &node in slices.nodes(&deferred.nodes) {
                self.values[node.index()] = self.value_of(node);
            }
            match deferred.what {
                Op::Check(check) if self.values[deferred.root.index()] == 0 => {
                    ran = Ran::Leaves(check);
                }
                Op::Bug => ran = self.decide_bug(),
                _ => {}
            }
        }
        ran
    }

    fn sync_op(&mut self, op: Op, me: ThreadId) -> Ran {
        match op {
            Op::Acquire { lock, shared } => {
                if !self.is_free(lock, shared) {
                    return Ran::Waits;
                }
                self.take(lock, shared, me);
            }
            Op::TryAcquire { lock, shared, acquired } => {
                if self.is_free(lock, shared) != acquired {
                    return Ran::Differs;
                }
                if acquired {
                    self.take(lock, shared, me);
                }
            }
            Op::Release { lock } => self.release(lock, me),
            Op::Wait { cond } => {
                self.list(cond).push(me);
                self.trail.push(Undo::WaiterCame { cond });
                self.set_woken(me, false);
            }
            Op::Wake { cond, by } => return self.wake(cond, by, me),
            Op::Signal { cond, recorded } => self.signal(cond, recorded),
            Op::Broadcast { cond } => {
                while let Some(&thread) = self.list(cond).last() {
                    let index = self.list(cond).len() - 1;
                    self.remove_waiter(cond, index);
                    self.set_woken(thread, true);
                }
            }
            Op::SemInit { semaphore, value } => self.set_semaphore(semaphore, Some(value)),
            Op::SemPost { semaphore } => match self.semaphore(semaphore) {
                Some(value) => self.set_semaphore(semaphore, Some(value.saturating_add(1))),
                None => return Ran::Differs,
            },
            Op::SemAcquire { semaphore } => match self.semaphore(semaphore) {
                Some(0) => return Ran::Waits,
                Some(value) => self.set_semaphore(semaphore, Some(value - 1)),
                None => return Ran::Differs,
            },
            Op::SemTryAcquire { semaphore, acquired } => match self.semaphore(semaphore) {
                Some(value) if (value > 0) == acquired => {
                    self.set_semaphore(semaphore, Some(value - u32::from(acquired)));
                }
                _ => return Ran::Differs,
            },
            Op::BarrierInit { barrier, count } => {
                self.set_barrier(barrier, Barrier { count, arrived: 0, generation: 0 });
            }
            Op::Arrive { barrier } => return self.arrive(barrier, me),
            Op::Leave { barrier } => {
                if self.barrier(barrier).generation == self.generation[me.index()] {
                    return Ran::Waits;
                }
            }
            Op::OnceEnter { once, won } => {
                let state = self.once(once);
                if state.running {
                    return Ran::Waits;
                }
                if state.done == won {
                    return Ran::Differs;
                }
                if won {
                    let wins = state.wins.saturating_sub(1);
                    self.set_once(once, Once { running: true, wins, ..state });
                }
            }
            Op::OnceDone { once } => {
                let state = self.once(once);
                self.set_once(once, Once { running: false, done: state.wins == 0, ..state });
            }
            Op::Fork { child } => {
                let was = std::mem::replace(&mut self.forked[child.index()], true);
                self.trail.push(Undo::Forked { thread: child, was });
            }
            Op::Start if !self.forked[me.index()] => return Ran::Waits,
            Op::Exit => {
                let was = std::mem::replace(&mut self.exited[me.index()], true);
                self.trail.push(Undo::Exited { thread: me, was });
            }
            Op::Join { child } => {
                // A thread of which nothing was recorded ended before.
                let known = !self.model.threads[child.index()].is_empty();
                if known && !self.exited[child.index()] {
                    return Ran::Waits;
                }
            }
            Op::Never => return Ran::Waits,
            Op::Start | Op::Read(_) | Op::Write(_) | Op::Check(_) | Op::Bug => {}
        }
        Ran::Done
    }

    fn is_free(&self, lock: SyncId, shared: bool) -> bool {
        match &self.syncs[lock.index()] {
            Sync::Lock { writer, readers } => writer.is_none() && (shared || readers.is_empty()),
            _ => unreachable!("a lock is a lock"),
        }
    }

    fn take(&mut self, lock: SyncId, shared: bool, me: ThreadId) {
        if shared {
            self.list(lock).push(me);
            self.trail.push(Undo::ReaderCame { lock });
        } else {
            self.set_writer(lock, Some(me));
        }
    }

    /// Who does not hold the lock sets it free all the same, as spin locks allow.
    fn release(&mut self, lock: SyncId, me: ThreadId) {
        let Sync::Lock { writer, readers } = &mut self.syncs[lock.index()] else { return };
        if *writer != Some(me)
            && let Some(index) = readers.iter().position(|r| *r == me)
        {
            readers.remove(index);
            self.trail.push(Undo::ReaderLeft { lock, index: index as u32, thread: me });
        } else {
            self.set_writer(lock, None);
        }
    }

    fn set_writer(&mut self, lock: SyncId, to: Option<ThreadId>) {
        if let Sync::Lock { writer, .. } = &mut self.syncs[lock.index()] {
            let was = std::mem::replace(writer, to);
            self.trail.push(Undo::Writer { lock, was });
        }
    }

    fn wake(&mut self, cond: SyncId, by: WakeCause, me: ThreadId) -> Ran {
        let woken = self.woken[me.index()];
        match by {
            WakeCause::Signal(_) if !woken => return Ran::Waits,
            // The wait would have returned something else.
            WakeCause::Timeout | WakeCause::Cancel if woken => return Ran::Differs,
            _ => {}
        }
        if let Some(index) = self.list(cond).iter().position(|t| *t == me) {
            self.remove_waiter(cond, index);
        }
        self.set_woken(me, false);
        Ran::Done
    }

    fn signal(&mut self, cond: SyncId, recorded: Option<ThreadId>) {
        let waiting = self.list(cond);
        if waiting.is_empty() {
            return;
        }
        let several = waiting.len() > 1;
        let chosen = waiting.iter().position(|t| Some(*t) == recorded).unwrap_or(0);
        let thread = waiting[chosen];
        if several {
            self.choices.push(chosen as u32);
            self.trail.push(Undo::Chose);
        }
        self.remove_waiter(cond, chosen);
        self.set_woken(thread, true);
    }

    fn remove_waiter(&mut self, cond: SyncId, index: usize) {
        let thread = self.list(cond).remove(index);
        self.trail.push(Undo::WaiterLeft { cond, index: index as u32, thread });
    }

    fn set_woken(&mut self, thread: ThreadId, to: bool) {
        let was = std::mem::replace(&mut self.woken[thread.index()], to);
        self.trail.push(Undo::Woken { thread, was });
    }

    fn arrive(&mut self, id: SyncId, me: ThreadId) -> Ran {
        let mut barrier = self.barrier(id);
        if barrier.count == 0 {
            // Not set up yet.
            return Ran::Differs;
        }
        let was = std::mem::replace(&mut self.generation[me.index()], barrier.generation);
        self.trail.push(Undo::Generation { thread: me, was });
        barrier.arrived += 1;
        if barrier.arrived >= barrier.count {
            barrier.arrived = 0;
            barrier.generation = barrier.generation.wrapping_add(1);
        }
        self.set_barrier(id, barrier);
        Ran::Done
    }

    /// The readers of a lock, or those who wait on a condition variable.
    pub fn list(&mut self, id: SyncId) -> &mut Vec<ThreadId> {
        match &mut self.syncs[id.index()] {
            Sync::Lock { readers: list, .. } | Sync::Cond(list) => list,
            _ => unreachable!("neither a lock nor a condition variable"),
        }
    }

    fn semaphore(&self, id: SyncId) -> Option<u32> {
        match self.syncs[id.index()] {
            Sync::Semaphore(value) => value,
            _ => unreachable!("a semaphore is a semaphore"),
        }
    }

    fn set_semaphore(&mut self, id: SyncId, to: Option<u32>) {
        let was = self.semaphore(id);
        self.syncs[id.index()] = Sync::Semaphore(to);
        self.trail.push(Undo::Semaphore { id, was });
    }

    fn barrier(&self, id: SyncId) -> Barrier {
        match self.syncs[id.index()] {
            Sync::Barrier(barrier) => barrier,
            _ => unreachable!("a barrier is a barrier"),
        }
    }

    fn set_barrier(&mut self, id: SyncId, to: Barrier) {
        let was = self.barrier(id);
        self.syncs[id.index()] = Sync::Barrier(to);
        self.trail.push(Undo::Barrier { id, was });
    }

    fn once(&self, id: SyncId) -> Once {
        match self.syncs[id.index()] {
            Sync::Once(once) => once,
            _ => unreachable!("a once is a once"),
        }
    }

    fn set_once(&mut self, id: SyncId, to: Once) {
        let was = self.once(id);
        self.syncs[id.index()] = Sync::Once(to);
        self.trail.push(Undo::Once { id, was });
    }

    /// The step of its thread that would be performed next.
    pub fn next_of(&self, step: StepId) -> Option<StepId> {
        let thread = self.model.owner.get(step.index())?.index();
        self.model.threads[thread].get(self.next[thread] as usize).copied()
    }

    /// The step of its thread whose turn comes next.
    pub fn next_due(&self, step: StepId) -> Option<StepId> {
        let thread = self.model.owner.get(step.index())?.index();
        self.model.threads[thread].get(self.due[thread] as usize).copied()
    }

    pub fn make_due(&mut self, thread: ThreadId) {
        self.due[thread.index()] += 1;
        self.trail.push(Undo::Due { thread });
    }

    pub fn is_aside(&self, thread: ThreadId) -> bool {
        self.aside.contains(&thread)
    }

    pub fn set_aside(&mut self, thread: ThreadId) {
        self.aside.push(thread);
        self.trail.push(Undo::AsideCame);
    }

    pub fn remove_aside(&mut self, index: usize) {
        let thread = self.aside.remove(index);
        self.trail.push(Undo::AsideLeft { index: index as u32, thread });
    }

    pub fn has_caught_up(&self, thread: ThreadId) -> bool {
        self.next[thread.index()] >= self.due[thread.index()]
    }

    /// Whether a step may let others go on.
    pub fn enables(&self, step: StepId) -> bool {
        self.model.program(step).iter().any(|op| {
            matches!(
                op,
                Op::Release { .. }
                    | Op::Signal { .. }
                    | Op::Broadcast { .. }
                    | Op::SemInit { .. }
                    | Op::SemPost { .. }
                    | Op::BarrierInit { .. }
                    | Op::Arrive { .. }
                    | Op::OnceDone { .. }
                    | Op::Fork { .. }
                    | Op::Exit
            )
        })
    }
}

fn initial_sync(object: &crate::SyncObject) -> Sync {
    let states = || object.initial.iter().copied();
    match object.family {
        SyncFamily::Lock => {
            let held = |state, side| match state {
                SyncState::Held { by, shared } if shared == side => Some(by),
                _ => None,
            };
            Sync::Lock {
                writer: states().find_map(|s| held(s, false)),
                readers: states().filter_map(|s| held(s, true)).collect(),
            }
        }
        SyncFamily::Cond => Sync::Cond(Vec::new()),
        SyncFamily::Semaphore => Sync::Semaphore(states().find_map(|s| match s {
            SyncState::Semaphore(value) => Some(value),
            _ => None,
        })),
        SyncFamily::Barrier => {
            let count = states().find_map(|s| match s {
                SyncState::Barrier(count) => Some(count),
                _ => None,
            });
            Sync::Barrier(Barrier { count: count.unwrap_or(0), arrived: 0, generation: 0 })
        }
        SyncFamily::Once => {
            let wins = object.ops.iter();
            let wins = wins.filter(|(_, op)| matches!(op, Op::OnceEnter { won: true, .. })).count();
            let done = states().any(|s| s == SyncState::Done);
            Sync::Once(Once { running: false, wins: wins as u32, done })
        }
    }
}
