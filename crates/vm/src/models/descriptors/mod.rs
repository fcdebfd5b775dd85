//! Descriptors inside the process: pipes, eventfds, timerfds, signalfds, socket pairs, Unix and loopback sockets between the
//! program's own threads, and `poll`, `select` and `epoll` over them.
//!
//! An operation is an event on the object behind the descriptor (a pipe, a connection, a queue of connections), pending
//! while it would block, as locks are. What is written is carried here, buffers fill, and time is the virtual clock's. Data
//! passes happens-before from who writes to who reads. Everything is gone when a run ends.
//!
//! A descriptor's number is a real one, taken by an `O_PATH` descriptor, on which nearly nothing works: a native function
//! that is given one by mistake fails and does not silently do something else. Only programs that call one of [`CREATORS`] are
//! modelled so; in all others `read`, `write` and so on are native calls, as ever.
//!
//! *Outside*: a socket that is connected or sent to an address that is no loopback address becomes a native one then; files
//! and the standard streams are native always. To wait for a native descriptor that is not ready is inconclusive, by name.
//!
//! *Not modelled*: limits of backlogs, urgent data, passing of descriptors (inconclusive), credentials, sockets bound to one
//! of several addresses of a port, the file that binding a Unix socket makes, latencies, loss of datagrams. A non-blocking
//! connection succeeds or fails at once and is told so later, as on a loopback device. Options of sockets are told as they were
//! set, and only timeouts and the size of the buffer do something. Fairness of `epoll` among ready
//! descriptors is the order of their numbers. Errs to fewer behaviours: reads and writes are never short but for lack of data or room.

mod address;
mod control;
mod create;
mod epoll;
mod objects;
mod poll;
mod sockets;
mod strangers;
mod transfer;

use unravel_code::Program;
use unravel_trace::{EventKind, Op, Operand, Pending, SiteId};

use super::{Args, Family, Flow, Model, fail_with_errno};
use crate::machine::{Machine, State};
use crate::resolve::native_address;
use crate::thread::Need;

pub(crate) use objects::Descriptors;
use objects::{Awaited, Waiting};

/// Functions that make a descriptor of ours.
const CREATORS: &[&str] = &[
    "pipe",
    "pipe2",
    "eventfd",
    "timerfd_create",
    "signalfd",
    "socketpair",
    "socket",
    "epoll_create",
    "epoll_create1",
];

/// Whether a program has descriptors of ours.
pub(crate) fn are_used(program: &Program) -> bool {
    let is_external = |name: &str| {
        let id = program.by_name.get(name);
        id.is_some_and(|id| program.function(*id).body.is_none())
    };
    CREATORS.iter().any(|name| is_external(name))
}

const FAMILIES: &[Family] = &[
    create::MODELS,
    transfer::MODELS,
    control::MODELS,
    sockets::MODELS,
    poll::MODELS,
    epoll::MODELS,
    strangers::MODELS,
];

/// The model of a function, in programs that have such descriptors.
pub(crate) fn find(name: &str) -> Option<Model> {
    let all = FAMILIES.iter().flat_map(|family| family.iter());
    all.into_iter().find(|(own, _)| *own == name).map(|(_, model)| *model)
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// What was waited for is there; or nothing had to be waited for.
    Ready,
    TimedOut,
    Interrupted,
}

/// Objects lie side by side here, where no memory is.
const OBJECTS: u64 = 0x6ffc_0000_0000;

/// -1 of whatever width the caller expects, with `errno` set.
fn fail(number: i32) -> Flow {
    fail_with_errno(number);
    Flow::Return(u64::MAX)
}

/// A number of bytes, or of descriptors.
fn count(value: usize) -> Flow {
    Flow::Return(value as u64)
}

impl State {
    /// Whether what a thread waits for is there.
    pub fn descriptors_ready(&self, index: usize) -> bool {
        let Some(waiting) = self.descriptors.waits.get(&index) else { return true };
        match &waiting.awaited {
            Awaited::Read(id) => self.events_of(*id, index) & objects::READABLE != 0,
            Awaited::Write(id, room) => {
                self.descriptors.room_of(*id) >= *room
                    || self.events_of(*id, index) & objects::BROKEN != 0
            }
            Awaited::Any(list) => list
                .iter()
                .any(|(id, events)| self.events_of(*id, index) & (events | objects::ALWAYS) != 0),
            Awaited::Epoll(id) => self.epoll_ready(*id, index),
        }
    }

    /// The descriptor through which somebody outside of the process could still let a blocked thread go on.
    pub fn waits_for_outside(&self, index: usize) -> Option<String> {
        let waiting = self.descriptors.waits.get(&index)?;
        let ids: Vec<usize> = match &waiting.awaited {
            Awaited::Read(id) => vec![*id],
            // Who reads what a thread writes is in this process: others have no end of it.
            Awaited::Write(..) => Vec::new(),
            Awaited::Any(list) => list.iter().map(|(id, _)| *id).collect(),
            Awaited::Epoll(id) => self.descriptors.interests_of(*id),
        };
        let reachable = ids.into_iter().find(|id| self.descriptors.is_reachable(*id))?;
        Some(self.descriptors.name_of(reachable))
    }

