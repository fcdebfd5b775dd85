//! Whether a symbolic run agrees with itself: evaluated in the order it was observed, every expression has the value
//! that was recorded, every condition holds, and the bug shows. A run made by concolic execution always does.

use rustc_hash::FxHashMap;

use crate::{
    Access, Bug, EventKind, ExprId, KnownOrder, Node, Run, Segment, Symbolic, ThreadId, Value, mask,
};

impl Symbolic {
    /// The first contradiction between this and the run it belongs to. Only for observed orders.
    pub fn check(&self, run: &Run) -> Result<(), String> {
        assert_eq!(self.order, KnownOrder::Observed, "only an observed order can be checked");
        if let Some(problem) = self.exprs.problem() {
            return Err(problem.into());
        }
        self.check_steps(run)?;
        self.check_initial()?;
        Evaluation::new(self).run(run)
    }

    /// Steps follow each other without a gap, and their threads are the schedule's.
    fn check_steps(&self, run: &Run) -> Result<(), String> {
        let mut next = 0;
        let mut segments: Vec<Segment> = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            if step.first != next {
                return Err(format!("step {index} begins with event {}, not {next}", step.first));
            }
            next += step.events;
            let events = run.trace.events.get(step.range()).ok_or("a step has too many events")?;
            if let Some(event) = events.iter().find(|event| event.thread != step.thread) {
                return Err(format!("step {index} has an event of {:?}", event.thread));
            }
            match segments.last_mut() {
                Some(last) if last.thread == step.thread.0 => last.events += 1,
                _ => segments.push(Segment { thread: step.thread.0, events: 1 }),
            }
        }
        if next as usize != run.trace.events.len() {
            return Err(format!("steps have {next} events of {}", run.trace.events.len()));
        }
        if segments != run.schedule.segments {
            return Err("steps and segments of the schedule differ".into());
        }
        Ok(())
    }

    fn check_initial(&self) -> Result<(), String> {
        let mut end = 0;
        for initial in &self.initial {
            if initial.address < end {
                return Err(format!("initial memory overlaps at {:#x}", initial.address));
            }
            end = initial.address + u64::from(initial.bytes);
        }
        Ok(())
    }
}

/// The trace is executed on memory of bytes.
struct Evaluation<'a> {
    symbolic: &'a Symbolic,
    memory: FxHashMap<u64, u8>,
    symbols: Vec<Option<u128>>,
    values: FxHashMap<ExprId, u128>,
}

