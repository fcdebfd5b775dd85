//! Fewest data-flow variations: search by reads-from, and the bound that proves it.
//!
//! Equal data flow gives an equal outcome, so an alternate on the recorded path differs in at least one reads-from
//! edge. Whether one is enough can be decided: each read on which the bug condition depends is given each other source
//! it could have, all other reads keep theirs; the values follow, and with them whether the run passes on its path;
//! what passes is steered to in the model, or refuted by the closure of orders.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_solve::{
    Answer, Bounds, Evaluator, Goal, Model, Query, SlotId, Solver, Source, StepId, Weights, Wish,
};
use unravel_trace::{Bug, EventKind, ExprId, Node, SymbolId, Trace, WakeCause};

use crate::alternate::{self, Candidate, Reference, rank};
use crate::closure::is_refuted;
use crate::modelled::Modelled;
use crate::points::Key;
use crate::world::{Ending, Mode, Order, World};

/// Longer runs are not searched further once a single change was found to do.
const LONG: usize = 2000;
/// Single changes that pass are looked for up to this many.
const ENOUGH: usize = 40;
/// Other sources that are looked at.
const MAX_CHANGES: usize = 4000;

/// No alternate on the recorded path has fewer data-flow variations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct LowerBound(pub u32);

/// What follows from the kind of the bug alone, on whatever path. A failure that a condition over reads decides needs
/// another value of some read, unless something else than a read decides paths too.
pub fn lower_bound(model: &Model, trace: &Trace) -> LowerBound {
    let by_reads = matches!(model.bug(), Bug::Condition { .. } | Bug::Reached { .. });
    let other_choices = trace.events.iter().any(|event| {
        matches!(
            event.kind,
            EventKind::TryLock { .. }
                | EventKind::SemTryWait { .. }
                | EventKind::Wake { by: WakeCause::Timeout, .. }
                | EventKind::BarrierLeave { .. }
                | EventKind::Once { .. }
                | EventKind::External { .. }
        )
    });
    LowerBound(u32::from(by_reads && !other_choices))
}

/// The bound on the recorded path, where only reads decide.
pub fn bound_on_path(model: &Model) -> LowerBound {
    LowerBound(u32::from(matches!(model.bug(), Bug::Condition { .. })))
}

/// Alternates in the model, nearest first, and a bound for those on the recorded path.
pub fn nearest(
    world: &mut Modelled<'_>,
    model: &Model,
    reference: &mut Reference,
    wanted: usize,
) -> (Vec<Candidate>, LowerBound) {
    let mut bound = bound_on_path(model);
    let mut candidates = Vec::new();
    if bound.0 > 0 {
        let (found, decided) = single_changes(world, model, reference);
        if found.is_empty() && decided {
            bound = LowerBound(2);
        }
        candidates = found;
    }
    if candidates.is_empty() || model.len() <= LONG {
        candidates.extend(alternate::nearest(world, reference, wanted));
    }
    candidates.sort_by_key(rank);
    candidates.dedup_by(|a, b| a.lineup.edges == b.lineup.edges);
    candidates.truncate(wanted);
    (candidates, bound)
}

/// What a solver adds: an alternate with fewer data-flow variations than the best so far, a proof that there is none.
pub fn by_solver(
    world: &mut Modelled<'_>,
    model: &Model,
    reference: &mut Reference,
    solver: &mut dyn Solver,
    bounds: Bounds<'_>,
) -> (Option<Candidate>, LowerBound) {
    let order: Vec<StepId> = world.order().to_vec();
    let query = Query {
        model,
        wish: Wish::Passes,
        keep: Vec::new(),
        assume: Vec::new(),
        near: Some(&order),
        free: None,
        bounds,
    };
    let goal = Goal::Sum(Weights { data_flow: 1, segments: 0, switches: 0 });
    let (nearest, bound) = match solver.nearest(&query, goal) {
        Answer::Yes(nearest) => {
            let bound = LowerBound(nearest.cost[0]);
            (Some(nearest), bound)
        }
        Answer::Unknown { best, .. } => {
            let bound = LowerBound(best.as_ref().map_or(0, |b| b.bound[0]));
            (best, bound)
        }
        Answer::No => (None, LowerBound(0)),
    };
    let observed = nearest.and_then(|n| world.observe_order(&n.order));
    (observed.map(|o| reference.measure(o, None, "solver")), bound)
}

