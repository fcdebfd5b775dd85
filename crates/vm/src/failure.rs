//! From a failure inside the machine to an `Outcome` a person understands.

use unravel_code::layout::{ARENA_BASE, FUNCTIONS};
use unravel_code::{AccessKind, CallId, FunctionId, Inst};
use unravel_trace::*;

use crate::delivery::is_context;
use crate::guard;
use crate::machine::Machine;
use crate::memory::{BadFree, Fault};
use crate::models::threads::is_own_block;
use crate::thread::{Need, Thread, Trapped};

impl Machine {
    /// Ends the run with a failure of the current thread.
    pub fn fail(&mut self, kind: FailureKind, message: impl Into<String>) -> ! {
        self.fail_with(kind, message.into(), Vec::new())
    }

    pub fn fail_with(&mut self, kind: FailureKind, message: String, related: Vec<Related>) -> ! {
        let outcome = self.failure_of(self.current, kind, message, related);
        self.finish(outcome)
    }

    fn failure_of(
        &self,
        thread: usize,
        kind: FailureKind,
        message: String,
        related: Vec<Related>,
    ) -> Outcome {
        Outcome::Failed(Box::new(Failure {
            kind,
            message,
            thread: self.names[thread].clone(),
            stack: self.stack_of(thread),
            related,
        }))
    }

    /// Where a thread is, innermost first, inlined calls included.
    pub fn stack_of(&self, index: usize) -> Vec<Place> {
        self.places(self.sites_of(index))
    }

    /// Where the current thread is, in the user's own code if any of it is on the stack.
    pub fn own_place(&self) -> Option<Place> {
        user_place(&self.stack_of(self.current)).cloned()
    }

    /// The library function that the current thread is calling.
    pub fn called_function(&self) -> Option<String> {
        let thread = (self.current < self.thread_count).then(|| &self.threads[self.current])?;
        thread.frames.last()?;
        // SAFETY: the saved position of a thread with frames is inside a function's code.
        let function = match unsafe { *thread.at.pc } {
            Inst::CallExternal { function, .. } => Some(function),
            Inst::CallIndirect { ptr, .. } => {
                // SAFETY: a slot of the thread's own frame.
                self.program.function_at(unsafe { *thread.at.fp.add(ptr as usize) })
            }
            _ => None,
        };
        function.map(|function| self.program.function(function).display_name.clone())
    }

    /// Sites as places, inlined calls included.
    pub fn places(&self, sites: impl IntoIterator<Item = SiteId>) -> Vec<Place> {
        let mut places = Vec::new();
        for site in sites {
            let site = &self.program.sites[site.index()];
            places.push(site.place.clone());
            places.extend(site.inlined_at.iter().cloned());
        }
        places
    }

    /// The sites that a thread is at, innermost first.
    pub fn sites_of(&self, index: usize) -> Vec<SiteId> {
        let Some(thread) = (index < self.thread_count).then(|| &self.threads[index]) else {
            return Vec::new();
        };
        let own = match (thread.timer, thread.frames.last()) {
            // Where it was set first.
            (Some(_), None) => Some(thread.pending.site),
            (_, frame) => frame.and_then(|f| self.site_at(f.function, thread.at.pc, 0)),
        };
        own.into_iter().chain(self.callers_of(index)).collect()
    }

