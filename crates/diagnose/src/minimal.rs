//! Fewest data-flow variations: search by reads-from, and the bound that proves it.
//!
//! Equal data flow gives an equal outcome, so an alternate on the recorded path differs in at least one reads-from
//! edge. Whether one is enough can be decided: each read on which the bug condition depends is given each other source
//! it could have, all other reads keep theirs; the values follow, and with them whether the run passes on its path;
//! what passes is steered to in the model, or refuted by the closure of orders.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_solve::{
    Answer, Bounds, Evaluator, Goal, Model, Op, Query, SlotId, Solver, Source, StepId, Wish,
    criteria,
};
use unravel_trace::{Bug, EventKind, ExprId, Key, Node, SymbolId, Trace, WakeCause};

use crate::alternate::{self, Nearby, Reference, Wanted, rank};
use crate::budgets::{ENOUGH_CHANGES, LONG_TRACE, MAX_CHANGES, MAX_PARTS};
use crate::closure::is_refuted;
use crate::modelled::Modelled;
use crate::relevance::dependencies;
use crate::world::{Ending, Mode, Order, World};

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
                | EventKind::Descriptor { .. }
        )
    });
    let simple = model.observed().is_some_and(|order| composed(model, &order).is_empty());
    LowerBound(u32::from(by_reads && !other_choices && simple))
}

/// The bound on the recorded path, where only reads decide.
pub fn bound_on_path(model: &Model, failing: &[StepId]) -> LowerBound {
    let composed = composed(model, failing);
    let mut evaluator = Evaluator::new(model);
    evaluator.evaluate(failing);
    let simple = slice(model, evaluator.sources())
        .iter()
        .all(|slot| !composed.contains(&model.read(*slot).event));
    LowerBound(u32::from(matches!(model.bug(), Bug::Condition { .. }) && simple))
}

/// Events that read from several others at once and may take a byte from one of them that they took from another:
/// another value without a new data flow.
fn composed(model: &Model, failing: &[StepId]) -> FxHashSet<u32> {
    let mut evaluator = Evaluator::new(model);
    evaluator.evaluate(failing);
    let flows = criteria::flows(model, &evaluator);
    let mut writers: FxHashMap<u32, Vec<Option<u32>>> = FxHashMap::default();
    flows.iter().for_each(|(writer, reader)| writers.entry(*reader).or_default().push(*writer));
    writers.retain(|_, writers| writers.len() > 1);
    let may_change = |slot: &SlotId, writers: &[Option<u32>]| {
        let others = model.candidates(*slot).into_iter();
        let mut others = others.filter(|source| *source != evaluator.sources()[slot.index()]);
        others.any(|source| writers.contains(&event_of(model, source)))
    };
    let composed = writers.into_iter().filter(|(reader, writers)| {
        slots_of_event(model, *reader).iter().any(|slot| may_change(slot, writers))
    });
    composed.map(|(reader, _)| reader).collect()
}

/// All that an event reads.
fn slots_of_event(model: &Model, event: u32) -> Vec<SlotId> {
    let reads = model.program(model.step_of_event(event)).iter().filter_map(|op| match op {
        Op::Read(slot) if model.read(*slot).event == event => Some(*slot),
        _ => None,
    });
    reads.collect()
}

/// The event that wrote; `None` for memory as it was before the run.
fn event_of(model: &Model, source: Source) -> Option<u32> {
    match source {
        Source::Initial => None,
        Source::Write(write) => Some(model.write(write).event),
    }
}

/// Alternates in the model, nearest first, and a bound for those on the recorded path.
pub fn nearest(
    world: &mut Modelled<'_>,
    model: &Model,
    reference: &mut Reference,
    wanted: usize,
    keep: usize,
) -> (Vec<Nearby>, LowerBound) {
    let mut bound = bound_on_path(model, world.order());
    let mut candidates = Vec::new();
    if bound.0 > 0 {
        let (found, decided) = single_changes(world, model, reference);
        if found.is_empty() && decided {
            bound = LowerBound(2);
        }
        candidates = found;
    }
    if candidates.is_empty() || model.len() <= LONG_TRACE {
        let wanted = Wanted { count: wanted, keep, flows: bound.0, doubles: true };
        candidates.extend(alternate::nearest(world, reference, wanted));
    }
    candidates.sort_by_key(rank);
    candidates.dedup_by(|a, b| a.lineup.edges == b.lineup.edges);
    candidates.truncate(keep);
    (candidates, bound)
}

/// What a solver says of the nearest alternate.
pub struct Solved {
    pub found: Option<Nearby>,
    /// Of the goals that count data-flow variations alone or first.
    pub bound: LowerBound,
    /// Whether it got to its end: nothing is better by the goal.
    pub answered: bool,
}

