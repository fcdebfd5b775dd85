//! C11 `<threads.h>`. As in glibc, its objects are those of pthreads; only results have other numbers.
//! (`thrd_exit`, `thrd_current`, `thrd_equal` and `thrd_yield` are with the threads, `thrd_sleep` with
//! the clock, `call_once` with `pthread_once`.)

use super::{Args, Family, Flow, OK, cond, mutex, threads};
use crate::machine::Machine;

pub(crate) const MODELS: Family = &[
    ("thrd_create", create),
    ("thrd_join", join),
    ("thrd_detach", |m, a| status(threads::detach(m, a.word(0)))),
    ("mtx_init", |m, a| {
        let kind = if a.int(1) & RECURSIVE != 0 { mutex::RECURSIVE } else { 0 };
        status(mutex::init_as(m, a.word(0), kind, a.site()))
    }),
    ("mtx_destroy", mutex::destroy),
    ("mtx_lock", |m, a| status(mutex::lock(m, a.word(0), a.site(), false))),
    ("mtx_timedlock", |m, a| status(mutex::timed_lock(m, a.word(0), a.word(1), a.site()))),
    ("mtx_trylock", |m, a| status(mutex::try_lock(m, a.word(0), a.site(), true))),
    ("mtx_unlock", |m, a| status(mutex::unlock(m, a.word(0), a.site()))),
    ("cnd_init", cond::init),
    ("cnd_destroy", cond::destroy),
    ("cnd_wait", |m, a| status(cond::wait(m, a.word(0), a.word(1), a.site(), false))),
    ("cnd_timedwait", |m, a| status(cond::timed_wait(m, a, a.word(2)))),
    ("cnd_signal", |m, a| cond::signal(m, a.word(0), a.site())),
    ("cnd_broadcast", |m, a| cond::broadcast(m, a.word(0), a.site())),
    ("tss_create", |m, a| status(threads::key_create(m, a))),
    ("tss_delete", threads::key_delete),
    ("tss_set", |m, a| status(threads::set_specific(m, a))),
    ("tss_get", threads::get_specific),
];

/// `mtx_recursive`.
const RECURSIVE: i32 = 1;

/// `thrd_success`, `thrd_busy` and so on for an error number.
fn status(flow: Flow) -> Flow {
    let Flow::Return(number) = flow else { return flow };
    Flow::Return(match number as i32 {
        0 => 0,
        libc::EBUSY => 1,
        libc::ENOMEM => 3,
        libc::ETIMEDOUT => 4,
        _ => 2,
    })
}

fn create(m: &mut Machine, a: Args) -> Flow {
    m.check_sync(a.word(0), 8, true);
    let shadow = m.shadow_argument(a, 2);
    let child = threads::fork(m, a.word(1), a.word(2), None, a.site());
    m.shadow_start(child, shadow);
    // SAFETY: checked above.
    unsafe { (a.word(0) as *mut u64).write_unaligned(m.threads[child.index()].handle) };
    OK
}

/// The result of a thread is an `int` here.
fn join(m: &mut Machine, a: Args) -> Flow {
    let child = m.find_thread(a.word(0));
    let flow = threads::join(m, a.word(0), 0, a.site(), threads::Patience::Endless);
    if let (Flow::Return(0), Some(child), true) = (flow, child, a.word(1) != 0) {
        m.check_sync(a.word(1), 4, true);
        // SAFETY: checked.
        unsafe { (a.word(1) as *mut u32).write_unaligned(m.threads[child].result as u32) };
        m.shadow_pass_result(child, a.word(1), 4);
    }
    status(flow)
}
