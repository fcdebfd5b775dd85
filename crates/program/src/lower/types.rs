//! How a value of an LLVM type lies in slots and is passed in calls.

use llvm_sys::LLVMTypeKind as Kind;
use unravel_code::Abi;
use unravel_code::code::FloatKind;

use crate::ir::{DataLayout, Type};

/// What lowering needs to know of a type to choose an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// Of 1 to 128 bits.
    Int(u8),
    Pointer,
    Float(FloatKind),
    Vector,
    /// A struct or an array.
    Aggregate,
    Void,
    /// A type no instruction works on: half precision, integers beyond 128 bits, ….
    Unsupported,
}

impl Shape {
    /// The width of a number or pointer in bits.
    pub(super) fn bits(self) -> Option<u8> {
        match self {
            Shape::Int(bits) => Some(bits),
            Shape::Pointer => Some(64),
            Shape::Float(FloatKind::F32) => Some(32),
            Shape::Float(FloatKind::F64) => Some(64),
            Shape::Float(FloatKind::F80) => Some(80),
            _ => None,
        }
    }
}

/// The lanes of a vector in slots: `stride` bytes each, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Lanes<'m> {
    pub(super) element: Type<'m>,
    pub(super) count: u32,
    pub(super) stride: u32,
}

impl Lanes<'_> {
    pub(super) fn bytes(self) -> u32 {
        self.count * self.stride
    }
}

pub(super) fn shape(ty: Type<'_>) -> Shape {
    match ty.kind() {
        Kind::LLVMIntegerTypeKind => match ty.int_width() {
            Some(bits @ 1..=128) => Shape::Int(bits as u8),
            _ => Shape::Unsupported,
        },
        Kind::LLVMPointerTypeKind => Shape::Pointer,
        Kind::LLVMFloatTypeKind => Shape::Float(FloatKind::F32),
        Kind::LLVMDoubleTypeKind => Shape::Float(FloatKind::F64),
        Kind::LLVMX86_FP80TypeKind => Shape::Float(FloatKind::F80),
        Kind::LLVMVectorTypeKind => Shape::Vector,
        Kind::LLVMStructTypeKind | Kind::LLVMArrayTypeKind => Shape::Aggregate,
        Kind::LLVMVoidTypeKind
        | Kind::LLVMLabelTypeKind
        | Kind::LLVMMetadataTypeKind
        | Kind::LLVMTokenTypeKind => Shape::Void,
        _ => Shape::Unsupported,
    }
}

pub(super) fn lanes<'m>(layout: DataLayout<'m>, ty: Type<'m>) -> Option<Lanes<'m>> {
    if !ty.is_vector() {
        return None;
    }
    let (element, count) = ty.elements()?;
    let stride = layout.size(element).max(1);
    Some(Lanes { element, count: u32::try_from(count).ok()?, stride: u32::try_from(stride).ok()? })
}

/// Does a vector's memory layout differ from its layout in slots? In memory lanes are packed to the bit,
/// which matters for `i1`, odd widths and `x86_fp80`.
pub(super) fn is_packed(layout: DataLayout<'_>, ty: Type<'_>) -> bool {
    match lanes(layout, ty) {
        Some(lanes) => layout.bits(lanes.element) != u64::from(lanes.stride) * 8,
        None => false,
    }
}

/// The number of slots that a value takes; 0 for none at all.
pub(super) fn slots<'m>(layout: DataLayout<'m>, ty: Type<'m>) -> u32 {
    if shape(ty) == Shape::Void {
        return 0;
    }
    let in_slots = lanes(layout, ty).map_or(0, |l| u64::from(l.bytes()));
    let bytes = layout.size(ty).max(in_slots);
    u32::try_from(bytes.div_ceil(8).max(1)).unwrap_or(u32::MAX / 4)
}

/// How a value is passed to and from functions. `signed` is for a parameter marked `signext`.
pub(super) fn abi<'m>(layout: DataLayout<'m>, ty: Type<'m>, signed: bool) -> Abi {
    match shape(ty) {
        Shape::Int(bits) if bits <= 64 => Abi::Int { bits, signed },
        Shape::Int(_) => Abi::Wide,
        Shape::Pointer => Abi::Pointer,
        Shape::Float(FloatKind::F32) => Abi::F32,
        Shape::Float(FloatKind::F64) => Abi::F64,
        Shape::Float(FloatKind::F80) => Abi::F80,
        Shape::Void => Abi::Void,
        Shape::Vector | Shape::Aggregate => match ty.elements() {
            Some((element, count)) => {
                let count = usize::try_from(count).unwrap_or(usize::MAX).min(1 << 16);
                Abi::Aggregate(vec![abi(layout, element, false); count].into_boxed_slice())
            }
            None => {
                Abi::Aggregate(ty.fields().into_iter().map(|f| abi(layout, f, false)).collect())
            }
        },
        // Passed on as its bytes, so that a function that only hands it through works.
        Shape::Unsupported => {
            let words = usize::try_from(layout.size(ty).div_ceil(8)).unwrap_or(0);
            Abi::Aggregate(vec![Abi::Int { bits: 64, signed: false }; words].into_boxed_slice())
        }
    }
}
