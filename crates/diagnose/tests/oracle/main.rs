//! Diagnoses against brute force, on random tiny traces of every kind: all interleavings are enumerated, and what
//! a diagnosis says of them has to be true.
//!
//! `UNRAVEL_SEEDS` tries more traces, `--nocapture` shows how often searches without a promise reach the best.

mod alternates;
mod causes;
mod closures;
mod criteria;
mod goals;
mod reductions;
mod traces;
