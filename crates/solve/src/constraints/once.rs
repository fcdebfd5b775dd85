//! `pthread_once` and its like: initialisers run one after the other, and everyone else returns after the last.
//!
//! Several initialisers of one object are attempts of which all but the last threw. `done1 < enter2 ∨ done2 < enter1`
//! for two that ran, `done < enter` for one that did not run it. With `T1: enter; done` and `T2: enter (lost)`:
//! `done < enter`.

use unravel_trace::SyncState;

use super::{Constraints, Formula, Point};
use crate::{Op, SyncId};

impl Constraints<'_> {
    pub(super) fn once(&self, id: SyncId) -> Vec<Formula> {
        let runs = self.runs(id);
        let done_before = self.was_done_before(id);
        let mut formulas = Vec::new();
        for (index, (enter, done)) in runs.iter().enumerate() {
            if done_before {
                formulas.push(self.require(*enter, Formula::False));
            }
            for (other_enter, other_done) in &runs[index + 1..] {
                let first = self.done_ahead(*done, *other_enter);
                let second = self.done_ahead(*other_done, *enter);
                let idle = [self.after_end(*enter), self.after_end(*other_enter)];
                formulas.push(Formula::or(idle.into_iter().chain([first, second])));
            }
        }
        for (at, op) in &self.uses[id.index()] {
            if matches!(op, Op::OnceEnter { won: false, .. }) && !done_before {
                let all = runs.iter().map(|(_, done)| self.done_ahead(*done, *at));
                let done = Formula::and(all.chain([Formula::known(!runs.is_empty())]));
                formulas.push(self.require(*at, done));
            }
        }
        formulas
    }

    fn was_done_before(&self, id: SyncId) -> bool {
        self.model.sync(id).initial.contains(&SyncState::Done)
    }

    fn done_ahead(&self, done: Option<Point>, at: Point) -> Formula {
        done.map_or(Formula::False, |done| self.ahead(done, at))
    }

    /// The initialisers that ran: where they began and ended.
    fn runs(&self, id: SyncId) -> Vec<(Point, Option<Point>)> {
        let mut runs: Vec<(Point, Option<Point>)> = Vec::new();
        for (at, op) in &self.uses[id.index()] {
            match op {
                Op::OnceEnter { won: true, .. } => runs.push((*at, None)),
                Op::OnceDone { .. } => {
                    let me = self.model.owner(at.step);
                    let mine = runs.iter_mut().rev().find(|run| self.model.owner(run.0.step) == me);
                    if let Some(run) = mine.filter(|run| run.1.is_none()) {
                        run.1 = Some(*at);
                    }
                }
                _ => {}
            }
        }
        runs
    }

    /// No initialiser runs at this place, and: one does.
    pub(super) fn once_states(&self, id: SyncId, at: Point) -> (Formula, Formula) {
        let runs = self.runs(id);
        let idle = runs
            .iter()
            .map(|(enter, done)| Formula::or([self.ahead(at, *enter), self.done_ahead(*done, at)]));
        let running = runs.iter().map(|(enter, done)| {
            let lasts = done.map_or(Formula::True, |done| self.ahead(at, done));
            Formula::and([self.ahead(*enter, at), lasts])
        });
        (Formula::and(idle), Formula::or(running))
    }
}
