//! Busy waits as waits ([`Want::awaits`]): says when a thread is back in a state that it was in.
//!
//! A round of a busy wait that changed nothing and led back to where it began might as well not have been: the others cannot tell,
//! and the thread will do what it would have done (Kokologiannakis, Ren, Vafeiadis: *Dynamic partial order reductions for
//! spinloops*, FMCAD 2021; Jonsson, Lång, Sagonas: *Awaiting for Godot*, FMCAD 2022). What a search makes of it is the search's.
//!
//! A round in which time passed is none of these: who polls may come by the time that has passed to something else, and others come before
//! or after it. So such rounds are executed, but that of two sleeps of the same length in a row, with no look at a clock in between,
//! the rest is known: the same again and again (*periodic*). Of those only the round is executed that is over when the next deadline
//! of somebody else has come, or after it (`clock.rs`). Rounds of other kinds are executed so often
//! ([`ROUNDS_BY_TIME`]) and then held back as busy waits are; if time then passes over one of them, the run has a note
//! ([`Note::ClockOrder`]).
//!
//! A state is where the thread is, its stack, and what its registers hold, but for those that it will write before it looks
//! at them ([`Machine::live_state`]): what the last round loaded says nothing. A round does not count if the thread changed any memory,
//! looked at a clock, or asked whether the environment deviates. A `sched_yield`, a pause or their like is part of the step before
//! it.

use unravel_trace::*;

use crate::budgets::ROUNDS_BY_TIME;
use crate::machine::Machine;
use crate::thread::Need;

/// When a thread was last in a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    /// How many steps it had taken.
    steps: u32,
    /// How often it had looked at a clock, and asked for deviations.
    looks: u32,
    questions: u32,
    /// What time it was.
    now: u64,
}

impl Machine {
    /// Whether the thread only lets others go first: part of the step before, if there was one since it did so last. A loop that does
    /// nothing else would never be looked at.
    #[inline]
    pub(crate) fn is_pause(&self, op: Op, need: Need) -> bool {
        self.awaits
            && op == Op::Yield
            && need == Need::Nothing
            && self.alive > 1
            && self.threads[self.current].atomic == 0
            && self.threads[self.current].paused_at != Some(self.threads[self.current].steps)
    }

    /// A thread arrives at a point. True if it was there in the same state, has changed nothing since, and no time has passed.
    pub(crate) fn arrives_again(&mut self, index: usize) -> bool {
        let state = match self.awaits {
            true => self.live_state(index),
            false => self.state_hash(index),
        };
        let (now, awaits) = (self.clock.now, self.awaits);
        let thread = &mut self.threads[index];
        let Arrival { steps, looks, questions, .. } = Arrival {
            steps: thread.steps,
            looks: thread.looks.count,
            questions: thread.questions,
            now,
        };
        let Some(before) = thread.arrivals.insert(state, Arrival { steps, looks, questions, now })
        else {
            return false;
        };
        let same = before.looks == looks && before.questions == questions;
        if before.now == now {
            thread.came_round = if same && awaits { steps - before.steps } else { 0 };
            return true;
        }
        thread.came_round = 0;
        thread.rounds_by_time += 1;
        let sleeps = thread.need == Need::Time && thread.timed && thread.timer.is_none();
        if same && sleeps && thread.deadline - now == now - before.now {
            thread.period = Some((thread.deadline, now - before.now));
        }
        thread.rounds_by_time > ROUNDS_BY_TIME
    }
}
