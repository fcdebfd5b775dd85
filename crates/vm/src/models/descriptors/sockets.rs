//! Sockets: from `socket` to a connection, and datagrams.

use std::collections::VecDeque;

use unravel_trace::{Op, SiteId};

use super::address::{self, Address, Named};
use super::create::{connection, single};
use super::objects::{Awaited, Fresh, Kind, Waiting};
use super::{Args, End, Family, Flow, fail};
use crate::clock::SECOND;
use crate::machine::Machine;

pub(super) const MODELS: Family = &[
    ("socket", socket),
    ("bind", bind),
    ("listen", listen),
    ("accept", |m, a| accept(m, a, "accept", 0)),
    ("accept4", |m, a| accept(m, a, "accept4", a.int(3))),
    ("connect", connect),
    ("getsockname", |m, a| names(m, a, "getsockname", false)),
    ("getpeername", |m, a| names(m, a, "getpeername", true)),
    ("getsockopt", get_option),
    ("setsockopt", set_option),
];

/// The first port that is given to who does not care.
const FIRST_PORT: u16 = 40_000;

fn socket(m: &mut Machine, a: Args) -> Flow {
    let (domain, flags) = (a.int(0), a.int(1));
    let kind = flags & 0xf;
    let is_ours = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6].contains(&domain)
        && [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_SEQPACKET].contains(&kind);
    if !is_ours {
        return m.call_outside(a, "socket");
    }
    let kind = match kind {
        libc::SOCK_DGRAM => {
            Kind::Datagram { domain, local: None, peer: None, inbox: VecDeque::new(), arrivals: 0 }
        }
        kind => Kind::Fresh(Fresh { domain, kind, bound: None, error: 0 }),
    };
    single(m, kind, flags)
}

pub(super) fn domain_of(m: &Machine, id: usize) -> i32 {
    match &m.descriptors.open[id].kind {
        Kind::Fresh(fresh) => fresh.domain,
        Kind::Listener { domain, .. }
        | Kind::Stream { domain, .. }
        | Kind::Datagram { domain, .. } => *domain,
        _ => libc::AF_UNSPEC,
    }
}

fn is_stream(m: &Machine, id: usize) -> bool {
    !matches!(m.descriptors.open[id].kind, Kind::Datagram { .. })
}

/// The error of an operation that only sockets have.
pub(super) fn no_socket(m: &Machine, id: usize) -> Option<Flow> {
    (!m.descriptors.open[id].is_socket()).then(|| fail(libc::ENOTSOCK))
}

/// The error of an address of another family than the socket's.
fn wrong_family(m: &Machine, id: usize, at: u64) -> Option<Flow> {
    let own = domain_of(m, id);
    let family = address::family(at);
    if own == libc::AF_INET6 && family == libc::AF_INET && !is_stream(m, id) {
        return None;
    }
    let number = match own {
        libc::AF_UNIX => libc::EINVAL,
        _ => libc::EAFNOSUPPORT,
    };
    (family != own && family != libc::AF_UNSPEC).then(|| fail(number))
}

/// A port that nobody has.
fn any_port(m: &mut Machine, stream: bool) -> Address {
    loop {
        let port = FIRST_PORT + m.descriptors.ports;
        m.descriptors.ports = (m.descriptors.ports + 1) % 20_000;
        let address = Address::Inet { stream, port };
        if !m.descriptors.bound.contains_key(&address) {
            return address;
        }
    }
}

