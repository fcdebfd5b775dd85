//! Consequences: of clauses by watched literals, and of what the theory says.

use super::clauses::Watch;
use super::{Budget, Keep, Lit, Said, Sat, Theory};
use crate::budgets::LOOK_WHILE_TELLING;

impl Sat {
    /// Assigns what follows, until nothing does. A clause that is false, if there is one.
    ///
    /// With tens of thousands of assumptions one propagation may take seconds: it ends early at a bound, which whoever
    /// called looks at next.
    pub(super) fn propagate<T: Theory>(
        &mut self,
        theory: &mut T,
        budget: &Budget<'_>,
    ) -> Option<Vec<Lit>> {
        let mut told = 0;
        loop {
            if let Some(conflict) = self.propagate_clauses() {
                return Some(conflict);
            }
            if self.variables.told == self.variables.trail.len() {
                return None;
            }
            let literal = self.variables.trail[self.variables.told];
            self.variables.told += 1;
            told += 1;
            if told % LOOK_WHILE_TELLING == 0 && budget.reached(self).is_some() {
                return None;
            }
            if !self.variables.of_theory[literal.variable()] {
                continue;
            }
            let mut said = Said {
                variables: &mut self.variables,
                clauses: &mut self.pending,
                proof: &mut self.proof,
                wants: false,
            };
            theory.assigned(literal, &mut said);
            if let Some(conflict) = self.integrate() {
                return Some(conflict);
            }
            if !self.overruled.is_empty() {
                return None;
            }
        }
    }

    fn propagate_clauses(&mut self) -> Option<Vec<Lit>> {
        while self.variables.propagated < self.variables.trail.len() {
            let literal = !self.variables.trail[self.variables.propagated];
            self.variables.propagated += 1;
            if literal.index() >= self.clauses.watches.len() {
                continue;
            }
            let mut watches = std::mem::take(&mut self.clauses.watches[literal.index()]);
            let mut kept = 0;
            let mut conflict = None;
            let mut index = 0;
            while index < watches.len() {
                let watch = watches[index];
                index += 1;
                if self.variables.is_true(watch.other) {
                    watches[kept] = watch;
                    kept += 1;
                    continue;
                }
                let clause = self.clauses.get_mut(watch.clause);
                if clause.literals[0] == literal {
                    clause.literals.swap(0, 1);
                }
                let first = clause.literals[0];
                let variables = &self.variables;
                if first != watch.other && variables.is_true(first) {
                    watches[kept] = Watch { clause: watch.clause, other: first };
                    kept += 1;
                    continue;
                }
                let next = clause.literals[2..].iter().position(|l| !variables.is_false(*l));
                if let Some(next) = next {
                    clause.literals.swap(1, next + 2);
                    let watched = clause.literals[1];
                    let moved = Watch { clause: watch.clause, other: first };
                    self.clauses.watches[watched.index()].push(moved);
                    continue;
                }
                watches[kept] = watch;
                kept += 1;
                if variables.is_false(first) {
                    clause.used = true;
                    conflict = Some(clause.literals.clone());
                    break;
                }
                self.variables.assign(first, Some(watch.clause));
            }
            // What was not looked at, because of a conflict, stays.
            watches.copy_within(index.., kept);
            let left = watches.len() - index;
            watches.truncate(kept + left);
            self.clauses.watches[literal.index()] = watches;
            if conflict.is_some() {
                return conflict;
            }
        }
        None
    }

    /// Adds the clauses that the theory said. One that is false is a conflict: the one that goes back furthest, because
    /// the others would still be false after less, and nobody would look at them again.
    pub(super) fn integrate(&mut self) -> Option<Vec<Lit>> {
        self.clauses.grow(&self.variables);
        let mut conflict: Option<(usize, Vec<Lit>)> = None;
        for (mut literals, keep) in std::mem::take(&mut self.pending) {
            literals.sort_unstable();
            literals.dedup();
            let variables = &self.variables;
            // What is true or open first, then what was assigned last: these are watched.
            literals.sort_by_key(|literal| match variables.value(*literal) {
                Some(true) => (0, 0),
                None => (1, 0),
                Some(false) => (2, usize::MAX - variables.level_of(*literal)),
            });
            let first = literals.first().map(|literal| variables.value(*literal));
            let second = literals.get(1).map(|literal| variables.value(*literal));
            match (first, second) {
                (None, _) => self.contradiction = true,
                (Some(Some(false)), None) => {
                    self.certain.push(literals[0]);
                    self.overruled.push(literals[0]);
                }
                (Some(Some(false)), _) => {
                    if keep == Keep::Forever {
                        self.clauses.add(literals.clone(), None);
                    }
                    let level = self.variables.level_of(literals[0]);
                    if conflict.as_ref().is_none_or(|(lowest, _)| level < *lowest) {
                        conflict = Some((level, literals));
                    }
                }
                (Some(_), None) => {
                    self.certain.push(literals[0]);
                    self.variables.assign_for_certain(literals[0]);
                }
                (Some(value), Some(next)) => {
                    if value == Some(true) && keep == Keep::WhileUseful {
                        continue;
                    }
                    let first = literals[0];
                    let implies = value.is_none() && next == Some(false);
                    let levels =
                        (keep == Keep::WhileUseful).then(|| self.variables.levels_of(&literals));
                    let id = self.clauses.add(literals, levels);
                    if implies {
                        self.variables.assign(first, Some(id));
                    }
                }
            }
        }
        conflict.map(|(_, literals)| literals)
    }
}
