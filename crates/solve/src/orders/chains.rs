//! Counters: how far a chain of updates can get.
//!
//! Where every write of a cell is a constant or adds a constant to what was read from that cell, a read of it sees the
//! end of a chain: a constant, and the updates since, each reading what the one before wrote. Two updates that read the
//! same source are not both in one chain, and neither is one that reads the same as the reader itself. So each choice
//! of a source that is taken already loses an update, and a condition that needs (nearly) all of them is violated by a
//! few choices. Evaluation sees that only when the whole chain is chosen, and blames all of it.
//!
//! *Approximated*: only updates that must come after the reader are known not to count, and only conditions over a
//! single read are looked at. That errs towards silence.

use rustc_hash::FxHashMap;
use unravel_trace::{BinaryOp, ExprId, Node, mask};

use crate::budgets::{CONDITIONS, VALUES};
use crate::sat::Lit;
use crate::{Cell, Model, SlotId, Source};

/// One condition over the end of a chain.
#[derive(Debug)]
struct Chain {
    /// Its index among the conditions that are watched.
    condition: u32,
    reader: SlotId,
    /// By update: how much it adds in the direction that the condition needs.
    gains: FxHashMap<SlotId, u128>,
    /// What may be lost before the condition cannot hold.
    slack: u128,
    /// By source: who reads it, with what that adds; `None` for the reader itself.
    groups: FxHashMap<Source, Vec<(Option<u128>, Lit)>>,
    lost: u128,
}

/// All chains.
#[derive(Debug, Default)]
pub(super) struct Chains {
    all: Vec<Chain>,
    /// By slot: the chains that it is in.
    of: FxHashMap<SlotId, Vec<u32>>,
    trail: Vec<(u32, Source, u128)>,
    levels: Vec<usize>,
}

/// A condition that cannot hold any more, and the choices to blame.
#[derive(Debug)]
pub(super) struct Broken {
    pub condition: u32,
    pub why: Vec<Lit>,
}

impl Chains {
    /// For conditions with the value that each must have.
    pub fn new(model: &Model, conditions: &[(ExprId, bool)]) -> Chains {
        let mut chains = Chains::default();
        let mut cells: FxHashMap<Cell, Option<Updates>> = FxHashMap::default();
        let mut seen: FxHashMap<Cell, usize> = FxHashMap::default();
        for (index, (id, value)) in conditions.iter().enumerate().rev() {
            let [symbol] = model.exprs().symbols(*id)[..] else { continue };
            let Some(reader) = only_slot(model, symbol) else { continue };
            let cell = model.read(reader).cell;
            let count = seen.entry(cell).or_insert(0);
            *count += 1;
            if *count > CONDITIONS {
                continue;
            }
            let updates = cells.entry(cell).or_insert_with(|| Updates::of(model, cell));
            let Some(updates) = updates else { continue };
            for sign in [1, -1] {
                let chain = updates.chain(model, index as u32, reader, (*id, *value), sign);
                chains.all.extend(chain);
            }
        }
        for (index, chain) in chains.all.iter().enumerate() {
            for slot in chain.gains.keys().chain([&chain.reader]) {
                chains.of.entry(*slot).or_default().push(index as u32);
            }
        }
        chains
    }

    pub fn begin_level(&mut self) {
        self.levels.push(self.trail.len());
    }

    pub fn back_to(&mut self, levels: usize) {
        for (chain, source, lost) in self.trail.drain(self.levels[levels]..).rev() {
            let chain = &mut self.all[chain as usize];
            chain.lost = lost;
            if let Some(group) = chain.groups.get_mut(&source) {
                group.pop();
            }
        }
        self.levels.truncate(levels);
    }

    /// A slot reads from here.
    pub fn choose(&mut self, slot: SlotId, source: Source, why: Lit) -> Option<Broken> {
        let mut broken = None;
        for &index in self.of.get(&slot).into_iter().flatten() {
            let chain = &mut self.all[index as usize];
            self.trail.push((index, source, chain.lost));
            let gain = (slot != chain.reader).then(|| chain.gains[&slot]);
            let group = chain.groups.entry(source).or_default();
            let before = loss(group);
            group.push((gain, why));
            chain.lost = chain.lost + loss(group) - before;
            if chain.lost > chain.slack && broken.is_none() {
                broken = Some(Broken { condition: chain.condition, why: chain.blame() });
            }
        }
        broken
    }
}

/// What the readers of one source lose: all but the one that gains most, or all if the end of the chain reads it.
fn loss(group: &[(Option<u128>, Lit)]) -> u128 {
    let gains = group.iter().filter_map(|(gain, _)| *gain);
    let most = gains.clone().max().unwrap_or(0);
    let is_end = group.iter().any(|(gain, _)| gain.is_none());
    gains.sum::<u128>() - if is_end { 0 } else { most }
}

