//! Calls and returns among compiled functions, as the interpreter makes them: the same frame in the same list, the same limits.
//!
//! Who calls pushes a frame, and makes a native call of the other's code. Who *leaves* there returns at once and says so, and so
//! do all who called it: the frames say where each of them was, and nothing else is needed of the native stack. So a call is not
//! made if little of that is left: it is the interpreter's then, which begins a new native stack, so to speak.
//!
//! Who was entered by the interpreter, in the middle, has nobody to return to. It jumps to the entry of its caller that the frame
//! names, if that was compiled code, and else leaves the return to the interpreter.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlags, Signature, Value, types};
use cranelift_codegen::isa::CallConv;
use unravel_code::Body;
use unravel_code::code::{CallId, FunctionId, Inst, Reg, Target};
use unravel_code::compiled::{Context, Cursor, Frame};

use crate::shape::MOST_SLOTS;
use crate::translate::{CONTEXT, PROGRAM, SLOTS, Translation};

/// The list of frames.
const FRAMES: MemFlags = CONTEXT;

/// What all compiled functions take: context, slots, frame memory, entry, steps so far, allowance. And what they return: whether
/// they have left, steps so far, allowance, and the result if it is a word ([`returns_word`]).
pub(crate) fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.extend([AbiParam::new(types::I64); 6]);
    signature.returns.extend([AbiParam::new(types::I64); 4]);
    signature
}

/// The slots that each way out of a function returns, if it is the same for all.
fn returned_slots(body: &Body) -> Option<u32> {
    let mut ways = body.code.iter().filter_map(|inst| match inst {
        Inst::Return { slots, .. } => Some(*slots),
        Inst::ReturnVoid => Some(0),
        _ => None,
    });
    let first = ways.next()?;
    ways.all(|way| way == first).then_some(first)
}