/// `bind(number, address, length)`.
fn bind(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, "bind") };
    if let Some(flow) = no_socket(m, id) {
        return flow;
    }
    let stream = is_stream(m, id);
    let address = match address::read(m, a.word(1), a.word(2) as u32 as usize, stream) {
        Named::Here(_) if wrong_family(m, id, a.word(1)).is_some() => {
            return fail(match domain_of(m, id) {
                libc::AF_INET => libc::EAFNOSUPPORT,
                _ => libc::EINVAL,
            });
        }
        Named::Here(Address::Inet { port: 0, .. }) => any_port(m, stream),
        Named::Here(address) => address,
        Named::Invalid => return fail(libc::EINVAL),
        // Of a path that exists.
        Named::Outside(_) if domain_of(m, id) == libc::AF_UNIX => return fail(libc::EADDRINUSE),
        Named::Outside(to) => m.finish_inconclusive(format!(
            "the program binds a socket to {to}, which is no loopback address"
        )),
    };
    let object = m.descriptors.open[id].object;
    m.object_event(Op::Release, object, a.site(), None);
    if m.descriptors.bound.contains_key(&address) {
        return fail(libc::EADDRINUSE);
    }
    match &mut m.descriptors.open[id].kind {
        Kind::Fresh(fresh) if fresh.bound.is_none() => fresh.bound = Some(address.clone()),
        Kind::Datagram { local, .. } if local.is_none() => *local = Some(address.clone()),
        Kind::Fresh(_) | Kind::Datagram { .. } | Kind::Stream { .. } | Kind::Listener { .. } => {
            return fail(libc::EINVAL);
        }
        _ => return fail(libc::ENOTSOCK),
    }
    m.descriptors.bound.insert(address, id);
    m.made_progress();
    m.record_descriptor("bind", id, a.site());
    Flow::Return(0)
}

fn listen(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, "listen") };
    if let Some(flow) = no_socket(m, id) {
        return flow;
    }
    let object = m.descriptors.open[id].object;
    m.object_event(Op::Release, object, a.site(), None);
    let Kind::Fresh(fresh) = &m.descriptors.open[id].kind else {
        let again = matches!(m.descriptors.open[id].kind, Kind::Listener { .. });
        return if again { Flow::Return(0) } else { fail(libc::EOPNOTSUPP) };
    };
    let (domain, bound) = (fresh.domain, fresh.bound.clone());
    let address = match bound {
        Some(address) => address,
        None if domain == libc::AF_UNIX => return fail(libc::EINVAL),
        None => {
            let address = any_port(m, true);
            m.descriptors.bound.insert(address.clone(), id);
            address
        }
    };
    m.descriptors.open[id].kind =
        Kind::Listener { address, domain, queue: VecDeque::new(), arrivals: 0 };
    m.made_progress();
    m.record_descriptor("listen on", id, a.site());
    Flow::Return(0)
}

/// After `shutdown` of a listening socket.
pub(super) fn stop_listening(m: &mut Machine, id: usize) {
    let domain = domain_of(m, id);
    m.descriptors.bound.retain(|_, bound| *bound != id);
    let fresh = Fresh { domain, kind: libc::SOCK_STREAM, bound: None, error: libc::EINVAL };
    m.descriptors.open[id].kind = Kind::Fresh(fresh);
}

fn accept(m: &mut Machine, a: Args, name: &str, flags: i32) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, name) };
    if flags & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) != 0 {
        return fail(libc::EINVAL);
    }
    match m.descriptors.open[id].kind {
        Kind::Listener { .. } => {}
        Kind::Fresh(_) | Kind::Stream { .. } => return fail(libc::EINVAL),
        Kind::Datagram { .. } => return fail(libc::EOPNOTSUPP),
        _ => return fail(libc::ENOTSOCK),
    }
    let open = &m.descriptors.open[id];
    let (object, blocking, timeout) = (open.object, open.blocking, open.read_timeout);
    let timeout = timeout.map(|time| m.clock.now.saturating_add(time));
    let waiting = blocking.then_some(Waiting { awaited: Awaited::Read(id), timeout });
    if m.object_event(Op::Acquire, object, a.site(), waiting) == End::Interrupted {
        return fail(libc::EINTR);
    }
    let Kind::Listener { queue, .. } = &mut m.descriptors.open[id].kind else {
        return fail(libc::EINVAL);
    };
    let Some(accepted) = queue.pop_front() else {
        m.record_descriptor("nobody to accept on", id, a.site());
        return fail(libc::EAGAIN);
    };
    m.descriptors.open[accepted].blocking = flags & libc::SOCK_NONBLOCK == 0;
    m.made_progress();
    m.record_descriptor("accept on", id, a.site());
    let domain = domain_of(m, accepted);
    if let Kind::Stream { peer, .. } = &m.descriptors.open[accepted].kind {
        let peer = peer.clone();
        address::write(m, peer.as_ref(), domain, a.word(1), a.word(2));
    }
    Flow::Return(m.number(accepted, flags & libc::SOCK_CLOEXEC != 0) as u32 as u64)
}

