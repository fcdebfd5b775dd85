//! Room `certify`: whether a proof that a solver left behind is one. Knows nothing of the solver.
mod certifying;
mod checker;
mod claim;
mod clauses;
mod closure;
mod counting;
mod demands;
mod nearness;
mod rules;
mod said;
mod sync;
pub mod text;
mod values;

pub use certifying::{Certifying, Ledger};
pub use checker::{Checker, Refused, Unchecked};
pub use claim::{Claim, digest};
