//! From the edges to an order: greedily, as near to the anchor as they allow.
//!
//! The step that stands first in the anchor goes first, if nothing keeps it: its edges, a read that still has to see
//! what the step overwrites, a lock that is held. Where nobody can go on, what keeps each is said as a clause over
//! orders, which the search has to decide; so orders that never matter are never decided. Then the first of those
//! who wait is let through all the same, to find more in the same pass.
//!
//! Steps that stay together (whole segments, switches that are kept) go on without a break where they can; where they
//! could not, that is said too. Semaphores, condition variables and their like are not looked at here: the order is
//! evaluated afterwards.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::graph::{Graph, Walk};
use super::sections::{Sections, excludes, is_section_op};
use super::values::Values;
use crate::budgets::{ENOUGH_OBSTACLES, STANDSTILLS};
use crate::constraints::End;
use crate::{Cell, Model, Op, SlotId, Source, StepId, SyncId};

/// What keeps an order from being one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Obstacle {
    /// The slot would not see its source any more: this step overwrites it first.
    Overwritten { slot: SlotId, by: StepId },
    /// Two sections, by index, that overlap.
    Locked { first: u32, second: u32 },
}

/// Who goes on directly after whom.
pub(super) trait Glue {
    fn after(&self, step: StepId) -> Option<StepId>;
}

pub(super) struct Linear<'a, G> {
    pub model: &'a Model,
    pub graph: &'a Graph,
    pub values: &'a Values,
    pub sections: &'a Sections,
    /// By step: its place in the anchor.
    pub places: &'a [u32],
    pub end: &'a End,
    /// Of a deadlock that is avoided: the requests that are granted.
    pub granted: &'a [StepId],
    pub glue: G,
}

struct Progress {
    walk: Walk,
    /// By place in the anchor.
    ready: BinaryHeap<Reverse<(u32, StepId)>>,
    order: Vec<StepId>,
    /// By cell: the last write, and by write (then cell) the reads that it still waits for.
    last: Vec<Source>,
    awaited: Vec<u32>,
    awaited_initial: Vec<u32>,
    /// By lock: who holds it.
    holders: Vec<Vec<u32>>,
    /// By step.
    done: Vec<bool>,
    /// Steps that wait for reads of a cell, and for a lock.
    by_cell: BTreeMap<usize, Vec<StepId>>,
    by_lock: BTreeMap<usize, Vec<StepId>>,
}

impl Progress {
    fn waiting(&self) -> impl Iterator<Item = StepId> {
        self.by_cell.values().chain(self.by_lock.values()).flatten().copied()
    }
}

/// Why a step cannot go on now.
enum Kept {
    ByReads(Cell),
    ByLock(usize),
}

