//! Bounds: what an order costs at least, charge by charge.
//!
//! The cost of an order is the sum of what it is charged for. A clause that says that one of some charges applies moves a
//! weight of all of them into a constant, and what is left of their sum is "two or more of them, three or more, …" (the
//! identity behind OLL). The constant is a bound at any time. An order that costs no more than it has nothing left.

use rustc_hash::FxHashMap;
use unravel_solve::criteria;
use unravel_solve::proof::{Charged, Literal, Meaning};
use unravel_solve::{Model, SlotId, Source, StepId};

use crate::checker::{Asked, Checker, Refused, Unchecked, is_tautology, refuse};
use crate::closure::Closure;

/// One criterion, or a sum of them.
#[derive(Debug)]
pub(crate) struct Stage {
    weights: [u64; 3],
    pub bound: u64,
    /// By literal that is true where the charge applies: what is left of its weight.
    left: FxHashMap<Literal, u64>,
    charges: FxHashMap<Charged, Literal>,
    /// By set, sorted: by k, what is left of the weight of "at least k of them".
    more: FxHashMap<Vec<Literal>, Vec<u64>>,
}

impl Stage {
    pub fn new(weights: [u64; 3]) -> Stage {
        let (left, charges, more) = Default::default();
        Stage { weights, bound: 0, left, charges, more }
    }

    /// The weight that is left of a literal.
    fn weight(&self, meanings: &FxHashMap<u32, Meaning>, literal: Literal) -> u64 {
        let own = self.left.get(&literal).copied().unwrap_or(0);
        let counted = counted(meanings, literal);
        let more = counted.and_then(|(set, least)| self.more.get(&set)?.get(least).copied());
        own + more.unwrap_or(0)
    }

    fn take(&mut self, meanings: &FxHashMap<u32, Meaning>, literal: Literal, mut weight: u64) {
        if let Some(own) = self.left.get_mut(&literal) {
            let taken = weight.min(*own);
            *own -= taken;
            weight -= taken;
        }
        if let Some((set, least)) = counted(meanings, literal)
            && let Some(more) = self.more.get_mut(&set).and_then(|more| more.get_mut(least))
        {
            *more -= weight;
        }
    }
}

/// "At least so many of this sorted set".
fn counted(meanings: &FxHashMap<u32, Meaning>, literal: Literal) -> Option<(Vec<Literal>, usize)> {
    match meanings.get(&literal.variable())? {
        Meaning::Count { least, of } if !literal.is_negated() => {
            let mut of = of.clone();
            of.sort_unstable();
            Some((of, usize::try_from(*least).ok()?))
        }
        _ => None,
    }
}

impl Checker {
    /// If a wish does not hold, the order is charged for this.
    pub(crate) fn wish(
        &mut self,
        asked: &Asked<'_, '_>,
        wish: Literal,
        charged: Charged,
    ) -> Result<(), Refused> {
        let Some(near) = asked.query.near else { return refuse("there is nothing to be near to") };
        if self.stages.is_empty() {
            return refuse("nothing is minimised yet");
        }
        let model = asked.rules.model;
        if model.is_deadlock() {
            *self.unchecked.entry(Unchecked::DeadlockDistance).or_insert(0) += 1;
        }
        let writers: Vec<Option<u32>> = match charged {
            Charged::Flow { event } | Charged::Edge { event, .. } => {
                asked.flows.iter().filter(|(_, r)| *r == event).map(|(w, _)| *w).collect()
            }
            _ => Vec::new(),
        };
        let facts = self.facts(&[wish]);
        let closure = Closure::new(asked.rules, &facts);
        let holds_always = closure.contradiction || self.clauses.value(wish) == Some(true);
        let (criterion, is_charged) = match charged {
            // A read of several writes at once may change without a new edge: only its edges are charged.
            Charged::Flow { .. } if writers.len() != 1 => return Ok(()),
            Charged::Flow { event } => {
                (0, self.reads_otherwise(asked, &closure, wish, event, writers[0]))
            }
            Charged::Edge { event, writer } => {
                let new = !writers.is_empty() && !writers.contains(&writer);
                (0, new && self.reads_from(model, wish, event, writer))
            }
            Charged::Segment { first, last } => {
                let is_segment =
                    |s: &[StepId]| s.first() == Some(&first) && s.last() == Some(&last);
                let mut segments = criteria::segments(model, near);
                let broken = self.is_lost(wish, &Meaning::Whole { first, last });
                (1, segments.any(is_segment) && broken && closure.is_executed(last))
            }
            Charged::Switch(a, b) => {
                let switch = near.windows(2).any(|pair| pair == [a, b]);
                let apart = || model.owner(a) != model.owner(b);
                let lost = self.is_lost(wish, &Meaning::Joined(a, b));
                let executed = || closure.is_executed(a) && closure.is_executed(b);
                (2, switch && apart() && lost && executed())
            }
        };
        if !is_charged && !holds_always {
            return refuse("without this wish, nothing need be charged");
        }
        let Some(stage) = self.stages.last_mut() else { return Ok(()) };
        let weight = stage.weights[criterion];
        if let Charged::Edge { event, .. } = charged {
            // The event is charged edge by edge from now on.
            if let Some(whole) = stage.charges.remove(&Charged::Flow { event })
                && stage.left.remove(&whole) != Some(weight)
            {
                return refuse("the event was charged as a whole");
            }
        }
        if stage.charges.insert(charged, !wish).is_some() {
            return refuse("it is charged for already");
        }
        *stage.left.entry(!wish).or_insert(0) += weight;
        Ok(())
    }

