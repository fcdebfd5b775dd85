//! What the search is told and what it is told back: orders, reads-from, values, locks.
//!
//! An order or a reads-from choice becomes edges of the [`Graph`]; an edge between two sections of a lock, or into a
//! segment that stays whole, becomes more edges; a cycle is a conflict of the literals on it, and an order that would
//! close one is told to be false. A choice also gives a value to its read ([`Values`]): a condition that comes out
//! wrong is a conflict of the choices in its slice.
//!
//! A read begins with one literal: that it reads from what it read in the anchor. Only when that is false do its other
//! candidates become literals ([`super::candidates`]). When all is decided, the edges are made into an order ([`super::linearise`]), and the
//! order is evaluated: sync objects that turn out to matter get their formulas then.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_trace::ExprId;

use super::atoms::{Atoms, Meaning, Resolve, Term};
use super::candidates::Candidates;
use super::chains::Chains;
use super::graph::{Cycle, Graph};
use super::near::Shape;
use super::sections::{Sections, formula_objects, is_regular_lock};
use super::values::Values;
use super::writers::Writers;
use crate::budgets::LOOKS;
use crate::constraints::{Atom, Constraints, End, Formula, Point};
use crate::measure::{is_as_wished, with_initial};
use crate::proof::Reason;
use crate::sat::{Keep, Lit, Said, Theory};
use crate::{Cell, CheckId, Evaluator, Model, SlotId, Source, StepId, SyncId, Verdict, Wish};

/// A condition that must have this value, where it is executed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    pub id: ExprId,
    pub value: bool,
    /// `None`: the bug.
    pub check: Option<(CheckId, Point)>,
}

/// What lasts from query to query.
#[derive(Debug)]
pub(super) struct State {
    pub atoms: Atoms,
    pub graph: Graph,
    pub values: Values,
    pub chains: Chains,
    pub sections: Sections,
    pub writers: Writers,
    pub shape: Shape,
    pub conditions: Vec<Watched>,
    /// By slot: its value matters.
    pub relevant: Vec<bool>,
    /// By slot: what it reads in the anchor, if that gets so far.
    pub anchored: Vec<Option<Source>>,
    /// By slot: its candidates, once it was asked for others than that of the anchor.
    pub candidates: FxHashMap<SlotId, Candidates>,
    /// By sync object: its formulas are asserted.
    pub asserted: Vec<bool>,
    /// By step and op: that it is not executed.
    pub guards: FxHashMap<(StepId, u32), Term>,
    /// Clauses about obstacles that were said.
    pub said: FxHashSet<Vec<Lit>>,
    /// Requests that may be granted, of a deadlock that is to be avoided.
    pub grantable: Vec<StepId>,
    /// Some cell that matters has an initial value that nobody knows.
    pub unknown_memory: bool,
    /// By level: how many edges and updates came before it.
    pub levels: Vec<(usize, usize)>,
    /// By cell and source: the step that reads it and writes the cell too, of which there is one at most.
    pub updaters: FxHashMap<(Cell, Source), (StepId, Lit)>,
    pub updates: Vec<(Cell, Source)>,
    /// The answer, or why there will be none.
    pub order: Vec<StepId>,
    pub initial: Vec<(Cell, u128)>,
    pub trouble: Option<String>,
}

/// The theory of one query.
pub(super) struct Search<'s, 'm> {
    pub state: &'s mut State,
    pub model: &'m Model,
    pub constraints: &'s Constraints<'m>,
    pub evaluator: &'s mut Evaluator<'m>,
    pub wish: Wish,
}

/// The clause that says so has been said.
pub(super) struct Conflict;

impl Theory for Search<'_, '_> {
    fn assigned(&mut self, literal: Lit, said: &mut Said<'_>) {
        let meaning = self.state.atoms.meaning(literal);
        let _ = match (meaning, literal.is_negated()) {
            (Meaning::Order(a, b), false) => self.order(a, b, &[literal], said),
            (Meaning::Order(a, b), true) => self.order(b, a, &[literal], said),
            (Meaning::ReadsFrom(slot, source), false) => self.read(slot, source, literal, said),
            (Meaning::ReadsFrom(slot, source), true) => {
                if self.state.relevant[slot.index()]
                    && self.state.anchored[slot.index()] == Some(source)
                {
                    self.want_other(slot, literal, said);
                }
                Ok(())
            }
            (Meaning::Further(slot), false) => {
                self.want_other(slot, literal, said);
                Ok(())
            }
            (Meaning::Whole(segment), false) => self.keep_whole(segment, literal, said),
            (Meaning::Joined(a, b), false) => self.join(a, b, literal, said),
            _ => Ok(()),
        };
    }

