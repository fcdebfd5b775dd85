//! Forgetting clauses that were of no use.

use super::Sat;
use crate::budgets::{FIRST_CLAUSES, GLUE, MORE_CLAUSES};

impl Sat {
    /// Forgets half of what was learnt and not used since the last time, once there is much of it.
    pub(super) fn reduce_if_due(&mut self) {
        if self.clauses.forgettable < FIRST_CLAUSES + MORE_CLAUSES * self.reductions as usize {
            return;
        }
        self.reductions += 1;
        let mut unused = Vec::new();
        for id in self.clauses.ids() {
            let is_reason = {
                let literals = &self.clauses.get(id).literals;
                literals.first().is_some_and(|l| {
                    self.variables.reason_of(*l) == Some(id) && self.variables.is_true(*l)
                })
            };
            let clause = self.clauses.get_mut(id);
            let Some(levels) = clause.levels else { continue };
            let used = std::mem::take(&mut clause.used);
            if levels > GLUE && !used && !is_reason {
                unused.push((std::cmp::Reverse((levels, clause.literals.len())), id));
            }
        }
        unused.sort_by_key(|(rank, _)| *rank);
        let half: Vec<_> = unused.iter().take(unused.len() / 2 + 1).map(|(_, id)| *id).collect();
        self.clauses.forget(&half);
    }
}
