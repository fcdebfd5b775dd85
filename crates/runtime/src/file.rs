//! The log file: made once, mapped by all, and written so that it can be read after SIGKILL at any moment.

use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

use crate::layout::{self, EndingEntry, Header, Image, InputsEntry, ModuleEntry, ThreadEntry};
use crate::sys;

/// The mapped tables; null if nothing is recorded.
static TABLES: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static FILE: AtomicI32 = AtomicI32::new(-1);

/// How the log was asked for.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub path: *const c_char,
    pub mode: u32,
    pub segment: u32,
    pub ring: u32,
    pub sync: u32,
}

fn tables() -> *mut u8 {
    TABLES.load(Ordering::Relaxed)
}

pub fn recording() -> bool {
    !tables().is_null()
}

pub fn file() -> c_int {
    FILE.load(Ordering::Relaxed)
}

/// The mapped header. Only while [`recording`].
pub fn header() -> *mut Header {
    tables().cast()
}

pub fn ending() -> *mut EndingEntry {
    // SAFETY: the tables are as large as the layout says.
    unsafe { tables().add(layout::ENDING as usize).cast() }
}

pub fn inputs() -> *mut InputsEntry {
    // SAFETY: as above.
    unsafe { tables().add(layout::INPUTS as usize).cast() }
}

/// # Safety
/// `number` is less than [`layout::THREADS`].
pub unsafe fn thread(number: u32) -> *mut ThreadEntry {
    // SAFETY: as above.
    unsafe {
        tables().add(layout::THREAD_TABLE as usize).cast::<ThreadEntry>().add(number as usize)
    }
}

fn module(number: u32) -> *mut ModuleEntry {
    // SAFETY: callers have a number below the limit.
    unsafe {
        tables().add(layout::MODULE_TABLE as usize).cast::<ModuleEntry>().add(number as usize)
    }
}

pub fn image(number: u32) -> *mut Image {
    // SAFETY: as above.
    unsafe { tables().add(layout::IMAGE_TABLE as usize).cast::<Image>().add(number as usize) }
}

/// A counter of the header.
pub fn counter(field: *mut u32) -> &'static AtomicU32 {
    // SAFETY: the header is mapped as long as the process lives, and all use it by atomic operations.
    unsafe { AtomicU32::from_ptr(field) }
}

/// Makes a file that was not there before: the path, or with the process' number after it.
fn create(path: *const c_char) -> c_int {
    const FLAGS: c_int = sys::O_RDWR | sys::O_CREAT | sys::O_EXCL | sys::O_CLOEXEC;
    const OWNER_ONLY: c_int = 0o600;
    // SAFETY: the path ends with a zero; the buffer has room for it and for what is appended.
    unsafe {
        let file = sys::open(path, FLAGS, OWNER_ONLY);
        if file >= 0 || sys::errno() != sys::EEXIST {
            return file;
        }
        let length = sys::strlen(path);
        let mut name = [0 as c_char; 4200];
        if length > 4096 {
            return -1;
        }
        sys::memcpy(name.as_mut_ptr().cast(), path.cast(), length);
        for attempt in 0..100u32 {
            let mut end = name.as_mut_ptr().add(length);
            end = append(end, sys::getpid() as u32);
            if attempt > 0 {
                end = append(end, attempt);
            }
            *end = 0;
            let file = sys::open(name.as_ptr(), FLAGS, OWNER_ONLY);
            if file >= 0 || sys::errno() != sys::EEXIST {
                return file;
            }
        }
        -1
    }
}

/// Appends a dot and a number.
unsafe fn append(to: *mut c_char, mut number: u32) -> *mut c_char {
    let mut digits = 1;
    let mut rest = number / 10;
    while rest > 0 {
        digits += 1;
        rest /= 10;
    }
    // SAFETY: the caller has room for eleven characters.
    unsafe {
        *to = b'.' as c_char;
        for place in (1..=digits).rev() {
            *to.add(place) = (b'0' + (number % 10) as u8) as c_char;
            number /= 10;
        }
        to.add(digits + 1)
    }
}

