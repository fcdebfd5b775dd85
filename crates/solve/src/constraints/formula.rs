//! Formulas over orders and choices, simplified while they are built.

use crate::{SlotId, Source, StepId};

/// What a backend decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Atom {
    /// The first step is executed before the second. Never between steps whose order is fixed
    /// ([`crate::Model::must_precede`]), nor of one step.
    Before(StepId, StepId),
    /// This signal or broadcast ends this wait; both by the position of their op among all ops of the model.
    Wakes { wait: u32, waker: u32 },
    /// A slot reads from this source.
    ReadsFrom(SlotId, Source),
    /// Of a deadlock that is avoided: this step comes after the end, which is where a request is granted.
    AfterGrant(StepId),
    /// The request of this step is the one that is granted, so that the run ends there.
    Granted(StepId),
}

impl Atom {
    /// A choice may be negated, an order may not.
    pub fn is_choice(self) -> bool {
        match self {
            Atom::Wakes { .. } | Atom::ReadsFrom(..) | Atom::Granted(_) => true,
            Atom::Before(..) | Atom::AfterGrant(_) => false,
        }
    }
}

/// A Boolean combination of atoms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Formula {
    True,
    False,
    Is(Atom),
    /// Only of choices.
    Not(Atom),
    /// Two parts at least, none of them known and none of them an `All`.
    All(Vec<Formula>),
    /// Two parts at least, none of them known and none of them an `Any`.
    Any(Vec<Formula>),
    /// So many of these hold: more than one, fewer than all. None of them is known.
    AtLeast(u32, Vec<Formula>),
}

impl Formula {
    pub fn known(value: bool) -> Formula {
        if value { Formula::True } else { Formula::False }
    }

    pub fn and(parts: impl IntoIterator<Item = Formula>) -> Formula {
        let mut all = Vec::new();
        for part in parts {
            match part {
                Formula::True => {}
                Formula::False => return Formula::False,
                Formula::All(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        match all.len() {
            0 => Formula::True,
            1 => all.swap_remove(0),
            _ => Formula::All(all),
        }
    }

    pub fn or(parts: impl IntoIterator<Item = Formula>) -> Formula {
        let mut any = Vec::new();
        for part in parts {
            match part {
                Formula::False => {}
                Formula::True => return Formula::True,
                Formula::Any(inner) => any.extend(inner),
                other => any.push(other),
            }
        }
        match any.len() {
            0 => Formula::False,
            1 => any.swap_remove(0),
            _ => Formula::Any(any),
        }
    }

    /// Only for what is known and for choices: an order is negated by asking for the opposite one.
    pub fn not(self) -> Formula {
        match self {
            Formula::True => Formula::False,
            Formula::False => Formula::True,
            Formula::Is(atom) if atom.is_choice() => Formula::Not(atom),
            Formula::Not(atom) => Formula::Is(atom),
            other => panic!("orders occur only positively, but this is negated: {other:?}"),
        }
    }

    /// At least so many of these hold.
    pub fn at_least(count: i64, parts: Vec<Formula>) -> Formula {
        let certain = parts.iter().filter(|p| **p == Formula::True).count() as i64;
        let is_open = |part: &Formula| !matches!(part, Formula::True | Formula::False);
        let open: Vec<Formula> = parts.into_iter().filter(is_open).collect();
        let needed = count - certain;
        if needed <= 0 {
            Formula::True
        } else if needed > open.len() as i64 {
            Formula::False
        } else if needed == 1 {
            Formula::or(open)
        } else if needed == open.len() as i64 {
            Formula::and(open)
        } else {
            Formula::AtLeast(needed as u32, open)
        }
    }

    /// Shows every occurrence of an atom.
    pub fn each_atom(&self, show: &mut impl FnMut(Atom)) {
        match self {
            Formula::True | Formula::False => {}
            Formula::Is(atom) | Formula::Not(atom) => show(*atom),
            Formula::All(parts) | Formula::Any(parts) | Formula::AtLeast(_, parts) => {
                parts.iter().for_each(|part| part.each_atom(show));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(second: u32) -> Formula {
        Formula::Is(Atom::Before(StepId(0), StepId(second)))
    }

    #[test]
    fn formulas_simplify() {
        let p = || order(1);
        assert_eq!(Formula::and([Formula::True, p()]), p());
        assert_eq!(Formula::and([Formula::False, p()]), Formula::False);
        assert_eq!(Formula::or([p(), Formula::True]), Formula::True);
        assert_eq!(Formula::or([]), Formula::False);
        assert_eq!(Formula::at_least(1, vec![Formula::True, p()]), Formula::True);
        assert_eq!(Formula::at_least(2, vec![Formula::True, p()]), p());
        assert_eq!(Formula::at_least(3, vec![Formula::True, p()]), Formula::False);
    }

    #[test]
    fn connectives_do_not_nest() {
        let [p, q, r] = [1, 2, 3].map(order);
        let any = Formula::or([Formula::or([p.clone(), q.clone()]), r.clone()]);
        assert_eq!(any, Formula::Any(vec![p.clone(), q.clone(), r.clone()]));
        let all = Formula::and([p.clone(), Formula::and([q.clone(), r.clone()])]);
        assert_eq!(all, Formula::All(vec![p.clone(), q.clone(), r.clone()]));
        let three = vec![p, Formula::False, q, r, Formula::True];
        assert_eq!(Formula::at_least(2, three.clone()), any);
        assert_eq!(Formula::at_least(4, three.clone()), all);
        assert!(
            matches!(Formula::at_least(3, three), Formula::AtLeast(2, parts) if parts.len() == 3)
        );
    }

    #[test]
    fn choices_are_negated() {
        let granted = Formula::Is(Atom::Granted(StepId(4)));
        assert_eq!(granted.clone().not().not(), granted);
        assert_eq!(granted.not(), Formula::Not(Atom::Granted(StepId(4))));
    }

    #[test]
    #[should_panic(expected = "orders occur only positively")]
    fn orders_are_not() {
        let _ = order(1).not();
    }
}
