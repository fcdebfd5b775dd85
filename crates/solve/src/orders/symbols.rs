//! Initial values that nobody knows: the conditions that depend on them are given to Z3, as bit-vectors.
//!
//! When all sources are chosen, what a condition reads is a term over the unknown initial values of a few cells. Z3 is
//! asked for values of these under which all such conditions hold. Without any, the sources in the slices of those
//! conditions that it blames cannot be chosen together, and that is learnt.

use rustc_hash::FxHashSet;
use unravel_trace::{ExprId, SymbolId};

use super::atoms::{Resolve, Term};
use super::theory::Search;
use crate::proof::Reason;
use crate::sat::{Keep, Lit, Said};
use crate::smt::expressions::{Expressions, symbol_name};
use crate::smt::memory::initial_name;
use crate::smt::text::{Script, bits};
use crate::z3::{Bits, Decided};
use crate::{Cell, Model, SlotId, Source};

use super::values::Values;

impl Search<'_, '_> {
    /// Finds initial values for what depends on them. False if there are none: that has been said.
    pub fn decide_symbols(&mut self, said: &mut Said<'_>) -> Result<bool, String> {
        self.state.initial.clear();
        if !self.state.unknown_memory {
            return Ok(true);
        }
        let mut open: Vec<(ExprId, bool, Vec<Lit>)> = Vec::new();
        for index in 0..self.state.conditions.len() {
            let watched = self.state.conditions[index];
            if self.state.values.get(watched.id).is_some() {
                continue;
            }
            let mut guard = None;
            if let Some((check, at)) = watched.check {
                let formula = self.constraints.check_guard(check, at);
                match self.term(&formula, said) {
                    Term::Known(true) => continue,
                    Term::Known(false) => {}
                    Term::Is(literal) if said.variables.is_true(literal) => continue,
                    Term::Is(literal) => guard = Some(!literal),
                }
            }
            let mut why = Vec::new();
            self.state.values.explain(self.model, watched.id, &mut why, |_| {});
            why.extend(guard);
            open.push((watched.id, watched.value, why));
        }
        if !said.is_silent() {
            // Guards that were made just now have no value yet.
            return Ok(false);
        }
        if open.is_empty() {
            return Ok(true);
        }
        let (text, cells) = terms(self.model, &self.state.values, &open);
        match crate::z3::decide_bits(&text, open.len(), &cells)? {
            Decided::Yes(Bits(values)) => {
                self.state.initial = values;
                Ok(true)
            }
            Decided::No(blamed) => {
                let literals = blamed.iter().flat_map(|index| &open[*index].2);
                let mut clause: Vec<Lit> = literals.map(|literal| !*literal).collect();
                clause.sort_unstable();
                clause.dedup();
                said.clause(clause, Keep::Forever, Reason::Initial);
                Ok(false)
            }
        }
    }
}

/// The conditions over the unknown cells that they depend on: `(=> a<index> condition)` for each.
fn terms(
    model: &Model,
    values: &Values,
    conditions: &[(ExprId, bool, Vec<Lit>)],
) -> (String, Vec<Cell>) {
    let mut writer = Writer {
        model,
        values,
        script: Script::default(),
        expressions: Expressions::new(model.exprs()),
        defined: FxHashSet::default(),
        cells: Vec::new(),
    };
    for (index, (id, value, _)) in conditions.iter().enumerate() {
        writer.define_all(*id);
        let term = writer.expressions.term(&mut writer.script, *id);
        let wanted = if *value { "#b1" } else { "#b0" };
        writer.script.declare(&format!("a{index}"), "Bool");
        writer.script.text.push_str(&format!("(assert (=> a{index} (= {term} {wanted})))\n"));
    }
    (writer.script.text, writer.cells)
}

struct Writer<'m> {
    model: &'m Model,
    values: &'m Values,
    script: Script,
    expressions: Expressions<'m>,
    defined: FxHashSet<SymbolId>,
    cells: Vec<Cell>,
}

impl Writer<'_> {
    /// Defines the symbols of an expression, those first that they depend on.
    fn define_all(&mut self, root: ExprId) {
        let mut todo: Vec<(SymbolId, bool)> =
            self.model.exprs().symbols(root).into_iter().map(|s| (s, false)).collect();
        while let Some((symbol, ready)) = todo.pop() {
            if self.defined.contains(&symbol) {
                continue;
            }
            if ready {
                self.defined.insert(symbol);
                self.define(symbol);
                continue;
            }
            todo.push((symbol, true));
            for slot in self.model.slots_of(symbol).map(SlotId) {
                if let Some((Source::Write(write), _)) = self.values.chosen[slot.index()] {
                    let value = self.model.write(write).value;
                    todo.extend(self.model.exprs().symbols(value).into_iter().map(|s| (s, false)));
                }
            }
        }
    }

    fn define(&mut self, symbol: SymbolId) {
        let slots = self.model.slots_of(symbol).map(SlotId);
        let wide = slots.clone().map(|slot| 8 * u32::from(self.model.read(slot).bytes)).sum();
        let parts: Vec<String> = slots.map(|slot| self.source(slot)).collect();
        let mut parts = parts.into_iter();
        let first = parts.next().unwrap_or_default();
        // Lowest bytes come first; `concat` wants the highest first.
        let term = parts.fold(first, |low, part| format!("(concat {part} {low})"));
        self.script.define_bits(&symbol_name(symbol), wide, &term);
    }

    fn source(&mut self, slot: SlotId) -> String {
        let read = *self.model.read(slot);
        let wide = 8 * u32::from(read.bytes);
        match self.values.chosen[slot.index()] {
            Some((Source::Write(write), _)) => {
                let write = *self.model.write(write);
                let all = u32::from(self.model.exprs().bits(write.value));
                let term = self.expressions.term(&mut self.script, write.value);
                let low = 8 * u32::from(write.offset);
                if all == wide {
                    term
                } else {
                    format!("((_ extract {} {low}) {term})", low + wide - 1)
                }
            }
            // What is not read in this order may be anything.
            None | Some((Source::Initial, _)) => match self.model.initial(read.cell) {
                Some(value) => bits(value, wide),
                None => {
                    if !self.cells.contains(&read.cell) {
                        self.cells.push(read.cell);
                        self.script.declare_bits(&initial_name(read.cell), wide);
                    }
                    initial_name(read.cell)
                }
            },
        }
    }
}
