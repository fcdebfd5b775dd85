//! Calls and returns among compiled functions, as the interpreter makes them: the same frames, the same limits.
//!
//! Who calls makes a native call of the other's code, with the first arguments in registers. Who *leaves* there returns at once
//! and says so, and so do all who called it, each of them after it has listed the frame that its call has made: the frames say
//! where each of them was, and nothing else is needed of the native stack. A call that returns lists nothing. A call is not made if
//! little of the native stack is left: it is the interpreter's then, which begins a new native stack, so to speak.
//!
//! Who was entered by the interpreter, in the middle, has nobody to return to. It jumps to the entry of its caller that the frame
//! names, if that was compiled code, and else leaves the return to the interpreter.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, InstBuilder, MemFlags, Signature, Value, types};
use cranelift_codegen::isa::CallConv;
use unravel_code::Body;
use unravel_code::code::{CallId, FunctionId, Reg, Target};
use unravel_code::compiled::{Context, Cursor, FEW_SLOTS, Frame};

use crate::shape::returned_slots;
use crate::translate::{CONTEXT, PROGRAM, SLOTS, Translation};

/// The list of frames.
const FRAMES: MemFlags = CONTEXT;

/// Words of arguments that are passed in registers. Who is called writes them to its slots.
const IN_REGISTERS: usize = 2;

/// What all compiled functions take: slots, frame memory, entry, allowance, and the first words of the arguments. And what they
/// return: steps, or 0 if they have left; allowance; the words of the result.
///
/// Who has left says in place of the first of those whether it was there at all ([`crate::translate::absent`]).
pub(crate) fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.extend([AbiParam::new(types::I64); 6]);
    signature.returns.extend([AbiParam::new(types::I64); 4]);
    signature
}

/// The slots that words of arguments go to, in order.
fn given_slots(body: &Body) -> impl Iterator<Item = Reg> + '_ {
    body.params.iter().flat_map(|(first, slots)| *first..first + slots)
}

