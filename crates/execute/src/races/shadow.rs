//! What is remembered of the accesses to memory: for each eight bytes, those that a later one may still race with.
//!
//! FastTrack keeps one epoch for the last write, and one for the reads as long as they are ordered. The same comes out of one
//! rule here: a new access replaces those that happened before it and that conflict with nothing that it does not
//! conflict with. So there is one entry as long as accesses are ordered, and one a thread where readers (or atomic
//! operations) are not. Each entry says which of the eight bytes it is about, so that bytes are told apart and a word is
//! still one entry.
//!
//! An access is looked at for its first 32 KiB only, as is what the machine learns to be shared: races further on are missed.

use unravel_strategies::ByAddress;
use unravel_trace::{Op, Operand, Pending, SiteId, ThreadId};

use super::Race;
use super::clock::Clock;
use crate::budgets::MOST_GRANULES;

#[derive(Clone, Debug, Default)]
pub(super) struct Shadow {
    /// By address in units of eight bytes.
    granules: ByAddress<Vec<Access>>,
}

/// An access as far as it touches one granule.
#[derive(Clone, Copy, Debug)]
struct Access {
    /// The event's number.
    number: u64,
    address: u64,
    bytes: u32,
    site: SiteId,
    thread: ThreadId,
    /// The epoch of its thread.
    epoch: u32,
    /// Which of the eight bytes; never none.
    mask: u8,
    op: Op,
    writes: bool,
    atomic: bool,
}

impl Access {
    fn happened_before(&self, clock: &Clock) -> bool {
        self.epoch <= clock.get(self.thread)
    }

    fn conflicts(&self, other: &Access) -> bool {
        (self.writes || other.writes) && !(self.atomic && other.atomic)
    }

    /// Whether all that conflicts with `earlier` conflicts with this one too.
    fn stands_for(&self, earlier: &Access) -> bool {
        (self.writes || !earlier.writes) && (!self.atomic || earlier.atomic)
    }

    /// Whether this adds nothing to `earlier`: the same once more, with nothing handed on in between.
    fn repeats(&self, earlier: &Access) -> bool {
        (self.thread, self.epoch, self.site) == (earlier.thread, earlier.epoch, earlier.site)
            && (self.writes, self.atomic) == (earlier.writes, earlier.atomic)
            && self.mask & !earlier.mask == 0
    }

    fn race(&self) -> Race {
        let &Access { op, address, bytes, site, atomic, .. } = self;
        let what =
            Pending { op, address, bytes, site, caller: None, operand: Operand::None, atomic };
        Race { earlier: self.number, thread: self.thread, what }
    }
}

/// Who accesses: an event's number, its thread, and what that thread knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accessor<'a> {
    pub number: u64,
    pub thread: ThreadId,
    pub clock: &'a Clock,
}

impl Shadow {
    pub fn clear(&mut self) {
        self.granules.clear();
    }

    /// An access, atomic or in an atomic section if `atomic`. Tells what it races with.
    pub fn access(
        &mut self,
        by: Accessor<'_>,
        what: &Pending,
        atomic: bool,
        found: &mut impl FnMut(Race),
    ) {
        let mut new = access(by, what, atomic);
        let end = what.address.saturating_add(u64::from(what.bytes.max(1)));
        let first = what.address >> 3;
        for granule in (first..=(end - 1) >> 3).take(MOST_GRANULES as usize) {
            new.mask = mask(granule, what.address, end);
            let entries = self.granules.entry(granule);
            if entries.iter().any(|entry| new.repeats(entry)) {
                continue;
            }
            entries.retain_mut(|entry| {
                if entry.mask & new.mask == 0 {
                    return true;
                }
                if !entry.happened_before(by.clock) {
                    if new.conflicts(entry) {
                        found(entry.race());
                    }
                } else if new.stands_for(entry) {
                    entry.mask &= !new.mask;
                }
                entry.mask != 0
            });
            entries.push(new);
        }
    }

    /// Memory that is given back: a write to all of it, after which it is another thing.
    pub fn free(&mut self, by: Accessor<'_>, what: &Pending, found: &mut impl FnMut(Race)) {
        let mut new = access(by, what, false);
        let end = what.address.saturating_add(u64::from(what.bytes.max(1)));
        for granule in self.known(what.address, end) {
            new.mask = mask(granule, what.address, end);
            self.granules.entry(granule).retain_mut(|entry| {
                let overlaps = entry.mask & new.mask != 0;
                if overlaps && !entry.happened_before(by.clock) {
                    found(entry.race());
                }
                entry.mask &= !new.mask;
                entry.mask != 0
            });
        }
    }

    /// Memory that becomes another thing, by whatever orders that.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        for granule in self.known(address, address.saturating_add(bytes)) {
            self.granules.entry(granule).clear();
        }
    }

    /// The granules of a range that something is known of, ascending. Ranges may be much larger than what is known.
    fn known(&self, start: u64, end: u64) -> Vec<u64> {
        let range = start >> 3..=(end - 1) >> 3;
        if range.end() - range.start() < self.granules.len() as u64 {
            return range.filter(|granule| self.granules.contains(*granule)).collect();
        }
        let mut known: Vec<u64> =
            self.granules.iter().map(|(at, _)| at).filter(|at| range.contains(at)).collect();
        known.sort_unstable();
        known
    }
}

/// An access that touches no granule yet.
fn access(by: Accessor<'_>, what: &Pending, atomic: bool) -> Access {
    Access {
        number: by.number,
        address: what.address,
        bytes: what.bytes,
        site: what.site,
        thread: by.thread,
        epoch: by.clock.get(by.thread),
        mask: 0,
        op: what.op,
        writes: what.op != Op::Read,
        atomic,
    }
}

/// The bytes of a granule between two addresses.
fn mask(granule: u64, start: u64, end: u64) -> u8 {
    let first = granule << 3;
    let from = start.saturating_sub(first);
    let to = end.saturating_sub(first).min(8);
    (0xffu16 << from) as u8 & (0xffu16 >> (8 - to)) as u8
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn a_mask_has_the_bytes_of_the_access() {
        assert_eq!(mask(2, 16, 24), 0xff);
        assert_eq!(mask(2, 20, 24), 0xf0);
        assert_eq!(mask(2, 16, 17), 0x01);
        assert_eq!(mask(3, 20, 26), 0x03);
    }
}
