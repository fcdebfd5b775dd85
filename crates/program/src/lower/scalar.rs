//! Arithmetic, comparisons and conversions of numbers and pointers. [`super::vector`] applies the same to
//! each lane.

use llvm_sys::{LLVMIntPredicate, LLVMOpcode as Op};
use unravel_code::code::{BinOp, Convert, FloatOp, FloatPred, Pred};
use unravel_code::{Inst, Reg};

use super::function::FunctionLowering;
use super::memory::is_folded_index;
use super::types::{self, Shape};
use crate::ir::Value;

impl<'l, 'm> FunctionLowering<'l, 'm> {
    /// Any instruction that computes a number from numbers, on scalars or lane by lane.
    pub(super) fn operation(&mut self, inst: Value<'m>, opcode: Op) {
        let operands: Vec<Value<'m>> = inst.operands().collect();
        let Some(first) = operands.first().copied() else {
            return self.trap(format!("the instruction `{}`", name(opcode)));
        };
        if opcode == Op::LLVMICmp && self.is_fused(inst) || is_folded_index(inst) {
            return;
        }
        if opcode == Op::LLVMBitCast {
            return self.bit_cast(inst);
        }
        let result = self.result(inst);
        let registers: Vec<Reg> = operands.iter().map(|o| self.register(*o)).collect();
        let (from, to) = match (self.lanes(first.ty()), self.lanes(inst.ty())) {
            (Some(from), Some(to)) => (from, to),
            _ => {
                let shapes = (types::shape(first.ty()), types::shape(inst.ty()));
                return self.compute(inst, opcode, shapes, result, &registers);
            }
        };
        let shapes = (types::shape(from.element), types::shape(to.element));
        self.each_lane(to, result, |this, lane, dst| {
            let sources: Vec<Reg> = registers.iter().map(|r| this.lane(*r, from, lane)).collect();
            this.compute(inst, opcode, shapes, dst, &sources);
        });
    }

    /// One scalar operation. `shapes` are those of the operands and of the result.
    fn compute(
        &mut self,
        inst: Value<'m>,
        opcode: Op,
        shapes: (Shape, Shape),
        dst: Reg,
        sources: &[Reg],
    ) {
        let lowered = match (opcode, sources) {
            (Op::LLVMICmp, [a, b]) => compare(inst.icmp_predicate(), shapes.0, dst, *a, *b),
            (Op::LLVMFCmp, [a, b]) => match shapes.0 {
                Shape::Float(kind) => {
                    let pred = FloatPred(inst.fcmp_predicate() as u8);
                    Some(Inst::FloatCmp { pred, kind, dst, a: *a, b: *b })
                }
                _ => None,
            },
            (Op::LLVMFNeg, [a]) => match shapes.0 {
                Shape::Float(kind) => Some(Inst::FloatNeg { kind, dst, a: *a }),
                _ => None,
            },
            (_, [a, b]) => binary(opcode, shapes.0, dst, *a, *b),
            (_, [src]) => convert(opcode, shapes, dst, *src),
            _ => None,
        };
        match lowered {
            Some(lowered) => self.emit(lowered),
            None => self.trap(format!("{} of this type: {}", name(opcode), short(inst))),
        }
    }

    pub(super) fn select(&mut self, inst: Value<'m>) {
        let dst = self.result(inst);
        let cond = self.register(inst.operand(0));
        let a = self.register(inst.operand(1));
        let b = self.register(inst.operand(2));
        let (Some(conditions), Some(lanes)) =
            (self.lanes(inst.operand(0).ty()), self.lanes(inst.ty()))
        else {
            let slots = self.slots(inst.ty());
            return self.emit(Inst::Select { dst, cond, a, b, slots });
        };
        self.each_lane(lanes, dst, |this, lane, dst| {
            let cond = this.lane(cond, conditions, lane);
            let (a, b) = (this.lane(a, lanes, lane), this.lane(b, lanes, lane));
            let slots = this.slots(lanes.element);
            this.emit(Inst::Select { dst, cond, a, b, slots });
        });
    }

