//! Whose turn it is in a guided run.
//!
//! A child runs right at its fork, as far as its path goes, then its parent goes on: depth first, so that memory
//! handed from one to the other is right. Who has to wait (for a lock, a signal, another thread's end, an object
//! that nobody has made yet) waits as long as anybody else can go on; then it is let through, because it did get
//! through in the failing run. A thread that goes round in circles ([`super::spin`]) comes after those. So the guesses
//! come close to what a real run would have read, and nothing blocks.

use unravel_trace::{ExprId, FailureKind, Op, Outcome, Pending, ThreadId};

use crate::machine::Machine;
use crate::thread::Need;

/// The rank of threads that wait for another's end among those that are let through.
const JOINS: u32 = 2;

/// What a thread of a guided run is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Turn {
    #[default]
    Runs,
    /// For what its pending event needs.
    Waits,
    /// It was let through although it should wait.
    Forced,
    /// For something to change since this many events: its guess of an address is no object.
    Retries { since: u64, address: ExprId, bytes: u64 },
    /// For something to change since this many events: it goes round in circles.
    Spins { since: u64 },
    /// For all others.
    Last,
    /// It has come to the end of its path.
    Stopped,
}

impl Machine {
    /// The point of a guided run: the current thread goes on as soon as it may.
    pub(crate) fn guided_point(&mut self, pending: Pending, need: Need) {
        let Pending { op, site, .. } = pending;
        let me = self.current;
        self.threads[me].pending = pending;
        self.threads[me].need = need;
        let thread = self.guided(me);
        if need != Need::Nothing && thread.is_used_up() && thread.blocked_at == Some(site) {
            self.stop_here();
        }
        if op == Op::End {
            self.go_last();
        }
        while !self.is_satisfied(me, need) && self.guided(me).turn != Turn::Forced {
            self.guided(me).turn = Turn::Waits;
            self.give_turn();
        }
        let forced = self.guided(me).turn == Turn::Forced;
        self.guided(me).turn = Turn::Runs;
        if forced && matches!(need, Need::Wake { .. } | Need::Futex(_)) {
            // Somebody woke it.
            let other = if me == 0 { 1 } else { 0 };
            self.threads[me].woken_by = Some(ThreadId(other));
        }
        if self.threads[me].timed {
            self.threads[me].timed_out = self.guided_answer(forced);
        }
        if self.threads[me].atomic == 0 || op == Op::Fence {
            self.count_event();
        }
        let events = self.events;
        let thread = &mut self.threads[me];
        thread.need = Need::Nothing;
        thread.timed = false;
        thread.jumps = 0;
        thread.empty_loops = 0;
        thread.last_event = events;
    }

    /// A child was forked: it runs first, from the parent's next instruction on.
    pub fn guided_fork(&mut self, child: ThreadId) {
        if self.concolic.guide.is_on() {
            if self.thread_count == 2 {
                // Whoever is alive when, every access is to be a point: as if one thread never ended.
                self.alive += 1;
                self.update_flags();
            }
            self.concolic.guide.handover = Some(child.index());
        }
    }

    pub(super) fn hand_over(&mut self, child: usize) {
        self.current = child;
        self.suspend();
    }

    /// The current thread waits until it is chosen again.
    fn give_turn(&mut self) {
        let me = self.current;
        self.choose_turn();
        if self.outcome.is_some() {
            self.leave_for_good();
        }
        if self.current != me {
            self.suspend();
        }
    }

    pub(super) fn retry_later(&mut self, address: ExprId, bytes: u64) {
        let me = self.current;
        self.guided(me).turn = Turn::Retries { since: self.events, address, bytes };
        self.give_turn();
        self.guided(me).turn = Turn::Runs;
    }

    /// Lets others go on first. Whether anybody did.
    pub(super) fn let_others_go_on(&mut self) -> bool {
        let (me, since) = (self.current, self.events);
        self.guided(me).turn = Turn::Spins { since };
        self.give_turn();
        self.guided(me).turn = Turn::Runs;
        self.events > since
    }

    pub(super) fn go_last(&mut self) {
        let me = self.current;
        self.guided(me).turn = Turn::Last;
        self.give_turn();
        self.guided(me).turn = Turn::Runs;
    }

    /// The current thread has come to the end of its path.
    pub(super) fn stop_here(&mut self) -> ! {
        let me = self.current;
        self.guided(me).turn = Turn::Stopped;
        self.choose_turn();
        self.leave_for_good()
    }

    /// Makes the thread current whose turn it is; without one, the run is over.
    pub(crate) fn choose_turn(&mut self) {
        for index in 0..self.thread_count {
            self.guided(index);
        }
        match self.next_turn() {
            Some(next) => self.current = next,
            None => self.end_guided(),
        }
    }

