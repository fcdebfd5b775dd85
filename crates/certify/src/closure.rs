//! What follows from a few orders and sources of reads, by rules that hold of every order of all steps.
//!
//! - Program order, forks and joins ([`Model::must_precede`]), and transitivity.
//! - A read of w comes after w; every other write of the cell comes before w or after the read.
//! - Two sections of a lock that exclude each other, both begun: what one of them does before the other does is done
//!   after its end. With `a` in `[L1, U1]`, `b` in `[L2, U2]` and `a < b`: `U1 < L2`.
//! - No step of another thread is within a segment that is whole, none between two that are joined.
//! - What is read is executed, and so is all that comes before it. What comes after the end is not.
//!
//! A cycle, or two sources of one slot, is a contradiction. Silent where it does not know.

use unravel_solve::proof::Literal;
use unravel_solve::{Model, Op, Section, SlotId, Source, StepId};
use unravel_trace::ThreadId;

use crate::rules::{End, Rules};

/// What is assumed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub orders: Vec<(StepId, StepId)>,
    pub reads: Vec<(SlotId, Source)>,
    pub whole: Vec<(StepId, StepId)>,
    pub joined: Vec<(StepId, StepId)>,
    pub granted: Vec<StepId>,
    pub after_grant: Vec<StepId>,
    /// Steps that are executed, as far as that is said.
    pub executed: Vec<StepId>,
    /// Of each of these sets some order does not hold.
    pub not_all: Vec<Vec<(StepId, StepId)>>,
    /// Literals that are false.
    pub falses: Vec<Literal>,
}

pub(crate) struct Closure<'r, 'm> {
    rules: &'r Rules<'m>,
    facts: &'r Facts,
    steps: Vec<StepId>,
    /// By step of `steps`: which of them it comes before or is.
    before: Vec<Vec<bool>>,
    edges: Vec<(StepId, StepId)>,
    pub contradiction: bool,
}

impl<'r, 'm> Closure<'r, 'm> {
    pub fn new(rules: &'r Rules<'m>, facts: &'r Facts) -> Closure<'r, 'm> {
        let (steps, before, edges) = (Vec::new(), Vec::new(), Vec::new());
        let mut closure = Closure { rules, facts, steps, before, edges, contradiction: false };
        facts.orders.iter().for_each(|(a, b)| closure.order(*a, *b));
        for (a, b) in facts.whole.iter().chain(&facts.joined) {
            closure.node(*a);
            closure.node(*b);
        }
        facts.whole.iter().chain(&facts.joined).for_each(|(a, b)| closure.surround(*a, *b));
        facts.joined.iter().for_each(|(a, b)| closure.order(*a, *b));
        for granted in &facts.granted {
            facts.after_grant.iter().for_each(|step| closure.order(*granted, *step));
        }
        closure.read_once();
        let mut lifted = 0;
        loop {
            let known = closure.edges.len();
            for &(slot, source) in &facts.reads {
                closure.read(slot, source);
            }
            closure.keep_together();
            while lifted < closure.edges.len() && !closure.contradiction {
                let (a, b) = closure.edges[lifted];
                lifted += 1;
                closure.lift(a, b);
            }
            if closure.contradiction {
                break;
            }
            if closure.edges.len() == known {
                // What was not known to be executed may be now.
                for index in 0..lifted {
                    let (a, b) = closure.edges[index];
                    closure.lift(a, b);
                }
                if closure.edges.len() == known || closure.contradiction {
                    break;
                }
            }
        }
        closure
    }

