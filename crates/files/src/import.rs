//! Traces that other tools wrote, a format a module. What comes out has no program: it can be shown and diagnosed,
//! not executed ([`crate::TraceFile::is_executable`]).

pub mod symbiosis;
