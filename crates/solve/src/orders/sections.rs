//! Which sections of locks each step touches: what an order of two steps means for locks.
//!
//! If `a` comes before `b`, `a` touches a section of a lock and `b` another thread's, and they exclude each other,
//! then the first section ends before the second begins: `release → acquire` follows from the same reasons. So most
//! of mutual exclusion needs no choice at all; what is left is decided where an order cannot go on
//! ([`super::linearise`]).

use std::ops::Range;

use crate::{Model, Op, Section, StepId, SyncFamily, SyncId};

#[derive(Debug)]
pub(super) struct Sections {
    /// Of regular locks, begun by steps that are executed.
    pub all: Vec<Section>,
    /// By step: a range of `touched`.
    ranges: Vec<Range<u32>>,
    touched: Vec<u32>,
}

impl Sections {
    pub fn new(model: &Model) -> Sections {
        let is_begun = |section: &&Section| {
            model.sync(section.lock).regular
                && section.acquire.is_none_or(|step| !model.is_request(step))
        };
        let all: Vec<Section> = model.sections().iter().filter(is_begun).copied().collect();
        // By step: the sections that begin there, then those that end there.
        let mut events: Vec<(StepId, bool, u32)> = Vec::new();
        let mut held: Vec<Vec<u32>> = vec![Vec::new(); model.threads()];
        for (index, section) in all.iter().enumerate() {
            match section.acquire {
                Some(step) => events.push((step, false, index as u32)),
                None => held[section.thread.index()].push(index as u32),
            }
            events.extend(section.release.map(|step| (step, true, index as u32)));
        }
        events.sort();
        let mut ranges = vec![0..0; model.len()];
        let mut touched: Vec<u32> = Vec::new();
        for (thread, open) in held.iter_mut().enumerate() {
            let mut current = keep(&mut touched, open);
            for &step in model.thread_steps(unravel_trace::ThreadId(thread as u32)) {
                let first = events.partition_point(|event| event.0 < step);
                let here = events[first..].iter().take_while(|event| event.0 == step);
                let mut changed = false;
                let mut ended = Vec::new();
                for (_, ends, index) in here {
                    changed = true;
                    if *ends { ended.push(*index) } else { open.push(*index) }
                }
                if changed {
                    current = keep(&mut touched, open);
                }
                ranges[step.index()] = current.clone();
                if !ended.is_empty() {
                    open.retain(|index| !ended.contains(index));
                    current = keep(&mut touched, open);
                }
            }
        }
        Sections { all, ranges, touched }
    }

    /// The sections that a step is in, begins or ends.
    pub fn at(&self, step: StepId) -> &[u32] {
        let range = &self.ranges[step.index()];
        &self.touched[range.start as usize..range.end as usize]
    }

    /// Pairs of sections, of the first step and of the second, that exclude each other.
    pub fn exclusive(&self, a: StepId, b: StepId) -> impl Iterator<Item = (&Section, &Section)> {
        let of = |index: &u32| &self.all[*index as usize];
        self.at(a).iter().map(of).flat_map(move |first| {
            let others = self.at(b).iter().map(of);
            others.filter(move |second| excludes(first, second)).map(move |second| (first, second))
        })
    }

    /// The sections of a lock that a step begins, in their order: it may give the lock back in between.
    pub fn begun_at(&self, step: StepId, lock: SyncId) -> impl Iterator<Item = u32> {
        self.at(step).iter().copied().filter(move |index| {
            let section = &self.all[*index as usize];
            section.lock == lock && section.acquire == Some(step)
        })
    }
}

/// Whether two sections cannot overlap.
pub(super) fn excludes(a: &Section, b: &Section) -> bool {
    a.lock == b.lock && a.thread != b.thread && !(a.shared && b.shared)
}

fn keep(touched: &mut Vec<u32>, open: &[u32]) -> Range<u32> {
    let start = touched.len() as u32;
    touched.extend_from_slice(open);
    start..touched.len() as u32
}

/// Whether mutual exclusion of this op is decided by sections, without formulas.
pub(super) fn is_section_op(model: &Model, op: &Op) -> bool {
    match op {
        Op::Acquire { lock, .. } | Op::Release { lock } => model.sync(*lock).regular,
        Op::TryAcquire { lock, acquired, .. } => *acquired && model.sync(*lock).regular,
        _ => false,
    }
}

/// Sync objects of a step's ops that need formulas.
pub(super) fn formula_objects(model: &Model, step: StepId) -> Vec<SyncId> {
    let ops = model.program(step).iter().filter(|op| !is_section_op(model, op));
    let mut found: Vec<SyncId> = ops.filter_map(Op::sync).collect();
    found.sort();
    found.dedup();
    found
}

/// Whether a lock may have constraints beside its sections.
pub(super) fn is_regular_lock(model: &Model, sync: SyncId) -> bool {
    let object = model.sync(sync);
    object.family == SyncFamily::Lock && object.regular
}
