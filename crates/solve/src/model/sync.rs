//! Sync objects: an address and a family, because memory is used again.

use rustc_hash::FxHashMap;
use unravel_trace::{
    Bug, EventKind, InitialSync, LocationId, Symbolic, SyncState, ThreadId, Trace, Wants,
};

use super::*;

impl Op {
    /// The sync object it works on.
    pub fn sync(&self) -> Option<SyncId> {
        match *self {
            Op::Acquire { lock, .. } | Op::Release { lock } | Op::TryAcquire { lock, .. } => {
                Some(lock)
            }
            Op::Wait { cond, .. }
            | Op::Wake { cond, .. }
            | Op::Signal { cond, .. }
            | Op::Broadcast { cond } => Some(cond),
            Op::SemInit { semaphore, .. }
            | Op::SemAcquire { semaphore }
            | Op::SemTryAcquire { semaphore, .. }
            | Op::SemPost { semaphore } => Some(semaphore),
            Op::BarrierInit { barrier, .. } | Op::Arrive { barrier } | Op::Leave { barrier } => {
                Some(barrier)
            }
            Op::OnceEnter { once, .. } | Op::OnceDone { once } => Some(once),
            Op::Read(_)
            | Op::Write(_)
            | Op::Fork { .. }
            | Op::Start
            | Op::Exit
            | Op::Join { .. }
            | Op::Check(_)
            | Op::Bug
            | Op::Never => None,
        }
    }

    /// Whether it takes a lock, and if so whether only its shared side.
    pub fn takes(&self) -> Option<(SyncId, bool)> {
        match *self {
            Op::Acquire { lock, shared } | Op::TryAcquire { lock, shared, acquired: true } => {
                Some((lock, shared))
            }
            _ => None,
        }
    }
}

pub(super) struct SyncTable<'a> {
    trace: &'a Trace,
    listed: &'a [InitialSync],
    ids: FxHashMap<(u64, SyncFamily), SyncId>,
    objects: Vec<SyncObject>,
    /// By address: which events use it as a semaphore or a barrier; requests come after all events.
    counted: FxHashMap<u64, Vec<(u32, SyncFamily)>>,
}

impl<'a> SyncTable<'a> {
    pub fn new(trace: &'a Trace, symbolic: &'a Symbolic) -> Result<SyncTable<'a>, ModelError> {
        let mut counted: FxHashMap<u64, Vec<(u32, SyncFamily)>> = FxHashMap::default();
        for (index, event) in trace.events.iter().enumerate() {
            let (at, family) = match event.kind {
                EventKind::SemWait { at }
                | EventKind::SemTryWait { at, .. }
                | EventKind::SemPost { at } => (at, SyncFamily::Semaphore),
                EventKind::BarrierArrive { at } | EventKind::BarrierLeave { at } => {
                    (at, SyncFamily::Barrier)
                }
                _ => continue,
            };
            counted.entry(address(trace, at)?).or_default().push((index as u32, family));
        }
        if let Bug::Deadlock { requests } = &symbolic.bug {
            for request in requests {
                let (at, family) = match request.wants {
                    Wants::Semaphore { at } => (at, SyncFamily::Semaphore),
                    Wants::Barrier { at } => (at, SyncFamily::Barrier),
                    _ => continue,
                };
                counted.entry(address(trace, at)?).or_default().push((u32::MAX, family));
            }
        }
        let (ids, objects) = (FxHashMap::default(), Vec::new());
        Ok(SyncTable { trace, listed: &symbolic.sync, ids, objects, counted })
    }

    pub fn id(&mut self, family: SyncFamily, at: LocationId) -> Result<SyncId, ModelError> {
        let key = (address(self.trace, at)?, family);
        let next = SyncId(self.objects.len() as u32);
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            let (initial, ops) = (Vec::new(), Vec::new());
            self.objects.push(SyncObject { family, at, initial, ops, regular: true });
        }
        Ok(id)
    }

    /// What setting up a sync object does: nothing, but for semaphores and barriers. Which it is, the next use of
    /// the address tells, else the last.
    pub fn init(
        &mut self,
        at: LocationId,
        event: u32,
        value: u32,
    ) -> Result<Option<Op>, ModelError> {
        let Some(uses) = self.counted.get(&address(self.trace, at)?) else { return Ok(None) };
        let next = uses.partition_point(|(index, _)| *index < event).min(uses.len() - 1);
        let family = uses[next].1;
        let id = self.id(family, at)?;
        Ok(Some(match family {
            SyncFamily::Semaphore => Op::SemInit { semaphore: id, value },
            _ => Op::BarrierInit { barrier: id, count: value },
        }))
    }

    pub fn finish(self) -> Result<Vec<SyncObject>, ModelError> {
        let SyncTable { trace, listed, ids, mut objects, .. } = self;
        for known in listed {
            let family = match known.state {
                SyncState::Semaphore(_) => SyncFamily::Semaphore,
                SyncState::Barrier(_) => SyncFamily::Barrier,
                SyncState::Held { .. } => SyncFamily::Lock,
                SyncState::Done => SyncFamily::Once,
            };
            if let Some(id) = ids.get(&(address(trace, known.at)?, family)) {
                objects[id.index()].initial.push(known.state);
            }
        }
        Ok(objects)
    }
}

