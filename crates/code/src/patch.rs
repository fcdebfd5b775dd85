//! Visits the registers and jump targets of an instruction, to replace what was not known when it was
//! emitted.

use crate::{Inst, Reg, Target};

/// Applies `change` to every jump target.
pub fn targets(inst: &mut Inst, mut change: impl FnMut(&mut Target)) {
    match inst {
        Inst::Jump { to } => change(to),
        Inst::Branch { then, other, .. }
        | Inst::BranchEq { then, other, .. }
        | Inst::BranchNe { then, other, .. }
        | Inst::BranchSlt32 { then, other, .. }
        | Inst::BranchSlt64 { then, other, .. }
        | Inst::BranchUlt { then, other, .. } => {
            change(then);
            change(other);
        }
        _ => {}
    }
}

/// Applies `change` to every register that an instruction names, read or written. Those of a call's
/// arguments are in its [`crate::CallSite`].
pub fn registers(inst: &mut Inst, change: impl Fn(&mut Reg)) {
    use Inst::*;
    match inst {
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
        | BinWide { dst, a, b, .. }
        | Float { dst, a, b, .. }
        | Eq { dst, a, b }
        | Ne { dst, a, b }
        | Ult { dst, a, b }
        | Ule { dst, a, b }
        | Slt32 { dst, a, b }
        | Sle32 { dst, a, b }
        | Slt64 { dst, a, b }
        | Sle64 { dst, a, b }
        | Cmp { dst, a, b, .. }
        | CmpWide { dst, a, b, .. }
        | FloatCmp { dst, a, b, .. }
        | Index32 { dst, base: a, index: b, .. }
        | Index64 { dst, base: a, index: b, .. }
        | ExtractLane { dst, src: a, lane: b, .. }
        | InsertLane { dst, src: a, lane: b, .. }
        | Rmw { dst, ptr: a, value: b, .. } => [dst, a, b].into_iter().for_each(change),
        Mov { dst, src: a }
        | MovN { dst, src: a, .. }
        | FloatNeg { dst, a, .. }
        | Trunc { dst, src: a, .. }
        | TruncWide { dst, src: a, .. }
        | Sext { dst, src: a, .. }
        | ZextWide { dst, src: a }
        | SextWide { dst, src: a, .. }
        | Convert { dst, src: a, .. }
        | Load8 { dst, ptr: a, .. }
        | Load16 { dst, ptr: a, .. }
        | Load32 { dst, ptr: a, .. }
        | Load64 { dst, ptr: a, .. }
        | LoadN { dst, ptr: a, .. }
        | Store8 { src: dst, ptr: a, .. }
        | Store16 { src: dst, ptr: a, .. }
        | Store32 { src: dst, ptr: a, .. }
        | Store64 { src: dst, ptr: a, .. }
        | StoreN { src: dst, ptr: a, .. }
        | PrivateLoad { dst, ptr: a, .. }
        | PrivateStore { src: dst, ptr: a, .. }
        | AddImm { dst, a, .. }
        | Alloca { dst, count: a, .. }
        | BranchEq { a: dst, b: a, .. }
        | BranchNe { a: dst, b: a, .. }
        | BranchSlt32 { a: dst, b: a, .. }
        | BranchSlt64 { a: dst, b: a, .. }
        | BranchUlt { a: dst, b: a, .. }
        | CallIndirect { dst, ptr: a, .. }
        | Extract { dst, src: a, .. }
        | Insert { dst, src: a, .. } => [dst, a].into_iter().for_each(change),
        FrameLoad8 { dst: a, .. }
        | FrameLoad16 { dst: a, .. }
        | FrameLoad32 { dst: a, .. }
        | FrameLoad64 { dst: a, .. }
        | FrameStore8 { src: a, .. }
        | FrameStore16 { src: a, .. }
        | FrameStore32 { src: a, .. }
        | FrameStore64 { src: a, .. }
        | FrameAddr { dst: a, .. }
        | CopyToFrame { src: a, .. }
        | Branch { cond: a, .. }
        | Switch { value: a, .. }
        | IndirectJump { ptr: a }
        | Call { dst: a, .. }
        | CallExternal { dst: a, .. }
        | Return { src: a, .. }
        | ThreadLocal { dst: a, .. }
        | ExternalThreadLocal { dst: a, .. }
        | LandingPad { dst: a, .. }
        | Resume { src: a } => change(a),
        Select { dst, cond, a, b, .. } => [dst, cond, a, b].into_iter().for_each(change),
        CmpXchg { dst, ptr, expected, new, .. } => {
            [dst, ptr, expected, new].into_iter().for_each(change);
        }
        Jump { .. } | ReturnVoid | Fence { .. } | SpinHint { .. } | Unreachable | Trap { .. } => {}
    }
}
