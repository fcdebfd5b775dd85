//! Guided execution: every thread is led along a given path, whatever its concrete values say.
//!
//! After Symbiosis (*symbolic trace collector*): the only thing known of the failing run is which way each thread
//! went at its branches ([`unravel_trace::Paths`]). The threads are executed in an order of our own ([`super::turns`]);
//! what they read from shared memory is a fresh symbol whose concrete value is no more than a guess, and a branch on a
//! symbol goes the recorded way and leaves its condition. Where a concrete value is needed (an address, an argument
//! of a library function) the guess is kept by a condition, as in every concolic run; a guess that leads nowhere is
//! replaced in the next attempt by another value that somebody wrote to the same place ([`super::guesses`]).
//!
//! After Cortex, the same machinery makes runs that nobody has seen: threads are led along their first branches only
//! ([`unravel_trace::Lead`]), and what they do then is in [`super::lead`].
//!
//! *Not modelled*: how a library function that is not followed would have behaved with other values; where a thread
//! stood after its last branch (it goes on to the next, which does no harm: what comes after the failure is not
//! executed). Errs on the side of finding nothing: every schedule that comes of this is executed.

use rustc_hash::FxHashSet;
use unravel_code::Inst;
use unravel_trace::{
    ExprId, Failure, FailureKind, Guess, Lead, Otherwise, Outcome, Paths, Place, SiteId, Then,
    user_place,
};

use super::guesses::Guesses;
use super::lead::Reached;
use super::spin::Spins;
use super::turns::Turn;
use crate::machine::{Machine, State};
use crate::memory::in_arena;

#[derive(Debug, Default)]
pub(crate) struct Guide {
    /// `None` in runs that are not guided.
    pub(super) aim: Option<Aim>,
    pub(super) guesses: Guesses,
    pub(super) threads: Vec<Guided>,
    pub(super) handover: Option<usize>,
    /// Locks as their holders see them: several may have been let through.
    held: FxHashSet<(usize, u64)>,
    /// The current instruction is a load whose value may be replaced.
    pub(super) replaceable: bool,
    pub(super) contradiction: bool,
}

/// What a guided run is after.
#[derive(Debug)]
pub(super) enum Aim {
    /// The failure of a recorded run, along the whole paths of its threads.
    Failure {
        paths: Paths,
        /// The thread that has failed as it was to.
        failed: Option<usize>,
    },
    /// What becomes of threads that begin so.
    Lead {
        lead: Lead,
        /// The first failure that a thread came to.
        reached: Option<Reached>,
    },
}

/// A thread on its path.
#[derive(Debug, Default)]
pub(super) struct Guided {
    /// The branches it is led along, then those it took by itself.
    outcomes: Vec<u32>,
    /// How many of them it is led along.
    given: usize,
    next: usize,
    then: Then,
    /// Branches it took by itself that could have gone another way.
    open: Vec<u32>,
    /// Guesses so far.
    pub(super) guessed: u32,
    /// Instructions so far, of a led run.
    pub(super) steps: u64,
    pub(super) spins: Spins,
    pub(super) turn: Turn,
    pub(super) blocked_at: Option<SiteId>,
    /// It waited at the failing site for the others.
    was_last: bool,
}

impl Guided {
    fn new(outcomes: Vec<u32>, then: Then) -> Guided {
        Guided { given: outcomes.len(), outcomes, then, ..Guided::default() }
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.next >= self.given
    }

    /// How many branches it took by itself.
    pub(super) fn taken_freely(&self) -> usize {
        self.next.saturating_sub(self.given)
    }

    /// It went this way by itself; `open` if it could have gone another.
    pub(super) fn went(&mut self, way: u32, open: bool) {
        if open {
            self.open.push(self.next as u32);
        }
        self.outcomes.push(way);
        self.next += 1;
    }

    /// The path that it took, and its open branches.
    pub(super) fn into_path(mut self) -> (Vec<u32>, Vec<u32>) {
        self.outcomes.truncate(self.next);
        (self.outcomes, self.open)
    }
}

impl Guide {
    /// Along the paths of a failing run.
    pub fn along(paths: &Paths, guesses: &[Guess]) -> Guide {
        Guide::new(Aim::Failure { paths: paths.clone(), failed: None }, guesses)
    }

