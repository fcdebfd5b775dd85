//! Threads: each gets a number and a stream when it is created, and gives the stream back when it is gone.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use crate::layout::{self, ThreadEntry};
use crate::sys::{self, Real, Start};
use crate::thread::Stream;
use crate::{file, objects};

/// The key whose destructor tells that a thread goes.
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Rounds that destructors of thread-local data get before ours ends the stream: they may run recorded code.
const ROUNDS: usize = 3;

/// What a new thread is given.
struct Birth {
    function: Start,
    argument: *mut c_void,
    number: u32,
    /// Where faults are handled if the stack is used up.
    spare: *mut u8,
}

const SPARE: usize = 64 << 10;

/// An entry in the table; `u32::MAX` if it is full.
pub fn new_entry(parent: u32, nth: u32, state: u32) -> u32 {
    // SAFETY: the header is mapped while something is recorded; the number is below the limit and nobody else's.
    unsafe {
        let header = file::header();
        let number = file::counter(&raw mut (*header).threads).fetch_add(1, Ordering::Relaxed);
        if number >= layout::THREADS {
            file::counter(&raw mut (*header).unrecorded_threads).fetch_add(1, Ordering::Relaxed);
            return u32::MAX;
        }
        file::thread(number).write(ThreadEntry {
            parent: if parent == u32::MAX { number } else { parent },
            nth,
            tid: 0,
            state,
            lost: 0,
            reserved_word: 0,
            pending: 0,
            sequence: 0,
            reserved: [0; 2],
        });
        number
    }
}

/// The stream of the calling thread with that number, or a sink.
pub fn begin(number: u32, begin: u32, frames: &[[u64; 2]]) {
    let stream = match number {
        u32::MAX => Stream::sink(),
        _ => Stream::of(number, begin, frames),
    };
    if stream.is_null() {
        return;
    }
    // SAFETY: the stream is new; the entry is this thread's.
    unsafe {
        if (*stream).kept {
            let entry = file::thread(number);
            (*entry).tid = sys::thread_id();
            (*entry).reserved[0] = sys::pthread_self();
            (*entry).state = layout::STATE_RUNNING;
        }
        Stream::install(stream, (*stream).start as usize);
        if (*stream).kept {
            crate::elements::thread_begins(number);
        }
    }
}

pub fn start() {
    // SAFETY: called once, by the first thread.
    unsafe { handle_faults_on(sys::pages(SPARE)) };
    let mut key = 0;
    // SAFETY: a key of our own.
    if unsafe { sys::pthread_key_create(&mut key, Some(gone)) } == 0 {
        KEY.store(key, Ordering::Relaxed);
    }
}

/// Faults of the calling thread are handled on this stack from now on: its own may be what is used up. Nothing if there is none.
///
/// # Safety
/// Whatever is there has the room, and nobody else uses it.
unsafe fn handle_faults_on(spare: *mut u8) {
    if !spare.is_null() {
        let stack = sys::AlternateStack { start: spare.cast(), flags: 0, size: SPARE };
        // SAFETY: by contract.
        unsafe { sys::sigaltstack(&stack, core::ptr::null_mut()) };
    }
}

fn watch(round: usize) {
    let key = KEY.load(Ordering::Relaxed);
    if key != u32::MAX {
        // SAFETY: the key is ours.
        unsafe { sys::pthread_setspecific(key, round as *const c_void) };
    }
}

extern "C" fn gone(round: *mut c_void) {
    let round = round as usize;
    if round < ROUNDS {
        watch(round + 1);
        return;
    }
    let stream = Stream::current();
    if stream.is_null() {
        return;
    }
    // SAFETY: after this the thread has no stream, and nothing refers to the old one.
    unsafe {
        if (*stream).kept {
            let number = (*stream).number;
            (*stream).write_thread(layout::SYNC_EXIT, 0, u64::from(number));
            (*file::thread(number)).state = layout::STATE_RETURNED;
        }
        Stream::make_current(core::ptr::null_mut());
        sys::set_log_pointer(0);
        crate::elements::thread_ends();
        if !(*stream).handlers.is_null() {
            Stream::release((*stream).handlers);
        }
        Stream::release(stream);
    }
}

