//! The slots that an instruction reads and writes.

use std::ops::Range;

use crate::code::{FloatKind, Inst, Reg, Target};
use crate::model::Program;

/// What an instruction does with slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Reads all of them.
    Read(Range<Reg>),
    /// Writes all of them, after it has read what it reads.
    Write(Range<Reg>),
    /// Reads or writes bytes of them, as if they were memory.
    Bytes(Range<Reg>),
}

fn word(slot: Reg) -> Range<Reg> {
    slot..slot + 1
}

fn slots(first: Reg, count: u32) -> Range<Reg> {
    first..first + count
}

/// Slots of a value of so many bytes, or bits.
fn of_bytes(first: Reg, bytes: u32) -> Range<Reg> {
    slots(first, bytes.div_ceil(8).max(1))
}

fn of_bits(first: Reg, bits: u8) -> Range<Reg> {
    of_bytes(first, u32::from(bits).div_ceil(8))
}

fn of_float(first: Reg, kind: FloatKind) -> Range<Reg> {
    slots(first, if kind == FloatKind::F80 { 2 } else { 1 })
}

/// The slots that hold `bytes` bytes from byte `offset` of what begins at `first`.
fn part(first: Reg, offset: u32, bytes: u32) -> Range<Reg> {
    first + offset / 8..first + (offset + bytes).div_ceil(8)
}