/// Alternates that differ in a single reads-from edge; whether the answer "none" is proved.
fn single_changes(
    world: &mut Modelled<'_>,
    model: &Model,
    reference: &mut Reference,
) -> (Vec<Candidate>, bool) {
    let order: Vec<StepId> = world.order().to_vec();
    let mut evaluator = Evaluator::new(model);
    evaluator.evaluate(&order);
    let sources = evaluator.sources().to_vec();
    let users = users(model);
    let mut found = Vec::new();
    let mut decided = true;
    let mut tried = 0;
    for slot in slice(model, &sources) {
        for source in model.candidates(slot) {
            if source == sources[slot.index()] {
                continue;
            }
            tried += 1;
            if tried > MAX_CHANGES || found.len() >= ENOUGH || !world.may_go_on() {
                return (found, false);
            }
            let mut changed = sources.clone();
            changed[slot.index()] = source;
            if !passes(model, &changed, &affected(model, &sources, &users, slot)) {
                continue;
            }
            match steer_to(world, model, reference, slot, source) {
                Some(candidate) => found.push(candidate),
                None => decided &= is_refuted(model, &changed),
            }
        }
    }
    (found, decided)
}

/// The reads that the bug condition depends on, through the writes they read from.
pub fn slice(model: &Model, sources: &[Source]) -> Vec<SlotId> {
    let mut todo: Vec<ExprId> = model.bug_condition().into_iter().collect();
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
    slots.sort();
    slots
}

/// What uses a symbol: conditions, and writes by index.
#[derive(Default)]
struct Users {
    checks: Vec<ExprId>,
    writes: Vec<u32>,
}

fn users(model: &Model) -> FxHashMap<SymbolId, Users> {
    let mut users: FxHashMap<SymbolId, Users> = FxHashMap::default();
    for check in model.checks() {
        for symbol in model.exprs().symbols(check.holds) {
            users.entry(symbol).or_default().checks.push(check.holds);
        }
    }
    for (index, write) in model.writes().iter().enumerate() {
        for symbol in model.exprs().symbols(write.value) {
            users.entry(symbol).or_default().writes.push(index as u32);
        }
    }
    users
}

/// The conditions that another value of this read may change, through the writes that carry it on.
fn affected(
    model: &Model,
    sources: &[Source],
    users: &FxHashMap<SymbolId, Users>,
    slot: SlotId,
) -> Vec<ExprId> {
    let mut todo = vec![model.read(slot).symbol];
    let mut seen: FxHashSet<SymbolId> = todo.iter().copied().collect();
    let mut checks = Vec::new();
    while let Some(symbol) = todo.pop() {
        let Some(users) = users.get(&symbol) else { continue };
        checks.extend(&users.checks);
        for write in &users.writes {
            for reader in model.reads_of(model.write(*write).cell) {
                let read = model.read(SlotId(*reader));
                if sources[*reader as usize] == Source::Write(*write) && seen.insert(read.symbol) {
                    todo.push(read.symbol);
                }
            }
        }
    }
    checks.sort();
    checks.dedup();
    checks
}

/// Whether values under these reads-from keep every thread on its path and avoid the bug.
fn passes(model: &Model, sources: &[Source], checks: &[ExprId]) -> bool {
    let Some(bug) = model.bug_condition() else { return false };
    let mut values =
        Values { model, sources, known: FxHashMap::default(), open: FxHashSet::default() };
    values.expression(bug) == Some(0) && checks.iter().all(|c| values.expression(*c) == Some(1))
}

/// Values that follow from reads-from.
struct Values<'m> {
    model: &'m Model,
    sources: &'m [Source],
    known: FxHashMap<ExprId, Option<u128>>,
    /// Symbols being computed: one that needs itself has no value.
    open: FxHashSet<SymbolId>,
}

