//! Benchmarks. Each prints a table and ends with one headline line.

pub mod diagnose;
mod measure;
pub mod vm;
