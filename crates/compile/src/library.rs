//! Library functions that are called in loops and only touch memory: copies and fills.
//!
//! Both ranges are checked and then treated as one access each, as the interpreter's models do. Small ones of a constant size
//! between variables of the own stack are inline, as struct assignments mostly are; all others ask, and whoever is asked may say
//! that it is the interpreter's.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use unravel_code::code::{CallId, FunctionId, Reg};
use unravel_code::compiled::Context;
use unravel_code::layout::STACK_SIZE;
use unravel_code::{Abi, CallSite, Program};

use crate::translate::{PROGRAM, Translation};

/// Bytes that are copied or filled inline at most.
const MOST_INLINE: u64 = 128;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Library {
    Copy,
    Fill,
}

impl Library {
    /// What a call of a library function is, if compiled code can make it.
    pub fn of(program: &Program, function: FunctionId, call: CallId) -> Option<Library> {
        let CallSite { args, result, result_slots, .. } = program.call(call);
        let is_usual = args.len() >= 3
            && args.iter().all(|arg| arg.slots == 1)
            && (*result_slots == 0 || *result == Abi::Pointer);
        match program.function(function).name.as_str() {
            _ if !is_usual => None,
            "memcpy" | "memmove" | "__memcpy_chk" | "__memmove_chk" => Some(Library::Copy),
            "llvm.memcpy" | "llvm.memcpy.inline" | "llvm.memmove" => Some(Library::Copy),
            "memset" | "__memset_chk" | "llvm.memset" | "llvm.memset.inline" => Some(Library::Fill),
            _ => None,
        }
    }
}

/// Bytes as words: offsets and types.
fn words(bytes: u64) -> Vec<(i32, Type)> {
    let mut all = Vec::new();
    let mut at = 0;
    for ty in [types::I8X16, types::I64, types::I32, types::I16, types::I8] {
        while bytes - at >= u64::from(ty.bytes()) {
            all.push((at as i32, ty));
            at += u64::from(ty.bytes());
        }
    }
    all
}

impl Translation<'_> {
    pub fn library(&mut self, library: Library, dst: Reg, call: CallId) {
        let program = self.program;
        let CallSite { args, result_slots, site, .. } = program.call(call);
        let [to, other, bytes] = [0, 1, 2].map(|number| self.get(args[number].reg));
        let small = self.constant(args[2].reg).filter(|bytes| (1..=MOST_INLINE).contains(bytes));
        let (asks, done) = (self.b.create_block(), self.b.create_block());
        if let Some(bytes) = small {
            let inline = self.b.create_block();
            let flags = self.flags(*site);
            let mut all = self.is_zero(flags);
            let ranges = if library == Library::Copy { &[to, other][..] } else { &[to] };
            for range in ranges {
                if !self.is_always_valid(*range, bytes as u32) {
                    let own = self.is_own(*range, bytes);
                    all = self.b.ins().band(all, own);
                }
            }
            self.b.ins().brif(all, inline, &[], asks, &[]);
            self.go_on(inline);
            match library {
                Library::Copy => self.copy_inline(to, other, bytes),
                Library::Fill => self.fill_inline(to, other, bytes),
            }
            self.b.ins().jump(done, &[]);
        } else {
            self.b.ins().jump(asks, &[]);
        }
        self.go_on(asks);
        let callback = match library {
            Library::Copy => self.callbacks.copy as usize,
            Library::Fill => self.callbacks.fill as usize,
        };
        let site = self.word(i64::from(site.0));
        let bad = self.ask(callback, &[to, other, bytes, site]);
        let leave = self.leaving();
        self.b.ins().brif(bad, leave, &[], done, &[]);
        self.go_on(done);
        if *result_slots == 1 {
            self.set(dst, to);
        }
    }

    /// Whether memory is in use on the thread's own stack, or may be: in the frame, of what is likely to be there.
    pub fn is_own(&mut self, address: Value, bytes: u64) -> Value {
        if let Some(in_frame) = self.is_in_frame(address, bytes) {
            return in_frame;
        }
        let stack = self.field(offset_of!(Context, stack));
        let top = self.top();
        let depth = self.b.ins().isub(address, stack);
        let in_use = self.b.ins().isub(top, stack);
        let end = self.b.ins().iadd_imm(depth, bytes as i64);
        let is_own = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, depth, STACK_SIZE as i64);
        let is_alive = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, in_use);
        self.b.ins().band(is_own, is_alive)
    }

    /// All is read before the first is written: they may overlap.
    fn copy_inline(&mut self, to: Value, from: Value, bytes: u64) {
        let words = words(bytes);
        let load = |(at, ty): &(i32, Type)| self.b.ins().load(*ty, PROGRAM, from, *at);
        let values: Vec<Value> = words.iter().map(load).collect();
        for (value, (at, _)) in values.into_iter().zip(words) {
            self.b.ins().store(PROGRAM, value, to, at);
        }
    }

    fn fill_inline(&mut self, to: Value, byte: Value, bytes: u64) {
        let byte = self.b.ins().band_imm(byte, 0xff);
        let word = self.b.ins().imul_imm(byte, 0x0101_0101_0101_0101);
        for (at, ty) in words(bytes) {
            let value = match ty {
                types::I8X16 => {
                    let byte = self.narrow(byte, types::I8);
                    self.b.ins().splat(ty, byte)
                }
                _ => self.narrow(word, ty),
            };
            self.b.ins().store(PROGRAM, value, to, at);
        }
    }
}
