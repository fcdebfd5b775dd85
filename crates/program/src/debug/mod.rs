//! What debug information says: where an instruction comes from, and what the programmer calls the things
//! it touches.
//!
//! Everything here is for people to read. Missing or odd debug information makes a name poorer, never a
//! program wrong.

mod paths;
mod scopes;
mod types;
mod variables;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ir::{Module, Node, SourceFile, Value};
use unravel_code::names::{TypeId, TypeTable};

pub(crate) use paths::{Named, Spot};
pub(crate) use variables::Names;

use types::TypeBuilder;

/// The debug information of a module, read on demand.
pub(crate) struct DebugInfo<'m> {
    module: &'m Module,
    types: TypeBuilder<'m>,
    function_names: FxHashMap<Node<'m>, Arc<str>>,
    files: FxHashMap<SourceFile, Arc<str>>,
    /// Where the compiler ran, for each of the units that were linked.
    directories: Vec<String>,
    globals: FxHashMap<Value<'m>, Option<GlobalVariable>>,
}

/// A global variable as the source declares it.
#[derive(Clone)]
pub(crate) struct GlobalVariable {
    pub(crate) name: String,
    pub(crate) ty: Option<TypeId>,
    pub(crate) place: Option<(String, u32)>,
}

impl<'m> DebugInfo<'m> {
    pub(crate) fn new(module: &'m Module) -> DebugInfo<'m> {
        DebugInfo {
            module,
            types: TypeBuilder::new(module),
            function_names: FxHashMap::default(),
            files: FxHashMap::default(),
            directories: module
                .compile_units()
                .into_iter()
                .filter_map(|unit| Some(unit.file()?.directory))
                .collect(),
            globals: FxHashMap::default(),
        }
    }

    pub(crate) fn into_types(self) -> TypeTable {
        self.types.finish()
    }

    /// What is known of a global variable.
    pub(crate) fn global(&mut self, global: Value<'m>) -> Option<&GlobalVariable> {
        if !self.globals.contains_key(&global) {
            let described = self.read_global(global);
            self.globals.insert(global, described);
        }
        self.globals[&global].as_ref()
    }

    fn read_global(&mut self, global: Value<'m>) -> Option<GlobalVariable> {
        // Operands of a variable: scope, name, file, type.
        let variable = global.global_debug_variable()?;
        let name = variable.string(self.module, 1)?;
        // A static member is declared in its class and defined outside.
        const DECLARATION: usize = 6;
        let declaration = variable.operand(self.module, DECLARATION);
        let scope = match declaration {
            Some(member) => member.operand(self.module, 1),
            None => variable.operand(self.module, 0),
        };
        let ty = variable.operand(self.module, 3).map(|ty| self.types.intern(ty));
        let place = variable.file();
        let place = place.map(|file| (self.file(file).to_string(), variable.variable_line()));
        Some(GlobalVariable { name: scopes::qualify(self.module, scope, &name), ty, place })
    }
}
