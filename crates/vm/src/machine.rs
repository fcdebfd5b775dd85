//! The machine: all state of one run, and the loop that runs it.
//!
//! Every green thread has a native stack of its own (a fiber), so that it may stop anywhere, inside a
//! native callback too. A thread stops only at a *point* (see [`crate::point`]); everything that ends a
//! run stops it there for good, by [`Machine::finish`], which does not return. Values on an abandoned
//! native stack are leaked, so code that may not return holds nothing that owns memory.
//!
//! # Why the sharing is sound
//!
//! All fibers, the loop that resumes them and the callbacks from native code use one [`State`]. It is owned
//! through one raw pointer ([`OwnedMachine`]), from which everybody derives their access; nobody has a `Box` or a
//! reference that would claim it for longer. What they pass around is a [`Machine`]: a handle, of which each native
//! stack (and each callback) has its own, so `&mut Machine` says nothing about the state. A reference to the state
//! exists only between one use of a handle and the next, since it borrows the handle (`Deref`, `DerefMut`).
//! Whatever lets other code use the state takes `&mut Machine`: [`Machine::suspend`] and all that may come to it, the
//! loop that resumes a fiber, and the calls of native functions, which may call back. The compiler therefore refuses a
//! reference into the state that is held across a suspension, and at each moment one native stack at most has any.
//!
//! What lies behind pointers in the state follows the same rule: a thread ([`Threads`]) is reached through the
//! pointer that made it, by the interpreter's loop too, which keeps it across suspensions as a pointer only. The fiber
//! being resumed is moved out of its thread meanwhile. The program is never written once there is a machine, so
//! references to it may be kept (`Arc::as_ptr` makes them outlive the borrow); program memory, registers and the
//! tables of [`Memory`] and [`Sharing`] are mapped memory that is used through pointers.
//!
//! A new method that may suspend, end the run or call native code takes `&mut self` of `Machine`, never of `State`, and
//! never the field it works on. It must not turn a pointer into a reference that outlives such a call, nor make
//! another handle: those made here and in [`guard::machine`] are all.
//!
//! A fiber that is given up, and one that a signal takes away from a crash in native code or at an address of the
//! program's, never runs again: what it still borrowed is not used after that.

use crate::budgets::{NATIVE_STACK, REGISTERS};
use std::sync::Arc;

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult};
use rustc_hash::FxHashMap;
use unravel_code::layout::*;
use unravel_code::{FunctionId, Program};
use unravel_trace::*;

use crate::busy::Busy;
use crate::capture::Capture;
use crate::clock::Clock;
use crate::engine::Shortcuts;
use crate::error::VmError;
pub(crate) use crate::handle::{Machine, OwnedMachine};
use crate::memory::{Memory, map_registers, unmap};
use crate::models::process::ExitHandler;
use crate::native::Natives;
use crate::record::Recorder;
use crate::resolve::{Resolved, resolve_externals};
use crate::sharing::Sharing;
use crate::site_tables::{AccessWish, KeptTables};
use crate::symbolic::Concolic;
use crate::sync::SyncObjects;
use crate::thread::*;
use crate::undefined::Undefined;
use crate::{Options, guard};

/// All state of the machine, reached through a [`Machine`].
pub(crate) struct State {
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
    /// For compiled code, if there is any.
    shortcuts: Option<Box<Shortcuts>>,
    /// In runs whose threads keep to a route, or leave one behind.
    pub follower: Option<Box<crate::follow::Follower>>,

    /// Threads of this run in order of creation, then recycled ones.
    pub threads: Threads,
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

    tables: KeptTables,
    /// The present one of them.
    pub site_flags: *const u8,

