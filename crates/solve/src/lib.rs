//! Room `solve`: the constraint model over a symbolic trace, `evaluate(order)`, and the solvers behind one trait.
//!
//! Evaluate first, solve second: a total order of steps fixes every value, so that most questions are answered by
//! walking it ([`Evaluator`]). A [`Solver`] searches orders and proves that there is none.
//!
//! - `model/` builds the [`Model`], `evaluate/` walks an order with an undo trail, `criteria.rs` says how far two orders are apart.
//! - `query.rs` is what can be asked, `choice.rs` who answers, `heeding.rs` stops it at Ctrl-C, `dumping.rs` keeps what was asked.
//! - `constraints/` is what sync objects and ends demand, as formulas that all solvers read.
//! - [`Orders`] is our own solver, CDCL(T) on the SAT solver `sat/`, and the default: how it answers is said in `orders.rs`.
//! - `smt/` writes a query as SMT-LIB text, `z3/` gives it to the system's library. [`Z3`] is the reference that `orders` is
//!   checked against, and decides initial values that nobody knows.
//! - [`brute`] goes through all interleavings, [`generate`] makes up traces: the oracles of the tests, and what
//!   `cargo xtask bench solve` measures.
//!
//! An order that is given as an answer has been evaluated. "There is none", cores and bounds are proofs within the
//! [`Model`]: a wrong clause of a theory would make them wrong, in the direction of too few orders. [`Orders::logging`] leaves
//! such a proof behind ([`proof`]), which room `certify` checks without the solver.
//! What is tested besides is agreement: with brute force on tiny random traces of every kind of event, with Z3 on longer ones, and
//! that orders known to exist are never excluded (`tests/agreement`).

pub mod brute;
mod budgets;
mod choice;
mod constraints;
pub mod criteria;
mod dumping;
mod evaluate;
pub mod generate;
mod heeding;
mod measure;
mod model;
mod orders;
pub mod proof;
mod query;
mod sat;
mod smt;
mod z3;

pub use budgets::budgets;
pub use choice::{SolverChoice, UnknownSolver};
pub use dumping::Dumping;
pub use evaluate::{Evaluator, Verdict};
pub use heeding::Heeding;
pub use model::{
    Cell, CheckId, Model, ModelError, Op, ReadSlot, Section, SlotId, Source, StepId, StepKind,
    SyncFamily, SyncId, SyncObject, WriteSlot,
};
pub use orders::Orders;
pub use query::{Answer, Before, Bounds, Found, Goal, Nearest, Query, Solver, Weights, Wish};
pub use z3::{Engine, Z3};
