//! Vectors and aggregates. No instruction knows lanes: every vector operation becomes one operation a lane.
//!
//! In slots a vector's lanes lie one after the other, each as wide as an array element would be. Lanes of
//! whole slots are used in place; narrower ones are taken out and put back. Bytes of the last slot behind
//! the last lane are zero.

use unravel_code::code::BinOp;
use unravel_code::{Inst, Reg};

use super::function::FunctionLowering;
use super::scalar::short;
use super::types::{self, Lanes};
use crate::ir::{Type, Value};

impl<'l, 'm> FunctionLowering<'l, 'm> {
    /// The slots that hold one lane of the vector in `vector`.
    pub(super) fn lane(&mut self, vector: Reg, lanes: Lanes<'m>, lane: u32) -> Reg {
        if lanes.stride.is_multiple_of(8) {
            return vector + lane * (lanes.stride / 8);
        }
        let dst = self.temporary(1);
        let offset = lane * lanes.stride;
        self.emit(Inst::Extract { dst, src: vector, offset, bytes: lanes.stride });
        dst
    }

    /// Computes each lane of the vector in `result`: `compute` is given the lane's number and the slots
    /// to put it in.
    pub(super) fn each_lane(
        &mut self,
        lanes: Lanes<'m>,
        result: Reg,
        mut compute: impl FnMut(&mut Self, u32, Reg),
    ) {
        self.clear_padding(lanes, result);
        for lane in 0..lanes.count {
            let mark = self.mark();
            if lanes.stride.is_multiple_of(8) {
                compute(self, lane, result + lane * (lanes.stride / 8));
            } else {
                let src = self.temporary(1);
                compute(self, lane, src);
                self.put_lane(lanes, result, lane, src);
            }
            self.release(mark);
        }
    }

    fn put_lane(&mut self, lanes: Lanes<'m>, vector: Reg, lane: u32, src: Reg) {
        let offset = lane * lanes.stride;
        self.emit(Inst::Insert { dst: vector, src, offset, bytes: lanes.stride });
    }

    /// Zeroes the bytes behind the last lane.
    fn clear_padding(&mut self, lanes: Lanes<'m>, vector: Reg) {
        if !lanes.bytes().is_multiple_of(8) {
            let src = self.zero(1);
            self.emit(Inst::Mov { dst: vector + lanes.bytes() / 8, src });
        }
    }

    pub(super) fn extract_element(&mut self, inst: Value<'m>) {
        let vector = inst.operand(0);
        let Some(lanes) = self.lanes(vector.ty()) else { return self.trap(short(inst)) };
        let (dst, src) = (self.result(inst), self.register(vector));
        match inst.operand(1).as_u64() {
            Some(lane) if lane < u64::from(lanes.count) => {
                let src = self.lane(src, lanes, lane as u32);
                let slots = self.slots(lanes.element);
                self.copy(dst, src, slots);
            }
            // A lane that does not exist is poison.
            Some(_) => {
                let src = self.zero(self.slots(lanes.element));
                self.copy(dst, src, self.slots(lanes.element));
            }
            None => {
                let lane = self.register(inst.operand(1));
                let (bytes, lanes) = (lanes.stride, lanes.count);
                self.emit(Inst::ExtractLane { dst, src, lane, bytes, lanes });
            }
        }
    }

    pub(super) fn insert_element(&mut self, inst: Value<'m>) {
        let Some(lanes) = self.lanes(inst.ty()) else { return self.trap(short(inst)) };
        let dst = self.result(inst);
        let base = self.register(inst.operand(0));
        let src = self.register(inst.operand(1));
        self.copy(dst, base, self.slots(inst.ty()));
        match inst.operand(2).as_u64() {
            Some(lane) if lane < u64::from(lanes.count) => {
                self.put_lane(lanes, dst, lane as u32, src);
            }
            Some(_) => {}
            None => {
                let lane = self.register(inst.operand(2));
                let (bytes, lanes) = (lanes.stride, lanes.count);
                self.emit(Inst::InsertLane { dst, src, lane, bytes, lanes });
            }
        }
    }

