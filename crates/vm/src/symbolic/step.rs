//! What each instruction does to the shadow. Called before the instruction is executed, while its operands are
//! there; loads, stores and calls of library functions are followed where they happen (see [`super::access`] and
//! [`super::calls`]), because others may run before they do.

use unravel_code::code::{BinOp, Convert, FloatKind, FloatOp, Pred};
use unravel_code::{Inst, Reg};
use unravel_trace::{BinaryOp, CompareOp, ConditionKind, ConvertOp, ExprId, Otherwise};

use super::registers::Frame;
use crate::budgets::MANY_CASES;
use crate::machine::Machine;

impl Machine {
    /// # Safety
    /// `pc` is the current thread's next instruction and saved as its position, in the frame at `fp` with memory at
    /// `base`.
    pub unsafe fn shadow_step(&mut self, pc: *const Inst, fp: *mut u64, base: u64) {
        if self.concolic.guide.is_on() {
            // SAFETY: as promised above.
            unsafe { self.guide_step(pc, fp) };
        }
        #[cfg(debug_assertions)]
        self.assert_registers_agree(pc, fp);
        // SAFETY: as promised above.
        let inst = unsafe { *pc };
        let mut frame = self.frame_at(fp);
        match inst {
            Inst::Mov { dst, src } => {
                let id = frame.get(src);
                frame.set(dst, id)
            }
            Inst::MovN { dst, src, slots } => frame.copy(dst, src, slots),
            Inst::Add32 { dst, a, b } => frame.binary(BinaryOp::Add, 32, dst, a, b),
            Inst::Add64 { dst, a, b } => frame.binary(BinaryOp::Add, 64, dst, a, b),
            Inst::Sub32 { dst, a, b } => frame.binary(BinaryOp::Sub, 32, dst, a, b),
            Inst::Sub64 { dst, a, b } => frame.binary(BinaryOp::Sub, 64, dst, a, b),
            Inst::Mul32 { dst, a, b } => frame.binary(BinaryOp::Mul, 32, dst, a, b),
            Inst::Mul64 { dst, a, b } => frame.binary(BinaryOp::Mul, 64, dst, a, b),
            Inst::And { dst, a, b } => frame.logic(BinaryOp::And, dst, a, b),
            Inst::Or { dst, a, b } => frame.logic(BinaryOp::Or, dst, a, b),
            Inst::Xor { dst, a, b } => frame.logic(BinaryOp::Xor, dst, a, b),
            Inst::Bin { op, bits, dst, a, b } | Inst::BinWide { op, bits, dst, a, b } => {
                self.shadow_binary(fp, op, bits, (dst, a, b))
            }
            Inst::Float { op, kind, dst, a, b } => match float_bits(kind) {
                Some(bits) => frame.float(op, bits, dst, a, b),
                None => self.concretise(fp, &[(a, 2), (b, 2)], (dst, 2)),
            },
            Inst::FloatNeg { kind, dst, a } => match float_bits(kind) {
                Some(bits) if frame.is_symbolic(a) => {
                    let value = frame.operand(a, bits);
                    let exprs = &mut frame.concolic.graph.exprs;
                    let sign = exprs.constant(1 << (bits - 1), bits);
                    let negated = exprs.binary(BinaryOp::Xor, value, sign);
                    frame.give(dst, negated)
                }
                Some(_) => frame.set(dst, None),
                None => self.concretise(fp, &[(a, 2)], (dst, 2)),
            },
            Inst::Eq { dst, a, b } => frame.compare(CompareOp::Eq, None, (dst, a, b), false),
            Inst::Ne { dst, a, b } => frame.compare(CompareOp::Eq, None, (dst, a, b), true),
            Inst::Ult { dst, a, b } => frame.compare(CompareOp::Ult, None, (dst, a, b), false),
            Inst::Ule { dst, a, b } => frame.compare(CompareOp::Ule, None, (dst, a, b), false),
            Inst::Slt32 { dst, a, b } => {
                frame.compare(CompareOp::Slt, Some(32), (dst, a, b), false)
            }
            Inst::Sle32 { dst, a, b } => {
                frame.compare(CompareOp::Sle, Some(32), (dst, a, b), false)
            }
            Inst::Slt64 { dst, a, b } => {
                frame.compare(CompareOp::Slt, Some(64), (dst, a, b), false)
            }
            Inst::Sle64 { dst, a, b } => {
                frame.compare(CompareOp::Sle, Some(64), (dst, a, b), false)
            }
            Inst::Cmp { pred, bits, dst, a, b } | Inst::CmpWide { pred, bits, dst, a, b } => {
                let (op, swapped, negated) = comparison(pred);
                let (a, b) = if swapped { (b, a) } else { (a, b) };
                frame.compare(op, Some(bits), (dst, a, b), negated)
            }
            Inst::FloatCmp { pred, kind, dst, a, b } => match float_bits(kind) {
                Some(bits) if frame.is_symbolic(a) || frame.is_symbolic(b) => {
                    let (x, y) = (frame.operand(a, bits), frame.operand(b, bits));
                    let result = frame.concolic.graph.exprs.float_compare(pred.0, x, y);
                    frame.give(dst, result)
                }
                Some(_) => frame.set(dst, None),
                None => self.concretise(fp, &[(a, 2), (b, 2)], (dst, 1)),
            },
            Inst::Trunc { dst, src, bits } => {
                let id = frame.is_symbolic(src).then(|| frame.operand(src, bits));
                frame.set(dst, None);
                if let Some(id) = id {
                    frame.give(dst, id);
                }
            }
            Inst::TruncWide { dst, src, bits } => {
                if frame.any(src, 2) {
                    let value = frame.wide(src, bits);
                    frame.give_wide(dst, value)
                } else {
                    frame.clear(dst, 2)
                }
            }
            Inst::Sext { dst, src, from, to } => {
                if frame.is_symbolic(src) {
                    let value = frame.operand(src, from);
                    let value = frame.concolic.graph.exprs.sign_extend(value, to);
                    frame.give(dst, value)
                } else {
                    frame.set(dst, None)
                }
            }
            Inst::ZextWide { dst, src } => {
                let id = frame.get(src);
                frame.set(dst, id);
                frame.set(dst + 1, None)
            }
            Inst::SextWide { dst, src, from, to } => {
                if frame.any(src, if from > 64 { 2 } else { 1 }) {
                    let value = frame.operand_of(src, from);
                    let value = frame.concolic.graph.exprs.sign_extend(value, to);
                    frame.give_wide(dst, value)
                } else {
                    frame.clear(dst, 2)
                }
            }
            Inst::Convert { op, from_bits, to_bits, dst, src } => {
                self.shadow_convert(fp, op, (from_bits, to_bits), dst, src)
            }

            // Loads and stores: the address now, the rest once others have had their turn.
            Inst::Load8 { ptr, .. }
            | Inst::Load16 { ptr, .. }
            | Inst::Load32 { ptr, .. }
            | Inst::Load64 { ptr, .. }
            | Inst::LoadN { ptr, .. }
            | Inst::Store8 { ptr, .. }
            | Inst::Store16 { ptr, .. }
            | Inst::Store32 { ptr, .. }
            | Inst::Store64 { ptr, .. }
            | Inst::StoreN { ptr, .. }
            | Inst::Rmw { ptr, .. }
            | Inst::CmpXchg { ptr, .. } => self.fix_address(fp, ptr),

            Inst::FrameLoad8 { dst, offset } => self.shadow_frame_load(fp, dst, base, offset, 1),
            Inst::FrameLoad16 { dst, offset } => self.shadow_frame_load(fp, dst, base, offset, 2),
            Inst::FrameLoad32 { dst, offset } => self.shadow_frame_load(fp, dst, base, offset, 4),
            Inst::FrameLoad64 { dst, offset } => self.shadow_frame_load(fp, dst, base, offset, 8),
            Inst::FrameStore8 { src, offset } => {
                self.shadow_store(fp, src, base + u64::from(offset), 1)
            }
            Inst::FrameStore16 { src, offset } => {
                self.shadow_store(fp, src, base + u64::from(offset), 2)
            }
            Inst::FrameStore32 { src, offset } => {
                self.shadow_store(fp, src, base + u64::from(offset), 4)
            }
            Inst::FrameStore64 { src, offset } => {
                self.shadow_store(fp, src, base + u64::from(offset), 8)
            }
            // These are followed after the check that they stay in the frame.
            Inst::PrivateLoad { ptr, .. } | Inst::PrivateStore { ptr, .. } => {
                self.fix_address(fp, ptr)
            }

            Inst::AddImm { dst, a, imm } => {
                if frame.is_symbolic(a) {
                    let value = frame.operand(a, 64);
                    let exprs = &mut frame.concolic.graph.exprs;
                    let imm = exprs.constant(i128::from(imm) as u128, 64);
                    let sum = exprs.binary(BinaryOp::Add, value, imm);
                    frame.give(dst, sum)
                } else {
                    frame.set(dst, None)
                }
            }
            Inst::Index32 { dst, base, index, scale } => frame.index(dst, base, index, 32, scale),
            Inst::Index64 { dst, base, index, scale } => frame.index(dst, base, index, 64, scale),
            Inst::FrameAddr { dst, .. }
            | Inst::ThreadLocal { dst, .. }
            | Inst::ExternalThreadLocal { dst, .. } => frame.set(dst, None),
            Inst::LandingPad { dst, .. } => frame.clear(dst, 2),
            Inst::Alloca { dst, count, .. } => {
                self.concretise(fp, &[(count, 1)], (dst, 1));
            }
            // Followed where it happens, after the check.
            Inst::CopyToFrame { src, .. } => self.fix_address(fp, src),

            Inst::Branch { cond, .. } => {
                frame.pass_branch();
                let bit = frame.is_symbolic(cond).then(|| frame.operand(cond, 1));
                let taken = frame.value(cond) & 1 != 0;
                let taken = self.direct(u32::from(taken), bit) != 0;
                if let Some(bit) = bit {
                    let otherwise = self.otherwise();
                    self.add_branch(bit, taken, otherwise)
                }
            }
            Inst::BranchEq { a, b, .. } => {
                self.shadow_branch(fp, CompareOp::Eq, None, a, b, |x, y| x == y)
            }
            // Goes on to the same condition the other way round.
            Inst::BranchNe { a, b, .. } => {
                self.shadow_branch(fp, CompareOp::Eq, None, a, b, |x, y| x == y)
            }
            Inst::BranchSlt32 { a, b, .. } => {
                self.shadow_branch(fp, CompareOp::Slt, Some(32), a, b, |x, y| {
                    (x as i32) < (y as i32)
                })
            }
            Inst::BranchSlt64 { a, b, .. } => {
                self.shadow_branch(fp, CompareOp::Slt, Some(64), a, b, |x, y| {
                    (x as i64) < (y as i64)
                })
            }
            Inst::BranchUlt { a, b, .. } => {
                self.shadow_branch(fp, CompareOp::Ult, None, a, b, |x, y| x < y)
            }
            Inst::Switch { value, table } => {
                frame.pass_branch();
                let (id, value) = (frame.get(value), frame.value(value));
                let switch = &self.program.switches[table as usize];
                let to = switch.cases.get(&value).copied().unwrap_or(switch.default);
                let went = self.direct(to, id);
                if let Some(id) = id {
                    self.shadow_switch(id, (value, to == went), table, went)
                }
            }
            Inst::IndirectJump { ptr } => self.fix_address(fp, ptr),

            Inst::Call { .. } | Inst::CallExternal { .. } => {}
            Inst::CallIndirect { ptr, .. } => self.fix_address(fp, ptr),
            Inst::Return { src, slots } => self.shadow_return(fp, src, slots),
            Inst::ReturnVoid => self.concolic.returned = [None; 2],

            Inst::Select { dst, cond, a, b, slots } => frame.select(dst, cond, a, b, slots),
            Inst::Extract { dst, src, offset, bytes } => {
                let value = frame.bytes(src, offset, bytes);
                frame.give_bytes(dst, &value)
            }
            Inst::Insert { dst, src, offset, bytes } => {
                let value = frame.bytes(src, 0, bytes);
                frame.insert_bytes(dst, offset, &value)
            }
            Inst::ExtractLane { dst, src, lane, bytes, lanes } => {
                self.fix_slots(fp, lane, 1, ConditionKind::Fixed);
                let mut frame = self.frame_at(fp);
                let lane = (frame.value(lane) % u64::from(lanes.max(1))) as u32;
                let value = frame.bytes(src, lane * bytes, bytes);
                frame.give_bytes(dst, &value)
            }
            Inst::InsertLane { dst, src, lane, bytes, lanes } => {
                self.fix_slots(fp, lane, 1, ConditionKind::Fixed);
                let mut frame = self.frame_at(fp);
                let lane = (frame.value(lane) % u64::from(lanes.max(1))) as u32;
                let value = frame.bytes(src, 0, bytes);
                frame.insert_bytes(dst, lane * bytes, &value)
            }

            Inst::Jump { .. }
            | Inst::Fence { .. }
            | Inst::SpinHint { .. }
            | Inst::Resume { .. }
            | Inst::Unreachable
            | Inst::Trap { .. } => {}
        }
    }