impl<G: Glue> Linear<'_, G> {
    /// All steps, in an order that obeys the edges, and what is wrong with it.
    pub fn order(&self) -> (Vec<StepId>, Vec<Obstacle>) {
        let mut progress = self.begin();
        let mut obstacles: Vec<Obstacle> = Vec::new();
        let mut standstills = 0;
        loop {
            let Some(step) = self.next(&mut progress) else {
                standstills += 1;
                if progress.waiting().next().is_none() || standstills > STANDSTILLS {
                    break;
                }
                self.explain(&progress, &mut obstacles);
                self.let_through(&mut progress);
                continue;
            };
            self.perform(&mut progress, step);
            if self.is_over(&progress) {
                break;
            }
        }
        self.rest(progress, obstacles)
    }

    fn begin(&self) -> Progress {
        let model = self.model;
        let walk = self.graph.walk();
        let ready = walk.ready().into_iter().map(|step| self.key(step)).collect();
        let mut awaited = vec![0; model.writes().len()];
        let mut awaited_initial = vec![0; model.cells().len()];
        for (slot, chosen) in self.values.chosen.iter().enumerate() {
            match chosen {
                Some((Source::Write(write), _)) => awaited[*write as usize] += 1,
                Some((Source::Initial, _)) => {
                    awaited_initial[model.reads()[slot].cell.index()] += 1;
                }
                None => {}
            }
        }
        let mut holders = vec![Vec::new(); model.syncs().len()];
        for (index, section) in self.sections.all.iter().enumerate() {
            if section.acquire.is_none() {
                holders[section.lock.index()].push(index as u32);
            }
        }
        Progress {
            walk,
            ready,
            order: Vec::with_capacity(model.len()),
            last: vec![Source::Initial; model.cells().len()],
            awaited,
            awaited_initial,
            holders,
            done: vec![false; model.len()],
            by_cell: BTreeMap::new(),
            by_lock: BTreeMap::new(),
        }
    }

    fn key(&self, step: StepId) -> Reverse<(u32, StepId)> {
        Reverse((self.places[step.index()], step))
    }

    /// The next step that can go on.
    fn next(&self, progress: &mut Progress) -> Option<StepId> {
        if let Some(glued) = progress.order.last().and_then(|last| self.glue.after(*last))
            && progress.walk.is_ready(glued)
            && !progress.done[glued.index()]
            && self.kept(progress, glued).is_none()
        {
            return Some(glued);
        }
        while let Some(Reverse((_, step))) = progress.ready.pop() {
            if progress.done[step.index()] {
                continue;
            }
            let list = match self.kept(progress, step) {
                None => return Some(step),
                Some(Kept::ByReads(cell)) => progress.by_cell.entry(cell.index()),
                Some(Kept::ByLock(lock)) => progress.by_lock.entry(lock),
            };
            list.or_default().push(step);
        }
        None
    }

    fn kept(&self, progress: &Progress, step: StepId) -> Option<Kept> {
        let model = self.model;
        if model.is_request(step) {
            return None;
        }
        for op in model.program(step) {
            match *op {
                Op::Write(write) => {
                    let cell = model.write(write).cell;
                    if self.others_await(progress, step, cell) {
                        return Some(Kept::ByReads(cell));
                    }
                }
                _ => {
                    if let Some((lock, _)) = op.takes()
                        && is_section_op(model, op)
                        && self
                            .sections
                            .begun_at(step, lock)
                            .any(|mine| self.is_refused(progress, mine))
                    {
                        return Some(Kept::ByLock(lock.index()));
                    }
                }
            }
        }
        None
    }

    /// Whether reads of other steps still have to see what is in a cell.
    fn others_await(&self, progress: &Progress, step: StepId, cell: Cell) -> bool {
        let source = progress.last[cell.index()];
        let awaited = match source {
            Source::Write(write) => progress.awaited[write as usize],
            Source::Initial => progress.awaited_initial[cell.index()],
        };
        if awaited == 0 {
            return false;
        }
        let is_own = |op: &&Op| match op {
            Op::Read(slot) => {
                self.model.read(*slot).cell == cell
                    && self.values.chosen[slot.index()].is_some_and(|(from, _)| from == source)
            }
            _ => false,
        };
        awaited as usize > self.model.program(step).iter().filter(is_own).count()
    }

    fn is_refused(&self, progress: &Progress, mine: u32) -> bool {
        let section = &self.sections.all[mine as usize];
        let mut holders = progress.holders[section.lock.index()].iter();
        holders.any(|other| excludes(&self.sections.all[*other as usize], section))
    }

    fn perform(&self, progress: &mut Progress, step: StepId) {
        let model = self.model;
        progress.order.push(step);
        progress.done[step.index()] = true;
        let mut freed: Vec<StepId> = Vec::new();
        let mut taken: Vec<SyncId> = Vec::new();
        if !model.is_request(step) {
            for op in model.program(step) {
                match *op {
                    Op::Read(slot) => self.read(progress, slot, &mut freed),
                    Op::Write(write) => {
                        progress.last[model.write(write).cell.index()] = Source::Write(write);
                    }
                    Op::Release { lock } => {
                        let me = model.owner(step);
                        let of = |index: &u32| self.sections.all[*index as usize].thread == me;
                        let holders = &mut progress.holders[lock.index()];
                        if let Some(place) = holders.iter().rposition(of) {
                            holders.remove(place);
                        }
                        freed.extend(progress.by_lock.remove(&lock.index()).unwrap_or_default());
                    }
                    _ => {
                        if let Some((lock, _)) = op.takes() {
                            let nth = taken.iter().filter(|other| **other == lock).count();
                            taken.push(lock);
                            let mine = self.sections.begun_at(step, lock).nth(nth);
                            progress.holders[lock.index()].extend(mine);
                        }
                    }
                }
            }
        }
        let Progress { walk, ready, .. } = progress;
        ready.extend(freed.into_iter().map(|step| self.key(step)));
        walk.done(self.graph, step, |next| ready.push(self.key(next)));
    }

    fn read(&self, progress: &mut Progress, slot: SlotId, freed: &mut Vec<StepId>) {
        let cell = self.model.read(slot).cell.index();
        let left = match self.values.chosen[slot.index()] {
            Some((Source::Write(write), _)) => &mut progress.awaited[write as usize],
            Some((Source::Initial, _)) => &mut progress.awaited_initial[cell],
            None => return,
        };
        *left -= 1;
        freed.extend(progress.by_cell.remove(&cell).unwrap_or_default());
    }

    fn is_over(&self, progress: &Progress) -> bool {
        let Some(last) = progress.order.last() else { return false };
        match self.end {
            End::Never => false,
            End::After { steps, .. } => {
                steps.contains(last) && steps.iter().all(|step| progress.done[step.index()])
            }
            End::Grant => self.granted.contains(last),
        }
    }

    fn explain(&self, progress: &Progress, obstacles: &mut Vec<Obstacle>) {
        let start = obstacles.len();
        for (&cell, steps) in &progress.by_cell {
            let slots: Vec<SlotId> = self.awaiting(progress, cell).take(ENOUGH_OBSTACLES).collect();
            for (index, &by) in steps.iter().take(ENOUGH_OBSTACLES).enumerate() {
                // Each step with the first read of another, and the first step with all of them.
                let others = slots.iter().filter(|slot| self.model.read(**slot).step != by);
                let most = if index == 0 { ENOUGH_OBSTACLES } else { 1 };
                let new = others.take(most).map(|slot| Obstacle::Overwritten { slot: *slot, by });
                obstacles.extend(new);
            }
            if obstacles.len() - start > 4 * ENOUGH_OBSTACLES {
                break;
            }
        }
        for (&lock, steps) in &progress.by_lock {
            let lock = SyncId(lock as u32);
            for step in steps {
                for second in self.sections.begun_at(*step, lock) {
                    let mine = self.sections.all[second as usize];
                    for &first in &progress.holders[lock.index()] {
                        if excludes(&self.sections.all[first as usize], &mine) {
                            obstacles.push(Obstacle::Locked { first, second });
                        }
                    }
                }
            }
        }
        obstacles.retain({
            let mut seen = rustc_hash::FxHashSet::default();
            move |obstacle| seen.insert(*obstacle)
        });
    }

    /// Slots that still have to read what is in a cell now, whose step is not performed.
    fn awaiting<'p>(
        &'p self,
        progress: &'p Progress,
        cell: usize,
    ) -> impl Iterator<Item = SlotId> + 'p {
        let source = progress.last[cell];
        let reads: Box<dyn Iterator<Item = SlotId> + 'p> = match source {
            Source::Write(write) => Box::new(self.values.readers[write as usize].iter().copied()),
            Source::Initial => {
                Box::new(self.model.reads_of(Cell(cell as u32)).iter().map(|r| SlotId(*r)))
            }
        };
        reads.filter(move |slot| {
            let chosen = self.values.chosen[slot.index()];
            chosen.is_some_and(|(from, _)| from == source)
                && !progress.done[self.model.read(*slot).step.index()]
        })
    }

    /// The first of those who wait goes on although it should not.
    fn let_through(&self, progress: &mut Progress) {
        let waiting = progress.waiting();
        let Some(first) = waiting.min_by_key(|step| self.places[step.index()]) else { return };
        for lists in [&mut progress.by_cell, &mut progress.by_lock] {
            lists.values_mut().for_each(|list| list.retain(|step| *step != first));
        }
        self.perform(progress, first);
    }

    /// What comes after the end, in any order that the edges allow.
    fn rest(&self, progress: Progress, obstacles: Vec<Obstacle>) -> (Vec<StepId>, Vec<Obstacle>) {
        let waiting: Vec<StepId> = progress.waiting().collect();
        let Progress { mut walk, mut ready, mut order, mut done, .. } = progress;
        ready.extend(waiting.into_iter().map(|step| self.key(step)));
        while let Some(Reverse((_, step))) = ready.pop() {
            if std::mem::replace(&mut done[step.index()], true) {
                continue;
            }
            order.push(step);
            walk.done(self.graph, step, |next| ready.push(self.key(next)));
        }
        (order, obstacles)
    }
}
