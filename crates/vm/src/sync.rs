//! State of sync objects.
//!
//! As in glibc, the state of a lock lies in the program's own memory, so that a lock that is
//! overwritten, copied or set up by an initialiser behaves as it would natively. What glibc keeps in the
//! kernel (who waits, who reads) is kept here. Field offsets follow glibc where programs can see them
//! (`PTHREAD_MUTEX_INITIALIZER`, mutex kinds) and are ours elsewhere. All fields lie within the smaller
//! types of 32-bit systems (`USED`), because preprocessed programs bring their own declarations.

use rustc_hash::FxHashMap;
use unravel_trace::ThreadId;

use crate::machine::State;
use crate::thread::Need;

/// Marks a semaphore or barrier that was set up: they have no static initialiser.
pub(crate) const MAGIC: u32 = 0x756e_7276;
/// Marks a destroyed object.
pub(crate) const DESTROYED: u32 = 0x6465_6164;

fn word(address: u64) -> *mut u32 {
    address as *mut u32
}

macro_rules! field {
    ($get:ident, $set:ident, $offset:expr) => {
        pub fn $get(address: u64) -> u32 {
            // SAFETY: models check the object's memory before they use it; arena memory stays mapped.
            unsafe { word(address + $offset).read_unaligned() }
        }
        pub fn $set(address: u64, value: u32) {
            // SAFETY: as above.
            unsafe { word(address + $offset).write_unaligned(value) }
        }
    };
}

/// `pthread_mutex_t`, 40 bytes.
pub(crate) mod mutex {
    use super::word;
    pub const BYTES: u64 = 40;
    pub const USED: u64 = 20;
    field!(lock, set_lock, 0);
    field!(count, set_count, 4);
    field!(owner, set_owner, 8);
    // How a robust mutex fares whose owner died.
    field!(health, set_health, 12);
    field!(kind, set_kind, 16);
    // Behind `USED`: only of those that were set up as protecting priorities.
    field!(ceiling, set_ceiling, 20);
    /// The bit of the kind that says that it is robust, as in glibc.
    pub const ROBUST: u32 = 16;
    /// Those for the protocols `PTHREAD_PRIO_INHERIT` and `PTHREAD_PRIO_PROTECT`.
    pub const INHERITS: u32 = 32;
    pub const PROTECTS: u32 = 64;
    /// Its owner died, and nobody has called it consistent since.
    pub const OWNER_DIED: u32 = 1;
    /// It was given up in that state, for good.
    pub const NOT_RECOVERABLE: u32 = 2;
    /// What glibc's `pthread_mutex_destroy` leaves behind.
    pub const DESTROYED: u32 = u32::MAX;
}

/// `pthread_rwlock_t`, 56 bytes.
pub(crate) mod rwlock {
    use super::word;
    pub const BYTES: u64 = 56;
    pub const USED: u64 = 16;
    field!(readers, set_readers, 0);
    field!(writer, set_writer, 8);
    field!(state, set_state, 12);
}

/// `pthread_cond_t`, 48 bytes.
pub(crate) mod cond {
    use super::word;
    pub const BYTES: u64 = 48;
    pub const USED: u64 = 48;
    field!(state, set_state, 44);
}

/// `sem_t`, 32 bytes.
pub(crate) mod semaphore {
    use super::word;
    pub const BYTES: u64 = 32;
    pub const USED: u64 = 12;
    field!(value, set_value, 0);
    field!(state, set_state, 8);
}

/// `pthread_barrier_t`, 32 bytes.
pub(crate) mod barrier {
    use super::word;
    pub const BYTES: u64 = 32;
    pub const USED: u64 = 16;
    field!(arrived, set_arrived, 0);
    field!(generation, set_generation, 4);
    field!(count, set_count, 8);
    field!(state, set_state, 12);
}

/// What does not lie in the program's memory.
#[derive(Debug, Default)]
pub(crate) struct SyncObjects {
    /// Threads waiting on a condition variable, longest first.
    pub waiting: FxHashMap<u64, Vec<ThreadId>>,
    /// Threads holding the reading side of a rwlock.
    pub readers: FxHashMap<u64, Vec<ThreadId>>,
    /// Robust mutexes that are held, in the order in which they were taken.
    pub robust: Vec<(ThreadId, u64)>,
}

impl SyncObjects {
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.readers.clear();
        self.robust.clear();
    }

    pub fn mutex_is_free(&self, address: u64) -> bool {
        mutex::lock(address) == 0
    }

    pub fn mutex_owner(&self, address: u64) -> Option<ThreadId> {
        (mutex::lock(address) != 0)
            .then(|| mutex::owner(address).checked_sub(1).map(ThreadId))
            .flatten()
    }

    pub fn rwlock_owner(&self, address: u64) -> Option<ThreadId> {
        match rwlock::writer(address) {
            0 => self.readers.get(&address).and_then(|r| r.first().copied()),
            writer => Some(ThreadId(writer - 1)),
        }
    }
}

impl State {
    /// Whether what a thread needs is there.
    pub fn is_satisfied(&self, index: usize, need: Need) -> bool {
        match need {
            Need::Nothing => true,
            Need::Mutex(at) => mutex::lock(at) == 0,
            Need::ReadLock(at) => rwlock::writer(at) == 0,
            Need::WriteLock(at) => rwlock::writer(at) == 0 && rwlock::readers(at) == 0,
            Need::Semaphore(at) => semaphore::value(at) > 0,
            Need::Barrier(at, generation) => barrier::generation(at) != generation,
            Need::Wake { mutex, .. } => {
                self.threads[index].woken_by.is_some() && self.sync.mutex_is_free(mutex)
            }
            Need::Once(at) => !self.once_running.contains_key(&at),
            Need::Ended(thread) => self.threads[thread.index()].ended,
            // SAFETY: checked when the wait began; arena memory stays mapped.
            Need::Changed(at, value) => unsafe { (at as *const u32).read_unaligned() != value },
            Need::Futex(_) => self.threads[index].woken_by.is_some(),
            Need::Time => self.threads[index].deadline <= self.clock.now,
            Need::Signal(set) => self.signals.pending && self.pending_signals(index) & set != 0,
            Need::Descriptor => self.descriptors_ready(index),
            Need::Never => false,
        }
    }
}
