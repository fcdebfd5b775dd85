//! Benchmarks. Each prints a table and ends with one headline line.

mod measure;
pub mod vm;
