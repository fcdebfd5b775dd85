//! An LLVM module in a context of its own: read, checked, written, linked.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_reader::LLVMParseBitcodeInContext2;
use llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer;
use llvm_sys::core::*;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::prelude::*;
use llvm_sys::transforms::pass_builder::{
    LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMRunPasses,
};

/// Why a module could not be instrumented or put together again.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    #[error("this is no bitcode that LLVM 19 can read")]
    Unreadable,
    #[error("the module is broken after {after}: {message}")]
    Broken { after: &'static str, message: String },
    #[error("the kept modules do not fit together: {message}")]
    Link { message: String },
}

pub struct Module {
    pub(crate) context: LLVMContextRef,
    pub(crate) raw: LLVMModuleRef,
    owns_context: bool,
}

/// By module and function with a body: its name in the linked program, unless another module's copy was taken.
pub(crate) type NewNames = Vec<Vec<Option<String>>>;

extern "C" fn keep_quiet(_: LLVMDiagnosticInfoRef, _: *mut c_void) {}

impl Module {
    pub fn parse(bitcode: &[u8]) -> Result<Module, ModuleError> {
        // SAFETY: the context is fresh and belongs to the module from here on.
        unsafe {
            let context = LLVMContextCreate();
            LLVMContextSetDiagnosticHandler(context, Some(keep_quiet), ptr::null_mut());
            match Module::parse_in(context, bitcode) {
                Ok(mut module) => {
                    module.owns_context = true;
                    Ok(module)
                }
                Err(error) => {
                    LLVMContextDispose(context);
                    Err(error)
                }
            }
        }
    }

