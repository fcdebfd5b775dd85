//! `pthread_mutex_*` and `pthread_spin_*`: normal, recursive, error-checking. Robust and
//! priority-inheriting mutexes behave as normal ones.

use unravel_trace::{Deviation, EventKind, FailureKind, Op, Related, SiteId, ThreadId};

use super::{Args, Family, Flow, OK, error};
use crate::machine::Machine;
use crate::memory::Fault;
use crate::sync::mutex;
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("pthread_mutex_init", init),
    ("pthread_mutex_destroy", destroy),
    ("pthread_mutex_lock", |m, a| lock(m, a.word(0), a.site(), false)),
    ("pthread_mutex_timedlock", |m, a| {
        m.set_deadline(a.word(1));
        lock(m, a.word(0), a.site(), true)
    }),
    ("pthread_mutex_clocklock", |m, a| {
        m.set_deadline(a.word(2));
        lock(m, a.word(0), a.site(), true)
    }),
    ("pthread_mutex_trylock", |m, a| {
        let weak = is_cxx(m);
        try_lock(m, a.word(0), a.site(), weak)
    }),
    ("pthread_mutex_unlock", |m, a| unlock(m, a.word(0), a.site())),
    ("pthread_mutex_consistent", |_, _| OK),
    ("pthread_spin_init", spin_init),
    ("pthread_spin_destroy", |_, _| OK),
    ("pthread_spin_lock", spin_lock),
    ("pthread_spin_trylock", spin_try_lock),
    ("pthread_spin_unlock", spin_unlock),
];

pub(crate) const RECURSIVE: u32 = 1;
const ERROR_CHECK: u32 = 2;

impl Machine {
    /// Fails if a sync object's memory is not there.
    pub fn check_sync(&mut self, address: u64, bytes: u64, write: bool) {
        if write {
            self.define(address, bytes);
        }
        if let Err(fault) = self.memory.check(address, bytes) {
            if fault == Fault::Null {
                self.fail(
                    FailureKind::NullDereference,
                    "a null pointer is passed to a library function",
                );
            }
            self.fail_access(address, bytes, write, fault);
        }
        self.shadow_hand_over(address, bytes, write);
    }

    pub fn fail_sync(&mut self, address: u64, bytes: u64, site: SiteId, what: &str) -> ! {
        let name = self.sync_name(address, bytes, site, self.current);
        self.fail(FailureKind::SyncMisuse, format!("{what}: {name}"))
    }

    /// The same of an object that is no more, with the place where it went.
    pub fn fail_destroyed(&mut self, address: u64, bytes: u64, site: SiteId, what: &str) -> ! {
        let name = self.sync_name(address, bytes, site, self.current);
        let related = self.destroyed.get(&address).map(|(thread, site)| {
            let place = self.program.sites.get(site.index()).map(|site| site.place.clone());
            let who = &self.names[thread.index()];
            let message = format!("destroyed here by {who}");
            Related { message, stack: place.into_iter().collect() }
        });
        let related = related.into_iter().collect();
        self.fail_with(FailureKind::SyncMisuse, format!("{what}: {name}"), related)
    }

    /// Notes the end of a sync object.
    pub fn record_destroyed(&mut self, site: SiteId, (address, bytes): (u64, u64)) {
        let by = ThreadId(self.current as u32);
        self.destroyed.insert(address, (by, site));
        self.record_sync(site, (address, bytes), |at| EventKind::SyncDestroy { at });
    }

    fn check_mutex(&mut self, address: u64, site: SiteId) {
        self.check_sync(address, mutex::USED, true);
        let kind = mutex::kind(address);
        if kind == mutex::DESTROYED {
            self.fail_destroyed(address, mutex::BYTES, site, "use of a destroyed mutex");
        }
        // Anything else in the kind's field is not what an initialiser leaves.
        if kind & !0x1ff != 0 {
            self.fail_sync(address, mutex::BYTES, site, "use of an uninitialised mutex");
        }
    }

    fn me(&self) -> u32 {
        self.current as u32 + 1
    }

    pub fn owns_mutex(&self, address: u64) -> bool {
        if let Some(holds) = self.guided_holds(address) {
            return holds;
        }
        mutex::lock(address) != 0 && mutex::owner(address) == self.me()
    }
}

