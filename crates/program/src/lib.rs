//! Room `program`: C and C++ sources → bitcode → [`unravel_code::Program`].
//!
//! The only room that knows LLVM. Nothing here executes.
//!
//! `build/` drives clang, the cache and compilation databases; `ir/` is the thin layer over `llvm-sys`; `lower/` makes a program of it;
//! `debug/` finds the names that programmers gave to things.

pub mod build;
mod debug;
mod ir;
mod load;
mod lower;

pub use ir::LoadError;
pub use load::load;
