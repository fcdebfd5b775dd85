//! Room `recording`: what a real run wrote down, and what it means.
//!
//! A program that `unravel-cc` built writes, in parallel and uncontrolled, the path of each thread and its sync operations.
//! This room knows the file (`format.rs`), the numbering of paths (`shape.rs`, `numbering/`) and how to decode (`decode/`), and it
//! links no LLVM: the shapes of functions are written beside the kept module when it is instrumented.
//!
//! # The decoded log
//!
//! [`Log`] is all that other rooms need. `unravel_instrument::open_log(path)` makes one: it reads the file, finds the kept
//! modules in the program that ran, links them to *one* bitcode module ([`Log::program`]) and decodes every thread.
//!
//! - Functions, blocks and successors are those of [`Log::program`]: [`Function::name`] is the name there (unique; what clashed
//!   between modules was renamed while linking), a block's number is its position in the function, a successor's number its
//!   position in the terminator (`br`: 0 is the true side; `switch`: 0 is the default; `invoke`: 1 is the landing pad). Where
//!   several successors are the same block, the record has the least of them.
//! - A thread's [`Record`]s are in its own order. There is one [`Record::Branch`] for each execution of a terminator with more
//!   than one distinct successor, and for each invoke that ends in its landing pad (not for one that returns). Nothing is known of
//!   the order *between* threads but [`Sync::stamp`]: of two stamped operations on the same object the smaller came first.
//!   Stamps are taken where the operation holds the object (after `lock`), so on one mutex they are its order; an `unlock` has the stamp of its
//!   own lock (0 if that was before the begin of the log).
//! - [`Thread::begin`] says whether the records start where the thread does (whole log) or in the middle (flight recorder).
//! - The last records of a thread that was killed or still ran may be missing: at most one acyclic path, or what a counted loop
//!   did. [`Thread::lost`] says what else is missing, never silently.
//!
//! In which direction it errs: a log that contradicts the numbering is refused at that record ([`Lost::Undecodable`]), what was
//! decoded before stands.

mod code;
mod decode;
mod decoded;
pub mod elf;
mod file;
pub mod identifiers;
pub mod kept;
pub mod layout;
mod log;
pub mod numbering;
pub mod places;
pub mod shape;
mod sync;
pub mod vectors;

pub use code::{Code, CodeError, CodeRef, FunctionIds};
pub use decode::{Decoded, Decoder};
pub use file::{LogError, LogFile, NativeFrame, RawEnding, Segment, Stream};
pub use log::{
    Begin, BlockId, BuildId, End, Ending, Frame, Function, FunctionId, Inputs, Log, Lost, Mode,
    Object, Record, Stack, Sync, SyncKind, Thread, Unrecorded,
};
pub use sync::{Objects, sync_kind};
