//! Room `code`: [`Program`], a lowered program in our own dense instruction set, where it lies in memory, and what can be
//! known of it or done to it without executing it. No LLVM here.

pub mod code;
mod disassemble;
pub mod doom;
mod fingerprint;
pub mod layout;
mod model;
pub mod names;
pub mod patch;
pub mod weave;

pub use code::{CallId, FunctionId, Inst, Reg, Target};
pub use disassemble::disassemble;
pub use fingerprint::fingerprint;
pub use model::*;
