//! Exhaustive search: every class of interleavings once.
//!
//! Source-DPOR (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014): dynamic partial-order reduction by source sets, with sleep
//! sets, stateless, by executing again: a depth-first search of the tree of schedules. Each run follows the path to a state, lets another
//! thread go first there, and goes on without switching more than needed. Wherever two steps of a run race, their
//! other order is put on the list (`races.rs`). Two runs whose events differ only in the order of independent ones
//! are one class; no class is executed to its end twice. Which waiter a signal wakes, and whatever else a run asks, is
//! explored like the choice of a thread.
//!
//! Deviations of the environment are explored up to a bound: whether a question is answered by one is a matter of the
//! step that asks it, so that equivalent runs have the same. That time passes is a step that depends on all others.
//!
//! What it takes for granted: all that threads share are events, in this visible set; if a run learns of more, the
//! search is worth nothing and must begin again. The dependence relation does not know whether another
//! thread has ended as `pthread_tryjoin_np` sees it, nor that a frame's memory dies with it: orders that matter only to them may be missed. What [`BlindSpots`] notices is said to be left out. With busy
//! waits told (`Want::awaits`), a round that changes nothing is no step (`waits.rs`); with them only pruned, a thread that waits is
//! not offered until another makes progress, and a class also says how often it looked. The classes of a program with timeouts or cancellations are finer than `Class` has them.
//!
//! Going on from a copy of the process (fork) instead of executing again was measured: on a run of 9 events 3.6 ms
//! against 3 µs, on one of 54 events 1.5 ms against 29 µs; with 1.5 million instructions before the first thread 3.1 ms
//! against 7.0 ms. So copies would pay only from some milliseconds a run on.
//!
//! A run that fails ends in the middle. It counts as one class, whatever independent steps the other threads may have
//! done by then, and the others go on to be explored without it.

mod footprint;
mod guide;
mod lanes;
mod order;
mod races;
mod scheduler;
mod sleep;
mod threads;
mod tree;
mod waits;

use unravel_trace::{BlindSpot, FailureKind, LeftOut, Method, Op, Outcome, Run, Scheduler};

use crate::BlindSpots;
use crate::budgets::LONGEST;
use crate::systematic::{Count, Counted, Systematic};
use guide::Guide;
use lanes::Lanes;
use order::{Order, Step};
use races::Races;
use scheduler::{Follow, Underway};
use sleep::{Sleeper, covers_what_follows};
use threads::ThreadSet;
use tree::{Node, backtrack};

/// Every class of interleavings once.
#[derive(Debug)]
pub struct Exhaustive {
    /// The states along the present path.
    nodes: Vec<Node>,
    /// The steps between them; in a new state there are as many as nodes.
    order: Order,
    races: Races,
    lanes: Lanes,
    underway: Underway,
    /// How the present run goes on where it is new.
    guide: Guide,
    /// Why the search stopped the present run.
    stopped: Option<Stop>,
    /// Who could go on when the scheduler was last asked in a new state, and who slept if nobody else could.
    enabled: ThreadSet,
    asleep: Vec<Sleeper>,
    /// Who resigned in the step before a state that is not yet in the tree.
    resigns: ThreadSet,
    /// Everybody waits, or would: the run goes on as it comes.
    runs_on: bool,
    /// A busy wait was taken for a wait; and threads wait for time to pass.
    took_for_wait: bool,
    sees_time: bool,
    count: Count,
    blind: BlindSpots,
    ended: bool,
    /// Runs with so many deviations at most.
    bound: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    /// All that follows was explored.
    Asleep,
    /// What was tried is a wait that came to nothing, as if it had not been.
    Vain,
    NotMine,
    /// The run did not repeat what the run before it did.
    Diverged,
    TooManyThreads,
    TooLong,
}

impl Exhaustive {
    /// One of several lanes; the only one is `new(0, 1)`. Without deviations.
    pub fn new(lane: u32, lanes: u32) -> Exhaustive {
        Exhaustive::within(0, lane, lanes)
    }

    /// The same with so many deviations at most.
    pub fn within(bound: u32, lane: u32, lanes: u32) -> Exhaustive {
        Exhaustive {
            nodes: Vec::new(),
            order: Order::default(),
            races: Races::default(),
            lanes: Lanes::new(lane, lanes),
            underway: Underway::default(),
            guide: Guide::default(),
            stopped: None,
            enabled: ThreadSet::default(),
            asleep: Vec::new(),
            resigns: ThreadSet::default(),
            runs_on: false,
            took_for_wait: false,
            sees_time: false,
            count: Count::within(bound),
            blind: BlindSpots::default(),
            ended: false,
            bound,
        }
    }

