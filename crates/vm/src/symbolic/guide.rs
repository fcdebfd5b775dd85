//! Guided execution: every thread is led along a recorded path, whatever its concrete values say.
//!
//! After Symbiosis (*symbolic trace collector*): the only thing known of the failing run is which way each thread
//! went at its branches ([`unravel_trace::Paths`]). The threads are executed in an order of our own ([`super::turns`]);
//! what they read from shared memory is a fresh symbol whose concrete value is no more than a guess, and a branch on a
//! symbol goes the recorded way and leaves its condition. Where a concrete value is needed (an address, an argument
//! of a library function) the guess is kept by a condition, as in every concolic run; a guess that leads nowhere is
//! replaced in the next attempt by another value that somebody wrote to the same place.
//!
//! *Not modelled*: how a library function that is not followed would have behaved with other values; where a thread
//! stood after its last branch (it goes on to the next, which does no harm: what comes after the failure is not
//! executed). Errs on the side of finding nothing: every schedule that comes of this is executed.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_program::Inst;
use unravel_trace::{
    ExprId, FailureKind, Guess, Outcome, Paths, Place, SymbolId, ThreadId, ThreadName, user_place,
};

use super::turns::Turn;
use crate::machine::Machine;
use crate::memory::in_arena;

/// Other values offered after an attempt.
const MOST_OTHERS: usize = 48;

#[derive(Debug, Default)]
pub(crate) struct Guide {
    pub(super) on: bool,
    pub(super) paths: Option<Paths>,
    guesses: FxHashMap<(ThreadName, u32), u128>,
    pub(super) threads: Vec<Guided>,
    /// The failing thread has failed.
    pub(super) failed: Option<usize>,
    pub(super) handover: Option<usize>,
    /// Locks as their holders see them: several may have been let through.
    held: FxHashSet<(usize, u64)>,
    /// The current instruction is a load whose value may be replaced.
    pub(super) replaceable: bool,
    /// The number of the guess behind a symbol.
    symbols: FxHashMap<u32, u32>,
    /// Branches that a thread took because of one symbol alone.
    branches: FxHashMap<u32, Vec<ExprId>>,
    /// Expressions that were kept at their guessed values, and answers of library functions, as they came.
    kept: Vec<(usize, Kept)>,
    /// Condition variables and who waited on them.
    waited: Vec<(u64, usize)>,
    pub(super) others: Vec<Guess>,
    pub(super) contradiction: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kept {
    Value(ExprId),
    Answer(u32, bool),
    /// Who would be woken by a signal on this condition variable.
    Waiter(u32, u64),
}

/// A thread on its path.
#[derive(Debug, Default)]
pub(super) struct Guided {
    outcomes: Vec<u32>,
    next: usize,
    /// Guesses so far.
    guessed: u32,
    pub(super) turn: Turn,
    pub(super) blocked_at: Option<unravel_trace::SiteId>,
    /// It waited at the failing site for the others.
    was_last: bool,
}

impl Guided {
    pub(super) fn is_used_up(&self) -> bool {
        self.next >= self.outcomes.len()
    }
}

impl Guide {
    pub fn new(paths: &Paths, guesses: &[Guess]) -> Guide {
        let guesses =
            guesses.iter().map(|guess| ((guess.thread.clone(), guess.index), guess.value));
        Guide {
            on: true,
            paths: Some(paths.clone()),
            guesses: guesses.collect(),
            ..Guide::default()
        }
    }

    pub fn is_on(&self) -> bool {
        self.on
    }

    pub fn is_contradicted(&self) -> bool {
        self.contradiction
    }

    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    pub fn take_others(&mut self) -> Vec<Guess> {
        std::mem::take(&mut self.others)
    }

    pub(super) fn expected(&self) -> &unravel_trace::Failure {
        &self.paths.as_ref().expect("a guide has paths").failure
    }
}

impl Machine {
    /// The state of a thread, made when it is first asked for.
    pub(super) fn guided(&mut self, index: usize) -> &mut Guided {
        let guide = &mut self.concolic.guide;
        while guide.threads.len() <= index {
            let name = &self.names[guide.threads.len()];
            let paths = guide.paths.as_ref().expect("a guide has paths");
            let path = paths.threads.iter().find(|path| path.name == *name);
            guide.threads.push(Guided {
                outcomes: path.map(|path| path.outcomes.clone()).unwrap_or_default(),
                blocked_at: path.and_then(|path| path.blocked_at),
                ..Guided::default()
            });
        }
        &mut guide.threads[index]
    }