/// Opens a new log. False, with a message, if that cannot be done: the program then runs unrecorded.
pub fn start(wanted: &Wanted) -> bool {
    let low = create(wanted.path);
    if low < 0 {
        sys::say(c"unravel: the log cannot be made: ".as_ptr());
        sys::say(wanted.path);
        sys::say(c"\n".as_ptr());
        return false;
    }
    const DUPLICATE_ABOVE: c_int = 1030;
    // SAFETY: the descriptor is ours. A high number stays out of the way of programs that close or count low ones.
    let file = unsafe {
        let high = sys::fcntl(low, DUPLICATE_ABOVE, 900);
        if high >= 0 {
            sys::close(low);
            high
        } else {
            low
        }
    };
    // SAFETY: the file is extended before it is mapped; the header is filled in before anybody sees it.
    unsafe {
        let end = [0u8; 1];
        let tables = match sys::pwrite(file, end.as_ptr().cast(), 1, layout::SLOTS as i64 - 1) {
            1 => sys::mmap(
                core::ptr::null_mut(),
                layout::SLOTS as usize,
                sys::PROT_READ_WRITE,
                sys::MAP_SHARED,
                file,
                0,
            ),
            _ => sys::MAP_FAILED,
        };
        if tables == sys::MAP_FAILED {
            sys::say(c"unravel: there is no room for the log\n".as_ptr());
            sys::close(file);
            return false;
        }
        let header = tables.cast::<Header>();
        (*header).version = layout::VERSION;
        (*header).mode = wanted.mode;
        (*header).pid = sys::getpid() as u32;
        (*header).segment = wanted.segment;
        (*header).ring = wanted.ring;
        (*header).sync = wanted.sync;
        (*header).magic = layout::MAGIC;
        FILE.store(file, Ordering::Relaxed);
        TABLES.store(tables.cast(), Ordering::Release);
    }
    true
}

/// Starts anew in the child of a fork, with the modules and images of the parent.
pub fn start_again(wanted: &Wanted) -> bool {
    let old = tables();
    let old_file = file();
    TABLES.store(core::ptr::null_mut(), Ordering::Relaxed);
    let made = start(wanted);
    // SAFETY: both are mapped whole, and the old one is not used after this.
    unsafe {
        if made {
            let (from, to) = (old.cast::<Header>(), header());
            (*to).modules = (*from).modules;
            (*to).images = (*from).images;
            let first = layout::IMAGE_TABLE as usize;
            let bytes = (*from).images as usize * size_of::<Image>();
            sys::memcpy(tables().add(first).cast(), old.add(first).cast(), bytes);
            let first = layout::MODULE_TABLE as usize;
            let bytes = (*from).modules as usize * size_of::<ModuleEntry>();
            sys::memcpy(tables().add(first).cast(), old.add(first).cast(), bytes);
        }
        sys::munmap(old.cast(), layout::SLOTS as usize);
        sys::close(old_file);
    }
    made
}

/// Registers a recorded module; its constructor calls this.
#[unsafe(no_mangle)]
pub extern "C" fn __unravel_register(hash: u64, identifiers: *const u8, count: u32) {
    if !recording() {
        return;
    }
    // SAFETY: the header is mapped.
    let number = counter(unsafe { &raw mut (*header()).modules }).fetch_add(1, Ordering::Relaxed);
    if number >= layout::MODULES {
        return;
    }
    let entry = ModuleEntry { hash, first: identifiers as usize as u32, count };
    // SAFETY: the number is below the limit, and nobody else has it.
    unsafe { module(number).write(entry) };
    crate::process::note_images();
}

/// Takes the next slot of the file and returns where it begins, or 0 if the disk is full.
pub fn new_slot(segment: u64) -> u64 {
    // SAFETY: the header is mapped.
    let number = counter(unsafe { &raw mut (*header()).slots }).fetch_add(1, Ordering::Relaxed);
    let size = layout::META + segment;
    let start = layout::SLOTS + u64::from(number) * size;
    let end = [0u8; 1];
    // SAFETY: the file is ours. It only grows, whoever comes first.
    let written = unsafe { sys::pwrite(file(), end.as_ptr().cast(), 1, (start + size - 1) as i64) };
    if written == 1 { start } else { 0 }
}

/// Makes and maps a file of that size beside the log, for access vectors.
pub fn beside(size: u64) -> Option<(c_int, *mut u8)> {
    let path = crate::process::log_path();
    let mut name = [0 as c_char; 4200];
    // SAFETY: lengths are checked against the buffer; the file is extended before it is mapped.
    unsafe {
        let (length, suffix) = (sys::strlen(path), crate::vectors::SUFFIX);
        if length > 4096 {
            return None;
        }
        sys::memcpy(name.as_mut_ptr().cast(), path.cast(), length);
        let end = name.as_mut_ptr().add(length);
        sys::memcpy(end.cast(), suffix.as_ptr().cast(), suffix.len());
        let file = create(name.as_ptr());
        if file < 0 {
            return None;
        }
        let last = [0u8; 1];
        let map = match sys::pwrite(file, last.as_ptr().cast(), 1, size as i64 - 1) {
            1 => sys::mmap(
                core::ptr::null_mut(),
                size as usize,
                sys::PROT_READ_WRITE,
                sys::MAP_SHARED,
                file,
                0,
            ),
            _ => sys::MAP_FAILED,
        };
        if map == sys::MAP_FAILED {
            sys::close(file);
            return None;
        }
        Some((file, map.cast()))
    }
}