    fn begin_level(&mut self) {
        self.state.levels.push((self.state.graph.len(), self.state.updates.len()));
        self.state.values.begin_level();
        self.state.chains.begin_level();
    }

    fn back_to(&mut self, levels: usize) {
        let state = &mut *self.state;
        let (edges, updates) = state.levels[levels];
        state.levels.truncate(levels);
        state.graph.truncate(edges);
        for update in state.updates.drain(updates..) {
            state.updaters.remove(&update);
        }
        state.values.back_to(self.model, levels);
        state.chains.back_to(levels);
    }

    fn complete(&mut self, said: &mut Said<'_>) {
        if let Err(why) = self.finish(said) {
            self.state.trouble = Some(why);
        }
    }
}

impl Search<'_, '_> {
    /// These literals cannot hold together.
    pub fn refute(
        &mut self,
        literals: impl IntoIterator<Item = Lit>,
        said: &mut Said<'_>,
    ) -> Conflict {
        let clause = literals.into_iter().map(|l| !l).collect();
        said.clause(clause, Keep::WhileUseful, Reason::Order);
        Conflict
    }

    /// `a` comes before `b`, and all that follows for sections and segments.
    pub fn order(
        &mut self,
        a: StepId,
        b: StepId,
        reason: &[Lit],
        said: &mut Said<'_>,
    ) -> Result<(), Conflict> {
        if a != b && self.model.must_precede(a, b) {
            return Ok(());
        }
        let mut follow = Vec::new();
        self.state.shape.lift(a, b, reason, said, &mut follow);
        self.order_only(a, b, reason, said)?;
        // Once: through whole segments that are tied together it would go on to both ends of the schedule.
        for (a, b, reason) in follow {
            self.order_only(a, b, &reason, said)?;
        }
        Ok(())
    }

    /// The same without segments.
    pub fn order_only(
        &mut self,
        a: StepId,
        b: StepId,
        reason: &[Lit],
        said: &mut Said<'_>,
    ) -> Result<(), Conflict> {
        let mut todo: Vec<(StepId, StepId, Vec<Lit>)> = vec![(a, b, reason.to_vec())];
        while let Some((a, b, reason)) = todo.pop() {
            if a != b && self.model.must_precede(a, b) {
                continue;
            }
            if a == b || self.model.must_precede(b, a) {
                return Err(self.refute(reason, said));
            }
            if self.state.graph.out_of(a).iter().rev().take(4).any(|edge| edge.to == b) {
                continue;
            }
            if let Err(Cycle(literals)) = self.state.graph.add(a, b, &reason) {
                return Err(self.refute(literals, said));
            }
            self.imply(&reason, said);
            self.lift(a, b, &reason, &mut todo, said)?;
        }
        Ok(())
    }

    /// Orders and sources that the last edge rules out.
    fn imply(&mut self, reason: &[Lit], said: &mut Said<'_>) {
        let state = &*self.state;
        let Some((ahead, is_behind)) = state.graph.neighbourhood() else { return };
        let mut looks = 0;
        for &x in ahead {
            for &(y, literal) in &state.atoms.requires[x.index()] {
                looks += 1;
                if is_behind(y) && said.variables.value(literal).is_none() {
                    let mut clause = vec![!literal];
                    clause.extend(reason.iter().map(|l| !*l));
                    clause.extend(state.graph.why(y, x).into_iter().map(|l| !l));
                    said.clause(clause, Keep::WhileUseful, Reason::Order);
                }
            }
            if looks > LOOKS {
                return;
            }
        }
    }

    /// The sections that two ordered steps touch are ordered alike.
    fn lift(
        &mut self,
        a: StepId,
        b: StepId,
        reason: &[Lit],
        todo: &mut Vec<(StepId, StepId, Vec<Lit>)>,
        said: &mut Said<'_>,
    ) -> Result<(), Conflict> {
        let state = &*self.state;
        let mut impossible = None;
        for (first, second) in state.sections.exclusive(a, b) {
            if (first.release, second.acquire) == (Some(a), Some(b)) {
                continue;
            }
            let mut reason = reason.to_vec();
            let begun = [first.acquire, second.acquire].into_iter().flatten();
            let executed: Option<Vec<Option<Lit>>> =
                begun.map(|step| self.is_executed(step, said)).collect();
            let Some(executed) = executed else { continue };
            reason.extend(executed.into_iter().flatten());
            match (first.release, second.acquire) {
                (Some(release), Some(acquire)) => todo.push((release, acquire, reason)),
                _ => impossible = Some(reason),
            }
        }
        match impossible {
            Some(reason) => Err(self.refute(reason, said)),
            None => Ok(()),
        }
    }

