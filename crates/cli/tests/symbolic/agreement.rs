//! One run's symbolic side, evaluated in the order of another run of the same program.
//!
//! As long as every condition of the model holds, each thread of the other run does the same, so that all its
//! events are the model's, at the same addresses and with the values that the model gives.

use std::collections::HashMap;

use unravel_trace::*;

/// What came of it.
pub enum Agreement {
    /// The other run left the model's path, or went further than it.
    Apart,
    /// Everything the model says came true.
    Holds,
    Wrong(String),
}

struct Comparison<'a> {
    model: &'a Run,
    symbolic: &'a Symbolic,
    memory: HashMap<u64, u8>,
    symbols: Vec<Option<u128>>,
}

/// Evaluates `model` in the order of `other`.
pub fn compare(model: &Run, other: &Run) -> Agreement {
    let symbolic = model.symbolic.as_ref().expect("a symbolic run");
    let mut memory = HashMap::new();
    for initial in &symbolic.initial {
        write(&mut memory, initial.address, initial.bytes, initial.value.expect("known here"));
    }
    let symbols = vec![None; symbolic.accesses.len()];
    let mut comparison = Comparison { model, symbolic, memory, symbols };
    comparison.follow(other).unwrap_or_else(Agreement::Wrong)
}

impl Comparison<'_> {
    fn follow(&mut self, other: &Run) -> Result<Agreement, String> {
        let mut ours: HashMap<&ThreadName, Vec<usize>> = HashMap::new();
        for (index, event) in self.model.trace.events.iter().enumerate() {
            ours.entry(self.model.trace.thread_name(event.thread)).or_default().push(index);
        }
        let mut next: HashMap<&ThreadName, usize> = HashMap::new();
        let mut fails = false;
        for (number, theirs) in other.trace.events.iter().enumerate() {
            let name = other.trace.thread_name(theirs.thread);
            let position = next.entry(name).or_default();
            let Some(&index) = ours.get(name).and_then(|events| events.get(*position)) else {
                return Ok(Agreement::Apart);
            };
            *position += 1;
            let event = &self.model.trace.events[index];
            if event.site != theirs.site || event.kind.verb() != theirs.kind.verb() {
                // Which thread wins a lock that is only tried is no condition of ours.
                return Ok(Agreement::Apart);
            }
            let step = self.event(index, other, theirs);
            match step.map_err(|e| format!("event {number} ({}): {e}", theirs.kind.verb()))? {
                Step::Left => return Ok(Agreement::Apart),
                Step::Passes => return Ok(Agreement::Holds),
                Step::Fails => fails = true,
                Step::On => {}
            }
        }
        let same_length = self.model.trace.events.len() == other.trace.events.len();
        let same_end =
            other.outcome == self.model.outcome || other.outcome.is_same_bug(&self.model.outcome);
        if fails && same_length && !same_end {
            return Err(format!("{} should end as {}", other.outcome, self.model.outcome));
        }
        Ok(Agreement::Holds)
    }

    fn event(&mut self, index: usize, other: &Run, theirs: &Event) -> Result<Step, String> {
        let event = &self.model.trace.events[index];
        let place =
            |run: &Run, event: &Event| event.kind.location().map(|at| run.trace.address(at));
        let address = place(other, theirs);
        if place(self.model, event) != address {
            return Err("another address".into());
        }
        let symbolic = self.symbolic;
        let shadow = symbolic.shadows[index];
        let (first, reads) = (shadow.first as usize, shadow.reads as usize);
        let (old, new) = match &theirs.kind {
            EventKind::Read { value, .. } => (Some(value), None),
            EventKind::Write { value, .. } => (None, Some(value)),
            EventKind::ReadModifyWrite { old, new, .. } => (Some(old), Some(new)),
            _ => (None, None),
        };
        for number in first..first + reads {
            let access = &symbolic.accesses[number];
            let value = read(&self.memory, access);
            agree("reads", access, value, old, address)?;
            self.symbols[number] = Some(value);
        }
        // What an exchange stores depends on whether it succeeds, which is a condition.
        for condition in symbolic.conditions.iter().filter(|c| c.after as usize == index) {
            if self.value(condition.holds)? != 1 {
                return Ok(Step::Left);
            }
        }
        let decided = match symbolic.bug {
            Bug::Condition { after, fails, .. } if after as usize == index => {
                Some(self.value(fails)? == 1)
            }
            _ => None,
        };
        if decided != Some(false) {
            for access in &symbolic.accesses[first + reads..first + reads + shadow.writes as usize]
            {
                let value = self.value(access.value)?;
                agree("writes", access, value, new, address)?;
                write(&mut self.memory, access.address, access.bytes, value);
            }
        }
        Ok(match decided {
            None => Step::On,
            Some(true) => Step::Fails,
            Some(false) => Step::Passes,
        })
    }

    fn value(&self, id: ExprId) -> Result<u128, String> {
        let exprs = &self.symbolic.exprs;
        if let Some(symbol) =
            exprs.symbols(id).iter().find(|s| self.symbols[s.0 as usize].is_none())
        {
            return Err(format!("symbol {} is used before it is read", symbol.0));
        }
        Ok(exprs.evaluate(id, &|symbol| self.symbols[symbol.0 as usize].expect("just seen")))
    }
}

enum Step {
    On,
    /// A condition does not hold.
    Left,
    /// The bug was decided.
    Fails,
    Passes,
}

fn read(memory: &HashMap<u64, u8>, access: &Access) -> u128 {
    let byte = |i: u8| u128::from(memory[&(access.address + u64::from(i))]);
    (0..access.bytes).rev().fold(0, |value, i| value << 8 | byte(i))
}

fn write(memory: &mut HashMap<u64, u8>, address: u64, bytes: u8, value: u128) {
    for i in 0..bytes {
        memory.insert(address + u64::from(i), (value >> (8 * u32::from(i))) as u8);
    }
}

/// Whether an access has the value that the event of the other run has there.
fn agree(
    verb: &str,
    access: &Access,
    value: u128,
    recorded: Option<&Value>,
    address: Option<u64>,
) -> Result<(), String> {
    let (Some(recorded), Some(start)) = (recorded, address) else { return Ok(()) };
    if access.address >= SYNTHETIC {
        return Ok(());
    }
    let bytes = match recorded {
        Value::Word(word) => word.to_le_bytes().to_vec(),
        Value::Bytes(bytes) => bytes.to_vec(),
    };
    for i in 0..access.bytes {
        let (found, at) = ((value >> (8 * u32::from(i))) as u8, access.address - start);
        match bytes.get(at as usize + usize::from(i)) {
            Some(expected) if *expected != found => {
                return Err(format!("{verb} {recorded}, byte {i} is {found:#x} in the model"));
            }
            _ => {}
        }
    }
    Ok(())
}
