//! Nearness as wishes: the same data flow, whole segments, the same switches (MaxSMT DSPs, §4.2).
//!
//! As [`crate::smt`] has them, but made only where they may be violated: a read of one cell wishes to read as in the
//! anchor; one of several cells wishes so for all of them at once, and is opened into its possible new edges where
//! that cannot hold. What is not executed wishes nothing.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::atoms::{Term, all_of, any_of};
use super::maxsat::{Opener, Wishes};
use super::session::Open;
use super::theory::Search;
use super::walks;
use crate::constraints::Point;
use crate::measure::{is_as_wished, with_initial};
use crate::proof::{self, Charged, Line};
use crate::sat::{Lit, Said};
use crate::{Evaluator, Goal, Model, Nearest, Query, SlotId, Source, StepId, Verdict, criteria};

/// The three criteria.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Criterion {
    DataFlow,
    Segments,
    Switches,
}

impl Criterion {
    pub const ALL: [Criterion; 3] = [Criterion::DataFlow, Criterion::Segments, Criterion::Switches];
}

/// Measures answers and opens wishes.
pub(super) struct Near<'q> {
    query: &'q Query<'q>,
    near: &'q [StepId],
    flows: Vec<criteria::Flow>,
    /// Wishes of reads of several cells: the event, its slots and its weight.
    closed: FxHashMap<Lit, (u32, Vec<SlotId>, u64)>,
    /// What each criterion counts for now.
    pub weights: [u64; 3],
    /// What earlier criteria may cost at most.
    pub settled: [u32; 3],
    pub best: Option<(Vec<StepId>, criteria::Distance)>,
}

