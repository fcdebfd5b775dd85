//! Floating-point numbers of 32 and 64 bits, by the same instructions of the processor that the interpreter uses, under the same
//! rounding mode.
//!
//! Left to the interpreter, because a processor may be asked in more than one way: results that are no numbers (which of
//! two payloads they have depends on the order of the operands), conversions that do not fit or are not exact.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlags, Value, types};
use unravel_code::code::{Convert, FloatKind, FloatOp, FloatPred, Reg};

use crate::translate::Translation;

/// Whether a conversion is compiled.
pub(crate) fn converts(op: Convert, from_bits: u8, to_bits: u8) -> bool {
    let is_float = |bits: u8| bits == 32 || bits == 64;
    match op {
        Convert::FloatToSigned => is_float(from_bits) && to_bits <= 64,
        // Of 64 bits, the interpreter subtracts first, which leaves traces in the processor's flags.
        Convert::FloatToUnsigned => is_float(from_bits) && to_bits <= 32,
        Convert::SignedToFloat | Convert::UnsignedToFloat => from_bits <= 64 && is_float(to_bits),
        Convert::FloatToFloat => is_float(from_bits) && is_float(to_bits) && from_bits != to_bits,
    }
}

fn kind(bits: u8) -> FloatKind {
    if bits == 32 { FloatKind::F32 } else { FloatKind::F64 }
}

impl Translation<'_> {
    /// A slot as a number. Constants are read from the frame: nothing is computed before it is executed, since the
    /// rounding mode may be another then.
    fn number(&mut self, slot: Reg, kind: FloatKind) -> Value {
        let word = match self.constant(slot) {
            Some(_) => self.get_from_frame(slot),
            None => self.get(slot),
        };
        match kind {
            FloatKind::F32 => {
                let bits = self.narrow(word, types::I32);
                self.b.ins().bitcast(types::F32, MemFlags::new(), bits)
            }
            _ => self.b.ins().bitcast(types::F64, MemFlags::new(), word),
        }
    }

    fn leave_unless_number(&mut self, value: Value) {
        let none = self.b.ins().fcmp(FloatCC::Unordered, value, value);
        self.leave_if(none);
    }

    pub fn float(&mut self, dst: Reg, op: FloatOp, kind: FloatKind, a: Reg, b: Reg) {
        let (a, b) = (self.number(a, kind), self.number(b, kind));
        let value = match op {
            FloatOp::Add => self.b.ins().fadd(a, b),
            FloatOp::Sub => self.b.ins().fsub(a, b),
            FloatOp::Mul => self.b.ins().fmul(a, b),
            _ => self.b.ins().fdiv(a, b),
        };
        self.leave_unless_number(value);
        self.set(dst, value)
    }

    /// Only the sign changes, of what is no number too.
    pub fn float_neg(&mut self, dst: Reg, kind: FloatKind, a: Reg) {
        let word = self.get(a);
        let sign = if kind == FloatKind::F32 { 1 << 31 } else { i64::MIN };
        let value = self.b.ins().bxor_imm(word, sign);
        self.set(dst, value)
    }

    pub fn float_compare(&mut self, dst: Reg, pred: FloatPred, kind: FloatKind, a: Reg, b: Reg) {
        let condition = match pred.0 & 15 {
            1 => FloatCC::Equal,
            2 => FloatCC::GreaterThan,
            3 => FloatCC::GreaterThanOrEqual,
            4 => FloatCC::LessThan,
            5 => FloatCC::LessThanOrEqual,
            6 => FloatCC::OrderedNotEqual,
            7 => FloatCC::Ordered,
            8 => FloatCC::Unordered,
            9 => FloatCC::UnorderedOrEqual,
            10 => FloatCC::UnorderedOrGreaterThan,
            11 => FloatCC::UnorderedOrGreaterThanOrEqual,
            12 => FloatCC::UnorderedOrLessThan,
            13 => FloatCC::UnorderedOrLessThanOrEqual,
            14 => FloatCC::NotEqual,
            always => {
                let value = self.word(i64::from(always == 15));
                return self.set(dst, value);
            }
        };
        let (a, b) = (self.number(a, kind), self.number(b, kind));
        let holds = self.b.ins().fcmp(condition, a, b);
        self.set(dst, holds)
    }

    pub fn convert(&mut self, dst: Reg, op: Convert, from: u8, to: u8, src: Reg) {
        let value = match op {
            Convert::FloatToSigned => self.truncated(src, from, to <= 32, to),
            Convert::FloatToUnsigned => self.truncated(src, from, to <= 16, to),
            Convert::SignedToFloat => {
                let word = self.get(src);
                let word = self.sign_extended(word, from);
                self.converted(word, true, to)
            }
            Convert::UnsignedToFloat => {
                let word = self.get(src);
                self.converted(word, false, to)
            }
            Convert::FloatToFloat => {
                let value = self.number(src, kind(from));
                self.leave_unless_number(value);
                match to {
                    64 => self.b.ins().fpromote(types::F64, value),
                    _ => self.b.ins().fdemote(types::F32, value),
                }
            }
        };
        self.set(dst, value)
    }

    /// Truncated, if it fits 32 signed bits (`small`) or 64.
    fn truncated(&mut self, src: Reg, from: u8, small: bool, to: u8) -> Value {
        let value = self.number(src, kind(from));
        let limit = if small { 2_147_483_648.0 } else { 9_223_372_036_854_775_808.0 };
        let (low, high) = match from {
            32 => (self.b.ins().f32const(-(limit as f32)), self.b.ins().f32const(limit as f32)),
            _ => (self.b.ins().f64const(-limit), self.b.ins().f64const(limit)),
        };
        let above = self.b.ins().fcmp(FloatCC::GreaterThanOrEqual, value, low);
        let below = self.b.ins().fcmp(FloatCC::LessThan, value, high);
        let fits = self.b.ins().band(above, below);
        let bad = self.is_zero(fits);
        self.leave_if(bad);
        let integer = self.b.ins().fcvt_to_sint_sat(types::I64, value);
        self.masked(integer, to)
    }

    /// An integer of so small an amount that it is exact, which no rounding mode changes.
    fn converted(&mut self, word: Value, signed: bool, to: u8) -> Value {
        let (ty, exact) = if to == 32 { (types::F32, 1i64 << 24) } else { (types::F64, 1 << 53) };
        let (moved, limit) = match signed {
            true => (self.b.ins().iadd_imm(word, exact), 2 * exact),
            false => (word, exact),
        };
        let bad = self.b.ins().icmp_imm(IntCC::UnsignedGreaterThan, moved, limit);
        self.leave_if(bad);
        self.b.ins().fcvt_from_sint(ty, word)
    }
}
