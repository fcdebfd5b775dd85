//! Conflicts: pairs of steps of different threads whose order can matter.
//!
//! Two accesses of one cell, one of them a write; two operations on one sync object that do not commute; where only
//! execution can tell a failure, two calls that the outside world sees. Forks and joins are not conflicts: their
//! order is the same in every execution.

use rustc_hash::FxHashMap;
use unravel_trace::{Bug, ThreadId};

use crate::Before;

use super::{Cell, Model, Op, SlotId, StepId, SyncId};

impl Model {
    /// Whether the order of two steps can matter.
    pub fn conflicts(&self, a: StepId, b: StepId) -> bool {
        if self.owner(a) == self.owner(b) {
            return false;
        }
        let both_seen = self.external[a.index()] && self.external[b.index()];
        if both_seen && self.bug == Bug::Opaque {
            return true;
        }
        self.program(a)
            .iter()
            .any(|x| self.program(b).iter().any(|y| self.ops_conflict((a, x), (b, y))))
    }

    /// Steps that access a cell, and whether they write it, each once, in the order of the steps.
    pub fn accesses_of(&self, cell: Cell) -> Vec<(StepId, bool)> {
        let reads = self.reads_of(cell).iter().map(|r| (self.read(SlotId(*r)).step, false));
        let writes = self.writes_of(cell).iter().map(|w| (self.write(*w).step, true));
        let mut all: Vec<(StepId, bool)> = reads.chain(writes).collect();
        // A step that does both counts as writing.
        all.sort_by_key(|(step, writes)| (*step, !writes));
        all.dedup_by_key(|(step, _)| *step);
        all
    }

    /// All conflicting pairs, the smaller step first, cell by cell and then sync object by sync object: a pair that
    /// conflicts in several ways comes several times. Quadratic where a cell or an object is hot;
    /// [`Model::conflicts_along`] is linear.
    pub fn conflicting_pairs(&self) -> impl Iterator<Item = (StepId, StepId)> + '_ {
        let by_cell = self.cells().flat_map(|cell| {
            let accesses = self.accesses_of(cell);
            pairs(accesses, |(a, x), (b, y)| (x || y) && self.owner(a) != self.owner(b))
        });
        let by_sync = self.syncs.iter().flat_map(|object| {
            let ops = object.ops.clone();
            let mut found = pairs(ops, |(a, x), (b, y)| self.ops_conflict((a, &x), (b, &y)));
            found.dedup();
            found
        });
        let seen = self.steps().filter(|s| self.bug == Bug::Opaque && self.external[s.index()]);
        let by_world = pairs(seen.map(|s| (s, ())).collect(), |(a, ()), (b, ())| {
            self.owner(a) != self.owner(b)
        });
        by_cell.chain(by_sync).chain(by_world)
    }

    /// The conflicts that an order decides, but for those that follow from others and program order: each access
    /// after the last one of the cell that conflicts, each sync operation after the last ones of its object.
    pub fn conflicts_along(&self, order: &[StepId]) -> Vec<Before> {
        let mut found = self.memory_along(order);
        found.extend(self.sync_along(order));
        found.sort();
        found.dedup();
        found.into_iter().map(|(first, second)| Before { first, second }).collect()
    }

    fn memory_along(&self, order: &[StepId]) -> Vec<(StepId, StepId)> {
        let mut found = Vec::new();
        let mut last_write: Vec<Option<StepId>> = vec![None; self.cells.len()];
        let mut reads_since: Vec<Vec<StepId>> = vec![Vec::new(); self.cells.len()];
        for &step in order {
            for op in self.program(step) {
                match *op {
                    Op::Read(slot) => {
                        let cell = self.read(slot).cell.index();
                        found.extend(last_write[cell].map(|first| (first, step)));
                        reads_since[cell].push(step);
                    }
                    Op::Write(write) => {
                        let cell = self.write(write).cell.index();
                        found.extend(last_write[cell].map(|first| (first, step)));
                        found.extend(reads_since[cell].drain(..).map(|first| (first, step)));
                        last_write[cell] = Some(step);
                    }
                    _ => {}
                }
            }
        }
        found.retain(|(a, b)| self.owner(*a) != self.owner(*b));
        found
    }

    /// The part of [`Model::conflicts_along`] that is about sync objects and the outside world, sorted. Orders that
    /// differ only in what commutes have the same.
    pub fn sync_along(&self, order: &[StepId]) -> Vec<(StepId, StepId)> {
        let mut found = Vec::new();
        let mut last_uses: FxHashMap<SyncId, Vec<(StepId, Op)>> = FxHashMap::default();
        let mut last_seen: FxHashMap<ThreadId, StepId> = FxHashMap::default();
        for &step in order {
            for op in self.program(step) {
                let Some(sync) = op.sync() else { continue };
                let uses = last_uses.entry(sync).or_default();
                let conflicting =
                    uses.iter().filter(|(a, x)| self.ops_conflict((*a, x), (step, op)));
                found.extend(conflicting.map(|(earlier, _)| (*earlier, step)));
                // The last use of each kind by each thread is enough: program order does the rest.
                uses.retain(|(a, x)| self.owner(*a) != self.owner(step) || !is_alike(x, op));
                uses.push((step, *op));
            }
            if self.external[step.index()] && self.bug == Bug::Opaque {
                let me = self.owner(step);
                found.extend(last_seen.iter().filter(|(t, _)| **t != me).map(|(_, s)| (*s, step)));
                last_seen.insert(me, step);
            }
        }
        found.sort();
        found.dedup();
        found
    }

    fn ops_conflict(&self, (a, x): (StepId, &Op), (b, y): (StepId, &Op)) -> bool {
        if self.owner(a) == self.owner(b) {
            return false;
        }
        match (*x, *y) {
            (Op::Read(r), Op::Write(w)) | (Op::Write(w), Op::Read(r)) => {
                self.read(r).cell == self.write(w).cell
            }
            (Op::Write(v), Op::Write(w)) => self.write(v).cell == self.write(w).cell,
            _ => x.sync().is_some() && x.sync() == y.sync() && !commute(x, y),
        }
    }
}

