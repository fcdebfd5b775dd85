//! From a symbolic trace to a model: steps become programs of ops.

use std::ops::Range;

use rustc_hash::FxHashMap;
use unravel_trace::{
    Bug, EventKind, ExprId, Request, Step, SymbolId, Symbolic, ThreadId, Trace, WakeCause, Wants,
};

use super::cells::Cells;
use super::clocks::Clocks;
use super::slices::Slices;
use super::sync::{self, SyncTable};
use super::{initial, sections, *};

impl Model {
    /// Models a failing run. Owns all it needs.
    pub fn new(trace: &Trace, symbolic: &Symbolic) -> Result<Model, ModelError> {
        if symbolic.bug == Bug::None {
            return Err(ModelError::NoFailure);
        }
        if symbolic.shadows.is_empty() && !trace.events.is_empty() {
            return Err(ModelError::NotSymbolic);
        }
        check(trace, symbolic)?;
        let cells = Cells::new(&symbolic.accesses, &symbolic.initial)?;
        let mut builder = Builder {
            trace,
            symbolic,
            syncs: SyncTable::new(trace, symbolic)?,
            model: empty_model(trace, symbolic, &cells),
            cells,
            conditions: by_event(symbolic),
        };
        for step in &symbolic.steps {
            builder.add_step(step)?;
        }
        if let Bug::Deadlock { requests } = &symbolic.bug {
            for request in requests {
                builder.add_request(request)?;
            }
        }
        builder.finish()
    }
}

struct Builder<'a> {
    trace: &'a Trace,
    symbolic: &'a Symbolic,
    syncs: SyncTable<'a>,
    cells: Cells,
    model: Model,
    /// Conditions by the event after which they are decided.
    conditions: FxHashMap<u32, Vec<CheckId>>,
}