impl<'q> Near<'q> {
    pub fn new(
        query: &'q Query<'q>,
        near: &'q [StepId],
        evaluator: &mut Evaluator<'_>,
    ) -> Near<'q> {
        evaluator.evaluate(near);
        let flows = criteria::flows(query.model, evaluator);
        let closed = FxHashMap::default();
        Near { query, near, flows, closed, weights: [0; 3], settled: [u32::MAX; 3], best: None }
    }

    pub fn nearest(&self, bound: [u32; 3]) -> Option<Nearest> {
        self.best.clone().map(|(order, cost)| Nearest { order, cost, bound })
    }

    /// From now on these weights count.
    pub fn begin_stage(&mut self, weights: [u64; 3]) {
        self.weights = weights;
    }

    /// A stage of a lexicographic goal is over: nothing may cost more than what was reached.
    pub fn settle_stage(&mut self, bound: [u32; 3]) {
        for (criterion, most) in self.settled.iter_mut().enumerate() {
            if self.weights[criterion] > 0 && self.weights.iter().sum::<u64>() == 1 {
                *most = bound[criterion];
            }
        }
    }

    /// Whether the best answer costs what was proved.
    pub fn meets(&self, goal: Goal, bound: [u32; 3]) -> bool {
        let Some((_, cost)) = &self.best else { return false };
        match goal {
            Goal::Lexicographic => *cost == bound,
            Goal::Sum(_) => self.weighted(cost) == u64::from(bound[0]),
        }
    }

    /// What a distance counts for now.
    fn weighted(&self, cost: &criteria::Distance) -> u64 {
        cost.iter().zip(self.weights).map(|(cost, weight)| u64::from(*cost) * weight).sum()
    }

    /// Any answer at all, if there is none so far.
    pub fn fall_back(&mut self, open: &mut Open<'_, '_>) {
        if self.best.is_none()
            && let Some(order) = walks::find(self.query)
        {
            let (verdict, cost) = self.measure(open.search.evaluator, &order);
            self.best = is_as_wished(verdict, self.query.wish).then_some((order, cost));
        }
    }

    fn measure(
        &self,
        evaluator: &mut Evaluator<'_>,
        order: &[StepId],
    ) -> (Verdict, criteria::Distance) {
        let verdict = evaluator.evaluate(order);
        let model = evaluator.model();
        let flows = criteria::flows(model, evaluator);
        let performed = evaluator.performed();
        (verdict, criteria::distance(model, self.near, &self.flows, performed, &flows))
    }

    /// The wishes of a criterion.
    pub fn wishes(
        &mut self,
        of: Criterion,
        weight: u64,
        open: &mut Open<'_, '_>,
        into: &mut Wishes,
    ) {
        let found = open.tell(|search, said| match of {
            Criterion::DataFlow => self.same_flow(weight, search, said),
            Criterion::Segments => self.whole_segments(search, said),
            Criterion::Switches => self.same_switches(search, said),
        });
        found.into_iter().for_each(|literal| *into.entry(literal).or_insert(0) += weight);
    }

    fn same_flow(
        &mut self,
        weight: u64,
        search: &mut Search<'_, '_>,
        said: &mut Said<'_>,
    ) -> Vec<Lit> {
        let model = search.model;
        let mut events: BTreeMap<u32, Vec<SlotId>> = BTreeMap::new();
        for (index, read) in model.reads().iter().enumerate() {
            if search.state.anchored[index].is_some() {
                events.entry(read.event).or_default().push(SlotId(index as u32));
            }
        }
        let mut wishes = Vec::new();
        for (event, slots) in events {
            let same: Vec<Lit> = slots.iter().filter_map(|slot| search.same(*slot, said)).collect();
            let at = search.constraints.read_point(model.read(slots[0]));
            let excuse = search.unexecuted(at, said);
            let charged = Charged::Flow { event };
            if let ([same], Term::Known(false)) = (same.as_slice(), excuse) {
                said.note(|| Line::Wish((*same).into(), charged));
                wishes.push(*same);
                continue;
            }
            let wish = search.state.atoms.assumable(said);
            match excuse {
                Term::Known(true) => all_of(wish, &[], said),
                Term::Known(false) => all_of(wish, &same, said),
                Term::Is(excuse) => said.means(wish, || proof::Meaning::Gate {
                    all: Some(proof::literals(&same)),
                    any: vec![excuse.into()],
                }),
            }
            said.note(|| Line::Wish(wish.into(), charged));
            for same in &same {
                imply(wish, [*same], excuse, said);
            }
            if same.len() > 1 {
                self.closed.insert(wish, (event, slots, weight));
            }
            wishes.push(wish);
        }
        wishes
    }

    fn whole_segments(&mut self, search: &mut Search<'_, '_>, said: &mut Said<'_>) -> Vec<Lit> {
        let mut wishes = Vec::new();
        for segment in 0..search.state.shape.segments.len() as u32 {
            let (first, last) = search.state.shape.ends(segment);
            if first == last {
                continue;
            }
            let whole = search.whole(segment, said);
            let excuse = search.is_absent(last, said);
            let wish = excused(whole, &[excuse], search, said);
            said.note(|| Line::Wish(wish.into(), Charged::Segment { first, last }));
            wishes.push(wish);
        }
        wishes
    }

    fn same_switches(&mut self, search: &mut Search<'_, '_>, said: &mut Said<'_>) -> Vec<Lit> {
        let mut wishes = Vec::new();
        for pair in self.near.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            if search.model.owner(a) == search.model.owner(b) {
                continue;
            }
            let joined = search.joined(a, b, said);
            let excuses = [search.is_absent(a, said), search.is_absent(b, said)];
            let wish = excused(joined, &excuses, search, said);
            said.note(|| Line::Wish(wish.into(), Charged::Switch(a, b)));
            wishes.push(wish);
        }
        wishes
    }
}

/// `wish` implies one of these, or the excuse.
fn imply<const N: usize>(wish: Lit, these: [Lit; N], excuse: Term, said: &mut Said<'_>) {
    let mut clause = vec![!wish];
    clause.extend(these);
    match excuse {
        Term::Known(true) => return,
        Term::Known(false) => {}
        Term::Is(literal) => clause.push(literal),
    }
    said.defining(clause);
}