/// Whether a function always returns one word, which then is returned in a register. Others write to their caller's frame.
fn returns_word(body: &Body) -> bool {
    returned_slots(body) == Some(1)
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

    /// A function was called by compiled code, which has passed the arguments: the rest of a new frame.
    pub fn begin_frame(&mut self) {
        let body = self.body;
        for (constant, slot) in body.constants.iter().zip(body.constants_at..) {
            let word = self.word(*constant as i64);
            self.b.ins().store(SLOTS, word, self.fp, slot as i32 * 8);
        }
        if body.frame_bytes > 0 && body.frame_bytes <= crate::shape::MOST_FRESH {
            let pattern = self.field(offset_of!(Context, pattern));
            for offset in (0..body.frame_bytes).step_by(8) {
                self.b.ins().store(PROGRAM, pattern, self.base, offset as i32);
            }
        }
    }

    pub fn call(&mut self, at: Target, dst: Reg, function: FunctionId, call: CallId) {
        let program = self.program;
        let callee = program.function(function).body.as_ref().expect("a plain call");
        // Everything that may leave comes first.
        let codes = self.field(offset_of!(Context, codes));
        let code = self.b.ins().load(types::I64, CONTEXT, codes, function.0 as i32 * 8);
        let own = self.b.ins().load(types::I64, CONTEXT, codes, self.function.0 as i32 * 8);
        let unknown = self.is_zero(code);
        self.leave_if(unknown);
        let (steps, allowance) = self.counted();
        let calls = self.b.ins().ushr_imm(allowance, 32);
        let none_left = self.is_zero(calls);
        let top_at = self.field(offset_of!(Context, top));
        let top = self.b.ins().load(types::I64, CONTEXT, top_at, 0);
        let frame = self.field(offset_of!(Context, next_frame));
        let frames_end = self.field(offset_of!(Context, frames_end));
        let slots_end = self.field(offset_of!(Context, slots_end));
        let stack_end = self.field(offset_of!(Context, stack_end));
        let fp = self.b.ins().iadd_imm(self.fp, i64::from(self.body.slots) * 8);
        let room = i64::from(callee.slots) * 8 + i64::from(callee.frame_bytes);
        let slots = self.b.ins().iadd_imm(fp, room);
        let stack = self.b.ins().iadd_imm(top, room);
        let too_deep = self.b.ins().icmp(IntCC::UnsignedGreaterThan, slots, slots_end);
        let too_much = self.b.ins().icmp(IntCC::UnsignedGreaterThan, stack, stack_end);
        let too_many = self.b.ins().icmp(IntCC::Equal, frame, frames_end);
        let native = self.b.ins().get_stack_pointer(types::I64);
        let native_end = self.field(offset_of!(Context, native_end));
        let no_room = self.b.ins().icmp(IntCC::UnsignedLessThan, native, native_end);
        let bad = self.b.ins().bor(too_deep, too_much);
        let bad = self.b.ins().bor(bad, too_many);
        let bad = self.b.ins().bor(bad, no_room);
        let bad = self.b.ins().bor(bad, none_left);
        self.leave_counted_if(bad, at);

        self.write_temporaries(at + 1);
        let args = &program.call(call).args;
        for (arg, (to, slots)) in args.iter().zip(&callee.params) {
            for slot in 0..(*slots).min(arg.slots) {
                let value = self.get(arg.reg + slot);
                self.b.ins().store(SLOTS, value, fp, (to + slot) as i32 * 8);
            }
        }
        // A call through a wrong declaration may pass too little.
        let zero = self.word(0);
        for (to, slots) in callee.params.iter().skip(args.len()) {
            for slot in *to..to + slots {
                self.b.ins().store(SLOTS, zero, fp, slot as i32 * 8);
            }
        }
        let resume_at = self.shape.entry(at + 1);
        // SAFETY: behind a call comes another instruction.
        let behind = unsafe { self.body.code.as_ptr().add(at as usize + 1) };
        let numbers = self.word(i64::from(function.0) | i64::from(dst) << 32);
        let behind = self.word(behind as i64);
        let resume = if resume_at.is_some() { own } else { zero };
        // What is called from Rust or is an atomic section has another mark.
        let marks = self.word(i64::from(resume_at.unwrap_or(0)));
        for (offset, value) in [
            (offset_of!(Frame, function), numbers),
            (offset_of!(Frame, caller) + offset_of!(Cursor, pc), behind),
            (offset_of!(Frame, caller) + offset_of!(Cursor, fp), self.fp),
            (offset_of!(Frame, caller) + offset_of!(Cursor, base), self.base),
            (offset_of!(Frame, caller_top), top),
            (offset_of!(Frame, varargs), zero),
            (offset_of!(Frame, resume), resume),
            (offset_of!(Frame, resume_at), marks),
        ] {
            self.put_in_frame(frame, offset, value);
        }
        let next = self.b.ins().iadd_imm(frame, size_of::<Frame>() as i64);
        self.set_field(offset_of!(Context, next_frame), next);
        let base = self.b.ins().iadd_imm(top, 15);
        let base = self.b.ins().band_imm(base, !15);
        let new_top = self.b.ins().iadd_imm(base, i64::from(callee.frame_bytes));
        self.b.ins().store(CONTEXT, new_top, top_at, 0);
        let high = self.field(offset_of!(Context, high));
        let high = self.b.ins().umax(high, new_top);
        self.set_field(offset_of!(Context, high), high);
        let allowance = self.b.ins().iadd_imm(allowance, -(1 << 32));
        let signature = self.b.import_signature(signature());
        let arguments = [self.context, fp, base, zero, steps, allowance];
        let call = self.b.ins().call_indirect(signature, code, &arguments);
        let [left, steps, allowance, result] = self.b.inst_results(call)[..] else {
            unreachable!("four results")
        };
        let (gone, back) = (self.cold_block(), self.b.create_block());
        self.b.ins().brif(left, gone, &[], back, &[]);
        self.go_on(gone);
        self.b.ins().return_(&[left, steps, allowance, result]);
        self.go_on(back);
        self.set_field(offset_of!(Context, next_frame), frame);
        self.b.ins().store(CONTEXT, top, top_at, 0);
        self.set_counted(steps, allowance);
        match returns_word(callee) {
            true => self.set(dst, result),
            false => self.get_again(dst..dst + returned_slots(callee).unwrap_or(MOST_SLOTS)),
        }
        let behind = self.block(at + 1);
        self.b.ins().jump(behind, &[]);
    }

    pub fn return_to_caller(&mut self, result: std::ops::Range<Reg>) {
        let (called, entered) = (self.b.create_block(), self.cold_block());
        self.b.ins().brif(self.wanted, entered, &[], called, &[]);
        let next = offset_of!(Context, next_frame);

        self.go_on(entered);
        let frame = self.field(next);
        let frame = self.b.ins().iadd_imm(frame, -(size_of::<Frame>() as i64));
        let code = self.in_frame(frame, offset_of!(Frame, resume));
        let unknown = self.is_zero(code);
        self.leave_if(unknown);
        let fp = self.return_slots(frame, result.clone());
        let base = self.in_frame(frame, offset_of!(Frame, caller) + offset_of!(Cursor, base));
        let top = self.in_frame(frame, offset_of!(Frame, caller_top));
        let entry = self.b.ins().uload32(FRAMES, frame, offset_of!(Frame, resume_at) as i32);
        let top_at = self.field(offset_of!(Context, top));
        self.b.ins().store(CONTEXT, top, top_at, 0);
        self.set_field(next, frame);
        let (steps, allowance) = self.would_count();
        self.jump_to_function(code, &[self.context, fp, base, entry, steps, allowance]);

        self.go_on(called);
        let value = match returns_word(self.body) {
            true => self.get(result.start),
            false if result.is_empty() => self.word(0),
            false => {
                let frame = self.field(next);
                let frame = self.b.ins().iadd_imm(frame, -(size_of::<Frame>() as i64));
                self.return_slots(frame, result);
                self.word(0)
            }
        };
        let (steps, allowance) = self.would_count();
        let stays = self.word(0);
        self.b.ins().return_(&[stays, steps, allowance, value]);
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
        && offset_of!(Frame, atomic) == offset_of!(Frame, resume_at) + 5,
    "pairs that are written as one word"
);
