//! Control flow: branches, switches, phis, exceptions.

use llvm_sys::{LLVMIntPredicate as Pred, LLVMOpcode as Op};
use rustc_hash::FxHashMap;
use unravel_code::{Clause, Inst, LandingPad, Reg, Switch, Target, Terminator, TypeInfo};
use unravel_trace::SiteId;

use super::constants::Symbol;
use super::function::{FunctionLowering, Label};
use super::types::{self, Shape};
use crate::ir::{Block, Value};

/// Code between two blocks: the copies that the phis of `to` need when control comes from `from`.
pub(super) struct Stub<'m> {
    label: Label,
    from: Block<'m>,
    to: Block<'m>,
    place: SiteId,
}

/// A copy of a value to the slots of a phi.
#[derive(Clone, Copy)]
struct Move {
    dst: Reg,
    src: Reg,
    slots: u32,
}

impl<'l, 'm> FunctionLowering<'l, 'm> {
    pub(super) fn terminator(
        &mut self,
        inst: Value<'m>,
        opcode: Op,
        block: Block<'m>,
        next: Option<Block<'m>>,
    ) {
        match opcode {
            Op::LLVMRet if inst.operand_count() == 0 => self.emit(Inst::ReturnVoid),
            Op::LLVMRet => {
                let value = inst.operand(0);
                let src = self.register(value);
                let slots = self.slots(value.ty());
                self.emit(Inst::Return { src, slots });
            }
            Op::LLVMBr => match (inst.branch_condition(), inst.successors().as_slice()) {
                (Some(condition), [then, other]) => self.branch(condition, block, *then, *other),
                (_, [to]) => self.jump(block, *to, next),
                _ => self.trap("a branch without a target"),
            },
            Op::LLVMSwitch => self.switch(inst, block),
            Op::LLVMIndirectBr => self.indirect_jump(inst, block),
            Op::LLVMResume => {
                let src = self.register(inst.operand(0));
                self.emit(Inst::Resume { src });
            }
            _ => self.emit(Inst::Unreachable),
        }
    }

    /// Goes on at `to`: with the copies for its phis, and a jump unless it comes next anyway.
    pub(super) fn jump(&mut self, from: Block<'m>, to: Block<'m>, next: Option<Block<'m>>) {
        self.phi_copies(from, to);
        if next != Some(to) {
            let to = self.block_labels[&to];
            self.emit(Inst::Jump { to });
        }
    }

    /// The label to jump to from one of several branches of `from`.
    pub(super) fn edge(&mut self, from: Block<'m>, to: Block<'m>) -> Label {
        if !to.has_phis() {
            return self.block_labels[&to];
        }
        if let Some(label) = self.stub_labels.get(&(from, to)) {
            return *label;
        }
        let label = self.new_label();
        self.stub_labels.insert((from, to), label);
        self.stubs.push(Stub { label, from, to, place: self.place });
        label
    }

    fn new_label(&mut self) -> Label {
        self.labels.push(0);
        self.labels.len() as Label - 1
    }

    pub(super) fn lower_stubs(&mut self) {
        for stub in std::mem::take(&mut self.stubs) {
            let mark = self.mark();
            self.place = stub.place;
            self.labels[stub.label as usize] = self.code.len() as Target;
            if let Some(pad) = self.pads.get(&stub.to).copied() {
                // Whoever unwinds looks for a landing pad at the target. Its result comes again in the
                // block itself: here it could overwrite what a phi still reads.
                let dst = self.temporary(2);
                self.emit(Inst::LandingPad { dst, pad });
            }
            self.phi_copies(stub.from, stub.to);
            let to = self.block_labels[&stub.to];
            self.emit(Inst::Jump { to });
            self.release(mark);
        }
    }

    /// All phis of a block take their values at once: a copy must not overwrite what another still reads.
    fn phi_copies(&mut self, from: Block<'m>, to: Block<'m>) {
        let mut moves = Vec::new();
        for phi in to.phis() {
            let Some(value) = phi.incoming_from(from) else { continue };
            let (dst, src) = (self.result(phi), self.register(value));
            let slots = self.slots(phi.ty());
            if dst != src && slots != 0 {
                moves.push(Move { dst, src, slots });
            }
        }
        self.parallel_copy(moves);
    }

