//! Soft constraints: how near an order is to a schedule F (MaxSMT DSPs, §4.2).
//!
//! - Data flow: each read of F reads from the same writes; an edge of the order that F lacks costs one.
//! - Segments: a maximal run o1…ok of one thread in F stays whole: no step of another thread between o1 and ok.
//! - Context switches: where F goes from oi to oj of another thread, oj still follows oi directly.
//!
//! The paper writes the last two as `Ok − O1 = k − 1` and `Oj − Oi = 1` over orders that are a permutation of 1…n.
//! Here: `⋀ (s < o1 ∨ ok < s)` over the steps s of other threads, and likewise for switches. It says the same
//! without the permutation, so that orders stay differences and steps that nobody compares need no place of
//! their own.
//!
//! For the lexicographic goal one data-flow variation weighs more than all broken segments, and one of these more
//! than all lost switches. (Z3 4.8.12 has lexicographic optimisation, but keeps the very constraints that were
//! satisfied at one level for the next, not only their number: what it calls optimal need not be.)

use rustc_hash::FxHashMap;

use super::encode::Encoder;
use crate::constraints::{Formula, Point};
use crate::{Evaluator, Goal, Model, SlotId, Source, StepId, criteria};

/// The event of a source; `None`: memory as it was before the run.
fn event_of(model: &Model, source: Source) -> Option<u32> {
    match source {
        Source::Initial => None,
        Source::Write(write) => Some(model.write(write).event),
    }
}

impl Encoder<'_> {
    /// Returns what each criterion weighs.
    pub fn nearness(&mut self, near: &[StepId], goal: Goal) -> [u64; 3] {
        self.script.comment("nearness");
        let mut criteria = [self.same_flow(near), self.whole(near), self.same_switches(near)];
        criteria.iter_mut().for_each(|formulas| formulas.retain(|f| *f != Formula::True));
        let weights = match goal {
            Goal::Sum(w) => [w.data_flow, w.segments, w.switches].map(u64::from),
            Goal::Lexicographic => {
                let switches = 1 + criteria[2].len() as u64;
                [(1 + criteria[1].len() as u64) * switches, switches, 1]
            }
        };
        for (formulas, weight) in criteria.iter().zip(weights).filter(|(_, weight)| *weight > 0) {
            for formula in formulas {
                self.script.soft(formula, weight);
            }
        }
        weights
    }

    fn same_flow(&mut self, near: &[StepId]) -> Vec<Formula> {
        let model = self.model;
        let mut events: FxHashMap<u32, Vec<SlotId>> = FxHashMap::default();
        for (index, read) in model.reads().iter().enumerate() {
            events.entry(read.event).or_default().push(SlotId(index as u32));
        }
        let mut events: Vec<_> = events.into_iter().collect();
        events.sort();
        let mut evaluator = Evaluator::new(model);
        evaluator.evaluate(near);
        let known = criteria::flows(model, &evaluator);
        let mut softs = Vec::new();
        for (event, slots) in events {
            let of_event = known.iter().filter(|(_, reader)| *reader == event);
            let of_near: Vec<Option<u32>> = of_event.map(|(writer, _)| *writer).collect();
            if of_near.is_empty() {
                // F ends before this read.
                continue;
            }
            let read = *model.read(slots[0]);
            let unexecuted = self.constraints.after_end(self.constraints.read_point(&read));
            let selectors: Vec<_> = slots.iter().map(|slot| self.selectors(*slot)).collect();
            // New edges that the event may get, each with what keeps it away.
            let mut new: Vec<Option<u32>> = selectors
                .iter()
                .flatten()
                .map(|(source, _)| event_of(model, *source))
                .filter(|event| !of_near.contains(event))
                .collect();
            new.sort();
            new.dedup();
            if let ([only], [near]) = (selectors.as_slice(), of_near.as_slice()) {
                if !new.is_empty() {
                    let same = reads_other(model, only, |event| event == *near);
                    softs.push(Formula::or([unexecuted, same]));
                }
                continue;
            }
            for edge in new {
                let absent = selectors.iter().map(|of| reads_other(model, of, |e| e != edge));
                softs.push(Formula::or([unexecuted.clone(), Formula::and(absent)]));
            }
        }
        softs
    }

    fn whole(&self, near: &[StepId]) -> Vec<Formula> {
        let longer = criteria::segments(self.model, near).filter(|segment| segment.len() > 1);
        longer
            .map(|segment| {
                let (first, last) = (segment[0], segment[segment.len() - 1]);
                Formula::or([self.is_absent(last), self.nothing_between(first, last)])
            })
            .collect()
    }

    fn same_switches(&self, near: &[StepId]) -> Vec<Formula> {
        let owner = |step| self.model.owner(step);
        let pairs = near.windows(2).map(|pair| (pair[0], pair[1]));
        pairs
            .filter(|(a, b)| owner(*a) != owner(*b))
            .map(|(a, b)| {
                let adjacent =
                    Formula::and([self.constraints.before(a, b), self.nothing_between(a, b)]);
                Formula::or([self.is_absent(a), self.is_absent(b), adjacent])
            })
            .collect()
    }

    /// The step is not executed: segments and switches with it are left out.
    fn is_absent(&self, step: StepId) -> Formula {
        self.constraints.after_end(Point { step, position: self.model.op_range(step).start as u32 })
    }

    /// No step of another thread between two of one thread, or none at all between two of different ones.
    fn nothing_between(&self, first: StepId, last: StepId) -> Formula {
        let model = self.model;
        let (owner, other) = (model.owner(first), model.owner(last));
        let mut parts = Vec::new();
        for step in model.steps() {
            let thread = model.owner(step);
            if step == first || step == last || (thread == owner && owner == other) {
                continue;
            }
            // Of the threads of a switch only the neighbours matter.
            let neighbour = match thread {
                t if t == owner => model.place(step) == model.place(first) + 1,
                t if t == other => model.place(step) + 1 == model.place(last),
                _ => true,
            };
            if neighbour {
                parts.push(Formula::or([
                    self.constraints.before(step, first),
                    self.constraints.before(last, step),
                ]));
            }
        }
        Formula::and(parts)
    }
}

/// Some source of which this holds is selected.
fn reads_other(
    model: &Model,
    selectors: &[(Source, Formula)],
    wanted: impl Fn(Option<u32>) -> bool,
) -> Formula {
    let wanted = selectors.iter().filter(|(source, _)| wanted(event_of(model, *source)));
    Formula::or(wanted.map(|(_, selected)| selected.clone()))
}