impl Builder<'_> {
    fn add_step(&mut self, step: &Step) -> Result<(), ModelError> {
        let id = self.begin(step.thread, StepKind::Executed);
        let range = step.first..step.first + step.events;
        for event in range.clone() {
            self.model.step_of_event[event as usize] = id;
            self.add_event(id, event)?;
        }
        self.end(range);
        Ok(())
    }

    fn begin(&mut self, thread: ThreadId, kind: StepKind) -> StepId {
        let model = &mut self.model;
        let id = StepId(model.owner.len() as u32);
        let steps = &mut model.threads[thread.index()];
        model.place.push(steps.len() as u32);
        steps.push(id);
        model.owner.push(thread);
        model.kinds.push(kind);
        model.external.push(false);
        let start = model.ops.len() as u32;
        model.programs.push(start..start);
        id
    }

    fn end(&mut self, events: Range<u32>) {
        self.model.events.push(events);
        let end = self.model.ops.len() as u32;
        if let Some(program) = self.model.programs.last_mut() {
            program.end = end;
        }
    }

    /// Reads, the sync operation, writes, the conditions decided after them, the bug.
    fn add_event(&mut self, step: StepId, event: u32) -> Result<(), ModelError> {
        let shadow = self.symbolic.shadows[event as usize];
        let (first, reads) = (shadow.first, shadow.first + shadow.reads);
        for index in first..reads {
            let start = self.model.reads.len() as u32;
            let symbol = SymbolId(index);
            let access = self.symbolic.accesses[index as usize];
            for (cell, offset, bytes) in self.cells.parts(&access) {
                let slot = self.model.reads.len() as u32;
                self.model.reads.push(ReadSlot { step, event, symbol, cell, offset, bytes });
                self.model.cell_reads[cell.index()].push(slot);
                self.model.ops.push(Op::Read(SlotId(slot)));
            }
            self.model.slots[index as usize] = start..self.model.reads.len() as u32;
        }
        self.add_sync(step, event)?;
        for index in reads..reads + shadow.writes {
            let access = self.symbolic.accesses[index as usize];
            let value = access.value;
            for (cell, offset, bytes) in self.cells.parts(&access) {
                let write = self.model.writes.len() as u32;
                self.model.writes.push(WriteSlot { step, event, value, cell, offset, bytes });
                self.model.cell_writes[cell.index()].push(write);
                self.model.ops.push(Op::Write(write));
            }
        }
        for check in self.conditions.get(&event).into_iter().flatten() {
            self.model.ops.push(Op::Check(*check));
        }
        if let Bug::Condition { after, .. } | Bug::Reached { after, .. } = self.symbolic.bug
            && after == event
        {
            self.model.ops.push(Op::Bug);
            self.model.bug_step = Some(step);
        }
        Ok(())
    }

    fn add_sync(&mut self, step: StepId, event: u32) -> Result<(), ModelError> {
        use SyncFamily::*;
        let syncs = &mut self.syncs;
        let mut both = [None, None];
        match self.trace.events[event as usize].kind {
            EventKind::Lock { at, shared } => {
                both[0] = Some(Op::Acquire { lock: syncs.id(Lock, at)?, shared });
            }
            EventKind::Unlock { at } => both[0] = Some(Op::Release { lock: syncs.id(Lock, at)? }),
            EventKind::TryLock { at, shared, acquired } => {
                both[0] = Some(Op::TryAcquire { lock: syncs.id(Lock, at)?, shared, acquired });
            }
            EventKind::Wait { at, mutex } => {
                both[0] = Some(Op::Release { lock: syncs.id(Lock, mutex)? });
                let gives_up = times_out(self.trace, event);
                both[1] = Some(Op::Wait { cond: syncs.id(Cond, at)?, gives_up });
            }
            EventKind::Wake { at, mutex, by } => {
                both[0] = Some(Op::Wake { cond: syncs.id(Cond, at)?, by });
                both[1] = Some(Op::Acquire { lock: syncs.id(Lock, mutex)?, shared: false });
            }
            EventKind::Signal { at, woken } => {
                both[0] = Some(Op::Signal { cond: syncs.id(Cond, at)?, recorded: woken });
            }
            EventKind::Broadcast { at, .. } => {
                both[0] = Some(Op::Broadcast { cond: syncs.id(Cond, at)? });
            }
            EventKind::SemWait { at } => {
                both[0] = Some(Op::SemAcquire { semaphore: syncs.id(Semaphore, at)? });
            }
            EventKind::SemTryWait { at, acquired } => {
                let semaphore = syncs.id(Semaphore, at)?;
                both[0] = Some(Op::SemTryAcquire { semaphore, acquired });
            }
            EventKind::SemPost { at } => {
                both[0] = Some(Op::SemPost { semaphore: syncs.id(Semaphore, at)? });
            }
            EventKind::BarrierArrive { at } => {
                both[0] = Some(Op::Arrive { barrier: syncs.id(Barrier, at)? });
            }
            EventKind::BarrierLeave { at } => {
                both[0] = Some(Op::Leave { barrier: syncs.id(Barrier, at)? });
            }
            EventKind::Once { at, won } => {
                both[0] = Some(Op::OnceEnter { once: syncs.id(Once, at)?, won });
            }
            EventKind::OnceDone { at } => {
                both[0] = Some(Op::OnceDone { once: syncs.id(Once, at)? });
            }
            EventKind::SyncInit { at, value } => both[0] = syncs.init(at, event, value)?,
            EventKind::Fork { child } => both[0] = Some(Op::Fork { child }),
            EventKind::Start => both[0] = Some(Op::Start),
            EventKind::Exit => both[0] = Some(Op::Exit),
            EventKind::Join { child } => both[0] = Some(Op::Join { child }),
            EventKind::External { .. } | EventKind::Descriptor { .. } => {
                self.model.external[step.index()] = true;
            }
            EventKind::Read { .. }
            | EventKind::Write { .. }
            | EventKind::ReadModifyWrite { .. }
            | EventKind::SyncDestroy { .. }
            | EventKind::Cancel { .. }
            | EventKind::Alloc { .. }
            | EventKind::Free { .. }
            | EventKind::Assertion
            | EventKind::Fence
            | EventKind::Yield
            | EventKind::AtomicBegin => {}
        }
        self.model.ops.extend(both.into_iter().flatten());
        Ok(())
    }

    fn add_request(&mut self, request: &Request) -> Result<(), ModelError> {
        use SyncFamily::*;
        if request.thread.index() >= self.model.threads.len() {
            return Err(contradiction("a request of an unknown thread"));
        }
        self.begin(request.thread, StepKind::Request);
        let syncs = &mut self.syncs;
        let op = match request.wants {
            Wants::Lock { at, shared } => Op::Acquire { lock: syncs.id(Lock, at)?, shared },
            Wants::Wake { at, mutex } => {
                let by = WakeCause::Signal(request.thread);
                self.model.ops.push(Op::Wake { cond: syncs.id(Cond, at)?, by });
                Op::Acquire { lock: syncs.id(Lock, mutex)?, shared: false }
            }
            Wants::Semaphore { at } => Op::SemAcquire { semaphore: syncs.id(Semaphore, at)? },
            Wants::Barrier { at } => Op::Leave { barrier: syncs.id(Barrier, at)? },
            Wants::Once { at } => Op::OnceEnter { once: syncs.id(Once, at)?, won: false },
            Wants::Join { child } if child.index() < self.trace.threads.len() => Op::Join { child },
            Wants::Join { .. } | Wants::Other => Op::Never,
        };
        self.model.ops.push(op);
        let end = self.trace.events.len() as u32;
        self.end(end..end);
        Ok(())
    }

    fn finish(self) -> Result<Model, ModelError> {
        let Builder { mut model, syncs, .. } = self;
        model.cell_writes_by_thread = model.cell_writes.clone();
        for writes in &mut model.cell_writes_by_thread {
            writes.sort_by_key(|w| model.owner[model.writes[*w as usize].step.index()]);
        }
        model.syncs = syncs.finish()?;
        sync::collect(&mut model);
        initial::infer(&mut model);
        sync::complete(&mut model);
        sync::collect(&mut model);
        sections::find(&mut model);
        model.clocks = Clocks::new(&model)?;
        model.slices = Slices::new(&model)?;
        Ok(model)
    }
}

