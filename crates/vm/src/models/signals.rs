//! Signals that the program sends itself: to the process, to a thread, to the caller. How they arrive is in
//! [`crate::delivery`]; from outside none come, and a wait for one that nobody sends is for good.
//!
//! A signal for the process goes to one of the threads that do not block it; which one is a choice of the schedule. A signal
//! whose default is to end the process is a failure (abort). Inconclusive: `signalfd`, stopping, old interfaces for masks.

use unravel_trace::{EventKind, Note, Question, SiteId, ThreadId};

use super::process::PROCESS;
use super::{Args, Family, Flow, OK, error, fail_with_errno};
use crate::delivery::{Action, DEFAULT, SIGNALS, Sent, UNSTOPPABLE, bit, info_bytes, write_info};
use crate::machine::{Machine, State};
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("signal", |m, a| set_handler(m, a, libc::SA_RESTART)),
    ("bsd_signal", |m, a| set_handler(m, a, libc::SA_RESTART)),
    ("sysv_signal", |m, a| set_handler(m, a, ONE_SHOT)),
    ("__sysv_signal", |m, a| set_handler(m, a, ONE_SHOT)),
    ("sigaction", set_action),
    ("siginterrupt", set_interrupting),
    ("raise", |m, a| raise(m, a.int(0), a.site())),
    ("kill", |m, a| kill(m, a.int(0), sent(a.int(1), libc::SI_USER, 0), a.site())),
    ("killpg", |m, a| kill(m, a.int(0), sent(a.int(1), libc::SI_USER, 0), a.site())),
    ("sigqueue", |m, a| kill(m, a.int(0), sent(a.int(1), libc::SI_QUEUE, a.word(2)), a.site())),
    ("pthread_kill", |m, a| to_thread(m, a.word(0), sent(a.int(1), libc::SI_TKILL, 0), a.site())),
    ("pthread_sigqueue", |m, a| {
        to_thread(m, a.word(0), sent(a.int(1), libc::SI_QUEUE, a.word(2)), a.site())
    }),
    ("tgkill", |m, a| kill_by_number(m, a.int(1), a.int(2), a.site())),
    ("sigprocmask", |m, a| match change_mask(m, a) {
        0 => OK,
        number => fail_with_errno(number),
    }),
    ("pthread_sigmask", |m, a| error(change_mask(m, a))),
    ("sigpending", pending),
    ("sigaltstack", alternate_stack),
    ("pause", |m, a| {
        // A handler may run just before: nobody waits then, and nobody will be woken by it.
        m.point(unravel_trace::Op::Yield, 0, 0, a.site(), Need::Nothing);
        m.was_interrupted();
        suspend(m, a.site())
    }),
    ("sigsuspend", |m, a| {
        let before = replace_mask(m, a.word(0));
        let flow = suspend(m, a.site());
        m.current_thread().mask = before;
        flow
    }),
    ("sigwait", wait),
    ("sigwaitinfo", |m, a| wait_info(m, a, 0)),
    ("sigtimedwait", |m, a| wait_info(m, a, a.word(2))),
    ("signalfd", |m, _| unsupported(m, "signalfd")),
    ("sighold", |m, _| unsupported(m, "sighold")),
    ("sigrelse", |m, _| unsupported(m, "sigrelse")),
    ("sigignore", |m, _| unsupported(m, "sigignore")),
    ("sigset", |m, _| unsupported(m, "sigset")),
    ("sigblock", |m, _| unsupported(m, "sigblock")),
    ("sigsetmask", |m, _| unsupported(m, "sigsetmask")),
    ("sigpause", |m, _| unsupported(m, "sigpause")),
    ("__sigpause", |m, _| unsupported(m, "sigpause")),
];

/// Functions by which a program sends signals.
const SENDERS: &[&str] = &[
    "raise",
    "kill",
    "killpg",
    "sigqueue",
    "pthread_kill",
    "pthread_sigqueue",
    "tgkill",
    "syscall",
    "alarm",
    "ualarm",
    "setitimer",
    "timer_settime",
];

/// `SIG_ERR`.
const ERROR: u64 = u64::MAX;
/// The first signal ends what was set.
const ONE_SHOT: i32 = libc::SA_RESETHAND | libc::SA_NODEFER;

/// In a `struct sigaction`: the handler, the mask, the flags, and its size.
const HANDLER: u64 = 0;
const ACTION_MASK: u64 = 8;
const ACTION_FLAGS: u64 = 136;
const ACTION_BYTES: u64 = 152;
/// Bytes of a `sigset_t`. The kernel knows the first eight.
const SET_BYTES: u64 = 128;

fn unsupported(m: &mut Machine, name: &str) -> Flow {
    m.finish_inconclusive(format!("the program calls '{name}', which is not supported"))
}

