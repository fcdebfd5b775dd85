//! What an order of steps has to obey beside program order and reads-from, as formulas that two backends read.
//!
//! [`crate::smt`] writes every formula as text. [`crate::orders`], our own solver, takes those of one sync object when
//! it needs them, and decides what is simple (mutual exclusion) without any.
//!
//! An [`Atom`] is an order of two steps, or a choice: which signal wakes whom, which write is read, which request is
//! granted. Every formula uses orders only positively: "not before" is always "after", and each condition has a form
//! of its own for "it does not hold". Such a formula is monotone: if it holds of some orders, it holds of all total
//! orders that extend them. So no backend has to order what nobody compares, and steps that an answer leaves
//! unordered (or at one place) may stand either way.
//!
//! One file a family: [`locks`], [`waits`] (condition variables), [`counts`] (semaphores, barriers), [`once`], [`ends`]
//! (what comes after the end and is free), [`wishes`] (deadlocks, and failures that only execution can tell).
//! What a formula says is exact for executions on the recorded path, but for what these files call *approximated*;
//! what they call *not encoded* is an error, [`NoEncoding`], never a weaker formula.
//!
//! These are the synchronisation constraints of Symbiosis (§3.3), with more kinds of objects than its locks, waits and signals,
//! and with requests that stay refused, for deadlocks.

mod counts;
pub(crate) mod ends;
mod formula;
pub(crate) mod locks;
mod once;
mod waits;
mod wishes;

pub(crate) use ends::End;
pub(crate) use formula::{Atom, Formula};

use crate::{Model, Op, ReadSlot, Section, StepId, SyncFamily, SyncId, Wish};

/// Something has no encoding; what.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NoEncoding(pub String);

/// An op at its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Point {
    pub step: StepId,
    /// Index of its op among all ops of the model.
    pub position: u32,
}

/// Builds the formulas of one model and one wish.
#[derive(Debug)]
pub(crate) struct Constraints<'q> {
    pub model: &'q Model,
    pub wish: Wish,
    pub end: End,
    /// By sync object: what executed steps do with it, in the order of the steps.
    pub uses: Vec<Vec<(Point, Op)>>,
    /// The ops of requests.
    pub requests: Vec<(Point, Op)>,
    /// By lock: its sections that executed steps begin, thread by thread.
    sections: Vec<Vec<&'q Section>>,
}

impl<'q> Constraints<'q> {
    pub fn new(model: &'q Model, wish: Wish) -> Constraints<'q> {
        let mut uses = vec![Vec::new(); model.syncs().len()];
        let mut requests = Vec::new();
        for step in model.steps() {
            for position in model.op_range(step) {
                let (op, point) = (model.ops[position], Point { step, position: position as u32 });
                if model.is_request(step) {
                    requests.push((point, op));
                } else if let Some(sync) = op.sync() {
                    uses[sync.index()].push((point, op));
                }
            }
        }
        let mut sections = vec![Vec::new(); model.syncs().len()];
        for section in model.sections() {
            if section.acquire.is_none_or(|step| !model.is_request(step)) {
                sections[section.lock.index()].push(section);
            }
        }
        Constraints { model, wish, end: End::of(model, wish), uses, requests, sections }
    }

    /// All that must hold for what is done with a sync object; formulas that are `True` may be among them.
    pub fn of(&self, sync: SyncId) -> Result<Vec<Formula>, NoEncoding> {
        Ok(match self.model.sync(sync).family {
            SyncFamily::Lock if self.model.sync(sync).regular => {
                let mut formulas = self.exclusions(sync);
                formulas.extend(self.failed_trylocks(sync));
                formulas
            }
            SyncFamily::Lock => self.irregular_lock(sync)?,
            SyncFamily::Cond => self.condition(sync),
            SyncFamily::Semaphore => self.semaphore(sync),
            SyncFamily::Barrier => self.barrier(sync)?,
            SyncFamily::Once => self.once(sync),
        })
    }

    /// `a` is executed before `b`.
    pub fn before(&self, a: StepId, b: StepId) -> Formula {
        if a == b || self.model.must_precede(b, a) {
            Formula::False
        } else if self.model.must_precede(a, b) {
            Formula::True
        } else {
            Formula::Is(Atom::Before(a, b))
        }
    }

    /// The same for ops: those of one step are in the order of its program.
    pub fn ahead(&self, a: Point, b: Point) -> Formula {
        if a.step == b.step {
            Formula::known(a.position < b.position)
        } else {
            self.before(a.step, b.step)
        }
    }

    /// The op is after the end, or this holds.
    pub fn require(&self, at: Point, formula: Formula) -> Formula {
        Formula::or([self.after_end(at), formula])
    }

    /// The op of a read.
    pub fn read_point(&self, read: &ReadSlot) -> Point {
        let is_read = |at: &usize| match self.model.ops[*at] {
            Op::Read(slot) => self.model.read(slot) == read,
            _ => false,
        };
        let mut range = self.model.op_range(read.step);
        let start = range.start;
        let position = range.rfind(is_read).unwrap_or(start);
        Point { step: read.step, position: position as u32 }
    }
}
