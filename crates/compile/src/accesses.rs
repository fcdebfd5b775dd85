//! Loads and stores that others may see: the same checks as the interpreter's, inline as far as they nearly always pass.
//!
//! First that the memory is valid: a known place in a global variable or in the frame, or what the same block has looked at
//! already, since nothing is given back meanwhile; or plainly (one granule of eight bytes, all valid), or on the thread's own stack, or by
//! asking. Then whether the site has flags: who has, asks, unless all they want is known here. Who asks may be told to leave.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, InstBuilder, InstructionData, Opcode, Signature, Type, Value, ValueDef, types,
};
use cranelift_codegen::isa::CallConv;
use unravel_code::code::Reg;
use unravel_code::compiled::{Context, SCATTER, SEEN, Seen, TEACHES, WATCHED};
use unravel_code::layout::{ARENA_BASE, ARENA_SIZE, GLOBALS, GLOBALS_MAX, SHADOW};
use unravel_trace::SiteId;

use crate::translate::{CONTEXT, PROGRAM, Translation};

/// Every byte of a granule is valid.
const VALID: i64 = 8;
/// Flags that compiled code knows the meaning of.
const KNOWN: u8 = TEACHES | WATCHED;

/// What is known of an address when code is generated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Absolute(u64),
    /// So far behind the beginning of the frame's memory, if that is known.
    Frame(Option<u64>),
    Somewhere,
}

/// Sums and constants that an address is followed through at most.
const MOST_SUMS: u32 = 8;