extern "C" fn run(birth: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` below made it for this thread alone.
    unsafe {
        let Birth { function, argument, number, spare } = birth.cast::<Birth>().read();
        sys::free(birth);
        handle_faults_on(spare);
        begin(number, layout::BEGIN_START, &[]);
        watch(1);
        let stream = Stream::current();
        if !stream.is_null() {
            (*stream).write_thread(layout::SYNC_BEGIN, 0, u64::from(number));
        }
        function(argument)
    }
}

/// Starts a thread by `real`, which gets the function and its argument that the new thread is to begin with.
///
/// # Safety
/// As the C library's; `thread` is where `real` writes the handle.
unsafe fn create(
    thread: *mut u64,
    function: Start,
    argument: *mut c_void,
    no_room: c_int,
    real: impl FnOnce(Start, *mut c_void) -> c_int,
) -> c_int {
    // SAFETY: the birth is handed to the new thread, or freed if there is none.
    unsafe {
        let stream = Stream::current();
        let mut number = u32::MAX;
        if !stream.is_null() && (*stream).kept {
            (*stream).children += 1;
            number = new_entry((*stream).number, (*stream).children, 0);
            crate::elements::threads_begin();
        }
        let birth = sys::malloc(size_of::<Birth>()).cast::<Birth>();
        if birth.is_null() {
            return no_room; // As if there were none for the thread itself.
        }
        birth.write(Birth { function, argument, number, spare: sys::pages(SPARE) });
        let result = real(run, birth.cast());
        if result == 0 {
            if !stream.is_null() && number != u32::MAX {
                // Who joins may come before the thread itself has said who it is.
                (*file::thread(number)).reserved[0] = *thread;
                (*stream).write_thread(
                    layout::SYNC_CREATE,
                    objects::stamp_of_thread(u64::from(number)),
                    u64::from(number),
                );
            }
        } else {
            if !(*birth).spare.is_null() {
                sys::munmap((*birth).spare.cast(), SPARE);
            }
            sys::free(birth.cast());
            if !stream.is_null() && (*stream).kept {
                (*stream).children -= 1;
            }
        }
        result
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut u64,
    attributes: *const c_void,
    function: Start,
    argument: *mut c_void,
) -> c_int {
    static REAL: Real = Real::new(c"pthread_create");
    const EAGAIN: c_int = 11;
    // SAFETY: the same function.
    unsafe {
        let real: extern "C" fn(*mut u64, *const c_void, Start, *mut c_void) -> c_int =
            core::mem::transmute(REAL.get());
        create(thread, function, argument, EAGAIN, |function, argument| {
            real(thread, attributes, function, argument)
        })
    }
}

/// The function returns an `int`, which is the lower half of the register that a pointer is returned in: both pass through `run`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_create(
    thread: *mut u64,
    function: Start,
    argument: *mut c_void,
) -> c_int {
    static REAL: Real = Real::new(c"thrd_create");
    const NO_MEMORY: c_int = 3;
    // SAFETY: the same function.
    unsafe {
        let real: extern "C" fn(*mut u64, Start, *mut c_void) -> c_int =
            core::mem::transmute(REAL.get());
        create(thread, function, argument, NO_MEMORY, |function, argument| {
            real(thread, function, argument)
        })
    }
}

/// The number of a thread by its handle; the newest one, for handles are used again.
fn number_of(handle: u64) -> u64 {
    // SAFETY: entries below the header's count are mapped.
    unsafe {
        let count = (*file::header()).threads;
        let mut number = if count < layout::THREADS { count } else { layout::THREADS };
        while number > 0 {
            number -= 1;
            if (*file::thread(number)).reserved[0] == handle {
                return u64::from(number);
            }
        }
    }
    u64::from(u32::MAX)
}

/// Waits for a thread by `real`.
fn join(thread: u64, real: impl FnOnce() -> c_int) -> c_int {
    let stream = Stream::current();
    // SAFETY: the stream is this thread's own.
    unsafe {
        if stream.is_null() || !(*stream).kept {
            return real();
        }
        let number = number_of(thread);
        (*stream).pending(layout::SYNC_JOIN, number);
        let done = real();
        (*stream).pending(0, 0);
        if done == 0 {
            (*stream).write_thread(layout::SYNC_JOIN, objects::stamp_of_thread(number), number);
        }
        done
    }
}

macro_rules! joins {
    ($($name:ident($result:ty) = $text:literal;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(thread: u64, result: *mut $result) -> c_int {
            static REAL: Real = Real::new($text);
            // SAFETY: the same function.
            join(thread, || unsafe {
                let real: extern "C" fn(u64, *mut $result) -> c_int = core::mem::transmute(REAL.get());
                real(thread, result)
            })
        }
    )*};
}

joins! {
    pthread_join(*mut c_void) = c"pthread_join";
    thrd_join(c_int) = c"thrd_join";
}
