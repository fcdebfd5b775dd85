//! What the rules look at: the model, how the order that is asked for ends, sections of locks, writes by thread.

use rustc_hash::FxHashMap;
use unravel_solve::{Cell, Model, Op, Section, SlotId, Source, StepId, Wish};
use unravel_trace::{Bug, ExprId};

/// Where an order ends before all its steps are executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Never,
    /// Once all of these are executed; within the only one, after the op at this place.
    After {
        steps: Vec<StepId>,
        last: Option<u32>,
    },
    /// Where a request is granted.
    Grant,
}

#[derive(Debug)]
pub(crate) struct Rules<'m> {
    pub model: &'m Model,
    pub wish: Wish,
    pub end: End,
    /// By step: the sections of regular locks that it begins, lies in or ends.
    pub sections: Vec<Vec<Section>>,
    /// By cell: its writes, thread by thread in program order.
    writes: FxHashMap<Cell, Vec<Vec<u32>>>,
}

impl<'m> Rules<'m> {
    pub fn new(model: &'m Model, wish: Wish) -> Rules<'m> {
        let mut sections = vec![Vec::new(); model.len()];
        for section in model.sections() {
            let requested = section.acquire.is_some_and(|step| model.is_request(step));
            if !model.sync(section.lock).regular || requested {
                continue;
            }
            let steps = model.thread_steps(section.thread);
            let from = section.acquire.map_or(0, |step| model.place(step));
            let to = section.release.map_or(steps.len(), |step| model.place(step) + 1);
            for step in &steps[from..to] {
                sections[step.index()].push(*section);
            }
        }
        let mut writes: FxHashMap<Cell, Vec<Vec<u32>>> = FxHashMap::default();
        for cell in model.cells() {
            let mut by_thread = vec![Vec::new(); model.threads()];
            for write in model.writes_of(cell) {
                by_thread[model.owner(model.write(*write).step).index()].push(*write);
            }
            by_thread.retain(|writes| !writes.is_empty());
            for of_thread in &mut by_thread {
                of_thread.sort_by_key(|write| model.place(model.write(*write).step));
            }
            writes.insert(cell, by_thread);
        }
        Rules { model, wish, end: end(model, wish), sections, writes }
    }

    pub fn writes(&self, cell: Cell) -> &[Vec<u32>] {
        self.writes.get(&cell).map_or(&[], Vec::as_slice)
    }

    /// The place of the op among all ops, where a slot is read.
    pub fn read_at(&self, slot: SlotId) -> Option<u32> {
        let step = self.model.read(slot).step;
        self.model
            .op_range(step)
            .zip(self.model.program(step))
            .find_map(|(place, op)| (*op == Op::Read(slot)).then_some(place as u32))
    }

    /// What the reading step itself wrote before to the cell: nothing else can be read then.
    pub fn own_source(&self, slot: SlotId) -> Option<Source> {
        let read = self.model.read(slot);
        let before = self.model.program(read.step).iter().take_while(|op| **op != Op::Read(slot));
        let own = before.filter_map(|op| match op {
            Op::Write(write) if self.model.write(*write).cell == read.cell => Some(*write),
            _ => None,
        });
        own.last().map(Source::Write)
    }

    /// Whether a later write of the same step hides this one from other steps.
    pub fn is_hidden(&self, write: u32) -> bool {
        let (step, cell) = (self.model.write(write).step, self.model.write(write).cell);
        let after = self.model.program(step).iter().skip_while(|op| **op != Op::Write(write));
        after.skip(1).any(|op| matches!(op, Op::Write(w) if self.model.write(*w).cell == cell))
    }

    /// The op at a place among all ops, with its step.
    pub fn op_at(&self, place: u32) -> Option<(StepId, Op)> {
        let step =
            self.model.steps().find(|s| self.model.op_range(*s).contains(&(place as usize)))?;
        let first = self.model.op_range(step).start;
        self.model.program(step).get(place as usize - first).map(|op| (step, *op))
    }
}

/// The steps whose reads an expression depends on.
pub(crate) fn reading_steps(model: &Model, expression: ExprId) -> Vec<StepId> {
    let symbols = model.exprs().symbols(expression).into_iter();
    let slots = symbols.flat_map(|symbol| model.slots_of(symbol)).map(SlotId);
    slots.map(|slot| model.read(slot).step).collect()
}

fn end(model: &Model, wish: Wish) -> End {
    match (model.bug(), wish, model.bug_step()) {
        (Bug::Condition { .. } | Bug::Reached { .. }, Wish::Fails, Some(bug)) => {
            match model.bug_condition().filter(|_| model.is_bug_deferred()) {
                // Decided when the last of its reads has its value.
                Some(condition) => {
                    let mut steps = reading_steps(model, condition);
                    steps.push(bug);
                    steps.sort();
                    steps.dedup();
                    End::After { steps, last: None }
                }
                None => {
                    let mut ops = model.op_range(bug).zip(model.program(bug));
                    let last = ops.find(|(_, op)| **op == Op::Bug).map(|(place, _)| place as u32);
                    End::After { steps: vec![bug], last }
                }
            }
        }
        (Bug::Deadlock { .. }, Wish::Passes, _) => End::Grant,
        _ => End::Never,
    }
}
