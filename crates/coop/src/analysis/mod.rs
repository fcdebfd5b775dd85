//! The statistical analysis of partial logs (CoopREP, thesis §3.2 to §3.4): which of them go together.
//!
//! [`Collection`] holds logs with every distinct access vector once; [`Group`] is those that failed alike, with the dispersion of the
//! elements among them. `similarity.rs` is the three metrics, `merge.rs` both heuristics, `single.rs` the one-element case,
//! `candidates.rs` the order in which merged logs are tried, brute force last; `told_apart.rs` which failures at one place are different bugs.
//!
//! All sums are over integers, with one division at the end or none where two are compared crosswise, and ties go by log
//! id (the paper draws them), so that every engine that computes the same gives the same, to the last digit.

mod candidates;
mod collection;
mod merge;
mod similarity;
mod single;
mod told_apart;

#[cfg(test)]
mod tests;

pub use candidates::{Candidate, Candidates, Part};
pub use collection::{Collection, CollectionError, Group};
pub use merge::{Heuristic, Ranked};
pub use similarity::{Metric, Ratio};
pub use told_apart::Alike;
