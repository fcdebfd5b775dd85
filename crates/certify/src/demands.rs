//! What must hold, as a combination of orders, and whether a clause says no more than that.
//!
//! All of it is monotone in orders: "not before" is "after". Where two ops of one step are compared and nobody looked
//! closer, the order is taken to hold, which demands less.

use unravel_solve::StepId;
use unravel_solve::proof::{Literal, Meaning};

use crate::checker::Checker;
use crate::closure::Closure;

/// An op at its place among all ops.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct At {
    pub step: StepId,
    pub place: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Demand {
    Before(StepId, StepId),
    /// A signal ends a wait, by their places; or does not.
    Wakes {
        wait: u32,
        waker: u32,
        does: bool,
    },
    All(Vec<Demand>),
    Any(Vec<Demand>),
    AtLeast(i64, Vec<Demand>),
}

impl Demand {
    pub fn known(holds: bool) -> Demand {
        if holds { Demand::All(Vec::new()) } else { Demand::Any(Vec::new()) }
    }
}

/// `a` is executed before `b`.
pub(crate) fn ahead(a: At, b: At) -> Demand {
    if a.step == b.step { Demand::known(a.place < b.place) } else { Demand::Before(a.step, b.step) }
}

/// What a clause leaves open if it is false.
pub(crate) struct Open<'c> {
    pub checker: &'c Checker,
    pub closure: &'c Closure<'c, 'c>,
    /// Literals that are false.
    pub falses: &'c [Literal],
}

impl Open<'_> {
    /// Whether a demand cannot be met.
    pub fn is_refuted(&self, demand: &Demand) -> bool {
        let refuted = match demand {
            Demand::Before(a, b) => a == b || self.closure.precedes(*b, *a),
            Demand::All(parts) => parts.iter().any(|part| self.is_refuted(part)),
            Demand::Any(parts) => parts.iter().all(|part| self.is_refuted(part)),
            Demand::AtLeast(least, parts) => {
                let open = parts.iter().filter(|part| !self.is_refuted(part));
                (open.count() as i64) < *least
            }
            Demand::Wakes { .. } => false,
        };
        refuted || self.falses.iter().any(|literal| self.implies(demand, *literal))
    }

    /// Whether a literal holds wherever a demand is met.
    fn implies(&self, demand: &Demand, literal: Literal) -> bool {
        if let Some(meaning) = self.checker.meanings.get(&literal.variable()) {
            let as_gate = match (meaning, literal.is_negated()) {
                (Meaning::Gate { all: Some(all), any }, false) if any.is_empty() => {
                    all.iter().all(|part| self.implies(demand, *part))
                }
                (Meaning::Gate { all: None, any }, false) => {
                    any.iter().any(|part| self.implies(demand, *part))
                }
                (Meaning::Count { least, of }, false) => self.reaches(demand, *least, of),
                _ => false,
            };
            if as_gate || self.is_said(demand, meaning, literal.is_negated()) {
                return true;
            }
        }
        match demand {
            Demand::All(parts) => parts.iter().any(|part| self.implies(part, literal)),
            Demand::Any(parts) => {
                !parts.is_empty()
                    && parts.iter().all(|p| self.implies(p, literal) || self.is_out(p))
            }
            Demand::AtLeast(least, parts) => {
                let others = parts.iter().filter(|p| !self.implies(p, literal) && !self.is_out(p));
                *least > 0 && (others.count() as i64) < *least
            }
            _ => false,
        }
    }

    /// A part that is out by orders alone: what follows from literals would be looked at again and again.
    fn is_out(&self, demand: &Demand) -> bool {
        match demand {
            Demand::Before(a, b) => a == b || self.closure.precedes(*b, *a),
            Demand::All(parts) => parts.iter().any(|part| self.is_out(part)),
            Demand::Any(parts) => parts.iter().all(|part| self.is_out(part)),
            Demand::AtLeast(least, parts) => {
                (parts.iter().filter(|part| !self.is_out(part)).count() as i64) < *least
            }
            _ => false,
        }
    }

    /// Whether a literal says exactly this.
    fn is_said(&self, demand: &Demand, meaning: &Meaning, negated: bool) -> bool {
        match (demand, meaning) {
            (Demand::Before(a, b), Meaning::Order(first, second)) => {
                (a, b) == if negated { (second, first) } else { (first, second) }
            }
            (Demand::Wakes { wait, waker, does }, Meaning::Wakes { wait: w, waker: s }) => {
                (wait, waker) == (w, s) && *does != negated
            }
            _ => false,
        }
    }

    /// Whether at least so many of these literals hold wherever a demand is met: each part gives one of its own.
    fn reaches(&self, demand: &Demand, wanted: i64, of: &[Literal]) -> bool {
        let (least, parts) = match demand {
            Demand::AtLeast(least, parts) => (*least, parts),
            Demand::All(parts) => (parts.len() as i64, parts),
            _ => return false,
        };
        let mut left: Vec<Literal> = of.to_vec();
        let mut without = 0;
        for part in parts.iter().filter(|part| !self.is_out(part)) {
            match left.iter().position(|literal| self.implies(part, *literal)) {
                Some(place) => drop(left.swap_remove(place)),
                None => without += 1,
            }
        }
        least - without >= wanted
    }
}
