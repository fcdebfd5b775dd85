//! Signals on their way: who is pending for whom, and what happens when one arrives.
//!
//! A signal for another thread arrives when that thread is next chosen at a point: its handler runs there, as an event of its
//! own before the pending one, and a thread that was blocked goes back to waiting afterwards. So schedules decide before
//! which event a signal arrives. Waits that a handler ends by `EINTR` are left instead ([`State::is_left_after`]).
//!
//! Signals come from the program itself only. Not modelled: the context that a handler of `SA_SIGINFO` gets besides the
//! `siginfo_t` (a look at it is inconclusive), alternate stacks, signals for faults (`SIGSEGV` of a bad access is a failure
//! and no signal), and the limit of queued signals. In guided runs no signal crosses threads. For race detection
//! all signals are one object: whoever is interrupted knows what every earlier sender did, so that a race may be missed.

use unravel_trace::{EventKind, FailureKind, Op, Operand, Pending, SiteId, ThreadId};

use crate::machine::{Machine, State};
use crate::models::process::PROCESS;
use crate::thread::Need;

/// One more than the highest signal.
pub(crate) const SIGNALS: usize = 65;

/// `SIG_DFL`, `SIG_IGN`.
pub(crate) const DEFAULT: u64 = 0;
pub(crate) const IGNORE: u64 = 1;

/// What all signals are for schedulers and observers: one object, outside of the program's memory.
const OBJECT: u64 = 0x6ffe_0000_0000;
/// The context that handlers are given. Nothing is mapped there.
const CONTEXT: u64 = 0x6fff_0000_0000;
const CONTEXT_BYTES: u64 = 4096;

/// Bytes of a `siginfo_t`.
const INFO_BYTES: u64 = 128;

/// A signal that was sent and has not arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub number: i32,
    /// `SI_USER`, `SI_TKILL`, `SI_QUEUE`.
    pub code: i32,
    /// What `sigqueue` sends along.
    pub value: u64,
}

/// What `sigaction` set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Action {
    pub handler: u64,
    pub flags: i32,
    pub mask: u64,
}

/// The signals of a run.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Indexed by number.
    pub actions: [Action; SIGNALS],
    /// For whoever does not block them.
    pub process: Vec<Sent>,
    /// Whether any signal is pending for anybody; without, nobody has to look.
    pub pending: bool,
}

impl Default for Signals {
    fn default() -> Signals {
        Signals { actions: [Action::default(); SIGNALS], process: Vec::new(), pending: false }
    }
}

/// What a handler may change of the thread it interrupts, and the thread must find again.
#[derive(Debug, Default)]
pub(crate) struct SetAside {
    copied: Vec<u8>,
    timed: bool,
    timed_out: bool,
    deadline: u64,
    mask: u64,
}

/// A signal as an element of a set.
pub(crate) fn bit(number: i32) -> u64 {
    1 << (number - 1)
}

/// Signals that cannot be blocked, caught or ignored.
pub(crate) const UNSTOPPABLE: [i32; 2] = [libc::SIGKILL, libc::SIGSTOP];

/// Whether an address lies in the context of a handler.
pub(crate) fn is_context(address: u64) -> bool {
    (CONTEXT..CONTEXT + CONTEXT_BYTES).contains(&address)
}

/// Signals whose default is to be ignored (or to go on).
fn is_harmless(number: i32) -> bool {
    matches!(number, libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT)
}

