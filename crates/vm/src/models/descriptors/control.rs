//! Closing, copying and asking about descriptors.

use unravel_trace::Op;

use super::objects::{Kind, PIPE_ATOMIC};
use super::{Args, Family, Flow, fail};
use crate::machine::Machine;

pub(super) const MODELS: Family = &[
    ("close", |m, a| close(m, a, a.int(0))),
    ("close_range", |m, a| close_all(m, a, a.word(0) as u32, a.word(1) as u32)),
    ("closefrom", |m, a| close_all(m, a, a.word(0) as u32, u32::MAX)),
    ("shutdown", shutdown),
    ("dup", |m, a| match m.descriptors.id(a.int(0)) {
        Some(id) => Flow::Return(m.number(id, false) as u32 as u64),
        None => m.call_on_outside(a, "dup"),
    }),
    ("dup2", |m, a| duplicate_to(m, a, "dup2")),
    ("dup3", |m, a| duplicate_to(m, a, "dup3")),
    ("fcntl", |m, a| control(m, a, "fcntl")),
    ("fcntl64", |m, a| control(m, a, "fcntl64")),
    ("ioctl", device_control),
    ("fstat", |m, a| status(m, a, "fstat")),
    ("fstat64", |m, a| status(m, a, "fstat64")),
    ("isatty", |m, a| match m.descriptors.id(a.int(0)) {
        Some(_) => {
            fail(libc::ENOTTY);
            Flow::Return(0)
        }
        None => m.call_on_outside(a, "isatty"),
    }),
    ("fdopen", |m, a| match m.descriptors.id(a.int(0)) {
        Some(id) => unmodelled(m, id, "opens a stream (fdopen) on"),
        None => (super::super::find("fdopen").expect("files have it"))(m, a),
    }),
];

fn unmodelled(m: &mut Machine, id: usize, what: &str) -> Flow {
    let name = m.descriptors.name_of(id);
    m.finish_inconclusive(format!("the program {what} {name}, which is not modelled"))
}

fn close(m: &mut Machine, a: Args, number: i32) -> Flow {
    let Some(id) = m.descriptors.id(number) else {
        super::epoll::forget_outside(m, number);
        return (super::super::find("close").expect("files have it"))(m, a);
    };
    m.test_cancel();
    let object = m.descriptors.open[id].object;
    m.object_event(Op::Release, object, a.site(), None);
    // Another thread may have closed it meanwhile.
    if m.descriptors.id(number) != Some(id) {
        return fail(libc::EBADF);
    }
    m.record_descriptor("close", id, a.site());
    release(m, number, id);
    m.made_progress();
    Flow::Return(0)
}

/// Gives a number back, and the description with its last one.
pub(super) fn release(m: &mut Machine, number: i32, id: usize) {
    m.descriptors.numbers.remove(&number);
    m.descriptors.closing.remove(&number);
    // SAFETY: our placeholder of this number.
    unsafe { libc::close(number) };
    m.descriptors.open[id].count -= 1;
    if m.descriptors.open[id].count > 0 {
        return;
    }
    let all = &mut m.descriptors;
    all.bound.retain(|_, bound| *bound != id);
    for open in &mut all.open {
        if let Kind::Epoll { interests } = &mut open.kind {
            interests.retain(|_, interest| interest.id != id);
        }
    }
    match &all.open[id].kind {
        Kind::Pipe { channel, writes: true } => all.channels[*channel].ended = true,
        Kind::Pipe { channel, .. } => all.channels[*channel].deaf = true,
        Kind::Stream { rx, tx, .. } => {
            all.channels[*rx].deaf = true;
            all.channels[*tx].ended = true;
        }
        Kind::Listener { queue, .. } => {
            // Those who were not accepted find a closed connection.
            for waiting in queue.clone() {
                if let Kind::Stream { rx, tx, .. } = all.open[waiting].kind {
                    all.channels[rx].deaf = true;
                    all.channels[tx].ended = true;
                }
            }
        }
        _ => {}
    }
    m.refresh_deadlines();
}

fn close_all(m: &mut Machine, a: Args, first: u32, last: u32) -> Flow {
    let own: Vec<i32> = m
        .descriptors
        .numbers
        .keys()
        .copied()
        .filter(|number| (first..=last).contains(&(*number as u32)))
        .collect();
    for number in own {
        close(m, a, number);
    }
    let name = if last == u32::MAX { "closefrom" } else { "close_range" };
    (super::super::find(name).expect("files have it"))(m, a)
}

/// `shutdown(number, how)`: half-closes.
fn shutdown(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, "shutdown") };
    let how = a.int(1);
    if !(0..=2).contains(&how) {
        return fail(libc::EINVAL);
    }
    let object = m.descriptors.open[id].object;
    m.object_event(Op::Release, object, a.site(), None);
    let all = &mut m.descriptors;
    match &all.open[id].kind {
        Kind::Stream { rx, tx, .. } => {
            if how != libc::SHUT_WR {
                all.channels[*rx].ended = true;
                all.channels[*rx].deaf = true;
            }
            if how != libc::SHUT_RD {
                all.channels[*tx].ended = true;
            }
        }
        // A thread that waits to accept gets an error.
        Kind::Listener { .. } => super::sockets::stop_listening(m, id),
        Kind::Fresh(_) => return fail(libc::ENOTCONN),
        Kind::Datagram { peer: Some(_), .. } => {}
        Kind::Datagram { .. } => return fail(libc::ENOTCONN),
        _ => return fail(libc::ENOTSOCK),
    }
    m.made_progress();
    m.record_descriptor("shut down", id, a.site());
    Flow::Return(0)
}

