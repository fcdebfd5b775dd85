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
use unravel_trace::{Executed, Op, ReadsFrom, SiteId, ThreadId, Touch, touched};

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
#[derive(Clone, Debug, Default)]
struct Granule {
    /// The bytes that all events so far have touched, and their common history: nearly always that is all there is.
    first: u8,
    bytes: u8,
    common: Cell,
    /// The history of each byte, once events have touched different ones.
    cells: Option<Box<[Cell; 8]>>,
    /// Who wrote them last, as a whole.
    writer: Option<(ThreadId, SiteId)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Cell {
    /// The last write.
    write: u64,
    /// The sum of the reads since.
    reads: u64,
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
        let reads = matches!(what.op, Op::Read | Op::Update);
        let by = (*thread, what.site);
        let (first, second) = touched(what);
        match (first.map(|touch| Span::new(&touch)), second.map(|touch| Span::new(&touch))) {
            // Nearly all events: one look at the memory.
            (Some(span), None) if span.is_short() => {
                let granule = self.memory.entry(span.start >> 3).or_default();
                if reads {
                    from = Some(granule.source(by));
                }
                hash = granule.visit(&span, hash, by);
            }
            (first, second) => {
                let spans: Vec<Span> =
                    first.into_iter().chain(second).flat_map(Span::split).collect();
                for span in &spans {
                    let granule = self.memory.entry(span.start >> 3).or_default();
                    if reads && from.is_none() {
                        from = Some(granule.source(by));
                    }
                    hash = granule.look(span, hash);
                }
                for span in &spans {
                    self.memory.entry(span.start >> 3).or_default().leave(span, hash, by);
                }
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

/// Some bytes that an event touches.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u64,
    end: u64,
    writes: bool,
}

impl Span {
    fn new(touch: &Touch) -> Span {
        Span {
            start: touch.address,
            end: touch.address.saturating_add(touch.bytes),
            writes: touch.writes,
        }
    }

    /// Within one granule.
    fn is_short(&self) -> bool {
        self.start >> 3 == (self.end - 1) >> 3
    }

    /// By granule.
    fn split(self) -> impl Iterator<Item = Span> {
        let first = self.start >> 3;
        (first..=(self.end - 1) >> 3).map(move |granule| Span {
            start: self.start.max(granule << 3),
            end: self.end.min((granule << 3).saturating_add(8)),
            writes: self.writes,
        })
    }
}

impl Cell {
    /// Adds to a hash what an event depends on here.
    #[inline]
    fn seen(&self, writes: bool, hash: u64) -> u64 {
        let hash = mix(hash, self.write);
        if writes { mix(hash, self.reads) } else { hash }
    }

    /// Notes that an event with this hash was here.
    #[inline]
    fn leave(&mut self, writes: bool, hash: u64) {
        if writes {
            *self = Cell { write: hash, reads: 0 };
        } else {
            self.reads = self.reads.wrapping_add(hash);
        }
    }
}

impl Granule {
    /// Looks and leaves.
    #[inline]
    fn visit(&mut self, span: &Span, hash: u64, by: (ThreadId, SiteId)) -> u64 {
        if !self.is_common(span) {
            let hash = self.look(span, hash);
            self.leave(span, hash, by);
            return hash;
        }
        let hash = self.common.seen(span.writes, hash);
        self.common.leave(span.writes, hash);
        if span.writes {
            self.writer = Some(by);
        }
        hash
    }

    /// Whether all events so far have touched just these bytes.
    #[inline]
    fn is_common(&mut self, span: &Span) -> bool {
        let (first, bytes) = ((span.start & 7) as u8, (span.end - span.start) as u8);
        if self.bytes == 0 {
            (self.first, self.bytes) = (first, bytes);
        }
        (self.first, self.bytes) == (first, bytes) && self.cells.is_none()
    }

    /// The cells of a span: one, if its bytes have the same history for sure.
    fn cells(&mut self, span: &Span) -> &mut [Cell] {
        if self.is_common(span) {
            return std::slice::from_mut(&mut self.common);
        }
        let (first, bytes) = ((span.start & 7) as u8, (span.end - span.start) as u8);
        if self.cells.is_none() {
            let mut cells = [Cell::default(); 8];
            cells[self.first as usize..][..self.bytes as usize].fill(self.common);
            self.cells = Some(Box::new(cells));
        }
        let cells = self.cells.as_mut().expect("made above");
        &mut cells[first as usize..][..bytes as usize]
    }

    /// Adds to a hash what an event depends on here.
    fn look(&mut self, span: &Span, mut hash: u64) -> u64 {
        let cells = self.cells(span);
        let first = cells[0];
        // Mostly the bytes of a span have the same history.
        let alike = cells[1..].iter().all(|cell| *cell == first);
        for cell in if alike { &cells[..1] } else { &*cells } {
            hash = cell.seen(span.writes, hash);
        }
        hash
    }

    /// Notes that an event with this hash was here.
    fn leave(&mut self, span: &Span, hash: u64, by: (ThreadId, SiteId)) {
        for cell in self.cells(span) {
            cell.leave(span.writes, hash);
        }
        if span.writes {
            self.writer = Some(by);
        }
    }

    /// Where a read takes its value from.
    fn source(&self, (thread, read): (ThreadId, SiteId)) -> ReadsFrom {
        let own = self.writer.is_some_and(|(writer, _)| writer == thread);
        ReadsFrom { write: self.writer.map(|(_, site)| site), read, own }
    }
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
