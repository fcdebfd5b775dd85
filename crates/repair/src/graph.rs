//! A cause as a graph of its events: which further orders would close a cycle with it, so that it can never happen
//! (ConcBugAssist, figure 3.4).

use unravel_results::Cause;
use unravel_trace::EventKey;

/// Events of a cause, numbered; edges are its orders and the order within each thread.
pub struct Graph {
    pub events: Vec<EventKey>,
    threads: Vec<usize>,
    /// `reaches[a][b]`: a comes before b.
    reaches: Vec<Vec<bool>>,
}

impl Graph {
    pub fn of(cause: &Cause) -> Graph {
        let mut events: Vec<(EventKey, Option<u32>)> = Vec::new();
        for who in cause.orders.iter().flat_map(|order| [&order.first, &order.second]) {
            if !events.iter().any(|(key, _)| *key == who.key) {
                events.push((who.key.clone(), who.event));
            }
        }
        let mut names = Vec::new();
        let threads = events
            .iter()
            .map(|(key, _)| match names.iter().position(|name| *name == key.thread) {
                Some(number) => number,
                None => {
                    names.push(key.thread.clone());
                    names.len() - 1
                }
            })
            .collect::<Vec<usize>>();
        let size = events.len();
        let mut reaches = vec![vec![false; size]; size];
        let number = |key: &EventKey| events.iter().position(|(known, _)| known == key);
        for order in &cause.orders {
            if let (Some(a), Some(b)) = (number(&order.first.key), number(&order.second.key)) {
                reaches[a][b] = true;
            }
        }
        for a in 0..size {
            for b in 0..size {
                let when = |index: usize| (events[index].1.unwrap_or(u32::MAX), &events[index].0);
                if a != b && threads[a] == threads[b] && when(a) < when(b) {
                    reaches[a][b] = true;
                }
            }
        }
        for via in 0..size {
            for a in 0..size {
                for b in 0..size {
                    reaches[a][b] |= reaches[a][via] && reaches[via][b];
                }
            }
        }
        Graph { events: events.into_iter().map(|(key, _)| key).collect(), threads, reaches }
    }

    /// Whether the threads' stretches cannot be one after the other in any order: then excluding them from each
    /// other makes the cause impossible.
    pub fn is_interleaved(&self) -> bool {
        let threads = self.threads.iter().max().map_or(0, |last| last + 1);
        let mut after = vec![vec![false; threads]; threads];
        for a in 0..self.events.len() {
            for b in 0..self.events.len() {
                if self.reaches[a][b] && self.threads[a] != self.threads[b] {
                    after[self.threads[a]][self.threads[b]] = true;
                }
            }
        }
        for via in 0..threads {
            for a in 0..threads {
                for b in 0..threads {
                    after[a][b] |= after[a][via] && after[via][b];
                }
            }
        }
        (0..threads).any(|thread| after[thread][thread])
    }

    /// The orders `(first, then)` of events of different threads that would close a cycle: those that turn an order of the
    /// cause round come before those that turn round what follows from several.
    pub fn closing(&self, cause: &Cause) -> Vec<(usize, usize)> {
        let size = self.events.len();
        let mut closing: Vec<(usize, usize)> = Vec::new();
        for (then, first) in (0..size).flat_map(|a| (0..size).map(move |b| (a, b))) {
            if self.reaches[then][first] && self.threads[then] != self.threads[first] {
                closing.push((first, then));
            }
        }
        let is_member = |(first, then): &(usize, usize)| {
            cause.orders.iter().any(|order| {
                order.first.key == self.events[*then] && order.second.key == self.events[*first]
            })
        };
        closing.sort_by_key(|edge| !is_member(edge));
        closing
    }
}