/// `connect(number, address, length)`.
fn connect(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, "connect") };
    if let Some(flow) = no_socket(m, id) {
        return flow;
    }
    let stream = is_stream(m, id);
    let to = address::read(m, a.word(1), a.word(2) as u32 as usize, stream);
    if !matches!(to, Named::Invalid)
        && let Some(flow) = wrong_family(m, id, a.word(1))
    {
        return flow;
    }
    let to = match to {
        Named::Here(address) => address,
        Named::Invalid => return fail(libc::EINVAL),
        Named::Outside(_) if address::family(a.word(1)) == libc::AF_UNSPEC => {
            return dissolve(m, id);
        }
        Named::Outside(_) => {
            return match go_outside(m, a.int(0), id) {
                Ok(()) => m.call_outside(a, "connect"),
                Err(flow) => flow,
            };
        }
    };
    if let Kind::Datagram { peer, .. } = &mut m.descriptors.open[id].kind {
        *peer = Some(to);
        return Flow::Return(0);
    }
    let listener = m.descriptors.bound.get(&to).copied();
    let object = listener.map_or(m.descriptors.open[id].object, |l| m.descriptors.open[l].object);
    m.object_event(Op::Release, object, a.site(), None);
    let (domain, style, bound, blocking) = match &mut m.descriptors.open[id].kind {
        Kind::Fresh(fresh) if fresh.error != 0 => return fail(std::mem::take(&mut fresh.error)),
        Kind::Fresh(fresh) => {
            (fresh.domain, fresh.kind, fresh.bound.clone(), m.descriptors.open[id].blocking)
        }
        Kind::Stream { .. } | Kind::Listener { .. } => return fail(libc::EISCONN),
        _ => return fail(libc::ENOTSOCK),
    };
    let later = !blocking && domain != libc::AF_UNIX;
    let listener = m
        .descriptors
        .bound
        .get(&to)
        .copied()
        .filter(|listener| matches!(m.descriptors.open[*listener].kind, Kind::Listener { .. }));
    m.record_descriptor("connect", id, a.site());
    let Some(listener) = listener else {
        let is_path = matches!(&to, Address::Unix { name, .. } if name.first() != Some(&0));
        let absent = is_path && !m.descriptors.bound.contains_key(&to);
        if later && let Kind::Fresh(fresh) = &mut m.descriptors.open[id].kind {
            fresh.error = libc::ECONNREFUSED;
            return fail(libc::EINPROGRESS);
        }
        return fail(if absent { libc::ENOENT } else { libc::ECONNREFUSED });
    };
    let [own, other] = connection(m, style, true);
    let local = match (bound, domain) {
        (Some(address), _) => Some(address),
        (None, libc::AF_UNIX) => None,
        (None, _) => Some(any_port(m, true)),
    };
    let all = &mut m.descriptors;
    let object = all.open[own].object;
    if let Kind::Stream { rx, tx, .. } = all.open[own].kind {
        let (local, peer) = (local.clone(), Some(to.clone()));
        all.open[id].kind = Kind::Stream { rx, tx, domain, style, local, peer };
        all.open[id].object = object;
    }
    if let Kind::Stream { domain: its, local: here, peer, .. } = &mut all.open[other].kind {
        *its = domain;
        *here = Some(to);
        *peer = local;
    }
    if let Kind::Listener { queue, arrivals, .. } = &mut all.open[listener].kind {
        queue.push_back(other);
        *arrivals += 1;
    }
    m.made_progress();
    if later { fail(libc::EINPROGRESS) } else { Flow::Return(0) }
}

/// `connect` to no address: a datagram socket has no peer any more.
fn dissolve(m: &mut Machine, id: usize) -> Flow {
    let Kind::Datagram { peer, .. } = &mut m.descriptors.open[id].kind else {
        m.finish_inconclusive(
            "the program ends a connection by connecting to no address, which is not modelled"
                .into(),
        );
    };
    *peer = None;
    Flow::Return(0)
}

