//! Which locations two threads touch: how the visible set is learned.
//!
//! While more than one thread is alive, the last read and the last write of every eight bytes are
//! remembered. An access by another thread, one of the two a write, makes both sites visible in later runs. Locations once
//! found shared stay so for the life of the process (addresses are the same in every run), so that in
//! the next run every site that touches them is found, whatever the order; also one that touches them when the
//! other threads have ended (the assertion after the joins).
//!
//! Errs on the side of too many: memory reused for another purpose, or ordered by a join, still counts.

use unravel_program::layout::{ARENA_BASE, ARENA_SIZE};
use unravel_trace::{SiteId, VisibleSet};

use crate::error::VmError;
use crate::memory::{in_arena, map_table};

/// The last read or write of a granule, packed: site 32 bits, thread 15, "by several threads" 1, run 16.
#[derive(Clone, Copy)]
struct Last(u64);

impl Last {
    fn new(site: SiteId, thread: u32, several: bool, run: u16) -> Last {
        Last(
            u64::from(site.0) << 32
                | u64::from(thread & 0x7fff) << 17
                | u64::from(several) << 16
                | u64::from(run),
        )
    }
    fn site(self) -> SiteId {
        SiteId((self.0 >> 32) as u32)
    }
    fn thread(self) -> u32 {
        (self.0 >> 17) as u32 & 0x7fff
    }
    fn several(self) -> bool {
        self.0 >> 16 & 1 == 1
    }
    /// Whether some other thread than this did it, in this run.
    fn by_other(self, thread: u32, run: u16) -> bool {
        self.0 as u16 == run && (self.several() || self.thread() != thread)
    }
}

/// A long range is sampled no further than this.
const MAX_GRANULES: u64 = 4096;

#[derive(Debug)]
pub(crate) struct Sharing {
    reads: *mut Last,
    writes: *mut Last,
    shared: *mut u8,
    run: u16,
    pub learned: VisibleSet,
}

impl Sharing {
    pub fn new() -> Result<Sharing, VmError> {
        Ok(Sharing {
            reads: map_table(ARENA_SIZE)?.cast(),
            writes: map_table(ARENA_SIZE)?.cast(),
            shared: map_table(ARENA_SIZE / 8)?,
            run: 0,
            learned: VisibleSet::default(),
        })
    }

    pub fn begin_run(&mut self) {
        self.learned = VisibleSet::default();
        // Zero marks a granule nobody touched; after 65,535 learning runs, stale entries could look
        // like this run's. They would only make a private location visible.
        self.run = self.run.checked_add(1).unwrap_or(1);
    }

    /// An access while no other thread is alive.
    pub fn revisit(&mut self, address: u64, bytes: u64, site: SiteId) {
        if !in_arena(address) {
            return;
        }
        let first = (address - ARENA_BASE) >> 3;
        let last = (address + bytes.max(1) - 1 - ARENA_BASE) >> 3;
        let mut granules = (first..=last).take(MAX_GRANULES as usize);
        // SAFETY: the table covers the arena.
        if granules.any(|granule| unsafe { *self.shared.add(granule as usize) } != 0) {
            self.learned.insert(site);
        }
    }

    pub fn access(&mut self, address: u64, bytes: u64, write: bool, thread: u32, site: SiteId) {
        if !in_arena(address) {
            return;
        }
        let first = (address - ARENA_BASE) >> 3;
        let last = (address + bytes.max(1) - 1 - ARENA_BASE) >> 3;
        for granule in (first..=last).take(MAX_GRANULES as usize) {
            let at = granule as usize;
            // SAFETY: the tables cover the arena.
            let (reads, writes, shared) = unsafe {
                (&mut *self.reads.add(at), &mut *self.writes.add(at), &mut *self.shared.add(at))
            };
            let written = writes.by_other(thread, self.run);
            let read = write && reads.by_other(thread, self.run);
            if written || read {
                *shared = 1;
                if written {
                    self.learned.insert(writes.site());
                }
                if read {
                    self.learned.insert(reads.site());
                }
            }
            if *shared != 0 {
                self.learned.insert(site);
            }
            let last = if write { writes } else { reads };
            *last = Last::new(site, thread, last.by_other(thread, self.run), self.run);
        }
    }
}