    /// In the context of another module, so that the two can be linked.
    fn parse_in(context: LLVMContextRef, bitcode: &[u8]) -> Result<Module, ModuleError> {
        // SAFETY: the buffer is copied, and disposed of after parsing.
        unsafe {
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                bitcode.as_ptr().cast(),
                bitcode.len(),
                c"kept".as_ptr(),
            );
            let mut raw = ptr::null_mut();
            let failed = LLVMParseBitcodeInContext2(context, buffer, &mut raw) != 0;
            LLVMDisposeMemoryBuffer(buffer);
            if failed || raw.is_null() {
                return Err(ModuleError::Unreadable);
            }
            let module = Module { context, raw, owns_context: false };
            module.verify("reading")?;
            Ok(module)
        }
    }

    /// In the context of another module, from LLVM's text.
    pub(crate) fn parse_text(context: LLVMContextRef, text: &str) -> Result<Module, ModuleError> {
        let (mut raw, mut message) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the text is copied into the buffer, which parsing consumes; the message is LLVM's.
        unsafe {
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                text.as_ptr().cast(),
                text.len(),
                c"text".as_ptr(),
            );
            let parse = llvm_sys::ir_reader::LLVMParseIRInContext;
            if parse(context, buffer, &mut raw, &mut message) != 0 {
                LLVMDisposeMessage(message);
                return Err(ModuleError::Unreadable);
            }
        }
        Ok(Module { context, raw, owns_context: false })
    }

    pub fn verify(&self, after: &'static str) -> Result<(), ModuleError> {
        let mut message = ptr::null_mut();
        // SAFETY: the module is live, the message is LLVM's.
        unsafe {
            let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
            let broken = LLVMVerifyModule(self.raw, action, &mut message) != 0;
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            LLVMDisposeMessage(message);
            if broken { Err(ModuleError::Broken { after, message: text }) } else { Ok(()) }
        }
    }

    pub fn write(&self) -> Vec<u8> {
        // SAFETY: the buffer is LLVM's and lives until it is disposed of.
        unsafe {
            let buffer = LLVMWriteBitcodeToMemoryBuffer(self.raw);
            let start = LLVMGetBufferStart(buffer).cast::<u8>();
            let bytes = std::slice::from_raw_parts(start, LLVMGetBufferSize(buffer)).to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            bytes
        }
    }

    /// Runs passes.
    pub(crate) fn run(&self, passes: &CStr) -> Result<(), ModuleError> {
        // SAFETY: the module is live; options and message are disposed of.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            let error = LLVMRunPasses(self.raw, passes.as_ptr(), ptr::null_mut(), options);
            LLVMDisposePassBuilderOptions(options);
            if error.is_null() {
                return Ok(());
            }
            let text = LLVMGetErrorMessage(error);
            let message = CStr::from_ptr(text).to_string_lossy().into_owned();
            LLVMDisposeErrorMessage(text);
            Err(ModuleError::Broken { after: "a pass", message })
        }
    }

    /// All functions, declarations too, in the module's order.
    pub(crate) fn functions(&self) -> Vec<LLVMValueRef> {
        // SAFETY: the module is live.
        list(unsafe { LLVMGetFirstFunction(self.raw) }, |f| unsafe { LLVMGetNextFunction(f) })
    }

    /// Those with a body.
    pub(crate) fn defined(&self) -> Vec<LLVMValueRef> {
        let mut functions = self.functions();
        // SAFETY: they are functions of this module.
        functions.retain(|&f| unsafe { LLVMCountBasicBlocks(f) > 0 });
        functions
    }

    /// Links modules into one. Returns it with, by module and function with a body, the name that each has in it; `None` if
    /// another module's copy was taken.
    pub(crate) fn link(kept: &[&[u8]]) -> Result<(Module, NewNames), ModuleError> {
        let first = kept.first().ok_or(ModuleError::Unreadable)?;
        let whole = Module::parse(first)?;
        let mut names = vec![whole.make_names_unique(0)];
        let mut taken: std::collections::HashSet<String> =
            names[0].iter().flatten().cloned().collect();
        for (number, bitcode) in kept.iter().enumerate().skip(1) {
            let module = Module::parse_in(whole.context, bitcode)?;
            let mut own = module.make_names_unique(number);
            for name in &mut own {
                let first_to_have_it = name.as_ref().is_some_and(|n| taken.insert(n.clone()));
                if !first_to_have_it {
                    *name = None;
                }
            }
            names.push(own);
            // SAFETY: both live in one context; linking consumes the second, so it is not dropped here.
            let failed = unsafe { llvm_sys::linker::LLVMLinkModules2(whole.raw, module.raw) != 0 };
            std::mem::forget(module);
            if failed {
                let message = format!("module {number} clashes with those before it");
                return Err(ModuleError::Link { message });
            }
        }
        whole.verify("linking")?;
        Ok((whole, names))
    }

    /// Gives functions that are local to the module names that no other module uses; returns all names.
    fn make_names_unique(&self, number: usize) -> Vec<Option<String>> {
        let functions = self.defined().into_iter();
        let named = functions.map(|function| {
            let name = name_of(function);
            if number == 0 || !is_local(function) {
                return Some(name);
            }
            let new = format!("{name}.m{number}");
            // SAFETY: the function is live, the name is copied.
            unsafe { LLVMSetValueName2(function, new.as_ptr().cast::<c_char>(), new.len()) };
            Some(name_of(function))
        });
        named.collect()
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: both are live; the module goes before its context.
        unsafe {
            LLVMDisposeModule(self.raw);
            if self.owns_context {
                LLVMContextDispose(self.context);
            }
        }
    }
}

/// Walks one of LLVM's linked lists.
pub(crate) fn list<T>(first: *mut T, next: impl Fn(*mut T) -> *mut T) -> Vec<*mut T> {
    let some = |v: *mut T| (!v.is_null()).then_some(v);
    std::iter::successors(some(first), |&v| some(next(v))).collect()
}

pub(crate) fn name_of(value: LLVMValueRef) -> String {
    let mut length = 0;
    // SAFETY: LLVM keeps the name as long as the value.
    unsafe {
        let name = LLVMGetValueName2(value, &mut length);
        String::from_utf8_lossy(std::slice::from_raw_parts(name.cast::<u8>(), length)).into_owned()
    }
}

pub(crate) fn is_local(function: LLVMValueRef) -> bool {
    use llvm_sys::LLVMLinkage::{LLVMInternalLinkage, LLVMPrivateLinkage};
    // SAFETY: it is a live function.
    matches!(unsafe { LLVMGetLinkage(function) }, LLVMInternalLinkage | LLVMPrivateLinkage)
}

/// A C string of something that has no zero in it.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text).expect("names and texts that we make hold no zero byte")
}
