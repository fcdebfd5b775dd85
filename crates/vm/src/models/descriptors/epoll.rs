//! `epoll`: level-triggered, edge-triggered and one-shot. An edge is where something arrived, or there was room again, since it was
//! last reported. A native descriptor among others is asked natively whenever a wait begins; who waits for nothing else, and for ever,
//! makes a run inconclusive by name.

use std::collections::BTreeMap;

use unravel_trace::Op;

use super::create::single;
use super::objects::{ALWAYS, Awaited, Interest, Kind, Waiting};
use super::poll::{INVALID, milliseconds, time_at};
use super::{Args, End, Family, Flow, count, fail};
use crate::machine::{Machine, State};

pub(super) const MODELS: Family = &[
    ("epoll_create", |m, a| match a.int(0) {
        1.. => single(m, Kind::Epoll { interests: BTreeMap::new() }, 0),
        _ => fail(libc::EINVAL),
    }),
    ("epoll_create1", |m, a| match a.int(0) & !libc::EPOLL_CLOEXEC {
        0 => single(m, Kind::Epoll { interests: BTreeMap::new() }, a.int(0)),
        _ => fail(libc::EINVAL),
    }),
    ("epoll_ctl", change),
    ("epoll_wait", |m, a| wait(m, a, milliseconds(a.int(3)))),
    ("epoll_pwait", |m, a| m.masked(a.word(4), |m| wait(m, a, milliseconds(a.int(3))))),
    ("epoll_pwait2", |m, a| {
        let time = time_at(m, a.word(3), 1);
        m.masked(a.word(4), |m| wait(m, a, time))
    }),
];

const EDGE: u32 = libc::EPOLLET as u32;
const ONCE: u32 = libc::EPOLLONESHOT as u32;
/// `struct epoll_event` is packed: four bytes of events, eight of data.
const EVENT: u64 = 12;

impl State {
    /// What an interest would report now.
    fn interest_events(&self, interest: &Interest, thread: usize) -> u32 {
        if interest.spent {
            return 0;
        }
        let now = self.events_of(interest.id, thread) & (interest.events | ALWAYS);
        let edges = self.descriptors.edges_of(interest.id, self.clock.now);
        match interest.events & EDGE != 0 && interest.reported == Some(edges) {
            true => 0,
            false => now,
        }
    }

    /// Whether waiting for it would report something.
    pub(super) fn epoll_ready(&self, id: usize, thread: usize) -> bool {
        let Kind::Epoll { interests } = &self.descriptors.open[id].kind else { return false };
        interests.values().any(|interest| self.interest_events(interest, thread) != 0)
    }
}

/// `epoll_ctl(epoll, operation, number, event)`.
fn change(m: &mut Machine, a: Args) -> Flow {
    let (epoll, operation, number, at) = (a.int(0), a.int(1), a.int(2), a.word(3));
    let Some(id) = m.descriptors.id(epoll) else { return fail(libc::EBADF) };
    if !matches!(m.descriptors.open[id].kind, Kind::Epoll { .. }) || epoll == number {
        return fail(libc::EINVAL);
    }
    let target = match m.descriptors.id(number) {
        Some(target) => target,
        None if m.is_closed(number) => return fail(libc::EBADF),
        // Files cannot be waited for, standard streams mostly cannot either.
        None if number <= 2 || !can_be_waited_for(number) => return fail(libc::EPERM),
        None => outside_of(m, id, number),
    };
    let (events, data) = match operation {
        libc::EPOLL_CTL_DEL => (0, 0),
        _ => {
            m.check_sync(at, EVENT, false);
            // SAFETY: checked.
            unsafe {
                ((at as *const u32).read_unaligned(), ((at + 4) as *const u64).read_unaligned())
            }
        }
    };
    let object = m.descriptors.open[id].object;
    m.object_event(Op::Release, object, a.site(), None);
    let Kind::Epoll { interests } = &mut m.descriptors.open[id].kind else {
        return fail(libc::EBADF);
    };
    let interest = Interest { id: target, events, data, reported: None, spent: false };
    match (operation, interests.contains_key(&number)) {
        (libc::EPOLL_CTL_ADD, false) | (libc::EPOLL_CTL_MOD, true) => {
            interests.insert(number, interest);
        }
        (libc::EPOLL_CTL_DEL, true) => {
            interests.remove(&number);
        }
        (libc::EPOLL_CTL_ADD, true) => return fail(libc::EEXIST),
        (libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL, false) => return fail(libc::ENOENT),
        _ => return fail(libc::EINVAL),
    }
    m.refresh_deadlines();
    m.made_progress();
    m.record_descriptor("change", id, a.site());
    Flow::Return(0)
}

