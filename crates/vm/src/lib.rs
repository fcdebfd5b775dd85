//! Room `vm`: `Program` × `Scheduler` → `Run`, deterministically.
//!
//! An interpreter with green threads, in the manner of Miri and KLEE. Memory model: sequential
//! consistency. Same program, input, visible set and scheduler decisions → the same run, to the byte.
//!
//! - `machine.rs` is the state of a run, with the reason that sharing it between fibers is sound; `handle.rs` is how they reach it.
//!   `interpret.rs` is the loop, `call.rs` enters and leaves functions, `thread.rs` is a green thread.
//! - `access.rs` and `point.rs` are where the scheduler decides; `sharing.rs` learns what is shared, `sites.rs` lists the sites.
//! - `engine.rs` runs compiled code in between, where a function is worth it.
//! - `follow.rs` lets threads keep to recorded routes.
//! - `memory.rs` is the arena. `sync.rs` and `models/` are the library functions that schedule, block, allocate or share, a file a
//!   family; `native.rs` is all others, through `interface.rs` (libffi), with `host.rs` for what they share with this process,
//!   `put_back.rs` for what they change about it, `handover.rs` for the memory they get, `native_heap.rs` for what they allocate, `guard.rs` for crashes in them, `watchdog.rs` for calls that do not come back,
//!   `foreign.rs` for threads that they start. `resolve.rs` says which function is which. `assembly.rs` is inline assembly.
//!   `delivery.rs` is how signals arrive, `whereabouts.rs` where a run is that comes to no end, `busy.rs` which functions take its instructions.
//! - `record.rs` keeps events, `stacks.rs` their stacks, `capture.rs` the output, `failure.rs` puts failures into words.
//! - `symbolic/` is the concolic shadow: an expression beside each value, in runs that ask for it; also guided runs (`guide.rs`),
//!   those that go on freely (`lead.rs`), and inputs as symbols (`inputs.rs`).
//!
//! # How runs repeat
//!
//! - **One arena at a fixed address** holds globals, stacks and heap, so pointers have the same values in every run.
//!   What native libraries allocate for the program has a heap at a fixed address, too, and address randomisation is
//!   switched off for the libraries themselves (the tool starts itself anew without it).
//! - **Regions per thread.** Each thread slot allocates from its own heap region and has its own stack, so an address
//!   does not depend on how the allocations of threads interleave. Threads are named by birth: `T0`, its third child `T0.3`.
//! - **Points.** A thread stops only *before* an event, with that event pending; nothing else runs between the decision and
//!   the event. A lock is one event. A blocked thread is one whose pending event cannot be executed.
//! - **The visible set.** Sync operations are always visible; a memory access only if its site touches what two threads touch.
//!   Which sites do, runs teach that look for it and may switch at any access.
//! - **Virtual time and randomness.** Clocks advance by sleeping and by being read; `rand` starts the same in every run.
//! - **Reset in process.** Between runs the machine restores globals, stacks, heap, `stdin`, `errno`, `optind` and open
//!   files, instead of starting a process. Other processes are forked copies, because a process has room for one arena.
//!   Machines may follow each other in it: the next one finds it empty.
//!
//! Outside this promise: functions called natively see the real file system and environment. How *searches* repeat is said in
//! `explore`.
//!
//! Not modelled: weak memory, signals from outside, processes, the file system's own races.

mod access;
mod arith;
mod assembly;
mod awaits;
mod budgets;
mod busy;
mod call;
mod capture;
mod clock;
mod delivery;
mod engine;
mod error;
mod failure;
mod finals;
mod follow;
mod foreign;
mod guard;
mod handle;
mod handover;
mod host;
mod interface;
mod interpret;
mod machine;
mod memory;
mod models;
mod native;
mod native_heap;
mod point;
mod pure;
mod put_back;
mod record;
mod resolve;
mod sharing;
mod site_tables;
mod sites;
mod spin_rounds;
mod stacks;
mod states;
mod symbolic;
mod sync;
mod thread;
mod undefined;
mod watchdog;
mod whereabouts;

