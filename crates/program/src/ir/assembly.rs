//! Inline assembly → machine code.
//!
//! Each piece of assembly becomes the body of a function in a module of its own,
//!
//! ```text
//! void assembly(ptr %arguments, ptr %result)
//! ```
//!
//! which loads each operand from the place that `%arguments[i]` points to, executes the assembly, and
//! stores its outputs to `%result`, all in their layout in memory. So nobody needs to know by which
//! convention LLVM returns, say, four integers. LLVM's code generator chooses the registers, as it would
//! have done in a native build.
//!
//! An intrinsic of the processor is called in the same way.
//!
//! What cannot be moved to another address, because it refers to symbols or brings data, is refused.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::Once;

use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::core::*;
use llvm_sys::object::*;
use llvm_sys::prelude::*;
use llvm_sys::target::*;
use llvm_sys::target_machine::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMDiagnosticSeverity};

use super::{Module, Type, Value, copy_string, take_message};

/// Why a piece of assembly could not be compiled.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum AssemblyError {
    #[error("LLVM says: {message}")]
    Rejected { message: String },
    #[error("it refers to a symbol")]
    Symbol,
    #[error("it puts something into the section {section}")]
    Section { section: String },
}

/// A code generator for the module's target.
pub(crate) struct Assembler {
    machine: LLVMTargetMachineRef,
}

impl Assembler {
    pub(crate) fn new(module: &Module) -> Result<Assembler, AssemblyError> {
        static INITIALISED: Once = Once::new();
        // SAFETY: initialisation happens once; LLVM copies the strings it is given and allocates the message.
        unsafe {
            INITIALISED.call_once(|| {
                LLVMInitializeX86TargetInfo();
                LLVMInitializeX86Target();
                LLVMInitializeX86TargetMC();
                LLVMInitializeX86AsmPrinter();
                LLVMInitializeX86AsmParser();
            });
            let triple = LLVMGetTarget(module.raw());
            let mut target = ptr::null_mut();
            let mut message = ptr::null_mut();
            if LLVMGetTargetFromTriple(triple, &mut target, &mut message) != 0 {
                return Err(AssemblyError::Rejected { message: take_message(message) });
            }
            let machine = LLVMCreateTargetMachine(
                target,
                triple,
                c"x86-64".as_ptr(),
                c"".as_ptr(),
                // Without optimisation the register allocator runs out of registers sooner.
                LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
                LLVMRelocMode::LLVMRelocPIC,
                LLVMCodeModel::LLVMCodeModelDefault,
            );
            Ok(Assembler { machine })
        }
    }

    /// Compiles the assembly that `call` executes in `caller`, with `text` in place of its own, or the
    /// intrinsic that it calls.
    pub(crate) fn compile<'m>(
        &self,
        module: &'m Module,
        call: Value<'m>,
        caller: Value<'m>,
        text: &str,
    ) -> Result<Vec<u8>, AssemblyError> {
        let wrapper = Wrapper::new(module);
        let errors = Errors::default();
        // SAFETY: the handler's data outlives its installation: the old handler is back below.
        let buffer = unsafe {
            let context = module.context();
            let old = LLVMContextGetDiagnosticHandler(context);
            let old_data = LLVMContextGetDiagnosticContext(context);
            let data = ptr::from_ref(&errors).cast_mut().cast::<c_void>();
            LLVMContextSetDiagnosticHandler(context, Some(keep_error), data);
            wrapper.define(module, call, caller, text);
            let buffer = self.emit(&wrapper);
            LLVMContextSetDiagnosticHandler(context, old, old_data);
            buffer
        };
        let errors = errors.take();
        if !errors.is_empty() {
            return Err(AssemblyError::Rejected { message: first(&errors) });
        }
        text_section(module, &buffer?)
    }

    fn emit(&self, wrapper: &Wrapper) -> Result<Buffer, AssemblyError> {
        let mut message = ptr::null_mut();
        let mut buffer = ptr::null_mut();
        // SAFETY: module and machine are live; LLVM allocates message and buffer.
        unsafe {
            let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
            let broken = LLVMVerifyModule(wrapper.module, action, &mut message) != 0;
            let text = take_message(message);
            if broken {
                return Err(AssemblyError::Rejected { message: text });
            }
            message = ptr::null_mut();
            let kind = LLVMCodeGenFileType::LLVMObjectFile;
            let failed = LLVMTargetMachineEmitToMemoryBuffer(
                self.machine,
                wrapper.module,
                kind,
                &mut message,
                &mut buffer,
            );
            if failed != 0 || buffer.is_null() {
                return Err(AssemblyError::Rejected { message: take_message(message) });
            }
        }
        Ok(Buffer(buffer))
    }
}

