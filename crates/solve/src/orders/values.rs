//! Values by evaluation: as soon as the sources of the reads in an expression are chosen, its value is known.
//!
//! Every expression that a condition may depend on counts its operands without a value. A read whose source has a
//! value passes it on; values spread from there through expressions and through writes to their readers, and are
//! taken back in reverse. What decides early does: a branch not taken, an `and` with 0, an `or` with all ones.
//! A value is explained by the reads-from choices in its slice, and by no more of them than were needed.
//!
//! A read from memory whose initial value nobody knows has no value here: see [`super::symbols`].

use unravel_trace::{BinaryOp, ExprId, Node, mask};

use crate::sat::Lit;
use crate::{Model, SlotId, Source};

/// Something that depends on a value, by the expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    Operand(ExprId),
    /// Index into [`Model::writes`].
    Written(u32),
    /// Index into the conditions that are watched.
    Condition(u32),
}

#[derive(Clone, Copy, Debug)]
enum Undo {
    Expression(ExprId),
    Slot(SlotId),
    Chosen(SlotId),
}

#[derive(Debug)]
pub(super) struct Values {
    /// By expression.
    known: Vec<bool>,
    value: Vec<u128>,
    /// Operands without a value; of symbols: slots.
    missing: Vec<u32>,
    /// By expression: a range of `uses`.
    starts: Vec<u32>,
    uses: Vec<Use>,
    /// By slot: its choice and the literal that made it.
    pub chosen: Vec<Option<(Source, Lit)>>,
    slot_known: Vec<bool>,
    slot_value: Vec<u128>,
    /// By symbol: its expressions.
    symbols: Vec<Vec<ExprId>>,
    /// By write: slots that read from it.
    pub readers: Vec<Vec<SlotId>>,
    trail: Vec<Undo>,
    levels: Vec<usize>,
    marks: Vec<u32>,
    stamp: u32,
}

impl Values {
    /// For these conditions; the slots they may depend on are the second part.
    pub fn new(model: &Model, conditions: &[ExprId]) -> (Values, Vec<bool>) {
        let (needed, slots) = relevant(model, conditions);
        let exprs = model.exprs();
        let mut all: Vec<(u32, Use)> = Vec::new();
        let mut missing = vec![0; exprs.len()];
        let mut symbols = vec![Vec::new(); model.slots.len()];
        for (id, node, _) in exprs.iter().filter(|(id, ..)| needed[id.index()]) {
            node.operands(|of| {
                all.push((of.0, Use::Operand(id)));
                missing[id.index()] += 1;
            });
            if let Node::Symbol(symbol) = node {
                symbols[symbol.0 as usize].push(id);
                missing[id.index()] = model.slots_of(symbol).len() as u32;
            }
        }
        for (index, write) in model.writes().iter().enumerate() {
            if needed[write.value.index()] {
                all.push((write.value.0, Use::Written(index as u32)));
            }
        }
        for (index, condition) in conditions.iter().enumerate() {
            all.push((condition.0, Use::Condition(index as u32)));
        }
        all.sort_by_key(|(of, _)| *of);
        let mut starts = vec![0; exprs.len() + 1];
        all.iter().for_each(|(of, _)| starts[*of as usize + 1] += 1);
        (0..exprs.len()).for_each(|index| starts[index + 1] += starts[index]);
        let values = Values {
            known: vec![false; exprs.len()],
            value: vec![0; exprs.len()],
            missing,
            starts,
            uses: all.into_iter().map(|(_, of)| of).collect(),
            chosen: vec![None; model.reads().len()],
            slot_known: vec![false; model.reads().len()],
            slot_value: vec![0; model.reads().len()],
            symbols,
            readers: vec![Vec::new(); model.writes().len()],
            trail: Vec::new(),
            levels: Vec::new(),
            marks: vec![0; exprs.len()],
            stamp: 0,
        };
        (values, slots)
    }

    /// Constants have their values from the beginning. Conditions that are decided by that.
    pub fn begin(&mut self, model: &Model) -> Vec<u32> {
        let mut decided = Vec::new();
        for (id, node, _) in model.exprs().iter() {
            let used = self.starts[id.index()] < self.starts[id.index() + 1];
            if let (Node::Const(value), true) = (node, used) {
                self.set(model, id, value, &mut decided);
            }
        }
        decided
    }

