//! `epoll`: level-triggered, edge-triggered and one-shot. An edge is where something arrived, or there was room again, since it was
//! last reported.

use std::collections::BTreeMap;

use unravel_trace::Op;

use super::create::single;
use super::objects::{ALWAYS, Awaited, Interest, Kind, Waiting};
use super::poll::{milliseconds, time_at};
use super::{Args, End, Family, Flow, count, fail};
use crate::machine::{Machine, State};

pub(super) const MODELS: Family = &[
    ("epoll_create", |m, _| single(m, Kind::Epoll { interests: BTreeMap::new() }, true)),
    ("epoll_create1", |m, _| single(m, Kind::Epoll { interests: BTreeMap::new() }, true)),
    ("epoll_ctl", change),
    ("epoll_wait", |m, a| wait(m, a, milliseconds(a.int(3)))),
    ("epoll_pwait", |m, a| wait(m, a, milliseconds(a.int(3)))),
    ("epoll_pwait2", |m, a| {
        let time = time_at(m, a.word(3), 1);
        wait(m, a, time)
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
    let Some(target) = m.descriptors.id(number) else {
        // SAFETY: asks whether there is such a descriptor.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
            return fail(libc::EBADF);
        }
        // Files cannot be waited for, standard streams mostly cannot either.
        if number > 2 {
            m.finish_inconclusive(format!(
                "the program waits (epoll) for descriptor {number}, which leads outside"
            ));
        }
        return fail(libc::EPERM);
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
