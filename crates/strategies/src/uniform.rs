//! Selectively uniform sampling: every order of the touches of one shared location is about as likely as any other (after
//! Zhao et al., ASPLOS 2025).
//!
//! Each run draws a location. Who touches it next is drawn among the threads in proportion to how many touches each still has
//! before it (its children's included), which is what makes the orders uniform; until that happens, other threads that are
//! about to touch it wait, and everything else runs at random. The counts come from earlier runs: where the program goes
//! another way they are wrong, and the orders only less uniform.

use unravel_trace::{
    Choice, Op, Pending, Question, Rng, Scheduler, ThreadId, ThreadName, View, Why,
};

use crate::profile::{Location, Profile};

#[derive(Debug)]
pub struct Uniform {
    rng: Rng,
    /// `None` where nothing is known to be shared: a random walk.
    location: Option<Location>,
    /// By [`ThreadId`]: touches it has before it, with those of threads it has not created yet.
    left: Vec<u32>,
    /// Who touches the location next.
    next: Option<ThreadId>,
    linger: bool,
}

impl Uniform {
    pub fn new(seed: u64, profile: &Profile) -> Uniform {
        let mut rng = Rng::new(seed);
        let linger = rng.below(2) == 0;
        let location = match &profile.locations[..] {
            [] => None,
            locations => Some(rng.pick(locations).clone()),
        };
        Uniform { rng, location, left: Vec::new(), next: None, linger }
    }

    fn touches(&self, pending: &Pending) -> bool {
        self.location.as_ref().is_some_and(|location| location.is_touched_by(pending))
    }

    /// Touches of a thread and of all that it creates.
    fn of_family(&self, name: &ThreadName) -> u32 {
        let touches = self.location.iter().flat_map(|location| &location.touches);
        touches.filter(|(other, _)| other.0.starts_with(&name.0)).map(|(_, count)| count).sum()
    }

    /// A thread takes its family's touches over from the nearest ancestor that lives.
    fn welcome(&mut self, names: &[ThreadName]) {
        let name = &names[self.left.len()];
        let own = self.of_family(name);
        let is_ancestor = |other: &ThreadName| name.0.starts_with(&other.0);
        let ancestors = names[..self.left.len()].iter().enumerate().filter(|(_, n)| is_ancestor(n));
        if let Some((parent, _)) = ancestors.max_by_key(|(_, n)| n.0.len()) {
            self.left[parent] = self.left[parent].saturating_sub(own);
        }
        self.left.push(own);
    }

    /// Draws who touches the location next.
    fn draw(&mut self, view: &View<'_>) -> Option<ThreadId> {
        let weights: Vec<u32> = view.enabled.iter().map(|c| self.left[c.thread.index()]).collect();
        let sum: u32 = weights.iter().sum();
        if sum == 0 {
            return None;
        }
        let mut at = self.rng.below(sum);
        for (candidate, weight) in view.enabled.iter().zip(weights) {
            if at < weight {
                return Some(candidate.thread);
            }
            at -= weight;
        }
        None
    }
}

impl Scheduler for Uniform {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let born = self.left.len();
        while self.left.len() < view.names.len() {
            self.welcome(view.names);
        }
        let gone = self.next.is_some_and(|thread| !view.is_enabled(thread));
        if self.next.is_none() || gone || self.left.len() > born {
            self.next = self.draw(view);
        }
        let open: Vec<usize> = (0..view.enabled.len())
            .filter(|index| {
                let candidate = &view.enabled[*index];
                let waits = self.next.is_some() && self.next != Some(candidate.thread);
                let ends = self.linger && candidate.pending.op == Op::End;
                let yielded = view.why == Why::Yielded && candidate.thread == view.current;
                !(ends || yielded || waits && self.touches(&candidate.pending))
            })
            .collect();
        let index = match &open[..] {
            [] => {
                // The end of the process is the last thing to happen.
                let mut index = self.rng.below(view.enabled.len() as u32) as usize;
                if self.linger && view.enabled[index].pending.op == Op::End {
                    index = (index + 1) % view.enabled.len();
                }
                index
            }
            open => *self.rng.pick(open),
        };
        let chosen = view.enabled[index];
        if self.touches(&chosen.pending) {
            let left = &mut self.left[chosen.thread.index()];
            *left = left.saturating_sub(1);
            self.next = None;
        }
        Choice { thread: chosen.thread, events: 1 }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.rng.below(options)
    }
}
