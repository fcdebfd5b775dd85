//! Which interleavings are the same: a fingerprint of a run's class, that is, of its Mazurkiewicz trace.
//!
//! Each event gets a hash of its thread's last event and of the events it depends on directly: a read of the last write, a
//! write of the last write and of the reads since, in any order. Runs that differ only in the order of independent
//! events get the same hashes, and others almost surely do not. Updates that commute are a sum, as reads are, and so are those
//! who meet at a barrier. The hash of all threads' last events is the class
//! of the run so far; two runs of the same class have the same state.
//!
//! The data flow is seen on the way: which write a read takes its value from.
//!
//! Who touches many granules at once (`free`, `memset` and `read` of large memory) leaves the same everywhere: that is kept as a
//! range, and told apart by granule where somebody touches less of it.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use unravel_strategies::{ByAddress, Renew};
use unravel_trace::{Commuting, Executed, Op, ReadsFrom, Role, SiteId, ThreadId, Touch, touched};

use crate::ranges::Ranges;

/// The class of a run, as far as it went.
#[derive(Clone, Debug, Default)]
pub struct Class {
    /// By thread: the hash of its last event.
    threads: Vec<u64>,
    /// By thread: the hash of its name.
    names: Vec<u64>,
    memory: ByAddress<Granule>,
    /// What long accesses left in granules of which there is nothing in `memory`.
    ranges: Ranges<Left>,
    /// By barrier and number: the sum of those who came to meet.
    meetings: FxHashMap<(u64, u32), u64>,
    /// All events so far, for the end of the process, which depends on all.
    all: u64,
}

/// Eight bytes of memory.
#[derive(Clone, Debug, Default)]
struct Granule {
    /// The bytes that events have touched, each time as a whole, and their histories: a word, or its two halves, is nearly
    /// always all there is.
    parts: [Part; 2],
    /// The history of each byte, once events have touched others.
    cells: Option<Box<[Cell; 8]>>,
    /// Who wrote them last, as a whole.
    writer: Option<(ThreadId, SiteId)>,
}

impl Renew for Granule {
    fn renew(&mut self) {
        *self = Granule::default();
    }
}

/// Some bytes of a granule that are always touched together; none if there are no bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    first: u8,
    bytes: u8,
    cell: Cell,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Cell {
    /// The last write.
    write: u64,
    /// The sum of the reads since.
    reads: u64,
    /// The sum of the updates since of which two commute, and what they do; 0 if there are none.
    updates: u64,
    kind: Option<Commuting>,
}

/// What long accesses left in each of many granules.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    cell: Cell,
    writer: Option<(ThreadId, SiteId)>,
}

/// Granules between its first and its last from which on an access is long.
const NEAR: u64 = 32;

/// How an event touches bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Reads,
    Writes,
    Updates(Commuting),
}

impl Class {
    /// Makes it the class of no events, keeping its memory.
    pub fn clear(&mut self) {
        self.threads.clear();
        self.names.clear();
        self.memory.clear();
        self.ranges.clear();
        self.meetings.clear();
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
        let meets = first.and_then(|touch| self.meet(&touch, hash));
        if let Some(met) = meets {
            hash = met;
        }
        match (first.map(|touch| Span::new(&touch)), second.map(|touch| Span::new(&touch))) {
            (None, None) => {}
            // Nearly all events: one look at the memory.
            (Some(span), None) if span.is_short() => {
                let granule = self.granule(span.start >> 3);
                if reads {
                    from = Some(granule.source(by));
                }
                hash = granule.visit(&span, hash, by);
            }
            // A condition variable and its mutex.
            (Some(one), Some(other)) if one.is_short() && other.is_short() => {
                for span in [&one, &other] {
                    hash = self.granule(span.start >> 3).look(span, hash);
                }
                for span in [&one, &other] {
                    self.granule(span.start >> 3).leave(span, hash, by);
                }
            }
            (first, second) => {
                let spans = first.into_iter().chain(second).flat_map(Span::split);
                let mut parts = [Vec::new(), Vec::new()];
                for span in spans {
                    parts[usize::from(span.is_far())].push(span);
                }
                let [short, long] = parts;
                for span in &short {
                    let granule = self.granule(span.start >> 3);
                    if reads && from.is_none() {
                        from = Some(granule.source(by));
                    }
                    hash = granule.look(span, hash);
                }
                for span in &long {
                    hash = mix(hash, self.look_far(span));
                }
                for span in &short {
                    self.granule(span.start >> 3).leave(span, hash, by);
                }
                for span in &long {
                    self.leave_far(span, hash, by);
                }
            }
        }
        self.threads[me] = hash;
        self.all = self.all.wrapping_add(hash);
        from
    }

