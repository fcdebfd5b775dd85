//! Tiny programs and a machine that executes them: what is true of a folder that was recorded from them.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use unravel_trace::Rng;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value {
    Number(i64),
    Text(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Test {
    Is(Value),
    Less(i64),
}

impl Test {
    fn holds(self, value: Value) -> bool {
        match (self, value) {
            (Test::Is(wanted), value) => wanted == value,
            (Test::Less(limit), Value::Number(value)) => value < limit,
            (Test::Less(_), Value::Text(_)) => panic!("strings have no order"),
        }
    }
}

pub type Variable = &'static str;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    Write(Variable, Value),
    /// A read, then a write of the sum: not atomic.
    Add(Variable, i64),
    If(Variable, Test, Vec<Op>, Vec<Op>),
    Lock(u32),
    Unlock(u32),
    Fork(&'static str),
    Join(&'static str),
    Assert(Variable, Test),
    /// The second half of an addition: the value, and how the trace has it.
    Store(Variable, i64, String),
}

/// By the number of a thread; `0` is the main one. An assertion is the last operation of its thread.
pub type Program = BTreeMap<&'static str, Vec<Op>>;

/// What a thread has done: what its file will say.
#[derive(Clone, Default, Debug)]
pub struct Told {
    pub lines: Vec<String>,
    pub conditions: Vec<String>,
    pub bits: String,
    /// It came to an assertion, and whether that held.
    pub held: Option<bool>,
    reads: BTreeMap<Variable, u32>,
}

#[derive(Clone, Debug)]
struct Thread {
    begun: bool,
    started: bool,
    ended: bool,
    todo: VecDeque<Op>,
    told: Told,
}

#[derive(Clone, Debug)]
pub struct Machine {
    threads: BTreeMap<&'static str, Thread>,
    memory: BTreeMap<Variable, Value>,
    locks: BTreeMap<u32, &'static str>,
    pub failed: bool,
}

impl Machine {
    pub fn new(program: &Program) -> Machine {
        let thread = |(id, ops): (&&'static str, &Vec<Op>)| {
            let thread = Thread {
                begun: *id == "0",
                started: false,
                ended: false,
                todo: ops.iter().cloned().collect(),
                told: Told::default(),
            };
            (*id, thread)
        };
        let threads = program.iter().map(thread).collect();
        Machine { threads, memory: BTreeMap::new(), locks: BTreeMap::new(), failed: false }
    }

    /// Who can go on.
    pub fn ready(&self) -> Vec<&'static str> {
        let can = |(id, thread): &(&&'static str, &Thread)| {
            thread.begun
                && !thread.ended
                && match thread.todo.front().filter(|_| thread.started) {
                    Some(Op::Lock(lock)) => self.locks.get(lock).is_none_or(|by| by == *id),
                    Some(Op::Join(child)) => self.threads[child].ended,
                    _ => true,
                }
        };
        self.threads.iter().filter(can).map(|(id, _)| *id).collect()
    }

    pub fn is_over(&self) -> bool {
        self.failed || self.ready().is_empty()
    }

    pub fn told(&self) -> BTreeMap<&'static str, &Told> {
        let begun = self.threads.iter().filter(|(_, thread)| thread.started);
        begun.map(|(id, thread)| (*id, &thread.told)).collect()
    }

    /// Which way each thread went, without how its assertion ended.
    pub fn paths(&self) -> BTreeMap<&'static str, String> {
        self.told().into_iter().map(|(id, told)| (id, path(told))).collect()
    }

    /// One event of a thread that is ready.
    pub fn step(&mut self, id: &'static str) {
        let thread = self.threads.get_mut(id).expect("a thread of the program");
        // A line for each operation, so that places differ.
        let line = 10 + thread.told.lines.len();
        let file = format!("p{}.java@{line}:", id.replace('.', "_"));
        let say =
            |thread: &mut Thread, what: String| thread.told.lines.push(format!("{file}{what}"));
        if !thread.started {
            thread.started = true;
            return say(thread, format!("S-start-{id}"));
        }
        let Some(op) = thread.todo.pop_front() else {
            thread.ended = true;
            return say(thread, format!("S-exit-{id}"));
        };
        match op {
            Op::Write(variable, value) => {
                self.memory.insert(variable, value);
                let text = match value {
                    Value::Number(number) => number.to_string(),
                    Value::Text(text) => text.to_owned(),
                };
                say(thread, format!("W-{variable}-{id}-1\n${text}$"));
            }
            Op::Store(variable, value, text) => {
                self.memory.insert(variable, Value::Number(value));
                say(thread, format!("W-{variable}-{id}-1\n${text}$"));
            }
            Op::Add(variable, number) => {
                let (symbol, value) = read(thread, &self.memory, &file, id, variable);
                let Value::Number(old) = value else { panic!("strings have no sums") };
                let text = format!("({symbol} + CONST_{number})");
                thread.todo.push_front(Op::Store(variable, old + number, text));
            }
            Op::If(variable, test, then, other) => {
                let (symbol, value) = read(thread, &self.memory, &file, id, variable);
                let holds = test.holds(value);
                decide(thread, id, &symbol, test, holds);
                let ops = if holds { then } else { other };
                for op in ops.into_iter().rev() {
                    thread.todo.push_front(op);
                }
            }
            Op::Assert(variable, test) => {
                let (symbol, value) = read(thread, &self.memory, &file, id, variable);
                let holds = test.holds(value);
                decide(thread, id, &symbol, test, holds);
                thread.told.held = Some(holds);
                self.failed = !holds;
            }
            Op::Lock(lock) => {
                self.locks.insert(lock, id);
                say(thread, format!("S-lock_{lock}-{id}"));
            }
            Op::Unlock(lock) => {
                self.locks.remove(&lock);
                say(thread, format!("S-unlock_{lock}-{id}"));
            }
            Op::Fork(child) => {
                say(thread, format!("S-fork_{child}-{id}"));
                self.threads.get_mut(child).expect("a thread").begun = true;
            }
            Op::Join(child) => say(thread, format!("S-join_{child}-{id}")),
        }
    }

    pub fn run_at_random(mut self, rng: &mut Rng) -> Machine {
        while !self.is_over() {
            let ready = self.ready();
            let id = *rng.pick(&ready);
            self.step(id);
        }
        self
    }
}

