//! `poll` and `select`.
//!
//! To look at several descriptors is one event. What is native among them is asked for natively, once, before: if that is not
//! ready and there is nothing else to wait for, the run is inconclusive by name.

use unravel_trace::Op;

use super::objects::{ALWAYS, Awaited, ERR, HUP, IN, OUT, RDHUP, Waiting};
use super::{Args, End, Family, Flow, count, fail};
use crate::clock::SECOND;
use crate::machine::Machine;

pub(super) const MODELS: Family = &[
    ("poll", |m, a| poll(m, a, milliseconds(a.int(2)))),
    ("__poll_chk", |m, a| poll(m, a, milliseconds(a.int(2)))),
    ("ppoll", ppoll),
    ("__ppoll_chk", ppoll),
    ("select", |m, a| {
        let time = time_at(m, a.word(4), 1000);
        let end = time.map(|time| m.clock.now.saturating_add(time));
        let flow = select(m, a, time);
        // Linux says how much of the time is left.
        if let Some(end) = end {
            let left = end.saturating_sub(m.clock.now);
            m.check_sync(a.word(4), 16, true);
            let words = [left / SECOND, left % SECOND / 1000];
            // SAFETY: checked.
            unsafe { (a.word(4) as *mut [u64; 2]).write_unaligned(words) };
        }
        flow
    }),
    ("pselect", |m, a| {
        let time = time_at(m, a.word(4), 1);
        m.masked(a.word(5), |m| select(m, a, time))
    }),
];

fn ppoll(m: &mut Machine, a: Args) -> Flow {
    let time = time_at(m, a.word(2), 1);
    m.masked(a.word(3), |m| poll(m, a, time))
}

/// More descriptors than a process has.
const MANY: u64 = 1 << 16;

/// How long to wait; `None` for ever.
pub(super) fn milliseconds(time: i32) -> Option<u64> {
    u64::try_from(time).ok().map(|time| time * 1_000_000)
}

/// The seconds, and parts of them in this unit, at an address.
pub(super) fn time_at(m: &mut Machine, at: u64, unit: u64) -> Option<u64> {
    if at == 0 {
        return None;
    }
    m.check_sync(at, 16, false);
    // SAFETY: checked.
    let [seconds, parts] = unsafe { (at as *const [u64; 2]).read_unaligned() };
    Some(seconds.saturating_mul(SECOND).saturating_add(parts.saturating_mul(unit)))
}

/// One descriptor that is asked for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    number: i32,
    events: u32,
    found: u32,
}

pub(super) const INVALID: u32 = libc::POLLNVAL as u32;

/// Waits until something of what is asked for is there, and finds it.
fn look(m: &mut Machine, asked: &mut [Asked], time: Option<u64>, a: Args, name: &str) -> End {
    let timeout = time.map(|time| m.clock.now.saturating_add(time));
    let mut native = None;
    for one in asked.iter_mut().filter(|one| one.number >= 0) {
        if m.descriptors.id(one.number).is_none() {
            one.found = match m.is_closed(one.number) {
                true => INVALID,
                false => outside(one.number, one.events),
            };
            native = native.or((one.found == 0).then_some(one.number));
        }
    }
    let is_there = asked.iter().any(|one| one.found != 0);
    loop {
        let list: Vec<(usize, u32)> = asked
            .iter()
            .filter_map(|one| Some((m.descriptors.id(one.number)?, one.events)))
            .collect();
        let now = time == Some(0) || is_there;
        if let Some(number) = native
            && list.is_empty()
            && !now
        {
            m.finish_inconclusive(format!(
                "the program waits ({name}) for descriptor {number}, which leads outside"
            ));
        }
        let waiting = (!now).then_some(Waiting { awaited: Awaited::Any(list), timeout });
        let end = m.object_event(Op::Acquire, 0, a.site(), waiting);
        if end == End::Interrupted {
            return end;
        }
        let me = m.current;
        for one in asked.iter_mut().filter(|one| one.number >= 0) {
            if let Some(id) = m.descriptors.id(one.number) {
                one.found = m.events_of(id, me) & (one.events | ALWAYS);
            }
        }
        let found = asked.iter().any(|one| one.found != 0);
        let over = timeout.is_some_and(|timeout| timeout <= m.clock.now);
        if found || now || over {
            if m.recorder.is_on() {
                let what = if found { name.to_owned() } else { format!("{name}: nothing") };
                m.record(a.site(), unravel_trace::EventKind::Descriptor { name: what });
            }
            return if found { End::Ready } else { End::TimedOut };
        }
    }
}

