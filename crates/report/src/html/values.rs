//! How the values of variables and the states of locks change in a run, event by event.
//!
//! Only events are known: a variable has no value before it is read or written for the first time, and what library
//! functions write unseen shows at the next read. Locations with the same name and address are one variable; locations
//! that overlap otherwise are not put together.

use std::collections::HashMap;

use unravel_trace::{EventKind, LocationId, ThreadId, Trace, Value};

use super::strings::Strings;
use crate::escape::visible;
use crate::stepper::history::History;
use crate::stepper::sync::{Since, Sync};
use crate::words::count;

/// From this event on, a variable has this value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    pub event: u32,
    pub variable: u32,
    /// Index in [`Changes::values`].
    pub value: u32,
}

/// All changes of a run.
#[derive(Debug)]
pub struct Changes<'t> {
    trace: &'t Trace,
    /// Names, made visible; two variables may have the same.
    pub variables: Vec<String>,
    pub values: Strings,
    /// In the order of events, each one different from the value before.
    pub list: Vec<Change>,
    numbers: HashMap<LocationId, u32>,
    known: HashMap<(&'t str, u64), u32>,
    current: HashMap<u32, u32>,
    objects: HashMap<LocationId, Sync>,
}

impl<'t> Changes<'t> {
    /// `first` are the locations that get the first numbers.
    pub fn of(history: &History<'t>, first: &[LocationId]) -> Changes<'t> {
        let mut changes = Changes {
            trace: history.trace,
            variables: Vec::new(),
            values: Strings::default(),
            list: Vec::new(),
            numbers: HashMap::new(),
            known: HashMap::new(),
            current: HashMap::new(),
            objects: HashMap::new(),
        };
        first.iter().for_each(|at| _ = changes.variable(*at));
        for (index, event) in history.trace.events.iter().enumerate() {
            let since = Since { thread: event.thread, event: index };
            changes.follow(history, since, &event.kind);
        }
        changes
    }

    /// The number of a location's variable.
    pub fn variable(&mut self, at: LocationId) -> u32 {
        if let Some(number) = self.numbers.get(&at) {
            return *number;
        }
        let key = (self.trace.location(at).name.as_str(), self.trace.address(at));
        let next = self.known.len() as u32;
        let number = *self.known.entry(key).or_insert(next);
        if number == next {
            self.variables.push(visible(key.0).into_owned());
        }
        self.numbers.insert(at, number);
        number
    }

    fn set(&mut self, event: usize, at: LocationId, value: &str) {
        let variable = self.variable(at);
        let value = self.values.number(value);
        if self.current.insert(variable, value) != Some(value) {
            self.list.push(Change { event: event as u32, variable, value });
        }
    }

    fn follow(&mut self, history: &History<'_>, since: Since, kind: &EventKind) {
        match kind {
            EventKind::Read { at, value }
            | EventKind::Write { at, value }
            | EventKind::ReadModifyWrite { at, new: value, .. } => {
                if !matches!(value, Value::Bytes(bytes) if bytes.is_empty()) {
                    self.set(since.event, *at, &self.trace.location(*at).show(value));
                }
            }
            EventKind::Free { at } => self.set(since.event, *at, "freed"),
            EventKind::SyncDestroy { at } => self.set(since.event, *at, "destroyed"),
            EventKind::Alloc { .. } => {}
            EventKind::Wait { at, mutex } | EventKind::Wake { at, mutex, .. } => {
                self.follow_sync(history, *mutex, since, kind);
                self.follow_sync(history, *at, since, kind);
            }
            kind => {
                if let Some(at) = kind.location() {
                    self.follow_sync(history, at, since, kind);
                }
            }
        }
    }

    fn follow_sync(
        &mut self,
        history: &History<'_>,
        at: LocationId,
        since: Since,
        kind: &EventKind,
    ) {
        let object = self.objects.entry(at).or_insert_with(|| history.sync_at_start(at));
        object.follow(at, since, kind);
        if let Some(text) = words(self.trace, object) {
            self.set(since.event, at, &text);
        }
    }
}

/// How a sync object stands, as short as a table needs it; `None` if that is not known.
fn words(trace: &Trace, object: &Sync) -> Option<String> {
    let name = |thread: ThreadId| trace.thread_name(thread).to_string();
    Some(match object {
        Sync::Lock { holders, .. } if holders.is_empty() => "free".to_owned(),
        Sync::Lock { holders, .. } => {
            let shared = if holders.iter().any(|holder| holder.shared) { "shared" } else { "held" };
            let names: Vec<String> = holders.iter().map(|h| name(h.since.thread)).collect();
            format!("{shared} by {}", names.join(", "))
        }
        Sync::Condition { waiting } if waiting.is_empty() => "nobody waits".to_owned(),
        Sync::Condition { waiting } => {
            let names: Vec<String> = waiting.iter().map(|waiter| name(waiter.thread)).collect();
            format!("{} {}", names.join(", "), if names.len() == 1 { "waits" } else { "wait" })
        }
        Sync::Semaphore { count } => format!("count {}", (*count)?),
        Sync::Barrier { arrived, of: Some(of @ 1..) } => {
            format!("{} of {of} arrived", arrived % u64::from(*of))
        }
        Sync::Barrier { arrived, .. } => count(*arrived, "arrival"),
        Sync::Once { done: Some(_), .. } => "done".to_owned(),
        Sync::Once { running: Some(by), .. } => format!("begun by {}", name(by.thread)),
        Sync::Once { .. } => "not begun".to_owned(),
        Sync::Unused => return None,
    })
}