impl Translation<'_> {
    /// Calls one of the callbacks with the context and these arguments.
    pub fn ask(&mut self, callback: usize, arguments: &[Value]) -> Value {
        let count = arguments.len() + 1;
        let known = self.signatures.iter().find(|(of, _)| *of == count).map(|(_, known)| *known);
        let signature = known.unwrap_or_else(|| {
            let mut signature = Signature::new(CallConv::SystemV);
            signature.params.extend(std::iter::repeat_n(AbiParam::new(types::I64), count));
            signature.returns.push(AbiParam::new(types::I64));
            let signature = self.b.import_signature(signature);
            self.signatures.push((count, signature));
            signature
        });
        self.tell_top();
        let callback = self.word(callback as i64);
        let context = self.word(self.callbacks.context as i64);
        let all: Vec<Value> = [context].into_iter().chain(arguments.iter().copied()).collect();
        let call = self.b.ins().call_indirect(signature, callback, &all);
        self.b.inst_results(call)[0]
    }

    fn place_of(&self, address: Value, sums: u32) -> Place {
        let dfg = &self.b.func.dfg;
        let address = dfg.resolve_aliases(address);
        if address == self.base {
            return Place::Frame(Some(0));
        }
        let ValueDef::Result(inst, _) = dfg.value_def(address) else { return Place::Somewhere };
        let (one, other) = match dfg.insts[inst] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => {
                return Place::Absolute(imm.bits() as u64);
            }
            _ if sums == 0 => return Place::Somewhere,
            InstructionData::BinaryImm64 { opcode: Opcode::IaddImm, arg, imm } => {
                (self.place_of(arg, sums - 1), Place::Absolute(imm.bits() as u64))
            }
            InstructionData::Binary { opcode: Opcode::Iadd, args: [one, other] } => {
                (self.place_of(one, sums - 1), self.place_of(other, sums - 1))
            }
            _ => return Place::Somewhere,
        };
        match (one, other) {
            (Place::Absolute(one), Place::Absolute(other)) => {
                Place::Absolute(one.wrapping_add(other))
            }
            (Place::Frame(Some(at)), Place::Absolute(more))
            | (Place::Absolute(more), Place::Frame(Some(at))) => {
                Place::Frame(Some(at.wrapping_add(more)))
            }
            (Place::Frame(_), _) | (_, Place::Frame(_)) => Place::Frame(None),
            _ => Place::Somewhere,
        }
    }

    /// Whether so many bytes may be accessed as long as this function runs: in a global variable, which always may, or in the frame.
    pub fn is_always_valid(&self, address: Value, bytes: u32) -> bool {
        match self.place_of(address, MOST_SUMS) {
            // A library's own variables are elsewhere.
            Place::Absolute(address) if (GLOBALS..GLOBALS + GLOBALS_MAX).contains(&address) => {
                let global = self.program.global_at(address);
                let has_room = |at: u64, size: u64| at + u64::from(bytes) <= size;
                global.is_some_and(|global| has_room(address - global.address, global.bytes))
            }
            Place::Frame(Some(at)) => {
                self.body.frame_bytes.checked_sub(bytes).is_some_and(|last| at <= u64::from(last))
            }
            _ => false,
        }
    }

    /// Whether so many bytes are in this function's own frame, if that is where the address is likely to be.
    pub fn is_in_frame(&mut self, address: Value, bytes: u64) -> Option<Value> {
        let last = u64::from(self.body.frame_bytes).checked_sub(bytes)?;
        if !matches!(self.place_of(address, MOST_SUMS), Place::Frame(_)) {
            return None;
        }
        let offset = self.b.ins().isub(address, self.base);
        Some(self.b.ins().icmp_imm(IntCC::UnsignedLessThanOrEqual, offset, last as i64))
    }

    /// Goes on if so many bytes may be accessed.
    fn check(&mut self, address: Value, bytes: u32) {
        let address = self.b.func.dfg.resolve_aliases(address);
        let is_known = |known: &(Value, u32)| known.0 == address && known.1 >= bytes;
        if self.checked.iter().any(is_known) || self.is_always_valid(address, bytes) {
            return;
        }
        self.checked.push((address, bytes));
        let (inside, fine) = (self.b.create_block(), self.b.create_block());
        let elsewhere = self.cold_block();
        if let Some(in_frame) = self.is_in_frame(address, u64::from(bytes)) {
            let other = self.cold_block();
            self.b.ins().brif(in_frame, fine, &[], other, &[]);
            self.go_on(other);
        }
        // Range and alignment in one comparison: what is shifted out at the bottom comes in at the top.
        let shift = i64::from(bytes.trailing_zeros());
        let offset = self.b.ins().iadd_imm(address, -(ARENA_BASE as i64));
        let turned = if shift > 0 { self.b.ins().rotr_imm(offset, shift) } else { offset };
        let limit = (ARENA_SIZE >> shift) as i64;
        let is_inside = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, turned, limit);
        self.b.ins().brif(is_inside, inside, &[], elsewhere, &[]);
        self.go_on(inside);
        let place = self.shadow_of(address);
        let state = self.b.ins().load(types::I8, CONTEXT, place, 0);
        let is_valid = self.b.ins().icmp_imm(IntCC::Equal, state, VALID);
        self.b.ins().brif(is_valid, fine, &[], elsewhere, &[]);

        self.go_on(elsewhere);
        self.check_elsewhere(address, bytes);
        self.b.ins().jump(fine, &[]);
        self.go_on(fine);
    }

    /// Where the state of an address in the arena is.
    fn shadow_of(&mut self, address: Value) -> Value {
        const { assert!(SHADOW == ARENA_BASE >> 3) };
        self.b.ins().ushr_imm(address, 3)
    }

    /// The same where the memory is not plainly valid, or is longer than a word: on the thread's own stack, or by asking.
    pub fn check_elsewhere(&mut self, address: Value, bytes: u32) {
        let (unclear, fine) = (self.cold_block(), self.b.create_block());
        let both = self.is_own(address, u64::from(bytes));
        self.b.ins().brif(both, fine, &[], unclear, &[]);

        self.go_on(unclear);
        if bytes <= VALID as u32 {
            self.unless_partly_valid(address, bytes, fine);
        }
        let count = self.word(i64::from(bytes));
        let bad = self.ask(self.callbacks.check as usize, &[address, count]);
        let leave = self.leaving();
        self.b.ins().brif(bad, leave, &[], fine, &[]);
        self.go_on(fine);
    }

    /// Goes to another block if the memory is at the front of a granule of which only that is valid: the end of a block, or a
    /// variable of less than eight bytes.
    fn unless_partly_valid(&mut self, address: Value, bytes: u32, fine: Block) {
        let (inside, unclear) = (self.cold_block(), self.cold_block());
        let offset = self.b.ins().iadd_imm(address, -(ARENA_BASE as i64));
        let is_inside = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, offset, ARENA_SIZE as i64);
        self.b.ins().brif(is_inside, inside, &[], unclear, &[]);
        self.go_on(inside);
        let place = self.shadow_of(address);
        let state = self.b.ins().uload8(types::I64, CONTEXT, place, 0);
        let before = self.b.ins().band_imm(offset, 7);
        let needed = self.b.ins().iadd_imm(before, i64::from(bytes));
        let has_it = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, needed, state);
        // Beyond are what says that it was freed, and the like.
        let is_count = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, state, VALID);
        let both = self.b.ins().band(has_it, is_count);
        self.b.ins().brif(both, fine, &[], unclear, &[]);
        self.go_on(unclear);
    }

    /// Where what is in use of the stack ends: with the frame, unless that grows.
    pub fn top(&mut self) -> Value {
        if self.shape.grows {
            let top = self.field(offset_of!(Context, top));
            return self.b.ins().load(types::I64, CONTEXT, top, 0);
        }
        self.b.ins().iadd_imm(self.base, i64::from(self.body.frame_bytes))
    }

    /// Others look where the stack ends. Of a frame that grows they know.
    pub fn tell_top(&mut self) {
        if !self.shape.grows {
            let top = self.top();
            self.set_top(top);
        }
    }

    pub fn set_top(&mut self, top: Value) {
        let place = self.field(offset_of!(Context, top));
        self.b.ins().store(CONTEXT, top, place, 0);
    }

    pub fn flags(&mut self, site: SiteId) -> Value {
        let flags = self.field(offset_of!(Context, flags));
        self.b.ins().uload8(types::I64, CONTEXT, flags, site.index() as i32)
    }

    pub fn load(&mut self, dst: Reg, ty: Type, ptr: Reg, site: SiteId) {
        let address = self.get(ptr);
        self.check(address, ty.bytes());
        let (flagged, asks, plain) = (self.cold_block(), self.cold_block(), self.b.create_block());
        let flags = self.flags(site);
        self.b.ins().brif(flags, flagged, &[], plain, &[]);
        self.go_on(flagged);
        self.go_on_if_taught((address, ty), flags, site, false, asks);
        let watched = self.b.ins().band_imm(flags, i64::from(WATCHED));
        self.look(watched);
        self.b.ins().jump(plain, &[]);
        self.go_on(asks);
        let (count, at) = (self.word(i64::from(ty.bytes())), self.word(i64::from(site.0)));
        let bad = self.ask(self.callbacks.load as usize, &[address, count, at]);
        let leave = self.leaving();
        self.b.ins().brif(bad, leave, &[], plain, &[]);
        self.go_on(plain);
        let value = self.b.ins().load(ty, PROGRAM, address, 0);
        self.set(dst, value)
    }

    pub fn store(&mut self, src: Reg, ty: Type, ptr: Reg, site: SiteId) {
        let (address, value) = (self.get(ptr), self.get(src));
        self.check(address, ty.bytes());
        let (flagged, asks, plain, done) =
            (self.cold_block(), self.cold_block(), self.b.create_block(), self.b.create_block());
        let narrow = self.narrow(value, ty);
        let flags = self.flags(site);
        self.b.ins().brif(flags, flagged, &[], plain, &[]);
        self.go_on(flagged);
        self.go_on_if_taught((address, ty), flags, site, true, asks);
        self.count_change((address, narrow), flags, plain, asks);
        self.go_on(asks);
        let (count, at) = (self.word(i64::from(ty.bytes())), self.word(i64::from(site.0)));
        let bad = self.ask(self.callbacks.store as usize, &[address, count, at, value]);
        let leave = self.leaving();
        self.b.ins().brif(bad, leave, &[], done, &[]);
        self.go_on(plain);
        self.b.ins().store(PROGRAM, narrow, address, 0);
        self.b.ins().jump(done, &[]);
        self.go_on(done);
    }

    /// Says that memory was looked at, if this is not 0.
    fn look(&mut self, watched: Value) {
        let looked = self.field(offset_of!(Context, looked));
        let looked = self.b.ins().bor(looked, watched);
        self.set_field(offset_of!(Context, looked), looked);
    }

    /// Goes to `plain`, having counted whether the store changes memory if somebody watches for that; or to `asks`, if it does and that has
    /// to be known at once.
    fn count_change(
        &mut self,
        (address, value): (Value, Value),
        flags: Value,
        plain: Block,
        asks: Block,
    ) {
        let [watches, changes, counts] = std::array::from_fn(|_| self.cold_block());
        let watched = self.b.ins().band_imm(flags, i64::from(WATCHED));
        self.b.ins().brif(watched, watches, &[], plain, &[]);
        self.go_on(watches);
        self.look(watched);
        let ty = self.b.func.dfg.value_type(value);
        let old = self.b.ins().load(ty, PROGRAM, address, 0);
        let is_new = self.b.ins().icmp(IntCC::NotEqual, old, value);
        self.b.ins().brif(is_new, changes, &[], plain, &[]);
        self.go_on(changes);
        let may_count = self.field(offset_of!(Context, counts));
        self.b.ins().brif(may_count, counts, &[], asks, &[]);
        self.go_on(counts);
        let before = self.field(offset_of!(Context, changed));
        let all = self.b.ins().iadd_imm(before, 1);
        self.set_field(offset_of!(Context, changed), all);
        self.b.ins().jump(plain, &[]);
    }

    /// Goes on if compiled code knows what all the flags are about, and the access teaches nothing (any more, [`Seen`]); else to
    /// another block.
    fn go_on_if_taught(
        &mut self,
        (address, ty): (Value, Type),
        flags: Value,
        site: SiteId,
        write: bool,
        other: Block,
    ) {
        // All of this is seldom needed: it must not lie between what always is.
        let [known, teaches, inside, same, taught] = std::array::from_fn(|_| self.cold_block());
        let unknown = self.b.ins().band_imm(flags, !i64::from(KNOWN));
        self.b.ins().brif(unknown, other, &[], known, &[]);
        self.go_on(known);
        let to_teach = self.b.ins().band_imm(flags, i64::from(TEACHES));
        self.b.ins().brif(to_teach, teaches, &[], taught, &[]);
        self.go_on(teaches);
        let offset = self.b.ins().iadd_imm(address, -(ARENA_BASE as i64));
        // Aligned accesses are within eight bytes.
        let shift = i64::from(ty.bytes().trailing_zeros());
        let turned = if shift > 0 { self.b.ins().rotr_imm(offset, shift) } else { offset };
        let limit = (ARENA_SIZE >> shift) as i64;
        let is_inside = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, turned, limit);
        self.b.ins().brif(is_inside, inside, &[], other, &[]);
        self.go_on(inside);
        let number = self.b.ins().ushr_imm(offset, 3);
        let scattered = (u64::from(site.0) * SCATTER) as i64;
        let index = self.b.ins().iadd_imm(number, scattered);
        let index = self.b.ins().band_imm(index, SEEN as i64 - 1);
        let index = self.b.ins().ishl_imm(index, size_of::<Seen>().trailing_zeros() as i64);
        let table = self.field(offset_of!(Context, seen));
        let entry = self.b.ins().iadd(table, index);
        let place = self.b.ins().load(types::I64, CONTEXT, entry, offset_of!(Seen, place) as i32);
        let wanted = self.b.ins().ishl_imm(number, 1);
        let wanted = if write { self.b.ins().bor_imm(wanted, 1) } else { wanted };
        let is_same = self.b.ins().icmp(IntCC::Equal, place, wanted);
        self.b.ins().brif(is_same, same, &[], other, &[]);
        self.go_on(same);
        let found = self.b.ins().load(types::I64, CONTEXT, entry, offset_of!(Seen, site) as i32);
        let stretch = self.field(offset_of!(Context, stretch));
        let wanted = self.b.ins().ishl_imm(stretch, 32);
        let wanted = self.b.ins().bor_imm(wanted, i64::from(site.0));
        let is_same = self.b.ins().icmp(IntCC::Equal, found, wanted);
        self.b.ins().brif(is_same, taught, &[], other, &[]);
        self.go_on(taught);
    }
}
