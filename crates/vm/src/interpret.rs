//! The interpreter's loop.
//!
//! Registers and position live in local variables; they are written back to the thread ("saved") before
//! anything that may look at them: a point, a call of a model or of native code, a failure.

use unravel_program::code::*;
use unravel_program::{FunctionId, Inst};
use unravel_trace::{EventKind, FailureKind, Op, SiteId};

use crate::arith;
use crate::machine::{LEARN, Machine, POINT, RECORD, WATCH};
use crate::models::{Args, Flow};
use crate::resolve::Resolved;
use crate::thread::{Cursor, Frame, Need, REGISTERS, Thread};
use unravel_program::layout::{BLOCKS, BLOCKS_PER_FUNCTION, STACK_SIZE, STACKS};

/// Room left at the end of a stack for native callees' needs and error reports.
const STACK_MARGIN: u64 = 64 << 10;
const REGISTER_MARGIN: usize = 64 << 10;

/// An exception left the function that Rust code called; it is in `Thread::thrown`.
#[derive(Debug)]
pub(crate) struct Uncaught;

impl Machine {
    /// Runs the current thread until the innermost frame entered from Rust returns.
    ///
    /// # Safety
    /// The thread's position is inside a function of the program.
    pub unsafe fn interpret(&mut self) -> Result<(), Uncaught> {
        let thread: *mut Thread = &mut *self.threads[self.current];
        let Cursor { mut pc, mut fp, mut base } = unsafe { (*thread).at };
        let mut code: *const Inst = self.code_of(unsafe { (*thread).frames.last() });
        let mut steps: u64 = 0;

        macro_rules! reg {
            ($r:expr) => {
                *fp.add($r as usize)
            };
        }
        macro_rules! save {
            () => {{
                (*thread).at = Cursor { pc, fp, base };
                self.steps += steps;
                #[allow(unused_assignments)]
                {
                    steps = 0;
                }
            }};
        }
        macro_rules! reload {
            () => {{
                Cursor { pc, fp, base } = (*thread).at;
                code = self.code_of((*thread).frames.last());
            }};
        }
        macro_rules! jump {
            ($to:expr) => {{
                let next = code.add($to as usize);
                if next <= pc {
                    self.fuel -= 1;
                    (*thread).jumps += 1;
                    if (*thread).jumps > Machine::max_jumps() || self.fuel < 0 {
                        save!();
                        self.loop_limit();
                    }
                }
                pc = next;
                continue;
            }};
        }
        macro_rules! check {
            ($address:expr, $bytes:expr, $write:expr) => {
                if !self.memory.is_plain($address, $bytes) {
                    save!();
                    if let Err(fault) = self.memory.check($address, $bytes) {
                        self.fail_access($address, $bytes, $write, fault);
                    }
                }
            };
        }
        macro_rules! load {
            ($ty:ty, $dst:expr, $ptr:expr, $site:expr) => {{
                let address = reg!($ptr);
                let flags = *self.site_flags.add($site.index());
                if flags != 0 {
                    save!();
                    self.before_access(flags, address, size_of::<$ty>() as u64, false, $site);
                }
                check!(address, size_of::<$ty>() as u64, false);
                let value = (address as *const $ty).read_unaligned() as u64;
                reg!($dst) = value;
                if flags & RECORD != 0 {
                    self.record_read(address, size_of::<$ty>() as u64, $site);
                }
            }};
        }
        macro_rules! store {
            ($ty:ty, $src:expr, $ptr:expr, $site:expr) => {{
                let address = reg!($ptr);
                let flags = *self.site_flags.add($site.index());
                if flags != 0 {
                    save!();
                    self.before_access(flags, address, size_of::<$ty>() as u64, true, $site);
                }
                check!(address, size_of::<$ty>() as u64, true);
                let value = reg!($src) as $ty;
                if flags & (POINT | RECORD | WATCH) != 0 {
                    if (address as *const $ty).read_unaligned() != value {
                        self.made_progress();
                    }
                    (address as *mut $ty).write_unaligned(value);
                    self.record_write(flags, address, size_of::<$ty>() as u64, $site);
                } else {
                    (address as *mut $ty).write_unaligned(value);
                }
            }};
        }
        macro_rules! frame_check {
            ($address:expr, $bytes:expr, $write:expr) => {
                let top = self.memory.stack_top[(*thread).slot];
                if $address < base || $address + $bytes > top {
                    save!();
                    self.fail(FailureKind::OutOfBounds, "index outside of a local array");
                }
            };
        }
        macro_rules! call_external {
            ($function:expr, $call:expr, $dst:expr) => {{
                save!();
                match self.call_external($function, $call, $dst, fp) {
                    Flow::Jump => {
                        reload!();
                        continue;
                    }
                    Flow::Throw => {
                        self.unwind()?;
                        reload!();
                        continue;
                    }
                    _ => {}
                }
            }};
        }

        loop {
            steps += 1;
            // SAFETY (for the loop): lowering guarantees that slots, targets and indices are within
            // the frame, the function and the program's tables, and that every block ends in a
            // terminator; memory accesses are checked above.
            unsafe {
                match *pc {
                    Inst::Mov { dst, src } => reg!(dst) = reg!(src),
                    Inst::MovN { dst, src, slots } => {
                        std::ptr::copy(fp.add(src as usize), fp.add(dst as usize), slots as usize)
                    }
                    Inst::Add32 { dst, a, b } => {
                        reg!(dst) = u64::from((reg!(a) as u32).wrapping_add(reg!(b) as u32))
                    }
                    Inst::Add64 { dst, a, b } => reg!(dst) = reg!(a).wrapping_add(reg!(b)),
                    Inst::Sub32 { dst, a, b } => {
                        reg!(dst) = u64::from((reg!(a) as u32).wrapping_sub(reg!(b) as u32))
                    }
                    Inst::Sub64 { dst, a, b } => reg!(dst) = reg!(a).wrapping_sub(reg!(b)),
                    Inst::Mul32 { dst, a, b } => {
                        reg!(dst) = u64::from((reg!(a) as u32).wrapping_mul(reg!(b) as u32))
                    }
                    Inst::Mul64 { dst, a, b } => reg!(dst) = reg!(a).wrapping_mul(reg!(b)),
                    Inst::And { dst, a, b } => reg!(dst) = reg!(a) & reg!(b),
                    Inst::Or { dst, a, b } => reg!(dst) = reg!(a) | reg!(b),
                    Inst::Xor { dst, a, b } => reg!(dst) = reg!(a) ^ reg!(b),
                    Inst::Bin { op, bits, dst, a, b } => {
                        match arith::binary(op, bits, reg!(a), reg!(b)) {
                            Some(value) => reg!(dst) = value,
                            None => {
                                save!();
                                self.fail(FailureKind::DivisionByZero, "division by zero");
                            }
                        }
                    }
                    Inst::BinWide { op, bits, dst, a, b } => {
                        let (x, y) = (arith::wide(fp, a), arith::wide(fp, b));
                        match arith::binary_wide(op, bits, x, y) {
                            Some(value) => arith::set_wide(fp, dst, value),
                            None => {
                                save!();
                                self.fail(FailureKind::DivisionByZero, "division by zero");
                            }
                        }
                    }
                    Inst::Float { op, kind, dst, a, b } => arith::float(
                        op,
                        kind,
                        fp.add(dst as usize),
                        fp.add(a as usize),
                        fp.add(b as usize),
                    ),
                    Inst::FloatNeg { kind, dst, a } => {
                        arith::float_neg(kind, fp.add(dst as usize), fp.add(a as usize))
                    }
                    Inst::Eq { dst, a, b } => reg!(dst) = u64::from(reg!(a) == reg!(b)),
                    Inst::Ne { dst, a, b } => reg!(dst) = u64::from(reg!(a) != reg!(b)),
                    Inst::Ult { dst, a, b } => reg!(dst) = u64::from(reg!(a) < reg!(b)),
                    Inst::Ule { dst, a, b } => reg!(dst) = u64::from(reg!(a) <= reg!(b)),
                    Inst::Slt32 { dst, a, b } => {
                        reg!(dst) = u64::from((reg!(a) as i32) < (reg!(b) as i32))
                    }
                    Inst::Sle32 { dst, a, b } => {
                        reg!(dst) = u64::from((reg!(a) as i32) <= (reg!(b) as i32))
                    }
                    Inst::Slt64 { dst, a, b } => {
                        reg!(dst) = u64::from((reg!(a) as i64) < (reg!(b) as i64))
                    }
                    Inst::Sle64 { dst, a, b } => {
                        reg!(dst) = u64::from((reg!(a) as i64) <= (reg!(b) as i64))
                    }
                    Inst::Cmp { pred, bits, dst, a, b } => {
                        reg!(dst) = u64::from(arith::compare(pred, bits, reg!(a), reg!(b)))
                    }
                    Inst::CmpWide { pred, bits, dst, a, b } => {
                        let (x, y) = (arith::wide(fp, a), arith::wide(fp, b));
                        reg!(dst) = u64::from(arith::compare_wide(pred, bits, x, y))
                    }
                    Inst::FloatCmp { pred, kind, dst, a, b } => {
                        reg!(dst) = u64::from(arith::float_compare(
                            pred,
                            kind,
                            fp.add(a as usize),
                            fp.add(b as usize),
                        ))
                    }
                    Inst::Trunc { dst, src, bits } => reg!(dst) = reg!(src) & arith::mask(bits),
                    Inst::TruncWide { dst, src, bits } => {
                        let value = arith::wide(fp, src) & arith::mask_wide(bits);
                        arith::set_wide(fp, dst, value)
                    }
                    Inst::Sext { dst, src, from, to } => {
                        reg!(dst) = arith::sign_extend(reg!(src), from) as u64 & arith::mask(to)
                    }
                    Inst::ZextWide { dst, src } => {
                        let value = reg!(src);
                        reg!(dst) = value;
                        reg!(dst + 1) = 0;
                    }
                    Inst::SextWide { dst, src, from, to } => {
                        let value = if from <= 64 {
                            i128::from(arith::sign_extend(reg!(src), from))
                        } else {
                            arith::sign_extend_wide(arith::wide(fp, src), from)
                        };
                        arith::set_wide(fp, dst, value as u128 & arith::mask_wide(to))
                    }
                    Inst::Convert { op, from_bits, to_bits, dst, src } => arith::convert(
                        op,
                        from_bits,
                        to_bits,
                        fp.add(dst as usize),
                        fp.add(src as usize),
                    ),

                    Inst::Load8 { dst, ptr, site } => load!(u8, dst, ptr, site),
                    Inst::Load16 { dst, ptr, site } => load!(u16, dst, ptr, site),
                    Inst::Load32 { dst, ptr, site } => load!(u32, dst, ptr, site),
                    Inst::Load64 { dst, ptr, site } => load!(u64, dst, ptr, site),
                    Inst::LoadN { dst, ptr, bytes, bits, site } => {
                        let (address, count) = (reg!(ptr), u64::from(bytes));
                        let flags = *self.site_flags.add(site.index());
                        if flags != 0 {
                            save!();
                            self.before_access(flags, address, count, false, site);
                        }
                        check!(address, count, false);
                        load_bytes(fp.add(dst as usize), address, bytes, bits);
                        if flags & RECORD != 0 {
                            self.record_read(address, count, site);
                        }
                    }
                    Inst::Store8 { src, ptr, site } => store!(u8, src, ptr, site),
                    Inst::Store16 { src, ptr, site } => store!(u16, src, ptr, site),
                    Inst::Store32 { src, ptr, site } => store!(u32, src, ptr, site),
                    Inst::Store64 { src, ptr, site } => store!(u64, src, ptr, site),
                    Inst::StoreN { src, ptr, bytes, site } => {
                        let (address, count) = (reg!(ptr), u64::from(bytes));
                        let flags = *self.site_flags.add(site.index());
                        if flags != 0 {
                            save!();
                            self.before_access(flags, address, count, true, site);
                        }
                        check!(address, count, true);
                        let from = fp.add(src as usize) as *const u8;
                        std::ptr::copy_nonoverlapping(from, address as *mut u8, bytes as usize);
                        if flags & (POINT | RECORD | WATCH) != 0 {
                            self.made_progress();
                            self.record_write(flags, address, count, site);
                        }
                    }

                    Inst::FrameLoad8 { dst, offset } => {
                        reg!(dst) = u64::from(*((base + u64::from(offset)) as *const u8))
                    }
                    Inst::FrameLoad16 { dst, offset } => {
                        reg!(dst) =
                            u64::from(((base + u64::from(offset)) as *const u16).read_unaligned())
                    }
                    Inst::FrameLoad32 { dst, offset } => {
                        reg!(dst) =
                            u64::from(((base + u64::from(offset)) as *const u32).read_unaligned())
                    }
                    Inst::FrameLoad64 { dst, offset } => {
                        reg!(dst) = ((base + u64::from(offset)) as *const u64).read_unaligned()
                    }
                    Inst::FrameStore8 { src, offset } => {
                        *((base + u64::from(offset)) as *mut u8) = reg!(src) as u8
                    }
                    Inst::FrameStore16 { src, offset } => {
                        ((base + u64::from(offset)) as *mut u16).write_unaligned(reg!(src) as u16)
                    }
                    Inst::FrameStore32 { src, offset } => {
                        ((base + u64::from(offset)) as *mut u32).write_unaligned(reg!(src) as u32)
                    }
                    Inst::FrameStore64 { src, offset } => {
                        ((base + u64::from(offset)) as *mut u64).write_unaligned(reg!(src))
                    }
                    Inst::PrivateLoad { dst, ptr, bytes, bits } => {
                        let address = reg!(ptr);
                        frame_check!(address, u64::from(bytes), false);
                        match (bytes, bits) {
                            (4, 0) => {
                                reg!(dst) = u64::from((address as *const u32).read_unaligned())
                            }
                            (8, 0) => reg!(dst) = (address as *const u64).read_unaligned(),
                            (1, 0) => reg!(dst) = u64::from(*(address as *const u8)),
                            _ => load_bytes(fp.add(dst as usize), address, bytes, bits),
                        }
                    }
                    Inst::PrivateStore { src, ptr, bytes } => {
                        let address = reg!(ptr);
                        frame_check!(address, u64::from(bytes), true);
                        match bytes {
                            4 => (address as *mut u32).write_unaligned(reg!(src) as u32),
                            8 => (address as *mut u64).write_unaligned(reg!(src)),
                            1 => *(address as *mut u8) = reg!(src) as u8,
                            _ => std::ptr::copy_nonoverlapping(
                                fp.add(src as usize) as *const u8,
                                address as *mut u8,
                                bytes as usize,
                            ),
                        }
                    }

                    Inst::AddImm { dst, a, imm } => {
                        reg!(dst) = reg!(a).wrapping_add_signed(i64::from(imm))
                    }
                    Inst::Index32 { dst, base: from, index, scale } => {
                        let offset = i64::from(reg!(index) as i32).wrapping_mul(i64::from(scale));
                        reg!(dst) = reg!(from).wrapping_add_signed(offset)
                    }
                    Inst::Index64 { dst, base: from, index, scale } => {
                        reg!(dst) =
                            reg!(from).wrapping_add(reg!(index).wrapping_mul(u64::from(scale)))
                    }
                    Inst::FrameAddr { dst, offset } => reg!(dst) = base + u64::from(offset),
                    Inst::Alloca { dst, count, bytes, align } => {
                        let slot = (*thread).slot;
                        let at =
                            self.memory.stack_top[slot].next_multiple_of(u64::from(align.max(16)));
                        let size = reg!(count).saturating_mul(u64::from(bytes));
                        let limit = STACKS + (slot as u64 + 1) * STACK_SIZE - STACK_MARGIN;
                        if size > STACK_SIZE || at + size > limit {
                            save!();
                            self.fail(
                                FailureKind::StackOverflow,
                                "no room on the stack for a variable-length array",
                            );
                        }
                        self.memory.set_stack_top(slot, at + size);
                        reg!(dst) = at;
                    }
                    Inst::CopyToFrame { offset, src, bytes } => {
                        let from = reg!(src);
                        check!(from, u64::from(bytes), false);
                        let to = (base + u64::from(offset)) as *mut u8;
                        std::ptr::copy(from as *const u8, to, bytes as usize);
                    }

                    Inst::Jump { to } => jump!(to),
                    Inst::Branch { cond, then, other } => {
                        jump!(if reg!(cond) & 1 != 0 { then } else { other })
                    }
                    Inst::BranchEq { a, b, then, other } => {
                        jump!(if reg!(a) == reg!(b) { then } else { other })
                    }
                    Inst::BranchNe { a, b, then, other } => {
                        jump!(if reg!(a) != reg!(b) { then } else { other })
                    }
                    Inst::BranchSlt32 { a, b, then, other } => {
                        jump!(if (reg!(a) as i32) < (reg!(b) as i32) { then } else { other })
                    }
                    Inst::BranchSlt64 { a, b, then, other } => {
                        jump!(if (reg!(a) as i64) < (reg!(b) as i64) { then } else { other })
                    }
                    Inst::BranchUlt { a, b, then, other } => {
                        jump!(if reg!(a) < reg!(b) { then } else { other })
                    }
                    Inst::Switch { value, table } => {
                        let switch = self.program.switches.get_unchecked(table as usize);
                        let to = switch.cases.get(&reg!(value)).copied().unwrap_or(switch.default);
                        jump!(to)
                    }
                    Inst::IndirectJump { ptr } => {
                        let token = reg!(ptr).wrapping_sub(BLOCKS);
                        let function = (*thread).frames.last().expect("in a function").function;
                        let body = self.program.function(function).body.as_ref().expect("runs");
                        let block = (token % BLOCKS_PER_FUNCTION) as usize;
                        if token / BLOCKS_PER_FUNCTION != u64::from(function.0)
                            || block >= body.blocks.len()
                        {
                            save!();
                            self.fail(FailureKind::Crash, "jump to an address that is no label");
                        }
                        jump!(body.blocks[block])
                    }

                    Inst::Call { dst, function, call } => {
                        (*thread).at = Cursor { pc, fp, base };
                        self.enter(thread, function, call, dst);
                        reload!();
                        continue;
                    }
                    Inst::CallExternal { dst, function, call } => {
                        call_external!(function, call, dst)
                    }
                    Inst::CallIndirect { dst, ptr, call } => {
                        let address = reg!(ptr);
                        match self.program.function_at(address) {
                            Some(function) if self.has_body(function) => {
                                (*thread).at = Cursor { pc, fp, base };
                                self.enter(thread, function, call, dst);
                                reload!();
                                continue;
                            }
                            Some(function) => call_external!(function, call, dst),
                            None => {
                                save!();
                                if let Flow::Throw =
                                    self.call_native_address(address, call, dst, fp)
                                {
                                    self.unwind()?;
                                    reload!();
                                    continue;
                                }
                            }
                        }
                    }
                    Inst::Return { src, slots } => {
                        let frame = (*thread).frames.pop().expect("returns from a frame");
                        let from = fp.add(src as usize);
                        if frame.atomic {
                            self.leave_atomic();
                        }
                        if frame.entry {
                            for i in 0..(slots as usize).min(self.natives.returned.len()) {
                                self.natives.returned[i] = *from.add(i);
                            }
                            self.memory.set_stack_top((*thread).slot, frame.caller_top);
                            Cursor { pc, fp, base } = frame.caller;
                            save!();
                            return Ok(());
                        }
                        self.memory.set_stack_top((*thread).slot, frame.caller_top);
                        Cursor { pc, fp, base } = frame.caller;
                        if slots == 1 {
                            reg!(frame.dst) = *from;
                        } else {
                            std::ptr::copy(from, fp.add(frame.dst as usize), slots as usize);
                        }
                        code = self.code_of((*thread).frames.last());
                        continue;
                    }
                    Inst::ReturnVoid => {
                        let frame = (*thread).frames.pop().expect("returns from a frame");
                        if frame.atomic {
                            self.leave_atomic();
                        }
                        self.memory.set_stack_top((*thread).slot, frame.caller_top);
                        Cursor { pc, fp, base } = frame.caller;
                        if frame.entry {
                            self.natives.returned[0] = 0;
                            save!();
                            return Ok(());
                        }
                        code = self.code_of((*thread).frames.last());
                        continue;
                    }

                    Inst::Select { dst, cond, a, b, slots } => {
                        let from = if reg!(cond) & 1 != 0 { a } else { b };
                        if slots == 1 {
                            reg!(dst) = reg!(from)
                        } else {
                            std::ptr::copy(
                                fp.add(from as usize),
                                fp.add(dst as usize),
                                slots as usize,
                            )
                        }
                    }
                    Inst::Extract { dst, src, offset, bytes } => {
                        let from = (fp.add(src as usize) as *const u8).add(offset as usize);
                        copy_to_slots(fp.add(dst as usize), from, bytes as usize)
                    }
                    Inst::Insert { dst, src, offset, bytes } => std::ptr::copy(
                        fp.add(src as usize) as *const u8,
                        (fp.add(dst as usize) as *mut u8).add(offset as usize),
                        bytes as usize,
                    ),
                    Inst::ExtractLane { dst, src, lane, bytes, lanes } => {
                        let lane = reg!(lane) % u64::from(lanes.max(1));
                        let offset = lane as usize * bytes as usize;
                        let from = (fp.add(src as usize) as *const u8).add(offset);
                        copy_to_slots(fp.add(dst as usize), from, bytes as usize)
                    }
                    Inst::InsertLane { dst, src, lane, bytes, lanes } => {
                        let lane = reg!(lane) % u64::from(lanes.max(1));
                        let offset = lane as usize * bytes as usize;
                        let to = (fp.add(dst as usize) as *mut u8).add(offset);
                        std::ptr::copy(fp.add(src as usize) as *const u8, to, bytes as usize)
                    }

                    Inst::Rmw { op, bits: 65.., dst, ptr, value, site } => {
                        let (object, value) = ((reg!(ptr), 16), arith::wide(fp, value));
                        save!();
                        let old = self.update_atomically(op, object, value, site);
                        arith::set_wide(fp, dst, old);
                    }
                    Inst::Rmw { op, bits, dst, ptr, value, site } => {
                        let (address, count) = (reg!(ptr), u64::from(bits) / 8);
                        let flags = *self.site_flags.add(site.index());
                        save!();
                        self.before_atomic(flags, address, count, site);
                        check!(address, count, true);
                        let old = load_word(address, count);
                        let new = arith::update(op, bits, old, reg!(value));
                        store_word(address, count, new);
                        reg!(dst) = old;
                        if old != new {
                            self.made_progress();
                        }
                        if flags & RECORD != 0 {
                            self.record_update(address, count, old, new, site);
                        }
                    }
                    Inst::CmpXchg { bits, dst, ptr, expected, new, site } => {
                        let (address, count) = (reg!(ptr), u64::from(bits) / 8);
                        let flags = *self.site_flags.add(site.index());
                        save!();
                        self.before_atomic(flags, address, count, site);
                        check!(address, count, true);
                        let bytes = count as usize;
                        let mut old = [0u64; 2];
                        std::ptr::copy_nonoverlapping(
                            address as *const u8,
                            old.as_mut_ptr().cast(),
                            bytes,
                        );
                        let wanted = std::slice::from_raw_parts(
                            fp.add(expected as usize) as *const u8,
                            bytes,
                        );
                        let found = std::slice::from_raw_parts(old.as_ptr() as *const u8, bytes);
                        let equal = wanted == found;
                        let new_value = reg!(new);
                        if equal {
                            let from = fp.add(new as usize) as *const u8;
                            let changes = std::slice::from_raw_parts(from, bytes) != found;
                            std::ptr::copy_nonoverlapping(from, address as *mut u8, bytes);
                            if changes {
                                self.made_progress();
                            }
                        }
                        let to = fp.add(dst as usize) as *mut u8;
                        std::ptr::copy_nonoverlapping(old.as_ptr() as *const u8, to, bytes);
                        *to.add(bytes) = u8::from(equal);
                        if flags & RECORD != 0 {
                            let after =
                                if equal { new_value & arith::mask(bits.min(64)) } else { old[0] };
                            self.record_update(address, count, old[0], after, site);
                        }
                    }
                    Inst::Fence { site } => {
                        if self.alive > 1 {
                            save!();
                            self.point(Op::Fence, 0, 0, site, Need::Nothing);
                            self.record(site, EventKind::Fence);
                        }
                    }
                    Inst::SpinHint { site } => {
                        if self.alive > 1 {
                            save!();
                            self.yield_point(site);
                        }
                    }

                    Inst::ThreadLocal { dst, offset } => {
                        reg!(dst) = (*thread).locals + u64::from(offset)
                    }
                    Inst::ExternalThreadLocal { dst, external } => {
                        reg!(dst) = self.natives.external_address(external)
                    }
                    Inst::LandingPad { dst, .. } => {
                        let thrown = (*thread).thrown;
                        reg!(dst) = thrown.exception;
                        reg!(dst + 1) = thrown.selector;
                    }
                    Inst::Resume { src } => {
                        let exception = reg!(src);
                        save!();
                        self.resume_exception(exception);
                        self.unwind()?;
                        reload!();
                        continue;
                    }
                    Inst::Unreachable => {
                        save!();
                        self.fail(
                            FailureKind::Unreachable,
                            "reached code that was declared unreachable",
                        );
                    }
                    Inst::Trap { reason } => {
                        save!();
                        let reason = self.program.traps[reason as usize].clone();
                        self.finish_inconclusive(format!(
                            "the program uses {reason}, which is not supported"
                        ));
                    }
                }
                pc = pc.add(1);
            }
        }
    }