    fn parallel_copy(&mut self, mut moves: Vec<Move>) {
        // How many pending copies still read a slot.
        let mut readers: FxHashMap<Reg, u32> = FxHashMap::default();
        for pending in &moves {
            *readers.entry(pending.src).or_default() += 1;
        }
        while !moves.is_empty() {
            let free = moves.iter().position(|m| readers.get(&m.dst).copied().unwrap_or(0) == 0);
            if let Some(index) = free {
                let Move { dst, src, slots } = moves.swap_remove(index);
                self.copy(dst, src, slots);
                readers.entry(src).and_modify(|count| *count -= 1);
                continue;
            }
            // Every destination is still to be read: a cycle. Save one of them to break it.
            let Move { dst, slots, .. } = moves[0];
            let saved = self.temporary(slots);
            self.copy(saved, dst, slots);
            let mut moved = 0;
            for pending in moves.iter_mut().filter(|m| m.src == dst) {
                pending.src = saved;
                moved += 1;
            }
            readers.insert(saved, moved);
            readers.insert(dst, 0);
        }
    }

    fn branch(
        &mut self,
        condition: Value<'m>,
        block: Block<'m>,
        then: Block<'m>,
        other: Block<'m>,
    ) {
        let (then, other) = (self.edge(block, then), self.edge(block, other));
        match self.fused_branch(condition, block, then, other) {
            Some(fused) => self.emit(fused),
            None => {
                let cond = self.register(condition);
                self.emit(Inst::Branch { cond, then, other });
            }
        }
        self.keep_terminator(block, vec![then, other]);
    }

    /// The instruction that was just emitted is the terminator of a block.
    fn keep_terminator(&mut self, block: Block<'m>, successors: Vec<Label>) {
        if successors.iter().all(|label| *label == successors[0]) {
            return;
        }
        let at = self.code.len() as Target - 1;
        let block = self.block_labels[&block];
        self.terminators.push(Terminator { at, block, successors: successors.into() });
    }

    /// Is a comparison made only for the branch at the end of its block? Then the branch compares.
    pub(super) fn is_fused(&self, compare: Value<'m>) -> bool {
        let mut users = compare.users();
        let (Some(branch), None) = (users.next(), users.next()) else { return false };
        branch.opcode() == Some(Op::LLVMBr)
            && branch.block() == compare.block()
            && fusible(compare).is_some()
    }

    fn fused_branch(
        &mut self,
        condition: Value<'m>,
        block: Block<'m>,
        then: Label,
        other: Label,
    ) -> Option<Inst> {
        let compares = condition.opcode() == Some(Op::LLVMICmp) && condition.block() == Some(block);
        if !compares || !self.is_fused(condition) {
            return None;
        }
        let bits = fusible(condition)?;
        let a = self.register(condition.operand(0));
        let b = self.register(condition.operand(1));
        let less = |signed: bool, a: Reg, b: Reg, then: Label, other: Label| match (signed, bits) {
            (false, _) => Inst::BranchUlt { a, b, then, other },
            (true, 32) => Inst::BranchSlt32 { a, b, then, other },
            (true, _) => Inst::BranchSlt64 { a, b, then, other },
        };
        // `a > b` is `b < a`; `a <= b` is `b < a` with the targets exchanged.
        Some(match condition.icmp_predicate() {
            Pred::LLVMIntEQ => Inst::BranchEq { a, b, then, other },
            Pred::LLVMIntNE => Inst::BranchNe { a, b, then, other },
            Pred::LLVMIntULT => less(false, a, b, then, other),
            Pred::LLVMIntUGT => less(false, b, a, then, other),
            Pred::LLVMIntULE => less(false, b, a, other, then),
            Pred::LLVMIntUGE => less(false, a, b, other, then),
            Pred::LLVMIntSLT => less(true, a, b, then, other),
            Pred::LLVMIntSGT => less(true, b, a, then, other),
            Pred::LLVMIntSLE => less(true, b, a, other, then),
            Pred::LLVMIntSGE => less(true, a, b, other, then),
        })
    }

    fn switch(&mut self, inst: Value<'m>, block: Block<'m>) {
        let scrutinee = inst.operand(0);
        let value = self.register(scrutinee);
        let successors = inst.successors();
        let Some((default, rest)) = successors.split_first() else {
            return self.trap("a switch without a target");
        };
        let default = self.edge(block, *default);
        // Operands are the value and the default, then a case and its block in turn.
        let cases = rest.iter().enumerate().map(|(i, to)| (inst.operand(2 * i as u32 + 2), *to));
        let cases: Vec<(Value<'m>, Block<'m>)> = cases.collect();
        if let Shape::Int(bits @ 65..) = types::shape(scrutinee.ty()) {
            for (case, to) in cases {
                let (case, then) = (self.register(case), self.edge(block, to));
                let dst = self.temporary(1);
                let pred = unravel_code::code::Pred::Eq;
                self.emit(Inst::CmpWide { pred, bits, dst, a: value, b: case });
                let other = self.new_label();
                self.emit(Inst::Branch { cond: dst, then, other });
                self.labels[other as usize] = self.code.len() as Target;
            }
            self.emit(Inst::Jump { to: default });
            return;
        }
        let mut targets = FxHashMap::default();
        let mut edges = vec![default];
        for (case, to) in cases {
            let to = self.edge(block, to);
            edges.push(to);
            targets.entry(case.as_u64().unwrap_or(0)).or_insert(to);
        }
        let table = self.lowering.program.switches.len() as u32;
        self.lowering.program.switches.push(Switch { cases: targets, default });
        self.emit(Inst::Switch { value, table });
        self.keep_terminator(block, edges);
    }

