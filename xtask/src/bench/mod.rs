//! Benchmarks. Each prints a table and ends with one headline line.

pub mod causes;
pub mod diagnose;
pub mod explain;
mod generated;
pub mod hunt;
mod measure;
pub mod search;
pub mod simplify;
pub mod solve;
pub mod vm;
