//! Memory: locals, addresses, loads, stores, atomics.

use llvm_sys::LLVMAtomicRMWBinOp as Rmw;
use unravel_code::code::RmwOp;
use unravel_code::{AccessKind, Inst, Reg};
use unravel_trace::Commuting;

use super::frame::Frame;
use super::function::FunctionLowering;
use super::gep::{self, Term};
use super::scalar::short;
use super::types::{self, Shape};
use crate::debug::Spot;
use crate::ir::{DataLayout, Type, Value};

impl<'l, 'm> FunctionLowering<'l, 'm> {
    pub(super) fn alloca(&mut self, inst: Value<'m>) {
        if self.fixed_address(inst) {
            return;
        }
        let dst = self.result(inst);
        let layout = self.lowering.layout;
        let ty = inst.allocated_type();
        let Ok(bytes) = u32::try_from(layout.size(ty)) else { return self.trap(short(inst)) };
        let align = inst.alignment().max(layout.align(ty)).max(1) as u32;
        let count = self.register(inst.operand(0));
        let count = match types::shape(inst.operand(0).ty()) {
            Shape::Int(..=64) => count,
            _ => return self.trap(short(inst)),
        };
        self.emit(Inst::Alloca { dst, count, bytes, align });
    }

    /// The address of a fixed place in the frame: one instruction, or none if only accessed directly.
    fn fixed_address(&mut self, inst: Value<'m>) -> bool {
        let layout = self.lowering.layout;
        let Some(offset) = self.frame.fixed_offset(layout, inst) else { return false };
        let frame = &self.frame;
        let needed = frame.needs_address(layout, inst, |access, pointer| {
            direct_access(layout, frame, access, pointer).is_some()
        });
        if needed {
            let dst = self.result(inst);
            self.emit(Inst::FrameAddr { dst, offset });
        }
        true
    }

    /// `getelementptr`.
    pub(super) fn address(&mut self, inst: Value<'m>) {
        if inst.ty().is_pointer() {
            if !self.fixed_address(inst) {
                let dst = self.result(inst);
                self.address_into(inst, dst, None);
            }
            return;
        }
        let Some(lanes) = self.lanes(inst.ty()) else { return self.trap(short(inst)) };
        let dst = self.result(inst);
        self.each_lane(lanes, dst, |this, lane, dst| this.address_into(inst, dst, Some(lane)));
    }

    fn address_into(&mut self, inst: Value<'m>, dst: Reg, lane: Option<u32>) {
        let mut offset = 0i64;
        let mut base = self.operand_lane(inst.operand(0), lane);
        for term in gep::terms(self.lowering.layout, inst) {
            match term {
                Term::Constant { bytes, .. } => offset = offset.wrapping_add(bytes),
                Term::Scaled { index, scale } => {
                    self.scaled(dst, base, index, scale, lane);
                    base = dst;
                }
            }
        }
        self.add_offset(dst, base, offset);
    }

    /// `dst = base + index * scale`.
    fn scaled(&mut self, dst: Reg, base: Reg, index: Value<'m>, scale: u64, lane: Option<u32>) {
        let index = if is_folded_index(index) { index.operand(0) } else { index };
        let element = self.lanes(index.ty()).map_or(index.ty(), |lanes| lanes.element);
        let mut register = self.operand_lane(index, lane);
        let bits = match types::shape(element) {
            Shape::Int(bits) => bits,
            _ => return self.trap("an index that is not an integer"),
        };
        if bits != 32 && bits != 64 {
            let wide = self.temporary(1);
            self.emit(if bits < 64 {
                Inst::Sext { dst: wide, src: register, from: bits, to: 64 }
            } else {
                Inst::Trunc { dst: wide, src: register, bits: 64 }
            });
            register = wide;
        }
        match u32::try_from(scale) {
            Ok(scale) if bits == 32 => {
                self.emit(Inst::Index32 { dst, base, index: register, scale });
            }
            Ok(scale) => self.emit(Inst::Index64 { dst, base, index: register, scale }),
            Err(_) => {
                let (wide, factor) = (self.temporary(1), self.word(scale));
                self.emit(Inst::Sext { dst: wide, src: register, from: bits.min(64), to: 64 });
                self.emit(Inst::Mul64 { dst: wide, a: wide, b: factor });
                self.emit(Inst::Add64 { dst, a: base, b: wide });
            }
        }
    }

