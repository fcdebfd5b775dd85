//! The orders between conflicting steps, numbered, and sets of them.
//!
//! Two steps of different threads that conflict in some run are a pair. A run keeps a pair one way, the other way, or
//! (where a step is missing, or the two touch different things this time) not at all. Two bits a pair, so that which
//! orders one run breaks of another is a few words of arithmetic.
//!
//! The ordering constraints of ConcBugAssist (§3.2), but only between steps that conflict: the order of others decides nothing.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_trace::{Key, Keys, ThreadKey};

use crate::budgets::LOOK_BACK;
use crate::watch::{Course, Ends, Says, Step, Touches};

/// The end of the process, wherever it comes from.
pub const END: Key = Key(u32::MAX);

/// The steps `first` and `second`, in this order. Even numbers have the smaller key first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct OrderId(pub u32);

/// A set of orders.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OrderSet(Vec<u64>);

impl OrderSet {
    pub fn insert(&mut self, order: OrderId) {
        let word = order.0 as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (order.0 % 64);
    }

    pub fn remove(&mut self, order: OrderId) {
        if let Some(word) = self.0.get_mut(order.0 as usize / 64) {
            *word &= !(1 << (order.0 % 64));
        }
    }

    pub fn contains(&self, order: OrderId) -> bool {
        self.0.get(order.0 as usize / 64).is_some_and(|word| word >> (order.0 % 64) & 1 == 1)
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn iter(&self) -> impl Iterator<Item = OrderId> + '_ {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| OrderId(index as u32 * 64 + bit))
        })
    }

    /// The orders of this set that a run with `kept` has the other way round.
    pub fn broken_by(&self, kept: &OrderSet) -> OrderSet {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let swap = |word: u64| (word & EVEN) << 1 | word >> 1 & EVEN;
        OrderSet(self.0.iter().zip(&kept.0).map(|(mine, theirs)| mine & swap(*theirs)).collect())
    }

    /// Whether a run with `kept` has one of these the other way round.
    pub fn meets(&self, other: &OrderSet) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    pub fn is_subset_of(&self, other: &OrderSet) -> bool {
        let theirs = other.0.iter().copied().chain(std::iter::repeat(0));
        self.0.iter().zip(theirs).all(|(mine, theirs)| mine & !theirs == 0)
    }
}

impl Extend<OrderId> for OrderSet {
    fn extend<I: IntoIterator<Item = OrderId>>(&mut self, orders: I) {
        orders.into_iter().for_each(|order| self.insert(order));
    }
}

impl FromIterator<OrderId> for OrderSet {
    fn from_iter<I: IntoIterator<Item = OrderId>>(orders: I) -> OrderSet {
        let mut set = OrderSet::default();
        set.extend(orders);
        set
    }
}

/// All pairs of steps that conflict in some run.
#[derive(Debug, Default)]
pub struct Pairs {
    pairs: Vec<(Key, Key)>,
    says: Vec<Says>,
    by_keys: FxHashMap<(Key, Key), u32>,
}

impl Pairs {
    /// The first and the second step of an order.
    pub fn keys(&self, order: OrderId) -> (Key, Key) {
        let (a, b) = self.pairs[order.0 as usize / 2];
        if order.0.is_multiple_of(2) { (a, b) } else { (b, a) }
    }

    pub fn says(&self, order: OrderId) -> Says {
        self.says[order.0 as usize / 2]
    }

    fn order(&mut self, first: Key, second: Key, says: Says) -> OrderId {
        let pair = (first.min(second), first.max(second));
        let next = self.pairs.len() as u32;
        let number = *self.by_keys.entry(pair).or_insert(next);
        if number == next {
            self.pairs.push(pair);
            self.says.push(says);
        }
        OrderId(number * 2 + u32::from(first > second))
    }

    /// The order of a step before the end of the process.
    pub fn before_end(&mut self, key: Key) -> OrderId {
        self.order(key, END, Says::Outside)
    }

    /// The orders that a run keeps.
    pub fn kept(&mut self, course: &Course, touches: &Touches) -> OrderSet {
        let mut at: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        let mut kept = OrderSet::default();
        for (index, step) in course.steps.iter().enumerate() {
            let mut partners: Vec<u32> = Vec::new();
            for touched in touches.get(step.touches) {
                let last =
                    touched.touch.address.saturating_add(touched.touch.bytes.max(1) - 1) >> 3;
                for granule in (touched.touch.address >> 3..=last).take(64) {
                    let list = at.entry(granule).or_default();
                    if list.last() == Some(&(index as u32)) {
                        continue;
                    }
                    partners.extend(list.iter().rev().take(LOOK_BACK));
                    list.push(index as u32);
                }
            }
            partners.sort_unstable();
            partners.dedup();
            for partner in partners {
                let earlier = &course.steps[partner as usize];
                if earlier.thread != step.thread
                    && let Some(says) = conflict(earlier, step, touches)
                {
                    kept.insert(self.order(earlier.key, step.key, says));
                }
            }
        }
        kept
    }

    /// The orders that a failing run keeps, with those between a step it has and one that it lacks only because it
    /// failed: that counts as after all of it (design §7). What a thread that has ended never did is on another path.
    pub fn kept_until_failure(&self, course: &Course, kept: &OrderSet, keys: &Keys) -> OrderSet {
        let has: FxHashSet<Key> = course.steps.iter().map(|step| step.key).collect();
        let ended: Vec<ThreadKey> = course
            .steps
            .iter()
            .filter(|step| step.ends == Ends::Thread)
            .map(|step| step.thread)
            .collect();
        let may_come = |key: Key| !has.contains(&key) && !ended.contains(&keys.parts(key).0);
        let mut all = kept.clone();
        for (number, (a, b)) in self.pairs.iter().enumerate().filter(|(_, (_, b))| *b != END) {
            if has.contains(a) && may_come(*b) {
                all.insert(OrderId(number as u32 * 2));
            } else if has.contains(b) && may_come(*a) {
                all.insert(OrderId(number as u32 * 2 + 1));
            }
        }
        all
    }
}

/// What the order of two steps says, if it can matter.
fn conflict(a: &Step, b: &Step, touches: &Touches) -> Option<Says> {
    let (left, right) = (touches.get(a.touches), touches.get(b.touches));
    let both = left.iter().flat_map(|a| right.iter().map(move |b| (a, b)));
    both.filter(|(a, b)| a.conflicts(b)).map(|(a, b)| a.says.max(b.says)).min()
}
