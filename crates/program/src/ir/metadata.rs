//! Debug metadata.
//!
//! The C interface has accessors for a few fields; the rest are operands of the node, whose positions
//! LLVM fixes for each kind (`DebugInfoMetadata.h`). Nothing is printed: LLVM would number the metadata of
//! the whole module each time.

use std::marker::PhantomData;

use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;

use super::module::Borrowed;
use super::{Module, Value, copy_string};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Node<'m>(LLVMMetadataRef, Borrowed<'m>);

use LLVMMetadataKind as Kind;

/// A file as debug information names it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct SourceFile {
    pub(crate) name: String,
    /// What a relative name is relative to.
    pub(crate) directory: String,
}

impl<'m> Node<'m> {
    pub(super) fn new(raw: LLVMMetadataRef) -> Option<Self> {
        (!raw.is_null()).then_some(Node(raw, PhantomData))
    }

    pub(super) fn raw(self) -> LLVMMetadataRef {
        self.0
    }

    pub(crate) fn kind(self) -> LLVMMetadataKind {
        // SAFETY: the node is live; so below.
        unsafe { LLVMGetMetadataKind(self.0) }
    }

    fn is_node(self) -> bool {
        !matches!(
            self.kind(),
            Kind::LLVMMDStringMetadataKind
                | Kind::LLVMConstantAsMetadataMetadataKind
                | Kind::LLVMLocalAsMetadataMetadataKind
                | Kind::LLVMDIArgListMetadataKind
                | Kind::LLVMDistinctMDOperandPlaceholderMetadataKind
        )
    }