    pub fn begin_level(&mut self) {
        self.levels.push(self.trail.len());
    }

    pub fn back_to(&mut self, model: &Model, levels: usize) {
        let start = self.levels[levels];
        self.levels.truncate(levels);
        while self.trail.len() > start {
            let Some(undo) = self.trail.pop() else { break };
            match undo {
                Undo::Expression(id) => {
                    self.known[id.index()] = false;
                    for index in self.uses_of(id) {
                        if let Use::Operand(of) = self.uses[index] {
                            self.missing[of.index()] += 1;
                        }
                    }
                }
                Undo::Slot(slot) => {
                    self.slot_known[slot.index()] = false;
                    for id in &self.symbols[model.read(slot).symbol.0 as usize] {
                        self.missing[id.index()] += 1;
                    }
                }
                Undo::Chosen(slot) => {
                    if let Some((Source::Write(write), _)) = self.chosen[slot.index()].take() {
                        self.readers[write as usize].pop();
                    }
                }
            }
        }
    }

    /// A read takes its value from here; what it decides.
    pub fn choose(&mut self, model: &Model, slot: SlotId, source: Source, why: Lit) -> Vec<u32> {
        self.chosen[slot.index()] = Some((source, why));
        self.trail.push(Undo::Chosen(slot));
        let mut decided = Vec::new();
        match source {
            Source::Initial => {
                if let Some(value) = model.initial(model.read(slot).cell) {
                    self.give(model, slot, value, &mut decided);
                }
            }
            Source::Write(index) => {
                self.readers[index as usize].push(slot);
                let write = model.write(index);
                if self.known[write.value.index()] {
                    let value = self.value[write.value.index()] >> (8 * u32::from(write.offset));
                    self.give(model, slot, value, &mut decided);
                }
            }
        }
        decided
    }

    /// The value of a condition, if it is known.
    pub fn get(&self, id: ExprId) -> Option<u128> {
        self.known[id.index()].then(|| self.value[id.index()])
    }

    fn uses_of(&self, id: ExprId) -> std::ops::Range<usize> {
        self.starts[id.index()] as usize..self.starts[id.index() + 1] as usize
    }

    fn give(&mut self, model: &Model, slot: SlotId, value: u128, decided: &mut Vec<u32>) {
        let mut todo = vec![(slot, value)];
        while let Some((slot, value)) = todo.pop() {
            let read = model.read(slot);
            if self.slot_known[slot.index()] {
                continue;
            }
            self.slot_known[slot.index()] = true;
            self.slot_value[slot.index()] = value & mask(8 * read.bytes);
            self.trail.push(Undo::Slot(slot));
            for index in 0..self.symbols[read.symbol.0 as usize].len() {
                let id = self.symbols[read.symbol.0 as usize][index];
                self.missing[id.index()] -= 1;
                if self.missing[id.index()] == 0 {
                    let slots = model.slots_of(read.symbol);
                    let part = |s: u32| {
                        self.slot_value[s as usize]
                            << (8 * u32::from(model.reads()[s as usize].offset))
                    };
                    let whole = slots.map(part).fold(0, |all, part| all | part);
                    let whole = whole & mask(model.exprs().bits(id));
                    self.spread(model, id, whole, decided, &mut todo);
                }
            }
        }
    }

    fn set(&mut self, model: &Model, id: ExprId, value: u128, decided: &mut Vec<u32>) {
        let mut todo = Vec::new();
        self.spread(model, id, value, decided, &mut todo);
        for (slot, value) in todo {
            self.give(model, slot, value, decided);
        }
    }

