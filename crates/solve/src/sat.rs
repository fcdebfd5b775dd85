//! A SAT solver with a theory beside it: CDCL(T) with assumptions, cores and clauses that come while it searches.
//!
//! Two watched literals, first-UIP learning with minimised clauses, activities (VSIDS), saved phases, Luby restarts,
//! deletion of learnt clauses by the number of levels they join (LBD). Three things are made for schedules, and the
//! reason that this is not a library:
//! - *Assumptions are one level*, pushed at once and kept over restarts: a query is anchored by tens of thousands of
//!   them, and one level each would be that many to go through after every restart. What is learnt for certain is
//!   assigned where the search stands, without taking the assumptions back.
//! - A theory may say *any clause at any time*, with variables that it makes on the spot: a conflict, an implication,
//!   or a definition that is needed from now on. Reads and orders are given variables only where they are touched.
//! - The theory sees literals in the order of their assignment, only those it asked for.
//!
//! Deterministic: the same clauses and assumptions give the same answer, unless time or a flag ends it.

mod analyse;
mod clauses;
mod propagate;
mod reduce;
#[cfg(test)]
mod tests;
mod variables;

use crate::budgets::{LOOK, RESTART};
use std::time::Instant;

use clauses::Clauses;
pub(crate) use variables::{Lit, Variables};

use crate::Bounds;
use crate::proof::{Line, Meaning, Reason, literals};

/// Whether a clause that a theory says is needed again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keep {
    /// It defines something, or would not be said again.
    Forever,
    /// It explains what the theory would find again.
    WhileUseful,
}

/// What holds beside the clauses.
pub(crate) trait Theory {
    /// A literal became true whose variable was made for the theory.
    fn assigned(&mut self, literal: Lit, said: &mut Said<'_>);
    fn begin_level(&mut self);
    /// Takes back what was assigned in all but so many levels.
    fn back_to(&mut self, levels: usize);
    /// Every variable has a value, but for optional ones. If nothing is said or wanted, it is an answer.
    fn complete(&mut self, said: &mut Said<'_>);
}

/// What a theory says in return.
#[derive(Debug)]
pub(crate) struct Said<'s> {
    pub variables: &'s mut Variables,
    clauses: &'s mut Vec<(Vec<Lit>, Keep)>,
    proof: &'s mut Option<Vec<Line>>,
    wants: bool,
}

impl Said<'_> {
    /// A clause that holds always, for this reason.
    pub fn clause(&mut self, clause: Vec<Lit>, keep: Keep, reason: Reason) {
        if let Some(proof) = self.proof {
            proof.push(Line::Holds(reason, literals(&clause)));
        }
        self.clauses.push((clause, keep));
    }

    /// A clause that follows from what was said.
    pub fn follows(&mut self, clause: Vec<Lit>, keep: Keep) {
        if let Some(proof) = self.proof {
            proof.push(Line::Follows(literals(&clause)));
        }
        self.clauses.push((clause, keep));
    }

    /// A clause that is half of what [`Said::means`] says of a variable, before or after this.
    pub fn defining(&mut self, clause: Vec<Lit>) {
        self.clauses.push((clause, Keep::Forever));
    }

    /// Gives a variable its meaning, for the proof.
    pub fn means(&mut self, literal: Lit, meaning: impl FnOnce() -> Meaning) {
        if let Some(proof) = self.proof {
            proof.push(Line::Means(literal.variable() as u32 + 1, meaning()));
        }
    }

    /// One more line of the proof.
    pub fn note(&mut self, line: impl FnOnce() -> Line) {
        if let Some(proof) = self.proof {
            proof.push(line());
        }
    }

    /// An optional variable must be decided before this can be an answer. False if it is.
    pub fn want(&mut self, literal: Lit) -> bool {
        let open = self.variables.want(literal);
        self.wants |= open;
        open
    }

    pub fn is_silent(&self) -> bool {
        self.clauses.is_empty() && !self.wants
    }
}

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    Yes,
    /// [`Sat::core`] says which assumptions are to blame.
    No,
    Stopped(Stop),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    Conflicts,
    Time,
    Interrupt,
}

/// The bounds of several searches that answer one question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget<'b> {
    bounds: Bounds<'b>,
    deadline: Option<Instant>,
    /// [`Sat::conflicts`] must stay below it.
    last_conflict: Option<u64>,
}

