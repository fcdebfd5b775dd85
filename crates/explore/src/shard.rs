//! A part of a search, for one of several machines that do not talk to each other.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use unravel_strategies::is_common;

use crate::budgets::MOST_SHARDS;

/// The `number`th of `of` parts, counted from 1. The parts together are the whole search: each run belongs to one part, but
/// for those that teach, which all parts execute.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Shard {
    number: u32,
    of: u32,
}

impl Shard {
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    pub fn new(number: u32, of: u32) -> Option<Shard> {
        (1 <= number && number <= of && of <= MOST_SHARDS).then_some(Shard { number, of })
    }

    pub fn number(self) -> u32 {
        self.number
    }

    pub fn of(self) -> u32 {
        self.of
    }

    /// Whether this part executes a sample.
    pub(crate) fn has(self, index: u64) -> bool {
        is_common(index) || index % u64::from(self.of) == u64::from(self.number - 1)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(number, of)| {
            Shard::new(number.trim().parse().ok()?, of.trim().parse().ok()?)
        });
        parts.ok_or_else(|| format!("'{text}' is no part of a search: write 1/4, 2/4, 3/4 or 4/4"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_checked() {
        assert_eq!("2/4".parse(), Ok(Shard { number: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "1", "1/0", "a/b", "1/99999"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_run_is_in_exactly_one_part_unless_it_teaches() {
        let parts: Vec<Shard> = (1..=3).filter_map(|n| Shard::new(n, 3)).collect();
        for index in 0..1000 {
            let having = parts.iter().filter(|part| part.has(index)).count();
            assert_eq!(having, if is_common(index) { 3 } else { 1 }, "run {index}");
        }
    }
}
