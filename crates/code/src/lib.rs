//! Room `code`: [`Program`], a lowered program in our own dense instruction set, where it lies in memory, and what can be
//! known of it or done to it without executing it. No LLVM here.
//!
//! `code.rs` is the instructions, `model.rs` the program around them, `layout.rs` where things live in memory, `compiled.rs` what compiled code agrees on with whoever runs it, `names.rs` what places
//! inside objects are called, `disassemble.rs` a function as text. `weave.rs` puts the measures of a repair into a program, as
//! calls on the edges of its control flow. `operands.rs` knows which slots an instruction reads and writes, `dead.rs` and
//! `temporaries.rs` which of them nobody will look at. `doom.rs` knows where it can only fail, and how far it is from there. `wrappers.rs`
//! finds the small functions around a lock or an atomic access that reports see through.

pub mod code;
pub mod compiled;
mod dead;
mod disassemble;
pub mod doom;
mod fingerprint;
pub mod layout;
mod model;
pub mod names;
mod operands;
pub mod patch;
mod temporaries;
pub mod weave;
pub mod wrappers;

pub use code::{CallId, FunctionId, Inst, Reg, Target};
pub use dead::{Moment, dead_slots};
pub use disassemble::disassemble;
pub use fingerprint::fingerprint;
pub use model::*;
pub use operands::{Operand, operands, targets};
pub use temporaries::{Temporary, temporaries};
