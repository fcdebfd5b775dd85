//! Calls between the program and native libraries.
//!
//! Native functions work directly on the arena. A function of the program can be called by native code
//! at its own address, where a jump to a closure stands. Exceptions thrown by native code are caught
//! by a small C++ shim and thrown again in the program, and the other way round.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use libffi_sys as ffi;
use unravel_program::layout::*;
use unravel_program::{Abi, CallId, CallSite, FunctionId, Program, Reg, RelocationPlace};
use unravel_trace::{EventKind, FailureKind, Input, Op};

use crate::error::VmError;
use crate::guard;
use crate::interpret::Uncaught;
use crate::machine::Machine;
use crate::models::Flow;
use crate::resolve::{Resolved, native_address};
use crate::thread::{Need, Thread};

unsafe extern "C" {
    /// Calls through libffi; returns the exception if the callee threw one.
    fn unravel_call(
        cif: *mut ffi::ffi_cif,
        function: *const c_void,
        result: *mut c_void,
        args: *mut *mut c_void,
    ) -> u64;
    fn unravel_call_words(function: *const c_void, args: *const [u64; 6], result: *mut u64) -> u64;
    /// What a closure calls: [`unravel_call_back`], then it throws on what that returns.
    fn unravel_closure(
        cif: *mut ffi::ffi_cif,
        result: *mut c_void,
        args: *mut *mut c_void,
        data: *mut c_void,
    );
    fn unravel_exception_globals() -> *mut [u64; 2];
}

/// A native library's thread-local variable, with its size.
#[derive(Debug, Clone, Copy)]
struct NativeLocal {
    address: u64,
    bytes: usize,
}

/// The slot whose heap holds `argv`, so that a thread's first object is the program's own.
pub(crate) const ARGUMENTS_SLOT: usize = SLOTS as usize - 1;

pub(crate) struct Natives {
    /// Addresses of [`Program::external_data`].
    external: Vec<u64>,
    thread_locals: Vec<NativeLocal>,
    /// Prepared call interfaces by call site.
    cifs: Vec<Option<Box<ffi::ffi_cif>>>,
    /// Types that prepared interfaces point to; they live as long as the process.
    exception_globals: *mut [u64; 2],
    /// Result slots of the last call from Rust into the program.
    pub returned: [u64; 16],
    stdin: Option<Vec<u8>>,
    stdin_ready: bool,
    /// Descriptors from here on belong to the program.
    first_descriptor: i32,
    resets: Resets,
    generators: crate::models::random::Generators,
    args: Vec<String>,
}

/// What has to be undone in this process after a run.
#[derive(Debug, Clone, Copy, Default)]
struct Resets {
    getopt: bool,
    random: bool,
    descriptors: bool,
    reads_stdin: bool,
}

impl Natives {
    /// Loads libraries and finds the addresses of their variables.
    pub fn new(program: &Program, libraries: &[String]) -> Result<Natives, VmError> {
        for library in ["libstdc++.so.6", "libm.so.6"] {
            let _ = open_library(library);
        }
        for library in libraries {
            load(library)?;
        }
        let external: Vec<u64> = program
            .external_data
            .iter()
            .map(|data| match native_address(&data.name) {
                Some(address) => address,
                // The first page of the arena is nobody's: a use of it is recognised as such.
                None if data.weak => 0,
                None => ARENA_BASE,
            })
            .collect();
        let thread_locals = external_thread_locals(program, &external);
        let calls = |names: &[&str]| names.iter().any(|n| program.by_name.contains_key(*n));
        let resets = Resets {
            getopt: calls(&["getopt", "getopt_long", "getopt_long_only"]),
            random: calls(crate::models::random::STATEFUL),
            descriptors: calls(&[
                "open",
                "open64",
                "socket",
                "pipe",
                "pipe2",
                "dup",
                "creat",
                "accept",
                "epoll_create1",
                "eventfd",
                "opendir",
                "mkstemp",
                "fopen",
                "fopen64",
                "fdopen",
            ]),
            reads_stdin: true,
        };
        Ok(Natives {
            external,
            thread_locals,
            cifs: (0..program.calls.len()).map(|_| None).collect(),
            // SAFETY: returns the address of this thread's own state.
            exception_globals: unsafe { unravel_exception_globals() },
            returned: [0; 16],
            stdin: None,
            stdin_ready: false,
            first_descriptor: i32::MAX,
            resets,
            generators: crate::models::random::Generators::new(),
            args: Vec::new(),
        })
    }

