//! Room `strategies`: which thread goes next, one idea a file. Needs nothing but the joint and random numbers, so that a
//! strategy can also decide inside a target process.

mod blind_spots;
mod bounding;
mod conflicts;
mod exhaustive;
mod knowledge;
mod pct;
pub mod portfolio;
mod pos;
mod profile;
mod race_directed;
mod random;
mod round_robin;
mod run_to_block;
mod strategy;
mod systematic;
mod uniform;
mod youngest_first;

pub use blind_spots::BlindSpots;
pub use bounding::Bounding;
pub use conflicts::Conflicts;
pub use exhaustive::Exhaustive;
pub use knowledge::{EPOCH, EPOCH_LIMIT, FIRST, Knowledge, LEARNING, is_common, is_full};
pub use pct::Pct;
pub use pos::Pos;
pub use profile::{Location, Profile, Profiler};
pub use race_directed::RaceDirected;
pub use random::Random;
pub use round_robin::RoundRobin;
pub use run_to_block::{RunToBlock, next_in_order};
pub use strategy::{Strategy, UnknownStrategy};
pub use systematic::{Counted, Systematic};
pub use uniform::Uniform;
pub use youngest_first::YoungestFirst;