fn duplicate_to(m: &mut Machine, a: Args, name: &str) -> Flow {
    let (from, to) = (a.int(0), a.int(1));
    let (source, target) = (m.descriptors.id(from), m.descriptors.id(to));
    match (source, target) {
        (None, None) => {
            m.stained = true;
            m.call_on_outside(a, name)
        }
        (None, Some(_)) if m.is_closed(from) => fail(libc::EBADF),
        (None, Some(id)) => {
            release(m, to, id);
            m.stained = true;
            m.call_on_outside(a, name)
        }
        (Some(id), _) if to < m.natives.first_descriptor() => {
            let own = m.descriptors.name_of(id);
            m.finish_inconclusive(format!(
                "the program redirects descriptor {to} to {own}, which is not modelled"
            ))
        }
        (Some(_), _) if from == to && name == "dup3" => fail(libc::EINVAL),
        (Some(_), _) if from == to => Flow::Return(to as u64),
        (Some(id), target) => {
            if let Some(old) = target {
                release(m, to, old);
            }
            // SAFETY: the placeholder of the number, copied to another one.
            let number = unsafe { libc::dup2(from, to) };
            let closes = name == "dup3" && a.int(2) & libc::O_CLOEXEC != 0;
            m.take_number(id, number, closes);
            Flow::Return(number as u32 as u64)
        }
    }
}

fn control(m: &mut Machine, a: Args, name: &str) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, name) };
    let value = a.int(2);
    match a.int(1) {
        libc::F_GETFL => {
            let open = &m.descriptors.open[id];
            let way = match open.kind {
                Kind::Pipe { writes: false, .. } => libc::O_RDONLY,
                Kind::Pipe { .. } => libc::O_WRONLY,
                _ => libc::O_RDWR,
            };
            let flags = way | if open.blocking { 0 } else { libc::O_NONBLOCK };
            Flow::Return(flags as u64)
        }
        libc::F_SETFL => {
            m.descriptors.open[id].blocking = value & libc::O_NONBLOCK == 0;
            Flow::Return(0)
        }
        libc::F_GETFD => {
            let closes = m.descriptors.closing.contains(&a.int(0));
            Flow::Return(if closes { libc::FD_CLOEXEC as u64 } else { 0 })
        }
        libc::F_SETFD => {
            m.descriptors.set_closing(a.int(0), value & libc::FD_CLOEXEC != 0);
            Flow::Return(0)
        }
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
            // SAFETY: the placeholder of the number, copied.
            let number = unsafe { libc::fcntl(a.int(0), libc::F_DUPFD_CLOEXEC, value) };
            m.take_number(id, number, a.int(1) == libc::F_DUPFD_CLOEXEC);
            Flow::Return(number as u32 as u64)
        }
        libc::F_GETPIPE_SZ | libc::F_SETPIPE_SZ => {
            let Kind::Pipe { channel, .. } = m.descriptors.open[id].kind else {
                return fail(libc::EBADF);
            };
            let channel = &mut m.descriptors.channels[channel];
            if a.int(1) == libc::F_SETPIPE_SZ {
                channel.capacity = (value.max(1) as usize).next_power_of_two().max(PIPE_ATOMIC);
            }
            Flow::Return(channel.capacity as u64)
        }
        _ => fail(libc::EINVAL),
    }
}

fn device_control(m: &mut Machine, a: Args) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, "ioctl") };
    let at = a.word(2);
    match a.word(1) {
        libc::FIONBIO => {
            m.check_sync(at, 4, false);
            // SAFETY: checked.
            m.descriptors.open[id].blocking = unsafe { (at as *const i32).read_unaligned() } == 0;
            Flow::Return(0)
        }
        libc::FIONREAD => {
            m.check_sync(at, 4, true);
            let bytes = super::transfer::readable_bytes(m, id);
            // SAFETY: checked.
            unsafe { (at as *mut i32).write_unaligned(bytes as i32) };
            Flow::Return(0)
        }
        how @ (libc::FIOCLEX | libc::FIONCLEX) => {
            m.descriptors.set_closing(a.int(0), how == libc::FIOCLEX);
            Flow::Return(0)
        }
        _ => fail(libc::ENOTTY),
    }
}

fn status(m: &mut Machine, a: Args, name: &str) -> Flow {
    let Some(id) = m.descriptors.id(a.int(0)) else { return m.call_on_outside(a, name) };
    let mode = match m.descriptors.open[id].kind {
        Kind::Pipe { .. } => libc::S_IFIFO | 0o600,
        Kind::Fresh(_) | Kind::Listener { .. } | Kind::Stream { .. } | Kind::Datagram { .. } => {
            libc::S_IFSOCK | 0o777
        }
        _ => 0o600,
    };
    let bytes = size_of::<libc::stat>();
    m.check_sync(a.word(1), bytes as u64, true);
    // SAFETY: checked; all zeros is a status.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        status.st_mode = mode;
        status.st_ino = id as u64 + 1;
        status.st_nlink = 1;
        (a.word(1) as *mut libc::stat).write_unaligned(status);
    }
    Flow::Return(0)
}