    #[inline]
    fn granule(&mut self, granule: u64) -> &mut Granule {
        let Class { memory, ranges, .. } = self;
        let found = memory.entry(granule);
        if !ranges.is_empty()
            && found.is_untouched()
            && let Some(Left { cell, writer }) = ranges.of(granule)
        {
            found.parts[0] = Part { first: 0, bytes: 8, cell };
            found.writer = writer;
        }
        found
    }

    /// What an event depends on in many whole granules: a sum over their bytes, the same whether these are known by range or one
    /// by one, and whether what nobody wrote is known at all.
    fn look_far(&mut self, span: &Span) -> u64 {
        let (first, last) = span.granules();
        let mut sum = 0u64;
        self.memory.within(first..=last, |granule| sum = sum.wrapping_add(granule.sum(span.way)));
        for (first, last, left) in self.ranges.within(first, last) {
            let mut granules = last - first + 1;
            self.memory.within(first..=last, |_| granules -= 1);
            sum = sum.wrapping_add(left.cell.share(span.way).wrapping_mul(8 * granules));
        }
        sum
    }

    fn leave_far(&mut self, span: &Span, hash: u64, by: (ThreadId, SiteId)) {
        let (first, last) = span.granules();
        self.memory.within(first..=last, |granule| granule.leave(&Span::whole(span.way), hash, by));
        let mut left = Left::default();
        match span.way {
            Way::Writes => {
                left.leave(span.way, hash, by);
                self.ranges.replace(first, last, left);
            }
            _ => self.ranges.change(first, last, |left| left.leave(span.way, hash, by)),
        }
    }

    /// Adds to a hash what somebody depends on who meets others at a barrier: who arrives comes after the meetings before
    /// (as a rule because it was there), who leaves after all who arrived.
    fn meet(&mut self, touch: &Touch, hash: u64) -> Option<u64> {
        let Touch { address, .. } = *touch;
        let mut sum = |number: u32| *self.meetings.entry((address, number)).or_default();
        match touch.role {
            Role::Arrive(meeting) => {
                let before = meeting.number.checked_sub(1).map_or(0, &mut sum);
                let hash = mix(hash, before);
                let all = self.meetings.entry((address, meeting.number)).or_default();
                *all = all.wrapping_add(hash);
                Some(hash)
            }
            Role::Leave(meeting) => Some(mix(hash, sum(meeting.number))),
            _ => None,
        }
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
    way: Way,
}

impl Span {
    fn new(touch: &Touch) -> Span {
        Span {
            start: touch.address,
            end: touch.address.saturating_add(touch.bytes),
            way: match touch.role {
                Role::Blind(kind) => Way::Updates(kind),
                // Of a barrier, who sets it up and who destroys it.
                Role::Arrive(_) | Role::Leave(_) => Way::Reads,
                _ if touch.writes => Way::Writes,
                _ => Way::Reads,
            },
        }
    }

    /// Within one granule.
    fn is_short(&self) -> bool {
        self.start >> 3 == (self.end - 1) >> 3
    }

    /// Where in its granule, and how many bytes, of a short one.
    #[inline]
    fn within(&self) -> (u8, u8) {
        ((self.start & 7) as u8, (self.end - self.start) as u8)
    }

    /// All of a granule, whichever.
    fn whole(way: Way) -> Span {
        Span { start: 0, end: 8, way }
    }

