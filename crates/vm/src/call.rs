//! Calls: frames of interpreted functions, and calls from Rust into the program.

use unravel_code::FunctionId;
use unravel_code::code::{CallId, Reg};
use unravel_code::layout::{STACK_SIZE, STACKS};
use unravel_trace::{FailureKind, SiteId};

use crate::budgets::{FRESH, REGISTERS};
use crate::interpret::{REGISTER_MARGIN, STACK_MARGIN, Uncaught};
use crate::machine::Machine;
use crate::models::{Args, Flow};
use crate::resolve::Resolved;
use crate::thread::{Cursor, Frame, Thread};

impl Machine {
    /// Pushes a frame for an interpreted call.
    ///
    /// # Safety
    /// `thread` is the current one and its position, at the call, is saved.
    pub(crate) unsafe fn enter(
        &mut self,
        thread: *mut Thread,
        function: FunctionId,
        call: CallId,
        dst: Reg,
    ) {
        let program = std::sync::Arc::as_ptr(&self.program);
        // SAFETY: the program is immutable and outlives the run; lowering made the slots consistent.
        unsafe {
            let program = &*program;
            let callee = program.functions.get_unchecked(function.0 as usize);
            let body = callee.body.as_ref().expect("called functions have bodies");
            let site = program.calls.get_unchecked(call.0 as usize);
            let caller = (*thread).frames.last().expect("a call has a caller").function;
            let caller_slots =
                program.functions[caller.0 as usize].body.as_ref().map_or(0, |b| b.slots);
            let at = (*thread).at;
            let fp = at.fp.add(caller_slots as usize);
            self.check_depth(thread, fp, body.slots as usize + body.frame_bytes as usize / 8);
            if self.prune_spins {
                // What an earlier run left there would be part of the thread's state.
                fp.write_bytes(0, body.slots as usize);
            }
            for (arg, (to, slots)) in site.args.iter().zip(&body.params) {
                let from = at.fp.add(arg.reg as usize);
                if *slots == 1 {
                    *fp.add(*to as usize) = *from;
                } else {
                    std::ptr::copy_nonoverlapping(
                        from,
                        fp.add(*to as usize),
                        (*slots).min(arg.slots) as usize,
                    );
                }
            }
            // A call through a wrong declaration may pass too little.
            for (to, slots) in body.params.iter().skip(site.args.len()) {
                fp.add(*to as usize).write_bytes(0, *slots as usize);
            }
            let slot = (*thread).slot;
            let caller_top = self.memory.stack_top[slot];
            let mut top = caller_top;
            let mut varargs = 0;
            if callee.signature.variadic {
                (varargs, top) = crate::native::push_varargs(site, body.params.len(), at.fp, top);
                self.define(caller_top, top - caller_top);
            }
            (*thread).frames.push(Frame {
                function,
                caller: Cursor { pc: at.pc.add(1), ..at },
                caller_top,
                dst,
                varargs,
                resume_at: 0,
                entry: false,
                atomic: body.atomic,
                known: 0,
            });
            self.begin_body(thread, body, fp, top);
        }
    }

    /// Constants, frame memory and position of a function just entered.
    unsafe fn begin_body(
        &mut self,
        thread: *mut Thread,
        body: &unravel_code::Body,
        fp: *mut u64,
        top: u64,
    ) {
        // SAFETY: `check_depth` made sure that slots and frame memory are there.
        unsafe {
            std::ptr::copy_nonoverlapping(
                body.constants.as_ptr(),
                fp.add(body.constants_at as usize),
                body.constants.len(),
            );
            let base = (top + 15) & !15;
            self.memory.set_stack_top((*thread).slot, base + u64::from(body.frame_bytes));
            (*thread).at = Cursor { pc: body.code.as_ptr(), fp, base };
            if body.frame_bytes > 0 {
                let fresh = (body.frame_bytes as usize).min(FRESH);
                (base as *mut u8).write_bytes(self.limits.uninit.pattern, fresh);
                self.leave_undefined(base, u64::from(body.frame_bytes));
            }
            if body.atomic {
                self.enter_atomic();
            }
        }
    }

    fn check_depth(&mut self, thread: *mut Thread, fp: *mut u64, room: usize) {
        self.fuel -= 1;
        // SAFETY: `thread` is the current thread.
        let (used, slot) =
            unsafe { (fp.offset_from((*thread).registers) as usize + room, (*thread).slot) };
        let limit = STACKS + (slot as u64 + 1) * STACK_SIZE - STACK_MARGIN;
        let top = self.memory.stack_top[slot] + room as u64 * 8;
        if used + REGISTER_MARGIN > REGISTERS || top > limit {
            self.fail(FailureKind::StackOverflow, "too many nested calls");
        }
        if self.fuel < 0 {
            self.step_limit();
        }
    }

    /// A loop ran long: a busy wait, or the bound of the run.
    pub(crate) fn loop_limit(&mut self) {
        if self.fuel < 0 {
            self.step_limit();
            if self.threads[self.current].jumps <= Self::max_jumps() {
                return;
            }
        }
        let site = self.current_site();
        crate::whereabouts::note(site, self.thread_count);
        self.long_loop(site);
    }

    /// The fuel ran out: the bound of the run, unless there is more.
    fn step_limit(&mut self) {
        if !self.refuel() {
            self.note(unravel_trace::Note::StepBound);
            self.finish_inconclusive(format!(
                "the bound of {} steps was reached",
                self.limits.max_steps
            ));
        }
    }

