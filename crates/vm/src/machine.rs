//! The machine: all state of one run, and the loop that runs it.
//!
//! Every green thread has a native stack of its own (a fiber), so that it may stop anywhere, inside a
//! native callback too. A thread stops only at a *point* (see [`crate::point`]); everything that ends a
//! run stops it there for good, by [`Machine::finish`], which does not return. Values on an abandoned
//! native stack are leaked, so code that may not return holds nothing that owns memory.

use std::sync::Arc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use rustc_hash::FxHashMap;
use unravel_code::layout::*;
use unravel_code::{FunctionId, Program};
use unravel_trace::*;

use crate::error::VmError;
use crate::memory::{Memory, map_registers, unmap};
use crate::models::process::ExitHandler;
use crate::native::Natives;
use crate::record::Recorder;
use crate::resolve::{Resolved, resolve_externals};
use crate::sharing::Sharing;
use crate::symbolic::Concolic;
use crate::sync::SyncObjects;
use crate::thread::*;
use crate::{Options, guard};

/// Bits of [`Machine::site_flags`]: what an access at a site does besides accessing.
pub(crate) const POINT: u8 = 1;
/// No point, but a scheduler that observes is told: inside atomic sections, and where one thread is left.
pub(crate) const TELL: u8 = 64;
pub(crate) const LEARN: u8 = 2;
pub(crate) const RECORD: u8 = 4;
/// Notice every store that changes memory, shared or not.
pub(crate) const WATCH: u8 = 8;

/// One table of flags for each state the machine can be in, a byte a site.
#[derive(Debug, Default)]
pub(crate) struct SiteTables {
    /// One thread alive, and there never were more.
    first: Vec<u8>,
    /// One thread alive: what it does is recorded, if anything is.
    alone: Vec<u8>,
    /// One thread alive, in a loop that seems to get nowhere.
    alone_watched: Vec<u8>,
    /// Several threads.
    shared: Vec<u8>,
    /// Several threads, inside an atomic section.
    atomic: Vec<u8>,
    /// Several threads, none of which seems to get anywhere.
    watched: Vec<u8>,
}

pub(crate) struct Machine {
    pub program: Arc<Program>,
    pub options: Options,
    /// How each function without a body is executed; indexed by [`FunctionId`].
    pub externals: Vec<Resolved>,
    pub memory: Memory,
    pub sharing: Sharing,
    pub sync: SyncObjects,
    pub natives: Natives,
    pub recorder: Recorder,
    pub concolic: Concolic,

    /// Threads of this run in order of creation, then recycled ones. Boxed: a suspended interpreter
    /// keeps pointers to its thread.
    #[expect(clippy::vec_box, reason = "threads must not move when the list grows")]
    pub threads: Vec<Box<Thread>>,
    pub thread_count: usize,
    pub names: Vec<ThreadName>,
    pub current: usize,
    /// Whose fiber is running; differs from `current` only between a decision and the switch.
    pub running: usize,
    pub alive: usize,
    /// Threads that have ended and were not joined: nothing orders what they did before what others do now.
    pub unjoined: usize,
    slots_in_use: Vec<bool>,
    registers: Vec<*mut u64>,
    stacks: Vec<DefaultStack>,

    tables: SiteTables,
    pub site_flags: *const u8,
    visible: VisibleSet,

    pub budget: u32,
    pub events: u64,
    pub segments: Vec<Segment>,
    pub segment_start: u64,
    pub choices: Vec<u32>,
    pub candidates: Vec<Candidate>,
    /// Counts changes that other threads can see.
    pub progress: u64,
    pub stagnation: crate::point::Stagnation,
    pub scheduler: Option<*mut dyn Scheduler>,
    pub observes: Observes,
    pub prune_spins: bool,
    /// The stack at each event, if the scheduler may ask for it; see [`crate::stacks`].
    pub stacks_kept: crate::stacks::Stacks,
    pub why: Why,

