//! Which expressions are computed when: each once, where the last read it depends on has happened.
//!
//! All reads of an expression are its own thread's, earlier, or of a thread that it was started by or has joined: what such
//! a thread has left in memory needs no event of its own to get here. Conditions of imported traces may also depend on
//! other reads: those are *deferred* until the last of them.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_trace::{Bug, ExprId, Node, SymbolId};

use super::{CheckId, Model, ModelError, Op, StepId};

#[derive(Clone, Debug, Default)]
pub(crate) struct Slices {
    /// By op: where its expressions begin in `nodes`; they end where the next op's begin.
    starts: Vec<u32>,
    /// Expressions to compute, operands first.
    nodes: Vec<ExprId>,
    pub deferred: Vec<Deferred>,
    deferred_checks: FxHashSet<CheckId>,
    deferred_bug: bool,
    /// By step: the deferred conditions that wait for it.
    pub awaited_by: FxHashMap<StepId, Vec<u32>>,
}

/// A condition that depends on several threads, or on reads after its place.
#[derive(Clone, Debug)]
pub(crate) struct Deferred {
    pub what: Op,
    /// How many steps must have been executed before it is decided.
    pub steps: u32,
    /// What to compute then.
    pub nodes: Range<u32>,
    pub root: ExprId,
}

impl Slices {
    pub fn new(model: &Model) -> Result<Slices, ModelError> {
        let mut slicer = Slicer {
            model,
            slices: Slices { starts: vec![0; model.ops.len() + 1], ..Slices::default() },
            known: vec![u32::MAX; model.exprs.len()],
            read_at: vec![u32::MAX; model.slots.len()],
        };
        for read in &model.reads {
            slicer.read_at[read.symbol.0 as usize] = read.event;
        }
        slicer.check_symbols()?;
        let mut per_op: Vec<Vec<ExprId>> = vec![Vec::new(); model.ops.len()];
        for thread in 0..model.threads.len() {
            for &step in &model.threads[thread] {
                for position in model.op_range(step) {
                    if let Some(nodes) = slicer.slice_of(model.ops[position], step, thread)? {
                        per_op[position] = nodes;
                    }
                }
            }
        }
        for (position, nodes) in per_op.into_iter().enumerate() {
            slicer.slices.starts[position] = slicer.slices.nodes.len() as u32;
            slicer.slices.nodes.extend(nodes);
        }
        slicer.slices.starts[model.ops.len()] = slicer.slices.nodes.len() as u32;
        slicer.defer_all();
        Ok(slicer.slices)
    }

    /// What to compute before an op.
    pub fn before(&self, position: usize) -> &[ExprId] {
        &self.nodes[self.starts[position] as usize..self.starts[position + 1] as usize]
    }

    pub fn nodes(&self, range: &Range<u32>) -> &[ExprId] {
        &self.nodes[range.start as usize..range.end as usize]
    }

    /// Whether a check or the bug is decided elsewhere.
    pub fn is_deferred(&self, what: Op) -> bool {
        match what {
            Op::Check(check) => self.deferred_checks.contains(&check),
            Op::Bug => self.deferred_bug,
            _ => false,
        }
    }
}

struct Slicer<'m> {
    model: &'m Model,
    slices: Slices,
    /// By expression: the thread that has computed it.
    known: Vec<u32>,
    /// By symbol: the event that reads it.
    read_at: Vec<u32>,
}

