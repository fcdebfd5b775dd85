//! Room `driver`: command lines of compilers and linkers, and what becomes of them when a program is built to be recorded, or
//! when a project's own build is wrapped to keep bitcode.
//!
//! `command_line.rs` understands a line, and does nothing; `wrap.rs` runs the steps of a recorded build. The runtime is embedded in
//! the binary (`build.rs`). `native.rs` makes a native program of a whole module that logs access vectors. `shims.rs` puts us in the place of a project's compilers, `keep.rs` is what we do there. `project.rs` asks ninja and make what a program is made of.

pub mod command_line;
mod keep;
mod native;
pub mod project;
mod shims;
mod wrap;

pub use keep::keep;
pub use native::{build_native, lines_of};
pub use shims::{Journal, Made, Shims};
pub use wrap::{Compiler, DriverError, wrap, wrap_with};