fn empty_model(trace: &Trace, symbolic: &Symbolic, cells: &Cells) -> Model {
    let known = cells.ranges.len();
    Model {
        id: super::next_id(),
        threads: vec![Vec::new(); trace.threads.len()],
        owner: Vec::new(),
        place: Vec::new(),
        kinds: Vec::new(),
        events: Vec::new(),
        step_of_event: vec![StepId(0); trace.events.len()],
        external: Vec::new(),
        programs: Vec::new(),
        ops: Vec::new(),
        synthetic: vec![u32::MAX; trace.threads.len()],
        reads: Vec::new(),
        slots: vec![0..0; symbolic.accesses.len()],
        writes: Vec::new(),
        cells: cells.ranges.clone(),
        cell_reads: vec![Vec::new(); known],
        cell_writes: vec![Vec::new(); known],
        cell_writes_by_thread: Vec::new(),
        initial: cells.initial.clone(),
        exprs: symbolic.exprs.clone(),
        conditions: symbolic.conditions.clone(),
        bug: symbolic.bug.clone(),
        bug_step: None,
        syncs: Vec::new(),
        sections: Vec::new(),
        locksets: Vec::new(),
        held: Vec::new(),
        clocks: Clocks::default(),
        slices: Slices::default(),
        order: symbolic.order,
    }
}

fn by_event(symbolic: &Symbolic) -> FxHashMap<u32, Vec<CheckId>> {
    let mut map: FxHashMap<u32, Vec<CheckId>> = FxHashMap::default();
    for (index, condition) in symbolic.conditions.iter().enumerate() {
        map.entry(condition.after).or_default().push(CheckId(index as u32));
    }
    map
}

fn contradiction(what: impl Into<String>) -> ModelError {
    ModelError::Contradiction(what.into())
}

/// Everything that later code relies on without asking.
fn check(trace: &Trace, symbolic: &Symbolic) -> Result<(), ModelError> {
    if symbolic.shadows.len() != trace.events.len() {
        return Err(contradiction("not every event has its accesses"));
    }
    let threads = trace.threads.len();
    let mut next = 0;
    for step in &symbolic.steps {
        if step.thread.index() >= threads {
            return Err(contradiction("a step of an unknown thread"));
        }
        if step.events > 0 {
            let end = step.first.checked_add(step.events).map(|end| end as usize);
            if step.first != next || end.is_none_or(|end| end > trace.events.len()) {
                return Err(contradiction(format!("event {next} is in no step, or in two")));
            }
            next += step.events;
            if trace.events[step.range()].iter().any(|e| e.thread != step.thread) {
                return Err(contradiction(format!(
                    "a step of several threads at event {}",
                    step.first
                )));
            }
        }
    }
    if next as usize != trace.events.len() {
        return Err(contradiction(format!("event {next} is in no step")));
    }
    let exprs = symbolic.exprs.len();
    for shadow in &symbolic.shadows {
        let end = u64::from(shadow.first) + u64::from(shadow.reads) + u64::from(shadow.writes);
        if end > symbolic.accesses.len() as u64 {
            return Err(contradiction("an event with accesses that are not there"));
        }
    }
    for access in &symbolic.accesses {
        if access.value.index() >= exprs
            || u16::from(symbolic.exprs.bits(access.value)) != 8 * u16::from(access.bytes)
        {
            return Err(contradiction("an access whose value has another size"));
        }
    }
    for condition in &symbolic.conditions {
        decided(trace, symbolic, condition.thread, condition.after, condition.holds)?;
    }
    for event in &trace.events {
        if let EventKind::Fork { child } | EventKind::Join { child } = event.kind
            && child.index() >= threads
        {
            return Err(contradiction("an unknown thread is forked or joined"));
        }
    }
    match symbolic.bug {
        Bug::Condition { thread, after, fails } => decided(trace, symbolic, thread, after, fails),
        Bug::Reached { thread, after } => belongs(trace, thread, after),
        Bug::None | Bug::Deadlock { .. } | Bug::Opaque => Ok(()),
    }
}

fn decided(
    trace: &Trace,
    symbolic: &Symbolic,
    thread: ThreadId,
    after: u32,
    what: ExprId,
) -> Result<(), ModelError> {
    if what.index() >= symbolic.exprs.len() || symbolic.exprs.bits(what) != 1 {
        return Err(contradiction("a condition that is not one bit"));
    }
    belongs(trace, thread, after)
}

fn belongs(trace: &Trace, thread: ThreadId, after: u32) -> Result<(), ModelError> {
    match trace.events.get(after as usize) {
        Some(event) if event.thread == thread => Ok(()),
        _ => Err(contradiction(format!("event {after} does not belong to its thread"))),
    }
}

/// Whether the wait that begins with this event ends by a timeout.
fn times_out(trace: &Trace, wait: u32) -> bool {
    let thread = trace.events[wait as usize].thread;
    let later = trace.events[wait as usize + 1..].iter().filter(|event| event.thread == thread);
    let wake = later.map(|event| &event.kind).find_map(|kind| match kind {
        EventKind::Wake { by, .. } => Some(*by),
        _ => None,
    });
    wake == Some(WakeCause::Timeout)
}