    pub fn has_body(&self, function: FunctionId) -> bool {
        matches!(self.externals[function.0 as usize], Resolved::Body)
    }

    fn code_of(&self, frame: Option<&Frame>) -> *const Inst {
        let frame = frame.expect("a running thread has a frame");
        let body = self.program.function(frame.function).body.as_ref();
        body.expect("only functions with bodies have frames").code.as_ptr()
    }

    /// Pushes a frame for an interpreted call.
    ///
    /// # Safety
    /// `thread` is the current one and its position, at the call, is saved.
    unsafe fn enter(&mut self, thread: *mut Thread, function: FunctionId, call: CallId, dst: Reg) {
        let program = std::sync::Arc::as_ptr(&self.program);
        // SAFETY: the program is immutable and outlives the run; lowering made the slots consistent.
        unsafe {
            let program = &*program;
            let callee = program.functions.get_unchecked(function.0 as usize);
            let body = callee.body.as_ref().expect("called functions have bodies");
            let site = program.calls.get_unchecked(call.0 as usize);
            let caller = (*thread).frames.last().expect("a call has a caller").function;
            let caller_slots =
                program.functions[caller.0 as usize].body.as_ref().map_or(0, |b| b.slots);
            let at = (*thread).at;
            let fp = at.fp.add(caller_slots as usize);
            self.check_depth(thread, fp, body.slots as usize + body.frame_bytes as usize / 8);
            for (arg, (to, slots)) in site.args.iter().zip(&body.params) {
                let from = at.fp.add(arg.reg as usize);
                if *slots == 1 {
                    *fp.add(*to as usize) = *from;
                } else {
                    std::ptr::copy_nonoverlapping(
                        from,
                        fp.add(*to as usize),
                        (*slots).min(arg.slots) as usize,
                    );
                }
            }
            // A call through a wrong declaration may pass too little.
            for (to, slots) in body.params.iter().skip(site.args.len()) {
                fp.add(*to as usize).write_bytes(0, *slots as usize);
            }
            let slot = (*thread).slot;
            let caller_top = self.memory.stack_top[slot];
            let mut top = caller_top;
            let mut varargs = 0;
            if callee.signature.variadic {
                (varargs, top) = crate::native::push_varargs(site, body.params.len(), at.fp, top);
            }
            (*thread).frames.push(Frame {
                function,
                caller: Cursor { pc: at.pc.add(1), ..at },
                caller_top,
                dst,
                varargs,
                entry: false,
                atomic: body.atomic,
            });
            self.begin_body(thread, body, fp, top);
        }
    }

