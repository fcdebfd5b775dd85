//! Instruction by instruction: the same cases as in the interpreter's loop, in the same order.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use unravel_code::code::{BinOp, Inst, Pred, Reg, Target};
use unravel_code::layout::STACK_SIZE;

use crate::library::Library;
use crate::translate::{PROGRAM, SLOTS, Translation};

/// An integer of so many bytes.
pub(crate) fn integer(bytes: u32) -> Type {
    match bytes {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}

impl Translation<'_> {
    pub fn instruction(&mut self, at: Target) {
        let inst = self.body.code[at as usize];
        if !self.shape.plain[at as usize] {
            return self.leave_now(at);
        }
        match inst {
            Inst::Mov { dst, src } => {
                let value = self.get(src);
                self.set(dst, value)
            }
            Inst::MovN { dst, src, slots } => self.copy_slots(dst, src, slots),
            Inst::Add32 { dst, a, b } => self.binary32(dst, BinOp::Add, a, b),
            Inst::Add64 { dst, a, b } => self.binary(dst, BinOp::Add, 64, a, b),
            Inst::Sub32 { dst, a, b } => self.binary32(dst, BinOp::Sub, a, b),
            Inst::Sub64 { dst, a, b } => self.binary(dst, BinOp::Sub, 64, a, b),
            Inst::Mul32 { dst, a, b } => self.binary32(dst, BinOp::Mul, a, b),
            Inst::Mul64 { dst, a, b } => self.binary(dst, BinOp::Mul, 64, a, b),
            Inst::And { dst, a, b } => self.binary(dst, BinOp::And, 64, a, b),
            Inst::Or { dst, a, b } => self.binary(dst, BinOp::Or, 64, a, b),
            Inst::Xor { dst, a, b } => self.binary(dst, BinOp::Xor, 64, a, b),
            Inst::Bin { op, bits, dst, a, b } => self.binary(dst, op, bits, a, b),
            Inst::Float { op, kind, dst, a, b } => self.float(dst, op, kind, a, b),
            Inst::FloatNeg { kind, dst, a } => self.float_neg(dst, kind, a),
            Inst::Eq { dst, a, b } => self.compared(dst, Pred::Eq, 64, a, b),
            Inst::Ne { dst, a, b } => self.compared(dst, Pred::Ne, 64, a, b),
            Inst::Ult { dst, a, b } => self.compared(dst, Pred::Ult, 64, a, b),
            Inst::Ule { dst, a, b } => self.compared(dst, Pred::Ule, 64, a, b),
            Inst::Slt32 { dst, a, b } => self.compared(dst, Pred::Slt, 32, a, b),
            Inst::Sle32 { dst, a, b } => self.compared(dst, Pred::Sle, 32, a, b),
            Inst::Slt64 { dst, a, b } => self.compared(dst, Pred::Slt, 64, a, b),
            Inst::Sle64 { dst, a, b } => self.compared(dst, Pred::Sle, 64, a, b),
            Inst::Cmp { pred, bits, dst, a, b } => self.compared(dst, pred, bits, a, b),
            Inst::FloatCmp { pred, kind, dst, a, b } => self.float_compare(dst, pred, kind, a, b),
            Inst::Trunc { dst, src, bits } => {
                let value = self.get(src);
                let value = self.masked(value, bits);
                self.set(dst, value)
            }
            Inst::Sext { dst, src, from, to } => {
                let value = self.get(src);
                let value = self.sign_extended(value, from);
                let value = self.masked(value, to);
                self.set(dst, value)
            }
            Inst::Convert { op, from_bits, to_bits, dst, src } => {
                self.convert(dst, op, from_bits, to_bits, src)
            }
            Inst::Load8 { dst, ptr, site } => self.load(dst, types::I8, ptr, site),
            Inst::Load16 { dst, ptr, site } => self.load(dst, types::I16, ptr, site),
            Inst::Load32 { dst, ptr, site } => self.load(dst, types::I32, ptr, site),
            Inst::Load64 { dst, ptr, site } => self.load(dst, types::I64, ptr, site),
            Inst::Store8 { src, ptr, site } => self.store(src, types::I8, ptr, site),
            Inst::Store16 { src, ptr, site } => self.store(src, types::I16, ptr, site),
            Inst::Store32 { src, ptr, site } => self.store(src, types::I32, ptr, site),
            Inst::Store64 { src, ptr, site } => self.store(src, types::I64, ptr, site),
            Inst::FrameLoad8 { dst, offset } => self.frame_load(dst, types::I8, offset),
            Inst::FrameLoad16 { dst, offset } => self.frame_load(dst, types::I16, offset),
            Inst::FrameLoad32 { dst, offset } => self.frame_load(dst, types::I32, offset),
            Inst::FrameLoad64 { dst, offset } => self.frame_load(dst, types::I64, offset),
            Inst::FrameStore8 { src, offset } => self.frame_store(src, types::I8, offset),
            Inst::FrameStore16 { src, offset } => self.frame_store(src, types::I16, offset),
            Inst::FrameStore32 { src, offset } => self.frame_store(src, types::I32, offset),
            Inst::FrameStore64 { src, offset } => self.frame_store(src, types::I64, offset),
            Inst::PrivateLoad { dst, ptr, bytes, .. } => {
                let address = self.get(ptr);
                self.check_private(address, bytes);
                let value = self.b.ins().load(integer(bytes), PROGRAM, address, 0);
                self.set(dst, value)
            }
            Inst::PrivateStore { src, ptr, bytes } => {
                let (address, value) = (self.get(ptr), self.get(src));
                self.check_private(address, bytes);
                let value = self.narrow(value, integer(bytes));
                self.b.ins().store(PROGRAM, value, address, 0);
            }
            Inst::AddImm { dst, a, imm } => {
                let value = self.get(a);
                let value = self.b.ins().iadd_imm(value, i64::from(imm));
                self.set(dst, value)
            }
            Inst::Index32 { dst, base, index, scale } => {
                let index = self.get32(index);
                let index = self.b.ins().sextend(types::I64, index);
                self.indexed(dst, base, index, scale)
            }
            Inst::Index64 { dst, base, index, scale } => {
                let index = self.get(index);
                self.indexed(dst, base, index, scale)
            }
            Inst::FrameAddr { dst, offset } => {
                let value = self.b.ins().iadd_imm(self.base, i64::from(offset));
                self.set(dst, value)
            }
            Inst::CopyToFrame { offset, src, bytes } => self.copy_to_frame(offset, src, bytes),
            Inst::Jump { to } => self.jump(at, to),
            Inst::Branch { cond, then, other } => {
                let holds = self.lowest_bit(cond);
                self.branch(at, holds, then, other)
            }
            Inst::BranchEq { a, b, then, other } => {
                let holds = self.compare(Pred::Eq, 64, a, b);
                self.branch(at, holds, then, other)
            }
            Inst::BranchNe { a, b, then, other } => {
                let holds = self.compare(Pred::Ne, 64, a, b);
                self.branch(at, holds, then, other)
            }
            Inst::BranchSlt32 { a, b, then, other } => {
                let holds = self.compare(Pred::Slt, 32, a, b);
                self.branch(at, holds, then, other)
            }
            Inst::BranchSlt64 { a, b, then, other } => {
                let holds = self.compare(Pred::Slt, 64, a, b);
                self.branch(at, holds, then, other)
            }
            Inst::BranchUlt { a, b, then, other } => {
                let holds = self.compare(Pred::Ult, 64, a, b);
                self.branch(at, holds, then, other)
            }
            Inst::Switch { value, table } => {
                let value = self.get(value);
                self.switch(at, value, table)
            }
            Inst::Select { dst, cond, a, b, slots: 1 } => {
                let holds = self.lowest_bit(cond);
                let (a, b) = (self.get(a), self.get(b));
                let value = self.b.ins().select(holds, a, b);
                self.set(dst, value)
            }
            Inst::Select { dst, cond, a, b, slots } => self.select_slots(dst, cond, (a, b), slots),
            Inst::Extract { dst, src, offset, bytes } => {
                let from = (src * 8 + offset) as i32;
                let value = self.b.ins().load(integer(bytes), SLOTS, self.fp, from);
                self.set(dst, value)
            }
            Inst::Insert { dst, src, offset, bytes } => {
                let value = self.get(src);
                let value = self.narrow(value, integer(bytes));
                self.b.ins().store(SLOTS, value, self.fp, (dst * 8 + offset) as i32);
            }
            Inst::Call { dst, function, call } => self.call(at, dst, function, call),
            Inst::CallExternal { dst, function, call } => {
                let library = Library::of(self.program, function, call).expect("a plain call");
                self.library(library, dst, call)
            }
            Inst::Return { src, slots } => self.return_to_caller(src..src + slots),
            Inst::ReturnVoid => self.return_to_caller(0..0),
            _ => unreachable!("no plain instruction: {inst:?}"),
        }
    }

    fn lowest_bit(&mut self, slot: Reg) -> Value {
        let value = self.get(slot);
        self.b.ins().band_imm(value, 1)
    }

    /// All are read before the first is written: they may overlap.
    fn copy_slots(&mut self, dst: Reg, src: Reg, slots: u32) {
        let values: Vec<Value> = (src..src + slots).map(|slot| self.get(slot)).collect();
        values.into_iter().zip(dst..).for_each(|(value, slot)| self.set(slot, value));
    }

    /// Words of memory, all read before the first is written.
    fn copy_to_frame(&mut self, offset: u32, src: Reg, bytes: u32) {
        let from = self.get(src);
        self.check_elsewhere(from, bytes);
        let at: Vec<i32> = (0..bytes as i32).step_by(8).collect();
        let load = |at: &i32| self.b.ins().load(types::I64, PROGRAM, from, *at);
        let values: Vec<Value> = at.iter().map(load).collect();
        for (value, at) in values.into_iter().zip(at) {
            self.b.ins().store(PROGRAM, value, self.base, offset as i32 + at);
        }
    }

    fn select_slots(&mut self, dst: Reg, cond: Reg, (a, b): (Reg, Reg), slots: u32) {
        let holds = self.lowest_bit(cond);
        let mut values = Vec::new();
        for slot in 0..slots {
            let (a, b) = (self.get(a + slot), self.get(b + slot));
            values.push(self.b.ins().select(holds, a, b));
        }
        values.into_iter().zip(dst..).for_each(|(value, slot)| self.set(slot, value));
    }

    fn indexed(&mut self, dst: Reg, base: Reg, index: Value, scale: u32) {
        let base = self.get(base);
        let offset = self.b.ins().imul_imm(index, i64::from(scale));
        let value = self.b.ins().iadd(base, offset);
        self.set(dst, value)
    }

    fn compared(&mut self, dst: Reg, pred: Pred, bits: u8, a: Reg, b: Reg) {
        let holds = self.compare(pred, bits, a, b);
        self.set(dst, holds)
    }

    fn frame_load(&mut self, dst: Reg, ty: Type, offset: u32) {
        let value = self.b.ins().load(ty, PROGRAM, self.base, offset as i32);
        self.set(dst, value)
    }

    fn frame_store(&mut self, src: Reg, ty: Type, offset: u32) {
        let value = self.get(src);
        let value = self.narrow(value, ty);
        self.b.ins().store(PROGRAM, value, self.base, offset as i32);
    }

    /// An access within the frame, or it leaves.
    fn check_private(&mut self, address: Value, bytes: u32) {
        let offset = self.b.ins().isub(address, self.base);
        if !self.shape.grows && self.body.frame_bytes >= bytes {
            let last = i64::from(self.body.frame_bytes - bytes);
            let bad = self.b.ins().icmp_imm(IntCC::UnsignedGreaterThan, offset, last);
            return self.leave_if(bad);
        }
        let top = self.top();
        let in_use = self.b.ins().isub(top, self.base);
        let end = self.b.ins().iadd_imm(offset, i64::from(bytes));
        let far = self.b.ins().icmp_imm(IntCC::UnsignedGreaterThan, offset, STACK_SIZE as i64);
        let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, in_use);
        let bad = self.b.ins().bor(far, beyond);
        self.leave_if(bad);
    }
}
