//! Lowering of one function body.

use std::mem;

use llvm_sys::LLVMOpcode as Op;
use rustc_hash::FxHashMap;
use unravel_code::{
    Access, AccessKind, Body, FunctionId, Inst, Reg, RelocationPlace, Target, Terminator, patch,
};
use unravel_trace::{Site, SiteId};

use super::ModuleLowering;
use super::constants::{Data, Number, Symbol};
use super::control::Stub;
use super::frame::Frame;
use super::pool::{CONSTANT, ConstantPool};
use super::types::{self, Lanes, Shape};
use crate::debug::{Named, Names, Spot};
use crate::ir::{Block, Node, Type, Value};

/// A place in the code that is not known yet: an index into [`FunctionLowering::labels`].
pub(super) type Label = u32;

/// The state of lowering one function.
pub(super) struct FunctionLowering<'l, 'm> {
    pub(super) lowering: &'l mut ModuleLowering<'m>,
    pub(super) id: FunctionId,
    pub(super) function: Value<'m>,
    pub(super) code: Vec<Inst>,
    places: Vec<SiteId>,
    /// Where each value is.
    registers: FxHashMap<Value<'m>, Reg>,
    /// Values that are another value under a different type.
    same_as: FxHashMap<Value<'m>, Value<'m>>,
    pub(super) pool: ConstantPool<'m>,
    pub(super) frame: Frame<'m>,
    pub(super) names: Names<'m>,
    /// The first slot of temporaries, those in use, and the most ever used.
    temporaries: Reg,
    used: u32,
    most_used: u32,
    /// Code index of each label: first those of the blocks, then those of stubs.
    pub(super) labels: Vec<Target>,
    pub(super) block_labels: FxHashMap<Block<'m>, Label>,
    pub(super) stubs: Vec<Stub<'m>>,
    pub(super) stub_labels: FxHashMap<(Block<'m>, Block<'m>), Label>,
    pub(super) unwind: Vec<(Target, Label)>,
    /// With labels for targets.
    pub(super) terminators: Vec<Terminator>,
    /// The landing pad that a block begins with.
    pub(super) pads: FxHashMap<Block<'m>, u32>,
    /// For the phis of blocks whose address is taken: where an indirect jump leaves their values.
    pub(super) arrivals: FxHashMap<Value<'m>, Reg>,
    /// The source location of the instruction being lowered, and its site.
    location: Option<Node<'m>>,
    pub(super) place: SiteId,
    /// The instruction being lowered.
    now: Option<Value<'m>>,
}

impl<'m> ModuleLowering<'m> {
    pub(super) fn lower_function(&mut self, function: Value<'m>) {
        let id = self.functions[&function];
        let first_call = self.program.calls.len();
        let first_switch = self.program.switches.len();
        let frame = Frame::new(self.layout, function, self.watches_locals);
        let names = self.debug.local_names(function);
        let site = self.debug.entry(function);
        let place = self.add_site(site, AccessKind::None, None);
        let mut lowering = FunctionLowering {
            lowering: self,
            id,
            function,
            code: Vec::new(),
            places: Vec::new(),
            registers: FxHashMap::default(),
            same_as: FxHashMap::default(),
            pool: ConstantPool::default(),
            frame,
            names,
            temporaries: 0,
            used: 0,
            most_used: 0,
            labels: Vec::new(),
            block_labels: FxHashMap::default(),
            stubs: Vec::new(),
            stub_labels: FxHashMap::default(),
            unwind: Vec::new(),
            terminators: Vec::new(),
            pads: FxHashMap::default(),
            arrivals: FxHashMap::default(),
            location: None,
            place,
            now: None,
        };
        let params = lowering.assign_registers();
        let blocks: Vec<Block<'m>> = function.blocks().collect();
        lowering.lower_blocks(&blocks);
        let taken: Vec<_> = blocks.iter().copied().filter(|b| b.is_address_taken()).collect();
        let arrival_labels = lowering.lower_arrivals(&taken);
        lowering.lower_stubs();
        let body = lowering.finish(params, arrival_labels, first_call, first_switch);
        self.program.functions[id.0 as usize].body = Some(body);
    }

    pub(super) fn add_site(
        &mut self,
        site: Site,
        kind: AccessKind,
        named: Option<Named>,
    ) -> SiteId {
        let id = SiteId(self.program.sites.len() as u32);
        self.program.sites.push(site);
        self.program.accesses.push(match named {
            Some(Named { text, shape, bytes }) => {
                Access { kind, path: Some(text), shape, bytes, ..Access::default() }
            }
            None => Access { kind, ..Access::default() },
        });
        id
    }
}