use std::sync::Arc;

use unravel_code::Program;
use unravel_trace::{
    Busiest, Capabilities, EngineError, Executor, Followed, Guess, Guide, Guided, Health, Job,
    Lead, Led, Observer, Paths, Route, Run, Scheduler, SiteTable, Whereabouts, user_place,
};

pub use budgets::budgets;
pub use engine::{Engine, When};
pub use error::VmError;

/// What stays the same for all runs of a machine.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `argv[0]`.
    pub program_name: String,
    /// Native libraries to load, as after `-l`.
    pub libraries: Vec<String>,
    pub engine: Engine,
}

/// A virtual machine for one program. A process can have one at a time, because the program's memory is at a
/// fixed address; use forked processes for more. What a program did to this process by native functions, the
/// machines after it find: those after [`Health::Damaged`] belong in another process.
pub struct Vm {
    machine: machine::OwnedMachine,
    sites: SiteTable,
    /// The route that was last followed, in terms of lowered code.
    plan: Option<Arc<follow::Plan>>,
}

impl Vm {
    pub fn new(mut program: Program, options: Options) -> Result<Vm, VmError> {
        sites::name_sites(&mut program, &options.program_name);
        let sites = sites::sites(&program);
        Ok(Vm { machine: machine::OwnedMachine::new(program, options)?, sites, plan: None })
    }

    pub fn program(&self) -> &Program {
        &self.machine.program
    }

    /// How many functions have been compiled so far.
    pub fn compiled_functions(&self) -> usize {
        self.machine.compiled_functions()
    }
}

impl Executor for Vm {
    fn run(
        &mut self,
        job: &Job<'_>,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
    ) -> Result<Run, EngineError> {
        self.machine.run(job, by, seen)
    }

    fn name(&self) -> &'static str {
        "machine"
    }

    fn sites(&self) -> &SiteTable {
        &self.sites
    }

    fn can(&self) -> Capabilities {
        Capabilities::all()
    }

    fn guide(&mut self) -> Option<&mut dyn Guide> {
        Some(self)
    }

    fn health(&self) -> Health {
        match self.machine.damaged || self.machine.stained {
            true => Health::Damaged,
            false => Health::Good,
        }
    }

    fn rest(&mut self) {
        self.machine.natives.give_back_descriptors();
    }

    fn after_fork(&mut self) {
        guard::forget_thread();
        watchdog::start();
        self.machine.natives.forget_input();
    }

    fn whereabouts(&self) -> Option<Whereabouts> {
        let (site, threads) = whereabouts::last()?;
        let site = self.machine.program.sites.get(site.index())?;
        let all = [std::slice::from_ref(&site.place), &site.inlined_at].concat();
        Some(Whereabouts { place: user_place(&all)?.clone(), threads })
    }

    fn busiest(&self) -> Option<Busiest> {
        self.machine.busy.busiest(&self.machine.program)
    }
}

impl Guide for Vm {
    fn guided(
        &mut self,
        job: &Job<'_>,
        paths: &Paths,
        guesses: &[Guess],
    ) -> Result<Guided, EngineError> {
        self.machine.run_guided(job, paths, guesses)
    }

    fn lead(&mut self, job: &Job<'_>, lead: &Lead, guesses: &[Guess]) -> Result<Led, EngineError> {
        self.machine.run_led(job, lead, guesses)
    }

    fn follow(
        &mut self,
        job: &Job<'_>,
        route: Option<&Arc<Route>>,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
    ) -> Result<Followed, EngineError> {
        if let Some(route) = route
            && !self.plan.as_ref().is_some_and(|plan| plan.is_of(route))
        {
            self.plan = Some(Arc::new(self.machine.plan(route)));
        }
        let plan = route.and(self.plan.clone());
        self.machine.run_following(job, plan, by, seen)
    }
}
