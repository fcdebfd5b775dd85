//! Room `trace`: the words all rooms share. `Schedule` = decisions, `Trace` = what was observed,
//! `Outcome` = how a run ended. Knows alone the file formats.

mod causes;
mod check;
mod combine;
mod command;
mod diagnosis;
mod event;
mod explanation;
mod explored;
mod expr;
pub mod file;
mod hunt;
mod ids;
pub mod import;
mod inputs;
mod outcome;
mod part;
mod paths;
mod repairs;
mod rng;
mod run;
mod schedule;
mod shape;
mod symbolic;
mod thread_trace;

pub use causes::*;
pub use combine::{Combined, Incompatible, combine};
pub use command::{replay_command, shell_word};
pub use diagnosis::*;
pub use event::*;
pub use explanation::*;
pub use explored::*;
pub use expr::{
    BinaryOp, CompareOp, ConvertOp, ExprId, Exprs, FloatOp, Node, SymbolId, mask, signed,
};
pub use file::{FileError, FormatError, FormatVersion, ProgramRef, TraceFile};
pub use hunt::*;
pub use ids::*;
pub use inputs::words;
pub use outcome::*;
pub use part::{Part, PartError, PartFinding};
pub use paths::*;
pub use repairs::*;
pub use rng::Rng;
pub use run::*;
pub use schedule::*;
pub use shape::Shape;
pub use symbolic::*;
pub use thread_trace::{Copied, ThreadTrace, separate};
