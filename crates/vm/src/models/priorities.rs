//! Policies and priorities of threads: what was asked for is remembered and told, and refused where the kernel would.
//!
//! They decide nothing. On enough processors all threads run, whatever their priorities, so that no schedule is out of the
//! question. Whoever asks is taken to be privileged: that real-time policies are refused to others is not modelled.

use super::{Family, Flow, OK, error, fail_with_errno, signals};
use crate::machine::Machine;

pub(crate) const MODELS: Family = &[
    ("pthread_setschedparam", |m, a| match m.find_thread(a.word(0)) {
        Some(thread) => error(set(m, thread, a.int(1), a.word(2))),
        None => error(libc::ESRCH),
    }),
    ("pthread_getschedparam", |m, a| match m.find_thread(a.word(0)) {
        Some(thread) => {
            let Scheduling { policy, priority } = m.threads[thread].scheduling;
            store(m, a.word(1), policy);
            store(m, a.word(2), priority)
        }
        None => error(libc::ESRCH),
    }),
    ("pthread_setschedprio", |m, a| match m.find_thread(a.word(0)) {
        Some(thread) => {
            let policy = m.threads[thread].scheduling.policy;
            error(change(m, thread, Scheduling { policy, priority: a.int(1) }))
        }
        None => error(libc::ESRCH),
    }),
    ("sched_setscheduler", |m, a| match thread_of(m, a.int(0)) {
        Some(thread) => result(set(m, thread, a.int(1), a.word(2))),
        None => fail_with_errno(libc::ESRCH),
    }),
    ("sched_getscheduler", |m, a| match thread_of(m, a.int(0)) {
        Some(thread) => Flow::Return(m.threads[thread].scheduling.policy as u64),
        None => fail_with_errno(libc::ESRCH),
    }),
    ("sched_setparam", |m, a| match thread_of(m, a.int(0)) {
        Some(thread) => {
            let policy = m.threads[thread].scheduling.policy;
            result(set(m, thread, policy, a.word(1)))
        }
        None => fail_with_errno(libc::ESRCH),
    }),
    ("sched_getparam", |m, a| match thread_of(m, a.int(0)) {
        Some(thread) => {
            let priority = m.threads[thread].scheduling.priority;
            store(m, a.word(1), priority)
        }
        None => fail_with_errno(libc::ESRCH),
    }),
];

/// `SCHED_OTHER` without a priority is what a process begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Scheduling {
    pub policy: i32,
    pub priority: i32,
}

/// The lowest and the highest priority of a policy; both negative if there is no such policy.
pub(crate) fn range(policy: i32) -> (i32, i32) {
    // SAFETY: asks for constants.
    unsafe { (libc::sched_get_priority_min(policy), libc::sched_get_priority_max(policy)) }
}

impl Scheduling {
    fn is_possible(self) -> bool {
        let (least, most) = range(self.policy);
        least >= 0 && (least..=most).contains(&self.priority)
    }
}

/// What an attribute object asks for; nothing if its thread is to be as its creator is.
pub(crate) fn asked(attributes: u64) -> Result<Option<Scheduling>, i32> {
    if attributes == 0 {
        return Ok(None);
    }
    let (mut inherits, mut scheduling) = (0, Scheduling::default());
    // SAFETY: an attribute object that glibc itself set up.
    unsafe {
        pthread_attr_getinheritsched(attributes as *const _, &mut inherits);
        pthread_attr_getschedpolicy(attributes as *const _, &mut scheduling.policy);
        pthread_attr_getschedparam(attributes as *const _, &mut scheduling.priority);
    }
    if inherits != PTHREAD_EXPLICIT_SCHED {
        return Ok(None);
    }
    if scheduling.is_possible() { Ok(Some(scheduling)) } else { Err(libc::EINVAL) }
}

const PTHREAD_EXPLICIT_SCHED: i32 = 1;

unsafe extern "C" {
    fn pthread_attr_getinheritsched(attributes: *const libc::c_void, inherits: *mut i32) -> i32;
    fn pthread_attr_getschedpolicy(attributes: *const libc::c_void, policy: *mut i32) -> i32;
    /// A `struct sched_param` is the priority.
    fn pthread_attr_getschedparam(attributes: *const libc::c_void, priority: *mut i32) -> i32;
}

/// The thread that a number of a process or thread means, 0 being the current one.
pub(super) fn thread_of(m: &Machine, number: i32) -> Option<usize> {
    match number {
        0 => Some(m.current),
        number => signals::thread_of_number(m, number),
    }
}

/// Gives a thread the policy, and the priority at an address; the number of the error, if there is one.
fn set(m: &mut Machine, thread: usize, policy: i32, at: u64) -> i32 {
    m.check_sync(at, 4, false);
    // SAFETY: checked.
    let priority = unsafe { (at as *const i32).read_unaligned() };
    change(m, thread, Scheduling { policy, priority })
}

fn change(m: &mut Machine, thread: usize, to: Scheduling) -> i32 {
    if !to.is_possible() {
        return libc::EINVAL;
    }
    m.threads[thread].scheduling = to;
    0
}

fn result(number: i32) -> Flow {
    if number == 0 { OK } else { fail_with_errno(number) }
}

fn store(m: &mut Machine, at: u64, value: i32) -> Flow {
    m.check_sync(at, 4, true);
    // SAFETY: checked.
    unsafe { (at as *mut i32).write_unaligned(value) };
    OK
}
