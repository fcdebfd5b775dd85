//! The backend of [`crate::Solver`] on the system's Z3.
//!
//! [`solver`] asks, [`library`] holds the foreign functions, [`answer`] reads what comes back. What is asked is text
//! from [`crate::smt`]; [`Z3::dump`] gives it as a file that `z3` accepts.

mod answer;
mod library;
mod solver;

pub use solver::{Engine, Z3};
