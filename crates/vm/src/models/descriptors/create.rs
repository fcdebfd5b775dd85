//! What makes descriptors, and timers that are set by them.

use unravel_trace::Op;

use super::objects::{Kind, PIPE_BYTES, SOCKET_BYTES};
use super::{Args, Family, Flow, fail};
use crate::clock::SECOND;
use crate::machine::Machine;

pub(super) const MODELS: Family = &[
    ("pipe", |m, a| pipe(m, a, 0)),
    ("pipe2", |m, a| pipe(m, a, a.int(1))),
    ("eventfd", |m, a| {
        let (value, flags) = (u64::from(a.word(0) as u32), a.int(1));
        if flags & !(libc::EFD_SEMAPHORE | libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) != 0 {
            return fail(libc::EINVAL);
        }
        let semaphore = flags & libc::EFD_SEMAPHORE != 0;
        let kind = Kind::Event { value, semaphore, arrivals: 0 };
        single(m, kind, flags)
    }),
    ("timerfd_create", |m, a| {
        if !CLOCKS.contains(&a.int(0)) || a.int(1) & !(libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) != 0
        {
            return fail(libc::EINVAL);
        }
        single(m, Kind::Timer { deadline: 0, interval: 0 }, a.int(1))
    }),
    ("timerfd_settime", set_time),
    ("timerfd_gettime", |m, a| match m.descriptors.id(a.int(0)) {
        Some(id) if matches!(m.descriptors.open[id].kind, Kind::Timer { .. }) => {
            store_time(m, id, a.word(1));
            Flow::Return(0)
        }
        Some(_) => fail(libc::EINVAL),
        None => fail(libc::EBADF),
    }),
    ("signalfd", signals),
    ("socketpair", pair),
];

/// Those that a timer can be set by.
const CLOCKS: [i32; 5] = [
    libc::CLOCK_REALTIME,
    libc::CLOCK_MONOTONIC,
    libc::CLOCK_BOOTTIME,
    libc::CLOCK_REALTIME_ALARM,
    libc::CLOCK_BOOTTIME_ALARM,
];

/// The flags that all kinds of descriptors are made with, under several names.
const BLOCKS_NOT: i32 = libc::O_NONBLOCK;
const CLOSES: i32 = libc::O_CLOEXEC;

impl Machine {
    /// A number for an open description; negative if there is none.
    pub(super) fn number(&mut self, id: usize, closes: bool) -> i32 {
        // SAFETY: a new descriptor of this process, which holds the number and can do nothing.
        let number = unsafe { libc::open(c"/".as_ptr(), libc::O_PATH | libc::O_CLOEXEC) };
        self.take_number(id, number, closes);
        number
    }

    pub(super) fn take_number(&mut self, id: usize, number: i32, closes: bool) {
        if number >= 0 {
            self.descriptors.set_closing(number, closes);
            self.descriptors.numbers.insert(number, id);
            let open = &mut self.descriptors.open[id];
            open.count += 1;
            if open.first < 0 {
                open.first = number;
            }
            self.made_progress();
        }
    }

    /// Gives the program the numbers of two descriptions.
    fn two_numbers(&mut self, at: u64, ids: [usize; 2], closes: bool) -> Flow {
        let numbers = ids.map(|id| self.number(id, closes));
        if numbers.iter().any(|number| *number < 0) {
            return Flow::Return(u64::MAX);
        }
        // SAFETY: the caller checked it.
        unsafe { (at as *mut [i32; 2]).write_unaligned(numbers) };
        Flow::Return(0)
    }
}

/// A description of its own, with the flags that it is made with.
pub(super) fn single(m: &mut Machine, kind: Kind, flags: i32) -> Flow {
    let object = m.descriptors.object();
    let id = m.descriptors.add(kind, object, flags & BLOCKS_NOT == 0);
    Flow::Return(m.number(id, flags & CLOSES != 0) as u32 as u64)
}

fn pipe(m: &mut Machine, a: Args, flags: i32) -> Flow {
    if flags & !(libc::O_DIRECT | BLOCKS_NOT | CLOSES) != 0 {
        return fail(libc::EINVAL);
    }
    m.check_sync(a.word(0), 8, true);
    let channel = m.descriptors.channel(PIPE_BYTES, flags & libc::O_DIRECT != 0);
    let object = m.descriptors.object();
    let blocking = flags & libc::O_NONBLOCK == 0;
    let ids = [false, true]
        .map(|writes| m.descriptors.add(Kind::Pipe { channel, writes }, object, blocking));
    m.two_numbers(a.word(0), ids, flags & CLOSES != 0)
}

