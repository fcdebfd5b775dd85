//! A module's [`ModuleShape`]: what numbering and decoding need to know of its code.
//!
//! A call's kind says what a decoder may expect after it, and must never promise too much. So a call counts as
//! [`CallKind::Recorded`] only if nothing else than the very function of this module can be behind it: not one that the linker may
//! replace by another copy (`inline` functions of C++), nor, in code for shared libraries, one that another image may override.
//!
//! Not recorded are functions with computed gotos (`indirectbr`, `callbr`), and definitions of functions that others take to be
//! quiet (`quiet.rs`); what those call is entered by a record.

mod unlocks;

use std::collections::HashMap;

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{
    LLVMAttributeFunctionIndex, LLVMLinkage, LLVMOpcode, LLVMTailCallKind, LLVMVisibility,
};

use unravel_recording::layout;
use unravel_recording::numbering::countable;
use unravel_recording::shape::{
    BlockShape, CallKind, CallShape, FunctionShape, Leaves, ModuleShape, Recorded,
};

use crate::module::{Module, is_local, list, name_of};
use crate::quiet::is_quiet;

/// What is known of the functions before their blocks are looked at.
struct Functions {
    all: Vec<LLVMValueRef>,
    index: HashMap<LLVMValueRef, u32>,
    /// Why a function is not recorded.
    unrecorded: Vec<Option<String>>,
    silent: Vec<bool>,
    /// It ends in a tail call of who knows what, so its caller cannot know whether it comes back with a mark.
    opaque: Vec<bool>,
    /// Another definition may take the place of this one.
    replaceable: Vec<bool>,
}

pub fn extract(module: &Module, source: &str) -> ModuleShape {
    let functions = Functions::new(module);
    let entered = functions.entered();
    let inner = functions.inner();
    let shapes = (0..functions.all.len()).map(|i| functions.shape(i, entered[i], inner[i]));
    ModuleShape { source: source.to_owned(), functions: shapes.collect() }
}

pub(crate) fn blocks_of(function: LLVMValueRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: it is a live function.
    list(unsafe { LLVMGetFirstBasicBlock(function) }, |b| unsafe { LLVMGetNextBasicBlock(b) })
}

pub(crate) fn instructions_of(block: LLVMBasicBlockRef) -> Vec<LLVMValueRef> {
    // SAFETY: it is a live block.
    list(unsafe { LLVMGetFirstInstruction(block) }, |i| unsafe { LLVMGetNextInstruction(i) })
}

fn successors_of(block: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: verified blocks have a terminator.
    unsafe {
        let terminator = LLVMGetBasicBlockTerminator(block);
        (0..LLVMGetNumSuccessors(terminator)).map(|i| LLVMGetSuccessor(terminator, i)).collect()
    }
}

fn opcode(instruction: LLVMValueRef) -> LLVMOpcode {
    // SAFETY: it is a live instruction.
    unsafe { LLVMGetInstructionOpcode(instruction) }
}

fn is_call(instruction: LLVMValueRef) -> bool {
    matches!(opcode(instruction), LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke)
}

fn must_be_tail(call: LLVMValueRef) -> bool {
    opcode(call) == LLVMOpcode::LLVMCall
        // SAFETY: it is a live call.
        && unsafe { LLVMGetTailCallKind(call) } == LLVMTailCallKind::LLVMTailCallKindMustTail
}

fn callee_of(call: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: it is a live call or invoke.
    unsafe { LLVMGetCalledValue(call) }
}

fn has_attribute(call: LLVMValueRef, function: LLVMValueRef, name: &str) -> bool {
    // SAFETY: the name is passed with its length; both values are live.
    unsafe {
        let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
        !LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, kind).is_null()
            || !LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind).is_null()
    }
}

/// Whether the module is code for a shared library, where another image may define an exported function first.
pub(crate) fn is_for_library(module: &Module) -> bool {
    let flag = |name: &str| {
        // SAFETY: the name is passed with its length.
        !unsafe { LLVMGetModuleFlag(module.raw, name.as_ptr().cast(), name.len()) }.is_null()
    };
    flag("PIC Level") && !flag("PIE Level")
}