/// A wish for this literal, unless an excuse holds.
fn excused(
    literal: Lit,
    excuses: &[Term],
    search: &mut Search<'_, '_>,
    said: &mut Said<'_>,
) -> Lit {
    if excuses.iter().all(|excuse| *excuse == Term::Known(false)) {
        return literal;
    }
    let wish = search.state.atoms.assumable(said);
    let mut clause = vec![!wish, literal];
    for excuse in excuses {
        match excuse {
            Term::Known(true) => {
                all_of(wish, &[], said);
                return wish;
            }
            Term::Known(false) => {}
            Term::Is(literal) => clause.push(*literal),
        }
    }
    any_of(wish, &clause[1..], said);
    said.defining(clause);
    wish
}

impl Search<'_, '_> {
    /// The step is not executed, not even in part.
    fn is_absent(&mut self, step: StepId, said: &mut Said<'_>) -> Term {
        let position = self.model.op_range(step).start as u32;
        self.unexecuted(Point { step, position }, said)
    }
}

/// The event of a source; `None`: memory as it was before the run.
fn event_of(model: &Model, source: Source) -> Option<u32> {
    match source {
        Source::Initial => None,
        Source::Write(write) => Some(model.write(write).event),
    }
}

impl Opener for Near<'_> {
    /// A read of several cells: each edge to it that the anchor lacks costs one.
    fn open(&mut self, wish: Lit, open: &mut Open<'_, '_>) -> Option<Vec<(Lit, u64)>> {
        let (event, slots, weight) = self.closed.remove(&wish)?;
        let of_event = self.flows.iter().filter(|(_, reader)| *reader == event);
        let near: Vec<Option<u32>> = of_event.map(|(writer, _)| *writer).collect();
        Some(open.tell(|search, said| {
            let mut new: BTreeMap<Option<u32>, (Lit, Vec<Lit>)> = BTreeMap::new();
            for slot in slots {
                search.expand_all(slot, said);
                for source in search.model.candidates(slot) {
                    let writer = event_of(search.model, source);
                    if near.contains(&writer) {
                        continue;
                    }
                    let (absent, not) = new
                        .entry(writer)
                        .or_insert_with(|| (search.state.atoms.assumable(said), Vec::new()));
                    if let Some(reads) = search.state.atoms.known_read(slot, source) {
                        said.defining(vec![!reads, !*absent]);
                        not.push(!reads);
                    }
                }
            }
            for (&writer, (absent, not)) in &new {
                all_of(*absent, not, said);
                said.note(|| Line::Wish((*absent).into(), Charged::Edge { writer, event }));
            }
            new.into_values().map(|(literal, _)| (literal, weight)).collect()
        }))
    }

    /// A read composed of several writes may take its bytes from them otherwise, at no cost.
    fn settle(&mut self, holds: Vec<Lit>, open: &mut Open<'_, '_>) -> Vec<Lit> {
        let mut settled = Vec::with_capacity(holds.len());
        for wish in holds {
            let event = self.closed.get(&wish).map(|(event, ..)| *event);
            let flows = self.flows.iter().filter(|(_, reader)| Some(*reader) == event);
            match flows.count() > 1 {
                true => {
                    let opened = self.open(wish, open).unwrap_or_default();
                    settled.extend(opened.into_iter().map(|(literal, _)| literal));
                }
                false => settled.push(wish),
            }
        }
        settled
    }

    fn found(&mut self, open: &mut Open<'_, '_>) -> Result<Option<u64>, String> {
        let state = &open.search.state;
        let changed = with_initial(self.query.model, &state.initial);
        let (verdict, cost) = match &changed {
            Some(changed) => self.measure(&mut Evaluator::new(changed), &state.order),
            None => self.measure(open.search.evaluator, &state.order),
        };
        if !is_as_wished(verdict, self.query.wish) {
            return Err(format!("an answer that ends otherwise: {verdict}"));
        }
        // A deadlock that is avoided sooner than planned may cost more than was counted.
        if cost.iter().zip(self.settled).any(|(cost, most)| *cost > most) {
            return Ok(None);
        }
        let is_better = |(_, best): &(Vec<StepId>, criteria::Distance)| {
            (self.weighted(&cost), cost) < (self.weighted(best), *best)
        };
        if self.best.as_ref().is_none_or(is_better) {
            self.best = Some((state.order.clone(), cost));
        }
        Ok(Some(self.weighted(&cost)))
    }
}
