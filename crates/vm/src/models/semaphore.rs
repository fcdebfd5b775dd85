//! `sem_*`, unnamed and named.

use unravel_trace::{EventKind, Op, SiteId};

use super::{Args, Family, Flow, OK, fail_with_errno};
use crate::machine::Machine;
use crate::sync::{DESTROYED, MAGIC, semaphore};
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("sem_init", init),
    ("sem_destroy", destroy),
    ("sem_open", open),
    ("sem_close", |_, _| OK),
    ("sem_unlink", unlink),
    ("sem_wait", |m, a| wait(m, a, false)),
    ("sem_timedwait", |m, a| timed_wait(m, a, a.word(1))),
    ("sem_clockwait", |m, a| match a.int(1) {
        libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC => timed_wait(m, a, a.word(2)),
        _ => fail_with_errno(libc::EINVAL),
    }),
    ("sem_trywait", try_wait),
    ("sem_post", post),
    ("sem_getvalue", get_value),
];

/// A name is a file's, `sem.` being put before it.
const LONGEST_NAME: usize = 255 - 4;
const BYTES: u64 = semaphore::BYTES;
const USED: u64 = semaphore::USED;

impl Machine {
    fn check_semaphore(&mut self, address: u64, site: SiteId) {
        self.check_sync(address, USED, true);
        match semaphore::state(address) {
            MAGIC => {}
            DESTROYED => self.fail_destroyed(address, BYTES, site, "use of a destroyed semaphore"),
            _ => self.fail_sync(address, BYTES, site, "use of a semaphore before sem_init"),
        }
    }
}

fn init(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    let value = a.word(2) as u32;
    if value > i32::MAX as u32 {
        return fail_with_errno(libc::EINVAL);
    }
    m.check_sync(address, USED, true);
    m.point(Op::Release, address, BYTES as u32, a.site(), Need::Nothing);
    semaphore::set_value(address, value);
    semaphore::set_state(address, MAGIC);
    m.made_progress();
    m.record_sync(a.site(), (address, BYTES), |at| EventKind::SyncInit { at, value });
    OK
}

fn destroy(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_semaphore(address, a.site());
    m.point(Op::Release, address, BYTES as u32, a.site(), Need::Nothing);
    m.check_semaphore(address, a.site());
    if m.is_awaited(Need::Semaphore(address)) {
        m.fail_sync(address, BYTES, a.site(), "destruction of a semaphore that a thread waits for");
    }
    semaphore::set_state(address, DESTROYED);
    m.made_progress();
    m.record_destroyed(a.site(), (address, BYTES));
    OK
}

/// Named semaphores live as long as the run; the name is all that is shared. `SEM_FAILED` is null.
fn open(m: &mut Machine, a: Args) -> Flow {
    let name = m.c_string(a.word(0));
    let flags = a.int(1);
    let known = m.sem_names.get(&name).copied();
    let refused = match known {
        Some(_) if flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0 => Some(libc::EEXIST),
        None if is_too_long(&name) => Some(libc::ENAMETOOLONG),
        None if flags & libc::O_CREAT == 0 => Some(libc::ENOENT),
        None if a.word(3) as u32 > i32::MAX as u32 => Some(libc::EINVAL),
        _ => None,
    };
    if let Some(number) = refused {
        fail_with_errno(number);
        return Flow::Return(0);
    }
    let address = known.unwrap_or_else(|| {
        let slot = m.threads[m.current].slot;
        let address = m.memory.allocate(slot, BYTES, 16, (a.site(), None));
        semaphore::set_value(address, a.word(3) as u32);
        semaphore::set_state(address, MAGIC);
        m.sem_names.insert(name, address);
        address
    });
    Flow::Return(address)
}

fn is_too_long(name: &str) -> bool {
    name.trim_start_matches('/').len() > LONGEST_NAME
}

fn unlink(m: &mut Machine, a: Args) -> Flow {
    let name = m.c_string(a.word(0));
    if is_too_long(&name) {
        return fail_with_errno(libc::ENAMETOOLONG);
    }
    if m.sem_names.remove(&name).is_some() { OK } else { fail_with_errno(libc::ENOENT) }
}

fn timed_wait(m: &mut Machine, a: Args, time: u64) -> Flow {
    if !m.set_deadline(time) {
        return fail_with_errno(libc::EINVAL);
    }
    wait(m, a, true)
}

fn wait(m: &mut Machine, a: Args, timed: bool) -> Flow {
    let address = a.word(0);
    m.test_cancel();
    m.check_semaphore(address, a.site());
    m.current_thread().timed = timed;
    m.current_thread().timed_out = false;
    m.point(Op::Acquire, address, BYTES as u32, a.site(), Need::Semaphore(address));
    m.test_cancel();
    if m.was_interrupted() {
        return fail_with_errno(libc::EINTR);
    }
    m.check_semaphore(address, a.site());
    let timed_out = std::mem::take(&mut m.current_thread().timed_out);
    if timed_out {
        m.record_sync(a.site(), (address, BYTES), |at| EventKind::SemTryWait {
            at,
            acquired: false,
        });
        return fail_with_errno(libc::ETIMEDOUT);
    }
    semaphore::set_value(address, semaphore::value(address).saturating_sub(1));
    m.made_progress();
    m.record_sync(a.site(), (address, BYTES), |at| EventKind::SemWait { at });
    OK
}

fn try_wait(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_semaphore(address, a.site());
    m.point(Op::Acquire, address, BYTES as u32, a.site(), Need::Nothing);
    m.check_semaphore(address, a.site());
    let value = semaphore::value(address);
    let acquired = m.guided_answer(value > 0);
    if acquired {
        semaphore::set_value(address, value.saturating_sub(1));
        m.made_progress();
    }
    m.record_sync(a.site(), (address, BYTES), |at| EventKind::SemTryWait { at, acquired });
    if acquired { OK } else { fail_with_errno(libc::EAGAIN) }
}

fn post(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_semaphore(address, a.site());
    m.point(Op::Release, address, BYTES as u32, a.site(), Need::Nothing);
    m.check_semaphore(address, a.site());
    semaphore::set_value(address, semaphore::value(address) + 1);
    m.made_progress();
    m.record_sync(a.site(), (address, BYTES), |at| EventKind::SemPost { at });
    OK
}

fn get_value(m: &mut Machine, a: Args) -> Flow {
    let (address, to) = (a.word(0), a.word(1));
    m.check_semaphore(address, a.site());
    m.check_sync(to, 4, true);
    m.atomic_read_point(address, BYTES as u32, a.site());
    // SAFETY: checked.
    unsafe { *(to as *mut u32) = semaphore::value(address) };
    m.record_read(address, 4, a.site());
    OK
}