/// What a solver adds: the alternate that is best by a goal which counts data-flow variations alone or first, and a bound of those.
pub fn by_solver(
    world: &mut Modelled<'_>,
    model: &Model,
    reference: &mut Reference,
    solver: &mut dyn Solver,
    bounds: Bounds<'_>,
    goal: Goal,
) -> Solved {
    let order: Vec<StepId> = world.order().to_vec();
    let query = Query { near: Some(&order), bounds, ..Query::new(model, Wish::Passes) };
    let (nearest, bound, answered) = match solver.nearest(&query, goal) {
        Answer::Yes(nearest) => {
            let bound = LowerBound(nearest.cost[0]);
            (Some(nearest), bound, true)
        }
        Answer::Unknown { best, .. } => {
            let bound = LowerBound(best.as_ref().map_or(0, |b| b.bound[0]));
            (best, bound, false)
        }
        Answer::No => (None, LowerBound(0), true),
    };
    let observed = nearest.and_then(|n| world.observe_order(&n.order));
    let found = observed.map(|o| reference.measure(o, None, "solver"));
    Solved { found, bound, answered }
}

/// Alternates that differ in a single reads-from edge; whether the answer "none" is proved.
fn single_changes(
    world: &mut Modelled<'_>,
    model: &Model,
    reference: &mut Reference,
) -> (Vec<Nearby>, bool) {
    let mut evaluator = Evaluator::new(model);
    evaluator.evaluate(world.order());
    let sources = evaluator.sources().to_vec();
    // What the failing run did not read before it failed may have any source.
    let mut known = vec![None; sources.len()];
    for step in evaluator.performed() {
        for op in evaluator.performed_ops(*step) {
            if let Op::Read(slot) = op {
                known[slot.index()] = Some(sources[slot.index()]);
            }
        }
    }
    let users = users(model);
    let mut found = Vec::new();
    // A read composed of several sources may change without a new data flow, beside the single change.
    let mut decided = composed(model, world.order()).is_empty();
    let mut tried = 0;
    let mut events: Vec<u32> =
        slice(model, &sources).iter().map(|slot| model.read(*slot).event).collect();
    events.dedup();
    for event in events {
        let slots = slots_of_event(model, event);
        let (changes, all) = other_sources(model, &slots, &sources);
        decided &= all;
        for change in changes {
            tried += 1;
            if tried > MAX_CHANGES || found.len() >= ENOUGH_CHANGES || !world.may_go_on() {
                return (found, false);
            }
            let mut changed = known.clone();
            change.iter().for_each(|(slot, source)| changed[slot.index()] = Some(*source));
            let slots: Vec<SlotId> = change.iter().map(|(slot, _)| *slot).collect();
            if !may_pass(model, &changed, &affected(model, &known, &users, &slots)) {
                continue;
            }
            match steer_to(world, model, reference, &change) {
                Some(candidate) => found.push(candidate),
                None => decided &= is_refuted(model, &changed),
            }
        }
    }
    (found, decided)
}

/// Where slots of one event get their values from instead.
type Change = Vec<(SlotId, Source)>;

/// All ways in which an event can get a single new data flow: some of its slots read from one other event. False if
/// there are too many.
fn other_sources(model: &Model, slots: &[SlotId], sources: &[Source]) -> (Vec<Change>, bool) {
    let mut by_writer: BTreeMap<Option<u32>, Change> = BTreeMap::new();
    for &slot in slots {
        for source in model.candidates(slot).into_iter().filter(|s| *s != sources[slot.index()]) {
            by_writer.entry(event_of(model, source)).or_default().push((slot, source));
        }
    }
    let mut changes = Vec::new();
    let mut all = true;
    for change in by_writer.into_values() {
        if change.len() > MAX_PARTS {
            all = false;
            changes.push(change);
            continue;
        }
        // All of them first.
        for subset in (1..1u32 << change.len()).rev() {
            let parts = change.iter().enumerate().filter(|(i, _)| subset >> i & 1 == 1);
            changes.push(parts.map(|(_, part)| *part).collect());
        }
    }
    (changes, all)
}

/// The reads that the bug condition depends on, through the writes they read from.
fn slice(model: &Model, sources: &[Source]) -> Vec<SlotId> {
    let mut slots = dependencies(model, sources, model.bug_condition().into_iter());
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

/// The conditions that other values of these reads may change, through the writes that carry them on.
fn affected(
    model: &Model,
    sources: &[Option<Source>],
    users: &FxHashMap<SymbolId, Users>,
    slots: &[SlotId],
) -> Vec<ExprId> {
    let mut todo: Vec<SymbolId> = slots.iter().map(|slot| model.read(*slot).symbol).collect();
    let mut seen: FxHashSet<SymbolId> = todo.iter().copied().collect();
    let mut checks = Vec::new();
    while let Some(symbol) = todo.pop() {
        let Some(users) = users.get(&symbol) else { continue };
        checks.extend(&users.checks);
        for write in &users.writes {
            for reader in model.reads_of(model.write(*write).cell) {
                let read = model.read(SlotId(*reader));
                let from = sources[*reader as usize];
                if from == Some(Source::Write(*write)) && seen.insert(read.symbol) {
                    todo.push(read.symbol);
                }
            }
        }
    }
    checks.sort();
    checks.dedup();
    checks
}

/// Whether values under these reads-from may keep every thread on its path and avoid the bug.
fn may_pass(model: &Model, sources: &[Option<Source>], checks: &[ExprId]) -> bool {
    let Some(bug) = model.bug_condition() else { return false };
    let mut values =
        Values { model, sources, known: FxHashMap::default(), open: FxHashSet::default() };
    values.expression(bug) != Some(1) && checks.iter().all(|c| values.expression(*c) != Some(0))
}

/// Values that follow from reads-from, where they do.
struct Values<'m> {
    model: &'m Model,
    sources: &'m [Option<Source>],
    known: FxHashMap<ExprId, Option<u128>>,
    /// What is being computed: what needs itself has no value.
    open: FxHashSet<ExprId>,
}

