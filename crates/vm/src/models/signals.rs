//! Signals are not delivered. Setting them up is accepted with a note; waiting for one blocks for good.

use unravel_trace::{FailureKind, Op};

use super::{Args, Family, Flow, OK};
use crate::machine::Machine;
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("signal", ignored),
    ("sigaction", ignored),
    ("sigprocmask", ignored),
    ("pthread_sigmask", ignored),
    ("sigaltstack", ignored),
    ("alarm", ignored),
    ("setitimer", ignored),
    ("timer_create", ignored),
    ("timer_settime", ignored),
    ("pthread_kill", ignored),
    ("sigqueue", ignored),
    ("kill", send),
    ("raise", send),
    ("pause", wait_forever),
    ("sigwait", wait_forever),
    ("sigwaitinfo", wait_forever),
    ("sigtimedwait", wait_forever),
    ("sigsuspend", wait_forever),
];

fn ignored(m: &mut Machine, _: Args) -> Flow {
    m.note("signals are ignored");
    OK
}

fn send(m: &mut Machine, a: Args) -> Flow {
    let signal = a.int(a.len().saturating_sub(1));
    if signal == libc::SIGABRT || signal == libc::SIGKILL || signal == libc::SIGSEGV {
        m.fail(FailureKind::Abort, format!("the program sends itself signal {signal}"));
    }
    ignored(m, a)
}

fn wait_forever(m: &mut Machine, a: Args) -> Flow {
    m.note("signals are ignored");
    m.test_cancel();
    m.point(Op::Wait, 0, 0, a.site(), Need::Never);
    m.test_cancel();
    OK
}
