//! Locals that live in memory, and which of them no other thread can ever see.
//!
//! mem2reg promotes scalars. What it leaves (arrays, structs, locals whose address is used) gets a place in
//! the frame. A local is *private* if its address is only loaded from, stored to, compared and computed
//! with: then no other function and no other thread gets to know it, and accesses to it are no events.
//! The analysis ignores the flow of control, so it may call a private local shared, never the reverse.

use llvm_sys::LLVMOpcode as Op;
use rustc_hash::{FxHashMap, FxHashSet};

use super::gep;
use crate::ir::{DataLayout, Value};

/// The alignment that a frame has; a local that asks for more is allocated at run time.
const FRAME_ALIGN: u64 = 16;

#[derive(Clone, Copy)]
struct FrameLocal {
    offset: u32,
    bytes: u32,
    private: bool,
}

/// The memory of one function's frame.
#[derive(Default)]
pub(super) struct Frame<'m> {
    locals: FxHashMap<Value<'m>, FrameLocal>,
    /// Bytes of locals.
    local_bytes: u32,
    /// Bytes of the copies that calls make of `byval` arguments. Calls share them: a copy is needed only
    /// while its call lasts.
    copy_bytes: u32,
    /// Whether a pointer can only point into private locals.
    private: FxHashMap<Value<'m>, bool>,
}

impl<'m> Frame<'m> {
    /// Where every access to a local is to be seen, none is private.
    pub(super) fn new(layout: DataLayout<'m>, function: Value<'m>, watched: bool) -> Frame<'m> {
        let mut frame = Frame::default();
        let Some(entry) = function.blocks().next() else { return frame };
        for alloca in entry.instructions().filter(|i| i.is_alloca()) {
            let Some(count) = alloca.operand(0).as_u64() else { continue };
            let ty = alloca.allocated_type();
            let align = alloca.alignment().max(1);
            // At least one byte, so that every local has an address of its own.
            let bytes = layout.size(ty).saturating_mul(count).max(1);
            let offset = u64::from(frame.local_bytes).next_multiple_of(align);
            let end = offset.saturating_add(bytes);
            if align > FRAME_ALIGN || end > 1 << 30 {
                continue;
            }
            let private = !watched && !escapes(alloca);
            let local = FrameLocal { offset: offset as u32, bytes: bytes as u32, private };
            frame.locals.insert(alloca, local);
            frame.local_bytes = end as u32;
        }
        frame
    }

    pub(super) fn bytes(&self) -> u32 {
        self.copies_at() + self.copy_bytes
    }

    fn copies_at(&self) -> u32 {
        self.local_bytes.next_multiple_of(FRAME_ALIGN as u32)
    }

    /// A place for a copy of a `byval` argument behind `used` bytes of other copies of the same call.
    pub(super) fn copy_place(&mut self, used: &mut u32, bytes: u32) -> u32 {
        let offset = used.next_multiple_of(FRAME_ALIGN as u32);
        *used = offset + bytes;
        self.copy_bytes = self.copy_bytes.max(*used);
        self.copies_at() + offset
    }

    /// Offset and size of each local.
    pub(super) fn offsets(&self) -> Vec<(Value<'m>, u32, u32)> {
        self.locals.iter().map(|(alloca, local)| (*alloca, local.offset, local.bytes)).collect()
    }

    /// The local that a pointer points into, and at which byte, if that is a constant.
    fn root(&self, layout: DataLayout<'m>, pointer: Value<'m>) -> Option<(FrameLocal, i64)> {
        let mut pointer = pointer;
        let mut offset = 0i64;
        loop {
            if let Some(local) = self.locals.get(&pointer) {
                return Some((*local, offset));
            }
            if !pointer.is_gep() || !pointer.ty().is_pointer() {
                return None;
            }
            offset = offset.wrapping_add(gep::constant_offset(layout, pointer)?);
            pointer = pointer.operand(0);
        }
    }

    /// The frame offset of a pointer that is always the same place inside a local.
    pub(super) fn fixed_offset(&self, layout: DataLayout<'m>, pointer: Value<'m>) -> Option<u32> {
        let (local, offset) = self.root(layout, pointer)?;
        // One past the end is a valid address.
        let inside = (0..=i64::from(local.bytes)).contains(&offset);
        inside.then(|| local.offset + offset as u32)
    }

    pub(super) fn is_fixed(&self, layout: DataLayout<'m>, pointer: Value<'m>) -> bool {
        self.fixed_offset(layout, pointer).is_some()
    }

    /// The frame offset of a load or store of `bytes` bytes that always hits the same place of a private
    /// local.
    pub(super) fn fixed_access(
        &self,
        layout: DataLayout<'m>,
        pointer: Value<'m>,
        bytes: u64,
    ) -> Option<u32> {
        let (local, offset) = self.root(layout, pointer)?;
        let offset = u32::try_from(offset).ok()?;
        let inside = u64::from(offset) + bytes <= u64::from(local.bytes);
        let direct = matches!(bytes, 1 | 2 | 4 | 8);
        (local.private && inside && direct).then(|| local.offset + offset)
    }

    /// Is the address itself needed, or is the local only accessed at fixed places?
    pub(super) fn needs_address(
        &self,
        layout: DataLayout<'m>,
        pointer: Value<'m>,
        is_direct: impl Fn(Value<'m>, Value<'m>) -> bool,
    ) -> bool {
        pointer.users().any(|user| match user.opcode() {
            Some(Op::LLVMLoad | Op::LLVMStore) => !is_direct(user, pointer),
            Some(Op::LLVMGetElementPtr) => !self.is_fixed(layout, user),
            Some(Op::LLVMCall) => !user.callee().name().starts_with("llvm.lifetime."),
            _ => true,
        })
    }

    /// Can a pointer only point into private locals of this frame?
    pub(super) fn is_private(&mut self, pointer: Value<'m>) -> bool {
        if let Some(known) = self.private.get(&pointer) {
            return *known;
        }
        let mut seen = FxHashSet::default();
        let mut work = vec![pointer];
        let mut private = true;
        while let (true, Some(next)) = (private, work.pop()) {
            if !seen.insert(next) {
                continue;
            }
            match next.opcode() {
                Some(Op::LLVMAlloca) => {
                    private = self.locals.get(&next).is_some_and(|local| local.private);
                }
                Some(Op::LLVMGetElementPtr | Op::LLVMBitCast | Op::LLVMFreeze) => {
                    private = next.ty().is_pointer();
                    work.push(next.operand(0));
                }
                Some(Op::LLVMPHI) => work.extend(next.incoming().iter().map(|(value, _)| *value)),
                Some(Op::LLVMSelect) => work.extend([next.operand(1), next.operand(2)]),
                _ => private = false,
            }
        }
        self.private.insert(pointer, private);
        private
    }
}

