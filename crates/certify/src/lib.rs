//! Room `certify`: whether a proof that the solver left behind is one.
//!
//! A proof ([`unravel_solve::proof`]) is a list of lines: what a variable means, a clause with the rule that it rests on, a
//! clause that follows, a charge of a bound. A line is accepted if it is true of *every* order of the recorded steps that
//! answers the question; then so is the last of them, and with it the claim that there is none, that some orders cannot
//! hold together, or that none is nearer.
//!
//! *Trusted*: the [`unravel_solve::Model`] that was built from the trace (its steps and their ops, cells, sections of locks,
//! program order with forks and joins), the evaluation of expressions ([`unravel_trace::Exprs`]), the evaluator and the criteria
//! where a schedule that is given is measured, and this room.
//! *Not trusted*: the solver: its search, its graph, its clauses, its formulas of sync objects. Nothing of `orders/`, `sat/` or
//! `constraints/` is called here.
//!
//! *Taken on trust, and said* ([`Unchecked`]): what a deadlock demands of its requests, how far a run is from one that
//! deadlocks, and what Z3 said about initial values that nobody knows. Of a deadlock an order is the one that is
//! performed.
//!
//! - `checker.rs` takes line after line, `holds.rs` has a rule for each reason: `closure.rs` for orders, reads-from and locks,
//!   `values.rs` for conditions and counters, `counting.rs` for numbers, `sync.rs` and `waits.rs` for what sync objects demand
//!   (`demands.rs`), `nearness.rs` for bounds. `clauses.rs` is unit propagation. `claim.rs` is what it all amounts to.
//! - [`Certifying`] is a solver of which nobody hears a claim that was refused; `said.rs` what that means for a diagnosis.
//! - [`text`] is a certificate as a file, and the way back.
//!
//! Errs towards refusing: a rule is silent where it does not know. What is refused is said with its line and why.

mod budgets;
mod certifying;
mod checker;
mod claim;
mod clauses;
mod closure;
mod counting;
mod demands;
mod holds;
mod nearness;
mod rules;
mod said;
mod sync;
pub mod text;
mod values;
mod waits;

pub use budgets::budgets;
pub use certifying::{Certifying, Ledger};
pub use checker::{Checker, Refused, Unchecked};
pub use claim::{Claim, digest};
