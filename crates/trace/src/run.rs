//! The joints between rooms: what executes, what schedules, and what comes out.

use serde::{Deserialize, Serialize};

use crate::{
    Guess, Guided, Lead, Led, Note, Outcome, Paths, Place, Schedule, SiteId, Symbolic, ThreadId,
    ThreadName, Trace, VisibleSet,
};

/// What a run depends on besides its schedule.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Input {
    /// Arguments after the program's name.
    pub args: Vec<String>,
    /// Standard input; `None` is a closed one.
    pub stdin: Option<Vec<u8>>,
    pub nondet: Nondet,
    pub limits: Limits,
}

/// How far a run may go, and which rare behaviours of the system it may show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Loop iterations and calls before a run is given up as inconclusive.
    pub max_steps: u64,
    /// Condition waits may wake without a signal.
    pub spurious_wakes: bool,
    /// Timed waits may time out although others could run.
    pub early_timeouts: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_steps: 20_000_000, spurious_wakes: false, early_timeouts: false }
    }
}

/// What counts as a failure besides what always does (assertion, crash, deadlock, …).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Rules {
    /// Any exit code but 0.
    pub fail_on_exit: bool,
    /// Any other standard output than this.
    pub expect_output: Option<Vec<u8>>,
    /// A shell command that judges each run: it finds the output in the file `$UNRAVEL_STDOUT` and the exit
    /// code in `$UNRAVEL_EXIT`, and fails if the run was wrong.
    pub check: Option<String>,
    /// Two accesses to the same memory that nothing orders, one of them a write.
    pub races: bool,
}

impl Rules {
    /// Whether judging a run needs its standard output.
    pub fn need_output(&self) -> bool {
        self.expect_output.is_some() || self.check.is_some()
    }
}

/// Where the values of `__VERIFIER_nondet_*` come from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Nondet {
    Seed(u64),
    /// These values in order of the calls, then zeros.
    List(Vec<u64>),
    /// The values of each thread in order of its own calls, then zeros: for orders of threads that nobody has run yet.
    ByThread(Vec<(ThreadName, Vec<u64>)>),
}

impl Default for Nondet {
    fn default() -> Self {
        Nondet::Seed(0)
    }
}

/// How much of a run to keep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Detail {
    Outcome,
    Events,
    /// Events with expressions: [`Run::symbolic`].
    Symbolic,
    /// The same, so that each thread's part stands by itself ([`crate::ThreadTrace`]): every visible access is kept, also
    /// to what nobody else touches in this run.
    Separable,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Run {
    pub trace: Trace,
    pub schedule: Schedule,
    pub outcome: Outcome,
    /// Instructions executed.
    pub steps: u64,
    /// Sites that touched what another thread touches, if the run was to look for them; those that were visible too.
    pub learned: VisibleSet,
    /// The values that `__VERIFIER_nondet_*` returned, in order.
    pub nondet: Vec<u64>,
    /// Things the user should know (ignored signals, native state that was kept), each once.
    pub notes: Vec<Note>,
    /// Of a run that was executed with [`Detail::Symbolic`], and of imported ones.
    pub symbolic: Option<Box<Symbolic>>,
}

impl Run {
    /// How much was kept of this run.
    pub fn detail(&self) -> Detail {
        match (&self.symbolic, self.trace.events.is_empty()) {
            (Some(_), _) => Detail::Symbolic,
            (None, false) => Detail::Events,
            (None, true) => Detail::Outcome,
        }
    }

    /// The input that gives this run again: the values that `__VERIFIER_nondet_*` returned, written out.
    pub fn input(&self, input: &Input) -> Input {
        let mut input = input.clone();
        if !self.nondet.is_empty() {
            input.nondet = Nondet::List(self.nondet.clone());
        }
        input
    }
}

/// What to do in a run besides running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Want {
    pub detail: Detail,
    /// Look for sites that touch what other threads touch, and report them in [`Run::learned`].
    pub learn: bool,
    /// A thread that is back in a state it was in, having changed nothing in between, waits until another changes
    /// something: for searches that would otherwise try every number of rounds of a busy wait.
    pub prune_spins: bool,
    /// Which inputs are symbols, with [`Detail::Separable`].
    pub free: FreeInput,
}

/// Inputs that a symbolic run leaves open: its conditions are over them as over what was read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub enum FreeInput {
    #[default]
    None,
    /// What `__VERIFIER_nondet_*` returns.
    Nondet,
    /// That, and numbers that the program reads from its arguments and from standard input.
    All,
}

impl Want {
    /// So much of a run, and nothing else.
    pub fn only(detail: Detail) -> Want {
        Want { detail, learn: false, prune_spins: false, free: FreeInput::None }
    }
}

/// Runs a program under a scheduler, counting accesses at `visible` sites as events.
pub trait Executor {
    fn run(
        &mut self,
        input: &Input,
        visible: &VisibleSet,
        scheduler: &mut dyn Scheduler,
        want: Want,
    ) -> Run;

    /// Every site that could be visible.
    fn all_sites(&self) -> VisibleSet;

    /// Sites that may touch the same memory as these, as far as the source tells: the same variable, a field of the same name.
    /// Runs that never executed a site cannot tell what it shares.
    fn kin(&self, visible: &VisibleSet) -> VisibleSet {
        visible.clone()
    }

    /// Whether a crash in native code may have left this process's libraries in disorder. Further runs
    /// belong in another process.
    fn is_damaged(&self) -> bool {
        false
    }

    /// The paths of the last run, if it was executed with [`Detail::Symbolic`] and failed.
    fn paths(&self, _failed: &Outcome) -> Option<Paths> {
        None
    }