    fn next_turn(&mut self) -> Option<usize> {
        let alive: Vec<usize> =
            (0..self.thread_count).rev().filter(|t| !self.threads[*t].ended).collect();
        let turn = |machine: &Machine, index: usize| machine.concolic.guide.threads[index].turn;
        let ready = alive.iter().copied().find(|t| match turn(self, *t) {
            Turn::Runs => true,
            Turn::Waits => self.is_satisfied(*t, self.threads[*t].need),
            _ => false,
        });
        let events = self.events;
        let stuck =
            |t: &usize| matches!(turn(self, *t), Turn::Retries { since, .. } if since < events);
        let spins = |t: &usize| matches!(turn(self, *t), Turn::Spins { .. });
        let spun = |t: &usize| matches!(turn(self, *t), Turn::Spins { since } if since < events);
        let find = |is: &dyn Fn(&usize) -> bool| alive.iter().copied().find(is);
        if let Some(next) = ready.or_else(|| find(&stuck)).or_else(|| find(&spun)) {
            return Some(next);
        }
        // Whoever goes round in circles may still end: nobody gets past joining it before that.
        let spinning = find(&spins);
        if let Some((rank, next)) = self.force(&alive)
            && (rank < JOINS || spinning.is_none())
        {
            self.concolic.guide.threads[next].turn = Turn::Forced;
            return Some(next);
        }
        spinning.or_else(|| find(&|t| turn(self, *t) == Turn::Last))
    }

    /// Who is let through first: those that surely went on, then those that may have.
    fn force(&self, alive: &[usize]) -> Option<(u32, usize)> {
        let waits = |t: &&usize| self.concolic.guide.threads[**t].turn == Turn::Waits;
        let joins = |t: usize| matches!(self.threads[t].need, Need::Ended(_));
        let rank = |t: usize| {
            let surely = !self.concolic.guide.threads[t].is_used_up();
            let fails = self.is_failing_thread(t) && self.concolic.guide.failed().is_none();
            match (surely || fails, joins(t)) {
                (true, false) => Some(0),
                (false, false) => Some(1),
                // Whoever is joined did end, if it is not stuck.
                (true, true) if self.stuck().is_none() => Some(JOINS),
                (true, true) => None,
                (false, true) => None,
            }
        };
        alive.iter().filter(waits).filter_map(|t| Some((rank(*t)?, *t))).min()
    }

    /// The first thread whose guess of an address is no object, with the address.
    pub(super) fn stuck(&self) -> Option<(usize, ExprId, u64)> {
        let guided = self.concolic.guide.threads.iter().enumerate();
        guided.filter(|(t, _)| !self.threads[*t].ended).find_map(|(t, guided)| match guided.turn {
            Turn::Retries { address, bytes, .. } => Some((t, address, bytes)),
            _ => None,
        })
    }

    /// Other addresses for a thread that is stuck.
    pub(super) fn suggest_for_stuck(&mut self) {
        if let Some((_, address, bytes)) = self.stuck() {
            self.suggest_value(address, |machine, value| {
                bytes == 0 || machine.is_object(value as u64, bytes)
            });
        }
    }

    /// Nobody can go on: either all paths are complete, or somebody is stuck.
    fn end_guided(&mut self) {
        let outcome = if let Some(failure) = self.led_end() {
            Outcome::Failed(failure)
        } else if let Some((thread, _, _)) = self.stuck() {
            self.current = thread;
            let place = self.place_now();
            self.suggest_for(thread);
            let reason = format!(
                "{} uses a pointer at {place} that nobody is known to have written",
                self.names[thread]
            );
            Outcome::Inconclusive { reason, at: None }
        } else {
            self.complete_outcome()
        };
        self.outcome.get_or_insert(outcome);
    }

    fn complete_outcome(&mut self) -> Outcome {
        let Some(expected) = self.concolic.guide.expected().cloned() else {
            return self.led_outcome();
        };
        if let Some(thread) = self.concolic.guide.failed() {
            self.current = thread;
            self.suggest_any();
            return Outcome::Failed(Box::new(expected));
        }
        let threads = 0..self.thread_count;
        let blocked = |t: usize| {
            let (thread, guided) = (&self.threads[t], &self.concolic.guide.threads[t]);
            thread.ended || guided.is_used_up() && guided.blocked_at == Some(thread.pending.site)
        };
        if expected.kind == FailureKind::Deadlock && threads.clone().all(blocked) {
            self.suggest_any();
            return Outcome::Failed(Box::new(expected));
        }
        let failing = threads.clone().find(|t| self.is_failing_thread(*t)).unwrap_or(0);
        self.current = failing;
        self.suggest_for(failing);
        let reason = format!("{} did not come to its failure", self.names[failing]);
        Outcome::Inconclusive { reason, at: None }
    }
}
