//! Lines of what may fault, after optimising: where a native program fails is a line of the user's, and has to be the one that the machine says.
//!
//! The machine has a place for each access. A native program has the line of an instruction, and three things happen to that between a module
//! and an object:
//!
//! - A processor reads memory and computes with what it read in one instruction, which gets the line of the computation. If that was the
//!   caller's of a small function that was put in line, the caller's line would be where a null pointer was followed. So what is computed
//!   with a value that was just read has the reader's line. Divisions keep theirs: they fail by themselves.
//! - Code that is moved out of a loop loses its line. The mark of its site is still there, and says it again.
//! - Code that two lines have in common has neither's. Compiling without what brings such code together ([`KEEP_APART`]) keeps it apart; calls that
//!   do not return are told apart by an attribute (`elements.rs`).
//!
//! What has no line after all that has none in the program either, and a log that ends there says nothing (`unravel_coop::read_native`).
//! *Not modelled*: a call through a pointer that is read by the same instruction has the line of the call.

use std::collections::HashMap;

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;

use crate::extract::{blocks_of, instructions_of};
use crate::module::{Module, ModuleError};

use super::sites_of;

/// What a compiler must not do to a program whose failures are to have a line, as options of LLVM.
pub const KEEP_APART: [&str; 4] = [
    "-simplifycfg-hoist-common=false",
    "-simplifycfg-sink-common=false",
    // A value that is read is widened by an instruction of its own, without a line.
    "-disable-cgp-ext-ld-promotion",
    "-enable-tail-merge=0",
];

/// By site: file and line, if it is the user's own code.
pub type SiteLines<'a> = dyn Fn(u32) -> Option<(String, u32)> + 'a;

/// Gives what may fault in an optimised module of `log_elements` its line.
pub fn settle_lines(optimised: &[u8], lines: &SiteLines<'_>) -> Result<Vec<u8>, ModuleError> {
    let module = Module::parse(optimised)?;
    // SAFETY: the module is live; the builder is disposed of before it.
    let builder = unsafe { LLVMCreateDIBuilder(module.raw) };
    let mut given = HashMap::new();
    for function in module.defined() {
        for block in blocks_of(function) {
            for instruction in instructions_of(block) {
                restore(&module, builder, function, instruction, lines);
                hand_on(&module, instruction, &mut given);
            }
        }
    }
    // SAFETY: made above, used by nobody any more.
    unsafe {
        LLVMDIBuilderFinalize(builder);
        LLVMDisposeDIBuilder(builder);
    }
    module.verify("settling lines")?;
    Ok(module.write())
}

fn has_line(location: LLVMMetadataRef) -> bool {
    // SAFETY: it is null or a location.
    !location.is_null() && unsafe { LLVMDILocationGetLine(location) } != 0
}

/// An access that has lost its line gets that of its site.
fn restore(
    module: &Module,
    builder: LLVMDIBuilderRef,
    function: LLVMValueRef,
    instruction: LLVMValueRef,
    lines: &SiteLines<'_>,
) {
    // SAFETY: all is of the live module; texts are passed with their lengths.
    unsafe {
        let now = LLVMInstructionGetDebugLoc(instruction);
        if has_line(now) || !may_fault(instruction) {
            return;
        }
        let Some(&[site]) = sites_of(module, instruction).as_deref() else { return };
        let Some((file, line)) = lines(site) else { return };
        let subprogram = LLVMGetSubprogram(function);
        if subprogram.is_null() {
            return;
        }
        let file =
            LLVMDIBuilderCreateFile(builder, file.as_ptr().cast(), file.len(), c"".as_ptr(), 0);
        let scope = LLVMDIBuilderCreateLexicalBlockFile(builder, subprogram, file, 0);
        let location =
            LLVMDIBuilderCreateDebugLocation(module.context, line, 0, scope, std::ptr::null_mut());
        LLVMInstructionSetDebugLoc(instruction, location);
    }
}

