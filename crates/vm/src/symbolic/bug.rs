//! What made the run a failure, as a condition over what was read.
//!
//! Most failures are where a branch leads: the failing thread's last condition is then what decides, and is no
//! longer a condition of the path. Bad accesses say which addresses are bad; uses of freed memory read the object's
//! liveness cell; deadlocks are requests.

use unravel_trace::{
    BinaryOp, Bug, CompareOp, ConditionKind, EventKind, ExprId, FailureKind, Outcome, Request,
    ThreadId, Wants,
};

use crate::machine::Machine;
use crate::memory::{self, NULL_PAGE};
use crate::sync::mutex;
use crate::thread::Need;

/// A failed access.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Null,
    /// The addresses that would have been right, first and last.
    OutOfBounds {
        first: u64,
        last: u64,
    },
    /// A use or second free of freed memory; the event that was recorded for it.
    Freed {
        event: u32,
    },
}

/// What [`super::finish`] makes a [`Bug`] of, once it knows which symbols are left.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    Is(Bug),
    /// The thread's last condition, if this is none that depends on others.
    Fails {
        thread: usize,
        after: u32,
        fails: ExprId,
    },
    /// The thread's last condition; without one this.
    LastOf {
        thread: usize,
        otherwise: Bug,
    },
}

impl Machine {
    /// The event of a use of freed memory.
    pub(super) fn failing_event(&self) -> Option<u32> {
        match self.concolic.fault {
            Some(Fault::Freed { event }) => Some(event),
            _ => None,
        }
    }

    /// An access is about to fail: what would have been right. A use of freed memory gets an event, so that the
    /// failure has something to hang on.
    pub fn shadow_fault(
        &mut self,
        (address, bytes): (u64, u64),
        write: bool,
        fault: memory::Fault,
    ) {
        if !self.concolic.is_on() {
            return;
        }
        self.concolic.fault = match fault {
            memory::Fault::Null => Some(Fault::Null),
            memory::Fault::OutOfBounds => self.nearest_object(address).map(|(start, size)| {
                Fault::OutOfBounds { first: start, last: start + size.saturating_sub(bytes) }
            }),
            memory::Fault::Freed => {
                let site = self.current_site();
                let at = self.location(address, bytes, site);
                let value = crate::record::value_at(address, bytes);
                let event = self.recorder.events() as u32;
                let kind = match write {
                    true => EventKind::Write { at, value },
                    false => EventKind::Read { at, value },
                };
                self.record(site, kind);
                Some(Fault::Freed { event })
            }
            memory::Fault::DeadStack => None,
        };
    }

    pub fn shadow_double_free(&mut self, address: u64) {
        if self.concolic.is_on() {
            let site = self.current_site();
            let at = self.location(address, 1, site);
            let event = self.recorder.events() as u32;
            self.record(site, EventKind::Free { at });
            self.concolic.fault = Some(Fault::Freed { event });
        }
    }

    /// Start and size of what an address was most likely meant for.
    fn nearest_object(&self, address: u64) -> Option<(u64, u64)> {
        if let Some((_, _, object)) = self.memory.heap_object(address) {
            return Some((object.address, object.bytes));
        }
        let below = self.program.globals.iter().rfind(|global| global.address <= address)?;
        Some((below.address, below.bytes))
    }

    /// `dead` is what the failing event read from a liveness cell.
    pub(super) fn verdict(
        &mut self,
        outcome: &Outcome,
        dead: Option<ExprId>,
        requests: Vec<Request>,
    ) -> Verdict {
        if let Some(bug) = self.concolic.guide.led_bug() {
            return Verdict::Is(bug);
        }
        let thread = self.current;
        let after = self.concolic.thread(thread).last_event.unwrap_or(0);
        let reached = Bug::Reached { thread: ThreadId(thread as u32), after };
        let kind = match outcome {
            Outcome::Failed(failure) => failure.kind,
            Outcome::Exited { code } if *code != 0 => FailureKind::ExitCode,
            _ => return Verdict::Is(Bug::None),
        };
        // Which operations on descriptors block, and what they give, is none of the model's business, nor how often somebody looks at the
        // clock who waits so: only execution can tell.
        if self.thread_count > 1 && (self.descriptors.were_made() || self.clock.awaited) {
            return Verdict::Is(Bug::Opaque);
        }
        match kind {
            FailureKind::Deadlock => Verdict::Is(Bug::Deadlock { requests }),
            FailureKind::Livelock
            | FailureKind::StackOverflow
            | FailureKind::DataRace
            | FailureKind::Output
            | FailureKind::Check
            | FailureKind::Uninitialised
            // That a function returns is no event: only execution can tell whose locals are gone.
            | FailureKind::DeadStack => Verdict::Is(Bug::Opaque),
            FailureKind::ExitCode | FailureKind::Crash => {
                Verdict::LastOf { thread, otherwise: Bug::Opaque }
            }
            FailureKind::UseAfterFree | FailureKind::DoubleFree if dead.is_some() => {
                let dead = dead.expect("just seen");
                let fails = self.concolic.graph.equals(dead, 0);
                Verdict::Fails { thread, after, fails }
            }
            _ => match self.bad_address() {
                Some((after, fails)) => Verdict::Fails { thread, after, fails },
                None => Verdict::LastOf { thread, otherwise: reached },
            },
        }
    }