impl<'b> Budget<'b> {
    pub fn new(bounds: Bounds<'b>, sat: &Sat) -> Budget<'b> {
        let deadline = bounds.time.and_then(|time| Instant::now().checked_add(time));
        let last_conflict = bounds.conflicts.map(|limit| sat.conflicts.saturating_add(limit));
        Budget { bounds, deadline, last_conflict }
    }

    /// Stops sooner than the bounds say, after so many more conflicts.
    pub fn at_most(self, conflicts: u64, sat: &Sat) -> Budget<'b> {
        let limit = sat.conflicts.saturating_add(conflicts);
        let last_conflict = Some(self.last_conflict.map_or(limit, |last| last.min(limit)));
        Budget { last_conflict, ..self }
    }

    pub fn reached(&self, sat: &Sat) -> Option<Stop> {
        if self.last_conflict.is_some_and(|last| sat.conflicts >= last) {
            return Some(Stop::Conflicts);
        }
        let interrupt = self.bounds.interrupt;
        if interrupt.is_some_and(|flag| flag.load(std::sync::atomic::Ordering::Relaxed)) {
            return Some(Stop::Interrupt);
        }
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        late.then_some(Stop::Time)
    }
}

/// The solver.
#[derive(Debug, Default)]
pub(crate) struct Sat {
    pub variables: Variables,
    clauses: Clauses,
    /// What holds in every search.
    certain: Vec<Lit>,
    /// Of these: what was assigned otherwise when it was learnt.
    overruled: Vec<Lit>,
    contradiction: bool,
    core: Vec<Lit>,
    pub conflicts: u64,
    seen: Vec<bool>,
    pending: Vec<(Vec<Lit>, Keep)>,
    reductions: u64,
    /// What was said and learnt since it was last taken, if anyone wants to know.
    pub proof: Option<Vec<Line>>,
}

impl Sat {
    /// Adds a clause between two searches.
    pub fn add(&mut self, mut literals: Vec<Lit>) {
        debug_assert_eq!(self.variables.level(), 0);
        literals.sort_unstable();
        literals.dedup();
        let is_true = |literal: &Lit| self.variables.is_true(*literal);
        if literals.windows(2).any(|pair| pair[0] == !pair[1]) || literals.iter().any(is_true) {
            return;
        }
        literals.retain(|literal| !self.variables.is_false(*literal));
        match literals.as_slice() {
            [] => self.contradiction = true,
            [one] => self.certain.push(*one),
            _ => drop(self.clauses.add(literals, None)),
        }
    }