/// Whether two operations of different threads on one sync object have the same effect in either order.
fn commute(x: &Op, y: &Op) -> bool {
    let shares = |op: &Op| {
        matches!(op, Op::Acquire { shared: true, .. } | Op::TryAcquire { shared: true, .. })
    };
    match (x, y) {
        (Op::Release { .. }, Op::Release { .. }) => true,
        (Op::Wait { .. }, Op::Wait { .. }) | (Op::Wake { .. }, Op::Wake { .. }) => true,
        (Op::Wait { .. }, Op::Wake { .. }) | (Op::Wake { .. }, Op::Wait { .. }) => true,
        (Op::Broadcast { .. }, Op::Broadcast { .. }) => true,
        (Op::SemPost { .. }, Op::SemPost { .. }) => true,
        (Op::Leave { .. }, Op::Leave { .. }) => true,
        _ => shares(x) && shares(y),
    }
}

fn is_alike(x: &Op, y: &Op) -> bool {
    let sides = |op: &Op| match *op {
        Op::TryAcquire { shared, acquired, .. } => Some((shared, acquired)),
        _ => None,
    };
    let same_side = sides(x) == sides(y)
        && match (x.takes(), y.takes()) {
            (Some((_, a)), Some((_, b))) => a == b,
            (None, None) => true,
            _ => false,
        };
    same_side && std::mem::discriminant(x) == std::mem::discriminant(y)
}

fn pairs<T: Copy>(
    items: Vec<(StepId, T)>,
    conflict: impl Fn((StepId, T), (StepId, T)) -> bool,
) -> Vec<(StepId, StepId)> {
    let mut found = Vec::new();
    for (index, &a) in items.iter().enumerate() {
        for &b in &items[index + 1..] {
            if conflict(a, b) {
                found.push((a.0, b.0));
            }
        }
    }
    found
}