impl Drop for Assembler {
    fn drop(&mut self) {
        // SAFETY: the machine is live and nothing else refers to it.
        unsafe { LLVMDisposeTargetMachine(self.machine) };
    }
}

/// The errors of one compilation.
type Errors = RefCell<Vec<String>>;

/// What LLVM complains of, in one line: the first complaint, and how many more there are.
fn first(errors: &[String]) -> String {
    let one = errors[0].split_whitespace().collect::<Vec<_>>().join(" ");
    match errors.len() - 1 {
        0 => one,
        more => format!("{one}; and {more} more"),
    }
}

/// Keeps an error instead of LLVM's default, which prints it and exits.
extern "C" fn keep_error(info: LLVMDiagnosticInfoRef, kept: *mut c_void) {
    // SAFETY: LLVM passes a live diagnostic, and `kept` is the `Errors` that `compile` installed.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) != LLVMDiagnosticSeverity::LLVMDSError {
            return;
        }
        let text = take_message(LLVMGetDiagInfoDescription(info));
        if let Ok(mut kept) = (*kept.cast::<Errors>()).try_borrow_mut() {
            // What comes after the first line quotes the source.
            kept.push(text.lines().next().unwrap_or_default().to_owned());
        }
    }
}

/// The module around one piece of assembly.
struct Wrapper {
    module: LLVMModuleRef,
}

impl Wrapper {
    fn new(like: &Module) -> Wrapper {
        // SAFETY: the new module lives in the same context, so that types and constants are the same.
        unsafe {
            let module =
                LLVMModuleCreateWithNameInContext(c"inline assembly".as_ptr(), like.context());
            LLVMSetTarget(module, LLVMGetTarget(like.raw()));
            LLVMSetDataLayout(module, LLVMGetDataLayoutStr(like.raw()));
            Wrapper { module }
        }
    }

    fn define<'m>(&self, like: &'m Module, call: Value<'m>, caller: Value<'m>, text: &str) {
        let context = like.context();
        // SAFETY: everything is of the same live context; `call` calls inline assembly or an intrinsic.
        unsafe {
            let pointer = LLVMPointerTypeInContext(context, 0);
            let mut params = [pointer, pointer];
            let ty = LLVMFunctionType(LLVMVoidTypeInContext(context), params.as_mut_ptr(), 2, 0);
            let function = LLVMAddFunction(self.module, c"assembly".as_ptr(), ty);
            // Nobody unwinds through it, and assembly that pushes must not overwrite what LLVM keeps.
            for name in [c"nounwind", c"noredzone"] {
                let name = name.to_bytes();
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                let attribute = LLVMCreateEnumAttribute(context, kind, 0);
                LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
            }
            for name in [c"target-cpu", c"target-features"] {
                let length = name.to_bytes().len() as u32;
                let index = LLVMAttributeFunctionIndex;
                let attribute =
                    LLVMGetStringAttributeAtIndex(caller.raw(), index, name.as_ptr(), length);
                if !attribute.is_null() {
                    LLVMAddAttributeAtIndex(function, index, attribute);
                }
            }
            let builder = LLVMCreateBuilderInContext(context);
            let entry = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
            LLVMPositionBuilderAtEnd(builder, entry);
            let mut next = 0;
            let mut values = Vec::new();
            for argument in call.arguments() {
                if argument.is_constant_int() {
                    values.push(argument.raw());
                    continue;
                }
                let mut index = LLVMConstInt(LLVMInt64TypeInContext(context), next, 0);
                let table = LLVMGetParam(function, 0);
                let place = LLVMBuildGEP2(builder, pointer, table, &mut index, 1, c"".as_ptr());
                let place = LLVMBuildLoad2(builder, pointer, place, c"".as_ptr());
                let value = LLVMBuildLoad2(builder, argument.ty().raw(), place, c"".as_ptr());
                LLVMSetAlignment(value, 8);
                values.push(value);
                next += 1;
            }
            let assembly = match call.callee() {
                callee if callee.is_inline_asm() => with_text(call, text),
                callee => {
                    let name = CString::new(callee.name()).unwrap_or_default();
                    LLVMAddFunction(self.module, name.as_ptr(), call.called_type().raw())
                }
            };
            let count = values.len() as u32;
            let (ty, name) = (call.called_type().raw(), c"".as_ptr());
            let result = LLVMBuildCall2(builder, ty, assembly, values.as_mut_ptr(), count, name);
            let kind = like.attribute("elementtype");
            for index in 1..=count {
                let attribute = LLVMGetCallSiteEnumAttribute(call.raw(), index, kind);
                if !attribute.is_null() {
                    LLVMAddCallSiteAttribute(result, index, attribute);
                }
            }
            if LLVMTypeOf(result) != LLVMVoidTypeInContext(context) {
                let store = LLVMBuildStore(builder, result, LLVMGetParam(function, 1));
                LLVMSetAlignment(store, 8);
            }
            LLVMBuildRetVoid(builder);
            LLVMDisposeBuilder(builder);
        }
    }
}

