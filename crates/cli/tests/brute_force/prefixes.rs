//! Every class of schedules by its beginnings: what a run did so far, up to the order of independent steps, is gone on from once.
//!
//! Two schedules that differ only in the order of independent steps lead to the same state, so nothing is lost; and no wait
//! is taken for anything but what it does, round after round, up to a number of steps. So this is the reference for loops, which
//! have no end of schedules: it shows what there must be at least. Waits for time and all that ends or cancels depend on
//! everything; updates that commute count as not commuting. It relies on the relation of `trace/src/dependence.rs`, which `every.rs` does not.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use unravel_trace::*;

/// A tree of answers, of which each state is visited once.
#[derive(Debug)]
pub struct Prefixes {
    /// How many steps a run may have, and deviations.
    longest: usize,
    bound: u32,
    seen: HashSet<u64>,
    /// Paths to be followed, and the present one with how far it was.
    open: Vec<Vec<u32>>,
    path: Vec<u32>,
    depth: usize,
    spent: u32,
    steps: Vec<Step>,
    underway: Step,
    /// Some run was longer.
    pub is_cut: bool,
}

#[derive(Debug, Default)]
struct Step {
    number: u64,
    thread: u32,
    by_time: bool,
    everything: bool,
    what: Vec<(Op, SiteId)>,
    touches: Vec<Touch>,
    answers: Vec<u32>,
    hash: u64,
}

impl Prefixes {
    pub fn new(bound: u32, longest: usize) -> Prefixes {
        Prefixes {
            longest,
            bound,
            seen: HashSet::new(),
            open: Vec::new(),
            path: Vec::new(),
            depth: 0,
            spent: 0,
            steps: Vec::new(),
            underway: Step::default(),
            is_cut: false,
        }
    }

    /// Turns to the next path, if there is one.
    pub fn turn(&mut self) -> bool {
        (self.depth, self.spent) = (0, 0);
        self.steps.clear();
        self.underway = Step::default();
        match self.open.pop() {
            Some(path) => self.path = path,
            None => return false,
        }
        true
    }

    fn decide(&mut self, options: u32) -> u32 {
        if self.depth == self.path.len() {
            for other in 1..options {
                let mut path = self.path.clone();
                path.push(other);
                self.open.push(path);
            }
            self.path.push(0);
        }
        self.depth += 1;
        self.path[self.depth - 1]
    }

    fn end_step(&mut self) {
        let mut step = std::mem::take(&mut self.underway);
        if step.number == 0 {
            self.underway.answers = step.answers;
            return;
        }
        let mut before = 0u64;
        let mut own = 0u32;
        for earlier in &self.steps {
            own += u32::from(earlier.thread == step.thread);
            if earlier.depends_on(&step) {
                before = before.wrapping_add(earlier.hash);
            }
        }
        let mut hasher = DefaultHasher::new();
        (before, own, step.thread, step.by_time).hash(&mut hasher);
        for (op, site) in &step.what {
            (format!("{op:?}"), site.0).hash(&mut hasher);
        }
        step.answers.hash(&mut hasher);
        for touch in &step.touches {
            (touch.address, touch.writes).hash(&mut hasher);
        }
        step.hash = hasher.finish();
        self.steps.push(step);
    }
}

impl Step {
    fn depends_on(&self, other: &Step) -> bool {
        let meet = |a: &Touch, b: &Touch| {
            (a.writes || b.writes)
                && a.address < b.address.saturating_add(b.bytes)
                && b.address < a.address.saturating_add(a.bytes)
        };
        self.thread == other.thread
            || self.everything
            || other.everything
            || self.touches.iter().any(|a| other.touches.iter().any(|b| meet(a, b)))
    }
}

impl Scheduler for Prefixes {
    fn next(&mut self, view: &View<'_>) -> Choice {
        self.end_step();
        if self.depth == self.path.len() {
            let state = self.steps.iter().fold(0u64, |sum, step| sum.wrapping_add(step.hash));
            let is_new = self.seen.insert(state);
            self.is_cut |= is_new && self.steps.len() >= self.longest;
            if !is_new || self.steps.len() >= self.longest {
                return Choice { thread: view.enabled[0].thread, events: 0 };
            }
        }
        let early = if self.spent < self.bound { view.early } else { &[] };
        let index = self.decide((view.enabled.len() + early.len()) as u32) as usize;
        let ready = match index.checked_sub(view.enabled.len()) {
            None => &view.enabled[index],
            Some(index) => {
                self.spent += 1;
                &early[index]
            }
        };
        self.underway.by_time = ready.by_time;
        Choice { thread: ready.thread, events: 1 }
    }

    fn choose(&mut self, _what: Question, options: u32) -> u32 {
        let answer = self.decide(options);
        self.underway.answers.push(answer);
        answer
    }

    fn deviate(&mut self, _what: Deviation) -> bool {
        let deviates = self.spent < self.bound && self.decide(2) == 1;
        self.spent += u32::from(deviates);
        self.underway.answers.push(u32::from(deviates));
        deviates
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&mut self, executed: &Executed<'_>) {
        if self.underway.number != 0 && self.underway.number != executed.number {
            self.end_step();
        }
        let step = &mut self.underway;
        (step.number, step.thread) = (executed.number, executed.thread.0);
        step.everything |= step.by_time || matches!(executed.what.op, Op::End | Op::Cancel);
        step.what.push((executed.what.op, executed.what.site));
        step.touches.extend(touches(&executed.what));
    }
}
