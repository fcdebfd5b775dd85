//! Bitcode → [`Program`].

use unravel_code::{Program, fingerprint};

use crate::ir::{LoadError, Module};
use crate::lower;

/// Where the variables of functions are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locals {
    /// In registers, but for those whose address is taken: they make no events.
    Promoted,
    /// All in memory, where it is known of each whether it was written.
    InMemory,
}

/// Reads LLVM 19 bitcode for 64-bit x86 and lowers it.
pub fn load(bitcode: &[u8]) -> Result<Program, LoadError> {
    load_with(bitcode, Locals::Promoted)
}

/// The same with variables where they are wanted.
pub fn load_with(bitcode: &[u8], locals: Locals) -> Result<Program, LoadError> {
    let module = Module::parse(bitcode)?;
    module.promote_locals(locals == Locals::Promoted)?;
    let mut program = lower::lower(&module, locals == Locals::InMemory)?;
    program.fingerprint = fingerprint(bitcode);
    Ok(program)
}
