//! Room `solve`: the constraint model over a symbolic trace, `evaluate(order)`, and the solvers behind one trait.
//!
//! Evaluate first, solve second: a total order of steps fixes every value, so that most questions are answered by
//! walking it ([`Evaluator`]). A [`Solver`] searches orders and proves that there is none.

pub mod brute;
mod choice;
mod constraints;
pub mod criteria;
mod dumping;
mod evaluate;
pub mod generate;
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
pub use model::{
    Cell, CheckId, Model, ModelError, Op, ReadSlot, Section, SlotId, Source, StepId, StepKind,
    SyncFamily, SyncId, SyncObject, WriteSlot,
};
pub use orders::Orders;
pub use query::{Answer, Before, Bounds, Found, Goal, Nearest, Query, Solver, Weights, Wish};
pub use z3::{Engine, Z3};
