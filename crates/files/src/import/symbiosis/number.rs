//! The number of a thread, as the files have it: `2`, or `1.3`, the third child of thread 1.

use std::fmt;
use std::str::FromStr;

/// Which thread a file or an event is of. The main thread is 0.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ThreadNumber(Vec<u32>);

impl ThreadNumber {
    pub fn main() -> ThreadNumber {
        ThreadNumber(vec![0])
    }

    pub fn is_main(&self) -> bool {
        self.0 == [0]
    }

    /// The number, if it has no dots.
    pub(super) fn plain(&self) -> Option<u32> {
        match self.0[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    pub(super) fn parse(text: &str) -> Option<ThreadNumber> {
        text.split('.').map(number).collect::<Option<Vec<u32>>>().map(ThreadNumber)
    }
}

/// A number that is nothing but digits.
pub(super) fn number(text: &str) -> Option<u32> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

impl FromStr for ThreadNumber {
    type Err = String;

    /// With or without the `T` of the files.
    fn from_str(text: &str) -> Result<ThreadNumber, String> {
        let digits = text.strip_prefix('T').unwrap_or(text);
        let missing = || format!("'{text}' is no thread: a number such as 2 or 1.3 expected");
        ThreadNumber::parse(digits).ok_or_else(missing)
    }
}

impl fmt::Display for ThreadNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&parts.join("."))
    }
}
