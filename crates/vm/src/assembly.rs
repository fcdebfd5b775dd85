//! Inline assembly: machine code of the program, executed as one event.
//!
//! The code works directly on the arena, as native functions do. What it accesses besides its declared
//! operands is not known, so accesses are neither checked nor recorded one by one: of a memory operand the
//! first byte is checked, and behind an address in a register only that it is not freed.
//!
//! Errs towards too few interleavings: `incl` without a `lock` prefix is as indivisible here as with one.
//! The processor's floating-point modes belong to the process: a thread that changes them by assembly
//! changes them for all threads of the run.

use std::hash::Hasher;
use std::sync::Arc;

use rustc_hash::FxHasher;
use unravel_code::layout::{ARENA_END, TIME_STAMP};
use unravel_code::{Abi, CallId, FunctionId, MachineCode, Program, Reg};
use unravel_trace::{EventKind, Op, SiteId};

use crate::error::VmError;
use crate::guard;
use crate::machine::Machine;
use crate::memory::{Fault, in_arena};
use crate::resolve::Resolved;
use crate::site_tables::LEARN;
use crate::thread::Need;

/// See [`MachineCode`].
type Code = extern "C" fn(arguments: *const *const u64, result: *mut u64);

/// Code starts at multiples of this, the most that assembly aligns its loops to.
const ALIGN: usize = 64;
/// More arguments than assembly can have operands.
const MOST: usize = 64;
/// How much memory behind an address is looked at to see whether the code changed something.
const LOOK: u64 = 64;
/// Bytes accessed at an address in a register, as far as anybody knows.
const GUESS: u64 = 8;

/// Memory that the code was given the address of.
#[derive(Clone, Copy)]
struct Operand {
    address: u64,
    bytes: u64,
    /// Declared as a memory operand; otherwise an address in a register.
    declared: bool,
}

/// Maps the machine code of the program, once for the process, and says where each piece is.
pub(crate) fn place(program: &Program, externals: &mut [Resolved]) -> Result<(), VmError> {
    let codes = || {
        program.functions.iter().zip(0..).filter_map(|(f, i)| Some((i, f.machine_code.as_ref()?)))
    };
    let room = |code: &MachineCode| code.bytes.len().next_multiple_of(ALIGN);
    let total: usize = codes().map(|(_, code)| room(code)).sum();
    if total == 0 {
        return Ok(());
    }
    let failed = || VmError::Map { bytes: total as u64, source: std::io::Error::last_os_error() };
    // SAFETY: a new anonymous mapping, large enough for all pieces; it is never unmapped.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start = libc::mmap(std::ptr::null_mut(), total, protection, flags, -1, 0);
        if start == libc::MAP_FAILED {
            return Err(failed());
        }
        let mut at = start.cast::<u8>();
        for (index, code) in codes() {
            at.copy_from_nonoverlapping(code.bytes.as_ptr(), code.bytes.len());
            externals[index] = Resolved::Assembly { address: at as u64 };
            at = at.add(room(code));
        }
        if libc::mprotect(start, total, libc::PROT_READ | libc::PROT_EXEC) != 0 {
            return Err(failed());
        }
    }
    Ok(())
}

/// Rounding, masks and the like as a process starts with them: the last run may have changed them.
pub(crate) fn reset_float_modes() {
    static MXCSR: u32 = 0x1f80;
    static CONTROL: u16 = 0x37f;
    // SAFETY: the defaults, which Rust code expects.
    unsafe {
        std::arch::asm!(
            "ldmxcsr [{}]",
            "fldcw [{}]",
            in(reg) &raw const MXCSR,
            in(reg) &raw const CONTROL,
            options(nostack, preserves_flags),
        );
    }
}