    /// The slots of an operand that is a vector or the same for every lane.
    fn operand_lane(&mut self, value: Value<'m>, lane: Option<u32>) -> Reg {
        let register = self.register(value);
        match (self.lanes(value.ty()), lane) {
            (Some(lanes), Some(lane)) => self.lane(register, lanes, lane),
            _ => register,
        }
    }

    pub(super) fn load(&mut self, inst: Value<'m>) {
        let (ty, pointer) = (inst.ty(), inst.operand(0));
        let dst = self.result(inst);
        if types::is_packed(self.lowering.layout, ty) {
            return self.packed_access(inst, ty, pointer, |this, lanes, integer| {
                this.unpack_bits(lanes, dst, integer);
            });
        }
        let bytes = self.lowering.layout.store_size(ty);
        if let Some(offset) = direct_access(self.lowering.layout, &self.frame, inst, pointer) {
            return self.emit(match bytes {
                1 => Inst::FrameLoad8 { dst, offset },
                2 => Inst::FrameLoad16 { dst, offset },
                4 => Inst::FrameLoad32 { dst, offset },
                _ => Inst::FrameLoad64 { dst, offset },
            });
        }
        let ptr = self.register(pointer);
        self.load_bytes(inst, pointer, dst, ptr, bytes as u32, partial_bits(ty));
    }

    fn load_bytes(
        &mut self,
        inst: Value<'m>,
        pointer: Value<'m>,
        dst: Reg,
        ptr: Reg,
        bytes: u32,
        bits: u8,
    ) {
        if bytes == 0 {
            return;
        }
        if self.frame.is_private(pointer) {
            return self.emit(Inst::PrivateLoad { dst, ptr, bytes, bits });
        }
        let site = self.access_site(inst, pointer, bytes);
        let load = match (bytes, bits) {
            (1, 0) => Inst::Load8 { dst, ptr, site },
            (2, 0) => Inst::Load16 { dst, ptr, site },
            (4, 0) => Inst::Load32 { dst, ptr, site },
            (8, 0) => Inst::Load64 { dst, ptr, site },
            _ => Inst::LoadN { dst, ptr, bytes, bits, site },
        };
        self.emit_at(load, site);
    }

    pub(super) fn store(&mut self, inst: Value<'m>) {
        let (value, pointer) = (inst.operand(0), inst.operand(1));
        let src = self.register(value);
        if types::is_packed(self.lowering.layout, value.ty()) {
            return self.packed_access(inst, value.ty(), pointer, |this, lanes, integer| {
                this.pack_bits(lanes, integer, src);
            });
        }
        let bytes = self.lowering.layout.store_size(value.ty());
        if let Some(offset) = direct_access(self.lowering.layout, &self.frame, inst, pointer) {
            return self.emit(match bytes {
                1 => Inst::FrameStore8 { src, offset },
                2 => Inst::FrameStore16 { src, offset },
                4 => Inst::FrameStore32 { src, offset },
                _ => Inst::FrameStore64 { src, offset },
            });
        }
        let ptr = self.register(pointer);
        self.store_bytes(inst, pointer, src, ptr, bytes as u32);
    }

    fn store_bytes(&mut self, inst: Value<'m>, pointer: Value<'m>, src: Reg, ptr: Reg, bytes: u32) {
        if bytes == 0 {
            return;
        }
        if self.frame.is_private(pointer) {
            return self.emit(Inst::PrivateStore { src, ptr, bytes });
        }
        let site = self.access_site(inst, pointer, bytes);
        let store = match bytes {
            1 => Inst::Store8 { src, ptr, site },
            2 => Inst::Store16 { src, ptr, site },
            4 => Inst::Store32 { src, ptr, site },
            8 => Inst::Store64 { src, ptr, site },
            _ => Inst::StoreN { src, ptr, bytes, site },
        };
        self.emit_at(store, site);
    }

