//! Calls between the program and native libraries.
//!
//! Native functions work directly on the arena. A function of the program can be called by native code
//! at its own address, where a jump to a closure stands. Exceptions thrown by native code are caught
//! by a small C++ shim and thrown again in the program, and the other way round.

use std::ffi::{CString, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use unravel_code::layout::*;
use unravel_code::{Abi, CallId, CallSite, FunctionId, Program, Reg, RelocationPlace};
use unravel_trace::{EventKind, FailureKind, Input, Op, SiteId};

use crate::error::VmError;
use crate::interpret::Uncaught;
use crate::machine::Machine;
use crate::models::Flow;
use crate::models::cancellation::is_cancellation_point;
use crate::pure::writes_memory;
use crate::put_back::{Change, Kept, change};
use crate::resolve::{Libraries, Resolved};
use crate::thread::Threads;
use crate::{guard, host, interface};
use libffi_sys as ffi;

unsafe extern "C" {
    /// Calls through libffi; returns the exception if the callee threw one.
    fn unravel_call(
        cif: *mut ffi::ffi_cif,
        function: *const c_void,
        result: *mut c_void,
        args: *mut *mut c_void,
    ) -> u64;
    fn unravel_call_words(function: *const c_void, args: *const [u64; 6], result: *mut u64) -> u64;
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
    pub libraries: Libraries,
    /// Addresses of [`Program::external_data`].
    external: Vec<u64>,
    thread_locals: Vec<NativeLocal>,
    /// Prepared call interfaces by call site. They live as long as the process, as the types they point to do,
    /// and are used by several threads at a time, each in the middle of a call.
    cifs: Vec<Option<NonNull<ffi::ffi_cif>>>,
    /// How functions change the process; indexed by [`FunctionId`].
    changes: Vec<Change>,
    /// By function: whether it writes where the caller wants it ([`crate::pure::writes_memory`]).
    writes: Vec<bool>,
    /// How it was before the run changed it.
    kept: Kept,
    exception_globals: *mut [u64; 2],
    /// Result slots of the last call from Rust into the program.
    pub returned: [u64; 16],
    stdin: Option<Vec<u8>>,
    stdin_ready: bool,
    /// Which descriptors are ours while the program runs, if it might open or close some.
    claim: Option<host::Claim>,
    resets: Resets,
    pub generators: crate::models::random::Generators,
    args: Vec<String>,
    /// Where the program finds them.
    arguments_at: Vec<u64>,
}

/// What has to be undone in this process after a run.
#[derive(Debug, Clone, Copy, Default)]
struct Resets {
    getopt: bool,
    random: bool,
    descriptors: bool,
    buffers: bool,
    streams: bool,
    locale: bool,
    /// Where standard input was read to.
    input: bool,
}

impl Natives {
    /// Loads libraries and finds the addresses of their variables.
    pub fn new(program: &Program, libraries: &[String]) -> Result<Natives, VmError> {
        let libraries = Libraries::open(libraries)?;
        let external: Vec<u64> = program
            .external_data
            .iter()
            .map(|data| match libraries.address(&data.name) {
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
            descriptors: crate::models::descriptors::are_used(program)
                || calls(&[
                    "open",
                    "open64",
                    "openat",
                    "memfd_create",
                    "syscall",
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
                    "close",
                    "close_range",
                    "closefrom",
                ]),
            locale: calls(&["setlocale"]),
            buffers: calls(&["setvbuf", "setbuf", "setbuffer", "setlinebuf"]),
            streams: program.external_data.iter().any(|data| host::is_stream(&data.name)),
            input: program.external_data.iter().any(|data| host::is_input(&data.name))
                || program
                    .functions
                    .iter()
                    .any(|f| f.body.is_none() && !never_reads_input(&f.name)),
        };
        if resets.streams {
            host::keep_streams();
        }
        Ok(Natives {
            libraries,
            external,
            thread_locals,
            cifs: (0..program.calls.len()).map(|_| None).collect(),
            changes: program.functions.iter().map(|f| change(&f.name)).collect(),
            writes: program.functions.iter().map(|f| writes_memory(&f.name)).collect(),
            kept: Kept::default(),
            // SAFETY: returns the address of this thread's own state.
            exception_globals: unsafe { unravel_exception_globals() },
            returned: [0; 16],
            stdin: None,
            stdin_ready: false,
            claim: None,
            resets,
            generators: crate::models::random::Generators::new(),
            args: Vec::new(),
            arguments_at: Vec::new(),
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
    pub fn swap_thread_state(&mut self, threads: &mut Threads, from: usize, to: usize) {
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
            if self.resets.locale {
                libc::setlocale(libc::LC_ALL, c"C".as_ptr());
            }
            if self.resets.getopt {
                unsafe extern "C" {
                    static mut optind: i32;
                }
                optind = 0;
            }
        }
        if self.resets.buffers && self.stdin_ready {
            host::reset_buffers();
        }
        if self.resets.streams {
            host::reset_streams();
        }
    }

    /// Called after a run: the process is as it was before, or this is false.
    pub fn put_back(&mut self) -> bool {
        self.kept.put_back()
    }

    /// Called before a run: what is open now is ours, and what is opened from now on is the program's.
    pub fn claim_descriptors(&mut self) {
        if self.resets.descriptors && !self.claim.as_ref().is_some_and(host::Claim::holds) {
            self.claim = None;
            self.claim = host::Claim::new();
        }
    }

    /// Called after a run: closes what the program left open.
    pub fn close_descriptors(&mut self) {
        if let Some(claim) = &self.claim {
            claim.close_the_programs();
        }
    }

    /// Numbers that are held for the next run's sake are free again.
    pub fn give_back_descriptors(&mut self) {
        self.claim = None;
    }

    /// Descriptors from here on belong to the program; those below are ours.
    pub fn first_descriptor(&self) -> i32 {
        self.claim.as_ref().map_or(i32::MAX, host::Claim::first)
    }

    /// The first of the descriptors that are kept for us, if the program might close others.
    pub fn reserved(&self) -> Option<i32> {
        self.claim.as_ref().map(|claim| claim.first() - host::RESERVED)
    }

    /// Makes standard input start anew.
    pub fn set_input(&mut self, input: &Input) {
        if !self.stdin_ready || self.stdin != input.stdin {
            self.stdin = input.stdin.clone();
            self.stdin_ready = true;
            host::replace_stdin(self.stdin.as_deref());
        } else if !self.resets.input {
            return;
        }
        host::rewind_stdin();
    }

    /// After a fork the descriptor is shared with another process, which reads it too.
    pub fn forget_input(&mut self) {
        self.stdin_ready = false;
    }

    /// Whether a stream is `stdin`, `stdout` or `stderr`.
    pub fn is_standard(&self, stream: u64) -> bool {
        host::standard_streams().contains(&stream)
    }

    pub fn set_args(&mut self, program: &str, args: &[String]) {
        if self.args.first().is_none_or(|a| a != program) || self.args[1..] != *args {
            self.args = std::iter::once(program.to_owned()).chain(args.iter().cloned()).collect();
        }
    }

    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// Which argument (from 0, the program's name left out) begins at this address and still is what it was.
    pub fn argument_at(&self, address: u64) -> Option<u32> {
        let index = self.arguments_at.iter().position(|at| *at == address)?;
        // SAFETY: a string that was built there with its zero; its memory is never given back.
        let text = unsafe { std::ffi::CStr::from_ptr(address as *const std::ffi::c_char) };
        let same = self.args.get(index).is_some_and(|arg| arg.as_bytes() == text.to_bytes());
        if same { (index as u32).checked_sub(1) } else { None }
    }

    /// What standard input holds; `None` if it is closed.
    pub fn stdin(&self) -> Option<&[u8]> {
        self.stdin.as_deref()
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
}

/// Functions of which it is known that they leave standard input alone. All others might read it.
fn never_reads_input(name: &str) -> bool {
    const OUTPUT: &[&str] = &[
        "printf", "fprintf", "puts", "fputs", "putchar", "fputc", "putc", "fwrite", "perror",
        "write",
    ];
    name.starts_with("llvm.")
        || OUTPUT.contains(&name)
        || crate::pure::is_pure(name)
        || crate::models::find(name).is_some() && !host::reads_input(name)
}

/// The native thread-locals the program refers to. Their size is the symbol's; libstdc++'s are pointers.
fn external_thread_locals(program: &Program, external: &[u64]) -> Vec<NativeLocal> {
    let used: std::collections::BTreeSet<u32> = program
        .functions
        .iter()
        .filter_map(|f| f.body.as_ref())
        .flat_map(|body| &body.code)
        .filter_map(|inst| match inst {
            unravel_code::Inst::ExternalThreadLocal { external, .. } => Some(*external),
            _ => None,
        })
        .collect();
    used.into_iter()
        .map(|index| external[index as usize])
        .filter(|address| *address > ARENA_END || (1 << 16..ARENA_BASE).contains(address))
        .map(|address| NativeLocal { address, bytes: 8 })
        .collect()
}

impl Natives {
    /// Whether every thread has a variable of its own at this address of the process: it is exchanged with the thread.
    pub fn is_thread_local(&self, address: u64) -> bool {
        let contains = |start: u64, bytes: u64| (start..start + bytes).contains(&address);
        // SAFETY: errno of this native thread.
        contains(unsafe { libc::__errno_location() } as u64, size_of::<i32>() as u64)
            || contains(self.exception_globals as u64, size_of::<[u64; 2]>() as u64)
            || self.thread_locals.iter().any(|local| contains(local.address, local.bytes as u64))
    }
}

/// Functions that read the program's memory but do not write it, and what `std::thread` does with itself.
fn is_harmless(name: &str) -> bool {
    name.starts_with("_ZNSt6thread") || is_output(name)
}

fn is_output(name: &str) -> bool {
    matches!(
        name,
        "printf"
            | "puts"
            | "putchar"
            | "fprintf"
            | "fputs"
            | "fputc"
            | "putc"
            | "fwrite"
            | "fflush"
            | "vprintf"
            | "vfprintf"
            | "perror"
            | "write"
            | "close"
            | "fclose"
            | "syslog"
    )
}

impl Machine {
    /// Puts a jump at every function's address, so that native code can call it. A closure asks the guard for the
    /// machine when it is called.
    pub fn make_callable(&self) {
        for (index, function) in self.program.functions.iter().enumerate() {
            let id = FunctionId(index as u32);
            let target = match self.externals[index] {
                Resolved::Native { address, .. } => address,
                Resolved::Missing | Resolved::Assembly { .. } => continue,
                Resolved::Body | Resolved::Model(_) => {
                    if !function.address_taken || function.name.starts_with("llvm.") {
                        continue;
                    }
                    let signature = &function.signature;
                    match interface::make_closure(&signature.params, &signature.result, id) {
                        Some(address) => address,
                        None => continue,
                    }
                }
            };
            // SAFETY: every function has room for a jump at its address, in the executable part of the arena.
            unsafe { interface::write_jump(id.address() as *mut u8, target) };
        }
    }

    /// A call that others may see the effects of, if there are others.
    pub fn external_event(&mut self, name: &str, site: SiteId) {
        if self.cancel_is_due() && is_cancellation_point(name) {
            self.test_cancel();
        }
        if self.alive > 1 {
            self.external_point(!is_harmless(name), site);
            if self.recorder.is_on() {
                self.record(site, EventKind::External { name: name.to_owned() });
            }
            self.made_progress();
        } else {
            self.tell(Op::External, 0, 0, site);
        }
    }

    /// Calls a native function: one event, since it may read and write what others see.
    pub fn call_native(
        &mut self,
        function: FunctionId,
        (address, event): (u64, bool),
        call: CallId,
        dst: Reg,
        fp: *mut u64,
    ) -> Flow {
        if self.descriptors.were_made() {
            let program = Arc::as_ptr(&self.program);
            // SAFETY: the program is immutable and outlives the run.
            let (name, site) =
                unsafe { ((*program).function(function).name.as_str(), (*program).call(call)) };
            self.keep_from_strangers(name, crate::models::Args::new(site, fp));
        }
        if event {
            let program = Arc::as_ptr(&self.program);
            // SAFETY: the program is immutable and outlives the run.
            let (name, site) = unsafe {
                ((*program).function(function).name.as_str(), (*program).call(call).site)
            };
            self.external_event(name, site);
        } else if self.prune_spins && self.alive > 1 && self.natives.writes[function.0 as usize] {
            let site = self.program.call(call).site;
            self.tell_of_unseen_writes(site);
        }
        let change = self.natives.changes[function.0 as usize];
        if change != Change::None {
            self.will_change(change);
        }
        self.call_native_at(address, call, dst, fp)
    }

    /// A native function is about to change something about this process.
    pub fn will_change(&mut self, change: Change) {
        self.stained |= !self.natives.kept.keep(change);
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
            *cached = interface::prepare(site);
        }
        let Some(cif) = *cached else {
            self.finish_inconclusive("a native call passes values that cannot be passed".into())
        };
        const MOST: usize = 64;
        if site.args.len() > MOST {
            self.finish_inconclusive(format!("a native call passes more than {MOST} arguments"));
        }
        self.check_before_native(site, fp);
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
                cif.as_ptr(),
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
        self.check_after_native(site, fp);
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
        guard::enter_native();
        // SAFETY: per the program's promise.
        let thrown = unsafe { unravel_call_words(address as *const c_void, &words, &mut result) };
        guard::leave_native();
        match thrown {
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
                        .map(|i| unravel_code::Arg { reg: i as Reg, slots: 1, abi: abi(i) })
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
        let table =
            self.memory.allocate(ARGUMENTS_SLOT, (args.len() as u64 + 2) * 8, 16, (site, None));
        self.natives.arguments_at.clear();
        // SAFETY: memory just allocated, large enough.
        unsafe {
            for (i, arg) in args.iter().enumerate() {
                let bytes = arg.as_bytes_with_nul();
                let at = self.memory.allocate(ARGUMENTS_SLOT, bytes.len() as u64, 16, (site, None));
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len());
                *(table as *mut u64).add(i) = at;
                self.natives.arguments_at.push(at);
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
    guard::enter_native();
    // SAFETY: per the contract.
    let result = unsafe {
        let function: Words = std::mem::transmute(address as usize);
        function(arg(0), arg(1), arg(2), arg(3), arg(4), arg(5))
    };
    guard::leave_native();
    result
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
