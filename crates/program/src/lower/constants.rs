//! Constants: numbers, addresses and aggregates, as bytes and relocations.

use llvm_sys::LLVMOpcode as Op;
use unravel_code::layout::{BLOCKS, BLOCKS_PER_FUNCTION};

use super::types::{self, Shape};
use super::{ModuleLowering, gep};
use crate::ir::Value;

/// What a constant number is relative to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Symbol {
    /// Nothing: the number is known.
    None,
    /// The address of a variable of a native library.
    External(u32),
    /// The running thread's block of thread-local variables.
    ThreadLocals,
    /// The running thread's instance of a variable of a native library.
    ExternalThreadLocal(u32),
}

/// A constant scalar: `symbol + value`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Number {
    pub(super) symbol: Symbol,
    pub(super) value: u128,
}

impl Number {
    pub(super) fn plain(value: u128) -> Number {
        Number { symbol: Symbol::None, value }
    }
}

/// Bytes with the places in them that wait for an external address.
#[derive(Default)]
pub(super) struct Data {
    pub(super) bytes: Vec<u8>,
    pub(super) relocations: Vec<PendingRelocation>,
}

#[derive(Clone, Copy)]
pub(super) struct PendingRelocation {
    /// Byte offset in the data.
    pub(super) at: usize,
    pub(super) external: u32,
    pub(super) addend: i64,
}

impl Data {
    pub(super) fn zeroed(bytes: usize) -> Data {
        Data { bytes: vec![0; bytes], relocations: Vec::new() }
    }

    fn put(&mut self, at: usize, bytes: usize, value: u128) {
        let source = value.to_le_bytes();
        for i in 0..bytes {
            self.bytes[at + i] = source.get(i).copied().unwrap_or(0);
        }
    }
}

/// What a number is that nobody has set: the pattern of uninitialised memory ([`unravel_trace::Uninit`]).
const UNINIT: u8 = unravel_trace::Uninit::PATTERN;

impl<'m> ModuleLowering<'m> {
    /// Writes a constant at `at` as it lies in memory.
    pub(super) fn write_constant(
        &mut self,
        value: Value<'m>,
        at: usize,
        data: &mut Data,
    ) -> Result<(), String> {
        let ty = value.ty();
        if value.is_zero() {
            return Ok(());
        }
        if let Some(text) = value.string_bytes() {
            data.bytes[at..at + text.len()].copy_from_slice(text);
            return Ok(());
        }
        if ty.is_struct() && !value.is_constant_expr() {
            for (i, _) in ty.fields().into_iter().enumerate() {
                let offset = self.layout.offset(ty, i as u32) as usize;
                let field = value.element(i as u32).ok_or_else(|| unknown(value))?;
                self.write_constant(field, at + offset, data)?;
            }
            return Ok(());
        }
        if let (Some((element, count)), false) = (ty.elements(), value.is_constant_expr()) {
            if types::is_packed(self.layout, ty) {
                return self.write_packed(value, count as u32, at, data);
            }
            let stride = self.layout.size(element) as usize;
            for i in 0..count {
                let part = value.element(i as u32).ok_or_else(|| unknown(value))?;
                self.write_constant(part, at + i as usize * stride, data)?;
            }
            return Ok(());
        }
        let bytes = self.layout.store_size(ty) as usize;
        self.write_number(value, at, bytes, data)
    }

    /// Writes a constant at `at` as it lies in slots: the lanes of a vector are whole bytes.
    pub(super) fn write_slots(
        &mut self,
        value: Value<'m>,
        at: usize,
        data: &mut Data,
    ) -> Result<(), String> {
        let ty = value.ty();
        if value.is_undefined()
            && (ty.int_width().is_some_and(|bits| bits <= 64) || ty.is_pointer())
        {
            // A local variable that is read before it is written.
            let bits = ty.int_width().unwrap_or(64);
            let pattern = u64::from_ne_bytes([UNINIT; 8]) & (u64::MAX >> (64 - bits));
            data.put(at, self.layout.store_size(ty) as usize, u128::from(pattern));
            return Ok(());
        }
        match types::lanes(self.layout, value.ty()) {
            Some(lanes) if !value.is_zero() && !value.is_constant_expr() => (0..lanes.count)
                .try_for_each(|i| {
                    let lane = value.element(i).ok_or_else(|| unknown(value))?;
                    self.write_constant(lane, at + (i * lanes.stride) as usize, data)
                }),
            _ => self.write_constant(value, at, data),
        }
    }

    /// A vector of `i1`: one bit a lane in memory.
    fn write_packed(
        &mut self,
        value: Value<'m>,
        count: u32,
        at: usize,
        data: &mut Data,
    ) -> Result<(), String> {
        if value.ty().elements().and_then(|(e, _)| e.int_width()) != Some(1) {
            return Err(format!("a constant vector of odd width in memory: {}", value.print()));
        }
        for i in 0..count {
            let lane = value.element(i).ok_or_else(|| unknown(value))?;
            let bit = self.number(lane)?.value as u8 & 1;
            data.bytes[at + i as usize / 8] |= bit << (i % 8);
        }
        Ok(())
    }

