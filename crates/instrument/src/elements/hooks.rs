//! Calls of libraries' functions that access elements: what is put around each.

use llvm_sys::core::*;
use llvm_sys::debuginfo::{
    LLVMDIFileGetFilename, LLVMDILocationGetInlinedAt, LLVMDILocationGetLine,
    LLVMDILocationGetScope, LLVMDIScopeGetFile, LLVMInstructionGetDebugLoc,
};
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};
use unravel_recording::vectors;

use super::calls::{self, Hook, hook_of};
use super::{Pass, Target};
use crate::emit::NO_NAME;
use crate::module::name_of;

impl Pass<'_, '_> {
    /// A call: of a sync operation, of a function that copies or frees, or nothing that is logged.
    pub(super) fn call(&mut self, call: LLVMValueRef, sites: &[u32]) {
        // SAFETY: the call is live.
        let (name, arguments) = unsafe {
            let callee = LLVMGetCalledValue(call);
            if LLVMIsAFunction(callee).is_null() || LLVMCountBasicBlocks(callee) > 0 {
                return;
            }
            let count = LLVMGetNumArgOperands(call);
            let arguments: Vec<_> = (0..count).map(|at| LLVMGetOperand(call, at)).collect();
            (name_of(callee), arguments)
        };
        let [site] = sites else { return };
        if calls::waits_inside(&name) {
            return self.waits(call, *site);
        }
        let Some(hook) = hook_of(&name) else { return };
        if arguments.len() < hook.arguments() {
            return;
        }
        self.done.insert(*site);
        match hook {
            Hook::Sync { kind: calls::NOTHING, .. } => {}
            Hook::Sync { kind, class } => self.sync(call, &arguments, (kind, class), *site),
            _ => self.memory(call, &arguments, hook, *site),
        }
    }

    /// A call that waits inside of a library, and may unwind.
    pub(super) fn invoke(&mut self, invoke: LLVMValueRef, sites: &[u32]) {
        // SAFETY: the instruction is an `invoke`.
        let callee = unsafe { LLVMGetCalledValue(invoke) };
        // SAFETY: as above.
        let is_function = unsafe { !LLVMIsAFunction(callee).is_null() };
        if let ([site], true) = (sites, is_function && calls::waits_inside(&name_of(callee))) {
            self.waits(invoke, *site);
        }
    }

    /// Says where a thread waits, until the call is over, however it is left.
    fn waits(&mut self, call: LLVMValueRef, site: u32) {
        let number = self.site(vectors::SITE_BY_ADDRESS, &[]);
        self.sites[number as usize].place = self.seen_at(call, site);
        let what = self.word(u64::from(calls::BLOCKS));
        // SAFETY: the call is live; what comes after it, or where it leads, has a first instruction.
        unsafe {
            let nowhere = LLVMConstNull(self.types.pointer);
            let list = vec![what, nowhere, nowhere, self.word(u64::from(number))];
            let over = [&list[..], &[self.word(0)]].concat();
            self.stand_before(call);
            self.build_call("__unravel_av_before", list);
            if LLVMGetInstructionOpcode(call) == LLVMOpcode::LLVMCall {
                self.stand_after(call);
                self.build_call("__unravel_av_after", over);
                return;
            }
            // Elsewhere than here, they come to these blocks without waiting.
            let unwound = first_instruction(LLVMGetUnwindDest(call));
            for before in
                [first_instruction(LLVMGetNormalDest(call)), LLVMGetNextInstruction(unwound)]
            {
                self.stand_before(before);
                self.build_call("__unravel_av_after", over.clone());
            }
        }
    }

    /// A function that copies, fills or frees.
    fn memory(&mut self, call: LLVMValueRef, arguments: &[LLVMValueRef], hook: Hook, site: u32) {
        let unnamed = self.unnamed(site);
        let nothing = match hook {
            Hook::Free => unnamed.is_empty(),
            _ => {
                !self.wanted.visible.contains(&site)
                    || unnamed.is_empty() && !self.has_ranges(false)
            }
        };
        if nothing {
            return;
        }
        let number = self.site(vectors::SITE_BY_ADDRESS, &unnamed);
        let own = self.word(u64::from(number));
        let flag = self.flag(number);
        // SAFETY: arguments are those of the functions named; the call is no terminator.
        unsafe {
            let bytes = |this: &Self| {
                this.stand_before(call);
                LLVMBuildZExtOrBitCast(this.builder, arguments[2], this.types.long, NO_NAME)
            };
            let (enter, leave, list) = match hook {
                Hook::Copy => {
                    let list = vec![flag, arguments[1], arguments[0], bytes(self), own];
                    ("unravel.enter_copy", "unravel.leave_copy", list)
                }
                Hook::Set => {
                    let list = vec![flag, arguments[0], bytes(self), own];
                    ("unravel.enter_all", "unravel.leave_all", list)
                }
                _ => {
                    let list = vec![flag, arguments[0], self.long(1), own];
                    ("unravel.enter_all", "unravel.leave_all", list)
                }
            };
            self.around(call, (enter, list.clone()), (leave, list));
        }
    }

