//! The shape of the schedule that a query is near to: its segments and switches, and what it takes to keep them.
//!
//! A segment that stays whole is like a section of a lock that excludes every step of other threads: what comes before
//! one of its steps comes before its first, and what comes after one comes after its last. A switch that is kept ties
//! two steps together in the same way. What these edges do not decide is said where an order breaks it.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::atoms::{Meaning, Term};
use super::linearise::{Glue, Linear, Obstacle};
use super::theory::{Conflict, Search};
use crate::budgets::ENOUGH_ORDERS;
use crate::constraints::Atom;
use crate::proof::{self, Reason};
use crate::sat::{Keep, Lit, Said, Variables};
use crate::{Model, StepId, criteria};

/// An order that follows, with its literals.
type Follows = (StepId, StepId, Vec<Lit>);

#[derive(Debug)]
pub(super) struct Shape {
    /// The schedule.
    pub anchor: Vec<StepId>,
    /// Ranges of it.
    pub segments: Vec<Range<usize>>,
    /// By step.
    segment_of: Vec<u32>,
    /// By segment: the literal that says it stays whole, once anyone asked.
    whole: FxHashMap<u32, Lit>,
    /// By step: the one that directly follows, or precedes, if the literal holds.
    next: FxHashMap<StepId, (StepId, Lit)>,
    previous: FxHashMap<StepId, (StepId, Lit)>,
}

impl Shape {
    pub fn new(model: &Model, anchor: &[StepId]) -> Shape {
        let mut segments = Vec::new();
        let mut segment_of = vec![0; model.len()];
        let mut start = 0;
        for segment in criteria::segments(model, anchor) {
            segment.iter().for_each(|step| segment_of[step.index()] = segments.len() as u32);
            segments.push(start..start + segment.len());
            start += segment.len();
        }
        Shape {
            anchor: anchor.to_vec(),
            segments,
            segment_of,
            whole: FxHashMap::default(),
            next: FxHashMap::default(),
            previous: FxHashMap::default(),
        }
    }

    pub fn ends(&self, segment: u32) -> (StepId, StepId) {
        let range = &self.segments[segment as usize];
        (self.anchor[range.start], self.anchor[range.end - 1])
    }

    /// What an order of two steps means for the segments and switches they belong to.
    pub fn lift(
        &self,
        a: StepId,
        b: StepId,
        reason: &[Lit],
        said: &Said<'_>,
        todo: &mut Vec<Follows>,
    ) {
        if self.whole.is_empty() && self.next.is_empty() {
            return;
        }
        let with =
            |literal: Lit| said.variables.is_true(literal).then(|| [reason, &[literal]].concat());
        let whole = |step: StepId| {
            let segment = self.segment_of[step.index()];
            self.whole.get(&segment).and_then(|l| with(*l)).map(|r| (self.ends(segment), r))
        };
        let (ahead, behind) = (whole(a), whole(b));
        if let Some(((_, last), reason)) = ahead.as_ref().filter(|((_, last), _)| *last != a) {
            todo.push((*last, b, reason.clone()));
        }
        if let Some(((first, _), reason)) = behind.as_ref().filter(|((first, _), _)| *first != b) {
            todo.push((a, *first, reason.clone()));
        }
        if let (Some(((_, last), ahead)), Some(((first, _), behind))) = (&ahead, &behind) {
            todo.push((*last, *first, [ahead.as_slice(), behind].concat()));
        }
        if let Some((next, literal)) = self.next.get(&a).filter(|(next, _)| *next != b) {
            todo.extend(with(*literal).map(|reason| (*next, b, reason)));
        }
        if let Some((previous, literal)) = self.previous.get(&b).filter(|(p, _)| *p != a) {
            todo.extend(with(*literal).map(|reason| (a, *previous, reason)));
        }
    }
}

/// What stays together under an assignment.
pub(super) struct Together<'a> {
    shape: &'a Shape,
    variables: &'a Variables,
}

impl Glue for Together<'_> {
    fn after(&self, step: StepId) -> Option<StepId> {
        let shape = self.shape;
        if let Some((next, literal)) = shape.next.get(&step)
            && self.variables.is_true(*literal)
        {
            return Some(*next);
        }
        let segment = shape.segment_of[step.index()];
        let literal = shape.whole.get(&segment)?;
        if !self.variables.is_true(*literal) || shape.ends(segment).1 == step {
            return None;
        }
        let steps = &shape.anchor[shape.segments[segment as usize].clone()];
        let place = steps.binary_search(&step).ok()?;
        Some(steps[place + 1])
    }
}

