//! The whole way of one module: bitcode → bitcode with recording code, and what is kept.

use std::path::Path;

use llvm_sys::core::LLVMAppendModuleInlineAsm;
use llvm_sys::debuginfo::LLVMStripModuleDebugInfo;
use unravel_recording::kept::{self, Kept};

use crate::emit::{self, Options};
use crate::extract::extract;
use crate::module::{Module, ModuleError};

/// A module, ready to be compiled to an object.
#[derive(Debug)]
pub struct Instrumented {
    pub bitcode: Vec<u8>,
    pub kept: Kept,
}

/// What `instrument` is told besides the module.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// As the compiler was given it.
    pub source: &'a str,
    /// Where the caller will write [`Kept::encode`]; the assembler reads it from there.
    pub kept_at: &'a Path,
    /// The user wants debug information in the object; the kept module always has what the compiler made.
    pub debug: bool,
    pub options: Options,
}

pub fn instrument(bitcode: &[u8], request: Request<'_>) -> Result<Instrumented, ModuleError> {
    let module = Module::parse(bitcode)?;
    let kept = Kept::new(extract(&module, request.source), bitcode.to_vec());
    emit::emit(&module, &kept.shape, kept.hash, request.options)?;
    let path = request.kept_at.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    let section = format!(
        "\t.pushsection {},\"\",@progbits\n\t.balign 8\n\t.incbin \"{path}\"\n\t.popsection\n",
        kept::SECTION
    );
    // SAFETY: the module is live; the text is passed with its length.
    unsafe {
        LLVMAppendModuleInlineAsm(module.raw, section.as_ptr().cast(), section.len());
        if !request.debug {
            LLVMStripModuleDebugInfo(module.raw);
        }
    }
    Ok(Instrumented { bitcode: module.write(), kept })
}
