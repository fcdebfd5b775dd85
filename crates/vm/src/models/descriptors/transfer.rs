//! Reading and writing.

use unravel_trace::{Op, SiteId};

use super::objects::{Awaited, IN, Kind, MOST, PIPE_ATOMIC, READABLE, Waiting};
use super::sockets::no_socket;
use super::{Args, End, Family, Flow, address, count, fail};
use crate::machine::Machine;

pub(super) const MODELS: Family = &[
    ("read", |m, a| read(m, a, "read", Buffers::One(a.word(1), a.word(2)), 0)),
    ("__read_chk", |m, a| read(m, a, "read", Buffers::One(a.word(1), a.word(2)), 0)),
    ("readv", |m, a| read(m, a, "readv", Buffers::List(a.word(1), a.word(2)), 0)),
    ("recv", |m, a| read(m, a, "recv", Buffers::One(a.word(1), a.word(2)), a.int(3))),
    ("__recv_chk", |m, a| read(m, a, "recv", Buffers::One(a.word(1), a.word(2)), a.int(4))),
    ("recvfrom", receive_from),
    ("__recvfrom_chk", receive_from_checked),
    ("recvmsg", receive_message),
    ("recvmmsg", receive_messages),
    ("write", |m, a| write(m, a, "write", Buffers::One(a.word(1), a.word(2)), 0)),
    ("writev", |m, a| write(m, a, "writev", Buffers::List(a.word(1), a.word(2)), 0)),
    ("send", |m, a| write(m, a, "send", Buffers::One(a.word(1), a.word(2)), a.int(3))),
    ("sendto", send_to),
    ("sendmsg", send_message),
    ("sendmmsg", send_messages),
    ("eventfd_read", |m, a| whole(read(m, a, "eventfd_read", Buffers::One(a.word(1), 8), 0))),
    ("eventfd_write", event_write),
];

/// Where bytes come from or go to.
#[derive(Clone, Copy)]
enum Buffers {
    /// Address and length.
    One(u64, u64),
    /// Address and number of `iovec`s.
    List(u64, u64),
}

/// More `iovec`s than any system takes.
const MANY: u64 = 1024;

impl Buffers {
    /// The pieces, checked.
    fn pieces(self, m: &mut Machine, writes: bool) -> Option<Vec<(u64, usize)>> {
        let pieces = match self {
            Buffers::One(at, length) => vec![(at, length as usize)],
            Buffers::List(_, number) if number > MANY => return None,
            Buffers::List(at, number) => {
                m.check_sync(at, 16 * number.max(1), false);
                let all = (0..number).map(|n| {
                    // SAFETY: checked.
                    let [base, length] =
                        unsafe { ((at + 16 * n) as *const [u64; 2]).read_unaligned() };
                    (base, length as usize)
                });
                all.collect()
            }
        };
        for (at, length) in &pieces {
            if *length > 0 && !writes {
                m.check_sync(*at, *length as u64, false);
            }
        }
        Some(pieces)
    }
}

/// A result that is 0 if all went well.
fn whole(flow: Flow) -> Flow {
    match flow {
        Flow::Return(8) => Flow::Return(0),
        other => other,
    }
}

/// Copies what was read into the program's memory.
fn scatter(m: &mut Machine, pieces: &[(u64, usize)], bytes: &[u8], site: SiteId) {
    let mut rest = bytes;
    for (at, length) in pieces {
        let (now, later) = rest.split_at(rest.len().min(*length));
        if !now.is_empty() {
            m.check_sync(*at, now.len() as u64, true);
            m.tell(Op::Write, *at, now.len() as u32, site);
            // SAFETY: checked.
            unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), *at as *mut u8, now.len()) };
        }
        rest = later;
    }
}

fn gather(m: &mut Machine, pieces: &[(u64, usize)], site: SiteId) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (at, length) in pieces {
        m.tell(Op::Read, *at, *length as u32, site);
        if *length > 0 {
            // SAFETY: checked when the pieces were read.
            bytes.extend(unsafe { std::slice::from_raw_parts(*at as *const u8, *length) });
        }
    }
    bytes
}

fn read(m: &mut Machine, a: Args, name: &str, buffers: Buffers, flags: i32) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return outside_read(m, a, name, buffers) };
    if is_for_sockets(name)
        && let Some(flow) = no_socket(m, id)
    {
        return flow;
    }
    match receive(m, id, buffers, flags, a.site()) {
        Ok(received) => count(received.told(flags)),
        Err(number) => fail(number),
    }
}