fn may_fault(instruction: LLVMValueRef) -> bool {
    // SAFETY: the instruction is live.
    let opcode = unsafe { LLVMGetInstructionOpcode(instruction) };
    use LLVMOpcode::*;
    matches!(opcode, LLVMLoad | LLVMStore | LLVMAtomicRMW | LLVMAtomicCmpXchg)
}

/// By computation: the read whose line it got.
type Given = HashMap<LLVMValueRef, LLVMMetadataRef>;

/// What one instruction may do together with a read gets the line of the read; of two reads on different lines, none, because either may
/// be the one.
fn hand_on(module: &Module, load: LLVMValueRef, given: &mut Given) {
    // SAFETY: the instruction is live, and so are its users.
    unsafe {
        if LLVMGetInstructionOpcode(load) != LLVMOpcode::LLVMLoad {
            return;
        }
        let location = LLVMInstructionGetDebugLoc(load);
        if !has_line(location) {
            return;
        }
        let mut give = |to: LLVMValueRef| {
            let first = *given.entry(to).or_insert(location);
            let line = match is_same_line(first, location) {
                true => location,
                false => nowhere(module, location),
            };
            LLVMInstructionSetDebugLoc(to, line);
        };
        let mut at = load;
        while let Some(user) = computed_with(at) {
            give(user);
            at = user;
        }
        // So are a test and the jump, and `*p = *p + 1`.
        if let Some(last) = only_user(at)
            && LLVMGetInstructionParent(last) == LLVMGetInstructionParent(load)
        {
            let same_address = || LLVMGetOperand(last, 1) == LLVMGetOperand(load, 0);
            match LLVMGetInstructionOpcode(last) {
                LLVMOpcode::LLVMStore if same_address() => give(last),
                LLVMOpcode::LLVMBr | LLVMOpcode::LLVMSwitch => give(last),
                _ => {}
            }
        }
    }
}

unsafe fn is_same_line(one: LLVMMetadataRef, other: LLVMMetadataRef) -> bool {
    // SAFETY: the caller has two locations, whose scopes have files.
    unsafe {
        let told = |of| {
            let file = LLVMDIScopeGetFile(LLVMDILocationGetScope(of));
            (file, LLVMDILocationGetLine(of), LLVMDILocationGetInlinedAt(of))
        };
        told(one) == told(other)
    }
}

/// The same function, no line.
unsafe fn nowhere(module: &Module, location: LLVMMetadataRef) -> LLVMMetadataRef {
    // SAFETY: the caller has a location.
    unsafe {
        let (scope, at) = (LLVMDILocationGetScope(location), LLVMDILocationGetInlinedAt(location));
        LLVMDIBuilderCreateDebugLocation(module.context, 0, 0, scope, at)
    }
}

unsafe fn only_user(value: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: the caller has a live value.
    unsafe {
        let first = LLVMGetFirstUse(value);
        let one = !first.is_null() && LLVMGetNextUse(first).is_null();
        one.then(|| LLVMGetUser(first))
    }
}

/// The only use of a value, if that is a computation in the same block that cannot fail by itself.
unsafe fn computed_with(value: LLVMValueRef) -> Option<LLVMValueRef> {
    use LLVMOpcode::*;
    // SAFETY: the caller has a live instruction.
    unsafe {
        let user = only_user(value)?;
        let opcode = LLVMGetInstructionOpcode(user);
        let computes = LLVMIsACastInst(user) == user
            || matches!(opcode, LLVMICmp | LLVMFCmp | LLVMSelect | LLVMFNeg)
            || matches!(opcode, LLVMAdd | LLVMSub | LLVMMul | LLVMShl | LLVMLShr | LLVMAShr)
            || matches!(opcode, LLVMAnd | LLVMOr | LLVMXor)
            || matches!(opcode, LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv);
        let same = LLVMGetInstructionParent(user) == LLVMGetInstructionParent(value);
        (computes && same).then_some(user)
    }
}
