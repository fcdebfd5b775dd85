//! Busy waits in runs of a search ([`Want::skip_rounds`]): rounds that change nothing are not worth a decision.
//!
//! Two things, neither of which changes what a schedule means: the run is one that could be had without them, decision by
//! decision, and is replayed so.
//!
//! *Who waits is not offered.* A thread that is back in a state it was in, nothing changed in between, would do the same
//! again: it is left out of what the scheduler may choose from until something changes, as long as somebody else can
//! go on. (With [`Want::prune_spins`], where no other run is wanted, `point.rs` does the same more strictly.)
//!
//! *Rounds of library code are one step.* The waits of the C++ library (semaphores, barriers, `atomic::wait`, latches) look a
//! dozen times before they go to sleep, with a hint to the processor or a `sched_yield` in between, and count on, so that no
//! state comes again. Every number of rounds would be a class of schedules of its own. After such a hint, reads that the
//! thread has made before, at the same site and address and with nothing changed since by anybody, return the same: nobody is asked
//! before them, nor before the hint. What is not tried then is that something changes between two of these rounds rather than before or after all of
//! them, which such a loop can tell by nothing but its counter. Loops of the user's own may count for a reason: they are left
//! alone.

use unravel_trace::*;

use crate::budgets::{MOST_ROUND_EVENTS, MOST_ROUND_READS, SPIN_LOOK};
use crate::machine::{Machine, State};
use crate::thread::Need;

/// What a thread has done since anything changed.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// The value of `Machine::shared_progress` all that time.
    progress: u64,
    /// Reads.
    seen: Vec<(SiteId, u64)>,
    /// There was a hint of library code after the last new one.
    hinted: bool,
    /// Events in a row that nobody was asked about.
    repeated: u32,
    /// It is back in an old state: it waits until `Machine::progress` has another value.
    waits: Option<u64>,
    /// The value of `Machine::progress` when it was in the states that are remembered.
    states_at: u64,
    /// The sites it came to since it changed anything, by a bit each (sites may share one): a state has a site, so that who
    /// comes to a new one is in no old state.
    sites: u64,
}

impl Round {
    pub fn clear(&mut self) {
        self.seen.clear();
        (self.hinted, self.repeated, self.waits) = (false, 0, None);
    }

    /// The thread did something that is no look: what it has read before counts no more.
    #[inline]
    pub fn forget(&mut self) {
        (self.progress, self.waits) = (u64::MAX, None);
    }

    /// Whether the thread would do nothing new.
    pub fn waits(&self, progress: u64) -> bool {
        self.waits == Some(progress)
    }
}

impl Machine {
    /// Whether the current thread, about to do this, repeats a round of a busy wait in library code.
    #[inline]
    pub(crate) fn repeats_round(&mut self, op: Op, site: SiteId, address: u64, need: Need) -> bool {
        let is_hint = op == Op::Yield && need == Need::Nothing;
        if is_hint || op == Op::Read {
            return self.repeats_look(is_hint, site, address);
        }
        let me = self.current;
        self.threads[me].round.forget();
        false
    }

    fn repeats_look(&mut self, is_hint: bool, site: SiteId, address: u64) -> bool {
        let me = self.current;
        if self.alive <= 1 || self.threads[me].atomic > 0 {
            return false;
        }
        let progress = self.shared_progress;
        let round = &mut self.threads[me].round;
        if round.progress != progress {
            round.clear();
            round.progress = progress;
            return false;
        }
        let what = (site, address);
        let is_known = round.seen.contains(&what);
        if is_hint {
            // The hint itself concerns nobody: it belongs to the look before it.
            let site = self.program.sites.get(site.index());
            let in_library = site.is_some_and(|site| site.place.is_system());
            let round = &mut self.threads[me].round;
            round.hinted |= in_library && !round.seen.is_empty();
            round.repeated += 1;
            return in_library && round.hinted && round.repeated < MOST_ROUND_EVENTS;
        }
        if !is_known {
            if round.seen.len() == MOST_ROUND_READS {
                round.clear();
            }
            round.seen.push(what);
            (round.hinted, round.repeated) = (false, 0);
            return false;
        }
        round.repeated += 1;
        round.hinted && round.repeated < MOST_ROUND_EVENTS
    }

    /// Notes whether the current thread is back in a state it was in with nothing changed in between. True if so.
    #[inline]
    pub(crate) fn look_for_old_state(&mut self) -> bool {
        let me = self.current;
        let thread = &mut self.threads[me];
        let site = 1 << (thread.pending.site.0 % u64::BITS);
        let sites = if thread.idle == 0 { 0 } else { thread.round.sites };
        thread.round.sites = sites | site;
        // Only who looks for a spin remembers states.
        (thread.idle >= SPIN_LOOK && sites & site != 0 || thread.looks_for_spin)
            && self.compare_with_old_states()
    }

    fn compare_with_old_states(&mut self) -> bool {
        let me = self.current;
        let (progress, alone) = (self.progress, self.alive <= 1);
        let thread = &mut self.threads[me];
        if thread.idle < SPIN_LOOK || thread.atomic > 0 || alone {
            thread.idle_states.clear();
            if std::mem::take(&mut thread.looks_for_spin) {
                self.update_flags();
            }
            return false;
        }
        if !std::mem::replace(&mut thread.looks_for_spin, true) {
            self.update_flags();
        }
        let state = self.state_hash(me);
        let thread = &mut self.threads[me];
        if std::mem::replace(&mut thread.round.states_at, progress) != progress {
            thread.idle_states.clear();
        }
        let is_old = !thread.idle_states.insert(state);
        thread.round.waits = is_old.then_some(progress);
        is_old
    }

    /// Leaves threads out that would do nothing new, if there are others.
    pub(crate) fn leave_out_waiting(&mut self) {
        let progress = self.progress;
        let State { threads, ready, .. } = &mut **self;
        let waits = |ready: &Ready| threads[ready.thread.index()].round.waits(progress);
        if ready.iter().any(waits) && !ready.iter().all(waits) {
            ready.retain(|candidate| !waits(candidate));
        }
    }

    /// A store that changed memory: seen by others, or counted for somebody who looks for busy waits.
    pub(crate) fn stored(&mut self, is_point: bool) {
        if is_point || self.stagnation.is_watched() || self.prune_spins {
            self.made_progress();
            self.shared_progress -= u64::from(!is_point);
        } else {
            self.current_thread().idle_states.clear();
        }
    }
}

impl State {
    /// So many stores of the current thread changed memory that nobody else can see, while nobody is watched for getting
    /// nowhere: the same as [`Machine::stored`] for each of them.
    pub(crate) fn stored_unseen(&mut self, times: u64) {
        if self.prune_spins {
            self.progress += times;
            let thread = self.current_thread();
            thread.idle = 0;
            thread.changes += times;
        } else {
            self.current_thread().idle_states.clear();
        }
    }
}