    /// Keeps operands (slot, number of slots) at their values; the result is concrete.
    fn concretise(&mut self, fp: *const u64, operands: &[(Reg, u32)], (dst, slots): (Reg, u32)) {
        for (reg, slots) in operands {
            self.fix_slots(fp, *reg, *slots, ConditionKind::Fixed);
        }
        self.frame_at(fp).clear(dst, slots);
    }

    fn shadow_binary(&mut self, fp: *const u64, op: BinOp, bits: u8, (dst, a, b): (Reg, Reg, Reg)) {
        let slots = if bits > 64 { 2 } else { 1 };
        let mut frame = self.frame_at(fp);
        if !frame.any(a, slots) && !frame.any(b, slots) {
            return frame.clear(dst, slots);
        }
        let (x, y) = (frame.operand_of(a, bits), frame.operand_of(b, bits));
        let divides = matches!(op, BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem);
        if divides && self.shadow_division(op, bits, x, y) {
            return;
        }
        let mut frame = self.frame_at(fp);
        let value = frame.concolic.graph.exprs.binary(operator(op), x, y);
        frame.give_any(dst, value);
    }

    /// A division is a branch: the processor refuses to divide by zero. True if it does here.
    fn shadow_division(&mut self, op: BinOp, bits: u8, a: ExprId, b: ExprId) -> bool {
        let graph = &mut self.concolic.graph;
        let zero = graph.equals(b, 0);
        let is_zero = graph.value(b) == 0;
        let smallest = 1u128 << (bits - 1);
        let overflows = matches!(op, BinOp::SDiv | BinOp::SRem)
            && (32..=64).contains(&bits)
            && graph.value(a) == smallest
            && graph.value(b) == unravel_trace::mask(bits);
        self.add_branch(zero, is_zero, Otherwise::Fails);
        if overflows {
            let graph = &mut self.concolic.graph;
            let (x, y) = (graph.equals(a, smallest), graph.equals(b, unravel_trace::mask(bits)));
            let both = graph.exprs.and(x, y);
            self.add_branch(both, true, Otherwise::Unknown);
        }
        is_zero || overflows
    }