    /// A load or store of a vector of `i1`, which memory holds as the bits of an integer. `convert` is
    /// given the slot of that integer, before a store or after a load.
    fn packed_access(
        &mut self,
        inst: Value<'m>,
        ty: Type<'m>,
        pointer: Value<'m>,
        convert: impl FnOnce(&mut Self, types::Lanes<'m>, Reg),
    ) {
        let lanes = self.lanes(ty).filter(|l| l.element.int_width() == Some(1) && l.count <= 64);
        let Some(lanes) = lanes else { return self.trap(short(inst)) };
        let ptr = self.register(pointer);
        let integer = self.temporary(1);
        let bytes = lanes.count.div_ceil(8);
        if inst.ty() == ty {
            self.load_bytes(inst, pointer, integer, ptr, bytes, lanes.count as u8);
            convert(self, lanes, integer);
        } else {
            convert(self, lanes, integer);
            self.store_bytes(inst, pointer, integer, ptr, bytes);
        }
    }

    fn access_site(
        &mut self,
        inst: Value<'m>,
        pointer: Value<'m>,
        bytes: u32,
    ) -> unravel_trace::SiteId {
        use llvm_sys::LLVMOpcode::{LLVMLoad, LLVMStore};
        let kind = match inst.opcode() {
            Some(LLVMLoad | LLVMStore) if inst.is_atomic() => AccessKind::Atomic,
            Some(LLVMLoad | LLVMStore) if inst.is_volatile() => AccessKind::Volatile,
            Some(LLVMLoad | LLVMStore) => AccessKind::Plain,
            Some(llvm_sys::LLVMOpcode::LLVMVAArg) => AccessKind::Plain,
            _ => AccessKind::Atomic,
        };
        let path = self.path(pointer, inst, Spot::Bytes(u64::from(bytes)));
        self.site(kind, path)
    }

    pub(super) fn atomic_rmw(&mut self, inst: Value<'m>) {
        let op = match inst.rmw_operation() {
            Rmw::LLVMAtomicRMWBinOpXchg => RmwOp::Exchange,
            Rmw::LLVMAtomicRMWBinOpAdd => RmwOp::Add,
            Rmw::LLVMAtomicRMWBinOpSub => RmwOp::Sub,
            Rmw::LLVMAtomicRMWBinOpAnd => RmwOp::And,
            Rmw::LLVMAtomicRMWBinOpNand => RmwOp::Nand,
            Rmw::LLVMAtomicRMWBinOpOr => RmwOp::Or,
            Rmw::LLVMAtomicRMWBinOpXor => RmwOp::Xor,
            Rmw::LLVMAtomicRMWBinOpMax => RmwOp::Max,
            Rmw::LLVMAtomicRMWBinOpMin => RmwOp::Min,
            Rmw::LLVMAtomicRMWBinOpUMax => RmwOp::UMax,
            Rmw::LLVMAtomicRMWBinOpUMin => RmwOp::UMin,
            Rmw::LLVMAtomicRMWBinOpFAdd => RmwOp::FAdd,
            Rmw::LLVMAtomicRMWBinOpFSub => RmwOp::FSub,
            Rmw::LLVMAtomicRMWBinOpFMax => RmwOp::FMax,
            Rmw::LLVMAtomicRMWBinOpFMin => RmwOp::FMin,
            Rmw::LLVMAtomicRMWBinOpUIncWrap => RmwOp::UIncWrap,
            Rmw::LLVMAtomicRMWBinOpUDecWrap => RmwOp::UDecWrap,
        };
        let Some(bits) = types::shape(inst.ty()).bits() else { return self.trap(short(inst)) };
        let dst = self.result(inst);
        let ptr = self.register(inst.operand(0));
        let value = self.register(inst.operand(1));
        let bytes = self.lowering.layout.store_size(inst.ty()) as u32;
        let site = self.access_site(inst, inst.operand(0), bytes);
        if inst.is_ignored() {
            self.lowering.program.accesses[site.index()].blind = commuting(op);
        }
        self.emit_at(Inst::Rmw { op, bits, dst, ptr, value, site }, site);
    }

    pub(super) fn compare_exchange(&mut self, inst: Value<'m>) {
        let ty = inst.operand(1).ty();
        let Some(bits) = types::shape(ty).bits() else { return self.trap(short(inst)) };
        let dst = self.result(inst);
        let ptr = self.register(inst.operand(0));
        let expected = self.register(inst.operand(1));
        let new = self.register(inst.operand(2));
        let bytes = self.lowering.layout.store_size(ty) as u32;
        let site = self.access_site(inst, inst.operand(0), bytes);
        let weak = inst.is_weak();
        self.emit_at(Inst::CmpXchg { bits, weak, dst, ptr, expected, new, site }, site);
    }

    pub(super) fn fence(&mut self, inst: Value<'m>) {
        // A fence against a signal handler of the same thread orders nothing here.
        if !inst.is_single_thread_fence() {
            self.emit_fence();
        }
    }

    pub(super) fn emit_fence(&mut self) {
        let site = self.site(AccessKind::None, None);
        self.emit_at(Inst::Fence { site }, site);
    }

    /// The `va_arg` instruction. The VM passes all variadic arguments in the overflow area of the
    /// `va_list` (its field at byte 8), as if the registers were used up.
    pub(super) fn variadic_argument(&mut self, inst: Value<'m>) {
        const OVERFLOW_AREA: i64 = 8;
        let layout = self.lowering.layout;
        let (ty, list) = (inst.ty(), inst.operand(0));
        let dst = self.result(inst);
        let list_at = self.register(list);
        let (field, next, word) = (self.temporary(1), self.temporary(1), self.temporary(1));
        self.add_offset(field, list_at, OVERFLOW_AREA);
        self.load_bytes(inst, list, next, field, 8, 0);
        if layout.align(ty) > 8 {
            self.add_offset(next, next, 15);
            let mask = self.word(!15);
            self.emit(Inst::And { dst: next, a: next, b: mask });
        }
        let bytes = layout.store_size(ty) as u32;
        let site = self.site(AccessKind::Plain, None);
        self.emit_at(Inst::LoadN { dst, ptr: next, bytes, bits: partial_bits(ty), site }, site);
        self.add_offset(word, next, layout.size(ty).next_multiple_of(8) as i64);
        self.store_bytes(inst, list, word, field, 8);
    }
}

/// Is this an `i32` that is extended only to index with it? [`Inst::Index32`] extends it.
pub(super) fn is_folded_index(value: Value<'_>) -> bool {
    use llvm_sys::LLVMOpcode::{LLVMGetElementPtr, LLVMSExt};
    value.opcode() == Some(LLVMSExt)
        && value.operand(0).ty().int_width() == Some(32)
        && value.ty().int_width() == Some(64)
        && value
            .users()
            .all(|user| user.opcode() == Some(LLVMGetElementPtr) && user.ty().is_pointer())
}

/// For an integer that does not fill its bytes, its width; 0 for everything else.
fn partial_bits(ty: Type<'_>) -> u8 {
    match types::shape(ty) {
        Shape::Int(bits) if bits % 8 != 0 => bits,
        _ => 0,
    }
}

/// The frame offset of a load or store that needs no address: it always hits the same place of a private
/// local and moves whole bytes.
fn direct_access<'m>(
    layout: DataLayout<'m>,
    frame: &Frame<'m>,
    access: Value<'m>,
    pointer: Value<'m>,
) -> Option<u32> {
    let is_load = access.opcode() == Some(llvm_sys::LLVMOpcode::LLVMLoad);
    if !is_load && (access.operand(1) != pointer || access.operand(0) == pointer) {
        return None;
    }
    let ty = if is_load { access.ty() } else { access.operand(0).ty() };
    if types::is_packed(layout, ty) || (is_load && partial_bits(ty) != 0) {
        return None;
    }
    frame.fixed_access(layout, pointer, layout.store_size(ty))
}

/// How an update commutes with others of its kind. Those of floating-point numbers round, so the order matters.
fn commuting(op: RmwOp) -> Option<Commuting> {
    match op {
        RmwOp::Add | RmwOp::Sub => Some(Commuting::Add),
        RmwOp::And => Some(Commuting::And),
        RmwOp::Or => Some(Commuting::Or),
        RmwOp::Xor => Some(Commuting::Xor),
        _ => None,
    }
}
