//! How far two runs are apart: the criteria of the MaxSMT paper (§4.2), over whole traces.
//!
//! DF counts reads-from edges of the alternate that the failing run does not have; BS segments of the failing run
//! that another thread's event breaks; CTX its context switches that are gone. Edges, segments and switches with an
//! event that one of the runs lacks are left out; but a write that the failing run lacks only because it ended
//! before it, on the same path, counts as one that comes after all of it. So equal data flow means an equal outcome.

use unravel_results::Distance;
use unravel_trace::Key;

use crate::flows::Lineup;

/// DF, BS and CTX; the number of operations is the projection's to say.
pub fn distance(failing: &Lineup, alternate: &Lineup) -> Distance {
    let ranks = Ranks::new(failing, alternate);
    Distance {
        data_flow: new_flows(failing, alternate).count() as u32,
        segments: ranks.broken_segments(failing),
        switches: ranks.lost_switches(failing),
        operations: 0,
    }
}

/// Data flows of the alternate into events of both runs that the failing run does not have.
pub fn new_flows<'a>(
    failing: &'a Lineup,
    alternate: &'a Lineup,
) -> impl Iterator<Item = (Option<Key>, Key)> + 'a {
    let went_on = alternate.same_path(failing);
    alternate.flows.iter().map(|f| alternate.edge(f)).filter(move |(from, to)| {
        !failing.edges.contains(&(*from, *to))
            && failing.contains(*to)
            && from.is_none_or(|from| {
                let thread = alternate.threads[alternate.positions[&from] as usize];
                failing.contains(from) || went_on.contains(&thread)
            })
    })
}

/// Where the alternate has the events of the failing run.
struct Ranks {
    /// By index of the failing run's events: place in the alternate.
    rank: Vec<Option<u32>>,
    /// By place in the alternate: how many events of its own thread come before it.
    own: Vec<u32>,
}

impl Ranks {
    fn new(failing: &Lineup, alternate: &Lineup) -> Ranks {
        let rank = failing.keys.iter().map(|key| alternate.positions.get(key).copied()).collect();
        let mut counts = rustc_hash::FxHashMap::default();
        let own = alternate.threads.iter().map(|thread| {
            let count = counts.entry(*thread).or_insert(0);
            *count += 1;
            *count - 1
        });
        Ranks { rank, own: own.collect() }
    }

    fn broken_segments(&self, failing: &Lineup) -> u32 {
        let mut broken = 0;
        let mut start = 0;
        for end in 1..=failing.keys.len() {
            if end < failing.keys.len() && failing.threads[end] == failing.threads[start] {
                continue;
            }
            // On another path a thread may have the same events in another order: what was first need not be the first.
            let present = || self.rank[start..end].iter().flatten().copied();
            if let (Some(first), Some(last)) = (present().min(), present().max()) {
                let own = self.own[last as usize] - self.own[first as usize];
                broken += u32::from(last - first != own);
            }
            start = end;
        }
        broken
    }

    fn lost_switches(&self, failing: &Lineup) -> u32 {
        let pairs =
            (1..failing.keys.len()).filter(|i| failing.threads[*i] != failing.threads[i - 1]);
        let lost = pairs.filter(|i| match (self.rank[i - 1], self.rank[*i]) {
            (Some(a), Some(b)) => b != a + 1,
            _ => false,
        });
        lost.count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::distance;
    use crate::flows::Lineup;
    use unravel_trace::{Key, ThreadKey};

    /// A run without data flow: threads and their events, in order.
    fn lineup(events: &[(u32, u32)]) -> Lineup {
        let keys: Vec<Key> = events.iter().map(|(_, key)| Key(*key)).collect();
        Lineup {
            threads: events.iter().map(|(thread, _)| ThreadKey(*thread)).collect(),
            positions: keys.iter().copied().zip(0..).collect(),
            keys,
            flows: Vec::new(),
            edges: Default::default(),
        }
    }

    #[test]
    fn a_segment_whose_order_is_another_is_broken_only_by_other_threads() {
        let failing = lineup(&[(0, 1), (0, 2), (0, 3), (1, 4)]);
        let broken = |alternate: &[(u32, u32)]| distance(&failing, &lineup(alternate)).segments;
        assert_eq!(broken(&[(0, 3), (0, 1), (0, 2), (1, 4)]), 0);
        assert_eq!(broken(&[(0, 3), (1, 4), (0, 1), (0, 2)]), 1);
        assert_eq!(broken(&[(0, 2), (1, 4), (0, 1), (0, 3)]), 1);
    }
}
