//! How the values of variables and the states of locks change in a run, event by event.
//!
//! Only events are known: a variable has no value before it is read or written for the first time, and what library
//! functions write unseen shows at the next read. Locations with the same name and address are one variable; locations
//! that overlap otherwise are not put together.

use std::collections::HashMap;

use unravel_trace::{EventKind, LocationId, ThreadId, Trace, Value};

use super::strings::Strings;
use crate::escape::visible;

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

/// What is known of a sync object.
#[derive(Debug, Default)]
struct Sync {
    /// Who holds it and how often.
    holders: Vec<(ThreadId, u32)>,
    count: Option<i64>,
    waiting: u32,
}

impl<'t> Changes<'t> {
    /// `first` are the locations that get the first numbers.
    pub fn of(trace: &'t Trace, first: &[LocationId]) -> Changes<'t> {
        let mut changes = Changes {
            trace,
            variables: Vec::new(),
            values: Strings::default(),
            list: Vec::new(),
            numbers: HashMap::new(),
            known: HashMap::new(),
            current: HashMap::new(),
            objects: HashMap::new(),
        };
        first.iter().for_each(|at| _ = changes.variable(*at));
        for (event, number) in trace.events.iter().zip(0..) {
            changes.follow(number, event.thread, &event.kind);
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

    fn set(&mut self, event: u32, at: LocationId, value: &str) {
        let variable = self.variable(at);
        let value = self.values.number(value);
        if self.current.insert(variable, value) != Some(value) {
            self.list.push(Change { event, variable, value });
        }
    }

    fn follow(&mut self, event: u32, thread: ThreadId, kind: &EventKind) {
        match kind {
            EventKind::Read { at, value }
            | EventKind::Write { at, value }
            | EventKind::ReadModifyWrite { at, new: value, .. } => {
                if !matches!(value, Value::Bytes(bytes) if bytes.is_empty()) {
                    self.set(event, *at, &value.to_string());
                }
            }
            EventKind::Lock { at, .. } | EventKind::TryLock { at, acquired: true, .. } => {
                self.take(event, *at, thread);
            }
            EventKind::Unlock { at } => self.release(event, *at, thread, false),
            EventKind::Wait { at, mutex } => {
                self.release(event, *mutex, thread, true);
                self.waiters(event, *at, |waiting| waiting + 1);
            }
            EventKind::Wake { at, mutex, .. } => {
                self.take(event, *mutex, thread);
                self.waiters(event, *at, |waiting| waiting.saturating_sub(1));
            }
            EventKind::SyncInit { at, value } => {
                self.objects.entry(*at).or_default().count = Some((*value).into());
            }
            EventKind::SemPost { at } => self.count(event, *at, 1),
            EventKind::SemWait { at } | EventKind::SemTryWait { at, acquired: true } => {
                self.count(event, *at, -1);
            }
            EventKind::Once { at, won: true } => {
                let text = format!("being done by {}", self.name(thread));
                self.set(event, *at, &text);
            }
            EventKind::OnceDone { at } => self.set(event, *at, "done"),
            EventKind::SyncDestroy { at } => self.set(event, *at, "destroyed"),
            EventKind::Free { at } => self.set(event, *at, "freed"),
            _ => {}
        }
    }

    fn name(&self, thread: ThreadId) -> String {
        self.trace.threads.get(thread.index()).map_or_else(|| "?".to_owned(), ToString::to_string)
    }

    fn take(&mut self, event: u32, at: LocationId, thread: ThreadId) {
        let holders = &mut self.objects.entry(at).or_default().holders;
        match holders.iter_mut().find(|holder| holder.0 == thread) {
            Some(own) => own.1 += 1,
            None => holders.push((thread, 1)),
        }
        self.say_holders(event, at);
    }

    /// A wait gives a lock up however often it was taken.
    fn release(&mut self, event: u32, at: LocationId, thread: ThreadId, wholly: bool) {
        let holders = &mut self.objects.entry(at).or_default().holders;
        for own in holders.iter_mut().filter(|holder| holder.0 == thread) {
            own.1 = if wholly { 0 } else { own.1.saturating_sub(1) };
        }
        holders.retain(|holder| holder.1 > 0);
        self.say_holders(event, at);
    }

    fn say_holders(&mut self, event: u32, at: LocationId) {
        let holders = &self.objects[&at].holders;
        let names: Vec<String> = holders.iter().map(|holder| self.name(holder.0)).collect();
        let text = match names.is_empty() {
            true => "free".to_owned(),
            false => format!("held by {}", names.join(", ")),
        };
        self.set(event, at, &text);
    }

    fn waiters(&mut self, event: u32, at: LocationId, change: impl Fn(u32) -> u32) {
        let object = self.objects.entry(at).or_default();
        object.waiting = change(object.waiting);
        let text = match object.waiting {
            0 => "nobody waits".to_owned(),
            1 => "1 thread waits".to_owned(),
            n => format!("{n} threads wait"),
        };
        self.set(event, at, &text);
    }

    fn count(&mut self, event: u32, at: LocationId, by: i64) {
        let object = self.objects.entry(at).or_default();
        object.count = object.count.map(|count| count + by);
        if let Some(count) = object.count {
            self.set(event, at, &format!("count {count}"));
        }
    }
}
