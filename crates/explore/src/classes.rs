//! Which interleavings are the same: a fingerprint of a run's class, that is, of its Mazurkiewicz trace.
//!
//! Each event gets a hash of its thread's last event and of the events it depends on directly: a read of the last write, a
//! write of the last write and of the reads since, in any order. Runs that differ only in the order of independent
//! events get the same hashes, and others almost surely do not. The hash of all threads' last events is the class
//! of the run so far; two runs of the same class have the same state.
//!
//! The data flow is seen on the way: which write a read takes its value from.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use unravel_trace::{Executed, Op, SiteId, ThreadId};

use crate::dependence::touches;

/// The class of a run, as far as it went.
#[derive(Clone, Debug, Default)]
pub struct Class {
    /// By thread: the hash of its last event.
    threads: Vec<u64>,
    /// By thread: the hash of its name.
    names: Vec<u64>,
    memory: FxHashMap<u64, Granule>,
    /// All events so far, for the end of the process, which depends on all.
    all: u64,
}

/// Eight bytes of memory.
#[derive(Clone, Copy, Debug, Default)]
struct Granule {
    cells: [Cell; 8],
    /// Who wrote them last, as a whole.
    writer: Option<(ThreadId, SiteId)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// The last write.
    write: u64,
    /// The sum of the reads since.
    reads: u64,
}

/// A read of what another thread wrote: both sites.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct ReadsFrom {
    /// `None`: what was there at first.
    pub write: Option<SiteId>,
    pub read: SiteId,
    /// By the same thread.
    pub own: bool,
}

impl Class {
    /// Makes it the class of no events, keeping its memory.
    pub fn clear(&mut self) {
        self.threads.clear();
        self.names.clear();
        self.memory.clear();
        self.all = 0;
    }

    /// Adds an event; returns where it reads from, if it reads.
    pub fn add(&mut self, executed: &Executed<'_>) -> Option<ReadsFrom> {
        let Executed { thread, what, names, .. } = executed;
        for name in &names[self.names.len()..] {
            let hash = hash_of(name);
            self.names.push(hash);
            self.threads.push(hash);
        }
        let me = thread.index();
        let mut hash = mix(self.threads[me], u64::from(what.site.0) << 8 | what.op as u64);
        let mut from = None;
        if what.op == Op::End {
            hash = mix(hash, self.all);
        }
        for touch in touches(what) {
            // A sync object is one thing, wherever it is touched.
            let bytes = if is_sync(what.op) { 1 } else { touch.bytes };
            let end = touch.address.saturating_add(bytes);
            let mut address = touch.address;
            while address < end {
                let granule = self.memory.entry(address >> 3).or_default();
                let upto = end.min((address | 7) + 1);
                for cell in
                    &mut granule.cells[(address & 7) as usize..][..(upto - address) as usize]
                {
                    hash = mix(hash, cell.write);
                    if touch.writes {
                        hash = mix(hash, cell.reads);
                    }
                }
                if matches!(what.op, Op::Read | Op::Update) && from.is_none() {
                    let write = granule.writer;
                    let own = write.is_some_and(|(writer, _)| writer == *thread);
                    from = Some(ReadsFrom { write: write.map(|w| w.1), read: what.site, own });
                }
                address = upto;
            }
        }
        for touch in touches(what) {
            let bytes = if is_sync(what.op) { 1 } else { touch.bytes };
            let end = touch.address.saturating_add(bytes);
            let mut address = touch.address;
            while address < end {
                let granule = self.memory.entry(address >> 3).or_default();
                let upto = end.min((address | 7) + 1);
                for cell in
                    &mut granule.cells[(address & 7) as usize..][..(upto - address) as usize]
                {
                    if touch.writes {
                        *cell = Cell { write: hash, reads: 0 };
                    } else {
                        cell.reads = cell.reads.wrapping_add(hash);
                    }
                }
                if touch.writes {
                    granule.writer = Some((*thread, what.site));
                }
                address = upto;
            }
        }
        self.threads[me] = hash;
        self.all = self.all.wrapping_add(hash);
        from
    }

    /// The class of the events so far.
    pub fn value(&self) -> u64 {
        self.threads.iter().fold(0, |sum, hash| sum.wrapping_add(mix(*hash, 1)))
    }
}

fn is_sync(op: Op) -> bool {
    matches!(op, Op::Acquire | Op::AcquireShared | Op::Release | Op::Wait | Op::Signal)
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    mix(hasher.finish(), 0)
}

/// A strong mixture of two words: sums of such hashes must not collide.
fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.rotate_left(23) ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
