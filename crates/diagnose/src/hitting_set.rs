//! A small set that meets each of many sets, with no member to spare.
//!
//! One step of the implicit hitting sets of `root_cause.rs`. Minimal, not smallest: greedy, then what can be spared goes.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Greedy cover, then every member that is not needed is dropped, the costliest first. Deterministic: ties go to
/// the lower cost, then to the smaller element.
pub fn minimal_hitting_set<T: Copy + Eq + Hash + Ord>(
    sets: &[Vec<T>],
    cost: impl Fn(T) -> u64,
) -> Vec<T> {
    let mut chosen: Vec<T> = Vec::new();
    let mut open: Vec<&Vec<T>> = sets.iter().collect();
    while !open.is_empty() {
        let mut count: FxHashMap<T, u64> = FxHashMap::default();
        for set in &open {
            for element in *set {
                *count.entry(*element).or_default() += 1;
            }
        }
        let best = count
            .into_iter()
            .min_by_key(|(element, hits)| (std::cmp::Reverse(*hits), cost(*element), *element));
        let Some((best, _)) = best else {
            // An empty set cannot be met.
            return Vec::new();
        };
        chosen.push(best);
        open.retain(|set| !set.contains(&best));
    }
    drop_spare(&mut chosen, sets, cost);
    chosen
}

/// Drops members that are not needed to meet every set.
pub fn drop_spare<T: Copy + Eq + Ord>(
    chosen: &mut Vec<T>,
    sets: &[Vec<T>],
    cost: impl Fn(T) -> u64,
) {
    let mut order = chosen.clone();
    order.sort_by_key(|element| (std::cmp::Reverse(cost(*element)), std::cmp::Reverse(*element)));
    for element in order {
        let needed =
            sets.iter().any(|set| !set.iter().any(|e| *e != element && chosen.contains(e)));
        if !needed {
            chosen.retain(|e| *e != element);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::minimal_hitting_set;

    #[test]
    fn meets_every_set_and_spares_none() {
        let sets = vec![vec![1, 2], vec![2, 3], vec![4], vec![4, 5, 1]];
        let chosen = minimal_hitting_set(&sets, |_| 0);
        assert_eq!(chosen, vec![2, 4]);
    }

    #[test]
    fn prefers_cheap_members() {
        let sets = vec![vec![1, 2]];
        assert_eq!(minimal_hitting_set(&sets, |e| if e == 1 { 5 } else { 0 }), vec![2]);
    }

    #[test]
    fn greedy_choices_that_turn_out_spare_are_dropped() {
        // Greedy takes 1 (three sets), then 2 and 3, after which 1 is not needed.
        let sets = vec![vec![1, 2], vec![1, 3], vec![1, 2, 3], vec![2, 4], vec![3, 5]];
        let mut chosen = minimal_hitting_set(&sets, |e| if e == 1 { 1 } else { 0 });
        chosen.sort();
        assert_eq!(chosen, vec![2, 3]);
    }
}
