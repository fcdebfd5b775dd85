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

use super::encode::{Encoder, NoEncoding, Point};
use super::text::Formula;
use crate::{Op, Section, SyncFamily, SyncId};

/// A section by its ops; `None` at the beginning: held from the start; at the end: never released.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub shared: bool,
    pub acquire: Option<Point>,
    pub release: Option<Point>,
    /// No event released it.
    pub synthetic: bool,
}

impl Encoder<'_> {
    pub fn locks(&mut self) -> Result<(), NoEncoding> {
        self.script.comment("locks");
        for index in 0..self.model.syncs().len() as u32 {
            let lock = SyncId(index);
            if self.model.sync(lock).family != SyncFamily::Lock {
                continue;
            }
            if self.model.sync(lock).regular {
                self.regular_lock(lock);
            } else {
                self.irregular_lock(lock)?;
            }
        }
        Ok(())
    }

    fn regular_lock(&mut self, lock: SyncId) {
        let spans = self.spans(lock);
        for (index, (a, owner)) in spans.iter().enumerate() {
            for (b, other) in &spans[index + 1..] {
                if owner == other || (a.shared && b.shared) {
                    continue;
                }
                let either = Formula::or([self.follows(a, b), self.follows(b, a)]);
                // One of them not begun before the end: nothing to exclude.
                let idle = [a, b].map(|span| span.acquire.map(|at| self.after_end(at)));
                let idle = Formula::or(idle.into_iter().flatten());
                let formula = Formula::or([idle, either]);
                self.script.assert(&formula);
            }
        }
        for (at, op) in self.uses[lock.index()].clone() {
            if let Op::TryAcquire { shared, acquired: false, .. } = op {
                let held = [self.is_held(&spans, at, shared), self.lingers(&spans, at, shared)];
                self.require(at, Formula::or(held));
            }
        }
    }

    /// The sections of a lock that executed steps begin, with their threads.
    pub fn spans(&self, lock: SyncId) -> Vec<(Span, unravel_trace::ThreadId)> {
        let model = self.model;
        let executed = |section: &&Section| {
            section.lock == lock && section.acquire.is_none_or(|step| !model.is_request(step))
        };
        let mut taken: Vec<Point> = Vec::new();
        let mut spans = Vec::new();
        for section in model.sections().iter().filter(executed) {
            let mut find = |step: Option<crate::StepId>, takes: bool| {
                let uses = self.uses[lock.index()].iter();
                let found = uses.map(|(at, op)| (*at, op)).find(|(at, op)| {
                    Some(at.step) == step
                        && op.takes().is_some() == takes
                        && !taken.contains(at)
                        && (takes || matches!(op, Op::Release { .. }))
                });
                let found = found.map(|(at, _)| at);
                taken.extend(found);
                found
            };
            let acquire = find(section.acquire, true);
            let release = find(section.release, false);
            let (shared, synthetic) = (section.shared, section.synthetic);
            spans.push((Span { shared, acquire, release, synthetic }, section.thread));
        }
        spans
    }

    /// `b` begins after `a` ended.
    fn follows(&self, a: &Span, b: &Span) -> Formula {
        match (a.release, b.acquire) {
            (Some(release), Some(acquire)) => self.ahead(release, acquire),
            _ => Formula::False,
        }
    }

    /// Someone holds the lock, in a way that refuses this.
    pub fn is_held(
        &self,
        spans: &[(Span, unravel_trace::ThreadId)],
        at: Point,
        shared: bool,
    ) -> Formula {
        let refusing = spans.iter().filter(|(span, _)| !(span.shared && shared));
        Formula::or(refusing.map(|(span, _)| {
            let begun = span.acquire.map_or(Formula::True, |acquire| self.ahead(acquire, at));
            let lasts = span.release.map_or(Formula::True, |release| self.ahead(at, release));
            Formula::and([begun, lasts])
        }))
    }

    /// Someone whose trace was cut while holding the lock may hold it still: nobody took it since.
    fn lingers(
        &self,
        spans: &[(Span, unravel_trace::ThreadId)],
        at: Point,
        shared: bool,
    ) -> Formula {
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
    pub fn is_free(
        &self,
        spans: &[(Span, unravel_trace::ThreadId)],
        at: Point,
        shared: bool,
    ) -> Formula {
        let refusing = spans.iter().filter(|(span, _)| !(span.shared && shared));
        Formula::and(refusing.map(|(span, _)| {
            let later = span.acquire.map_or(Formula::False, |acquire| self.ahead(at, acquire));
            let ended = span.release.map_or(Formula::False, |release| self.ahead(release, at));
            Formula::or([later, ended])
        }))
    }

    fn irregular_lock(&mut self, lock: SyncId) -> Result<(), NoEncoding> {
        let uses = self.uses[lock.index()].clone();
        if uses.iter().any(|(_, op)| op.takes().is_some_and(|(_, shared)| shared)) {
            let what = "the shared side of a lock that others than its holders release";
            return Err(NoEncoding(what.to_owned()));
        }
        for (at, op) in uses {
            match op {
                Op::Acquire { .. } | Op::TryAcquire { acquired: true, .. } => {
                    let free = self.was_released(lock, at);
                    self.require(at, free);
                }
                Op::TryAcquire { acquired: false, .. } => {
                    let held = self.was_acquired(lock, at);
                    self.require(at, held);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The last operation on the lock before this was a release, or there was none and it was free.
    pub fn was_released(&self, lock: SyncId, at: Point) -> Formula {
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
    pub fn was_acquired(&self, lock: SyncId, at: Point) -> Formula {
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
