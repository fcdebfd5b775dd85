//! The state of the program between steps, and what steps do to it.

use unravel_trace::{Bug, ExprId, Node, ThreadId, mask};

use super::sync::Sync;
use super::undo::Undo;
use crate::{CheckId, Model, Op, Source, StepId};

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

#[derive(Clone, Debug)]
pub(super) struct State<'m> {
    pub model: &'m Model,
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
            syncs: model.syncs().iter().map(Sync::new).collect(),
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
                let value = [value as u64, (value >> 64) as u64];
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
            Op::Release { lock } => {
                let shared = self.release(lock, me);
                if model.is_synthetic(position, me) {
                    self.set_lingers(lock, Some(shared));
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

    fn value_of(&self, id: ExprId) -> u128 {
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