/// Whether a function works on sockets only.
fn is_for_sockets(name: &str) -> bool {
    name.starts_with("recv") || name.starts_with("send")
}

/// What one read has got.
struct Received {
    bytes: usize,
    /// How long the message was that the bytes are from: more, if they did not fit.
    whole: usize,
    from: Option<address::Address>,
}

impl Received {
    /// The length that the program is told.
    fn told(&self, flags: i32) -> usize {
        if flags & libc::MSG_TRUNC != 0 { self.whole } else { self.bytes }
    }
}

fn outside_read(m: &mut Machine, a: Args, name: &str, buffers: Buffers) -> Flow {
    let flow = m.call_on_outside(a, name);
    if let (Flow::Return(length), Buffers::One(at, most)) = (flow, buffers)
        && length > 0
        && length <= most
    {
        m.check_sync(at, length, true);
    }
    flow
}

/// Waits until there is something, and takes it; with the sender's address, of a datagram.
fn receive(
    m: &mut Machine,
    id: usize,
    buffers: Buffers,
    flags: i32,
    site: SiteId,
) -> Result<Received, i32> {
    let pieces = buffers.pieces(m, true).ok_or(libc::EINVAL)?;
    let most: usize = pieces.iter().map(|(_, length)| length).sum();
    if flags & libc::MSG_ERRQUEUE != 0 {
        return Err(libc::EAGAIN);
    }
    let messages = m.descriptors.keeps_messages(id);
    if flags & libc::MSG_OOB != 0 || flags & libc::MSG_TRUNC != 0 && !messages {
        let name = m.descriptors.name_of(id);
        m.finish_inconclusive(format!(
            "the program reads from {name} with flags {flags:#x} (urgent or discarded data), which is not modelled"
        ));
    }
    match &m.descriptors.open[id].kind {
        Kind::Pipe { writes: true, .. } => return Err(libc::EBADF),
        Kind::Fresh(_) => return Err(libc::ENOTCONN),
        Kind::Listener { .. } | Kind::Epoll { .. } => return Err(libc::EINVAL),
        Kind::Event { .. } | Kind::Timer { .. } if most < 8 => return Err(libc::EINVAL),
        Kind::Signals { .. } if most < 128 => return Err(libc::EINVAL),
        Kind::Pipe { .. } | Kind::Stream { .. } if most == 0 && !messages => {
            return Ok(Received { bytes: 0, whole: 0, from: None });
        }
        _ => {}
    }
    let mut all = Vec::new();
    let (mut from, mut whole) = (None, 0);
    loop {
        let bytes = match take(m, id, most - all.len(), flags, site) {
            Ok(taken) => {
                from = taken.from;
                whole += taken.whole;
                taken.bytes
            }
            Err(number) if all.is_empty() => return Err(number),
            Err(_) => break,
        };
        let ended = bytes.is_empty();
        all.extend(bytes);
        let waits_for_all = flags & libc::MSG_WAITALL != 0 && flags & libc::MSG_PEEK == 0;
        if ended || !waits_for_all || all.len() >= most {
            break;
        }
    }
    scatter(m, &pieces, &all, site);
    Ok(Received { bytes: all.len(), whole, from })
}

/// What one event takes.
struct Taken {
    bytes: Vec<u8>,
    /// See [`Received`].
    whole: usize,
    from: Option<address::Address>,
}

/// One event that takes what is there.
fn take(m: &mut Machine, id: usize, most: usize, flags: i32, site: SiteId) -> Result<Taken, i32> {
    let open = &m.descriptors.open[id];
    let (object, timeout) = (open.object, open.read_timeout);
    let blocking = open.blocking && flags & libc::MSG_DONTWAIT == 0;
    let timeout = timeout.map(|time| m.clock.now.saturating_add(time));
    loop {
        let waiting = blocking.then_some(Waiting { awaited: Awaited::Read(id), timeout });
        let end = m.object_event(Op::Acquire, object, site, waiting);
        if end == End::Interrupted {
            return Err(libc::EINTR);
        }
        let me = m.current;
        if m.events_of(id, me) & READABLE != 0 {
            break;
        }
        let over = timeout.is_some_and(|time| time <= m.clock.now);
        if !blocking || end == End::TimedOut && over {
            m.record_descriptor("nothing to read from", id, site);
            return Err(libc::EAGAIN);
        }
    }
    let taken = take_now(m, id, most, flags)?;
    m.made_progress();
    m.record_descriptor("read from", id, site);
    Ok(taken)
}