    /// Constants, frame memory and position of a function just entered.
    unsafe fn begin_body(
        &mut self,
        thread: *mut Thread,
        body: &unravel_program::Body,
        fp: *mut u64,
        top: u64,
    ) {
        // SAFETY: `check_depth` made sure that slots and frame memory are there.
        unsafe {
            std::ptr::copy_nonoverlapping(
                body.constants.as_ptr(),
                fp.add(body.constants_at as usize),
                body.constants.len(),
            );
            let base = (top + 15) & !15;
            self.memory.set_stack_top((*thread).slot, base + u64::from(body.frame_bytes));
            (*thread).at = Cursor { pc: body.code.as_ptr(), fp, base };
            if body.atomic {
                self.enter_atomic();
            }
        }
    }

    fn check_depth(&mut self, thread: *mut Thread, fp: *mut u64, room: usize) {
        self.fuel -= 1;
        // SAFETY: `thread` is the current thread.
        let (used, slot) =
            unsafe { (fp.offset_from((*thread).registers) as usize + room, (*thread).slot) };
        let limit = STACKS + (slot as u64 + 1) * STACK_SIZE - STACK_MARGIN;
        let top = self.memory.stack_top[slot] + room as u64 * 8;
        if used + REGISTER_MARGIN > REGISTERS || top > limit {
            self.fail(FailureKind::StackOverflow, "too many nested calls");
        }
        if self.fuel < 0 {
            self.loop_limit();
        }
    }

