//! The process: its begin (before any constructor, even of libraries), `fork`, `exec`, and the files that are loaded into it.

use core::ffi::{c_char, c_int, c_void};

use crate::file::{self, Wanted};
use crate::layout;
use crate::stack::Stack;
use crate::sys::{self, ImageInfo, Real};
use crate::thread::Stream;
use crate::{ending, inputs, signals, threads};

const SEGMENT: u32 = 1 << 20;

static mut PATH: [c_char; 4200] = [0; 4200];
static mut WANTED: Wanted = Wanted {
    path: core::ptr::null(),
    mode: layout::MODE_WHOLE,
    segment: SEGMENT,
    ring: 1,
    sync: 1,
};

/// Runs before everything else of the program.
#[used]
#[unsafe(link_section = ".preinit_array")]
static BEGIN: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = begin;

/// The C library does not know the environment yet: the loader passes it.
static mut ENVIRONMENT: *const *const c_char = core::ptr::null();

extern "C" fn begin(
    count: c_int,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    const AT_SECURE: u64 = 23;
    // SAFETY: nobody else runs yet. A program with more rights than its caller writes no file that the caller names.
    unsafe {
        if sys::getauxval(AT_SECURE) == 0 {
            ENVIRONMENT = environment;
        }
        let wanted: *mut Wanted = &raw mut WANTED;
        let wanted = &mut *wanted;
        read_environment(wanted);
        if !wanted.path.is_null() {
            file::start(wanted);
        }
        if file::recording() && number(c"UNRAVEL_INPUTS", 0) != 0 {
            inputs::note(count, arguments);
        }
    }
    #[cfg(not(feature = "vectors"))]
    crate::hot::prepare();
    threads::start();
    let number = if file::recording() { threads::new_entry(u32::MAX, 0, 0) } else { u32::MAX };
    threads::begin(number, layout::BEGIN_START, &[]);
    signals::start();
    if file::recording() {
        note_images();
        ending::watch_exceptions();
        // SAFETY: callbacks of the right types.
        unsafe {
            sys::on_exit(ending::at_exit, core::ptr::null_mut());
            sys::pthread_atfork(None, None, Some(in_child));
        }
        watch_for_hangs();
    }
}

/// The value of a variable of the environment, null if it is missing or empty.
pub fn variable(name: &core::ffi::CStr) -> *const c_char {
    // SAFETY: the environment is a list of texts that ends with null.
    unsafe {
        let length = sys::strlen(name.as_ptr());
        let mut at = ENVIRONMENT;
        while !at.is_null() && !(*at).is_null() {
            let text = *at;
            if sys::strncmp(text, name.as_ptr(), length) == 0 && *text.add(length) as u8 == b'=' {
                let value = text.add(length + 1);
                return if *value == 0 { core::ptr::null() } else { value };
            }
            at = at.add(1);
        }
    }
    core::ptr::null()
}

fn number(name: &core::ffi::CStr, otherwise: u64) -> u64 {
    let value = variable(name);
    if value.is_null() {
        return otherwise;
    }
    // SAFETY: the value ends with a zero.
    unsafe { sys::strtoul(value, core::ptr::null_mut(), 10) }
}

/// Where the log is, null if there is none.
pub fn log_path() -> *const c_char {
    // SAFETY: written before anybody else runs.
    unsafe {
        let wanted: *const Wanted = &raw const WANTED;
        (*wanted).path
    }
}

/// `UNRAVEL_LOG`: the file. `UNRAVEL_INPUTS=1`: with what the program was given. `UNRAVEL_FLIGHT`: megabytes a thread, and a whole log without it. `UNRAVEL_SYNC=0`: paths alone.
unsafe fn read_environment(wanted: &mut Wanted) {
    let path = variable(c"UNRAVEL_LOG");
    if path.is_null() {
        return;
    }
    // SAFETY: lengths are checked against the buffer; the child of a fork finds the path even if it changed its directory.
    unsafe {
        let whole = (&raw mut PATH).cast::<c_char>();
        let mut at = whole;
        if *path as u8 != b'/' && !sys::getcwd(whole, 2048).is_null() {
            at = whole.add(sys::strlen(whole));
            *at = b'/' as c_char;
            at = at.add(1);
        }
        let length = sys::strlen(path);
        if length > 2048 {
            sys::say(c"unravel: UNRAVEL_LOG is too long; nothing is recorded\n".as_ptr());
            return;
        }
        sys::memcpy(at.cast(), path.cast(), length + 1);
        wanted.path = whole;
    }
    wanted.sync = number(c"UNRAVEL_SYNC", 1) as u32;
    if !variable(c"UNRAVEL_ELEMENTS").is_null() {
        // Access vectors alone: threads have entries, and hardly anything in their streams.
        wanted.sync = 0;
        wanted.segment = 64 << 10;
    }
    let megabytes = number(c"UNRAVEL_FLIGHT", 0);
    if megabytes > 0 {
        wanted.mode = layout::MODE_FLIGHT;
        let ring = if megabytes < 64 { megabytes } else { 64 };
        // At least two, so that one whole segment is always left.
        wanted.ring = if ring < 2 { 2 } else { ring as u32 };
        let segment = megabytes / u64::from(wanted.ring);
        wanted.segment = if segment == 0 { SEGMENT / 2 } else { (segment as u32) << 20 };
    } else {
        wanted.ring = 1;
    }
}