    /// Writes the addresses of native variables wherever the program holds them.
    pub fn relocate(&self, program: &mut Program) {
        let put = |bytes: &mut [u8], offset: u64, value: u64| {
            let at = offset as usize;
            if let Some(place) = bytes.get_mut(at..at + 8) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        };
        for (data, &address) in program.external_data.iter().zip(&self.external) {
            for relocation in &data.uses {
                let value = address.wrapping_add_signed(relocation.addend);
                match relocation.place {
                    RelocationPlace::Image(offset) => put(&mut program.image, offset, value),
                    RelocationPlace::ThreadLocals(offset) => {
                        put(&mut program.thread_locals, offset, value)
                    }
                    RelocationPlace::Constant(function, index) => {
                        if let Some(body) = &mut program.functions[function.0 as usize].body {
                            body.constants[index as usize] = value;
                        }
                    }
                }
            }
        }
    }

    /// Variables that no library defines.
    pub fn missing_data(&self, program: &Program) -> Vec<String> {
        let data = program.external_data.iter().zip(&self.external);
        data.filter(|(_, address)| **address == ARENA_BASE).map(|(d, _)| d.name.clone()).collect()
    }

    pub fn external_address(&self, index: u32) -> u64 {
        self.external[index as usize]
    }

    /// Exchanges the native state that belongs to a thread.
    pub fn swap_thread_state(&mut self, threads: &mut [Box<Thread>], from: usize, to: usize) {
        // SAFETY: errno, the exception globals and the thread-locals of this native thread.
        unsafe {
            let errno = libc::__errno_location();
            threads[from].errno = *errno;
            *errno = threads[to].errno;
            threads[from].exception_globals = *self.exception_globals;
            *self.exception_globals = threads[to].exception_globals;
            if self.thread_locals.is_empty() {
                return;
            }
            let mut saved = Vec::new();
            for local in &self.thread_locals {
                let bytes = std::slice::from_raw_parts(local.address as *const u8, local.bytes);
                saved.extend_from_slice(bytes);
            }
            threads[from].native_locals = saved;
            let mut next = threads[to].native_locals.iter();
            for local in &self.thread_locals {
                for i in 0..local.bytes {
                    *(local.address as *mut u8).add(i) = next.next().copied().unwrap_or(0);
                }
            }
        }
    }

    pub fn reset(&mut self) {
        // SAFETY: state of the C library in this process, owned by the program under test.
        unsafe {
            *self.exception_globals = [0; 2];
            *libc::__errno_location() = 0;
            if self.resets.random {
                self.generators.reset();
            }
            if self.resets.getopt {
                unsafe extern "C" {
                    static mut optind: i32;
                }
                optind = 0;
            }
        }
    }

    /// Closes what the program left open. Called before a run; the first call finds out which
    /// descriptors are ours.
    pub fn close_descriptors(&mut self) {
        if !self.resets.descriptors {
            return;
        }
        if self.first_descriptor == i32::MAX {
            self.first_descriptor = claim_descriptors();
            return;
        }
        // SAFETY: descriptors from here on were opened by the program.
        unsafe { libc::syscall(libc::SYS_close_range, self.first_descriptor, u32::MAX, 0) };
    }

