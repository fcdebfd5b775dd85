//! Which locations two threads touch: how the visible set is learned.
//!
//! While more than one thread is alive, the last read and the last write of every eight bytes are
//! remembered, and every site that was there. An access by another thread, one of the two a write, makes all these sites
//! visible in later runs, and those that come to the location afterwards in this run, also when the
//! other threads have ended (the assertion after the joins). What was shared in earlier runs does not count: a run
//! teaches the same whatever its process did before.
//!
//! What a signal handler and the code that it interrupts both touch counts as well.
//!
//! A thread that comes to a place again by the same instruction, while no other has accessed anything, teaches nothing new: the last
//! such accesses are remembered, so that they cost little ([`unravel_code::compiled::Seen`], which compiled code looks at itself).
//!
//! Errs on the side of too many: memory reused for another purpose, or ordered by a join, still counts.

use unravel_code::compiled::{SEEN, Seen};
use unravel_code::layout::{ARENA_BASE, ARENA_SIZE};
use unravel_trace::{SiteId, VisibleSet};

use crate::budgets::{MAX_GRANULES, MAX_VISITS};
use crate::error::VmError;
use crate::machine::State;
use crate::memory::{in_arena, map_table, unmap};

/// Who last read or wrote a granule, packed: thread 15 bits, "several threads did" 1, run 16.
#[derive(Clone, Copy)]
struct Last(u32);

impl Last {
    fn new(thread: u32, several: bool, run: u16) -> Last {
        Last((thread & 0x7fff) << 17 | u32::from(several) << 16 | u32::from(run))
    }
    fn thread(self) -> u32 {
        self.0 >> 17
    }
    fn several(self) -> bool {
        self.0 >> 16 & 1 == 1
    }
    /// Whether some other thread than this did it, in this run.
    fn by_other(self, thread: u32, run: u16) -> bool {
        self.0 as u16 == run && (self.several() || self.thread() != thread)
    }
}

/// Whoever handles a signal is not who was interrupted, for what they share.
const HANDLER: u32 = 1 << 14;

impl State {
    /// Who accesses memory now.
    pub fn accessor(&self) -> u32 {
        let is_handler = !self.threads[self.current].set_aside.is_empty();
        self.current as u32 | if is_handler { HANDLER } else { 0 }
    }

    /// The same, and whether others are there: alone, a thread shares nothing.
    pub fn learns_of(&self) -> (u32, bool) {
        (self.accessor(), self.alive > 1 || self.unjoined > 0)
    }
}

/// A site that touched a granule, and the visit before it.
#[derive(Clone, Copy, Debug)]
struct Visit {
    site: SiteId,
    before: u32,
}

/// The last visit of a granule, packed: index into the visits 32 bits, "shared" 1, run 16. Index 0 is none.
#[derive(Clone, Copy)]
struct Head(u64);

impl Head {
    fn new(visit: u32, shared: bool, run: u16) -> Head {
        Head(u64::from(visit) << 32 | u64::from(shared) << 16 | u64::from(run))
    }
    /// Of this run, or nothing.
    fn of(self, run: u16) -> (u32, bool) {
        if self.0 as u16 == run {
            ((self.0 >> 32) as u32, self.0 >> 16 & 1 == 1)
        } else {
            (0, false)
        }
    }
}

/// What is known of eight bytes: next to each other, since all of it is looked at.
struct Granule {
    read: Last,
    write: Last,
    head: Head,
}

/// Bytes of the table: an entry for every eight bytes of the arena.
const TABLE: u64 = ARENA_SIZE / 8 * size_of::<Granule>() as u64;

#[derive(Debug)]
pub(crate) struct Sharing {
    table: *mut Granule,
    visits: Vec<Visit>,
    run: u16,
    pub learned: VisibleSet,
    /// Accesses that teach nothing if they come again.
    seen: Box<[Seen; SEEN]>,
    /// Who has made them, and whether others were there.
    by: (u32, bool),
    /// Changes with these, so that what others have made is no longer known.
    stretch: u32,
}

