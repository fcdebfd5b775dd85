//! What a location holds at a position: the value, who wrote it, and whether the object is alive.
//!
//! Only events are known. A value that nobody has read or written yet is unknown, though the program may have set it
//! where only one thread could see it; one that was changed outside of events (by a library function, say) is found
//! to be so when it is read the next time.

use unravel_trace::{EventKind, LocationId, Value};

use super::history::{History, last_before, left_by};

/// Larger ranges are not put together of their parts.
const LARGEST: usize = 4096;

/// What is known of a location.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Known {
    pub value: Option<Value>,
    /// The last event that wrote any byte of it.
    pub written: Option<usize>,
    /// The last event that read or wrote any byte of it.
    pub seen: Option<usize>,
    /// The value was read after it was last written, and is another one.
    pub changed_since: bool,
    /// The event that released its object.
    pub freed: Option<usize>,
}

impl History<'_> {
    /// What is known of a location before the event at `position`.
    pub fn known(&self, at: LocationId, position: usize) -> Known {
        let life = last_before(self.lives(at), position);
        let is_alloc = |event: usize| matches!(self.event(event).kind, EventKind::Alloc { .. });
        // Memory that is used again holds nothing of what it held before.
        let born = life.filter(|event| is_alloc(*event)).unwrap_or(0);
        let freed = life.filter(|event| !is_alloc(*event));
        let last = |events: &[usize]| last_before(events, position).filter(|event| *event >= born);
        let mut seen: Vec<(usize, LocationId)> = Vec::new();
        let mut written = None;
        for other in self.overlapping(at) {
            seen.extend(last(self.accesses(other)).map(|event| (event, other)));
            written = written.max(last(self.writes(other)));
        }
        seen.sort_by(|a, b| b.cmp(a));
        let value = match seen.first() {
            Some((event, location)) if *location == at => {
                left_by(&self.event(*event).kind).filter(|value| is_known(value)).cloned()
            }
            Some(_) => self.compose(at, &seen),
            None => None,
        };
        let changed_since = written.is_some_and(|written| self.is_other(at, written, &value));
        Known { value, written, seen: seen.first().map(|(event, _)| *event), changed_since, freed }
    }

    /// Whether the event that wrote all of `at` left another value.
    fn is_other(&self, at: LocationId, written: usize, value: &Option<Value>) -> bool {
        let kind = &self.event(written).kind;
        let left = left_by(kind).filter(|left| is_known(left) && kind.location() == Some(at));
        matches!((left, value), (Some(left), Some(value)) if left != value)
    }

    /// The bytes of a location from accesses that cover parts of it, latest first.
    fn compose(&self, at: LocationId, seen: &[(usize, LocationId)]) -> Option<Value> {
        let own = &self.trace.locations[at.0 as usize];
        let size = own.bytes as usize;
        if size == 0 || size > LARGEST {
            return None;
        }
        // `Some(None)` was overwritten with something unknown.
        let mut bytes: Vec<Option<Option<u8>>> = vec![None; size];
        for (event, location) in seen {
            let kind = &self.event(*event).kind;
            let value = left_by(kind)?;
            let is_read = matches!(kind, EventKind::Read { .. });
            if is_read && !is_known(value) {
                continue;
            }
            let other = &self.trace.locations[location.0 as usize];
            for (index, byte) in bytes.iter_mut().enumerate() {
                let address = own.offset + index as u64;
                let Some(within) = address.checked_sub(other.offset) else { continue };
                if within < other.bytes.into() {
                    byte.get_or_insert_with(|| byte_of(value, within as usize));
                }
            }
        }
        let bytes: Option<Vec<u8>> = bytes.into_iter().map(Option::flatten).collect();
        let bytes = bytes?;
        Some(if size <= 8 {
            let mut word = [0; 8];
            word[..size].copy_from_slice(&bytes);
            Value::Word(u64::from_le_bytes(word))
        } else {
            Value::Bytes(bytes.into())
        })
    }
}

/// Imported traces have values that nobody knows.
pub fn is_known(value: &Value) -> bool {
    !matches!(value, Value::Bytes(bytes) if bytes.is_empty())
}

fn byte_of(value: &Value, index: usize) -> Option<u8> {
    match value {
        Value::Word(word) => word.to_le_bytes().get(index).copied(),
        Value::Bytes(bytes) => bytes.get(index).copied(),
    }
}
