//! Room `solve`: the constraint model over a symbolic trace, `evaluate(order)`, and the solvers behind one trait.
//!
//! Evaluate first, solve second: a total order of steps fixes every value, so that most questions are answered by
//! walking it ([`Evaluator`]). A [`Solver`] searches orders and proves that there is none.
//!
//! [`Orders`] is our own solver, CDCL(T) on a SAT solver of this room, and the default. [`Z3`] is the reference that it is
//! checked against, and decides initial values that nobody knows. Both read the same formulas about sync objects (module
//! `constraints`), and [`brute`] checks both on tiny traces that [`generate`] makes up.
//!
//! An order that is given as an answer has been evaluated. "There is none", cores and bounds are proofs within the
//! [`Model`], without a certificate: a wrong clause of a theory would make them wrong, in the direction of too few orders.

pub mod brute;
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
mod query;
mod sat;
mod smt;
mod z3;

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
