//! Room `instrument`: an optimised module → its shape, and the same module with recording code.
//!
//! Beside `program` the only room that knows LLVM. `extract.rs` takes the shape that numbering works on (`unravel_recording`), `emit.rs`
//! puts the code in, `elements.rs` that of access vectors into a module that was not optimised yet (what may fault has its line once it was), `quiet.rs` names the external functions that need none, `module.rs` is the thin layer over `llvm-sys`.
//!
//! What is not recorded: functions with computed gotos, assembler, and objects of other compilers; they are named, and a log
//! tells where recorded code was entered from them.

mod elements;
mod emit;
mod extract;
mod lines;
mod module;
mod object;
mod open;
mod quiet;

pub use elements::{KEEP_APART, Logging, SeenAt, SiteLines, Wanted, log_elements, settle_lines};
pub use emit::Options;

pub use lines::{Line, Lines};
pub use module::{Module, ModuleError};
pub use object::{Instrumented, Request, instrument};
pub use open::{OpenError, OpenedLog, end_of, ending_of, open_log};