    /// An expression has a value; and what follows. `readers` get theirs from a write.
    fn spread(
        &mut self,
        model: &Model,
        id: ExprId,
        value: u128,
        decided: &mut Vec<u32>,
        readers: &mut Vec<(SlotId, u128)>,
    ) {
        let mut todo = vec![(id, value)];
        while let Some((id, value)) = todo.pop() {
            if self.known[id.index()] {
                continue;
            }
            self.known[id.index()] = true;
            self.value[id.index()] = value;
            self.trail.push(Undo::Expression(id));
            for index in self.uses_of(id) {
                match self.uses[index] {
                    Use::Operand(of) => {
                        self.missing[of.index()] -= 1;
                        if !self.known[of.index()]
                            && let Some(value) = self.value_now(model, of)
                        {
                            todo.push((of, value));
                        }
                    }
                    Use::Condition(condition) => decided.push(condition),
                    Use::Written(write) => {
                        let value = value >> (8 * u32::from(model.write(write).offset));
                        readers.extend(self.readers[write as usize].iter().map(|r| (*r, value)));
                    }
                }
            }
        }
    }

    /// The value of an expression whose operands have theirs, or enough of them.
    fn value_now(&self, model: &Model, id: ExprId) -> Option<u128> {
        let exprs = model.exprs();
        if self.missing[id.index()] == 0 {
            return Some(exprs.apply(id, |of| self.value[of.index()]));
        }
        match exprs.node(id) {
            Node::Ite(condition, then, other) => {
                let chosen = if self.get(condition)? != 0 { then } else { other };
                self.get(chosen)
            }
            Node::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let decisive = decisive(op, exprs.bits(id));
                let decides = |of| self.get(of) == Some(decisive);
                (decides(a) || decides(b)).then_some(decisive)
            }
            _ => None,
        }
    }

    /// The choices that the value of an expression follows from, or the choices made so far that it may depend on.
    /// The slots read from memory that nobody knows are shown.
    pub fn explain(
        &mut self,
        model: &Model,
        id: ExprId,
        literals: &mut Vec<Lit>,
        mut unknown: impl FnMut(SlotId),
    ) {
        self.stamp += 1;
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            if std::mem::replace(&mut self.marks[id.index()], self.stamp) == self.stamp {
                continue;
            }
            match model.exprs().node(id) {
                Node::Symbol(symbol) => {
                    for slot in model.slots_of(symbol).map(SlotId) {
                        let Some((source, why)) = self.chosen[slot.index()] else { continue };
                        literals.push(why);
                        match source {
                            Source::Write(write) => todo.push(model.write(write).value),
                            Source::Initial if self.slot_known[slot.index()] => {}
                            Source::Initial => unknown(slot),
                        }
                    }
                }
                Node::Ite(condition, then, other) => match self.get(condition) {
                    Some(value) => todo.extend([condition, if value != 0 { then } else { other }]),
                    None => todo.extend([condition, then, other]),
                },
                Node::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                    let decisive = decisive(op, model.exprs().bits(id));
                    match [a, b].into_iter().find(|of| self.get(*of) == Some(decisive)) {
                        Some(enough) => todo.push(enough),
                        None => todo.extend([a, b]),
                    }
                }
                node => node.operands(|of| todo.push(of)),
            }
        }
        literals.sort_unstable();
        literals.dedup();
    }
}

/// The value of one operand that decides the whole.
fn decisive(op: BinaryOp, bits: u8) -> u128 {
    if op == BinaryOp::And { 0 } else { mask(bits) }
}

/// Expressions and slots that conditions may depend on, through any write of a cell that they may read.
fn relevant(model: &Model, conditions: &[ExprId]) -> (Vec<bool>, Vec<bool>) {
    let mut needed = vec![false; model.exprs().len()];
    let mut slots = vec![false; model.reads().len()];
    let mut cells = vec![false; model.cells().len()];
    let mut todo = conditions.to_vec();
    while let Some(next) = todo.pop() {
        if std::mem::replace(&mut needed[next.index()], true) {
            continue;
        }
        match model.exprs().node(next) {
            Node::Symbol(symbol) => {
                for slot in model.slots_of(symbol).map(SlotId) {
                    slots[slot.index()] = true;
                    let cell = model.read(slot).cell;
                    if !std::mem::replace(&mut cells[cell.index()], true) {
                        let writes = model.writes_of(cell).iter();
                        todo.extend(writes.map(|write| model.write(*write).value));
                    }
                }
            }
            node => node.operands(|of| todo.push(of)),
        }
    }
    (needed, slots)
}