impl Chain {
    /// Choices that lose more than there is to lose, the greatest losses first.
    fn blame(&self) -> Vec<Lit> {
        let mut groups: Vec<&Vec<(Option<u128>, Lit)>> =
            self.groups.values().filter(|group| loss(group) > 0).collect();
        groups.sort_by_key(|group| (std::cmp::Reverse(loss(group)), group.last().map(|g| g.1)));
        let mut why = Vec::new();
        let mut lost = 0;
        for group in groups {
            // The one that stays in the chain first: the end itself, or the one that gains most.
            let mut group = group.clone();
            group.sort_by_key(|(gain, literal)| {
                (std::cmp::Reverse(gain.unwrap_or(u128::MAX)), *literal)
            });
            for (place, (gain, literal)) in group.into_iter().enumerate() {
                if lost > self.slack {
                    return why;
                }
                why.push(literal);
                if place > 0 {
                    lost += gain.unwrap_or(0);
                }
            }
        }
        why
    }
}

/// All writes of a cell, where they are constants and updates by constants.
#[derive(Debug)]
struct Updates {
    bits: u8,
    /// The least and greatest constant that a chain may begin with.
    base: (i128, i128),
    /// The read, and what is added.
    all: Vec<(SlotId, i128)>,
}

impl Updates {
    fn of(model: &Model, cell: Cell) -> Option<Updates> {
        let bits = 8 * model.cell_range(cell).1;
        if bits > 64 {
            return None;
        }
        let first = signed(model.initial(cell)?, bits);
        let mut updates = Updates { bits, base: (first, first), all: Vec::new() };
        for write in model.writes_of(cell).iter().map(|write| model.write(*write)) {
            if write.offset != 0 || model.exprs().bits(write.value) != bits {
                return None;
            }
            let (symbol, added) = match model.exprs().node(write.value) {
                Node::Const(value) => {
                    let value = signed(value, bits);
                    updates.base = (updates.base.0.min(value), updates.base.1.max(value));
                    continue;
                }
                Node::Symbol(symbol) => (symbol, 0),
                Node::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                    let (symbol, constant) = match (model.exprs().node(a), model.exprs().node(b)) {
                        (Node::Symbol(symbol), Node::Const(value)) => (symbol, value),
                        (Node::Const(value), Node::Symbol(symbol)) if op == BinaryOp::Add => {
                            (symbol, value)
                        }
                        _ => return None,
                    };
                    let added = signed(constant, bits);
                    (symbol, if op == BinaryOp::Add { added } else { -added })
                }
                _ => return None,
            };
            let slot = only_slot(model, symbol).filter(|slot| model.read(*slot).cell == cell)?;
            updates.all.push((slot, added));
        }
        Some(updates)
    }

    /// What the condition over this reader needs, in one direction.
    fn chain(
        &self,
        model: &Model,
        condition: u32,
        reader: SlotId,
        (id, wanted): (ExprId, bool),
        sign: i128,
    ) -> Option<Chain> {
        let end = model.read(reader).step;
        let mut gains: FxHashMap<SlotId, u128> = FxHashMap::default();
        let mut against = 0;
        for (slot, added) in &self.all {
            let step = model.read(*slot).step;
            if *slot == reader || step == end || model.must_precede(end, step) {
                continue;
            }
            let added = added * sign;
            if added > 0 {
                // A read that several writes use is in a chain once, with the greatest of them.
                let gain = gains.entry(*slot).or_insert(0);
                *gain = (*gain).max(added as u128);
            } else {
                against += added;
            }
        }
        let all = gains.values().sum::<u128>() as i128;
        let (from, to) = if sign > 0 { self.base } else { (-self.base.1, -self.base.0) };
        let (least, most) = (from + against, to + all);
        let limit = 1i128 << (self.bits - 1);
        if all == 0 || least.abs() >= limit || most.abs() >= limit || most - least > VALUES {
            return None;
        }
        let holds = |value: &i128| {
            let bits = (value * sign) as u128 & mask(self.bits);
            (model.exprs().evaluate(id, &|_| bits) != 0) == wanted
        };
        let needed = (least..=most).find(holds)?;
        let slack = (most - needed) as u128;
        let (groups, lost) = (FxHashMap::default(), 0);
        Some(Chain { condition, reader, gains, slack, groups, lost })
    }
}

/// The slot of a symbol that has one.
fn only_slot(model: &Model, symbol: unravel_trace::SymbolId) -> Option<SlotId> {
    let slots = model.slots_of(symbol);
    (slots.len() == 1).then_some(SlotId(slots.start))
}

fn signed(value: u128, bits: u8) -> i128 {
    let shift = 128 - u32::from(bits);
    ((value << shift) as i128) >> shift
}
