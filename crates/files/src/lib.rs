//! Room `files`: what is kept between commands. The trace file (`file.rs`, checked by `file/validate.rs`), the file of a search's shard
//! (`shard.rs`), and traces of other tools (`import/`). Writer and reader of a format stand in one file, with its version. Readers
//! trust no byte: what they let through may be indexed with, but only `replay` can tell whether it makes sense.

pub mod file;
pub mod import;
mod shard;

pub use file::{
    FileError, FormatError, FormatVersion, ProgramRef, TraceFile, validate_schedule,
    validate_thread,
};
pub use shard::{ShardError, ShardFile, ShardFinding};