fn path(told: &Told) -> String {
    let decided = told.bits.len() - usize::from(told.held.is_some());
    told.bits[..decided].to_owned()
}

fn read(
    thread: &mut Thread,
    memory: &BTreeMap<Variable, Value>,
    file: &str,
    id: &str,
    variable: Variable,
) -> (String, Value) {
    let count = thread.told.reads.entry(variable).or_default();
    *count += 1;
    let symbol = format!("R-{variable}-{id}-{count}");
    thread.told.lines.push(format!("{file}{symbol}"));
    (symbol, memory[variable])
}

fn decide(thread: &mut Thread, id: &str, symbol: &str, test: Test, holds: bool) {
    let (operator, value) = match (test, holds) {
        (Test::Is(Value::Number(number)), true) => ("==", number.to_string()),
        (Test::Is(Value::Number(number)), false) => ("!=", number.to_string()),
        (Test::Is(Value::Text(text)), true) => ("==", text.to_owned()),
        (Test::Is(Value::Text(text)), false) => ("!=", text.to_owned()),
        (Test::Less(limit), true) => ("<", limit.to_string()),
        (Test::Less(limit), false) => (">=", limit.to_string()),
    };
    thread.told.lines.push(format!("branch-{id}"));
    thread.told.conditions.push(format!("T{id}:({symbol} {operator} CONST_{value} )"));
    thread.told.bits.push(if holds { '1' } else { '0' });
}

/// The paths of all failing executions; `None` if there are too many states to look at.
pub fn failing_paths(program: &Program) -> Option<BTreeSet<BTreeMap<&'static str, String>>> {
    let mut seen: HashSet<String> = HashSet::new();
    let mut todo = vec![Machine::new(program)];
    let mut found = BTreeSet::new();
    while let Some(machine) = todo.pop() {
        let threads: Vec<_> = machine
            .threads
            .values()
            .map(|t| (t.begun, t.started, t.ended, &t.todo, &t.told.bits))
            .collect();
        if !seen.insert(format!("{:?}", (threads, &machine.memory, &machine.locks))) {
            continue;
        }
        if seen.len() > 30_000 {
            return None;
        }
        if machine.failed {
            found.insert(machine.paths());
            continue;
        }
        for id in machine.ready() {
            let mut next = machine.clone();
            next.step(id);
            todo.push(next);
        }
    }
    Some(found)
}
