//! A minimal cause of one failing run: a smallest set of its orders of which every passing run breaks one.
//!
//! ConcBugAssist takes a minimal unsatisfiable core of "passes" and the failing schedule's orders. Here the passing runs are
//! at hand, one of each class, so a core is a hitting set of what each of them breaks. Found by implicit hitting sets: a cheapest set that meets
//! the runs seen so far, then a run that it does not meet, until there is none. Members are then left out as long
//! as every passing run still breaks one, so a core is minimal with respect to all passing runs, and each member has a
//! run that breaks it alone.

use rustc_hash::FxHashMap;

use unravel_execute::Limit;

use crate::budgets::MOST_NODES;
use crate::orders::{OrderId, OrderSet};

/// A cause, with a passing run for each order that breaks it and no other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Core {
    pub orders: Vec<OrderId>,
    /// Indices of passing runs.
    pub witnesses: Vec<usize>,
    /// Passing runs that break no order of the failing one: orders do not tell them apart.
    pub alike: usize,
}

/// The core of a failing run; `None` if there was no time for it. `broken` are the orders of it that each passing run breaks; `says` ranks an order by how
/// little it tells a reader, `cost` chooses among those of one rank.
pub fn core(
    broken: &[OrderSet],
    says: impl Fn(OrderId) -> u32,
    cost: impl Fn(OrderId) -> u64,
    limit: Limit<'_>,
) -> Option<Core> {
    let telling: Vec<OrderSet> = broken.iter().map(|set| most_telling(set, &says)).collect();
    let mut met: Vec<&OrderSet> = Vec::new();
    let mut chosen = OrderSet::default();
    loop {
        let missed = telling.iter().filter(|set| !set.is_empty() && !set.meets(&chosen));
        let Some(smallest) = missed.min_by_key(|set| set.len()) else { break };
        if !limit.may_go_on() {
            return None;
        }
        met.push(smallest);
        chosen = cheapest(&met, &cost, limit).into_iter().collect();
    }
    let mut orders: Vec<OrderId> = chosen.iter().collect();
    // The costliest is the first that may go.
    orders.sort_by_key(|order| (says(*order), cost(*order), *order));
    for index in (0..orders.len()).rev() {
        if witness(orders[index], &orders, broken).is_none() {
            orders.remove(index);
        }
    }
    let witnesses = orders.iter().map(|order| {
        witness(*order, &orders, broken).expect("an order that nobody breaks alone was left out")
    });
    Some(Core {
        witnesses: witnesses.collect(),
        alike: broken.iter().filter(|set| set.is_empty()).count(),
        orders,
    })
}

/// Of what a run breaks, the orders that tell a reader the most: of data rather than of locks.
fn most_telling(broken: &OrderSet, says: &impl Fn(OrderId) -> u32) -> OrderSet {
    let least = broken.iter().map(says).min();
    broken.iter().filter(|order| Some(says(*order)) == least).collect()
}

/// The passing run that breaks this order and no other of the set, and else as little as possible.
fn witness(order: OrderId, orders: &[OrderId], broken: &[OrderSet]) -> Option<usize> {
    let alone = broken.iter().enumerate().filter(|(_, set)| {
        set.contains(order) && !orders.iter().any(|other| *other != order && set.contains(*other))
    });
    alone.min_by_key(|(_, set)| set.len()).map(|(index, _)| index)
}

/// A cheapest set that meets all of these: fewest members first, then the smallest sum of costs.
fn cheapest(sets: &[&OrderSet], cost: &impl Fn(OrderId) -> u64, limit: Limit<'_>) -> Vec<OrderId> {
    let mut costs: FxHashMap<OrderId, u64> = FxHashMap::default();
    for order in sets.iter().flat_map(|set| set.iter()) {
        costs.entry(order).or_insert_with(|| cost(order));
    }
    let mut search = Search { sets, costs, best: None, nodes: 0, limit };
    search.best = Some(search.greedy());
    search.branch(&mut Vec::new(), 0);
    search.best.map(|(_, _, orders)| orders).unwrap_or_default()
}

struct Search<'s> {
    sets: &'s [&'s OrderSet],
    costs: FxHashMap<OrderId, u64>,
    /// Members, sum of costs, and who they are.
    best: Option<(usize, u64, Vec<OrderId>)>,
    nodes: usize,
    /// When it makes do with the best so far.
    limit: Limit<'s>,
}