/// `socketpair(domain, kind, protocol, numbers)`.
fn pair(m: &mut Machine, a: Args) -> Flow {
    m.check_sync(a.word(3), 8, true);
    let kind = a.int(1) & 0xf;
    if a.int(0) != libc::AF_UNIX {
        return fail(libc::EOPNOTSUPP);
    }
    if ![libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_SEQPACKET].contains(&kind) {
        return fail(libc::ESOCKTNOSUPPORT);
    }
    let blocking = a.int(1) & libc::SOCK_NONBLOCK == 0;
    let ids = connection(m, kind, blocking);
    m.two_numbers(a.word(3), ids, a.int(1) & libc::SOCK_CLOEXEC != 0)
}

/// The two ends of a connection without names.
pub(super) fn connection(m: &mut Machine, style: i32, blocking: bool) -> [usize; 2] {
    let messages = style != libc::SOCK_STREAM;
    let there = m.descriptors.channel(SOCKET_BYTES, messages);
    let back = m.descriptors.channel(SOCKET_BYTES, messages);
    let object = m.descriptors.object();
    [(back, there), (there, back)].map(|(rx, tx)| {
        let kind = Kind::Stream { rx, tx, domain: libc::AF_UNIX, style, local: None, peer: None };
        m.descriptors.add(kind, object, blocking)
    })
}

/// `signalfd(number, set, flags)`.
fn signals(m: &mut Machine, a: Args) -> Flow {
    m.check_sync(a.word(1), 8, false);
    m.await_signal();
    // SAFETY: checked.
    let set = unsafe { (a.word(1) as *const u64).read_unaligned() };
    match a.int(0) {
        -1 if a.int(2) & !(libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) != 0 => fail(libc::EINVAL),
        -1 => single(m, Kind::Signals { set }, a.int(2)),
        number => match m.descriptors.id(number) {
            Some(id) if matches!(m.descriptors.open[id].kind, Kind::Signals { .. }) => {
                m.descriptors.open[id].kind = Kind::Signals { set };
                Flow::Return(number as u32 as u64)
            }
            _ => fail(libc::EINVAL),
        },
    }
}

/// `timerfd_settime(number, flags, new, old)`. Setting it is an event: it may come before or after the timer runs out.
fn set_time(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return fail(libc::EBADF) };
    if !matches!(m.descriptors.open[id].kind, Kind::Timer { .. }) {
        return fail(libc::EINVAL);
    }
    m.check_sync(a.word(2), 32, false);
    // SAFETY: checked.
    let [every_s, every_n, first_s, first_n] =
        unsafe { (a.word(2) as *const [u64; 4]).read_unaligned() };
    let is_time = |seconds: u64, nanos: u64| seconds as i64 >= 0 && nanos < SECOND;
    if !is_time(every_s, every_n) || !is_time(first_s, first_n) {
        return fail(libc::EINVAL);
    }
    let first = first_s.saturating_mul(SECOND).saturating_add(first_n);
    let interval = every_s.saturating_mul(SECOND).saturating_add(every_n);
    let object = m.descriptors.open[id].object;
    m.object_event(Op::Release, object, a.site(), None);
    if a.word(3) != 0 {
        store_time(m, id, a.word(3));
    }
    let deadline = match (first, a.int(1) & libc::TFD_TIMER_ABSTIME != 0) {
        (0, _) => 0,
        (time, true) => time,
        (time, false) => m.clock.now.saturating_add(time),
    };
    m.descriptors.open[id].kind = Kind::Timer { deadline, interval };
    m.refresh_deadlines();
    m.made_progress();
    m.record_descriptor("set", id, a.site());
    Flow::Return(0)
}

fn store_time(m: &mut Machine, id: usize, at: u64) {
    let Kind::Timer { deadline, interval } = m.descriptors.open[id].kind else { return };
    m.check_sync(at, 32, true);
    let left = if deadline == 0 { 0 } else { deadline.saturating_sub(m.clock.now).max(1) };
    let words = [interval / SECOND, interval % SECOND, left / SECOND, left % SECOND];
    // SAFETY: checked.
    unsafe { (at as *mut [u64; 4]).write_unaligned(words) };
}