fn take_now(m: &mut Machine, id: usize, most: usize, flags: i32) -> Result<Taken, i32> {
    let peek = flags & libc::MSG_PEEK != 0;
    let (now, me) = (m.clock.now, m.current);
    let all = &mut m.descriptors;
    let plain = |bytes: Vec<u8>| Ok(Taken { whole: bytes.len(), bytes, from: None });
    match &mut all.open[id].kind {
        Kind::Pipe { channel, .. } | Kind::Stream { rx: channel, .. } => {
            let (bytes, whole) = all.channels[*channel].take(most, peek);
            Ok(Taken { bytes, whole, from: None })
        }
        Kind::Event { value, semaphore, .. } => {
            let taken = if *semaphore { 1 } else { *value };
            *value -= taken;
            plain(taken.to_ne_bytes().to_vec())
        }
        Kind::Timer { deadline, interval } => {
            let mut times = 1;
            match *interval {
                0 => *deadline = 0,
                every => {
                    times += (now - *deadline) / every;
                    *deadline += times * every;
                }
            }
            plain(times.to_ne_bytes().to_vec())
        }
        Kind::Datagram { inbox, .. } => {
            let taken = if peek { inbox.front().cloned() } else { inbox.pop_front() };
            let (from, mut bytes) = taken.ok_or(libc::EAGAIN)?;
            let whole = bytes.len();
            bytes.truncate(most);
            Ok(Taken { bytes, whole, from })
        }
        Kind::Signals { set } => {
            let set = *set;
            let sent = m.take_signal(me, set).ok_or(libc::EAGAIN)?;
            let mut info = vec![0; 128];
            info[..4].copy_from_slice(&sent.number.to_ne_bytes());
            info[8..12].copy_from_slice(&sent.code.to_ne_bytes());
            info[12..16].copy_from_slice(&(super::super::process::PROCESS as u32).to_ne_bytes());
            info.truncate(most);
            plain(info)
        }
        Kind::Fresh(fresh) => Err(std::mem::take(&mut fresh.error)),
        Kind::Listener { .. } | Kind::Epoll { .. } | Kind::Outside { .. } => Err(libc::EINVAL),
    }
}

fn write(m: &mut Machine, a: Args, name: &str, buffers: Buffers, flags: i32) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, name) };
    if is_for_sockets(name)
        && let Some(flow) = no_socket(m, id)
    {
        return flow;
    }
    match deliver(m, id, buffers, flags, a.site()) {
        Ok(length) => count(length),
        Err(libc::EPIPE) => broken(m, flags, a.site()),
        Err(number) => fail(number),
    }
}

/// Nobody reads any more: a signal, and an error if the program lives on.
fn broken(m: &mut Machine, flags: i32, site: SiteId) -> Flow {
    if flags & libc::MSG_NOSIGNAL == 0 && !m.is_ignored(libc::SIGPIPE) {
        let own = super::super::process::PROCESS as i32 + m.current as i32;
        super::super::signals::kill_by_number(m, own, libc::SIGPIPE, site);
    }
    fail(libc::EPIPE)
}