    /// Which way each thread went in the last run, if it was executed with at least [`Detail::Symbolic`], by thread.
    fn branches(&self) -> Vec<Vec<u32>> {
        Vec::new()
    }

    /// The calls that led to event `number` (counted from 1) at this site of the last run, innermost first, if its
    /// scheduler observed with [`Observes::EventsAndStacks`].
    fn stack(&self, _number: u64, _site: SiteId) -> Vec<Place> {
        Vec::new()
    }

    /// Leads every thread along its path, in an order of its own. `None` if this executor cannot.
    fn guided(
        &mut self,
        _input: &Input,
        _visible: &VisibleSet,
        _paths: &Paths,
        _guesses: &[Guess],
    ) -> Option<Guided> {
        None
    }

    /// Leads every thread along the branches it begins with, in an order of its own, and lets it go on from there. No
    /// failure is expected. `None` if this executor cannot.
    fn lead(
        &mut self,
        _input: &Input,
        _visible: &VisibleSet,
        _lead: &Lead,
        _guesses: &[Guess],
        _free: FreeInput,
    ) -> Option<Led> {
        None
    }

    /// Called in a forked process before it runs anything.
    fn after_fork(&mut self) {}
}

/// Decides which thread runs next.
pub trait Scheduler {
    /// The next decision. Asked at the start, whenever the last decision is used up or can go no
    /// further, and never with nothing enabled.
    fn next(&mut self, view: &View<'_>) -> Choice;

    /// Any other choice: a number below `options`, which is at least 2. The first option is what
    /// an ordinary system would do.
    fn choose(&mut self, _what: Question, _options: u32) -> u32 {
        0
    }

    /// The run is over; `steps` visible events were executed.
    fn finish(&mut self, _events: u64) {}

    /// Whether, and with what, [`Scheduler::observe`] is to be called. Asked once, when the run begins.
    fn observes(&self) -> Observes {
        Observes::Nothing
    }

    /// An event that is about to be executed. An alarm ends the run, before the event, as failed.
    fn observe(&mut self, _executed: &Executed<'_>) -> Option<Alarm> {
        None
    }
}

/// What a scheduler wants to be told while a run goes on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Observes {
    Nothing,
    Events,
    /// Events; and the executor keeps their stacks, so that an alarm can name an earlier one.
    EventsAndStacks,
}

/// An event as it is executed. What happens inside an atomic section carries the number of the event that began it.
#[derive(Clone, Copy, Debug)]
pub struct Executed<'a> {
    /// Counted from 1, as [`View::events`] counts.
    pub number: u64,
    pub thread: ThreadId,
    pub what: Pending,
    /// Names of all threads so far, indexed by [`ThreadId`].
    pub names: &'a [ThreadName],
}

/// What a scheduler may object to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alarm {
    /// The event and an earlier one touch the same memory, one writes, and nothing orders them.
    Race {
        /// The earlier event's number, its thread and what it did.
        earlier: u64,
        thread: ThreadId,
        what: Pending,
    },
}

/// Run `thread` for `events` visible events, or until it can go no further. No events at all: stop here, the rest of
/// this run is of no interest ([`Outcome::Discarded`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    pub thread: ThreadId,
    pub events: u32,
}

/// Choices other than "which thread".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Which of the waiting threads, longest waiting first, a signal wakes.
    Waiter,
    /// Whether a timed wait times out although others could run.
    EarlyTimeout,
    /// Whether a condition wait wakes without a signal.
    SpuriousWake,
}

/// What a scheduler sees.
#[derive(Debug)]
pub struct View<'a> {
    /// Threads that can execute their pending event, in order of creation. Never empty.
    pub enabled: &'a [Candidate],
    /// Names of all threads so far, indexed by [`ThreadId`].
    pub names: &'a [ThreadName],
    /// Who executed the last event.
    pub current: ThreadId,
    /// Why a decision is needed.
    pub why: Why,
    /// Visible events executed so far.
    pub events: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    pub thread: ThreadId,
    pub pending: Pending,
}

/// The event a thread will execute when it is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending {
    pub op: Op,
    /// Address of the location or sync object, for [`Op::Start`] of the thread's stack; 0 if there is none.
    pub address: u64,
    pub bytes: u32,
    pub site: SiteId,
    /// What else it is about: the mutex of a condition wait; for the [`Op::Release`] that sets a barrier up, how many threads
    /// meet there; for [`Op::Start`], [`Op::Exit`], [`Op::Join`],
    /// [`Op::Cancel`] and, once it is executed, [`Op::Fork`] the number of the thread; for [`Op::External`] and
    /// [`Op::Fence`] 1 if a library function may write the program's memory there. Otherwise 0.
    pub other: u64,
    /// Whether this access to memory is an atomic operation.
    pub atomic: bool,
}

/// The kind of a pending event, as far as schedulers care.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Start,
    Read,
    Write,
    Update,
    Acquire,
    AcquireShared,
    Release,
    Wait,
    Signal,
    Fork,
    Join,
    Exit,
    Cancel,
    /// The whole process ends, with all its threads.
    End,
    Alloc,
    Free,
    Fence,
    Yield,
    External,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The run begins.
    Start,
    /// The last choice is used up; the current thread could go on.
    UsedUp,
    /// The current thread cannot execute its pending event.
    Blocked,
    /// The current thread has ended.
    Ended,
    /// The current thread gave up its turn, or waits busily for others.
    Yielded,
}

impl View<'_> {
    pub fn is_enabled(&self, thread: ThreadId) -> bool {
        self.enabled.iter().any(|c| c.thread == thread)
    }

    pub fn current_is_enabled(&self) -> bool {
        self.is_enabled(self.current)
    }
}
