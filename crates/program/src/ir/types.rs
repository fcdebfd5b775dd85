//! Types and their layout.

use std::ffi::CStr;
use std::marker::PhantomData;

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::*;

use super::module::Borrowed;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Type<'m>(LLVMTypeRef, Borrowed<'m>);

impl<'m> Type<'m> {
    pub(super) fn new(raw: LLVMTypeRef) -> Self {
        Type(raw, PhantomData)
    }

    pub(crate) fn kind(self) -> LLVMTypeKind {
        // SAFETY: handles are live (see the module's head); so below.
        unsafe { LLVMGetTypeKind(self.0) }
    }

    pub(crate) fn is_sized(self) -> bool {
        // SAFETY: see `kind`.
        unsafe { LLVMTypeIsSized(self.0) != 0 }
    }

    /// The width of an integer type.
    pub(crate) fn int_width(self) -> Option<u32> {
        let integer = self.kind() == LLVMTypeKind::LLVMIntegerTypeKind;
        // SAFETY: it is an integer type.
        integer.then(|| unsafe { LLVMGetIntTypeWidth(self.0) })
    }

    pub(crate) fn is_pointer(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMPointerTypeKind
    }

    /// Whether it points behind a segment register (`fs`, `gs`, `ss`), as x86 numbers address spaces.
    pub(crate) fn is_segment_pointer(self) -> bool {
        // SAFETY: it is a pointer type.
        self.is_pointer() && (256..=258).contains(&unsafe { LLVMGetPointerAddressSpace(self.0) })
    }

    pub(crate) fn is_vector(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMVectorTypeKind
    }

    pub(crate) fn is_array(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMArrayTypeKind
    }

    pub(crate) fn is_struct(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMStructTypeKind
    }

    /// The element type and number of elements of an array or vector.
    pub(crate) fn elements(self) -> Option<(Type<'m>, u64)> {
        // SAFETY: each query is asked of the type it is for.
        unsafe {
            let count = match self.kind() {
                LLVMTypeKind::LLVMArrayTypeKind => LLVMGetArrayLength2(self.0),
                LLVMTypeKind::LLVMVectorTypeKind => u64::from(LLVMGetVectorSize(self.0)),
                _ => return None,
            };
            Some((Type::new(LLVMGetElementType(self.0)), count))
        }
    }

    /// The field types of a struct; empty for another type.
    pub(crate) fn fields(self) -> Vec<Type<'m>> {
        if !self.is_struct() {
            return Vec::new();
        }
        // SAFETY: it is a struct, and the indices are in range.
        unsafe {
            let count = LLVMCountStructElementTypes(self.0);
            (0..count).map(|i| Type::new(LLVMStructGetTypeAtIndex(self.0, i))).collect()
        }
    }

    /// Field `index` of a struct.
    pub(crate) fn field(self, index: u32) -> Option<Type<'m>> {
        // SAFETY: it is a struct, and the index is checked.
        unsafe {
            let inside = self.is_struct() && index < LLVMCountStructElementTypes(self.0);
            inside.then(|| Type::new(LLVMStructGetTypeAtIndex(self.0, index)))
        }
    }

    /// The name of a named struct (`struct.node`).
    pub(crate) fn struct_name(self) -> Option<String> {
        if !self.is_struct() {
            return None;
        }
        // SAFETY: it is a struct; LLVM answers null for one without a name.
        unsafe {
            let name = LLVMGetStructName(self.0);
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }

    /// Of a function type: its result.
    pub(crate) fn result(self) -> Type<'m> {
        debug_assert_eq!(self.kind(), LLVMTypeKind::LLVMFunctionTypeKind);
        // SAFETY: it is a function type.
        Type::new(unsafe { LLVMGetReturnType(self.0) })
    }

    /// Of a function type: its declared parameters.
    pub(crate) fn params(self) -> Vec<Type<'m>> {
        debug_assert_eq!(self.kind(), LLVMTypeKind::LLVMFunctionTypeKind);
        // SAFETY: it is a function type; the buffer has the size LLVM asks for.
        unsafe {
            let count = LLVMCountParamTypes(self.0) as usize;
            let mut params = vec![std::ptr::null_mut(); count];
            LLVMGetParamTypes(self.0, params.as_mut_ptr());
            params.into_iter().map(Type::new).collect()
        }
    }

    /// Of a function type: does it take more arguments than declared?
    pub(crate) fn is_variadic(self) -> bool {
        debug_assert_eq!(self.kind(), LLVMTypeKind::LLVMFunctionTypeKind);
        // SAFETY: it is a function type.
        unsafe { LLVMIsFunctionVarArg(self.0) != 0 }
    }

    pub(super) fn raw(self) -> LLVMTypeRef {
        self.0
    }
}

/// Sizes and offsets as the target lays them out. A type without a size has size 0 here.
#[derive(Clone, Copy)]
pub(crate) struct DataLayout<'m>(LLVMTargetDataRef, Borrowed<'m>);

impl<'m> DataLayout<'m> {
    pub(super) fn new(raw: LLVMTargetDataRef) -> Self {
        DataLayout(raw, PhantomData)
    }

    pub(crate) fn pointer_bytes(self) -> u32 {
        // SAFETY: the layout belongs to a live module; so below.
        unsafe { LLVMPointerSize(self.0) }
    }

    /// Bytes from one element of this type to the next in an array.
    pub(crate) fn size(self, ty: Type<'m>) -> u64 {
        // SAFETY: only sized types are asked about.
        if ty.is_sized() { unsafe { LLVMABISizeOfType(self.0, ty.raw()) } } else { 0 }
    }

    /// Bytes that a store of this type writes.
    pub(crate) fn store_size(self, ty: Type<'m>) -> u64 {
        // SAFETY: only sized types are asked about.
        if ty.is_sized() { unsafe { LLVMStoreSizeOfType(self.0, ty.raw()) } } else { 0 }
    }

    pub(crate) fn bits(self, ty: Type<'m>) -> u64 {
        // SAFETY: only sized types are asked about.
        if ty.is_sized() { unsafe { LLVMSizeOfTypeInBits(self.0, ty.raw()) } } else { 0 }
    }

    pub(crate) fn align(self, ty: Type<'m>) -> u64 {
        if ty.is_sized() {
            // SAFETY: a sized type has an alignment.
            u64::from(unsafe { LLVMABIAlignmentOfType(self.0, ty.raw()) })
        } else {
            1
        }
    }

    /// The byte offset of a struct's field.
    pub(crate) fn offset(self, ty: Type<'m>, field: u32) -> u64 {
        debug_assert!(ty.field(field).is_some());
        // SAFETY: the struct has this field.
        unsafe { LLVMOffsetOfElement(self.0, ty.raw(), field) }
    }
}