    pub steps: u64,
    pub limits: Limits,
    /// Remaining jumps and calls before the run is given up.
    pub fuel: i64,
    /// Nanoseconds of the virtual clock.
    pub clock: u64,
    pub outcome: Option<Outcome>,
    /// Native code crashed, perhaps with a lock of its library held.
    pub damaged: bool,
    /// A native function changed something about this process that is not put back before the next run.
    pub stained: bool,
    pub at_exit: Vec<ExitHandler>,
    /// What `signal` set; indexed by number.
    pub signal_handlers: [u64; crate::models::signals::SIGNALS],
    pub once_running: FxHashMap<u64, u32>,
    pub key_destructors: Vec<Option<u64>>,
    pub jumps: FxHashMap<u64, crate::models::jump::JumpBuffer>,
    pub nondet: crate::models::verifier::NondetSource,
    pub notes: Vec<Note>,
    /// Streams the program opened, to be closed with it.
    pub open_files: Vec<u64>,
    pub sem_names: FxHashMap<String, u64>,
    /// What the program believes about `std::cout` and `stdout`.
    pub synced_with_stdio: bool,
    /// Given back last, when nothing of the machine is left.
    _claim: guard::Claim,
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.abandon_threads();
        if !self.damaged {
            self.close_streams();
            self.natives.reset();
        }
        for registers in self.registers.iter().filter(|registers| !registers.is_null()) {
            // SAFETY: mapped by `spawn`; no thread is left.
            unsafe { unmap(*registers, 8 * REGISTERS as u64) };
        }
    }
}

impl Machine {
    pub fn new(mut program: Program, options: Options) -> Result<Box<Machine>, VmError> {
        program.main.ok_or(VmError::NoMain)?;
        let claim = guard::claim()?;
        let natives = Natives::new(&program, &options.libraries)?;
        natives.relocate(&mut program);
        let globals = program.globals.iter().map(|g| (g.address, g.bytes.max(1)));
        let memory = Memory::new(&program.image, globals)?;
        let mut externals = resolve_externals(&program);
        crate::assembly::place(&program, &mut externals)?;
        crate::resolve::redirect_calls(&mut program, &externals);
        let mut machine = Box::new(Machine {
            externals,
            memory,
            sharing: Sharing::new()?,
            sync: SyncObjects::default(),
            natives,
            recorder: Recorder::default(),
            concolic: Concolic::default(),
            threads: Vec::new(),
            thread_count: 0,
            names: Vec::new(),
            current: 0,
            running: 0,
            alive: 0,
            unjoined: 0,
            slots_in_use: (0..SLOTS as usize).map(|s| s == crate::native::ARGUMENTS_SLOT).collect(),
            registers: vec![std::ptr::null_mut(); SLOTS as usize],
            stacks: Vec::new(),
            tables: SiteTables::default(),
            site_flags: std::ptr::null(),
            visible: VisibleSet::default(),
            budget: 0,
            events: 0,
            segments: Vec::new(),
            segment_start: 0,
            choices: Vec::new(),
            candidates: Vec::new(),
            progress: 0,
            stagnation: Default::default(),
            scheduler: None,
            observes: Observes::Nothing,
            prune_spins: false,
            stacks_kept: Default::default(),
            why: Why::Start,
            steps: 0,
            limits: Limits::default(),
            fuel: 0,
            clock: 0,
            outcome: None,
            damaged: false,
            stained: false,
            at_exit: Vec::new(),
            signal_handlers: [0; crate::models::signals::SIGNALS],
            once_running: FxHashMap::default(),
            key_destructors: Vec::new(),
            jumps: FxHashMap::default(),
            nondet: Default::default(),
            notes: Vec::new(),
            open_files: Vec::new(),
            sem_names: FxHashMap::default(),
            synced_with_stdio: true,
            program: Arc::new(program),
            options,
            _claim: claim,
        });
        let machine_ptr: *mut Machine = &mut *machine;
        guard::install(machine_ptr);
        // SAFETY: the machine is boxed. Closures ask the guard for the machine when they are called.
        unsafe { Natives::make_callable(machine_ptr) };
        Ok(machine)
    }

