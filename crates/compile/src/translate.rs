//! Blocks, entries, exits and jumps; how slots are read and written.
//!
//! A slot is a variable, which Cranelift keeps in a register where it can, *and* its place in the frame, which every write goes
//! to, unless it is a temporary ([`unravel_code::temporaries`]). Who leaves therefore has nothing to save but those of them that
//! will be read, its position, and what it has counted.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, AliasRegion, Block, BlockCall, Function, InstBuilder, JumpTableData, MemFlags,
    SigRef, Signature, TrapCode, Type, UserFuncName, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch, Variable};
use unravel_code::code::{Reg, Target};
use unravel_code::compiled::{Callbacks, Context};
use unravel_code::{Body, Program};

use crate::shape::Shape;

/// The frame's slots.
pub(crate) const SLOTS: MemFlags = MemFlags::trusted().with_alias_region(Some(AliasRegion::Vmctx));
/// The context and what it points to, which compiled code does not write but when it leaves.
pub(crate) const CONTEXT: MemFlags =
    MemFlags::trusted().with_alias_region(Some(AliasRegion::Table));
/// Those fields that stay the same while a function runs.
pub(crate) const FIXED: MemFlags = CONTEXT.with_readonly().with_can_move();
/// Memory of the program, aligned or not.
pub(crate) const PROGRAM: MemFlags =
    MemFlags::new().with_notrap().with_alias_region(Some(AliasRegion::Heap));

pub(crate) struct Translation<'a> {
    pub program: &'a Program,
    pub body: &'a Body,
    pub shape: &'a Shape,
    pub callbacks: Callbacks,
    pub signatures: Vec<(usize, SigRef)>,
    pub b: FunctionBuilder<'a>,
    /// The context where it is used often; who makes a call knows its address.
    pub context: Value,
    pub fp: Value,
    pub base: Value,
    /// The number of the entry; 0 if compiled code has called and waits.
    pub wanted: Value,
    /// By instruction.
    blocks: Vec<Option<Block>>,
    /// Stores what was counted and leaves. Parameters: where, steps, allowance.
    exit: Block,
    /// Lists the frame of a call that was left behind, if there are calls.
    pub list: Option<Block>,
    /// Where the present instruction leaves, if it may.
    leave: Option<Block>,
    /// What this function has executed since it was called or entered.
    pub steps: Variable,
    /// As in the context.
    allowance: Variable,
    /// Where the present block begins.
    since: Target,
    /// Instructions of this block that are not yet in `steps`, without the present one.
    uncounted: i64,
    /// Addresses of which the present block knows that so many bytes may be accessed: it gives back no memory.
    pub checked: Vec<(Value, u32)>,
}

/// The way from Rust into compiled functions ([`unravel_code::compiled::Entrance`]), which have a calling convention of their own.
pub(crate) fn entrance(builder: &mut FunctionBuilderContext, callbacks: Callbacks) -> Function {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.extend([AbiParam::new(types::I64); 4]);
    let mut function = Function::with_name_signature(UserFuncName::user(1, 0), signature);
    let mut b = FunctionBuilder::new(&mut function, builder);
    let start = b.create_block();
    b.append_block_params_for_function_params(start);
    b.switch_to_block(start);
    b.seal_block(start);
    let [fp, base, entry, code] = b.block_params(start)[..] else {
        unreachable!("four parameters")
    };
    let zero = b.ins().iconst(types::I64, 0);
    let context = b.ins().iconst(types::I64, callbacks.context as i64);
    let allowance =
        b.ins().load(types::I64, CONTEXT, context, offset_of!(Context, allowance) as i32);
    let signature = b.import_signature(crate::calls::signature());
    b.ins().call_indirect(signature, code, &[fp, base, entry, allowance, zero, zero]);
    b.ins().return_(&[]);
    b.finalize();
    function
}

/// Stands in for functions that are not compiled.
pub(crate) fn absent(builder: &mut FunctionBuilderContext) -> Function {
    let name = UserFuncName::user(1, 1);
    let mut function = Function::with_name_signature(name, crate::calls::signature());
    let mut b = FunctionBuilder::new(&mut function, builder);
    let start = b.create_block();
    b.append_block_params_for_function_params(start);
    b.switch_to_block(start);
    b.seal_block(start);
    let (zero, absent) = (b.ins().iconst(types::I64, 0), b.ins().iconst(types::I64, 1));
    b.ins().return_(&[zero, zero, absent, zero]);
    b.finalize();
    function
}

