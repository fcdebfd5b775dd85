//! One model, one wish, one anchor: what is learnt in one query is known in the next.
//!
//! Kept orders, assumed ones and what a goal wants are assumptions of a query; sets that are blocked are clauses that
//! hold as long as a literal of the query is assumed. So nothing that is learnt depends on them.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_trace::Bug;

use super::atoms::{Atoms, Resolve, Term, any_of};
use super::chains::Chains;
use super::graph::Graph;
use super::near::Shape;
use super::sections::Sections;
use super::theory::{Search, State, Watched};
use super::values::Values;
use super::writers::Writers;
use crate::constraints::{Atom, Constraints, Formula, Point};
use crate::proof::Reason;
use crate::sat::{Budget, Ended, Keep, Lit, Said, Sat};
use crate::{Before, Evaluator, Model, Op, Query, SlotId, StepId, Wish};

/// What a session is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Subject {
    model: u64,
    wish: Wish,
    anchor: Vec<StepId>,
}

impl Subject {
    pub fn of(query: &Query<'_>, anchor: Vec<StepId>) -> Subject {
        Subject { model: query.model.id, wish: query.wish, anchor }
    }
}

#[derive(Debug)]
pub(super) struct Session {
    pub subject: Subject,
    /// Another for every session of a solver.
    pub number: u64,
    pub sat: Sat,
    pub state: State,
}

/// A session with the model that it is about.
pub(super) struct Open<'s, 'm> {
    pub sat: &'s mut Sat,
    pub search: Search<'s, 'm>,
}

impl Session {
    /// The theory of a model. Why not, if something has no encoding.
    pub fn new<'m>(
        query: &Query<'m>,
        (subject, number, logs): (Subject, u64, bool),
        constraints: &Constraints<'m>,
        evaluator: &mut Evaluator<'m>,
    ) -> Result<Session, String> {
        let model = query.model;
        let conditions = conditions(model, query.wish, constraints);
        let watched: Vec<_> = conditions.iter().map(|of| (of.id, of.value)).collect();
        let ids: Vec<_> = conditions.iter().map(|condition| condition.id).collect();
        let (values, mut relevant) = Values::new(model, &ids);
        if *model.bug() == Bug::Opaque {
            relevant.fill(true);
        }
        let unknown = |(slot, matters): (usize, &bool)| {
            *matters && model.initial(model.reads()[slot].cell).is_none()
        };
        let mut places = vec![0; model.len()];
        let anchor = &subject.anchor;
        anchor.iter().enumerate().for_each(|(place, step)| places[step.index()] = place as u32);
        let mut state = State {
            atoms: Atoms::new(places),
            graph: Graph::new(model, anchor),
            values,
            chains: Chains::new(model, &watched),
            sections: Sections::new(model),
            writers: Writers::new(model),
            shape: Shape::new(model, anchor),
            conditions,
            unknown_memory: relevant.iter().enumerate().any(unknown),
            relevant,
            anchored: anchored(model, evaluator, anchor),
            candidates: FxHashMap::default(),
            asserted: vec![false; model.syncs().len()],
            guards: FxHashMap::default(),
            said: FxHashSet::default(),
            grantable: Vec::new(),
            levels: Vec::new(),
            updaters: FxHashMap::default(),
            updates: Vec::new(),
            order: Vec::new(),
            initial: Vec::new(),
            trouble: None,
        };
        let mut sat = Sat::default();
        sat.proof = logs.then(Vec::new);
        let mut search =
            Search { state: &mut state, model, constraints, evaluator, wish: query.wish };
        sat.tell(|said| search.begin(said))?;
        Ok(Session { subject, number, sat, state })
    }
}

/// The conditions of the path that any order needs, and the bug.
fn conditions(model: &Model, wish: Wish, constraints: &Constraints<'_>) -> Vec<Watched> {
    let mut found = Vec::new();
    for step in model.steps() {
        for position in model.op_range(step) {
            if let Op::Check(check) = model.ops[position] {
                let at = Point { step, position: position as u32 };
                if constraints.check_guard(check, at) != Formula::True {
                    let id = model.check(check).holds;
                    found.push(Watched { id, value: true, check: Some((check, at)) });
                }
            }
        }
    }
    if let Some(id) = model.bug_condition() {
        found.push(Watched { id, value: wish == Wish::Fails, check: None });
    }
    found
}

/// By slot: where it reads from in the anchor, as far as that is executed.
fn anchored(
    model: &Model,
    evaluator: &mut Evaluator<'_>,
    anchor: &[StepId],
) -> Vec<Option<crate::Source>> {
    evaluator.evaluate(anchor);
    let mut found = vec![None; model.reads().len()];
    for step in evaluator.performed() {
        for op in evaluator.performed_ops(*step) {
            if let Op::Read(slot) = op {
                found[slot.index()] = Some(evaluator.sources()[slot.index()]);
            }
        }
    }
    found
}

impl Search<'_, '_> {
    /// What holds in every query.
    fn begin(&mut self, said: &mut Said<'_>) -> Result<(), String> {
        match (self.model.bug().clone(), self.wish) {
            (Bug::Condition { .. }, _) | (Bug::Reached { .. }, Wish::Fails) => {}
            (Bug::Reached { .. }, Wish::Passes) => {
                said.clause(Vec::new(), Keep::Forever, Reason::Reached);
            }
            (Bug::Deadlock { .. }, wish) => self.begin_deadlock(wish, said)?,
            (Bug::Opaque, wish) => self.begin_opaque(wish, said),
            (Bug::None, _) => return Err("the run did not fail".to_owned()),
        }
        for slot in (0..self.model.reads().len() as u32).map(SlotId) {
            if self.state.relevant[slot.index()] {
                match self.state.anchored[slot.index()] {
                    Some(_) => {
                        if let Some(same) = self.same(slot, said) {
                            said.variables.need(same);
                        }
                    }
                    None => self.expand_all(slot, said),
                }
            }
        }
        let decided = self.state.values.begin(self.model);
        // What constants decide wrongly has been said.
        let _ = self.decide(&decided, said);
        Ok(())
    }

