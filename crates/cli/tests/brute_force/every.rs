//! Every schedule, one after the other: depth first over all that a run is asked, with no reduction at all.
//!
//! This is the reference, so it knows nothing but the joint: who can go on, what else is asked, and what a deviation
//! costs. It asks for a new decision after each event.

use unravel_trace::*;

/// A tree of answers, of which a path is followed and then turned at its last open fork.
#[derive(Debug)]
pub struct Every {
    /// What was answered along the present path, and how many answers there are.
    path: Vec<(u32, u32)>,
    /// How far the present run has come along the path.
    depth: usize,
    /// How many deviations a run may have, and how many the present one has had.
    bound: u32,
    spent: u32,
}

impl Every {
    pub fn new(bound: u32) -> Every {
        Every { path: Vec::new(), depth: 0, bound, spent: 0 }
    }

    /// Turns to the next schedule, if there is one.
    pub fn turn(&mut self) -> bool {
        assert!(
            self.depth == self.path.len(),
            "a run ended before the answers that it was to repeat"
        );
        self.depth = 0;
        self.spent = 0;
        while let Some((answer, options)) = self.path.pop() {
            if answer + 1 < options {
                self.path.push((answer + 1, options));
                return true;
            }
        }
        false
    }

    /// How many deviations the last run had.
    pub fn spent(&self) -> u32 {
        self.spent
    }

    fn decide(&mut self, options: u32) -> u32 {
        if self.depth == self.path.len() {
            self.path.push((0, options));
        }
        let (answer, before) = self.path[self.depth];
        assert!(before == options, "the same answers led to another question");
        self.depth += 1;
        answer
    }
}

impl Scheduler for Every {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let early = if self.spent < self.bound { view.early } else { &[] };
        let index = self.decide((view.enabled.len() + early.len()) as u32) as usize;
        let ready = match index.checked_sub(view.enabled.len()) {
            None => &view.enabled[index],
            Some(index) => {
                self.spent += 1;
                &early[index]
            }
        };
        Choice { thread: ready.thread, events: 1 }
    }

    fn choose(&mut self, _what: Question, options: u32) -> u32 {
        self.decide(options)
    }

    fn deviate(&mut self, _what: Deviation) -> bool {
        let deviates = self.spent < self.bound && self.decide(2) == 1;
        self.spent += u32::from(deviates);
        deviates
    }
}
