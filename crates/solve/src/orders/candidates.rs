//! The candidates of a read as literals, a few at a time.
//!
//! A hot location has thousands of writes, and every read of it thousands of candidates: a literal for each would be
//! millions. The nearest in the anchor come first; the last literal of each clause says "one further away", and makes
//! the next, twice as many, when it becomes true.

use super::atoms::{Meaning, Term, all_of};
use super::theory::Search;
use crate::budgets::{FEW_SOURCES, FIRST_SOURCES};
use crate::proof::{self, Reason};
use crate::sat::{Keep, Lit, Said};
use crate::{SlotId, Source};

/// The candidates of one slot.
#[derive(Debug)]
pub(super) struct Candidates {
    /// Nearest first.
    sources: Vec<Source>,
    /// Of the first of them, clause by clause.
    literals: Vec<Lit>,
    /// The slot is not executed.
    excuse: Option<Lit>,
    /// By clause: how many literals there are with it, and the one that says "further away".
    clauses: Vec<(usize, Option<Lit>)>,
}

impl Search<'_, '_> {
    /// A slot reads otherwise than in the anchor, or further away than in the clause of this literal: it must read from
    /// one of the next candidates.
    pub fn want_other(&mut self, slot: SlotId, why: Lit, said: &mut Said<'_>) {
        let clause = match self.state.candidates.get(&slot) {
            None => 0,
            Some(known) => {
                let mut clauses = known.clauses.iter();
                clauses.position(|(_, further)| *further == Some(why)).map_or(0, |index| index + 1)
            }
        };
        if self.state.candidates.get(&slot).is_none_or(|known| known.clauses.len() <= clause) {
            self.expand(slot, said);
        }
        let certain = said.variables.level_of(why) == 0;
        let Some(known) = self.state.candidates.get(&slot) else { return };
        let start = clause.checked_sub(1).map_or(0, |index| known.clauses[index].0);
        let (end, further) = known.clauses[clause];
        for &literal in known.literals[start..end].iter().chain(&further) {
            if certain {
                said.variables.need(literal);
            } else {
                said.variables.want(literal);
            }
        }
    }

    /// A slot reads from one of its candidates, or is not executed: one more clause of that.
    fn expand(&mut self, slot: SlotId, said: &mut Said<'_>) {
        let mut clause: Vec<Lit> = Vec::new();
        let mut candidates = match self.state.candidates.remove(&slot) {
            Some(candidates) => candidates,
            None => {
                let sources = self.nearest_first(slot);
                let at = self.constraints.read_point(self.model.read(slot));
                let excuse = match self.unexecuted(at, said) {
                    // Nothing is needed, but who asks for literals gets them.
                    Term::Known(true) => {
                        let excuse = self.state.atoms.plain(said, true);
                        all_of(excuse, &[], said);
                        Some(excuse)
                    }
                    Term::Known(false) => None,
                    Term::Is(literal) => Some(literal),
                };
                clause.extend(excuse);
                Candidates { sources, literals: Vec::new(), excuse, clauses: Vec::new() }
            }
        };
        // Whoever says "further away" asks for the next; if nobody can, all are there.
        match candidates.clauses.last() {
            Some((_, Some(further))) => clause.push(!*further),
            Some((_, None)) => {
                self.state.candidates.insert(slot, candidates);
                return;
            }
            None => {}
        }
        let known = candidates.literals.len();
        let end = (known + FIRST_SOURCES.max(known)).min(candidates.sources.len());
        for &source in &candidates.sources[known..end] {
            let literal = self.state.atoms.reads_from(self.model, said, slot, source, true);
            candidates.literals.push(literal);
            clause.push(literal);
        }
        let further = (end < candidates.sources.len())
            .then(|| self.state.atoms.add(said, Meaning::Further(slot), false));
        clause.extend(further);
        candidates.clauses.push((end, further));
        let all = || candidates.excuse.iter().chain(&candidates.literals);
        match further {
            Some(further) => said.means(further, || proof::Meaning::Gate {
                all: Some(all().map(|literal| (!*literal).into()).collect()),
                any: Vec::new(),
            }),
            None => said.note(|| {
                let all = all().map(|literal| (*literal).into()).collect();
                proof::Line::Holds(Reason::Sources(slot), all)
            }),
        }
        said.follows(clause, Keep::Forever);
        self.state.candidates.insert(slot, candidates);
    }

    /// All candidates of a slot, which is always decided from now on.
    pub fn expand_all(&mut self, slot: SlotId, said: &mut Said<'_>) {
        loop {
            self.expand(slot, said);
            let Some(known) = self.state.candidates.get(&slot) else { return };
            for &literal in
                known.literals.iter().chain(known.clauses.iter().filter_map(|(_, f)| f.as_ref()))
            {
                said.variables.need(literal);
            }
            if known.clauses.last().is_some_and(|(_, further)| further.is_none()) {
                return;
            }
        }
    }

    /// What stands last before the read in the anchor comes first.
    fn nearest_first(&self, slot: SlotId) -> Vec<Source> {
        let places = &self.state.atoms.places;
        let mine = places[self.model.read(slot).step.index()];
        let distance = |source: &Source| match source {
            Source::Initial => u32::MAX / 2,
            Source::Write(write) => {
                let place = places[self.model.write(*write).step.index()];
                if place <= mine { mine - place } else { u32::MAX / 2 + (place - mine) }
            }
        };
        let mut sources = self.model.candidates(slot);
        sources.sort_by_key(distance);
        sources
    }

    /// A slot has one source.
    pub fn rule_out_others(&mut self, slot: SlotId, chosen: Lit, said: &mut Said<'_>) {
        let Some(candidates) = self.state.candidates.get(&slot) else { return };
        if candidates.literals.len() > FEW_SOURCES {
            return;
        }
        // What is in a later clause is further away than the earlier ones reach.
        let place = candidates.literals.iter().position(|literal| *literal == chosen);
        let reaching = candidates.clauses.iter().filter(|(end, _)| place.is_some_and(|p| p < *end));
        let further = reaching.filter_map(|(_, further)| further.as_ref());
        for &other in candidates.literals.iter().chain(further) {
            if other != chosen && said.variables.value(other).is_none() {
                let clause = vec![!other, !chosen];
                match self.state.atoms.meaning(other) {
                    Meaning::Further(_) => said.follows(clause, Keep::WhileUseful),
                    _ => said.clause(clause, Keep::WhileUseful, Reason::Order),
                }
            }
        }
    }
}
