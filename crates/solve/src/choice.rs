//! Which solver answers, by the name that users know it by.

use std::fmt;
use std::str::FromStr;

use crate::{Orders, Solver, Z3};

/// A solver to be made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SolverChoice {
    /// Our own, made for schedules.
    #[default]
    Orders,
    /// The system's library: the reference that ours is checked against.
    Z3,
}

impl SolverChoice {
    pub const ALL: [SolverChoice; 2] = [SolverChoice::Orders, SolverChoice::Z3];

    pub fn name(self) -> &'static str {
        match self {
            SolverChoice::Orders => "orders",
            SolverChoice::Z3 => "z3",
        }
    }

    /// A fresh one, that knows of no query yet.
    pub fn make(self) -> Box<dyn Solver> {
        match self {
            SolverChoice::Orders => Box::new(Orders::new()),
            SolverChoice::Z3 => Box::new(Z3::new()),
        }
    }
}

impl fmt::Display for SolverChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No solver has this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no solver '{0}'; there are orders and z3")]
pub struct UnknownSolver(String);

impl FromStr for SolverChoice {
    type Err = UnknownSolver;

    fn from_str(name: &str) -> Result<SolverChoice, UnknownSolver> {
        let found = SolverChoice::ALL.into_iter().find(|choice| choice.name() == name);
        found.ok_or_else(|| UnknownSolver(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_solver_is_chosen_by_its_name() {
        for choice in SolverChoice::ALL {
            assert_eq!(choice.to_string().parse(), Ok(choice));
            let said = choice.make().name().to_lowercase();
            assert!(said.starts_with(choice.name()), "{said}");
        }
        let error = "cvc5".parse::<SolverChoice>().expect_err("there is none");
        assert!(error.to_string().contains("orders and z3"), "{error}");
    }
}