    fn shadow_convert(
        &mut self,
        fp: *const u64,
        op: Convert,
        (from, to): (u8, u8),
        dst: Reg,
        src: Reg,
    ) {
        let (from_slots, to_slots) = (if from > 64 { 2 } else { 1 }, if to > 64 { 2 } else { 1 });
        let mut frame = self.frame_at(fp);
        if !frame.any(src, from_slots) {
            return frame.clear(dst, to_slots);
        }
        if from == 80 || to == 80 {
            return self.concretise(fp, &[(src, from_slots)], (dst, to_slots));
        }
        let value = frame.operand_of(src, from);
        let value = frame.concolic.graph.exprs.convert(conversion(op), value, to);
        let mut concrete = [0u64; 2];
        // SAFETY: the slots of the operand, and as many as a result can have.
        let concrete = unsafe {
            crate::arith::convert(op, from, to, concrete.as_mut_ptr(), fp.add(src as usize));
            crate::arith::wide(concrete.as_ptr(), 0)
        };
        // A number that does not fit converts to what the processor gives, which has no expression.
        if frame.concolic.graph.value(value) == concrete {
            frame.give_any(dst, value);
        } else {
            self.concretise(fp, &[(src, from_slots)], (dst, to_slots));
        }
    }

    fn shadow_branch(
        &mut self,
        fp: *const u64,
        op: CompareOp,
        bits: Option<u8>,
        a: Reg,
        b: Reg,
        holds: fn(u64, u64) -> bool,
    ) {
        let mut frame = self.frame_at(fp);
        frame.pass_branch();
        let symbolic = frame.is_symbolic(a) || frame.is_symbolic(b);
        let condition = symbolic.then(|| frame.comparison(op, bits, a, b));
        let taken = holds(frame.value(a), frame.value(b));
        let taken = self.direct(u32::from(taken), condition) != 0;
        if let Some(condition) = condition {
            let otherwise = self.otherwise();
            self.add_branch(condition, taken, otherwise);
        }
    }