    /// The calls that brought a thread where it is, innermost first.
    pub fn callers_of(&self, index: usize) -> impl Iterator<Item = SiteId> + '_ {
        let frames = &self.threads[index].frames;
        let calls = frames.windows(2).rev();
        // A caller's position is behind its call.
        calls.filter_map(|pair| self.site_at(pair[0].function, pair[1].caller.pc, 1))
    }

    /// The same with what each calls, and the slots of the frame that does.
    pub fn calls_of(
        &self,
        index: usize,
    ) -> impl Iterator<Item = (SiteId, CallId, *const u64)> + '_ {
        let frames = &self.threads[index].frames;
        frames.windows(2).rev().filter_map(|pair| {
            let caller = &pair[1].caller;
            let site = self.site_at(pair[0].function, caller.pc, 1)?;
            // SAFETY: a caller's position is behind its call, in the code of a function.
            match unsafe { *caller.pc.sub(1) } {
                Inst::Call { call, .. } | Inst::CallIndirect { call, .. } => {
                    Some((site, call, caller.fp.cast_const()))
                }
                _ => None,
            }
        })
    }

    fn site_at(&self, function: FunctionId, pc: *const Inst, behind: usize) -> Option<SiteId> {
        let body = self.program.function(function).body.as_ref()?;
        let offset =
            (pc as usize).wrapping_sub(body.code.as_ptr() as usize) / std::mem::size_of::<Inst>();
        body.places.get(offset.checked_sub(behind)?).copied()
    }

    /// Ends the run because of a bad access.
    pub fn fail_access(&mut self, address: u64, bytes: u64, write: bool, fault: Fault) -> ! {
        if (ARENA_BASE..FUNCTIONS).contains(&address) {
            let names = self.natives.missing_data(&self.program).join("', '");
            self.finish_inconclusive(format!("the variable '{names}' is not defined anywhere"));
        }
        self.shadow_fault((address, bytes), write, fault);
        let verb = if write { "write" } else { "read" };
        let what = self.describe_access(address, bytes);
        let (kind, message) = match fault {
            Fault::Null if address == 0 => (
                FailureKind::NullDereference,
                format!("{verb} of {bytes} bytes through a null pointer"),
            ),
            Fault::Null => (
                FailureKind::NullDereference,
                format!("{verb} of {bytes} bytes at {address:#x}, close to null"),
            ),
            Fault::OutOfBounds => {
                (FailureKind::OutOfBounds, format!("{verb} of {bytes} bytes out of bounds: {what}"))
            }
            Fault::Freed => {
                (FailureKind::UseAfterFree, format!("{verb} of {bytes} bytes after free: {what}"))
            }
            Fault::DeadStack => (
                FailureKind::DeadStack,
                format!(
                    "{verb} of {bytes} bytes of a local variable whose function has returned, \
                     or beyond a local array"
                ),
            ),
        };
        let related = self.object_history(address);
        self.fail_with(kind, message, related)
    }

    pub fn fail_free(&mut self, address: u64, bad: BadFree) -> ! {
        let what = self.describe(address);
        let related = self.object_history(address);
        match bad {
            BadFree::Double => {
                self.shadow_double_free(address);
                self.fail_with(FailureKind::DoubleFree, format!("second free of {what}"), related)
            }
            BadFree::NotAllocated => self.fail_with(
                FailureKind::InvalidFree,
                format!("free of something that was never allocated: {what}"),
                related,
            ),
        }
    }

    /// Ends the run because an observer objects to what the current thread is about to do. That need not be its pending event:
    /// inside an atomic section it is part of the one that began it.
    pub fn fail_by(&mut self, alarm: Alarm, now: Pending) -> ! {
        let Alarm::Race { earlier, thread, what } = alarm;
        let (me, other) = (&self.names[self.current], &self.names[thread.index()]);
        // The smaller access of the two says best what they share.
        let (small, by) = match now.op == Op::Free || now.bytes > what.bytes {
            true => (&what, thread.index()),
            false => (&now, self.current),
        };
        let name = self.sync_name(small.address, u64::from(small.bytes), small.site, by);
        let said = |pending: &Pending, what: &str| match (pending.op, pending.atomic) {
            (Op::Read, false) => format!("reads {what}"),
            (Op::Read, true) => format!("reads {what} atomically"),
            (Op::Free, _) => format!("frees {what}"),
            (_, false) => format!("writes {what}"),
            (_, true) => format!("writes {what} atomically"),
        };
        let message = format!(
            "{other} {}, {me} {}, and nothing orders them",
            said(&what, &name),
            said(&now, "it")
        );
        let noun = match (what.op, what.atomic) {
            (Op::Read, false) => "read",
            (Op::Read, true) => "atomic read",
            (_, false) => "write",
            (_, true) => "atomic write",
        };
        let related = Related {
            message: format!("the {noun} by {other}"),
            stack: self.kept_stack(earlier, what.site),
        };
        self.fail_with(FailureKind::DataRace, message, vec![related])
    }

    /// Where the heap object around `address` was allocated and freed.
    pub fn object_history(&self, address: u64) -> Vec<Related> {
        let Some((_, _, object)) = self.memory.heap_object(address) else { return Vec::new() };
        let place = |site: SiteId| {
            self.program.sites.get(site.index()).map(|s| s.place.clone()).into_iter().collect()
        };
        let mut related = Vec::new();
        if let Some((thread, site)) = object.freed {
            let who = &self.names[thread as usize];
            related.push(Related { message: format!("freed here by {who}"), stack: place(site) });
        }
        related.push(Related {
            message: format!("{} bytes, allocated here", object.bytes),
            stack: place(object.allocated_at),
        });
        related
    }

    /// What the current thread accesses, in words: `job->next, byte 56 of heap object 2 of T0 (64 bytes)`.
    fn describe_access(&self, address: u64, bytes: u64) -> String {
        let what = self.describe(address);
        if self.memory.heap_object(address).is_none() {
            return what;
        }
        let site = self.sites_of(self.current).first().copied();
        let access = site.and_then(|site| self.program.accesses.get(site.index()));
        let own = site.is_some_and(|site| self.program.sites[site.index()].place.is_own());
        // What a call is made on need not be what it accesses.
        let plain = access.filter(|access| own && access.kind != AccessKind::Call);
        let name = plain.and_then(|access| access.path.clone());
        let name = name.or_else(|| Some(self.typed_name(address, bytes)?.0));
        name.map_or(what.clone(), |name| format!("{name}, {what}"))
    }

    /// An address in words: `accounts[3].balance`, `byte 8 of heap object 2 of T0 (24 bytes)`.
    pub fn describe(&self, address: u64) -> String {
        if let Some(global) = self.program.global_at(address) {
            let offset = address - global.address;
            let member = global.ty.map_or_else(
                || if offset == 0 { String::new() } else { format!("+{offset}") },
                |ty| self.program.types.member(ty, offset, 1),
            );
            return format!("{}{member}", global.name);
        }
        if let Some((slot, index, object)) = self.memory.heap_object(address) {
            if slot == crate::native::ARGUMENTS_SLOT {
                return "the program's arguments".into();
            }
            let owner = self.slot_owner(slot);
            let offset = address as i64 - object.address as i64;
            return format!(
                "byte {offset} of heap object {} of {owner} ({} bytes)",
                index + 1,
                object.bytes
            );
        }
        if let Some(slot) = crate::memory::stack_slot(address) {
            return format!("stack of {}", self.slot_owner(slot));
        }
        if let Some(global) = self.program.globals.iter().rfind(|g| g.address <= address)
            && address < global.address + global.bytes + unravel_code::layout::RED_ZONE
        {
            let beyond = address - global.address - global.bytes;
            return format!("{beyond} bytes behind the end of {}", global.name);
        }
        match self.program.function_at(address) {
            Some(function) => format!("function {}", self.program.function(function).display_name),
            None => format!("address {address:#x}"),
        }
    }

    pub fn slot_owner(&self, slot: usize) -> ThreadName {
        self.threads_of_run()
            .rfind(|t| t.slot == slot)
            .map_or_else(ThreadName::main, |t| t.name.clone())
    }

    /// What a blocked thread waits for, in words.
    fn describe_wait(&self, thread: &Thread) -> String {
        let who = &thread.name;
        let held_by = |owner: Option<ThreadId>| match owner {
            Some(owner) if owner == thread.id => ", which it holds itself".to_owned(),
            Some(owner) => format!(", held by {}", self.names[owner.index()]),
            None => String::new(),
        };
        let name = |address: u64| {
            let pending = &thread.pending;
            self.sync_name(address, u64::from(pending.bytes), pending.site, thread.id.index())
        };
        match thread.need {
            Need::Mutex(at) => {
                format!("{who} waits for mutex {}{}", name(at), held_by(self.sync.mutex_owner(at)))
            }
            Need::ReadLock(at) | Need::WriteLock(at) => {
                format!(
                    "{who} waits for rwlock {}{}",
                    name(at),
                    held_by(self.sync.rwlock_owner(at))
                )
            }
            Need::Semaphore(at) => format!("{who} waits for semaphore {}", name(at)),
            Need::Barrier(at, _) => format!("{who} waits at barrier {}", name(at)),
            Need::Wake { cond, mutex, .. } if thread.woken_by.is_some() => format!(
                "{who} was woken on {} and waits for mutex {}{}",
                name(cond),
                self.describe(mutex),
                held_by(self.sync.mutex_owner(mutex))
            ),
            Need::Wake { cond, .. } => {
                format!(
                    "{who} waits on condition variable {} for a signal that does not come",
                    name(cond)
                )
            }
            Need::Once(at) => format!("{who} waits for the initialiser of {}", name(at)),
            Need::Ended(child) => format!("{who} waits for {} to end", self.names[child.index()]),
            Need::Changed(at, _) => format!("{who} waits for {} to change", name(at)),
            Need::Futex(at) => {
                format!("{who} waits for a wake of futex {} that does not come", name(at))
            }
            Need::Time => format!("{who} sleeps"),
            Need::Descriptor => {
                let what = self.describe_descriptors(thread.id.index());
                format!("{who} waits for {what} that never comes")
            }
            Need::Signal(_) | Need::Never => {
                format!("{who} waits for a signal that nobody in the program sends any more")
            }
            Need::Nothing => format!("{who} runs on without effect"),
        }
    }

    fn waits(&self, of: impl Fn(&Thread) -> bool) -> Vec<Related> {
        self.threads_of_run()
            .filter(|t| !t.ended && t.timer.is_none() && of(t))
            .map(|t| Related { message: self.describe_wait(t), stack: self.stack_of(t.id.index()) })
            .collect()
    }

    pub fn deadlock(&mut self) -> ! {
        let awaits = |t: &Thread| matches!(t.need, Need::Signal(_) | Need::Never);
        if self.threads_of_run().any(|t| t.timer.is_none() && awaits(t)) {
            self.note(Note::SignalsIgnored);
        }
        let related = self.waits(|_| true);
        let cycle = self.cycle();
        // Those who wait for the end of a thread wait because of the others.
        let stuck: Vec<usize> = (0..self.thread_count)
            .filter(|t| !self.threads[*t].ended && self.threads[*t].timer.is_none())
            .filter(|t| !matches!(self.threads[*t].need, Need::Ended(_)))
            .collect();
        // A client from outside may come at any time: only those who wait for each other wait for ever.
        if cycle.is_empty()
            && let Some((thread, what)) =
                stuck.iter().find_map(|t| Some((*t, self.waits_for_outside(*t)?)))
        {
            let at = self.stack_of(thread).iter().find(|place| place.is_own()).cloned();
            let name = &self.names[thread];
            let reason = format!(
                "{name} waits for somebody outside of the process, at {what}, and no thread of its own comes there"
            );
            self.finish(Outcome::Inconclusive { reason, at });
        }
        let message = match (cycle.len(), stuck.len()) {
            (1, _) => "a thread waits for a lock that it holds itself".to_owned(),
            (0, 0) => "threads wait for each other to end".to_owned(),
            (0, 1) => "a thread waits for something that never comes".to_owned(),
            (0, threads) => format!("{threads} threads wait for something that never comes"),
            (threads, _) => format!("{threads} threads wait for each other"),
        };
        let first = cycle.first().or(stuck.first()).copied().unwrap_or(0);
        let outcome = self.failure_of(first, FailureKind::Deadlock, message, related);
        self.finish(outcome)
    }

    /// Threads of which each waits for a lock that the next one holds, the smallest first; none if there is no cycle.
    fn cycle(&self) -> Vec<usize> {
        let next = |thread: usize| {
            let thread = &self.threads[thread];
            let owner = match thread.need {
                Need::Mutex(at) => self.sync.mutex_owner(at),
                Need::Wake { mutex, .. } if thread.woken_by.is_some() => {
                    self.sync.mutex_owner(mutex)
                }
                Need::ReadLock(at) | Need::WriteLock(at) => self.sync.rwlock_owner(at),
                _ => None,
            };
            owner.map(ThreadId::index).filter(|owner| !self.threads[*owner].ended)
        };
        for start in (0..self.thread_count).filter(|t| !self.threads[*t].ended) {
            let mut members = vec![start];
            while let Some(owner) = next(members[members.len() - 1]) {
                if owner == start {
                    return members;
                }
                if members.contains(&owner) {
                    break;
                }
                members.push(owner);
            }
        }
        Vec::new()
    }

    pub fn livelock(&mut self) -> ! {
        let related = self.waits(|_| true);
        let message = "every thread that can run goes round in circles".into();
        let outcome = self.failure_of(self.current, FailureKind::Livelock, message, related);
        self.finish(outcome)
    }

    /// A signal in native code or at a foreign address.
    pub fn trap_outcome(&self, trapped: Trapped) -> Outcome {
        let (kind, message) = match trapped.signal {
            libc::SIGFPE => {
                (FailureKind::DivisionByZero, "arithmetic error in native code".to_owned())
            }
            libc::SIGABRT => (FailureKind::Abort, "abort in native code".to_owned()),
            libc::SIGILL => (FailureKind::Crash, "illegal instruction in native code".to_owned()),
            libc::SIGALRM => {
                let who = &self.names[self.current];
                let what = self.called_function().unwrap_or_else(|| "native code".to_owned());
                let reason = match trapped.address {
                    guard::LATE => format!("{who} calls '{what}', which takes too long"),
                    _ => format!(
                        "{who} calls '{what}', which waits for something outside and does not come back"
                    ),
                };
                return Outcome::Inconclusive { reason, at: self.own_place() };
            }
            _ if is_context(trapped.address) => {
                let reason =
                    "a signal handler looks at the interrupted context, which is not modelled";
                return Outcome::Inconclusive { reason: reason.into(), at: self.own_place() };
            }
            _ if is_own_block(trapped.address) => {
                let reason = "the program looks into the block of a thread, which is not modelled";
                return Outcome::Inconclusive { reason: reason.into(), at: self.own_place() };
            }
            _ if trapped.address < 1 << 16 => {
                (FailureKind::NullDereference, "null pointer used in native code".to_owned())
            }
            _ if trapped.address == u64::MAX => {
                (FailureKind::Crash, "use of a pointer that is no address".to_owned())
            }
            _ => (FailureKind::Crash, format!("invalid memory access at {:#x}", trapped.address)),
        };
        self.failure_of(self.current, kind, message, Vec::new())
    }
}