    /// A sync operation.
    fn sync(
        &mut self,
        call: LLVMValueRef,
        arguments: &[LLVMValueRef],
        (kind, class): (u32, u32),
        site: u32,
    ) {
        // SAFETY: the types are live; a call is no terminator.
        let (object, is_int) = unsafe {
            let object = match LLVMGetTypeKind(LLVMTypeOf(arguments[0])) {
                LLVMTypeKind::LLVMPointerTypeKind => arguments[0],
                // A thread, which is no element.
                _ => LLVMConstNull(self.types.pointer),
            };
            (object, LLVMTypeOf(call) == self.types.word)
        };
        let what = self.word(u64::from(kind | class << 8));
        let is_mutex = kind == calls::AFTER && class == calls::MUTEX && is_int;
        let known = match self.target(object, class) {
            _ if self.wanted.blocks => Some(self.unnamed(site)),
            Target::Global(address) => Some((self.wanted.at)(address, class, true)),
            Target::Unknown => None,
        };
        let unnamed = self.unnamed(site);
        let chosen = |list: &[u32]| list.iter().any(|one| self.wanted.chosen.contains(one));
        let nothing = match known.as_deref() {
            Some(of) => !chosen(of),
            None => unnamed.is_empty() && !self.has_ranges(true),
        };
        // Of a condition wait the mutex may be an element.
        let nothing = nothing && (kind != calls::WAIT || !self.has_ranges(true));
        let call = match is_mutex {
            true => self.lock(call, object, site),
            false => call,
        };
        if nothing && (is_mutex || !calls::may_block(kind)) {
            return;
        }
        // SAFETY: arguments are those of the functions named; the call is no terminator.
        unsafe {
            if let (Some(&[element]), true) = (known.as_deref(), is_mutex || kind == calls::AROUND)
            {
                let number = self.site(vectors::SITE_SYNC, &[element]);
                let (flag, own) = (self.flag(number), self.word(u64::from(number)));
                let element = self.element(element);
                if kind == calls::AROUND {
                    let enter = ("unravel.enter", vec![flag, element]);
                    return self.around(call, enter, ("unravel.leave", vec![]));
                }
                self.stand_after(call);
                self.build_call("unravel.got", vec![flag, element, what, object, own, call]);
                return;
            }
            let number = match is_mutex {
                true => self.site(vectors::SITE_SYNC_BY_ADDRESS, &unnamed),
                false => self.site(vectors::SITE_BY_ADDRESS, &unnamed),
            };
            let own = self.word(u64::from(number));
            if is_mutex {
                let alone = self.alone(&unnamed);
                self.stand_after(call);
                let list = vec![self.flag(number), alone, what, object, own, call];
                self.build_call("unravel.got_at", list);
                return;
            }
            let other = match kind {
                calls::WAIT => arguments[1],
                _ => LLVMConstNull(self.types.pointer),
            };
            // The number in the machine's program says where a thread waits.
            self.sites[number as usize].place = self.seen_at(call, site);
            let list = vec![what, object, other, own];
            self.stand_before(call);
            self.build_call("__unravel_av_before", list.clone());
            self.stand_after(call);
            let result = if is_int { call } else { self.word(0) };
            let list = list.into_iter().chain([result]).collect();
            self.build_call("__unravel_av_after", list);
        }
    }

    /// The site that a call's is shown as, where a wrapper or a header of the system was put in line with its callers.
    fn seen_at(&self, call: LLVMValueRef, site: u32) -> u32 {
        (self.wanted.seen_at)(site, &callers_of(call))
    }

    /// Replaces a call that takes a mutex by one that says where it waits only if it has to. Returns what gives the result now.
    fn lock(&self, call: LLVMValueRef, mutex: LLVMValueRef, site: u32) -> LLVMValueRef {
        // SAFETY: the call is live and gives an `int`; nothing refers to it afterwards.
        unsafe {
            self.stand_before(call);
            let place = self.word(u64::from(self.seen_at(call, site)) + 1);
            let instead = self.build_call("unravel.lock", vec![mutex, place]);
            LLVMReplaceAllUsesWith(call, instead);
            LLVMInstructionEraseFromParent(call);
            instead
        }
    }
}

/// The first one that is no `phi`.
unsafe fn first_instruction(block: LLVMBasicBlockRef) -> LLVMValueRef {
    // SAFETY: the caller has a block, which ends with a terminator.
    unsafe {
        let mut at = LLVMGetFirstInstruction(block);
        while !LLVMIsAPHINode(at).is_null() {
            at = LLVMGetNextInstruction(at);
        }
        at
    }
}

/// The lines of the calls by which an instruction was put in line, innermost first.
fn callers_of(instruction: LLVMValueRef) -> Vec<(String, u32)> {
    let mut callers = Vec::new();
    // SAFETY: the instruction is live; a location has a scope, that a file.
    unsafe {
        let mut at = LLVMInstructionGetDebugLoc(instruction);
        while !at.is_null() {
            at = LLVMDILocationGetInlinedAt(at);
            if at.is_null() {
                break;
            }
            let file = LLVMDIScopeGetFile(LLVMDILocationGetScope(at));
            if file.is_null() {
                break;
            }
            let mut length = 0;
            let name = LLVMDIFileGetFilename(file, &mut length);
            let name = std::slice::from_raw_parts(name.cast::<u8>(), length as usize);
            let name = String::from_utf8_lossy(name).into_owned();
            callers.push((name, LLVMDILocationGetLine(at)));
        }
    }
    callers
}
