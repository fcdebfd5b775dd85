//! Condition variables: which signal wakes whom.
//!
//! Of two threads, `T1: wait; wake` and `T2: signal`: if the signal wakes T1, `wait < signal < wake`; if it does not, it
//! comes before the wait, or after the wake.

use unravel_solve::{Model, Op};
use unravel_trace::{ThreadId, WakeCause};

use crate::demands::{At, Demand, ahead};
use crate::sync::{Uses, filtered};

/// A wait that does not give up, its wake, and by what it was woken.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    thread: ThreadId,
    wait: At,
    wake: Option<(At, WakeCause)>,
}

/// A signal (with whom it woke when it was recorded), or a broadcast.
#[derive(Clone, Copy, Debug)]
struct Waker {
    at: At,
    signal: Option<Option<ThreadId>>,
}

/// Who waits on a condition variable and who wakes. An order decides who is woken: `Wakes` is no choice.
pub(crate) struct Waits {
    waiters: Vec<Waiter>,
    wakers: Vec<Waker>,
}

impl Waits {
    pub fn new(model: &Model, uses: &Uses) -> Waits {
        let (mut waiters, mut wakers): (Vec<Waiter>, Vec<Waker>) = (Vec::new(), Vec::new());
        for &(at, op) in uses {
            let thread = model.owner(at.step);
            match op {
                Op::Wait { gives_up: false, .. } => {
                    waiters.push(Waiter { thread, wait: at, wake: None });
                }
                Op::Wake { by, .. } if by != WakeCause::Timeout => {
                    let own = waiters.iter_mut().rev().find(|waiter| waiter.thread == thread);
                    if let Some(Waiter { wake: wake @ None, .. }) = own {
                        *wake = Some((at, by));
                    }
                }
                Op::Signal { recorded, .. } => wakers.push(Waker { at, signal: Some(recorded) }),
                Op::Broadcast { .. } => wakers.push(Waker { at, signal: None }),
                _ => {}
            }
        }
        Waits { waiters, wakers }
    }

    /// Who is woken waits.
    fn wakes(waiter: &Waiter, waker: &Waker, does: bool) -> Demand {
        let wakes = Demand::Wakes { wait: waiter.wait.place, waker: waker.at.place, does };
        if !does {
            return wakes;
        }
        let lasts = waiter.wake.map(|(wake, _)| ahead(waker.at, wake));
        let waits = [wakes, ahead(waiter.wait, waker.at)];
        Demand::All(waits.into_iter().chain(lasts).collect())
    }

    /// It has not begun, has ended by itself, or was woken before.
    fn does_not_wait(&self, waiter: &Waiter, waker: &Waker) -> Demand {
        let ended = waiter.wake.map(|(wake, _)| ahead(wake, waker.at));
        let others = self.wakers.iter().filter(|other| other.at != waker.at);
        let woken = others.map(|other| {
            Demand::All(vec![Waits::wakes(waiter, other, true), ahead(other.at, waker.at)])
        });
        Demand::Any([ahead(waker.at, waiter.wait)].into_iter().chain(ended).chain(woken).collect())
    }

    pub fn demands(&self, uses: &Uses) -> Vec<(Vec<At>, Demand)> {
        let mut always = Vec::new();
        for waiter in &self.waiters {
            for (index, waker) in self.wakers.iter().enumerate() {
                let wakes_not = || Waits::wakes(waiter, waker, false);
                let lasts = waiter.wake.map(|(wake, _)| ahead(waker.at, wake));
                let waits = [ahead(waiter.wait, waker.at)].into_iter().chain(lasts).collect();
                always.push(Demand::Any(vec![wakes_not(), Demand::All(waits)]));
                for other in &self.wakers[index + 1..] {
                    always.push(Demand::Any(vec![wakes_not(), Waits::wakes(waiter, other, false)]));
                }
                self.of_pair(waiter, waker, &mut always);
            }
        }
        let mut demands: Vec<_> = always.into_iter().map(|demand| (Vec::new(), demand)).collect();
        let mut ended: Vec<At> = Vec::new();
        for waiter in &self.waiters {
            let Some((wake, by)) = waiter.wake else { continue };
            ended.push(wake);
            let all = |does: bool| self.wakers.iter().map(move |s| Waits::wakes(waiter, s, does));
            let demand = match by {
                WakeCause::Signal(_) => Demand::Any(all(true).collect()),
                WakeCause::Timeout | WakeCause::Cancel => Demand::All(all(false).collect()),
                WakeCause::Spurious => continue,
            };
            demands.push((vec![wake], demand));
        }
        // Nobody is woken who does not wait.
        let woken = filtered(uses, |op| matches!(op, Op::Wake { by: WakeCause::Signal(_), .. }));
        let without = woken.into_iter().filter(|wake| !ended.contains(wake));
        demands.extend(without.map(|wake| (vec![wake], Demand::known(false))));
        demands
    }

    /// A broadcast wakes all; a signal one, if any waits: the recorded one, or who waits longest.
    fn of_pair(&self, waiter: &Waiter, waker: &Waker, always: &mut Vec<Demand>) {
        let is_recorded = |of: &Waiter| waker.signal == Some(Some(of.thread));
        let mut excuses =
            vec![Waits::wakes(waiter, waker, true), self.does_not_wait(waiter, waker)];
        if waker.signal.is_some() && !is_recorded(waiter) {
            excuses.extend(self.waiters.iter().map(|other| Waits::wakes(other, waker, true)));
        }
        always.push(Demand::Any(excuses));
        if waker.signal.is_none() {
            return;
        }
        for other in self.waiters.iter().filter(|other| other.wait != waiter.wait) {
            let not = Waits::wakes(waiter, waker, false);
            always.push(Demand::Any(vec![not.clone(), Waits::wakes(other, waker, false)]));
            if !is_recorded(waiter) {
                let longer = (!is_recorded(other)).then(|| ahead(waiter.wait, other.wait));
                let absent = self.does_not_wait(other, waker);
                always.push(Demand::Any([not, absent].into_iter().chain(longer).collect()));
            }
        }
    }
}