    pub budget: u32,
    pub events: u64,
    pub segments: Vec<Segment>,
    pub segment_start: u64,
    pub choices: Vec<u32>,
    pub ready: Vec<Ready>,
    /// Who could go on only if time passed before it has to.
    pub early: Vec<Ready>,
    /// Where the environment deviates whatever the scheduler says; where it did; whether it could have more often.
    pub forced: Vec<Forced>,
    pub deviated: Vec<Deviated>,
    pub could_deviate: bool,
    /// Some thread may go on by running out of time, as of the last decision.
    pub anyone_timed: bool,
    /// Time passed although somebody could go on.
    pub clock_decides: bool,
    /// Counts changes that other threads can see.
    pub progress: u64,
    /// The same without stores that nobody else can see, which count while busy waits are looked for.
    pub shared_progress: u64,
    pub stagnation: crate::point::Stagnation,
    pub scheduler: Option<*mut dyn Scheduler>,
    pub observer: Option<*mut dyn Observer>,
    pub observes: Observes,
    /// Whether the scheduler is to be told of events, whether stacks are kept, and whether anybody is told at all.
    pub watches: bool,
    /// Whether it wants to know who called headers of the system.
    pub names_callers: bool,
    pub keeps_stacks: bool,
    pub tells: bool,
    pub prune_spins: bool,
    pub skip_rounds: bool,
    pub awaits: bool,
    /// Slots that states do not leave out, by where a frame is.
    pub living: crate::states::Living,
    /// The event that is being executed repeats a round of a busy wait, and nobody was asked.
    pub repeats: bool,
    /// The stack at each event, if the scheduler may ask for it; see [`crate::stacks`].
    pub stacks_kept: crate::stacks::Stacks,
    pub why: Why,

    pub steps: u64,
    pub limits: Limits,
    /// Jumps and calls before the next look at who makes them; and further ones before the run is given up. See [`crate::busy`].
    pub fuel: i64,
    pub reserve: i64,
    pub busy: Busy,
    pub clock: Clock,
    pub undefined: Undefined,
    pub outcome: Option<Outcome>,
    /// Native code crashed, perhaps with a lock of its library held.
    pub damaged: bool,
    /// A native function changed something about this process that is not put back before the next run.
    pub stained: bool,
    pub at_exit: Vec<ExitHandler>,
    pub signals: crate::delivery::Signals,
    pub timers: crate::models::timers::Timers,
    pub handlers: crate::models::handlers::Handlers,
    pub once_running: FxHashMap<u64, u32>,
    pub key_destructors: Vec<Option<u64>>,
    pub jumps: FxHashMap<u64, crate::models::jump::JumpBuffer>,
    pub nondet: crate::models::verifier::NondetSource,
    pub notes: Vec<Note>,
    /// Functions that are nowhere.
    missing: Vec<MissingFunction>,
    /// Those of them that do nothing in this run; indexed by [`FunctionId`], empty if there are none.
    pub stubs: Vec<bool>,
    /// Streams the program opened, to be closed with it.
    pub open_files: Vec<u64>,
    pub sem_names: FxHashMap<String, u64>,
    /// Who destroyed a sync object, and where.
    pub destroyed: FxHashMap<u64, (ThreadId, SiteId)>,
    pub descriptors: crate::models::descriptors::Descriptors,
    pub children: crate::models::children::Children,
    /// This process was forked by the program, to become another one.
    pub apart: Option<crate::models::fork::Apart>,
    /// What the program believes about `std::cout` and `stdout`.
    pub synced_with_stdio: bool,
    /// Given back last, when nothing of the machine is left.
    _claim: guard::Claim,
}

impl State {
    /// The current thread, to be changed.
    #[inline]
    pub fn current_thread(&mut self) -> &mut Thread {
        &mut self.threads[self.current]
    }

    pub fn compiled_functions(&self) -> usize {
        self.shortcuts.as_ref().map_or(0, |shortcuts| shortcuts.compiled_functions())
    }

    /// For the interpreter's loop, which keeps the pointer; null if nothing may be compiled: not where every access has flags
    /// that only the interpreter heeds.
    pub fn shortcuts(&mut self) -> *mut Shortcuts {
        let allowed = self.shortcuts.as_deref_mut().filter(|_| !self.limits.uninit.fails);
        allowed.map_or(std::ptr::null_mut(), std::ptr::from_mut)
    }

    pub fn threads_of_run(&self) -> impl DoubleEndedIterator<Item = &Thread> {
        (0..self.thread_count).map(|index| &self.threads[index])
    }
}

