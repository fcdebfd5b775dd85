//! What a failure depends on: memory that its condition, and the branches of the failing thread, were computed from.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_solve::{Evaluator, Model, SlotId, Source, StepId};
use unravel_trace::{Access, Bug, ExprId, SYNTHETIC, SymbolId, Symbolic};

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

    /// The same from a symbolic trace alone, in the order in which it happened: for runs that are too long for a model.
    pub fn sliced(symbolic: &Symbolic) -> Relevance {
        let slicer = Slicer::new(symbolic);
        let (bug, thread) = match symbolic.bug {
            Bug::Condition { thread, fails, .. } => (Some(fails), Some(thread)),
            Bug::Reached { thread, .. } => (None, Some(thread)),
            _ => (None, None),
        };
        let conditions = || symbolic.conditions.iter();
        let branches = conditions().filter(|c| Some(c.thread) == thread).map(|c| c.holds);
        Relevance {
            bug: slicer.memory(bug.into_iter()),
            path: slicer.memory(branches),
            any: Some(slicer.memory(conditions().map(|c| c.holds).chain(bug))),
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

/// Which write each read of a symbolic trace returned, by parts of memory of eight bytes.
struct Slicer<'s> {
    symbolic: &'s Symbolic,
    /// By access; nothing for writes, and for memory as it was before.
    sources: Vec<Option<u32>>,
}

impl<'s> Slicer<'s> {
    fn new(symbolic: &'s Symbolic) -> Slicer<'s> {
        let mut sources = vec![None; symbolic.accesses.len()];
        let mut last: FxHashMap<u64, u32> = FxHashMap::default();
        for shadow in &symbolic.shadows {
            let reads = shadow.first..shadow.first + shadow.reads;
            for read in reads.clone() {
                let of = granules(&symbolic.accesses[read as usize]);
                sources[read as usize] = of.filter_map(|g| last.get(&g)).max().copied();
            }
            for write in reads.end..reads.end + shadow.writes {
                last.extend(granules(&symbolic.accesses[write as usize]).map(|g| (g, write)));
            }
        }
        Slicer { symbolic, sources }
    }

    /// The memory that expressions were computed from, through the writes that were read.
    fn memory(&self, of: impl Iterator<Item = ExprId>) -> Memory {
        let mut memory = Memory::default();
        let mut seen: FxHashSet<ExprId> = of.collect();
        let mut todo: Vec<ExprId> = seen.iter().copied().collect();
        while let Some(expression) = todo.pop() {
            for symbol in self.symbolic.exprs.symbols(expression) {
                let Some(read) = self.symbolic.accesses.get(symbol.0 as usize) else { continue };
                match read.address & SYNTHETIC != 0 {
                    true => drop(memory.objects.insert(read.address & !SYNTHETIC)),
                    false => memory.granules.extend(granules(read)),
                }
                if let Some(write) = self.sources[symbol.0 as usize] {
                    let value = self.symbolic.accesses[write as usize].value;
                    if seen.insert(value) {
                        todo.push(value);
                    }
                }
            }
        }
        memory
    }
}

fn granules(access: &Access) -> std::ops::RangeInclusive<u64> {
    access.address >> 3..=(access.address + u64::from(access.bytes.max(1)) - 1) >> 3
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