/// Writes all, as far as there is room, or waits for it.
fn deliver(
    m: &mut Machine,
    id: usize,
    buffers: Buffers,
    flags: i32,
    site: SiteId,
) -> Result<usize, i32> {
    match &m.descriptors.open[id].kind {
        Kind::Pipe { writes: false, .. } => return Err(libc::EBADF),
        Kind::Fresh(fresh) if fresh.domain != libc::AF_UNIX => return Err(libc::EPIPE),
        Kind::Fresh(_) => return Err(libc::ENOTCONN),
        Kind::Timer { .. } | Kind::Signals { .. } | Kind::Listener { .. } | Kind::Epoll { .. } => {
            return Err(libc::EINVAL);
        }
        Kind::Datagram { peer: None, .. } => return Err(libc::EDESTADDRREQ),
        _ => {}
    }
    if flags & libc::MSG_OOB != 0 {
        let name = m.descriptors.name_of(id);
        m.finish_inconclusive(format!(
            "the program sends urgent data by {name}, which is not modelled"
        ));
    }
    let pieces = buffers.pieces(m, false).ok_or(libc::EINVAL)?;
    let length: usize = pieces.iter().map(|(_, length)| length).sum();
    if let Kind::Event { .. } = m.descriptors.open[id].kind {
        if length < 8 {
            return Err(libc::EINVAL);
        }
        let bytes = gather(m, &pieces, site);
        let added = u64::from_ne_bytes(bytes[..8].try_into().expect("8 bytes"));
        return add(m, id, added, site).map(|()| 8);
    }
    if let Kind::Datagram { peer: Some(peer), .. } = &m.descriptors.open[id].kind {
        let peer = peer.clone();
        let bytes = gather(m, &pieces, site);
        return super::sockets::post(m, id, &peer, bytes, site);
    }
    let mut done = 0;
    loop {
        match put(m, id, &pieces, done, length, flags, site) {
            Ok(more) => done += more,
            Err(_) if done > 0 => return Ok(done),
            Err(number) => return Err(number),
        }
        let open = &m.descriptors.open[id];
        if done >= length || !open.blocking || flags & libc::MSG_DONTWAIT != 0 {
            return Ok(done);
        }
    }
}

/// One event that puts as much as there is room for.
fn put(
    m: &mut Machine,
    id: usize,
    pieces: &[(u64, usize)],
    done: usize,
    length: usize,
    flags: i32,
    site: SiteId,
) -> Result<usize, i32> {
    let open = &m.descriptors.open[id];
    let (object, blocking) = (open.object, open.blocking && flags & libc::MSG_DONTWAIT == 0);
    let timeout = open.write_timeout.map(|time| m.clock.now.saturating_add(time));
    let (channel, whole) = match open.kind {
        Kind::Pipe { channel, .. } => (channel, length <= PIPE_ATOMIC),
        Kind::Stream { tx, .. } => (tx, m.descriptors.channels[tx].messages.is_some()),
        _ => return Err(libc::EINVAL),
    };
    if whole && length > m.descriptors.channels[channel].capacity {
        return Err(libc::EMSGSIZE);
    }
    let wanted = if whole { length } else { (length - done).min(1) };
    let waiting = blocking.then_some(Waiting { awaited: Awaited::Write(id, wanted), timeout });
    let end = m.object_event(Op::Release, object, site, waiting);
    if end == End::Interrupted {
        return Err(libc::EINTR);
    }
    let state = &m.descriptors.channels[channel];
    if state.deaf || state.ended {
        m.record_descriptor("nobody reads", id, site);
        return Err(libc::EPIPE);
    }
    let room = state.room();
    if room < wanted {
        m.record_descriptor("no room in", id, site);
        return Err(libc::EAGAIN);
    }
    let bytes = gather(m, pieces, site);
    let now = (length - done).min(room);
    m.descriptors.channels[channel].put(&bytes[done..done + now]);
    m.made_progress();
    m.record_descriptor("write to", id, site);
    Ok(now)
}

fn event_write(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, "eventfd_write") };
    match add(m, id, a.word(1), a.site()) {
        Ok(()) => Flow::Return(0),
        Err(number) => fail(number),
    }
}

/// Adds to an eventfd, once it takes that much.
fn add(m: &mut Machine, id: usize, added: u64, site: SiteId) -> Result<(), i32> {
    if added == u64::MAX {
        return Err(libc::EINVAL);
    }
    let open = &m.descriptors.open[id];
    let (object, blocking) = (open.object, open.blocking);
    let room = usize::try_from(added).unwrap_or(usize::MAX);
    let awaited = Awaited::Write(id, room);
    let end = m.object_event(
        Op::Release,
        object,
        site,
        blocking.then_some(Waiting { awaited, timeout: None }),
    );
    if end == End::Interrupted {
        return Err(libc::EINTR);
    }
    let Kind::Event { value, arrivals, .. } = &mut m.descriptors.open[id].kind else {
        return Err(libc::EINVAL);
    };
    if MOST - *value < added {
        return Err(libc::EAGAIN);
    }
    *value += added;
    *arrivals += 1;
    m.made_progress();
    m.record_descriptor("write to", id, site);
    Ok(())
}

