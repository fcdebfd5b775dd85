//! One-time initialisation: `pthread_once`, `std::call_once`, function statics.

use unravel_trace::{EventKind, Op, SiteId};

use super::{Args, Family, Flow, OK};
use crate::interpret::Uncaught;
use crate::machine::Machine;
use crate::resolve::native_address;
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("pthread_once", once),
    ("call_once", once),
    ("__once_proxy", std_once_proxy),
    ("__cxa_guard_acquire", guard_acquire),
    ("__cxa_guard_release", guard_release),
    ("__cxa_guard_abort", guard_abort),
];

const BYTES: u64 = 4;
const DONE: u32 = 2;

impl Machine {
    /// Waits until nobody runs the initialiser of `address`; true if this thread is to run it.
    fn begin_once(&mut self, address: u64, site: SiteId, is_done: fn(u64) -> bool) -> bool {
        self.check_sync(address, BYTES, true);
        self.point(Op::Acquire, address, BYTES as u32, site, Need::Once(address));
        let won = self.guided_answer(!is_done(address));
        if won {
            let current = self.current as u32;
            self.once_running.insert(address, current);
            self.made_progress();
        }
        self.record_sync(site, (address, BYTES), |at| EventKind::Once { at, won });
        won
    }

    /// The initialiser has ended. Others may look at the object without a call: it changes with the event, not before.
    pub fn end_once(&mut self, address: u64, site: SiteId, change: impl FnOnce()) {
        self.point(Op::Release, address, BYTES as u32, site, Need::Nothing);
        change();
        self.once_running.remove(&address);
        self.made_progress();
        self.record_sync(site, (address, BYTES), |at| EventKind::OnceDone { at });
    }
}

fn once(m: &mut Machine, a: Args) -> Flow {
    let control = a.word(0);
    // SAFETY: `begin_once` checks the memory.
    let done = |at: u64| unsafe { (at as *const u32).read_unaligned() == DONE };
    if !m.begin_once(control, a.site(), done) {
        return OK;
    }
    let thrown = m.try_call_address(a.word(1), &[]).is_err();
    m.end_once(control, a.site(), || {
        if !thrown {
            // SAFETY: as above.
            unsafe { (control as *mut u32).write_unaligned(DONE) };
        }
    });
    if thrown { Flow::Throw } else { OK }
}

/// libstdc++ passes the callable of `std::call_once` in a thread-local function pointer.
fn std_once_proxy(m: &mut Machine, _: Args) -> Flow {
    let Some(place) = native_address("_ZSt11__once_call") else {
        m.finish_inconclusive("std::call_once without libstdc++".into());
    };
    // SAFETY: libstdc++'s own variable, set by the program's inlined std::call_once.
    let callable = unsafe { *(place as *const u64) };
    match m.try_call_address(callable, &[]) {
        Ok(_) => OK,
        Err(Uncaught) => Flow::Throw,
    }
}

fn guard_is_done(address: u64) -> bool {
    // SAFETY: `begin_once` checks the memory.
    unsafe { *(address as *const u8) != 0 }
}

fn guard_acquire(m: &mut Machine, a: Args) -> Flow {
    Flow::Return(u64::from(m.begin_once(a.word(0), a.site(), guard_is_done)))
}

fn guard_release(m: &mut Machine, a: Args) -> Flow {
    let guard = a.word(0) as *mut u8;
    // SAFETY: checked by the acquire before.
    m.end_once(a.word(0), a.site(), || unsafe { *guard = 1 });
    OK
}

fn guard_abort(m: &mut Machine, a: Args) -> Flow {
    m.end_once(a.word(0), a.site(), || {});
    OK
}
