//! What one thread did, by itself: a part of a run that can be put together with parts of other runs.
//!
//! After Cortex (thesis §5.2.1): runs that passed are taken apart, and the traces of their threads are the material for
//! executions that nobody has seen yet ([`crate::combine`]). A part is the thread's own events as functions of what they
//! read, with the path that it took. Neither what the reads returned nor the order among threads is kept: two runs in which
//! a thread did the same have the same part.
//!
//! A run can be taken apart if it was executed with [`crate::Detail::Separable`].

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{
    Access, Bug, Condition, Event, EventKind, ExprId, Exprs, Initial, KnownOrder, Location,
    LocationId, Node, Object, ObjectId, Run, Shadow, SiteId, Step, SymbolId, Symbolic, ThreadId,
    ThreadName, Trace, Value,
};

/// The part of one thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadTrace {
    /// Which of [`Trace::threads`] it is.
    pub thread: ThreadId,
    /// Which way it went at each of its branches, as in [`crate::ThreadPath`].
    pub path: Vec<u32>,
    /// Its events, without values, and what they refer to.
    pub trace: Trace,
    /// The same as functions of what was read. Conditions are in the order of the path. There is no bug, but for a path that
    /// can only fail ([`Bug::Reached`]).
    pub symbolic: Symbolic,
    /// Steps that no point began ([`crate::Guided::unscheduled`]), as indices of `symbolic.steps`.
    pub unscheduled: Vec<u32>,
}

impl ThreadTrace {
    pub fn name(&self) -> &ThreadName {
        &self.trace.threads[self.thread.index()]
    }
}

/// Takes a run apart: one trace for each thread that did anything. `paths` is [`crate::Executor::branches`]. `None` if the
/// run is not symbolic.
pub fn separate(run: &Run, paths: &[Vec<u32>], unscheduled: &[u32]) -> Option<Vec<ThreadTrace>> {
    let symbolic = run.symbolic.as_deref()?;
    let mut steps: BTreeMap<ThreadId, Vec<usize>> = BTreeMap::new();
    for (index, step) in symbolic.steps.iter().enumerate() {
        steps.entry(step.thread).or_default().push(index);
    }
    let part = |(thread, steps): (ThreadId, Vec<usize>)| {
        let path = paths.get(thread.index()).cloned().unwrap_or_default();
        let mut part = Part::new(thread, path, &run.trace, symbolic);
        for step in steps {
            part.add_step(step, unscheduled.contains(&(step as u32)));
        }
        part.finish()
    };
    Some(steps.into_iter().map(part).collect())
}

/// A part that grows, step by step.
struct Part<'a> {
    trace: &'a Trace,
    symbolic: &'a Symbolic,
    part: ThreadTrace,
    tables: Tables<'a>,
    /// Events and accesses of the run by their numbers here.
    events: FxHashMap<u32, u32>,
    accesses: Vec<u32>,
}