impl Search<'_> {
    fn open<'a>(&'a self, chosen: &'a [OrderId]) -> impl Iterator<Item = &'a OrderSet> {
        self.sets.iter().copied().filter(|set| !chosen.iter().any(|order| set.contains(*order)))
    }

    /// What meets the most sets that are left, again and again.
    fn greedy(&self) -> (usize, u64, Vec<OrderId>) {
        let mut chosen = Vec::new();
        let mut sum = 0;
        loop {
            let mut hits: FxHashMap<OrderId, usize> = FxHashMap::default();
            for order in self.open(&chosen).flat_map(OrderSet::iter) {
                *hits.entry(order).or_default() += 1;
            }
            let best = hits
                .into_iter()
                .min_by_key(|(order, hits)| (usize::MAX - hits, self.costs[order], *order));
            let Some((order, _)) = best else { break };
            sum += self.costs[&order];
            chosen.push(order);
        }
        (chosen.len(), sum, chosen)
    }

    fn branch(&mut self, chosen: &mut Vec<OrderId>, sum: u64) {
        self.nodes += 1;
        let bound = self.best.as_ref().map_or((usize::MAX, u64::MAX), |(n, sum, _)| (*n, *sum));
        let next = self.open(chosen).min_by_key(|set| set.len());
        let Some(next) = next else {
            if (chosen.len(), sum) < bound {
                self.best = Some((chosen.len(), sum, chosen.clone()));
            }
            return;
        };
        let is_over = self.nodes > MOST_NODES || !self.limit.may_go_on();
        if is_over || chosen.len() + self.disjoint(chosen) > bound.0 {
            return;
        }
        let mut options: Vec<OrderId> = next.iter().collect();
        options.sort_by_key(|order| (self.costs[order], *order));
        for order in options {
            let more = sum + self.costs[&order];
            if (chosen.len() + 1, more) < bound {
                chosen.push(order);
                self.branch(chosen, more);
                chosen.pop();
            }
        }
    }

    /// How many members are missing at least: sets without a common member need one each.
    fn disjoint(&self, chosen: &[OrderId]) -> usize {
        let mut taken: Vec<&OrderSet> = Vec::new();
        for set in self.open(chosen) {
            if !taken.iter().any(|other| other.meets(set)) {
                taken.push(set);
            }
        }
        taken.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(orders: &[u32]) -> OrderSet {
        orders.iter().map(|order| OrderId(*order)).collect()
    }

    fn core_of(broken: &[&[u32]]) -> Vec<u32> {
        let broken: Vec<OrderSet> = broken.iter().map(|orders| set(orders)).collect();
        let core =
            core(&broken, |_| 0, |order| u64::from(order.0), Limit::default()).expect("time");
        for (order, witness) in core.orders.iter().zip(&core.witnesses) {
            let alone = broken[*witness].iter().filter(|o| core.orders.contains(o)).count();
            assert!(broken[*witness].contains(*order) && alone == 1);
        }
        core.orders.iter().map(|order| order.0).collect()
    }

    #[test]
    fn every_passing_run_breaks_a_member_and_none_is_spare() {
        assert_eq!(core_of(&[&[0, 4], &[2, 4]]), [4]);
        assert_eq!(core_of(&[&[0], &[2, 4], &[4, 6]]), [0, 4]);
        assert!(core_of(&[]).is_empty());
    }

    #[test]
    fn greed_alone_would_take_three() {
        // Greedy begins with 0, which meets the most, and then needs two more.
        let sets: &[&[u32]] = &[&[0, 2], &[0, 4], &[2, 6], &[4, 8], &[0, 2, 4], &[2], &[4]];
        assert_eq!(core_of(sets), [2, 4]);
    }

    #[test]
    fn what_tells_more_comes_first() {
        let broken = [set(&[0, 2]), set(&[0, 4])];
        let core = core(&broken, |order| u32::from(order.0 == 0), |_| 1, Limit::default());
        let core = core.expect("time");
        assert_eq!(core.orders, [OrderId(2), OrderId(4)]);
    }

    #[test]
    fn runs_that_break_nothing_are_counted() {
        let core = core(&[set(&[]), set(&[2])], |_| 0, |_| 1, Limit::default()).expect("time");
        assert_eq!((core.orders, core.alike), (vec![OrderId(2)], 1));
    }
}
