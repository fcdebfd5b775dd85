//! Room `explore`: the search for failing schedules, its worker processes, and what it has covered. Generic over
//! [`unravel_trace::Executor`]; the strategies are in a room of their own.

mod coverage;
mod crew;
mod errand;
mod merge;
mod search;
mod shard;
mod worker;

pub use merge::{Merged, merge};
pub use search::{AfterFirst, Finding, Plan, SearchError, SearchResult, search};
pub use shard::Shard;
