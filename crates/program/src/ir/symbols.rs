//! The names that a module gives to others, and those that it asks for.

use super::Module;

/// As a linker sees a module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Symbols {
    pub defined: Vec<String>,
    pub undefined: Vec<String>,
}

/// `None` if the module cannot be read.
pub(crate) fn symbols(bitcode: &[u8]) -> Option<Symbols> {
    let module = Module::parse(bitcode).ok()?;
    let mut symbols = Symbols::default();
    let values = module.functions().chain(module.globals());
    let others = module.aliases().chain(module.ifuncs());
    for value in values.chain(others) {
        let name = value.name();
        if name.starts_with("llvm.") || value.is_local() {
            continue;
        }
        if !value.is_declaration() {
            symbols.defined.push(name);
        } else if !value.is_extern_weak() {
            symbols.undefined.push(name);
        }
    }
    Some(symbols)
}
