//! What is behind descriptors: the objects, and what can be done with them now.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rustc_hash::FxHashMap;

use super::OBJECTS;
use super::address::Address;
use crate::machine::State;

/// Events as `poll` and `epoll` call them, which agree in these.
pub(super) const IN: u32 = libc::EPOLLIN as u32;
pub(super) const OUT: u32 = libc::EPOLLOUT as u32;
pub(super) const ERR: u32 = libc::EPOLLERR as u32;
pub(super) const HUP: u32 = libc::EPOLLHUP as u32;
pub(super) const RDHUP: u32 = libc::EPOLLRDHUP as u32;
/// `EPOLLRDNORM` and `EPOLLWRNORM`: the same as `IN` and `OUT` for all that is here.
pub(super) const IN_TOO: u32 = libc::EPOLLRDNORM as u32;
pub(super) const OUT_TOO: u32 = libc::EPOLLWRNORM as u32;
/// Reported whether or not they were asked for.
pub(super) const ALWAYS: u32 = ERR | HUP;
/// A read does not block.
pub(super) const READABLE: u32 = IN | HUP | ERR | RDHUP;
/// A write fails at once.
pub(super) const BROKEN: u32 = ERR | HUP;

/// Linux's default; a write of no more than [`PIPE_ATOMIC`] bytes is never split.
pub(super) const PIPE_BYTES: usize = 65_536;
pub(super) const PIPE_ATOMIC: usize = 4096;
/// Linux's default for sockets.
pub(super) const SOCKET_BYTES: usize = 212_992;
/// The largest value of an eventfd.
pub(super) const MOST: u64 = u64::MAX - 1;

/// One direction of a pipe or connection.
#[derive(Debug)]
pub(super) struct Channel {
    pub data: VecDeque<u8>,
    /// Of those that keep the boundaries of messages: their lengths.
    pub messages: Option<VecDeque<usize>>,
    pub capacity: usize,
    /// Nobody writes any more; nobody reads any more.
    pub ended: bool,
    pub deaf: bool,
    /// How often something came, and how often there was room again after it was full: for edges.
    pub arrivals: u64,
    pub openings: u64,
}

impl Channel {
    fn new(capacity: usize, messages: bool) -> Channel {
        Channel {
            data: VecDeque::new(),
            messages: messages.then(VecDeque::new),
            capacity,
            ended: false,
            deaf: false,
            arrivals: 0,
            openings: 0,
        }
    }

    pub fn room(&self) -> usize {
        self.capacity.saturating_sub(self.data.len())
    }

    pub fn put(&mut self, bytes: &[u8]) {
        self.data.extend(bytes);
        if let Some(messages) = &mut self.messages {
            messages.push_back(bytes.len());
        }
        self.arrivals += 1;
    }

    /// Takes up to `most` bytes: of messages the first one, whose rest is lost; and says how many there would have been of that.
    pub fn take(&mut self, most: usize, peek: bool) -> (Vec<u8>, usize) {
        let was_full = self.room() < PIPE_ATOMIC;
        let whole = self.messages.as_ref().and_then(|m| m.front().copied());
        let length = whole.unwrap_or(self.data.len()).min(most);
        let taken: Vec<u8> = self.data.iter().take(length).copied().collect();
        if !peek {
            self.data.drain(..whole.unwrap_or(length));
            if let Some(messages) = &mut self.messages {
                messages.pop_front();
            }
            if was_full {
                self.openings += 1;
            }
        }
        (taken, whole.unwrap_or(length))
    }

    /// Whether a read finds something.
    fn has_data(&self) -> bool {
        !self.data.is_empty() || self.messages.as_ref().is_some_and(|m| !m.is_empty())
    }
}

