//! A thin layer over LLVM's C interface: a module, its values, types and debug metadata.
//!
//! Every handle borrows the [`Module`] it came from, so none outlives it. LLVM checks nothing in a release
//! build: a method that only makes sense for some kind of value (say `landing_pad_clauses`) says so, and
//! the callers dispatch on [`Value::opcode`] or a `is_…` test first. A module is verified before any
//! handle is given out, so what LLVM promises about well-formed modules holds.

mod assembly;
mod instruction;
mod marks;
mod metadata;
mod module;
pub(crate) mod symbols;
mod types;
mod value;

pub(crate) use assembly::Assembler;
pub(crate) use metadata::{Node, SourceFile};
pub use module::LoadError;
pub(crate) use module::Module;
pub(crate) use types::{DataLayout, Type};
pub(crate) use value::{Block, Value};

use std::ffi::{CStr, c_char};

/// Takes over a message that LLVM allocated.
///
/// # Safety
/// `message` is null or a string that LLVM handed over to be freed with `LLVMDisposeMessage`.
unsafe fn take_message(message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: the caller hands over a null-terminated string of LLVM's.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        llvm_sys::core::LLVMDisposeMessage(message);
        text
    }
}

/// Copies a string that LLVM keeps.
///
/// # Safety
/// `start` is null or points to `length` readable bytes.
unsafe fn copy_string(start: *const c_char, length: usize) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: the caller vouches for the range.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}
