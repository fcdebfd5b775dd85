//! Global variables: addresses, initial bytes, relocations; constructors and destructors.

use unravel_code::layout::{GLOBALS, GLOBALS_MAX, RED_ZONE};
use unravel_code::{ExternalData, FunctionId, Global, Relocation, RelocationPlace};

use super::ModuleLowering;
use super::constants::{Data, Number, Symbol};
use crate::ir::{LoadError, Value};

/// Upper bound on a thread's block of thread-local variables.
const THREAD_LOCALS_MAX: u64 = 1 << 24;

impl<'m> ModuleLowering<'m> {
    /// Decides where every global lives, before any constant is evaluated.
    pub(super) fn place_globals(&mut self) -> Result<(), LoadError> {
        let (mut address, mut offset) = (GLOBALS, 0);
        for global in self.module.globals() {
            let name = global.name();
            if is_special(&name) {
                continue;
            }
            // A hidden symbol that every native library has its own of: ours is a variable here.
            let own_handle = name == "__dso_handle";
            if global.is_declaration() && !own_handle {
                let external = self.external(&name, global.is_extern_weak());
                let symbol = if global.is_thread_local() {
                    Symbol::ExternalThreadLocal(external)
                } else {
                    Symbol::External(external)
                };
                self.addresses.insert(global, Number { symbol, value: 0 });
                continue;
            }
            let ty = global.value_type();
            let align = global.alignment().max(self.layout.align(ty)).max(1);
            let bytes = self.layout.size(ty).max(u64::from(own_handle) * 8);
            if global.is_thread_local() {
                let at = u64::next_multiple_of(offset, align);
                offset = at + bytes;
                let place = Number { symbol: Symbol::ThreadLocals, value: u128::from(at) };
                self.addresses.insert(global, place);
                let described = self.describe_global(global, at, bytes);
                self.program.thread_local_globals.push(described);
            } else {
                // The VM keeps validity by eight bytes; no two globals share such a granule.
                let at = u64::next_multiple_of(address, align.max(16));
                address = at.saturating_add(bytes.max(1)).saturating_add(RED_ZONE);
                if address - GLOBALS > GLOBALS_MAX {
                    let bytes = address - GLOBALS;
                    let what = "global variables";
                    return Err(LoadError::TooLarge { what, bytes, limit: GLOBALS_MAX });
                }
                self.addresses.insert(global, Number::plain(u128::from(at)));
                let described = self.describe_global(global, at, bytes);
                self.program.globals.push(described);
            }
        }
        if offset > THREAD_LOCALS_MAX {
            let what = "thread-local variables";
            return Err(LoadError::TooLarge { what, bytes: offset, limit: THREAD_LOCALS_MAX });
        }
        self.program.image = vec![0; (address - GLOBALS) as usize];
        self.program.thread_locals = vec![0; offset.next_multiple_of(16) as usize];
        Ok(())
    }

    fn describe_global(&mut self, global: Value<'m>, address: u64, bytes: u64) -> Global {
        let constant = global.is_constant_global();
        let Some(variable) = self.debug.global(global) else {
            return Global { name: global.name(), address, bytes, ty: None, constant, place: None };
        };
        let (name, ty) = (variable.name.clone(), variable.ty);
        Global { name, address, bytes, ty, constant, place: variable.place.clone() }
    }

    /// The index of a variable (or weak function) of a native library.
    pub(super) fn external(&mut self, name: &str, weak: bool) -> u32 {
        if let Some(index) = self.externals.get(name) {
            return *index;
        }
        let index = self.program.external_data.len() as u32;
        let data = ExternalData { name: name.to_owned(), weak, uses: Vec::new() };
        self.program.external_data.push(data);
        self.externals.insert(name.to_owned(), index);
        index
    }

    /// Fills in the initial values.
    pub(super) fn initialise_globals(&mut self) -> Result<(), LoadError> {
        let mut image = Data { bytes: std::mem::take(&mut self.program.image), ..Data::default() };
        let mut threads =
            Data { bytes: std::mem::take(&mut self.program.thread_locals), ..Data::default() };
        for global in self.module.globals() {
            let name = global.name();
            if name == "llvm.global_ctors" {
                self.program.constructors = self.structors(global);
            } else if name == "llvm.global_dtors" {
                // What is set up last goes first.
                self.program.destructors = self.structors(global);
                self.program.destructors.reverse();
            }
            let Some(place) = self.addresses.get(&global).copied() else { continue };
            let Some(initial) = global.initializer() else { continue };
            let written = match place.symbol {
                Symbol::None => {
                    let at = (place.value as u64 - GLOBALS) as usize;
                    self.write_constant(initial, at, &mut image)
                }
                Symbol::ThreadLocals => {
                    self.write_constant(initial, place.value as usize, &mut threads)
                }
                Symbol::External(_) | Symbol::ExternalThreadLocal(_) => Ok(()),
            };
            written.map_err(|reason| LoadError::Initializer { global: name, reason })?;
        }
        for relocation in &image.relocations {
            let place = RelocationPlace::Image(relocation.at as u64);
            self.relocate(relocation.external, place, relocation.addend);
        }
        for relocation in &threads.relocations {
            let place = RelocationPlace::ThreadLocals(relocation.at as u64);
            self.relocate(relocation.external, place, relocation.addend);
        }
        self.program.image = image.bytes;
        self.program.thread_locals = threads.bytes;
        Ok(())
    }

    pub(super) fn relocate(&mut self, external: u32, place: RelocationPlace, addend: i64) {
        self.program.external_data[external as usize].uses.push(Relocation { place, addend });
    }

    /// The functions of `llvm.global_ctors` or `llvm.global_dtors`, lowest priority number first.
    fn structors(&mut self, list: Value<'m>) -> Vec<FunctionId> {
        let Some(entries) = list.initializer() else { return Vec::new() };
        let count = entries.ty().elements().map_or(0, |(_, count)| count as u32);
        let mut found: Vec<(u64, FunctionId)> = (0..count)
            .filter_map(|i| {
                let entry = entries.element(i)?;
                let priority = entry.element(0)?.as_u64()?;
                let function = self.function_of(entry.element(1)?)?;
                Some((priority, function))
            })
            .collect();
        found.sort_by_key(|(priority, _)| *priority);
        found.into_iter().map(|(_, function)| function).collect()
    }
}

/// Lists for the linker that are no variables.
fn is_special(name: &str) -> bool {
    matches!(name, "llvm.global_ctors" | "llvm.global_dtors" | "llvm.used" | "llvm.compiler.used")
        || name == "llvm.global.annotations"
}