    /// A loop ran long: a busy wait, or the bound of the run.
    fn loop_limit(&mut self) {
        if self.fuel < 0 {
            self.finish_inconclusive(format!(
                "the bound of {} steps was reached",
                self.limits.max_steps
            ));
        }
        let site = self.current_site();
        self.long_loop(site);
    }

    /// The site of the current thread's saved position.
    pub fn current_site(&self) -> SiteId {
        let thread = &self.threads[self.current];
        let Some(frame) = thread.frames.last() else { return SiteId(0) };
        let Some(body) = &self.program.function(frame.function).body else { return SiteId(0) };
        // SAFETY: the position is inside this function's code.
        let index = unsafe { thread.at.pc.offset_from(body.code.as_ptr()) } as usize;
        body.places.get(index).copied().unwrap_or(SiteId(0))
    }

    /// Calls a function from Rust and runs it to its end; an exception that leaves it is a failure.
    pub fn call_to_end(&mut self, function: FunctionId, args: &[u64]) -> u64 {
        match self.try_call(function, args) {
            Ok(value) => value,
            Err(Uncaught) => self.fail_uncaught(),
        }
    }

    /// Calls whatever is at an address: a function of the program, a modelled or a native one.
    pub fn call_address(&mut self, address: u64, args: &[u64]) -> u64 {
        match self.try_call_address(address, args) {
            Ok(value) => value,
            Err(Uncaught) => self.fail_uncaught(),
        }
    }