    /// By granule; of a long one, what lies between the first and the last granule is one.
    fn split(self) -> impl Iterator<Item = Span> {
        let (first, last) = self.granules();
        let far = last - first > NEAR;
        let mut next = first;
        std::iter::from_fn(move || {
            let granule = (next <= last).then_some(next)?;
            next = if far && granule == first + 1 { last } else { granule + 1 };
            let (start, end) = (granule << 3, next.saturating_mul(8));
            Some(Span { start: self.start.max(start), end: self.end.min(end), way: self.way })
        })
    }

    /// More than one granule, and nothing but whole ones.
    fn is_far(&self) -> bool {
        !self.is_short()
    }

    /// The first granule and the last.
    fn granules(&self) -> (u64, u64) {
        (self.start >> 3, (self.end - 1) >> 3)
    }
}

impl Cell {
    /// Adds to a hash what an event depends on here.
    #[inline]
    fn seen(&self, way: Way, hash: u64) -> u64 {
        let hash = mix(hash, self.write);
        let is_one_more = matches!(way, Way::Updates(kind) if self.takes(kind));
        let hash = if self.updates == 0 || is_one_more { hash } else { mix(hash, self.updates) };
        if way == Way::Reads { hash } else { mix(hash, self.reads) }
    }

    /// What a byte adds to what a far event depends on: nothing if nobody has touched it.
    fn share(&self, way: Way) -> u64 {
        self.seen(way, 0).wrapping_sub(Cell::default().seen(way, 0))
    }

    /// Whether an update of this kind commutes with those since the last write.
    fn takes(&self, kind: Commuting) -> bool {
        self.kind.is_none_or(|other| other == kind)
    }

    /// Notes that an event with this hash was here.
    #[inline]
    fn leave(&mut self, way: Way, hash: u64) {
        match way {
            Way::Reads => self.reads = self.reads.wrapping_add(hash),
            Way::Writes => *self = Cell { write: hash, ..Cell::default() },
            Way::Updates(kind) => {
                if !self.takes(kind) {
                    let write = mix(mix(self.write, self.updates), self.reads);
                    *self = Cell { write, ..Cell::default() };
                }
                self.updates = self.updates.wrapping_add(hash);
                self.kind = Some(kind);
            }
        }
    }
}

impl Left {
    fn leave(&mut self, way: Way, hash: u64, by: (ThreadId, SiteId)) {
        self.cell.leave(way, hash);
        if way != Way::Reads {
            self.writer = Some(by);
        }
    }
}

impl Granule {
    /// Whether no event has looked at it.
    #[inline]
    fn is_untouched(&self) -> bool {
        self.parts[0].bytes == 0 && self.cells.is_none()
    }

    /// What a far event depends on here, byte by byte.
    fn sum(&self, way: Way) -> u64 {
        let each = |sum: u64, (cell, bytes): (&Cell, u64)| {
            sum.wrapping_add(cell.share(way).wrapping_mul(bytes))
        };
        match &self.cells {
            Some(cells) => cells.iter().map(|cell| (cell, 1)).fold(0, each),
            None => {
                let parts = self.parts.iter().map(|part| (&part.cell, u64::from(part.bytes)));
                parts.fold(0, each)
            }
        }
    }

    /// Looks and leaves.
    #[inline]
    fn visit(&mut self, span: &Span, hash: u64, by: (ThreadId, SiteId)) -> u64 {
        let Some(cell) = self.whole(span) else {
            let hash = self.look(span, hash);
            self.leave(span, hash, by);
            return hash;
        };
        let hash = cell.seen(span.way, hash);
        cell.leave(span.way, hash);
        if span.way != Way::Reads {
            self.writer = Some(by);
        }
        hash
    }

    /// The history of just these bytes, if they were always touched together.
    #[inline]
    fn whole(&mut self, span: &Span) -> Option<&mut Cell> {
        if self.cells.is_some() {
            return None;
        }
        let (first, bytes) = span.within();
        let is_it = |part: &Part| part.first == first && part.bytes == bytes;
        if is_it(&self.parts[0]) {
            return Some(&mut self.parts[0].cell);
        }
        if is_it(&self.parts[1]) {
            return Some(&mut self.parts[1].cell);
        }
        let meets = |part: &Part| part.first < first + bytes && first < part.first + part.bytes;
        if self.parts.iter().any(meets) {
            return None;
        }
        let part = self.parts.iter_mut().find(|part| part.bytes == 0)?;
        *part = Part { first, bytes, cell: Cell::default() };
        Some(&mut part.cell)
    }

