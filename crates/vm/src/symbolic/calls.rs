//! Calls. Between functions of the program, shadows of arguments and results are passed on. A library function
//! gets values that are kept by conditions, but for those that only print, that are followed by an expression
//! ([`super::intrinsics`]), or that carry memory along (their models call [`Machine::shadow_copy`]).
//!
//! Native functions may reach memory through the pointers they get: what is symbolic there, up to a bound, is kept
//! too if it is this thread's own, and is concrete afterwards.
//! *Not modelled*: results of printing (a number of characters, a state of a stream) as functions of what is printed.

use rustc_hash::FxHashSet;
use unravel_code::doom::Doom;
use unravel_code::{Abi, CallId, CallSite, FunctionId, Program, Reg};
use unravel_trace::{ConditionKind, Otherwise};

use super::Concolic;
use super::graph::Owner;
use super::inputs::Reader;
use super::intrinsics::Intrinsic;
use crate::machine::Machine;
use crate::memory::in_arena;
use crate::models::Flow;
use crate::resolve::{Resolved, native_address};

/// How a call of a library function is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Treatment {
    /// The arguments keep their values; the result is concrete.
    Keep,
    /// The same, but for this argument, whose shadow the model uses.
    KeepBut(usize),
    /// Prints, or does nothing that depends on its arguments.
    Ignore,
    /// Prints if its first argument is one of the standard streams of C++.
    PrintIfStandard,
    /// Its first argument is a condition; otherwise this.
    Condition(Otherwise),
    /// Its first argument is the exit code.
    ExitCode,
    Intrinsic(Intrinsic),
    /// Reads input, which may be a symbol.
    Reads(Reader),
}

const PRINTS: &[&str] = &[
    "printf",
    "fprintf",
    "vprintf",
    "vfprintf",
    "__printf_chk",
    "__fprintf_chk",
    "dprintf",
    "puts",
    "fputs",
    "putchar",
    "putc",
    "fputc",
    "putchar_unlocked",
    "fwrite",
    "fflush",
    "write",
    "perror",
    "syslog",
    "llvm.va_end",
    "llvm.prefetch",
    "llvm.is.constant",
    "llvm.objectsize",
    "__assert_fail",
    "__assert",
    "abort",
];

fn treatment(name: &str) -> Treatment {
    if PRINTS.contains(&name) {
        return Treatment::Ignore;
    }
    if let Some(intrinsic) = Intrinsic::named(name) {
        return Treatment::Intrinsic(intrinsic);
    }
    if let Some(reader) = Reader::named(name) {
        return Treatment::Reads(reader);
    }
    match name {
        "memset" | "llvm.memset" | "llvm.memset.inline" | "__memset_chk" => Treatment::KeepBut(1),
        "pthread_create" => Treatment::KeepBut(3),
        "thrd_create" => Treatment::KeepBut(2),
        "pthread_exit" | "thrd_exit" => Treatment::KeepBut(0),
        "__VERIFIER_assume" | "__ESBMC_assume" | "__CPROVER_assume" | "assume_abort_if_not" => {
            Treatment::Condition(Otherwise::Unknown)
        }
        "__VERIFIER_assert" | "__ESBMC_assert" | "__CPROVER_assert" | "assert" => {
            Treatment::Condition(Otherwise::Fails)
        }
        "exit" | "_exit" | "_Exit" | "quick_exit" => Treatment::ExitCode,
        _ if ["_ZNSo", "_ZStls", "_ZSt4endl", "_ZSt16__ostream_insert", "_ZSt5flush"]
            .iter()
            .any(|start| name.starts_with(start)) =>
        {
            Treatment::PrintIfStandard
        }
        _ => Treatment::Keep,
    }
}

fn is_standard_stream(address: u64) -> bool {
    ["_ZSt4cout", "_ZSt4cerr", "_ZSt4clog"].iter().any(|name| native_address(name) == Some(address))
}

impl Machine {
    /// Decides how each function without a body is followed.
    pub fn prepare_treatments(&mut self) {
        if self.concolic.treatments.is_empty() {
            let functions = &self.program.functions;
            self.concolic.treatments = functions.iter().map(|f| treatment(&f.name)).collect();
            self.concolic.doom = Doom::new(&self.program);
        }
    }