    /// The same, with an exception passed on.
    pub fn try_call_address(&mut self, address: u64, args: &[u64]) -> Result<u64, Uncaught> {
        match self.program.function_at(address) {
            Some(function) => self.try_call(function, args),
            None => self.try_call_native(address, args),
        }
    }

    pub fn try_call(&mut self, function: FunctionId, args: &[u64]) -> Result<u64, Uncaught> {
        let program = self.program.clone();
        let Some(body) =
            program.function(function).body.as_ref().filter(|_| self.has_body(function))
        else {
            return self.call_external_words(function, args);
        };
        let thread: *mut Thread = &mut *self.threads[self.current];
        // SAFETY: the current thread, at a saved position; the frame is built as `enter` does.
        unsafe {
            let at = (*thread).at;
            let fp = match (*thread).frames.last() {
                None => (*thread).registers,
                Some(frame) => {
                    let slots =
                        program.function(frame.function).body.as_ref().map_or(0, |b| b.slots);
                    at.fp.add(slots as usize)
                }
            };
            self.check_depth(thread, fp, body.slots as usize + body.frame_bytes as usize / 8);
            let mut next = args.iter();
            for (to, slots) in &body.params {
                for slot in 0..*slots {
                    *fp.add((to + slot) as usize) = next.next().copied().unwrap_or(0);
                }
            }
            let top = self.memory.stack_top[(*thread).slot];
            (*thread).frames.push(Frame {
                function,
                caller: at,
                caller_top: top,
                dst: 0,
                varargs: top,
                entry: true,
                atomic: body.atomic,
            });
            self.begin_body(thread, body, fp, top);
            // Nothing may own memory beyond this point: the run may end inside.
            drop(program);
            self.interpret()?;
        }
        Ok(self.natives.returned[0])
    }

