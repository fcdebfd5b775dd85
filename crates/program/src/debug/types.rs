//! The type table from debug information: typedefs and qualifiers resolved, recursion through pointers.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_code::names::{Field, Type, TypeId, TypeTable};

use super::scopes::qualify;
use crate::ir::{Module, Node};

/// DWARF tags, by their numbers in the standard.
mod tag {
    pub(super) const ARRAY: u16 = 0x01;
    pub(super) const CLASS: u16 = 0x02;
    pub(super) const MEMBER: u16 = 0x0d;
    pub(super) const POINTER: u16 = 0x0f;
    pub(super) const REFERENCE: u16 = 0x10;
    pub(super) const STRUCTURE: u16 = 0x13;
    pub(super) const SUBROUTINE: u16 = 0x15;
    pub(super) const TYPEDEF: u16 = 0x16;
    pub(super) const UNION: u16 = 0x17;
    pub(super) const INHERITANCE: u16 = 0x1c;
    pub(super) const CONST: u16 = 0x26;
    pub(super) const VOLATILE: u16 = 0x35;
    pub(super) const RESTRICT: u16 = 0x37;
    pub(super) const RVALUE_REFERENCE: u16 = 0x42;
    pub(super) const TEMPLATE_ALIAS: u16 = 0x43;
    pub(super) const ATOMIC: u16 = 0x47;
}

/// Operand numbers of type nodes, as LLVM stores them.
mod operand {
    pub(super) const SCOPE: usize = 1;
    pub(super) const BASE: usize = 3;
    pub(super) const ELEMENTS: usize = 4;
    pub(super) const IDENTIFIER: usize = 7;
}

pub(super) struct TypeBuilder<'m> {
    module: &'m Module,
    pub(super) table: TypeTable,
    known: FxHashMap<Node<'m>, TypeId>,
    /// Structs, unions and pointers that have an id but no content yet: so that a type may contain itself.
    unfinished: Vec<(Node<'m>, TypeId)>,
    references: FxHashSet<TypeId>,
    /// Structs and unions by unique identifier and by name, and those only declared.
    defined: FxHashMap<String, TypeId>,
    declared: Vec<(TypeId, Vec<String>)>,
    by_name: FxHashMap<String, TypeId>,
}