/// What a native descriptor has now.
pub(super) fn outside(number: i32, events: u32) -> u32 {
    let mut one = libc::pollfd { fd: number, events: events as i16, revents: 0 };
    // SAFETY: looks at a descriptor of this process, and does not wait.
    unsafe { libc::poll(&mut one, 1, 0) };
    u32::from(one.revents as u16)
}

/// `poll(list, number, …)`.
fn poll(m: &mut Machine, a: Args, time: Option<u64>) -> Flow {
    let (list, number) = (a.word(0), a.word(1));
    if number > MANY {
        return fail(libc::EINVAL);
    }
    let at = |n: u64| (list + 8 * n) as *mut libc::pollfd;
    if number > 0 {
        m.check_sync(list, 8 * number, true);
    }
    let mut asked: Vec<Asked> = (0..number)
        .map(|n| {
            // SAFETY: checked.
            let one = unsafe { at(n).read_unaligned() };
            let events = u32::from(one.events as u16);
            Asked { number: one.fd, events, found: 0 }
        })
        .collect();
    let end = look(m, &mut asked, time, a, "poll");
    if end == End::Interrupted {
        return fail(libc::EINTR);
    }
    for (n, one) in asked.iter().enumerate() {
        // SAFETY: checked.
        unsafe { (&raw mut (*at(n as u64)).revents).write_unaligned(one.found as i16) };
    }
    count(asked.iter().filter(|one| one.found != 0).count())
}

/// `select(highest + 1, reads, writes, exceptions, …)`.
fn select(m: &mut Machine, a: Args, time: Option<u64>) -> Flow {
    let number = a.int(0);
    if !(0..=libc::FD_SETSIZE as i32).contains(&number) {
        return fail(libc::EINVAL);
    }
    let sets = [a.word(1), a.word(2), a.word(3)];
    let words = (number as usize).div_ceil(64);
    for set in sets.iter().filter(|set| **set != 0) {
        m.check_sync(*set, 8 * words as u64, true);
    }
    let word = |set: u64, n: i32| (set + 8 * (n as u64 / 64)) as *mut u64;
    // SAFETY: checked.
    let is_in = |set: u64, n: i32| set != 0 && unsafe { *word(set, n) } >> (n % 64) & 1 != 0;
    let mut asked = Vec::new();
    for n in 0..number {
        let events = [(0, IN), (1, OUT), (2, libc::POLLPRI as u32)];
        let wanted = events.iter().filter(|(set, _)| is_in(sets[*set], n));
        let events = wanted.fold(0, |all, (_, event)| all | event);
        if events != 0 {
            asked.push(Asked { number: n, events, found: 0 });
        }
    }
    match look(m, &mut asked, time, a, "select") {
        End::Interrupted => return fail(libc::EINTR),
        _ if asked.iter().any(|one| one.found & INVALID != 0) => return fail(libc::EBADF),
        _ => {}
    }
    for set in sets.iter().filter(|set| **set != 0) {
        // SAFETY: checked.
        unsafe { (*set as *mut u64).write_bytes(0, words) };
    }
    let mut bits = 0;
    for one in &asked {
        let readable = one.events & IN != 0 && one.found & (IN | HUP | ERR | RDHUP) != 0;
        let writable = one.events & OUT != 0 && one.found & (OUT | ERR) != 0;
        for (set, holds) in [(sets[0], readable), (sets[1], writable)] {
            if holds {
                // SAFETY: checked; only sets that were given asked for the event.
                unsafe { *word(set, one.number) |= 1 << (one.number % 64) };
                bits += 1;
            }
        }
    }
    count(bits)
}
