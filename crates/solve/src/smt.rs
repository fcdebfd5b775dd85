//! Queries as SMT-LIB 2 text: one encoding, which solvers read and people can look at.
//!
//! Each step has an integer `o<step>`, its place. An answer may give two steps the same place: they may then stand
//! in either order. That holds because every formula uses orders only positively, as `(< o1 o2)`; "not before" is
//! always "after". So all conditions have a form of their own for "it does not hold" where that is needed.
//!
//! One file a family of constraints: [`memory`] (reads-from), [`locks`], [`waits`] (condition variables), [`counts`]
//! (semaphores, barriers), [`once`], [`wishes`] (the bug, deadlocks, and what comes after the end),
//! [`nearness`] (soft constraints).

pub(crate) mod counts;
pub(crate) mod encode;
pub(crate) mod expressions;
pub(crate) mod locks;
pub(crate) mod memory;
pub(crate) mod nearness;
pub(crate) mod once;
pub(crate) mod text;
pub(crate) mod waits;
pub(crate) mod wishes;

pub(crate) use encode::{Encoding, NoEncoding, Question, encode};
