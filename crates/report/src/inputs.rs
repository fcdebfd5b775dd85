//! Inputs in words, the same in all reports: which value was read where, and with which inputs something holds.

use unravel_results::{Causes, InputValue};
use unravel_trace::{InputSource, ThreadName};

use crate::words::{grouped, listed};

/// Values of one input that are listed, and inputs that are named one by one.
const MOST_VALUES: usize = 6;
const MOST_NAMED: usize = 4;

/// `nondet value 1 of T0`.
pub fn source(source: &InputSource) -> String {
    match source {
        InputSource::Nondet { thread, index } => format!("nondet value {} of {thread}", index + 1),
        InputSource::Argument { index } => format!("argument {}", index + 1),
        InputSource::Number { index } => format!("number {} of the standard input", index + 1),
        InputSource::Byte { offset } => format!("byte {offset} of the standard input"),
    }
}

/// An input as it is typed: `4711`, `(3, 4711)`, `(T0.1: 5, T0.2: 7)`. A thread is named if it is not the main one.
fn typed(values: &[InputValue]) -> String {
    let mut last = ThreadName::main();
    let mut parts: Vec<String> = Vec::new();
    for InputValue { source, value } in values.iter().take(MOST_VALUES) {
        parts.push(match source {
            InputSource::Nondet { thread, .. } if *thread == last => value.to_string(),
            InputSource::Nondet { thread, .. } => {
                last = thread.clone();
                format!("{thread}: {value}")
            }
            other => format!("{} = {value}", self::source(other)),
        });
    }
    if values.len() > MOST_VALUES {
        parts.push("…".to_owned());
    }
    match parts.as_slice() {
        [] => "without values".to_owned(),
        [one] => one.clone(),
        some => format!("({})", some.join(", ")),
    }
}

/// `the input 4711`, `the inputs -1 and 4711`.
pub fn named(causes: &Causes, numbers: &[usize]) -> String {
    let inputs: Vec<_> = numbers.iter().filter_map(|number| causes.inputs.get(*number)).collect();
    let mut names: Vec<String> =
        inputs.iter().take(MOST_NAMED).map(|tried| typed(&tried.values)).collect();
    if let Some(more) = inputs.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        names.push(format!("{} more", grouped(more as u64)));
    }
    let inputs = if inputs.len() == 1 { "input" } else { "inputs" };
    format!("the {inputs} {}", listed(&names))
}

/// `with the input 4711 (of 5 tried)`, `with all 5 inputs tried`; nothing where no input was chosen.
pub fn with_which(causes: &Causes, numbers: &[usize]) -> Option<String> {
    match (numbers.len(), causes.inputs.len()) {
        (0, _) | (_, 0) => None,
        (_, 1) => Some(format!("with {}, the only one tried", named(causes, numbers))),
        (some, all) if some == all => Some(format!("with all {all} inputs tried")),
        (_, all) => Some(format!("with {} (of {all} tried)", named(causes, numbers))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(thread: &ThreadName, index: u32, value: i64) -> InputValue {
        InputValue { source: InputSource::Nondet { thread: thread.clone(), index }, value }
    }

    #[test]
    fn inputs_are_named_by_their_values() {
        let (main, child) = (ThreadName::main(), ThreadName::main().child(1));
        assert_eq!(typed(&[value(&main, 0, -3)]), "-3");
        assert_eq!(typed(&[value(&main, 0, 3), value(&main, 1, 4)]), "(3, 4)");
        assert_eq!(typed(&[value(&main, 0, 3), value(&child, 0, 4)]), "(3, T0.1: 4)");
        let many: Vec<InputValue> = (0..9).map(|index| value(&main, index, 1)).collect();
        assert_eq!(typed(&many), "(1, 1, 1, 1, 1, 1, …)");
        assert_eq!(source(&InputSource::Argument { index: 0 }), "argument 1");
    }
}