/// The socket leaves the process: from now on it is a native one under the same number.
pub(super) fn go_outside(m: &mut Machine, number: i32, id: usize) -> Result<(), Flow> {
    let (domain, kind) = match &m.descriptors.open[id].kind {
        Kind::Fresh(Fresh { domain, kind, bound: None, .. }) => (*domain, *kind),
        Kind::Datagram { domain, local: None, .. } => (*domain, libc::SOCK_DGRAM),
        _ => return Err(fail(libc::EINVAL)),
    };
    let flags = if m.descriptors.open[id].blocking { 0 } else { libc::SOCK_NONBLOCK };
    // SAFETY: a new descriptor takes the place of our placeholder.
    unsafe {
        let native = libc::socket(domain, kind | flags | libc::SOCK_CLOEXEC, 0);
        if native < 0 {
            return Err(Flow::Return(u64::MAX));
        }
        libc::dup2(native, number);
        libc::close(native);
    }
    m.descriptors.numbers.remove(&number);
    m.descriptors.closing.remove(&number);
    m.descriptors.open[id].count -= 1;
    Ok(())
}

/// Sends a datagram to a socket of the program's own.
pub(super) fn post(
    m: &mut Machine,
    id: usize,
    to: &Address,
    bytes: Vec<u8>,
    site: SiteId,
) -> Result<usize, i32> {
    let target = m.descriptors.bound.get(to).copied();
    let object = m.descriptors.open[target.unwrap_or(id)].object;
    m.object_event(Op::Release, object, site, None);
    let unix = matches!(to, Address::Unix { .. });
    if let Kind::Datagram { local: None, .. } = m.descriptors.open[id].kind
        && !unix
    {
        let own = any_port(m, false);
        m.descriptors.bound.insert(own.clone(), id);
        if let Kind::Datagram { local, .. } = &mut m.descriptors.open[id].kind {
            *local = Some(own);
        }
    }
    let Kind::Datagram { local, .. } = &m.descriptors.open[id].kind else {
        return Err(libc::EINVAL);
    };
    let (from, length) = (local.clone(), bytes.len());
    m.record_descriptor("send by", id, site);
    match m.descriptors.bound.get(to).copied() {
        None if unix => Err(libc::ECONNREFUSED),
        // Nobody gets it, and nobody says so.
        None => Ok(length),
        Some(target) => {
            if let Kind::Datagram { inbox, arrivals, .. } = &mut m.descriptors.open[target].kind {
                inbox.push_back((from, bytes));
                *arrivals += 1;
            }
            m.made_progress();
            Ok(length)
        }
    }
}

fn names(m: &mut Machine, a: Args, name: &str, of_peer: bool) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, name) };
    let (own, other) = match &m.descriptors.open[id].kind {
        Kind::Fresh(fresh) => (fresh.bound.clone(), None),
        Kind::Listener { address, .. } => (Some(address.clone()), None),
        Kind::Stream { local, peer, .. } => (local.clone(), Some(peer.clone())),
        Kind::Datagram { local, peer, .. } => (local.clone(), peer.clone().map(Some)),
        _ => return fail(libc::ENOTSOCK),
    };
    let domain = domain_of(m, id);
    let address = match (of_peer, other) {
        (false, _) => own,
        (true, Some(peer)) => peer,
        (true, None) => return fail(libc::ENOTCONN),
    };
    address::write(m, address.as_ref(), domain, a.word(1), a.word(2));
    Flow::Return(0)
}

/// `getsockopt(number, level, name, value, length_at)`.
fn get_option(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, "getsockopt") };
    if let Some(flow) = no_socket(m, id) {
        return flow;
    }
    let value = option(m, id, a.int(1), a.int(2));
    m.check_sync(a.word(4), 4, true);
    // SAFETY: checked.
    let room = unsafe { (a.word(4) as *const u32).read_unaligned() };
    let bytes = (room as usize).min(value.len());
    m.check_sync(a.word(3), bytes as u64, true);
    // SAFETY: checked.
    unsafe {
        std::ptr::copy_nonoverlapping(value.as_ptr(), a.word(3) as *mut u8, bytes);
        (a.word(4) as *mut u32).write_unaligned(bytes as u32);
    }
    Flow::Return(0)
}

