//! What a failure depends on: memory that its condition, and the branches of the failing thread, were computed from.

use rustc_hash::FxHashSet;
use unravel_solve::{Evaluator, Model, SlotId, Source, StepId};
use unravel_trace::{Bug, ExprId, SYNTHETIC, SymbolId};

use crate::points::{Extents, Touch};

/// Memory that the bug condition was computed from, and memory that only decided that it was reached. Empty where
/// nothing is known.
#[derive(Clone, Debug, Default)]
pub struct Relevance {
    bug: Memory,
    path: Memory,
    /// What any branch or address of any thread, or the failure, was computed from; `None` if nobody knows. What is only
    /// written, or only printed, is not in it.
    any: Option<Memory>,
}

/// Parts of memory, by eight bytes, and heap objects whose liveness matters.
#[derive(Clone, Debug, Default)]
struct Memory {
    granules: FxHashSet<u64>,
    objects: FxHashSet<u64>,
}

impl Relevance {
    /// What the failure depends on in this order of steps.
    pub fn new(model: &Model, order: &[StepId]) -> Relevance {
        let mut evaluator = Evaluator::new(model);
        evaluator.evaluate(order);
        let thread = match model.bug() {
            Bug::Condition { thread, .. } | Bug::Reached { thread, .. } => Some(*thread),
            _ => None,
        };
        let branches = model.checks().iter().filter(|c| Some(c.thread) == thread).map(|c| c.holds);
        let all = model.checks().iter().map(|c| c.holds).chain(model.bug_condition());
        Relevance {
            bug: Memory::new(model, evaluator.sources(), model.bug_condition().into_iter()),
            path: Memory::new(model, evaluator.sources(), branches),
            any: Some(Memory::new(model, evaluator.sources(), all)),
        }
    }

    /// Whether the failure could come another way for the sake of what is touched: a hard filter. What only one thread's other
    /// path would read is not in the failing run, so that every branch of every thread counts, not only those of the slice.
    pub fn may_matter(&self, touch: &Touch, extents: &Extents) -> bool {
        match (&self.any, touch) {
            (None, _) | (_, Touch::Sync { .. } | Touch::Nothing | Touch::Free { .. }) => true,
            (Some(any), touch) => any.is_touched(touch, extents),
        }
    }

    /// How little a point has to do with the failure: 0 if its condition depends on what it touches, 1 if only a
    /// branch on the way to it does, else 2.
    pub fn rank(&self, touch: &Touch, extents: &Extents) -> u32 {
        if self.bug.is_touched(touch, extents) {
            0
        } else if self.path.is_touched(touch, extents) {
            1
        } else {
            2
        }
    }
}

impl Memory {
    fn new(model: &Model, sources: &[Source], of: impl Iterator<Item = ExprId>) -> Memory {
        let mut memory = Memory::default();
        for slot in dependencies(model, sources, of) {
            let (address, bytes) = model.cell_range(model.read(slot).cell);
            if address & SYNTHETIC != 0 {
                memory.objects.insert(address & !SYNTHETIC);
            } else {
                let last = (address + u64::from(bytes.max(1)) - 1) >> 3;
                memory.granules.extend(address >> 3..=last);
            }
        }
        memory
    }

    fn is_touched(&self, touch: &Touch, extents: &Extents) -> bool {
        match *touch {
            Touch::Memory { address, bytes, .. } => {
                let last = (address + u64::from(bytes.max(1)) - 1) >> 3;
                (address >> 3..=last).take(8).any(|g| self.granules.contains(&g))
                    || self.objects.iter().any(|object| extents.contains(*object, address))
            }
            Touch::Free { address } => self.objects.contains(&address),
            Touch::Section(section) => {
                extents.section(section).iter().any(|part| self.is_touched(part, extents))
            }
            Touch::Sync { .. } | Touch::Nothing => false,
        }
    }
}

/// The reads that expressions depend on, through the writes they read from.
pub fn dependencies(
    model: &Model,
    sources: &[Source],
    of: impl Iterator<Item = ExprId>,
) -> Vec<SlotId> {
    let mut todo: Vec<ExprId> = of.collect();
    let mut seen: FxHashSet<SymbolId> = FxHashSet::default();
    let mut slots = Vec::new();
    while let Some(expression) = todo.pop() {
        for symbol in model.exprs().symbols(expression) {
            if !seen.insert(symbol) {
                continue;
            }
            for slot in model.slots_of(symbol).map(SlotId) {
                slots.push(slot);
                if let Source::Write(write) = sources[slot.index()] {
                    todo.push(model.write(write).value);
                }
            }
        }
    }
    slots
}
