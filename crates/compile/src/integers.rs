//! Integers, as in the interpreter's `arith.rs`: zero-extended in their slots; a shift by the width or more gives 0, or
//! the sign; a division that a processor refuses is left to the interpreter.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use unravel_code::code::{BinOp, Pred, Reg};

use crate::instructions::integer;
use crate::translate::Translation;

fn mask(bits: u8) -> u64 {
    if bits >= 64 { !0 } else { (1 << bits) - 1 }
}

impl Translation<'_> {
    /// Addition, subtraction or multiplication of 32 bits.
    pub fn binary32(&mut self, dst: Reg, op: BinOp, a: Reg, b: Reg) {
        let (a, b) = (self.get32(a), self.get32(b));
        let value = match op {
            BinOp::Add => self.b.ins().iadd(a, b),
            BinOp::Sub => self.b.ins().isub(a, b),
            _ => self.b.ins().imul(a, b),
        };
        self.set(dst, value)
    }

    pub fn binary(&mut self, dst: Reg, op: BinOp, bits: u8, a: Reg, b: Reg) {
        let known = self.constant(b);
        let (x, y) = (self.get(a), self.get(b));
        let value = match op {
            BinOp::Add => self.b.ins().iadd(x, y),
            BinOp::Sub => self.b.ins().isub(x, y),
            BinOp::Mul => self.b.ins().imul(x, y),
            BinOp::And => self.b.ins().band(x, y),
            BinOp::Or => self.b.ins().bor(x, y),
            BinOp::Xor => self.b.ins().bxor(x, y),
            BinOp::Shl | BinOp::LShr => {
                let shifted = match op {
                    BinOp::Shl => self.b.ins().ishl(x, y),
                    _ => self.b.ins().ushr(x, y),
                };
                match known.is_some_and(|by| by < u64::from(bits)) {
                    true => shifted,
                    false => {
                        let limit = i64::from(bits);
                        let too_far =
                            self.b.ins().icmp_imm(IntCC::UnsignedGreaterThanOrEqual, y, limit);
                        let zero = self.word(0);
                        self.b.ins().select(too_far, zero, shifted)
                    }
                }
            }
            BinOp::AShr => {
                let x = self.sign_extended(x, bits);
                let most = self.word(63);
                let by =
                    if known.is_some_and(|by| by < 64) { y } else { self.b.ins().umin(y, most) };
                self.b.ins().sshr(x, by)
            }
            BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem => {
                self.divide(op, bits, (x, y), known)
            }
        };
        let value = self.masked(value, bits);
        self.set(dst, value)
    }

    fn divide(&mut self, op: BinOp, bits: u8, (x, y): (Value, Value), known: Option<u64>) -> Value {
        let signed = matches!(op, BinOp::SDiv | BinOp::SRem);
        let may_not_fit = |by: u64| signed && bits >= 32 && by == mask(bits);
        if known.is_none_or(|by| by == 0) {
            let zero = self.is_zero(y);
            self.leave_if(zero);
        }
        if signed && bits >= 32 && known.is_none_or(may_not_fit) {
            let minus_one = self.b.ins().icmp_imm(IntCC::Equal, y, mask(bits) as i64);
            let least = self.b.ins().icmp_imm(IntCC::Equal, x, (1u64 << (bits - 1)) as i64);
            let does_not_fit = self.b.ins().band(minus_one, least);
            self.leave_if(does_not_fit);
        }
        // Processors divide 32 bits much faster than 64.
        let (x, y) = match (bits, signed) {
            (32, _) => (self.narrow(x, types::I32), self.narrow(y, types::I32)),
            (_, true) => (self.sign_extended(x, bits), self.sign_extended(y, bits)),
            _ => (x, y),
        };
        let value = match op {
            BinOp::UDiv => self.b.ins().udiv(x, y),
            BinOp::URem => self.b.ins().urem(x, y),
            BinOp::SDiv => self.b.ins().sdiv(x, y),
            _ => self.b.ins().srem(x, y),
        };
        if bits == 32 { self.b.ins().uextend(types::I64, value) } else { value }
    }

    pub fn compare(&mut self, pred: Pred, bits: u8, a: Reg, b: Reg) -> Value {
        let (condition, signed) = match pred {
            Pred::Eq => (IntCC::Equal, false),
            Pred::Ne => (IntCC::NotEqual, false),
            Pred::Ugt => (IntCC::UnsignedGreaterThan, false),
            Pred::Uge => (IntCC::UnsignedGreaterThanOrEqual, false),
            Pred::Ult => (IntCC::UnsignedLessThan, false),
            Pred::Ule => (IntCC::UnsignedLessThanOrEqual, false),
            Pred::Sgt => (IntCC::SignedGreaterThan, true),
            Pred::Sge => (IntCC::SignedGreaterThanOrEqual, true),
            Pred::Slt => (IntCC::SignedLessThan, true),
            Pred::Sle => (IntCC::SignedLessThanOrEqual, true),
        };
        let (x, y) = (self.get(a), self.get(b));
        let (x, y) = match (signed, bits) {
            (true, 8 | 16 | 32) => {
                let ty = integer(u32::from(bits) / 8);
                (self.narrow(x, ty), self.narrow(y, ty))
            }
            (true, _) => (self.sign_extended(x, bits), self.sign_extended(y, bits)),
            (false, _) => (x, y),
        };
        self.b.ins().icmp(condition, x, y)
    }

    pub fn sign_extended(&mut self, value: Value, bits: u8) -> Value {
        match bits {
            64.. => value,
            8 | 16 | 32 => {
                let narrow = self.narrow(value, integer(u32::from(bits) / 8));
                self.b.ins().sextend(types::I64, narrow)
            }
            _ => {
                let shift = 64 - i64::from(bits.max(1));
                let high = self.b.ins().ishl_imm(value, shift);
                self.b.ins().sshr_imm(high, shift)
            }
        }
    }

    /// The low bits of a word.
    pub fn masked(&mut self, value: Value, bits: u8) -> Value {
        match bits {
            64.. => value,
            _ => self.b.ins().band_imm(value, mask(bits) as i64),
        }
    }
}
