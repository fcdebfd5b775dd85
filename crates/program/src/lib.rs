//! Room `program`: C and C++ sources → bitcode → [`unravel_code::Program`].
//!
//! The only room that knows LLVM. Nothing here executes.

pub mod build;
mod debug;
mod ir;
mod load;
mod lower;

pub use ir::LoadError;
pub use load::load;
