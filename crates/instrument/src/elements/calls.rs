//! The functions of libraries whose calls are accesses to elements, and how each is logged. Kinds are the runtime's
//! (`crates/runtime/src/elements.rs`), which has the same numbers.

/// How a call is logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hook {
    /// Reads where its second argument points, writes where the first does, as many bytes as the third says.
    Copy,
    Set,
    Free,
    /// A sync operation; `class` is the size of its object.
    Sync {
        kind: u32,
        class: u32,
    },
}

impl Hook {
    pub(super) fn arguments(self) -> usize {
        match self {
            Hook::Copy | Hook::Set => 3,
            Hook::Sync { kind: WAIT, .. } => 2,
            _ => 1,
        }
    }
}

/// Whoever unlocks has the lock: the next one implies it.
pub(super) const NOTHING: u32 = 0;
/// One entry, in one step with the call, which does not block.
pub(super) const AROUND: u32 = 1;
/// One entry once the call has got the object.
pub(super) const AFTER: u32 = 2;
/// An entry before, and one of condition and mutex after.
pub(super) const WAIT: u32 = 3;
/// An entry before and one after.
pub(super) const BARRIER: u32 = 4;
/// As [`AROUND`], but nothing if the thread has the object: that gives it back, which the next one implies.
pub(super) const GIVES: u32 = 5;
/// As [`AFTER`] and [`AROUND`], and the thread has the object then.
pub(super) const TAKES: u32 = 6;
pub(super) const TRIES: u32 = 7;
/// No entry: only that the thread waits here.
pub(super) const BLOCKS: u32 = 8;

pub(super) const MUTEX: u32 = 40;
const COND: u32 = 48;
const RWLOCK: u32 = 56;
const BARRIER_BYTES: u32 = 32;
const SEMAPHORE: u32 = 32;
const SPIN: u32 = 4;

/// Whether a thread may wait there: a run that hangs says where.
pub(super) fn may_block(kind: u32) -> bool {
    matches!(kind, AFTER | WAIT | BARRIER | TAKES | BLOCKS)
}

/// Functions of the C++ library that wait inside of it, where nothing is logged: a run that hangs says where all the same. They may unwind.
pub(super) fn waits_inside(name: &str) -> bool {
    matches!(
        name,
        "_ZNSt6thread4joinEv" | "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
    )
}

pub(super) fn hook_of(name: &str) -> Option<Hook> {
    let sync = |kind, class| Some(Hook::Sync { kind, class });
    match name {
        "memcpy" | "memmove" => return Some(Hook::Copy),
        "memset" => return Some(Hook::Set),
        "free" | "_ZdlPv" | "_ZdlPvm" | "_ZdaPv" | "_ZdaPvm" => return Some(Hook::Free),
        "pthread_join" => return sync(BLOCKS, 0),
        _ if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") => {
            return Some(Hook::Copy);
        }
        _ if name.starts_with("llvm.memset.") => return Some(Hook::Set),
        _ => {}
    }
    let name = name.strip_prefix("pthread_").or_else(|| name.strip_prefix("sem_").map(|_| name))?;
    match name {
        "mutex_lock" => sync(AFTER, MUTEX),
        "mutex_trylock" | "mutex_init" | "mutex_destroy" => sync(AROUND, MUTEX),
        "mutex_unlock" => sync(NOTHING, MUTEX),
        "rwlock_rdlock" | "rwlock_wrlock" => sync(AFTER, RWLOCK),
        "rwlock_tryrdlock" | "rwlock_trywrlock" | "rwlock_init" | "rwlock_destroy" => {
            sync(AROUND, RWLOCK)
        }
        "rwlock_unlock" => sync(NOTHING, RWLOCK),
        "spin_lock" => sync(AFTER, SPIN),
        "spin_trylock" => sync(AROUND, SPIN),
        "spin_unlock" => sync(NOTHING, SPIN),
        "cond_wait" => sync(WAIT, COND),
        "cond_signal" | "cond_broadcast" | "cond_init" | "cond_destroy" => sync(AROUND, COND),
        "barrier_init" | "barrier_destroy" => sync(GIVES, BARRIER_BYTES),
        "barrier_wait" => sync(BARRIER, BARRIER_BYTES),
        "sem_wait" => sync(TAKES, SEMAPHORE),
        "sem_trywait" => sync(TRIES, SEMAPHORE),
        "sem_post" | "sem_init" | "sem_destroy" => sync(GIVES, SEMAPHORE),
        _ => None,
    }
}
