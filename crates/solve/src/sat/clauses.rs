//! Clauses and who watches them.

use super::variables::{Lit, Variables};

/// A clause by its place; places of deleted clauses are used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClauseId(u32);

#[derive(Debug)]
pub(super) struct Clause {
    /// The first two are watched; the first of a reason is what it implies.
    pub literals: Vec<Lit>,
    /// Of what may be forgotten: how many levels it joined, and whether it was of use since the last reduction.
    pub levels: Option<u32>,
    pub used: bool,
}

/// The clause is looked at when this literal's negation becomes true, unless `other` is true.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub clause: ClauseId,
    pub other: Lit,
}

#[derive(Debug, Default)]
pub(super) struct Clauses {
    all: Vec<Clause>,
    free: Vec<ClauseId>,
    /// By literal that became false.
    pub watches: Vec<Vec<Watch>>,
    /// Clauses that may be forgotten.
    pub forgettable: usize,
}

impl Clauses {
    pub fn grow(&mut self, variables: &Variables) {
        self.watches.resize_with(2 * variables.len(), Vec::new);
    }

    /// At least two literals; the first two will be watched.
    pub fn add(&mut self, literals: Vec<Lit>, levels: Option<u32>) -> ClauseId {
        let needed = literals.iter().map(|l| l.index() | 1).max().unwrap_or(0) + 1;
        if self.watches.len() < needed {
            self.watches.resize_with(needed, Vec::new);
        }
        let (a, b) = (literals[0], literals[1]);
        self.forgettable += usize::from(levels.is_some());
        let clause = Clause { literals, levels, used: true };
        let id = match self.free.pop() {
            Some(id) => {
                self.all[id.0 as usize] = clause;
                id
            }
            None => {
                self.all.push(clause);
                ClauseId(self.all.len() as u32 - 1)
            }
        };
        self.watches[a.index()].push(Watch { clause: id, other: b });
        self.watches[b.index()].push(Watch { clause: id, other: a });
        id
    }

    pub fn get(&self, id: ClauseId) -> &Clause {
        &self.all[id.0 as usize]
    }

    pub fn get_mut(&mut self, id: ClauseId) -> &mut Clause {
        &mut self.all[id.0 as usize]
    }

    pub fn ids(&self) -> impl Iterator<Item = ClauseId> + use<> {
        (0..self.all.len() as u32).map(ClauseId)
    }

    /// Forgets all of these, which no value has as its reason.
    pub fn forget(&mut self, ids: &[ClauseId]) {
        for id in ids {
            let clause = &mut self.all[id.0 as usize];
            clause.literals = Vec::new();
            clause.levels = None;
            self.forgettable -= 1;
        }
        let all = &self.all;
        for watches in &mut self.watches {
            watches.retain(|watch| !all[watch.clause.0 as usize].literals.is_empty());
        }
        self.free.extend_from_slice(ids);
    }
}
