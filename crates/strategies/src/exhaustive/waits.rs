//! Busy waits: a round that changed nothing and led back to where it began did not happen.
//!
//! A run with such a round is one without it, as far as anybody can tell: so a busy wait is a step that cannot be executed
//! until what it looks at has changed, as a lock that is taken (an *await*: Jonsson, Lång, Sagonas: *Awaiting for Godot*, FMCAD
//! 2022). Only by executing it is it known whether it can be. If it could not, nothing has happened: the
//! search goes on in the same run from the same state with another thread, and knows that this one waits there until somebody
//! writes what it read. It may have been possible earlier: a wait that came to nothing is tried before whatever wrote
//! what it looks at (`reverse_vain`).
//!
//! A step after which an assumption does not hold is such a step too, though the run ends with it.
//!
//! A round of several steps (`while (a && b)`) cannot be undone: others may have gone on in between. Its thread *resigns*: it
//! takes no further part in this run (Kokologiannakis, Ren, Vafeiadis: *Dynamic partial order reductions for spinloops*,
//! FMCAD 2021). What it would do after another look it does in the runs where it looks later, without this round. Such a run
//! is no class of its own, unless everybody is stuck at its end.
//!
//! If all who could go on wait or have resigned, they are let go on as they come: either that never ends, which is a livelock (or
//! a deadlock, if one of them lets others wait), or one of them gets out, and then other runs show it.
//!
//! If threads also wait for time to pass, nothing is called complete: time passes when nobody can go on, and who waits busily
//! can.
//!
//! Not taken for a wait: what changed any memory, asked whether the environment deviates, looked at a clock, went on because time
//! passed, or is a step of another kind than a look or an update that changes nothing. *Errs* towards more classes.

use unravel_trace::{Choice, FailureKind, LeftOut, Note, Op, Outcome, Role, Run, View};

use super::footprint::{Access, Footprint};
use super::order::Step;
use super::sleep::Sleeper;
use super::{Exhaustive, Stop, Underway, scheduler};
use crate::systematic::Counted;

impl Exhaustive {
    /// The current thread is back in a state that it was in so many steps ago. A choice, if its last step did not happen.
    pub(super) fn came_round(&mut self, view: &View<'_>, steps: u32) -> Option<Choice> {
        let thread = view.current.0;
        if !self.is_new_step() || self.underway.thread != thread {
            return None;
        }
        if steps == 1 && self.is_look() {
            return Some(self.goes_on_without(view));
        }
        self.end_step();
        self.resign(thread, steps);
        None
    }

    /// Whether the step that was executed last is not yet part of the order.
    pub(super) fn is_new_step(&self) -> bool {
        let index = self.order.len();
        self.underway.first.is_some()
            && self.underway.number as usize == index + 1
            && self.nodes.len() == index + 1
    }

    /// Whether that step, which changed nothing, only looked.
    fn is_look(&self) -> bool {
        let looks = |access: &Access| {
            matches!(access.touch.role, Role::Data | Role::Acquire | Role::AcquireShared)
        };
        let is_known = matches!(
            self.underway.first,
            Some((Op::Read | Op::Update | Op::Acquire | Op::AcquireShared, _))
        );
        is_known && self.asks_nothing() && self.underway.accesses.iter().all(looks)
    }

    fn asks_nothing(&self) -> bool {
        let node = &self.nodes[self.nodes.len() - 1];
        node.answers.is_empty() && !self.underway.everything
    }

    /// The last step came to nothing: as if it had not been chosen.
    fn goes_on_without(&mut self, view: &View<'_>) -> Choice {
        self.took_for_wait = true;
        self.wait_in_vain();
        self.underway.skip();
        let last = self.nodes.len() - 1;
        let node = &self.nodes[last];
        if !node.is_fresh() {
            return self.stop(view, Stop::Vain);
        }
        match scheduler::awake(node, view) {
            Some(other) => {
                let node = &mut self.nodes[last];
                node.thread = other;
                node.backtrack.insert(other);
                self.one_event(other)
            }
            None if node.enabled.is_empty() => self.run_on(view),
            None => {
                self.asleep = node.sleep.clone();
                self.enabled = node.enabled;
                self.stop(view, Stop::Asleep)
            }
        }
    }

