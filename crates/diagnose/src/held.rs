//! Who holds which lock, from where to where in a run.

use unravel_trace::{EventKind, LocationId, ThreadId, Trace};

/// A lock in the hands of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub thread: ThreadId,
    pub lock: LocationId,
    /// Only for reading.
    pub shared: bool,
    /// The event that took it, and the one that gave it back; none if the run ended before.
    pub taken: usize,
    pub released: Option<usize>,
}

impl Held {
    /// Whether it is held at this event, which is neither taking nor giving back.
    pub fn at(&self, event: usize) -> bool {
        self.taken < event && self.released.is_none_or(|released| event < released)
    }
}

/// All locks of a run, in the order of taking. A condition wait gives its mutex back, and waking takes it again.
pub fn held(trace: &Trace) -> Vec<Held> {
    let mut all: Vec<Held> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (index, event) in trace.events.iter().enumerate() {
        let thread = event.thread;
        let taken = match event.kind {
            EventKind::Lock { at, shared } | EventKind::TryLock { at, shared, acquired: true } => {
                Some((at, shared))
            }
            EventKind::Wake { mutex, .. } => Some((mutex, false)),
            _ => None,
        };
        if let Some((lock, shared)) = taken {
            open.push(all.len());
            all.push(Held { thread, lock, shared, taken: index, released: None });
        }
        match event.kind {
            EventKind::Unlock { at: lock } | EventKind::Wait { mutex: lock, .. } => {
                let is_it =
                    |number: &usize| all[*number].thread == thread && all[*number].lock == lock;
                if let Some(last) = open.iter().rposition(is_it) {
                    all[open.remove(last)].released = Some(index);
                }
            }
            _ => {}
        }
    }
    all
}