/// What stands for a native descriptor in an epoll instance.
fn outside_of(m: &mut Machine, epoll: usize, number: i32) -> usize {
    if let Kind::Epoll { interests } = &m.descriptors.open[epoll].kind
        && let Some(known) = interests.get(&number)
    {
        return known.id;
    }
    let id = m.descriptors.add(Kind::Outside { number, found: 0 }, 0, true);
    m.descriptors.open[id].first = number;
    id
}

/// Asks native descriptors, once, what they have.
fn ask_outside(m: &mut Machine, epoll: usize) {
    let Kind::Epoll { interests } = &m.descriptors.open[epoll].kind else { return };
    let all: Vec<(usize, u32)> = interests.values().map(|one| (one.id, one.events)).collect();
    for (id, events) in all {
        if let Kind::Outside { number, found } = &mut m.descriptors.open[id].kind {
            *found = super::poll::outside(*number, events & 0xffff) & !INVALID;
        }
    }
}

/// A native descriptor is closed: nobody waits for it any more.
pub(super) fn forget_outside(m: &mut Machine, closed: i32) {
    let is_it: Vec<bool> = m
        .descriptors
        .open
        .iter()
        .map(|open| matches!(open.kind, Kind::Outside { number, .. } if number == closed))
        .collect();
    for open in &mut m.descriptors.open {
        if let Kind::Epoll { interests } = &mut open.kind {
            interests.retain(|_, interest| !is_it[interest.id]);
        }
    }
}

/// Whether Linux lets one wait for a native descriptor.
fn can_be_waited_for(number: i32) -> bool {
    // SAFETY: an instance of our own, which is gone afterwards.
    unsafe {
        let own = libc::epoll_create1(libc::EPOLL_CLOEXEC);
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let added = libc::epoll_ctl(own, libc::EPOLL_CTL_ADD, number, &mut event);
        let refused = added < 0 && *libc::__errno_location() == libc::EPERM;
        libc::close(own);
        !refused
    }
}

/// `epoll_wait(epoll, events, most, …)`.
fn wait(m: &mut Machine, a: Args, time: Option<u64>) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return fail(libc::EBADF) };
    let most = a.int(2);
    if !matches!(m.descriptors.open[id].kind, Kind::Epoll { .. }) || most <= 0 {
        return fail(libc::EINVAL);
    }
    let timeout = time.map(|time| m.clock.now.saturating_add(time));
    let object = m.descriptors.open[id].object;
    loop {
        ask_outside(m, id);
        let now = time == Some(0);
        let waiting = (!now).then_some(Waiting { awaited: Awaited::Epoll(id), timeout });
        if m.object_event(Op::Acquire, object, a.site(), waiting) == End::Interrupted {
            return fail(libc::EINTR);
        }
        let found = report(m, id, most as usize);
        let over = timeout.is_some_and(|timeout| timeout <= m.clock.now);
        if found.is_empty() && !now && !over {
            continue;
        }
        let what = if found.is_empty() { "nothing from" } else { "events from" };
        m.record_descriptor(what, id, a.site());
        if !found.is_empty() {
            m.check_sync(a.word(1), EVENT * found.len() as u64, true);
        }
        for (n, (events, data)) in found.iter().enumerate() {
            let at = a.word(1) + EVENT * n as u64;
            // SAFETY: checked.
            unsafe {
                (at as *mut u32).write_unaligned(*events);
                ((at + 4) as *mut u64).write_unaligned(*data);
            }
        }
        return count(found.len());
    }
}

/// What is to be reported, each once where that was asked for.
fn report(m: &mut Machine, id: usize, most: usize) -> Vec<(u32, u64)> {
    let Kind::Epoll { interests } = &m.descriptors.open[id].kind else { return Vec::new() };
    let me = m.current;
    let ready: Vec<(i32, u32, u64)> = interests
        .iter()
        .map(|(number, interest)| (*number, m.interest_events(interest, me), interest.data))
        .filter(|(_, events, _)| *events != 0)
        .take(most)
        .collect();
    let mut changed = false;
    for (number, ..) in &ready {
        let Kind::Epoll { interests } = &m.descriptors.open[id].kind else { break };
        let target = interests[number].id;
        let edges = m.descriptors.edges_of(target, m.clock.now);
        let Kind::Epoll { interests } = &mut m.descriptors.open[id].kind else { break };
        let Some(interest) = interests.get_mut(number) else { continue };
        if interest.events & EDGE != 0 {
            changed |= interest.reported.replace(edges) != Some(edges);
        }
        if interest.events & ONCE != 0 {
            interest.spent = true;
            changed = true;
        }
    }
    if changed {
        m.made_progress();
    }
    ready.into_iter().map(|(_, events, data)| (events, data)).collect()
}