impl<'l, 'm> FunctionLowering<'l, 'm> {
    /// Gives every parameter and every result its slots. Returns the parameters.
    fn assign_registers(&mut self) -> Vec<(Reg, u32)> {
        let mut next: Reg = 0;
        let mut params = Vec::new();
        for param in self.function.params() {
            let slots = self.slots(param.ty());
            self.registers.insert(param, next);
            params.push((next, slots));
            next += slots;
        }
        for (label, block) in self.function.blocks().enumerate() {
            self.block_labels.insert(block, label as Label);
            self.labels.push(0);
            let taken = block.has_phis() && block.is_address_taken();
            for inst in block.instructions() {
                if let Some(same) = self.transparent(inst) {
                    self.same_as.insert(inst, same);
                    continue;
                }
                let slots = self.slots(inst.ty());
                if slots == 0 {
                    continue;
                }
                self.registers.insert(inst, next);
                next += slots;
                if taken && inst.opcode() == Some(Op::LLVMPHI) {
                    self.arrivals.insert(inst, next);
                    next += slots;
                }
            }
        }
        self.temporaries = next;
        params
    }

    /// An instruction whose result lies in slots exactly as its operand does needs no code.
    fn transparent(&self, inst: Value<'m>) -> Option<Value<'m>> {
        let opcode = inst.opcode()?;
        if inst.is_call() {
            let name = self.intrinsic(inst)?;
            return super::intrinsics::is_identity(&name).then(|| inst.operand(0));
        }
        if inst.operand_count() == 0 {
            return None;
        }
        let source = inst.operand(0);
        let (from, to) = (types::shape(source.ty()), types::shape(inst.ty()));
        let same = match opcode {
            Op::LLVMFreeze => true,
            Op::LLVMBitCast => {
                !types::is_packed(self.lowering.layout, source.ty())
                    && !types::is_packed(self.lowering.layout, inst.ty())
            }
            Op::LLVMAddrSpaceCast => from == Shape::Pointer && to == Shape::Pointer,
            Op::LLVMZExt => {
                matches!((from, to), (Shape::Int(..=64), Shape::Int(..=64)))
                    || matches!((from, to), (Shape::Int(65..), Shape::Int(65..)))
            }
            Op::LLVMIntToPtr => matches!(from, Shape::Int(..=64)) && to == Shape::Pointer,
            Op::LLVMPtrToInt => from == Shape::Pointer && to == Shape::Int(64),
            Op::LLVMGetElementPtr => {
                to == Shape::Pointer
                    && from == Shape::Pointer
                    && !self.frame.is_fixed(self.lowering.layout, inst)
                    && super::gep::constant_offset(self.lowering.layout, inst) == Some(0)
            }
            _ => false,
        };
        same.then_some(source)
    }

    fn lower_blocks(&mut self, blocks: &[Block<'m>]) {
        for (i, block) in blocks.iter().enumerate() {
            self.labels[i] = self.code.len() as Target;
            for inst in block.instructions() {
                self.used = 0;
                self.enter(inst);
                self.lower(inst, *block, blocks.get(i + 1).copied());
            }
        }
    }

    fn lower(&mut self, inst: Value<'m>, block: Block<'m>, next: Option<Block<'m>>) {
        let Some(opcode) = inst.opcode() else { return };
        if self.same_as.contains_key(&inst) {
            return;
        }
        match opcode {
            // Copied on the edges that lead to it.
            Op::LLVMPHI => {}
            Op::LLVMRet
            | Op::LLVMBr
            | Op::LLVMSwitch
            | Op::LLVMIndirectBr
            | Op::LLVMResume
            | Op::LLVMUnreachable => self.terminator(inst, opcode, block, next),
            Op::LLVMLandingPad => self.landing_pad(inst),
            Op::LLVMCall | Op::LLVMInvoke => self.call(inst, block, next),
            Op::LLVMAlloca => self.alloca(inst),
            Op::LLVMLoad | Op::LLVMStore | Op::LLVMAtomicRMW | Op::LLVMAtomicCmpXchg
                if inst.operands().any(|operand| operand.ty().is_segment_pointer()) =>
            {
                self.trap("memory behind a segment register");
            }
            Op::LLVMLoad => self.load(inst),
            Op::LLVMStore => self.store(inst),
            Op::LLVMGetElementPtr => self.address(inst),
            Op::LLVMAtomicRMW => self.atomic_rmw(inst),
            Op::LLVMAtomicCmpXchg => self.compare_exchange(inst),
            Op::LLVMFence => self.fence(inst),
            Op::LLVMVAArg => self.variadic_argument(inst),
            Op::LLVMExtractValue => self.extract_value(inst),
            Op::LLVMInsertValue => self.insert_value(inst),
            Op::LLVMExtractElement => self.extract_element(inst),
            Op::LLVMInsertElement => self.insert_element(inst),
            Op::LLVMShuffleVector => self.shuffle(inst),
            Op::LLVMSelect => self.select(inst),
            Op::LLVMCallBr => self.trap("`asm goto`"),
            Op::LLVMCatchPad
            | Op::LLVMCatchRet
            | Op::LLVMCatchSwitch
            | Op::LLVMCleanupPad
            | Op::LLVMCleanupRet => self.trap("Windows exception handling"),
            _ => self.operation(inst, opcode),
        }
    }

    fn finish(
        mut self,
        params: Vec<(Reg, u32)>,
        arrival_labels: Vec<Label>,
        first_call: usize,
        first_switch: usize,
    ) -> Body {
        let constants_at = self.temporaries + self.most_used;
        let labels = mem::take(&mut self.labels);
        let target = |label: &mut Target| *label = labels[*label as usize];
        let register = |register: &mut Reg| {
            if *register & CONSTANT != 0 {
                *register = (*register & !CONSTANT) + constants_at;
            }
        };
        for inst in &mut self.code {
            patch::targets(inst, target);
            patch::registers(inst, register);
        }
        let program = &mut self.lowering.program;
        for call in &mut program.calls[first_call..] {
            call.args.iter_mut().for_each(|arg| register(&mut arg.reg));
        }
        for switch in &mut program.switches[first_switch..] {
            switch.cases.values_mut().for_each(target);
            target(&mut switch.default);
        }
        let mut unwind = mem::take(&mut self.unwind);
        unwind.iter_mut().for_each(|(_, label)| target(label));
        let mut terminators = mem::take(&mut self.terminators);
        terminators.iter_mut().flat_map(|one| &mut one.successors).for_each(target);
        let mut blocks = arrival_labels;
        blocks.iter_mut().for_each(target);
        for (word, external, addend) in mem::take(&mut self.pool.relocations) {
            let place = RelocationPlace::Constant(self.id, word);
            self.lowering.relocate(external, place, addend);
        }
        let name = self.function.name();
        Body {
            code: self.code,
            places: self.places,
            slots: constants_at + self.pool.words.len() as u32,
            constants: self.pool.words,
            constants_at,
            frame_bytes: self.frame.bytes().next_multiple_of(16),
            params,
            unwind,
            blocks,
            terminators,
            locals: self.names.frame_locals(&self.frame.offsets()),
            atomic: name.starts_with("__VERIFIER_atomic_")
                && name != "__VERIFIER_atomic_begin"
                && name != "__VERIFIER_atomic_end",
        }
    }
}

/// What every family of instructions uses.
impl<'l, 'm> FunctionLowering<'l, 'm> {
    pub(super) fn slots(&self, ty: Type<'m>) -> u32 {
        types::slots(self.lowering.layout, ty)
    }

    pub(super) fn lanes(&self, ty: Type<'m>) -> Option<Lanes<'m>> {
        types::lanes(self.lowering.layout, ty)
    }

    /// The base name of the intrinsic that a call calls.
    pub(super) fn intrinsic(&self, call: Value<'m>) -> Option<String> {
        let callee = call.callee();
        callee.is_function().then(|| self.lowering.module.intrinsic_base_name(callee))?
    }

    /// Takes note of the source location of the next instruction.
    fn enter(&mut self, inst: Value<'m>) {
        self.now = Some(inst);
        let Some(location) = inst.debug_location() else { return };
        if self.location == Some(location) {
            return;
        }
        self.location = Some(location);
        let current = self.lowering.program.sites[self.place.index()].clone();
        let site = self.lowering.debug.site(location, &current);
        if site != current {
            self.place = self.lowering.add_site(site, AccessKind::None, None);
        }
    }

    /// A site of its own for the instruction being lowered.
    pub(super) fn site(&mut self, kind: AccessKind, named: Option<Named>) -> SiteId {
        let site = self.lowering.program.sites[self.place.index()].clone();
        let id = self.lowering.add_site(site, kind, named);
        if let (Some(marks), Some(now)) = (&mut self.lowering.marks, self.now) {
            marks.push((now, id));
        }
        id
    }

    pub(super) fn emit(&mut self, inst: Inst) {
        self.emit_at(inst, self.place);
    }

    pub(super) fn emit_at(&mut self, inst: Inst, place: SiteId) {
        self.code.push(inst);
        self.places.push(place);
    }

    pub(super) fn trap(&mut self, reason: impl Into<String>) {
        let reason = self.lowering.trap_reason(reason.into());
        self.emit(Inst::Trap { reason });
    }

    /// Slots that are free again after the current instruction.
    pub(super) fn temporary(&mut self, slots: u32) -> Reg {
        let register = self.temporaries + self.used;
        self.used += slots;
        self.most_used = self.most_used.max(self.used);
        register
    }

    /// How many temporaries are in use, to give back those that come after.
    pub(super) fn mark(&self) -> u32 {
        self.used
    }

    pub(super) fn release(&mut self, mark: u32) {
        self.used = mark;
    }

    /// Where an instruction puts its result.
    pub(super) fn result(&mut self, inst: Value<'m>) -> Reg {
        match self.registers.get(&inst) {
            Some(register) => *register,
            // A result that takes no slots.
            None => self.temporary(1),
        }
    }

    /// The slots that hold a value. May emit code to compute the address of a thread-local variable.
    pub(super) fn register(&mut self, value: Value<'m>) -> Reg {
        let mut value = value;
        // Code that is never reached may define a value by itself; hence the bound.
        for _ in 0..=self.same_as.len() {
            match self.same_as.get(&value) {
                Some(same) => value = *same,
                None => break,
            }
        }
        if let Some(register) = self.registers.get(&value) {
            return *register;
        }
        if value.is_constant() {
            return self.constant(value);
        }
        self.zero(self.slots(value.ty()).max(1))
    }

    pub(super) fn word(&mut self, word: u64) -> Reg {
        self.pool.words(&[word])
    }

    pub(super) fn zero(&mut self, slots: u32) -> Reg {
        self.pool.words(&vec![0; slots as usize])
    }

    fn constant(&mut self, value: Value<'m>) -> Reg {
        if let Some(register) = self.pool.by_value.get(&value) {
            return *register;
        }
        let slots = self.slots(value.ty()).max(1) as usize;
        if types::shape(value.ty()) == Shape::Pointer || value.is_constant_expr() {
            match self.lowering.number(value) {
                Ok(Number { symbol: Symbol::ThreadLocals, value }) => {
                    return self
                        .thread_local(|dst| Inst::ThreadLocal { dst, offset: value as u32 });
                }
                Ok(Number { symbol: Symbol::ExternalThreadLocal(external), value }) => {
                    let base = self.thread_local(|dst| Inst::ExternalThreadLocal { dst, external });
                    self.add_offset(base, base, value as i64);
                    return base;
                }
                _ => {}
            }
        }
        let mut data = Data::zeroed(slots * 8);
        if let Err(reason) = self.lowering.write_slots(value, 0, &mut data) {
            self.trap(reason);
            return self.zero(slots as u32);
        }
        let words: Vec<u64> = data.bytes.chunks_exact(8).map(little_endian).collect();
        let register = if data.relocations.is_empty() {
            self.pool.words(&words)
        } else {
            self.pool.relocated(&words, &data.relocations)
        };
        self.pool.by_value.insert(value, register);
        register
    }

    fn thread_local(&mut self, inst: impl FnOnce(Reg) -> Inst) -> Reg {
        let dst = self.temporary(1);
        self.emit(inst(dst));
        dst
    }

    pub(super) fn copy(&mut self, dst: Reg, src: Reg, slots: u32) {
        match slots {
            _ if dst == src => {}
            0 => {}
            1 => self.emit(Inst::Mov { dst, src }),
            slots => self.emit(Inst::MovN { dst, src, slots }),
        }
    }

    /// What the programmer calls the object that a pointer points to.
    pub(super) fn path(&mut self, pointer: Value<'m>, at: Value<'m>, bytes: Spot) -> Option<Named> {
        self.lowering.debug.path(&self.names, pointer, at, bytes)
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}