/// The value of an option.
fn option(m: &mut Machine, id: usize, level: i32, name: i32) -> Vec<u8> {
    let domain = domain_of(m, id);
    let open = &mut m.descriptors.open[id];
    let value = match (level, name) {
        (libc::SOL_SOCKET, libc::SO_ERROR) => match &mut open.kind {
            Kind::Fresh(fresh) => std::mem::take(&mut fresh.error),
            _ => 0,
        },
        (libc::SOL_SOCKET, libc::SO_TYPE) => match &open.kind {
            Kind::Fresh(fresh) => fresh.kind,
            Kind::Datagram { .. } => libc::SOCK_DGRAM,
            Kind::Stream { style, .. } => *style,
            _ => libc::SOCK_STREAM,
        },
        (libc::SOL_SOCKET, libc::SO_DOMAIN) => domain,
        (libc::SOL_SOCKET, libc::SO_PROTOCOL) => match (domain, &open.kind) {
            (libc::AF_UNIX, _) => 0,
            (_, Kind::Datagram { .. }) => libc::IPPROTO_UDP,
            _ => libc::IPPROTO_TCP,
        },
        (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => {
            i32::from(matches!(open.kind, Kind::Listener { .. }))
        }
        (libc::SOL_SOCKET, libc::SO_SNDBUF | libc::SO_RCVBUF) => match open.options.get(&(level, name)) {
            // The kernel doubles what was asked for.
            Some(set) if set.len() == 4 => {
                2 * i32::from_ne_bytes(set[..4].try_into().expect("4 bytes"))
            }
            _ => super::objects::SOCKET_BYTES as i32,
        },
        (libc::SOL_SOCKET, libc::SO_PEERCRED) => m.finish_inconclusive(
            "the program asks who is at the other end of a socket (SO_PEERCRED), which is not modelled"
                .into(),
        ),
        _ => {
            let empty = match (level, name) {
                (libc::SOL_SOCKET, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO) => 16,
                (libc::SOL_SOCKET, libc::SO_LINGER) => 8,
                _ => 4,
            };
            return open.options.get(&(level, name)).cloned().unwrap_or_else(|| vec![0; empty]);
        }
    };
    value.to_ne_bytes().to_vec()
}

/// More bytes than an option has.
const LONGEST_OPTION: u32 = 4096;

/// `setsockopt(number, level, name, value, length)`: timeouts and sizes of buffers count, nothing else does.
fn set_option(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, "setsockopt") };
    if let Some(flow) = no_socket(m, id) {
        return flow;
    }
    let (level, name, length) = (a.int(1), a.int(2), a.word(4) as u32);
    if length > LONGEST_OPTION {
        return fail(libc::EINVAL);
    }
    m.check_sync(a.word(3), u64::from(length), false);
    // SAFETY: checked.
    let value =
        unsafe { std::slice::from_raw_parts(a.word(3) as *const u8, length as usize) }.to_vec();
    let number = |at: usize| -> Option<u64> {
        Some(u64::from_ne_bytes(value.get(at..at + 8)?.try_into().ok()?))
    };
    let open = &mut m.descriptors.open[id];
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO) => {
            let (Some(seconds), Some(micros)) = (number(0), number(8)) else {
                return fail(libc::EINVAL);
            };
            let time = seconds.saturating_mul(SECOND).saturating_add(micros.saturating_mul(1000));
            let time = (time != 0).then_some(time);
            match name {
                libc::SO_RCVTIMEO => open.read_timeout = time,
                _ => open.write_timeout = time,
            }
        }
        (libc::SOL_SOCKET, libc::SO_SNDBUF) if length >= 4 => {
            let bytes = i32::from_ne_bytes(value[..4].try_into().expect("4 bytes"));
            if let Kind::Stream { tx, .. } = open.kind {
                // The kernel doubles it, and keeps it above 4,608 bytes.
                m.descriptors.channels[tx].capacity = (2 * bytes.max(0) as usize).max(4608);
            }
        }
        _ => {}
    }
    m.descriptors.open[id].options.insert((level, name), value);
    Flow::Return(0)
}
