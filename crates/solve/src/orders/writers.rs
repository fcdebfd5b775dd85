//! The writes of each cell, thread by thread, and the orders that a reads-from choice takes.
//!
//! A read r of w comes after w, and every other write of the cell before w or after r. Which of the two, happens-before
//! often knows: of each thread, the first write that must come after w comes after r, and the last that must come
//! before r comes before w. The rest is left open until it matters.

use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::{Cell, Model, SlotId, Source, StepId};

#[derive(Debug)]
pub(super) struct Writers {
    /// By cell: the writes of each thread, as ranges of the cell's writes by thread.
    threads: Vec<Vec<Range<u32>>>,
    /// By slot: its step writes the cell too.
    updates: Vec<bool>,
}

impl Writers {
    pub fn new(model: &Model) -> Writers {
        let owner = |write: &u32| model.owner(model.write(*write).step);
        let by_cell = model.cell_writes_by_thread.iter();
        let threads = by_cell.map(|writes| {
            let mut start = 0;
            let chunks = writes.chunk_by(|a, b| owner(a) == owner(b));
            let ranges = chunks.map(|chunk| {
                let range = start..start + chunk.len() as u32;
                start = range.end;
                range
            });
            ranges.collect()
        });
        let written: FxHashSet<(StepId, Cell)> =
            model.writes().iter().map(|write| (write.step, write.cell)).collect();
        let is_update = |read: &crate::ReadSlot| written.contains(&(read.step, read.cell));
        Writers {
            threads: threads.collect(),
            updates: model.reads().iter().map(is_update).collect(),
        }
    }

    /// Whether nobody else may read the same source and write the cell too.
    pub fn is_update(&self, slot: SlotId) -> bool {
        self.updates[slot.index()]
    }

    /// Orders that hold if a slot reads from this source.
    pub fn orders(&self, model: &Model, slot: SlotId, source: Source) -> Vec<(StepId, StepId)> {
        let read = model.read(slot);
        let step = |write: &u32| model.write(*write).step;
        let mut found = Vec::new();
        let writer = match source {
            Source::Initial => None,
            // A step is executed as a whole: what it wrote itself is what it reads.
            Source::Write(write) if step(&write) == read.step => return found,
            Source::Write(write) => Some(step(&write)),
        };
        found.extend(writer.map(|writer| (writer, read.step)));
        let writes = &model.cell_writes_by_thread[read.cell.index()];
        for range in &self.threads[read.cell.index()] {
            let writes = &writes[range.start as usize..range.end as usize];
            let after = match writer {
                None => 0,
                Some(writer) => writes.partition_point(|w| !model.must_precede(writer, step(w))),
            };
            if let Some(next) = writes.get(after).map(step).filter(|next| *next != read.step) {
                found.push((read.step, next));
            }
            let before = writes.partition_point(|w| model.must_precede(step(w), read.step));
            if let (Some(writer), Some(last)) = (writer, before.checked_sub(1)) {
                let last = step(&writes[last]);
                if last != writer {
                    found.push((last, writer));
                }
            }
        }
        found
    }
}
