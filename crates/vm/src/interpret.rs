//! The interpreter's loop.
//!
//! Registers and position live in local variables; they are written back to the thread ("saved") before
//! anything that may look at them: a point, a call of a model or of native code, a failure.

use unravel_code::compiled::{Compiled, NO_ENTRY};
use unravel_code::layout::{BLOCKS, BLOCKS_PER_FUNCTION, STACK_SIZE, STACKS};
use unravel_code::{FunctionId, Inst};
use unravel_trace::{Deviation, EventKind, FailureKind, Op};

use crate::arith;
use crate::budgets::FRESH;
use crate::engine::Shortcuts;
use crate::machine::{Machine, State};
use crate::models::Flow;
use crate::resolve::Resolved;
use crate::site_tables::{POINT, RECORD, WATCH};
use crate::thread::{Cursor, Frame, Need, Thread};

/// Room left at the end of a stack for native callees' needs and error reports.
pub(crate) const STACK_MARGIN: u64 = 64 << 10;
pub(crate) const REGISTER_MARGIN: usize = 64 << 10;

/// An exception left the function that Rust code called; it is in `Thread::thrown`.
#[derive(Debug)]
pub(crate) struct Uncaught;

impl Machine {
    /// Runs the current thread until the innermost frame entered from Rust returns.
    ///
    /// # Safety
    /// The thread's position is inside a function of the program.
    pub unsafe fn interpret(&mut self) -> Result<(), Uncaught> {
        // SAFETY: as promised above.
        unsafe {
            match (self.concolic.is_on(), self.follower.is_some()) {
                (true, _) => self.interpret_as::<true, false>(),
                (false, true) => self.interpret_as::<false, true>(),
                (false, false) => self.interpret_as::<false, false>(),
            }
        }
    }

