//! Names made of content: the same content has the same id in every database.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use unravel_trace::{Input, ThreadTrace, VisibleSet};

/// A thread's trace, recorded with a certain visible set: the first half of the SHA-256 of both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TraceId([u8; 16]);

impl TraceId {
    /// `visible` is as [`canonical`] makes it.
    pub(crate) fn of(visible: &VisibleSet, trace: &ThreadTrace) -> TraceId {
        TraceId(digest(&encode(&(visible, trace))))
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

/// A combination of traces with the input it ran with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct RunId([u8; 16]);

impl RunId {
    pub fn of(threads: &[TraceId], input: &Input) -> RunId {
        RunId(digest(&encode(&(threads, input))))
    }
}

/// Where a trace or a run stands among others: made of what its threads did, without the names of files. What is looked at first must
/// not depend on the folder that a program lies in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Standing([u8; 16]);

impl Standing {
    pub fn of_trace(visible: &VisibleSet, trace: &ThreadTrace) -> Standing {
        let ThreadTrace { thread, path, trace, symbolic, unscheduled } = trace;
        Standing(digest(&encode(&(visible, thread, path, &trace.events, symbolic, unscheduled))))
    }

    pub fn of_run(threads: &[Standing], input: &Input) -> Standing {
        let threads: Vec<[u8; 16]> = threads.iter().map(|standing| standing.0).collect();
        Standing(digest(&encode(&(threads, &input.nondet, &input.stdin))))
    }
}

/// Who saw a run: one for each time that a database is opened and added to. Never used twice, so that merging the same
/// database again counts nothing again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct WriterId([u8; 16]);

impl WriterId {
    pub fn unique() -> WriterId {
        static MADE: AtomicU64 = AtomicU64::new(0);
        // The state of the hasher is random, but forked processes may share it.
        let random = std::hash::RandomState::new().build_hasher().finish();
        let serial = MADE.fetch_add(1, Ordering::Relaxed);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        WriterId(digest(&encode(&(random, serial, std::process::id(), since.as_nanos()))))
    }
}

impl fmt::Display for WriterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

/// The same sites in the one representation that ids are made of. Two sets with the same sites may differ in how much
/// room they have.
pub(crate) fn canonical(visible: &VisibleSet) -> VisibleSet {
    let mut set = VisibleSet::default();
    for site in visible.iter() {
        set.insert(site);
    }
    set
}

/// Postcard's encoding.
pub(crate) fn encode(what: &impl Serialize) -> Vec<u8> {
    // Every stored type knows its lengths and the output grows, so nothing can go wrong.
    postcard::to_stdvec(what).expect("stored types always encode")
}

fn digest(bytes: &[u8]) -> [u8; 16] {
    let whole: [u8; 32] = Sha256::digest(bytes).into();
    std::array::from_fn(|i| whole[i])
}

fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}
