//! Room `explain`: from a program to its `Explanation`: find, confirm, simplify, diagnose.
//!
//! It decides nothing that the rooms it calls decide; its own are the budgets (how long to look for more bugs, how long
//! to ask why), the trace files, and that whatever happens to one bug, the others are still told.
//!
//! `explain.rs` is the way, `diagnosing.rs` the process in which one bug is diagnosed, `simplifying.rs` what comes first there,
//! `same_cause.rs` (with `vanishing.rs`) says which bugs have one cause, `keep.rs` writes the trace files.

mod budgets;
mod diagnosing;
mod explain;
mod keep;
mod same_cause;
mod simplifying;
mod vanishing;

pub use budgets::budgets;
pub use explain::{Budget, ExplainError, Known, Progress, Task, explain};
