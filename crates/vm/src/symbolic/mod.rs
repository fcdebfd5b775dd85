//! Concolic execution: beside each concrete value an expression over what visible reads returned.
//!
//! After Symbiosis (see [`unravel_trace::Symbolic`]) and KLEE's shadow state, but never leaving the concrete
//! path: the interpreter executes as always and [`step`] looks at each instruction before it does, so that a
//! shadow of the registers and of memory follows. Accesses that are events give fresh symbols ([`access`]);
//! branches and addresses give conditions ([`conditions`]); the end of the run turns what was kept into a
//! [`unravel_trace::Symbolic`] ([`finish`], [`bug`], [`liveness`]).
//!
//! What has no expression (80-bit floats, results of most library functions) is *concretised*: a condition
//! keeps the operand at its value, and the result is a constant. Never a wrong expression: each shadow of memory
//! is compared with the bytes that are there before it is used, so that a write nobody followed ends it.
//!
//! *Not modelled*: what native code reads from shared memory, and what becomes of the text that the program
//! prints; inputs, unless they are to be symbols ([`inputs`]). Values that pass from thread to thread at sites that are
//! no events keep their expressions: the visible set is trusted to have every site whose order is not fixed by
//! synchronisation.

mod access;
mod bug;
mod calls;
mod conditions;
mod finish;
mod graph;
mod guesses;
mod guide;
mod inputs;
mod intrinsics;
mod lead;
mod liveness;
mod memory;
mod paths;
mod registers;
mod spin;
mod step;
mod threads;
mod turns;
mod ways;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use unravel_code::doom::Doom;
use unravel_trace::{Condition, Detail, ExprId, FreeInput, InputCell, Step, Want};

pub(crate) use bug::Fault;
use calls::Treatment;
use graph::Graph;
pub(crate) use guide::Guide;
use memory::MemoryShadow;
use registers::RegisterShadow;

/// One byte of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Byte {
    Known(u8),
    /// This byte of an expression, counted from the lowest.
    Part(ExprId, u8),
}

/// The symbolic side of the run that is being executed.
#[derive(Debug, Default)]
pub(crate) struct Concolic {
    on: bool,
    /// Every access that is an event is kept: [`unravel_trace::Detail::Separable`].
    separable: bool,
    /// Inputs that are symbols; only in separable runs.
    free: FreeInput,
    /// Those that were read, by the address of their cells.
    inputs: BTreeMap<u64, InputCell>,
    /// Stores that were events because of the inputs they stored.
    input_stores: u32,
    graph: Graph,
    memory: MemoryShadow,
    threads: Vec<ThreadShadow>,
    /// The symbol of a read is its index here.
    accesses: Vec<Recorded>,
    /// Memory as recorded writes explain it, and as it was before the first recorded access.
    explained: FxHashMap<u64, u8>,
    initial: FxHashMap<u64, u8>,
    conditions: Vec<Condition>,
    /// What each thread has asserted already, with the index of the condition.
    asserted: FxHashMap<(usize, ExprId), usize>,
    steps: Vec<Step>,
    /// How calls of each function without a body are followed; made once for a program.
    treatments: Vec<Treatment>,
    /// Where the program can only fail; made once, too.
    doom: Doom,
    /// What the failing access was, if an access failed.
    fault: Option<Fault>,
    /// Which way the branch goes that is being executed.
    pub direction: u32,
    /// Of a run along given paths.
    pub guide: Guide,
    /// Steps that no point began, by their number.
    pub unscheduled: Vec<u32>,
    /// Shadows of the last result handed from the program to Rust.
    returned: [Option<ExprId>; 2],
}

/// The shadow state of one thread.
#[derive(Debug, Default)]
struct ThreadShadow {
    registers: RegisterShadow,
    /// What the reads of the current instruction or library call returned: address, bytes, expression.
    seen: Vec<(u64, u8, ExprId)>,
    /// The shadow of the current library call's result.
    result: [Option<ExprId>; 2],
    /// The input that the current library call reads.
    reading: Option<inputs::Reading>,
    last_event: Option<u32>,
    /// Which way it went at each branch.
    outcomes: Vec<u32>,
    last_condition: Option<usize>,
    /// Branches without a symbol since then.
    plain_branches: u32,
    /// The address that the current instruction uses, if it is symbolic.
    address: Option<ExprId>,
    /// Of the argument it was started with, and of its result.
    argument: Option<ExprId>,
    exit: Option<ExprId>,
}

/// A read or write that an event made.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    event: u32,
    thread: usize,
    write: bool,
    address: u64,
    bytes: u8,
    /// The symbol of a read, what a write stored.
    value: ExprId,
    /// What the shadow of memory says that a read returns, for locations that turn out to be nobody else's.
    memory: ExprId,
}

impl Concolic {
    /// Forgets the last run.
    pub fn begin(&mut self, want: Want) {
        let on = want.detail >= Detail::Symbolic;
        let separable = want.detail >= Detail::Separable;
        let free = if separable { want.free } else { FreeInput::None };
        if self.on || on {
            let treatments = std::mem::take(&mut self.treatments);
            let doom = std::mem::take(&mut self.doom);
            let guide = std::mem::take(&mut self.guide);
            let fresh = Concolic::default();
            *self = Concolic { on, separable, free, treatments, doom, guide, ..fresh };
        }
    }

    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Whether inputs are symbols.
    pub fn leaves_inputs_open(&self) -> bool {
        self.free != FreeInput::None
    }

    /// The next run is led along paths.
    pub fn follow(&mut self, guide: Guide) {
        self.guide = guide;
    }

    /// Which way a thread went at each of its branches.
    pub fn outcomes(&self, thread: usize) -> &[u32] {
        self.threads.get(thread).map_or(&[], |thread| &thread.outcomes)
    }

    fn thread(&mut self, index: usize) -> &mut ThreadShadow {
        if index >= self.threads.len() {
            self.threads.resize_with(index + 1, ThreadShadow::default);
        }
        &mut self.threads[index]
    }

    /// A thread leaves a point: a step begins with what will be event number `first`.
    pub fn begin_step(&mut self, thread: unravel_trace::ThreadId, first: usize) {
        self.steps.push(Step { thread, first: first as u32, events: 0 });
    }

    /// Event number `index` was recorded.
    pub fn recorded(&mut self, thread: usize, index: usize) {
        self.thread(thread).last_event = Some(index as u32);
        // In a guided run others may have had their turn since this thread's last point.
        if self.guide.is_on() && self.steps.last().is_none_or(|s| s.thread.index() != thread) {
            self.unscheduled.push(self.steps.len() as u32);
            self.begin_step(unravel_trace::ThreadId(thread as u32), index);
        }
        if let Some(step) = self.steps.last_mut() {
            step.events += 1;
        }
    }
}