impl Search<'_, '_> {
    /// The literal that says a segment stays whole.
    pub fn whole(&mut self, segment: u32, said: &mut Said<'_>) -> Lit {
        if let Some(literal) = self.state.shape.whole.get(&segment) {
            return *literal;
        }
        let literal = self.state.atoms.add(said, Meaning::Whole(segment), false);
        let (first, last) = self.state.shape.ends(segment);
        said.means(literal, || proof::Meaning::Whole { first, last });
        self.state.shape.whole.insert(segment, literal);
        literal
    }

    /// The literal that says `b` directly follows `a`.
    pub fn joined(&mut self, a: StepId, b: StepId, said: &mut Said<'_>) -> Lit {
        if let Some((_, literal)) = self.state.shape.next.get(&a) {
            return *literal;
        }
        let literal = self.state.atoms.add(said, Meaning::Joined(a, b), false);
        said.means(literal, || proof::Meaning::Joined(a, b));
        self.state.shape.next.insert(a, (b, literal));
        self.state.shape.previous.insert(b, (a, literal));
        literal
    }

    pub fn keep_whole(
        &mut self,
        segment: u32,
        literal: Lit,
        said: &mut Said<'_>,
    ) -> Result<(), Conflict> {
        let (first, last) = self.state.shape.ends(segment);
        let steps =
            self.state.shape.anchor[self.state.shape.segments[segment as usize].clone()].to_vec();
        let mut follows = Vec::new();
        for step in steps {
            self.around(step, literal, &mut follows, |other, before| {
                if before { (other, first) } else { (last, other) }
            });
        }
        self.order_all(follows, said)
    }

    pub fn join(
        &mut self,
        a: StepId,
        b: StepId,
        literal: Lit,
        said: &mut Said<'_>,
    ) -> Result<(), Conflict> {
        let mut follows = vec![(a, b, vec![literal])];
        let neighbour = |step: StepId, offset: isize| {
            let steps = self.model.thread_steps(self.model.owner(step));
            let place = self.model.place(step).checked_add_signed(offset)?;
            steps.get(place).copied()
        };
        follows.extend(neighbour(b, -1).map(|before| (before, a, vec![literal])));
        follows.extend(neighbour(a, 1).map(|after| (b, after, vec![literal])));
        self.around(
            a,
            literal,
            &mut follows,
            |other, before| {
                if before { (other, a) } else { (b, other) }
            },
        );
        self.around(
            b,
            literal,
            &mut follows,
            |other, before| {
                if before { (other, a) } else { (b, other) }
            },
        );
        follows.retain(|(x, y, _)| x != y);
        self.order_all(follows, said)
    }

    /// What the edges around a step turn into.
    fn around(
        &self,
        step: StepId,
        literal: Lit,
        follows: &mut Vec<Follows>,
        turned: impl Fn(StepId, bool) -> (StepId, StepId),
    ) {
        let graph = &self.state.graph;
        let mut push = |other: StepId, before: bool, reason: &[Lit]| {
            let (a, b) = turned(other, before);
            follows.push((a, b, [reason, &[literal]].concat()));
        };
        graph.fixed_into(step).for_each(|other| push(other, true, &[]));
        graph.into(step).for_each(|(other, reason)| push(other, true, reason));
        graph.fixed_out(step).for_each(|other| push(other, false, &[]));
        graph.out_of(step).iter().for_each(|edge| push(edge.to, false, graph.reason(edge)));
    }

    fn order_all(&mut self, follows: Vec<Follows>, said: &mut Said<'_>) -> Result<(), Conflict> {
        for (a, b, reason) in follows {
            self.order_only(a, b, &reason, said)?;
        }
        Ok(())
    }

