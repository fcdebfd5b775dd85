//! Symbolic traces made up for tests and benchmarks: random programs, executed here in a random interleaving, so
//! that recorded values, results and orders are consistent.
//!
//! [`tiny`] makes traces for brute force, with every kind of event that the model knows; [`large`] makes traces of
//! any length with one atomicity violation, [`waiting`] such traces whose threads wait for each other. The rest are
//! shapes that are hard for solvers: [`counter`] and [`atomic_counter`], [`hot`], [`distant`], and [`unordered`],
//! where nobody knows the order.

mod acts;
mod counter;
mod distant;
mod hot;
mod large;
mod tiny;
mod unordered;
mod waiting;

use std::collections::{BTreeMap, HashMap};

use unravel_trace::*;

pub use counter::{atomic_counter, counter};
pub use distant::distant;
pub use hot::hot;
pub use large::large;
pub use tiny::{Tiny, tiny};
pub use unordered::{forget_order, unordered};
pub use waiting::waiting;

/// A failing run.
#[derive(Clone, Debug)]
pub struct Generated {
    pub trace: Trace,
    pub symbolic: Symbolic,
}

/// A run while it is recorded, step by step: memory, and what reads returned. Also for traces written by hand.
#[derive(Debug, Default)]
pub struct Recording {
    pub trace: Trace,
    pub symbolic: Symbolic,
    memory: HashMap<u64, u8>,
    locations: HashMap<(u64, u32), LocationId>,
    /// By symbol.
    symbols: Vec<u128>,
    /// By expression.
    values: Vec<u128>,
}

impl Recording {
    /// With this many threads, none of them forked.
    pub fn new(threads: usize) -> Recording {
        let mut recording = Recording::default();
        let main = ThreadName::main();
        recording.trace.threads.push(main.clone());
        recording.trace.threads.extend((1..threads).map(|n| main.child(n as u32)));
        let whole = Object { name: "memory".into(), address: 0, bytes: u64::MAX, site: None };
        recording.trace.objects.push(whole);
        recording
    }

    /// Begins a step; events that follow belong to it.
    pub fn step(&mut self, thread: ThreadId) {
        let first = self.trace.events.len() as u32;
        self.symbolic.steps.push(Step { thread, first, events: 0 });
    }

    /// An event of the current step; its accesses follow it.
    pub fn event(&mut self, kind: EventKind) -> u32 {
        let step = self.symbolic.steps.last_mut().expect("a step was begun");
        step.events += 1;
        let site = SiteId(self.trace.events.len() as u32);
        self.trace.events.push(Event { thread: step.thread, site, caller: None, kind });
        let first = self.symbolic.accesses.len() as u32;
        self.symbolic.shadows.push(Shadow { first, reads: 0, writes: 0 });
        self.trace.events.len() as u32 - 1
    }

    /// A read of up to eight bytes; its symbol.
    pub fn read(&mut self, address: u64, bytes: u8) -> ExprId {
        let at = self.location(address, bytes.into());
        let value = self.load(address, bytes);
        self.event(EventKind::Read { at, value: Value::Word(value as u64) });
        self.read_access(address, bytes)
    }

    /// A write of up to eight bytes.
    pub fn write(&mut self, address: u64, bytes: u8, value: ExprId) {
        let at = self.location(address, bytes.into());
        let word = self.concrete(value) as u64;
        self.event(EventKind::Write { at, value: Value::Word(word) });
        self.write_access(address, bytes, value);
    }

    /// One more read of the last event, before its writes.
    pub fn read_access(&mut self, address: u64, bytes: u8) -> ExprId {
        let symbol = SymbolId(self.symbolic.accesses.len() as u32);
        let value = self.symbolic.exprs.symbol(symbol, 8 * bytes);
        self.symbols.resize(symbol.0 as usize + 1, 0);
        self.symbols[symbol.0 as usize] = self.load(address, bytes);
        self.symbolic.accesses.push(Access { address, bytes, value });
        self.symbolic.shadows.last_mut().expect("an event was made").reads += 1;
        value
    }

    /// One more write of the last event.
    pub fn write_access(&mut self, address: u64, bytes: u8, value: ExprId) {
        let word = self.concrete(value);
        self.symbolic.accesses.push(Access { address, bytes, value });
        self.symbolic.shadows.last_mut().expect("an event was made").writes += 1;
        for byte in 0..u64::from(bytes) {
            self.memory.insert(address + byte, (word >> (8 * byte)) as u8);
        }
    }

    /// Memory as it is now.
    pub fn load(&self, address: u64, bytes: u8) -> u128 {
        let byte = |i: u64| self.memory.get(&(address + i)).copied();
        let byte = |i: u64| byte(i).unwrap_or_else(|| initial_byte(address + i));
        (0..u64::from(bytes)).map(|i| u128::from(byte(i)) << (8 * i)).sum()
    }

    /// The location of a variable or a sync object.
    pub fn location(&mut self, address: u64, bytes: u32) -> LocationId {
        let next = LocationId(self.trace.locations.len() as u32);
        let id = *self.locations.entry((address, bytes)).or_insert(next);
        if id == next {
            let name = format!("at_{address:x}");
            let object = ObjectId(0);
            self.trace.locations.push(Location {
                object,
                offset: address,
                bytes,
                name,
                shape: Shape::Signed,
            });
        }
        id
    }

    /// The value of an expression in this run.
    pub fn concrete(&mut self, expr: ExprId) -> u128 {
        let exprs = &self.symbolic.exprs;
        for index in self.values.len()..=expr.index() {
            let id = ExprId(index as u32);
            let value = match exprs.node(id) {
                Node::Symbol(symbol) => self.symbols[symbol.0 as usize],
                _ => exprs.apply(id, |of| self.values[of.index()]),
            };
            self.values.push(value);
        }
        self.values[expr.index()]
    }

    /// A condition after the last event; `holds` is negated if it does not.
    pub fn condition(&mut self, holds: ExprId) {
        let holds = self.made_true(holds);
        let after = self.trace.events.len() as u32 - 1;
        let Event { thread, site, .. } = self.trace.events[after as usize];
        let why = ConditionKind::Branch;
        self.symbolic.conditions.push(Condition {
            thread,
            after,
            holds,
            site,
            why,
            otherwise: Otherwise::Unknown,
        });
    }

    fn made_true(&mut self, expr: ExprId) -> ExprId {
        if self.concrete(expr) == 1 { expr } else { self.symbolic.exprs.not(expr) }
    }

    /// The run ends, in this way. All memory that it accessed was known before.
    pub fn finish(mut self, bug: Bug) -> Generated {
        let mut bytes: BTreeMap<u64, u8> = BTreeMap::new();
        for access in &self.symbolic.accesses {
            for address in access.address..access.address + u64::from(access.bytes) {
                bytes.insert(address, initial_byte(address));
            }
        }
        let initial = &mut self.symbolic.initial;
        for (address, byte) in bytes {
            match initial.last_mut() {
                Some(last) if last.address + u64::from(last.bytes) == address && last.bytes < 8 => {
                    let value = last.value.get_or_insert(0);
                    *value |= u128::from(byte) << (8 * last.bytes);
                    last.bytes += 1;
                }
                _ => initial.push(Initial { address, bytes: 1, value: Some(byte.into()) }),
            }
        }
        self.symbolic.bug = bug;
        Generated { trace: self.trace, symbolic: self.symbolic }
    }
}

/// Memory before the run: not all zero, so that forgetting it is noticed.
fn initial_byte(address: u64) -> u8 {
    if address.is_multiple_of(4) { (address / 4 % 3) as u8 } else { 0 }
}
