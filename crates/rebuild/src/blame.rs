//! After a run that strayed: which order of two accesses may have made it stray.
//!
//! A thread on its recorded path makes the same events in every run, so an event is named by its thread and number. What a
//! thread that strayed had read last decides: an access of another thread to the same memory came too early or too late. If
//! nothing can be turned round there, the value came from further away: pairs of accesses to the same memory by other threads
//! are turned round, those on what the thread read first. After DPOR's idea of reversing races, with the recorded path as the
//! guide.

use rustc_hash::FxHashMap;

use crate::budgets::{MOST_CHILDREN, PAIRS, RECENT, WRITES};
use crate::steer::{Nth, Order, Seen};

/// Writes that some run has shown, by the word they begin in.
#[derive(Debug, Default)]
pub(crate) struct Known {
    writes: FxHashMap<u64, Vec<Seen>>,
}

impl Known {
    pub fn learn(&mut self, seen: &[Seen]) {
        for one in seen.iter().filter(|one| one.is_access() && one.writes()) {
            let list = self.writes.entry(one.address >> 3).or_default();
            if list.len() < 4096 && !list.iter().any(|other| other.by == one.by) {
                list.push(*one);
            }
        }
    }

    fn writes(&self, at: &Seen) -> impl Iterator<Item = &Seen> {
        let words = [at.address >> 3, (at.address + u64::from(at.bytes.max(1)) - 1) >> 3];
        let second = (words[0] != words[1]).then_some(words[1]);
        let all = [Some(words[0]), second].into_iter().flatten();
        all.filter_map(|word| self.writes.get(&word)).flatten().filter(|one| one.touches(at))
    }
}

/// Orders to try instead, most promising first. `who` strayed after its event `own`.
pub(crate) fn orders(seen: &[Seen], known: &Known, who: u32, own: u32) -> Vec<Order> {
    let mut orders = Vec::new();
    let mine = seen.iter().enumerate().rev().filter(|(_, one)| one.by.leg == who);
    let mine = mine.filter(|(_, one)| one.by.own <= own);
    let reads: Vec<(usize, Seen)> = mine
        .filter(|(_, one)| one.is_access() && one.reads())
        .take(RECENT)
        .map(|(at, one)| (at, *one))
        .collect();
    let done = |nth: Nth| seen.iter().any(|one| one.by.leg == nth.leg && one.by.own >= nth.own);
    for (at, read) in &reads {
        let came = seen[..*at].iter().rev();
        let came = came.filter(|one| one.by.leg != who && one.writes() && one.is_access());
        let came = came.filter(|one| one.touches(read)).take(WRITES);
        orders.extend(came.map(|write| Order { first: read.by, then: write.by }));
        let mut coming: Vec<&Seen> = known
            .writes(read)
            .filter(|one| one.by.leg != who)
            .filter(|one| {
                !seen[..*at].iter().any(|s| s.by.leg == one.by.leg && s.by.own >= one.by.own)
            })
            .collect();
        coming.sort_by_key(|one| (done(one.by), one.by.own));
        orders.extend(
            coming.iter().take(WRITES).map(|write| Order { first: write.by, then: read.by }),
        );
    }
    let mut looked: Vec<u64> = Vec::new();
    for (at, read) in &reads {
        if looked.contains(&read.address) {
            continue;
        }
        looked.push(read.address);
        pairs(&seen[..*at], |one| one.touches(read), &mut orders);
    }
    pairs(seen, |_| true, &mut orders);
    let mut kept: Vec<Order> = Vec::new();
    for order in orders {
        if kept.len() < MOST_CHILDREN && !kept.contains(&order) {
            kept.push(order);
        }
    }
    kept
}

/// Accesses by different threads to the same memory that follow each other there, one of them a write, turned round.
fn pairs(seen: &[Seen], of: impl Fn(&Seen) -> bool, orders: &mut Vec<Order>) {
    // By word: who comes next there.
    let mut after: FxHashMap<u64, Seen> = FxHashMap::default();
    let mut found = 0;
    for one in seen.iter().rev().filter(|one| one.is_access() && of(one)) {
        let word = one.address >> 3;
        if let Some(next) = after.get(&word)
            && next.by.leg != one.by.leg
            && (next.writes() || one.writes())
            && next.touches(one)
        {
            orders.push(Order { first: next.by, then: one.by });
            found += 1;
            if found >= PAIRS {
                return;
            }
        }
        after.insert(word, *one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_trace::Op;

    fn seen(leg: u32, own: u32, op: Op, address: u64) -> Seen {
        Seen { by: Nth { leg, own }, op, address, bytes: 4, lock: address }
    }

    #[test]
    fn a_lost_update_is_found_by_turning_a_pair_of_others_round() {
        let run = [
            seen(1, 1, Op::Read, 8),
            seen(1, 2, Op::Write, 8),
            seen(2, 1, Op::Read, 8),
            seen(2, 2, Op::Write, 8),
            seen(0, 5, Op::Read, 8),
        ];
        let orders = orders(&run, &Known::default(), 0, 5);
        let lost = Order { first: Nth { leg: 2, own: 1 }, then: Nth { leg: 1, own: 2 } };
        assert!(orders.contains(&lost), "{orders:?}");
    }

    #[test]
    fn a_write_that_another_run_showed_can_be_waited_for() {
        let mut known = Known::default();
        known.learn(&[seen(2, 7, Op::Write, 16)]);
        let orders = orders(&[seen(1, 3, Op::Read, 16)], &known, 1, 3);
        assert_eq!(orders, [Order { first: Nth { leg: 2, own: 7 }, then: Nth { leg: 1, own: 3 } }]);
    }
}
