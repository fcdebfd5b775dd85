//! Bitcode → [`Program`].

use unravel_code::{Program, fingerprint};

use crate::ir::{LoadError, Module};
use crate::lower;

/// Reads LLVM 19 bitcode for 64-bit x86 and lowers it.
pub fn load(bitcode: &[u8]) -> Result<Program, LoadError> {
    let module = Module::parse(bitcode)?;
    module.promote_locals()?;
    let mut program = lower::lower(&module)?;
    program.fingerprint = fingerprint(bitcode);
    Ok(program)
}
