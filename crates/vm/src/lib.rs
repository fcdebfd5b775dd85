//! Room `vm`: `Program` × `Scheduler` → `Run`, deterministically.
//!
//! An interpreter with green threads, in the manner of Miri and KLEE. Memory model: sequential
//! consistency. Same program, input, visible set and scheduler decisions → the same run, to the byte.
//!
//! Not modelled: weak memory, signals, processes, the file system's own races.

mod access;
mod arith;
mod assembly;
mod call;
mod error;
mod failure;
mod guard;
mod handle;
mod handover;
mod host;
mod interface;
mod interpret;
mod kin;
mod machine;
mod memory;
mod models;
mod native;
mod point;
mod pure;
mod record;
mod resolve;
mod sharing;
mod stacks;
mod symbolic;
mod sync;
mod thread;

use unravel_code::{AccessKind, Program};
use unravel_trace::{
    Executor, FreeInput, Guess, Guided, Input, Lead, Led, Outcome, Paths, Place, Run, Scheduler,
    SiteId, VisibleSet, Want,
};

pub use error::VmError;

/// What stays the same for all runs of a machine.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `argv[0]`.
    pub program_name: String,
    /// Native libraries to load, as after `-l`.
    pub libraries: Vec<String>,
}

/// A virtual machine for one program. A process can have one at a time, because the program's memory is at a
/// fixed address; use forked processes for more. What a program did to this process by native functions, the
/// machines after it find: those after [`Executor::is_damaged`] belong in another process.
pub struct Vm {
    machine: machine::OwnedMachine,
}

impl Vm {
    pub fn new(program: Program, options: Options) -> Result<Vm, VmError> {
        Ok(Vm { machine: machine::OwnedMachine::new(program, options)? })
    }

    pub fn program(&self) -> &Program {
        &self.machine.program
    }
}

impl Executor for Vm {
    fn run(
        &mut self,
        input: &Input,
        visible: &VisibleSet,
        scheduler: &mut dyn Scheduler,
        want: Want,
    ) -> Run {
        self.machine.run(input, visible, scheduler, want)
    }

    fn all_sites(&self) -> VisibleSet {
        let mut all = VisibleSet::default();
        for (index, access) in self.program().accesses.iter().enumerate() {
            if access.kind != AccessKind::None {
                all.insert(SiteId(index as u32));
            }
        }
        all
    }

    fn kin(&self, visible: &VisibleSet) -> VisibleSet {
        kin::kin(self.program(), visible)
    }

    fn paths(&self, failed: &Outcome) -> Option<Paths> {
        self.machine.paths(failed)
    }

    fn branches(&self) -> Vec<Vec<u32>> {
        self.machine.branches()
    }

    fn guided(
        &mut self,
        input: &Input,
        visible: &VisibleSet,
        paths: &Paths,
        guesses: &[Guess],
    ) -> Option<Guided> {
        Some(self.machine.run_guided(input, visible, paths, guesses))
    }

    fn lead(
        &mut self,
        input: &Input,
        visible: &VisibleSet,
        lead: &Lead,
        guesses: &[Guess],
        free: FreeInput,
    ) -> Option<Led> {
        Some(self.machine.run_led(input, visible, lead, guesses, free))
    }

    fn stack(&self, number: u64, site: SiteId) -> Vec<Place> {
        self.machine.kept_stack(number, site)
    }

    fn is_damaged(&self) -> bool {
        self.machine.damaged || self.machine.stained
    }

    fn after_fork(&mut self) {
        guard::watch();
        self.machine.natives.forget_input();
    }
}
