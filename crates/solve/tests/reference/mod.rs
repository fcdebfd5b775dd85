//! A second, naive reading of symbolic traces, written from the VM's models: events instead of ops, bytes instead
//! of cells, copies instead of undoing, every value computed anew. Slow, and nothing in common with the evaluator.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use unravel_solve::StepId;
use unravel_trace::*;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    Fails,
    Passes,
    Blocked,
    Leaves(u32),
}

type Byte = (u8, Option<u32>);

#[derive(Clone, Default)]
pub struct World {
    memory: BTreeMap<u64, Byte>,
    pub symbols: BTreeMap<u32, u128>,
    /// By symbol and byte: the event that wrote it.
    pub flows: BTreeSet<(u32, u8, Option<u32>)>,
    /// Address of a lock: who holds it, and whether it is shared.
    locks: BTreeMap<u64, Vec<(ThreadId, bool)>>,
    /// Locks that a thread held when it was cut off: possibly held still; whether shared.
    lingering: BTreeMap<u64, bool>,
    waiting: BTreeMap<u64, Vec<ThreadId>>,
    woken: BTreeSet<ThreadId>,
    semaphores: BTreeMap<u64, u32>,
    /// Count, arrived, generation.
    barriers: BTreeMap<u64, (u32, u32, u32)>,
    generation: BTreeMap<ThreadId, u32>,
    running: BTreeSet<u64>,
    done: BTreeSet<u64>,
    forked: BTreeSet<ThreadId>,
    exited: BTreeSet<ThreadId>,
    next: BTreeMap<ThreadId, usize>,
    pub uses: BTreeMap<u64, Vec<u32>>,
    pub order: Vec<StepId>,
}

pub struct Reference<'a> {
    pub trace: &'a Trace,
    pub symbolic: &'a Symbolic,
    steps: BTreeMap<ThreadId, Vec<u32>>,
    recorded: Option<World>,
}

const WORLD: u64 = u64::MAX;