    /// The cells of a span: one, if its bytes have the same history for sure.
    fn cells(&mut self, span: &Span) -> &mut [Cell] {
        if self.whole(span).is_some() {
            return self.whole(span).map_or(&mut [], std::slice::from_mut);
        }
        let parts = self.parts;
        let cells = self.cells.get_or_insert_with(|| {
            let mut cells = Box::new([Cell::default(); 8]);
            for part in parts {
                cells[part.first as usize..][..part.bytes as usize].fill(part.cell);
            }
            cells
        });
        let (first, bytes) = span.within();
        &mut cells[first as usize..][..bytes as usize]
    }

    /// Adds to a hash what an event depends on here.
    fn look(&mut self, span: &Span, mut hash: u64) -> u64 {
        let cells = self.cells(span);
        let first = cells[0];
        // Mostly the bytes of a span have the same history, or what this way of touching them depends on is: it must not matter
        // who else has read some of them.
        let is_like = |cell: &Cell| *cell == first || cell.share(span.way) == first.share(span.way);
        let alike = cells[1..].iter().all(is_like);
        for cell in if alike { &cells[..1] } else { &*cells } {
            hash = cell.seen(span.way, hash);
        }
        hash
    }

    /// Notes that an event with this hash was here.
    fn leave(&mut self, span: &Span, hash: u64, by: (ThreadId, SiteId)) {
        for cell in self.cells(span) {
            cell.leave(span.way, hash);
        }
        if span.way != Way::Reads {
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

/// A strong mixture of two words, in this order: sums of such hashes must not collide. One wide product, folded: each bit of
/// the result depends on nearly all bits of both.
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15)
        * u128::from(b.rotate_left(32) ^ 0xbf58_476d_1ce4_e5b9);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_trace::{Op, Operand, Pending, Rng, ThreadName};

    fn class(events: &[(u32, Pending)]) -> u64 {
        let names: Vec<ThreadName> = (0..3).map(|n| ThreadName(vec![n])).collect();
        let mut class = Class::default();
        for (number, (thread, what)) in events.iter().enumerate() {
            let (number, thread) = (number as u64, ThreadId(*thread));
            class.add(&Executed { number, thread, what: *what, repeats: false, names: &names });
        }
        class.value()
    }

    fn depend(one: &(u32, Pending), other: &(u32, Pending)) -> bool {
        one.0 == other.0 || unravel_trace::depend(&one.1, &other.1)
    }

    #[test]
    fn neighbours_that_are_independent_may_change_places_and_no_others() {
        let mut rng = Rng::new(11);
        let (mut same, mut other) = (0, 0);
        for _ in 0..4000 {
            let events: Vec<(u32, Pending)> = (0..8)
                .map(|site| {
                    let bytes = [1, 4, 8, 24, 40, 264, 300, 4000, 9000][rng.below(9) as usize];
                    let op = [Op::Read, Op::Read, Op::Write, Op::Update, Op::Free];
                    let what = Pending {
                        op: *rng.pick(&op),
                        address: 4096 + u64::from(rng.below(9) * 260 + rng.below(2) * 4),
                        bytes,
                        site: SiteId(site),
                        caller: None,
                        operand: Operand::None,
                        atomic: false,
                    };
                    (rng.below(3), what)
                })
                .collect();
            let at = rng.below(7) as usize;
            if events[at].0 == events[at + 1].0 {
                continue;
            }
            let mut swapped = events.clone();
            swapped.swap(at, at + 1);
            let expected = !depend(&events[at], &events[at + 1]);
            assert_eq!(class(&events) == class(&swapped), expected, "{at}: {events:?}");
            *(if expected { &mut same } else { &mut other }) += 1;
        }
        assert!(same > 100 && other > 100);
    }
}
