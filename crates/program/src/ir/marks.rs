//! Numbers that are written to instructions and globals of a module as metadata, and the module as bitcode again.

use llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Module, Value};

impl Module {
    fn node(&self, numbers: &[u64]) -> (u32, LLVMMetadataRef) {
        let kind = unravel_recording::vectors::MARK;
        let context = self.context();
        // SAFETY: the context is live; the list outlives the call that reads it.
        unsafe {
            let long = LLVMInt64TypeInContext(context);
            let constant = |number: &u64| LLVMValueAsMetadata(LLVMConstInt(long, *number, 0));
            let mut list: Vec<LLVMMetadataRef> = numbers.iter().map(constant).collect();
            let kind = LLVMGetMDKindIDInContext(context, kind.as_ptr().cast(), kind.len() as u32);
            (kind, LLVMMDNodeInContext2(context, list.as_mut_ptr(), list.len()))
        }
    }

    pub(crate) fn mark_instruction(&self, instruction: Value<'_>, numbers: &[u64]) {
        let (kind, node) = self.node(numbers);
        // SAFETY: the instruction is of this module.
        unsafe {
            let value = LLVMMetadataAsValue(self.context(), node);
            LLVMSetMetadata(instruction.raw(), kind, value);
        }
    }

    pub(crate) fn mark_global(&self, global: Value<'_>, number: u64) {
        let (kind, node) = self.node(&[number]);
        // SAFETY: the global is of this module.
        unsafe { LLVMGlobalSetMetadata(global.raw(), kind, node) };
    }

    pub(crate) fn bitcode(&self) -> Vec<u8> {
        // SAFETY: the buffer is LLVM's and lives until it is disposed of.
        unsafe {
            let buffer = LLVMWriteBitcodeToMemoryBuffer(self.raw());
            let start = LLVMGetBufferStart(buffer).cast::<u8>();
            let bytes = std::slice::from_raw_parts(start, LLVMGetBufferSize(buffer)).to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            bytes
        }
    }
}