fn sent(number: i32, code: i32, value: u64) -> Sent {
    Sent { number, code, value }
}

fn is_us(process: i32) -> bool {
    process == 0 || process as u64 == PROCESS || process as i64 == -(PROCESS as i64)
}

pub(crate) fn is_signal(number: i32) -> bool {
    (1..SIGNALS as i32).contains(&number)
}

fn is_changeable(number: i32) -> bool {
    is_signal(number) && !UNSTOPPABLE.contains(&number)
}

/// The signals that can be blocked at all.
fn blockable(set: u64) -> u64 {
    UNSTOPPABLE.iter().fold(set, |set, number| set & !bit(*number))
}

/// Sets the thread's mask to the set at an address for a wait in which signals may come, and returns the one before.
pub(super) fn replace_mask(m: &mut Machine, address: u64) -> u64 {
    let mask = set_at(m, address);
    std::mem::replace(&mut m.current_thread().mask, mask)
}

fn set_at(m: &mut Machine, address: u64) -> u64 {
    m.check_sync(address, 8, false);
    // SAFETY: checked.
    blockable(unsafe { (address as *const u64).read_unaligned() })
}

fn store_set(m: &mut Machine, address: u64, set: u64) {
    m.check_sync(address, SET_BYTES, true);
    // SAFETY: checked.
    unsafe {
        (address as *mut u8).write_bytes(0, SET_BYTES as usize);
        (address as *mut u64).write_unaligned(set);
    }
}

impl Machine {
    fn set_action(&mut self, number: i32, action: Action) -> Action {
        let before = std::mem::replace(&mut self.signals.actions[number as usize], action);
        if self.is_ignored(number) {
            self.forget_signal(number);
        }
        before
    }
}

/// `signal(number, handler)`.
fn set_handler(m: &mut Machine, a: Args, flags: i32) -> Flow {
    let number = a.int(0);
    if !is_changeable(number) {
        fail_with_errno(libc::EINVAL);
        return Flow::Return(ERROR);
    }
    Flow::Return(m.set_action(number, Action { handler: a.word(1), flags, mask: 0 }).handler)
}

/// `sigaction(number, new, old)`.
fn set_action(m: &mut Machine, a: Args) -> Flow {
    let (number, new, old) = (a.int(0), a.word(1), a.word(2));
    if !is_signal(number) || new != 0 && !is_changeable(number) {
        return fail_with_errno(libc::EINVAL);
    }
    let mut before = m.signals.actions[number as usize];
    if new != 0 {
        m.check_sync(new, ACTION_BYTES, false);
        // SAFETY: checked.
        let action = unsafe {
            Action {
                handler: ((new + HANDLER) as *const u64).read_unaligned(),
                mask: blockable(((new + ACTION_MASK) as *const u64).read_unaligned()),
                flags: ((new + ACTION_FLAGS) as *const i32).read_unaligned(),
            }
        };
        before = m.set_action(number, action);
    }
    if old != 0 {
        m.check_sync(old, ACTION_BYTES, true);
        // SAFETY: checked.
        unsafe {
            (old as *mut u8).write_bytes(0, ACTION_BYTES as usize);
            ((old + HANDLER) as *mut u64).write_unaligned(before.handler);
            ((old + ACTION_MASK) as *mut u64).write_unaligned(before.mask);
            ((old + ACTION_FLAGS) as *mut i32).write_unaligned(before.flags);
        }
    }
    OK
}

/// `siginterrupt(number, flag)`.
fn set_interrupting(m: &mut Machine, a: Args) -> Flow {
    let number = a.int(0);
    if !is_changeable(number) {
        return fail_with_errno(libc::EINVAL);
    }
    let flags = &mut m.signals.actions[number as usize].flags;
    *flags = if a.int(1) == 0 { *flags | libc::SA_RESTART } else { *flags & !libc::SA_RESTART };
    OK
}

/// `pthread_sigmask(how, set, old)`; an error number.
fn change_mask(m: &mut Machine, a: Args) -> i32 {
    let (how, new, old) = (a.int(0), a.word(1), a.word(2));
    let before = m.threads[m.current].mask;
    if new != 0 {
        let set = set_at(m, new);
        let mask = match how {
            libc::SIG_BLOCK => before | set,
            libc::SIG_UNBLOCK => before & !set,
            libc::SIG_SETMASK => set,
            _ => return libc::EINVAL,
        };
        m.current_thread().mask = mask;
    }
    if old != 0 {
        store_set(m, old, before);
    }
    m.take_unblocked(a.site());
    0
}

fn pending(m: &mut Machine, a: Args) -> Flow {
    let (me, mask) = (m.current, m.threads[m.current].mask);
    let set = m.pending_signals(me) & mask;
    store_set(m, a.word(0), set);
    OK
}