impl Sharing {
    pub fn new() -> Result<Sharing, VmError> {
        Ok(Sharing {
            table: map_table(TABLE)?.cast(),
            visits: Vec::new(),
            run: 0,
            learned: VisibleSet::default(),
            seen: Box::new([Seen::default(); SEEN]),
            by: (0, false),
            stretch: 1,
        })
    }

    /// The accesses that teach nothing if they come again, and the stretch in which, if these have made the last ones.
    pub fn seen(&self, by: (u32, bool)) -> (*const Seen, u64) {
        let stretch = if by == self.by { self.stretch } else { 0 };
        (self.seen.as_ptr(), u64::from(stretch))
    }

    /// Whether it teaches nothing; from now on, it does not.
    fn knows(
        &mut self,
        address: u64,
        bytes: u64,
        write: bool,
        by: (u32, bool),
        site: SiteId,
    ) -> bool {
        if by != self.by {
            self.by = by;
            self.forget();
        }
        if !in_arena(address) || (address & 7) + bytes > 8 {
            return false;
        }
        let this = Seen::new(address, write, site, self.stretch);
        let place = &mut self.seen[Seen::place(address, site)];
        let known = *place == this;
        *place = this;
        known
    }

    fn forget(&mut self) {
        self.stretch = self.stretch.checked_add(1).unwrap_or_else(|| {
            self.seen.fill(Seen::default());
            1
        });
    }

    /// An access by a thread, with others there or not.
    #[inline]
    pub fn learn(&mut self, address: u64, bytes: u64, write: bool, by: (u32, bool), site: SiteId) {
        if self.knows(address, bytes, write, by, site) {
            return;
        }
        match by {
            (thread, true) => self.access(address, bytes, write, thread, site),
            (_, false) => self.revisit(address, bytes, site),
        }
    }

    pub fn begin_run(&mut self) {
        self.learned = VisibleSet::default();
        self.forget();
        self.visits.clear();
        self.visits.push(Visit { site: SiteId(0), before: 0 });
        // Zero marks a granule nobody touched; after 65,535 learning runs, stale entries could look
        // like this run's. They would only make a private location visible.
        self.run = self.run.checked_add(1).unwrap_or(1);
    }

    /// An access while no other thread is alive.
    fn revisit(&mut self, address: u64, bytes: u64, site: SiteId) {
        if !in_arena(address) {
            return;
        }
        let first = (address - ARENA_BASE) >> 3;
        let last = (address + bytes.max(1) - 1 - ARENA_BASE) >> 3;
        let mut granules = (first..=last).take(MAX_GRANULES as usize);
        let is_shared = |granule: u64| {
            // SAFETY: the table covers the arena.
            let head = unsafe { (*self.table.add(granule as usize)).head };
            head.of(self.run).1
        };
        if granules.any(is_shared) {
            self.learned.insert(site);
        }
    }

    fn access(&mut self, address: u64, bytes: u64, write: bool, thread: u32, site: SiteId) {
        if !in_arena(address) {
            return;
        }
        let first = (address - ARENA_BASE) >> 3;
        let last = (address + bytes.max(1) - 1 - ARENA_BASE) >> 3;
        for granule in (first..=last).take(MAX_GRANULES as usize) {
            let at = granule as usize;
            // SAFETY: the table covers the arena.
            let Granule { read: reads, write: writes, head } = unsafe { &mut *self.table.add(at) };
            let (mut visit, mut shared) = head.of(self.run);
            let is_new = self.visits[visit as usize].site != site || visit == 0;
            if !shared && is_new && self.visits.len() < MAX_VISITS {
                self.visits.push(Visit { site, before: visit });
                visit = self.visits.len() as u32 - 1;
            }
            let written = writes.by_other(thread, self.run);
            let read = write && reads.by_other(thread, self.run);
            if !shared && (written || read) {
                shared = true;
                let mut at = visit;
                while at != 0 {
                    self.learned.insert(self.visits[at as usize].site);
                    at = self.visits[at as usize].before;
                }
            }
            if shared {
                self.learned.insert(site);
            }
            *head = Head::new(visit, shared, self.run);
            let last = if write { writes } else { reads };
            *last = Last::new(thread, last.by_other(thread, self.run), self.run);
        }
    }
}

impl Drop for Sharing {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`.
        unsafe { unmap(self.table, TABLE) };
    }
}