impl Functions {
    fn new(module: &Module) -> Functions {
        let all = module.defined();
        let index = all.iter().enumerate().map(|(i, &f)| (f, i as u32)).collect();
        let library = is_for_library(module);
        let mut functions = Functions {
            unrecorded: all.iter().map(|&f| unrecorded(f)).collect(),
            replaceable: all.iter().map(|&f| is_replaceable(f, library)).collect(),
            silent: vec![false; all.len()],
            opaque: vec![false; all.len()],
            all,
            index,
        };
        functions.find_opaque();
        functions.find_silent();
        functions
    }

    fn calls(&self, function: usize) -> impl Iterator<Item = LLVMValueRef> {
        let blocks = blocks_of(self.all[function]).into_iter();
        blocks.flat_map(instructions_of).filter(|&i| is_call(i))
    }

    /// The function of this module that a call must reach, if it must.
    fn exactly(&self, call: LLVMValueRef) -> Option<u32> {
        let callee = self.index.get(&callee_of(call)).copied()?;
        let i = callee as usize;
        let known = self.unrecorded[i].is_none() && !self.replaceable[i] && !self.opaque[i];
        known.then_some(callee)
    }

    fn find_opaque(&mut self) {
        loop {
            let mut changed = false;
            for i in 0..self.all.len() {
                let astray = |call| must_be_tail(call) && self.exactly(call).is_none();
                if !self.opaque[i] && self.calls(i).any(astray) {
                    self.opaque[i] = true;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// The largest set of functions that write nothing: those with one path that call only each other and quiet ones.
    fn find_silent(&mut self) {
        let entered = self.entered();
        for (i, entered) in entered.into_iter().enumerate() {
            let one_way = |block| {
                let mut successors = successors_of(block);
                successors.sort_unstable();
                successors.dedup();
                successors.len() <= 1
            };
            let straight = blocks_of(self.all[i]).into_iter().all(one_way);
            self.silent[i] = straight && !entered && self.unrecorded[i].is_none();
        }
        loop {
            let mut changed = false;
            for i in 0..self.all.len() {
                if self.silent[i] && self.calls(i).any(|call| self.kind(call).is_some()) {
                    self.silent[i] = false;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// What a decoder may expect after a call; `None` if nothing, because nothing is written.
    fn kind(&self, call: LLVMValueRef) -> Option<CallKind> {
        let callee = callee_of(call);
        // SAFETY: it is a live value.
        let (assembly, function) =
            unsafe { (!LLVMIsAInlineAsm(callee).is_null(), !LLVMIsAFunction(callee).is_null()) };
        let invoke = opcode(call) == LLVMOpcode::LLVMInvoke;
        if assembly {
            return invoke.then_some(CallKind::Foreign);
        }
        if must_be_tail(call) {
            return Some(CallKind::Tail(self.exactly(call)));
        }
        if !function {
            return Some(CallKind::Foreign);
        }
        if let Some(exact) = self.exactly(call) {
            return match self.silent[exact as usize] {
                true if !invoke => None,
                true => Some(CallKind::Foreign),
                false => Some(CallKind::Recorded(exact)),
            };
        }
        if self.index.contains_key(&callee) {
            return Some(CallKind::Foreign);
        }
        let name = name_of(callee);
        if name.starts_with("llvm.") && !invoke {
            return None;
        }
        if has_attribute(call, callee, "returns_twice") {
            return Some(CallKind::ReturnsTwice);
        }
        if has_attribute(call, callee, "noreturn") {
            return Some(CallKind::NoReturn);
        }
        if !invoke && layout::SYNC_FUNCTIONS.binary_search(&name.as_str()).is_ok() {
            return Some(CallKind::Sync(None));
        }
        (invoke || !is_quiet(&name)).then_some(CallKind::Foreign)
    }

    /// Functions that can be reached otherwise than by a recorded call of this module.
    fn entered(&self) -> Vec<bool> {
        let mut entered: Vec<bool> = (0..self.all.len())
            .map(|i| {
                let function = self.all[i];
                !is_local(function) || self.opaque[i] || is_used_otherwise(function)
            })
            .collect();
        for i in (0..self.all.len()).filter(|&i| self.unrecorded[i].is_some()) {
            for call in self.calls(i) {
                if let Some(&callee) = self.index.get(&callee_of(call)) {
                    entered[callee as usize] = true;
                }
            }
        }
        entered
    }

    /// Functions that can take the log's pointer as a parameter, and are called by recorded code that can pass it.
    fn inner(&self) -> Vec<bool> {
        let count = self.all.len();
        let recorded = |i: usize| self.unrecorded[i].is_none() && !self.silent[i];
        let mut fits: Vec<bool> =
            (0..count).map(|i| recorded(i) && can_take_another_parameter(self.all[i])).collect();
        let mut called = vec![false; count];
        for caller in (0..count).filter(|&i| recorded(i)) {
            for call in self.calls(caller) {
                let Some(callee) = self.exactly(call) else { continue };
                called[callee as usize] = true;
                fits[callee as usize] &= can_take_another_argument(call);
            }
            fits[caller] &= !self.calls(caller).any(must_be_tail);
        }
        (0..count).map(|i| fits[i] && called[i]).collect()
    }

    fn shape(&self, i: usize, entered: bool, inner: bool) -> FunctionShape {
        let function = self.all[i];
        let blocks = blocks_of(function);
        let number: HashMap<_, _> =
            blocks.iter().enumerate().map(|(i, &b)| (b, i as u32)).collect();
        let mut shapes: Vec<BlockShape> =
            blocks.iter().map(|&block| self.block(block, &number)).collect();
        unlocks::infer(&blocks, &mut shapes);
        let mut shape = FunctionShape {
            name: name_of(function),
            local: is_local(function),
            entered,
            inner,
            recorded: match &self.unrecorded[i] {
                Some(reason) => Recorded::No(reason.clone()),
                None if self.silent[i] => Recorded::Silent,
                None => Recorded::Yes,
            },
            blocks: shapes,
            counted: Vec::new(),
        };
        if shape.is_recorded() {
            let loops = countable(&shape);
            let counts = |(_, body): &(u32, Vec<u32>)| !exits_depend_on_loads(&blocks, body);
            shape.counted = loops.into_iter().filter(counts).map(|(header, _)| header).collect();
        }
        shape
    }

    fn block(
        &self,
        block: LLVMBasicBlockRef,
        number: &HashMap<LLVMBasicBlockRef, u32>,
    ) -> BlockShape {
        let instructions = instructions_of(block);
        let mut calls = Vec::new();
        for (position, &instruction) in instructions.iter().enumerate() {
            if let Some(kind) = is_call(instruction).then(|| self.kind(instruction)).flatten() {
                calls.push(CallShape { instruction: position as u32, kind });
            }
        }
        let terminator = *instructions.last().expect("verified blocks have a terminator");
        let leaves = match opcode(terminator) {
            LLVMOpcode::LLVMRet => Leaves::Return,
            LLVMOpcode::LLVMInvoke => Leaves::Invoke,
            LLVMOpcode::LLVMUnreachable | LLVMOpcode::LLVMResume => Leaves::Stop,
            _ => Leaves::Branch,
        };
        BlockShape {
            successors: successors_of(block).iter().map(|b| number[b]).collect(),
            calls,
            leaves,
        }
    }
}

fn unrecorded(function: LLVMValueRef) -> Option<String> {
    let strange = |instruction: LLVMValueRef| match opcode(instruction) {
        LLVMOpcode::LLVMIndirectBr => Some("it jumps to computed addresses"),
        LLVMOpcode::LLVMCallBr => Some("its assembler jumps"),
        LLVMOpcode::LLVMCatchSwitch | LLVMOpcode::LLVMCleanupPad => {
            Some("its exceptions are of another system")
        }
        _ => None,
    };
    let name = name_of(function);
    if is_quiet(&name) && !is_local(function) {
        return Some("it takes the place of a function of the C library".to_owned());
    }
    let all = blocks_of(function).into_iter().flat_map(instructions_of);
    all.into_iter().find_map(strange).map(str::to_owned)
}

fn is_replaceable(function: LLVMValueRef, library: bool) -> bool {
    use LLVMLinkage::*;
    // SAFETY: it is a live function.
    let (linkage, visibility) = unsafe { (LLVMGetLinkage(function), LLVMGetVisibility(function)) };
    match linkage {
        LLVMInternalLinkage | LLVMPrivateLinkage => false,
        LLVMExternalLinkage => library && visibility == LLVMVisibility::LLVMDefaultVisibility,
        _ => true,
    }
}

/// Not one with a variable number of arguments, of a calling convention of its own, or with a block whose address is taken, which must stay where it is.
fn can_take_another_parameter(function: LLVMValueRef) -> bool {
    const C: u32 = 0;
    const FAST: u32 = 8;
    let plain = |index: u32| {
        ["swifterror", "swiftself", "swiftasync", "inalloca", "preallocated", "naked"].iter().all(
            |name| {
                // SAFETY: the name is passed with its length; the function is live.
                unsafe {
                    let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                    LLVMGetEnumAttributeAtIndex(function, index, kind).is_null()
                }
            },
        )
    };
    // SAFETY: function and blocks are live.
    unsafe {
        let addressed = |block: LLVMBasicBlockRef| {
            let uses = list(LLVMGetFirstUse(LLVMBasicBlockAsValue(block)), |u| LLVMGetNextUse(u));
            uses.into_iter().any(|used| !LLVMIsABlockAddress(LLVMGetUser(used)).is_null())
        };
        matches!(LLVMGetFunctionCallConv(function), C | FAST)
            && LLVMIsFunctionVarArg(LLVMGlobalGetValueType(function)) == 0
            && plain(LLVMAttributeFunctionIndex)
            && (1..=LLVMCountParams(function)).all(plain)
            && !blocks_of(function).into_iter().any(addressed)
    }
}

/// Not an invoke, whose result is in two places; and the call must be of the very type that the function has.
fn can_take_another_argument(call: LLVMValueRef) -> bool {
    // SAFETY: it is a live call of a function.
    unsafe {
        let callee = callee_of(call);
        opcode(call) == LLVMOpcode::LLVMCall
            && !must_be_tail(call)
            && LLVMGetNumOperandBundles(call) == 0
            && LLVMGetCalledFunctionType(call) == LLVMGlobalGetValueType(callee)
            && LLVMGetInstructionCallConv(call) == LLVMGetFunctionCallConv(callee)
    }
}

/// Whether a function is used as anything but the callee of a call.
fn is_used_otherwise(function: LLVMValueRef) -> bool {
    // SAFETY: uses and users of a live function are live.
    unsafe {
        let uses = list(LLVMGetFirstUse(function), |u| LLVMGetNextUse(u));
        uses.into_iter().any(|used| {
            let user = LLVMGetUser(used);
            let call = !LLVMIsAInstruction(user).is_null() && is_call(user);
            !call
                || callee_of(user) != function
                || (0..LLVMGetNumArgOperands(user)).any(|i| LLVMGetOperand(user, i) == function)
        })
    }
}

/// Whether some exit of a loop hangs on what the loop loads: then how often it goes round may be a race's doing, each round
/// matters if the process is killed, and a record a round is written.
fn exits_depend_on_loads(blocks: &[LLVMBasicBlockRef], body: &[u32]) -> bool {
    let inside: std::collections::HashSet<LLVMBasicBlockRef> =
        body.iter().map(|&b| blocks[b as usize]).collect();
    let exits = inside.iter().filter(|&&b| successors_of(b).iter().any(|s| !inside.contains(s)));
    exits.into_iter().any(|&block| {
        // SAFETY: a block with several successors has a condition as its terminator's first operand.
        let condition = unsafe { LLVMGetOperand(LLVMGetBasicBlockTerminator(block), 0) };
        depends_on_load(condition, &inside, &mut Default::default())
    })
}

fn depends_on_load(
    value: LLVMValueRef,
    inside: &std::collections::HashSet<LLVMBasicBlockRef>,
    seen: &mut std::collections::HashSet<LLVMValueRef>,
) -> bool {
    // SAFETY: operands of live instructions are live.
    unsafe {
        if LLVMIsAInstruction(value).is_null()
            || !inside.contains(&LLVMGetInstructionParent(value))
            || !seen.insert(value)
        {
            return false;
        }
        match opcode(value) {
            LLVMOpcode::LLVMLoad
            | LLVMOpcode::LLVMCall
            | LLVMOpcode::LLVMAtomicRMW
            | LLVMOpcode::LLVMAtomicCmpXchg => true,
            _ => (0..LLVMGetNumOperands(value).max(0))
                .any(|i| depends_on_load(LLVMGetOperand(value, i as u32), inside, seen)),
        }
    }
}
