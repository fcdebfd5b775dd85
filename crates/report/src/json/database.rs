//! `unravel.database/1`: what is in a trace database, in numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unravel_results::{Stats, ThreadStats};

use super::DATABASE;

/// What is in a trace database. Within version 1 fields are added, never changed or removed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Database", title = "unravel.database/1")]
pub struct DatabaseDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = DATABASE))]
    pub schema: String,
    /// The program's name, without directory and ending.
    pub program: String,
    /// Identifies the bitcode of the program, in hexadecimal.
    pub fingerprint: String,
    /// Runs that were added.
    pub seen: u64,
    /// Distinct combinations of traces and input among them.
    pub distinct: u64,
    /// Distinct traces of all threads.
    pub traces: u64,
    /// By name.
    pub threads: Vec<DatabaseThread>,
    /// Sets of visible sites that the traces were recorded with. Traces of different sets do not fit together.
    pub visible_sets: u64,
    /// Distinct inputs: arguments, standard input, nondeterministic values.
    pub inputs: u64,
    /// Files.
    pub segments: u64,
    /// Their size.
    pub bytes: u64,
    pub damage: DatabaseDamage,
}

/// What is known of one thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseThread {
    /// The thread's name.
    pub thread: String,
    /// Distinct traces.
    pub traces: u64,
    /// Distinct paths.
    pub paths: u64,
    /// Branches of the shortest path.
    pub shortest: u64,
    /// Branches of the longest path.
    pub longest: u64,
    /// Branches of all traces together.
    pub branches: u64,
    /// How many of them are stored, because paths share their beginnings.
    pub stored_branches: u64,
    /// Nodes of its prefix trees.
    pub nodes: u64,
}

/// What could not be read; the rest is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseDamage {
    /// Records that cannot be read, or that contradict themselves.
    pub records: u64,
    /// Segments whose end is missing: their writers were stopped.
    pub torn: u64,
    /// Files among the segments that this program did not write.
    pub segments: u64,
    /// Runs that refer to a trace which is not there.
    pub incomplete: u64,
}

impl From<&Stats> for DatabaseDocument {
    fn from(stats: &Stats) -> DatabaseDocument {
        DatabaseDocument {
            schema: DATABASE.to_owned(),
            program: stats.program.clone(),
            fingerprint: format!("{:016x}", stats.fingerprint),
            seen: stats.seen,
            distinct: stats.distinct as u64,
            traces: stats.traces as u64,
            threads: stats.threads.iter().map(DatabaseThread::from).collect(),
            visible_sets: stats.visible_sets as u64,
            inputs: stats.inputs as u64,
            segments: stats.segments as u64,
            bytes: stats.bytes,
            damage: DatabaseDamage {
                records: stats.damage.records,
                torn: stats.damage.torn,
                segments: stats.damage.segments,
                incomplete: stats.damage.incomplete,
            },
        }
    }
}

impl From<&ThreadStats> for DatabaseThread {
    fn from(of: &ThreadStats) -> DatabaseThread {
        DatabaseThread {
            thread: of.thread.to_string(),
            traces: of.traces as u64,
            paths: of.paths as u64,
            shortest: of.shortest as u64,
            longest: of.longest as u64,
            branches: of.branches as u64,
            stored_branches: of.stored as u64,
            nodes: of.nodes as u64,
        }
    }
}
