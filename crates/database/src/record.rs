//! What is stored. Records say what was seen and never take anything back, so their order does not matter and neither does
//! reading one twice: counts belong to writers, and of two counts of one writer the larger one holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unravel_trace::{Input, Schedule, ThreadId, ThreadTrace, VisibleSet};

use crate::error::DatabaseError;
use crate::frame::frame;
use crate::id::{RunId, TraceId, WriterId, encode};

/// How often each writer has seen a run.
pub(crate) type Seen = BTreeMap<WriterId, u64>;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum Record {
    Trace { visible: Arc<VisibleSet>, trace: Arc<ThreadTrace> },
    Run { run: Box<RunRecord>, seen: Seen },
    Seen { run: RunId, by: WriterId, count: u64 },
}

impl Record {
    pub fn framed(&self) -> Result<Vec<u8>, DatabaseError> {
        frame(&encode(self))
    }

    /// `None` if these bytes are no record.
    pub fn decode(payload: &[u8]) -> Option<Record> {
        let (record, rest) = postcard::take_from_bytes(payload).ok()?;
        rest.is_empty().then_some(record)
    }
}

/// A run as it is stored.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct RunRecord {
    pub threads: Vec<TraceId>,
    /// Owners of the steps: who, and how many in a row.
    pub turns: Vec<(ThreadId, u32)>,
    pub schedule: Schedule,
    pub input: Input,
    pub from: String,
}

impl RunRecord {
    pub fn id(&self) -> RunId {
        RunId::of(&self.threads, &self.input)
    }

    /// The one of two ways to have seen the same run that is kept: fewer context switches first, then the smaller
    /// encoding. All databases that know both choose the same.
    pub fn simpler(self, other: RunRecord) -> RunRecord {
        let rank = |run: &RunRecord| (run.schedule.segments.len(), encode(run));
        if rank(&other) < rank(&self) { other } else { self }
    }
}

/// Turns in a row as one.
pub(crate) fn compress(turns: &[ThreadId]) -> Vec<(ThreadId, u32)> {
    let mut runs: Vec<(ThreadId, u32)> = Vec::new();
    for thread in turns {
        match runs.last_mut() {
            Some((last, count)) if last == thread && *count < u32::MAX => *count += 1,
            _ => runs.push((*thread, 1)),
        }
    }
    runs
}

/// The turns one by one, if there are no more than `most`.
pub(crate) fn expand(turns: &[(ThreadId, u32)], most: usize) -> Option<Vec<ThreadId>> {
    let length = turns.iter().try_fold(0usize, |sum, turn| sum.checked_add(turn.1 as usize))?;
    if length > most {
        return None;
    }
    let each = |turn: &(ThreadId, u32)| std::iter::repeat_n(turn.0, turn.1 as usize);
    Some(turns.iter().flat_map(each).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn turns_come_back(turns in prop::collection::vec((0..3u32).prop_map(ThreadId), 0..30)) {
            prop_assert_eq!(expand(&compress(&turns), turns.len()), Some(turns));
        }
    }

    #[test]
    fn turns_without_end_are_refused() {
        assert_eq!(expand(&[(ThreadId(0), u32::MAX); 3], 1000), None);
    }
}