    /// Notes that the thread of the step that was executed last waits for what it has read, and sees to it that it is tried
    /// where something else was there.
    fn wait_in_vain(&mut self) {
        let last = self.nodes.len() - 1;
        let Underway { thread, first, .. } = self.underway;
        let first = first.expect("a step was executed");
        let reads = |access: &Access| {
            let mut access = *access;
            access.touch.writes &= access.touch.role != Role::Data;
            access
        };
        let accesses: Vec<Access> = self.underway.accesses.iter().map(reads).collect();
        self.order.push(thread, first, false, &accesses);
        self.races.reverse_vain(&self.order, &mut self.nodes);
        let since = self.order.step(last as u32).since as usize;
        self.order.truncate(last);
        let waits = Sleeper::new(thread, Footprint { accesses, ..Footprint::default() });
        self.nodes[last].hinder(&waits);
        // So it was as long as nobody wrote what it read.
        for at in (since..last).rev() {
            let step = at as u32;
            let everything = self.order.step(step).everything;
            if waits.footprint.depends_on(self.order.accesses(step), everything) {
                break;
            }
            self.nodes[at].hinder(&waits);
        }
    }

    /// A thread that has gone round in several steps takes no further part in this run, if none of them asked anything.
    fn resign(&mut self, thread: u32, steps: u32) {
        let mut step = self.order.last_of(thread);
        for _ in 0..steps {
            let Some(at) = step.checked_sub(1) else { return };
            let node = &self.nodes[at as usize];
            let Step { op, everything, .. } = *self.order.step(at);
            // A sleep takes time, which others may see.
            if !node.answers.is_empty() || everything || op == Op::Yield {
                return;
            }
            step = self.order.step(at).since;
        }
        self.took_for_wait = true;
        self.resigns.insert(thread);
    }

    /// An assumption did not hold after the last step: it waits for what it has read. The others go on from where it was.
    pub(super) fn assumed_in_vain(&mut self) {
        self.wait_in_vain();
        self.underway.first = None;
        let last = self.nodes.len() - 1;
        let node = &mut self.nodes[last];
        if node.is_fresh()
            && let Some(other) = node.enabled.without(node.asleep).last()
        {
            node.backtrack.insert(other);
        }
    }

    /// Whether a run ended because an assumption did not hold after its last step, as which it need not have ended.
    pub(super) fn is_assumption(&self, run: &Run) -> bool {
        run.outcome == Outcome::Discarded
            && !run.notes.contains(&Note::EndlessLoop)
            && self.is_new_step()
            && self.asks_nothing()
    }

    /// Whoever could go on waits or has resigned.
    pub(super) fn run_on(&mut self, view: &View<'_>) -> Choice {
        self.runs_on = true;
        self.any(view)
    }

    /// Anybody but who was just there.
    pub(super) fn any(&self, view: &View<'_>) -> Choice {
        let other = view.enabled.iter().find(|ready| ready.thread != view.current);
        Choice { thread: other.unwrap_or(&view.enabled[0]).thread, events: 1 }
    }

    /// The run has ended after everybody waited.
    pub(super) fn ran_on(&mut self, run: &Run) -> Counted {
        let stuck = run.outcome.failure().is_some_and(|failure| {
            matches!(failure.kind, FailureKind::Deadlock | FailureKind::Livelock)
        });
        self.reverse_blocked(Default::default());
        if self.lanes.is_shared_path(&self.nodes) && !self.lanes.takes_next() {
            return Counted::NotMine;
        }
        match run.outcome {
            _ if stuck => Counted::New,
            Outcome::Inconclusive { .. } => Counted::Cut,
            Outcome::Discarded => Counted::Assumed,
            _ if !self.resigned().is_empty() => Counted::Redundant,
            // It was said to wait, and did not.
            _ => {
                self.count.leave_out(LeftOut::Unrepeated);
                Counted::Cut
            }
        }
    }
}
