//! What `cargo xtask` and the benchmarks share: where the project is and how it is built, and the cases of the corpus.
//!
//! It links nothing of the tool but its vocabulary, so that a check or a test does not wait until the solvers are compiled.

pub mod consistent;
pub mod corpus;
pub mod error;
pub mod tally;
pub mod workspace;