/// What a socket may still become.
#[derive(Clone, Debug)]
pub(super) struct Fresh {
    pub domain: i32,
    pub kind: i32,
    pub bound: Option<Address>,
    /// What became of a connection that was begun.
    pub error: i32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Interest {
    pub id: usize,
    pub events: u32,
    pub data: u64,
    /// The edge that was reported last.
    pub reported: Option<u64>,
    /// Not reported again until it is set anew (`EPOLLONESHOT`).
    pub spent: bool,
}

#[derive(Debug)]
pub(super) enum Kind {
    Pipe {
        channel: usize,
        writes: bool,
    },
    Event {
        value: u64,
        semaphore: bool,
        arrivals: u64,
    },
    /// `deadline` 0: not set.
    Timer {
        deadline: u64,
        interval: u64,
    },
    Signals {
        set: u64,
    },
    Fresh(Fresh),
    Listener {
        address: Address,
        domain: i32,
        queue: VecDeque<usize>,
        arrivals: u64,
    },
    Stream {
        rx: usize,
        tx: usize,
        domain: i32,
        /// `SOCK_STREAM`, or what keeps the boundaries of messages.
        style: i32,
        local: Option<Address>,
        peer: Option<Address>,
    },
    Datagram {
        domain: i32,
        local: Option<Address>,
        peer: Option<Address>,
        inbox: VecDeque<(Option<Address>, Vec<u8>)>,
        arrivals: u64,
    },
    Epoll {
        interests: BTreeMap<i32, Interest>,
    },
    /// A native descriptor that an epoll instance looks at, and what it had when it was last asked.
    Outside {
        number: i32,
        found: u32,
    },
}

/// An open file description.
#[derive(Debug)]
pub(super) struct Open {
    pub kind: Kind,
    /// What operations on it are events on; both ends of a pipe or connection have the same.
    pub object: u64,
    pub blocking: bool,
    /// Descriptors of it.
    pub count: u32,
    /// The first one, for its name.
    pub first: i32,
    /// `SO_RCVTIMEO`, `SO_SNDTIMEO`.
    pub read_timeout: Option<u64>,
    pub write_timeout: Option<u64>,
    /// What else was set by `setsockopt`, by level and name: it is told again, and does nothing.
    pub options: BTreeMap<(i32, i32), Vec<u8>>,
}

impl Open {
    pub fn is_socket(&self) -> bool {
        matches!(
            self.kind,
            Kind::Fresh(_) | Kind::Listener { .. } | Kind::Stream { .. } | Kind::Datagram { .. }
        )
    }
}

/// What a thread waits for.
#[derive(Debug)]
pub(crate) enum Awaited {
    Read(usize),
    /// So much room.
    Write(usize, usize),
    /// One of these events of one of these.
    Any(Vec<(usize, u32)>),
    Epoll(usize),
}

#[derive(Debug)]
pub(crate) struct Waiting {
    pub awaited: Awaited,
    /// When it is over in any case.
    pub timeout: Option<u64>,
}

/// The descriptors of a run.
#[derive(Debug, Default)]
pub(crate) struct Descriptors {
    /// By number.
    pub(super) numbers: BTreeMap<i32, usize>,
    /// Numbers that other programs would not get (`FD_CLOEXEC`).
    pub(super) closing: BTreeSet<i32>,
    /// None is given back during a run: who waits for one that is closed goes on waiting.
    pub(super) open: Vec<Open>,
    pub(super) channels: Vec<Channel>,
    /// By thread.
    pub(crate) waits: FxHashMap<usize, Waiting>,
    /// Sockets that can be reached, by address.
    pub(super) bound: BTreeMap<Address, usize>,
    pub(super) objects: u64,
    pub(super) ports: u16,
}

impl Descriptors {
    pub fn clear(&mut self) {
        if !self.open.is_empty() || self.objects != 0 {
            *self = Descriptors::default();
        }
    }

    /// Whether this run has had any.
    pub fn were_made(&self) -> bool {
        self.objects != 0 || !self.open.is_empty()
    }

    /// Whether processes outside can send something to it: it has an address.
    pub fn is_reachable(&self, id: usize) -> bool {
        match &self.open[id].kind {
            Kind::Listener { .. } => true,
            Kind::Datagram { local, .. } => local.is_some(),
            Kind::Outside { .. } => true,
            _ => false,
        }
    }

