//! Where access vectors lie that a native program logs (CoopREP, thesis §3.1): the one place that its writer and its reader share.
//!
//! The runtime (`crates/runtime/src/elements.rs`) includes this very file, so it is plain `core`. The file stands beside the log of the
//! run, which has the threads and the ending; all numbers are little endian, and the file is sparse.
//!
//! ```text
//! 0        Header
//! 4 KB     elements  MOST_ELEMENTS × ElementEntry
//! 256 KB   blocked   one u32 a thread: the site of the call that it waits in, plus one; 0 if it does not
//! 1 MB     vectors   one every STRIDE bytes, of VECTOR bytes at most, for each element that is logged, in the order of their slots
//! ```
//!
//! A vector is entries of 32 bits: a thread's number plus one, and how many accesses it made one after another. The last one is
//! counted up in place and the next one begun by a single store, so that a process that is killed leaves no half of one. It ends with 0.

pub const MAGIC: u64 = u64::from_le_bytes(*b"unravvec");
pub const VERSION: u32 = 2;
/// Behind the name of the log.
pub const SUFFIX: &str = ".elements";

pub const ELEMENT_TABLE: u64 = 4 << 10;
pub const BLOCKED: u64 = 256 << 10;
pub const VECTORS: u64 = 1 << 20;
/// Room for a vector, nearly all of it a hole in the file.
pub const VECTOR: u64 = 256 << 20;
/// From one vector to the next. Vectors that began at like addresses would be told apart badly by processors, which look at the lower bits of
/// an address first: several times slower where an access to one element follows one to another.
pub const STRIDE: u64 = VECTOR + 4096 + 64;
/// So much of it is got from the file system at a time.
pub const STEP: u64 = 64 << 10;

pub const MOST_ELEMENTS: usize = 4096;
/// Threads whose numbers fit into an entry.
pub const MOST_THREADS: u32 = 0xfffe;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Header {
    pub magic: u64,
    pub version: u32,
    pub elements: u32,
    /// Of the profile that the program was built for.
    pub build: u64,
    /// 1 once it is known that something is missing that no element's entry says.
    pub lost: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ElementEntry {
    /// Which vector is its own, plus one; 0 if it is not logged.
    pub slot: u32,
    /// 1 if accesses are missing.
    pub lost: u32,
}

/// An entry: the thread's number plus one above, the accesses below.
pub const ENTRY_SHIFT: u32 = 16;
pub const ENTRY_MOST: u32 = 0xffff;

// --- What a program built for a profile tells the runtime ---------------------------------------------------------------------

/// The metadata by which instructions and globals are found again.
pub const MARK: &str = "unravel.mark";

/// An element as the program's own code and the runtime use it while it runs, one a cache line: threads that access different elements do not
/// meet here. What stands at which offset is also known to `crates/instrument/src/elements/template.ll`.
#[repr(C, align(64))]
pub struct Element {
    /// The slot of the thread that owns it; null if whoever accesses it takes its lock, and anything else if that is just changing.
    pub owner: *mut u8,
    /// The entry that was written last.
    pub at: *mut u32,
    /// Who accesses it while nobody owns it: a thread's number plus one.
    pub lock: u64,
    /// Where the room that was got so far ends.
    pub end: *mut u32,
    /// Null if the element was never logged.
    pub entry: *mut ElementEntry,
    /// Where its last entry was when it got its owner.
    pub owned_from: *mut u32,
    /// Accesses of one thread on end while nobody owned it, and how many make it the owner.
    pub streak: u32,
    pub threshold: u32,
    /// 1 while it is logged.
    pub logged: u32,
}

/// The byte of a site that logs: whether it does, and whether it does where memory has no name.
pub const FLAG_ON: u8 = 1;
pub const FLAG_UNNAMED: u8 = 2;

/// What a site does, in [`SiteEntry::kind`].
pub const SITE_PLAIN: u32 = 0;
/// Its elements depend on the address only if that is in a global; see [`SiteEntry::first`].
pub const SITE_BY_ADDRESS: u32 = 1;
/// A sync operation on one element, or on whatever is at the address: it logs before there are threads, too.
pub const SITE_SYNC: u32 = 2;
pub const SITE_SYNC_BY_ADDRESS: u32 = 3;

/// A site that is logged: which elements it touches where memory has no name.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SiteEntry {
    pub kind: u32,
    pub first: u32,
    pub count: u32,
    /// Of a sync operation: the site in the machine's program.
    pub place: u32,
}

/// What a program tells.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Table {
    pub build: u64,
    pub elements: u64,
    pub sites: u64,
    pub ranges: u64,
    /// A byte a site: whether it logs in this process.
    pub flags: *mut u8,
    pub site_table: *const SiteEntry,
    pub lists: *const u32,
    pub range_table: *const Range,
    /// By element: 0 if some of its accesses could not be wrapped, or if the program was built for others.
    pub logged: *const u32,
    pub element_table: *mut Element,
}

/// The class of a whole global.
pub const CLASS_GLOBAL: u32 = u32::MAX;

/// A part of a global, and the element that it is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Range {
    pub start: u64,
    pub end: u64,
    pub element: u32,
    /// 0 for data; the size of the object for synchronisation.
    pub class: u32,
}