    /// The callee's frame was entered: `fp` is the caller's.
    ///
    /// # Safety
    /// The current thread's position is at the start of the callee.
    pub unsafe fn shadow_enter(&mut self, fp: *const u64, function: FunctionId, call: CallId) {
        let program: *const Program = std::sync::Arc::as_ptr(&self.program);
        // SAFETY: the program is immutable and outlives the run.
        let (site, callee) = unsafe { ((*program).call(call), (*program).function(function)) };
        let body = callee.body.as_ref().expect("called functions have bodies");
        let thread = &self.threads[self.current];
        let (inner, varargs) = (thread.at.fp, thread.frames.last().map_or(0, |f| f.varargs));
        self.frame_at(inner).clear(0, body.slots);
        for (arg, (to, slots)) in site.args.iter().zip(&body.params) {
            let slots = (*slots).min(arg.slots);
            let shadows = self.frame_at(fp).take(arg.reg, slots);
            for (reg, id) in (*to..).zip(shadows) {
                self.frame_at(inner).set(reg, id);
            }
        }
        if callee.signature.variadic {
            self.shadow_varargs(site, body.params.len(), fp, varargs);
        }
    }

    /// The same walk as `native::push_varargs`.
    fn shadow_varargs(&mut self, call: &CallSite, fixed: usize, fp: *const u64, start: u64) {
        let mut at = start;
        for arg in call.args.iter().skip(fixed) {
            match arg.abi {
                Abi::ByVal { bytes, align } => {
                    at = at.next_multiple_of(u64::from(align.max(8)));
                    let from = self.frame_at(fp).value(arg.reg);
                    let current = self.current;
                    self.concolic.thread(current).seen.clear();
                    self.shadow_copy(from, at, u64::from(bytes));
                    at += u64::from(bytes).next_multiple_of(8);
                }
                Abi::F80 | Abi::Wide => {
                    at = at.next_multiple_of(16);
                    self.shadow_store(fp, arg.reg, at, 16);
                    at += 16;
                }
                _ => {
                    self.shadow_store(fp, arg.reg, at, 8 * arg.slots);
                    at += 8 * u64::from(arg.slots);
                }
            }
        }
    }

    /// A function called from Rust is entered: its parameters are concrete, but for what a thread starts with.
    pub fn shadow_enter_from_rust(&mut self, function: FunctionId) {
        let program = self.program.clone();
        let body = program.function(function).body.as_ref().expect("entered functions have bodies");
        let thread = self.current;
        let (fp, outermost) = (self.threads[thread].at.fp, self.threads[thread].frames.len() == 1);
        let argument = self.concolic.thread(thread).argument.take();
        let mut frame = self.frame_at(fp);
        frame.clear(0, body.slots);
        if let (true, Some(id), Some((to, _))) = (outermost, argument, body.params.first()) {
            frame.set(*to, Some(id));
        }
    }

    pub(super) fn shadow_return(&mut self, fp: *const u64, src: Reg, slots: u32) {
        let to = *self.threads[self.current].frames.last().expect("returns from a frame");
        let shadows = self.frame_at(fp).take(src, slots);
        if to.entry {
            self.concolic.returned = [0, 1].map(|i| shadows.get(i).copied().flatten());
            return;
        }
        for (reg, id) in (to.dst..).zip(shadows) {
            self.frame_at(to.caller.fp).set(reg, id);
        }
    }

