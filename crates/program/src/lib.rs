//! Room `program`: C and C++ sources → bitcode → [`Program`], our own dense instruction set.
//!
//! The only room that knows LLVM. Nothing here executes.

pub mod build;
pub mod code;
mod debug;
mod disassemble;
pub mod doom;
mod ir;
pub mod layout;
mod load;
mod lower;
mod model;
pub mod names;
pub mod weave;

pub use code::{CallId, FunctionId, Inst, Reg, Target};
pub use disassemble::disassemble;
pub use ir::LoadError;
pub use load::load;
pub use model::*;
