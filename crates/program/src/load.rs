//! Bitcode → [`Program`], and that as bytes.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use unravel_code::{Program, fingerprint};
use unravel_trace::Place;

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
    Ok(load_to_keep(bitcode, locals)?.0)
}

/// The same with the bytes to keep it by, if it is worth that. It is made of these: tables are in the order in which they were filled,
/// and who reads them back gets the very same.
pub(crate) fn load_to_keep(
    bitcode: &[u8],
    locals: Locals,
) -> Result<(Program, Option<Vec<u8>>), LoadError> {
    let module = Module::parse(bitcode)?;
    module.promote_locals(locals == Locals::Promoted)?;
    let mut program = lower::lower(&module, locals == Locals::InMemory)?;
    program.fingerprint = fingerprint(bitcode);
    let bytes = if bitcode.len() < LARGE { None } else { postcard::to_stdvec(&program).ok() };
    match bytes.as_deref().and_then(decode) {
        Some(same) => Ok((same, bytes)),
        None => Ok((program, None)),
    }
}

/// Bytes of bitcode from which on a lowered program is worth keeping: less is lowered in some milliseconds.
pub(crate) const LARGE: usize = 256 << 10;

/// The program that these bytes keep.
pub(crate) fn decode(bytes: &[u8]) -> Option<Program> {
    let mut program: Program = postcard::from_bytes(bytes).ok()?;
    let mut known: FxHashSet<Arc<str>> = FxHashSet::default();
    for site in &mut program.sites {
        for place in std::iter::once(&mut site.place).chain(&mut site.inlined_at) {
            share(place, &mut known);
        }
    }
    Some(program)
}

/// Most sites have the names of others.
fn share(place: &mut Place, known: &mut FxHashSet<Arc<str>>) {
    for name in [&mut place.function, &mut place.file] {
        match known.get(name) {
            Some(one) => name.clone_from(one),
            None => drop(known.insert(name.clone())),
        }
    }
}

/// The module that [`load`] lowers, as bitcode, with its way to the lowered program written into it: of each instruction its sites, of
/// each global its address in the machine ([`unravel_recording::vectors::MARK`]). What is compiled from it has the same sites as what
/// the machine executes.
pub fn mark(bitcode: &[u8]) -> Result<(Program, Vec<u8>), LoadError> {
    let module = Module::parse(bitcode)?;
    module.promote_locals(true)?;
    let traced = lower::lower_traced(&module, false)?;
    for sites in traced.marks.chunk_by(|a, b| a.0 == b.0) {
        let numbers: Vec<u64> = sites.iter().map(|(_, site)| u64::from(site.0)).collect();
        module.mark_instruction(sites[0].0, &numbers);
    }
    for (global, address) in &traced.globals {
        module.mark_global(*global, *address);
    }
    let mut program = traced.program;
    program.fingerprint = fingerprint(bitcode);
    Ok((program, module.bitcode()))
}
