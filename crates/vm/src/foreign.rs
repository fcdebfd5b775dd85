//! Threads that native libraries start. The shim has our own `pthread_create`, `thrd_create`, `pthread_join` and
//! `pthread_detach`, which libraries find before the C library's; they ask here whether the caller is the program.
//!
//! A thread that begins with a function of the program is one of the program's threads. Any other runs native code beside the
//! machine, whose accesses nobody sees: inconclusive. Not noticed: threads that the C library starts by itself (`aio_read`,
//! `getaddrinfo_a`, which are refused by name) and by `clone`; they are stopped where they call the program
//! ([`guard::stop_foreign_thread`]).

use std::ffi::{CStr, c_void};

use crate::guard;
use crate::machine::Machine;
use crate::models::{Flow, threads};

/// Whether native code of the program wants a thread, and what it gets. All else in this process is not ours.
///
/// # Safety
/// The arguments are those of `pthread_create`; `result` can be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn unravel_thread_create(
    handle: *mut u64,
    attributes: *const c_void,
    start: u64,
    argument: u64,
    result: *mut i32,
) -> i32 {
    if !guard::is_on_fiber() {
        return 0;
    }
    // SAFETY: on a fiber, native code that a method of a handle has called.
    let Some(mut machine) = (unsafe { guard::machine() }) else { return 0 };
    let was_native = guard::pause_native();
    let new = create(&mut machine, attributes as u64, start, argument);
    // SAFETY: per the contract.
    unsafe {
        *handle = new;
        *result = 0;
    }
    guard::resume_native(was_native);
    1
}

/// The same of `pthread_join`; with no place for the result it is `pthread_detach`.
///
/// # Safety
/// `value` is null or can be written; `result` can be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn unravel_thread_join(
    handle: u64,
    value: *mut u64,
    detach: i32,
    result: *mut i32,
) -> i32 {
    if !guard::is_on_fiber() {
        return 0;
    }
    // SAFETY: as above.
    let Some(mut machine) = (unsafe { guard::machine() }) else { return 0 };
    if machine.find_thread(handle).is_none() {
        return 0;
    }
    let was_native = guard::pause_native();
    let site = machine.current_site();
    let flow = match detach {
        0 => threads::join(&mut machine, handle, value as u64, site, threads::Patience::Endless),
        _ => threads::detach(&mut machine, handle),
    };
    if let Flow::Return(number) = flow {
        // SAFETY: per the contract.
        unsafe { *result = number as i32 };
    }
    guard::resume_native(was_native);
    1
}

fn create(m: &mut Machine, attributes: u64, start: u64, argument: u64) -> u64 {
    if m.program.function_at(start).is_none() {
        // What the library holds locked stays so.
        m.stained = true;
        let who = m.called_function().map_or_else(String::new, |name| format!("'{name}', "));
        let library = library_of(start);
        m.finish_inconclusive(format!(
            "{who}a library function, starts a thread of its own in {library}, which cannot be followed"
        ));
    }
    let site = m.current_site();
    let child = threads::fork(m, start, argument, None, site);
    m.threads[child.index()].detached = threads::is_detached(attributes);
    m.threads[child.index()].handle
}

/// The file name of the library that an address belongs to.
pub(crate) fn library_of(address: u64) -> String {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: looks up an address; the name lives as long as the library.
    let path = unsafe {
        if libc::dladdr(address as *const c_void, &mut info) == 0 || info.dli_fname.is_null() {
            return "native code".to_owned();
        }
        CStr::from_ptr(info.dli_fname).to_string_lossy()
    };
    path.rsplit('/').next().unwrap_or(&path).to_owned()
}