impl Drop for Wrapper {
    fn drop(&mut self) {
        // SAFETY: the module is live, and nothing refers to it any more.
        unsafe { LLVMDisposeModule(self.module) };
    }
}

/// The assembly that `call` executes, with another text.
///
/// # Safety
/// `call` calls inline assembly of a live module.
unsafe fn with_text(call: Value<'_>, text: &str) -> LLVMValueRef {
    let old = call.callee();
    let (_, constraints) = old.inline_asm();
    // SAFETY: the caller vouches for the call; strings come with their lengths.
    unsafe {
        LLVMGetInlineAsm(
            LLVMGetInlineAsmFunctionType(old.raw()),
            text.as_ptr().cast(),
            text.len(),
            constraints.as_ptr().cast(),
            constraints.len(),
            LLVMGetInlineAsmHasSideEffects(old.raw()),
            LLVMGetInlineAsmNeedsAlignedStack(old.raw()),
            LLVMGetInlineAsmDialect(old.raw()),
            LLVMGetInlineAsmCanUnwind(old.raw()),
        )
    }
}

impl<'m> Value<'m> {
    /// Of a call of inline assembly: the arguments that are known only when it is executed. The others are
    /// numbers, which the assembly may want as immediates, and become part of the machine code.
    pub(crate) fn assembly_operands(self) -> Vec<Value<'m>> {
        self.arguments().into_iter().filter(|value| !value.is_constant_int()).collect()
    }

    /// Of a call of inline assembly: what each argument points to if it is the address of a memory operand
    /// (`"m"(x)`).
    pub(crate) fn assembly_memory(self, module: &'m Module) -> Vec<Option<Type<'m>>> {
        let kind = module.attribute("elementtype");
        let count = self.arguments().len() as u32;
        (1..=count).map(|index| self.call_attribute_type(index, kind)).collect()
    }

    /// Of a function: the processor features it is compiled for, as LLVM writes them.
    pub(crate) fn target_features(self) -> String {
        let name = c"target-features";
        let length = name.to_bytes().len() as u32;
        let mut size = 0;
        // SAFETY: the caller has a function; LLVM keeps the string.
        unsafe {
            let index = LLVMAttributeFunctionIndex;
            let attribute = LLVMGetStringAttributeAtIndex(self.raw(), index, name.as_ptr(), length);
            if attribute.is_null() {
                return String::new();
            }
            let text = LLVMGetStringAttributeValue(attribute, &mut size);
            copy_string(text, size as usize)
        }
    }
}

/// An object file in memory.
struct Buffer(LLVMMemoryBufferRef);

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the buffer is live, and nothing refers to it any more.
        unsafe { LLVMDisposeMemoryBuffer(self.0) };
    }
}

/// The code in an object file that has nothing else.
fn text_section(module: &Module, buffer: &Buffer) -> Result<Vec<u8>, AssemblyError> {
    let mut message = ptr::null_mut();
    // SAFETY: the binary refers to the buffer, which outlives it; LLVM allocates the message.
    unsafe {
        let binary = LLVMCreateBinary(buffer.0, module.context(), &mut message);
        if binary.is_null() {
            return Err(AssemblyError::Rejected { message: take_message(message) });
        }
        let sections = LLVMObjectFileCopySectionIterator(binary);
        let mut code = Ok(Vec::new());
        while LLVMObjectFileIsSectionIteratorAtEnd(binary, sections) == 0 {
            let size = LLVMGetSectionSize(sections) as usize;
            let name = LLVMGetSectionName(sections);
            let name =
                if name.is_null() { "".into() } else { CStr::from_ptr(name).to_string_lossy() };
            match &*name {
                _ if size == 0 => {}
                ".text" => {
                    let start = LLVMGetSectionContents(sections).cast::<u8>();
                    if let Ok(code) = &mut code {
                        *code = std::slice::from_raw_parts(start, size).to_vec();
                    }
                }
                ".symtab" | ".strtab" | ".shstrtab" => {}
                ".rela.text" => code = Err(AssemblyError::Symbol),
                // A symbol in such a section may be what the code refers to: the better reason stays.
                other if code.is_ok() => {
                    code = Err(AssemblyError::Section { section: other.to_owned() });
                }
                _ => {}
            }
            LLVMMoveToNextSection(sections);
        }
        LLVMDisposeSectionIterator(sections);
        LLVMDisposeBinary(binary);
        code
    }
}