    /// Whether without the wish some slot of an event, which is executed, reads from another event than before.
    fn reads_otherwise(
        &self,
        asked: &Asked<'_, '_>,
        closure: &Closure<'_, '_>,
        wish: Literal,
        event: u32,
        before: Option<u32>,
    ) -> bool {
        let rules = asked.rules;
        let model = rules.model;
        let parts: &[Literal] = match self.meanings.get(&wish.variable()) {
            Some(Meaning::Gate { all: Some(all), .. }) if !wish.is_negated() => all,
            _ => &[wish],
        };
        parts.iter().all(|part| {
            let Some(Meaning::Reads(slot, source)) = self.meanings.get(&part.variable()) else {
                return false;
            };
            let read = model.read(*slot);
            let mut others =
                model.writes_of(read.cell).iter().map(|w| (Some(model.write(*w).event), *w));
            let twice = others.any(|(e, w)| e == before && Source::Write(w) != *source);
            !part.is_negated()
                && read.event == event
                && event_of(model, *source) == before
                && !twice
                && rules.read_at(*slot).is_some_and(|at| closure.is_op_executed(read.step, at))
        })
    }

    /// Whether without the wish some slot of an event reads from this one.
    fn reads_from(&self, model: &Model, wish: Literal, event: u32, writer: Option<u32>) -> bool {
        let Some(Meaning::Gate { all: Some(all), any }) = self.meanings.get(&wish.variable())
        else {
            return false;
        };
        !wish.is_negated()
            && any.is_empty()
            && all.iter().all(|part| match self.meanings.get(&part.variable()) {
                Some(Meaning::Reads(slot, source)) => {
                    let (slot, source): (&SlotId, &Source) = (slot, source);
                    part.is_negated()
                        && model.read(*slot).event == event
                        && event_of(model, *source) == writer
                }
                _ => false,
            })
    }

    /// Whether without the wish this does not hold.
    fn is_lost(&self, wish: Literal, what: &Meaning) -> bool {
        let is_it = |l: &Literal| !l.is_negated() && self.meanings.get(&l.variable()) == Some(what);
        match self.meanings.get(&wish.variable()) {
            Some(Meaning::Gate { all: None, any }) if !wish.is_negated() => any.iter().any(is_it),
            _ => is_it(&wish),
        }
    }

    /// One of these wishes is given up.
    pub(crate) fn charge(
        &mut self,
        asked: &Asked<'_, '_>,
        weight: u64,
        core: &[Literal],
        under: &[Literal],
    ) -> Result<(), Refused> {
        let Some((stage, earlier)) = self.stages.split_last() else {
            return refuse("nothing is minimised yet");
        };
        let is_settled =
            |l: &Literal| earlier.iter().any(|stage| stage.weight(&self.meanings, !*l) > 0);
        if let Some(other) =
            under.iter().find(|l| !self.is_asked(asked, **l, &[]) && !is_settled(l))
        {
            return refuse(format!("nothing says that {} holds", other.0));
        }
        let clause: Vec<Literal> = core.iter().chain(under).map(|literal| !*literal).collect();
        if is_tautology(&clause) || !self.clauses.follows(&clause) {
            return refuse("these wishes may hold together, as far as is known");
        }
        let mut set: Vec<Literal> = core.iter().map(|literal| !*literal).collect();
        set.sort_unstable();
        if set.is_empty() || set.windows(2).any(|pair| pair[0] == pair[1]) {
            return refuse("no wish is named, or one twice");
        }
        if let Some(light) = set.iter().find(|l| stage.weight(&self.meanings, **l) < weight) {
            return refuse(format!("{} has been charged for already, or is no charge", light.0));
        }
        let Some(stage) = self.stages.last_mut() else { return Ok(()) };
        for literal in &set {
            stage.take(&self.meanings, *literal, weight);
        }
        let Some(bound) = stage.bound.checked_add(weight) else { return refuse("too heavy") };
        stage.bound = bound;
        let most = set.len() + 1;
        let more = stage.more.entry(set).or_insert_with(|| vec![0; most]);
        more.iter_mut().skip(2).for_each(|left| *left += weight);
        Ok(())
    }
}

fn event_of(model: &Model, source: Source) -> Option<u32> {
    match source {
        Source::Initial => None,
        Source::Write(write) => Some(model.write(write).event),
    }
}

/// The data flow of a schedule.
pub(crate) fn flows(model: &Model, near: Option<&[StepId]>) -> Vec<criteria::Flow> {
    let Some(near) = near else { return Vec::new() };
    let mut evaluator = unravel_solve::Evaluator::new(model);
    evaluator.evaluate(near);
    criteria::flows(model, &evaluator)
}
