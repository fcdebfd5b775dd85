//! Values: constants, globals, functions, arguments, instructions; and basic blocks.

use std::marker::PhantomData;

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMOpcode, LLVMTypeKind};

use super::module::Borrowed;
use super::{Node, Type, copy_string, take_message};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Value<'m>(LLVMValueRef, Borrowed<'m>);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Block<'m>(LLVMBasicBlockRef, Borrowed<'m>);

/// Defines `is_…` tests by LLVM's `LLVMIsA…` functions.
macro_rules! kinds {
    ($($name:ident = $test:ident),* $(,)?) => {
        $(pub(crate) fn $name(self) -> bool {
            // SAFETY: the test is defined for every live value.
            unsafe { !$test(self.0).is_null() }
        })*
    };
}

impl<'m> Value<'m> {
    pub(super) fn new(raw: LLVMValueRef) -> Option<Self> {
        (!raw.is_null()).then_some(Value(raw, PhantomData))
    }

    /// Wraps a value that LLVM promises to be there in a verified module.
    pub(super) fn known(raw: LLVMValueRef) -> Self {
        assert!(!raw.is_null(), "a verified module has a value here");
        Value(raw, PhantomData)
    }

    pub(super) fn raw(self) -> LLVMValueRef {
        self.0
    }

    kinds! {
        is_instruction = LLVMIsAInstruction,
        is_alloca = LLVMIsAAllocaInst,
        is_gep = LLVMIsAGetElementPtrInst,
        is_function = LLVMIsAFunction,
        is_global_variable = LLVMIsAGlobalVariable,
        is_alias = LLVMIsAGlobalAlias,
        is_ifunc = LLVMIsAGlobalIFunc,
        is_constant_expr = LLVMIsAConstantExpr,
        is_constant_int = LLVMIsAConstantInt,
        is_constant_float = LLVMIsAConstantFP,
        is_block_address = LLVMIsABlockAddress,
        is_inline_asm = LLVMIsAInlineAsm,
    }

    pub(crate) fn name(self) -> String {
        let mut length = 0;
        // SAFETY: LLVM keeps the name with the value; so for every query of a live value below.
        unsafe {
            let start = LLVMGetValueName2(self.0, &mut length);
            copy_string(start, length)
        }
    }