impl Machine {
    /// Executes the machine code at `address`: one event, if others may see what it does.
    pub fn call_assembly(
        &mut self,
        function: FunctionId,
        address: u64,
        call: CallId,
        dst: Reg,
        fp: *mut u64,
    ) {
        let program = Arc::as_ptr(&self.program);
        // SAFETY: the program is immutable and outlives the run.
        let (code, call) = unsafe {
            let code = (*program).function(function).machine_code.as_ref();
            (code.expect("assembly has machine code"), (*program).call(call))
        };
        if call.args.len() > MOST {
            self.finish_inconclusive(format!("inline assembly has more than {MOST} operands"));
        }
        let mut arguments = [std::ptr::null::<u64>(); MOST];
        let mut operands = [Operand { address: 0, bytes: 0, declared: false }; MOST];
        let mut count = 0;
        for (i, arg) in call.args.iter().enumerate() {
            // SAFETY: a slot of the caller's frame.
            let slot = unsafe { fp.add(arg.reg as usize) };
            arguments[i] = slot;
            let bytes = u64::from(code.memory[i]);
            // A number may be an address too.
            let pointer = matches!(arg.abi, Abi::Pointer | Abi::Int { bits: 64, .. });
            // SAFETY: as above; the value of a pointer or number is in its first slot.
            let address = unsafe { *slot };
            if bytes > 0 || pointer && in_arena(address) {
                let declared = bytes > 0;
                let bytes = if declared { bytes } else { GUESS };
                operands[count] = Operand { address, bytes, declared };
                count += 1;
            }
        }
        let operands = &operands[..count];
        if code.visible {
            self.before_assembly(operands, call.site);
        }
        if code.reads_time {
            // SAFETY: in the arena, and nobody else's.
            unsafe { *(TIME_STAMP as *mut u64) = self.read_clock(call.site) };
        }
        let before = digest(operands);
        // SAFETY: lowering made the code for these arguments and this result, whose slots are zeroed as it
        // expects. What it does to memory is the program's doing; a crash is caught.
        unsafe {
            let result = fp.add(dst as usize);
            result.write_bytes(0, call.result_slots as usize);
            let code = std::mem::transmute::<usize, Code>(address as usize);
            guard::enter_native();
            code(arguments.as_ptr(), result);
            guard::leave_native();
        }
        if code.visible && self.alive > 1 {
            if before.is_none() || before != digest(operands) {
                self.made_progress();
            }
            if self.recorder.is_on() {
                self.record(call.site, EventKind::External { name: "inline assembly".into() });
            }
        }
    }

    /// Waits for its turn, and looks at the memory that the code is going to use.
    fn before_assembly(&mut self, operands: &[Operand], site: SiteId) {
        if self.alive > 1 {
            match operands.iter().find(|operand| in_arena(operand.address)) {
                Some(operand) => {
                    let bytes = operand.bytes.min(LOOK) as u32;
                    self.point(Op::Update, operand.address, bytes, site, Need::Nothing);
                }
                None => self.point(Op::External, 0, 0, site, Need::Nothing),
            }
        }
        // SAFETY: the table has an entry for each site.
        let flags = unsafe { *self.site_flags.add(site.index()) };
        for operand in operands {
            if flags & LEARN != 0 {
                let bytes = operand.bytes.min(LOOK);
                let who = self.accessor();
                self.sharing.learn(operand.address, bytes, true, (who, true), site);
            }
            // An operand may be declared larger than it is, and an address in a register may be behind the end
            // of an object: there `rep movsb` copies nothing.
            match self.memory.check(operand.address, 1) {
                Err(fault) if operand.declared || fault == Fault::Freed => {
                    self.fail_access(operand.address, operand.bytes, true, fault)
                }
                _ => {}
            }
        }
    }
}

/// What memory operands hold, in short; `None` if some are not known.
fn digest(operands: &[Operand]) -> Option<u64> {
    let mut hasher = FxHasher::default();
    for operand in operands {
        if !in_arena(operand.address) {
            return None;
        }
        let bytes = if operand.declared { operand.bytes.min(LOOK) } else { LOOK };
        let bytes = bytes.min(ARENA_END - operand.address) as usize;
        // SAFETY: the whole arena is readable.
        hasher.write(unsafe { std::slice::from_raw_parts(operand.address as *const u8, bytes) });
    }
    Some(hasher.finish())
}