impl Translation<'_> {
    fn jump_to_function(&mut self, code: Value, arguments: &[Value]) {
        let signature = self.b.import_signature(signature());
        self.b.ins().return_call_indirect(signature, code, arguments);
    }

    fn in_frame(&mut self, frame: Value, offset: usize) -> Value {
        self.b.ins().load(types::I64, FRAMES, frame, offset as i32)
    }

    fn put_in_frame(&mut self, frame: Value, offset: usize, value: Value) {
        self.b.ins().store(FRAMES, value, frame, offset as i32);
    }

    /// A function was called by compiled code: the rest of a new frame. The slots whose values are known then.
    pub fn begin_frame(&mut self, given: [Value; IN_REGISTERS]) -> Vec<(Reg, Value)> {
        let body = self.body;
        if body.slots <= FEW_SLOTS {
            self.clear_slots();
        }
        let known: Vec<(Reg, Value)> = given_slots(body).zip(given).collect();
        for (slot, value) in &known {
            self.b.ins().store(SLOTS, *value, self.fp, *slot as i32 * 8);
        }
        // At once: to write them only where the frame is listed made random programs differ, and why is not known yet.
        for (constant, slot) in body.constants.iter().zip(body.constants_at..) {
            let word = self.word(*constant as i64);
            self.b.ins().store(SLOTS, word, self.fp, slot as i32 * 8);
        }
        if self.shape.grows {
            let top = self.b.ins().iadd_imm(self.base, i64::from(body.frame_bytes));
            self.set_top(top);
        }
        if body.frame_bytes > 0 && body.frame_bytes <= crate::shape::MOST_FRESH {
            let pattern = self.constant_field(offset_of!(Context, pattern));
            let pattern = self.b.ins().splat(types::I64X2, pattern);
            for offset in (0..body.frame_bytes).step_by(16) {
                self.b.ins().store(PROGRAM, pattern, self.base, offset as i32);
            }
        }
        known
    }

    /// Clears slots for those who compare states. They do not look at temporaries.
    fn clear_slots(&mut self) {
        let constants =
            self.body.constants_at..self.body.constants_at + self.body.constants.len() as u32;
        let mut cleared: Vec<Reg> = (0..self.body.slots).collect();
        cleared.retain(|slot| !constants.contains(slot) && !self.shape.is_temporary(*slot));
        cleared.retain(|slot| !given_slots(self.body).any(|given| given == *slot));
        if cleared.is_empty() {
            return;
        }
        let (clears, fine) = (self.cold_block(), self.b.create_block());
        let wanted = self.constant_field(offset_of!(Context, clears));
        self.b.ins().brif(wanted, clears, &[], fine, &[]);
        self.go_on(clears);
        let zero = self.word(0);
        for slot in cleared {
            self.b.ins().store(SLOTS, zero, self.fp, slot as i32 * 8);
        }
        self.b.ins().jump(fine, &[]);
        self.go_on(fine);
    }

    /// A field of the context, by its address.
    fn constant_field(&mut self, offset: usize) -> Value {
        let context = self.word(self.callbacks.context as i64);
        self.b.ins().load(types::I64, CONTEXT, context, offset as i32)
    }

    /// Adds to what all have executed together.
    pub fn add_steps(&mut self, steps: Value) {
        let before = self.field(offset_of!(Context, steps));
        let all = self.b.ins().iadd(before, steps);
        self.set_field(offset_of!(Context, steps), all);
    }

    /// Goes back to who has called, or to Rust, having left.
    pub fn say_left(&mut self) {
        let nothing = self.word(0);
        self.b.ins().return_(&[nothing; 4]);
    }

    pub fn call(&mut self, at: Target, dst: Reg, function: FunctionId, call: CallId) {
        let program = self.program;
        let callee = program.function(function).body.as_ref().expect("a plain call");
        // Everything that may leave comes first.
        self.count_jump();
        let leave = self.cold_block();
        let top = self.top();
        let base = match self.shape.grows {
            true => {
                let base = self.b.ins().iadd_imm(top, 15);
                self.b.ins().band_imm(base, !15)
            }
            false => top,
        };
        let many = if callee.slots > FEW_SLOTS { callee.slots } else { 0 };
        let room = i64::from(callee.frame_bytes) + i64::from(many) * 8;
        // Where the frame ends there is room: whoever entered or called this function has seen to it.
        if room > 0 || self.shape.grows {
            let stack = self.b.ins().iadd_imm(base, room);
            let stack_end = self.constant_field(offset_of!(Context, stack_end));
            let too_much = self.b.ins().icmp(IntCC::UnsignedGreaterThan, stack, stack_end);
            self.go_on_unless(too_much, leave);
        }
        let native = self.b.ins().get_stack_pointer(types::I64);
        let native_end = self.constant_field(offset_of!(Context, native_end));
        let no_room = self.b.ins().icmp(IntCC::UnsignedLessThan, native, native_end);
        self.go_on_unless(no_room, leave);
        let fp = self.b.ins().iadd_imm(self.fp, i64::from(self.body.slots) * 8);
        if many > 0 {
            let slots = self.b.ins().iadd_imm(fp, i64::from(many) * 8);
            let slots_end = self.constant_field(offset_of!(Context, slots_end));
            let too_deep = self.b.ins().icmp(IntCC::UnsignedGreaterThan, slots, slots_end);
            self.go_on_unless(too_deep, leave);
        }
        let (_, allowance) = self.would_count();
        let left_over = self.b.ins().iadd_imm(allowance, -(1 << 32));
        let none_left = self.b.ins().icmp_imm(IntCC::SignedLessThan, left_over, 0);
        self.go_on_unless(none_left, leave);

        self.write_temporaries(at + 1);
        let zero = self.word(0);
        let mut words = [zero; IN_REGISTERS];
        let args = &program.call(call).args;
        let mut number = 0;
        for (index, (to, slots)) in callee.params.iter().enumerate() {
            // A call through a wrong declaration may pass too little.
            let from = args.get(index).map(|arg| arg.reg);
            for slot in 0..*slots {
                let value = from.map_or(zero, |from| self.get(from + slot));
                match words.get_mut(number) {
                    Some(word) => *word = value,
                    None => {
                        self.b.ins().store(SLOTS, value, fp, (to + slot) as i32 * 8);
                    }
                }
                number += 1;
            }
        }
        // SAFETY: the context stays where it is, and so does the list of codes.
        let codes = unsafe { (*self.callbacks.context).codes };
        let place = self.word(codes.wrapping_add(function.0 as usize) as i64);
        let code = self.b.ins().load(types::I64, CONTEXT, place, 0);
        let signature = self.b.import_signature(signature());
        let arguments = [fp, base, zero, left_over, words[0], words[1]];
        let called = self.b.ins().call_indirect(signature, code, &arguments);
        let [steps, allowance, first, second] = self.b.inst_results(called)[..] else {
            unreachable!("four results")
        };
        let (gone, back) = (self.cold_block(), self.b.create_block());
        self.b.ins().brif(steps, back, &[], gone, &[]);

        self.go_on(gone);
        let listed = self.cold_block();
        self.b.ins().brif(first, leave, &[], listed, &[]);
        self.go_on(listed);
        self.list_frame(at, (dst, top), function);
        self.go_on(leave);
        self.leave_uncounted(at, -1);

        self.go_on(back);
        if self.shape.grows {
            self.set_top(top);
        }
        let before = self.b.use_var(self.steps);
        let steps = self.b.ins().iadd(before, steps);
        self.set_counted(steps, allowance);
        let returned = returned_slots(callee).unwrap_or(0);
        for (slot, value) in (dst..dst + returned).zip([first, second]) {
            match slot < self.body.slots {
                true => self.set(slot, value),
                // Nobody wants it.
                false => drop(self.b.ins().store(SLOTS, value, self.fp, slot as i32 * 8)),
            }
        }
        let behind = self.block(at + 1);
        self.b.ins().jump(behind, &[]);
    }

    /// What was called has left: the frame of the call is listed, and the callers of this function are told.
    fn list_frame(&mut self, at: Target, (dst, top): (Reg, Value), function: FunctionId) {
        // SAFETY: behind a call comes another instruction.
        let behind = unsafe { self.body.code.as_ptr().add(at as usize + 1) };
        let behind = self.word(behind as i64);
        let numbers = self.word(i64::from(function.0) | i64::from(dst) << 32);
        // What is called from Rust or is an atomic section has another mark, and of a new frame nothing is known.
        let marks = self.word(i64::from(self.shape.entry(at + 1).unwrap_or(0)));
        let steps = self.b.use_var(self.steps);
        let list = self.listing();
        let told = [numbers, behind, marks, top, steps].map(Into::into);
        self.b.ins().jump(list, &told);
    }

    /// The block that lists the frame of a call. Parameters: numbers, where to go on, marks, the end of the stack, steps.
    fn listing(&mut self) -> Block {
        if self.list.is_none() {
            let list = self.cold_block();
            for _ in 0..5 {
                self.b.append_block_param(list, types::I64);
            }
            self.list = Some(list);
        }
        self.list.expect("just made")
    }

    /// Makes that block, if anybody needs it.
    pub fn list(&mut self) {
        let Some(list) = self.list else { return };
        self.b.switch_to_block(list);
        let [numbers, behind, marks, top, steps] = self.b.block_params(list)[..] else {
            unreachable!("five parameters")
        };
        let frame = self.field(offset_of!(Context, pending));
        let none = self.word(0);
        for (offset, value) in [
            (offset_of!(Frame, function), numbers),
            (offset_of!(Frame, caller) + offset_of!(Cursor, pc), behind),
            (offset_of!(Frame, caller) + offset_of!(Cursor, fp), self.fp),
            (offset_of!(Frame, caller) + offset_of!(Cursor, base), self.base),
            (offset_of!(Frame, caller_top), top),
            (offset_of!(Frame, varargs), none),
            (offset_of!(Frame, resume_at), marks),
        ] {
            self.put_in_frame(frame, offset, value);
        }
        let next = self.b.ins().iadd_imm(frame, size_of::<Frame>() as i64);
        self.set_field(offset_of!(Context, pending), next);
        self.add_steps(steps);
        self.say_left();
    }

    pub fn return_to_caller(&mut self, result: std::ops::Range<Reg>) {
        let (called, entered) = (self.b.create_block(), self.cold_block());
        self.b.ins().brif(self.wanted, entered, &[], called, &[]);
        let next = offset_of!(Context, next_frame);

        self.go_on(entered);
        let size = size_of::<Frame>() as i64;
        let frame = self.field(next);
        let frame = self.b.ins().iadd_imm(frame, -size);
        let entry = self.b.ins().uload32(FRAMES, frame, offset_of!(Frame, resume_at) as i32);
        let unknown = self.is_zero(entry);
        self.leave_if(unknown);
        let outer = offset_of!(Frame, function) as i64 - size;
        let caller = self.b.ins().uload32(FRAMES, frame, outer as i32);
        let codes = self.field(offset_of!(Context, codes));
        let place = self.b.ins().ishl_imm(caller, 3);
        let place = self.b.ins().iadd(codes, place);
        let code = self.b.ins().load(types::I64, CONTEXT, place, 0);
        let fp = self.return_slots(frame, result.clone());
        let base = self.in_frame(frame, offset_of!(Frame, caller) + offset_of!(Cursor, base));
        let top = self.in_frame(frame, offset_of!(Frame, caller_top));
        self.set_top(top);
        self.set_field(next, frame);
        let (steps, allowance) = self.would_count();
        self.add_steps(steps);
        let nothing = self.word(0);
        self.jump_to_function(code, &[fp, base, entry, allowance, nothing, nothing]);

        self.go_on(called);
        let (steps, allowance) = self.would_count();
        let mut words = [self.word(0); 2];
        for (slot, word) in result.zip(&mut words) {
            *word = self.get(slot);
        }
        self.b.ins().return_(&[steps, allowance, words[0], words[1]]);
    }

    /// Puts a result where the caller wants it, whose first slot is returned.
    fn return_slots(&mut self, frame: Value, result: std::ops::Range<Reg>) -> Value {
        let fp = self.in_frame(frame, offset_of!(Frame, caller) + offset_of!(Cursor, fp));
        if !result.is_empty() {
            let dst = self.b.ins().uload32(FRAMES, frame, offset_of!(Frame, dst) as i32);
            let dst = self.b.ins().ishl_imm(dst, 3);
            let to = self.b.ins().iadd(fp, dst);
            for (slot, number) in result.zip(0..) {
                let value = self.get(slot);
                self.b.ins().store(SLOTS, value, to, number * 8);
            }
        }
        fp
    }
}

const _: () = assert!(
    offset_of!(Frame, dst) == offset_of!(Frame, function) + 4
        && offset_of!(Frame, entry) == offset_of!(Frame, resume_at) + 4
        && offset_of!(Frame, atomic) == offset_of!(Frame, resume_at) + 5
        && offset_of!(Frame, known) == offset_of!(Frame, resume_at) + 6,
    "what is written as one word"
);