    /// Whether a step is known to be executed, and from which literal.
    fn is_executed(&self, step: StepId, said: &Said<'_>) -> Option<Option<Lit>> {
        match &self.constraints.end {
            End::Never => Some(None),
            End::After { steps, .. } => {
                let is_before =
                    |last: &StepId| step == *last || self.model.must_precede(step, *last);
                if steps.iter().any(is_before) {
                    return Some(None);
                }
                let orders = steps.iter().filter_map(|s| self.state.atoms.known_order(step, *s));
                orders.into_iter().find(|order| said.variables.is_true(*order)).map(Some)
            }
            End::Grant => {
                let after = self.state.atoms.known_choice(Atom::AfterGrant(step))?;
                said.variables.is_false(after).then_some(Some(!after))
            }
        }
    }

    /// The op is not executed.
    pub fn unexecuted(&mut self, at: Point, said: &mut Said<'_>) -> Term {
        if self.constraints.end == End::Never {
            return Term::Known(false);
        }
        if let Some(term) = self.state.guards.get(&(at.step, at.position)) {
            return *term;
        }
        let formula = self.constraints.after_end(at);
        let term = self.term(&formula, said);
        self.state.guards.insert((at.step, at.position), term);
        term
    }

    /// A slot reads from here: the orders that takes, and the value it gives.
    fn read(
        &mut self,
        slot: SlotId,
        source: Source,
        why: Lit,
        said: &mut Said<'_>,
    ) -> Result<(), Conflict> {
        if let Some((_, other)) = self.state.values.chosen[slot.index()] {
            return Err(self.refute([why, other], said));
        }
        let read = *self.model.read(slot);
        let own = matches!(source, Source::Write(w) if self.model.write(w).step == read.step);
        if self.state.writers.is_update(slot) && !own {
            let key = (read.cell, source);
            match self.state.updaters.get(&key) {
                Some((step, _)) if *step == read.step => {}
                Some((_, other)) => {
                    let other = *other;
                    return Err(self.refute([why, other], said));
                }
                None => {
                    self.state.updaters.insert(key, (read.step, why));
                    self.state.updates.push(key);
                }
            }
        }
        if let End::After { steps, .. } = &self.constraints.end
            && let [last] = steps[..]
            && last != read.step
        {
            self.order(read.step, last, &[why], said)?;
        }
        for (a, b) in self.state.writers.orders(self.model, slot, source) {
            self.order(a, b, &[why], said)?;
        }
        self.rule_out_others(slot, why, said);
        let broken = self.state.chains.choose(slot, source, why);
        let decided = self.state.values.choose(self.model, slot, source, why);
        self.decide(&decided, said)?;
        match broken {
            Some(broken) => {
                let by = |check| Reason::Chain { check };
                self.say_wrong(broken.condition, broken.why, by, said)
            }
            None => Ok(()),
        }
    }

    /// A condition does not hold because of these choices.
    fn say_wrong(
        &mut self,
        condition: u32,
        why: Vec<Lit>,
        reason: impl Fn(Option<u32>) -> Reason,
        said: &mut Said<'_>,
    ) -> Result<(), Conflict> {
        let mut clause = Vec::new();
        let watched = self.state.conditions[condition as usize];
        let check = watched.check.map(|(_, at)| at.position);
        if let Some((check, at)) = watched.check {
            let guard = self.constraints.check_guard(check, at);
            match self.term(&guard, said) {
                Term::Known(true) => return Ok(()),
                Term::Known(false) => {}
                Term::Is(literal) => clause.push(literal),
            }
        }
        clause.extend(why.into_iter().map(|literal| !literal));
        said.clause(clause, Keep::WhileUseful, reason(check));
        Err(Conflict)
    }

    /// Conditions that have a value now.
    pub fn decide(&mut self, decided: &[u32], said: &mut Said<'_>) -> Result<(), Conflict> {
        let mut result = Ok(());
        for &index in decided {
            let watched = self.state.conditions[index as usize];
            let Some(value) = self.state.values.get(watched.id) else { continue };
            if (value != 0) == watched.value {
                continue;
            }
            let mut slice = Vec::new();
            self.state.values.explain(self.model, watched.id, &mut slice, |_| {});
            let by = |check| Reason::Value { check };
            result = result.and(self.say_wrong(index, slice, by, said));
        }
        result
    }

