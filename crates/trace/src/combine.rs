//! Puts traces of threads together, each from another run if need be: an execution that may or may not be possible.
//!
//! After Cortex (thesis §5.2.2). The order among threads is unknown afterwards, and no condition was checked: whether the
//! reads of one can return what the others write is the solver's to say, and whether the program does it the executor's.
//!
//! Parts can be put together if they speak of the same threads and the same memory. Two runs that create threads in
//! different orders do not, nor do two in which memory that nobody watches was left in different states.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::thread_trace::{Copied, Tables};
use crate::{
    Access, Bug, Condition, Event, EventKind, Initial, InitialSync, KnownOrder, Shadow, Step,
    SymbolId, Symbolic, ThreadId, ThreadName, ThreadTrace, Trace,
};

/// Parts of runs that do not fit together.
#[derive(Clone, PartialEq, Eq, Debug, Error, Serialize, Deserialize)]
pub enum Incompatible {
    #[error("a thread is {0} in one run and {1} in another: they were created in another order")]
    Threads(ThreadName, ThreadName),
    #[error("{0} was created, but no run shows what it does then")]
    Missing(ThreadName),
    #[error("memory that nobody watches was left in different states (at {0:#x})")]
    Memory(u64),
}

/// Parts put together.
#[derive(Clone, Debug)]
pub struct Combined {
    pub trace: Trace,
    /// Of unknown order; without a bug, but for a thread that can only fail.
    pub symbolic: Symbolic,
    /// Steps that no point began.
    pub unscheduled: Vec<u32>,
    /// Where each part's conditions begin in `symbolic.conditions`, in the order of `parts`. They follow each other.
    pub conditions: Vec<u32>,
}

/// Puts parts together, one for each thread. Their steps stand in the order that `turns` says, as far as it goes: whose
/// step is next. What is left then follows thread by thread.
pub fn combine(parts: &[&ThreadTrace], turns: &[ThreadId]) -> Result<Combined, Incompatible> {
    let threads = common_threads(parts)?;
    let mut combined = Combined {
        trace: Trace { threads, ..Trace::default() },
        symbolic: Symbolic {
            order: KnownOrder::Unknown,
            initial: common_initial(parts)?,
            ..Symbolic::default()
        },
        unscheduled: Vec::new(),
        conditions: Vec::new(),
    };
    let mut sites = BTreeMap::new();
    for part in parts {
        sites.extend(part.trace.sites.iter().cloned());
    }
    combined.trace.sites = sites.into_iter().collect();
    let order = step_order(parts, turns);
    // Events get their places first, so that conditions can refer to them.
    let mut places: Vec<Vec<u32>> = parts.iter().map(|p| vec![0; p.trace.events.len()]).collect();
    let mut next = 0;
    for (part, step) in &order {
        for event in parts[*part].symbolic.steps[*step].range() {
            places[*part][event] = next;
            next += 1;
        }
    }
    combined.lay_out(parts, &order);
    combined.trace.events = vec![filler(); next as usize];
    combined.symbolic.shadows = vec![Shadow::default(); next as usize];
    for (part, places) in parts.iter().zip(&places) {
        combined.add(part, places);
    }
    combined.check_forks(parts)?;
    Ok(combined)
}

/// An event that is replaced.
fn filler() -> Event {
    Event { thread: ThreadId::MAIN, site: crate::SiteId(0), caller: None, kind: EventKind::Fence }
}

impl Combined {
    fn lay_out(&mut self, parts: &[&ThreadTrace], order: &[(usize, usize)]) {
        let mut first = 0;
        for (part, index) in order {
            let step = parts[*part].symbolic.steps[*index];
            if parts[*part].unscheduled.contains(&(*index as u32)) {
                self.unscheduled.push(self.symbolic.steps.len() as u32);
            }
            self.symbolic.steps.push(Step { first, ..step });
            first += step.events;
        }
    }