    /// A library function is about to be called.
    pub fn shadow_before_call(
        &mut self,
        function: FunctionId,
        call: CallId,
        dst: Reg,
        fp: *const u64,
    ) {
        let program: *const Program = std::sync::Arc::as_ptr(&self.program);
        // SAFETY: the program is immutable and outlives the run.
        let site = unsafe { (*program).call(call) };
        let current = self.current;
        let thread = self.concolic.thread(current);
        thread.seen.clear();
        thread.result = [None; 2];
        thread.address = None;
        let mut result = None;
        match self.concolic.treatments[function.0 as usize] {
            Treatment::Ignore => {}
            Treatment::PrintIfStandard => {
                let stream = site.args.first().map_or(0, |arg| self.frame_at(fp).value(arg.reg));
                if !is_standard_stream(stream) {
                    self.keep_arguments(site, fp, None);
                    self.keep_reachable(site, fp);
                }
            }
            Treatment::Condition(otherwise) => {
                if let Some(arg) = site.args.first() {
                    let bits = crate::models::bits_of(&arg.abi).min(64);
                    self.branch_on_truth(fp, arg.reg, bits, otherwise);
                }
            }
            Treatment::ExitCode => {
                if let Some(arg) = site.args.first() {
                    self.branch_on_truth(fp, arg.reg, 8, Otherwise::Exits);
                }
            }
            Treatment::Intrinsic(intrinsic) => {
                result = self.shadow_intrinsic(intrinsic, site, fp);
                if result.is_none() {
                    self.keep_arguments(site, fp, None);
                }
            }
            Treatment::KeepBut(index) => self.keep_arguments(site, fp, Some(index)),
            Treatment::Reads(reader) => {
                let is_native =
                    matches!(self.externals[function.0 as usize], Resolved::Native { .. });
                let reading = if is_native { self.begin_reading(reader, site, fp) } else { None };
                self.keep_arguments(site, fp, None);
                if is_native && reading.is_none() {
                    self.keep_reachable(site, fp);
                }
                self.concolic.thread(current).reading = reading;
            }
            Treatment::Keep => {
                self.keep_arguments(site, fp, None);
                if matches!(
                    self.externals[function.0 as usize],
                    Resolved::Native { .. } | Resolved::Assembly { .. }
                ) {
                    self.keep_reachable(site, fp);
                }
            }
        }
        let mut frame = self.frame_at(fp);
        frame.clear(dst, site.result_slots);
        if let Some(bytes) = result {
            frame.give_bytes(dst, &bytes);
        }
    }

    /// A library function has returned: what its model says of the result.
    pub fn shadow_after_call(&mut self, call: CallId, dst: Reg, fp: *const u64, flow: Flow) {
        let slots = self.program.call(call).result_slots;
        let current = self.current;
        if let Some(reading) = self.concolic.thread(current).reading.take() {
            let program: *const Program = std::sync::Arc::as_ptr(&self.program);
            // SAFETY: the program is immutable and outlives the run.
            let site = unsafe { (*program).call(call) };
            let value = if slots > 0 { self.frame_at(fp).value(dst) } else { 0 };
            let read = self.end_reading(reading, site, value);
            self.shadow_result([read, None]);
        }
        let result = std::mem::take(&mut self.concolic.thread(current).result);
        self.concolic.thread(current).seen.clear();
        if matches!(flow, Flow::Jump | Flow::Throw) {
            return;
        }
        for (reg, id) in (dst..dst + slots.min(2)).zip(result) {
            if id.is_some() {
                self.frame_at(fp).set(reg, id);
            }
        }
    }

    /// A call through a pointer that is no function of the program.
    pub fn shadow_before_native(&mut self, call: CallId, dst: Reg, fp: *const u64) {
        let program: *const Program = std::sync::Arc::as_ptr(&self.program);
        // SAFETY: the program is immutable and outlives the run.
        let site = unsafe { (*program).call(call) };
        self.keep_arguments(site, fp, None);
        self.keep_reachable(site, fp);
        self.frame_at(fp).clear(dst, site.result_slots);
    }

    /// The result of the library function that is being executed.
    pub fn shadow_result(&mut self, result: [Option<unravel_trace::ExprId>; 2]) {
        let current = self.current;
        self.concolic.thread(current).result = result;
    }

    /// The shadow of an argument, a slot wide.
    pub fn shadow_argument(
        &mut self,
        args: crate::models::Args,
        index: usize,
    ) -> Option<unravel_trace::ExprId> {
        if !self.concolic.is_on() {
            return None;
        }
        let reg = args.call().args.get(index)?.reg;
        let fp = args.frame();
        // Arguments of a call from Rust do not lie in a frame.
        let registers = self.threads[self.current].registers as *const u64;
        let inside = (fp as usize).wrapping_sub(registers as usize) / 8 < crate::budgets::REGISTERS;
        if inside { self.frame_at(fp).get(reg) } else { None }
    }

    /// A slot is overwritten with a value that is known.
    pub fn shadow_clear_slot(&mut self, fp: *const u64, reg: Reg) {
        if self.concolic.is_on() {
            self.frame_at(fp).set(reg, None);
        }
    }

