//! What a C++ program has the library call: its handlers for `std::terminate` and for `operator new` without memory, and what
//! waits for the end of a thread (`std::notify_all_at_thread_exit`, `set_value_at_thread_exit` and the like of futures).
//!
//! A handler that ends the process by itself decides how it ends. Of one that aborts, or returns, the failure is why it was
//! called. What waits for the end of the first thread is not called when `main` returns.

use std::mem;

use unravel_trace::{FailureKind, Note, Op, Outcome, SiteId};

use super::{Args, Family, Flow, OK, cond, mutex};
use crate::machine::Machine;
use crate::resolve::native_address;
use crate::site_tables::RECORD;
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("_ZSt13set_terminatePFvvE", |m, a| {
        Flow::Return(mem::replace(&mut m.handlers.terminate, a.word(0)))
    }),
    ("_ZSt13get_terminatev", |m, _| Flow::Return(m.handlers.terminate)),
    ("_ZSt15set_new_handlerPFvvE", |m, a| {
        Flow::Return(mem::replace(&mut m.handlers.new, a.word(0)))
    }),
    ("_ZSt15get_new_handlerv", |m, _| Flow::Return(m.handlers.new)),
    ("_ZSt25notify_all_at_thread_exitRSt18condition_variableSt11unique_lockISt5mutexE", notify),
    ("_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv", make_ready),
    ("abort", |m, _| match m.handlers.terminating.take() {
        Some((kind, why)) => m.fail(kind, why),
        None if m.program.names_its_error() => {
            m.note(Note::AbortAssumed);
            m.finish(Outcome::Discarded)
        }
        None => m.fail(FailureKind::Abort, "abort was called"),
    }),
];

/// The handlers of a run; 0 is the library's own.
#[derive(Debug, Default)]
pub(crate) struct Handlers {
    terminate: u64,
    pub new: u64,
    /// Why the handler was called that runs now.
    terminating: Option<(FailureKind, String)>,
}

/// What is to be done when a thread ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AtEnd {
    /// Unlocks the mutex and wakes all.
    Notify { cond: u64, mutex: u64, site: SiteId },
    /// A future's value is there.
    Ready { state: u64, owners: u64, site: SiteId },
}

impl Machine {
    /// `std::terminate`, for a reason: asks the program's handler first.
    pub fn terminate(&mut self, kind: FailureKind, why: String, exception: u64) -> ! {
        if self.handlers.terminate != 0 && self.handlers.terminating.is_none() {
            self.handlers.terminating = Some((kind, why.clone()));
            if let (true, Some(begin)) = (exception != 0, native_address("__cxa_begin_catch")) {
                // So that the handler can ask which one it is.
                let _ = self.try_call_native(begin, &[exception]);
            }
            self.call_address(self.handlers.terminate, &[]);
        }
        self.fail(kind, why)
    }

    /// The current thread ends: does what waits for that, last come first.
    pub fn do_at_end(&mut self) {
        while let Some(waiting) = self.current_thread().at_end.pop() {
            match waiting {
                AtEnd::Notify { cond, mutex, site } => {
                    mutex::unlock(self, mutex, site);
                    cond::broadcast(self, cond, site);
                }
                AtEnd::Ready { state, owners, site } => self.set_ready(state, owners, site),
            }
        }
    }

    fn set_ready(&mut self, state: u64, owners: u64, site: SiteId) {
        let status = state + STATUS;
        self.point(Op::Release, status, 4, site, Need::Nothing);
        // SAFETY: the future's weak pointer, which this thread holds, keeps the counts; they keep the state if somebody owns it.
        let owned = unsafe { ((owners + USE_COUNT) as *const u32).read_unaligned() } != 0;
        if !owned {
            return;
        }
        self.check_sync(status, 4, true);
        // SAFETY: checked.
        unsafe { (status as *mut u32).write_unaligned(READY) };
        self.shadow_forget(status, 4);
        self.made_progress();
        self.record_write(RECORD, status, 4, site);
    }
}

/// Where libstdc++ has the status in the state of a future, behind its virtual table and the result; what says that it is there.
const STATUS: u64 = 16;
const READY: u32 = 1;
/// Where the count of owners is in what shared pointers share.
const USE_COUNT: u64 = 8;

/// The lock is handed over: a `unique_lock` begins with a pointer to its mutex, then says whether it holds it.
fn notify(m: &mut Machine, a: Args) -> Flow {
    let (cond, lock) = (a.word(0), a.word(1));
    m.check_sync(lock, 9, true);
    // SAFETY: checked.
    let mutex = unsafe { (lock as *mut u64).replace(0) };
    // SAFETY: checked.
    unsafe { *((lock + 8) as *mut u8) = 0 };
    m.current_thread().at_end.push(AtEnd::Notify { cond, mutex, site: a.site() });
    OK
}

/// `_Make_ready` is an element of a list (next, callback), then a weak pointer to the future's state. It is not freed.
fn make_ready(m: &mut Machine, a: Args) -> Flow {
    m.check_sync(a.word(0), 32, false);
    // SAFETY: checked.
    let [_, _, state, owners] = unsafe { (a.word(0) as *const [u64; 4]).read_unaligned() };
    m.current_thread().at_end.push(AtEnd::Ready { state, owners, site: a.site() });
    OK
}