fn init(m: &mut Machine, a: Args) -> Flow {
    let attributes = a.word(1);
    if attributes != 0 {
        m.check_sync(attributes, 4, false);
    }
    // SAFETY: checked. As glibc has it, an attribute object is the kind with flags in its high bits.
    let kind = if attributes == 0 { 0 } else { unsafe { *(attributes as *const u32) & 3 } };
    init_as(m, a.word(0), kind, a.site())
}

pub(crate) fn init_as(m: &mut Machine, address: u64, kind: u32, site: SiteId) -> Flow {
    m.check_sync(address, mutex::USED, true);
    m.point(Op::Release, address, mutex::BYTES as u32, site, Need::Nothing);
    release(address);
    mutex::set_kind(address, kind);
    m.made_progress();
    m.record_sync(site, (address, mutex::BYTES), |at| EventKind::SyncInit { at, value: 0 });
    OK
}

pub(crate) fn destroy(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_mutex(address, a.site());
    m.point(Op::Release, address, mutex::BYTES as u32, a.site(), Need::Nothing);
    m.check_mutex(address, a.site());
    if mutex::lock(address) != 0 {
        m.fail_sync(address, mutex::BYTES, a.site(), "destruction of a mutex that is locked");
    }
    if m.is_awaited(Need::Mutex(address)) {
        m.fail_sync(
            address,
            mutex::BYTES,
            a.site(),
            "destruction of a mutex that a thread waits for",
        );
    }
    mutex::set_kind(address, mutex::DESTROYED);
    m.made_progress();
    m.record_destroyed(a.site(), (address, mutex::BYTES));
    OK
}

impl Machine {
    /// Whether another thread is blocked because its pending event needs this.
    pub fn is_awaited(&self, need: Need) -> bool {
        self.threads_of_run().any(|t| {
            !t.ended
                && t.need == need
                && t.id.index() != self.current
                && self.is_blocked(t.id.index())
        })
    }

    fn is_blocked(&self, index: usize) -> bool {
        !self.is_satisfied(index, self.threads[index].need)
    }
}

pub(crate) fn lock(m: &mut Machine, address: u64, site: SiteId, timed: bool) -> Flow {
    m.check_mutex(address, site);
    let kind = mutex::kind(address) & 3;
    if m.owns_mutex(address) {
        if kind == RECURSIVE {
            mutex::set_count(address, mutex::count(address) + 1);
            return OK;
        }
        if kind == ERROR_CHECK {
            return error(libc::EDEADLK);
        }
    }
    m.current_thread().timed = timed;
    m.current_thread().timed_out = false;
    m.point(Op::Acquire, address, mutex::BYTES as u32, site, Need::Mutex(address));
    m.check_mutex(address, site);
    if m.threads[m.current].timed_out {
        m.current_thread().timed_out = false;
        m.record_sync(site, (address, mutex::BYTES), |at| EventKind::TryLock {
            at,
            shared: false,
            acquired: false,
        });
        return error(libc::ETIMEDOUT);
    }
    take(m, address, 1);
    m.record_sync(site, (address, mutex::BYTES), |at| EventKind::Lock { at, shared: false });
    OK
}

pub(crate) fn take(m: &mut Machine, address: u64, count: u32) {
    mutex::set_lock(address, 1);
    mutex::set_owner(address, m.me());
    mutex::set_count(address, count);
    m.guided_take(address, true);
}

/// Whether C++'s `try_lock` is the caller: it comes down to that of pthreads, which never fails so.
pub(super) fn is_cxx(m: &Machine) -> bool {
    let frames = m.threads[m.current].frames.iter().rev().take(3);
    frames.map(|frame| m.program.function(frame.function).name.as_str()).any(|name| {
        name.starts_with("_ZNSt")
            && (name.contains("8try_lock") || name.contains("15try_lock_shared"))
    })
}

