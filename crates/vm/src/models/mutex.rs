//! `pthread_mutex_*` and `pthread_spin_*`: normal, recursive, error-checking, and robust ones of all three kinds.
//! Mutexes that inherit or protect priorities behave as others do: nothing here goes by priorities.

use unravel_trace::{Deviation, EventKind, FailureKind, Note, Op, Related, SiteId, ThreadId};

use super::{Args, Family, Flow, OK, error, priorities};
use crate::machine::Machine;
use crate::memory::Fault;
use crate::sync::mutex;
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("pthread_mutex_init", init),
    ("pthread_mutex_destroy", destroy),
    ("pthread_mutex_lock", |m, a| lock(m, a.word(0), a.site(), false)),
    ("pthread_mutex_timedlock", |m, a| timed_lock(m, a.word(0), a.word(1), a.site())),
    ("pthread_mutex_clocklock", |m, a| match a.int(1) {
        libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC => {
            timed_lock(m, a.word(0), a.word(2), a.site())
        }
        _ => error(libc::EINVAL),
    }),
    ("pthread_mutex_trylock", |m, a| {
        let weak = is_cxx(m);
        try_lock(m, a.word(0), a.site(), weak)
    }),
    ("pthread_mutex_unlock", |m, a| unlock(m, a.word(0), a.site())),
    ("pthread_mutex_consistent", consistent),
    ("pthread_mutex_consistent_np", consistent),
    ("pthread_mutex_getprioceiling", get_ceiling),
    ("pthread_mutex_setprioceiling", set_ceiling),
    ("pthread_spin_init", spin_init),
    ("pthread_spin_destroy", |_, _| OK),
    ("pthread_spin_lock", spin_lock),
    ("pthread_spin_trylock", spin_try_lock),
    ("pthread_spin_unlock", spin_unlock),
];

pub(crate) const RECURSIVE: u32 = 1;
const ERROR_CHECK: u32 = 2;
/// The flag of an attribute object that asks for a robust mutex.
const ROBUST_ATTRIBUTE: u32 = 0x4000_0000;
/// Where it keeps the protocol, and the ceiling of one that protects priorities.
const PROTOCOL_SHIFT: u32 = 28;
const CEILING_SHIFT: u32 = 12;

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
    let asked = if attributes == 0 { 0 } else { unsafe { *(attributes as *const u32) } };
    let robust = if asked & ROBUST_ATTRIBUTE == 0 { 0 } else { mutex::ROBUST };
    let protocol = match asked >> PROTOCOL_SHIFT & 3 {
        1 => mutex::INHERITS,
        2 => mutex::PROTECTS,
        _ => 0,
    };
    let flow = init_as(m, a.word(0), asked & 3 | robust | protocol, a.site());
    if protocol == mutex::PROTECTS {
        m.check_sync(a.word(0), mutex::BYTES, true);
        let least = priorities::range(libc::SCHED_FIFO).0 as u32;
        mutex::set_ceiling(a.word(0), (asked >> CEILING_SHIFT & 0xfff).max(least));
    }
    flow
}

