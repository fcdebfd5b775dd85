//! From the lines of a proof to what it is a proof of.

use unravel_solve::proof::{Line, Literal, Meaning};
use unravel_solve::{Model, Query, StepId};

use crate::checker::{Asked, Checker, Refused, is_tautology, refuse};
use crate::nearness;
use crate::rules::Rules;

/// What a solver said of a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Claim {
    /// No order answers it.
    None,
    /// These of the orders that are assumed (by index) cannot hold together with the rest.
    Core(Vec<usize>),
    /// No order is nearer than this: one number for each stage.
    Bound(Vec<u64>),
}

impl Checker {
    /// Accepts what a query added to the proof, and what is claimed of it. `Err` says which of these lines is refused,
    /// counted from 0, or none of them but the claim.
    pub fn check(
        &mut self,
        query: &Query<'_>,
        lines: &[Line],
        claim: Option<&Claim>,
    ) -> Result<(), (Option<usize>, Refused)> {
        let rules = Rules::new(query.model, query.wish);
        let kept = kept(query);
        let flows = nearness::flows(query.model, query.near);
        let asked = Asked { rules: &rules, query, kept, flows };
        self.stages.clear();
        self.last = None;
        for (index, line) in lines.iter().enumerate() {
            self.line(&asked, line).map_err(|refused| (Some(index), refused))?;
        }
        claim
            .map_or(Ok(()), |claim| self.conclude(&asked, claim))
            .map_err(|refused| (None, refused))
    }

    fn conclude(&self, asked: &Asked<'_, '_>, claim: &Claim) -> Result<(), Refused> {
        match claim {
            Claim::None => self.excluded(asked, &[]),
            Claim::Core(members) => {
                let assume = &asked.query.assume;
                let Some(members) =
                    members.iter().map(|m| assume.get(*m)).collect::<Option<Vec<_>>>()
                else {
                    return refuse("the core names an order that nobody assumes");
                };
                let members: Vec<_> = members.iter().map(|b| (b.first, b.second)).collect();
                self.excluded(asked, &members)
            }
            Claim::Bound(bounds) => {
                let proved = |(stage, bound): (usize, &u64)| {
                    *bound == 0 || self.stages.get(stage).is_some_and(|s| s.bound >= *bound)
                };
                match bounds.iter().enumerate().all(proved) || self.excluded(asked, &[]).is_ok() {
                    true => Ok(()),
                    false => refuse("the charges do not add up to the bound"),
                }
            }
        }
    }

    /// No order has what is kept, and these.
    fn excluded(&self, asked: &Asked<'_, '_>, members: &[(StepId, StepId)]) -> Result<(), Refused> {
        let model = asked.rules.model;
        let hopeless = |(a, b): &(StepId, StepId)| a == b || model.must_precede(*b, *a);
        if self.clauses.contradiction || asked.kept.iter().chain(members).any(hopeless) {
            return Ok(());
        }
        let Some(last) = &self.last else { return refuse("the proof ends without a clause") };
        let contradicts = is_tautology(last);
        match last.iter().find(|literal| !self.is_asked(asked, !**literal, members)) {
            None => Ok(()),
            Some(literal) => refuse(format!(
                "the proof ends with a clause that assumes {}, which nobody asked for{}",
                -literal.0,
                if contradicts { " (and its opposite)" } else { "" }
            )),
        }
    }

    /// Whether a literal holds because of the query, or of these orders.
    pub(crate) fn is_asked(
        &self,
        asked: &Asked<'_, '_>,
        literal: Literal,
        members: &[(StepId, StepId)],
    ) -> bool {
        if let Some(order) = self.order(literal) {
            return asked.kept.contains(&order) || members.contains(&order);
        }
        let Some(Meaning::Gate { all: None, any }) = self.meanings.get(&literal.variable()) else {
            return false;
        };
        // Of a blocked set, an order does not hold: its opposite does.
        let model = asked.rules.model;
        !literal.is_negated()
            && asked.query.blocked.iter().any(|set| {
                set.iter().all(|before| {
                    let opposite = (before.second, before.first);
                    before.first == before.second
                        || model.must_precede(before.first, before.second)
                        || any.iter().any(|part| self.order(*part) == Some(opposite))
                })
            })
    }
}

/// The orders that hold in every answer: those that are kept, and those of steps that may not move.
fn kept(query: &Query<'_>) -> Vec<(StepId, StepId)> {
    let mut kept: Vec<_> = query.keep.iter().map(|before| (before.first, before.second)).collect();
    if let (Some(near), Some(free)) = (query.near, &query.free) {
        let fixed: Vec<StepId> = near.iter().copied().filter(|step| !free.contains(step)).collect();
        kept.extend(fixed.windows(2).map(|pair| (pair[0], pair[1])));
    }
    kept
}

/// What identifies a model in a file: its steps, ops, sections and memory, as a number (FNV-1a).
pub fn digest(model: &Model) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |text: String| {
        for byte in text.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for step in model.steps() {
        eat(format!("{:?} {:?} {:?}", model.owner(step), model.kind(step), model.program(step)));
    }
    eat(format!("{:?} {:?} {:?}", model.reads(), model.writes(), model.sections()));
    eat(format!("{:?} {:?}", model.checks(), model.bug()));
    for (id, node, bits) in model.exprs().iter() {
        eat(format!("{id:?} {node:?} {bits}"));
    }
    for cell in model.cells() {
        eat(format!("{:?}", model.initial(cell)));
    }
    hash
}
