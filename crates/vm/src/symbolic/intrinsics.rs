//! Intrinsics that have an expression. The others keep their arguments.

use unravel_code::CallSite;
use unravel_trace::{BinaryOp, CompareOp, ExprId};

use super::Byte;
use crate::machine::Machine;
use crate::models::bits_of;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Intrinsic {
    /// Returns its first argument.
    Same,
    /// One of two integers: the first if it compares so with the second.
    Pick(CompareOp, Swap),
    Absolute,
    FloatAbsolute,
    SwapBytes,
    /// An operation, and whether its result does not fit.
    Overflow(BinaryOp, Signed),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Swap {
    No,
    Yes,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Signed {
    No,
    Yes,
}

impl Intrinsic {
    pub fn named(name: &str) -> Option<Intrinsic> {
        use Intrinsic::*;
        Some(match name {
            "llvm.expect"
            | "llvm.expect.with.probability"
            | "llvm.launder.invariant.group"
            | "llvm.strip.invariant.group"
            | "llvm.ptr.annotation"
            | "llvm.annotation" => Same,
            "llvm.smin" => Pick(CompareOp::Slt, Swap::No),
            "llvm.smax" => Pick(CompareOp::Slt, Swap::Yes),
            "llvm.umin" => Pick(CompareOp::Ult, Swap::No),
            "llvm.umax" => Pick(CompareOp::Ult, Swap::Yes),
            "llvm.abs" => Absolute,
            "llvm.fabs" => FloatAbsolute,
            "llvm.bswap" => SwapBytes,
            "llvm.sadd.with.overflow" => Overflow(BinaryOp::Add, Signed::Yes),
            "llvm.uadd.with.overflow" => Overflow(BinaryOp::Add, Signed::No),
            "llvm.ssub.with.overflow" => Overflow(BinaryOp::Sub, Signed::Yes),
            "llvm.usub.with.overflow" => Overflow(BinaryOp::Sub, Signed::No),
            "llvm.smul.with.overflow" => Overflow(BinaryOp::Mul, Signed::Yes),
            "llvm.umul.with.overflow" => Overflow(BinaryOp::Mul, Signed::No),
            _ => return None,
        })
    }
}

impl Machine {
    /// The bytes of the result; `None` if it has no expression. Without symbolic arguments all are known, and
    /// then it is nobody's business.
    pub(super) fn shadow_intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        site: &CallSite,
        fp: *const u64,
    ) -> Option<Vec<Byte>> {
        let mut frame = self.frame_at(fp);
        let operands =
            if matches!(intrinsic, Intrinsic::Pick(..) | Intrinsic::Overflow(..)) { 2 } else { 1 };
        let args = site.args.get(..operands)?;
        if !args.iter().any(|arg| frame.any(arg.reg, arg.slots)) {
            return Some(Vec::new());
        }
        let first = &args[0];
        if intrinsic == Intrinsic::Same {
            return Some(frame.bytes(first.reg, 0, 8 * first.slots));
        }
        let bits = bits_of(&first.abi);
        let values: Vec<ExprId> = args.iter().map(|arg| frame.operand_of(arg.reg, bits)).collect();
        let graph = &mut frame.concolic.graph;
        let exprs = &mut graph.exprs;
        let x = values[0];
        let result = match intrinsic {
            Intrinsic::Same => unreachable!("handled above"),
            Intrinsic::Pick(compare, swap) => {
                let y = values[1];
                let (a, b) = if swap == Swap::Yes { (y, x) } else { (x, y) };
                let first = exprs.compare(compare, a, b);
                exprs.ite(first, x, y)
            }
            Intrinsic::Absolute => {
                let zero = exprs.constant(0, bits);
                let negative = exprs.compare(CompareOp::Slt, x, zero);
                let negated = exprs.binary(BinaryOp::Sub, zero, x);
                exprs.ite(negative, negated, x)
            }
            Intrinsic::FloatAbsolute if bits != 80 => {
                let all_but_sign = exprs.constant(unravel_trace::mask(bits - 1), bits);
                exprs.binary(BinaryOp::And, x, all_but_sign)
            }
            Intrinsic::FloatAbsolute => return None,
            Intrinsic::SwapBytes if bits.is_multiple_of(8) => {
                let mut bytes = graph.bytes(x, usize::from(bits) / 8);
                bytes.reverse();
                graph.value_of(&bytes)
            }
            Intrinsic::SwapBytes => return None,
            Intrinsic::Overflow(op, signed) => {
                return self.shadow_overflow(op, signed, bits, x, values[1]);
            }
        };
        let slots = if bits > 64 { 16 } else { 8 };
        Some(self.concolic.graph.padded(result, slots))
    }

    /// The result `{ iN, i1 }` as it lies in memory: computed at twice the width, it fits or does not.
    fn shadow_overflow(
        &mut self,
        op: BinaryOp,
        signed: Signed,
        bits: u8,
        x: ExprId,
        y: ExprId,
    ) -> Option<Vec<Byte>> {
        if bits > 64 {
            return None;
        }
        let graph = &mut self.concolic.graph;
        let exprs = &mut graph.exprs;
        let value = exprs.binary(op, x, y);
        let mut twice = |of| match signed {
            Signed::Yes => exprs.sign_extend(of, 2 * bits),
            Signed::No => exprs.zero_extend(of, 2 * bits),
        };
        let (x, y, fitting) = (twice(x), twice(y), twice(value));
        let exact = exprs.binary(op, x, y);
        let fits = exprs.compare(CompareOp::Eq, exact, fitting);
        let overflows = exprs.not(fits);
        let storage = match bits {
            0..=8 => 1,
            9..=16 => 2,
            17..=32 => 4,
            _ => 8,
        };
        let mut bytes = graph.padded(value, storage);
        bytes.extend(graph.padded(overflows, 1));
        bytes.resize(if storage == 8 { 16 } else { 8 }, Byte::Known(0));
        Some(bytes)
    }
}

impl super::graph::Graph {
    /// The bytes of a value in a place of `count` bytes, zero-extended.
    fn padded(&mut self, of: ExprId, count: usize) -> Vec<Byte> {
        let width = usize::from(self.exprs.bits(of));
        let mut bytes = self.bytes(of, width.div_ceil(8).min(count));
        bytes.resize(count, Byte::Known(0));
        bytes
    }
}
