//! Takes in another database of the same program.
//!
//! What is merged is what records are made of, so the order of merging does not matter, and merging again changes nothing:
//! counts carry who counted.

use std::path::Path;

use unravel_results::Damage;

use crate::database::Database;
use crate::directory::Directory;
use crate::error::DatabaseError;
use crate::record::{Record, RunRecord};

/// What a merge brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Merged {
    /// Distinct runs and distinct traces that were new.
    pub runs: usize,
    pub traces: usize,
    /// By how much the number of runs seen grew.
    pub seen: u64,
    /// What could not be read there.
    pub damage: Damage,
}

impl Database {
    pub fn merge(&mut self, other: &Path) -> Result<Merged, DatabaseError> {
        let directory = Directory::existing(other)?;
        directory.check(&self.program)?;
        let theirs = directory.gather(false)?;
        let (runs, traces, seen) = self.size();
        // Frame by frame: a database may be larger than one wants to have in memory twice.
        for (id, stored) in &theirs.contents.traces {
            if !self.contents.traces.contains_key(id) {
                let visible = &theirs.contents.sets[stored.set];
                self.append(&theirs.contents.trace_record(stored).framed()?)?;
                self.contents.add_trace(*id, visible, &stored.trace);
            }
        }
        self.contents.settle_incomplete();
        for record in theirs.contents.records() {
            if let Record::Run { run, seen } = &record
                && self.contents.would_learn(run, seen)
            {
                self.append(&record.framed()?)?;
                self.contents.add_run(RunRecord::clone(run), seen);
            }
        }
        self.flush()?;
        let (more_runs, more_traces, more_seen) = self.size();
        Ok(Merged {
            runs: more_runs - runs,
            traces: more_traces - traces,
            seen: more_seen.saturating_sub(seen),
            damage: theirs.damage,
        })
    }

    /// Distinct runs, distinct traces, runs seen.
    fn size(&self) -> (usize, usize, u64) {
        let seen = self.runs().iter().fold(0, |sum: u64, run| sum.saturating_add(run.count));
        (self.runs().len(), self.contents.traces.len(), seen)
    }
}
