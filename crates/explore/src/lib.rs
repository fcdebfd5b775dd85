//! Room `explore`: everything that works by executing again. Strategies, one a file, and the search that
//! drives them. Generic over [`unravel_trace::Executor`].

mod classes;
mod dependence;
mod judge;
mod pct;
mod process;
mod random;
mod replay;
mod round_robin;
mod run_to_block;
mod search;
mod strategy;
mod worker;

pub use classes::{Class, ReadsFrom};
pub use dependence::{Touch, depend, touches};
pub use judge::{Judge, Silence};
pub use pct::Pct;
pub use process::{Apart, Received};
pub use random::Random;
pub use replay::{Divergence, Replay};
pub use round_robin::RoundRobin;
pub use run_to_block::RunToBlock;
pub use search::{AfterFirst, Finding, Plan, SearchError, SearchResult, search};
pub use strategy::{Strategy, UnknownStrategy};
