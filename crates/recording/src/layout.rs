//! Where everything lies in a log file and in a thread's stream: the one place that writer and reader share.
//!
//! The runtime (`crates/runtime`) includes this very file, so it is plain `core` and has no dependencies. All numbers are little
//! endian and of fixed size; the file is sparse, so that tables which are hardly used cost nothing.
//!
//! ```text
//! 0        Header
//! 4 KB     Ending
//! 64 KB    images   IMAGES  × Image
//! 1 MB     modules  MODULES × ModuleEntry
//! 2 MB     threads  THREADS × ThreadEntry
//! 8 MB     inputs   InputsEntry, then the arguments, each with a zero after it, then the standard input
//! 16 MB    slots: each META bytes (SlotMeta, then the frames of its restart point), then the segment
//! ```

pub const MAGIC: u64 = u64::from_le_bytes(*b"unravlog");
/// Of the layout, and of the numbering of paths.
pub const VERSION: u32 = 5;

pub const ENDING: u64 = 4 << 10;
pub const IMAGE_TABLE: u64 = 64 << 10;
pub const MODULE_TABLE: u64 = 1 << 20;
pub const THREAD_TABLE: u64 = 2 << 20;
pub const INPUTS: u64 = 8 << 20;
pub const SLOTS: u64 = 16 << 20;

pub const IMAGES: u32 = 1024;
pub const MODULES: u32 = 65_536;
pub const THREADS: u32 = 65_536;
/// Bytes before each segment.
pub const META: u64 = 16 << 10;
/// Frames that a restart point has at most; deeper stacks lose their outermost frames.
pub const FRAMES: usize = 1000;
/// Frames of the failing thread.
pub const ENDING_FRAMES: usize = 512;
pub const MESSAGE: usize = 1024;
/// Of [`InputsEntry`] and all that follows it.
pub const INPUTS_BYTES: usize = (SLOTS - INPUTS) as usize;

pub const MODE_WHOLE: u32 = 1;
pub const MODE_FLIGHT: u32 = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Header {
    pub magic: u64,
    pub version: u32,
    pub mode: u32,
    pub pid: u32,
    pub segment: u32,
    /// How many slots a thread keeps in a flight recorder.
    pub ring: u32,
    pub threads: u32,
    pub slots: u32,
    pub modules: u32,
    pub images: u32,
    /// Threads that found no room in the table.
    pub unrecorded_threads: u32,
    /// 1 if sync operations are written.
    pub sync: u32,
    pub reserved: u32,
}

/// How the process ended. `kind` is written last.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EndingEntry {
    pub kind: u32,
    pub thread: u32,
    pub code: i64,
    pub address: u64,
    pub frames: u32,
    pub message: u32,
    pub text: [u8; MESSAGE],
    /// As after [`SlotMeta`].
    pub stack: [[u64; 2]; ENDING_FRAMES],
}

pub const END_EXIT: u32 = 1;
pub const END_ASSERTION: u32 = 2;
pub const END_SIGNAL: u32 = 3;
pub const END_ABORT: u32 = 4;
pub const END_EXCEPTION: u32 = 5;
pub const END_HANG: u32 = 6;
pub const END_EXEC: u32 = 7;

/// A loaded file. The path is absolute where the system knows it so, and ends with a zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Image {
    /// What is added to the addresses in the file.
    pub base: u64,
    pub path: [u8; 504],
}

/// What the program was given, if the recording was asked for it; else all of it is zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct InputsEntry {
    /// Bits `INPUTS_*`.
    pub kept: u32,
    pub reserved: u32,
    /// Bytes of them.
    pub arguments: u64,
    pub standard_input: u64,
}

pub const INPUTS_ARGUMENTS: u32 = 1;
/// It was a file, and all of it is there.
pub const INPUTS_STANDARD_INPUT: u32 = 2;

/// A recorded module: its content's hash, and the lowest half of where its identifiers begin.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ModuleEntry {
    pub hash: u64,
    pub first: u32,
    pub count: u32,
}

/// A thread, or what signal handlers did on top of one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ThreadEntry {
    /// The number of the thread that created it; its own for the first.
    pub parent: u32,
    /// Which child of its parent it is, from 1.
    pub nth: u32,
    pub tid: u32,
    pub state: u32,
    /// What is missing: bits `LOST_*`.
    pub lost: u32,
    pub reserved_word: u32,
    /// The operation it is in, or 0, if the end of its stream does not say so: one of `SYNC_*` in the highest byte, the object below. One word, so that one store says it.
    pub pending: u64,
    /// Its last segment's number; the first one is 1.
    pub sequence: u64,
    pub reserved: [u64; 2],
}

pub const STATE_RUNNING: u32 = 1;
pub const STATE_RETURNED: u32 = 2;
/// Not a thread: what signal handlers did on top of its parent.
pub const STATE_HANDLERS: u32 = 3;

/// The disk was full, or a segment could not be mapped.
pub const LOST_SPACE: u32 = 1;
/// A signal handler was left by a jump.
pub const LOST_JUMP: u32 = 2;

/// What a slot holds. `sequence` is 0 while the slot is being prepared.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SlotMeta {
    pub sequence: u64,
    pub thread: u32,
    /// How the segment begins: one of `BEGIN_*`.
    pub begin: u32,
    /// How many frames follow, innermost first, each the address in it and where its function begins; with `BEGIN_SITE` the first
    /// address is that of the very store.
    pub frames: u32,
    /// More frames than fit.
    pub cut_off: u32,
}

