//! Reads-from: each read takes its value from the last write of its cell before it.
//!
//! For a slot r with candidates w: `⋁ r_w`, and `r_w ⇒ w < r ∧ ⋀ (y < w ∨ r < y) ∧ v_r = value(w)` for every other
//! write y of the cell; the initial value is a write before all. With `T1: x=1` and `T2: r=x`:
//! `(r_1 ∨ r_i) ∧ (r_1 ⇒ x=1 < r ∧ v = 1) ∧ (r_i ⇒ r < x=1 ∧ v = 0)`. Two sources exclude each other by order, so
//! that "at most one" need not be said. A read-modify-write is one step: nothing comes between its parts.
//!
//! Reads on whose values no condition depends are left out; they read what they read.

use unravel_trace::{Bug, Node, ThreadId};

use super::encode::Encoder;
use super::expressions::symbol_name;
use super::text::bits;
use crate::constraints::{Atom, Formula};
use crate::{Cell, Model, ReadSlot, SlotId, Source, StepId, WriteSlot};

impl Encoder<'_> {
    pub fn memory(&mut self) {
        self.script.comment("reads-from");
        self.mark_relevant();
        let mut symbols = Vec::new();
        for (index, read) in self.model.reads().iter().enumerate() {
            if self.relevant[index] {
                self.script.declare_bits(&value_name(index as u32), 8 * u32::from(read.bytes));
                symbols.push(read.symbol);
            }
        }
        symbols.dedup();
        for symbol in symbols {
            // Lowest bytes come first; `concat` wants the highest first.
            let slots: Vec<u32> = self.model.slots_of(symbol).collect();
            let wide: u32 =
                slots.iter().map(|s| 8 * u32::from(self.model.reads()[*s as usize].bytes)).sum();
            let term = slots.iter().skip(1).fold(value_name(slots[0]), |low, slot| {
                format!("(concat {} {low})", value_name(*slot))
            });
            self.script.define_bits(&symbol_name(symbol), wide, &term);
        }
        for index in 0..self.model.reads().len() as u32 {
            if self.relevant[index as usize] {
                self.read(SlotId(index));
            }
        }
    }

    /// Marks the reads on which conditions and the bug depend, through writes too.
    fn mark_relevant(&mut self) {
        let model = self.model;
        let mut seen = vec![false; model.exprs().len()];
        let mut todo: Vec<_> = model.checks().iter().map(|check| check.holds).collect();
        if let Bug::Condition { fails, .. } = model.bug() {
            todo.push(*fails);
        }
        while let Some(next) = todo.pop() {
            if std::mem::replace(&mut seen[next.index()], true) {
                continue;
            }
            match model.exprs().node(next) {
                Node::Symbol(symbol) => {
                    for slot in model.slots_of(symbol) {
                        self.relevant[slot as usize] = true;
                        for source in model.candidates(SlotId(slot)) {
                            if let Source::Write(write) = source {
                                todo.push(model.write(write).value);
                            }
                        }
                    }
                }
                node => node.operands(|of| todo.push(of)),
            }
        }
    }

    fn read(&mut self, slot: SlotId) {
        let read = *self.model.read(slot);
        let unexecuted = self.constraints.after_end(self.constraints.read_point(&read));
        let sources = self.selectors(slot);
        let any = Formula::or(sources.iter().map(|(_, selected)| selected.clone()));
        self.script.assert(&Formula::or([unexecuted.clone(), any]));
        for (source, selected) in sources {
            let value = self.source_value(source, read.cell);
            let equal = format!("(= {} {value})", value_name(slot.0));
            match selected {
                Formula::True => self.script.assert_unless(&unexecuted, &equal),
                selected => self.script.assert_unless(&selected.not(), &equal),
            }
        }
    }

    /// The candidates of a slot, each with what says that it is the source. Asserts once what that means.
    pub fn selectors(&mut self, slot: SlotId) -> Vec<(Source, Formula)> {
        if !self.sources[slot.index()].is_empty() {
            return self.sources[slot.index()].clone();
        }
        let read = *self.model.read(slot);
        let mut found = Vec::new();
        for source in self.model.candidates(slot) {
            let selected = match self.reads_from(&read, source) {
                known @ (Formula::True | Formula::False) => known,
                order => {
                    let selected = Formula::Is(Atom::ReadsFrom(slot, source));
                    self.script.assert(&Formula::or([selected.clone().not(), order]));
                    selected
                }
            };
            found.push((source, selected));
        }
        self.sources[slot.index()] = found.clone();
        found
    }

    /// The order in which a read sees a source.
    fn reads_from(&self, read: &ReadSlot, source: Source) -> Formula {
        let (model, constraints) = (self.model, &self.constraints);
        let writes = model.writes_of(read.cell);
        let others = writes.iter().map(|w| (*w, model.write(*w)));
        match source {
            Source::Initial => Formula::and(
                others
                    .filter(|(_, y)| y.step != read.step)
                    .map(|(_, y)| constraints.before(read.step, y.step)),
            ),
            Source::Write(index) => {
                let write = model.write(index);
                if write.step == read.step {
                    return Formula::True;
                }
                let mut parts = vec![constraints.before(write.step, read.step)];
                let nearest = Nearest::of(self.model, write, read);
                for (other, y) in others {
                    let together = y.step == read.step || y.step == write.step;
                    if other == index || together || nearest.makes_needless(self.model, y.step) {
                        continue;
                    }
                    let sides = [
                        constraints.before(y.step, write.step),
                        constraints.before(read.step, y.step),
                    ];
                    parts.push(Formula::or(sides));
                }
                Formula::and(parts)
            }
        }
    }

    fn source_value(&mut self, source: Source, cell: Cell) -> String {
        let bytes = self.model.cell_range(cell).1;
        match source {
            Source::Initial => match self.model.initial(cell) {
                Some(value) => bits(value, 8 * u32::from(bytes)),
                None => self.initial_value(cell),
            },
            Source::Write(index) => {
                let write = *self.model.write(index);
                let term = self.expressions.term(&mut self.script, write.value);
                let wide = u32::from(self.model.exprs().bits(write.value));
                let (low, part) = (8 * u32::from(write.offset), 8 * u32::from(write.bytes));
                if part == wide {
                    return term;
                }
                format!("((_ extract {} {low}) {term})", low + part - 1)
            }
        }
    }

    /// An unknown initial value: a constant of its own.
    fn initial_value(&mut self, cell: Cell) -> String {
        let name = initial_name(cell);
        if !self.initial.contains(&cell) {
            self.initial.push(cell);
            self.script.declare_bits(&name, 8 * u32::from(self.model.cell_range(cell).1));
        }
        name
    }
}