    /// The value is one of those that lead where it led. `leads` says whether the concrete value is one of them; in a
    /// guided run it need not be.
    fn shadow_switch(&mut self, id: ExprId, (value, leads): (u64, bool), table: u32, to: u32) {
        let switch = &self.program.switches[table as usize];
        let by_default =
            if leads { !switch.cases.contains_key(&value) } else { switch.default == to };
        let mut cases: Vec<u64> = switch
            .cases
            .iter()
            .filter(|(_, target)| by_default || **target == to)
            .map(|(case, _)| *case)
            .collect();
        cases.sort_unstable();
        if cases.len() > MANY_CASES && leads {
            self.keep_guess(id);
            let is = self.concolic.graph.equals(id, u128::from(value));
            let otherwise = self.otherwise();
            return self.add_branch(is, true, otherwise);
        }
        let graph = &mut self.concolic.graph;
        let bits = graph.exprs.bits(id);
        let mut any = graph.exprs.constant(0, 1);
        // A case that the value is too narrow for is never taken.
        for case in cases.into_iter().filter(|c| u128::from(*c) & !unravel_trace::mask(bits) == 0) {
            let is = graph.equals(id, u128::from(case));
            any = graph.exprs.binary(BinaryOp::Or, any, is);
        }
        let otherwise = self.otherwise();
        self.add_branch(any, !by_default, otherwise);
    }

