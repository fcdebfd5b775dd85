//! Which locations two threads touch: how the visible set is learned.
//!
//! While more than one thread is alive, the last access to every eight bytes is remembered. An access
//! by another thread, one of the two a write, makes both sites visible in later runs. Locations once
//! found shared stay so for the life of the process (addresses are the same in every run), so that in
//! the next run every site that touches them is found, whatever the order.
//!
//! Errs on the side of too many: memory reused for another purpose, or ordered by a join, still counts.

use unravel_program::layout::{ARENA_BASE, ARENA_SIZE};
use unravel_trace::{SiteId, VisibleSet};

use crate::error::VmError;
use crate::memory::{in_arena, map_table};

/// The last access to a granule, packed: site 32 bits, thread 15, written 1, run 16.
#[derive(Clone, Copy)]
struct Last(u64);

impl Last {
    fn new(site: SiteId, thread: u32, written: bool, run: u16) -> Last {
        Last(
            u64::from(site.0) << 32
                | u64::from(thread & 0x7fff) << 17
                | u64::from(written) << 16
                | u64::from(run),
        )
    }
    fn site(self) -> SiteId {
        SiteId((self.0 >> 32) as u32)
    }
    fn thread(self) -> u32 {
        (self.0 >> 17) as u32 & 0x7fff
    }
    fn written(self) -> bool {
        self.0 >> 16 & 1 == 1
    }
    fn run(self) -> u16 {
        self.0 as u16
    }
}

/// A long range is sampled no further than this.
const MAX_GRANULES: u64 = 4096;

#[derive(Debug)]
pub(crate) struct Sharing {
    last: *mut u64,
    shared: *mut u8,
    run: u16,
    pub learned: VisibleSet,
}

impl Sharing {
    pub fn new() -> Result<Sharing, VmError> {
        Ok(Sharing {
            last: map_table(ARENA_SIZE)?.cast(),
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

    pub fn access(&mut self, address: u64, bytes: u64, write: bool, thread: u32, site: SiteId) {
        if !in_arena(address) {
            return;
        }
        let first = (address - ARENA_BASE) >> 3;
        let last = (address + bytes.max(1) - 1 - ARENA_BASE) >> 3;
        for granule in (first..=last).take(MAX_GRANULES as usize) {
            // SAFETY: the tables cover the arena.
            let (entry, shared) =
                unsafe { (&mut *self.last.add(granule as usize), &mut *self.shared.add(granule as usize)) };
            let before = Last(*entry);
            let mine = before.run() == self.run;
            let mut written = write;
            if mine {
                written |= before.written();
                if before.thread() != thread && written {
                    *shared = 1;
                    self.learned.insert(before.site());
                }
            }
            if *shared != 0 {
                self.learned.insert(site);
            }
            *entry = Last::new(site, thread, written, self.run).0;
        }
    }
}
