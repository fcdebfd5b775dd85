//! Functions and places in the source.

use std::sync::Arc;

use llvm_sys::debuginfo::LLVMMetadataKind as Kind;
use unravel_code::names::TypeId;
use unravel_trace::{Place, Site};

use super::DebugInfo;
use crate::ir::{Module, Node, SourceFile, Value};

/// Nested scopes and inlined calls beyond this depth are cut off.
const DEPTH: usize = 64;

/// `name` behind the classes and namespaces it is in: `Queue::push`. Unnamed namespaces, which nobody
/// writes, and the functions that something is local to are left out.
pub(super) fn qualify(module: &Module, scope: Option<Node<'_>>, name: &str) -> String {
    let mut parts = vec![name.to_owned()];
    let mut scope = scope;
    for _ in 0..DEPTH {
        let Some(node) = scope else { break };
        // Operands of types and namespaces: file, scope, name.
        let part = node.string(module, 2);
        match node.kind() {
            Kind::LLVMDINamespaceMetadataKind => parts.extend(part),
            Kind::LLVMDICompositeTypeMetadataKind => {
                parts.push(part.unwrap_or_else(|| "(anonymous)".to_owned()));
            }
            _ => break,
        }
        scope = node.operand(module, 1);
    }
    parts.reverse();
    parts.join("::")
}

impl<'m> DebugInfo<'m> {
    /// A function's name as the programmer wrote it; its symbol if there is no debug information.
    pub(crate) fn function_name(&mut self, function: Value<'m>) -> String {
        match function.subprogram() {
            Some(subprogram) => self.subprogram_name(subprogram).to_string(),
            None => function.name(),
        }
    }

    /// The size of what the first parameter of a function points to.
    pub(crate) fn first_parameter_bytes(&mut self, function: Value<'m>) -> Option<u64> {
        let pointee = self.parameter(function, 0)?;
        Some(self.types.table.bytes(pointee)).filter(|bytes| *bytes > 0)
    }

    pub(crate) fn type_bytes(&self, ty: TypeId) -> Option<u64> {
        Some(self.types.table.bytes(ty)).filter(|bytes| *bytes > 0)
    }

    /// What a parameter of a function points to.
    pub(crate) fn parameter(&mut self, function: Value<'m>, position: usize) -> Option<TypeId> {
        // Operands of a function: …, type; of a function's type: …, the result and the parameters.
        const TYPE: usize = 4;
        const SIGNATURE: usize = 3;
        let subprogram = function.is_function().then(|| function.subprogram())??;
        let signature = subprogram.operand(self.module, TYPE)?.operand(self.module, SIGNATURE)?;
        let parameter = signature.operand(self.module, position + 1)?;
        let ty = self.types.intern(parameter);
        self.types.pointee(ty)
    }

    fn subprogram_name(&mut self, subprogram: Node<'m>) -> Arc<str> {
        if let Some(name) = self.function_names.get(&subprogram) {
            return name.clone();
        }
        // Operands of a function: file, scope, name, linkage name.
        let name = subprogram
            .string(self.module, 2)
            .or_else(|| subprogram.string(self.module, 3))
            .unwrap_or_else(|| "(unnamed)".to_owned());
        let scope = subprogram.operand(self.module, 1);
        let name: Arc<str> = match self.lambda_name(scope, &name) {
            Some(lambda) => lambda.into(),
            None => qualify(self.module, scope, &name).into(),
        };
        self.function_names.insert(subprogram, name.clone());
        name
    }

    /// `main::(lambda)` for the call operator of a class without a name.
    fn lambda_name(&mut self, scope: Option<Node<'m>>, name: &str) -> Option<String> {
        let class = scope.filter(|s| matches!(s.kind(), Kind::LLVMDICompositeTypeMetadataKind))?;
        if name != "operator()" || class.string(self.module, 2).is_some() {
            return None;
        }
        let outer = class.operand(self.module, 1).and_then(|scope| self.subprogram_of(scope));
        let outer = outer.map(|outer| self.subprogram_name(outer));
        Some(outer.map_or("(lambda)".to_owned(), |outer| format!("{outer}::(lambda)")))
    }

    /// The name of a file as the compiler was given it. Of one that has a directory in common with where the compiler
    /// ran, debug information has the name relative to that: then the whole path.
    pub(super) fn file(&mut self, file: SourceFile) -> Arc<str> {
        if let Some(name) = self.files.get(&file) {
            return name.clone();
        }
        let SourceFile { name, directory } = &file;
        let shortened = !name.is_empty()
            && !name.starts_with('/')
            && !directory.is_empty()
            && !self.directories.contains(directory);
        let path: Arc<str> = match shortened {
            true => format!("{}/{name}", directory.trim_end_matches('/')).into(),
            false => name.as_str().into(),
        };
        self.files.insert(file, path.clone());
        path
    }

    /// The function that a scope is in.
    fn subprogram_of(&self, scope: Node<'m>) -> Option<Node<'m>> {
        let mut scope = scope;
        for _ in 0..DEPTH {
            if scope.is_subprogram() {
                return Some(scope);
            }
            // Operands of a block: file, scope.
            scope = scope.operand(self.module, 1)?;
        }
        None
    }

    /// Where a function begins.
    pub(crate) fn entry(&mut self, function: Value<'m>) -> Site {
        let Some(subprogram) = function.subprogram() else {
            return self.unknown(&function.name());
        };
        let file = subprogram.file().unwrap_or_default();
        let place = Place {
            function: self.subprogram_name(subprogram),
            file: self.file(file),
            line: subprogram.subprogram_line(),
            column: 0,
            wrapper: false,
        };
        Site { place, inlined_at: Vec::new(), key: None }
    }

    /// A place without debug information.
    pub(crate) fn unknown(&self, function: &str) -> Site {
        let place = Place {
            function: function.into(),
            file: "".into(),
            line: 0,
            column: 0,
            wrapper: false,
        };
        Site { place, inlined_at: Vec::new(), key: None }
    }

    /// The place that a debug location says. What the compiler made up (line 0) belongs to the place
    /// before it, `current`, if that is in the same function.
    pub(crate) fn site(&mut self, location: Node<'m>, current: &Site) -> Site {
        let Some(place) = self.place(location) else { return current.clone() };
        let mut inlined_at = Vec::new();
        let mut outer = location.inlined_at();
        while let (Some(caller), true) = (outer, inlined_at.len() < DEPTH) {
            inlined_at.extend(self.place(caller));
            outer = caller.inlined_at();
        }
        let same_function = current.place.function == place.function
            && current.place.file == place.file
            && current.inlined_at == inlined_at;
        if place.line == 0 && same_function {
            return current.clone();
        }
        Site { place, inlined_at, key: None }
    }

    fn place(&mut self, location: Node<'m>) -> Option<Place> {
        let (line, column) = location.line_and_column()?;
        let scope = location.location_scope()?;
        let subprogram = self.subprogram_of(scope)?;
        let file = scope.file().or_else(|| subprogram.file()).unwrap_or_default();
        Some(Place {
            function: self.subprogram_name(subprogram),
            file: self.file(file),
            line,
            column,
            wrapper: false,
        })
    }
}