    /// Makes standard input start anew.
    pub fn set_input(&mut self, input: &Input) {
        if !self.stdin_ready || self.stdin != input.stdin {
            self.stdin = input.stdin.clone();
            self.stdin_ready = true;
            replace_stdin(self.stdin.as_deref());
        } else if self.resets.reads_stdin && self.stdin.is_some() {
            // SAFETY: our own descriptor 0 and the C library's stream on it.
            unsafe {
                unsafe extern "C" {
                    static stdin: *mut libc::FILE;
                }
                libc::rewind(stdin);
                libc::lseek(0, 0, libc::SEEK_SET);
            }
        }
    }

    pub fn set_args(&mut self, program: &str, args: &[String]) {
        if self.args.first().is_none_or(|a| a != program) || self.args[1..] != *args {
            self.args = std::iter::once(program.to_owned()).chain(args.iter().cloned()).collect();
        }
    }

    pub fn args(&self) -> &[String] {
        &self.args
    }

    pub fn flush(&self) {
        // SAFETY: flushes all streams of the C library.
        unsafe { libc::fflush(std::ptr::null_mut()) };
    }

    /// The same after a crash: the output only, because other streams and all locks may be in any state.
    pub fn flush_output(&self) {
        unsafe extern "C" {
            static stdout: *mut libc::FILE;
            fn fflush_unlocked(stream: *mut libc::FILE) -> i32;
        }
        // SAFETY: the C library's own stream; this is the only native thread.
        unsafe { fflush_unlocked(stdout) };
    }

    /// Puts a jump at every function's address, so that native code can call it.
    ///
    /// # Safety
    /// `machine` stays where it is for the rest of the process.
    pub unsafe fn make_callable(machine: *mut Machine) {
        // SAFETY: per the contract above; the arena's first part is executable.
        unsafe {
            let program = (*machine).program.clone();
            let externals = (*machine).externals.clone();
            for (index, function) in program.functions.iter().enumerate() {
                let id = FunctionId(index as u32);
                let target = match externals[index] {
                    Resolved::Native { address, .. } => address,
                    Resolved::Missing | Resolved::Assembly { .. } => continue,
                    Resolved::Body | Resolved::Model(_) => {
                        if !function.address_taken || function.name.starts_with("llvm.") {
                            continue;
                        }
                        match make_closure(
                            &function.signature.params,
                            &function.signature.result,
                            id,
                        ) {
                            Some(address) => address,
                            None => continue,
                        }
                    }
                };
                write_jump(id.address() as *mut u8, target);
            }
        }
    }
}

/// `mov r11, target; jmp r11`.
unsafe fn write_jump(at: *mut u8, target: u64) {
    unsafe {
        at.copy_from_nonoverlapping([0x49, 0xbb].as_ptr(), 2);
        (at.add(2) as *mut u64).write_unaligned(target);
        at.add(10).copy_from_nonoverlapping([0x41, 0xff, 0xe3].as_ptr(), 3);
    }
}

/// Takes all descriptors up to the highest one in use, so that those behind are the program's.
fn claim_descriptors() -> i32 {
    let highest = std::fs::read_dir("/proc/self/fd").map_or(64, |entries| {
        let numbers = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse::<i32>().ok());
        numbers.max().unwrap_or(64)
    });
    loop {
        // SAFETY: duplicates our standard error.
        let descriptor = unsafe { libc::fcntl(2, libc::F_DUPFD_CLOEXEC, 3) };
        if descriptor < 0 {
            return i32::MAX - 1;
        }
        if descriptor > highest {
            // SAFETY: the descriptor just made.
            unsafe { libc::close(descriptor) };
            return descriptor;
        }
    }
}

