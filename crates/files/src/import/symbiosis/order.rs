//! One list of all events: an order in which they could have happened, as far as forks, joins, locks and waits are
//! concerned. Each thread runs for as long as it can, the lowest first.
//!
//! Values and conditions are not looked at; where every thread is stuck, one goes on nevertheless. The order is for
//! showing and for solvers to begin with. That it be right matters to nobody.

use std::collections::{HashMap, VecDeque};

use unravel_trace::{EventKind, LocationId, ThreadId, WakeCause};

use super::items::Item;
use super::threads::{Cast, Member};

/// Threads and indices into their items.
pub(super) fn guess(items: &[Vec<Item<'_>>], cast: &Cast<'_>) -> Vec<(ThreadId, usize)> {
    let is_there = |member: &Option<Member<'_>>| member.as_ref().is_none_or(|m| m.parent.is_none());
    let mut state = State {
        begun: cast.members.iter().map(is_there).collect(),
        ended: vec![false; items.len()],
        woken: vec![false; items.len()],
        ..State::default()
    };
    let mut next = vec![0; items.len()];
    let mut order = Vec::new();
    loop {
        let left = |thread: &usize| next[*thread] < items[*thread].len();
        let can =
            |thread: &usize| left(thread) && state.can(*thread, &items[*thread][next[*thread]]);
        let Some(thread) = (0..items.len()).find(can).or_else(|| (0..items.len()).find(left))
        else {
            return order;
        };
        // As far as it goes, but at least one event.
        loop {
            state.execute(thread, &items[thread][next[thread]].kind);
            order.push((ThreadId(thread as u32), next[thread]));
            next[thread] += 1;
            match items[thread].get(next[thread]) {
                Some(item) if state.can(thread, item) => {}
                _ => break,
            }
        }
    }
}

#[derive(Default)]
struct State {
    begun: Vec<bool>,
    ended: Vec<bool>,
    /// Who holds a lock, and how often.
    held: HashMap<LocationId, (usize, u32)>,
    waiting: HashMap<LocationId, VecDeque<usize>>,
    woken: Vec<bool>,
}

impl State {
    fn is_free(&self, lock: LocationId, thread: usize) -> bool {
        self.held.get(&lock).is_none_or(|(by, _)| *by == thread)
    }

    fn can(&self, thread: usize, item: &Item<'_>) -> bool {
        match &item.kind {
            EventKind::Start => self.begun[thread],
            EventKind::Join { child } => self.ended[child.index()],
            EventKind::Lock { at, .. } => self.is_free(*at, thread),
            EventKind::Wake { mutex, by, .. } => {
                (self.woken[thread] || *by == WakeCause::Timeout) && self.is_free(*mutex, thread)
            }
            _ => true,
        }
    }

    fn execute(&mut self, thread: usize, kind: &EventKind) {
        match kind {
            EventKind::Fork { child } => self.begun[child.index()] = true,
            EventKind::Exit => self.ended[thread] = true,
            EventKind::Lock { at, .. } => self.acquire(*at, thread),
            EventKind::Unlock { at } => self.release(*at),
            EventKind::Wait { at, mutex } => {
                self.release(*mutex);
                self.woken[thread] = false;
                self.waiting.entry(*at).or_default().push_back(thread);
            }
            EventKind::Wake { at, mutex, .. } => {
                self.waiting.entry(*at).or_default().retain(|waiter| *waiter != thread);
                self.acquire(*mutex, thread);
            }
            EventKind::Signal { at, .. } => {
                if let Some(waiter) = self.waiting.entry(*at).or_default().pop_front() {
                    self.woken[waiter] = true;
                }
            }
            EventKind::Broadcast { at, .. } => {
                for waiter in self.waiting.remove(at).unwrap_or_default() {
                    self.woken[waiter] = true;
                }
            }
            _ => {}
        }
    }

    fn acquire(&mut self, lock: LocationId, thread: usize) {
        let holder = self.held.entry(lock).or_insert((thread, 0));
        *holder = (thread, if holder.0 == thread { holder.1 + 1 } else { 1 });
    }

    fn release(&mut self, lock: LocationId) {
        if let Some((_, times)) = self.held.get_mut(&lock) {
            *times -= 1;
            if *times == 0 {
                self.held.remove(&lock);
            }
        }
    }
}