    /// What an access at a visible or learning site does before it happens.
    pub fn before_access(
        &mut self,
        flags: u8,
        address: u64,
        bytes: u64,
        write: bool,
        site: SiteId,
    ) {
        if flags & WATCH != 0 {
            // A loop that looks at memory is no empty one.
            self.threads[self.current].empty_loops = 0;
        }
        if flags & POINT != 0 {
            let op = if write { Op::Write } else { Op::Read };
            self.point(op, address, bytes as u32, site, Need::Nothing);
        }
        if flags & LEARN != 0 {
            self.sharing.access(address, bytes, write, self.current as u32, site);
        }
    }

    fn before_atomic(&mut self, flags: u8, address: u64, bytes: u64, site: SiteId) {
        if flags & WATCH != 0 {
            self.threads[self.current].empty_loops = 0;
        }
        if flags & POINT != 0 {
            self.point(Op::Update, address, bytes as u32, site, Need::Nothing);
        }
        if flags & LEARN != 0 {
            self.sharing.access(address, bytes, true, self.current as u32, site);
        }
    }

    pub fn enter_atomic(&mut self) {
        if self.alive > 1 && self.threads[self.current].atomic == 0 {
            let site = self.current_site();
            self.point(Op::Fence, 0, 0, site, Need::Nothing);
            self.record(site, EventKind::AtomicBegin);
        }
        self.threads[self.current].atomic += 1;
        self.update_flags();
    }

