//! Which event of one run is which of another: the `occurrence`th of its thread at its site.
//!
//! An occurrence is counted at *every* event that is executed, also where it is no point because nobody else was alive or
//! because it came in an atomic section: whether it is one depends on the others, and its name must not.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{Executed, SiteId, ThreadName};

/// An event across runs and paths: the `occurrence`th (from 0) of this thread at this site.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct EventKey {
    pub thread: ThreadName,
    pub site: SiteId,
    pub occurrence: u32,
}

/// The same as a number; interned in [`Keys`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key(pub u32);

/// A thread across runs, by its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ThreadKey(pub u32);

/// The names of events, numbered.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    threads: Vec<ThreadName>,
    by_name: FxHashMap<ThreadName, ThreadKey>,
    events: Vec<(ThreadKey, SiteId, u32)>,
    by_event: FxHashMap<(ThreadKey, SiteId, u32), Key>,
}

impl Keys {
    pub fn thread(&mut self, name: &ThreadName) -> ThreadKey {
        if let Some(key) = self.by_name.get(name) {
            return *key;
        }
        let key = ThreadKey(self.threads.len() as u32);
        self.threads.push(name.clone());
        self.by_name.insert(name.clone(), key);
        key
    }

    pub fn key(&mut self, thread: ThreadKey, site: SiteId, occurrence: u32) -> Key {
        let next = Key(self.events.len() as u32);
        let key = *self.by_event.entry((thread, site, occurrence)).or_insert(next);
        if key == next {
            self.events.push((thread, site, occurrence));
        }
        key
    }

    pub fn key_of(&mut self, event: &EventKey) -> Key {
        let thread = self.thread(&event.thread);
        self.key(thread, event.site, event.occurrence)
    }

    pub fn name(&self, thread: ThreadKey) -> &ThreadName {
        &self.threads[thread.0 as usize]
    }

    /// Thread, site and occurrence of a key.
    pub fn parts(&self, key: Key) -> (ThreadKey, SiteId, u32) {
        self.events[key.0 as usize]
    }

    /// The same, written out.
    pub fn event(&self, key: Key) -> EventKey {
        let (thread, site, occurrence) = self.parts(key);
        EventKey { thread: self.name(thread).clone(), site, occurrence }
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

/// Numbers the events of one run as they come.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    seen: FxHashMap<(ThreadKey, SiteId), u32>,
    /// By thread of this run.
    threads: Vec<ThreadKey>,
}

impl Counter {
    /// The occurrence that the next event of this thread at this site has.
    pub fn upcoming(&self, thread: ThreadKey, site: SiteId) -> u32 {
        self.seen.get(&(thread, site)).copied().unwrap_or(0)
    }

    pub fn advance(&mut self, thread: ThreadKey, site: SiteId) -> u32 {
        let next = self.seen.entry((thread, site)).or_insert(0);
        *next += 1;
        *next - 1
    }

    /// The key of a thread of this run, given by its number and the names of all.
    pub fn thread(&mut self, keys: &mut Keys, names: &[ThreadName], number: usize) -> ThreadKey {
        for name in &names[self.threads.len()..] {
            self.threads.push(keys.thread(name));
        }
        self.threads[number]
    }

    /// The name of an event as it is executed, and its thread.
    pub fn count(&mut self, keys: &mut Keys, executed: &Executed<'_>) -> (Key, ThreadKey) {
        let thread = self.thread(keys, executed.names, executed.thread.index());
        let site = executed.what.site;
        let occurrence = self.advance(thread, site);
        (keys.key(thread, site, occurrence), thread)
    }
}
