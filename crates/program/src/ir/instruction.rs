//! Queries of particular instructions. Each is for the instruction its name says.

use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMIntPredicate, LLVMOpcode, LLVMRealPredicate,
};

use super::{Block, Node, Type, Value, copy_string};

impl<'m> Value<'m> {
    fn expect(self, opcodes: &[LLVMOpcode]) {
        let opcode = self.opcode().or(self.constant_opcode());
        assert!(opcode.is_some_and(|o| opcodes.contains(&o)), "queried for another instruction");
    }

    pub(crate) fn block(self) -> Option<Block<'m>> {
        if !self.is_instruction() {
            return None;
        }
        // SAFETY: it is an instruction.
        Block::new(unsafe { LLVMGetInstructionParent(self.raw()) })
    }

    pub(crate) fn debug_location(self) -> Option<Node<'m>> {
        if !self.is_instruction() {
            return None;
        }
        // SAFETY: it is an instruction.
        Node::new(unsafe { LLVMInstructionGetDebugLoc(self.raw()) })
    }

    pub(crate) fn icmp_predicate(self) -> LLVMIntPredicate {
        self.expect(&[LLVMOpcode::LLVMICmp]);
        // SAFETY: checked above; so below.
        unsafe { LLVMGetICmpPredicate(self.raw()) }
    }

    pub(crate) fn fcmp_predicate(self) -> LLVMRealPredicate {
        self.expect(&[LLVMOpcode::LLVMFCmp]);
        // SAFETY: checked above.
        unsafe { LLVMGetFCmpPredicate(self.raw()) }
    }

    pub(crate) fn gep_source_type(self) -> Type<'m> {
        self.expect(&[LLVMOpcode::LLVMGetElementPtr]);
        // SAFETY: checked above.
        Type::new(unsafe { LLVMGetGEPSourceElementType(self.raw()) })
    }

    pub(crate) fn allocated_type(self) -> Type<'m> {
        self.expect(&[LLVMOpcode::LLVMAlloca]);
        // SAFETY: checked above.
        Type::new(unsafe { LLVMGetAllocatedType(self.raw()) })
    }

    /// Of a load or store.
    pub(crate) fn is_volatile(self) -> bool {
        self.expect(&[LLVMOpcode::LLVMLoad, LLVMOpcode::LLVMStore]);
        // SAFETY: checked above.
        unsafe { LLVMGetVolatile(self.raw()) != 0 }
    }

    /// Of a load or store.
    pub(crate) fn is_atomic(self) -> bool {
        self.expect(&[LLVMOpcode::LLVMLoad, LLVMOpcode::LLVMStore]);
        // SAFETY: checked above.
        let ordering = unsafe { LLVMGetOrdering(self.raw()) };
        ordering != LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
    }

    pub(crate) fn is_single_thread_fence(self) -> bool {
        self.expect(&[LLVMOpcode::LLVMFence]);
        // SAFETY: checked above.
        unsafe { LLVMIsAtomicSingleThread(self.raw()) != 0 }
    }

    /// Of a compare-exchange.
    pub(crate) fn is_weak(self) -> bool {
        self.expect(&[LLVMOpcode::LLVMAtomicCmpXchg]);
        // SAFETY: checked above.
        unsafe { LLVMGetWeak(self.raw()) != 0 }
    }

    pub(crate) fn rmw_operation(self) -> LLVMAtomicRMWBinOp {
        self.expect(&[LLVMOpcode::LLVMAtomicRMW]);
        // SAFETY: checked above.
        unsafe { LLVMGetAtomicRMWBinOp(self.raw()) }
    }

    /// Of an extractvalue or insertvalue.
    pub(crate) fn aggregate_indices(self) -> Vec<u32> {
        self.expect(&[LLVMOpcode::LLVMExtractValue, LLVMOpcode::LLVMInsertValue]);
        // SAFETY: checked above; LLVM gives as many indices as it says.
        unsafe {
            let count = LLVMGetNumIndices(self.raw()) as usize;
            std::slice::from_raw_parts(LLVMGetIndices(self.raw()), count).to_vec()
        }
    }

    /// Of a shufflevector: the source lane of each lane, `None` for one that is undefined.
    pub(crate) fn shuffle_mask(self) -> Vec<Option<u32>> {
        self.expect(&[LLVMOpcode::LLVMShuffleVector]);
        // SAFETY: checked above; the indices are in range.
        unsafe {
            let count = LLVMGetNumMaskElements(self.raw());
            (0..count).map(|i| u32::try_from(LLVMGetMaskValue(self.raw(), i)).ok()).collect()
        }
    }

    /// Of a terminator.
    pub(crate) fn successors(self) -> Vec<Block<'m>> {
        // SAFETY: the caller has a terminator; the indices are in range.
        unsafe {
            let count = LLVMGetNumSuccessors(self.raw());
            (0..count).filter_map(|i| Block::new(LLVMGetSuccessor(self.raw(), i))).collect()
        }
    }

    /// The condition of a branch, if it has one.
    pub(crate) fn branch_condition(self) -> Option<Value<'m>> {
        self.expect(&[LLVMOpcode::LLVMBr]);
        // SAFETY: checked above.
        unsafe {
            (LLVMIsConditional(self.raw()) != 0).then(|| Value::known(LLVMGetCondition(self.raw())))
        }
    }

    /// The value that a phi takes when control comes from `block`.
    pub(crate) fn incoming_from(self, block: Block<'m>) -> Option<Value<'m>> {
        self.incoming().into_iter().find(|(_, from)| *from == block).map(|(value, _)| value)
    }

    /// All values of a phi.
    pub(crate) fn incoming(self) -> Vec<(Value<'m>, Block<'m>)> {
        self.expect(&[LLVMOpcode::LLVMPHI]);
        // SAFETY: checked above; the indices are in range.
        unsafe {
            (0..LLVMCountIncoming(self.raw()))
                .filter_map(|i| {
                    let value = Value::new(LLVMGetIncomingValue(self.raw(), i))?;
                    Some((value, Block::new(LLVMGetIncomingBlock(self.raw(), i))?))
                })
                .collect()
        }
    }

    fn expect_call(self) {
        self.expect(&[LLVMOpcode::LLVMCall, LLVMOpcode::LLVMInvoke, LLVMOpcode::LLVMCallBr]);
    }

    pub(crate) fn is_call(self) -> bool {
        use LLVMOpcode::{LLVMCall, LLVMCallBr, LLVMInvoke};
        matches!(self.opcode(), Some(LLVMCall | LLVMInvoke | LLVMCallBr))
    }

    pub(crate) fn callee(self) -> Value<'m> {
        self.expect_call();
        // SAFETY: checked above.
        Value::known(unsafe { LLVMGetCalledValue(self.raw()) })
    }

    pub(crate) fn called_type(self) -> Type<'m> {
        self.expect_call();
        // SAFETY: checked above.
        Type::new(unsafe { LLVMGetCalledFunctionType(self.raw()) })
    }

    pub(crate) fn arguments(self) -> Vec<Value<'m>> {
        self.expect_call();
        // SAFETY: checked above.
        let count = unsafe { LLVMGetNumArgOperands(self.raw()) };
        (0..count).map(|i| self.operand(i)).collect()
    }

    /// Has argument `index` (from 1; 0 is the result) of this call the attribute `kind`?
    pub(crate) fn call_has_attribute(self, index: u32, kind: u32) -> bool {
        self.expect_call();
        // SAFETY: checked above.
        unsafe { !LLVMGetCallSiteEnumAttribute(self.raw(), index, kind).is_null() }
    }

    /// The type that an attribute such as `byval` of argument `index` (from 1) of this call names.
    pub(crate) fn call_attribute_type(self, index: u32, kind: u32) -> Option<Type<'m>> {
        self.expect_call();
        // SAFETY: checked above; the caller asks for a type attribute.
        unsafe {
            let attribute = LLVMGetCallSiteEnumAttribute(self.raw(), index, kind);
            (!attribute.is_null()).then(|| Type::new(LLVMGetTypeAttributeValue(attribute)))
        }
    }

    /// Of an invoke: where it goes on, and where an exception lands.
    pub(crate) fn invoke_targets(self) -> Option<(Block<'m>, Block<'m>)> {
        if self.opcode() != Some(LLVMOpcode::LLVMInvoke) {
            return None;
        }
        // SAFETY: checked above.
        unsafe {
            let normal = Block::new(LLVMGetNormalDest(self.raw()))?;
            Some((normal, Block::new(LLVMGetUnwindDest(self.raw()))?))
        }
    }

    pub(crate) fn landing_pad_is_cleanup(self) -> bool {
        self.expect(&[LLVMOpcode::LLVMLandingPad]);
        // SAFETY: checked above.
        unsafe { LLVMIsCleanup(self.raw()) != 0 }
    }

    pub(crate) fn landing_pad_clauses(self) -> Vec<Value<'m>> {
        self.expect(&[LLVMOpcode::LLVMLandingPad]);
        // SAFETY: checked above; the indices are in range.
        unsafe {
            let count = LLVMGetNumClauses(self.raw());
            (0..count).map(|i| Value::known(LLVMGetClause(self.raw(), i))).collect()
        }
    }

    /// The text and the constraints of inline assembly.
    pub(crate) fn inline_asm(self) -> (String, String) {
        assert!(self.is_inline_asm(), "queried for another value");
        let mut length = 0;
        // SAFETY: checked above; LLVM keeps the strings.
        unsafe {
            let text = LLVMGetInlineAsmAsmString(self.raw(), &mut length);
            let text = copy_string(text, length);
            let constraints = LLVMGetInlineAsmConstraintString(self.raw(), &mut length);
            (text, copy_string(constraints, length))
        }
    }
}