    /// The operands of a node; none for anything else.
    pub(crate) fn operands(self, module: &'m Module) -> Vec<Option<Value<'m>>> {
        if !self.is_node() {
            return Vec::new();
        }
        // SAFETY: it is a node; the buffer has the size LLVM asks for.
        unsafe {
            let value = LLVMMetadataAsValue(module.context(), self.0);
            // Turned into a value, a tuple of one constant becomes that constant.
            match LLVMValueAsMetadata(value) {
                same if same == self.0 => {}
                _ => return Vec::new(),
            }
            let count = LLVMGetMDNodeNumOperands(value) as usize;
            let mut operands = vec![std::ptr::null_mut(); count];
            LLVMGetMDNodeOperands(value, operands.as_mut_ptr());
            operands.into_iter().map(Value::new).collect()
        }
    }

    /// Operand `index`, if it is metadata.
    pub(crate) fn operand(self, module: &'m Module, index: usize) -> Option<Node<'m>> {
        self.operands(module).get(index).copied().flatten()?.as_metadata()
    }

    /// Operand `index`, if it is a string that is not empty.
    pub(crate) fn string(self, module: &'m Module, index: usize) -> Option<String> {
        let operand = self.operands(module).get(index).copied().flatten()?;
        let mut length = 0;
        // SAFETY: LLVM answers null for a value that is no metadata string.
        let text =
            unsafe { copy_string(LLVMGetMDString(operand.raw(), &mut length), length as usize) };
        (!text.is_empty()).then_some(text)
    }

    /// The value that this metadata wraps (a local or a constant).
    pub(crate) fn wrapped_value(self, module: &'m Module) -> Option<Value<'m>> {
        let wraps = matches!(
            self.kind(),
            Kind::LLVMLocalAsMetadataMetadataKind | Kind::LLVMConstantAsMetadataMetadataKind
        );
        if !wraps {
            return None;
        }
        let mut value = std::ptr::null_mut();
        // SAFETY: of a wrapped value LLVM gives exactly one operand.
        unsafe {
            LLVMGetMDNodeOperands(LLVMMetadataAsValue(module.context(), self.0), &mut value);
        }
        Value::new(value)
    }

    /// The DWARF tag of a type; 0 for other nodes.
    pub(crate) fn tag(self) -> u16 {
        // SAFETY: it is a type, which has a tag.
        if self.is_type() { unsafe { LLVMGetDINodeTag(self.0) } } else { 0 }
    }

    pub(crate) fn is_type(self) -> bool {
        matches!(
            self.kind(),
            Kind::LLVMDIBasicTypeMetadataKind
                | Kind::LLVMDIDerivedTypeMetadataKind
                | Kind::LLVMDICompositeTypeMetadataKind
                | Kind::LLVMDISubroutineTypeMetadataKind
                | Kind::LLVMDIStringTypeMetadataKind
        )
    }

    pub(crate) fn type_name(self) -> String {
        assert!(self.is_type(), "queried for another node");
        let mut length = 0;
        // SAFETY: it is a type.
        unsafe { copy_string(LLVMDITypeGetName(self.0, &mut length), length) }
    }

    pub(crate) fn type_bits(self) -> u64 {
        assert!(self.is_type(), "queried for another node");
        // SAFETY: it is a type.
        unsafe { LLVMDITypeGetSizeInBits(self.0) }
    }

    pub(crate) fn type_offset_bits(self) -> u64 {
        assert!(self.is_type(), "queried for another node");
        // SAFETY: it is a type.
        unsafe { LLVMDITypeGetOffsetInBits(self.0) }
    }

    pub(crate) fn type_is_declaration(self) -> bool {
        assert!(self.is_type(), "queried for another node");
        // SAFETY: it is a type.
        unsafe { LLVMDITypeGetFlags(self.0) & LLVMDIFlagFwdDecl != 0 }
    }

    pub(crate) fn is_static_member(self) -> bool {
        assert!(self.is_type(), "queried for another node");
        // SAFETY: it is a type.
        unsafe { LLVMDITypeGetFlags(self.0) & LLVMDIFlagStaticMember != 0 }
    }

    fn is_location(self) -> bool {
        matches!(self.kind(), Kind::LLVMDILocationMetadataKind)
    }

    /// Line and column of a location.
    pub(crate) fn line_and_column(self) -> Option<(u32, u32)> {
        // SAFETY: it is a location.
        self.is_location()
            .then(|| unsafe { (LLVMDILocationGetLine(self.0), LLVMDILocationGetColumn(self.0)) })
    }

    /// The scope of a location.
    pub(crate) fn location_scope(self) -> Option<Node<'m>> {
        // SAFETY: it is a location.
        self.is_location().then(|| Node::new(unsafe { LLVMDILocationGetScope(self.0) }))?
    }

    /// Where the code of a location was inlined.
    pub(crate) fn inlined_at(self) -> Option<Node<'m>> {
        // SAFETY: it is a location.
        self.is_location().then(|| Node::new(unsafe { LLVMDILocationGetInlinedAt(self.0) }))?
    }

    /// The file that a scope (or a variable) is in.
    pub(crate) fn file(self) -> Option<SourceFile> {
        // SAFETY: each query is asked of the kind it is for.
        unsafe {
            let file = match self.kind() {
                Kind::LLVMDIFileMetadataKind => self.0,
                Kind::LLVMDIGlobalVariableMetadataKind | Kind::LLVMDILocalVariableMetadataKind => {
                    LLVMDIVariableGetFile(self.0)
                }
                Kind::LLVMDISubprogramMetadataKind
                | Kind::LLVMDILexicalBlockMetadataKind
                | Kind::LLVMDILexicalBlockFileMetadataKind
                | Kind::LLVMDICompileUnitMetadataKind
                | Kind::LLVMDINamespaceMetadataKind => LLVMDIScopeGetFile(self.0),
                _ => return None,
            };
            if file.is_null() {
                return None;
            }
            let mut length = 0;
            let name = copy_string(LLVMDIFileGetFilename(file, &mut length), length as usize);
            let directory = copy_string(LLVMDIFileGetDirectory(file, &mut length), length as usize);
            Some(SourceFile { name, directory })
        }
    }

    /// The line that a variable is declared on.
    pub(crate) fn variable_line(self) -> u32 {
        let variable = matches!(
            self.kind(),
            Kind::LLVMDIGlobalVariableMetadataKind | Kind::LLVMDILocalVariableMetadataKind
        );
        // SAFETY: it is a variable.
        if variable { unsafe { LLVMDIVariableGetLine(self.0) } } else { 0 }
    }

    pub(crate) fn is_subprogram(self) -> bool {
        matches!(self.kind(), Kind::LLVMDISubprogramMetadataKind)
    }

    /// The line that a function is declared on.
    pub(crate) fn subprogram_line(self) -> u32 {
        // SAFETY: it is a subprogram.
        if self.is_subprogram() { unsafe { LLVMDISubprogramGetLine(self.0) } } else { 0 }
    }
}

impl<'m> Value<'m> {
    /// The debug information of a function.
    pub(crate) fn subprogram(self) -> Option<Node<'m>> {
        debug_assert!(self.is_function());
        // SAFETY: it is a function.
        Node::new(unsafe { LLVMGetSubprogram(self.raw()) })
    }

    /// The debug information of a global variable.
    pub(crate) fn global_debug_variable(self) -> Option<Node<'m>> {
        debug_assert!(self.is_global_variable());
        let mut count = 0;
        // SAFETY: it is a global; the entries are read within their count and disposed of.
        unsafe {
            let entries: *mut LLVMValueMetadataEntry =
                LLVMGlobalCopyAllMetadata(self.raw(), &mut count);
            let variable = (0..count).find_map(|i| {
                let node = Node::new(LLVMValueMetadataEntriesGetMetadata(entries, i as u32))?;
                match node.kind() {
                    Kind::LLVMDIGlobalVariableExpressionMetadataKind => {
                        Node::new(LLVMDIGlobalVariableExpressionGetVariable(node.0))
                    }
                    Kind::LLVMDIGlobalVariableMetadataKind => Some(node),
                    _ => None,
                }
            });
            LLVMDisposeValueMetadataEntries(entries);
            variable
        }
    }
}