impl<'a> Reference<'a> {
    pub fn new(trace: &'a Trace, symbolic: &'a Symbolic) -> Reference<'a> {
        let mut steps: BTreeMap<ThreadId, Vec<u32>> = BTreeMap::new();
        for (index, step) in symbolic.steps.iter().enumerate() {
            steps.entry(step.thread).or_default().push(index as u32);
        }
        let mut reference = Reference { trace, symbolic, steps, recorded: None };
        let mut world = reference.start();
        if symbolic.bug == Bug::Opaque {
            for index in 0..symbolic.steps.len() {
                let thread = symbolic.steps[index].thread;
                assert!(reference.step(&mut world, thread).is_none(), "the recorded run goes on");
            }
            reference.recorded = Some(world);
        }
        reference
    }

    pub fn start(&self) -> World {
        let mut world = World::default();
        for initial in &self.symbolic.initial {
            for byte in 0..initial.bytes {
                let value = (initial.value.unwrap_or(0) >> (8 * byte)) as u8;
                world.memory.insert(initial.address + u64::from(byte), (value, None));
            }
        }
        for sync in &self.symbolic.sync {
            let at = self.trace.address(sync.at);
            match sync.state {
                SyncState::Semaphore(value) => drop(world.semaphores.insert(at, value)),
                SyncState::Barrier(count) => drop(world.barriers.insert(at, (count, 0, 0))),
                SyncState::Held { by, shared } => {
                    world.locks.entry(at).or_default().push((by, shared))
                }
                SyncState::Done => drop(world.done.insert(at)),
            }
        }
        let is_forked = |e: &Event| matches!(e.kind, EventKind::Fork { .. });
        let children: Vec<ThreadId> = self
            .trace
            .events
            .iter()
            .filter(|e| is_forked(e))
            .map(|e| match e.kind {
                EventKind::Fork { child } => child,
                _ => unreachable!(),
            })
            .collect();
        let all = (0..self.trace.threads.len() as u32).map(ThreadId);
        world.forked = all.filter(|t| !children.contains(t)).collect();
        world
    }

    /// Every interleaving with its end, the order as performed.
    pub fn explore(&self, limit: usize) -> Option<Vec<(World, End)>> {
        let mut found = Vec::new();
        self.explore_from(self.start(), &mut found, limit).then_some(found)
    }

    fn explore_from(&self, world: World, found: &mut Vec<(World, End)>, limit: usize) -> bool {
        let mut stuck = true;
        for thread in (0..self.trace.threads.len() as u32).map(ThreadId) {
            let mut next = world.clone();
            match self.step(&mut next, thread) {
                Some(None) => continue,
                Some(Some(end)) => found.push((next, end)),
                None => {
                    if !self.explore_from(next, found, limit) {
                        return false;
                    }
                }
            }
            stuck = false;
        }
        if stuck {
            let all = world.order.len() == self.symbolic.steps.len();
            let end = match &self.symbolic.bug {
                _ if !all => End::Blocked,
                Bug::Deadlock { .. } => End::Fails,
                Bug::Opaque if self.is_recorded(&world) => End::Fails,
                _ => End::Passes,
            };
            found.push((world, end));
        }
        found.len() <= limit
    }

    fn is_recorded(&self, world: &World) -> bool {
        let recorded = self.recorded.as_ref();
        recorded.is_some_and(|r| r.flows == world.flows && r.uses == world.uses)
    }

    pub fn has_recorded_flows(&self, world: &World) -> bool {
        self.recorded.as_ref().is_some_and(|r| r.flows == world.flows)
    }

    /// `None`: goes on. `Some(None)`: cannot be executed, or there is nothing left.
    fn step(&self, world: &mut World, thread: ThreadId) -> Option<Option<End>> {
        let mine = self.steps.get(&thread).map_or(&[][..], Vec::as_slice);
        let next = world.next.entry(thread).or_default();
        let Some(&index) = mine.get(*next) else { return Some(self.request(world, thread)) };
        *next += 1;
        let last = *next == mine.len();
        if !world.forked.contains(&thread) {
            return Some(None);
        }
        world.order.push(StepId(index));
        for event in self.symbolic.steps[index as usize].range() {
            self.read(world, event);
            if !self.sync(world, index, event) {
                return Some(None);
            }
            self.write(world, event);
            for (number, condition) in self.symbolic.conditions.iter().enumerate() {
                if condition.after as usize == event && self.value(world, condition.holds) == 0 {
                    return Some(Some(End::Leaves(number as u32)));
                }
            }
            match self.symbolic.bug {
                Bug::Condition { after, fails, .. }
                    if after as usize == event && self.value(world, fails) == 1 =>
                {
                    return Some(Some(End::Fails));
                }
                Bug::Reached { after, .. } if after as usize == event => {
                    return Some(Some(End::Fails));
                }
                _ => {}
            }
        }
        if last && !matches!(self.symbolic.bug, Bug::Deadlock { .. }) {
            for (at, holders) in &mut world.locks {
                let before = holders.len();
                if let Some((_, shared)) = holders.iter().find(|(by, _)| *by == thread) {
                    world.lingering.insert(*at, *shared);
                }
                holders.retain(|(by, _)| *by != thread);
                let uses = world.uses.entry(*at).or_default();
                if holders.len() < before && uses.last() != Some(&index) {
                    uses.push(index);
                }
            }
        }
        None
    }

    fn value(&self, world: &World, expr: ExprId) -> u128 {
        self.symbolic.exprs.evaluate(expr, &|symbol| world.symbols[&symbol.0])
    }

    fn read(&self, world: &mut World, event: usize) {
        let shadow = self.symbolic.shadows[event];
        for index in shadow.first..shadow.first + shadow.reads {
            let access = self.symbolic.accesses[index as usize];
            let mut value = 0;
            for byte in 0..access.bytes {
                let (part, from) = world.memory[&(access.address + u64::from(byte))];
                value |= u128::from(part) << (8 * byte);
                world.flows.insert((index, byte, from));
            }
            world.symbols.insert(index, value);
        }
    }

    fn write(&self, world: &mut World, event: usize) {
        let shadow = self.symbolic.shadows[event];
        let first = shadow.first + shadow.reads;
        for index in first..first + shadow.writes {
            let access = self.symbolic.accesses[index as usize];
            let value = self.value(world, access.value);
            for byte in 0..access.bytes {
                let part = ((value >> (8 * byte)) as u8, Some(event as u32));
                world.memory.insert(access.address + u64::from(byte), part);
            }
        }
    }

    /// False if the event cannot be executed as recorded.
    fn sync(&self, world: &mut World, step: u32, event: usize) -> bool {
        let Event { thread: me, kind, .. } = &self.trace.events[event];
        let me = *me;
        let address = |at: &LocationId| self.trace.address(*at);
        let free = |world: &World, at: u64, shared: bool| {
            world.locks.get(&at).is_none_or(|h| h.iter().all(|(_, s)| shared && *s))
        };
        let mut used = Vec::new();
        let possible = match kind {
            EventKind::Lock { at, shared } => {
                used.push(address(at));
                free(world, address(at), *shared) && world.take(address(at), me, *shared)
            }
            EventKind::TryLock { at, shared, acquired } => {
                used.push(address(at));
                let lingers = world.lingering.get(&address(at));
                let may_fail = lingers.is_some_and(|other| !(*shared && *other));
                match free(world, address(at), *shared) {
                    true if *acquired => world.take(address(at), me, *shared),
                    true => may_fail,
                    false => !acquired,
                }
            }
            EventKind::Unlock { at } => {
                used.push(address(at));
                world.give(address(at), me)
            }
            EventKind::Wait { at, mutex } => {
                used.extend([address(mutex), address(at)]);
                // Who gives up may have done so before any signal.
                let wake =
                    self.trace.events[event + 1..].iter().find_map(|later| match later.kind {
                        EventKind::Wake { by, .. } if later.thread == me => Some(by),
                        _ => None,
                    });
                if wake != Some(WakeCause::Timeout) {
                    world.waiting.entry(address(at)).or_default().push(me);
                }
                world.woken.remove(&me);
                world.give(address(mutex), me)
            }
            EventKind::Wake { at, mutex, by } => {
                used.extend([address(at), address(mutex)]);
                let woken = world.woken.remove(&me);
                world.waiting.entry(address(at)).or_default().retain(|t| *t != me);
                woken == matches!(by, WakeCause::Signal(_))
                    && free(world, address(mutex), false)
                    && world.take(address(mutex), me, false)
            }
            EventKind::Signal { at, woken } => {
                used.push(address(at));
                let waiting = world.waiting.entry(address(at)).or_default();
                if !waiting.is_empty() {
                    let chosen = waiting.iter().position(|t| Some(*t) == *woken).unwrap_or(0);
                    world.woken.insert(waiting.remove(chosen));
                }
                true
            }
            EventKind::Broadcast { at, .. } => {
                used.push(address(at));
                world.woken.extend(world.waiting.remove(&address(at)).unwrap_or_default());
                true
            }
            EventKind::SyncInit { at, value } => {
                used.push(address(at));
                world.semaphores.insert(address(at), *value);
                true
            }
            EventKind::SemWait { at }
            | EventKind::SemPost { at }
            | EventKind::SemTryWait { at, .. } => {
                used.push(address(at));
                let Some(value) = world.semaphores.get_mut(&address(at)) else { return false };
                match kind {
                    EventKind::SemPost { .. } => *value += 1,
                    EventKind::SemWait { .. } | EventKind::SemTryWait { acquired: true, .. } => {
                        if *value == 0 {
                            return false;
                        }
                        *value -= 1;
                    }
                    _ => return *value == 0 && world.note(step, used),
                }
                true
            }
            EventKind::BarrierArrive { at } => {
                used.push(address(at));
                let Some((count, arrived, generation)) = world.barriers.get_mut(&address(at))
                else {
                    return false;
                };
                world.generation.insert(me, *generation);
                *arrived += 1;
                if arrived == count {
                    (*arrived, *generation) = (0, *generation + 1);
                }
                true
            }
            EventKind::BarrierLeave { at } => {
                used.push(address(at));
                world.barriers[&address(at)].2 != world.generation[&me]
            }
            EventKind::Once { at, won } => {
                used.push(address(at));
                if world.running.contains(&address(at)) {
                    return false;
                }
                if *won {
                    world.running.insert(address(at));
                }
                *won != world.done.contains(&address(at))
            }
            EventKind::OnceDone { at } => {
                used.push(address(at));
                world.done.insert(address(at));
                world.running.remove(&address(at))
            }
            EventKind::Fork { child } => world.forked.insert(*child),
            EventKind::Exit => world.exited.insert(me),
            EventKind::Join { child } => world.exited.contains(child),
            EventKind::External { .. } => {
                used.push(WORLD);
                true
            }
            _ => true,
        };
        possible && world.note(step, used)
    }

    /// How it ends if a thread that has executed all it did asks for what it was never given.
    fn request(&self, world: &mut World, thread: ThreadId) -> Option<End> {
        let Bug::Deadlock { requests } = &self.symbolic.bug else { return None };
        let request = requests.iter().find(|r| r.thread == thread)?;
        let address = |at: LocationId| self.trace.address(at);
        let holders = |at| world.locks.get(&address(at)).cloned().unwrap_or_default();
        let granted = match request.wants {
            Wants::Lock { at, shared } => holders(at).iter().all(|(_, s)| shared && *s),
            Wants::Wake { mutex, .. } => world.woken.contains(&thread) && holders(mutex).is_empty(),
            Wants::Semaphore { at } => world.semaphores.get(&address(at)).is_none_or(|v| *v > 0),
            Wants::Barrier { at } => world.barriers[&address(at)].2 != world.generation[&thread],
            Wants::Once { at } => !world.running.contains(&address(at)),
            Wants::Join { child } => {
                world.exited.contains(&child) || !self.steps.contains_key(&child)
            }
            Wants::Other => false,
        };
        granted.then_some(End::Passes)
    }
}

impl World {
    fn take(&mut self, at: u64, me: ThreadId, shared: bool) -> bool {
        self.locks.entry(at).or_default().push((me, shared));
        if self.lingering.get(&at).is_some_and(|other| !(shared && *other)) {
            self.lingering.remove(&at);
        }
        true
    }

    fn give(&mut self, at: u64, me: ThreadId) -> bool {
        let holders = self.locks.entry(at).or_default();
        let mine = holders.iter().position(|(by, _)| *by == me);
        mine.map(|index| holders.remove(index)).is_some()
    }

    fn note(&mut self, step: u32, used: Vec<u64>) -> bool {
        for at in used {
            let uses = self.uses.entry(at).or_default();
            if uses.last() != Some(&step) {
                uses.push(step);
            }
        }
        true
    }
}

/// For looking ends up by order.
pub fn by_order(all: Vec<(World, End)>) -> HashMap<Vec<StepId>, (World, End)> {
    all.into_iter().map(|(world, end)| (world.order.clone(), (world, end))).collect()
}