    fn model(&self) -> &'m Model {
        self.rules.model
    }

    fn node(&mut self, step: StepId) -> usize {
        if let Some(index) = self.steps.iter().position(|s| *s == step) {
            return index;
        }
        let (model, new) = (self.model(), self.steps.len());
        let mut ahead: Vec<bool> = vec![false; new + 1];
        ahead[new] = true;
        for (other, reached) in self.steps.iter().zip(&self.before) {
            if model.must_precede(step, *other) {
                ahead.iter_mut().zip(reached).for_each(|(a, r)| *a |= *r);
            }
        }
        let behind: Vec<bool> =
            self.steps.iter().map(|other| model.must_precede(*other, step)).collect();
        for reached in &mut self.before {
            let comes_before = reached.iter().zip(&behind).any(|(r, b)| *r && *b);
            reached.push(false);
            if comes_before {
                reached.iter_mut().zip(&ahead).for_each(|(r, a)| *r |= *a);
            }
        }
        self.before.push(ahead);
        self.steps.push(step);
        new
    }

    /// Looks at what must come directly before and after two steps that nothing comes between.
    fn surround(&mut self, first: StepId, last: StepId) {
        let model = self.model();
        for thread in (0..model.threads() as u32).map(ThreadId) {
            let steps = model.thread_steps(thread);
            let before = steps.partition_point(|step| model.must_precede(*step, last));
            let after = steps.partition_point(|step| !model.must_precede(first, *step));
            let around = before.checked_sub(1).map(|index| steps[index]);
            for step in around.into_iter().chain(steps.get(after).copied()) {
                self.node(step);
            }
        }
    }

    /// `a` comes before `b`.
    fn order(&mut self, a: StepId, b: StepId) {
        if a == b {
            self.contradiction = true;
        }
        if self.contradiction || self.model().must_precede(a, b) || self.edges.contains(&(a, b)) {
            return;
        }
        let (from, to) = (self.node(a), self.node(b));
        self.edges.push((a, b));
        if self.before[to][from] {
            self.contradiction = true;
        } else if !self.before[from][to] {
            let ahead = self.before[to].clone();
            for reached in self.before.iter_mut().filter(|reached| reached[from]) {
                reached.iter_mut().zip(&ahead).for_each(|(r, a)| *r |= *a);
            }
        }
    }

    /// Whether `a` is known to come before `b`.
    pub fn precedes(&self, a: StepId, b: StepId) -> bool {
        let model = self.model();
        if model.must_precede(a, b) {
            return true;
        }
        let from = |step: StepId| step == a || model.must_precede(a, step);
        let to = |step: StepId| step == b || model.must_precede(step, b);
        let last: Vec<usize> = (0..self.steps.len()).filter(|i| to(self.steps[*i])).collect();
        let first = (0..self.steps.len()).filter(|i| from(self.steps[*i]));
        a != b
            && !last.is_empty()
            && first.into_iter().any(|i| last.iter().any(|j| self.before[i][*j]))
    }

    /// Whether a step is known to be executed, or at least begun.
    pub fn is_executed(&self, step: StepId) -> bool {
        let until = |later: StepId| step == later || self.precedes(step, later);
        let read = self.facts.reads.iter().map(|(slot, _)| self.model().read(*slot).step);
        let known = || read.clone().chain(self.facts.executed.iter().copied());
        match &self.rules.end {
            End::Never => true,
            End::After { steps, .. } => {
                let is_excluded = |orders: &Vec<(StepId, StepId)>| {
                    let ends = |(a, b): &(StepId, StepId)| *b == step && steps.contains(a);
                    orders.iter().all(ends)
                };
                steps.iter().copied().any(until)
                    || known().any(until)
                    || self.facts.not_all.iter().any(is_excluded)
            }
            End::Grant => known().any(until),
        }
    }

    /// The same for an op of it, by its place.
    pub fn is_op_executed(&self, step: StepId, place: u32) -> bool {
        match &self.rules.end {
            End::After { steps, last } if steps.contains(&step) => {
                last.is_none_or(|last| place <= last)
            }
            _ => self.is_executed(step),
        }
    }

    /// A slot has one source, which its own step gives if it can.
    fn read_once(&mut self) {
        for (index, (slot, source)) in self.facts.reads.iter().enumerate() {
            let others = &self.facts.reads[index + 1..];
            let own = self.rules.own_source(*slot);
            self.contradiction |= others.iter().any(|(s, o)| s == slot && o != source)
                || own.is_some_and(|own| own != *source);
        }
    }

    fn read(&mut self, slot: SlotId, source: Source) {
        let (model, rules) = (self.model(), self.rules);
        let read = *model.read(slot);
        if let End::After { steps, .. } = &rules.end
            && let [last] = steps[..]
            && last != read.step
        {
            self.order(read.step, last);
        }
        let step = |write: &u32| model.write(*write).step;
        let writer = match source {
            Source::Initial => None,
            Source::Write(write) if step(&write) == read.step => {
                self.contradiction |= rules.own_source(slot) != Some(source);
                return;
            }
            Source::Write(write) => {
                self.contradiction |=
                    model.write(write).cell != read.cell || rules.is_hidden(write);
                Some(step(&write))
            }
        };
        if let Some(writer) = writer {
            self.order(writer, read.step);
        }
        for writes in rules.writes(read.cell) {
            // What comes after the source comes after the read: all that must, and all that is known to.
            let after = |known: &dyn Fn(StepId, StepId) -> bool| match writer {
                None => 0,
                Some(writer) => {
                    writes.partition_point(|w| step(w) == writer || !known(writer, step(w)))
                }
            };
            let must = after(&|a, b| model.must_precede(a, b));
            let known = after(&|a, b| self.precedes(a, b));
            for index in [must, known] {
                let later = writes[index.min(writes.len())..].iter().map(step);
                if let Some(next) = later.into_iter().find(|next| *next != read.step) {
                    self.order(read.step, next);
                }
            }
            // What comes before the read comes before the source.
            let must = writes.partition_point(|w| model.must_precede(step(w), read.step));
            let known = writes.partition_point(|w| self.precedes(step(w), read.step));
            for index in [must, known] {
                let Some(last) = index.checked_sub(1).map(|index| step(&writes[index])) else {
                    continue;
                };
                match writer {
                    None => self.contradiction = true,
                    Some(writer) if writer != last => self.order(last, writer),
                    Some(_) => {}
                }
            }
        }
    }

    /// Two steps of sections that exclude each other: the sections are in the same order.
    fn lift(&mut self, a: StepId, b: StepId) {
        let rules = self.rules;
        for first in &rules.sections[a.index()] {
            for second in &rules.sections[b.index()] {
                let exclusive = first.lock == second.lock
                    && first.thread != second.thread
                    && !(first.shared && second.shared);
                if !exclusive || !self.is_begun(first) || !self.is_begun(second) {
                    continue;
                }
                match (first.release, second.acquire) {
                    (Some(release), Some(acquire)) => self.order(release, acquire),
                    _ => self.contradiction = true,
                }
            }
        }
    }

    fn is_begun(&self, section: &Section) -> bool {
        let Some(step) = section.acquire else { return true };
        let takes = |op: &Op| op.takes().is_some_and(|(lock, _)| lock == section.lock);
        // It may take the lock several times: the last of them, to be safe.
        let mut ops = self.model().op_range(step).zip(self.model().program(step));
        let place = ops.rfind(|(_, op)| takes(op)).map(|(place, _)| place as u32);
        place.is_some_and(|place| self.is_op_executed(step, place))
    }

    fn keep_together(&mut self) {
        let (model, facts) = (self.model(), self.facts);
        for step in self.steps.clone() {
            for &(first, last) in &facts.whole {
                if model.owner(step) == model.owner(first) {
                    continue;
                }
                if self.precedes(step, last) {
                    self.order(step, first);
                }
                if self.precedes(first, step) {
                    self.order(last, step);
                }
            }
            for &(a, b) in &facts.joined {
                if step == a || step == b {
                    continue;
                }
                if self.precedes(step, b) {
                    self.order(step, a);
                }
                if self.precedes(a, step) {
                    self.order(b, step);
                }
            }
        }
    }
}
