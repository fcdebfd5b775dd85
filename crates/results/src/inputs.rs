//! Inputs of a program, as results name them.

use serde::{Deserialize, Serialize};
use unravel_trace::{InputCell, InputSource};

/// One value of an input, where the program read it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct InputValue {
    pub source: InputSource,
    /// As a signed number of its size: how the program takes it is not known.
    pub value: i64,
}

impl From<&InputCell> for InputValue {
    fn from(cell: &InputCell) -> InputValue {
        let shift = 64 - 8 * u32::from(cell.bytes.clamp(1, 8));
        InputValue { source: cell.what.clone(), value: ((cell.value << shift) as i64) >> shift }
    }
}

/// An input that was looked at, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TriedInput {
    /// In the order in which a run asked for them.
    pub values: Vec<InputValue>,
    /// Classes of schedules that pass and that fail with it.
    pub passing: u64,
    pub failing: u64,
    /// Whether all of them were executed.
    pub complete: bool,
    /// Whether every schedule fails with it, so that no order of events is to blame.
    pub sequential: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_trace::ThreadName;

    #[test]
    fn a_value_has_the_sign_of_its_size() {
        let value = |bytes, value| {
            let what = InputSource::Nondet { thread: ThreadName::main(), index: 0 };
            InputValue::from(&InputCell { address: 0, bytes, what, value }).value
        };
        assert_eq!(value(4, 0xffff_ffff), -1);
        assert_eq!(value(8, 0xffff_ffff), 0xffff_ffff);
        assert_eq!(value(1, 4), 4);
    }
}
