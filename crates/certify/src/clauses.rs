//! Unit propagation, and nothing else: whether a clause follows from those that are there (RUP: reverse unit
//! propagation, after Goldberg and Novikov). If all its literals were false, some clause would be false too.

use rustc_hash::FxHashMap;
use unravel_solve::proof::Literal;

#[derive(Debug, Default)]
pub(crate) struct Clauses {
    /// The first two literals of each are watched.
    all: Vec<Vec<Literal>>,
    watches: FxHashMap<Literal, Vec<u32>>,
    /// What is true; for certain, but for what is assumed while a clause is looked at.
    is_true: FxHashMap<u32, bool>,
    trail: Vec<Literal>,
    propagated: usize,
    /// No order is left.
    pub contradiction: bool,
}

impl Clauses {
    pub fn value(&self, literal: Literal) -> Option<bool> {
        self.is_true.get(&literal.variable()).map(|value| *value != literal.is_negated())
    }

    /// Adds a clause that is known to hold.
    pub fn add(&mut self, clause: &[Literal]) {
        let mut literals = clause.to_vec();
        literals.sort_unstable();
        literals.dedup();
        let opposite = |literal: &Literal| literals.binary_search(&!*literal).is_ok();
        let certain = |literal: &Literal| self.value(*literal) == Some(true);
        if literals.iter().any(opposite) || literals.iter().any(certain) {
            return;
        }
        literals.retain(|literal| self.value(*literal).is_none());
        match literals[..] {
            [] => self.contradiction = true,
            [one] => {
                self.assign(one);
                self.contradiction |= !self.propagate();
            }
            [first, second, ..] => {
                let index = self.all.len() as u32;
                self.watches.entry(first).or_default().push(index);
                self.watches.entry(second).or_default().push(index);
                self.all.push(literals);
            }
        }
    }

    /// Whether a clause follows.
    pub fn follows(&mut self, clause: &[Literal]) -> bool {
        if self.contradiction {
            return true;
        }
        let certain = self.trail.len();
        let mut refuted = false;
        for literal in clause {
            match self.value(*literal) {
                Some(true) => refuted = true,
                Some(false) => {}
                None => self.assign(!*literal),
            }
        }
        refuted = refuted || !self.propagate();
        for literal in self.trail.drain(certain..) {
            self.is_true.remove(&literal.variable());
        }
        self.propagated = certain;
        refuted
    }

    fn assign(&mut self, literal: Literal) {
        self.is_true.insert(literal.variable(), !literal.is_negated());
        self.trail.push(literal);
    }

    /// Assigns what follows; false if a clause is false.
    fn propagate(&mut self) -> bool {
        while let Some(&literal) = self.trail.get(self.propagated) {
            self.propagated += 1;
            let gone = !literal;
            let Some(watching) = self.watches.remove(&gone) else { continue };
            let mut kept = Vec::with_capacity(watching.len());
            let mut holds = true;
            for (place, &index) in watching.iter().enumerate() {
                let mut clause = std::mem::take(&mut self.all[index as usize]);
                if clause[0] == gone {
                    clause.swap(0, 1);
                }
                let other = clause[2..].iter().position(|l| self.value(*l) != Some(false));
                match (self.value(clause[0]), other) {
                    (Some(true), _) => kept.push(index),
                    (_, Some(other)) => {
                        clause.swap(1, other + 2);
                        self.watches.entry(clause[1]).or_default().push(index);
                    }
                    (None, None) => {
                        kept.push(index);
                        self.assign(clause[0]);
                    }
                    (Some(false), None) => {
                        kept.extend_from_slice(&watching[place..]);
                        holds = false;
                    }
                }
                self.all[index as usize] = clause;
                if !holds {
                    break;
                }
            }
            self.watches.entry(gone).or_default().extend(kept);
            if !holds {
                return false;
            }
        }
        true
    }
}