impl OwnedMachine {
    pub fn new(mut program: Program, options: Options) -> Result<OwnedMachine, VmError> {
        program.main.ok_or(VmError::NoMain)?;
        let claim = guard::claim()?;
        let natives = Natives::new(&program, &options.libraries)?;
        natives.relocate(&mut program);
        let globals = program.globals.iter().map(|g| (g.address, g.bytes.max(1)));
        let memory = Memory::new(&program.image, globals)?;
        let mut externals = resolve_externals(&program, &natives.libraries);
        crate::assembly::place(&program, &mut externals)?;
        crate::resolve::redirect_calls(&mut program, &externals);
        let missing = crate::resolve::missing(&program, &externals);
        let eclipsed = natives.libraries.eclipsed(&program, &externals);
        let shortcuts = Shortcuts::new(options.engine, &program);
        let busy = Busy::new(program.functions.len());
        crate::whereabouts::forget();
        let machine = OwnedMachine::of(State {
            externals,
            memory,
            sharing: Sharing::new()?,
            sync: SyncObjects::default(),
            natives,
            recorder: Recorder::default(),
            concolic: Concolic::default(),
            shortcuts,
            follower: None,
            threads: Threads::default(),
            thread_count: 0,
            names: Vec::new(),
            current: 0,
            running: 0,
            alive: 0,
            unjoined: 0,
            slots_in_use: (0..SLOTS as usize).map(|s| s == crate::native::ARGUMENTS_SLOT).collect(),
            registers: vec![std::ptr::null_mut(); SLOTS as usize],
            stacks: Vec::new(),
            tables: KeptTables::default(),
            site_flags: std::ptr::null(),
            budget: 0,
            events: 0,
            segments: Vec::new(),
            segment_start: 0,
            choices: Vec::new(),
            ready: Vec::new(),
            early: Vec::new(),
            forced: Vec::new(),
            deviated: Vec::new(),
            could_deviate: false,
            anyone_timed: false,
            clock_decides: false,
            progress: 0,
            shared_progress: 0,
            stagnation: Default::default(),
            scheduler: None,
            observer: None,
            observes: Observes::Nothing,
            watches: false,
            names_callers: false,
            keeps_stacks: false,
            tells: false,
            prune_spins: false,
            skip_rounds: false,
            awaits: false,
            living: Default::default(),
            repeats: false,
            stacks_kept: Default::default(),
            why: Why::Start,
            steps: 0,
            limits: Limits::default(),
            fuel: 0,
            reserve: 0,
            busy,
            clock: Clock::default(),
            undefined: Undefined::default(),
            outcome: None,
            damaged: false,
            stained: false,
            at_exit: Vec::new(),
            signals: Default::default(),
            timers: Default::default(),
            handlers: Default::default(),
            once_running: FxHashMap::default(),
            key_destructors: Vec::new(),
            jumps: FxHashMap::default(),
            nondet: Default::default(),
            notes: (!eclipsed.is_empty()).then_some(Note::Eclipsed(eclipsed)).into_iter().collect(),
            missing,
            stubs: Vec::new(),
            open_files: Vec::new(),
            sem_names: FxHashMap::default(),
            destroyed: FxHashMap::default(),
            descriptors: Default::default(),
            children: Default::default(),
            apart: None,
            synced_with_stdio: true,
            program: Arc::new(program),
            options,
            _claim: claim,
        });
        guard::install(machine.state());
        machine.make_callable();
        Ok(machine)
    }
}