    /// Along the first branches of threads.
    pub fn leading(lead: &Lead, guesses: &[Guess]) -> Guide {
        Guide::new(Aim::Lead { lead: lead.clone(), reached: None }, guesses)
    }

    fn new(aim: Aim, guesses: &[Guess]) -> Guide {
        Guide { aim: Some(aim), guesses: Guesses::new(guesses), ..Guide::default() }
    }

    pub fn is_on(&self) -> bool {
        self.aim.is_some()
    }

    /// Whether threads go on by themselves.
    pub fn is_led(&self) -> bool {
        matches!(self.aim, Some(Aim::Lead { .. }))
    }

    pub fn is_contradicted(&self) -> bool {
        self.contradiction
    }

    /// The thread that has failed as it was to.
    pub fn failed(&self) -> Option<usize> {
        match &self.aim {
            Some(Aim::Failure { failed, .. }) => *failed,
            _ => None,
        }
    }

    pub fn take_others(&mut self) -> Vec<Guess> {
        self.guesses.take_others()
    }

    /// The failure that the run is after.
    pub(super) fn expected(&self) -> Option<&Failure> {
        match &self.aim {
            Some(Aim::Failure { paths, .. }) => Some(&paths.failure),
            _ => None,
        }
    }

    fn expects(&self, kind: FailureKind) -> bool {
        self.expected().is_some_and(|failure| failure.kind == kind)
    }
}

impl Machine {
    /// The state of a thread, made when it is first asked for.
    pub(super) fn guided(&mut self, index: usize) -> &mut Guided {
        let State { concolic, names, .. } = &mut **self;
        let guide = &mut concolic.guide;
        while guide.threads.len() <= index {
            let name = &names[guide.threads.len()];
            let thread = match guide.aim.as_ref().expect("a guide has an aim") {
                Aim::Failure { paths, .. } => {
                    let path = paths.threads.iter().find(|path| path.name == *name);
                    let outcomes = path.map(|path| path.outcomes.clone()).unwrap_or_default();
                    let blocked_at = path.and_then(|path| path.blocked_at);
                    Guided { blocked_at, ..Guided::new(outcomes, Then::Stop) }
                }
                Aim::Lead { lead, .. } => match lead.threads.iter().find(|led| led.name == *name) {
                    Some(led) => Guided::new(led.outcomes.clone(), led.then),
                    None => Guided::new(Vec::new(), Then::Free),
                },
            };
            guide.threads.push(thread);
        }
        &mut guide.threads[index]
    }

    pub(super) fn is_failing_thread(&self, index: usize) -> bool {
        let expected = self.concolic.guide.expected();
        expected.is_some_and(|failure| failure.thread == self.names[index])
    }

    /// What a guided run does before each instruction.
    ///
    /// # Safety
    /// As for `shadow_step`.
    pub(super) unsafe fn guide_step(&mut self, pc: *const Inst, fp: *const u64) {
        if let Some(child) = self.concolic.guide.handover.take() {
            self.hand_over(child);
        }
        if self.concolic.guide.is_led() {
            self.count_led_step();
        }
        // SAFETY: as promised above.
        let (inst, value) = unsafe { (*pc, |reg: u32| *fp.add(reg as usize)) };
        self.concolic.guide.replaceable = matches!(
            inst,
            Inst::Load8 { .. } | Inst::Load16 { .. } | Inst::Load32 { .. } | Inst::Load64 { .. }
        );
        let (ptr, bytes) = match inst {
            Inst::Load8 { ptr, .. } | Inst::Store8 { ptr, .. } => (ptr, 1),
            Inst::Load16 { ptr, .. } | Inst::Store16 { ptr, .. } => (ptr, 2),
            Inst::Load32 { ptr, .. } | Inst::Store32 { ptr, .. } => (ptr, 4),
            Inst::Load64 { ptr, .. } | Inst::Store64 { ptr, .. } => (ptr, 8),
            Inst::LoadN { ptr, bytes, .. } | Inst::StoreN { ptr, bytes, .. } => (ptr, bytes),
            Inst::Rmw { ptr, bits, .. } | Inst::CmpXchg { ptr, bits, .. } => {
                (ptr, u32::from(bits) / 8)
            }
            Inst::CopyToFrame { src, bytes, .. } => (src, bytes),
            Inst::CallExternal { .. } => {
                if self.is_where_it_fails() {
                    self.wait_for_others();
                }
                return;
            }
            _ => return,
        };
        let bytes = u64::from(bytes);
        if self.is_where_it_fails() {
            self.wait_for_others();
            let id = self.frame_at(fp).get(ptr);
            if let Some(id) = id
                && self.memory.check(value(ptr), bytes).is_ok()
            {
                // If it does not fail here after all, another address might.
                let current = self.current;
                self.concolic.guide.guesses.keep(current, id);
                self.wait_for_address(fp, ptr, bytes);
            }
            return;
        }
        self.wait_for_address(fp, ptr, bytes);
    }

