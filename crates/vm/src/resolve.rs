//! How each function is executed: interpreted, modelled, native, or not at all.

use std::ffi::CString;

use unravel_code::{Inst, Program};

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
    )
}

pub(crate) fn resolve_externals(program: &Program) -> Vec<Resolved> {
    program
        .functions
        .iter()
        .map(|function| {
            let name = function.name.as_str();
            if function.body.is_some() && !always_modelled(name) {
                return Resolved::Body;
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
            match native_address(name) {
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

/// The address of a symbol of a loaded library.
pub(crate) fn native_address(name: &str) -> Option<u64> {
    if name == "__libc_single_threaded" {
        return Some(&raw const SINGLE_THREADED as u64);
    }
    if name.starts_with("llvm.") {
        return None;
    }
    let name = CString::new(name).ok()?;
    // SAFETY: a look-up by name in the loaded libraries.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address as u64)
}