    /// Everything is decided: is there an order, and does it end as wished?
    fn finish(&mut self, said: &mut Said<'_>) -> Result<(), String> {
        if self.state.trouble.is_some() {
            return Ok(());
        }
        let (order, obstacles) = self.linearise(said);
        if !obstacles.is_empty() {
            for obstacle in obstacles {
                self.say(obstacle, said);
            }
            return match said.is_silent() {
                true => Err("an obstacle that nothing removes".to_owned()),
                false => Ok(()),
            };
        }
        self.say_broken(&order, said);
        if !said.is_silent() {
            return Ok(());
        }
        if !self.decide_symbols(said)? {
            return Ok(());
        }
        self.check(order, said)
    }

    /// Evaluates the order; where that stops it, the sync objects that did get their formulas.
    fn check(&mut self, order: Vec<StepId>, said: &mut Said<'_>) -> Result<(), String> {
        let (verdict, stopped) = match with_initial(self.model, &self.state.initial) {
            Some(changed) => ending(&changed, &mut Evaluator::new(&changed), &order),
            None => ending(self.model, self.evaluator, &order),
        };
        // First those that stopped it.
        for sync in stopped.map(|at| self.unasserted(at)).unwrap_or_default() {
            self.assert_object(sync, said)?;
        }
        if !said.is_silent() {
            return Ok(());
        }
        if is_as_wished(verdict, self.wish) {
            self.state.order = order;
            return Ok(());
        }
        for sync in self.all_unasserted() {
            self.assert_object(sync, said)?;
        }
        match said.is_silent() {
            true => Err(format!("an order that obeys all constraints ends otherwise: {verdict}")),
            false => Ok(()),
        }
    }

    fn unasserted(&self, at: StepId) -> Vec<SyncId> {
        let mut objects = formula_objects(self.model, at);
        objects.retain(|sync| !self.state.asserted[sync.index()]);
        objects
    }

    fn all_unasserted(&self) -> Vec<SyncId> {
        let all = (0..self.model.syncs().len() as u32).map(SyncId);
        all.filter(|sync| !self.state.asserted[sync.index()]).collect()
    }

    /// All that has to hold for a sync object, from now on.
    pub fn assert_object(&mut self, sync: SyncId, said: &mut Said<'_>) -> Result<(), String> {
        if std::mem::replace(&mut self.state.asserted[sync.index()], true) {
            return Ok(());
        }
        let formulas = if is_regular_lock(self.model, sync) {
            self.constraints.failed_trylocks(sync)
        } else {
            self.constraints.of(sync).map_err(|what| format!("no encoding for {what}"))?
        };
        self.assert_all(&formulas, Reason::Sync(sync), said);
        Ok(())
    }

    pub fn assert_all(&mut self, formulas: &[Formula], reason: Reason, said: &mut Said<'_>) {
        formulas.iter().for_each(|formula| self.assert(formula, reason, said));
    }
}

/// How an order ends, and the first step that could not be executed where it stands.
fn ending(
    model: &Model,
    evaluator: &mut Evaluator<'_>,
    order: &[StepId],
) -> (Verdict, Option<StepId>) {
    let verdict = evaluator.evaluate(order);
    // A deadlock is evaluated tolerantly: what had to wait went on later.
    let planned = order.iter().filter(|step| !model.is_request(**step));
    let mut both = planned.zip(evaluator.performed());
    let moved = both.find(|(planned, performed)| planned != performed);
    let stopped = match (verdict, moved) {
        (_, Some((planned, _))) => Some(*planned),
        (Verdict::Blocked { at }, None) => Some(at),
        _ => None,
    };
    (verdict, stopped)
}

impl Resolve for Search<'_, '_> {
    fn atom(&mut self, atom: Atom, said: &mut Said<'_>) -> Lit {
        match atom {
            Atom::Before(..) | Atom::ReadsFrom(..) | Atom::Wakes { .. } | Atom::Granted(_) => {
                self.state.atoms.in_formula(self.model, said, atom)
            }
            Atom::AfterGrant(step) => {
                if let Some(known) = self.state.atoms.known_choice(atom) {
                    return known;
                }
                let after = self.state.atoms.choice(said, atom);
                for request in self.state.grantable.clone() {
                    let granted = self.state.atoms.choice(said, Atom::Granted(request));
                    let mut clause = vec![!granted, !after];
                    match self.state.atoms.before(self.model, said, request, step) {
                        Term::Known(true) => continue,
                        Term::Known(false) => {}
                        Term::Is(order) => clause.push(order),
                    }
                    said.clause(clause, Keep::Forever, Reason::Grant);
                }
                after
            }
        }
    }

    fn plain(&mut self, said: &mut Said<'_>) -> Lit {
        self.state.atoms.plain(said, true)
    }
}