impl Slicer<'_> {
    fn check_symbols(&self) -> Result<(), ModelError> {
        for (_, node, _) in self.model.exprs.iter() {
            if let Node::Symbol(SymbolId(symbol)) = node
                && self.read_at.get(symbol as usize).is_none_or(|event| *event == u32::MAX)
            {
                let what = format!("symbol {symbol} is read by no event");
                return Err(ModelError::Contradiction(what));
            }
        }
        Ok(())
    }

    fn root(&self, op: Op) -> Option<(ExprId, u32)> {
        let model = self.model;
        match (op, &model.bug) {
            (Op::Write(write), _) => {
                let write = model.write(write);
                Some((write.value, write.event))
            }
            (Op::Check(check), _) => Some((model.check(check).holds, model.check(check).after)),
            (Op::Bug, Bug::Condition { fails, after, .. }) => Some((*fails, *after)),
            _ => None,
        }
    }

    /// The expressions that this op needs and its thread has not computed. Defers the op if it needs reads that
    /// are not its thread's, or later.
    fn slice_of(
        &mut self,
        op: Op,
        step: StepId,
        thread: usize,
    ) -> Result<Option<Vec<ExprId>>, ModelError> {
        let Some((root, event)) = self.root(op) else { return Ok(None) };
        let (nodes, reads) = self.unknown(root, thread as u32);
        let is_there = |read: &u32| {
            let at = self.model.step_of_event(*read);
            let own = self.model.owner(at).index() == thread;
            if own { *read <= event } else { self.model.must_precede(at, step) }
        };
        if reads.iter().all(is_there) {
            nodes.iter().for_each(|n| self.known[n.index()] = thread as u32);
            return Ok(Some(nodes));
        }
        if let Op::Write(_) = op {
            let what = format!("event {event} writes what its thread has not read before");
            return Err(ModelError::Contradiction(what));
        }
        match op {
            Op::Check(check) => drop(self.slices.deferred_checks.insert(check)),
            _ => self.slices.deferred_bug = true,
        }
        self.slices.deferred.push(Deferred { what: op, steps: 0, nodes: 0..0, root });
        let index = self.slices.deferred.len() as u32 - 1;
        self.slices.awaited_by.entry(step).or_default().push(index);
        Ok(None)
    }

    /// Expressions below `root` not computed by this thread, operands first, and the events of their reads.
    fn unknown(&self, root: ExprId, thread: u32) -> (Vec<ExprId>, Vec<u32>) {
        let mut found = Vec::new();
        let mut reads = Vec::new();
        let mut seen = FxHashSet::default();
        let mut todo = vec![root];
        while let Some(next) = todo.pop() {
            if self.known[next.index()] == thread || !seen.insert(next) {
                continue;
            }
            match self.model.exprs.node(next) {
                Node::Const(_) => continue,
                Node::Symbol(symbol) => reads.push(self.read_at[symbol.0 as usize]),
                node => node.operands(|of| todo.push(of)),
            }
            found.push(next);
        }
        found.sort_unstable();
        (found, reads)
    }

    fn defer_all(&mut self) {
        for index in 0..self.slices.deferred.len() {
            let (root, what) = (self.slices.deferred[index].root, self.slices.deferred[index].what);
            // No thread has this number: everything below the root is computed when it is decided.
            let (nodes, reads) = self.unknown(root, u32::MAX - 1);
            let start = self.slices.nodes.len() as u32;
            self.slices.nodes.extend(nodes);
            let mut steps: Vec<StepId> =
                reads.iter().map(|event| self.model.step_of_event(*event)).collect();
            steps.extend(self.root(what).map(|(_, event)| self.model.step_of_event(event)));
            steps.sort();
            steps.dedup();
            for step in &steps {
                let waiting = self.slices.awaited_by.entry(*step).or_default();
                if !waiting.contains(&(index as u32)) {
                    waiting.push(index as u32);
                }
            }
            let end = self.slices.nodes.len() as u32;
            let deferred = &mut self.slices.deferred[index];
            deferred.nodes = start..end;
            deferred.steps = steps.len() as u32;
        }
    }
}

impl Model {
    /// Whether a condition is decided only when reads of other threads have happened (imported traces).
    pub fn is_deferred(&self, check: CheckId) -> bool {
        self.slices.is_deferred(Op::Check(check))
    }

    /// The same for the bug condition.
    pub fn is_bug_deferred(&self) -> bool {
        self.slices.is_deferred(Op::Bug)
    }
}
