//! Other values for the inputs that a symbolic run left open, written as the input that gives them.
//!
//! A value is written where the program read it: as a value of a thread's nth call, as an argument in decimal, as a byte or
//! a word of standard input. Inputs that keep their values keep their text, so that `007` stays what it is.
//!
//! *Not modelled*: what else the program makes of the same text (its length, its first character). Whether it reads the
//! value that is meant, only an execution can tell.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{Input, InputCell, InputSource, Nondet, ThreadName};

impl Input {
    /// The input in which these cells have these values. Calls of `__VERIFIER_nondet_*` without a cell return 0, or what
    /// this input says by thread.
    pub fn with_values(&self, cells: &[InputCell], value: &dyn Fn(&InputCell) -> u64) -> Input {
        let mut input = self.clone();
        let mut calls: BTreeMap<&ThreadName, Vec<u64>> = BTreeMap::new();
        if let Nondet::ByThread(threads) = &self.nondet {
            calls.extend(threads.iter().map(|(name, values)| (name, values.clone())));
        }
        let mut numbers: BTreeMap<u32, i64> = BTreeMap::new();
        for cell in cells {
            let (new, changes) = (value(cell), value(cell) != cell.value);
            match &cell.what {
                InputSource::Nondet { thread, index } => {
                    let calls = calls.entry(thread).or_default();
                    let index = *index as usize;
                    calls.resize(calls.len().max(index + 1), 0);
                    calls[index] = new;
                }
                InputSource::Argument { index } => {
                    if let Some(text) = input.args.get_mut(*index as usize).filter(|_| changes) {
                        *text = (new as i64).to_string();
                    }
                }
                InputSource::Number { index } if changes => {
                    numbers.insert(*index, new as i64);
                }
                InputSource::Number { .. } => {}
                InputSource::Byte { offset } => {
                    let bytes = input.stdin.as_mut();
                    if let Some(byte) = bytes.and_then(|bytes| bytes.get_mut(*offset as usize)) {
                        *byte = new as u8;
                    }
                }
            }
        }
        if cells.iter().any(|cell| matches!(cell.what, InputSource::Nondet { .. })) {
            let threads = calls.into_iter().map(|(name, values)| (name.clone(), values));
            input.nondet = Nondet::ByThread(threads.collect());
        }
        if let (Some(before), Some(text)) = (&self.stdin, &mut input.stdin) {
            // From the last one on, because what comes before a word stays where it is.
            let words = words(before);
            for (index, number) in numbers.into_iter().rev() {
                if let Some(word) = words.get(index as usize) {
                    text.splice(word.clone(), number.to_string().into_bytes());
                }
            }
        }
        input
    }
}

/// Where the words of a text are: what blanks part.
pub fn words(text: &[u8]) -> Vec<Range<usize>> {
    // `isspace` of C has one more than `is_ascii_whitespace`.
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
    let mut words: Vec<Range<usize>> = Vec::new();
    for (at, byte) in text.iter().enumerate() {
        if is_blank(byte) {
            continue;
        }
        match words.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => words.push(at..at + 1),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ThreadId, input_cell, liveness_cell, result_cell};

    fn cell(what: InputSource, value: u64) -> InputCell {
        InputCell { address: input_cell(&what, ThreadId::MAIN), bytes: 8, what, value }
    }

    fn call(thread: &ThreadName, index: u32, value: u64) -> InputCell {
        cell(InputSource::Nondet { thread: thread.clone(), index }, value)
    }

    #[test]
    fn calls_are_given_by_thread_and_in_order() {
        let (main, child) = (ThreadName::main(), ThreadName::main().child(1));
        let cells = [call(&child, 1, 8), call(&main, 0, 5), call(&child, 0, 7)];
        let other = |cell: &InputCell| if cell.value == 7 { 70 } else { cell.value };
        let input = Input::default().with_values(&cells, &other);
        assert_eq!(input.nondet, Nondet::ByThread(vec![(main, vec![5]), (child, vec![70, 8])]));
    }

    #[test]
    fn what_was_given_by_thread_fills_gaps() {
        let main = ThreadName::main();
        let nondet = Nondet::ByThread(vec![(main.clone(), vec![1, 2, 3])]);
        let input = Input { nondet, ..Input::default() };
        let input = input.with_values(&[call(&main, 1, 2), call(&main, 4, 9)], &|_| 6);
        assert_eq!(input.nondet, Nondet::ByThread(vec![(main, vec![1, 6, 3, 0, 6])]));
    }

    #[test]
    fn a_seed_stays_where_no_call_is_known() {
        let input = Input { nondet: Nondet::Seed(3), ..Input::default() };
        assert_eq!(input.with_values(&[], &|_| 1).nondet, Nondet::Seed(3));
    }

    #[test]
    fn arguments_are_written_in_decimal_and_only_if_they_change() {
        let args = ["-n", "007", "12"].map(str::to_owned).to_vec();
        let input = Input { args, ..Input::default() };
        let cells = [1, 2]
            .map(|index| cell(InputSource::Argument { index }, if index == 1 { 7 } else { 12 }));
        let other = |cell: &InputCell| if cell.value == 12 { -3i64 as u64 } else { cell.value };
        assert_eq!(input.with_values(&cells, &other).args, ["-n", "007", "-3"]);
    }

    #[test]
    fn words_and_bytes_of_standard_input_are_replaced_where_they_are() {
        let stdin = Some(b"x 1\n22  333\n".to_vec());
        let input = Input { stdin, ..Input::default() };
        let cells = [
            cell(InputSource::Number { index: 1 }, 1),
            cell(InputSource::Number { index: 3 }, 333),
            cell(InputSource::Byte { offset: 0 }, u64::from(b'x')),
        ];
        let other = |cell: &InputCell| match cell.what {
            InputSource::Number { index: 1 } => 1000,
            InputSource::Number { .. } => -4i64 as u64,
            _ => u64::from(b'y'),
        };
        let written = input.with_values(&cells, &other).stdin.expect("it is not closed");
        assert_eq!(String::from_utf8_lossy(&written), "y 1000\n22  -4\n");
    }

    #[test]
    fn no_two_cells_overlap() {
        let nondet = |index| InputSource::Nondet { thread: ThreadName::main(), index };
        let mut cells = vec![
            liveness_cell(1 << 47),
            result_cell(ThreadId(3)),
            input_cell(&nondet(u32::MAX), ThreadId(0)),
            input_cell(&nondet(0), ThreadId(1)),
            input_cell(&nondet(1), ThreadId(1)),
            input_cell(&InputSource::Argument { index: 0 }, ThreadId(9)),
            input_cell(&InputSource::Number { index: 0 }, ThreadId(9)),
            input_cell(&InputSource::Byte { offset: 0 }, ThreadId(9)),
        ];
        cells.sort_unstable();
        assert!(cells.windows(2).all(|pair| pair[0] + 8 <= pair[1]), "{cells:#x?}");
    }

    #[test]
    fn threads_share_the_cells_of_arguments_but_not_of_calls() {
        let argument = InputSource::Argument { index: 2 };
        assert_eq!(input_cell(&argument, ThreadId(0)), input_cell(&argument, ThreadId(4)));
        let call = InputSource::Nondet { thread: ThreadName::main(), index: 2 };
        assert_ne!(input_cell(&call, ThreadId(0)), input_cell(&call, ThreadId(4)));
    }
}