/// `recvfrom(number, buffer, length, flags, address, length_at)`.
fn receive_from(m: &mut Machine, a: Args) -> Flow {
    let buffers = Buffers::One(a.word(1), a.word(2));
    let Some(id) = m.descriptors.id(a.int(0)) else {
        return outside_read(m, a, "recvfrom", buffers);
    };
    receive_with_address(m, a, id, buffers, a.int(3), (a.word(4), a.word(5)))
}

/// `__recvfrom_chk(number, buffer, length, room, flags, address, length_at)`.
fn receive_from_checked(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else {
        m.finish_inconclusive("the program calls '__recvfrom_chk' on a native socket".into());
    };
    let buffers = Buffers::One(a.word(1), a.word(2));
    receive_with_address(m, a, id, buffers, a.int(4), (a.word(5), a.word(6)))
}

fn receive_with_address(
    m: &mut Machine,
    a: Args,
    id: usize,
    buffers: Buffers,
    flags: i32,
    (at, length_at): (u64, u64),
) -> Flow {
    if let Some(flow) = no_socket(m, id) {
        return flow;
    }
    let domain = super::sockets::domain_of(m, id);
    match receive(m, id, buffers, flags, a.site()) {
        Ok(received) => {
            address::write(m, received.from.as_ref(), domain, at, length_at);
            count(received.told(flags))
        }
        Err(number) => fail(number),
    }
}

/// Fields of a `msghdr`: name, its length, `iovec`s, their number, control data, its length.
fn message(m: &mut Machine, at: u64, writes: bool) -> [u64; 6] {
    m.check_sync(at, 56, writes);
    // SAFETY: checked.
    let words = unsafe { (at as *const [u64; 7]).read_unaligned() };
    [words[0], words[1] & 0xffff_ffff, words[2], words[3], words[4], words[5]]
}

fn receive_message(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, "recvmsg") };
    if let Some(flow) = no_socket(m, id) {
        return flow;
    }
    match receive_into(m, id, a.word(1), a.int(2), a.site()) {
        Ok(length) => count(length),
        Err(number) => fail(number),
    }
}

/// Reads what a `msghdr` describes.
fn receive_into(
    m: &mut Machine,
    id: usize,
    at: u64,
    flags: i32,
    site: SiteId,
) -> Result<usize, i32> {
    let [name, _, list, number, _, _] = message(m, at, false);
    let domain = super::sockets::domain_of(m, id);
    let received = receive(m, id, Buffers::List(list, number), flags, site)?;
    address::write(m, received.from.as_ref(), domain, name, at + 8);
    m.check_sync(at + 40, 16, true);
    let cut = received.whole > received.bytes;
    let flagged = if cut { libc::MSG_TRUNC as u64 } else { 0 };
    // SAFETY: checked: no control data, and whether the message was too long.
    unsafe { ((at + 40) as *mut [u64; 2]).write_unaligned([0, flagged]) };
    Ok(received.told(flags))
}

/// The size of a `mmsghdr`, and where its length is.
const MESSAGE: u64 = 64;
const MESSAGE_LENGTH: u64 = 56;

/// Does something with each of several messages until one fails: that is told only if it is the first.
fn each(
    m: &mut Machine,
    a: Args,
    mut with: impl FnMut(&mut Machine, u64, u64) -> Result<usize, i32>,
) -> Flow {
    let (list, number) = (a.word(1), u64::from(a.word(2) as u32).min(MANY));
    for n in 0..number {
        let at = list + MESSAGE * n;
        match with(m, at, n) {
            Ok(length) => {
                m.check_sync(at + MESSAGE_LENGTH, 4, true);
                // SAFETY: checked.
                unsafe { ((at + MESSAGE_LENGTH) as *mut u32).write_unaligned(length as u32) };
            }
            Err(number) if n == 0 => return fail(number),
            Err(_) => return count(n as usize),
        }
    }
    count(number as usize)
}

