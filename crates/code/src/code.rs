//! The dense instruction set that bitcode is lowered to.
//!
//! A frame is an array of 8-byte slots. A value occupies consecutive slots in its in-memory layout:
//! integers are zero-extended to whole slots, aggregates and vectors lie there as they would in
//! memory, `x86_fp80` takes two slots. Constants are copied into the frame on entry, so every operand is
//! a slot. Vectors are scalarised by lowering: no instruction here knows lanes.
//!
//! `undef`, `poison` and `freeze` of them are zero.

use serde::{Deserialize, Serialize};
use unravel_trace::SiteId;

/// A slot of the current frame.
pub type Reg = u32;
/// An index into [`crate::Function::code`].
pub type Target = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    LShr,
    AShr,
    UDiv,
    SDiv,
    URem,
    SRem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Pred {
    Eq,
    Ne,
    Ugt,
    Uge,
    Ult,
    Ule,
    Sgt,
    Sge,
    Slt,
    Sle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum FloatOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum FloatKind {
    F32,
    F64,
    F80,
}

/// A floating-point predicate as LLVM numbers it: bit 0 equal, bit 1 greater, bit 2 less,
/// bit 3 unordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloatPred(pub u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Convert {
    FloatToSigned,
    FloatToUnsigned,
    SignedToFloat,
    UnsignedToFloat,
    /// Between floating-point kinds.
    FloatToFloat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum RmwOp {
    Exchange,
    Add,
    Sub,
    And,
    Nand,
    Or,
    Xor,
    Max,
    Min,
    UMax,
    UMin,
    FAdd,
    FSub,
    FMax,
    FMin,
    UIncWrap,
    UDecWrap,
}

/// Index into [`crate::Program::calls`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallId(pub u32);
/// Index into [`crate::Program::functions`]; also fixes the function's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FunctionId(pub u32);

/// One instruction. `dst`, `a`, `b`, … are slots; integer results are zero-extended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Inst {
    Mov {
        dst: Reg,
        src: Reg,
    },
    /// Copies `slots` slots; source and destination may overlap.
    MovN {
        dst: Reg,
        src: Reg,
        slots: u32,
    },

    Add32 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Add64 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Sub32 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Sub64 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Mul32 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Mul64 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    And {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Or {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Xor {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    /// Any other integer operation of up to 64 bits. Division by zero is a finding.
    Bin {
        op: BinOp,
        bits: u8,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    /// Integers of 65 to 128 bits, two slots each.
    BinWide {
        op: BinOp,
        bits: u8,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Float {
        op: FloatOp,
        kind: FloatKind,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    FloatNeg {
        kind: FloatKind,
        dst: Reg,
        a: Reg,
    },

    Eq {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Ne {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Ult {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Ule {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Slt32 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Sle32 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Slt64 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Sle64 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Cmp {
        pred: Pred,
        bits: u8,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    CmpWide {
        pred: Pred,
        bits: u8,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    FloatCmp {
        pred: FloatPred,
        kind: FloatKind,
        dst: Reg,
        a: Reg,
        b: Reg,
    },

    /// Keeps the low `bits` bits (1..=64) of a value of any width.
    Trunc {
        dst: Reg,
        src: Reg,
        bits: u8,
    },
    /// Keeps the low `bits` bits (65..=128) of a two-slot value.
    TruncWide {
        dst: Reg,
        src: Reg,
        bits: u8,
    },
    Sext {
        dst: Reg,
        src: Reg,
        from: u8,
        to: u8,
    },
    /// Zero- or sign-extends from at most 64 bits (or from wide, for `SextWide`) to a two-slot integer.
    ZextWide {
        dst: Reg,
        src: Reg,
    },
    SextWide {
        dst: Reg,
        src: Reg,
        from: u8,
        to: u8,
    },
    /// `from_bits` and `to_bits` are integer widths up to 128; for a floating-point side 32, 64 or 80.
    Convert {
        op: Convert,
        from_bits: u8,
        to_bits: u8,
        dst: Reg,
        src: Reg,
    },

    /// Memory accesses that another thread may see. Each is an event if its site is visible.
    Load8 {
        dst: Reg,
        ptr: Reg,
        site: SiteId,
    },
    Load16 {
        dst: Reg,
        ptr: Reg,
        site: SiteId,
    },
    Load32 {
        dst: Reg,
        ptr: Reg,
        site: SiteId,
    },
    Load64 {
        dst: Reg,
        ptr: Reg,
        site: SiteId,
    },
    /// `bytes` bytes; if `bits` is not 0, the low `bits` of them count (odd integer widths).
    LoadN {
        dst: Reg,
        ptr: Reg,
        bytes: u32,
        bits: u8,
        site: SiteId,
    },
    Store8 {
        src: Reg,
        ptr: Reg,
        site: SiteId,
    },
    Store16 {
        src: Reg,
        ptr: Reg,
        site: SiteId,
    },
    Store32 {
        src: Reg,
        ptr: Reg,
        site: SiteId,
    },
    Store64 {
        src: Reg,
        ptr: Reg,
        site: SiteId,
    },
    StoreN {
        src: Reg,
        ptr: Reg,
        bytes: u32,
        site: SiteId,
    },

    /// Accesses to a local whose address never leaves the function, at a fixed frame offset.
    FrameLoad8 {
        dst: Reg,
        offset: u32,
    },
    FrameLoad16 {
        dst: Reg,
        offset: u32,
    },
    FrameLoad32 {
        dst: Reg,
        offset: u32,
    },
    FrameLoad64 {
        dst: Reg,
        offset: u32,
    },
    FrameStore8 {
        src: Reg,
        offset: u32,
    },
    FrameStore16 {
        src: Reg,
        offset: u32,
    },
    FrameStore32 {
        src: Reg,
        offset: u32,
    },
    FrameStore64 {
        src: Reg,
        offset: u32,
    },
    /// Accesses through a pointer that can only point into a local of this frame (an index into a
    /// private array). Checked against the frame, never an event.
    PrivateLoad {
        dst: Reg,
        ptr: Reg,
        bytes: u32,
        bits: u8,
    },
    PrivateStore {
        src: Reg,
        ptr: Reg,
        bytes: u32,
    },

    AddImm {
        dst: Reg,
        a: Reg,
        imm: i32,
    },
    /// `base + sign_extend(index) * scale`.
    Index32 {
        dst: Reg,
        base: Reg,
        index: Reg,
        scale: u32,
    },
    Index64 {
        dst: Reg,
        base: Reg,
        index: Reg,
        scale: u32,
    },

    /// Address of the local at `offset` of this frame's memory.
    FrameAddr {
        dst: Reg,
        offset: u32,
    },
    /// `alloca` whose size is known only at run time: `count` (64 bits) elements of `bytes` bytes.
    Alloca {
        dst: Reg,
        count: Reg,
        bytes: u32,
        align: u32,
    },
    /// Copies `bytes` bytes at the address in `src` into this frame's memory (a `byval` argument).
    CopyToFrame {
        offset: u32,
        src: Reg,
        bytes: u32,
    },

    Jump {
        to: Target,
    },
    Branch {
        cond: Reg,
        then: Target,
        other: Target,
    },
    BranchEq {
        a: Reg,
        b: Reg,
        then: Target,
        other: Target,
    },
    BranchNe {
        a: Reg,
        b: Reg,
        then: Target,
        other: Target,
    },
    BranchSlt32 {
        a: Reg,
        b: Reg,
        then: Target,
        other: Target,
    },
    BranchSlt64 {
        a: Reg,
        b: Reg,
        then: Target,
        other: Target,
    },
    BranchUlt {
        a: Reg,
        b: Reg,
        then: Target,
        other: Target,
    },
    /// `table` indexes [`crate::Program::switches`].
    Switch {
        value: Reg,
        table: u32,
    },
    /// Jumps to the block whose address (see [`crate::layout::BLOCKS`]) is in `ptr`.
    IndirectJump {
        ptr: Reg,
    },

    /// A call of a function with a body.
    Call {
        dst: Reg,
        function: FunctionId,
        call: CallId,
    },
    /// A call of a function without one: modelled by the VM, or native.
    CallExternal {
        dst: Reg,
        function: FunctionId,
        call: CallId,
    },
    CallIndirect {
        dst: Reg,
        ptr: Reg,
        call: CallId,
    },
    Return {
        src: Reg,
        slots: u32,
    },
    ReturnVoid,

    Select {
        dst: Reg,
        cond: Reg,
        a: Reg,
        b: Reg,
        slots: u32,
    },
    /// `bytes` bytes at byte `offset` of the aggregate in `src` (zero-extended to whole slots).
    Extract {
        dst: Reg,
        src: Reg,
        offset: u32,
        bytes: u32,
    },
    /// Overwrites `bytes` bytes at byte `offset` of the aggregate in `dst` itself.
    Insert {
        dst: Reg,
        src: Reg,
        offset: u32,
        bytes: u32,
    },
    /// The same with the lane number in a slot.
    ExtractLane {
        dst: Reg,
        src: Reg,
        lane: Reg,
        bytes: u32,
        lanes: u32,
    },
    InsertLane {
        dst: Reg,
        src: Reg,
        lane: Reg,
        bytes: u32,
        lanes: u32,
    },

    Rmw {
        op: RmwOp,
        bits: u8,
        dst: Reg,
        ptr: Reg,
        value: Reg,
        site: SiteId,
    },
    /// Result as LLVM lays out `{ iN, i1 }`. A weak one may fail although the value is the expected one.
    CmpXchg {
        bits: u8,
        weak: bool,
        dst: Reg,
        ptr: Reg,
        expected: Reg,
        new: Reg,
        site: SiteId,
    },
    Fence {
        site: SiteId,
    },
    /// `pause` and its like: a hint that this thread waits for another.
    SpinHint {
        site: SiteId,
    },

    /// Address of a thread-local variable of the program.
    ThreadLocal {
        dst: Reg,
        offset: u32,
    },
    /// Address of a thread-local variable of a native library; indexes [`crate::Program::external_data`].
    ExternalThreadLocal {
        dst: Reg,
        external: u32,
    },

    /// Receives an exception; `pad` indexes [`crate::Program::landing_pads`]. Result `{ ptr, i32 }`.
    LandingPad {
        dst: Reg,
        pad: u32,
    },
    Resume {
        src: Reg,
    },
    Unreachable,
    /// Something the VM does not do; indexes [`crate::Program::traps`]. Trapped when executed, not
    /// when loaded.
    Trap {
        reason: u32,
    },
}

impl Inst {
    /// Whether the instruction behind this one may come next.
    pub fn falls_through(&self) -> bool {
        use Inst::*;
        !matches!(
            self,
            Jump { .. }
                | Branch { .. }
                | BranchEq { .. }
                | BranchNe { .. }
                | BranchSlt32 { .. }
                | BranchSlt64 { .. }
                | BranchUlt { .. }
                | Switch { .. }
                | IndirectJump { .. }
                | Return { .. }
                | ReturnVoid
                | Resume { .. }
                | Unreachable
                | Trap { .. }
        )
    }
}