    fn keep_arguments(&mut self, site: &CallSite, fp: *const u64, but: Option<usize>) {
        for (index, arg) in site.args.iter().enumerate() {
            if but == Some(index) {
                continue;
            }
            match arg.abi {
                Abi::Pointer => {
                    if self.frame_at(fp).is_symbolic(arg.reg) {
                        self.wait_for_argument(fp, arg.reg);
                        self.fix_address(fp, arg.reg);
                    }
                }
                Abi::ByVal { bytes, .. } => {
                    self.fix_address(fp, arg.reg);
                    let address = self.frame_at(fp).value(arg.reg);
                    self.shadow_look(address, u64::from(bytes));
                }
                _ => self.fix_slots(fp, arg.reg, arg.slots, ConditionKind::Fixed),
            }
        }
    }

    /// The low `bits` bits of a slot are zero, or are not, and that decides.
    fn branch_on_truth(&mut self, fp: *const u64, reg: Reg, bits: u8, otherwise: Otherwise) {
        let mut frame = self.frame_at(fp);
        if frame.is_symbolic(reg) {
            let value = frame.operand(reg, bits);
            let graph = &mut frame.concolic.graph;
            let truth = graph.differs(value, 0);
            let taken = graph.value(value) != 0;
            let taken = self.guided_truth(fp, reg, (truth, taken), otherwise);
            self.add_branch(truth, taken, otherwise);
        }
    }

    /// The exit code of the process, if main returned it.
    pub fn shadow_exit_code(&mut self) {
        if let (true, Some(id)) = (self.concolic.is_on(), self.concolic.returned[0]) {
            let graph = &mut self.concolic.graph;
            let code = graph.resize(id, 8);
            let truth = graph.differs(code, 0);
            let taken = graph.value(code) != 0;
            let taken = taken || self.expects_exit_code();
            self.add_branch(truth, taken, Otherwise::Exits);
        }
    }

    /// What a callback returned decides how a library function goes on.
    pub fn shadow_keep_returned(&mut self) {
        if let (true, Some(id)) = (self.concolic.is_on(), self.concolic.returned[0]) {
            self.fix(id, ConditionKind::Fixed);
        }
    }

    /// Memory that native code may read or change.
    fn keep_reachable(&mut self, site: &CallSite, fp: *const u64) {
        const MOST_OBJECTS: usize = 64;
        const MOST_BYTES: u64 = 1 << 16;
        if self.concolic.memory.is_empty() {
            return;
        }
        let mut seen = FxHashSet::default();
        let mut todo: Vec<(u64, u64)> = Vec::new();
        for arg in &site.args {
            let address = self.frame_at(fp).value(arg.reg);
            todo.extend(self.object_around(address));
        }
        while let Some((start, bytes)) = todo.pop() {
            if seen.len() >= MOST_OBJECTS || !seen.insert(start) {
                continue;
            }
            let bytes = bytes.min(MOST_BYTES);
            for at in (start.next_multiple_of(8)..start + bytes).step_by(8) {
                if at + 8 <= start + bytes {
                    // SAFETY: the whole arena is readable.
                    let word = unsafe { (at as *const u64).read_unaligned() };
                    todo.extend(self.object_around(word).filter(|o| !seen.contains(&o.0)));
                }
            }
            self.keep_own(start, bytes);
        }
    }

    fn keep_own(&mut self, address: u64, bytes: u64) {
        if !self.concolic.memory.any(address, bytes) {
            return;
        }
        let current = self.current;
        let Concolic { memory, graph, .. } = &mut self.concolic;
        // SAFETY: memory of an object in the arena.
        let held = unsafe { memory.load(graph, address, bytes) };
        for part in held.chunks(8) {
            if let Some(id) = self.concolic.graph.assemble(part)
                && self.concolic.graph.owner(id) == Owner::Thread(current)
            {
                self.fix(id, ConditionKind::Fixed);
            }
        }
        self.concolic.memory.forget(address, bytes);
    }

    /// The living object that contains an address: heap object, global, or what is in use of the stack from here on.
    fn object_around(&self, address: u64) -> Option<(u64, u64)> {
        const STACK_REACH: u64 = 256;
        if !in_arena(address) {
            return None;
        }
        if let Some(slot) = crate::memory::stack_slot(address) {
            let top = self.memory.stack_top[slot];
            return (address < top).then(|| (address, STACK_REACH.min(top - address)));
        }
        if let Some((_, _, object)) = self.memory.heap_object(address) {
            let inside = object.freed.is_none() && address < object.address + object.bytes;
            return inside.then_some((object.address, object.bytes));
        }
        self.program.global_at(address).map(|global| (global.address, global.bytes))
    }
}