    pub(super) fn shuffle(&mut self, inst: Value<'m>) {
        let (Some(sources), Some(lanes)) =
            (self.lanes(inst.operand(0).ty()), self.lanes(inst.ty()))
        else {
            return self.trap(short(inst));
        };
        let dst = self.result(inst);
        let a = self.register(inst.operand(0));
        let b = self.register(inst.operand(1));
        let mask = inst.shuffle_mask();
        let slots = self.slots(lanes.element);
        self.each_lane(lanes, dst, |this, lane, dst| {
            let src = match mask.get(lane as usize).copied().flatten() {
                Some(from) if from < sources.count => this.lane(a, sources, from),
                Some(from) => this.lane(b, sources, from - sources.count),
                None => this.zero(slots),
            };
            this.copy(dst, src, slots);
        });
    }

    /// A bitcast that changes how the value lies in slots: from or to a vector of `i1`.
    pub(super) fn bit_cast(&mut self, inst: Value<'m>) {
        let (dst, src) = (self.result(inst), self.register(inst.operand(0)));
        let (from, to) = (inst.operand(0).ty(), inst.ty());
        let bits = |ty: Type<'m>| self.lanes(ty).filter(|l| l.element.int_width() == Some(1));
        match (bits(from), bits(to), to.int_width().or(from.int_width())) {
            (Some(lanes), None, Some(..=64)) => self.pack_bits(lanes, dst, src),
            (None, Some(lanes), Some(..=64)) => self.unpack_bits(lanes, dst, src),
            _ => self.trap(short(inst)),
        }
    }

    /// Lane `i` becomes bit `i` of the integer in `dst`.
    pub(super) fn pack_bits(&mut self, lanes: Lanes<'m>, dst: Reg, src: Reg) {
        let zero = self.zero(1);
        self.copy(dst, zero, 1);
        for lane in 0..lanes.count.min(64) {
            let mark = self.mark();
            let (bit, shifted) = (self.lane(src, lanes, lane), self.temporary(1));
            let by = self.word(u64::from(lane));
            self.emit(Inst::Bin { op: BinOp::Shl, bits: 64, dst: shifted, a: bit, b: by });
            self.emit(Inst::Or { dst, a: dst, b: shifted });
            self.release(mark);
        }
    }

    pub(super) fn unpack_bits(&mut self, lanes: Lanes<'m>, dst: Reg, src: Reg) {
        self.each_lane(lanes, dst, |this, lane, dst| {
            let by = this.word(u64::from(lane.min(63)));
            this.emit(Inst::Bin { op: BinOp::LShr, bits: 64, dst, a: src, b: by });
            this.emit(Inst::Trunc { dst, src: dst, bits: 1 });
        });
    }

    pub(super) fn extract_value(&mut self, inst: Value<'m>) {
        let aggregate = inst.operand(0);
        let (dst, src) = (self.result(inst), self.register(aggregate));
        match self.member(aggregate.ty(), &inst.aggregate_indices()) {
            Some((0, 0)) => {}
            Some((offset, bytes)) => self.emit(Inst::Extract { dst, src, offset, bytes }),
            None => self.trap(short(inst)),
        }
    }

    pub(super) fn insert_value(&mut self, inst: Value<'m>) {
        let dst = self.result(inst);
        let base = self.register(inst.operand(0));
        let src = self.register(inst.operand(1));
        self.copy(dst, base, self.slots(inst.ty()));
        match self.member(inst.ty(), &inst.aggregate_indices()) {
            Some((_, 0)) => {}
            Some((offset, bytes)) => self.emit(Inst::Insert { dst, src, offset, bytes }),
            None => self.trap(short(inst)),
        }
    }

    /// Byte offset and size of a member of an aggregate.
    fn member(&self, aggregate: Type<'m>, indices: &[u32]) -> Option<(u32, u32)> {
        let layout = self.lowering.layout;
        let mut ty = aggregate;
        let mut offset = 0;
        for index in indices {
            if let Some((element, _)) = ty.elements() {
                ty = element;
                offset += u64::from(*index) * layout.size(element);
            } else {
                let field = ty.field(*index)?;
                offset += layout.offset(ty, *index);
                ty = field;
            }
        }
        if types::is_packed(layout, ty) {
            return None;
        }
        Some((u32::try_from(offset).ok()?, u32::try_from(layout.store_size(ty)).ok()?))
    }
}