    /// Runs the program once.
    pub fn run(
        &mut self,
        input: &Input,
        visible: &VisibleSet,
        scheduler: &mut dyn Scheduler,
        want: Want,
    ) -> Run {
        self.observes = scheduler.observes();
        self.reset(input, visible, want);
        // SAFETY: the pointer is dropped before this function returns.
        let scheduler: *mut (dyn Scheduler + '_) = scheduler;
        self.scheduler = Some(unsafe {
            std::mem::transmute::<*mut (dyn Scheduler + '_), *mut (dyn Scheduler + 'static)>(
                scheduler,
            )
        });
        let main = self.program.main.expect("checked by new");
        self.spawn(ThreadName::main(), main, move |machine| machine.run_main(main));
        self.first_decision();
        let outcome = self.resume_until_end();
        self.scheduler = None;
        // SAFETY: the caller's scheduler, alive during this call.
        unsafe { (*scheduler).finish(self.events) };
        if self.damaged {
            self.natives.flush_output();
        } else {
            self.natives.flush();
        }
        self.result(outcome, want)
    }

    fn resume_until_end(&mut self) -> Outcome {
        loop {
            if self.running != self.current {
                self.natives.swap_thread_state(&mut self.threads, self.running, self.current);
                self.running = self.current;
                self.update_flags();
            }
            let thread: *mut Thread = &mut *self.threads[self.current];
            // SAFETY: the thread is boxed and stays; its fiber is taken from it only after the run.
            let fiber = unsafe { (*thread).fiber.as_mut() }.expect("a chosen thread has a fiber");
            guard::enter(fiber.trap_handler());
            match fiber.resume(()) {
                CoroutineResult::Yield(()) => {}
                CoroutineResult::Return(trapped) => {
                    self.damaged = true;
                    let outcome = self.trap_outcome(trapped);
                    self.outcome.get_or_insert(outcome);
                }
            }
            guard::leave();
            if let Some(outcome) = self.outcome.take() {
                return outcome;
            }
        }
    }

    fn result(&mut self, outcome: Outcome, want: Want) -> Run {
        self.close_segment();
        let failed_or_kept = want.detail >= Detail::Events;
        let schedule = Schedule {
            threads: self.names.clone(),
            segments: self.segments.clone(),
            choices: self.choices.clone(),
            visible: if failed_or_kept { self.visible.clone() } else { VisibleSet::default() },
        };
        let requests = self.requests(&outcome);
        let mut trace = self.recorder.take();
        trace.threads = self.names.clone();
        let symbolic = self.take_symbolic(&trace, &outcome, requests);
        if failed_or_kept {
            self.recorder.collect_sites(&self.program, &mut trace, symbolic.as_deref());
        }
        Run {
            trace,
            schedule,
            outcome,
            steps: self.steps,
            learned: std::mem::take(&mut self.sharing.learned),
            nondet: self.nondet.take_log(),
            notes: self.notes.clone(),
            symbolic,
        }
    }

    /// Gives up the fibers of the last run. They end suspended, in the middle of whatever they did.
    pub fn abandon_threads(&mut self) {
        for thread in &mut self.threads[..self.thread_count] {
            self.slots_in_use[thread.slot] = false;
            if let Some(mut fiber) = thread.fiber.take() {
                // SAFETY: nothing on the abandoned stack is used again; owners there are leaked.
                unsafe { fiber.force_reset() };
                self.stacks.push(fiber.into_stack());
            }
            thread.recycle();
        }
        self.thread_count = 0;
    }

    fn reset(&mut self, input: &Input, visible: &VisibleSet, want: Want) {
        self.abandon_threads();
        self.memory.reset();
        self.sync.clear();
        self.natives.reset();
        crate::assembly::reset_float_modes();
        if want.learn {
            self.sharing.begin_run();
        }
        self.recorder.begin(want.detail >= Detail::Events);
        self.concolic.begin(want);
        if self.concolic.is_on() {
            self.prepare_treatments();
        }
        self.names.clear();
        self.current = 0;
        self.running = 0;
        self.alive = 0;
        self.unjoined = 0;
        self.set_tables(visible, want);
        self.budget = 0;
        self.events = 0;
        self.segments.clear();
        self.segment_start = 0;
        self.prune_spins = want.prune_spins;
        self.stacks_kept.clear();
        self.choices.clear();
        self.progress = 0;
        self.stagnation.clear();
        self.why = Why::Start;
        self.steps = 0;
        self.limits = input.limits;
        self.fuel = self.limits.max_steps as i64;
        self.clock = crate::models::time::EPOCH;
        self.outcome = None;
        self.at_exit.clear();
        self.signal_handlers.fill(0);
        self.once_running.clear();
        self.key_destructors.clear();
        self.jumps.clear();
        self.nondet.begin(&input.nondet);
        self.sem_names.clear();
        self.synced_with_stdio = true;
        self.close_files();
        self.natives.set_input(input);
        self.natives.set_args(&self.options.program_name, &input.args);
    }

    fn set_tables(&mut self, visible: &VisibleSet, want: Want) {
        let learn = if want.learn { LEARN } else { 0 };
        let record = if want.detail >= Detail::Events { RECORD } else { 0 };
        let sites = self.program.sites.len() + 1;
        let tell = if self.observes == Observes::Nothing { 0 } else { TELL };
        let wanted = POINT | record | learn | tell;
        if self.visible == *visible
            && self.tables.shared.len() == sites
            && self.tables.first[sites - 1] == wanted
        {
            self.update_flags();
            return;
        }
        self.visible = visible.clone();
        self.tables.shared = vec![learn; sites];
        self.tables.atomic = vec![learn; sites];
        self.tables.first = vec![0; sites];
        self.tables.alone = vec![learn; sites];
        self.tables.alone_watched = vec![WATCH | learn; sites];
        for (index, access) in self.program.accesses.iter().enumerate() {
            let atomic = access.kind == unravel_code::AccessKind::Atomic;
            if atomic || visible.contains(SiteId(index as u32)) {
                self.tables.shared[index] |= POINT | record;
                self.tables.atomic[index] |= record | tell;
                self.tables.alone[index] |= record | tell;
                self.tables.alone_watched[index] |= record | tell;
            }
        }
        self.tables.watched = self.tables.shared.iter().map(|flags| flags | WATCH).collect();
        // The entry behind the last site says what the tables were made for.
        self.tables.first[sites - 1] = wanted;
        self.update_flags();
    }

    /// Chooses the table that fits the number of threads and the current thread's atomic section.
    pub fn update_flags(&mut self) {
        let table = if self.alive <= 1 && self.stagnation.is_watched() {
            &self.tables.alone_watched
        } else if self.thread_count <= 1 {
            &self.tables.first
        } else if self.alive <= 1 {
            &self.tables.alone
        } else if self.threads[self.current].atomic > 0 {
            &self.tables.atomic
        } else if self.stagnation.is_watched() || self.prune_spins {
            &self.tables.watched
        } else {
            &self.tables.shared
        };
        self.site_flags = table.as_ptr();
    }

    /// Creates a thread that will run `body`, which begins with `function`, and returns it.
    pub fn spawn(
        &mut self,
        name: ThreadName,
        function: FunctionId,
        body: impl FnOnce(&mut Machine) + 'static,
    ) -> ThreadId {
        let index = self.thread_count;
        let id = ThreadId(index as u32);
        let slot = self.take_slot(&name);
        if self.registers[slot].is_null() {
            match map_registers(REGISTERS) {
                Ok(registers) => self.registers[slot] = registers,
                Err(error) => self.finish_inconclusive(error.to_string()),
            }
        }
        if index == self.threads.len() {
            self.threads.push(Box::new(Thread::new(std::ptr::null_mut())));
        }
        let stack = match self.stacks.pop() {
            Some(stack) => stack,
            None => match DefaultStack::new(NATIVE_STACK) {
                Ok(stack) => stack,
                Err(_) => self.finish_inconclusive("no memory for another thread's stack".into()),
            },
        };
        let machine: *mut Machine = self;
        let thread = &mut self.threads[index];
        thread.id = id;
        thread.name = name.clone();
        thread.slot = slot;
        thread.registers = self.registers[slot];
        let places = self.program.function(function).body.as_ref().map(|b| b.places.as_slice());
        thread.pending.other = u64::from(id.0);
        thread.pending.site = places.and_then(|p| p.first().copied()).unwrap_or(SiteId(0));
        thread.pending.address = STACKS + slot as u64 * STACK_SIZE;
        thread.pending.bytes = STACK_SIZE as u32;
        // SAFETY: the machine outlives its fibers, and only one of them runs at a time.
        thread.fiber =
            Some(Coroutine::with_stack(stack, move |yielder: &FiberYielder, ()| unsafe {
                let machine = &mut *machine;
                machine.threads[index].yielder = yielder;
                body(machine);
                unreachable!("a thread ends by leaving its fiber for good")
            }));
        self.names.push(name);
        self.thread_count += 1;
        self.alive += 1;

        let size = self.program.thread_locals.len() as u64;
        let base = STACKS + slot as u64 * STACK_SIZE;
        // SAFETY: the thread's own stack, larger than any thread-local block.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.program.thread_locals.as_ptr(),
                base as *mut u8,
                size as usize,
            );
        }
        self.threads[index].locals = base;
        self.memory.set_stack_top(slot, (base + size).next_multiple_of(64));
        self.update_flags();
        id
    }

    /// The slot of a thread depends on its name, not on when it was created: children of the main
    /// thread by number, others by hash. A slot is free again when its thread has ended.
    fn take_slot(&mut self, name: &ThreadName) -> usize {
        let half = SLOTS as usize / 2;
        let preferred = match name.0[..] {
            [] => 0,
            [n] if (n as usize) < half => n as usize,
            _ => {
                let hash = name.0.iter().fold(0u32, |h, n| h.wrapping_mul(31).wrapping_add(*n));
                half + hash as usize % half
            }
        };
        let slot = (0..SLOTS as usize)
            .map(|i| (preferred + i) % SLOTS as usize)
            .find(|slot| !self.slots_in_use[*slot]);
        match slot {
            Some(slot) => {
                self.slots_in_use[slot] = true;
                self.memory.claim(slot);
                slot
            }
            None => self.finish_inconclusive(format!("more than {SLOTS} threads are alive")),
        }
    }

    pub fn release_slot(&mut self, slot: usize) {
        self.slots_in_use[slot] = false;
    }

    fn run_main(&mut self, main: FunctionId) {
        self.start_event();
        // Destructors run after everything that the program registers.
        for destructor in self.program.destructors.iter().rev() {
            self.at_exit.push(ExitHandler::plain(destructor.address()));
        }
        let (argc, argv, envp) = self.build_argv();
        for constructor in self.program.constructors.clone() {
            self.call_to_end(constructor, &[argc, argv, envp]);
        }
        let code = self.call_to_end(main, &[argc, argv, envp]);
        self.shadow_exit_code();
        // The process ends with main; the others may still do something before that.
        self.exit_point(self.threads[0].pending.site);
        self.exit_process(code as i32)
    }

    /// The process is about to end: an event, if others are alive.
    pub fn exit_point(&mut self, site: SiteId) {
        if self.alive > 1 {
            self.point(Op::End, 0, 0, site, Need::Nothing);
            self.record(site, EventKind::Exit);
        }
    }

    /// `exit`: handlers and destructors, then the end of the run. A handler may call `exit` again: the rest of
    /// the handlers run, and the last code counts.
    pub fn exit_process(&mut self, code: i32) -> ! {
        self.run_thread_destructors();
        self.run_exit_handlers(code, false);
        self.finish(Outcome::Exited { code: code & 0xff })
    }

    /// Ends the run.
    pub fn finish(&mut self, outcome: Outcome) -> ! {
        if self.concolic.guide.is_on() {
            self.guided_finish(outcome);
        }
        self.outcome.get_or_insert(outcome);
        self.leave_for_good()
    }

    pub fn finish_inconclusive(&mut self, reason: String) -> ! {
        let at = self.stack_of(self.current).into_iter().next();
        self.finish(Outcome::Inconclusive { reason, at })
    }

    /// Suspends the running fiber until its thread is chosen.
    pub fn suspend(&mut self) {
        let yielder = self.threads[self.running].yielder;
        // SAFETY: the yielder lives on this very fiber's stack.
        unsafe { (*yielder).suspend(()) };
    }

    /// Suspends the running fiber, whose thread is never chosen again.
    pub fn leave_for_good(&mut self) -> ! {
        loop {
            self.suspend();
        }
    }

    pub fn note(&mut self, note: Note) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