fn open_library(name: &str) -> Result<(), String> {
    let c_name = CString::new(name).map_err(|e| e.to_string())?;
    // SAFETY: loads a shared library for the program under test.
    unsafe {
        if libc::dlopen(c_name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL).is_null() {
            let message = libc::dlerror();
            return Err(std::ffi::CStr::from_ptr(message).to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// Loads `-lNAME` (or a path). A development package's `libNAME.so` may be a linker script or absent, so
/// numbered names are tried too.
fn load(library: &str) -> Result<(), VmError> {
    if matches!(library, "pthread" | "c" | "m" | "rt" | "dl" | "stdc++" | "gcc_s") {
        return Ok(());
    }
    let mut names = vec![library.to_owned(), format!("lib{library}.so")];
    names.extend((0..10).map(|n| format!("lib{library}.so.{n}")));
    names.push(format!("lib{library}.so.1.0"));
    let mut message = String::new();
    for name in names {
        match open_library(&name) {
            Ok(()) => return Ok(()),
            Err(error) if message.is_empty() => message = error,
            Err(_) => {}
        }
    }
    Err(VmError::Library { name: library.to_owned(), message })
}

/// The native thread-locals the program refers to. Their size is the symbol's; libstdc++'s are pointers.
fn external_thread_locals(program: &Program, external: &[u64]) -> Vec<NativeLocal> {
    let used: std::collections::BTreeSet<u32> = program
        .functions
        .iter()
        .filter_map(|f| f.body.as_ref())
        .flat_map(|body| &body.code)
        .filter_map(|inst| match inst {
            unravel_program::Inst::ExternalThreadLocal { external, .. } => Some(*external),
            _ => None,
        })
        .collect();
    used.into_iter()
        .map(|index| external[index as usize])
        .filter(|address| *address > ARENA_END || (1 << 16..ARENA_BASE).contains(address))
        .map(|address| NativeLocal { address, bytes: 8 })
        .collect()
}

fn replace_stdin(bytes: Option<&[u8]>) {
    // SAFETY: replaces descriptor 0 of this process by one with the given content.
    unsafe {
        let fd = match bytes {
            None => libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC),
            Some(bytes) => {
                let fd = libc::memfd_create(c"stdin".as_ptr(), libc::MFD_CLOEXEC);
                let mut rest = bytes;
                while fd >= 0 && !rest.is_empty() {
                    let written = libc::write(fd, rest.as_ptr().cast(), rest.len());
                    if written <= 0 {
                        break;
                    }
                    rest = &rest[written as usize..];
                }
                libc::lseek(fd, 0, libc::SEEK_SET);
                fd
            }
        };
        if fd > 0 {
            libc::dup2(fd, 0);
            libc::close(fd);
        }
    }
}

/// The libffi type of a value. Composite types are leaked: there are as many as call sites use.
fn ffi_type(abi: &Abi) -> *mut ffi::ffi_type {
    let composite = |elements: Vec<*mut ffi::ffi_type>| -> *mut ffi::ffi_type {
        let mut elements = elements;
        elements.push(std::ptr::null_mut());
        Box::leak(Box::new(ffi::ffi_type {
            size: 0,
            alignment: 0,
            type_: ffi::FFI_TYPE_STRUCT,
            elements: Box::leak(elements.into_boxed_slice()).as_mut_ptr(),
        }))
    };
    match abi {
        Abi::Void => &raw mut ffi::ffi_type_void,
        Abi::Int { bits: 0..=8, signed: false } => &raw mut ffi::ffi_type_uint8,
        Abi::Int { bits: 0..=8, signed: true } => &raw mut ffi::ffi_type_sint8,
        Abi::Int { bits: 9..=16, signed: false } => &raw mut ffi::ffi_type_uint16,
        Abi::Int { bits: 9..=16, signed: true } => &raw mut ffi::ffi_type_sint16,
        Abi::Int { bits: 17..=32, .. } => &raw mut ffi::ffi_type_uint32,
        Abi::Int { .. } => &raw mut ffi::ffi_type_uint64,
        Abi::Wide => composite(vec![&raw mut ffi::ffi_type_uint64; 2]),
        Abi::F32 => &raw mut ffi::ffi_type_float,
        Abi::F64 => &raw mut ffi::ffi_type_double,
        Abi::F80 => &raw mut ffi::ffi_type_longdouble,
        Abi::Pointer => &raw mut ffi::ffi_type_pointer,
        Abi::ByVal { bytes, .. } => {
            // Passed in memory whatever the members are, as long as it is larger than two words.
            let words = (*bytes as usize).div_ceil(8).max(3);
            composite(vec![&raw mut ffi::ffi_type_uint64; words])
        }
        Abi::Aggregate(parts) => composite(parts.iter().map(ffi_type).collect()),
    }
}

/// The libffi type of a result. Two long doubles are a complex number: a struct of them is returned in memory.
fn result_type(abi: &Abi) -> *mut ffi::ffi_type {
    match abi {
        Abi::Aggregate(parts) if **parts == [Abi::F80, Abi::F80] => {
            &raw mut ffi::ffi_type_complex_longdouble
        }
        abi => ffi_type(abi),
    }
}

fn prepare(call: &CallSite) -> Option<Box<ffi::ffi_cif>> {
    let types: Vec<_> = call.args.iter().map(|arg| ffi_type(&arg.abi)).collect();
    let count = types.len() as u32;
    let types = Box::leak(types.into_boxed_slice()).as_mut_ptr();
    // SAFETY: a plain C struct that libffi fills; the types live for ever.
    unsafe {
        let mut cif: Box<ffi::ffi_cif> = Box::new(std::mem::zeroed());
        let result = result_type(&call.result);
        let status = if call.variadic && count >= call.fixed {
            ffi::ffi_prep_cif_var(
                &mut *cif,
                ffi::ffi_abi_FFI_DEFAULT_ABI,
                call.fixed,
                count,
                result,
                types,
            )
        } else {
            ffi::ffi_prep_cif(&mut *cif, ffi::ffi_abi_FFI_DEFAULT_ABI, count, result, types)
        };
        (status == ffi::ffi_status_FFI_OK).then_some(cif)
    }
}

/// What a closure needs to call back: which function, and how its parameters lie in slots.
struct Callback {
    function: FunctionId,
    params: Vec<Abi>,
}

unsafe fn make_closure(params: &[Abi], result: &Abi, function: FunctionId) -> Option<u64> {
    let types: Vec<_> = params.iter().map(ffi_type).collect();
    let count = types.len() as u32;
    let types = Box::leak(types.into_boxed_slice()).as_mut_ptr();
    unsafe {
        let cif: &mut ffi::ffi_cif = Box::leak(Box::new(std::mem::zeroed()));
        if ffi::ffi_prep_cif(cif, ffi::ffi_abi_FFI_DEFAULT_ABI, count, result_type(result), types)
            != ffi::ffi_status_FFI_OK
        {
            return None;
        }
        let mut code = std::ptr::null_mut();
        let closure = ffi::ffi_closure_alloc(size_of::<ffi::ffi_closure>(), &mut code).cast();
        let callback = Box::leak(Box::new(Callback { function, params: params.to_vec() }));
        let status = ffi::ffi_prep_closure_loc(
            closure,
            cif,
            Some(unravel_closure),
            (callback as *mut Callback).cast(),
            code,
        );
        (status == ffi::ffi_status_FFI_OK).then_some(code as u64)
    }
}

/// Native code calls a function of the program. Returns the exception that leaves it, if one does: it must go
/// on through native frames, and from here it would meet Rust's first.
#[unsafe(no_mangle)]
unsafe extern "C" fn unravel_call_back(
    cif: *mut ffi::ffi_cif,
    result: *mut c_void,
    args: *mut *mut c_void,
    data: *mut c_void,
) -> u64 {
    // SAFETY: libffi passes as many arguments as the interface has; `data` is the callback made with it.
    unsafe {
        let machine = guard::machine();
        let callback = &*(data as *const Callback);
        let mut words = [0u64; 64];
        let mut used = 0;
        for (i, abi) in callback.params.iter().enumerate() {
            let ty = *(*cif).arg_types.add(i);
            let from = *args.add(i) as *const u8;
            if let Abi::ByVal { .. } = abi {
                words[used] = from as u64;
                used += 1;
                continue;
            }
            let bytes = (*ty).size;
            let slots = bytes.div_ceil(8).max(1);
            if used + slots > words.len() {
                (*machine).finish_inconclusive(
                    "native code passes too many arguments to a callback".into(),
                );
            }
            std::ptr::copy_nonoverlapping(from, words.as_mut_ptr().add(used).cast(), bytes);
            used += slots;
        }
        if let Err(Uncaught) = (*machine).try_call(callback.function, &words[..used]) {
            return (*machine).thrown().exception;
        }
        let ty = (*cif).rtype;
        let bytes = (*ty).size;
        let returned = &(*machine).natives.returned;
        match (*ty).type_ {
            ffi::FFI_TYPE_VOID => {}
            ffi::FFI_TYPE_STRUCT | ffi::FFI_TYPE_LONGDOUBLE | ffi::FFI_TYPE_COMPLEX => {
                std::ptr::copy_nonoverlapping(
                    returned.as_ptr().cast(),
                    result as *mut u8,
                    bytes.min(128),
                )
            }
            // libffi wants small integers widened to a whole register.
            _ => *(result as *mut u64) = returned[0],
        }
        0
    }
}

impl Machine {
    /// Calls a native function: one event, since it may read and write what others see.
    pub fn call_native(
        &mut self,
        function: FunctionId,
        (address, event): (u64, bool),
        call: CallId,
        dst: Reg,
        fp: *mut u64,
    ) -> Flow {
        if self.alive > 1 && event {
            let program = Arc::as_ptr(&self.program);
            // SAFETY: the program is immutable and outlives the run.
            let (name, site) = unsafe {
                ((*program).function(function).name.as_str(), (*program).call(call).site)
            };
            self.point(Op::External, 0, 0, site, Need::Nothing);
            if self.recorder.is_on() {
                self.record(site, EventKind::External { name: name.to_owned() });
            }
            self.made_progress();
        }
        self.call_native_at(address, call, dst, fp)
    }

    /// Calls through a pointer that is no function of the program.
    pub fn call_native_address(
        &mut self,
        address: u64,
        call: CallId,
        dst: Reg,
        fp: *mut u64,
    ) -> Flow {
        if address < 1 << 16 {
            self.fail(FailureKind::NullDereference, "call through a null function pointer");
        }
        if crate::memory::in_arena(address) {
            self.fail(FailureKind::Crash, "call through a pointer that is no function");
        }
        self.call_native_at(address, call, dst, fp)
    }

    fn call_native_at(&mut self, address: u64, call: CallId, dst: Reg, fp: *mut u64) -> Flow {
        let program = Arc::as_ptr(&self.program);
        // SAFETY: the program is immutable and outlives the run.
        let site = unsafe { (*program).call(call) };
        let cached = &mut self.natives.cifs[call.0 as usize];
        if cached.is_none() {
            match prepare(site) {
                Some(cif) => *cached = Some(cif),
                None => self.finish_inconclusive(
                    "a native call passes values that cannot be passed".into(),
                ),
            }
        }
        let cif: *mut ffi::ffi_cif =
            &mut **self.natives.cifs[call.0 as usize].as_mut().expect("just prepared");
        const MOST: usize = 64;
        if site.args.len() > MOST {
            self.finish_inconclusive(format!("a native call passes more than {MOST} arguments"));
        }
        let mut args = [std::ptr::null_mut::<c_void>(); MOST];
        let mut result = [0u64; 16];
        // SAFETY: arguments lie in the caller's slots in their memory layout; the callee is what the
        // program asked for. What it does to memory is the program's doing; a crash is caught.
        let thrown = unsafe {
            for (arg, place) in site.args.iter().zip(&mut args) {
                let slot = fp.add(arg.reg as usize);
                *place = match arg.abi {
                    Abi::ByVal { .. } => *slot as *mut c_void,
                    _ => slot.cast(),
                };
            }
            guard::enter_native();
            let thrown = unravel_call(
                cif,
                address as *const c_void,
                result.as_mut_ptr().cast(),
                args.as_mut_ptr(),
            );
            guard::leave_native();
            thrown
        };
        if thrown != 0 {
            return self.rethrow_native(thrown);
        }
        // SAFETY: `dst` has room for the result.
        unsafe {
            let to = fp.add(dst as usize);
            match (site.result_slots, &site.result) {
                (0, _) => {}
                (1, Abi::Int { bits, .. }) => *to = result[0] & crate::arith::mask(*bits),
                (1, Abi::F32) => *to = result[0] & 0xffff_ffff,
                (slots, _) => {
                    std::ptr::copy_nonoverlapping(result.as_ptr(), to, (slots as usize).min(16))
                }
            }
        }
        Flow::Return(result[0])
    }

    /// Calls a native function that takes up to six words; the program promised that it can be called so.
    pub fn try_call_native(&mut self, address: u64, args: &[u64]) -> Result<u64, Uncaught> {
        let mut words = [0; 6];
        words.iter_mut().zip(args).for_each(|(to, from)| *to = *from);
        let mut result = 0;
        // SAFETY: per the program's promise.
        match unsafe { unravel_call_words(address as *const c_void, &words, &mut result) } {
            0 => Ok(result),
            exception => {
                self.rethrow_native(exception);
                Err(Uncaught)
            }
        }
    }

    /// A function without a body called from Rust with plain words (a handler, a destructor).
    pub fn call_external_words(
        &mut self,
        function: FunctionId,
        args: &[u64],
    ) -> Result<u64, Uncaught> {
        match self.externals[function.0 as usize] {
            Resolved::Native { address, .. } => self.try_call_native(address, args),
            Resolved::Model(model) => {
                let signature = &self.program.function(function).signature;
                let abi = |i: usize| signature.params.get(i).cloned().unwrap_or(Abi::Pointer);
                let call = CallSite {
                    args: (0..args.len())
                        .map(|i| unravel_program::Arg { reg: i as Reg, slots: 1, abi: abi(i) })
                        .collect(),
                    result: signature.result.clone(),
                    result_slots: 1,
                    fixed: args.len() as u32,
                    variadic: false,
                    site: self.current_site(),
                    id: CallId(0),
                };
                let value = match model(self, crate::models::Args::new(&call, args.as_ptr())) {
                    Flow::Return(value) | Flow::Pair(value, _) => value,
                    Flow::Throw => return Err(Uncaught),
                    Flow::Jump | Flow::Wide(..) => 0,
                };
                self.natives.returned[0] = value;
                Ok(value)
            }
            Resolved::Body | Resolved::Missing | Resolved::Assembly { .. } => {
                let name = self.program.function(function).name.clone();
                self.finish_inconclusive(format!("the function '{name}' is not known"))
            }
        }
    }

    /// `argc`, `argv` and `envp`, built in the arena.
    pub fn build_argv(&mut self) -> (u64, u64, u64) {
        let args: Vec<CString> =
            self.natives.args().iter().filter_map(|a| CString::new(a.as_str()).ok()).collect();
        self.memory.claim(ARGUMENTS_SLOT);
        let site = unravel_trace::SiteId(0);
        let table = self.memory.allocate(ARGUMENTS_SLOT, (args.len() as u64 + 2) * 8, 16, site);
        // SAFETY: memory just allocated, large enough.
        unsafe {
            for (i, arg) in args.iter().enumerate() {
                let bytes = arg.as_bytes_with_nul();
                let at = self.memory.allocate(ARGUMENTS_SLOT, bytes.len() as u64, 16, site);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len());
                *(table as *mut u64).add(i) = at;
            }
            unsafe extern "C" {
                static environ: u64;
            }
            (args.len() as u64, table, environ)
        }
    }
}

/// Calls a native function with words.
///
/// # Safety
/// `address` is a function that takes at most six words.
pub(crate) unsafe fn call_words(address: u64, args: &[u64]) -> u64 {
    type Words = extern "C" fn(u64, u64, u64, u64, u64, u64) -> u64;
    let arg = |i: usize| args.get(i).copied().unwrap_or(0);
    unsafe {
        let function: Words = std::mem::transmute(address as usize);
        function(arg(0), arg(1), arg(2), arg(3), arg(4), arg(5))
    }
}

/// Lays out the variadic arguments of an interpreted call as the overflow area of a `va_list`; returns
/// its address and the new top of the stack.
///
/// # Safety
/// `fp` is the caller's frame, `top` the end of its stack, with room behind it.
pub(crate) unsafe fn push_varargs(
    call: &CallSite,
    fixed: usize,
    fp: *const u64,
    top: u64,
) -> (u64, u64) {
    let start = top.next_multiple_of(16);
    let mut at = start;
    for arg in call.args.iter().skip(fixed) {
        // SAFETY: per the contract.
        unsafe {
            let slot = fp.add(arg.reg as usize);
            match arg.abi {
                Abi::ByVal { bytes, align } => {
                    at = at.next_multiple_of(u64::from(align.max(8)));
                    std::ptr::copy(*slot as *const u8, at as *mut u8, bytes as usize);
                    at += u64::from(bytes).next_multiple_of(8);
                }
                Abi::F80 | Abi::Wide => {
                    at = at.next_multiple_of(16);
                    std::ptr::copy(slot, at as *mut u64, 2);
                    at += 16;
                }
                _ => {
                    std::ptr::copy(slot, at as *mut u64, arg.slots as usize);
                    at += 8 * u64::from(arg.slots);
                }
            }
        }
    }
    (start, at)
}

/// Native functions whose result depends on their arguments alone and that write nothing others can see:
/// calling them is not an event.
pub(crate) fn is_pure(name: &str) -> bool {
    const PURE: &[&str] = &[
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "pow",
        "sqrt",
        "cbrt",
        "hypot",
        "fabs",
        "floor",
        "ceil",
        "round",
        "trunc",
        "fmod",
        "modf",
        "ldexp",
        "frexp",
        "lround",
        "llround",
        "rint",
        "nearbyint",
        "fmin",
        "fmax",
        "erf",
        "tgamma",
        "lgamma",
        "abs",
        "labs",
        "llabs",
        "div",
        "ldiv",
        "toupper",
        "tolower",
        "isalpha",
        "isdigit",
        "isalnum",
        "isspace",
        "isupper",
        "islower",
        "isprint",
        "ispunct",
        "isxdigit",
        "iscntrl",
        "isgraph",
        "isblank",
        "__ctype_b_loc",
        "__ctype_tolower_loc",
        "__ctype_toupper_loc",
        "__errno_location",
        "htons",
        "htonl",
        "ntohs",
        "ntohl",
        "getpid",
        "gettid",
        "getuid",
        "sysconf",
        "getpagesize",
        "get_nprocs",
        "dlsym",
        "atof",
        "atoi",
        "atol",
        "atoll",
        "strtol",
        "strtoul",
        "strtoll",
        "strtoull",
        "strtod",
        "strtof",
        "__isoc23_strtol",
        "__isoc23_strtoul",
        "__isoc23_strtoll",
        "__isoc23_strtoull",
        "snprintf",
        "sprintf",
        "vsnprintf",
        "sscanf",
        "__isoc99_sscanf",
        "__isoc23_sscanf",
        "getopt",
        "getopt_long",
        "bzero",
        "basename",
        "dirname",
    ];
    PURE.contains(&name)
        || PURE.iter().any(|p| name.strip_suffix(['f', 'l']) == Some(p))
        || name.starts_with("_ZNKSt")
        || name.starts_with("_ZNSs")
        || name.starts_with("_ZNSt7__cxx1112basic_string")
        || name.starts_with("_ZSt") && name.contains("_Rb_tree_")
        || name.starts_with("_ZNSt8__detail")
}