    fn write_number(
        &mut self,
        value: Value<'m>,
        at: usize,
        bytes: usize,
        data: &mut Data,
    ) -> Result<(), String> {
        let number = self.number(value)?;
        match number.symbol {
            Symbol::None => data.put(at, bytes, number.value),
            Symbol::External(external) if bytes == 8 => {
                let addend = number.value as i64;
                data.relocations.push(PendingRelocation { at, external, addend });
            }
            _ => return Err(unknown(value)),
        }
        Ok(())
    }

    /// Evaluates a constant number or address.
    pub(super) fn number(&mut self, value: Value<'m>) -> Result<Number, String> {
        if value.is_zero() {
            return Ok(Number::plain(0));
        }
        if let Some(number) = value.as_u128().or_else(|| value.float_bits()) {
            return Ok(Number::plain(number));
        }
        if let Some(address) = self.address(value) {
            return Ok(address);
        }
        if value.is_block_address() {
            return self.block_address(value);
        }
        if value.is_constant_expr() {
            return self.expression(value);
        }
        Err(unknown(value))
    }

    /// The address of a global, function, alias or ifunc.
    fn address(&mut self, value: Value<'m>) -> Option<Number> {
        if let Some(number) = self.addresses.get(&value) {
            return Some(*number);
        }
        if let Some(function) = self.functions.get(&value) {
            return Some(Number::plain(u128::from(function.address())));
        }
        if value.is_alias() {
            return self.number(value.aliasee()?).ok();
        }
        None
    }

    /// `&&label`: the number of the block among those of its function whose address is taken.
    fn block_address(&mut self, value: Value<'m>) -> Result<Number, String> {
        let (function, block) = value.block_address();
        let id = *self.functions.get(&function).ok_or_else(|| unknown(value))?;
        let taken = function.blocks().filter(|b| b.is_address_taken());
        let index = taken.take_while(|b| *b != block).count() as u64;
        if index >= BLOCKS_PER_FUNCTION {
            return Err(format!("more than {BLOCKS_PER_FUNCTION} labels with an address"));
        }
        let address = BLOCKS + u64::from(id.0) * BLOCKS_PER_FUNCTION + index;
        Ok(Number::plain(u128::from(address)))
    }

    fn expression(&mut self, value: Value<'m>) -> Result<Number, String> {
        let opcode = value.constant_opcode().ok_or_else(|| unknown(value))?;
        let bits = match types::shape(value.ty()) {
            Shape::Int(bits) => u32::from(bits),
            Shape::Pointer => 64,
            Shape::Float(_) => 128,
            _ => return Err(unknown(value)),
        };
        let first = self.number(value.operand(0))?;
        let mut result = match opcode {
            Op::LLVMGetElementPtr => {
                let offset = gep::constant_offset(self.layout, value);
                let offset = offset.ok_or_else(|| unknown(value))?;
                let moved = (first.value as u64).wrapping_add_signed(offset);
                Number { value: u128::from(moved), ..first }
            }
            Op::LLVMPtrToInt
            | Op::LLVMIntToPtr
            | Op::LLVMBitCast
            | Op::LLVMAddrSpaceCast
            | Op::LLVMTrunc => first,
            Op::LLVMAdd | Op::LLVMSub | Op::LLVMXor | Op::LLVMMul => {
                let second = self.number(value.operand(1))?;
                combine(opcode, first, second).ok_or_else(|| unknown(value))?
            }
            _ => return Err(unknown(value)),
        };
        if result.symbol != Symbol::None && bits != 64 {
            return Err(unknown(value));
        }
        result.value &= u128::MAX >> (128 - bits.min(128));
        Ok(result)
    }
}

/// Arithmetic on numbers of which one may be relative to a symbol.
fn combine(opcode: Op, a: Number, b: Number) -> Option<Number> {
    let symbol = match (opcode, a.symbol, b.symbol) {
        (_, Symbol::None, Symbol::None) => Symbol::None,
        (Op::LLVMAdd, symbol, Symbol::None) | (Op::LLVMAdd, Symbol::None, symbol) => symbol,
        (Op::LLVMSub, symbol, Symbol::None) => symbol,
        (Op::LLVMSub, one, other) if one == other => Symbol::None,
        _ => return None,
    };
    let value = match opcode {
        Op::LLVMAdd => a.value.wrapping_add(b.value),
        Op::LLVMSub => a.value.wrapping_sub(b.value),
        Op::LLVMMul => a.value.wrapping_mul(b.value),
        _ => a.value ^ b.value,
    };
    Some(Number { symbol, value })
}

fn unknown(value: Value<'_>) -> String {
    let text: String = value.print().chars().take(80).collect();
    format!("the constant `{text}`")
}
