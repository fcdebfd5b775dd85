//! The shadow of a thread's register stack: an expression for each slot that is symbolic, zero-extended to the
//! slot's 64 bits. Values of several slots are an expression a slot.

use unravel_code::Reg;
use unravel_trace::ExprId;

use super::{Byte, Concolic};

const NONE: u32 = u32::MAX;

/// By slot, counted from the thread's first.
#[derive(Debug, Default)]
pub(super) struct RegisterShadow {
    slots: Vec<u32>,
}

impl RegisterShadow {
    fn get(&self, slot: usize) -> Option<ExprId> {
        self.slots.get(slot).filter(|id| **id != NONE).map(|id| ExprId(*id))
    }

    fn set(&mut self, slot: usize, id: Option<ExprId>) {
        match id {
            Some(id) => {
                if slot >= self.slots.len() {
                    self.slots.resize(slot + 1, NONE);
                }
                self.slots[slot] = id.0;
            }
            None => {
                if let Some(at) = self.slots.get_mut(slot) {
                    *at = NONE;
                }
            }
        }
    }

    fn clear(&mut self, slots: std::ops::Range<usize>) {
        let end = slots.end.min(self.slots.len());
        if slots.start < end {
            self.slots[slots.start..end].fill(NONE);
        }
    }
}

/// One frame of a thread, with its shadow.
pub(super) struct Frame<'a> {
    pub concolic: &'a mut Concolic,
    pub thread: usize,
    /// The frame's first slot: its number, and where it is.
    pub first: usize,
    pub fp: *const u64,
}

impl Frame<'_> {
    /// A branch is taken; if it depends on a symbol, its condition starts the count anew.
    pub fn pass_branch(&mut self) {
        self.concolic.thread(self.thread).plain_branches += 1;
    }

    fn registers(&mut self) -> &mut RegisterShadow {
        &mut self.concolic.thread(self.thread).registers
    }

    pub fn get(&mut self, reg: Reg) -> Option<ExprId> {
        let slot = self.first + reg as usize;
        self.registers().get(slot)
    }

    pub fn is_symbolic(&mut self, reg: Reg) -> bool {
        self.get(reg).is_some()
    }

    pub fn any(&mut self, reg: Reg, slots: u32) -> bool {
        (reg..reg + slots).any(|reg| self.is_symbolic(reg))
    }

    pub fn set(&mut self, reg: Reg, id: Option<ExprId>) {
        let slot = self.first + reg as usize;
        self.registers().set(slot, id);
    }

    /// The result of an operation; a constant is no shadow.
    pub fn give(&mut self, reg: Reg, id: ExprId) {
        let id = self.concolic.graph.unless_constant(id);
        self.set(reg, id);
    }

    pub fn clear(&mut self, reg: Reg, slots: u32) {
        let start = self.first + reg as usize;
        self.registers().clear(start..start + slots as usize);
    }

    /// The concrete value of a slot.
    pub fn value(&self, reg: Reg) -> u64 {
        // SAFETY: a slot of the frame that is being executed.
        unsafe { *self.fp.add(reg as usize) }
    }

    /// A slot as a value of `bits` bits, at most 64.
    pub fn operand(&mut self, reg: Reg, bits: u8) -> ExprId {
        match self.get(reg) {
            Some(id) => self.concolic.graph.resize(id, bits),
            None => {
                let value = self.value(reg);
                self.concolic.graph.exprs.constant(u128::from(value), bits)
            }
        }
    }

    /// Two slots as a value of 65 to 128 bits.
    pub fn wide(&mut self, reg: Reg, bits: u8) -> ExprId {
        let (low, high) = (self.operand(reg, 64), self.operand(reg + 1, bits - 64));
        self.concolic.graph.exprs.concat(high, low)
    }

    /// Puts a value of 65 to 128 bits into two slots.
    pub fn give_wide(&mut self, reg: Reg, id: ExprId) {
        let bits = self.concolic.graph.exprs.bits(id);
        let low = self.concolic.graph.exprs.extract(id, 0, 64);
        let high = self.concolic.graph.exprs.extract(id, 64, bits - 64);
        self.give(reg, low);
        self.give(reg + 1, high);
    }

    /// A value of any width up to 128 bits.
    pub fn operand_of(&mut self, reg: Reg, bits: u8) -> ExprId {
        if bits > 64 { self.wide(reg, bits) } else { self.operand(reg, bits) }
    }

    pub fn give_any(&mut self, reg: Reg, id: ExprId) {
        if self.concolic.graph.exprs.bits(id) > 64 {
            self.give_wide(reg, id);
        } else {
            self.give(reg, id);
        }
    }

    /// The smallest usual width that holds both slots.
    pub fn common_width(&mut self, a: Reg, b: Reg) -> u8 {
        let mut width = 1;
        for reg in [a, b] {
            width = width.max(match self.get(reg) {
                Some(id) => self.concolic.graph.exprs.bits(id),
                None => 64 - self.value(reg).leading_zeros() as u8,
            });
        }
        width
    }

    /// Copies the shadows of `slots` slots within the frame; they may overlap.
    pub fn copy(&mut self, dst: Reg, src: Reg, slots: u32) {
        for (i, id) in self.take(src, slots).into_iter().enumerate() {
            self.set(dst + i as Reg, id);
        }
    }

    pub fn take(&mut self, src: Reg, slots: u32) -> Vec<Option<ExprId>> {
        (src..src + slots).map(|reg| self.get(reg)).collect()
    }

    /// `count` bytes of a value that begins in slot `reg`, from byte `offset` on.
    pub fn bytes(&mut self, reg: Reg, offset: u32, count: u32) -> Vec<Byte> {
        let byte = |at: u32| {
            let (reg, index) = (reg + at / 8, (at % 8) as u8);
            match self.get(reg) {
                Some(id) if 8 * index < self.concolic.graph.exprs.bits(id) => Byte::Part(id, index),
                Some(_) => Byte::Known(0),
                None => Byte::Known((self.value(reg) >> (8 * index)) as u8),
            }
        };
        (offset..offset + count).map(byte).collect()
    }

    /// Puts bytes into whole slots, the rest of the last one being zero.
    pub fn give_bytes(&mut self, reg: Reg, bytes: &[Byte]) {
        for (reg, part) in (reg..).zip(bytes.chunks(8)) {
            let id = self.concolic.graph.assemble(part);
            self.set(reg, id);
        }
    }

    /// Gives slots the values that their shadows have: a read was guessed to return something else than memory
    /// holds.
    pub fn take_guess(&mut self, reg: Reg, slots: u32) {
        for reg in reg..reg + slots {
            if let Some(id) = self.get(reg) {
                let value = self.concolic.graph.value(id) as u64;
                // SAFETY: a slot of the frame that is being executed, which nobody else refers to.
                unsafe { *self.fp.cast_mut().add(reg as usize) = value };
            }
        }
    }

    /// Replaces some bytes of a value in slots.
    pub fn insert_bytes(&mut self, reg: Reg, offset: u32, bytes: &[Byte]) {
        let (first, end) = (offset / 8, (offset + bytes.len() as u32).div_ceil(8));
        let mut all = self.bytes(reg, 8 * first, 8 * (end - first));
        let start = (offset - 8 * first) as usize;
        all[start..start + bytes.len()].copy_from_slice(bytes);
        self.give_bytes(reg + first, &all);
    }
}