    pub(crate) fn ty(self) -> Type<'m> {
        // SAFETY: see `name`.
        Type::new(unsafe { LLVMTypeOf(self.0) })
    }

    /// The value as text, for messages.
    pub(crate) fn print(self) -> String {
        // SAFETY: LLVM allocates the text.
        unsafe { take_message(LLVMPrintValueToString(self.0)) }
    }

    pub(crate) fn is_constant(self) -> bool {
        // SAFETY: see `name`.
        unsafe { LLVMIsConstant(self.0) != 0 }
    }

    /// `undef`, `poison`, null and all-zero constants: what is zero for us.
    pub(crate) fn is_zero(self) -> bool {
        // SAFETY: see `name`.
        unsafe { LLVMIsUndef(self.0) != 0 || LLVMIsPoison(self.0) != 0 || LLVMIsNull(self.0) != 0 }
    }

    pub(crate) fn is_undefined(self) -> bool {
        // SAFETY: see `name`.
        unsafe { LLVMIsUndef(self.0) != 0 || LLVMIsPoison(self.0) != 0 }
    }

    /// The opcode of an instruction.
    pub(crate) fn opcode(self) -> Option<LLVMOpcode> {
        // SAFETY: it is an instruction.
        self.is_instruction().then(|| unsafe { LLVMGetInstructionOpcode(self.0) })
    }

    /// The opcode of a constant expression.
    pub(crate) fn constant_opcode(self) -> Option<LLVMOpcode> {
        // SAFETY: it is a constant expression.
        self.is_constant_expr().then(|| unsafe { LLVMGetConstOpcode(self.0) })
    }

    pub(crate) fn operand_count(self) -> u32 {
        // SAFETY: see `name`; LLVM answers 0 or less for a value without operands.
        u32::try_from(unsafe { LLVMGetNumOperands(self.0) }).unwrap_or(0)
    }

    /// Operand `index`, which the kind of this value promises.
    pub(crate) fn operand(self, index: u32) -> Value<'m> {
        assert!(index < self.operand_count(), "this kind of value has operand {index}");
        // SAFETY: the index is in range.
        Value::known(unsafe { LLVMGetOperand(self.0, index) })
    }

    pub(crate) fn operands(self) -> impl Iterator<Item = Value<'m>> {
        (0..self.operand_count()).map(move |i| self.operand(i))
    }

    /// Whether nothing depends on this value but others that are ignored themselves, as in `x += 1` of an atomic variable.
    pub(crate) fn is_ignored(self) -> bool {
        self.users().all(|user| user.is_pure() && user.users().next().is_none())
    }

    /// Arithmetic that cannot fail.
    fn is_pure(self) -> bool {
        use llvm_sys::LLVMOpcode::*;
        matches!(
            self.opcode(),
            Some(LLVMAdd | LLVMSub | LLVMAnd | LLVMOr | LLVMXor | LLVMTrunc | LLVMZExt | LLVMSExt)
        )
    }

    /// The values that use this one; one that does so twice comes twice.
    pub(crate) fn users(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: uses are walked while nothing changes the module.
        unsafe {
            let first = LLVMGetFirstUse(self.0);
            let first = (!first.is_null()).then_some(first);
            std::iter::successors(first, |&u| {
                let next = LLVMGetNextUse(u);
                (!next.is_null()).then_some(next)
            })
            .map(|u| Value::known(LLVMGetUser(u)))
        }
    }

    /// A constant integer of up to 64 bits, zero-extended.
    pub(crate) fn as_u64(self) -> Option<u64> {
        let narrow = self.is_constant_int() && self.ty().int_width()? <= 64;
        // SAFETY: it is a constant integer of at most 64 bits.
        narrow.then(|| unsafe { LLVMConstIntGetZExtValue(self.0) })
    }

    /// A constant integer of up to 64 bits, sign-extended.
    pub(crate) fn as_i64(self) -> Option<i64> {
        let narrow = self.is_constant_int() && self.ty().int_width()? <= 64;
        // SAFETY: it is a constant integer of at most 64 bits.
        narrow.then(|| unsafe { LLVMConstIntGetSExtValue(self.0) })
    }

    /// A constant integer of up to 128 bits, zero-extended.
    pub(crate) fn as_u128(self) -> Option<u128> {
        if let Some(narrow) = self.as_u64() {
            return Some(u128::from(narrow));
        }
        let width = self.ty().int_width()?;
        if !self.is_constant_int() || width > 128 {
            return None;
        }
        // The C interface reads 64 bits only; LLVM prints a wide constant as `i100 -123`.
        let text = self.print();
        let signed: i128 = text.split_whitespace().nth(1)?.parse().ok()?;
        Some(signed as u128 & (u128::MAX >> (128 - width)))
    }

    /// The exact bits of a constant floating-point number.
    pub(crate) fn float_bits(self) -> Option<u128> {
        let bits = match self.ty().kind() {
            LLVMTypeKind::LLVMHalfTypeKind | LLVMTypeKind::LLVMBFloatTypeKind => 16,
            LLVMTypeKind::LLVMFloatTypeKind => 32,
            LLVMTypeKind::LLVMDoubleTypeKind => 64,
            LLVMTypeKind::LLVMX86_FP80TypeKind => 80,
            LLVMTypeKind::LLVMFP128TypeKind => 128,
            _ => return None,
        };
        if !self.is_constant_float() {
            return None;
        }
        // SAFETY: a floating-point constant of this width; LLVM folds the cast to a constant integer.
        let cast = unsafe {
            let integer = LLVMIntTypeInContext(LLVMGetTypeContext(self.ty().raw()), bits);
            LLVMConstBitCast(self.0, integer)
        };
        Value::new(cast)?.as_u128()
    }

    /// The bytes of a constant string (an array of `i8` data).
    pub(crate) fn string_bytes(self) -> Option<&'m [u8]> {
        // SAFETY: only asked of constant strings; the bytes live as long as the context.
        unsafe {
            if LLVMIsConstantString(self.0) == 0 {
                return None;
            }
            let mut length = 0;
            let start = LLVMGetAsString(self.0, &mut length);
            Some(std::slice::from_raw_parts(start.cast(), length))
        }
    }

    /// Element `index` of a constant aggregate or vector.
    pub(crate) fn element(self, index: u32) -> Option<Value<'m>> {
        // SAFETY: LLVM answers null where there is none.
        Value::new(unsafe { LLVMGetAggregateElement(self.0, index) })
    }

    /// Of a global or function: is only declared here.
    pub(crate) fn is_declaration(self) -> bool {
        // SAFETY: the caller has a global value.
        unsafe { LLVMIsDeclaration(self.0) != 0 }
    }

    /// Of a global or function: the type of the thing itself, not of its address.
    pub(crate) fn value_type(self) -> Type<'m> {
        // SAFETY: the caller has a global value.
        Type::new(unsafe { LLVMGlobalGetValueType(self.0) })
    }

    /// Whether a global value can be seen in its own module only.
    pub(crate) fn is_local(self) -> bool {
        // SAFETY: the caller has a global value.
        let linkage = unsafe { LLVMGetLinkage(self.0) };
        matches!(linkage, LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage)
    }

    /// Of a global or function: may stay undefined.
    pub(crate) fn is_extern_weak(self) -> bool {
        // SAFETY: the caller has a global value.
        unsafe { LLVMGetLinkage(self.0) == LLVMLinkage::LLVMExternalWeakLinkage }
    }

    /// Of a global variable.
    pub(crate) fn is_thread_local(self) -> bool {
        // SAFETY: the test comes first.
        self.is_global_variable() && unsafe { LLVMIsThreadLocal(self.0) != 0 }
    }

    /// Of a global variable.
    pub(crate) fn is_constant_global(self) -> bool {
        // SAFETY: the test comes first.
        self.is_global_variable() && unsafe { LLVMIsGlobalConstant(self.0) != 0 }
    }

    /// Of a global variable.
    pub(crate) fn initializer(self) -> Option<Value<'m>> {
        // SAFETY: the test comes first; LLVM answers null for a declaration.
        self.is_global_variable().then(|| Value::new(unsafe { LLVMGetInitializer(self.0) }))?
    }

    /// Of a global variable, alloca, load or store: the alignment asked for, 0 if none.
    pub(crate) fn alignment(self) -> u64 {
        // SAFETY: the caller has one of these.
        u64::from(unsafe { LLVMGetAlignment(self.0) })
    }

    /// What an alias stands for, or the resolver of an ifunc.
    pub(crate) fn aliasee(self) -> Option<Value<'m>> {
        // SAFETY: each query is asked of the kind it is for.
        unsafe {
            if self.is_alias() {
                Value::new(LLVMAliasGetAliasee(self.0))
            } else if self.is_ifunc() {
                Value::new(LLVMGetGlobalIFuncResolver(self.0))
            } else {
                None
            }
        }
    }

    /// Of a `blockaddress` constant.
    pub(crate) fn block_address(self) -> (Value<'m>, Block<'m>) {
        debug_assert!(self.is_block_address());
        // SAFETY: it is a block address.
        unsafe {
            let function = LLVMGetBlockAddressFunction(self.0);
            let block = LLVMGetBlockAddressBasicBlock(self.0);
            (Value::known(function), Block(block, PhantomData))
        }
    }

    /// Of a function.
    pub(crate) fn params(self) -> impl Iterator<Item = Value<'m>> {
        debug_assert!(self.is_function());
        // SAFETY: it is a function.
        let first = Value::new(unsafe { LLVMGetFirstParam(self.0) });
        // SAFETY: it is a parameter.
        std::iter::successors(first, |p| Value::new(unsafe { LLVMGetNextParam(p.0) }))
    }

    /// Of a function.
    pub(crate) fn blocks(self) -> impl Iterator<Item = Block<'m>> {
        debug_assert!(self.is_function());
        // SAFETY: it is a function.
        let first = Block::new(unsafe { LLVMGetFirstBasicBlock(self.0) });
        // SAFETY: it is a block.
        std::iter::successors(first, |b| Block::new(unsafe { LLVMGetNextBasicBlock(b.0) }))
    }

    /// Has parameter `index` (from 1; 0 is the result) of this function the attribute `kind`?
    pub(crate) fn has_attribute(self, index: u32, kind: u32) -> bool {
        // SAFETY: the caller has a function.
        unsafe { !LLVMGetEnumAttributeAtIndex(self.0, index, kind).is_null() }
    }

    /// The type that an attribute such as `byval` of parameter `index` (from 1) names.
    pub(crate) fn attribute_type(self, index: u32, kind: u32) -> Option<Type<'m>> {
        // SAFETY: the caller has a function and a type attribute.
        unsafe {
            let attribute = LLVMGetEnumAttributeAtIndex(self.0, index, kind);
            (!attribute.is_null()).then(|| Type::new(LLVMGetTypeAttributeValue(attribute)))
        }
    }

    /// This value as metadata, if it is metadata used as a value (or a constant, which can be both).
    pub(crate) fn as_metadata(self) -> Option<Node<'m>> {
        // SAFETY: the kind is tested first; the conversion is defined for both.
        unsafe {
            let metadata = self.ty().kind() == LLVMTypeKind::LLVMMetadataTypeKind;
            (metadata || self.is_constant()).then(|| Node::new(LLVMValueAsMetadata(self.0)))?
        }
    }
}

impl<'m> Block<'m> {
    pub(super) fn new(raw: LLVMBasicBlockRef) -> Option<Self> {
        (!raw.is_null()).then_some(Block(raw, PhantomData))
    }

    pub(crate) fn instructions(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: the block is live and not changed meanwhile.
        let first = Value::new(unsafe { LLVMGetFirstInstruction(self.0) });
        // SAFETY: it is an instruction.
        std::iter::successors(first, |i| Value::new(unsafe { LLVMGetNextInstruction(i.0) }))
    }

    pub(crate) fn phis(self) -> impl Iterator<Item = Value<'m>> {
        self.instructions().take_while(|i| i.opcode() == Some(LLVMOpcode::LLVMPHI))
    }

    pub(crate) fn has_phis(self) -> bool {
        self.phis().next().is_some()
    }

    /// Is the address of this block taken (`&&label`)?
    pub(crate) fn is_address_taken(self) -> bool {
        // SAFETY: the block is live.
        let value = Value::known(unsafe { LLVMBasicBlockAsValue(self.0) });
        value.users().any(Value::is_block_address)
    }
}