impl<'a> Translation<'a> {
    pub fn new(
        program: &'a Program,
        body: &'a Body,
        shape: &'a Shape,
        callbacks: Callbacks,
        func: &'a mut Function,
        builder: &'a mut FunctionBuilderContext,
    ) -> Translation<'a> {
        let mut b = FunctionBuilder::new(func, builder);
        let start = b.create_block();
        b.append_block_params_for_function_params(start);
        b.switch_to_block(start);
        b.seal_block(start);
        let [fp, base, wanted, ..] = b.block_params(start)[..] else {
            unreachable!("six parameters")
        };
        for slot in 0..body.slots {
            b.declare_var(Variable::from_u32(slot), types::I64);
        }
        let [steps, allowance] = [body.slots, body.slots + 1].map(Variable::from_u32);
        b.declare_var(steps, types::I64);
        b.declare_var(allowance, types::I64);
        let blocks = shape.leads.iter().map(|leads| leads.then(|| b.create_block())).collect();
        let exit = b.create_block();
        let itself = b.ins().iconst(types::I64, callbacks.context as i64);
        let context = b.ins().load(types::I64, FIXED, itself, offset_of!(Context, itself) as i32);
        Translation {
            program,
            body,
            shape,
            callbacks,
            signatures: Vec::new(),
            b,
            context,
            fp,
            base,
            wanted,
            blocks,
            exit,
            list: None,
            leave: None,
            steps,
            allowance,
            since: 0,
            uncounted: 0,
            checked: Vec::new(),
        }
    }

    pub fn run(mut self) {
        self.enter();
        let mut open = false;
        for at in 0..self.body.code.len() {
            if let Some(block) = self.blocks[at] {
                if open {
                    self.count();
                    self.b.ins().jump(block, &[]);
                }
                self.b.switch_to_block(block);
                (self.since, self.uncounted) = (at as Target, 0);
                self.checked.clear();
                open = true;
            }
            if open {
                self.instruction(at as Target);
                self.finish_leaving(at as Target);
                self.uncounted += 1;
                open = !self.shape.ends_block(self.body, at);
            }
        }
        self.exit();
        self.list();
        self.b.seal_all_blocks();
        self.b.finalize();
    }

    /// To the entry that is asked for, where what is live is read from the frame.
    fn enter(&mut self) {
        let start = self.b.current_block().expect("begun");
        let [.., allowance, first, second] = self.b.block_params(start)[..] else {
            unreachable!("six parameters")
        };
        let wanted = self.wanted;
        let none = self.word(0);
        self.set_counted(none, allowance);
        let (called, resumed) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(wanted, resumed, &[], called, &[]);
        self.go_on(called);
        let given = self.begin_frame([first, second]);
        self.enter_before(0, &given);

        self.go_on(resumed);
        let entries: Vec<Block> =
            self.shape.entries.iter().map(|_| self.b.create_block()).collect();
        // Nobody asks for others.
        let nowhere = self.b.create_block();
        let pool = &mut self.b.func.dfg.value_lists;
        let call = |block: Block, pool: &mut _| BlockCall::new(block, std::iter::empty(), pool);
        let default = call(nowhere, pool);
        let calls: Vec<_> = entries.iter().map(|block| call(*block, pool)).collect();
        let table = self.b.create_jump_table(JumpTableData::new(default, &calls));
        let index = self.b.ins().iadd_imm(wanted, -1);
        let index = self.b.ins().ireduce(types::I32, index);
        self.b.ins().br_table(index, table);
        self.go_on(nowhere);
        self.b.ins().trap(TrapCode::unwrap_user(1));
        for (at, entry) in self.shape.entries.iter().zip(entries) {
            self.go_on(entry);
            self.enter_before(*at, &[]);
        }
    }

    /// Some slots may be known already.
    fn enter_before(&mut self, at: Target, known: &[(Reg, Value)]) {
        for slot in self.shape.live_before(at).iter() {
            let known = known.iter().find(|(known, _)| *known == slot);
            let value = known.map_or_else(|| self.get_from_frame(slot), |(_, value)| *value);
            self.b.def_var(Variable::from_u32(slot), value);
        }
        let to = self.block(at);
        self.b.ins().jump(to, &[]);
    }

    fn exit(&mut self) {
        let [at, steps, allowance] =
            [types::I64; 3].map(|ty| self.b.append_block_param(self.exit, ty));
        self.b.switch_to_block(self.exit);
        self.add_steps(steps);
        self.tell_top();
        for (value, place) in [
            (at, offset_of!(Context, left_at)),
            (self.fp, offset_of!(Context, fp)),
            (self.base, offset_of!(Context, base)),
            (allowance, offset_of!(Context, allowance)),
        ] {
            self.set_field(place, value);
        }
        self.say_left();
    }

    pub fn block(&self, at: Target) -> Block {
        self.blocks[at as usize].expect("a target leads")
    }

    pub fn cold_block(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    /// The block that leaves before the present instruction.
    pub fn leaving(&mut self) -> Block {
        if self.leave.is_none() {
            self.leave = Some(self.cold_block());
        }
        self.leave.expect("just made")
    }

    /// Leaves if `bad`.
    pub fn leave_if(&mut self, bad: Value) {
        let (leave, fine) = (self.leaving(), self.b.create_block());
        self.b.ins().brif(bad, leave, &[], fine, &[]);
        self.go_on(fine);
    }

    /// Goes to another block if `bad`.
    pub fn go_on_unless(&mut self, bad: Value, other: Block) {
        let fine = self.b.create_block();
        self.b.ins().brif(bad, other, &[], fine, &[]);
        self.go_on(fine);
    }

    /// A block all of whose predecessors are there.
    pub fn go_on(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.b.seal_block(block);
    }

    /// Leaves before the present instruction, whatever happens.
    pub fn leave_now(&mut self, at: Target) {
        self.leave_uncounted(at, self.uncounted);
    }

    fn finish_leaving(&mut self, at: Target) {
        if let Some(block) = self.leave.take() {
            let here = self.b.current_block();
            self.go_on(block);
            self.leave_uncounted(at, self.uncounted);
            if let Some(here) = here {
                self.b.switch_to_block(here);
            }
        }
    }

    pub fn leave_uncounted(&mut self, at: Target, uncounted: i64) {
        self.write_temporaries(at);
        let steps = self.b.use_var(self.steps);
        let steps = self.b.ins().iadd_imm(steps, uncounted);
        let allowance = self.b.use_var(self.allowance);
        let at = self.word(i64::from(at));
        self.b.ins().jump(self.exit, &[at.into(), steps.into(), allowance.into()]);
    }

    /// Whoever goes on before this instruction finds what it reads in the frame.
    pub fn write_temporaries(&mut self, before: Target) {
        for slot in self.shape.unwritten(self.since, before) {
            let value = self.b.use_var(Variable::from_u32(slot));
            self.b.ins().store(SLOTS, value, self.fp, slot as i32 * 8);
        }
    }

    /// Counts what this block has executed so far.
    fn count(&mut self) {
        let steps = self.b.use_var(self.steps);
        let steps = self.b.ins().iadd_imm(steps, self.uncounted);
        self.b.def_var(self.steps, steps);
    }

    /// Counts a jump as executed: its edges come after this.
    pub fn count_jump(&mut self) {
        let steps = self.b.use_var(self.steps);
        let steps = self.b.ins().iadd_imm(steps, self.uncounted + 1);
        self.b.def_var(self.steps, steps);
    }

    /// The block to jump to in order to get from a jump at `at` to `to`. On the way back, jumps are counted; if there are no
    /// more of them, the jump is not executed.
    pub fn edge(&mut self, at: Target, to: Target) -> Block {
        let target = self.block(to);
        if to > at {
            return target;
        }
        let here = self.b.current_block().expect("in the block of the jump");
        let (edge, fine, none) = (self.b.create_block(), self.b.create_block(), self.cold_block());
        self.b.switch_to_block(edge);
        let allowance = self.b.use_var(self.allowance);
        let jumps = self.narrow(allowance, types::I32);
        self.b.ins().brif(jumps, fine, &[], none, &[]);
        self.go_on(none);
        self.leave_uncounted(at, -1);
        self.go_on(fine);
        let allowance = self.b.ins().iadd_imm(allowance, -1);
        self.b.def_var(self.allowance, allowance);
        self.b.ins().jump(target, &[]);
        self.b.switch_to_block(here);
        edge
    }

    pub fn jump(&mut self, at: Target, to: Target) {
        self.count_jump();
        let edge = self.edge(at, to);
        self.b.ins().jump(edge, &[]);
    }

    pub fn branch(&mut self, at: Target, condition: Value, then: Target, other: Target) {
        self.count_jump();
        let (then, other) = (self.edge(at, then), self.edge(at, other));
        self.b.ins().brif(condition, then, &[], other, &[]);
    }

    pub fn switch(&mut self, at: Target, value: Value, table: u32) {
        self.count_jump();
        let table = &self.program.switches[table as usize];
        let mut cases: Vec<(u64, Target)> = table.cases.iter().map(|(v, to)| (*v, *to)).collect();
        cases.sort_unstable();
        let mut switch = Switch::new();
        for (case, to) in cases {
            let edge = self.edge(at, to);
            switch.set_entry(u128::from(case), edge);
        }
        let default = self.edge(at, table.default);
        switch.emit(&mut self.b, value, default);
    }

    pub fn word(&mut self, word: i64) -> Value {
        self.b.ins().iconst(types::I64, word)
    }

    pub fn set_field(&mut self, offset: usize, value: Value) {
        self.b.ins().store(CONTEXT, value, self.context, offset as i32);
    }

    /// Steps up to and with the present instruction, and what is left of the allowance. It is not said that it is executed.
    pub fn would_count(&mut self) -> (Value, Value) {
        let steps = self.b.use_var(self.steps);
        let steps = self.b.ins().iadd_imm(steps, self.uncounted + 1);
        (steps, self.b.use_var(self.allowance))
    }

    /// What others have counted meanwhile.
    pub fn set_counted(&mut self, steps: Value, allowance: Value) {
        self.b.def_var(self.steps, steps);
        self.b.def_var(self.allowance, allowance);
    }

    /// A field of the context.
    pub fn field(&mut self, offset: usize) -> Value {
        self.b.ins().load(types::I64, CONTEXT, self.context, offset as i32)
    }

    pub fn constant(&self, slot: Reg) -> Option<u64> {
        let index = slot.checked_sub(self.body.constants_at)?;
        self.body.constants.get(index as usize).copied()
    }

    /// A slot's word.
    pub fn get(&mut self, slot: Reg) -> Value {
        match self.constant(slot) {
            Some(word) => self.word(word as i64),
            None if self.shape.fixed.contains_key(&slot) => {
                self.b.ins().iadd_imm(self.base, i64::from(self.shape.fixed[&slot]))
            }
            None if self.shape.memory.contains(slot) => self.get_from_frame(slot),
            None => self.b.use_var(Variable::from_u32(slot)),
        }
    }

    pub fn get_from_frame(&mut self, slot: Reg) -> Value {
        self.b.ins().load(types::I64, SLOTS, self.fp, slot as i32 * 8)
    }

    pub fn get32(&mut self, slot: Reg) -> Value {
        let word = self.get(slot);
        self.b.ins().ireduce(types::I32, word)
    }

    /// Writes a slot: an integer of any width, zero-extended, or a float.
    pub fn set(&mut self, slot: Reg, value: Value) {
        let word = self.as_word(value);
        if !self.shape.is_temporary(slot) {
            self.b.ins().store(SLOTS, word, self.fp, slot as i32 * 8);
        }
        if !self.shape.memory.contains(slot) {
            self.b.def_var(Variable::from_u32(slot), word);
        }
    }

    fn as_word(&mut self, value: Value) -> Value {
        match self.b.func.dfg.value_type(value) {
            types::I64 => value,
            types::F64 => self.b.ins().bitcast(types::I64, MemFlags::new(), value),
            types::F32 => {
                let bits = self.b.ins().bitcast(types::I32, MemFlags::new(), value);
                self.b.ins().uextend(types::I64, bits)
            }
            _ => self.b.ins().uextend(types::I64, value),
        }
    }

    /// The low bytes of a word.
    pub fn narrow(&mut self, word: Value, ty: Type) -> Value {
        if ty == types::I64 { word } else { self.b.ins().ireduce(ty, word) }
    }

    pub fn is_zero(&mut self, value: Value) -> Value {
        self.b.ins().icmp_imm(IntCC::Equal, value, 0)
    }
}
