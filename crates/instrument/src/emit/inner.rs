//! The log's pointer in a register across calls: *inner* functions take it as a parameter and give it back.
//!
//! What recorded code of the module calls directly ([`FunctionShape::inner`]) gets one parameter more, of LLVM's kind `swifterror`: a
//! variable that callers and callees share in one register (r12 on x86-64, which all other functions leave as it was). Between the
//! thread-local variable and a store through it stand five cycles of waiting for the store before; a register costs one. If others may call the
//! function too, its name stays with a *door* that writes the record of its entry, takes the pointer from the thread-local variable, calls, and
//! puts it back.
//!
//! Whoever does not take the parameter finds the pointer in the thread-local variable: recorded code puts it there before it calls
//! anything else that may write, and takes it from there afterwards, and after exceptions and jumps.
//!
//! The code generator makes no jumps of calls at the end of inner functions, so tail calls that need not be ones take stack.

use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::debuginfo::{
    LLVMGetSubprogram, LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc, LLVMSetSubprogram,
};
use llvm_sys::prelude::*;
use unravel_recording::identifiers::Identified;
use unravel_recording::layout;
use unravel_recording::shape::FunctionShape;

use super::{Emitter, NO_NAME, Variables};
use crate::extract::blocks_of;
use crate::module::{Module, ModuleError, name_of};

/// `LLVMAttributeFunctionIndex`, `LLVMAttributeReturnIndex` and the parameters, as one row.
fn indices(parameters: u32) -> impl Iterator<Item = u32> {
    std::iter::once(u32::MAX).chain(0..=parameters)
}

fn kind_of(name: &str) -> u32 {
    // SAFETY: the name is passed with its length.
    unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
}

/// A variable of LLVM's kind `swifterror`, which the C interface cannot make: every one is a copy of this one.
pub(super) struct Template {
    module: LLVMModuleRef,
    variable: LLVMValueRef,
}

impl Template {
    pub(super) fn new(context: LLVMContextRef) -> Result<Template, ModuleError> {
        let text = c"define void @f() {\n%v = alloca swifterror ptr\nret void\n}\n";
        let (mut module, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the text is copied into the buffer, which parsing consumes; the message is LLVM's.
        unsafe {
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                text.as_ptr(),
                text.to_bytes().len(),
                NO_NAME,
            );
            let parse = llvm_sys::ir_reader::LLVMParseIRInContext;
            if parse(context, buffer, &mut module, &mut message) != 0 {
                LLVMDisposeMessage(message);
                return Err(ModuleError::Unreadable);
            }
            let block = LLVMGetFirstBasicBlock(LLVMGetFirstFunction(module));
            Ok(Template { module, variable: LLVMGetFirstInstruction(block) })
        }
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        // SAFETY: the module is live and nobody uses its one instruction any more.
        unsafe { LLVMDisposeModule(self.module) };
    }
}

impl Emitter {
    /// A new function with the body of this one and the parameter. The old one is empty then.
    pub(super) fn with_pointer(
        &self,
        module: &Module,
        old: LLVMValueRef,
        entered: bool,
    ) -> LLVMValueRef {
        // SAFETY: both functions are live, and have the same parameters up to the last. A block is in one of them at a time.
        unsafe {
            let kind = self.type_with_pointer(LLVMGlobalGetValueType(old));
            let name = name_of(old);
            let named = if entered { format!("{name}.recorded") } else { name.clone() };
            if !entered {
                let away = format!("{name}.old");
                LLVMSetValueName2(old, away.as_ptr().cast(), away.len());
            }
            let named = crate::module::c_string(&named);
            let new = LLVMAddFunction(module.raw, named.as_ptr(), kind);
            LLVMSetLinkage(new, LLVMLinkage::LLVMInternalLinkage);
            LLVMSetFunctionCallConv(new, LLVMGetFunctionCallConv(old));
            let section = LLVMGetSection(old);
            if !section.is_null() {
                LLVMSetSection(new, section);
            }
            if LLVMHasPersonalityFn(old) != 0 {
                LLVMSetPersonalityFn(new, LLVMGetPersonalityFn(old));
            }
            let parameters = LLVMCountParams(old);
            for index in indices(parameters) {
                let mut all =
                    vec![std::ptr::null_mut(); LLVMGetAttributeCountAtIndex(old, index) as usize];
                LLVMGetAttributesAtIndex(old, index, all.as_mut_ptr());
                for attribute in all.into_iter().filter(|&a| still_holds(a)) {
                    LLVMAddAttributeAtIndex(new, index, attribute);
                }
            }
            LLVMAddAttributeAtIndex(new, parameters + 1, self.swift_error());
            for i in 0..parameters {
                LLVMReplaceAllUsesWith(LLVMGetParam(old, i), LLVMGetParam(new, i));
            }
            let program = LLVMGetSubprogram(old);
            if !program.is_null() {
                const DEBUG: u32 = 0;
                LLVMGlobalEraseMetadata(old, DEBUG);
                LLVMSetSubprogram(new, program);
            }
            for block in blocks_of(old) {
                LLVMRemoveBasicBlockFromParent(block);
                LLVMAppendExistingBasicBlock(new, block);
            }
            new
        }
    }

    pub(super) fn swift_error(&self) -> LLVMAttributeRef {
        // SAFETY: the context is live.
        unsafe { LLVMCreateEnumAttribute(self.context, kind_of("swifterror"), 0) }
    }

