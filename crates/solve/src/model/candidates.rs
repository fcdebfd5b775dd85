//! Which writes a read may get its value from: all that pruning leaves.
//!
//! A write is no candidate if it must come after the read; if a write of the same cell must come between; or if
//! two sections of one lock part them: what is overwritten before its section ends is not seen from other sections
//! of the lock, and a read sees nothing of other sections after a write in its own. With
//! `T1: lock; x=1; x=2; unlock` and `T2: lock; r=x; unlock`, r never reads 1.

use super::{Cell, Model, ReadSlot, Section, SlotId, Source, WriteSlot};

impl Model {
    /// What a read slot may read from. Never leaves out a source that some feasible order has.
    pub fn candidates(&self, slot: SlotId) -> Vec<Source> {
        let read = self.read(slot);
        let mine = self.thread_writes(read.cell, self.owner(read.step).index());
        let before = mine.partition_point(|w| self.write(*w).event < read.event);
        let own = before.checked_sub(1).map(|index| mine[index]);
        // A step is executed as a whole: what it wrote itself is what it reads.
        if let Some(own) = own.filter(|w| self.write(*w).step == read.step) {
            return vec![Source::Write(own)];
        }
        let latest = self.latest_before(read);
        let mut found = Vec::new();
        if latest.is_empty() {
            found.push(Source::Initial);
        }
        for &index in self.writes_of(read.cell) {
            let write = self.write(index);
            let visible = write.step != read.step
                && !self.must_precede(read.step, write.step)
                && !latest.iter().any(|l| self.must_precede(write.step, self.write(*l).step))
                && !self.is_parted(index, read, own);
            if visible {
                found.push(Source::Write(index));
            }
        }
        found
    }

    /// The last write of the cell by each thread among those that must come before the read.
    fn latest_before(&self, read: &ReadSlot) -> Vec<u32> {
        let mut latest = Vec::new();
        for thread in 0..self.threads.len() {
            let writes = self.thread_writes(read.cell, thread);
            let limit = self.steps_before(read.step, thread);
            let known = |w: &u32| self.place[self.write(*w).step.index()] < limit;
            let before = writes.partition_point(known);
            latest.extend(before.checked_sub(1).map(|index| writes[index]));
        }
        latest
    }

    /// Whether another write of its own thread, or of the read's, keeps the read from seeing this one. `own`: the
    /// last write of the cell by the reading thread before the read.
    fn is_parted(&self, index: u32, read: &ReadSlot, own: Option<u32>) -> bool {
        let write = self.write(index);
        let next = self.next_write(index);
        if next.is_some_and(|next| next.step == write.step) {
            return true;
        }
        self.sections_at(write.event).any(|(there, a)| {
            self.sections_at(read.event).any(|(here, b)| {
                let exclusive = a.lock == b.lock && a.thread != b.thread && !(a.shared && b.shared);
                exclusive
                    && self.sync(a.lock).regular
                    && (next.is_some_and(|next| self.is_in(next.event, there))
                        || own.is_some_and(|own| self.is_in(self.write(own).event, here)))
            })
        })
    }

    fn next_write(&self, index: u32) -> Option<&WriteSlot> {
        let write = self.write(index);
        let mine = self.thread_writes(write.cell, self.owner(write.step).index());
        let after = mine.partition_point(|w| *w <= index);
        mine.get(after).map(|next| self.write(*next))
    }

    /// The writes of a cell by one thread, in program order.
    fn thread_writes(&self, cell: Cell, thread: usize) -> &[u32] {
        let writes = &self.cell_writes_by_thread[cell.index()];
        let owner = |w: &u32| self.owner(self.write(*w).step).index();
        let first = writes.partition_point(|w| owner(w) < thread);
        let last = writes.partition_point(|w| owner(w) <= thread);
        &writes[first..last]
    }

    /// The sections an event lies in.
    fn sections_at(&self, event: u32) -> impl Iterator<Item = (u32, &Section)> {
        let range = &self.locksets[event as usize];
        let held = &self.held[range.start as usize..range.end as usize];
        held.iter().map(|s| (*s, &self.sections[*s as usize]))
    }

    fn is_in(&self, event: u32, section: u32) -> bool {
        self.sections_at(event).any(|(s, _)| s == section)
    }
}