    /// The site of the current thread's saved position.
    pub fn current_site(&self) -> SiteId {
        let thread = &self.threads[self.current];
        let Some(frame) = thread.frames.last() else { return SiteId(0) };
        let Some(body) = &self.program.function(frame.function).body else { return SiteId(0) };
        // SAFETY: the position is inside this function's code.
        let index = unsafe { thread.at.pc.offset_from(body.code.as_ptr()) } as usize;
        body.places.get(index).copied().unwrap_or(SiteId(0))
    }

    /// Calls a function from Rust and runs it to its end; an exception that leaves it is a failure.
    pub fn call_to_end(&mut self, function: FunctionId, args: &[u64]) -> u64 {
        match self.try_call(function, args) {
            Ok(value) => value,
            Err(Uncaught) => self.fail_uncaught(),
        }
    }

    /// Calls whatever is at an address: a function of the program, a modelled or a native one.
    pub fn call_address(&mut self, address: u64, args: &[u64]) -> u64 {
        match self.try_call_address(address, args) {
            Ok(value) => value,
            Err(Uncaught) => self.fail_uncaught(),
        }
    }

    /// The same, with an exception passed on.
    pub fn try_call_address(&mut self, address: u64, args: &[u64]) -> Result<u64, Uncaught> {
        match self.program.function_at(address) {
            Some(function) => self.try_call(function, args),
            None => self.try_call_native(address, args),
        }
    }

    pub fn try_call(&mut self, function: FunctionId, args: &[u64]) -> Result<u64, Uncaught> {
        let program = self.program.clone();
        let Some(body) =
            program.function(function).body.as_ref().filter(|_| self.has_body(function))
        else {
            return self.call_external_words(function, args);
        };
        let thread: *mut Thread = self.threads.pointer(self.current);
        // SAFETY: the current thread, at a saved position; the frame is built as `enter` does.
        unsafe {
            let at = (*thread).at;
            let fp = match (*thread).frames.last() {
                None => (*thread).registers,
                Some(frame) => {
                    let slots =
                        program.function(frame.function).body.as_ref().map_or(0, |b| b.slots);
                    at.fp.add(slots as usize)
                }
            };
            self.check_depth(thread, fp, body.slots as usize + body.frame_bytes as usize / 8);
            if self.prune_spins {
                // What an earlier run left there would be part of the thread's state.
                fp.write_bytes(0, body.slots as usize);
            }
            let mut next = args.iter();
            for (to, slots) in &body.params {
                for slot in 0..*slots {
                    *fp.add((to + slot) as usize) = next.next().copied().unwrap_or(0);
                }
            }
            let top = self.memory.stack_top[(*thread).slot];
            (*thread).frames.push(Frame {
                function,
                caller: at,
                caller_top: top,
                dst: 0,
                varargs: top,
                resume_at: 0,
                entry: true,
                atomic: body.atomic,
                known: 0,
            });
            self.begin_body(thread, body, fp, top);
            if self.concolic.is_on() {
                self.shadow_enter_from_rust(function);
            }
            // Nothing may own memory beyond this point: the run may end inside.
            drop(program);
            self.interpret()?;
        }
        Ok(self.natives.returned[0])
    }

    /// Whatever a library function is given a pointer to, it may write.
    fn define_arguments(&mut self, call: CallId, fp: *mut u64) {
        let program = self.program.clone();
        for arg in &program.call(call).args {
            for slot in 0..arg.slots {
                // SAFETY: an argument's slots are in the caller's frame.
                let word = unsafe { *fp.add((arg.reg + slot) as usize) };
                self.define_object(word);
            }
        }
    }

    pub(crate) fn call_external(
        &mut self,
        function: FunctionId,
        call: CallId,
        dst: Reg,
        fp: *mut u64,
    ) -> Flow {
        match self.externals[function.0 as usize] {
            Resolved::Model(model) => {
                let program = std::sync::Arc::as_ptr(&self.program);
                // SAFETY: the program is immutable and outlives the run.
                let site = unsafe { (*program).call(call) };
                let flow = model(self, Args::new(site, fp));
                // SAFETY: `dst` has room for the result.
                unsafe { crate::models::store_result(site, flow, dst, fp) };
                flow
            }
            Resolved::Native { address, event } => {
                if self.limits.uninit.fails {
                    self.define_arguments(call, fp);
                }
                self.call_native(function, (address, event), call, dst, fp)
            }
            Resolved::Assembly { address } => {
                self.call_assembly(function, address, call, dst, fp);
                crate::models::OK
            }
            Resolved::Missing if self.stubs.get(function.0 as usize) == Some(&true) => {
                let program = std::sync::Arc::as_ptr(&self.program);
                // SAFETY: the program is immutable and outlives the run.
                let site = unsafe { (*program).call(call) };
                let flow = crate::models::verifier::stub(self, Args::new(site, fp));
                // SAFETY: `dst` has room for the result.
                unsafe { crate::models::store_result(site, flow, dst, fp) };
                flow
            }
            Resolved::Missing => {
                let name = self.program.function(function).name.clone();
                self.finish_inconclusive(format!("the function '{name}' is not known"))
            }
            Resolved::Body => unreachable!("a function with a body is not external"),
        }
    }
}
