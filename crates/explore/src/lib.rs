//! Room `explore`: the search for failing schedules, its worker processes, and what it has covered. Generic over
//! [`unravel_trace::Executor`]; the strategies are in a room of their own.
//!
//! `search.rs` is the loop over epochs, `crew.rs` hands runs out to the workers, `worker.rs` is such a process seen from outside,
//! `errand.rs` what it does inside. `coverage.rs` counts classes and data flows, `shard.rs` and `merge.rs` divide a search among machines.
//!
//! # How searches repeat
//!
//! - **Numbered runs.** Run *i* of a seed has its own random generator, so that it is the same whoever executes it.
//! - **Epochs.** Within an epoch all runs know the same of the program, so the number of workers does not matter. What its
//!   runs teach counts from the next epoch on. A search that stops at its first bug reports the one with the smallest number.
//! - **The visible set** only grows: after the first two runs only between epochs. Each schedule carries the set it was made with, so
//!   that its counts mean the same in every run. What a run learns depends on that run alone.
//! - **Long runs** see less: the sites that nothing was seen to order. Which runs, the epoch's knowledge says.
//! - **Shards.** What an epoch knows comes from runs that every shard executes, so shards divide the very same runs.
//! - **Lanes.** Of searches that are nothing but systematic, the workers share the tree: the classes are the same, which bug comes
//!   first may not be.
//! - **Budgets** are counted in schedules and steps. Wall time only ends a search early.
//!
//! The corpus tests compare searches with one and two workers, `crates/cli/tests/search.rs` parts with the whole.

mod budgets;
mod coverage;
mod crew;
mod errand;
mod exits;
mod glance;
mod merge;
mod search;
mod shard;
mod worker;

pub use budgets::budgets;
pub use glance::{exit_codes_differ, glance_at_races};
pub use merge::{Merged, merge};
pub use search::{AfterFirst, Finding, Plan, SearchError, SearchResult, search};
pub use shard::Shard;