/// Tells each operand of an instruction.
pub fn operands(program: &Program, inst: &Inst, mut each: impl FnMut(Operand)) {
    use Inst::*;
    use Operand::{Bytes, Read, Write};
    let calls = |call: crate::CallId, dst: Reg, each: &mut dyn FnMut(Operand)| {
        let site = program.call(call);
        site.args.iter().for_each(|arg| each(Read(slots(arg.reg, arg.slots))));
        // Whatever is returned, wanted or not.
        each(Bytes(slots(dst, site.result_slots.max(1))));
    };
    match *inst {
        Mov { dst, src } | Trunc { dst, src, .. } | Sext { dst, src, .. } => {
            each(Read(word(src)));
            each(Write(word(dst)));
        }
        MovN { dst, src, slots: count } => {
            each(Bytes(slots(src, count)));
            each(Bytes(slots(dst, count)));
        }
        Add32 { dst, a, b }
        | Add64 { dst, a, b }
        | Sub32 { dst, a, b }
        | Sub64 { dst, a, b }
        | Mul32 { dst, a, b }
        | Mul64 { dst, a, b }
        | And { dst, a, b }
        | Or { dst, a, b }
        | Xor { dst, a, b }
        | Bin { dst, a, b, .. }
        | Eq { dst, a, b }
        | Ne { dst, a, b }
        | Ult { dst, a, b }
        | Ule { dst, a, b }
        | Slt32 { dst, a, b }
        | Sle32 { dst, a, b }
        | Slt64 { dst, a, b }
        | Sle64 { dst, a, b }
        | Cmp { dst, a, b, .. }
        | Index32 { dst, base: a, index: b, .. }
        | Index64 { dst, base: a, index: b, .. } => {
            each(Read(word(a)));
            each(Read(word(b)));
            each(Write(word(dst)));
        }
        BinWide { dst, a, b, .. } => {
            each(Read(slots(a, 2)));
            each(Read(slots(b, 2)));
            each(Write(slots(dst, 2)));
        }
        CmpWide { dst, a, b, .. } => {
            each(Read(slots(a, 2)));
            each(Read(slots(b, 2)));
            each(Write(word(dst)));
        }
        Float { kind, dst, a, b, .. } => {
            each(Read(of_float(a, kind)));
            each(Read(of_float(b, kind)));
            each(Write(of_float(dst, kind)));
        }
        FloatNeg { kind, dst, a } => {
            each(Read(of_float(a, kind)));
            each(Write(of_float(dst, kind)));
        }
        FloatCmp { kind, dst, a, b, .. } => {
            each(Read(of_float(a, kind)));
            each(Read(of_float(b, kind)));
            each(Write(word(dst)));
        }
        TruncWide { dst, src, .. } => {
            each(Read(slots(src, 2)));
            each(Write(slots(dst, 2)));
        }
        ZextWide { dst, src } => {
            each(Read(word(src)));
            each(Write(slots(dst, 2)));
        }
        SextWide { dst, src, from, .. } => {
            each(Read(of_bits(src, from)));
            each(Write(slots(dst, 2)));
        }
        Convert { from_bits, to_bits, dst, src, .. } => {
            each(Read(of_bits(src, from_bits)));
            each(Write(of_bits(dst, to_bits)));
        }
        Load8 { dst, ptr, .. }
        | Load16 { dst, ptr, .. }
        | Load32 { dst, ptr, .. }
        | Load64 { dst, ptr, .. } => {
            each(Read(word(ptr)));
            each(Write(word(dst)));
        }
        LoadN { dst, ptr, bytes, .. } | PrivateLoad { dst, ptr, bytes, .. } => {
            each(Read(word(ptr)));
            each(Write(of_bytes(dst, bytes)));
        }
        Store8 { src, ptr, .. }
        | Store16 { src, ptr, .. }
        | Store32 { src, ptr, .. }
        | Store64 { src, ptr, .. } => {
            each(Read(word(src)));
            each(Read(word(ptr)));
        }
        StoreN { src, ptr, bytes, .. } | PrivateStore { src, ptr, bytes } => {
            each(Read(of_bytes(src, bytes)));
            each(Read(word(ptr)));
        }
        FrameLoad8 { dst, .. }
        | FrameLoad16 { dst, .. }
        | FrameLoad32 { dst, .. }
        | FrameLoad64 { dst, .. }
        | FrameAddr { dst, .. }
        | ThreadLocal { dst, .. }
        | ExternalThreadLocal { dst, .. } => each(Write(word(dst))),
        FrameStore8 { src, .. }
        | FrameStore16 { src, .. }
        | FrameStore32 { src, .. }
        | FrameStore64 { src, .. }
        | CopyToFrame { src, .. } => each(Read(word(src))),
        AddImm { dst, a, .. } | Alloca { dst, count: a, .. } => {
            each(Read(word(a)));
            each(Write(word(dst)));
        }
        Branch { cond: a, .. } | Switch { value: a, .. } | IndirectJump { ptr: a } => {
            each(Read(word(a)))
        }
        BranchEq { a, b, .. }
        | BranchNe { a, b, .. }
        | BranchSlt32 { a, b, .. }
        | BranchSlt64 { a, b, .. }
        | BranchUlt { a, b, .. } => {
            each(Read(word(a)));
            each(Read(word(b)));
        }
        Call { dst, call, .. } | CallExternal { dst, call, .. } => calls(call, dst, &mut each),
        CallIndirect { dst, ptr, call } => {
            each(Read(word(ptr)));
            calls(call, dst, &mut each);
        }
        Return { src, slots: count } => each(Read(slots(src, count))),
        Select { dst, cond, a, b, slots: 1 } => {
            each(Read(word(cond)));
            each(Read(word(a)));
            each(Read(word(b)));
            each(Write(word(dst)));
        }
        Select { dst, cond, a, b, slots: count } => {
            each(Read(word(cond)));
            [a, b, dst].into_iter().for_each(|first| each(Bytes(slots(first, count))));
        }
        Extract { dst, src, offset, bytes } => {
            each(Bytes(part(src, offset, bytes)));
            each(Write(of_bytes(dst, bytes)));
        }
        Insert { dst, src, offset, bytes } => {
            each(Read(of_bytes(src, bytes)));
            each(Bytes(part(dst, offset, bytes)));
        }
        ExtractLane { dst, src, lane, bytes, lanes } => {
            each(Read(word(lane)));
            each(Bytes(of_bytes(src, bytes * lanes)));
            each(Write(of_bytes(dst, bytes)));
        }
        InsertLane { dst, src, lane, bytes, lanes } => {
            each(Read(word(lane)));
            each(Read(of_bytes(src, bytes)));
            each(Bytes(of_bytes(dst, bytes * lanes)));
        }
        Rmw { bits, dst, ptr, value, .. } => {
            each(Read(word(ptr)));
            each(Read(of_bits(value, bits)));
            each(Write(of_bits(dst, bits)));
        }
        CmpXchg { bits, dst, ptr, expected, new, .. } => {
            each(Read(word(ptr)));
            each(Read(of_bits(expected, bits)));
            each(Read(of_bits(new, bits)));
            // The value and, in the next byte, whether it was exchanged: nobody reads the rest.
            each(Write(of_bytes(dst, u32::from(bits) / 8 + 1)));
        }
        LandingPad { dst, .. } => each(Write(slots(dst, 2))),
        Resume { src } => each(Read(slots(src, 2))),
        Jump { .. } | ReturnVoid | Fence { .. } | SpinHint { .. } | Unreachable | Trap { .. } => {}
    }
}

/// Where a jump may go. Those of an indirect one are the function's [`crate::Body::blocks`].
pub fn targets(program: &Program, inst: &Inst) -> Vec<Target> {
    use Inst::*;
    match *inst {
        Jump { to } => vec![to],
        Branch { then, other, .. }
        | BranchEq { then, other, .. }
        | BranchNe { then, other, .. }
        | BranchSlt32 { then, other, .. }
        | BranchSlt64 { then, other, .. }
        | BranchUlt { then, other, .. } => vec![then, other],
        Switch { table, .. } => {
            let switch = &program.switches[table as usize];
            switch.cases.values().copied().chain([switch.default]).collect()
        }
        _ => Vec::new(),
    }
}