    pub fn leave_atomic(&mut self) {
        let thread = &mut self.threads[self.current];
        thread.atomic = thread.atomic.saturating_sub(1);
        if thread.atomic == 0 {
            self.progress += 1;
        }
        self.update_flags();
    }

    fn call_external(
        &mut self,
        function: FunctionId,
        call: CallId,
        dst: Reg,
        fp: *mut u64,
    ) -> Flow {
        match self.externals[function.0 as usize] {
            Resolved::Model(model) => {
                let program = std::sync::Arc::as_ptr(&self.program);
                // SAFETY: the program is immutable and outlives the run.
                let site = unsafe { (*program).call(call) };
                let flow = model(self, Args::new(site, fp));
                // SAFETY: `dst` has room for the result.
                unsafe { crate::models::store_result(site, flow, dst, fp) };
                flow
            }
            Resolved::Native { address, event } => {
                self.call_native(function, (address, event), call, dst, fp)
            }
            Resolved::Assembly { address } => {
                self.call_assembly(function, address, call, dst, fp);
                crate::models::OK
            }
            Resolved::Missing => {
                let name = self.program.function(function).name.clone();
                self.finish_inconclusive(format!("the function '{name}' is not known"))
            }
            Resolved::Body => unreachable!("a function with a body is not external"),
        }
    }
}