/// After `UNRAVEL_HANG_AFTER_MS` milliseconds the process gets SIGQUIT, which closes the log as a hang.
fn watch_for_hangs() {
    let time = number(c"UNRAVEL_HANG_AFTER_MS", 0) as i64;
    if time <= 0 {
        return;
    }
    const MONOTONIC: c_int = 1;
    let mut event = sys::SigEvent { value: 0, signal: sys::SIGQUIT, notify: 0, rest: [0; 6] };
    let mut timer = 0;
    let after = sys::TimerSpec { interval: [0; 2], value: [time / 1000, time % 1000 * 1_000_000] };
    // SAFETY: all of them are whole.
    unsafe {
        if sys::timer_create(MONOTONIC, &mut event, &mut timer) == 0 {
            sys::timer_settime(timer, 0, &after, core::ptr::null_mut());
        }
    }
}

/// The child of a fork has a log of its own, which begins in the middle of the thread that forked.
extern "C" fn in_child() {
    if !file::recording() {
        return;
    }
    let old = Stream::current();
    // SAFETY: the child has one thread, this one; its old stream is not used after this.
    unsafe {
        let wanted: *const Wanted = &raw const WANTED;
        let wanted = &*wanted;
        crate::elements::forget();
        let kept = file::start_again(wanted);
        ending::forget();
        let mut frames = [[0u64; 2]; layout::FRAMES];
        let stack = Stack::walk(frames.as_mut_ptr(), layout::FRAMES, 0);
        let number = if kept { threads::new_entry(u32::MAX, 0, 0) } else { u32::MAX };
        let frames = core::slice::from_raw_parts(frames.as_ptr(), stack.count);
        threads::begin(number, layout::BEGIN_CALL, frames);
        if !old.is_null() {
            Stream::release(old);
        }
    }
}

/// Writes down the files that are loaded now and were not before.
pub fn note_images() {
    if !file::recording() {
        return;
    }
    // SAFETY: a callback of the right type.
    unsafe { sys::dl_iterate_phdr(note_image, core::ptr::null_mut()) };
}

extern "C" fn note_image(info: *const ImageInfo, _: usize, _: *mut c_void) -> c_int {
    // SAFETY: the loader passes a live description; entries below the count are filled in.
    unsafe {
        let header = file::header();
        let known = (*header).images;
        let mut i = 0;
        while i < known {
            if (*file::image(i)).base == (*info).base {
                return 0;
            }
            i += 1;
        }
        if known >= layout::IMAGES {
            return 0;
        }
        let image = file::image(known);
        (*image).base = (*info).base;
        let path = (&raw mut (*image).path).cast::<u8>();
        let name = (*info).name;
        if name.is_null() || *name == 0 {
            read_link(path);
        } else {
            let length = sys::strlen(name);
            sys::memcpy(path.cast(), name.cast(), if length < 503 { length } else { 503 });
        }
        (*header).images = known + 1;
    }
    0
}

/// The program itself has no name in the loader's list.
unsafe fn read_link(to: *mut u8) {
    const READLINK: core::ffi::c_long = 89;
    // SAFETY: the buffer has that room; the rest of it is zero.
    unsafe { sys::syscall(READLINK, c"/proc/self/exe".as_ptr(), to, 503usize) };
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    static REAL: Real = Real::new(c"dlopen");
    // SAFETY: the same function.
    unsafe {
        let real: extern "C" fn(*const c_char, c_int) -> *mut c_void =
            core::mem::transmute(REAL.get());
        let loaded = real(name, flags);
        note_images();
        loaded
    }
}

macro_rules! replacements {
    ($($name:ident($($argument:ident),*) = $real:literal;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: *const c_void),*) -> c_int {
            static REAL: Real = Real::new($real);
            ending::write(layout::END_EXEC, 0, 0, core::ptr::null(), 0);
            // SAFETY: the same function, the same arguments. It returns only if it failed.
            let result = unsafe {
                let real: extern "C" fn($(replacements!(@kind $argument)),*) -> c_int = core::mem::transmute(REAL.get());
                real($($argument),*)
            };
            ending::forget();
            result
        }
    )*};
    (@kind $argument:ident) => { *const c_void };
}

replacements! {
    execv(path, arguments) = c"execv";
    execvp(file, arguments) = c"execvp";
    execve(path, arguments, environment) = c"execve";
    execvpe(file, arguments, environment) = c"execvpe";
}
