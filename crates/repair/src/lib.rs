//! Room `repair`: from the causes of a failure to patches that were checked (ConcBugAssist, design §10).
//!
//! For each cause the measures that make it impossible ([`propose`], orders that close a cycle with it); the cheapest sets
//! of measures against all causes ([`cover`], binate covering); each set is woven into the machine's program and
//! explored, then written as a patch of the source ([`draft`]), compiled, and explored again ([`check`]). What fails any of
//! this is no repair.

mod bench;
mod check;
mod cover;
mod draft;
mod graph;
mod lock_order;
pub mod locks;
mod measures;
mod moved;
mod propose;
mod rank;
mod repair;
pub mod source;
mod spots;
mod threads;

pub use check::Effort;
pub use repair::{Progress, Request, Workshop, repair};
