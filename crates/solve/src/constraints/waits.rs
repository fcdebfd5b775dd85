//! Condition variables: which signal wakes whom.
//!
//! `p_w_s` says that signal s wakes the waiter w = [wait, wake]. Who waits at s began before s, has not ended by
//! itself, and nobody woke it before. A broadcast wakes all who wait. A signal wakes one if any waits: the recorded
//! thread where it waits, else the one that waits longest. So a lost wake-up is forced by the order, not chosen.
//! With `T1: wait; wake` and `T2: signal`, `p ⇒ wait < signal < wake`, and `p ∨ signal < wait ∨ wake < signal`;
//! a wake by a signal needs p, one by a timeout needs `¬p`.

use unravel_trace::{ThreadId, WakeCause};

use super::{Atom, Constraints, Formula, Point};
use crate::{Op, SyncId};

/// From a wait to its wake.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    thread: ThreadId,
    wait: Point,
    /// `None`: recorded to wait to the end.
    wake: Option<(Point, WakeCause)>,
}

#[derive(Clone, Copy, Debug)]
struct Waker {
    at: Point,
    /// Of a broadcast: `None`.
    recorded: Option<Option<ThreadId>>,
}

impl Constraints<'_> {
    fn waiters(&self, cond: SyncId) -> (Vec<Waiter>, Vec<Waker>) {
        let (mut waiters, mut wakers): (Vec<Waiter>, Vec<Waker>) = (Vec::new(), Vec::new());
        for (at, op) in &self.uses[cond.index()] {
            let thread = self.model.owner(at.step);
            match *op {
                // Nobody has to wake who gives up, and nobody can.
                Op::Wait { gives_up: true, .. } | Op::Wake { by: WakeCause::Timeout, .. } => {}
                Op::Wait { .. } => waiters.push(Waiter { thread, wait: *at, wake: None }),
                Op::Wake { by, .. } => {
                    // Steps of one thread are in program order here, whatever the order of threads.
                    let last = waiters.iter_mut().rev().find(|w| w.thread == thread);
                    if let Some(last) = last.filter(|w| w.wake.is_none()) {
                        last.wake = Some((*at, by));
                    }
                }
                Op::Signal { recorded, .. } => {
                    wakers.push(Waker { at: *at, recorded: Some(recorded) });
                }
                Op::Broadcast { .. } => wakers.push(Waker { at: *at, recorded: None }),
                _ => {}
            }
        }
        (waiters, wakers)
    }

    pub(super) fn condition(&self, cond: SyncId) -> Vec<Formula> {
        let (waiters, wakers) = self.waiters(cond);
        let mut formulas = Vec::new();
        for waiter in &waiters {
            for waker in &wakers {
                let not_woken = self.wakes(waiter, waker).not();
                formulas.push(Formula::or([not_woken, self.spans_waker(waiter, waker)]));
            }
            for (index, one) in wakers.iter().enumerate() {
                for other in &wakers[index + 1..] {
                    formulas.push(not_both(self.wakes(waiter, one), self.wakes(waiter, other)));
                }
            }
        }
        for waker in &wakers {
            self.waker(waker, &waiters, &wakers, &mut formulas);
        }
        let mut woken: Vec<Point> = Vec::new();
        for waiter in &waiters {
            let Some((at, by)) = waiter.wake else { continue };
            woken.push(at);
            let picks = wakers.iter().map(|waker| self.wakes(waiter, waker));
            match by {
                WakeCause::Signal(_) => formulas.push(self.require(at, Formula::or(picks))),
                WakeCause::Timeout | WakeCause::Cancel => {
                    formulas.push(self.require(at, Formula::and(picks.map(Formula::not))));
                }
                WakeCause::Spurious => {}
            }
        }
        // A wake by a signal without a wait that it ends is never possible.
        for (at, op) in &self.uses[cond.index()] {
            if matches!(op, Op::Wake { by: WakeCause::Signal(_), .. }) && !woken.contains(at) {
                formulas.push(self.require(*at, Formula::False));
            }
        }
        formulas
    }

    /// The choice, or `False` where the order excludes it.
    fn wakes(&self, waiter: &Waiter, waker: &Waker) -> Formula {
        match self.spans_waker(waiter, waker) {
            Formula::False => Formula::False,
            _ => Formula::Is(Atom::Wakes { wait: waiter.wait.position, waker: waker.at.position }),
        }
    }

    /// The wait began before, and did not end by then.
    fn spans_waker(&self, waiter: &Waiter, waker: &Waker) -> Formula {
        let lasts = waiter.wake.map_or(Formula::True, |(wake, _)| self.ahead(waker.at, wake));
        Formula::and([self.ahead(waiter.wait, waker.at), lasts])
    }

    fn does_not_wait(&self, waiter: &Waiter, waker: &Waker, wakers: &[Waker]) -> Formula {
        let ended = waiter.wake.map_or(Formula::False, |(wake, _)| self.ahead(wake, waker.at));
        let woken = wakers
            .iter()
            .filter(|other| other.at != waker.at)
            .map(|other| Formula::and([self.wakes(waiter, other), self.ahead(other.at, waker.at)]));
        Formula::or([self.ahead(waker.at, waiter.wait), ended].into_iter().chain(woken))
    }

    /// Whom a signal or broadcast wakes.
    fn waker(
        &self,
        waker: &Waker,
        waiters: &[Waiter],
        wakers: &[Waker],
        formulas: &mut Vec<Formula>,
    ) {
        let is_recorded = |waiter: &Waiter| waker.recorded == Some(Some(waiter.thread));
        for (index, waiter) in waiters.iter().enumerate() {
            let wakes = self.wakes(waiter, waker);
            if wakes == Formula::False {
                continue;
            }
            let mut excuses = vec![wakes.clone(), self.does_not_wait(waiter, waker, wakers)];
            if waker.recorded.is_some() && !is_recorded(waiter) {
                excuses.extend(waiters.iter().map(|other| self.wakes(other, waker)));
            }
            formulas.push(Formula::or(excuses));
            if waker.recorded.is_none() {
                continue;
            }
            for other in &waiters[index + 1..] {
                formulas.push(not_both(wakes.clone(), self.wakes(other, waker)));
            }
            if is_recorded(waiter) {
                continue;
            }
            // The longest waiting, where the recorded one does not wait.
            for other in waiters.iter().filter(|other| other.wait != waiter.wait) {
                let absent = self.does_not_wait(other, waker, wakers);
                let longer = match is_recorded(other) {
                    true => Formula::False,
                    false => self.ahead(waiter.wait, other.wait),
                };
                formulas.push(Formula::or([wakes.clone().not(), absent, longer]));
            }
        }
    }

    /// For a request: whether its thread was woken before, and whether it was not.
    pub(super) fn was_woken(&self, cond: SyncId, request: Point) -> (Formula, Formula) {
        let (waiters, wakers) = self.waiters(cond);
        let me = self.model.owner(request.step);
        let Some(waiter) = waiters.iter().rev().find(|w| w.thread == me && w.wake.is_none()) else {
            return (Formula::False, Formula::True);
        };
        let woken = wakers
            .iter()
            .map(|waker| Formula::and([self.wakes(waiter, waker), self.ahead(waker.at, request)]));
        let not_woken = wakers.iter().map(|waker| {
            Formula::or([self.wakes(waiter, waker).not(), self.ahead(request, waker.at)])
        });
        (Formula::or(woken), Formula::and(not_woken))
    }
}

fn not_both(a: Formula, b: Formula) -> Formula {
    Formula::or([a.not(), b.not()])
}