    pub(super) fn type_with_pointer(&self, kind: LLVMTypeRef) -> LLVMTypeRef {
        // SAFETY: it is the type of a live function without a variable number of arguments.
        unsafe {
            let count = LLVMCountParamTypes(kind);
            let mut parameters = vec![std::ptr::null_mut(); count as usize];
            LLVMGetParamTypes(kind, parameters.as_mut_ptr());
            parameters.push(self.pointer);
            LLVMFunctionType(LLVMGetReturnType(kind), parameters.as_mut_ptr(), count + 1, 0)
        }
    }

    /// A variable that can be passed on, at the builder's place.
    pub(super) fn shared_variable(&self) -> LLVMValueRef {
        // SAFETY: the copy belongs to the function that the builder stands in.
        unsafe {
            let variable = LLVMInstructionClone(self.template.variable);
            LLVMInsertIntoBuilder(self.builder, variable);
            variable
        }
    }

    /// The same call of an inner function, with the pointer: returns the new one.
    pub(super) fn pass_pointer(
        &self,
        call: LLVMValueRef,
        inner: LLVMValueRef,
        variable: LLVMValueRef,
    ) -> LLVMValueRef {
        // SAFETY: the call is live, is of the inner function's old self with its very type, and is replaced by the new one.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, call);
            let count = LLVMGetNumArgOperands(call);
            let mut arguments: Vec<LLVMValueRef> =
                (0..count).map(|i| LLVMGetOperand(call, i)).collect();
            arguments.push(variable);
            let kind = LLVMGlobalGetValueType(inner);
            let new = LLVMBuildCall2(
                self.builder,
                kind,
                inner,
                arguments.as_mut_ptr(),
                count + 1,
                NO_NAME,
            );
            LLVMSetInstructionCallConv(new, LLVMGetInstructionCallConv(call));
            for index in indices(count) {
                let mut all =
                    vec![std::ptr::null_mut(); LLVMGetCallSiteAttributeCount(call, index) as usize];
                LLVMGetCallSiteAttributes(call, index, all.as_mut_ptr());
                for attribute in all.into_iter().filter(|&a| still_holds(a)) {
                    LLVMAddCallSiteAttribute(new, index, attribute);
                }
            }
            LLVMAddCallSiteAttribute(new, count + 1, self.swift_error());
            let line = LLVMInstructionGetDebugLoc(call);
            if !line.is_null() {
                LLVMInstructionSetDebugLoc(new, line);
            }
            LLVMReplaceAllUsesWith(call, new);
            LLVMInstructionEraseFromParent(call);
            new
        }
    }

    /// Puts a body into the old function that lets others in.
    pub(super) fn door(
        &self,
        old: LLVMValueRef,
        inner: LLVMValueRef,
        number: u32,
        shape: &FunctionShape,
    ) {
        debug_assert!(shape.entered);
        // SAFETY: the old function has no blocks any more, and the same parameters.
        unsafe {
            let block = LLVMAppendBasicBlockInContext(self.context, old, NO_NAME);
            LLVMPositionBuilderAtEnd(self.builder, block);
            let variable = self.shared_variable();
            let variables = Variables::of_door(number, variable);
            let own = self.known.number(Identified::Function(number));
            self.take_pointer(variable);
            self.write_named(&variables, layout::ENTER, own, 0);
            let count = LLVMCountParams(old);
            let mut arguments: Vec<LLVMValueRef> =
                (0..count).map(|i| LLVMGetParam(old, i)).collect();
            arguments.push(variable);
            let kind = LLVMGlobalGetValueType(inner);
            let call = LLVMBuildCall2(
                self.builder,
                kind,
                inner,
                arguments.as_mut_ptr(),
                count + 1,
                NO_NAME,
            );
            LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(inner));
            // How arguments are passed (by value, in a register, …) is an attribute of the call as much as of the function.
            for index in indices(count).skip(1) {
                let mut all =
                    vec![std::ptr::null_mut(); LLVMGetAttributeCountAtIndex(old, index) as usize];
                LLVMGetAttributesAtIndex(old, index, all.as_mut_ptr());
                all.into_iter().for_each(|a| LLVMAddCallSiteAttribute(call, index, a));
            }
            LLVMAddCallSiteAttribute(call, count + 1, self.swift_error());
            self.give_pointer(variable);
            let nothing = LLVMVoidTypeInContext(self.context);
            if LLVMGetReturnType(LLVMGlobalGetValueType(old)) == nothing {
                LLVMBuildRetVoid(self.builder);
            } else {
                LLVMBuildRet(self.builder, call);
            }
            LLVMRemoveEnumAttributeAtIndex(old, u32::MAX, kind_of("memory"));
        }
    }

    /// From the thread-local variable into one of the function.
    pub(super) fn take_pointer(&self, variable: LLVMValueRef) {
        self.store(self.load(self.pointer, self.log), variable);
    }

    pub(super) fn give_pointer(&self, variable: LLVMValueRef) {
        self.store(self.load(self.pointer, variable), self.log);
    }
}

/// What was found out of a function's memory does not hold of one that writes a log.
fn still_holds(attribute: LLVMAttributeRef) -> bool {
    // SAFETY: it is a live attribute.
    unsafe {
        LLVMIsEnumAttribute(attribute) == 0
            || LLVMGetEnumAttributeKind(attribute) != kind_of("memory")
    }
}