    /// What a blocked thread waits for, in words.
    pub fn describe_descriptors(&self, index: usize) -> String {
        let Some(waiting) = self.descriptors.waits.get(&index) else {
            return "a descriptor".into();
        };
        let name = |id: usize| self.descriptors.name_of(id);
        match &waiting.awaited {
            Awaited::Read(id) => format!("data from {}", name(*id)),
            Awaited::Write(id, _) => format!("room in {}", name(*id)),
            Awaited::Epoll(id) => format!("an event of {}", name(*id)),
            Awaited::Any(list) => {
                let names: Vec<String> = list.iter().map(|(id, _)| name(*id)).collect();
                format!("an event of {}", names.join(", "))
            }
        }
    }

    /// Timers may have been set while threads wait for them.
    fn refresh_deadlines(&mut self) {
        let all: Vec<(usize, Option<u64>)> = self
            .descriptors
            .waits
            .iter()
            .map(|(thread, waiting)| (*thread, self.deadline_of(waiting)))
            .collect();
        for (thread, deadline) in all {
            self.threads[thread].timed = deadline.is_some();
            self.threads[thread].deadline = deadline.unwrap_or(0);
        }
    }

    /// When a wait ends by time: its own, or that of a timer in it.
    fn deadline_of(&self, waiting: &Waiting) -> Option<u64> {
        let timers: Vec<u64> = match &waiting.awaited {
            Awaited::Read(id) => self.descriptors.expiry_of(*id).into_iter().collect(),
            Awaited::Write(..) => Vec::new(),
            Awaited::Any(list) => {
                list.iter().filter_map(|(id, _)| self.descriptors.expiry_of(*id)).collect()
            }
            Awaited::Epoll(id) => self.descriptors.expiry_of(*id).into_iter().collect(),
        };
        timers.into_iter().chain(waiting.timeout).min()
    }
}

impl Machine {
    /// One event on an object: waits for its turn, and for what is awaited.
    fn object_event(&mut self, op: Op, object: u64, site: SiteId, waiting: Option<Waiting>) -> End {
        self.test_cancel();
        let me = self.current;
        let need = match waiting {
            None => Need::Nothing,
            Some(waiting) => {
                let deadline = self.deadline_of(&waiting);
                self.descriptors.waits.insert(me, waiting);
                let thread = self.current_thread();
                thread.timed = deadline.is_some();
                thread.timed_out = false;
                thread.deadline = deadline.unwrap_or(0);
                Need::Descriptor
            }
        };
        let pending = self.pending(op, object, 1, site, need);
        self.wait_for_turn(Pending { operand: Operand::Watched, ..pending }, need);
        self.test_cancel();
        self.descriptors.waits.remove(&me);
        if self.was_interrupted() {
            return End::Interrupted;
        }
        match std::mem::take(&mut self.current_thread().timed_out) {
            true => End::TimedOut,
            false => End::Ready,
        }
    }

    /// The event is in the trace.
    fn record_descriptor(&mut self, what: &str, id: usize, site: SiteId) {
        if self.recorder.is_on() {
            let name = format!("{what} {}", self.descriptors.name_of(id));
            self.record(site, EventKind::Descriptor { name });
        }
    }

    /// Whether a number that is none of ours is none of the program's either: closed, or one that this tool itself has.
    fn is_closed(&self, number: i32) -> bool {
        // SAFETY: asks whether there is such a descriptor.
        (3..self.natives.first_descriptor()).contains(&number)
            || unsafe { libc::fcntl(number, libc::F_GETFD) } < 0
    }

    /// Calls the native function of a name: the descriptor, its first argument, is none of ours.
    fn call_on_outside(&mut self, a: Args, name: &str) -> Flow {
        match self.is_closed(a.int(0)) {
            true => fail(libc::EBADF),
            false => self.call_outside(a, name),
        }
    }

    /// A wait with the signal mask at an address, if there is one, instead of the thread's.
    fn masked(&mut self, mask_at: u64, wait: impl FnOnce(&mut Machine) -> Flow) -> Flow {
        if mask_at == 0 {
            return wait(self);
        }
        let before = super::signals::replace_mask(self, mask_at);
        let flow = wait(self);
        self.current_thread().mask = before;
        flow
    }

    /// Calls the native function of a name.
    pub(crate) fn call_outside(&mut self, a: Args, name: &str) -> Flow {
        let Some(address) = native_address(name) else {
            self.finish_inconclusive(format!("the function '{name}' is not known"));
        };
        self.external_event(name, a.site());
        self.will_change(crate::put_back::change(name));
        self.check_before_native(a.call(), a.frame());
        let words = [0, 1, 2, 3, 4, 5].map(|i| a.word(i));
        let Ok(result) = self.try_call_native(address, &words) else { return Flow::Throw };
        self.check_after_native(a.call(), a.frame());
        Flow::Return(result)
    }
}