impl<'a> Part<'a> {
    fn new(thread: ThreadId, path: Vec<u32>, trace: &'a Trace, symbolic: &'a Symbolic) -> Part<'a> {
        let part = ThreadTrace {
            thread,
            path,
            trace: Trace { threads: trace.threads.clone(), ..Trace::default() },
            symbolic: Symbolic { order: KnownOrder::Unknown, ..Symbolic::default() },
            unscheduled: Vec::new(),
        };
        let (events, accesses) = (FxHashMap::default(), Vec::new());
        Part { trace, symbolic, part, tables: Tables::new(trace), events, accesses }
    }

    fn add_step(&mut self, index: usize, unscheduled: bool) {
        let step = self.symbolic.steps[index];
        let to = &mut self.part.symbolic;
        if unscheduled {
            self.part.unscheduled.push(to.steps.len() as u32);
        }
        let first = self.part.trace.events.len() as u32;
        to.steps.push(Step { first, ..step });
        for event in step.range() {
            self.add_event(event);
        }
    }

    fn add_event(&mut self, index: usize) {
        let number = self.part.trace.events.len() as u32;
        self.events.insert(index as u32, number);
        let event = &self.trace.events[index];
        let kind = self.tables.moved(&without_values(&event.kind));
        self.part.trace.events.push(Event { kind, ..event.clone() });
        let shadow = self.symbolic.shadows[index];
        let first = self.accesses.len() as u32;
        self.part.symbolic.shadows.push(Shadow { first, ..shadow });
        self.accesses.extend(shadow.first..shadow.first + shadow.reads + shadow.writes);
    }

    fn finish(mut self) -> ThreadTrace {
        let symbols: FxHashMap<u32, u32> =
            self.accesses.iter().enumerate().map(|(new, old)| (*old, new as u32)).collect();
        let mut copy = Copied::new(&self.symbolic.exprs, |symbol: SymbolId| {
            symbols.get(&symbol.0).map(|number| SymbolId(*number))
        });
        let to = &mut self.part.symbolic;
        for access in &self.accesses {
            let Access { address, bytes, value } = self.symbolic.accesses[*access as usize];
            let value = copy.expr(&mut to.exprs, value);
            to.accesses.push(Access { address, bytes, value });
        }
        let own = |c: &&Condition| c.thread == self.part.thread;
        for condition in self.symbolic.conditions.iter().filter(own) {
            let holds = copy.expr(&mut to.exprs, condition.holds);
            let after = self.events.get(&condition.after).copied().unwrap_or(0);
            to.conditions.push(Condition { holds, after, ..*condition });
        }
        if let Bug::Reached { thread, after } = self.symbolic.bug
            && thread == self.part.thread
        {
            let after = self.events.get(&after).copied().unwrap_or(0);
            to.bug = Bug::Reached { thread, after };
        }
        let reads = |address: u64| {
            to.shadows.iter().any(|shadow| {
                let reads = shadow.first..shadow.first + shadow.reads;
                reads.into_iter().any(|read| to.accesses[read as usize].contains(address))
            })
        };
        let initial = self.symbolic.initial.iter();
        let touched =
            |initial: &&Initial| (0..u64::from(initial.bytes)).any(|i| reads(initial.address + i));
        to.initial = initial.filter(touched).copied().collect();
        let inputs = self.symbolic.inputs.iter();
        to.inputs = inputs.filter(|input| reads(input.address)).cloned().collect();
        for sync in &self.symbolic.sync {
            let at = self.tables.location(sync.at);
            to.sync.push(crate::InitialSync { at, ..*sync });
        }
        self.part.trace.objects = std::mem::take(&mut self.tables.objects);
        self.part.trace.locations = std::mem::take(&mut self.tables.locations);
        self.part.trace.sites = self.sites();
        self.part
    }

    /// The sites that the part refers to.
    fn sites(&self) -> Vec<(SiteId, crate::Site)> {
        let events = &self.part.trace.events;
        let conditions = self.part.symbolic.conditions.iter().map(|condition| condition.site);
        let objects = self.part.trace.objects.iter().filter_map(|object| object.site);
        let mut used: Vec<SiteId> = events.iter().map(|event| event.site).collect();
        used.extend(events.iter().filter_map(|event| event.caller));
        used.extend(conditions.chain(objects));
        used.sort_unstable();
        used.dedup();
        used.into_iter().filter_map(|id| Some((id, self.trace.site(id)?.clone()))).collect()
    }
}

impl Access {
    /// Whether this byte is part of it.
    pub fn contains(&self, address: u64) -> bool {
        (self.address..self.address + u64::from(self.bytes)).contains(&address)
    }
}

/// An event as far as it is the same whatever was read.
fn without_values(kind: &EventKind) -> EventKind {
    let nothing = || Value::Bytes(Box::default());
    match kind {
        EventKind::Read { at, .. } => EventKind::Read { at: *at, value: nothing() },
        EventKind::Write { at, .. } => EventKind::Write { at: *at, value: nothing() },
        EventKind::ReadModifyWrite { at, .. } => {
            EventKind::ReadModifyWrite { at: *at, old: nothing(), new: nothing() }
        }
        other => other.clone(),
    }
}

/// Objects and locations under new numbers, as they are first referred to.
pub(crate) struct Tables<'a> {
    from: &'a Trace,
    pub(crate) objects: Vec<Object>,
    pub(crate) locations: Vec<Location>,
    moved_objects: FxHashMap<ObjectId, ObjectId>,
    moved: FxHashMap<LocationId, LocationId>,
}

impl<'a> Tables<'a> {
    pub(crate) fn new(from: &'a Trace) -> Tables<'a> {
        Tables::after(from, Vec::new(), Vec::new())
    }

    /// Goes on with tables that are there already.
    pub(crate) fn after(
        from: &'a Trace,
        objects: Vec<Object>,
        locations: Vec<Location>,
    ) -> Tables<'a> {
        let (moved_objects, moved) = (FxHashMap::default(), FxHashMap::default());
        Tables { from, objects, locations, moved_objects, moved }
    }