impl Machine {
    /// Runs the program once.
    pub fn run(
        &mut self,
        job: &Job<'_>,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
    ) -> Result<Run, EngineError> {
        let want = job.want;
        self.observes = seen.observes();
        self.watches = by.watches();
        self.names_callers = by.names_callers();
        self.keeps_stacks = want.stacks || self.observes == Observes::EventsAndStacks;
        self.tells = self.watches || self.keeps_stacks || self.observes != Observes::Nothing;
        self.reset(job.input, job.visible, want);
        let capture = match want.output {
            true => Some(
                Capture::begin(self.natives.reserved())
                    .map_err(|error| EngineError::Failed(error.to_string()))?,
            ),
            false => None,
        };
        let scheduler: *mut (dyn Scheduler + '_) = by;
        let observer: *mut (dyn Observer + '_) = seen;
        // SAFETY: only the lifetimes change. The pointers are forgotten before this function returns, and until then the
        // references they were made from are not used: whoever uses a pointer calls one method and is done.
        unsafe {
            self.scheduler = Some(std::mem::transmute::<
                *mut (dyn Scheduler + '_),
                *mut dyn Scheduler,
            >(scheduler));
            self.observer =
                Some(std::mem::transmute::<*mut (dyn Observer + '_), *mut dyn Observer>(observer));
        }
        guard::here();
        let main = self.program.main.expect("checked by new");
        self.spawn(ThreadName::main(), main, move |machine| machine.run_main(main));
        self.first_decision();
        let outcome = match (self.resume_until_end(), guard::has_foreign_threads()) {
            (outcome, false) => outcome,
            (_, true) => {
                self.damaged = true;
                let reason = "a library calls the program from a thread of its own".into();
                Outcome::Inconclusive { reason, at: self.own_place() }
            }
        };
        self.scheduler = None;
        self.observer = None;
        // SAFETY: the caller's scheduler, alive during this call.
        unsafe { (*scheduler).finish(self.events) };
        if self.damaged {
            self.natives.flush_output();
        } else {
            self.natives.flush();
        }
        let output = capture.map(Capture::end);
        if self.damaged {
            // A lock of theirs may be held for ever; without their descriptors they are nothing.
            self.open_files.clear();
        }
        self.close_files();
        self.stained |= !self.natives.put_back();
        let finals = match outcome {
            Outcome::Exited { .. } if want.finals => Some(self.finals()),
            _ => None,
        };
        Ok(Run { output, finals, ..self.result(outcome, want) })
    }

    fn resume_until_end(&mut self) -> Outcome {
        loop {
            if self.running != self.current {
                let state = &mut **self;
                state.natives.swap_thread_state(&mut state.threads, state.running, state.current);
                state.running = state.current;
                self.update_flags();
            }
            let running = self.running;
            // Taken out of the state, because the fiber itself uses the state, its own thread's part of it too.
            let mut fiber =
                self.threads[running].fiber.take().expect("a chosen thread has a fiber");
            guard::enter(fiber.trap_handler());
            let result = fiber.resume(());
            self.threads[running].fiber = Some(fiber);
            match result {
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
        if self.clock_decides {
            self.note(Note::ClockOrder);
        }
        let failed_or_kept = want.detail >= Detail::Events;
        let schedule = Schedule {
            threads: self.names.clone(),
            segments: self.segments.clone(),
            choices: self.choices.clone(),
            visible: match failed_or_kept {
                true => self.tables.visible().clone(),
                false => VisibleSet::default(),
            },
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
            uninit: self.limits.uninit.pattern,
            deviated: self.deviated.clone(),
            could_deviate: self.could_deviate,
            notes: self.notes.clone(),
            symbolic,
            paths: if want.detail >= Detail::Symbolic { self.paths() } else { Vec::new() },
            output: None,
            finals: None,
            stacks: if want.stacks { self.all_stacks() } else { Stacks::default() },
        }
    }

    /// Gives back what the machine has of the process, before its state is freed.
    pub fn tear_down(&mut self) {
        self.abandon_threads();
        if !self.damaged {
            self.close_streams();
            self.natives.reset();
        }
        for registers in self.registers.drain(..).filter(|registers| !registers.is_null()) {
            // SAFETY: mapped by `spawn`; no thread is left.
            unsafe { unmap(registers, 8 * REGISTERS as u64) };
        }
    }

    /// Gives up the fibers of the last run. They end suspended, in the middle of whatever they did.
    pub fn abandon_threads(&mut self) {
        let state = &mut **self;
        for index in 0..state.thread_count {
            let thread = &mut state.threads[index];
            state.slots_in_use[thread.slot] = false;
            if let Some(mut fiber) = thread.fiber.take() {
                // SAFETY: nothing on the abandoned stack is used again; owners there are leaked.
                unsafe { fiber.force_reset() };
                state.stacks.push(fiber.into_stack());
            }
            thread.recycle();
        }
        state.thread_count = 0;
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
        self.limits = input.limits;
        self.set_tables(visible, want);
        self.budget = 0;
        self.events = 0;
        self.segments.clear();
        self.segment_start = 0;
        self.prune_spins = want.prune_spins;
        self.skip_rounds = want.skip_rounds;
        self.awaits = want.awaits && want.prune_spins;
        self.repeats = false;
        self.stacks_kept.clear();
        self.choices.clear();
        self.progress = 0;
        self.shared_progress = 0;
        self.stagnation.clear();
        self.why = Why::Start;
        self.steps = 0;
        self.limits = input.limits;
        self.set_stubs(&input.stubs);
        let total = self.limits.max_steps as i64;
        self.fill_up(total);
        self.clock = Clock::default();
        self.undefined.clear();
        self.forced.clone_from(&input.forced);
        self.deviated.clear();
        self.could_deviate = false;
        self.clock_decides = false;
        self.outcome = None;
        self.at_exit.clear();
        self.signals = Default::default();
        self.timers = Default::default();
        self.handlers = Default::default();
        self.once_running.clear();
        self.key_destructors.clear();
        self.jumps.clear();
        self.nondet.begin(&input.nondet);
        self.sem_names.clear();
        self.destroyed.clear();
        self.descriptors.clear();
        self.children.clear();
        self.synced_with_stdio = true;
        self.natives.set_input(input);
        self.natives.claim_descriptors();
        let state = &mut **self;
        state.natives.set_args(&state.options.program_name, &input.args);
    }

    /// These functions do nothing. What is missing besides, the user is told.
    fn set_stubs(&mut self, names: &[String]) {
        let is_stub = |function: &MissingFunction| names.contains(&function.name);
        let missing: Vec<MissingFunction> =
            self.missing.iter().filter(|function| !is_stub(function)).cloned().collect();
        let known = |name: &&String| !self.missing.iter().any(|function| function.name == **name);
        let no_stubs: Vec<String> = names.iter().filter(known).cloned().collect();
        self.notes.retain(|note| !matches!(note, Note::Missing(_) | Note::NoStub(_)));
        if !missing.is_empty() {
            self.note(Note::Missing(missing));
        }
        if !no_stubs.is_empty() {
            self.note(Note::NoStub(no_stubs));
        }
        let state = &mut **self;
        state.stubs = match names.is_empty() {
            true => Vec::new(),
            false => state.program.functions.iter().map(|f| names.contains(&f.name)).collect(),
        };
    }

    fn set_tables(&mut self, visible: &VisibleSet, want: Want) {
        let wish = AccessWish { want, tells: self.tells, defined: self.limits.uninit.fails };
        let state = &mut **self;
        state.tables.set(&state.program, visible, wish);
        self.update_flags();
    }

    /// Chooses the table that fits the number of threads and the current thread's atomic section.
    pub fn update_flags(&mut self) {
        let table = if self.thread_count <= 1 && self.stagnation.is_watched() {
            &self.tables.now.first_watched
        } else if self.thread_count <= 1 {
            &self.tables.now.first
        } else if self.alive <= 1 && self.stagnation.is_watched() {
            &self.tables.now.alone_watched
        } else if self.alive <= 1 {
            &self.tables.now.alone
        } else if self.threads[self.current].atomic > 0 {
            &self.tables.now.atomic
        } else if self.stagnation.is_watched()
            || self.prune_spins
            || self.threads[self.current].looks_for_spin
        {
            &self.tables.now.watched
        } else {
            &self.tables.now.shared
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
            self.threads.push(Thread::new(std::ptr::null_mut()));
        }
        let stack = match self.stacks.pop() {
            Some(stack) => stack,
            None => match DefaultStack::new(NATIVE_STACK) {
                Ok(stack) => stack,
                Err(_) => self.finish_inconclusive("no memory for another thread's stack".into()),
            },
        };
        let places = self.program.function(function).body.as_ref().map(|b| b.places.as_slice());
        let site = places.and_then(|p| p.first().copied()).unwrap_or(SiteId(0));
        let (shared, registers) = (self.state(), self.registers[slot]);
        let thread = &mut self.threads[index];
        thread.id = id;
        thread.name = name.clone();
        thread.slot = slot;
        thread.registers = registers;
        thread.native_stack = stack.limit().get() as u64;
        thread.pending.operand = Operand::Thread(id);
        thread.pending.site = site;
        thread.pending.address = STACKS + slot as u64 * STACK_SIZE;
        thread.pending.bytes = STACK_SIZE as u32;
        thread.fiber = Some(Coroutine::with_stack(stack, move |yielder: &FiberYielder, ()| {
            // SAFETY: the state outlives its fibers. One runs at a time; the others, and who resumed this one,
            // wait in methods of their own handles.
            let mut machine = unsafe { Machine::of(shared) };
            machine.threads[index].yielder = yielder;
            body(&mut machine);
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
        self.define(base, size);
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
        let state = &mut **self;
        for destructor in state.program.destructors.iter().rev() {
            state.at_exit.push(ExitHandler::plain(destructor.address()));
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
        if let Some(apart) = self.apart {
            apart.end(&outcome);
        }
        if self.concolic.guide.is_on() {
            self.guided_finish(outcome);
        }
        self.outcome.get_or_insert(outcome);
        self.leave_for_good()
    }

    pub fn finish_inconclusive(&mut self, reason: String) -> ! {
        let at = self.own_place();
        self.finish(Outcome::Inconclusive { reason, at })
    }

    /// Suspends the running fiber until its thread is chosen.
    pub fn suspend(&mut self) {
        let yielder = self.threads[self.running].yielder;
        // SAFETY: the yielder lives on this very fiber's stack, as long as the fiber's first function. No borrow of the
        // state is alive: this method has the handle.
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