    /// The run came to its own end.
    fn came_to_end(&mut self, run: &Run) -> Counted {
        let Some(last) = self.nodes.len().checked_sub(1) else { return Counted::Cut };
        let stuck = run.outcome.failure().is_some_and(|failure| {
            matches!(failure.kind, FailureKind::Deadlock | FailureKind::Livelock)
        });
        let mut others = ThreadSet::default();
        if !stuck {
            // What the others would have done is not known yet.
            let node = &mut self.nodes[last];
            node.ends = true;
            node.backtrack = node.backtrack.with(node.enabled);
            others = node.enabled;
        }
        if matches!(run.outcome, Outcome::Exited { .. }) {
            self.reverse_end(last as u32);
        }
        self.reverse_blocked(others);
        if self.lanes.is_shared_path(&self.nodes) && !self.lanes.takes_next() {
            return Counted::NotMine;
        }
        if matches!(run.outcome, Outcome::Inconclusive { .. }) {
            return Counted::Cut;
        }
        let covered = self.order.len() > last && {
            let step = last as u32;
            let (made, everything) = (self.order.accesses(step), self.order.step(step).everything);
            covers_what_follows(&self.nodes[last].sleep_after(made, everything))
        };
        // Another run is the same without the rounds of those who resigned.
        let is_copy = matches!(run.outcome, Outcome::Exited { .. }) && !self.resigned().is_empty();
        if covered || is_copy { Counted::Redundant } else { Counted::New }
    }

    /// Who takes no further part in the present run.
    fn resigned(&self) -> ThreadSet {
        self.nodes.last().map_or(self.resigns, |node| node.resigned.with(self.resigns))
    }

    /// The end of the process is an event only if others are alive. If nobody was, that may be because they were fast.
    fn reverse_end(&mut self, last: u32) {
        let ended = self.order.len() as u32 == last + 1 && self.order.step(last).op != Op::End;
        if ended {
            let Step { thread, site, .. } = *self.order.step(last);
            self.order.push(thread, (Op::End, site), true, &[]);
            self.races.reverse_last(&self.order, &mut self.nodes);
            self.order.truncate(last as usize + 1);
        }
    }

    /// Sees to it that threads get their turn that are blocked at the end of a run: all but these.
    fn reverse_blocked(&mut self, not: ThreadSet) {
        let blocked: Vec<u32> = self.alive_but(not).collect();
        for thread in blocked {
            self.races.reverse_blocked(&self.order, &mut self.nodes, thread);
        }
    }

    fn was_stopped(&mut self, why: Stop) -> Counted {
        match why {
            Stop::Asleep => {
                // Who is blocked might have woken somebody who sleeps, had it come before who has what it waits for; also
                // a failure may have ended its thread with a lock that others wait for.
                self.reverse_blocked(self.enabled);
                Counted::Redundant
            }
            Stop::Vain => Counted::Redundant,
            Stop::NotMine => Counted::NotMine,
            Stop::Diverged => {
                self.count.leave_out(LeftOut::Unrepeated);
                Counted::Cut
            }
            Stop::TooManyThreads => {
                self.count.leave_out(LeftOut::ManyThreads { most: ThreadSet::MOST });
                Counted::Cut
            }
            Stop::TooLong => {
                self.count.leave_out(LeftOut::LongRuns { most: LONGEST as u64 });
                Counted::Cut
            }
        }
    }
}

impl Systematic for Exhaustive {
    fn scheduler(&mut self) -> Option<Box<dyn Scheduler + '_>> {
        if self.ended {
            return None;
        }
        self.underway.forget();
        Some(Box::new(Follow(self)))
    }

    fn learn(&mut self, run: &Run) -> Counted {
        let is_assumption = self.stopped.is_none() && !self.runs_on && self.is_assumption(run);
        if is_assumption {
            self.assumed_in_vain();
        } else if !self.runs_on {
            self.end_step();
        }
        if let Some(spot) = self.blind.of(run, None) {
            self.count.leave_out(LeftOut::Unseen(spot));
        }
        if self.took_for_wait && self.sees_time {
            self.count.leave_out(LeftOut::Unseen(BlindSpot::LongSpins));
        }
        let was_too_long = self.stopped == Some(Stop::TooLong);
        let counted = match self.stopped.take() {
            Some(why) => self.was_stopped(why),
            None if self.runs_on => self.ran_on(run),
            None if is_assumption => Counted::Assumed,
            None => self.came_to_end(run),
        };
        self.runs_on = false;
        self.resigns = ThreadSet::default();
        self.races.reverse_covered(&self.order, &mut self.nodes);
        self.ended = was_too_long || !backtrack(&mut self.nodes, &mut self.order);
        self.races.forget(self.order.len());
        self.guide = self.nodes.last_mut().map_or_else(Guide::default, Node::take_guide);
        self.count.add(run, counted)
    }

    fn summary(&self) -> unravel_trace::Reached {
        self.count.summary(Method::Exhaustive, self.ended, None)
    }
}