    /// The literal that says a slot reads as in the anchor, if the anchor gets there.
    pub fn same(&mut self, slot: SlotId, said: &mut Said<'_>) -> Option<Lit> {
        let source = self.state.anchored[slot.index()]?;
        Some(self.state.atoms.reads_from(self.model, said, slot, source, true))
    }

    fn begin_deadlock(&mut self, wish: Wish, said: &mut Said<'_>) -> Result<(), String> {
        let no_encoding = |what| format!("no encoding for {what}");
        let formulas = match wish {
            Wish::Fails => self.constraints.refused(),
            Wish::Passes => self.constraints.granted(),
        };
        let formulas = formulas.map_err(no_encoding)?;
        for formula in &formulas {
            formula.each_atom(&mut |atom| {
                if let Atom::Granted(step) = atom {
                    self.state.grantable.push(step);
                }
            });
        }
        self.state.grantable.sort();
        self.state.grantable.dedup();
        self.assert_all(&formulas, Reason::Deadlock, said);
        // Whether a request is granted depends on what else is done with its object.
        for (_, op) in &self.constraints.requests {
            if let Some(sync) = op.sync() {
                self.assert_object(sync, said)?;
            }
        }
        Ok(())
    }

    /// The recorded order fails and every other passes.
    fn begin_opaque(&mut self, wish: Wish, said: &mut Said<'_>) {
        let Some(observed) = self.model.observed() else {
            if wish == Wish::Fails {
                said.clause(Vec::new(), Keep::Forever, Reason::Recorded);
            }
            return;
        };
        let recorded = anchored(self.model, self.evaluator, &observed);
        let mut same = Vec::new();
        for slot in (0..recorded.len() as u32).map(SlotId) {
            self.expand_all(slot, said);
            let Some(source) = recorded[slot.index()] else { continue };
            same.push(self.state.atoms.reads_from(self.model, said, slot, source, true));
        }
        match wish {
            Wish::Fails => {
                for literal in same {
                    said.clause(vec![literal], Keep::Forever, Reason::Recorded);
                }
                self.assert(&self.constraints.same(), Reason::Recorded, said);
            }
            Wish::Passes => {
                let mut other: Vec<Lit> = same.into_iter().map(|literal| !literal).collect();
                match self.term(&self.constraints.other(), said) {
                    Term::Known(true) => return,
                    Term::Known(false) => {}
                    Term::Is(literal) => other.push(literal),
                }
                said.clause(other, Keep::Forever, Reason::Recorded);
            }
        }
    }
}

/// The assumptions of one query.
#[derive(Debug, Default)]
pub(super) struct Assumed {
    pub hard: Vec<Lit>,
    /// Literals that hold as long as this query is asked.
    pub asking: Vec<Lit>,
    /// By literal: which of `query.assume` it stands for.
    pub blamed: FxHashMap<Lit, Vec<usize>>,
    /// One of `query.assume` that contradicts program order, forks or joins.
    pub hopeless: Option<usize>,
    /// What is kept or blocked cannot be.
    pub impossible: bool,
}

impl Open<'_, '_> {
    pub fn tell<R>(&mut self, tell: impl FnOnce(&mut Search<'_, '_>, &mut Said<'_>) -> R) -> R {
        let search = &mut self.search;
        self.sat.tell(|said| {
            // A shorter life for the one call.
            let Search { state, model, constraints, evaluator, wish } = search;
            let mut search = Search { state, model, constraints, evaluator, wish: *wish };
            tell(&mut search, said)
        })
    }

    pub fn solve(&mut self, assumptions: &[Lit], budget: &Budget<'_>) -> Ended {
        self.sat.solve(&mut self.search, assumptions, budget)
    }

    /// What a query keeps, fixes and blocks.
    pub fn assume(&mut self, query: &Query<'_>) -> Assumed {
        let mut assumed = Assumed::default();
        self.tell(|search, said| {
            for Before { first, second } in query.kept() {
                match search.state.atoms.before(search.model, said, first, second) {
                    Term::Known(true) => {}
                    Term::Known(false) => assumed.impossible = true,
                    Term::Is(literal) => assumed.hard.push(literal),
                }
            }
            for (index, Before { first, second }) in query.assume.iter().enumerate() {
                match search.state.atoms.before(search.model, said, *first, *second) {
                    Term::Known(true) => {}
                    Term::Known(false) => assumed.hopeless = Some(index),
                    Term::Is(literal) => assumed.blamed.entry(literal).or_default().push(index),
                }
            }
            for orders in &query.blocked {
                let opposite =
                    orders.iter().map(|order| search.constraints.before(order.second, order.first));
                let opposite: Vec<Formula> = opposite.collect();
                let Some(mut clause) = search.clause(&opposite, said) else { continue };
                let asking = search.state.atoms.assumable(said);
                any_of(asking, &clause, said);
                clause.push(!asking);
                said.defining(clause);
                assumed.asking.push(asking);
            }
        });
        assumed.hard.extend_from_slice(&assumed.asking);
        assumed
    }

    /// The query is over.
    pub fn retire(&mut self, assumed: &Assumed) {
        for literal in &assumed.asking {
            self.sat.add(vec![!*literal]);
        }
    }
}
