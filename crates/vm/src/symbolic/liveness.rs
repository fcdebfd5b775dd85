//! Liveness of heap objects as memory: a cell for each object that is freed while others may use it. Every event
//! that touches the object reads the cell and needs a 1 there; `free` writes 0. A use after free is then a read of
//! the cell that gives 0.
//!
//! *Not modelled*: `alloc` as a write (an object's address is nobody's before it is allocated: the cell is 1 from
//! the start), uses at sites that are no events, and objects whose memory was given out again.

use std::collections::BTreeMap;

use unravel_trace::{
    Condition, ConditionKind, EventKind, ExprId, Otherwise, ThreadId, Trace, liveness_cell,
};

use super::Recorded;
use crate::machine::Machine;

/// What happened to one object.
#[derive(Default)]
struct History {
    /// Event, thread, and whether it is a free.
    uses: Vec<(u32, usize, bool)>,
    freed: bool,
    /// Used after a free that was not the end of the run: the memory was given out again.
    reused: bool,
}

impl Machine {
    /// Adds the cells' accesses and conditions. Returns what the failing event read, if the run failed by a use of
    /// freed memory.
    pub(super) fn add_liveness(&mut self, trace: &Trace, failing: Option<u32>) -> Option<ExprId> {
        let mut found = None;
        for (object, history) in self.histories(trace, failing) {
            let several = history.uses.iter().any(|(_, thread, _)| *thread != history.uses[0].1);
            let fails_here = history.uses.iter().any(|(event, ..)| Some(*event) == failing);
            let matters = history.freed && (several || fails_here);
            if !history.reused && (matters || self.concolic.separable) {
                let last = self.follow(trace, object, &history, failing);
                found = found.or(last);
            }
        }
        found
    }

    fn histories(&self, trace: &Trace, failing: Option<u32>) -> BTreeMap<u64, History> {
        let mut histories: BTreeMap<u64, History> = BTreeMap::new();
        for (index, event) in trace.events.iter().enumerate() {
            let Some(location) = event.kind.location() else { continue };
            let address = trace.address(location);
            let Some((_, _, object)) = self.memory.heap_object(address) else { continue };
            if address >= object.address + object.bytes.max(1) {
                continue;
            }
            let history = histories.entry(object.address).or_default();
            let frees = matches!(event.kind, EventKind::Free { .. });
            // A guided run has an order of its own: it may free before it uses.
            let after_free = history.freed && Some(index as u32) != failing;
            history.reused |= after_free && !self.concolic.guide.is_on();
            history.freed |= frees;
            history.uses.push((index as u32, event.thread.index(), frees));
        }
        histories
    }

    fn follow(
        &mut self,
        trace: &Trace,
        object: u64,
        history: &History,
        failing: Option<u32>,
    ) -> Option<ExprId> {
        let cell = liveness_cell(object);
        self.concolic.initial.insert(cell, 1);
        let mut found = None;
        let mut alive = 1;
        for (event, thread, frees) in history.uses.iter().copied() {
            let concolic = &mut self.concolic;
            let symbol = concolic.accesses.len() as u32;
            let memory = concolic.graph.exprs.constant(alive, 8);
            let value = concolic.graph.symbol(symbol, 8, alive, thread);
            let read =
                Recorded { event, thread, write: false, address: cell, bytes: 1, value, memory };
            concolic.accesses.push(read);
            if Some(event) == failing {
                found = Some(value);
                continue;
            }
            concolic.conditions.push(Condition {
                thread: ThreadId(thread as u32),
                after: event,
                holds: concolic.graph.equals(value, 1),
                site: trace.events[event as usize].site,
                why: ConditionKind::Alive,
                otherwise: Otherwise::Fails,
            });
            if frees {
                alive = 0;
                let value = concolic.graph.exprs.constant(0, 8);
                concolic.accesses.push(Recorded { write: true, value, memory: value, ..read });
            }
        }
        found
    }
}
