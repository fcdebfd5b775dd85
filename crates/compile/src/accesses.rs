//! Loads and stores that others may see: the same checks as the interpreter's, inline as far as they nearly always pass.
//!
//! First that the memory is valid: plainly (one granule of eight bytes, all valid), or on the thread's own stack, or by
//! asking. Then whether the site has flags: who has, asks. Who asks may be told to leave.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, InstBuilder, Signature, Type, Value, types};
use cranelift_codegen::isa::CallConv;
use unravel_code::code::Reg;
use unravel_code::compiled::{Context, SCATTER, SEEN, Seen, TEACHES, WATCHED};
use unravel_code::layout::{ARENA_BASE, ARENA_SIZE};
use unravel_trace::SiteId;

use crate::translate::{CONTEXT, PROGRAM, Translation};

/// Every byte of a granule is valid.
const VALID: i64 = 8;

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

    /// Goes on if so many bytes may be accessed.
    fn check(&mut self, address: Value, bytes: u32) {
        let (inside, fine) = (self.b.create_block(), self.b.create_block());
        let elsewhere = self.cold_block();
        // Range and alignment in one comparison: what is shifted out at the bottom comes in at the top.
        let shift = i64::from(bytes.trailing_zeros());
        let offset = self.b.ins().iadd_imm(address, -(ARENA_BASE as i64));
        let turned = if shift > 0 { self.b.ins().rotr_imm(offset, shift) } else { offset };
        let limit = (ARENA_SIZE >> shift) as i64;
        let is_inside = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, turned, limit);
        self.b.ins().brif(is_inside, inside, &[], elsewhere, &[]);
        self.go_on(inside);
        let granule = if shift < 3 { self.b.ins().ushr_imm(turned, 3 - shift) } else { turned };
        let place = self.b.ins().iadd(self.shadow, granule);
        let state = self.b.ins().load(types::I8, CONTEXT, place, 0);
        let is_valid = self.b.ins().icmp_imm(IntCC::Equal, state, VALID);
        self.b.ins().brif(is_valid, fine, &[], elsewhere, &[]);

        self.go_on(elsewhere);
        self.check_elsewhere(address, bytes);
        self.b.ins().jump(fine, &[]);
        self.go_on(fine);
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
        let granule = self.b.ins().ushr_imm(offset, 3);
        let place = self.b.ins().iadd(self.shadow, granule);
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
        self.b.ins().load(types::I8, CONTEXT, flags, site.index() as i32)
    }

    pub fn load(&mut self, dst: Reg, ty: Type, ptr: Reg, site: SiteId) {
        let address = self.get(ptr);
        self.check(address, ty.bytes());
        let (flagged, plain) = (self.cold_block(), self.b.create_block());
        let flags = self.flags(site);
        self.b.ins().brif(flags, flagged, &[], plain, &[]);
        self.go_on(flagged);
        let (looks, asks) = (self.b.create_block(), self.cold_block());
        let watched = self.b.ins().icmp_imm(IntCC::Equal, flags, i64::from(WATCHED));
        self.b.ins().brif(watched, looks, &[], asks, &[]);
        self.go_on(looks);
        self.set_field(offset_of!(Context, looked), address);
        self.b.ins().jump(plain, &[]);
        self.go_on(asks);
        self.unless_seen((address, ty), flags, site, false, plain);
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
        let (flagged, plain, done) =
            (self.cold_block(), self.b.create_block(), self.b.create_block());
        let flags = self.flags(site);
        self.b.ins().brif(flags, flagged, &[], plain, &[]);
        self.go_on(flagged);
        self.unless_seen((address, ty), flags, site, true, plain);
        let (count, at) = (self.word(i64::from(ty.bytes())), self.word(i64::from(site.0)));
        let bad = self.ask(self.callbacks.store as usize, &[address, count, at, value]);
        let leave = self.leaving();
        self.b.ins().brif(bad, leave, &[], done, &[]);
        self.go_on(plain);
        let narrow = self.narrow(value, ty);
        self.b.ins().store(PROGRAM, narrow, address, 0);
        self.b.ins().jump(done, &[]);
        self.go_on(done);
    }

    /// Goes to another block if all that the flags are about is an access that teaches nothing any more ([`Seen`]).
    fn unless_seen(
        &mut self,
        (address, ty): (Value, Type),
        flags: Value,
        site: SiteId,
        write: bool,
        plain: Block,
    ) {
        let (teaches, inside, same, other) = (
            self.b.create_block(),
            self.b.create_block(),
            self.b.create_block(),
            self.cold_block(),
        );
        let only = self.b.ins().icmp_imm(IntCC::Equal, flags, i64::from(TEACHES));
        self.b.ins().brif(only, teaches, &[], other, &[]);
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
        self.b.ins().brif(is_same, plain, &[], other, &[]);
        self.go_on(other);
    }
}
