//! The constraint model: what every order of the recorded steps has to obey (design §6).
//!
//! Built once from a symbolic trace. Addresses become *cells*: the coarsest parts of memory such that every access
//! covers whole cells. Each step becomes a short straight-line program of [`Op`]s; an order of steps is feasible
//! if the programs can be executed in that order without blocking and with every [`Op::Check`] true.
//!
//! Where the recorded run was cut at its failure, the last step of each thread releases the locks that the thread
//! still holds (an [`Op::Release`] that no event made), or reordering would block. Not after a deadlock: there the
//! locks that are held are the point. When the thread would have released them nobody knows: until another takes
//! such a lock, a trylock of it may fail as well.
//!
//! *Not modelled*: what a thread does once it leaves its recorded path; cancellation; `SyncInit` and `SyncDestroy`
//! of locks and condition variables; which thread a barrier calls the last; futexes. Memory is sequentially
//! consistent.
//!
//! After Symbiosis (§3.3), whose formula is path ∧ bug ∧ sync ∧ rw ∧ mo over the traces of all threads. Deviates: steps, not
//! single operations, are what is ordered; reads-from is byte-wise, over cells; the model is also what [`crate::Evaluator`]
//! walks, so that a formula is written only where something has to be searched or proved. Errs towards too few orders: what
//! leaves the recorded path is left out.

mod build;
mod candidates;
mod cells;
mod clocks;
mod conflicts;
mod initial;
mod sections;
mod slices;
mod sync;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use unravel_trace::{
    Bug, Condition, ExprId, Exprs, KnownOrder, LocationId, SymbolId, SyncState, ThreadId, WakeCause,
};

use clocks::Clocks;
use slices::Slices;

/// A step, by its place in the recorded run: [`unravel_trace::Symbolic::steps`], then one for each blocked request
/// of a deadlock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct StepId(pub u32);

impl StepId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A part of memory that is always accessed as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Cell(pub u32);

impl Cell {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A sync object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SyncId(pub u32);

impl SyncId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One cell of one read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SlotId(pub u32);

impl SlotId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A condition of the recorded path; indexes [`unravel_trace::Symbolic::conditions`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CheckId(pub u32);

impl CheckId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One cell of one read: `bytes` bytes of the symbol from byte `offset` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadSlot {
    pub step: StepId,
    /// Index into the trace's events.
    pub event: u32,
    pub symbol: SymbolId,
    pub cell: Cell,
    pub offset: u8,
    pub bytes: u8,
}

/// One cell of one write: `bytes` bytes of the expression from byte `offset` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteSlot {
    pub step: StepId,
    pub event: u32,
    pub value: ExprId,
    pub cell: Cell,
    pub offset: u8,
    pub bytes: u8,
}

/// Where a read slot gets its value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Source {
    /// Memory as it was before the run.
    Initial,
    /// Index into [`Model::writes`].
    Write(u32),
}

/// What a step does, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Read(SlotId),
    /// Index into [`Model::writes`].
    Write(u32),
    /// Waits until the lock is free for this.
    Acquire {
        lock: SyncId,
        shared: bool,
    },
    Release {
        lock: SyncId,
    },
    /// Does not wait; the recorded result must be the one that the state gives.
    TryAcquire {
        lock: SyncId,
        shared: bool,
        acquired: bool,
    },
    /// Begins to wait on a condition variable; the release of the mutex is an op of its own before it.
    Wait {
        cond: SyncId,
        /// It ends by a timeout: no signal reaches it, since the timeout may come before any.
        gives_up: bool,
    },
    /// Ends waiting; the re-acquisition is an op of its own after it. Waits for a signal if it was one that woke.
    Wake {
        cond: SyncId,
        by: WakeCause,
    },
    /// Wakes one that waits, if any: the recorded one where it waits, else the one that waits longest.
    Signal {
        cond: SyncId,
        recorded: Option<ThreadId>,
    },
    Broadcast {
        cond: SyncId,
    },
    SemInit {
        semaphore: SyncId,
        value: u32,
    },
    SemAcquire {
        semaphore: SyncId,
    },
    SemTryAcquire {
        semaphore: SyncId,
        acquired: bool,
    },
    SemPost {
        semaphore: SyncId,
    },
    BarrierInit {
        barrier: SyncId,
        count: u32,
    },
    Arrive {
        barrier: SyncId,
    },
    Leave {
        barrier: SyncId,
    },
    /// Waits while another thread runs the initialiser; `won` must be what the state gives.
    OnceEnter {
        once: SyncId,
        won: bool,
    },
    OnceDone {
        once: SyncId,
    },
    Fork {
        child: ThreadId,
    },
    /// Waits for the fork of its thread.
    Start,
    Exit,
    /// Waits for the exit of the thread.
    Join {
        child: ThreadId,
    },
    /// A condition of the path: it must hold. Its reads may be other threads' (imported traces): then it is
    /// decided when the last of them has its value.
    Check(CheckId),
    /// The bug condition is decided; as for checks, its reads may be other threads'.
    Bug,
    /// A request that nothing here can grant.
    Never,
}