fn stops(number: i32) -> bool {
    matches!(number, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}

impl State {
    /// The signals that wait for a thread, blocked or not.
    pub fn pending_signals(&self, index: usize) -> u64 {
        let all = self.threads[index].signals.iter().chain(&self.signals.process);
        all.fold(0, |set, sent| set | bit(sent.number))
    }

    /// Whether a signal arrives when this thread goes on.
    #[inline]
    pub fn is_interrupted(&self, index: usize) -> bool {
        self.signals.pending && self.arriving(index) != 0
    }

    /// Those signals.
    fn arriving(&self, index: usize) -> u64 {
        let thread = &self.threads[index];
        // Nothing comes before a thread's first event, and nothing to a timer.
        if thread.ended || thread.atomic > 0 || thread.last_event == 0 || thread.timer.is_some() {
            return 0;
        }
        let awaited = match thread.need {
            Need::Signal(set) => set,
            _ => 0,
        };
        self.pending_signals(index) & !(thread.mask | awaited)
    }

    /// The event that a signal's arrival is.
    pub fn arrival(&self, index: usize) -> Pending {
        Pending {
            op: Op::Acquire,
            address: OBJECT,
            bytes: 1,
            site: self.threads[index].pending.site,
            caller: None,
            operand: Operand::Thread(ThreadId(index as u32)),
            atomic: false,
        }
    }

    /// Whether a wait is over after a handler with these flags, instead of going on.
    fn is_left_after(&self, need: Need, flags: i32) -> bool {
        match need {
            Need::Never | Need::Signal(_) | Need::Time => true,
            Need::Semaphore(_) | Need::Futex(_) | Need::Descriptor => flags & libc::SA_RESTART == 0,
            _ => false,
        }
    }

    /// Takes a signal of this set that waits for a thread: the smallest number first, and of those the oldest.
    pub fn take_signal(&mut self, index: usize, set: u64) -> Option<Sent> {
        let number = self.pending_signals(index) & set;
        let number = (number != 0).then(|| number.trailing_zeros() as i32 + 1)?;
        let of = |list: &[Sent]| list.iter().position(|sent| sent.number == number);
        let own = of(&self.threads[index].signals);
        let sent = match own {
            Some(at) => self.threads[index].signals.remove(at),
            None => {
                let at = of(&self.signals.process)?;
                self.signals.process.remove(at)
            }
        };
        let waits = |t: usize| !self.threads[t].signals.is_empty();
        self.signals.pending =
            !self.signals.process.is_empty() || (0..self.thread_count).any(waits);
        Some(sent)
    }

    /// Leaves a signal for a thread, or for the process. Of an ordinary signal one is kept.
    pub fn leave_signal(&mut self, target: Option<usize>, sent: Sent) {
        let list = match target {
            Some(index) => &mut self.threads[index].signals,
            None => &mut self.signals.process,
        };
        /// From here on each is queued (`SIGRTMIN` of the kernel).
        const QUEUED: i32 = 32;
        if sent.number >= QUEUED || list.iter().all(|other| other.number != sent.number) {
            list.push(sent);
        }
        self.signals.pending = true;
    }

    /// Forgets the pending signals of one number: it is ignored from now on.
    pub fn forget_signal(&mut self, number: i32) {
        self.signals.process.retain(|sent| sent.number != number);
        for index in 0..self.thread_count {
            self.threads[index].signals.retain(|sent| sent.number != number);
        }
    }

    /// Whether nothing happens when this signal arrives.
    pub fn is_ignored(&self, number: i32) -> bool {
        match self.signals.actions[number as usize].handler {
            IGNORE => true,
            DEFAULT => is_harmless(number),
            _ => false,
        }
    }
}

impl Machine {
    /// The point before a signal is sent.
    pub fn send_point(&mut self, target: ThreadId, site: SiteId) {
        let pending = Pending {
            operand: Operand::Thread(target),
            ..self.pending(Op::Release, OBJECT, 1, site, Need::Nothing)
        };
        self.wait_for_turn(pending, Need::Nothing);
    }

    /// The point before the thread of a timer does what it is for, once its time has come.
    pub fn expiry_point(&mut self, timer: ThreadId, site: SiteId, need: Need) {
        let pending = self.pending(Op::Release, OBJECT, 1, site, need);
        self.wait_for_turn(Pending { operand: Operand::Thread(timer), ..pending }, need);
    }

    /// The point before the current thread waits for a signal of a set.
    pub fn signal_point(&mut self, set: u64, site: SiteId) {
        self.point(Op::Acquire, OBJECT, 1, site, Need::Signal(set));
    }

    /// The current thread was chosen and a signal arrives: the handler runs. False if the wait that it interrupted is over.
    pub fn deliver(&mut self, need: Need, site: SiteId) -> bool {
        let me = self.current;
        let arriving = self.arriving(me);
        let Some(sent) = self.take_signal(me, arriving) else { return true };
        self.made_progress();
        let before = &mut self.threads[me];
        before.need = Need::Nothing;
        let aside = SetAside {
            copied: std::mem::take(&mut before.copied),
            timed: std::mem::take(&mut before.timed),
            timed_out: before.timed_out,
            deadline: before.deadline,
            mask: 0,
        };
        before.set_aside.push(aside);
        let (woken, flags) = (before.woken_by, self.act(sent, site));
        let thread = &mut self.threads[me];
        let aside = thread.set_aside.pop().expect("set aside above");
        thread.copied = aside.copied;
        thread.timed = aside.timed;
        thread.timed_out = aside.timed_out;
        thread.deadline = aside.deadline;
        thread.woken_by = thread.woken_by.or(woken);
        let Some(flags) = flags else { return true };
        let left = self.is_left_after(need, flags);
        if left {
            let thread = self.current_thread();
            thread.timed = false;
            thread.interrupted = true;
        }
        !left
    }

    /// Whether the wait that just ended was left because of a signal.
    pub fn was_interrupted(&mut self) -> bool {
        std::mem::take(&mut self.current_thread().interrupted)
    }

    /// Does what a signal does to the current thread: the flags of its handler, if it has one.
    pub fn act(&mut self, sent: Sent, site: SiteId) -> Option<i32> {
        let Sent { number, .. } = sent;
        let action = self.signals.actions[number as usize];
        match action.handler {
            _ if self.is_ignored(number) => return None,
            DEFAULT if stops(number) => self.finish_inconclusive(format!(
                "the program stops itself by signal {number}, which is not modelled"
            )),
            DEFAULT => {
                self.fail(FailureKind::Abort, format!("the program sends itself signal {number}"))
            }
            _ => {}
        }
        if self.recorder.is_on() && self.alive > 1 {
            let name = format!("handler of signal {number}");
            self.record(site, EventKind::External { name });
        }
        if action.flags & libc::SA_RESETHAND != 0 {
            self.signals.actions[number as usize].handler = DEFAULT;
        }
        let me = self.current;
        let thread = &mut self.threads[me];
        thread.set_aside.push(SetAside { mask: thread.mask, ..SetAside::default() });
        thread.mask |= action.mask;
        if action.flags & libc::SA_NODEFER == 0 {
            thread.mask |= bit(number);
        }
        let slot = thread.slot;
        let top = self.memory.stack_top[slot];
        let info = top.next_multiple_of(16);
        self.memory.set_stack_top(slot, info + INFO_BYTES);
        write_info(info, sent);
        self.define(info, INFO_BYTES);
        self.call_address(action.handler, &[number as u64, info, CONTEXT]);
        self.memory.set_stack_top(slot, top);
        let thread = &mut self.threads[me];
        thread.mask = thread.set_aside.pop().expect("set aside above").mask;
        Some(action.flags)
    }

    /// Lets all signals arrive at once that the current thread does not block any more.
    pub fn take_unblocked(&mut self, site: SiteId) {
        let me = self.current;
        while self.is_interrupted(me) {
            let arriving = self.arriving(me);
            let Some(sent) = self.take_signal(me, arriving) else { return };
            self.act(sent, site);
        }
    }
}

/// Fills a `siginfo_t`, which has room at this address.
pub(crate) fn write_info(at: u64, sent: Sent) {
    // SAFETY: the callers made room for it or checked it.
    unsafe {
        (at as *mut u8).write_bytes(0, INFO_BYTES as usize);
        (at as *mut i32).write_unaligned(sent.number);
        ((at + 8) as *mut i32).write_unaligned(sent.code);
        ((at + 16) as *mut u32).write_unaligned(PROCESS as u32);
        ((at + 20) as *mut u32).write_unaligned(libc::getuid());
        ((at + 24) as *mut u64).write_unaligned(sent.value);
    }
}

/// How large it is.
pub(crate) const fn info_bytes() -> u64 {
    INFO_BYTES
}