/// `weak`: the standard lets it fail although the mutex is free (C11, C++).
pub(crate) fn try_lock(m: &mut Machine, address: u64, site: SiteId, weak: bool) -> Flow {
    m.check_mutex(address, site);
    m.point(Op::Acquire, address, mutex::BYTES as u32, site, Need::Nothing);
    m.check_mutex(address, site);
    if weak && mutex::lock(address) == 0 && m.deviate(Deviation::TryLockFailure, site) {
        // It says nothing about the mutex.
        m.record(site, EventKind::Yield);
        return error(libc::EBUSY);
    }
    let free = m.guided_answer(mutex::lock(address) == 0);
    if free {
        take(m, address, 1);
    } else if m.owns_mutex(address) && mutex::kind(address) & 3 == RECURSIVE {
        mutex::set_count(address, mutex::count(address) + 1);
        return OK;
    }
    m.record_sync(site, (address, mutex::BYTES), |at| EventKind::TryLock {
        at,
        shared: false,
        acquired: free,
    });
    if free { OK } else { error(libc::EBUSY) }
}

pub(crate) fn unlock(m: &mut Machine, address: u64, site: SiteId) -> Flow {
    m.check_mutex(address, site);
    let kind = mutex::kind(address) & 3;
    if m.owns_mutex(address) && kind == RECURSIVE && mutex::count(address) > 1 {
        mutex::set_count(address, mutex::count(address) - 1);
        return OK;
    }
    m.point(Op::Release, address, mutex::BYTES as u32, site, Need::Nothing);
    m.check_mutex(address, site);
    if !m.owns_mutex(address) {
        if kind == ERROR_CHECK || kind == RECURSIVE {
            return error(libc::EPERM);
        }
        let what = match m.sync.mutex_owner(address) {
            Some(_) => "unlock of a mutex that another thread has locked",
            None => "unlock of a mutex that is not locked",
        };
        m.fail_sync(address, mutex::BYTES, site, what);
    }
    release(address);
    m.guided_take(address, false);
    m.record_sync(site, (address, mutex::BYTES), |at| EventKind::Unlock { at });
    OK
}

/// Gives a mutex up; returns how often it was held.
pub(crate) fn release(address: u64) -> u32 {
    let count = mutex::count(address);
    mutex::set_lock(address, 0);
    mutex::set_owner(address, 0);
    mutex::set_count(address, 0);
    count
}

// A spin lock is a word: 0 free, else 1 plus the number of its owner.
const SPIN_BYTES: u64 = 4;

fn spin_word(address: u64) -> *mut u32 {
    address as *mut u32
}

fn spin_init(m: &mut Machine, a: Args) -> Flow {
    m.check_sync(a.word(0), SPIN_BYTES, true);
    // SAFETY: checked.
    unsafe { *spin_word(a.word(0)) = 0 };
    OK
}

fn spin_lock(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_sync(address, SPIN_BYTES, true);
    m.point(Op::Acquire, address, SPIN_BYTES as u32, a.site(), Need::Mutex(address));
    m.check_sync(address, SPIN_BYTES, true);
    // SAFETY: checked.
    unsafe { *spin_word(address) = m.me() };
    m.record_sync(a.site(), (address, SPIN_BYTES), |at| EventKind::Lock { at, shared: false });
    OK
}

fn spin_try_lock(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_sync(address, SPIN_BYTES, true);
    m.point(Op::Acquire, address, SPIN_BYTES as u32, a.site(), Need::Nothing);
    m.check_sync(address, SPIN_BYTES, true);
    // SAFETY: checked.
    let free = m.guided_answer(unsafe { *spin_word(address) == 0 });
    if free {
        // SAFETY: as above.
        unsafe { *spin_word(address) = m.me() };
    }
    m.record_sync(a.site(), (address, SPIN_BYTES), |at| EventKind::TryLock {
        at,
        shared: false,
        acquired: free,
    });
    if free { OK } else { error(libc::EBUSY) }
}

fn spin_unlock(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_sync(address, SPIN_BYTES, true);
    m.point(Op::Release, address, SPIN_BYTES as u32, a.site(), Need::Nothing);
    m.check_sync(address, SPIN_BYTES, true);
    // SAFETY: checked.
    unsafe { *spin_word(address) = 0 };
    m.record_sync(a.site(), (address, SPIN_BYTES), |at| EventKind::Unlock { at });
    OK
}
