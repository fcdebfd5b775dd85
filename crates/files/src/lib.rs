//! Room `files`: what is kept between commands. The trace file, the file of a search's part, and traces of other tools.
//! Its readers trust no byte.

pub mod file;
pub mod import;
mod part;

pub use file::{
    FileError, FormatError, FormatVersion, ProgramRef, TraceFile, validate_schedule,
    validate_thread,
};
pub use part::{Part, PartError, PartFinding};