impl<'m> TypeBuilder<'m> {
    pub(super) fn new(module: &'m Module) -> TypeBuilder<'m> {
        let mut builder = TypeBuilder {
            module,
            table: TypeTable::default(),
            known: FxHashMap::default(),
            unfinished: Vec::new(),
            references: FxHashSet::default(),
            defined: FxHashMap::default(),
            declared: Vec::new(),
            by_name: FxHashMap::default(),
        };
        builder.retained_types();
        builder
    }

    /// Types that the compiler kept because the program casts to them.
    fn retained_types(&mut self) {
        const RETAINED: usize = 5;
        for unit in self.module.compile_units() {
            let Some(list) = unit.operand(self.module, RETAINED) else { continue };
            for kept in list.operands(self.module).into_iter().flatten() {
                if let Some(ty) = kept.as_metadata().filter(|node| node.is_type()) {
                    self.intern(ty);
                }
            }
        }
    }

    /// The id of a type, made on first sight.
    pub(super) fn intern(&mut self, node: Node<'m>) -> TypeId {
        let id = self.reserve(node, None);
        while let Some((node, id)) = self.unfinished.pop() {
            let content = self.content(node, id);
            self.table.types[id.0 as usize] = content;
        }
        id
    }

    fn add(&mut self, ty: Type) -> TypeId {
        let id = TypeId(self.table.types.len() as u32);
        self.table.types.push(ty);
        id
    }

    fn base(&mut self, name: &str, bytes: u64) -> TypeId {
        self.add(Type::Base { name: name.to_owned(), bytes })
    }

    /// Gives a type its id; `alias` is the name of the typedef it was reached by.
    fn reserve(&mut self, node: Node<'m>, alias: Option<String>) -> TypeId {
        if let Some(id) = self.known.get(&node) {
            return *id;
        }
        if !node.is_type() {
            return self.base("", 0);
        }
        let bytes = node.type_bits() / 8;
        let id = match node.tag() {
            tag::TYPEDEF
            | tag::CONST
            | tag::VOLATILE
            | tag::RESTRICT
            | tag::ATOMIC
            | tag::TEMPLATE_ALIAS => {
                let name = Some(node.type_name()).filter(|name| !name.is_empty());
                match node.operand(self.module, operand::BASE) {
                    Some(base) => self.reserve(base, name.or(alias)),
                    None => self.base("void", 0),
                }
            }
            tag::POINTER | tag::REFERENCE | tag::RVALUE_REFERENCE => {
                let id = self.add(Type::Pointer { to: None });
                if node.tag() != tag::POINTER {
                    self.references.insert(id);
                }
                self.unfinished.push((node, id));
                id
            }
            tag::STRUCTURE | tag::CLASS | tag::UNION => {
                let id = self.base(&alias.unwrap_or_default(), bytes);
                self.unfinished.push((node, id));
                id
            }
            tag::ARRAY => self.array(node),
            tag::SUBROUTINE => self.base("function", 0),
            _ => self.base(&node.type_name(), bytes),
        };
        self.known.insert(node, id);
        id
    }

    fn array(&mut self, node: Node<'m>) -> TypeId {
        let mut id = match node.operand(self.module, operand::BASE) {
            Some(element) => self.reserve(element, None),
            None => self.base("void", 0),
        };
        let dimensions = node.operand(self.module, operand::ELEMENTS);
        let dimensions = dimensions.map(|list| list.operands(self.module)).unwrap_or_default();
        // The last dimension is the innermost.
        for dimension in dimensions.into_iter().rev().flatten() {
            let bounds = dimension.as_metadata().map(|range| range.operands(self.module));
            let count = bounds.and_then(|b| b.first().copied().flatten()?.as_i64());
            let count = count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
            let bytes = self.bytes(id).saturating_mul(count);
            id = self.add(Type::Array { element: id, count, bytes });
        }
        id
    }

    /// The content of a type that [`Self::reserve`] left unfinished.
    fn content(&mut self, node: Node<'m>, id: TypeId) -> Type {
        if matches!(node.tag(), tag::POINTER | tag::REFERENCE | tag::RVALUE_REFERENCE) {
            let to = node.operand(self.module, operand::BASE).map(|to| self.reserve(to, None));
            return Type::Pointer { to };
        }
        let alias = match self.table.get(id) {
            Type::Base { name, .. } => name.clone(),
            _ => String::new(),
        };
        let plain = Some(node.type_name()).filter(|name| !name.is_empty()).unwrap_or(alias);
        let name = qualify(self.module, node.operand(self.module, operand::SCOPE), &plain);
        let bytes = node.type_bits() / 8;
        let identifier = node.string(self.module, operand::IDENTIFIER);
        if node.type_is_declaration() {
            let keys = identifier.into_iter().chain([name.clone()]).collect();
            self.declared.push((id, keys));
            return Type::Base { name, bytes };
        }
        let fields = self.fields(node);
        for key in identifier.into_iter().chain([name.clone()]) {
            self.defined.entry(key).or_insert(id);
        }
        self.by_name.entry(name.clone()).or_insert(id);
        if node.tag() == tag::UNION {
            Type::Union { name, bytes, fields }
        } else {
            Type::Struct { name, bytes, fields }
        }
    }

    fn fields(&mut self, node: Node<'m>) -> Vec<Field> {
        let Some(list) = node.operand(self.module, operand::ELEMENTS) else { return Vec::new() };
        let mut fields = Vec::new();
        for element in list.operands(self.module).into_iter().flatten() {
            let Some(member) = element.as_metadata().filter(|node| node.is_type()) else {
                continue;
            };
            let stored = matches!(member.tag(), tag::MEMBER | tag::INHERITANCE);
            if !stored || member.is_static_member() {
                continue;
            }
            let Some(ty) = member.operand(self.module, operand::BASE) else { continue };
            fields.push(Field {
                // A base class has no name of its own.
                name: if member.tag() == tag::MEMBER { member.type_name() } else { String::new() },
                offset: member.type_offset_bits() / 8,
                ty: self.reserve(ty, None),
            });
        }
        fields
    }

    fn bytes(&self, id: TypeId) -> u64 {
        self.table.bytes(id)
    }

    /// What a pointer or reference points to.
    pub(super) fn pointee(&self, id: TypeId) -> Option<TypeId> {
        match self.table.get(id) {
            Type::Pointer { to } => *to,
            _ => None,
        }
    }

    pub(super) fn is_reference(&self, id: TypeId) -> bool {
        self.references.contains(&id)
    }

    /// The type that LLVM calls `struct.node` or `class.ns::Queue.12`.
    pub(super) fn named(&self, llvm_name: &str) -> Option<TypeId> {
        let (_, name) = llvm_name.split_once('.')?;
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('.');
        self.by_name.get(name).copied()
    }

    /// The finished table. A type that is declared in one file and defined in another gets its content.
    pub(super) fn finish(mut self) -> TypeTable {
        for (id, keys) in std::mem::take(&mut self.declared) {
            let definition = keys.iter().find_map(|key| self.defined.get(key));
            if let Some(definition) = definition {
                self.table.types[id.0 as usize] = self.table.get(*definition).clone();
            }
        }
        self.table
    }
}