    /// Adds what is said between two searches.
    pub fn tell<R>(&mut self, tell: impl FnOnce(&mut Said<'_>) -> R) -> R {
        let mut said = Said {
            variables: &mut self.variables,
            clauses: &mut self.pending,
            proof: &mut self.proof,
            wants: false,
        };
        let result = tell(&mut said);
        self.contradiction |= self.integrate().is_some() || !self.overruled.is_empty();
        result
    }

    /// Of the last search that ended with `No`: assumptions that cannot hold together.
    pub fn core(&self) -> &[Lit] {
        &self.core
    }

    /// Searches for an assignment that the theory accepts. Ends at level 0, the theory too.
    pub fn solve<T: Theory>(
        &mut self,
        theory: &mut T,
        assumptions: &[Lit],
        budget: &Budget<'_>,
    ) -> Ended {
        self.core.clear();
        let ended = self.search(theory, assumptions, budget);
        if ended == Ended::No
            && let Some(proof) = &mut self.proof
        {
            let refuted: Vec<Lit> = self.core.iter().map(|literal| !*literal).collect();
            proof.push(Line::Follows(literals(&refuted)));
        }
        // They are certain: the next search begins with them.
        self.overruled.clear();
        self.back_to(0, theory);
        ended
    }

    fn search<T: Theory>(
        &mut self,
        theory: &mut T,
        assumptions: &[Lit],
        budget: &Budget<'_>,
    ) -> Ended {
        let base = usize::from(!assumptions.is_empty());
        let (mut restarts, mut left) = (0, RESTART);
        let mut steps = 0u64;
        let mut conflict = self.begin(theory);
        loop {
            conflict = conflict.or_else(|| self.overrule(base, theory));
            conflict = conflict.or_else(|| self.propagate(theory, budget));
            if self.variables.told < self.variables.trail.len()
                && conflict.is_none()
                && let Some(stop) = budget.reached(self)
            {
                return Ended::Stopped(stop);
            }
            if self.contradiction {
                return Ended::No;
            }
            if let Some(clause) = conflict.take() {
                self.conflicts += 1;
                left = left.saturating_sub(1);
                let level = self.deepest(&clause);
                self.back_to(level, theory);
                if level <= base {
                    self.contradiction |= level == 0;
                    self.blame(&clause);
                    return Ended::No;
                }
                let (learnt, back) = self.analyse(&clause);
                self.back_to(back.max(base), theory);
                self.learn(learnt);
                if let Some(stop) = budget.reached(self) {
                    return Ended::Stopped(stop);
                }
                continue;
            }
            if !self.overruled.is_empty() {
                continue;
            }
            if self.variables.level() == 0 && base == 1 {
                if !self.assume(theory, assumptions) {
                    return Ended::No;
                }
                continue;
            }
            if left == 0 {
                restarts += 1;
                left = RESTART * luby(restarts);
                self.back_to(base, theory);
                self.reduce_if_due();
            }
            steps += 1;
            if steps.is_multiple_of(LOOK)
                && let Some(stop) = budget.reached(self)
            {
                return Ended::Stopped(stop);
            }
            let Some(decision) = self.variables.decide() else {
                let mut said = Said {
                    variables: &mut self.variables,
                    clauses: &mut self.pending,
                    proof: &mut self.proof,
                    wants: false,
                };
                theory.complete(&mut said);
                if said.is_silent() {
                    return Ended::Yes;
                }
                conflict = self.integrate();
                if let Some(stop) = budget.reached(self) {
                    return Ended::Stopped(stop);
                }
                continue;
            };
            self.new_level(theory);
            self.variables.assign(decision, None);
        }
    }

    /// What is certain is assigned at level 0.
    fn begin<T: Theory>(&mut self, theory: &mut T) -> Option<Vec<Lit>> {
        self.variables.begin();
        self.back_to(0, theory);
        self.clauses.grow(&self.variables);
        for index in 0..self.certain.len() {
            let literal = self.certain[index];
            match self.variables.value(literal) {
                Some(true) => {}
                Some(false) => return Some(vec![literal]),
                None => self.variables.assign(literal, None),
            }
        }
        None
    }

    /// Assigns what is certain and was assigned otherwise. If that is not possible, it is a conflict.
    fn overrule<T: Theory>(&mut self, base: usize, theory: &mut T) -> Option<Vec<Lit>> {
        if self.overruled.is_empty() {
            return None;
        }
        self.back_to(base, theory);
        for literal in std::mem::take(&mut self.overruled) {
            match self.variables.value(literal) {
                Some(true) => {}
                Some(false) => return Some(vec![literal]),
                None => self.variables.assign_for_certain(literal),
            }
        }
        None
    }

    /// Pushes all assumptions at once. False if one of them is false already.
    fn assume<T: Theory>(&mut self, theory: &mut T, assumptions: &[Lit]) -> bool {
        self.new_level(theory);
        for &literal in assumptions {
            match self.variables.value(literal) {
                Some(true) => {}
                None => self.variables.assign(literal, None),
                Some(false) => {
                    // The opposite is certain, or an assumption too.
                    self.core = vec![literal];
                    if self.variables.level_of(literal) > 0 {
                        self.core.push(!literal);
                    }
                    return false;
                }
            }
        }
        true
    }

    fn new_level<T: Theory>(&mut self, theory: &mut T) {
        self.variables.new_level();
        theory.begin_level();
    }

    fn back_to<T: Theory>(&mut self, level: usize, theory: &mut T) {
        if self.variables.level() > level {
            theory.back_to(level);
            self.variables.back_to(level);
        }
    }

    /// The highest level of a clause all of whose literals are false.
    fn deepest(&self, clause: &[Lit]) -> usize {
        clause.iter().map(|literal| self.variables.level_of(*literal)).max().unwrap_or(0)
    }

    /// Adds what was learnt and assigns its first literal.
    fn learn(&mut self, learnt: Vec<Lit>) {
        let first = learnt[0];
        if let Some(proof) = &mut self.proof {
            proof.push(Line::Follows(literals(&learnt)));
        }
        if learnt.len() == 1 {
            self.certain.push(first);
            self.variables.assign_for_certain(first);
            return;
        }
        let levels = self.variables.levels_of(&learnt);
        let id = self.clauses.add(learnt, Some(levels));
        self.variables.assign(first, Some(id));
    }
}

/// 1 1 2 1 1 2 4 1 1 2 …: after so many restarts, counted from 1.
fn luby(mut index: u64) -> u64 {
    loop {
        let bits = u64::BITS - index.leading_zeros();
        if index == (1 << bits) - 1 {
            return 1 << (bits - 1);
        }
        index -= (1 << (bits - 1)) - 1;
    }
}