/// `recvmmsg(number, messages, how many, flags, timeout)`.
fn receive_messages(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, "recvmmsg") };
    if let Some(flow) = no_socket(m, id) {
        return flow;
    }
    if a.word(4) != 0 {
        let name = m.descriptors.name_of(id);
        m.finish_inconclusive(format!(
            "the program reads messages from {name} with a timeout (recvmmsg), which is not modelled"
        ));
    }
    let (flags, site) = (a.int(3), a.site());
    each(m, a, |m, at, n| {
        let hurried = n > 0 && flags & libc::MSG_WAITFORONE != 0;
        let more = if hurried { libc::MSG_DONTWAIT } else { 0 };
        receive_into(m, id, at, flags & !libc::MSG_WAITFORONE | more, site)
    })
}

/// `sendto(number, buffer, length, flags, address, length)`.
fn send_to(m: &mut Machine, a: Args) -> Flow {
    let buffers = Buffers::One(a.word(1), a.word(2));
    send_somewhere(m, a, "sendto", buffers, a.int(3), (a.word(4), a.word(5) as u32 as usize))
}

fn send_message(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, "sendmsg") };
    if let Some(flow) = no_socket(m, id) {
        return flow;
    }
    let (buffers, to) = to_send(m, a.word(1));
    send_somewhere(m, a, "sendmsg", buffers, a.int(2), to)
}

/// What a `msghdr` says is to be sent, and where to.
fn to_send(m: &mut Machine, at: u64) -> (Buffers, (u64, usize)) {
    let [name, length, list, number, control, control_length] = message(m, at, false);
    if control != 0 && control_length != 0 {
        m.finish_inconclusive(
            "the program sends control data by a socket (sendmsg), which is not modelled".into(),
        );
    }
    (Buffers::List(list, number), (name, length as usize))
}

/// `sendmmsg(number, messages, how many, flags)`.
fn send_messages(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, "sendmmsg") };
    if let Some(flow) = no_socket(m, id) {
        return flow;
    }
    let (flags, site) = (a.int(3), a.site());
    each(m, a, |m, at, _| {
        let (buffers, (name, length)) = to_send(m, at);
        let is_datagram = matches!(&m.descriptors.open[id].kind, Kind::Datagram { .. });
        if name == 0 || !is_datagram {
            return match deliver(m, id, buffers, flags, site) {
                Err(libc::EPIPE) => {
                    broken(m, flags, site);
                    Err(libc::EPIPE)
                }
                other => other,
            };
        }
        match address::read(m, name, length, false) {
            address::Named::Here(to) => send_datagram(m, id, &to, buffers, site),
            address::Named::Invalid => Err(libc::EINVAL),
            address::Named::Outside(to) => m.finish_inconclusive(format!(
                "the program sends several messages at once (sendmmsg) to {to}, which leads outside"
            )),
        }
    })
}

fn send_datagram(
    m: &mut Machine,
    id: usize,
    to: &address::Address,
    buffers: Buffers,
    site: SiteId,
) -> Result<usize, i32> {
    let pieces = buffers.pieces(m, false).ok_or(libc::EINVAL)?;
    let bytes = gather(m, &pieces, site);
    super::sockets::post(m, id, to, bytes, site)
}

fn send_somewhere(
    m: &mut Machine,
    a: Args,
    name: &str,
    buffers: Buffers,
    flags: i32,
    (at, length): (u64, usize),
) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, name) };
    let is_datagram = matches!(&m.descriptors.open[id].kind, Kind::Datagram { .. });
    if at == 0 || !is_datagram {
        return write(m, a, name, buffers, flags);
    }
    let to = match address::read(m, at, length, false) {
        address::Named::Here(address) => address,
        address::Named::Invalid => return fail(libc::EINVAL),
        address::Named::Outside(_) => {
            return match super::sockets::go_outside(m, a.int(0), id) {
                Ok(()) => m.call_outside(a, name),
                Err(flow) => flow,
            };
        }
    };
    match send_datagram(m, id, &to, buffers, a.site()) {
        Ok(length) => count(length),
        Err(number) => fail(number),
    }
}

/// Whether something is there to be read, for `ioctl(FIONREAD)`.
pub(super) fn readable_bytes(m: &Machine, id: usize) -> usize {
    let all = &m.descriptors;
    match &all.open[id].kind {
        Kind::Pipe { channel, .. } | Kind::Stream { rx: channel, .. } => {
            all.channels[*channel].data.len()
        }
        Kind::Datagram { inbox, .. } => inbox.front().map_or(0, |(_, bytes)| bytes.len()),
        _ => usize::from(m.events_of(id, m.current) & IN != 0) * 8,
    }
}
