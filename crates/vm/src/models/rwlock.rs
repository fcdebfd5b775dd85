//! `pthread_rwlock_*`. Readers are preferred, as in glibc's default.

use unravel_trace::{Deviation, EventKind, Op, SiteId, ThreadId};

use super::mutex::is_cxx;
use super::{Args, Family, Flow, OK, error};
use crate::machine::Machine;
use crate::sync::{DESTROYED, rwlock};
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("pthread_rwlock_init", init),
    ("pthread_rwlock_destroy", destroy),
    ("pthread_rwlock_rdlock", |m, a| lock(m, a, true, false)),
    ("pthread_rwlock_wrlock", |m, a| lock(m, a, false, false)),
    ("pthread_rwlock_timedrdlock", |m, a| timed_lock(m, a, true, a.word(1))),
    ("pthread_rwlock_timedwrlock", |m, a| timed_lock(m, a, false, a.word(1))),
    ("pthread_rwlock_clockrdlock", |m, a| clock_lock(m, a, true)),
    ("pthread_rwlock_clockwrlock", |m, a| clock_lock(m, a, false)),
    ("pthread_rwlock_tryrdlock", |m, a| try_lock(m, a, true)),
    ("pthread_rwlock_trywrlock", |m, a| try_lock(m, a, false)),
    ("pthread_rwlock_unlock", unlock),
];

impl Machine {
    fn check_rwlock(&mut self, address: u64, site: SiteId) {
        self.check_sync(address, rwlock::USED, true);
        if rwlock::state(address) == DESTROYED {
            self.fail_destroyed(address, rwlock::BYTES, site, "use of a destroyed rwlock");
        }
    }

    fn take_rwlock(&mut self, address: u64, shared: bool) {
        let me = ThreadId(self.current as u32);
        if shared {
            rwlock::set_readers(address, rwlock::readers(address) + 1);
            self.sync.readers.entry(address).or_default().push(me);
        } else {
            rwlock::set_writer(address, me.0 + 1);
        }
    }
}

fn init(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_sync(address, rwlock::USED, true);
    m.point(Op::Release, address, rwlock::BYTES as u32, a.site(), Need::Nothing);
    // SAFETY: checked.
    unsafe { (address as *mut u8).write_bytes(0, rwlock::USED as usize) };
    m.sync.readers.remove(&address);
    m.made_progress();
    m.record_sync(a.site(), (address, rwlock::BYTES), |at| EventKind::SyncInit { at, value: 0 });
    OK
}

fn destroy(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_rwlock(address, a.site());
    m.point(Op::Release, address, rwlock::BYTES as u32, a.site(), Need::Nothing);
    m.check_rwlock(address, a.site());
    if rwlock::writer(address) != 0 || rwlock::readers(address) != 0 {
        m.fail_sync(address, rwlock::BYTES, a.site(), "destruction of a rwlock that is locked");
    }
    rwlock::set_state(address, DESTROYED);
    m.made_progress();
    m.record_destroyed(a.site(), (address, rwlock::BYTES));
    OK
}

fn clock_lock(m: &mut Machine, a: Args, shared: bool) -> Flow {
    match a.int(1) {
        libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC => timed_lock(m, a, shared, a.word(2)),
        _ => error(libc::EINVAL),
    }
}

fn timed_lock(m: &mut Machine, a: Args, shared: bool, time: u64) -> Flow {
    if !m.set_deadline(time) {
        return error(libc::EINVAL);
    }
    lock(m, a, shared, true)
}

fn lock(m: &mut Machine, a: Args, shared: bool, timed: bool) -> Flow {
    let address = a.word(0);
    m.check_rwlock(address, a.site());
    if rwlock::writer(address) == m.current as u32 + 1 {
        return error(libc::EDEADLK);
    }
    let (op, need) = if shared {
        (Op::AcquireShared, Need::ReadLock(address))
    } else {
        (Op::Acquire, Need::WriteLock(address))
    };
    m.current_thread().timed = timed;
    m.current_thread().timed_out = false;
    m.point(op, address, rwlock::BYTES as u32, a.site(), need);
    m.check_rwlock(address, a.site());
    let timed_out = std::mem::take(&mut m.current_thread().timed_out);
    if timed_out {
        m.record_sync(a.site(), (address, rwlock::BYTES), |at| EventKind::TryLock {
            at,
            shared,
            acquired: false,
        });
        return error(libc::ETIMEDOUT);
    }
    m.take_rwlock(address, shared);
    m.record_sync(a.site(), (address, rwlock::BYTES), |at| EventKind::Lock { at, shared });
    OK
}

fn try_lock(m: &mut Machine, a: Args, shared: bool) -> Flow {
    let address = a.word(0);
    m.check_rwlock(address, a.site());
    let op = if shared { Op::AcquireShared } else { Op::Acquire };
    m.point(op, address, rwlock::BYTES as u32, a.site(), Need::Nothing);
    m.check_rwlock(address, a.site());
    let free = rwlock::writer(address) == 0 && (shared || rwlock::readers(address) == 0);
    if free && is_cxx(m) && m.deviate(Deviation::TryLockFailure, a.site()) {
        m.record(a.site(), EventKind::Yield);
        return error(libc::EBUSY);
    }
    let acquired = m.guided_answer(free);
    if acquired {
        m.take_rwlock(address, shared);
    }
    m.record_sync(a.site(), (address, rwlock::BYTES), |at| EventKind::TryLock {
        at,
        shared,
        acquired,
    });
    if acquired { OK } else { error(libc::EBUSY) }
}

fn unlock(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_rwlock(address, a.site());
    m.point(Op::Release, address, rwlock::BYTES as u32, a.site(), Need::Nothing);
    m.check_rwlock(address, a.site());
    let me = ThreadId(m.current as u32);
    if rwlock::writer(address) == me.0 + 1 {
        rwlock::set_writer(address, 0);
    } else {
        let readers = m.sync.readers.entry(address).or_default();
        match readers.iter().position(|t| *t == me) {
            Some(index) => {
                readers.remove(index);
                rwlock::set_readers(address, rwlock::readers(address).saturating_sub(1));
            }
            None => m.fail_sync(
                address,
                rwlock::BYTES,
                a.site(),
                "unlock of a rwlock that this thread has not locked",
            ),
        }
    }
    m.record_sync(a.site(), (address, rwlock::BYTES), |at| EventKind::Unlock { at });
    OK
}
