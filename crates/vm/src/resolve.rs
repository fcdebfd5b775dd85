//! How each function is executed: interpreted, modelled, native, or not at all.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::OnceLock;

use unravel_code::{FunctionId, Inst, Program};
use unravel_trace::{MissingFunction, Place, user_place};

use crate::error::VmError;
use crate::host::{self, Library};
use crate::models::{self, Model};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Resolved {
    Body,
    Model(Model),
    /// At this address; `event` if others may see what it does.
    Native {
        address: u64,
        event: bool,
    },
    /// Inline assembly, mapped at this address.
    Assembly {
        address: u64,
    },
    /// Trapped when called, not when loaded.
    Missing,
}

/// Functions that keep their meaning even if the program brings a body for them: verification programs
/// define some of these as stubs.
fn always_modelled(name: &str) -> bool {
    matches!(
        name,
        "__VERIFIER_atomic_begin"
            | "__VERIFIER_atomic_end"
            | "__VERIFIER_assume"
            | "assume_abort_if_not"
            | "__VERIFIER_error"
            | "reach_error"
    )
}

pub(crate) fn resolve_externals(program: &Program, libraries: &Libraries) -> Vec<Resolved> {
    let has_descriptors = models::descriptors::are_used(program);
    program
        .functions
        .iter()
        .map(|function| {
            let name = function.name.as_str();
            if function.body.is_some() && !always_modelled(name) {
                return Resolved::Body;
            }
            if has_descriptors && let Some(model) = models::descriptors::find(name) {
                return Resolved::Model(model);
            }
            if let Some(model) = models::find(name) {
                return Resolved::Model(model);
            }
            if models::verifier::is_nondet(name) {
                return Resolved::Model(models::verifier::nondet);
            }
            if function.body.is_some() {
                return Resolved::Body;
            }
            match libraries.address(name) {
                Some(address) => Resolved::Native { address, event: !crate::pure::is_pure(name) },
                None => Resolved::Missing,
            }
        })
        .collect()
}

/// Direct calls of functions whose body is not used become calls of what stands for it.
pub(crate) fn redirect_calls(program: &mut Program, externals: &[Resolved]) {
    let code =
        program.functions.iter_mut().filter_map(|f| f.body.as_mut()).flat_map(|b| &mut b.code);
    for inst in code {
        if let Inst::Call { dst, function, call } = *inst
            && !matches!(externals[function.0 as usize], Resolved::Body)
        {
            *inst = Inst::CallExternal { dst, function, call };
        }
    }
}

/// What programs see as `__libc_single_threaded`, by which C++ decides whether its reference counts need atomics. The
/// system's own says whether *this* process has threads, which is no business of theirs.
static SINGLE_THREADED: u8 = 0;

/// What `__builtin_cpu_supports` looks at (`__cpu_model` of the compiler's runtime): another maker, and what every 64-bit processor
/// has (`cmov`, `mmx`, `sse`, `sse2`), so that a program goes the same way on every machine. `cpuid` in assembly tells more.
static PROCESSOR: [u32; 4] = [3, 0, 0, 1 << 0 | 1 << 1 | 1 << 3 | 1 << 4];
/// Its further features: none.
static MORE_FEATURES: [u32; 16] = [0; 16];

/// The libraries that a program may use: those that it names, then the C and C++ runtime. What else this process has loaded
/// for itself (LLVM and all that it brings) is no business of the program's.
#[derive(Debug, Default)]
pub(crate) struct Libraries {
    named: Vec<Library>,
}

impl Libraries {
    /// Loads libraries that are named as after `-l`.
    pub fn open(names: &[String]) -> Result<Libraries, VmError> {
        runtime();
        let mut named = Vec::new();
        for name in names {
            named.extend(host::load(name)?);
        }
        Ok(Libraries { named })
    }

    /// The address of a symbol that the program may use.
    pub fn address(&self, name: &str) -> Option<u64> {
        match name {
            "__libc_single_threaded" => return Some(&raw const SINGLE_THREADED as u64),
            "__cpu_model" => return Some(&raw const PROCESSOR as u64),
            "__cpu_features2" => return Some(&raw const MORE_FEATURES as u64),
            _ => {}
        }
        self.own_address(name).or_else(|| native_address(name))
    }

    /// The same, of the libraries that the program names.
    fn own_address(&self, name: &str) -> Option<u64> {
        if name.starts_with("llvm.") {
            return None;
        }
        let name = CString::new(name).ok()?;
        self.named.iter().find_map(|library| library.address(&name))
    }

    /// Functions of the program's libraries that this process has another one of: inside the library, calls go to that one.
    pub fn eclipsed(&self, program: &Program, externals: &[Resolved]) -> Vec<String> {
        let is_other = |(name, address): (&str, u64)| {
            let name = CString::new(name).ok()?;
            // SAFETY: a look-up by name in the loaded libraries.
            let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as u64;
            (first != address).then(|| name.to_string_lossy().into_owned())
        };
        let natives = program.functions.iter().zip(externals).filter_map(|(function, how)| {
            let Resolved::Native { address, .. } = *how else { return None };
            let name = function.name.as_str();
            (self.own_address(name) == Some(address) && native_address(name) != Some(address))
                .then_some((name, address))
        });
        natives.filter_map(is_other).collect()
    }
}

/// The C and C++ runtime.
fn runtime() -> &'static [Library] {
    static RUNTIME: OnceLock<Vec<Library>> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        ["libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"]
            .iter()
            .filter_map(|name| host::open_library(name).ok())
            .collect()
    })
}

/// The address of a symbol of the C and C++ runtime.
pub(crate) fn native_address(name: &str) -> Option<u64> {
    if name.starts_with("llvm.") {
        return None;
    }
    let name = CString::new(name).ok()?;
    runtime().iter().find_map(|library| library.address(&name))
}

/// The functions that are nowhere, with the places that call them.
pub(crate) fn missing(program: &Program, externals: &[Resolved]) -> Vec<MissingFunction> {
    let is_missing = |id: FunctionId| matches!(externals[id.0 as usize], Resolved::Missing);
    let mut calls: BTreeMap<FunctionId, Vec<Place>> = BTreeMap::new();
    for (index, function) in program.functions.iter().enumerate() {
        let id = FunctionId(index as u32);
        if is_missing(id) && function.address_taken && !function.weak {
            calls.entry(id).or_default();
        }
        let Some(body) = &function.body else { continue };
        for (inst, site) in body.code.iter().zip(&body.places) {
            if let Inst::CallExternal { function, .. } = inst
                && is_missing(*function)
            {
                let site = &program.sites[site.index()];
                let all = [std::slice::from_ref(&site.place), &site.inlined_at].concat();
                calls.entry(*function).or_default().extend(user_place(&all).cloned());
            }
        }
    }
    let one = |(id, calls)| MissingFunction { name: program.function(id).name.clone(), calls };
    calls.into_iter().map(one).collect()
}
