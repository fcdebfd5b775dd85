//! Room `program`: C and C++ sources → bitcode → [`unravel_code::Program`].
//!
//! The only room that knows LLVM. Nothing here executes.
//!
//! `build/` drives clang, the cache and compilation databases; `ir/` is the thin layer over `llvm-sys`; `lower/` makes a program of it;
//! `debug/` finds the names that programmers gave to things. `probe.rs` reads what others made in another process first.

pub mod build;
mod debug;
mod ir;
mod load;
mod lower;
mod probe;

pub use ir::LoadError;
pub use load::{Locals, load, load_with, mark};
pub use probe::{ProbeError, probe};