    /// Waits until an address that was guessed is that of an object.
    pub(super) fn wait_for_address(&mut self, fp: *const u64, ptr: u32, bytes: u64) {
        let Some(id) = self.frame_at(fp).get(ptr) else { return };
        let address = self.frame_at(fp).value(ptr);
        while !self.is_object(address, bytes) {
            self.retry_later(id, bytes);
        }
    }

    /// Whether an address may be used; in the right order, if not in this one.
    pub(super) fn is_object(&self, address: u64, bytes: u64) -> bool {
        match self.memory.check(address, bytes) {
            Ok(()) => in_arena(address) || is_mapped(address),
            Err(fault) => is_tolerable(fault),
        }
    }

    /// The same for what is handed to a library function, which may well be null.
    pub(super) fn wait_for_argument(&mut self, fp: *const u64, reg: u32) {
        if self.concolic.guide.is_on() && self.frame_at(fp).value(reg) != 0 {
            self.wait_for_address(fp, reg, 1);
        }
    }

    /// An assumption held, and so did all assertions but the one that failed. Makes the argument say so.
    pub(super) fn guided_truth(
        &mut self,
        fp: *const u64,
        reg: u32,
        (truth, actual): (ExprId, bool),
        otherwise: Otherwise,
    ) -> bool {
        let me = self.current;
        if !self.concolic.guide.is_on() {
            return actual;
        }
        if self.concolic.guide.is_led() {
            return self.led_truth(fp, reg, (truth, actual), otherwise);
        }
        let used_up = self.guided(me).is_used_up();
        let expected = self.concolic.guide.expected().and_then(|failure| failure.stack.first());
        let here = self.stack_of(me).first() == expected;
        let fails = used_up && here && self.is_failing_thread(me);
        let truth = if self.expects_exit_code() { used_up } else { !fails };
        self.say_truth(fp, reg, truth);
        truth
    }

    /// Makes an argument say that something is true or false.
    pub(super) fn say_truth(&mut self, fp: *const u64, reg: u32, truth: bool) {
        self.frame_at(fp).set(reg, None);
        // SAFETY: a slot of the frame that is being executed.
        unsafe { *fp.cast_mut().add(reg as usize) = u64::from(truth) };
    }

    pub(super) fn expects_exit_code(&self) -> bool {
        self.concolic.guide.expects(FailureKind::ExitCode)
    }

    /// Whether the current instruction may be the one that fails.
    fn is_where_it_fails(&mut self) -> bool {
        let me = self.current;
        if !self.guided(me).is_used_up() || !self.is_failing_thread(me) {
            return false;
        }
        let Some(expected) = self.concolic.guide.expected() else { return false };
        let about_memory = matches!(
            expected.kind,
            FailureKind::NullDereference
                | FailureKind::UseAfterFree
                | FailureKind::DoubleFree
                | FailureKind::InvalidFree
                | FailureKind::OutOfBounds
                | FailureKind::DeadStack
                | FailureKind::Crash
                | FailureKind::SyncMisuse
        );
        let place = expected.stack.first().cloned();
        about_memory && self.stack_of(me).first() == place.as_ref()
    }

    /// Before the failing access: whatever makes it fail may be yet to come.
    fn wait_for_others(&mut self) {
        let me = self.current;
        if !std::mem::replace(&mut self.guided(me).was_last, true) {
            self.go_last();
        }
    }

    /// Whether an access that the memory refuses is only in the wrong order.
    pub fn tolerates(&mut self, fault: crate::memory::Fault) -> bool {
        self.concolic.guide.is_on() && is_tolerable(fault) && !self.is_where_it_fails()
    }

