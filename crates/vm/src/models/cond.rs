//! `pthread_cond_*`. A wait is two events: release, and wake with re-acquire. Which waiter a signal
//! wakes is a choice of the schedule. Who wakes spuriously or times out does not wait any more, so that a signal is not
//! spent on it; a wait that times out while the mutex is taken is a third event.

use unravel_trace::{Deviation, EventKind, Op, Question, SiteId, ThreadId, WakeCause};

use super::{Args, Family, Flow, OK, error, mutex as mutex_model};
use crate::machine::Machine;
use crate::sync::{DESTROYED, cond, mutex};
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("pthread_cond_init", init),
    ("pthread_cond_destroy", destroy),
    ("pthread_cond_wait", |m, a| wait(m, a.word(0), a.word(1), a.site(), false)),
    ("pthread_cond_timedwait", |m, a| timed_wait(m, a, a.word(2))),
    ("pthread_cond_clockwait", |m, a| match a.int(2) {
        libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC => timed_wait(m, a, a.word(3)),
        _ => error(libc::EINVAL),
    }),
    ("pthread_cond_signal", |m, a| signal(m, a.word(0), a.site())),
    ("pthread_cond_broadcast", |m, a| broadcast(m, a.word(0), a.site())),
];

impl Machine {
    fn check_cond(&mut self, address: u64, site: SiteId) {
        self.check_sync(address, cond::USED, true);
        if cond::state(address) == DESTROYED {
            self.fail_destroyed(
                address,
                cond::BYTES,
                site,
                "use of a destroyed condition variable",
            );
        }
    }
}

pub(crate) fn init(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_sync(address, cond::USED, true);
    m.point(Op::Release, address, cond::BYTES as u32, a.site(), Need::Nothing);
    // SAFETY: checked.
    unsafe { (address as *mut u8).write_bytes(0, cond::USED as usize) };
    m.sync.waiting.remove(&address);
    m.made_progress();
    m.record_sync(a.site(), (address, cond::BYTES), |at| EventKind::SyncInit { at, value: 0 });
    OK
}

pub(crate) fn destroy(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_cond(address, a.site());
    m.point(Op::Release, address, cond::BYTES as u32, a.site(), Need::Nothing);
    m.check_cond(address, a.site());
    if m.sync.waiting.get(&address).is_some_and(|w| !w.is_empty()) {
        m.fail_sync(
            address,
            cond::BYTES,
            a.site(),
            "destruction of a condition variable that a thread waits on",
        );
    }
    cond::set_state(address, DESTROYED);
    m.made_progress();
    m.record_destroyed(a.site(), (address, cond::BYTES));
    OK
}

pub(crate) fn timed_wait(m: &mut Machine, a: Args, time: u64) -> Flow {
    if !m.set_deadline(time) {
        return error(libc::EINVAL);
    }
    wait(m, a.word(0), a.word(1), a.site(), true)
}

pub(crate) fn wait(m: &mut Machine, address: u64, lock: u64, site: SiteId, timed: bool) -> Flow {
    m.test_cancel();
    // Who is cancelled here takes the mutex first.
    let asynchronous = std::mem::take(&mut m.current_thread().cancellation.asynchronous);
    m.check_cond(address, site);
    m.check_sync(lock, mutex::USED, true);
    m.wait_point(address, cond::BYTES as u32, lock, site);
    m.check_cond(address, site);
    if !m.owns_mutex(lock) {
        m.fail_sync(
            lock,
            mutex::BYTES,
            site,
            "condition wait with a mutex that is not locked by this thread",
        );
    }
    let held = mutex_model::release(m, lock);
    m.guided_take(lock, false);
    let me = ThreadId(m.current as u32);
    let spurious = m.deviate(Deviation::SpuriousWakeup, site);
    m.guided_wait(address);
    if !spurious {
        m.sync.waiting.entry(address).or_default().push(me);
    }
    if m.recorder.is_on() {
        let lock_location = m.location(lock, mutex::BYTES, site);
        m.record_sync(site, (address, cond::BYTES), |at| EventKind::Wait {
            at,
            mutex: lock_location,
        });
    }
    let thread = m.current_thread();
    thread.woken_by = spurious.then_some(me);
    thread.timed = timed;
    thread.timed_out = false;
    m.point(
        Op::Acquire,
        address,
        cond::BYTES as u32,
        site,
        Need::Wake { cond: address, mutex: lock },
    );
    if let Some(waiting) = m.sync.waiting.get_mut(&address) {
        waiting.retain(|t| *t != me);
    }
    if m.threads[m.current].timed_out && !m.sync.mutex_is_free(lock) {
        m.point(Op::Acquire, lock, mutex::BYTES as u32, site, Need::Mutex(lock));
    }
    if m.cancel_is_due() {
        if !m.sync.mutex_is_free(lock) {
            m.point(Op::Acquire, lock, mutex::BYTES as u32, site, Need::Mutex(lock));
        }
        mutex_model::take(m, lock, held);
        m.test_cancel();
    }
    m.check_sync(lock, mutex::USED, true);
    mutex_model::take(m, lock, held);
    let thread = m.current_thread();
    let timed_out = std::mem::take(&mut thread.timed_out);
    let woken_by = thread.woken_by.take();
    // Whoever waits again is not where it was: the signal is spent, and the next one may be its own too.
    if !timed_out {
        m.made_progress();
    }
    let by = match woken_by {
        _ if timed_out => WakeCause::Timeout,
        Some(by) if by != me => WakeCause::Signal(by),
        _ => WakeCause::Spurious,
    };
    if m.recorder.is_on() {
        let lock_location = m.location(lock, mutex::BYTES, site);
        m.record_sync(site, (address, cond::BYTES), |at| EventKind::Wake {
            at,
            mutex: lock_location,
            by,
        });
    }
    m.current_thread().cancellation.asynchronous = asynchronous;
    // An owner that died is the graver news.
    match timed_out && !mutex_model::is_orphaned(lock) {
        true => error(libc::ETIMEDOUT),
        false => mutex_model::taken(lock),
    }
}

pub(crate) fn signal(m: &mut Machine, address: u64, site: SiteId) -> Flow {
    m.check_cond(address, site);
    m.point(Op::Signal, address, cond::BYTES as u32, site, Need::Nothing);
    m.check_cond(address, site);
    let count = m.sync.waiting.get(&address).map_or(0, |w| w.len() as u32);
    let woken = if count == 0 {
        None
    } else {
        let chosen = m.choose(Question::Waiter, count) as usize;
        let thread = m.sync.waiting.get_mut(&address).expect("counted above").remove(chosen);
        m.threads[thread.index()].woken_by = Some(ThreadId(m.current as u32));
        m.made_progress();
        Some(thread)
    };
    let woken = m.guided_waiter(address, woken);
    m.record_sync(site, (address, cond::BYTES), |at| EventKind::Signal { at, woken });
    OK
}

pub(crate) fn broadcast(m: &mut Machine, address: u64, site: SiteId) -> Flow {
    m.check_cond(address, site);
    m.point(Op::Signal, address, cond::BYTES as u32, site, Need::Nothing);
    m.check_cond(address, site);
    let woken = m.sync.waiting.remove(&address).unwrap_or_default();
    let by = ThreadId(m.current as u32);
    for thread in &woken {
        m.threads[thread.index()].woken_by = Some(by);
    }
    if !woken.is_empty() {
        m.made_progress();
    }
    let woken = woken.len() as u32;
    m.record_sync(site, (address, cond::BYTES), |at| EventKind::Broadcast { at, woken });
    OK
}
