//! Queries as SMT-LIB 2 text: one encoding, which solvers read and people can look at.
//!
//! Each step has an integer `o<step>`, its place. An answer may give two steps the same place: they may then stand
//! in either order, because every formula uses orders only positively ([`crate::constraints`]). An order is printed
//! as `(< o1 o2)`, choices are Booleans: `p<wait>_<waker>`, `r<slot>_<write>`, `g<request>`.
//!
//! What synchronisation demands comes from [`crate::constraints`] and is asserted in [`encode`]. Here is what needs
//! values, or only this backend says so: [`memory`] (reads-from), [`expressions`] (bit-vectors), [`nearness`] (soft
//! constraints). [`text`] prints.

pub(crate) mod encode;
pub(crate) mod expressions;
pub(crate) mod memory;
pub(crate) mod nearness;
pub(crate) mod text;

pub(crate) use encode::{Encoding, Question, encode};
