//! The end of the process, assertions, and what cannot be followed.

use unravel_trace::{EventKind, FailureKind, Note, Outcome};

use super::{Args, Family, Flow, OK};
use crate::machine::Machine;

pub(crate) const MODELS: Family = &[
    ("exit", exit),
    ("_exit", exit_now),
    ("_Exit", exit_now),
    ("quick_exit", |m, a| {
        exit_point(m, &a);
        m.run_exit_handlers(a.int(0), true);
        m.finish(Outcome::Exited { code: a.int(0) & 0xff })
    }),
    ("__assert_fail", assert_fail),
    ("__assert", assert_fail),
    ("__assert_perror_fail", |m, _| m.fail(FailureKind::Assertion, "assert_perror failed")),
    ("__stack_chk_fail", |m, _| m.fail(FailureKind::OutOfBounds, "the stack was overwritten")),
    ("__fortify_fail", |m, _| m.fail(FailureKind::OutOfBounds, "a buffer was overrun")),
    ("__chk_fail", |m, _| m.fail(FailureKind::OutOfBounds, "a buffer was overrun")),
    ("atexit", |m, a| register(m, ExitHandler::plain(a.word(0)))),
    ("on_exit", |m, a| {
        let handler =
            ExitHandler { argument: a.word(1), takes_code: true, ..ExitHandler::plain(a.word(0)) };
        register(m, handler)
    }),
    ("at_quick_exit", |m, a| {
        register(m, ExitHandler { quick: true, ..ExitHandler::plain(a.word(0)) })
    }),
    ("__cxa_atexit", |m, a| {
        register(m, ExitHandler { argument: a.word(1), ..ExitHandler::plain(a.word(0)) })
    }),
    ("__cxa_at_quick_exit", |m, a| {
        register(m, ExitHandler { quick: true, ..ExitHandler::plain(a.word(0)) })
    }),
    ("__cxa_thread_atexit", thread_at_exit),
    ("__cxa_thread_atexit_impl", thread_at_exit),
    ("__cxa_finalize", |_, _| OK),
    ("__cpu_indicator_init", |_, _| OK),
    ("getpid", |_, _| Flow::Return(PROCESS)),
    ("getppid", |_, _| Flow::Return(PROCESS - 1)),
    ("gettid", |m, _| Flow::Return(PROCESS + m.current as u64)),
    ("clone", |m, _| unsupported(m, "clone")),
    ("ptrace", |m, _| unsupported(m, "ptrace")),
    ("aio_read", |m, _| unsupported(m, "aio_read")),
    ("aio_write", |m, _| unsupported(m, "aio_write")),
    ("lio_listio", |m, _| unsupported(m, "lio_listio")),
    ("getaddrinfo_a", |m, _| unsupported(m, "getaddrinfo_a")),
    ("mq_notify", |m, _| unsupported(m, "mq_notify")),
    ("getcontext", |m, _| unsupported(m, "getcontext")),
    ("setcontext", |m, _| unsupported(m, "setcontext")),
    ("makecontext", |m, _| unsupported(m, "makecontext")),
    ("swapcontext", |m, _| unsupported(m, "swapcontext")),
];

/// The number that the process believes to have: the same in every run, because programs use it as a seed.
pub(crate) const PROCESS: u64 = 4242;

fn unsupported(m: &mut Machine, name: &str) -> Flow {
    m.finish_inconclusive(format!("the program calls '{name}', which is not supported"))
}

/// The process is about to end, by a call: with a code other than 0 and others alive that is giving up.
fn exit_point(m: &mut Machine, a: &Args) {
    m.exit_point(a.site());
    if a.int(0) & 0xff != 0 && m.alive > 1 {
        m.note(Note::GaveUp);
    }
}

fn exit(m: &mut Machine, a: Args) -> Flow {
    if let Some(apart) = m.apart {
        apart.exit(a.int(0));
    }
    exit_point(m, &a);
    m.exit_process(a.int(0))
}

fn exit_now(m: &mut Machine, a: Args) -> Flow {
    if let Some(apart) = m.apart {
        apart.exit(a.int(0));
    }
    exit_point(m, &a);
    m.finish(Outcome::Exited { code: a.int(0) & 0xff })
}

fn assert_fail(m: &mut Machine, a: Args) -> Flow {
    let text = m.c_string(a.word(0));
    m.record(a.site(), EventKind::Assertion);
    m.fail(FailureKind::Assertion, format!("assertion '{text}' failed"))
}

/// A function to be called when the process ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExitHandler {
    function: u64,
    argument: u64,
    /// Its first argument is the exit code (`on_exit`).
    takes_code: bool,
    /// For `quick_exit` only.
    quick: bool,
}

impl ExitHandler {
    pub fn plain(function: u64) -> ExitHandler {
        ExitHandler { function, argument: 0, takes_code: false, quick: false }
    }
}

fn register(m: &mut Machine, handler: ExitHandler) -> Flow {
    m.at_exit.push(handler);
    OK
}

impl Machine {
    /// Calls the handlers for one way to end the process, last registered first.
    pub fn run_exit_handlers(&mut self, code: i32, quick: bool) {
        while let Some(handler) = self.at_exit.pop() {
            if handler.quick != quick {
                continue;
            }
            if handler.takes_code {
                self.call_address(handler.function, &[code as u32 as u64, handler.argument]);
            } else {
                self.call_address(handler.function, &[handler.argument]);
            }
        }
    }
}

fn thread_at_exit(m: &mut Machine, a: Args) -> Flow {
    let entry = (a.word(0), a.word(1));
    m.current_thread().at_exit.push(entry);
    OK
}