/// Reads `bytes` bytes into slots, zero-extended; if `bits` is not 0 only the low bits count.
///
/// # Safety
/// The memory was checked, and the slots are there.
unsafe fn load_bytes(dst: *mut u64, address: u64, bytes: u32, bits: u8) {
    unsafe {
        copy_to_slots(dst, address as *const u8, bytes as usize);
        match bits {
            0 | 64 | 128 => {}
            1..64 => *dst &= arith::mask(bits),
            _ => *dst.add(1) &= arith::mask(bits - 64),
        }
    }
}

/// Copies bytes to the start of whole slots, zeroing the rest of the last one. They may overlap.
///
/// # Safety
/// `from` has `bytes` bytes, `dst` as many rounded up to slots.
unsafe fn copy_to_slots(dst: *mut u64, from: *const u8, bytes: usize) {
    unsafe {
        if bytes < 8 {
            let mut word = 0u64;
            std::ptr::copy_nonoverlapping(from, (&raw mut word).cast(), bytes);
            *dst = word;
        } else {
            std::ptr::copy(from, dst.cast(), bytes);
            let rest = bytes % 8;
            if rest != 0 {
                let last = dst.add(bytes / 8) as *mut u8;
                last.add(rest).write_bytes(0, 8 - rest);
            }
        }
    }
}

/// # Safety
/// The memory was checked.
pub(crate) unsafe fn load_word(address: u64, bytes: u64) -> u64 {
    let mut word = 0u64;
    unsafe {
        std::ptr::copy_nonoverlapping(
            address as *const u8,
            (&raw mut word).cast(),
            bytes.min(8) as usize,
        )
    };
    word
}

/// # Safety
/// The memory was checked.
pub(crate) unsafe fn store_word(address: u64, bytes: u64, word: u64) {
    unsafe {
        std::ptr::copy_nonoverlapping(
            (&raw const word).cast(),
            address as *mut u8,
            bytes.min(8) as usize,
        )
    };
}
