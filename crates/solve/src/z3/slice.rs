//! Conditions over bit-vectors alone: whether they can hold, and if not, which cannot.

use super::answer::{self, Value};
use super::library::{Context, Decider, Status};
use crate::Cell;
use crate::smt::encode::assumption_name;
use crate::smt::memory::initial_name;

/// Values of cells before the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bits(pub Vec<(Cell, u128)>);

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Decided {
    Yes(Bits),
    /// Conditions that cannot hold together.
    No(Vec<usize>),
}

/// Declarations and `(=> a<index> …)` for so many conditions, over the constants of these cells.
pub(crate) fn decide_bits(
    text: &str,
    conditions: usize,
    cells: &[Cell],
) -> Result<Decided, String> {
    let why = |error: super::library::LibraryError| error.to_string();
    let context = Context::new(super::solver::CORES).map_err(why)?;
    let mut decider = Decider::new(&context, &[]).map_err(why)?;
    decider.read(text).map_err(why)?;
    let assumed: Vec<String> = (0..conditions).map(assumption_name).collect();
    match decider.check(&assumed, None).map_err(why)? {
        Status::Unknown => Err(format!("Z3 gave up on initial values: {}", decider.reason())),
        Status::Unsatisfiable => {
            let names = answer::names(&decider.core());
            Ok(Decided::No((0..conditions).filter(|i| names.contains(&assumed[*i])).collect()))
        }
        Status::Satisfiable => {
            let model = decider.model().ok_or("Z3 gave no model")?;
            let mut values: Vec<(Cell, u128)> = cells.iter().map(|cell| (*cell, 0)).collect();
            for (name, value) in answer::model(&model) {
                if let Value::Bits(bits) = value
                    && let Some(entry) = values.iter_mut().find(|(c, _)| initial_name(*c) == name)
                {
                    entry.1 = bits;
                }
            }
            Ok(Decided::Yes(Bits(values)))
        }
    }
}
