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

use crate::dependence::touches;
use crate::profile::{Location, Profile};

#[derive(Debug)]
pub struct Uniform {
    rng: Rng,
    /// `None` where nothing is known to be shared: a random walk.
    location: Option<Location>,
    /// By [`ThreadId`]: touches it has before it, without those of threads it has not created yet.
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
        let Some(location) = &self.location else { return false };
        touches(pending).any(|touch| {
            touch.address <= location.address
                && location.address < touch.address.saturating_add(touch.bytes)
        })
    }

    /// Touches that a thread and those it will create still have before them.
    fn weight(&self, thread: ThreadId, names: &[ThreadName]) -> u32 {
        let Some(location) = &self.location else { return 0 };
        let name = &names[thread.index()];
        let unborn = location.touches.iter().filter(|(other, _)| {
            let is_below = other.0.len() > name.0.len() && other.0.starts_with(&name.0);
            // Counted with its nearest ancestor that exists.
            is_below && !names.iter().any(|n| n.0.len() > name.0.len() && other.0.starts_with(&n.0))
        });
        self.left[thread.index()] + unborn.map(|(_, count)| count).sum::<u32>()
    }

    /// Draws who touches the location next.
    fn draw(&mut self, view: &View<'_>) -> Option<ThreadId> {
        let weights: Vec<u32> =
            view.enabled.iter().map(|c| self.weight(c.thread, view.names)).collect();
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
        for name in &view.names[born..] {
            let known = self.location.as_ref().and_then(|l| {
                l.touches.iter().find(|(other, _)| other == name).map(|(_, count)| *count)
            });
            self.left.push(known.unwrap_or(0));
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
                !(waits && self.touches(&candidate.pending)) && !ends && !yielded
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