/// Whether a step was executed in the recorded run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    Executed,
    /// A blocked request of a deadlock.
    Request,
}

/// What a sync object is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum SyncFamily {
    /// Mutexes, spin locks and rwlocks.
    Lock,
    Cond,
    Semaphore,
    Barrier,
    Once,
}

/// A sync object and all that is done with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyncObject {
    pub family: SyncFamily,
    pub at: LocationId,
    /// When recording began: the holders of a lock, the value of a semaphore, the count of a barrier, whether a
    /// once is done. Empty for a free lock and for what was not set up yet.
    pub initial: Vec<SyncState>,
    /// In the order of the steps, requests included.
    pub ops: Vec<(StepId, Op)>,
    /// Of locks: only those who hold it release it, so that its sections exclude each other.
    pub regular: bool,
}

/// From the acquisition of a lock to its release. The outermost pair of a recursive mutex; a condition wait ends
/// one section and begins another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    pub lock: SyncId,
    pub thread: ThreadId,
    pub shared: bool,
    /// `None`: held when recording began.
    pub acquire: Option<StepId>,
    /// `None`: never released, not even synthetically.
    pub release: Option<StepId>,
    /// No event released it: the trace was cut first. From `release` on, nobody knows when: another thread may
    /// take the lock, and until one does, a trylock may still fail.
    pub synthetic: bool,
}

/// The trace cannot be modelled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ModelError {
    #[error("the run did not fail")]
    NoFailure,
    #[error("the trace has no symbolic part")]
    NotSymbolic,
    #[error("the symbolic trace contradicts itself: {0}")]
    Contradiction(String),
}