    /// An order of all steps, and what is wrong with it.
    pub fn linearise(&self, said: &Said<'_>) -> (Vec<StepId>, Vec<Obstacle>) {
        let state = &*self.state;
        let is_granted = |step: &StepId| {
            let choice = state.atoms.known_choice(Atom::Granted(*step));
            choice.is_some_and(|choice| said.variables.is_true(choice))
        };
        let granted: Vec<StepId> = state.grantable.iter().copied().filter(is_granted).collect();
        let linear = Linear {
            model: self.model,
            graph: &state.graph,
            values: &state.values,
            sections: &state.sections,
            places: &state.atoms.places,
            end: &self.constraints.end,
            granted: &granted,
            glue: Together { shape: &state.shape, variables: said.variables },
        };
        linear.order()
    }

    /// The orders that would remove an obstacle.
    pub fn say(&mut self, obstacle: Obstacle, said: &mut Said<'_>) {
        let (mut clause, orders) = match obstacle {
            Obstacle::Overwritten { slot, by } => {
                let Some((source, why)) = self.state.values.chosen[slot.index()] else { return };
                let mut orders = vec![(self.model.read(slot).step, by)];
                if let crate::Source::Write(write) = source {
                    orders.push((by, self.model.write(write).step));
                }
                (vec![!why], orders)
            }
            Obstacle::Locked { first, second } => {
                let [a, b] = [first, second].map(|index| self.state.sections.all[index as usize]);
                let ends = [(a.release, b.acquire), (b.release, a.acquire)];
                let orders = ends.into_iter().filter_map(|(end, begin)| Some((end?, begin?)));
                let mut idle = Vec::new();
                for step in [a.acquire, b.acquire].into_iter().flatten() {
                    match self.unbegun(step, a.lock, said) {
                        Term::Known(true) => return,
                        Term::Known(false) => {}
                        Term::Is(literal) => idle.push(literal),
                    }
                }
                (idle, orders.collect())
            }
        };
        for (a, b) in orders {
            match self.state.atoms.before(self.model, said, a, b) {
                Term::Known(true) => return,
                Term::Known(false) => {}
                Term::Is(literal) => clause.push(literal),
            }
        }
        self.say_once(clause, said);
    }

    /// Says a clause about orders, and wants them decided.
    fn say_once(&mut self, clause: Vec<Lit>, said: &mut Said<'_>) {
        if clause.iter().any(|literal| said.variables.is_true(*literal)) {
            return;
        }
        for literal in &clause {
            said.want(*literal);
        }
        if self.state.said.insert(clause.clone()) {
            said.clause(clause, Keep::Forever, Reason::Order);
        }
    }

    /// A step does not take a lock: it is not executed.
    fn unbegun(&mut self, step: StepId, lock: crate::SyncId, said: &mut Said<'_>) -> Term {
        let mut range = self.model.op_range(step);
        let takes = |at: &usize| self.model.ops[*at].takes().is_some_and(|(of, _)| of == lock);
        let start = range.start;
        let position = range.find(takes).unwrap_or(start) as u32;
        self.unexecuted(crate::constraints::Point { step, position }, said)
    }

    /// Says which steps break what should stay together.
    pub fn say_broken(&mut self, order: &[StepId], said: &mut Said<'_>) {
        let shape = &self.state.shape;
        let mut ties: Vec<(StepId, StepId, usize, Lit)> = Vec::new();
        for (segment, literal) in &shape.whole {
            let (first, last) = shape.ends(*segment);
            ties.push((first, last, shape.segments[*segment as usize].len(), *literal));
        }
        for (a, (b, literal)) in &shape.next {
            ties.push((*a, *b, 2, *literal));
        }
        ties.retain(|(.., literal)| said.variables.is_true(*literal));
        if ties.is_empty() {
            return;
        }
        ties.sort();
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, step)| places[step.index()] = place);
        for (first, last, length, literal) in ties {
            let (from, to) = (places[first.index()], places[last.index()]);
            if from + length == to + 1 {
                continue;
            }
            let owner = self.model.owner(first);
            let same = owner == self.model.owner(last);
            let between = order.get(from + 1..to).unwrap_or_default().iter().copied();
            let foreign = between.filter(|step| !same || self.model.owner(*step) != owner);
            for step in foreign.take(ENOUGH_ORDERS) {
                let mut clause = vec![!literal];
                for (a, b) in [(step, first), (last, step)] {
                    if let Term::Is(order) = self.state.atoms.before(self.model, said, a, b) {
                        clause.push(order);
                    }
                }
                self.say_once(clause, said);
            }
        }
    }
}
