//! Room `database`: what threads did in many runs, on disk and in memory.
//!
//! After Cortex (thesis §5.2.1 and §5.4): runs that passed are taken apart ([`unravel_trace::separate`]), the traces of
//! their threads are kept by the path they took, and a hunt asks for those that begin with a given prefix. Deviations:
//! traces are stored whole, not as paths from which they are executed again; paths are numbers, because a `switch` has
//! more than two ways; and which run a trace came from is kept, because only traces that were seen together are known to
//! fit together.
//!
//! *Not kept*: what reads returned and how a run ended. Whoever adds a run says by that that it passed, but for an importer: of what
//! other tools recorded it is only known that somebody took these paths. Nothing here
//! executes, solves, or judges whether a trace is possible: one that was forged with a right checksum is believed as far as
//! its indices are in range, and the execution of what comes of it finds it out.
//!
//! Traces of different visible sets never meet: the set is part of a trace's id.
//!
//! `database.rs` is what others see. `contents.rs` is all that is known, with a prefix tree (`trie.rs`) for each thread and visible set;
//! `record.rs` is what is written down, records that only add. `frame.rs` makes records survive damage around them, `segment.rs` is
//! the file of one writer, `directory.rs` all of them; `merge.rs`, `compact.rs` and `stats.rs` do as they say.

mod compact;
mod contents;
mod database;
mod directory;
mod error;
mod frame;
mod id;
mod merge;
mod record;
mod segment;
mod stats;
mod trie;

pub use compact::Compacted;
pub use contents::KnownRun;
pub use database::{Added, Database};
pub use error::DatabaseError;
pub use id::TraceId;
pub use merge::Merged;
pub use stats::path_text;
pub use trie::Trie;