impl Values<'_> {
    fn expression(&mut self, id: ExprId) -> Option<u128> {
        if let Some(value) = self.known.get(&id) {
            return *value;
        }
        let exprs = self.model.exprs();
        let node = exprs.node(id);
        let value = if let Node::Symbol(symbol) = node {
            self.symbol(symbol)
        } else {
            let mut parts: Vec<(ExprId, Option<u128>)> = Vec::new();
            node.operands(|of| parts.push((of, None)));
            for part in &mut parts {
                part.1 = self.expression(part.0);
            }
            parts.iter().all(|(_, value)| value.is_some()).then(|| {
                exprs.apply(id, |of| {
                    parts.iter().find(|(part, _)| *part == of).and_then(|(_, v)| *v).unwrap_or(0)
                })
            })
        };
        self.known.insert(id, value);
        value
    }

    fn symbol(&mut self, symbol: SymbolId) -> Option<u128> {
        if !self.open.insert(symbol) {
            return None;
        }
        let mut value = Some(0);
        for slot in self.model.slots_of(symbol).map(SlotId) {
            let read = *self.model.read(slot);
            let part = match self.sources[slot.index()] {
                Source::Initial => self.model.initial(read.cell),
                Source::Write(write) => {
                    let write = *self.model.write(write);
                    self.expression(write.value).map(|v| v >> (8 * u32::from(write.offset)))
                }
            };
            let mask = unravel_trace::mask(8 * read.bytes);
            value = match (value, part) {
                (Some(value), Some(part)) => {
                    Some(value | (part & mask) << (8 * u32::from(read.offset)))
                }
                _ => None,
            };
        }
        self.open.remove(&symbol);
        value
    }
}

/// A schedule near the failing one in which a read has this source.
fn steer_to(
    world: &mut Modelled<'_>,
    model: &Model,
    reference: &mut Reference,
    slot: SlotId,
    source: Source,
) -> Option<Candidate> {
    let read = *model.read(slot);
    let place = |step: StepId| world.place(step);
    let others: Vec<StepId> = model
        .writes_of(read.cell)
        .iter()
        .filter(|w| Source::Write(**w) != source)
        .map(|w| model.write(*w).step)
        .filter(|step| *step != read.step)
        .collect();
    let key = |world: &Modelled<'_>, step: StepId| world.key(step);
    let reader = key(world, read.step);
    let attempts: Vec<Vec<Order>> = match source {
        Source::Initial => vec![others.iter().map(|w| (reader, key(world, *w))).collect()],
        Source::Write(write) => {
            let writer = model.write(write).step;
            let writer_key = key(world, writer);
            let after: Vec<Order> = others
                .iter()
                .filter(|w| place(**w) > place(writer))
                .map(|w| (reader, key(world, *w)))
                .collect();
            let before: Vec<Order> = others
                .iter()
                .filter(|w| place(**w) < place(read.step))
                .map(|w| (key(world, *w), writer_key))
                .collect();
            let from: Order = (writer_key, reader);
            vec![[&[from][..], &after].concat(), [&[from][..], &before].concat()]
        }
    };
    for orders in attempts {
        for orders in with_locks(world, &orders) {
            let tried = world.steer(&orders, Mode::Follow);
            if tried.ending == Ending::Passed
                && let Some(observed) = world.observe(&tried)
            {
                return Some(reference.measure(observed, Some(tried), "local"));
            }
        }
    }
    None
}

/// The orders as they are, and with threads stopped before the locks around what they wait at.
fn with_locks(world: &Modelled<'_>, orders: &[Order]) -> Vec<Vec<Order>> {
    let lifted: Vec<Order> = orders
        .iter()
        .map(|(first, second): &(Key, Key)| {
            let at = world.step(*second).map_or(0, |step| world.place(step));
            let locks = crate::pairs::enclosing_locks(world.failing(), at);
            (*first, locks.last().copied().unwrap_or(*second))
        })
        .collect();
    if lifted == orders { vec![orders.to_vec()] } else { vec![orders.to_vec(), lifted] }
}
