//! What a run depends on, how much of it is kept, and what comes out.

use serde::{Deserialize, Serialize};

use crate::{
    Deviated, FailureKind, Forced, Note, Outcome, Place, Rng, Schedule, SiteId, Symbolic,
    ThreadName, ThreadPath, Trace, VisibleSet,
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
    /// Where the environment deviates, besides where the schedule has it.
    pub forced: Vec<Forced>,
    /// Functions that nobody defines and that do nothing: they return any value.
    pub stubs: Vec<String>,
}

/// How far a run may go, and what the system is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Loop iterations and calls before a run is given up as inconclusive.
    pub max_steps: u64,
    /// How many allocations of a run may fail.
    pub malloc_fails: u32,
    pub uninit: Uninit,
    /// A mutex may be unlocked by whoever wants to and destroyed while it is locked, with what an ordinary system makes of it,
    /// which is more than POSIX allows.
    pub lenient_locks: bool,
}

/// What memory holds that the program has not written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Uninit {
    /// This, in every byte.
    pub pattern: u8,
    /// To read it, where it matters, is a failure.
    pub fails: bool,
}

impl Uninit {
    /// As a number it is large, or negative; as an address nobody's.
    pub const PATTERN: u8 = 0xbe;
}

impl Default for Uninit {
    fn default() -> Self {
        Uninit { pattern: Uninit::PATTERN, fails: false }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_steps: 20_000_000,
            malloc_fails: 0,
            uninit: Uninit::default(),
            lenient_locks: false,
        }
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
    /// Whether the user says what counts: then differing exit codes tell nothing more.
    pub fn judge_runs(&self) -> bool {
        self.fail_on_exit || self.need_output()
    }

    /// These rules, and that a failure of this kind is one wherever it is replayed.
    pub fn with(&self, kind: FailureKind) -> Rules {
        let fail_on_exit = self.fail_on_exit || kind == FailureKind::ExitCode;
        Rules { fail_on_exit, ..self.clone() }
    }

    /// Whether judging a run needs its standard output.
    pub fn need_output(&self) -> bool {
        self.expect_output.is_some() || self.check.is_some()
    }
}

/// Where the values of `__VERIFIER_nondet_*` come from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Nondet {
    Seed(u64),
    /// These values in order of the calls, then others, always the same. (Not zeros: a run that leaves the one whose values these are would
    /// hardly ever end where a loop asks whether to go on.)
    List(Vec<u64>),
    /// The values of each thread in order of its own calls, then others: for orders of threads that nobody has run yet.
    ByThread(Vec<(ThreadName, Vec<u64>)>),
}

impl Nondet {
    /// A value that nobody said. Mostly small numbers: programs compare them with small constants. Sometimes any.
    pub fn drawn(random: &mut Rng) -> u64 {
        match random.word() % 8 {
            0 => random.word(),
            1 => 0u64.wrapping_sub(random.word() % 16),
            _ => random.word() % 16,
        }
    }
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

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
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
    /// What memory held that nobody had written ([`Uninit::pattern`]).
    pub uninit: u8,
    /// Where the environment deviated, in order.
    pub deviated: Vec<Deviated>,
    /// The environment could have deviated in this run, or more often than it did.
    pub could_deviate: bool,
    /// Things the user should know (ignored signals, native state that was kept), each once.
    pub notes: Vec<Note>,
    /// Of a run that was executed with [`Detail::Symbolic`], and of imported ones.
    pub symbolic: Option<Box<Symbolic>>,
    /// By thread the way it went, of a run that was executed with at least [`Detail::Symbolic`]. Not kept in files.
    #[serde(skip)]
    pub paths: Vec<ThreadPath>,
    /// What the program wrote to its standard output, if that was wanted. Not kept in files.
    #[serde(skip)]
    pub output: Option<Vec<u8>>,
    /// The stacks of its events, if they were wanted. Not kept in files.
    #[serde(skip)]
    pub stacks: Stacks,
    /// What it left behind, if that was wanted and it came to its end. Not kept in files.
    #[serde(skip)]
    pub finals: Option<Finals>,
}

/// What a run leaves behind besides its output.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Finals {
    /// The program's own global variables: the name of each, and a hash of the numbers in it. Addresses are left out: they may be
    /// others in a program that does the same.
    pub globals: Vec<(String, u64)>,
    /// Objects on the heap that nobody has freed.
    pub heap_objects: u64,
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

    /// By thread which way it went at its branches, if the run was executed with at least [`Detail::Symbolic`].
    pub fn branches(&self) -> Vec<Vec<u32>> {
        self.paths.iter().map(|path| path.outcomes.clone()).collect()
    }

    /// The input that gives this run again: the values that `__VERIFIER_nondet_*` returned, and where the environment
    /// deviated, written out.
    pub fn input(&self, input: &Input) -> Input {
        let mut input = input.clone();
        if !self.nondet.is_empty() {
            input.nondet = Nondet::List(self.nondet.clone());
        }
        input.limits.uninit.pattern = self.uninit;
        crate::deviation::force(&mut input, &self.deviated, &self.schedule.threads);
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
    /// A thread that waits busily is not offered to the scheduler while others can go on and nothing has changed, and nobody is asked
    /// between rounds of library code that waits so: for searches. Unlike [`Want::prune_spins`] it only takes decisions away.
    pub skip_rounds: bool,
    /// With [`Want::prune_spins`]: says when a thread is back in a state it was in ([`crate::Why::Waits`]), asks nobody before a
    /// `sched_yield` or its like, and tells states apart by what the thread will look at. For searches that take a busy wait
    /// for a wait.
    pub awaits: bool,
    /// Which inputs are symbols, with [`Detail::Separable`].
    pub free: FreeInput,
    /// Keep the calls that led to each event, in [`Run::stacks`].
    pub stacks: bool,
    /// Keep what the program writes to its standard output, in [`Run::output`], instead of letting it pass.
    pub output: bool,
    /// Races do not end the run, though they are failures.
    pub past_races: bool,
    /// Keep what the run leaves behind, in [`Run::finals`].
    pub finals: bool,
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
        Want {
            detail,
            learn: false,
            prune_spins: false,
            skip_rounds: false,
            awaits: false,
            free: FreeInput::None,
            stacks: false,
            output: false,
            past_races: false,
            finals: false,
        }
    }
}

/// The calls that led to the events of a run. Most events have the stack of an earlier one: each is kept once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stacks {
    /// Each with the site it ends at; innermost call first.
    pub stacks: Vec<(SiteId, Vec<Place>)>,
    /// The number of an event (counted from 1), and its stack; ascending. An atomic section is several entries.
    pub of: Vec<(u64, u32)>,
}

impl Stacks {
    /// The stack of event `number` at this site, innermost call first. Empty if it was not kept.
    pub fn get(&self, number: u64, site: SiteId) -> &[Place] {
        let first = self.of.partition_point(|(event, _)| *event < number);
        let same = self.of[first..].iter().take_while(|(event, _)| *event == number);
        let stacks = same.map(|(_, stack)| &self.stacks[*stack as usize]);
        let at_site = stacks.clone().find(|stack| stack.0 == site);
        at_site.or_else(|| stacks.clone().next()).map_or(&[], |stack| &stack.1)
    }
}