    /// With `SYMBOLIC`, shadows follow (see [`crate::symbolic`]); with `ROUTE`, threads keep to theirs (see [`crate::follow`]);
    /// else compiled code runs where there is any (see [`crate::engine`]). Without any it is this same function: native
    /// code may let the program see where its own stack is, which must not depend on the engine.
    ///
    /// # Safety
    /// As for `interpret`.
    unsafe fn interpret_as<const SYMBOLIC: bool, const ROUTE: bool>(
        &mut self,
    ) -> Result<(), Uncaught> {
        // What the loop uses all the time, without the way through the handle. Pointers, because others run at points.
        let state: *mut State = self.state().as_ptr();
        let thread: *mut Thread = self.threads.pointer(self.current);
        // SAFETY: the thread stays where it is until the run is over.
        let (at, frame) = unsafe { ((*thread).at, (*thread).frames.last()) };
        let Cursor { mut pc, mut fp, mut base } = at;
        let mut code: *const Inst = self.code_of(frame);
        let mut steps: u64 = 0;
        // Null if nothing may be compiled.
        let shortcuts: *mut Shortcuts = self.shortcuts();
        // Compiled code of the running function, or null.
        let mut compiled: *const Compiled = std::ptr::null();

        macro_rules! function {
            () => {
                (&(*thread).frames).last().expect("in a function").function
            };
        }
        // Of the function that has just become the running one.
        macro_rules! find_shortcut {
            () => {
                if !SYMBOLIC && !ROUTE && !shortcuts.is_null() {
                    compiled = (*shortcuts).of(function!());
                }
            };
        }
        // The running function was met once more.
        macro_rules! meet {
            () => {
                if !SYMBOLIC && !ROUTE && !shortcuts.is_null() && compiled.is_null() {
                    let program = std::sync::Arc::as_ptr(&(*state).program);
                    compiled = (*shortcuts).meet(&*program, function!(), (*state).fuel);
                }
            };
        }
        // Runs compiled code from here on, if there is an entry.
        macro_rules! shortcut {
            () => {
                if !SYMBOLIC && !ROUTE && !compiled.is_null() {
                    let entry =
                        *(&(*compiled).entries).get_unchecked(pc.offset_from(code) as usize);
                    if entry != NO_ENTRY {
                        let left =
                            Shortcuts::run(shortcuts, state, thread, compiled, (fp, base), entry);
                        (fp, base) = (left.fp, left.base);
                        code = (*state).code_of((&(*thread).frames).last());
                        find_shortcut!();
                        pc = code.add(left.at);
                        steps += left.steps;
                    }
                }
            };
        }

        macro_rules! reg {
            ($r:expr) => {
                *fp.add($r as usize)
            };
        }
        macro_rules! save {
            () => {{
                (*thread).at = Cursor { pc, fp, base };
                (*state).steps += steps;
                #[allow(unused_assignments)]
                {
                    steps = 0;
                }
            }};
        }
        macro_rules! reload {
            () => {{
                Cursor { pc, fp, base } = (*thread).at;
                code = (*state).code_of((*thread).frames.last());
                find_shortcut!();
            }};
        }
        macro_rules! jump {
            ($to:expr) => {{
                let next = code.add($to as usize);
                if next <= pc {
                    (*state).fuel -= 1;
                    (*thread).jumps += 1;
                    if (*thread).jumps > Machine::max_jumps() || (*state).fuel < 0 {
                        save!();
                        self.loop_limit();
                    }
                    pc = next;
                    meet!();
                    shortcut!();
                    continue;
                }
                pc = next;
                continue;
            }};
        }
        // With shadows, [`Machine::shadow_step`] has said whether its condition holds; `$when` is what that means.
        macro_rules! branch {
            ($holds:expr, $when:expr, $then:expr, $other:expr) => {{
                let taken =
                    if SYMBOLIC { ((*state).concolic.direction != 0) == $when } else { $holds };
                let to = if taken { $then } else { $other };
                if ROUTE {
                    save!();
                    self.keep_to_route(to);
                }
                jump!(to)
            }};
        }
        macro_rules! check {
            ($address:expr, $bytes:expr, $write:expr) => {
                if !(*state).memory.is_plain($address, $bytes) {
                    save!();
                    if let Err(fault) = self.memory.check($address, $bytes)
                        && !(SYMBOLIC && self.tolerates(fault))
                    {
                        self.fail_access($address, $bytes, $write, fault);
                    }
                }
            };
        }
        macro_rules! load {
            ($ty:ty, $dst:expr, $ptr:expr, $site:expr) => {{
                let address = reg!($ptr);
                let flags = *(*state).site_flags.add($site.index());
                if flags != 0 {
                    save!();
                    self.before_access(flags, address, size_of::<$ty>() as u64, false, $site);
                }
                check!(address, size_of::<$ty>() as u64, false);
                let value = (address as *const $ty).read_unaligned() as u64;
                reg!($dst) = value;
                if flags & RECORD != 0
                    || SYMBOLIC && self.is_event_after_all(address, size_of::<$ty>() as u64)
                {
                    self.record_read(address, size_of::<$ty>() as u64, $site);
                }
                if SYMBOLIC {
                    self.shadow_load(fp, $dst, address, size_of::<$ty>() as u32, 0);
                }
            }};
        }
        macro_rules! store {
            ($ty:ty, $src:expr, $ptr:expr, $site:expr) => {{
                let address = reg!($ptr);
                let mut flags = *(*state).site_flags.add($site.index());
                if flags != 0 {
                    save!();
                    self.before_access(flags, address, size_of::<$ty>() as u64, true, $site);
                }
                check!(address, size_of::<$ty>() as u64, true);
                let value = reg!($src) as $ty;
                if SYMBOLIC {
                    if self.is_event_after_all(address, size_of::<$ty>() as u64)
                        || self.stores_input(fp, $src, size_of::<$ty>() as u32)
                    {
                        flags |= RECORD;
                    }
                    if flags & RECORD != 0 {
                        self.before_write(address, size_of::<$ty>() as u64);
                    }
                    self.shadow_store(fp, $src, address, size_of::<$ty>() as u32);
                }
                if flags & (POINT | RECORD | WATCH) != 0 {
                    let changes = (address as *const $ty).read_unaligned() != value;
                    if changes && flags & (POINT | WATCH) != 0 {
                        self.stored(flags & POINT != 0);
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
                let top = (&(*state).memory.stack_top)[(*thread).slot];
                if $address < base || $address + $bytes > top {
                    save!();
                    self.fail(FailureKind::OutOfBounds, "index outside of a local array");
                }
            };
        }
        // Behind an instruction that compiled code leaves to us.
        macro_rules! go_on {
            () => {
                if !SYMBOLIC && !ROUTE && !compiled.is_null() {
                    pc = pc.add(1);
                    shortcut!();
                    continue;
                }
            };
        }
        macro_rules! call_external {
            ($function:expr, $call:expr, $dst:expr) => {{
                save!();
                if SYMBOLIC {
                    self.shadow_before_call($function, $call, $dst, fp);
                }
                let flow = self.call_external($function, $call, $dst, fp);
                if SYMBOLIC {
                    self.shadow_after_call($call, $dst, fp, flow);
                }
                match flow {
                    Flow::Jump => {
                        reload!();
                        continue;
                    }
                    Flow::Throw => {
                        self.unwind()?;
                        reload!();
                        continue;
                    }
                    _ => go_on!(),
                }
            }};
        }

        // SAFETY: the state's shortcuts stay where they are as long as it lives, and the thread is at this position.
        unsafe {
            find_shortcut!();
            meet!();
            shortcut!();
        }
        loop {
            steps += 1;
            // SAFETY: lowering guarantees that slots, targets and indices are within
            // the frame, the function and the program's tables, and that every block ends in a
            // terminator; memory accesses are checked above.
            unsafe {
                if SYMBOLIC {
                    save!();
                    self.shadow_step(pc, fp, base);
                }
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
                                let zero = reg!(b) == 0;
                                let what = if zero {
                                    "division by zero"
                                } else {
                                    "the quotient does not fit"
                                };
                                self.fail(FailureKind::DivisionByZero, what);
                            }
                        }
                    }
                    Inst::BinWide { op, bits, dst, a, b } => {
                        let (x, y) = (arith::wide(fp, a), arith::wide(fp, b));
                        match arith::binary_wide(op, bits, x, y) {
                            Some(value) => {
                                arith::set_wide(fp, dst, value);
                                go_on!();
                            }
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
                        let flags = *(*state).site_flags.add(site.index());
                        if flags != 0 {
                            save!();
                            self.before_access(flags, address, count, false, site);
                        }
                        check!(address, count, false);
                        load_bytes(fp.add(dst as usize), address, bytes, bits);
                        if flags & RECORD != 0
                            || SYMBOLIC && self.is_event_after_all(address, count)
                        {
                            self.record_read(address, count, site);
                        }
                        if SYMBOLIC {
                            self.shadow_load(fp, dst, address, bytes, bits);
                        }
                        go_on!();
                    }
                    Inst::Store8 { src, ptr, site } => store!(u8, src, ptr, site),
                    Inst::Store16 { src, ptr, site } => store!(u16, src, ptr, site),
                    Inst::Store32 { src, ptr, site } => store!(u32, src, ptr, site),
                    Inst::Store64 { src, ptr, site } => store!(u64, src, ptr, site),
                    Inst::StoreN { src, ptr, bytes, site } => {
                        let (address, count) = (reg!(ptr), u64::from(bytes));
                        let mut flags = *(*state).site_flags.add(site.index());
                        if flags != 0 {
                            save!();
                            self.before_access(flags, address, count, true, site);
                        }
                        check!(address, count, true);
                        if SYMBOLIC {
                            if self.is_event_after_all(address, count)
                                || self.stores_input(fp, src, bytes)
                            {
                                flags |= RECORD;
                            }
                            if flags & RECORD != 0 {
                                self.before_write(address, count);
                            }
                            self.shadow_store(fp, src, address, bytes);
                        }
                        let from = fp.add(src as usize) as *const u8;
                        std::ptr::copy_nonoverlapping(from, address as *mut u8, bytes as usize);
                        if flags & (POINT | WATCH) != 0 {
                            self.stored(flags & POINT != 0);
                        }
                        self.record_write(flags, address, count, site);
                        go_on!();
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
                        if SYMBOLIC {
                            self.shadow_load(fp, dst, address, bytes, bits);
                        }
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
                        if SYMBOLIC {
                            self.shadow_store(fp, src, address, bytes);
                        }
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
                        let at = (&(*state).memory.stack_top)[slot]
                            .next_multiple_of(u64::from(align.max(16)));
                        let size = reg!(count).saturating_mul(u64::from(bytes));
                        let limit = STACKS + (slot as u64 + 1) * STACK_SIZE - STACK_MARGIN;
                        if size > STACK_SIZE || at + size > limit {
                            save!();
                            self.fail(
                                FailureKind::StackOverflow,
                                "no room on the stack for a variable-length array",
                            );
                        }
                        (*state).memory.set_stack_top(slot, at + size);
                        let pattern = (*state).limits.uninit.pattern;
                        (at as *mut u8).write_bytes(pattern, (size as usize).min(FRESH));
                        self.leave_undefined(at, size);
                        reg!(dst) = at;
                    }
                    Inst::CopyToFrame { offset, src, bytes } => {
                        let from = reg!(src);
                        check!(from, u64::from(bytes), false);
                        let to = (base + u64::from(offset)) as *mut u8;
                        if SYMBOLIC {
                            self.shadow_copy(from, to as u64, u64::from(bytes));
                        }
                        std::ptr::copy(from as *const u8, to, bytes as usize);
                        self.define(to as u64, u64::from(bytes));
                        go_on!();
                    }

                    Inst::Jump { to } => jump!(to),
                    Inst::Branch { cond, then, other } => {
                        branch!(reg!(cond) & 1 != 0, true, then, other)
                    }
                    Inst::BranchEq { a, b, then, other } => {
                        branch!(reg!(a) == reg!(b), true, then, other)
                    }
                    Inst::BranchNe { a, b, then, other } => {
                        branch!(reg!(a) != reg!(b), false, then, other)
                    }
                    Inst::BranchSlt32 { a, b, then, other } => {
                        branch!((reg!(a) as i32) < (reg!(b) as i32), true, then, other)
                    }
                    Inst::BranchSlt64 { a, b, then, other } => {
                        branch!((reg!(a) as i64) < (reg!(b) as i64), true, then, other)
                    }
                    Inst::BranchUlt { a, b, then, other } => {
                        branch!(reg!(a) < reg!(b), true, then, other)
                    }
                    Inst::Switch { value, table } => {
                        let switch = self.program.switches.get_unchecked(table as usize);
                        let to = if SYMBOLIC {
                            (*state).concolic.direction
                        } else {
                            switch.cases.get(&reg!(value)).copied().unwrap_or(switch.default)
                        };
                        if ROUTE {
                            save!();
                            self.keep_to_route(to);
                        }
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
                        if SYMBOLIC {
                            self.shadow_enter(fp, function, call);
                        }
                        reload!();
                        meet!();
                        shortcut!();
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
                                if SYMBOLIC {
                                    self.shadow_enter(fp, function, call);
                                }
                                reload!();
                                meet!();
                                shortcut!();
                                continue;
                            }
                            Some(function) => call_external!(function, call, dst),
                            None => {
                                save!();
                                if SYMBOLIC {
                                    self.shadow_before_native(call, dst, fp);
                                }
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
                            (*state).memory.set_stack_top((*thread).slot, frame.caller_top);
                            Cursor { pc, fp, base } = frame.caller;
                            save!();
                            return Ok(());
                        }
                        (*state).memory.set_stack_top((*thread).slot, frame.caller_top);
                        Cursor { pc, fp, base } = frame.caller;
                        if slots == 1 {
                            reg!(frame.dst) = *from;
                        } else {
                            std::ptr::copy(from, fp.add(frame.dst as usize), slots as usize);
                        }
                        code = (*state).code_of((*thread).frames.last());
                        find_shortcut!();
                        shortcut!();
                        continue;
                    }
                    Inst::ReturnVoid => {
                        let frame = (*thread).frames.pop().expect("returns from a frame");
                        if frame.atomic {
                            self.leave_atomic();
                        }
                        (*state).memory.set_stack_top((*thread).slot, frame.caller_top);
                        Cursor { pc, fp, base } = frame.caller;
                        if frame.entry {
                            self.natives.returned[0] = 0;
                            save!();
                            return Ok(());
                        }
                        code = (*state).code_of((*thread).frames.last());
                        find_shortcut!();
                        shortcut!();
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
                        let (object, operand) = ((reg!(ptr), 16), arith::wide(fp, value));
                        save!();
                        if SYMBOLIC {
                            self.shadow_before_wide_update(fp, value, dst);
                        }
                        let old = self.update_atomically(op, object, operand, site);
                        arith::set_wide(fp, dst, old);
                        if SYMBOLIC {
                            self.shadow_after_wide_update(fp, dst);
                        }
                    }
                    Inst::Rmw { op, bits, dst, ptr, value, site } => {
                        let (address, count) = (reg!(ptr), u64::from(bits) / 8);
                        let flags = *(*state).site_flags.add(site.index());
                        save!();
                        self.before_atomic(flags, address, count, site);
                        check!(address, count, true);
                        let old = load_word(address, count);
                        let new = arith::update(op, bits, old, reg!(value));
                        if SYMBOLIC {
                            let record = flags & RECORD != 0;
                            self.shadow_rmw(op, fp, (dst, value), (address, count), new, record);
                        }
                        store_word(address, count, new);
                        reg!(dst) = old;
                        if old != new {
                            self.made_progress();
                        }
                        if SYMBOLIC && flags & RECORD != 0 {
                            self.wrote_symbolically(address, count);
                        }
                        if flags & RECORD != 0 {
                            self.record_update(address, count, old, new, site);
                        }
                        go_on!();
                    }
                    Inst::CmpXchg { bits, weak, dst, ptr, expected, new, site } => {
                        let (address, count) = (reg!(ptr), u64::from(bits) / 8);
                        let flags = *(*state).site_flags.add(site.index());
                        save!();
                        let bytes = count as usize;
                        let wanted = std::slice::from_raw_parts(
                            fp.add(expected as usize) as *const u8,
                            bytes,
                        );
                        self.before_exchange(flags, address, wanted, site);
                        check!(address, count, true);
                        let mut old = [0u64; 2];
                        std::ptr::copy_nonoverlapping(
                            address as *const u8,
                            old.as_mut_ptr().cast(),
                            bytes,
                        );
                        let found = std::slice::from_raw_parts(old.as_ptr() as *const u8, bytes);
                        let equal = wanted == found;
                        let equal = if SYMBOLIC { self.guided_answer(equal) } else { equal };
                        let fails = weak && equal && self.deviate(Deviation::WeakFailure, site);
                        let equal = equal && !fails;
                        let new_value = reg!(new);
                        let record = flags & RECORD != 0;
                        let exchange = SYMBOLIC.then(|| {
                            let at = (address, equal);
                            self.shadow_exchange(fp, bits, at, (expected, new), record)
                        });
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
                        if SYMBOLIC && record && equal {
                            self.wrote_symbolically(address, count);
                        }
                        if record {
                            let after =
                                if equal { new_value & arith::mask(bits.min(64)) } else { old[0] };
                            self.record_update(address, count, old[0], after, site);
                        }
                        if let Some(exchange) = exchange {
                            self.shadow_exchanged(fp, dst, bits, exchange, (equal, !fails));
                        }
                        go_on!();
                    }
                    Inst::Fence { site } => {
                        if (*state).alive > 1 {
                            save!();
                            self.point(Op::Fence, 0, 0, site, Need::Nothing);
                            self.record(site, EventKind::Fence);
                        }
                    }
                    Inst::SpinHint { site } => {
                        if (*state).alive > 1 {
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
}

impl State {
    pub fn has_body(&self, function: FunctionId) -> bool {
        matches!(self.externals[function.0 as usize], Resolved::Body)
    }

    #[inline]
    fn code_of(&self, frame: Option<&Frame>) -> *const Inst {
        let frame = frame.expect("a running thread has a frame");
        let body = self.program.function(frame.function).body.as_ref();
        body.expect("only functions with bodies have frames").code.as_ptr()
    }
}

/// Reads `bytes` bytes into slots, zero-extended; if `bits` is not 0 only the low bits count.
///
/// # Safety
/// The memory was checked, and the slots are there.
unsafe fn load_bytes(dst: *mut u64, address: u64, bytes: u32, bits: u8) {
    // SAFETY: per the contract.
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
    // SAFETY: per the contract.
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
    // SAFETY: per the contract.
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
    // SAFETY: per the contract.
    unsafe {
        std::ptr::copy_nonoverlapping(
            (&raw const word).cast(),
            address as *mut u8,
            bytes.min(8) as usize,
        )
    };
}
