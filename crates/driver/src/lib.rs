//! Room `driver`: command lines of compilers and linkers, and what becomes of them when a program is built to be recorded.
//!
//! `command_line.rs` understands a line, and does nothing; `wrap.rs` runs the steps. The runtime is embedded in the binary (`build.rs`).

pub mod command_line;
mod wrap;

pub use wrap::{Compiler, DriverError, wrap, wrap_with};