impl<'a> Evaluation<'a> {
    fn new(symbolic: &'a Symbolic) -> Evaluation<'a> {
        let mut memory = FxHashMap::default();
        for initial in &symbolic.initial {
            if let Some(value) = initial.value {
                write(&mut memory, initial.address, initial.bytes, value);
            }
        }
        let symbols = vec![None; symbolic.accesses.len()];
        Evaluation { symbolic, memory, symbols, values: FxHashMap::default() }
    }

    fn run(&mut self, run: &Run) -> Result<(), String> {
        let symbolic = self.symbolic;
        if symbolic.shadows.len() != run.trace.events.len() {
            return Err("not every event has a shadow".into());
        }
        let mut next = 0;
        for index in 0..symbolic.shadows.len() {
            let shadow = symbolic.shadows[index];
            if shadow.reads + shadow.writes > 0 && shadow.first != next {
                return Err(format!("accesses of event {index} begin at {}", shadow.first));
            }
            next += shadow.reads + shadow.writes;
            self.event(run, index).map_err(|e| format!("event {index}: {e}"))?;
            for (number, condition) in symbolic.conditions.iter().enumerate() {
                if condition.after as usize == index {
                    self.belongs(run, condition.thread, index)?;
                    let holds = self.value(condition.holds);
                    match holds.map_err(|e| format!("condition {number}: {e}"))? {
                        1 => {}
                        _ => return Err(format!("condition {number} ({:?}) fails", condition.why)),
                    }
                }
            }
        }
        if next as usize != symbolic.accesses.len() {
            return Err("some accesses belong to no event".into());
        }
        if symbolic.conditions.iter().any(|c| c.after as usize >= run.trace.events.len()) {
            return Err("a condition comes after no event".into());
        }
        match &symbolic.bug {
            Bug::Condition { thread, after, fails } => {
                self.belongs(run, *thread, *after as usize)?;
                match self.value(*fails)? {
                    1 => Ok(()),
                    _ => Err("the bug does not show".into()),
                }
            }
            Bug::Reached { thread, after } => self.belongs(run, *thread, *after as usize),
            Bug::None if run.outcome.failure().is_some() => Err("a failure without a bug".into()),
            _ => Ok(()),
        }
    }

    fn belongs(&self, run: &Run, thread: ThreadId, event: usize) -> Result<(), String> {
        match run.trace.events.get(event) {
            Some(found) if found.thread == thread => Ok(()),
            _ => Err(format!("event {event} is not of {thread:?}")),
        }
    }

    fn event(&mut self, run: &Run, index: usize) -> Result<(), String> {
        let shadow = self.symbolic.shadows[index];
        let (first, reads) = (shadow.first as usize, shadow.reads as usize);
        let accesses = &self.symbolic.accesses[first..first + reads + shadow.writes as usize];
        let recorded = Recorded::of(run, index);
        for (number, access) in accesses[..reads].iter().enumerate() {
            let value = self.read(access)?;
            recorded.agrees(access, value, recorded.old)?;
            match self.symbolic.exprs.node(access.value) {
                Node::Symbol(symbol) if symbol.0 as usize == first + number => {
                    self.symbols[first + number] = Some(value);
                }
                node => return Err(format!("read {number} returns {node:?}")),
            }
        }
        for access in &accesses[reads..] {
            let value = self.value(access.value)?;
            recorded.agrees(access, value, recorded.new)?;
            write(&mut self.memory, access.address, access.bytes, value);
        }
        Ok(())
    }

    fn read(&self, access: &Access) -> Result<u128, String> {
        if self.symbolic.exprs.bits(access.value) != 8 * access.bytes {
            return Err(format!("an access of {} bytes has another width", access.bytes));
        }
        (0..access.bytes).rev().try_fold(0, |value, i| {
            let at = access.address + u64::from(i);
            let byte = self.memory.get(&at).ok_or(format!("nobody knows the byte at {at:#x}"))?;
            Ok(value << 8 | u128::from(*byte))
        })
    }

    /// The value of an expression, all of whose symbols must have been read.
    fn value(&mut self, id: ExprId) -> Result<u128, String> {
        let exprs = &self.symbolic.exprs;
        let mut todo = vec![id];
        while let Some(&next) = todo.last() {
            let before = todo.len();
            exprs.node(next).operands(|of| {
                if !self.values.contains_key(&of) {
                    todo.push(of);
                }
            });
            if todo.len() > before {
                continue;
            }
            todo.pop();
            let value = match exprs.node(next) {
                Node::Symbol(symbol) => {
                    let value = self.symbols.get(symbol.0 as usize).copied().flatten();
                    value.ok_or(format!("symbol {} has not been read yet", symbol.0))?
                }
                _ => exprs.apply(next, |of| self.values[&of]),
            };
            self.values.insert(next, value & mask(exprs.bits(next)));
        }
        Ok(self.values[&id])
    }
}

fn write(memory: &mut FxHashMap<u64, u8>, address: u64, bytes: u8, value: u128) {
    for i in 0..bytes {
        memory.insert(address + u64::from(i), (value >> (8 * u32::from(i))) as u8);
    }
}

/// The values that an event of the trace says.
struct Recorded<'a> {
    address: u64,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
}

impl<'a> Recorded<'a> {
    fn of(run: &'a Run, index: usize) -> Recorded<'a> {
        let event = &run.trace.events[index];
        let (old, new) = match &event.kind {
            EventKind::Read { value, .. } => (Some(value), None),
            EventKind::Write { value, .. } => (None, Some(value)),
            EventKind::ReadModifyWrite { old, new, .. } => (Some(old), Some(new)),
            _ => (None, None),
        };
        let address = event.kind.location().map_or(0, |at| run.trace.address(at));
        Recorded { address, old, new }
    }

    /// Whether an access has the value that the event has at its place. Cells of our own are not in the event.
    fn agrees(&self, access: &Access, value: u128, side: Option<&Value>) -> Result<(), String> {
        let Some(recorded) = side.filter(|_| access.address < crate::SYNTHETIC) else {
            return Ok(());
        };
        let word;
        let bytes: &[u8] = match recorded {
            Value::Word(w) => {
                word = w.to_le_bytes();
                &word
            }
            Value::Bytes(bytes) => bytes,
        };
        let start = access.address.checked_sub(self.address).ok_or("an access before its event")?;
        for i in 0..access.bytes {
            let found = (value >> (8 * u32::from(i))) as u8;
            match bytes.get(start as usize + usize::from(i)) {
                Some(expected) if *expected != found => {
                    return Err(format!(
                        "byte {i} at {:#x} is {found:#x}, recorded {expected:#x}",
                        access.address
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
