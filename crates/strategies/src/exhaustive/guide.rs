//! Guides: how a run goes on after a thread was chosen for a race.
//!
//! A thread is explored where a race is to be turned round because it begins what follows there without the earlier step,
//! up to the later one. Unless the run goes on so, it may never come to the race, and end with nobody awake: what was asleep
//! there stays asleep until the race has been turned round. So the threads of those steps are kept, in their order
//! (the *wakeup sequence* of Abdulla, Aronis, Jonsson, Sagonas: *Optimal dynamic partial order reduction*, POPL 2014; their
//! trees are not kept, so that some runs remain that come to nothing).
//!
//! A guide decides nothing but who goes on where anybody might who is awake: a wrong one costs runs, no classes.

use super::tree::Node;

/// Threads one after the other, the next at the end: each takes so many steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Guide(Vec<(u32, u32)>);

impl Guide {
    /// The steps of these threads, of which the first by `first` was moved to the front and is taken already.
    pub fn beginning_with(first: u32, threads: impl Iterator<Item = u32>) -> Guide {
        let mut stretches: Vec<(u32, u32)> = Vec::new();
        let mut moved = false;
        for thread in threads {
            if thread == first && !moved {
                moved = true;
                continue;
            }
            match stretches.last_mut() {
                Some((last, steps)) if *last == thread => *steps += 1,
                _ => stretches.push((thread, 1)),
            }
        }
        stretches.reverse();
        Guide(stretches)
    }

    /// Who goes on. Once somebody cannot, things are not as they were thought to be, and the rest is of no use.
    pub fn next(&mut self, node: &Node) -> Option<u32> {
        let (thread, steps) = self.0.last_mut()?;
        let thread = *thread;
        if !node.is_awake(thread) {
            self.0.clear();
            return None;
        }
        *steps -= 1;
        if *steps == 0 {
            self.0.pop();
        }
        Some(thread)
    }
}