    /// Which way the current thread goes: as it is to (a guided run), or as it does, which is kept. `on` is what decides,
    /// if it is symbolic.
    pub(super) fn direct(&mut self, actual: u32, on: Option<ExprId>) -> u32 {
        let went = if self.concolic.guide.is_on() {
            self.guided_way(actual, on)
        } else {
            let me = self.current;
            self.concolic.thread(me).outcomes.push(actual);
            actual
        };
        self.concolic.direction = went;
        went
    }

    fn guided_way(&mut self, actual: u32, on: Option<ExprId>) -> u32 {
        let me = self.current;
        let open = on.is_some_and(|id| !self.concolic.guide.is_led() || self.depends_on_own(id));
        let thread = self.guided(me);
        let Some(given) = thread.outcomes.get(thread.next).copied() else {
            return match thread.then {
                Then::Stop => self.stop_here(),
                Then::Free => self.free_way(actual, open),
            };
        };
        thread.next += 1;
        if !open && given != actual {
            let place = self.place_now();
            let who = self.names[me].clone();
            self.suggest_for(me);
            self.give_up(format!(
                "{who} went the other way at {place}, though nothing it read decides that"
            ));
        }
        given
    }

    /// How many branches a thread has taken.
    pub(super) fn guided_branches(&mut self, index: usize) -> u32 {
        self.guided(index).next as u32
    }

    /// Where the current thread is, for people.
    pub(super) fn place_now(&self) -> String {
        let stack = self.stack_of(self.current);
        user_place(&stack).map_or_else(|| "an unknown place".to_owned(), Place::short)
    }

    /// Whether the current thread holds a lock, in its own eyes.
    pub fn guided_holds(&self, address: u64) -> Option<bool> {
        let guide = &self.concolic.guide;
        guide.is_on().then(|| guide.held.contains(&(self.current, address)))
    }

    pub fn guided_take(&mut self, address: u64, taken: bool) {
        let me = self.current;
        let guide = &mut self.concolic.guide;
        if guide.is_on() && taken {
            guide.held.insert((me, address));
        } else if guide.is_on() {
            guide.held.remove(&(me, address));
        }
    }

    /// The run would end here.
    pub(crate) fn guided_finish(&mut self, outcome: Outcome) -> ! {
        if self.concolic.guide.is_led() {
            self.led_finish(outcome);
        }
        let me = self.current;
        let used_up = self.guided(me).is_used_up();
        let as_expected = match &outcome {
            Outcome::Failed(failure) => {
                self.concolic.guide.expects(failure.kind) && used_up && self.is_failing_thread(me)
            }
            Outcome::Exited { .. } => self.expects_exit_code() && used_up,
            _ => false,
        };
        if as_expected && let Some(Aim::Failure { failed, .. }) = &mut self.concolic.guide.aim {
            *failed = Some(me);
            self.stop_here();
        }
        match outcome {
            Outcome::Exited { .. } if used_up => self.stop_here(),
            Outcome::Failed(failure) => {
                self.suggest_for(me);
                self.give_up(format!("{} fails otherwise: {}", self.names[me], failure.message))
            }
            Outcome::Inconclusive { reason, .. } => self.give_up(reason),
            Outcome::Exited { .. } | Outcome::Discarded => self.give_up_early(),
        }
    }

    /// The program ends before the current thread has come to the end of its path.
    pub(super) fn give_up_early(&mut self) -> ! {
        let me = self.current;
        self.suggest_for(me);
        self.give_up("the program ends before its path does".to_owned())
    }

    pub(super) fn give_up(&mut self, reason: String) -> ! {
        let at = self.stack_of(self.current).into_iter().next();
        self.outcome.get_or_insert(Outcome::Inconclusive { reason, at });
        self.leave_for_good()
    }
}

/// Whether there is foreign memory at an address.
fn is_mapped(address: u64) -> bool {
    const PAGE: u64 = 4096;
    let mut state = 0u8;
    let page = (address & !(PAGE - 1)) as *mut libc::c_void;
    // SAFETY: asks the system about one page, whatever it is.
    unsafe { libc::mincore(page, 1, &mut state) == 0 }
}

fn is_tolerable(fault: crate::memory::Fault) -> bool {
    matches!(fault, crate::memory::Fault::Freed | crate::memory::Fault::DeadStack)
}