    /// The failing access had a symbolic address: which addresses fail. Takes the condition that fixed it away.
    fn bad_address(&mut self) -> Option<(u32, ExprId)> {
        let fault = self.concolic.fault?;
        let current = self.current;
        let address = self.concolic.thread(current).address?;
        let last = self.concolic.thread(current).last_condition?;
        let graph = &mut self.concolic.graph;
        let value = graph.value(address);
        let fixed = graph.equals(address, value);
        let condition = self.concolic.conditions[last];
        if condition.holds != fixed || condition.why != ConditionKind::Address {
            return None;
        }
        let exprs = &mut self.concolic.graph.exprs;
        let bits = exprs.bits(address);
        let mut below = |op, bound: u64| {
            let bound = exprs.constant(u128::from(bound), bits);
            exprs.compare(op, address, bound)
        };
        let fails = match fault {
            Fault::Null => below(CompareOp::Ult, NULL_PAGE),
            Fault::OutOfBounds { first, last } => {
                let (before, inside) = (below(CompareOp::Ult, first), below(CompareOp::Ule, last));
                let beyond = exprs.not(inside);
                exprs.binary(BinaryOp::Or, before, beyond)
            }
            Fault::Freed { .. } => return None,
        };
        self.concolic.conditions.remove(last);
        Some((condition.after, fails))
    }

    /// What every blocked thread waits for, if the run ended in a deadlock.
    pub fn requests(&mut self, outcome: &Outcome) -> Vec<Request> {
        let is_deadlock = outcome.failure().is_some_and(|f| f.kind == FailureKind::Deadlock);
        if !is_deadlock || !self.concolic.is_on() {
            return Vec::new();
        }
        let blocked: Vec<usize> =
            (0..self.thread_count).filter(|t| !self.threads[*t].ended).collect();
        blocked.into_iter().map(|thread| self.request(thread)).collect()
    }

    fn request(&mut self, index: usize) -> Request {
        let thread = &self.threads[index];
        let (id, need, pending) = (thread.id, thread.need, thread.pending);
        let woken = thread.woken_by.is_some();
        let (site, bytes) = (pending.site, u64::from(pending.bytes));
        let wants = match need {
            Need::Mutex(at) => Wants::Lock { at: self.location(at, bytes, site), shared: false },
            Need::ReadLock(at) => Wants::Lock { at: self.location(at, bytes, site), shared: true },
            Need::WriteLock(at) => {
                Wants::Lock { at: self.location(at, bytes, site), shared: false }
            }
            Need::Semaphore(at) => Wants::Semaphore { at: self.location(at, bytes, site) },
            Need::Barrier(at, _) => Wants::Barrier { at: self.location(at, bytes, site) },
            Need::Once(at) => Wants::Once { at: self.location(at, bytes, site) },
            Need::Wake { mutex: lock, .. } if woken => {
                Wants::Lock { at: self.location(lock, mutex::BYTES, site), shared: false }
            }
            Need::Wake { cond, mutex: lock } => Wants::Wake {
                at: self.location(cond, bytes, site),
                mutex: self.location(lock, mutex::BYTES, site),
            },
            Need::Ended(child) => Wants::Join { child },
            Need::Changed(..)
            | Need::Futex(_)
            | Need::Descriptor
            | Need::Time
            | Need::Signal(_)
            | Need::Never
            | Need::Nothing => Wants::Other,
        };
        Request { thread: id, site, wants }
    }
}