    fn object(&mut self, id: ObjectId) -> ObjectId {
        if let Some(new) = self.moved_objects.get(&id) {
            return *new;
        }
        let object = &self.from.objects[id.0 as usize];
        let new = place_of(&mut self.objects, object);
        self.moved_objects.insert(id, ObjectId(new));
        ObjectId(new)
    }

    pub(crate) fn location(&mut self, id: LocationId) -> LocationId {
        if let Some(new) = self.moved.get(&id) {
            return *new;
        }
        let location = self.from.location(id);
        let object = self.object(location.object);
        let new = place_of(&mut self.locations, &Location { object, ..location.clone() });
        self.moved.insert(id, LocationId(new));
        LocationId(new)
    }

    /// The same event with the new numbers.
    pub(crate) fn moved(&mut self, kind: &EventKind) -> EventKind {
        use EventKind::*;
        let mut kind = kind.clone();
        match &mut kind {
            Wait { at, mutex } | Wake { at, mutex, .. } => {
                *at = self.location(*at);
                *mutex = self.location(*mutex);
            }
            Read { at, .. }
            | Write { at, .. }
            | ReadModifyWrite { at, .. }
            | Lock { at, .. }
            | Unlock { at }
            | TryLock { at, .. }
            | Signal { at, .. }
            | Broadcast { at, .. }
            | SemWait { at }
            | SemTryWait { at, .. }
            | SemPost { at }
            | BarrierArrive { at }
            | BarrierLeave { at }
            | Once { at, .. }
            | OnceDone { at }
            | SyncInit { at, .. }
            | SyncDestroy { at }
            | Alloc { at }
            | Free { at } => *at = self.location(*at),
            Fork { .. }
            | Start
            | Exit
            | Join { .. }
            | Cancel { .. }
            | Assertion
            | Fence
            | Yield
            | External { .. }
            | Descriptor { .. }
            | AtomicBegin => {}
        }
        kind
    }
}

/// Where something stands in a table; put there if it does not.
fn place_of<T: Clone + PartialEq>(table: &mut Vec<T>, what: &T) -> u32 {
    let at = table.iter().position(|other| other == what).unwrap_or_else(|| {
        table.push(what.clone());
        table.len() - 1
    });
    at as u32
}

/// Expressions of one graph in another, with other symbols. A symbol that has no other is 0: the executor sees to it that
/// a thread's expressions are over what it read itself.
#[derive(Debug)]
pub struct Copied<'a, F> {
    from: &'a Exprs,
    symbol: F,
    ids: FxHashMap<ExprId, ExprId>,
}

impl<'a, F: Fn(SymbolId) -> Option<SymbolId>> Copied<'a, F> {
    pub fn new(from: &'a Exprs, symbol: F) -> Copied<'a, F> {
        Copied { from, symbol, ids: FxHashMap::default() }
    }

    /// The same expression in the other graph.
    pub fn expr(&mut self, to: &mut Exprs, id: ExprId) -> ExprId {
        let mut todo = vec![id];
        while let Some(&next) = todo.last() {
            let mut missing = Vec::new();
            if !self.ids.contains_key(&next) {
                self.from.node(next).operands(|of| {
                    if !self.ids.contains_key(&of) {
                        missing.push(of);
                    }
                });
                if missing.is_empty() {
                    let new = self.build(to, next);
                    self.ids.insert(next, new);
                }
            }
            if missing.is_empty() {
                todo.pop();
            }
            todo.extend(missing);
        }
        self.ids[&id]
    }

    fn build(&self, to: &mut Exprs, id: ExprId) -> ExprId {
        let bits = self.from.bits(id);
        let new = |of: ExprId| self.ids[&of];
        match self.from.node(id) {
            Node::Const(value) => to.constant(value, bits),
            Node::Symbol(symbol) => match (self.symbol)(symbol) {
                Some(symbol) => to.symbol(symbol, bits),
                None => to.constant(0, bits),
            },
            Node::Binary(op, a, b) => to.binary(op, new(a), new(b)),
            Node::Compare(op, a, b) => to.compare(op, new(a), new(b)),
            Node::Ite(c, a, b) => to.ite(new(c), new(a), new(b)),
            Node::Extract(a, low) => to.extract(new(a), low, bits),
            Node::Concat(a, b) => to.concat(new(a), new(b)),
            Node::ZeroExtend(a) => to.zero_extend(new(a), bits),
            Node::SignExtend(a) => to.sign_extend(new(a), bits),
            Node::Float(op, a, b) => to.float(op, new(a), new(b)),
            Node::FloatCompare(predicate, a, b) => to.float_compare(predicate, new(a), new(b)),
            Node::Convert(op, a) => to.convert(op, new(a), bits),
        }
    }
}