    pub(super) fn is_failing_thread(&self, index: usize) -> bool {
        self.concolic.guide.expected().thread == self.names[index]
    }

    /// What a guided run does before each instruction.
    ///
    /// # Safety
    /// As for `shadow_step`.
    pub(super) unsafe fn guide_step(&mut self, pc: *const Inst, fp: *const u64) {
        if let Some(child) = self.concolic.guide.handover.take() {
            self.hand_over(child);
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
                self.concolic.guide.kept.push((self.current, Kept::Value(id)));
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
        if self.concolic.guide.on && self.frame_at(fp).value(reg) != 0 {
            self.wait_for_address(fp, reg, 1);
        }
    }

    /// An assumption held, and so did all assertions but the one that failed. Makes the argument say so.
    pub(super) fn guided_truth(&mut self, fp: *const u64, reg: u32, actual: bool) -> bool {
        if !self.concolic.guide.on {
            return actual;
        }
        let me = self.current;
        let used_up = self.guided(me).is_used_up();
        let expected = self.concolic.guide.expected();
        let here = self.stack_of(me).first() == expected.stack.first();
        let fails = used_up && here && self.is_failing_thread(me);
        let truth = if expected.kind == FailureKind::ExitCode { used_up } else { !fails };
        self.frame_at(fp).set(reg, None);
        // SAFETY: a slot of the frame that is being executed.
        unsafe { *fp.cast_mut().add(reg as usize) = u64::from(truth) };
        truth
    }

    pub(super) fn expects_exit_code(&self) -> bool {
        let guide = &self.concolic.guide;
        guide.on && guide.expected().kind == FailureKind::ExitCode
    }

    /// Whether the current instruction may be the one that fails.
    fn is_where_it_fails(&mut self) -> bool {
        let me = self.current;
        if !self.guided(me).is_used_up() || !self.is_failing_thread(me) {
            return false;
        }
        let expected = self.concolic.guide.expected();
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
        self.concolic.guide.on && is_tolerable(fault) && !self.is_where_it_fails()
    }

    /// Which way the current thread goes: as it did (a guided run), or as it does, which is kept.
    pub(super) fn direct(&mut self, actual: u32, symbolic: bool) -> u32 {
        let me = self.current;
        let went = if self.concolic.guide.on {
            let thread = self.guided(me);
            let Some(recorded) = thread.outcomes.get(thread.next).copied() else {
                self.stop_here()
            };
            thread.next += 1;
            if !symbolic && recorded != actual {
                let place = self.place_now();
                let who = self.names[me].clone();
                self.suggest_for(me);
                self.give_up(format!(
                    "{who} went the other way at {place}, though nothing it read decides that"
                ));
            }
            recorded
        } else {
            self.concolic.thread(me).outcomes.push(actual);
            actual
        };
        self.concolic.direction = went;
        went
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

    /// The value of a read: what memory holds, or what this attempt takes it to be.
    pub(super) fn guessed(&mut self, symbol: u32, held: u128) -> u128 {
        if !self.concolic.guide.on {
            return held;
        }
        let index = self.count_guess();
        if !self.concolic.guide.replaceable {
            return held;
        }
        self.concolic.guide.symbols.insert(symbol, index);
        self.guess(index).unwrap_or(held)
    }

    fn count_guess(&mut self) -> u32 {
        let me = self.current;
        let thread = self.guided(me);
        thread.guessed += 1;
        thread.guessed - 1
    }

    fn guess(&self, index: u32) -> Option<u128> {
        let key = (self.names[self.current].clone(), index);
        self.concolic.guide.guesses.get(&key).copied()
    }

    /// What a library function answers that may or may not succeed.
    pub fn guided_answer(&mut self, actual: bool) -> bool {
        if !self.concolic.guide.on {
            return actual;
        }
        let index = self.count_guess();
        let answer = self.guess(index).map_or(actual, |value| value != 0);
        let me = self.current;
        self.concolic.guide.kept.push((me, Kept::Answer(index, answer)));
        answer
    }

    /// Whom a signal wakes if several wait: a guess like any other.
    pub fn guided_waiter(&mut self, cond: u64, woken: Option<ThreadId>) -> Option<ThreadId> {
        if !self.concolic.guide.on {
            return woken;
        }
        let index = self.count_guess();
        let me = self.current;
        self.concolic.guide.kept.push((me, Kept::Waiter(index, cond)));
        self.guess(index).map(|value| ThreadId(value as u32)).or(woken)
    }

    pub fn guided_wait(&mut self, cond: u64) {
        let me = self.current;
        let guide = &mut self.concolic.guide;
        if guide.on && !guide.waited.contains(&(cond, me)) {
            guide.waited.push((cond, me));
        }
    }

    /// An expression is kept at its guessed value. A value that contradicts a branch leads nowhere: the others run on, so
    /// that they write a better one.
    pub(super) fn keep_guess(&mut self, id: ExprId) {
        if self.concolic.guide.on {
            self.concolic.guide.kept.push((self.current, Kept::Value(id)));
            let symbols = self.concolic.graph.exprs.symbols(id);
            let graph = &self.concolic.graph;
            if symbols.into_iter().any(|of| !self.fits_branches(of.0, graph.known(of))) {
                loop {
                    self.retry_later(id, 0);
                }
            }
        }
    }

    /// A branch was taken because this holds.
    pub(super) fn note_branch(&mut self, holds: ExprId) {
        if self.concolic.guide.on
            && let [symbol] = self.concolic.graph.exprs.symbols(holds)[..]
        {
            self.concolic.guide.branches.entry(symbol.0).or_default().push(holds);
        }
    }

    fn fits_branches(&self, symbol: u32, value: u128) -> bool {
        let concolic = &self.concolic;
        let branches = concolic.guide.branches.get(&symbol);
        let holds = |id: &ExprId| concolic.graph.exprs.evaluate(*id, &|_| value) != 0;
        branches.into_iter().flatten().all(holds)
    }

    /// Whether the current thread holds a lock, in its own eyes.
    pub fn guided_holds(&self, address: u64) -> Option<bool> {
        let guide = &self.concolic.guide;
        guide.on.then(|| guide.held.contains(&(self.current, address)))
    }

    pub fn guided_take(&mut self, address: u64, taken: bool) {
        let me = self.current;
        let guide = &mut self.concolic.guide;
        if guide.on && taken {
            guide.held.insert((me, address));
        } else if guide.on {
            guide.held.remove(&(me, address));
        }
    }

    /// The run would end here.
    pub(crate) fn guided_finish(&mut self, outcome: Outcome) -> ! {
        let me = self.current;
        let used_up = self.guided(me).is_used_up();
        let expected = self.concolic.guide.expected().kind;
        let as_expected = match &outcome {
            Outcome::Failed(failure) => {
                failure.kind == expected && used_up && self.is_failing_thread(me)
            }
            Outcome::Exited { .. } => expected == FailureKind::ExitCode && used_up,
            _ => false,
        };
        if as_expected {
            self.concolic.guide.failed = Some(me);
            self.stop_here();
        }
        match outcome {
            Outcome::Exited { .. } if used_up => self.stop_here(),
            Outcome::Failed(failure) => {
                self.suggest_for(me);
                self.give_up(format!("{} fails otherwise: {}", self.names[me], failure.message))
            }
            Outcome::Inconclusive { reason, .. } => self.give_up(reason),
            Outcome::Exited { .. } | Outcome::Discarded => {
                self.suggest_for(me);
                self.give_up("the program ends before its path does".to_owned())
            }
        }
    }

    pub(super) fn give_up(&mut self, reason: String) -> ! {
        let at = self.stack_of(self.current).into_iter().next();
        self.outcome.get_or_insert(Outcome::Inconclusive { reason, at });
        self.leave_for_good()
    }

    /// Other guesses of a thread: its last answers and values first.
    pub(super) fn suggest_for(&mut self, thread: usize) {
        self.suggest_for_stuck();
        let all = self.concolic.guide.kept.iter().rev();
        let own = all.filter(|(of, _)| *of == thread).copied().collect();
        self.suggest(own, |_, _| true);
    }

    /// Other guesses of all threads, in order.
    pub fn suggest_any(&mut self) {
        let kept: Vec<(usize, Kept)> = self.concolic.guide.kept.clone();
        self.suggest(kept, |_, _| true);
    }

    /// Other values for what an expression is made of that give it a fitting value.
    pub(super) fn suggest_value(&mut self, id: ExprId, fits: impl Fn(&Machine, u128) -> bool) {
        self.suggest(vec![(self.current, Kept::Value(id))], fits);
    }

    fn suggest(&mut self, kept: Vec<(usize, Kept)>, fits: impl Fn(&Machine, u128) -> bool) {
        let mut seen: FxHashSet<Guess> = FxHashSet::default();
        for (thread, kept) in kept {
            let found = match kept {
                Kept::Answer(index, answer) => {
                    self.flipped(thread, index, answer).into_iter().collect()
                }
                Kept::Waiter(index, cond) => self.waiters(thread, index, cond),
                Kept::Value(id) => self.values_for(id, &fits),
            };
            for guess in found {
                if self.concolic.guide.others.len() < MOST_OTHERS && seen.insert(guess.clone()) {
                    self.concolic.guide.others.push(guess);
                }
            }
        }
    }

    /// The other answer, if it was not this attempt's own idea.
    fn flipped(&self, thread: usize, index: u32, answer: bool) -> Option<Guess> {
        let thread = self.names[thread].clone();
        let guide = &self.concolic.guide;
        let mine = guide.guesses.contains_key(&(thread.clone(), index));
        (!mine).then(|| Guess { thread, index, value: u128::from(!answer) })
    }

    /// All who ever wait, if they are several.
    fn waiters(&self, thread: usize, index: u32, cond: u64) -> Vec<Guess> {
        let thread = self.names[thread].clone();
        let guide = &self.concolic.guide;
        let waited: Vec<usize> =
            guide.waited.iter().filter(|(at, _)| *at == cond).map(|(_, who)| *who).collect();
        if waited.len() < 2 || guide.guesses.contains_key(&(thread.clone(), index)) {
            return Vec::new();
        }
        let guess = |who| Guess { thread: thread.clone(), index, value: who as u128 };
        waited.into_iter().map(guess).collect()
    }

    fn values_for(&mut self, id: ExprId, fits: &impl Fn(&Machine, u128) -> bool) -> Vec<Guess> {
        let symbols = self.concolic.graph.exprs.symbols(id);
        let mut found = Vec::new();
        for SymbolId(symbol) in symbols {
            let Some(&index) = self.concolic.guide.symbols.get(&symbol) else { continue };
            let thread = self.names[self.concolic.accesses[symbol as usize].thread].clone();
            if self.concolic.guide.guesses.contains_key(&(thread.clone(), index)) {
                continue;
            }
            for value in self.candidates_of(symbol) {
                let graph = &self.concolic.graph;
                let whole = graph.exprs.evaluate(id, &|of: SymbolId| {
                    if of.0 == symbol { value } else { graph.known(of) }
                });
                if fits(self, whole) && self.fits_branches(symbol, value) {
                    found.push(Guess { thread: thread.clone(), index, value });
                }
            }
        }
        found
    }

    /// What else the location of a read held at any time, as far as the run got: last written first.
    fn candidates_of(&mut self, symbol: u32) -> Vec<u128> {
        let concolic = &mut self.concolic;
        let read = concolic.accesses[symbol as usize];
        let mut values = Vec::new();
        for index in (0..concolic.accesses.len()).rev() {
            let access = concolic.accesses[index];
            if access.write && (access.address, access.bytes) == (read.address, read.bytes) {
                values.push(concolic.graph.value(access.value));
            }
        }
        let initial = (0..u64::from(read.bytes)).rev().fold(0u128, |value, i| {
            value << 8 | u128::from(concolic.initial.get(&(read.address + i)).copied().unwrap_or(0))
        });
        values.push(initial);
        let tried = concolic.graph.value(read.value);
        let mut seen = FxHashSet::from_iter([tried]);
        values.retain(|value| seen.insert(*value));
        values
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
