//! Binate covering: the cheapest sets of measures that leave no cause possible and do not contradict each other.
//!
//! A variable a measure. For each cause a clause "one of the measures against it"; for each set of measures that cannot be
//! taken together a clause that forbids it. The covers come in order of cost, each without a member to spare, because a
//! cover may turn out not to be a repair when it is executed.
//!
//! ConcBugAssist chooses its repairs so, over happens-before edges (thesis chapter 1; its details are in the paper of the same
//! name, ISSTA 2015). Deviates: a variable is a measure, which may bring several edges. Errs towards too many covers: each is tried.

use unravel_execute::Limit;

use crate::budgets::MOST_NODES;

/// A measure, seen from here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Covering {
    /// The causes it makes impossible.
    pub covers: Vec<usize>,
    pub cost: u64,
}

/// Up to `most` covers of causes `0..causes`, the cheapest first; members by their index. `excludes` are sets of
/// measures that cannot be taken together. Causes that no measure covers are left uncovered.
pub fn covers(
    causes: usize,
    measures: &[Covering],
    excludes: &[Vec<usize>],
    most: usize,
    limit: Limit<'_>,
) -> Vec<Vec<usize>> {
    let coverable: Vec<usize> =
        (0..causes).filter(|cause| measures.iter().any(|m| m.covers.contains(cause))).collect();
    let mut found: Vec<(u64, Vec<usize>)> = Vec::new();
    // Best first: the cheapest partial cover is extended by each measure against its first open cause.
    let mut queue = std::collections::BinaryHeap::new();
    queue.push(std::cmp::Reverse((0u64, Vec::<usize>::new())));
    let mut nodes = 0;
    while let Some(std::cmp::Reverse((cost, chosen))) = queue.pop() {
        nodes += 1;
        if nodes > MOST_NODES || found.len() >= most || !limit.may_go_on() {
            break;
        }
        let is_open =
            |cause: &&usize| !chosen.iter().any(|m: &usize| measures[*m].covers.contains(*cause));
        let Some(open) = coverable.iter().find(is_open) else {
            let known = |(_, other): &(u64, Vec<usize>)| other.iter().all(|m| chosen.contains(m));
            if !chosen.is_empty()
                && !found.iter().any(known)
                && is_irredundant(&chosen, &coverable, measures)
            {
                found.push((cost, chosen));
            }
            continue;
        };
        for (index, measure) in measures.iter().enumerate() {
            if !measure.covers.contains(open) || chosen.contains(&index) {
                continue;
            }
            let mut more = chosen.clone();
            more.push(index);
            more.sort_unstable();
            if !excludes.iter().any(|set| set.iter().all(|m| more.contains(m))) {
                queue.push(std::cmp::Reverse((cost + measure.cost, more)));
            }
        }
    }
    found.into_iter().map(|(_, chosen)| chosen).collect()
}

fn is_irredundant(chosen: &[usize], causes: &[usize], measures: &[Covering]) -> bool {
    chosen.iter().all(|spare| {
        causes.iter().any(|cause| {
            measures[*spare].covers.contains(cause)
                && !chosen.iter().any(|m| m != spare && measures[*m].covers.contains(cause))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(covers: &[usize], cost: u64) -> Covering {
        Covering { covers: covers.to_vec(), cost }
    }

    #[test]
    fn the_cheapest_cover_comes_first() {
        let measures = [option(&[0], 2), option(&[1], 2), option(&[0, 1], 3), option(&[1], 9)];
        let all = covers(2, &measures, &[], 9, Limit::default());
        assert_eq!(all, [vec![2], vec![0, 1], vec![0, 3]]);
    }

    #[test]
    fn what_contradicts_itself_is_no_cover() {
        let measures = [option(&[0], 1), option(&[1], 1), option(&[1], 5)];
        assert_eq!(covers(2, &measures, &[vec![0, 1]], 9, Limit::default()), [vec![0, 2]]);
    }

    #[test]
    fn no_member_is_spare() {
        // 0 covers everything: with it, 1 would be spare.
        let measures = [option(&[0, 1], 1), option(&[1], 1)];
        assert_eq!(covers(2, &measures, &[], 9, Limit::default()), [vec![0]]);
    }

    #[test]
    fn causes_that_nothing_covers_do_not_stop_the_others() {
        assert_eq!(covers(2, &[option(&[1], 1)], &[], 9, Limit::default()), [vec![0]]);
        assert!(covers(1, &[], &[], 9, Limit::default()).is_empty());
    }
}
