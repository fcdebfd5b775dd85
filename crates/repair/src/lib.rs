//! Room `repair`: from the causes of a failure to patches that were checked (ConcBugAssist, design §10).
//!
//! For each cause the measures that make it impossible ([`propose`], orders that close a cycle with it); the cheapest sets
//! of measures against all causes ([`cover`], binate covering); each set is woven into the machine's program and
//! explored, then written as a patch of the source ([`draft`]), compiled, and explored again ([`check`]). What fails any of
//! this is no repair.
//!
//! `repair.rs` is the way. `spots.rs` finds a cause's events in the source, `graph.rs` the orders that would close a cycle with it,
//! `measures.rs` and `propose/` the measures that keep them, `cover.rs` the cheapest sets; `apart.rs` which bugs are repaired by themselves. `trials.rs` tries such a set, `check.rs` explores
//! what comes of it, `meaning.rs` compares what it does with what the program did, `late.rs` asks whether it only holds while somebody sleeps, `rank.rs` says what is shown. `draft/` writes measures as text; `locks.rs`, `lock_order.rs`, `moved.rs` and
//! `threads.rs` know what the text says about locks, statements and threads, `atomics.rs` how atomic operations are spelt; `rewrite.rs` is measures that are nothing but text. `source.rs` and `source/` are sources as a programmer
//! edits them (tree-sitter), and know nothing of causes.

mod apart;
mod atomics;
mod budgets;
mod check;
mod cover;
mod draft;
mod graph;
mod late;
mod lock_order;
pub mod locks;
mod meaning;
mod measures;
mod moved;
mod propose;
mod rank;
mod reached;
mod repair;
mod rewrite;
pub mod source;
mod spots;
mod threads;
mod trials;

pub use budgets::budgets;
pub use check::Effort;
pub use repair::{Progress, Task, Workshop, repair};