    /// The shadow says what the registers say, in debug builds.
    #[cfg(debug_assertions)]
    fn assert_registers_agree(&mut self, pc: *const Inst, fp: *const u64) {
        let function = self.threads[self.current].frames.last().expect("in a function").function;
        let slots = self.program.function(function).body.as_ref().map_or(0, |b| b.slots);
        let mut frame = self.frame_at(fp);
        for reg in 0..slots {
            if let Some(id) = frame.get(reg) {
                let value = frame.concolic.graph.value(id);
                // SAFETY: the instruction that is about to be executed.
                let next = unsafe { *pc };
                assert_eq!(value, u128::from(frame.value(reg)), "slot {reg} before {next:?}");
            }
        }
    }
}

impl Frame<'_> {
    fn binary(&mut self, op: BinaryOp, bits: u8, dst: Reg, a: Reg, b: Reg) {
        if !self.is_symbolic(a) && !self.is_symbolic(b) {
            return self.set(dst, None);
        }
        let (x, y) = (self.operand(a, bits), self.operand(b, bits));
        let value = self.concolic.graph.exprs.binary(op, x, y);
        self.give(dst, value);
    }

    /// An operation that is the same at every width.
    fn logic(&mut self, op: BinaryOp, dst: Reg, a: Reg, b: Reg) {
        if !self.is_symbolic(a) && !self.is_symbolic(b) {
            return self.set(dst, None);
        }
        let bits = self.common_width(a, b);
        self.binary(op, bits, dst, a, b);
    }

    fn float(&mut self, op: FloatOp, bits: u8, dst: Reg, a: Reg, b: Reg) {
        if !self.is_symbolic(a) && !self.is_symbolic(b) {
            return self.set(dst, None);
        }
        let (x, y) = (self.operand(a, bits), self.operand(b, bits));
        let value = self.concolic.graph.exprs.float(float_operator(op), x, y);
        self.give(dst, value);
    }

    /// A comparison of whole slots (`bits` is `None`), or of values of `bits` bits.
    fn comparison(&mut self, op: CompareOp, bits: Option<u8>, a: Reg, b: Reg) -> ExprId {
        let bits = bits.unwrap_or_else(|| self.common_width(a, b));
        let (x, y) = (self.operand_of(a, bits), self.operand_of(b, bits));
        self.concolic.graph.exprs.compare(op, x, y)
    }

    fn compare(
        &mut self,
        op: CompareOp,
        bits: Option<u8>,
        (dst, a, b): (Reg, Reg, Reg),
        negated: bool,
    ) {
        let slots = if bits.is_some_and(|bits| bits > 64) { 2 } else { 1 };
        if !self.any(a, slots) && !self.any(b, slots) {
            return self.set(dst, None);
        }
        let mut result = self.comparison(op, bits, a, b);
        if negated {
            result = self.concolic.graph.exprs.not(result);
        }
        self.give(dst, result);
    }

    fn index(&mut self, dst: Reg, base: Reg, index: Reg, bits: u8, scale: u32) {
        if !self.is_symbolic(base) && !self.is_symbolic(index) {
            return self.set(dst, None);
        }
        let (start, index) = (self.operand(base, 64), self.operand(index, bits));
        let exprs = &mut self.concolic.graph.exprs;
        let index = exprs.sign_extend(index, 64);
        let scale = exprs.constant(u128::from(scale), 64);
        let offset = exprs.binary(BinaryOp::Mul, index, scale);
        let address = exprs.binary(BinaryOp::Add, start, offset);
        self.give(dst, address);
    }

    fn select(&mut self, dst: Reg, cond: Reg, a: Reg, b: Reg, slots: u32) {
        let chosen = if self.value(cond) & 1 != 0 { a } else { b };
        if !self.is_symbolic(cond) {
            return self.copy(dst, chosen, slots);
        }
        let condition = self.operand(cond, 1);
        let values: Vec<ExprId> = (0..slots)
            .map(|i| {
                let bits = self.common_width(a + i, b + i);
                let (x, y) = (self.operand(a + i, bits), self.operand(b + i, bits));
                self.concolic.graph.exprs.ite(condition, x, y)
            })
            .collect();
        for (reg, value) in (dst..).zip(values) {
            self.give(reg, value);
        }
    }
}

