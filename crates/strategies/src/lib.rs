//! Room `strategies`: which thread goes next, one idea a file. Needs nothing but the joint and random numbers, so that a
//! strategy can also decide inside a target process.
//!
//! - `strategy.rs` lists them by the names that users know, `portfolio.rs` says whose turn a run is, `knowledge.rs` what the
//!   runs of an epoch know of the program (`profile.rs`, `conflicts.rs`).
//! - Sampling: `random.rs`, `pct.rs`, `pos.rs`, `uniform.rs`, `segments.rs`, `rounds.rs`; after something that earlier runs
//!   have shown: `race_directed.rs` (`conflicts.rs`), `atomicity_directed.rs` (`splits.rs`), `deadlock_directed.rs`
//!   (`lock_orders.rs`, `held.rs`); the fixed orders `run_to_block.rs`, `round_robin.rs`,
//!   `youngest_first.rs`.
//!   What observers note of memory is in tables by address (`by_address.rs`).
//! - `deviating.rs` lets the environment deviate under any of them.
//! - Systematic: `systematic.rs` says what these have in common, `bounding.rs` and `exhaustive/` are them. `blind_spots.rs` knows what
//!   events do not tell, so that nothing is claimed to be complete that is not.
//!
//! Schedulers never look into memory: they see the threads that can go on with their pending events, and choose.

mod atomicity_directed;
mod blind_spots;
mod bounding;
mod budgets;
mod by_address;
mod conflicts;
mod deadlock_directed;
mod deviating;
mod exhaustive;
mod guesses;
mod held;
mod knowledge;
mod lock_orders;
mod pct;
pub mod portfolio;
mod pos;
mod production;
mod profile;
mod race_directed;
mod random;
mod round_robin;
mod rounds;
mod run_to_block;
mod segments;
mod splits;
mod strategy;
mod systematic;
mod uniform;
mod youngest_first;

pub use atomicity_directed::AtomicityDirected;
pub use blind_spots::BlindSpots;
pub use bounding::Bounding;
pub use budgets::{EPOCH, EPOCH_LIMIT, FIRST, LEARNING, LONGEST, budgets};
pub use by_address::{ByAddress, Renew};
pub use conflicts::Conflicts;
pub use deadlock_directed::DeadlockDirected;
pub use deviating::{Deviating, deviations_of};
pub use exhaustive::Exhaustive;
pub use guesses::{Guesses, Guessing};
pub use knowledge::{Knowledge, Sight, is_common, is_full};
pub use lock_orders::{CycleStep, LockOrderCollector, LockOrders};
pub use pct::Pct;
pub use pos::Pos;
pub use production::Production;
pub use profile::{Location, Profile, Profiler};
pub use race_directed::RaceDirected;
pub use random::Random;
pub use round_robin::RoundRobin;
pub use rounds::Rounds;
pub use run_to_block::{RunToBlock, next_in_order};
pub use segments::Segments;
pub use splits::{Split, SplitCollector, Splits};
pub use strategy::{Needs, Strategy, UnknownStrategy};
pub use systematic::{Counted, Systematic};
pub use uniform::Uniform;
pub use youngest_first::YoungestFirst;