/// Handlers run on the thread's own stack, whatever stack is offered.
fn alternate_stack(m: &mut Machine, a: Args) -> Flow {
    if a.word(1) != 0 {
        m.check_sync(a.word(1), 24, true);
        // SAFETY: checked: a `stack_t` that says there is none.
        unsafe {
            (a.word(1) as *mut u8).write_bytes(0, 24);
            ((a.word(1) + 8) as *mut i32).write_unaligned(libc::SS_DISABLE);
        }
    }
    OK
}

/// A signal for the caller: it arrives at once, or when it is not blocked any more.
fn raise(m: &mut Machine, number: i32, site: SiteId) -> Flow {
    if number == 0 {
        return OK;
    }
    if !is_signal(number) {
        return fail_with_errno(libc::EINVAL);
    }
    let me = m.current;
    to_self(m, me, sent(number, libc::SI_TKILL, 0), site);
    OK
}

fn to_self(m: &mut Machine, me: usize, sent: Sent, site: SiteId) {
    if m.threads[me].mask & bit(sent.number) != 0 {
        m.leave_signal(Some(me), sent);
    } else {
        m.act(sent, site);
    }
}

/// A signal for a thread; the result is an error number.
fn to_thread(m: &mut Machine, handle: u64, sent: Sent, site: SiteId) -> Flow {
    let Some(target) = m.find_thread(handle).filter(|t| !m.threads[*t].ended) else {
        return error(libc::ESRCH);
    };
    if sent.number == 0 {
        return OK;
    }
    if !is_signal(sent.number) {
        return error(libc::EINVAL);
    }
    if target == m.current {
        to_self(m, target, sent, site);
        return OK;
    }
    begin_to_send(m, ThreadId(target as u32), site);
    // It may have ended meanwhile.
    if m.threads[target].ended {
        return error(libc::ESRCH);
    }
    leave_for(m, target, sent);
    OK
}

/// The thread that `gettid` gave this number.
pub(crate) fn thread_of_number(m: &State, number: i32) -> Option<usize> {
    let index = usize::try_from(i64::from(number) - PROCESS as i64).ok()?;
    (index < m.thread_count).then_some(index)
}

/// `tgkill`, whose threads are known by number.
pub(crate) fn kill_by_number(m: &mut Machine, thread: i32, number: i32, site: SiteId) -> Flow {
    let Some(index) = thread_of_number(m, thread) else { return fail_with_errno(libc::ESRCH) };
    let handle = m.threads[index].handle;
    match to_thread(m, handle, sent(number, libc::SI_TKILL, 0), site) {
        Flow::Return(0) => OK,
        Flow::Return(number) => fail_with_errno(number as i32),
        flow => flow,
    }
}

fn begin_to_send(m: &mut Machine, target: ThreadId, site: SiteId) {
    if m.concolic.guide.is_on() {
        m.finish_inconclusive("a signal crosses threads in a guided run".into());
    }
    m.send_point(target, site);
    m.made_progress();
    if m.recorder.is_on() && m.alive > 1 {
        m.record(site, EventKind::External { name: "sending a signal".into() });
    }
}

/// A signal that a thread finds when it is chosen. What ends the process ends it at once.
fn leave_for(m: &mut Machine, target: usize, sent: Sent) {
    let blocked = m.threads[target].mask & bit(sent.number) != 0 || awaits(m, target, sent.number);
    if !blocked && m.is_ignored(sent.number) {
        return;
    }
    if !blocked && m.signals.actions[sent.number as usize].handler == DEFAULT {
        let site = m.current_site();
        m.act(sent, site);
        return;
    }
    m.leave_signal(Some(target), sent);
}

/// Whether a thread sits in a `sigwait` for this signal.
fn awaits(m: &State, index: usize, number: i32) -> bool {
    matches!(m.threads[index].need, Need::Signal(set) if set & bit(number) != 0)
}

/// A signal for the process.
fn kill(m: &mut Machine, process: i32, sent: Sent, site: SiteId) -> Flow {
    if sent.number != 0 && !is_signal(sent.number) {
        return fail_with_errno(libc::EINVAL);
    }
    if let Some(child) = m.children.outside(process) {
        m.external_event("kill", site);
        // SAFETY: a child of this process that was not waited for, so that its number is still its own.
        return Flow::Return(unsafe { libc::kill(child, sent.number) } as u32 as u64);
    }
    if !is_us(process) {
        m.note(Note::SignalsIgnored);
        return OK;
    }
    if sent.number == 0 {
        return OK;
    }
    if m.alive > 1 {
        begin_to_send(m, ThreadId(m.current as u32), site);
    }
    match choose_target(m, sent.number) {
        None => m.leave_signal(None, sent),
        Some(target) if target == m.current => to_self(m, target, sent, site),
        Some(target) => leave_for(m, target, sent),
    }
    OK
}

