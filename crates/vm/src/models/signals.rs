//! Signals come only from the program itself: `raise` calls the handler at once. Those from outside (`alarm`,
//! other processes, other threads) are not delivered, and waiting for one blocks for good.

use unravel_trace::{FailureKind, Note, Op};

use super::process::PROCESS;
use super::{Args, Family, Flow, OK, fail_with_errno};
use crate::machine::Machine;
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("signal", set_handler),
    ("bsd_signal", set_handler),
    ("sysv_signal", set_handler),
    ("__sysv_signal", set_handler),
    ("sigaction", set_action),
    ("raise", |m, a| send(m, a.int(0))),
    ("kill", |m, a| if is_us(a.int(0)) { send(m, a.int(1)) } else { ignored(m, a) }),
    ("pthread_kill", |m, a| {
        if a.word(0) == m.threads[m.current].handle { send(m, a.int(1)) } else { ignored(m, a) }
    }),
    ("sigprocmask", ignored),
    ("pthread_sigmask", ignored),
    ("sigaltstack", ignored),
    ("alarm", ignored),
    ("setitimer", ignored),
    ("timer_create", ignored),
    ("timer_settime", ignored),
    ("sigqueue", ignored),
    ("pause", wait_forever),
    ("sigwait", wait_forever),
    ("sigwaitinfo", wait_forever),
    ("sigtimedwait", wait_forever),
    ("sigsuspend", wait_forever),
];

/// One more than the highest signal.
pub(crate) const SIGNALS: usize = 65;

/// `SIG_DFL`, `SIG_IGN`, `SIG_ERR`.
const DEFAULT: u64 = 0;
const IGNORE: u64 = 1;
const ERROR: u64 = u64::MAX;

/// In a `struct sigaction`: the handler, the flags, and its size.
const HANDLER: u64 = 0;
const ACTION_FLAGS: u64 = 136;
const ACTION_BYTES: u64 = 152;

fn ignored(m: &mut Machine, _: Args) -> Flow {
    m.note(Note::SignalsIgnored);
    OK
}

fn is_us(process: i32) -> bool {
    process == 0 || process as u64 == PROCESS
}

/// `signal(number, handler)`.
fn set_handler(m: &mut Machine, a: Args) -> Flow {
    let number = a.int(0);
    if !is_changeable(number) {
        fail_with_errno(libc::EINVAL);
        return Flow::Return(ERROR);
    }
    Flow::Return(std::mem::replace(&mut m.signal_handlers[number as usize], a.word(1)))
}

fn is_changeable(number: i32) -> bool {
    (1..SIGNALS as i32).contains(&number) && number != libc::SIGKILL && number != libc::SIGSTOP
}

/// `sigaction(number, new, old)`. A handler that wants more than the number gets null for it.
fn set_action(m: &mut Machine, a: Args) -> Flow {
    let (number, new, old) = (a.int(0), a.word(1), a.word(2));
    if !is_changeable(number) {
        return fail_with_errno(libc::EINVAL);
    }
    let before = m.signal_handlers[number as usize];
    if new != 0 {
        m.check_sync(new, ACTION_BYTES, false);
        // SAFETY: checked.
        m.signal_handlers[number as usize] =
            unsafe { ((new + HANDLER) as *const u64).read_unaligned() };
    }
    if old != 0 {
        m.check_sync(old, ACTION_BYTES, true);
        // SAFETY: checked.
        unsafe {
            (old as *mut u8).write_bytes(0, ACTION_BYTES as usize);
            ((old + HANDLER) as *mut u64).write_unaligned(before);
            ((old + ACTION_FLAGS) as *mut u32).write_unaligned(0);
        }
    }
    OK
}

/// A signal the program sends itself.
fn send(m: &mut Machine, number: i32) -> Flow {
    if number == 0 {
        return OK;
    }
    if !(1..SIGNALS as i32).contains(&number) {
        return fail_with_errno(libc::EINVAL);
    }
    let handler = m.signal_handlers[number as usize];
    match handler {
        IGNORE => {}
        DEFAULT if is_harmless(number) => {}
        DEFAULT => m.fail(FailureKind::Abort, format!("the program sends itself signal {number}")),
        _ => {
            m.call_address(handler, &[number as u64, 0, 0]);
        }
    }
    OK
}

/// Signals whose default is to be ignored (or to go on).
fn is_harmless(number: i32) -> bool {
    matches!(number, libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT)
}

fn wait_forever(m: &mut Machine, a: Args) -> Flow {
    m.note(Note::SignalsIgnored);
    m.test_cancel();
    m.point(Op::Wait, 0, 0, a.site(), Need::Never);
    m.test_cancel();
    OK
}
