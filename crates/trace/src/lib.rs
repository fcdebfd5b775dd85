//! Room `trace`: the words all rooms share. `Schedule` = decisions, `Trace` = what was observed,
//! `Outcome` = how a run ended. Knows alone the file formats.

mod event;
pub mod file;
mod ids;
mod outcome;
mod rng;
mod run;
mod schedule;

pub use event::*;
pub use file::{FileError, FormatError, FormatVersion, ProgramRef, TraceFile};
pub use ids::*;
pub use outcome::*;
pub use rng::Rng;
pub use run::*;
pub use schedule::*;