pub(crate) fn init_as(m: &mut Machine, address: u64, kind: u32, site: SiteId) -> Flow {
    m.check_sync(address, mutex::USED, true);
    m.point(Op::Release, address, mutex::BYTES as u32, site, Need::Nothing);
    release(m, address);
    mutex::set_health(address, 0);
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
        if m.limits.lenient_locks {
            return error(libc::EBUSY);
        }
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

/// `pthread_mutex_timedlock`: who does not have to wait does not look at the time.
pub(crate) fn timed_lock(m: &mut Machine, address: u64, time: u64, site: SiteId) -> Flow {
    if m.set_deadline(time) {
        return lock(m, address, site, true);
    }
    match try_lock(m, address, site, false) {
        Flow::Return(number) if number == libc::EBUSY as u64 => error(libc::EINVAL),
        flow => flow,
    }
}

/// Whether the current thread's priority is above the ceiling of a mutex that protects priorities.
fn is_above_ceiling(m: &Machine, address: u64) -> bool {
    mutex::kind(address) & mutex::PROTECTS != 0
        && m.threads[m.current].scheduling.priority > mutex::ceiling(address) as i32
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
    if is_above_ceiling(m, address) {
        return error(libc::EINVAL);
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
    if is_lost(address) {
        return refuse_lost(m, site);
    }
    take(m, address, 1);
    m.record_sync(site, (address, mutex::BYTES), |at| EventKind::Lock { at, shared: false });
    taken(address)
}

/// Whether a robust mutex can never be taken again.
fn is_lost(address: u64) -> bool {
    mutex::kind(address) & mutex::ROBUST != 0 && mutex::health(address) == mutex::NOT_RECOVERABLE
}

fn refuse_lost(m: &mut Machine, site: SiteId) -> Flow {
    // It says nothing about who holds the mutex.
    m.record(site, EventKind::Yield);
    error(libc::ENOTRECOVERABLE)
}

/// What whoever took a mutex is told.
pub(crate) fn taken(address: u64) -> Flow {
    if is_orphaned(address) { error(libc::EOWNERDEAD) } else { OK }
}

/// Whether the owner of a robust mutex died, and what it guards is not consistent since.
pub(crate) fn is_orphaned(address: u64) -> bool {
    mutex::kind(address) & mutex::ROBUST != 0 && mutex::health(address) == mutex::OWNER_DIED
}

fn consistent(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_mutex(address, a.site());
    if !is_orphaned(address) || !m.owns_mutex(address) {
        return error(libc::EINVAL);
    }
    mutex::set_health(address, 0);
    OK
}

fn get_ceiling(m: &mut Machine, a: Args) -> Flow {
    m.check_mutex(a.word(0), a.site());
    if mutex::kind(a.word(0)) & mutex::PROTECTS == 0 {
        return error(libc::EINVAL);
    }
    store_ceiling(m, a.word(0), a.word(1))
}

fn store_ceiling(m: &mut Machine, address: u64, to: u64) -> Flow {
    m.check_sync(to, 4, true);
    // SAFETY: checked.
    unsafe { (to as *mut u32).write_unaligned(mutex::ceiling(address)) };
    OK
}

/// Who changes the ceiling holds the mutex meanwhile.
fn set_ceiling(m: &mut Machine, a: Args) -> Flow {
    let (address, site) = (a.word(0), a.site());
    m.check_mutex(address, site);
    let (least, most) = priorities::range(libc::SCHED_FIFO);
    if mutex::kind(address) & mutex::PROTECTS == 0 || !(least..=most).contains(&a.int(1)) {
        return error(libc::EINVAL);
    }
    let held = m.owns_mutex(address);
    if !held {
        match lock(m, address, site, false) {
            Flow::Return(0) => {}
            refused => return refused,
        }
    }
    if a.word(2) != 0 {
        store_ceiling(m, address, a.word(2));
    }
    mutex::set_ceiling(address, a.int(1) as u32);
    if held { OK } else { unlock(m, address, site) }
}

impl Machine {
    /// A thread ends: the robust mutexes that it holds go to whoever wants them next, who is told.
    pub fn orphan_mutexes(&mut self, site: SiteId) {
        let me = ThreadId(self.current as u32);
        loop {
            let held = self.sync.robust.iter().find(|(owner, _)| *owner == me);
            let Some(&(_, address)) = held else { return };
            self.sync.robust.retain(|held| *held != (me, address));
            let there = self.memory.check(address, mutex::USED).is_ok();
            if !there || !self.owns_mutex(address) || mutex::kind(address) & mutex::ROBUST == 0 {
                continue;
            }
            self.point(Op::Release, address, mutex::BYTES as u32, site, Need::Nothing);
            release(self, address);
            mutex::set_health(address, mutex::OWNER_DIED);
            self.guided_take(address, false);
            self.made_progress();
            self.record_sync(site, (address, mutex::BYTES), |at| EventKind::Unlock { at });
        }
    }
}

pub(crate) fn take(m: &mut Machine, address: u64, count: u32) {
    mutex::set_lock(address, 1);
    mutex::set_owner(address, m.me());
    mutex::set_count(address, count);
    if mutex::kind(address) & mutex::ROBUST != 0 {
        let me = ThreadId(m.current as u32);
        m.sync.robust.push((me, address));
    }
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
    if is_above_ceiling(m, address) && !m.owns_mutex(address) {
        return error(libc::EINVAL);
    }
    m.point(Op::Acquire, address, mutex::BYTES as u32, site, Need::Nothing);
    m.check_mutex(address, site);
    if weak && mutex::lock(address) == 0 && m.deviate(Deviation::TryLockFailure, site) {
        // It says nothing about the mutex.
        m.record(site, EventKind::Yield);
        return error(libc::EBUSY);
    }
    if is_lost(address) {
        return refuse_lost(m, site);
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
    if free { taken(address) } else { error(libc::EBUSY) }
}

pub(crate) fn unlock(m: &mut Machine, address: u64, site: SiteId) -> Flow {
    m.check_mutex(address, site);
    let kind = mutex::kind(address) & 3;
    let robust = mutex::kind(address) & mutex::ROBUST != 0;
    if m.owns_mutex(address) && kind == RECURSIVE && mutex::count(address) > 1 {
        mutex::set_count(address, mutex::count(address) - 1);
        return OK;
    }
    m.point(Op::Release, address, mutex::BYTES as u32, site, Need::Nothing);
    m.check_mutex(address, site);
    if !m.owns_mutex(address) {
        if kind == ERROR_CHECK || kind == RECURSIVE || robust {
            return error(libc::EPERM);
        }
        if m.limits.lenient_locks {
            return unlock_others(m, address, site);
        }
        let what = match m.sync.mutex_owner(address) {
            Some(_) => "unlock of a mutex that another thread has locked",
            None => "unlock of a mutex that is not locked",
        };
        m.fail_sync(address, mutex::BYTES, site, what);
    }
    if is_orphaned(address) {
        mutex::set_health(address, mutex::NOT_RECOVERABLE);
    }
    release(m, address);
    m.guided_take(address, false);
    m.record_sync(site, (address, mutex::BYTES), |at| EventKind::Unlock { at });
    OK
}

/// A mutex of the normal kind asks nobody who unlocks it; where nobody has locked it, nothing happens.
fn unlock_others(m: &mut Machine, address: u64, site: SiteId) -> Flow {
    m.note(Note::ForeignUnlock);
    if mutex::lock(address) == 0 {
        m.record(site, EventKind::Yield);
        return OK;
    }
    release(m, address);
    m.guided_take(address, false);
    m.made_progress();
    m.record_sync(site, (address, mutex::BYTES), |at| EventKind::Unlock { at });
    OK
}

/// Gives a mutex up; returns how often it was held.
pub(crate) fn release(m: &mut Machine, address: u64) -> u32 {
    if !m.sync.robust.is_empty() {
        m.sync.robust.retain(|(_, held)| *held != address);
    }
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