/// Does the address of a local leave the instructions that access it?
fn escapes(alloca: Value<'_>) -> bool {
    let mut seen = FxHashSet::default();
    let mut work = vec![alloca];
    while let Some(pointer) = work.pop() {
        if !seen.insert(pointer) {
            continue;
        }
        for user in pointer.users() {
            match user.opcode() {
                Some(Op::LLVMLoad | Op::LLVMICmp) => {}
                Some(Op::LLVMStore) if user.operand(0) != pointer => {}
                Some(
                    Op::LLVMGetElementPtr
                    | Op::LLVMBitCast
                    | Op::LLVMFreeze
                    | Op::LLVMPHI
                    | Op::LLVMSelect,
                ) if user.ty().is_pointer() => work.push(user),
                Some(Op::LLVMCall) if keeps_private(user) => {}
                _ => return true,
            }
        }
    }
    false
}

/// Intrinsics that access a local but tell its address to nobody.
fn keeps_private(call: Value<'_>) -> bool {
    const KEEP: [&str; 6] = [
        "llvm.dbg.",
        "llvm.lifetime.",
        "llvm.memcpy.",
        "llvm.memmove.",
        "llvm.memset.",
        "llvm.va_",
    ];
    let callee = call.callee();
    callee.is_function() && KEEP.iter().any(|prefix| callee.name().starts_with(prefix))
}
