//! Threads that are led along their first branches and then go on by themselves.
//!
//! After Cortex (thesis §5.2.2.2, *Synthesizing a Symbolic Trace*): a thread follows a path that was made up, up to the
//! branch that was flipped, and from there nothing is known of its way. Cortex explores all ways from there, as symbolic
//! execution does; we go one, the way that the values say which memory holds in our own order, and tell which
//! branches could have gone another way: to flip these is to ask again.
//!
//! Nobody is after a failure here. A branch on what was read that leads to one is left by its other side, which leaves
//! the condition that decides the failure. A failure that no branch avoids ends its thread, and is told.
//!
//! Bounded: a thread that goes on for long by itself stops, quietly. *Not modelled*: that the process ends with its main
//! thread; the others go on to their ends. Errs on the side of paths that no schedule takes: what comes of them is
//! solved for, and executed.

use unravel_trace::{
    Bug, ConditionKind, ExprId, Failure, FailureKind, Otherwise, Outcome, ThreadId, ThreadName,
};

use super::graph::Owner;
use super::guide::{Aim, Guide};
use crate::budgets::{MOST_FREE_BRANCHES, MOST_LED_STEPS};
use crate::machine::Machine;

/// A failure that a thread comes to on its path, whatever it reads.
#[derive(Debug)]
pub(super) struct Reached {
    thread: ThreadId,
    /// The thread's last event.
    after: u32,
    failure: Box<Failure>,
}

impl Guide {
    /// The first failure of a led run.
    pub fn led_failure(&self) -> Option<&Failure> {
        self.reached().map(|reached| &*reached.failure)
    }

    /// What a led run says of its bug; `None` of other runs.
    pub(super) fn led_bug(&self) -> Option<Bug> {
        let reached =
            |reached: &Reached| Bug::Reached { thread: reached.thread, after: reached.after };
        self.is_led().then(|| self.reached().map_or(Bug::None, reached))
    }

    fn reached(&self) -> Option<&Reached> {
        match &self.aim {
            Some(Aim::Lead { reached, .. }) => reached.as_ref(),
            _ => None,
        }
    }

    /// A thread that was to be led, and never came to be.
    fn unborn(&self, names: &[ThreadName]) -> Option<ThreadName> {
        let Some(Aim::Lead { lead, .. }) = &self.aim else { return None };
        let unborn =
            lead.threads.iter().find(|led| !led.outcomes.is_empty() && !names.contains(&led.name));
        unborn.map(|led| led.name.clone())
    }
}

impl Machine {
    /// Whether what the current thread read decides an expression. What others read and handed on is no choice of
    /// its own.
    pub(super) fn depends_on_own(&mut self, id: ExprId) -> bool {
        match self.concolic.graph.owner(id) {
            Owner::Nobody => false,
            Owner::Thread(thread) => thread == self.current,
            Owner::Several => true,
        }
    }

    /// Which way a thread goes that nobody leads any more; `open` if what it read decides.
    pub(super) fn free_way(&mut self, actual: u32, open: bool) -> u32 {
        let me = self.current;
        if self.guided(me).taken_freely() >= MOST_FREE_BRANCHES {
            self.stop_here();
        }
        let avoided = open && self.is_doomed_way(actual);
        let way = match self.other_ways(actual).first() {
            Some(other) if avoided => *other,
            _ => self.leave_spin(actual, open),
        };
        self.guided(me).went(way, open);
        way
    }

    pub(super) fn count_led_step(&mut self) {
        let me = self.current;
        let thread = self.guided(me);
        thread.steps += 1;
        if thread.steps <= MOST_LED_STEPS {
            return;
        }
        if thread.is_used_up() {
            self.stop_here();
        }
        let who = self.names[me].clone();
        self.give_up(format!(
            "{who} is not at the end of its path after {MOST_LED_STEPS} instructions"
        ))
    }

    /// An assumption holds, and so does an assertion: makes the argument say so, if what was read decides.
    pub(super) fn led_truth(
        &mut self,
        fp: *const u64,
        reg: u32,
        (truth, actual): (ExprId, bool),
        otherwise: Otherwise,
    ) -> bool {
        if actual || otherwise == Otherwise::Exits || !self.depends_on_own(truth) {
            return actual;
        }
        let argument = self.frame_at(fp).get(reg);
        self.add_branch(truth, true, otherwise);
        self.say_truth(fp, reg, true);
        // The slot may be used again: from now on it has the value that it says.
        if let Some(argument) = argument {
            let holds = self.concolic.graph.equals(argument, 1);
            self.add_condition(holds, ConditionKind::Fixed);
        }
        true
    }

    /// The run would end here: the thread does.
    pub(super) fn led_finish(&mut self, outcome: Outcome) -> ! {
        let me = self.current;
        let used_up = self.guided(me).is_used_up();
        match outcome {
            // In our own order it was freed before. The condition that it is alive says the rest.
            Outcome::Failed(failure) if is_about_order(failure.kind) => {
                self.concolic.fault = None;
                self.suggest_for(me);
                if !used_up {
                    self.give_up(format!("{} fails: {}", self.names[me], failure.message));
                }
            }
            Outcome::Failed(failure) => {
                self.suggest_for(me);
                self.reach(failure);
            }
            Outcome::Exited { .. } if used_up => {}
            Outcome::Exited { .. } => self.give_up_early(),
            Outcome::Discarded => {
                self.suggest_for(me);
                self.give_up(format!("{} leaves an assumption", self.names[me]))
            }
            Outcome::Inconclusive { .. } if used_up => {}
            Outcome::Inconclusive { reason, .. } => self.give_up(reason),
        }
        self.stop_here()
    }

    /// The current thread fails. Only the first failure counts.
    fn reach(&mut self, failure: Box<Failure>) {
        let me = self.current;
        let after = self.concolic.thread(me).last_event.unwrap_or(0);
        if let Some(Aim::Lead { reached, .. }) = &mut self.concolic.guide.aim {
            reached.get_or_insert(Reached { thread: ThreadId(me as u32), after, failure });
        }
    }

    /// The failure that a led run ends with when nobody can go on, though others may be stuck on their own.
    pub(super) fn led_end(&mut self) -> Option<Box<Failure>> {
        let failure = Box::new(self.concolic.guide.led_failure()?.clone());
        let stuck = self.stuck().map(|(thread, ..)| thread);
        let matters = stuck.is_some_and(|thread| !self.guided(thread).is_used_up());
        (!matters).then_some(failure)
    }

    /// How a led run without a failure ends when nobody is stuck.
    pub(super) fn led_outcome(&mut self) -> Outcome {
        let behind = (0..self.thread_count).find(|thread| !self.guided(*thread).is_used_up());
        let reason = if let Some(thread) = behind {
            self.suggest_for(thread);
            format!("{} did not come to the end of its path", self.names[thread])
        } else if let Some(name) = self.concolic.guide.unborn(&self.names) {
            self.suggest_any();
            format!("{name} was never created")
        } else {
            self.suggest_any();
            return Outcome::Exited { code: 0 };
        };
        Outcome::Inconclusive { reason, at: None }
    }
}

/// Failures that depend on when another thread freed something.
fn is_about_order(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::UseAfterFree | FailureKind::DoubleFree)
}
