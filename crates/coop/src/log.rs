//! A partial log: for each element that an instance logs, which thread accessed it when; and how the run ended.
//!
//! CoopREP, thesis §3.1: the access vector of an element lists the threads that read or wrote it, in order. Threads are known by birth, so
//! that they are the same in every run (jRapture's scheme there). Ids only: nothing here is a value of the program.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use unravel_trace::{BugId, FailureKind, Outcome, ThreadName};

use crate::ElementId;

/// A thread as logs call it: its name by birth as a number, the same in every run and on every machine.
///
/// Up to three generations of at most 65,535 children each are exact, 16 bits a generation; whatever is beyond is a hash with bit 62
/// set, so that two threads could be taken for one with a probability of 2⁻⁶² a pair. Never negative as an `i64`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Who(pub u64);

impl Who {
    pub const MAIN: Who = Who(0);

    pub fn of(name: &ThreadName) -> Who {
        let exact = name.0.len() <= 3 && name.0.iter().all(|nth| (1..=0xffff).contains(nth));
        if exact {
            return Who(name.0.iter().fold(0, |number, nth| number << 16 | u64::from(*nth)));
        }
        let bytes: Vec<u8> = name.0.iter().flat_map(|nth| nth.to_le_bytes()).collect();
        Who(digest(&bytes) >> 2 | 1 << 62)
    }
}

/// The beginning of a SHA-256, as a number.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let hash = Sha256::digest(bytes);
    u64::from_le_bytes(std::array::from_fn(|i| hash[i]))
}

/// Which run of which instance: given once, so that a log that arrives twice is one log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct LogId(pub u128);

impl LogId {
    /// Of a run that was drawn: the same draw is the same log.
    pub fn drawn(fleet: u64, instance: u32, run: u64) -> LogId {
        let mut hash = Sha256::new();
        hash.update(fleet.to_le_bytes());
        hash.update(instance.to_le_bytes());
        hash.update(run.to_le_bytes());
        let hash = hash.finalize();
        LogId(u128::from_be_bytes(std::array::from_fn(|i| hash[i])))
    }
}

impl LogId {
    /// Of a run that happened once: whatever tells it from all others.
    pub fn given(what: &[&[u8]]) -> LogId {
        let mut hash = Sha256::new();
        for part in what {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let hash = hash.finalize();
        LogId(u128::from_be_bytes(std::array::from_fn(|i| hash[i])))
    }
}

/// 32 hexadecimal digits, so that the order of texts is that of ids.
impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for LogId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<LogId, Self::Err> {
        u128::from_str_radix(text, 16).map(LogId)
    }
}

/// Where and how a run failed, as logs call it: kind, and a hash of the places.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct FailureSite {
    pub kind: FailureKind,
    /// Never negative as an `i64`.
    pub places: u64,
}

impl From<&BugId> for FailureSite {
    fn from(bug: &BugId) -> FailureSite {
        let mut bytes = Vec::new();
        for place in &bug.places {
            bytes.extend(place.file.as_bytes());
            bytes.push(0);
            bytes.extend(place.line.to_le_bytes());
            bytes.extend(place.function.as_bytes());
            bytes.push(0);
        }
        FailureSite { kind: bug.kind, places: digest(&bytes) >> 1 }
    }
}

impl fmt::Display for FailureSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:016x}", self.kind, self.places)
    }
}

/// How a logged run ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Ending {
    Passed,
    Failed(FailureSite),
}

impl Ending {
    /// `None` if the run says nothing.
    pub fn of(outcome: &Outcome) -> Option<Ending> {
        match outcome {
            Outcome::Exited { .. } => Some(Ending::Passed),
            Outcome::Failed(failure) => Some(Ending::Failed((&failure.id()).into())),
            Outcome::Discarded | Outcome::Inconclusive { .. } => None,
        }
    }

    pub fn failure(self) -> Option<FailureSite> {
        match self {
            Ending::Failed(site) => Some(site),
            Ending::Passed => None,
        }
    }
}

/// What one run of one instance logged.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Log {
    pub id: LogId,
    /// The fingerprint of the program, and of the elements its profile has.
    pub build: u64,
    pub ending: Ending,
    /// Sorted by element, each once. One that was logged and never accessed has an empty vector, which is not the same as one that
    /// was not logged.
    pub vectors: Vec<(ElementId, Vec<Who>)>,
}

impl Log {
    /// All accesses in it.
    pub fn accesses(&self) -> usize {
        self.vectors.iter().map(|(_, vector)| vector.len()).sum()
    }

    /// The threads in it.
    pub fn threads(&self) -> BTreeSet<Who> {
        let mut threads = BTreeSet::new();
        for (_, vector) in &self.vectors {
            for turn in vector.chunk_by(|a, b| a == b) {
                threads.insert(turn[0]);
            }
        }
        threads
    }

    /// What is left of it where only these elements are logged.
    pub fn only(&self, elements: &[ElementId]) -> Log {
        let kept = self.vectors.iter().filter(|(element, _)| elements.contains(element));
        Log { vectors: kept.cloned().collect(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_told_apart_by_birth() {
        let name = |path: &[u32]| ThreadName(path.to_vec());
        assert_eq!(Who::of(&ThreadName::main()), Who::MAIN);
        assert_eq!(Who::of(&name(&[3])), Who(3));
        assert_eq!(Who::of(&name(&[1, 2])), Who(1 << 16 | 2));
        let far = [name(&[70_000]), name(&[1, 1, 1, 1]), name(&[1, 70_000])].map(|n| Who::of(&n));
        assert!(far.iter().all(|who| who.0 >> 62 == 1), "{far:?}");
        assert!(far[0] != far[1] && far[1] != far[2] && far[0] != far[2]);
    }

    #[test]
    fn ids_are_read_as_they_are_written() {
        let id = LogId::drawn(1, 2, 3);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_ne!(id, LogId::drawn(1, 2, 4));
        assert_ne!(id, LogId::drawn(1, 3, 3));
    }
}
