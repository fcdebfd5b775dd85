//! How many passed and how many failed.

use std::fmt;
use std::ops::AddAssign;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
}

impl Tally {
    pub fn is_good(self) -> bool {
        self.failed == 0
    }

    /// Reads a line `test result: ok. 7 passed; 0 failed; …` as every test binary prints one.
    pub fn from_libtest(line: &str) -> Option<Tally> {
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let count = |name: &str| {
            counts.split("; ").find_map(|part| part.strip_suffix(name)?.trim().parse().ok())
        };
        Some(Tally { passed: count("passed")?, failed: count("failed")? })
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// Exactly this form, alone on its line, ends every test command.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn the_result_of_a_test_binary_is_understood() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; \
                    finished in 0.02s";
        assert_eq!(Tally::from_libtest(line), Some(Tally { passed: 12, failed: 3 }));
        assert_eq!(Tally::from_libtest("test a::b ... ok"), None);
    }

    #[test]
    fn the_last_line_has_the_promised_form() {
        assert_eq!(Tally { passed: 7, failed: 0 }.to_string(), "7 passed, 0 failed");
    }
}
