//! Runs that nobody executed: three threads that read one variable and branch on it.

use std::sync::Arc;

use unravel_database::{Added, Database};
use unravel_files::*;
use unravel_trace::*;

/// The program that they would be of.
pub fn program() -> ProgramRef {
    ProgramRef {
        sources: vec!["loop.c".into()],
        name: "loop".into(),
        fingerprint: 0x1234,
        ..ProgramRef::default()
    }
}

/// What this thread does if it goes so: a read and a branch for each way, and its end.
pub fn part(thread: u32, path: &[u32]) -> ThreadTrace {
    let (thread, main) = (ThreadId(thread), ThreadName::main());
    let place = Place {
        function: Arc::from("f"),
        file: Arc::from("loop.c"),
        line: 3,
        column: 1,
        wrapper: false,
    };
    let (site, at) = (SiteId(5), LocationId(0));
    let event = |kind| Event { thread, site, caller: None, kind };
    let mut trace = Trace {
        threads: vec![main.clone(), main.child(1), main.child(2)],
        objects: vec![Object { name: "x".into(), address: 0x1000, bytes: 4, site: None }],
        locations: vec![Location {
            object: ObjectId(0),
            offset: 0,
            bytes: 4,
            name: "x".into(),
            shape: Shape::Unsigned,
        }],
        sites: vec![(site, Site { place, inlined_at: vec![], key: None })],
        ..Trace::default()
    };
    let mut symbolic = Symbolic { order: KnownOrder::Unknown, ..Symbolic::default() };
    for (number, way) in path.iter().enumerate() {
        let number = number as u32;
        let value = symbolic.exprs.symbol(SymbolId(number), 32);
        let way = symbolic.exprs.constant(u128::from(*way), 32);
        let holds = symbolic.exprs.compare(CompareOp::Eq, value, way);
        trace.events.push(event(EventKind::Read { at, value: Value::Bytes(Box::default()) }));
        symbolic.shadows.push(Shadow { first: number, reads: 1, writes: 0 });
        symbolic.accesses.push(Access { address: 0x1000, bytes: 4, value });
        symbolic.steps.push(Step { thread, first: number, events: 1 });
        let (why, otherwise) = (ConditionKind::Branch, Otherwise::Turns(number));
        symbolic.conditions.push(Condition { thread, after: number, holds, site, why, otherwise });
    }
    trace.events.push(event(EventKind::Exit));
    symbolic.shadows.push(Shadow { first: path.len() as u32, reads: 0, writes: 0 });
    symbolic.steps.push(Step { thread, first: path.len() as u32, events: 1 });
    if !path.is_empty() {
        symbolic.initial.push(Initial { address: 0x1000, bytes: 4, value: Some(0) });
    }
    ThreadTrace { thread, path: path.to_vec(), trace, symbolic, unscheduled: vec![] }
}

/// The sites that are visible: the set with this number.
pub fn visible(set: u32) -> VisibleSet {
    let mut visible = VisibleSet::default();
    visible.insert(SiteId(5));
    visible.insert(SiteId(100 * set));
    visible
}

/// A run of as many threads as there are paths.
#[derive(Clone, Debug)]
pub struct MadeUp {
    pub paths: Vec<Vec<u32>>,
    pub argument: u32,
    pub set: u32,
    /// Where it comes from. The thread with this number (modulo) begins.
    pub seed: u32,
}

impl MadeUp {
    pub fn new(paths: &[&[u32]], seed: u32) -> MadeUp {
        let paths = paths.iter().map(|path| path.to_vec()).collect();
        MadeUp { paths, argument: 0, set: 1, seed }
    }

    pub fn parts(&self) -> Vec<ThreadTrace> {
        self.paths.iter().enumerate().map(|(thread, path)| part(thread as u32, path)).collect()
    }

    /// The threads one after the other.
    pub fn turns(&self) -> Vec<ThreadId> {
        let threads = self.paths.len() as u32;
        let order = (0..threads).map(|i| (i + self.seed) % threads);
        let steps = |thread: u32| self.paths[thread as usize].len() + 1;
        order.flat_map(|thread| vec![ThreadId(thread); steps(thread)]).collect()
    }

    pub fn input(&self) -> Input {
        Input { args: vec![self.argument.to_string()], ..Input::default() }
    }

    pub fn add(&self, database: &mut Database) -> Added {
        let turns = self.turns();
        let segments = turns.chunk_by(|a, b| a == b);
        let schedule = Schedule {
            threads: self
                .parts()
                .first()
                .map(|part| part.trace.threads.clone())
                .unwrap_or_default(),
            segments: segments
                .map(|turns| Segment { thread: turns[0].0, events: turns.len() as u32 })
                .collect(),
            choices: vec![],
            visible: visible(self.set),
        };
        let from = format!("seed {}", self.seed);
        let added = database.add(self.parts(), turns, schedule, self.input(), from);
        added.expect("the run can be added")
    }
}
