//! Whether a clause holds for the reason that it names: each rule, derived again from the model.

use unravel_solve::proof::{Literal, Meaning, Reason};
use unravel_solve::{Evaluator, Op, SlotId, Source, StepId, Wish};
use unravel_trace::Bug;

use crate::checker::{Checker, Refused, Unchecked, refuse};
use crate::closure::{Closure, Facts};
use crate::rules::{End, Rules, reading_steps};
use crate::{counting, sync, values};

impl Checker {
    /// Whether a clause holds for this reason; `Some` if that is taken on trust.
    pub(crate) fn holds(
        &self,
        rules: &Rules<'_>,
        reason: Reason,
        clause: &[Literal],
    ) -> Result<Option<Unchecked>, Refused> {
        let facts = self.facts(clause);
        let closure = Closure::new(rules, &facts);
        if closure.contradiction {
            return Ok(None);
        }
        let (model, wish) = (rules.model, rules.wish);
        match reason {
            Reason::Order | Reason::Grant => {
                refuse("program order, reads-from and locks allow all this")
            }
            Reason::Count if counting::is_impossible(&self.meanings, clause) => Ok(None),
            Reason::Count => refuse("the numbers allow this"),
            Reason::Reached => match (model.bug(), wish) {
                (Bug::Reached { .. }, Wish::Passes) => Ok(None),
                _ => refuse("the failure is not one that every order reaches"),
            },
            Reason::Value { check } | Reason::Chain { check } => {
                let (condition, wanted) = self.condition(&closure, rules, check)?;
                let value = match reason {
                    Reason::Chain { .. } => values::counts(model, &facts.reads, condition, wanted),
                    _ => values::value(model, &facts.reads, condition).map(|value| value != 0),
                };
                match value {
                    Some(value) if value != wanted => Ok(None),
                    Some(_) => refuse("the condition has the value that is wanted"),
                    None => refuse("the condition may have the value that is wanted"),
                }
            }
            Reason::Sources(slot) => self.sources(&closure, rules, slot, clause).map(|()| None),
            Reason::Recorded => self.recorded(rules, &facts, clause).map(|()| None),
            Reason::Initial => Ok(Some(Unchecked::InitialValues)),
            Reason::Deadlock if model.is_deadlock() => Ok(Some(Unchecked::Deadlock)),
            Reason::Deadlock => refuse("the failure is no deadlock"),
            Reason::Sync(sync) if sync.index() < model.syncs().len() => {
                sync::holds(self, &closure, rules, sync, &facts.falses).map(|()| None)
            }
            Reason::Sync(_) => refuse("there is no such sync object"),
        }
    }

    /// The condition at this place, which is executed, or the bug's; and the value that it must have.
    fn condition(
        &self,
        closure: &Closure<'_, '_>,
        rules: &Rules<'_>,
        check: Option<u32>,
    ) -> Result<(unravel_trace::ExprId, bool), Refused> {
        let model = rules.model;
        let Some(place) = check else {
            let bug = model.bug_condition().map(|id| (id, rules.wish == Wish::Fails));
            return bug.ok_or_else(|| Refused("no condition decides the failure".to_owned()));
        };
        let Some((step, Op::Check(check))) = rules.op_at(place) else {
            return refuse("there is no condition at this place");
        };
        let holds = model.check(check).holds;
        let mut executed = closure.is_op_executed(step, place);
        if model.is_deferred(check) {
            let steps = reading_steps(model, holds);
            if let End::After { steps: last, last: Some(_) } = &rules.end {
                executed &= !last.contains(&step) && !steps.iter().any(|s| last.contains(s));
            }
            let is_begun = |s: &StepId| closure.is_op_executed(*s, model.op_range(*s).start as u32);
            executed &= steps.iter().all(is_begun);
        }
        match executed {
            true => Ok((holds, true)),
            false => refuse("the condition may not be executed"),
        }
    }

    /// A slot that is executed reads from one of these: every other source is impossible.
    fn sources(
        &self,
        closure: &Closure<'_, '_>,
        rules: &Rules<'_>,
        slot: SlotId,
        clause: &[Literal],
    ) -> Result<(), Refused> {
        let model = rules.model;
        if slot.index() >= model.reads().len() {
            return refuse("there is no such read");
        }
        let is_named = |source: Source| {
            let meaning = Meaning::Reads(slot, source);
            clause
                .iter()
                .any(|l| !l.is_negated() && self.meanings.get(&l.variable()) == Some(&meaning))
        };
        let read = model.read(slot);
        let executed = rules.read_at(slot).is_some_and(|at| closure.is_op_executed(read.step, at));
        // A step that was executed read something; whether it was is said by the other literals.
        if !executed {
            return refuse("the read may not be executed");
        }
        let writes = model.writes_of(read.cell).iter().map(|write| Source::Write(*write));
        for source in writes.chain([Source::Initial]).filter(|source| !is_named(*source)) {
            let after = matches!(source, Source::Write(w)
                if model.must_precede(read.step, model.write(w).step));
            let facts = Facts { reads: vec![(slot, source)], ..Facts::default() };
            if !after && !Closure::new(rules, &facts).contradiction {
                return refuse(format!("it may read from {source:?} too"));
            }
        }
        Ok(())
    }

    /// What only execution can tell: the recorded order fails, every other passes.
    fn recorded(
        &self,
        rules: &Rules<'_>,
        facts: &Facts,
        clause: &[Literal],
    ) -> Result<(), Refused> {
        let model = rules.model;
        if *model.bug() != Bug::Opaque {
            return refuse("more than execution can tell how an order ends");
        }
        let Some(observed) = model.observed() else {
            return match (rules.wish, clause) {
                (Wish::Fails, []) => Ok(()),
                _ => refuse("the recorded order is not known"),
            };
        };
        let mut evaluator = Evaluator::new(model);
        evaluator.evaluate(&observed);
        let pairs = model.sync_along(&observed);
        let slots = (0..model.reads().len() as u32).map(SlotId);
        let mut recorded = slots.map(|slot| (slot, evaluator.sources()[slot.index()]));
        let holds = match rules.wish {
            // One of what holds in the recorded order.
            Wish::Fails => clause.iter().any(|literal| {
                let is_pair = self.order(*literal).is_some_and(|order| pairs.contains(&order));
                let read = match self.meanings.get(&literal.variable()) {
                    Some(Meaning::Reads(slot, source)) if !literal.is_negated() => {
                        evaluator.sources()[slot.index()] == *source
                    }
                    _ => false,
                };
                is_pair || read
            }),
            // If all of that holds it is the recorded order.
            Wish::Passes => {
                recorded.all(|read| facts.reads.contains(&read))
                    && pairs.iter().all(|(a, b)| {
                        model.must_precede(*a, *b) || facts.orders.contains(&(*a, *b))
                    })
            }
        };
        if holds {
            Ok(())
        } else {
            refuse("other orders than the recorded one are excluded, or it is not")
        }
    }
}