fn float_bits(kind: FloatKind) -> Option<u8> {
    match kind {
        FloatKind::F32 => Some(32),
        FloatKind::F64 => Some(64),
        FloatKind::F80 => None,
    }
}

pub(super) fn operator(op: BinOp) -> BinaryOp {
    match op {
        BinOp::Add => BinaryOp::Add,
        BinOp::Sub => BinaryOp::Sub,
        BinOp::Mul => BinaryOp::Mul,
        BinOp::And => BinaryOp::And,
        BinOp::Or => BinaryOp::Or,
        BinOp::Xor => BinaryOp::Xor,
        BinOp::Shl => BinaryOp::Shl,
        BinOp::LShr => BinaryOp::LShr,
        BinOp::AShr => BinaryOp::AShr,
        BinOp::UDiv => BinaryOp::UDiv,
        BinOp::SDiv => BinaryOp::SDiv,
        BinOp::URem => BinaryOp::URem,
        BinOp::SRem => BinaryOp::SRem,
    }
}

fn float_operator(op: FloatOp) -> unravel_trace::FloatOp {
    match op {
        FloatOp::Add => unravel_trace::FloatOp::Add,
        FloatOp::Sub => unravel_trace::FloatOp::Sub,
        FloatOp::Mul => unravel_trace::FloatOp::Mul,
        FloatOp::Div => unravel_trace::FloatOp::Div,
        FloatOp::Rem => unravel_trace::FloatOp::Rem,
    }
}

fn conversion(op: Convert) -> ConvertOp {
    match op {
        Convert::FloatToSigned => ConvertOp::FloatToSigned,
        Convert::FloatToUnsigned => ConvertOp::FloatToUnsigned,
        Convert::SignedToFloat => ConvertOp::SignedToFloat,
        Convert::UnsignedToFloat => ConvertOp::UnsignedToFloat,
        Convert::FloatToFloat => ConvertOp::FloatToFloat,
    }
}

/// The comparison that a predicate is, whether its operands change places, and whether it is negated.
fn comparison(pred: Pred) -> (CompareOp, bool, bool) {
    match pred {
        Pred::Eq => (CompareOp::Eq, false, false),
        Pred::Ne => (CompareOp::Eq, false, true),
        Pred::Ult => (CompareOp::Ult, false, false),
        Pred::Ule => (CompareOp::Ule, false, false),
        Pred::Ugt => (CompareOp::Ult, true, false),
        Pred::Uge => (CompareOp::Ule, true, false),
        Pred::Slt => (CompareOp::Slt, false, false),
        Pred::Sle => (CompareOp::Sle, false, false),
        Pred::Sgt => (CompareOp::Slt, true, false),
        Pred::Sge => (CompareOp::Sle, true, false),
    }
}