    /// `goto *p`. An address leads to one place whoever jumps there, so values for the phis of the
    /// targets are left in slots of their own, from where [`Self::lower_arrivals`] takes them.
    fn indirect_jump(&mut self, inst: Value<'m>, block: Block<'m>) {
        let ptr = self.register(inst.operand(0));
        let mut targets = inst.successors();
        targets.dedup();
        for phi in targets.iter().flat_map(|to| to.phis()) {
            let Some(value) = phi.incoming_from(block) else { continue };
            let Some(dst) = self.arrivals.get(&phi).copied() else { continue };
            let (src, slots) = (self.register(value), self.slots(phi.ty()));
            self.copy(dst, src, slots);
        }
        self.emit(Inst::IndirectJump { ptr });
    }

    /// The places where indirect jumps arrive, one for each block whose address is taken.
    pub(super) fn lower_arrivals(&mut self, taken: &[Block<'m>]) -> Vec<Label> {
        let mut labels = Vec::new();
        for block in taken {
            let to = self.block_labels[block];
            if !block.has_phis() {
                labels.push(to);
                continue;
            }
            let label = self.new_label();
            self.labels[label as usize] = self.code.len() as Target;
            for phi in block.phis() {
                let Some(src) = self.arrivals.get(&phi).copied() else { continue };
                let (dst, slots) = (self.result(phi), self.slots(phi.ty()));
                self.copy(dst, src, slots);
            }
            self.emit(Inst::Jump { to });
            labels.push(label);
        }
        labels
    }

    pub(super) fn landing_pad(&mut self, inst: Value<'m>) {
        let dst = self.result(inst);
        let mut clauses = Vec::new();
        for clause in inst.landing_pad_clauses() {
            // A catch names a type_info; a filter is an array of them.
            let lowered = if clause.ty().is_array() {
                let count = clause.ty().elements().map_or(0, |(_, count)| count as u32);
                let types: Option<Vec<TypeInfo>> =
                    (0..count).map(|i| self.type_info(clause.element(i)?)).collect();
                types.map(Clause::Filter)
            } else {
                self.type_info(clause).map(Clause::Catch)
            };
            match lowered {
                Some(lowered) => clauses.push(lowered),
                None => self.trap("an exception type that is not a constant address"),
            }
        }
        let pad = self.lowering.program.landing_pads.len() as u32;
        let cleanup = inst.landing_pad_is_cleanup();
        self.lowering.program.landing_pads.push(LandingPad { cleanup, clauses });
        if let Some(block) = inst.block() {
            self.pads.insert(block, pad);
        }
        self.emit(Inst::LandingPad { dst, pad });
    }

    fn type_info(&mut self, value: Value<'m>) -> Option<TypeInfo> {
        let number = self.lowering.number(value).ok()?;
        match number.symbol {
            Symbol::None if number.value == 0 => Some(TypeInfo::Any),
            Symbol::None => Some(TypeInfo::At(number.value as u64)),
            Symbol::External(external) if number.value == 0 => Some(TypeInfo::External(external)),
            _ => None,
        }
    }
}

/// The width of a comparison that a branch instruction can make itself.
fn fusible(compare: Value<'_>) -> Option<u8> {
    if compare.opcode() != Some(Op::LLVMICmp) {
        return None;
    }
    let bits = match types::shape(compare.operand(0).ty()) {
        Shape::Int(bits @ 1..=64) => bits,
        Shape::Pointer => 64,
        _ => return None,
    };
    let signed = matches!(
        compare.icmp_predicate(),
        Pred::LLVMIntSLT | Pred::LLVMIntSLE | Pred::LLVMIntSGT | Pred::LLVMIntSGE
    );
    (!signed || bits == 32 || bits == 64).then_some(bits)
}