    /// What an epoll instance looks at.
    pub fn interests_of(&self, id: usize) -> Vec<usize> {
        match &self.open[id].kind {
            Kind::Epoll { interests } => interests.values().map(|interest| interest.id).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether a number is that of a descriptor of ours.
    pub fn is_ours(&self, number: i32) -> bool {
        self.numbers.contains_key(&number)
    }

    pub(super) fn set_closing(&mut self, number: i32, closes: bool) {
        match closes {
            true => self.closing.insert(number),
            false => self.closing.remove(&number),
        };
    }

    pub(super) fn id(&self, number: i32) -> Option<usize> {
        self.numbers.get(&number).copied()
    }

    pub(super) fn channel(&mut self, capacity: usize, messages: bool) -> usize {
        self.channels.push(Channel::new(capacity, messages));
        self.channels.len() - 1
    }

    pub(super) fn object(&mut self) -> u64 {
        self.objects += 1;
        OBJECTS + 16 * self.objects
    }

    pub(super) fn add(&mut self, kind: Kind, object: u64, blocking: bool) -> usize {
        self.open.push(Open {
            kind,
            object,
            blocking,
            count: 0,
            first: -1,
            read_timeout: None,
            write_timeout: None,
            options: BTreeMap::new(),
        });
        self.open.len() - 1
    }

    /// How reports call it: `pipe 4`, `socket 7`.
    pub fn name_of(&self, id: usize) -> String {
        let open = &self.open[id];
        let kind = match &open.kind {
            Kind::Pipe { .. } => "pipe",
            Kind::Event { .. } => "eventfd",
            Kind::Timer { .. } => "timerfd",
            Kind::Signals { .. } => "signalfd",
            Kind::Epoll { .. } => "epoll",
            Kind::Outside { .. } => "native descriptor",
            Kind::Listener { .. } => "listening socket",
            Kind::Fresh(_) | Kind::Stream { .. } | Kind::Datagram { .. } => "socket",
        };
        match open.first {
            -1 => kind.to_owned(),
            number => format!("{kind} {number}"),
        }
    }

    /// Whether reads from it end where a message does.
    pub(super) fn keeps_messages(&self, id: usize) -> bool {
        match &self.open[id].kind {
            Kind::Pipe { channel, .. } | Kind::Stream { rx: channel, .. } => {
                self.channels[*channel].messages.is_some()
            }
            Kind::Datagram { .. } => true,
            _ => false,
        }
    }

    /// How much can be written.
    pub(super) fn room_of(&self, id: usize) -> usize {
        match &self.open[id].kind {
            Kind::Pipe { channel, writes: true } | Kind::Stream { tx: channel, .. } => {
                let channel = &self.channels[*channel];
                if channel.deaf || channel.ended { usize::MAX } else { channel.room() }
            }
            Kind::Event { value, .. } => usize::try_from(MOST - value).unwrap_or(usize::MAX),
            _ => usize::MAX,
        }
    }

    /// When the first timer in it runs out.
    pub(super) fn expiry_of(&self, id: usize) -> Option<u64> {
        match &self.open[id].kind {
            Kind::Timer { deadline, .. } => (*deadline != 0).then_some(*deadline),
            Kind::Epoll { interests } => {
                interests.values().filter(|i| !i.spent).filter_map(|i| self.expiry_of(i.id)).min()
            }
            _ => None,
        }
    }

    /// Counts what may have made it ready: an edge is where it grew.
    pub(super) fn edges_of(&self, id: usize, now: u64) -> u64 {
        let channel = |index: &usize| &self.channels[*index];
        match &self.open[id].kind {
            Kind::Pipe { channel: c, writes: false } => {
                channel(c).arrivals + u64::from(channel(c).ended)
            }
            Kind::Pipe { channel: c, .. } => channel(c).openings + u64::from(channel(c).deaf),
            Kind::Stream { rx, tx, .. } => {
                let (rx, tx) = (channel(rx), channel(tx));
                rx.arrivals + u64::from(rx.ended) + tx.openings + u64::from(tx.deaf)
            }
            Kind::Event { arrivals, .. }
            | Kind::Listener { arrivals, .. }
            | Kind::Datagram { arrivals, .. } => *arrivals,
            Kind::Timer { deadline, .. } => {
                u64::from(*deadline != 0 && *deadline <= now) + deadline
            }
            Kind::Fresh(fresh) => u64::from(fresh.error != 0),
            Kind::Signals { .. } | Kind::Epoll { .. } | Kind::Outside { .. } => 0,
        }
    }
}

impl State {
    /// What can be done with it now, by this thread.
    pub(super) fn events_of(&self, id: usize, thread: usize) -> u32 {
        let all = &self.descriptors;
        let flag = |holds: bool, event: u32| if holds { event } else { 0 };
        let input = |holds: bool| flag(holds, IN | IN_TOO);
        let output = |holds: bool| flag(holds, OUT | OUT_TOO);
        match &all.open[id].kind {
            Kind::Pipe { channel, writes: false } => {
                let channel = &all.channels[*channel];
                input(channel.has_data()) | flag(channel.ended, HUP)
            }
            Kind::Pipe { channel, .. } => {
                let channel = &all.channels[*channel];
                output(channel.deaf || channel.room() >= PIPE_ATOMIC) | flag(channel.deaf, ERR)
            }
            Kind::Event { value, .. } => input(*value > 0) | output(*value < MOST),
            Kind::Timer { deadline, .. } => input(*deadline != 0 && *deadline <= self.clock.now),
            Kind::Signals { set } => input(self.pending_signals(thread) & set != 0),
            Kind::Fresh(fresh) if fresh.error != 0 => IN | OUT | ERR | HUP,
            Kind::Fresh(fresh) => output(true) | flag(fresh.kind == libc::SOCK_STREAM, HUP),
            Kind::Listener { queue, .. } => input(!queue.is_empty()),
            Kind::Stream { rx, tx, .. } => {
                let (rx, tx) = (&all.channels[*rx], &all.channels[*tx]);
                input(rx.has_data() || rx.ended)
                    | flag(rx.ended, RDHUP)
                    | output(tx.room() > 0 || tx.deaf)
                    | flag(rx.ended && (tx.ended || tx.deaf), HUP)
            }
            Kind::Datagram { inbox, .. } => input(!inbox.is_empty()) | output(true),
            Kind::Epoll { .. } => input(self.epoll_ready(id, thread)),
            Kind::Outside { found, .. } => *found,
        }
    }
}
