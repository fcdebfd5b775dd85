//! Where in a run each thread, location and object appears: lists of events in their order, so that the state at any
//! position is a few binary searches, whichever way one steps.
//!
//! Built once, in time linear in the events. Two locations may share bytes (a structure and its member); which ones
//! do is looked up when asked for.

use std::collections::HashMap;

use unravel_trace::{Event, EventKind, LocationId, ObjectId, ThreadId, Trace, Value};

/// The lists of one trace. Positions and events are indices of [`Trace::events`].
#[derive(Debug)]
pub struct History<'t> {
    pub trace: &'t Trace,
    threads: Vec<Vec<usize>>,
    /// The event that creates each thread.
    created: Vec<Option<usize>>,
    /// Reads and writes of each location.
    accesses: Vec<Vec<usize>>,
    writes: Vec<Vec<usize>>,
    /// What else happens to each location, as a condition's mutex too.
    syncs: Vec<Vec<usize>>,
    /// Allocations and releases of each object.
    lives: HashMap<ObjectId, Vec<usize>>,
    of_object: HashMap<ObjectId, Vec<LocationId>>,
}

impl<'t> History<'t> {
    pub fn new(trace: &'t Trace) -> History<'t> {
        let mut history = History {
            trace,
            threads: vec![Vec::new(); trace.threads.len()],
            created: vec![None; trace.threads.len()],
            accesses: vec![Vec::new(); trace.locations.len()],
            writes: vec![Vec::new(); trace.locations.len()],
            syncs: vec![Vec::new(); trace.locations.len()],
            lives: HashMap::new(),
            of_object: HashMap::new(),
        };
        for (index, location) in trace.locations.iter().enumerate() {
            let id = LocationId(index as u32);
            history.of_object.entry(location.object).or_default().push(id);
        }
        trace.events.iter().enumerate().for_each(|(index, event)| history.add(index, event));
        history
    }

    fn add(&mut self, index: usize, event: &Event) {
        fn push(lists: &mut [Vec<usize>], at: LocationId, index: usize) {
            if let Some(list) = lists.get_mut(at.0 as usize) {
                list.push(index);
            }
        }
        if let Some(own) = self.threads.get_mut(event.thread.index()) {
            own.push(index);
        }
        match &event.kind {
            EventKind::Read { at, .. } => push(&mut self.accesses, *at, index),
            EventKind::Write { at, .. } | EventKind::ReadModifyWrite { at, .. } => {
                push(&mut self.accesses, *at, index);
                push(&mut self.writes, *at, index);
            }
            EventKind::Alloc { at } | EventKind::Free { at } => {
                if let Some(location) = self.trace.locations.get(at.0 as usize) {
                    self.lives.entry(location.object).or_default().push(index);
                }
            }
            EventKind::Wait { at, mutex } | EventKind::Wake { at, mutex, .. } => {
                push(&mut self.syncs, *at, index);
                push(&mut self.syncs, *mutex, index);
            }
            EventKind::Fork { child } => {
                if let Some(created) = self.created.get_mut(child.index()) {
                    created.get_or_insert(index);
                }
            }
            kind => {
                if let Some(at) = kind.location() {
                    push(&mut self.syncs, at, index);
                }
            }
        }
    }

    pub fn len(&self) -> usize {
        self.trace.events.len()
    }

    pub fn event(&self, index: usize) -> &'t Event {
        &self.trace.events[index]
    }

    /// All events of a thread.
    pub fn of_thread(&self, thread: ThreadId) -> &[usize] {
        self.threads.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    pub fn created(&self, thread: ThreadId) -> Option<usize> {
        self.created.get(thread.index()).copied().flatten()
    }

    pub fn accesses(&self, at: LocationId) -> &[usize] {
        self.accesses.get(at.0 as usize).map_or(&[], Vec::as_slice)
    }

    pub fn writes(&self, at: LocationId) -> &[usize] {
        self.writes.get(at.0 as usize).map_or(&[], Vec::as_slice)
    }

    pub fn syncs(&self, at: LocationId) -> &[usize] {
        self.syncs.get(at.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// Allocations and releases of the object that a location belongs to.
    pub fn lives(&self, at: LocationId) -> &[usize] {
        let object = self.trace.locations.get(at.0 as usize).map(|location| location.object);
        object.and_then(|object| self.lives.get(&object)).map_or(&[], Vec::as_slice)
    }

    /// Whether anything is known of this location but its name.
    pub fn is_touched(&self, at: LocationId) -> bool {
        [self.accesses(at), self.syncs(at), self.lives(at)].iter().any(|events| !events.is_empty())
    }

    /// The locations that share a byte with this one, itself among them.
    pub fn overlapping(&self, at: LocationId) -> impl Iterator<Item = LocationId> + '_ {
        let own = &self.trace.locations[at.0 as usize];
        let end = |offset: u64, bytes: u32| offset.saturating_add(bytes.max(1).into());
        let (from, to) = (own.offset, end(own.offset, own.bytes));
        let all = self.of_object.get(&own.object).map_or(&[][..], Vec::as_slice);
        all.iter().copied().filter(move |other| {
            let other = &self.trace.locations[other.0 as usize];
            other.offset < to && from < end(other.offset, other.bytes)
        })
    }
}

/// The last of these events before a position.
pub fn last_before(events: &[usize], position: usize) -> Option<usize> {
    let count = events.partition_point(|event| *event < position);
    count.checked_sub(1).map(|last| events[last])
}

/// The first of these events at a position or after it.
pub fn first_from(events: &[usize], position: usize) -> Option<usize> {
    events.get(events.partition_point(|event| *event < position)).copied()
}

/// The value that a location has after an access of it.
pub fn left_by(kind: &EventKind) -> Option<&Value> {
    match kind {
        EventKind::Read { value, .. }
        | EventKind::Write { value, .. }
        | EventKind::ReadModifyWrite { new: value, .. } => Some(value),
        _ => None,
    }
}
