//! A scheduler that keeps given orders and is otherwise random: it looks for passing runs that refute a cause.

use unravel_diagnose::points::{Counter, Key, Keys, ThreadKey};
use unravel_trace::{Choice, Question, Rng, Scheduler, View};

/// Keeps orders as far as the program lets it.
pub struct Hold<'a> {
    /// `first` before `second`.
    orders: &'a [(Key, Key)],
    keys: Keys,
    counter: Counter,
    executed: Vec<Key>,
    threads: Vec<ThreadKey>,
    rng: Rng,
    /// In how many of 100 points a thread goes on if it can.
    stay: u32,
}

impl<'a> Hold<'a> {
    pub fn new(orders: &'a [(Key, Key)], keys: &Keys, seed: u64) -> Hold<'a> {
        let stay = [0, 60, 90, 98][(seed % 4) as usize];
        Hold {
            orders,
            keys: keys.clone(),
            counter: Counter::default(),
            executed: Vec::new(),
            threads: Vec::new(),
            rng: Rng::new(seed),
            stay,
        }
    }

    fn is_held(&self, key: Key) -> bool {
        self.orders.iter().any(|(first, second)| *second == key && !self.executed.contains(first))
    }
}

impl Scheduler for Hold<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        for name in &view.names[self.threads.len()..] {
            self.threads.push(self.keys.thread(name));
        }
        let keys: Vec<Key> = view
            .enabled
            .iter()
            .map(|candidate| {
                let thread = self.threads[candidate.thread.index()];
                let site = candidate.pending.site;
                self.keys.key(thread, site, self.counter.upcoming(thread, site))
            })
            .collect();
        let free: Vec<usize> = (0..keys.len()).filter(|index| !self.is_held(keys[*index])).collect();
        let current = free.iter().find(|index| view.enabled[**index].thread == view.current);
        let chosen = match current {
            Some(index) if self.rng.below(100) < self.stay => *index,
            _ if free.is_empty() => self.rng.below(keys.len() as u32) as usize,
            _ => free[self.rng.below(free.len() as u32) as usize],
        };
        let candidate = &view.enabled[chosen];
        let thread = self.threads[candidate.thread.index()];
        self.counter.advance(thread, candidate.pending.site);
        if self.orders.iter().any(|(first, _)| *first == keys[chosen]) {
            self.executed.push(keys[chosen]);
        }
        Choice { thread: candidate.thread, events: 1 }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.rng.below(options)
    }
}