/// Where the thread begins.
pub const BEGIN_START: u32 = 1;
/// At a record of recorded code.
pub const BEGIN_SITE: u32 = 2;
/// At a record that the runtime wrote inside a call.
pub const BEGIN_CALL: u32 = 3;

// --- The stream of a thread -------------------------------------------------------------------------------------------------

/// A foreign call returned.
pub const RETURN: u8 = 0xff;
/// A function is entered; four bytes say which.
pub const ENTER: u8 = 0xfe;
/// A landing pad; four bytes say which.
pub const PAD: u8 = 0xfd;
/// A call that returns twice has returned; four bytes say which, four more name the frame.
pub const TWICE: u8 = 0xfc;
/// A sync operation: kind, six bytes of stamp, eight of the object: its address, or its number if that is below [`NUMBERED`].
pub const SYNC: u8 = 0xfb;
/// The same of an object with a number: kind, two bytes of number, four of stamp. A stamp of 0 is none yet: the thread is in the operation.
pub const SYNC_SHORT: u8 = 0xfa;
pub const SYNC_SHORT_BYTES: usize = 8;
/// One without a stamp: kind, two bytes of number. An unlock has its lock's stamp, which a reader knows.
pub const SYNC_BARE: u8 = 0xf9;
pub const SYNC_BARE_BYTES: usize = 4;
/// Added to the kind of a record that is not the last one of its call.
pub const SYNC_MORE: u8 = 0x80;
/// So many objects have numbers.
pub const NUMBERED: u64 = 1 << 14;
/// Mark and identifier: written by one store of eight bytes of which five count.
pub const NAMED: usize = 5;
pub const SYNC_BYTES: usize = 16;

/// A counted loop's trips, if they are fewer than this, are one byte (trips + 1); else `COUNT_LONG` and seven bytes.
pub const COUNT_SHORT: u64 = 254;
pub const COUNT_LONG: u8 = 0xff;
/// Numbers of paths are written plus this, for 0 is no record.
pub const PATH_BASE: u64 = 1;

pub const SYNC_CREATE: u8 = 1;
pub const SYNC_JOIN: u8 = 2;
pub const SYNC_BEGIN: u8 = 3;
pub const SYNC_EXIT: u8 = 4;
pub const SYNC_LOCK: u8 = 5;
pub const SYNC_LOCK_SHARED: u8 = 6;
pub const SYNC_TRY_LOCK: u8 = 7;
pub const SYNC_TRY_LOCK_FAILED: u8 = 8;
pub const SYNC_TRY_LOCK_SHARED: u8 = 9;
pub const SYNC_TRY_LOCK_SHARED_FAILED: u8 = 10;
pub const SYNC_UNLOCK: u8 = 11;
pub const SYNC_WAIT: u8 = 12;
pub const SYNC_WAKE: u8 = 13;
pub const SYNC_WAKE_TIMED_OUT: u8 = 14;
pub const SYNC_SIGNAL: u8 = 15;
pub const SYNC_BROADCAST: u8 = 16;
pub const SYNC_SEM_WAIT: u8 = 17;
pub const SYNC_SEM_TRY_WAIT: u8 = 18;
pub const SYNC_SEM_TRY_WAIT_FAILED: u8 = 19;
pub const SYNC_SEM_POST: u8 = 20;
pub const SYNC_BARRIER_ARRIVE: u8 = 21;
pub const SYNC_BARRIER_LEAVE: u8 = 22;
pub const SYNC_ONCE: u8 = 23;
pub const SYNC_ONCE_DONE: u8 = 24;
/// A lock failed: it only names the object, for unlocks that write nothing.
pub const SYNC_NOT_LOCKED: u8 = 25;

/// Functions that write sync records and nothing else, and call nobody back. Recorded code calls them by this name with [`SYNC_PREFIX`] before it, and then
/// they write at least a record, or `RETURN`: so the code need not write that they returned.
pub const SYNC_FUNCTIONS: &[&str] = &[
    "pthread_barrier_wait",
    "pthread_cond_broadcast",
    "pthread_cond_clockwait",
    "pthread_cond_signal",
    "pthread_cond_timedwait",
    "pthread_cond_wait",
    "pthread_mutex_clocklock",
    "pthread_mutex_lock",
    "pthread_mutex_timedlock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_tryrdlock",
    "pthread_rwlock_trywrlock",
    "pthread_rwlock_unlock",
    "pthread_rwlock_wrlock",
    "pthread_spin_lock",
    "pthread_spin_trylock",
    "pthread_spin_unlock",
    "sem_clockwait",
    "sem_post",
    "sem_timedwait",
    "sem_trywait",
    "sem_wait",
];
pub const SYNC_PREFIX: &str = "__unravel_";

/// Those of them that take the log's pointer in a register and give it back so. None is a point of cancellation: a thread that ends inside leaves its
/// pointer where the runtime finds it. All take the object alone.
pub const SYNC_IN_REGISTER: &[&str] = &[
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_tryrdlock",
    "pthread_rwlock_trywrlock",
    "pthread_rwlock_unlock",
    "pthread_rwlock_wrlock",
    "pthread_spin_lock",
    "pthread_spin_trylock",
    "pthread_spin_unlock",
];
/// Unlocks whose object a reader can infer are called with this before the name: they write nothing.
pub const UNLOCK_PREFIX: &str = "__unravel_q_";
pub const SYNC_REGISTER_PREFIX: &str = "__unravel_r_";
