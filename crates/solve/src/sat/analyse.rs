//! Learning from conflicts, and blaming assumptions.

use super::{Lit, Sat};

impl Sat {
    /// From a clause that is false at the current level: the clause that is learnt, what it implies first, and the
    /// level where it does.
    pub(super) fn analyse(&mut self, conflict: &[Lit]) -> (Vec<Lit>, usize) {
        self.seen.resize(self.variables.len(), false);
        let level = self.variables.level();
        let mut learnt: Vec<Lit> = Vec::new();
        let mut marked: Vec<Lit> = Vec::new();
        let mut open = 0;
        let mut place = self.variables.trail.len();
        let mut clause = conflict.to_vec();
        let implied = loop {
            for &literal in &clause {
                let variable = literal.variable();
                if self.seen[variable] || self.variables.level_of(literal) == 0 {
                    continue;
                }
                self.seen[variable] = true;
                marked.push(literal);
                self.variables.bump(variable);
                if self.variables.level_of(literal) == level {
                    open += 1;
                } else {
                    learnt.push(literal);
                }
            }
            // The last of those still open.
            let literal = loop {
                place -= 1;
                let literal = self.variables.trail[place];
                if self.seen[literal.variable()] && self.variables.level_of(literal) == level {
                    break literal;
                }
            };
            open -= 1;
            if open == 0 {
                break !literal;
            }
            clause = self.reason_without(literal);
        };
        learnt.retain(|literal| !self.is_implied(*literal));
        marked.iter().for_each(|literal| self.seen[literal.variable()] = false);
        self.variables.fade();
        // The second watched literal is the one that is taken back last.
        learnt.sort_by_key(|literal| std::cmp::Reverse(self.variables.level_of(*literal)));
        let back = learnt.first().map_or(0, |literal| self.variables.level_of(*literal));
        learnt.insert(0, implied);
        (learnt, back)
    }

    /// The other literals of the clause that implied this one.
    fn reason_without(&mut self, literal: Lit) -> Vec<Lit> {
        let Some(id) = self.variables.reason_of(literal) else { return Vec::new() };
        let clause = self.clauses.get_mut(id);
        clause.used = true;
        clause.literals.iter().copied().filter(|other| *other != literal).collect()
    }

    /// Whether a literal of a learnt clause follows from the others: its reason has none but those.
    fn is_implied(&self, literal: Lit) -> bool {
        let Some(id) = self.variables.reason_of(literal) else { return false };
        let others =
            self.clauses.get(id).literals.iter().filter(|l| l.variable() != literal.variable());
        others.copied().all(|l| self.seen[l.variable()] || self.variables.level_of(l) == 0)
    }

    /// The assumptions from which a false clause follows.
    pub(super) fn blame(&mut self, conflict: &[Lit]) {
        self.core.clear();
        self.seen.resize(self.variables.len(), false);
        let mut clause = conflict.to_vec();
        let start = self.variables.start_of(1);
        let mut marked: Vec<Lit> = Vec::new();
        let mut place = self.variables.trail.len();
        loop {
            for &literal in &clause {
                let variable = literal.variable();
                if !self.seen[variable] && self.variables.level_of(literal) > 0 {
                    self.seen[variable] = true;
                    marked.push(literal);
                }
            }
            clause.clear();
            while place > start && clause.is_empty() {
                place -= 1;
                let literal = self.variables.trail[place];
                if !self.seen[literal.variable()] {
                    continue;
                }
                if self.variables.reason_of(literal).is_some() {
                    clause = self.reason_without(literal);
                } else {
                    self.core.push(literal);
                }
            }
            if place <= start && clause.is_empty() {
                break;
            }
        }
        marked.iter().for_each(|literal| self.seen[literal.variable()] = false);
        self.core.reverse();
    }
}
