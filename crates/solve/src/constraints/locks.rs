//! Locks: two sections of one lock exclude each other, unless both are shared.
//!
//! `U1 < L2 ∨ U2 < L1` for sections `[L1, U1]`, `[L2, U2]` of two threads. A section that never ends leaves only
//! "after all others". A failed trylock needs a section around it: `⋁ L < t < U`. With `T1: lock; unlock` and
//! `T2: trylock (failed)` there is one order: lock, trylock, unlock. Where the trace was cut before the unlock, the
//! trylock may also come after the last step of T1.
//!
//! Locks that others than their holders release (spin locks allow it) have no sections: an acquisition needs a
//! release before it such that every other acquisition is before that release or after it.
//! *Not encoded*: the shared side of such a lock.

use unravel_trace::ThreadId;

use super::{Constraints, Formula, NoEncoding, Point};
use crate::{Op, StepId, SyncId};

/// A section by its ops; `None` at the beginning: held from the start; at the end: never released.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub shared: bool,
    pub acquire: Option<Point>,
    pub release: Option<Point>,
    /// No event released it.
    pub synthetic: bool,
}

impl Constraints<'_> {
    /// Mutual exclusion of a regular lock.
    pub(super) fn exclusions(&self, lock: SyncId) -> Vec<Formula> {
        let spans = self.spans(lock);
        let mut formulas = Vec::new();
        for (index, (a, owner)) in spans.iter().enumerate() {
            for (b, other) in &spans[index + 1..] {
                if owner == other || (a.shared && b.shared) {
                    continue;
                }
                // One of them not begun before the end: nothing to exclude.
                let idle = [a, b].into_iter().filter_map(|span| span.acquire);
                let idle = idle.map(|at| self.after_end(at));
                let either = [self.follows(a, b), self.follows(b, a)];
                formulas.push(Formula::or(idle.chain(either)));
            }
        }
        formulas
    }

    /// What failed trylocks of a regular lock need; the rest is mutual exclusion.
    pub fn failed_trylocks(&self, lock: SyncId) -> Vec<Formula> {
        let failed = self.uses[lock.index()].iter().filter_map(|(at, op)| match op {
            Op::TryAcquire { shared, acquired: false, .. } => Some((*at, *shared)),
            _ => None,
        });
        let mut failed = failed.peekable();
        if failed.peek().is_none() {
            return Vec::new();
        }
        let spans = self.spans(lock);
        failed
            .map(|(at, shared)| {
                let held = [self.is_held(&spans, at, shared), self.lingers(&spans, at, shared)];
                self.require(at, Formula::or(held))
            })
            .collect()
    }

    /// The sections of a lock that executed steps begin, with their threads.
    pub fn spans(&self, lock: SyncId) -> Vec<(Span, ThreadId)> {
        let uses = self.uses[lock.index()].as_slice();
        let mut taken = vec![false; uses.len()];
        // A step may begin or end several sections of the lock: each takes the first op that is left.
        let mut find = |step: Option<StepId>, wanted: fn(&Op) -> bool| {
            let step = step?;
            let first = uses.partition_point(|(at, _)| at.step < step);
            let of_step = uses[first..].iter().take_while(|(at, _)| at.step == step);
            let mut left = of_step.zip(&mut taken[first..]);
            let ((at, _), taken) = left.find(|((_, op), taken)| !**taken && wanted(op))?;
            *taken = true;
            Some(*at)
        };
        let sections = self.sections[lock.index()].iter();
        sections
            .map(|section| {
                let acquire = find(section.acquire, |op| op.takes().is_some());
                let release = find(section.release, |op| matches!(op, Op::Release { .. }));
                let (shared, synthetic) = (section.shared, section.synthetic);
                (Span { shared, acquire, release, synthetic }, section.thread)
            })
            .collect()
    }

    /// `b` begins after `a` ended.
    fn follows(&self, a: &Span, b: &Span) -> Formula {
        match (a.release, b.acquire) {
            (Some(release), Some(acquire)) => self.ahead(release, acquire),
            _ => Formula::False,
        }
    }

    /// Someone holds the lock, in a way that refuses this.
    pub(super) fn is_held(&self, spans: &[(Span, ThreadId)], at: Point, shared: bool) -> Formula {
        let refusing = spans.iter().filter(|(span, _)| !(span.shared && shared));
        Formula::or(refusing.map(|(span, _)| {
            let begun = span.acquire.map_or(Formula::True, |acquire| self.ahead(acquire, at));
            let lasts = span.release.map_or(Formula::True, |release| self.ahead(at, release));
            Formula::and([begun, lasts])
        }))
    }

    /// Someone whose trace was cut while holding the lock may hold it still: nobody took it since.
    fn lingers(&self, spans: &[(Span, ThreadId)], at: Point, shared: bool) -> Formula {
        let cut = spans.iter().map(|(span, _)| span);
        let cut = cut.filter(|span| span.synthetic && !(span.shared && shared));
        Formula::or(cut.filter_map(|span| span.release.map(|end| (span, end))).map(
            |(span, end)| {
                let takers = spans.iter().filter(|(taker, _)| !(taker.shared && span.shared));
                let not_since = takers.filter_map(|(taker, _)| taker.acquire).map(|acquire| {
                    Formula::or([self.ahead(acquire, end), self.ahead(at, acquire)])
                });
                Formula::and([self.ahead(end, at)].into_iter().chain(not_since))
            },
        ))
    }

    /// Nobody holds the lock in a way that refuses this.
    pub(super) fn is_free(&self, spans: &[(Span, ThreadId)], at: Point, shared: bool) -> Formula {
        let refusing = spans.iter().filter(|(span, _)| !(span.shared && shared));
        Formula::and(refusing.map(|(span, _)| {
            let later = span.acquire.map_or(Formula::False, |acquire| self.ahead(at, acquire));
            let ended = span.release.map_or(Formula::False, |release| self.ahead(release, at));
            Formula::or([later, ended])
        }))
    }

    pub(super) fn irregular_lock(&self, lock: SyncId) -> Result<Vec<Formula>, NoEncoding> {
        let uses = self.uses[lock.index()].as_slice();
        if uses.iter().any(|(_, op)| op.takes().is_some_and(|(_, shared)| shared)) {
            let what = "the shared side of a lock that others than its holders release";
            return Err(NoEncoding(what.to_owned()));
        }
        let mut formulas = Vec::new();
        for (at, op) in uses {
            let formula = match op {
                Op::Acquire { .. } | Op::TryAcquire { acquired: true, .. } => {
                    self.was_released(lock, *at)
                }
                Op::TryAcquire { acquired: false, .. } => self.was_acquired(lock, *at),
                _ => continue,
            };
            formulas.push(self.require(*at, formula));
        }
        Ok(formulas)
    }

    /// The last operation on the lock before this was a release, or there was none and it was free.
    pub(super) fn was_released(&self, lock: SyncId, at: Point) -> Formula {
        let (releases, acquires) = self.sides(lock);
        let since = |from: Option<Point>| {
            Formula::and(acquires.iter().filter(|a| **a != at).map(|acquire| {
                let before = from.map_or(Formula::False, |from| self.ahead(*acquire, from));
                Formula::or([before, self.ahead(at, *acquire)])
            }))
        };
        let never = match self.model.sync(lock).initial.is_empty() {
            true => since(None),
            false => Formula::False,
        };
        let some = releases
            .iter()
            .map(|release| Formula::and([self.ahead(*release, at), since(Some(*release))]));
        Formula::or(some.chain([never]))
    }

    /// The last operation on the lock before this was an acquisition, or there was none and it was held.
    pub(super) fn was_acquired(&self, lock: SyncId, at: Point) -> Formula {
        let (releases, acquires) = self.sides(lock);
        let since = |from: Option<Point>| {
            Formula::and(releases.iter().map(|release| {
                let before = from.map_or(Formula::False, |from| self.ahead(*release, from));
                Formula::or([before, self.ahead(at, *release)])
            }))
        };
        let never = match self.model.sync(lock).initial.is_empty() {
            true => Formula::False,
            false => since(None),
        };
        let some = acquires
            .iter()
            .map(|acquire| Formula::and([self.ahead(*acquire, at), since(Some(*acquire))]));
        Formula::or(some.chain([never]))
    }

    fn sides(&self, lock: SyncId) -> (Vec<Point>, Vec<Point>) {
        let (mut releases, mut acquires) = (Vec::new(), Vec::new());
        for (at, op) in &self.uses[lock.index()] {
            match op {
                Op::Release { .. } => releases.push(*at),
                op if op.takes().is_some() => acquires.push(*at),
                _ => {}
            }
        }
        (releases, acquires)
    }
}