    /// `dst = a + offset`.
    pub(super) fn add_offset(&mut self, dst: Reg, a: Reg, offset: i64) {
        match i32::try_from(offset) {
            Ok(0) => self.copy(dst, a, 1),
            Ok(imm) => self.emit(Inst::AddImm { dst, a, imm }),
            Err(_) => {
                let b = self.word(offset as u64);
                self.emit(Inst::Add64 { dst, a, b });
            }
        }
    }
}

/// An integer or floating-point operation of two operands.
pub(super) fn binary(opcode: Op, shape: Shape, dst: Reg, a: Reg, b: Reg) -> Option<Inst> {
    let bits = match shape {
        Shape::Int(bits) => bits,
        Shape::Float(kind) => {
            let op = match opcode {
                Op::LLVMFAdd => FloatOp::Add,
                Op::LLVMFSub => FloatOp::Sub,
                Op::LLVMFMul => FloatOp::Mul,
                Op::LLVMFDiv => FloatOp::Div,
                Op::LLVMFRem => FloatOp::Rem,
                _ => return None,
            };
            return Some(Inst::Float { op, kind, dst, a, b });
        }
        _ => return None,
    };
    let op = match opcode {
        Op::LLVMAdd => BinOp::Add,
        Op::LLVMSub => BinOp::Sub,
        Op::LLVMMul => BinOp::Mul,
        Op::LLVMAnd => BinOp::And,
        Op::LLVMOr => BinOp::Or,
        Op::LLVMXor => BinOp::Xor,
        Op::LLVMShl => BinOp::Shl,
        Op::LLVMLShr => BinOp::LShr,
        Op::LLVMAShr => BinOp::AShr,
        Op::LLVMUDiv => BinOp::UDiv,
        Op::LLVMSDiv => BinOp::SDiv,
        Op::LLVMURem => BinOp::URem,
        Op::LLVMSRem => BinOp::SRem,
        _ => return None,
    };
    Some(match (op, bits) {
        (op, 65..) => Inst::BinWide { op, bits, dst, a, b },
        (BinOp::Add, 32) => Inst::Add32 { dst, a, b },
        (BinOp::Add, 64) => Inst::Add64 { dst, a, b },
        (BinOp::Sub, 32) => Inst::Sub32 { dst, a, b },
        (BinOp::Sub, 64) => Inst::Sub64 { dst, a, b },
        (BinOp::Mul, 32) => Inst::Mul32 { dst, a, b },
        (BinOp::Mul, 64) => Inst::Mul64 { dst, a, b },
        (BinOp::And, _) => Inst::And { dst, a, b },
        (BinOp::Or, _) => Inst::Or { dst, a, b },
        (BinOp::Xor, _) => Inst::Xor { dst, a, b },
        (op, bits) => Inst::Bin { op, bits, dst, a, b },
    })
}

