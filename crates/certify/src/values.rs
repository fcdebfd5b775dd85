//! Values that follow from sources of reads: of a condition, or of a counter that lost updates.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use unravel_solve::{Model, SlotId, Source};
use unravel_trace::{BinaryOp, ExprId, Node, SymbolId, mask, signed};

use crate::budgets::VALUES;

/// The value of an expression if these reads have these sources, whatever the others read; `None` if that is open.
pub(crate) fn value(model: &Model, reads: &[(SlotId, Source)], of: ExprId) -> Option<u128> {
    let sources: FxHashMap<SlotId, Source> = reads.iter().copied().collect();
    // `None`: open, or being looked at: then it depends on itself, and no order has such sources.
    let mut known: FxHashMap<ExprId, Option<u128>> = FxHashMap::default();
    let mut todo = vec![(of, false)];
    while let Some((id, ready)) = todo.pop() {
        if ready {
            let value = apply(model, &sources, &known, id);
            known.insert(id, value);
        } else if let Entry::Vacant(unknown) = known.entry(id) {
            unknown.insert(None);
            todo.push((id, true));
            match model.exprs().node(id) {
                Node::Symbol(symbol) => {
                    for slot in model.slots_of(symbol).map(SlotId) {
                        if let Some(Source::Write(write)) = sources.get(&slot) {
                            todo.push((model.write(*write).value, false));
                        }
                    }
                }
                node => node.operands(|operand| todo.push((operand, false))),
            }
        }
    }
    known.get(&of).copied().flatten()
}

fn apply(
    model: &Model,
    sources: &FxHashMap<SlotId, Source>,
    known: &FxHashMap<ExprId, Option<u128>>,
    id: ExprId,
) -> Option<u128> {
    let exprs = model.exprs();
    let get = |of: ExprId| known.get(&of).copied().flatten();
    match exprs.node(id) {
        Node::Symbol(symbol) => {
            let slots = model.slots_of(symbol);
            if slots.is_empty() {
                return None;
            }
            let mut whole = 0;
            for slot in slots.map(SlotId) {
                let read = model.read(slot);
                let part = match *sources.get(&slot)? {
                    Source::Initial => model.initial(read.cell)?,
                    Source::Write(write) => {
                        let write = model.write(write);
                        get(write.value)? >> (8 * u32::from(write.offset))
                    }
                };
                whole |= (part & mask(8 * read.bytes)) << (8 * u32::from(read.offset));
            }
            Some(whole & mask(exprs.bits(id)))
        }
        Node::Ite(condition, then, other) => get(if get(condition)? != 0 { then } else { other }),
        Node::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
            let decisive = if op == BinaryOp::And { 0 } else { mask(exprs.bits(id)) };
            match (get(a), get(b)) {
                (Some(a), _) if a == decisive => Some(decisive),
                (_, Some(b)) if b == decisive => Some(decisive),
                (Some(_), Some(_)) => Some(exprs.apply(id, |of| get(of).unwrap_or(0))),
                _ => None,
            }
        }
        node => {
            let mut all = true;
            node.operands(|operand| all &= get(operand).is_some());
            all.then(|| exprs.apply(id, |of| get(of).unwrap_or(0)))
        }
    }
}

/// Whether a condition over one read of a counter has this value, whatever the sources that are not given.
///
/// Every write of the cell is a constant or adds a constant to what was read from it. So a read sees a constant and the
/// updates since, each of which reads what the one before wrote: no two of them, nor the read itself, read the same
/// source. What must come after the read is not among them.
pub(crate) fn counts(
    model: &Model,
    reads: &[(SlotId, Source)],
    condition: ExprId,
    wanted: bool,
) -> Option<bool> {
    let [symbol] = model.exprs().symbols(condition)[..] else { return None };
    let reader = only_slot(model, symbol)?;
    let cell = model.read(reader).cell;
    let bits = 8 * model.cell_range(cell).1;
    if bits > 64 || model.exprs().bits(condition) != 1 {
        return None;
    }
    let first = signed(model.initial(cell)?, bits);
    let (mut least, mut most) = (first, first);
    // By read: the least and the most that writes add to it.
    let mut updates: FxHashMap<SlotId, (i128, i128)> = FxHashMap::default();
    for write in model.writes_of(cell).iter().map(|write| model.write(*write)) {
        if write.offset != 0 || model.exprs().bits(write.value) != bits {
            return None;
        }
        match update(model, write.value, bits)? {
            (None, constant) => (least, most) = (least.min(constant), most.max(constant)),
            (Some(slot), added) => {
                if model.read(slot).cell != cell {
                    return None;
                }
                let range = updates.entry(slot).or_insert((0, 0));
                *range = (range.0.min(added), range.1.max(added));
            }
        }
    }
    let end = model.read(reader).step;
    updates.retain(|slot, _| {
        let step = model.read(*slot).step;
        *slot != reader && step != end && !model.must_precede(end, step)
    });
    let sources: FxHashMap<SlotId, Source> = reads.iter().copied().collect();
    let taken = sources.get(&reader);
    let mut groups: FxHashMap<Source, (i128, i128)> = FxHashMap::default();
    for (slot, (low, high)) in updates {
        match sources.get(&slot) {
            None => (least, most) = (least + low, most + high),
            Some(source) if Some(source) == taken => {}
            Some(source) => {
                let group = groups.entry(*source).or_insert((0, 0));
                *group = (group.0.min(low), group.1.max(high));
            }
        }
    }
    for (low, high) in groups.into_values() {
        (least, most) = (least + low, most + high);
    }
    let limit = 1i128 << (bits - 1);
    if least <= -limit || most >= limit || most - least > VALUES {
        return None;
    }
    let has = |value: i128| {
        let value = value as u128 & mask(bits);
        (model.exprs().evaluate(condition, &|_| value) != 0) == wanted
    };
    (least..=most).all(|value| !has(value)).then_some(!wanted)
}

/// What is written: a constant, or what a slot read with a constant added.
fn update(model: &Model, value: ExprId, bits: u8) -> Option<(Option<SlotId>, i128)> {
    let exprs = model.exprs();
    match exprs.node(value) {
        Node::Const(value) => Some((None, signed(value, bits))),
        Node::Symbol(symbol) => Some((Some(only_slot(model, symbol)?), 0)),
        Node::Binary(op, a, b) => {
            let (symbol, added) = match (op, exprs.node(a), exprs.node(b)) {
                (BinaryOp::Add, Node::Symbol(s), Node::Const(c))
                | (BinaryOp::Add, Node::Const(c), Node::Symbol(s)) => (s, signed(c, bits)),
                (BinaryOp::Sub, Node::Symbol(s), Node::Const(c)) => (s, -signed(c, bits)),
                _ => return None,
            };
            Some((Some(only_slot(model, symbol)?), added))
        }
        _ => None,
    }
}

fn only_slot(model: &Model, symbol: SymbolId) -> Option<SlotId> {
    let slots = model.slots_of(symbol);
    (slots.len() == 1).then_some(SlotId(slots.start))
}