    fn add(&mut self, part: &ThreadTrace, places: &[u32]) {
        let objects = std::mem::take(&mut self.trace.objects);
        let locations = std::mem::take(&mut self.trace.locations);
        let mut tables = Tables::after(&part.trace, objects, locations);
        let base = self.symbolic.accesses.len() as u32;
        for (index, event) in part.trace.events.iter().enumerate() {
            let place = places[index] as usize;
            let kind = tables.moved(&event.kind);
            self.trace.events[place] = Event { kind, ..event.clone() };
            let shadow = part.symbolic.shadows[index];
            self.symbolic.shadows[place] = Shadow { first: base + shadow.first, ..shadow };
        }
        let mut copy =
            Copied::new(&part.symbolic.exprs, |symbol: SymbolId| Some(SymbolId(base + symbol.0)));
        let to = &mut self.symbolic;
        for Access { address, bytes, value } in &part.symbolic.accesses {
            let value = copy.expr(&mut to.exprs, *value);
            to.accesses.push(Access { address: *address, bytes: *bytes, value });
        }
        self.conditions.push(to.conditions.len() as u32);
        for condition in &part.symbolic.conditions {
            let holds = copy.expr(&mut to.exprs, condition.holds);
            let after = places.get(condition.after as usize).copied().unwrap_or(0);
            to.conditions.push(Condition { holds, after, ..*condition });
        }
        if let Bug::Reached { thread, after } = part.symbolic.bug {
            let after = places.get(after as usize).copied().unwrap_or(0);
            to.bug = Bug::Reached { thread, after };
        }
        for input in &part.symbolic.inputs {
            if !to.inputs.iter().any(|other| other.address == input.address) {
                to.inputs.push(input.clone());
            }
        }
        for sync in &part.symbolic.sync {
            let sync = InitialSync { at: tables.location(sync.at), ..*sync };
            if !to.sync.iter().any(|other| other.at == sync.at) {
                to.sync.push(sync);
            }
        }
        self.trace.objects = tables.objects;
        self.trace.locations = tables.locations;
    }

    /// Whoever is created has to be among the parts, or nobody knows what it does.
    fn check_forks(&self, parts: &[&ThreadTrace]) -> Result<(), Incompatible> {
        for event in &self.trace.events {
            if let EventKind::Fork { child } = event.kind
                && !parts.iter().any(|part| part.thread == child)
            {
                return Err(Incompatible::Missing(self.trace.thread_name(child).clone()));
            }
        }
        Ok(())
    }
}

/// Names by number: the same in all parts, as far as they know them.
fn common_threads(parts: &[&ThreadTrace]) -> Result<Vec<ThreadName>, Incompatible> {
    let mut threads: Vec<ThreadName> = Vec::new();
    for part in parts {
        for (index, name) in part.trace.threads.iter().enumerate() {
            match threads.get(index) {
                Some(other) if other != name => {
                    return Err(Incompatible::Threads(other.clone(), name.clone()));
                }
                Some(_) => {}
                None => threads.push(name.clone()),
            }
        }
    }
    Ok(threads)
}

/// Memory before the run, byte by byte: all who know a byte have to agree.
fn common_initial(parts: &[&ThreadTrace]) -> Result<Vec<Initial>, Incompatible> {
    let mut bytes: BTreeMap<u64, u8> = BTreeMap::new();
    let mut unknown: BTreeMap<u64, Initial> = BTreeMap::new();
    for initial in parts.iter().flat_map(|part| &part.symbolic.initial) {
        let Some(value) = initial.value else {
            unknown.insert(initial.address, *initial);
            continue;
        };
        for i in 0..initial.bytes {
            let (at, byte) = (initial.address + u64::from(i), (value >> (8 * u32::from(i))) as u8);
            if *bytes.entry(at).or_insert(byte) != byte {
                return Err(Incompatible::Memory(at));
            }
        }
    }
    let mut all: Vec<Initial> = unknown.into_values().collect();
    let mut pieces: Vec<Initial> = Vec::new();
    for (at, byte) in bytes {
        match pieces.last_mut() {
            Some(last) if last.address + u64::from(last.bytes) == at && !at.is_multiple_of(8) => {
                let shift = 8 * u32::from(last.bytes);
                last.value = last.value.map(|value| value | u128::from(byte) << shift);
                last.bytes += 1;
            }
            _ => pieces.push(Initial { address: at, bytes: 1, value: Some(u128::from(byte)) }),
        }
    }
    all.extend(pieces);
    all.sort_by_key(|initial| initial.address);
    Ok(all)
}

/// Part and step, for each step of the combination.
fn step_order(parts: &[&ThreadTrace], turns: &[ThreadId]) -> Vec<(usize, usize)> {
    let mut next = vec![0; parts.len()];
    let mut order = Vec::new();
    for thread in turns {
        let Some(part) = parts.iter().position(|part| part.thread == *thread) else { continue };
        if next[part] < parts[part].symbolic.steps.len() {
            order.push((part, next[part]));
            next[part] += 1;
        }
    }
    for (part, done) in next.into_iter().enumerate() {
        order.extend((done..parts[part].symbolic.steps.len()).map(|step| (part, step)));
    }
    order
}