/// A comparison of integers or pointers. Slots are zero-extended, so that unsigned ones of any width
/// compare whole slots.
pub(super) fn compare(
    predicate: LLVMIntPredicate,
    shape: Shape,
    dst: Reg,
    a: Reg,
    b: Reg,
) -> Option<Inst> {
    let bits = match shape {
        Shape::Int(bits) => bits,
        Shape::Pointer => 64,
        _ => return None,
    };
    let pred = match predicate {
        LLVMIntPredicate::LLVMIntEQ => Pred::Eq,
        LLVMIntPredicate::LLVMIntNE => Pred::Ne,
        LLVMIntPredicate::LLVMIntUGT => Pred::Ugt,
        LLVMIntPredicate::LLVMIntUGE => Pred::Uge,
        LLVMIntPredicate::LLVMIntULT => Pred::Ult,
        LLVMIntPredicate::LLVMIntULE => Pred::Ule,
        LLVMIntPredicate::LLVMIntSGT => Pred::Sgt,
        LLVMIntPredicate::LLVMIntSGE => Pred::Sge,
        LLVMIntPredicate::LLVMIntSLT => Pred::Slt,
        LLVMIntPredicate::LLVMIntSLE => Pred::Sle,
    };
    Some(match (pred, bits) {
        (pred, 65..) => Inst::CmpWide { pred, bits, dst, a, b },
        (Pred::Eq, _) => Inst::Eq { dst, a, b },
        (Pred::Ne, _) => Inst::Ne { dst, a, b },
        (Pred::Ult, _) => Inst::Ult { dst, a, b },
        (Pred::Ule, _) => Inst::Ule { dst, a, b },
        (Pred::Ugt, _) => Inst::Ult { dst, a: b, b: a },
        (Pred::Uge, _) => Inst::Ule { dst, a: b, b: a },
        (Pred::Slt, 32) => Inst::Slt32 { dst, a, b },
        (Pred::Sle, 32) => Inst::Sle32 { dst, a, b },
        (Pred::Sgt, 32) => Inst::Slt32 { dst, a: b, b: a },
        (Pred::Sge, 32) => Inst::Sle32 { dst, a: b, b: a },
        (Pred::Slt, 64) => Inst::Slt64 { dst, a, b },
        (Pred::Sle, 64) => Inst::Sle64 { dst, a, b },
        (Pred::Sgt, 64) => Inst::Slt64 { dst, a: b, b: a },
        (Pred::Sge, 64) => Inst::Sle64 { dst, a: b, b: a },
        (pred, bits) => Inst::Cmp { pred, bits, dst, a, b },
    })
}

/// A conversion between numbers and pointers.
fn convert(opcode: Op, shapes: (Shape, Shape), dst: Reg, src: Reg) -> Option<Inst> {
    let (from, to) = (shapes.0.bits()?, shapes.1.bits()?);
    let number = |op| Some(Inst::Convert { op, from_bits: from, to_bits: to, dst, src });
    let floats = (matches!(shapes.0, Shape::Float(_)), matches!(shapes.1, Shape::Float(_)));
    match (opcode, floats) {
        (Op::LLVMFPToSI, (true, false)) => number(Convert::FloatToSigned),
        (Op::LLVMFPToUI, (true, false)) => number(Convert::FloatToUnsigned),
        (Op::LLVMSIToFP, (false, true)) => number(Convert::SignedToFloat),
        (Op::LLVMUIToFP, (false, true)) => number(Convert::UnsignedToFloat),
        (Op::LLVMFPTrunc | Op::LLVMFPExt, (true, true)) => number(Convert::FloatToFloat),
        (Op::LLVMTrunc | Op::LLVMPtrToInt | Op::LLVMIntToPtr, (false, false)) if to < from => {
            Some(if to <= 64 {
                Inst::Trunc { dst, src, bits: to }
            } else {
                Inst::TruncWide { dst, src, bits: to }
            })
        }
        (Op::LLVMSExt, (false, false)) => Some(if to <= 64 {
            Inst::Sext { dst, src, from, to }
        } else {
            Inst::SextWide { dst, src, from, to }
        }),
        (Op::LLVMZExt | Op::LLVMPtrToInt | Op::LLVMIntToPtr, (false, false)) => {
            Some(match (from, to) {
                (..=64, ..=64) => Inst::Mov { dst, src },
                (..=64, _) => Inst::ZextWide { dst, src },
                _ => Inst::MovN { dst, src, slots: 2 },
            })
        }
        (Op::LLVMFreeze | Op::LLVMAddrSpaceCast, _) => {
            Some(Inst::MovN { dst, src, slots: if from > 64 { 2 } else { 1 } })
        }
        _ => None,
    }
}

fn name(opcode: Op) -> String {
    format!("{opcode:?}").trim_start_matches("LLVM").to_lowercase()
}

/// The beginning of an instruction's text, for a trap's reason.
pub(super) fn short(inst: Value<'_>) -> String {
    let text = inst.print();
    let text = text.trim();
    let end = text.find(", !dbg").unwrap_or(text.len());
    text[..end].chars().take(100).collect()
}
