//! Room `trace`: the words all rooms share, and the joint between those who execute and those who schedule.
//! `Schedule` = decisions, `Trace` = what was observed, `Outcome` = how a run ended. Small enough to be linked into a
//! target process: no files, no JSON, no results of rooms.

mod check;
mod combine;
mod dependence;
mod event;
mod expr;
mod identity;
mod ids;
mod inputs;
mod left_out;
mod method;
mod note;
mod outcome;
mod paths;
mod rng;
mod run;
mod schedule;
mod shape;
mod symbolic;
mod thread_trace;
mod verb;

pub use combine::{Combined, Incompatible, combine};
pub use dependence::{Touch, depend, touches};
pub use event::*;
pub use expr::{
    BinaryOp, CompareOp, ConvertOp, ExprId, Exprs, FloatOp, Node, SymbolId, mask, signed,
};
pub use identity::EventKey;
pub use ids::*;
pub use inputs::words;
pub use left_out::{BlindSpot, LeftOut};
pub use method::{Method, Reached, ReadsFrom};
pub use note::Note;
pub use outcome::*;
pub use paths::*;
pub use rng::Rng;
pub use run::*;
pub use schedule::*;
pub use shape::Shape;
pub use symbolic::*;
pub use thread_trace::{Copied, ThreadTrace, separate};
pub use verb::Verb;
