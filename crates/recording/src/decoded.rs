//! A decoded log as a file: with the kept module, so that it can be looked at where neither the program nor its objects are.
//!
//! Eight bytes of magic, then the [`Log`] in postcard's encoding. The reader trusts nothing: what does not decode is refused, and
//! indices are checked.

use crate::log::{Log, Record};

const MAGIC: [u8; 8] = *b"unravde2";

impl Log {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(postcard::to_stdvec(self).expect("a log is plain data"));
        bytes
    }

    /// Whether a file that begins so is a decoded log.
    pub fn is_decoded(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// `None` if it is damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<Log> {
        let log: Log = postcard::from_bytes(bytes.strip_prefix(&MAGIC)?).ok()?;
        let known = |record: &Record| match record {
            Record::Branch { function, block, .. } => {
                log.functions.get(function.0 as usize).is_some_and(|f| block.0 < f.blocks)
            }
            Record::Enter(function) => (function.0 as usize) < log.functions.len(),
            Record::Sync(_) | Record::Value { .. } => true,
        };
        let sound = log.threads.iter().all(|thread| thread.records.iter().all(known));
        sound.then_some(log)
    }
}