fn address(trace: &Trace, at: LocationId) -> Result<u64, ModelError> {
    let location = trace.locations.get(at.0 as usize);
    let object = location.and_then(|l| trace.objects.get(l.object.0 as usize));
    match (location, object) {
        (Some(location), Some(object)) => Ok(object.address.wrapping_add(location.offset)),
        _ => Err(ModelError::Contradiction(format!("location {} is unknown", at.0))),
    }
}

/// Gives each sync object its ops.
pub(super) fn collect(model: &mut Model) {
    model.syncs.iter_mut().for_each(|s| s.ops.clear());
    for step in model.steps() {
        for position in model.op_range(step) {
            let op = model.ops[position];
            if let Some(id) = op.sync() {
                model.syncs[id.index()].ops.push((step, op));
            }
        }
    }
}

/// Adds what no event says: the start of a thread that is forked, the end of one that is joined, and the release of
/// locks held where the trace was cut.
pub(super) fn complete(model: &mut Model) {
    let threads = model.threads.len();
    let mut first: Vec<Vec<Op>> = vec![Vec::new(); threads];
    let mut last: Vec<Vec<Op>> = vec![Vec::new(); threads];
    let mut releases: Vec<Vec<Op>> = vec![Vec::new(); threads];
    let (mut forked, mut joined) = (vec![false; threads], vec![false; threads]);
    let (mut starts, mut exits) = (vec![false; threads], vec![false; threads]);
    for step in model.steps() {
        let owner = model.owner(step).index();
        for op in model.program(step) {
            match *op {
                Op::Fork { child } => forked[child.index()] = true,
                Op::Join { child } if !model.is_request(step) => joined[child.index()] = true,
                Op::Start => starts[owner] = true,
                Op::Exit => exits[owner] = true,
                _ => {}
            }
        }
    }
    for thread in 0..threads {
        if forked[thread] && !starts[thread] {
            first[thread].push(Op::Start);
        }
        if joined[thread] && !exits[thread] {
            last[thread].push(Op::Exit);
        }
        if !model.is_deadlock() {
            let held = held_at_end(model, ThreadId(thread as u32));
            releases[thread].extend(held.into_iter().rev().map(|lock| Op::Release { lock }));
        }
    }
    let mut ops = Vec::with_capacity(model.ops.len() + threads);
    for step in model.steps() {
        let (owner, range) = (model.owner(step).index(), model.op_range(step));
        let start = ops.len() as u32;
        if model.place(step) == 0 {
            ops.append(&mut first[owner]);
        }
        ops.extend_from_slice(&model.ops[range]);
        if model.threads[owner].last() == Some(&step) {
            ops.append(&mut last[owner]);
            model.synthetic[owner] = ops.len() as u32;
            ops.append(&mut releases[owner]);
        }
        model.programs[step.index()] = start..ops.len() as u32;
    }
    model.ops = ops;
}

fn held_at_end(model: &Model, thread: ThreadId) -> Vec<SyncId> {
    let mut held: Vec<SyncId> = Vec::new();
    for (index, object) in model.syncs.iter().enumerate() {
        let mine = |s: &&SyncState| matches!(s, SyncState::Held { by, .. } if *by == thread);
        held.extend(object.initial.iter().filter(mine).map(|_| SyncId(index as u32)));
    }
    for step in model.thread_steps(thread) {
        for op in model.program(*step) {
            if let Some((lock, _)) = op.takes() {
                held.push(lock);
            } else if let Op::Release { lock } = op
                && let Some(last) = held.iter().rposition(|h| h == lock)
            {
                held.remove(last);
            }
        }
    }
    held.retain(|lock| model.sync(*lock).regular);
    held
}