/// Of the writer's thread only the next write after the source matters, of the reader's only the last before it.
struct Nearest {
    writer: ThreadId,
    reader: ThreadId,
    /// Places among the steps of their threads.
    next: usize,
    last: usize,
    write: usize,
    read: usize,
}

impl Nearest {
    fn of(model: &Model, write: &WriteSlot, read: &ReadSlot) -> Nearest {
        let (writer, reader) = (model.owner(write.step), model.owner(read.step));
        let (write_place, read_place) = (model.place(write.step), model.place(read.step));
        let (mut next, mut last) = (usize::MAX, 0);
        for other in model.writes_of(read.cell) {
            let step = model.write(*other).step;
            let (owner, place) = (model.owner(step), model.place(step));
            if owner == writer && place > write_place {
                next = next.min(place);
            }
            if owner == reader && place < read_place {
                last = last.max(place);
            }
        }
        Nearest { writer, reader, next, last, write: write_place, read: read_place }
    }

    fn makes_needless(&self, model: &Model, y: StepId) -> bool {
        let (owner, place) = (model.owner(y), model.place(y));
        (owner == self.writer && place > self.write && place > self.next)
            || (owner == self.reader && place < self.read && place < self.last)
    }
}

fn value_name(slot: u32) -> String {
    format!("v{slot}")
}

pub(crate) fn initial_name(cell: Cell) -> String {
    format!("i{}", cell.0)
}