/// The model of one failing run.
#[derive(Clone, Debug)]
pub struct Model {
    /// Another for every model; a clone is the same model until it is changed.
    pub(crate) id: u64,
    pub(crate) threads: Vec<Vec<StepId>>,
    pub(crate) owner: Vec<ThreadId>,
    /// By step: its place among the steps of its thread.
    pub(crate) place: Vec<u32>,
    pub(crate) kinds: Vec<StepKind>,
    /// The events of each step; empty for requests.
    pub(crate) events: Vec<Range<u32>>,
    pub(crate) step_of_event: Vec<StepId>,
    /// Steps with events that the outside world sees.
    pub(crate) external: Vec<bool>,
    /// The ops of each step: a range of `ops`.
    pub(crate) programs: Vec<Range<u32>>,
    pub(crate) ops: Vec<Op>,
    /// By thread: from this op on, its last step releases what no event released.
    pub(crate) synthetic: Vec<u32>,
    pub(crate) reads: Vec<ReadSlot>,
    /// By symbol: a range of `reads`; empty for accesses that are writes.
    pub(crate) slots: Vec<Range<u32>>,
    pub(crate) writes: Vec<WriteSlot>,
    /// Address and size.
    pub(crate) cells: Vec<(u64, u8)>,
    pub(crate) cell_reads: Vec<Vec<u32>>,
    pub(crate) cell_writes: Vec<Vec<u32>>,
    /// The same, thread by thread.
    pub(crate) cell_writes_by_thread: Vec<Vec<u32>>,
    /// By cell: its value before the run, `None` if unknown.
    pub(crate) initial: Vec<Option<u128>>,
    pub(crate) exprs: Exprs,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) bug: Bug,
    pub(crate) bug_step: Option<StepId>,
    pub(crate) syncs: Vec<SyncObject>,
    pub(crate) sections: Vec<Section>,
    /// By event: a range of `held`, the sections it lies in.
    pub(crate) locksets: Vec<Range<u32>>,
    pub(crate) held: Vec<u32>,
    pub(crate) clocks: Clocks,
    pub(crate) slices: Slices,
    pub(crate) order: KnownOrder,
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Model {
    /// The number of steps, requests included.
    pub fn len(&self) -> usize {
        self.owner.len()
    }

    pub fn is_empty(&self) -> bool {
        self.owner.is_empty()
    }

    pub fn steps(&self) -> impl ExactSizeIterator<Item = StepId> + DoubleEndedIterator + use<> {
        (0..self.owner.len() as u32).map(StepId)
    }

    pub fn owner(&self, step: StepId) -> ThreadId {
        self.owner[step.index()]
    }

    pub fn kind(&self, step: StepId) -> StepKind {
        self.kinds[step.index()]
    }

    pub fn is_request(&self, step: StepId) -> bool {
        self.kind(step) == StepKind::Request
    }

    pub fn program(&self, step: StepId) -> &[Op] {
        &self.ops[self.op_range(step)]
    }

    /// The places of its ops among all ops of the model.
    pub fn op_range(&self, step: StepId) -> Range<usize> {
        let range = &self.programs[step.index()];
        range.start as usize..range.end as usize
    }

    /// The number of threads; some may have no steps.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The steps of a thread in program order, its request last.
    pub fn thread_steps(&self, thread: ThreadId) -> &[StepId] {
        self.threads.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    /// The place of a step among those of its thread.
    pub fn place(&self, step: StepId) -> usize {
        self.place[step.index()] as usize
    }

    /// Indexed by [`SlotId`].
    pub fn reads(&self) -> &[ReadSlot] {
        &self.reads
    }

    pub fn read(&self, slot: SlotId) -> &ReadSlot {
        &self.reads[slot.index()]
    }

    pub fn writes(&self) -> &[WriteSlot] {
        &self.writes
    }

    pub fn write(&self, index: u32) -> &WriteSlot {
        &self.writes[index as usize]
    }

    pub fn cells(&self) -> impl ExactSizeIterator<Item = Cell> + use<> {
        (0..self.cells.len() as u32).map(Cell)
    }

    /// Where a cell begins, and its bytes.
    pub fn cell_range(&self, cell: Cell) -> (u64, u8) {
        self.cells[cell.index()]
    }

    /// Indices into [`Model::writes`], in the order of the steps.
    pub fn writes_of(&self, cell: Cell) -> &[u32] {
        &self.cell_writes[cell.index()]
    }

    /// Indices of [`Model::reads`], in the order of the steps.
    pub fn reads_of(&self, cell: Cell) -> &[u32] {
        &self.cell_reads[cell.index()]
    }

    /// The value of a cell before the run; `None` if unknown, which evaluates as 0.
    pub fn initial(&self, cell: Cell) -> Option<u128> {
        self.initial[cell.index()]
    }

    /// Fixes an unknown initial value, as a solver found it. Before an evaluator is made.
    pub fn set_initial(&mut self, cell: Cell, value: u128) {
        let bits = self.cells[cell.index()].1 * 8;
        self.initial[cell.index()] = Some(value & unravel_trace::mask(bits));
        self.id = next_id();
    }

    pub fn exprs(&self) -> &Exprs {
        &self.exprs
    }

    /// Indexed by [`CheckId`].
    pub fn checks(&self) -> &[Condition] {
        &self.conditions
    }

    pub fn check(&self, check: CheckId) -> &Condition {
        &self.conditions[check.index()]
    }

    pub fn bug(&self) -> &Bug {
        &self.bug
    }

    /// What is true where the run fails.
    pub fn bug_condition(&self) -> Option<ExprId> {
        match self.bug {
            Bug::Condition { fails, .. } => Some(fails),
            _ => None,
        }
    }

    /// The step after which the bug is decided; `None` for deadlocks and what only execution can tell.
    pub fn bug_step(&self) -> Option<StepId> {
        self.bug_step
    }

    pub fn is_deadlock(&self) -> bool {
        matches!(self.bug, Bug::Deadlock { .. })
    }

    /// The events of a step, as indices into the trace.
    pub fn events_of(&self, step: StepId) -> Range<u32> {
        self.events[step.index()].clone()
    }

    pub fn step_of_event(&self, event: u32) -> StepId {
        self.step_of_event[event as usize]
    }

    /// The slots that make up a symbol, lowest bytes first: consecutive indices into [`Model::reads`].
    pub fn slots_of(&self, symbol: SymbolId) -> Range<u32> {
        self.slots.get(symbol.0 as usize).cloned().unwrap_or_default()
    }

    /// Indexed by [`SyncId`].
    pub fn syncs(&self) -> &[SyncObject] {
        &self.syncs
    }

    pub fn sync(&self, id: SyncId) -> &SyncObject {
        &self.syncs[id.index()]
    }

    /// All sections of all locks, thread by thread.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The recorded order, requests last; `None` if it is not known.
    pub fn observed(&self) -> Option<Vec<StepId>> {
        (self.order == KnownOrder::Observed).then(|| self.steps().collect())
    }
}