impl Values<'_> {
    /// With a stack of its own: values of long runs hang on each other in chains of any length.
    fn expression(&mut self, id: ExprId) -> Option<u128> {
        let mut stack = vec![id];
        while let Some(&top) = stack.last() {
            if self.known.contains_key(&top) {
                stack.pop();
                continue;
            }
            self.open.insert(top);
            let missing = |of: &ExprId| !self.known.contains_key(of) && !self.open.contains(of);
            if let Some(missing) = self.needs(top).into_iter().find(missing) {
                stack.push(missing);
                continue;
            }
            let value = self.value(top);
            self.open.remove(&top);
            self.known.insert(top, value);
            stack.pop();
        }
        self.of(id)
    }

    fn of(&self, id: ExprId) -> Option<u128> {
        self.known.get(&id).copied().flatten()
    }

    /// What the value of an expression is computed from.
    fn needs(&self, id: ExprId) -> Vec<ExprId> {
        let node = self.model.exprs().node(id);
        let mut needs = Vec::new();
        if let Node::Symbol(symbol) = node {
            let slots = self.model.slots_of(symbol).map(SlotId);
            let sources = slots.map(|slot| self.sources[slot.index()]);
            needs.extend(sources.filter_map(|source| match source {
                Some(Source::Write(write)) => Some(self.model.write(write).value),
                _ => None,
            }));
        } else {
            node.operands(|of| needs.push(of));
        }
        needs
    }

    /// The value of an expression whose needs are known.
    fn value(&self, id: ExprId) -> Option<u128> {
        let exprs = self.model.exprs();
        if let Node::Symbol(symbol) = exprs.node(id) {
            return self.symbol(symbol);
        }
        let known = self.needs(id).into_iter().all(|of| self.of(of).is_some());
        known.then(|| exprs.apply(id, |of| self.of(of).unwrap_or(0)))
    }

    fn symbol(&self, symbol: SymbolId) -> Option<u128> {
        let mut value = Some(0);
        for slot in self.model.slots_of(symbol).map(SlotId) {
            let read = *self.model.read(slot);
            let part = match self.sources[slot.index()] {
                None => None,
                Some(Source::Initial) => self.model.initial(read.cell),
                Some(Source::Write(write)) => {
                    let write = *self.model.write(write);
                    self.of(write.value).map(|v| v >> (8 * u32::from(write.offset)))
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
        value
    }
}

/// A schedule near the failing one in which reads have these sources.
fn steer_to(
    world: &mut Modelled<'_>,
    model: &Model,
    reference: &mut Reference,
    change: &[(SlotId, Source)],
) -> Option<Nearby> {
    let mut attempts = [Vec::new(), Vec::new()];
    for (slot, source) in change {
        let ways = ways_to(world, model, *slot, *source);
        attempts.iter_mut().zip(ways).for_each(|(attempt, way)| attempt.extend(way));
    }
    if attempts[0] == attempts[1] {
        attempts[1].clear();
    }
    for orders in attempts.iter().filter(|orders| !orders.is_empty()) {
        for orders in with_locks(world, orders) {
            let tried = world.steer(&orders, Mode::Follow);
            if tried.ending == Ending::Passed
                && let Some(observed) = world.observe(&tried, reference.detail)
            {
                return Some(reference.measure(observed, Some(tried), "local"));
            }
        }
    }
    None
}

/// The orders that give a read this source: other writes come after the read, or before the source.
fn ways_to(world: &Modelled<'_>, model: &Model, slot: SlotId, source: Source) -> [Vec<Order>; 2] {
    let read = *model.read(slot);
    let others: Vec<StepId> = model
        .writes_of(read.cell)
        .iter()
        .filter(|w| Source::Write(**w) != source)
        .map(|w| model.write(*w).step)
        .filter(|step| *step != read.step)
        .collect();
    let reader = world.key(read.step);
    let Source::Write(write) = source else {
        let first: Vec<Order> = others.iter().map(|w| (reader, world.key(*w))).collect();
        return [first.clone(), first];
    };
    let writer = model.write(write).step;
    let from: Order = (world.key(writer), reader);
    let after = others.iter().filter(|w| world.place(**w) > world.place(writer));
    let before = others.iter().filter(|w| world.place(**w) < world.place(read.step));
    [
        [from].into_iter().chain(after.map(|w| (reader, world.key(*w)))).collect(),
        [from].into_iter().chain(before.map(|w| (world.key(*w), from.0))).collect(),
    ]
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