/// The thread that gets a signal for the process, if it does not have to wait for one: the main thread if in doubt, as Linux
/// has it.
fn choose_target(m: &mut Machine, number: i32) -> Option<usize> {
    let wants = |m: &State, t: usize| {
        let thread = &m.threads[t];
        let open = thread.mask & bit(number) == 0 || awaits(m, t, number);
        !thread.ended && thread.timer.is_none() && (open || UNSTOPPABLE.contains(&number))
    };
    let count = (0..m.thread_count).filter(|t| wants(m, *t)).count();
    let chosen = m.choose(Question::SignalTarget, count as u32) as usize;
    (0..m.thread_count).filter(|t| wants(m, *t)).nth(chosen)
}

/// Whether a signal for a thread, or for the process, would end the process now.
pub(crate) fn ends_process(m: &State, target: Option<usize>, number: i32) -> bool {
    let is_open = |index: usize| {
        let thread = &m.threads[index];
        let open = thread.mask & bit(number) == 0 || UNSTOPPABLE.contains(&number);
        !thread.ended && thread.timer.is_none() && open && !awaits(m, index, number)
    };
    let is_default = m.signals.actions[number as usize].handler == DEFAULT;
    let mut targets = (0..m.thread_count).filter(|t| target.is_none_or(|target| target == *t));
    is_default && !m.is_ignored(number) && targets.any(is_open)
}

/// A timer has run out: its signal is there for a thread, or for the process.
pub(crate) fn arrive(m: &mut Machine, target: Option<usize>, sent: Sent) {
    let target = target.filter(|t| !m.threads[*t].ended);
    match target.or_else(|| choose_target(m, sent.number)) {
        None => m.leave_signal(None, sent),
        Some(target) => leave_for(m, target, sent),
    }
}

impl Machine {
    /// Says that nobody outside sends anything, if nobody inside does.
    pub(super) fn await_signal(&mut self) {
        if self.concolic.guide.is_on() {
            self.finish_inconclusive("a thread waits for a signal in a guided run".into());
        }
        if !SENDERS.iter().any(|name| self.program.by_name.contains_key(*name)) {
            self.note(Note::SignalsIgnored);
        }
    }
}

/// `pause`: until a handler has run.
fn suspend(m: &mut Machine, site: SiteId) -> Flow {
    m.await_signal();
    m.test_cancel();
    loop {
        m.point(unravel_trace::Op::Wait, 0, 0, site, Need::Never);
        m.test_cancel();
        if m.was_interrupted() {
            return fail_with_errno(libc::EINTR);
        }
    }
}

/// `sigwait(set, number)`.
fn wait(m: &mut Machine, a: Args) -> Flow {
    let set = set_at(m, a.word(0));
    m.check_sync(a.word(1), 4, true);
    loop {
        if let Some(sent) = next_of(m, set, a.site()) {
            // SAFETY: checked.
            unsafe { (a.word(1) as *mut i32).write_unaligned(sent.number) };
            return OK;
        }
    }
}

/// `sigwaitinfo(set, info)`, `sigtimedwait(set, info, time)`.
fn wait_info(m: &mut Machine, a: Args, time: u64) -> Flow {
    let set = set_at(m, a.word(0));
    if time != 0 {
        if !m.set_deadline(time) {
            return fail_with_errno(libc::EINVAL);
        }
        let now = m.clock.now;
        let thread = m.current_thread();
        thread.deadline = thread.deadline.saturating_add(now);
    }
    m.current_thread().timed = time != 0;
    m.current_thread().timed_out = false;
    match next_of(m, set, a.site()) {
        Some(sent) => {
            if a.word(1) != 0 {
                m.check_sync(a.word(1), info_bytes(), true);
                write_info(a.word(1), sent);
            }
            Flow::Return(sent.number as u64)
        }
        None if std::mem::take(&mut m.current_thread().timed_out) => fail_with_errno(libc::EAGAIN),
        None => fail_with_errno(libc::EINTR),
    }
}

/// Waits for a signal of a set; none if the wait was interrupted or ran out.
fn next_of(m: &mut Machine, set: u64, site: SiteId) -> Option<Sent> {
    m.await_signal();
    m.test_cancel();
    m.signal_point(set, site);
    m.test_cancel();
    if m.was_interrupted() {
        return None;
    }
    let me = m.current;
    let sent = m.take_signal(me, set)?;
    m.made_progress();
    if m.recorder.is_on() && m.alive > 1 {
        m.record(site, EventKind::External { name: format!("waiting for signal {}", sent.number) });
    }
    Some(sent)
}
