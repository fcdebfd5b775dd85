//! Addresses of sockets. Of those of the internet family only the port counts: all that is modelled is this machine's loopback.

use crate::machine::Machine;

/// Where a socket can be reached.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Address {
    Inet {
        stream: bool,
        port: u16,
    },
    /// The name, with its leading zero if it is abstract.
    Unix {
        stream: bool,
        name: Vec<u8>,
    },
}

/// What an address in the program's memory is.
pub(super) enum Named {
    Here(Address),
    /// In words.
    Outside(String),
    Invalid,
}

/// The family of an address that was read.
pub(super) fn family(at: u64) -> i32 {
    // SAFETY: `read` has checked it.
    i32::from(unsafe { (at as *const u16).read_unaligned() })
}

/// Reads the address that a program gives.
pub(super) fn read(m: &mut Machine, at: u64, length: usize, stream: bool) -> Named {
    if at == 0 || !(2..=128).contains(&length) {
        return Named::Invalid;
    }
    m.check_sync(at, length as u64, false);
    // SAFETY: checked.
    let bytes = unsafe { std::slice::from_raw_parts(at as *const u8, length) };
    let family = i32::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
    match family {
        libc::AF_INET if length >= 16 => {
            let port = u16::from_be_bytes([bytes[2], bytes[3]]);
            match bytes[4..8] {
                [127, ..] | [0, 0, 0, 0] => Named::Here(Address::Inet { stream, port }),
                [a, b, c, d] => Named::Outside(format!("{a}.{b}.{c}.{d}:{port}")),
                _ => Named::Invalid,
            }
        }
        libc::AF_INET6 if length >= 28 => {
            let port = u16::from_be_bytes([bytes[2], bytes[3]]);
            let host =
                std::net::Ipv6Addr::from(<[u8; 16]>::try_from(&bytes[8..24]).expect("16 bytes"));
            let mapped = host.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback());
            match host.is_loopback() || host.is_unspecified() || mapped {
                true => Named::Here(Address::Inet { stream, port }),
                false => Named::Outside(format!("[{host}]:{port}")),
            }
        }
        libc::AF_UNIX => {
            let name = &bytes[2..];
            let name = match name.first() {
                None => return Named::Invalid,
                Some(0) => name.to_vec(),
                Some(_) => name.split(|byte| *byte == 0).next().unwrap_or(name).to_vec(),
            };
            let path = String::from_utf8_lossy(&name).into_owned();
            // Somebody else's socket.
            let is_file = name.first() != Some(&0) && std::path::Path::new(&path).exists();
            let address = Address::Unix { stream, name };
            match is_file && !m.descriptors.bound.contains_key(&address) {
                true => Named::Outside(path),
                false => Named::Here(address),
            }
        }
        _ => Named::Outside(format!("address family {family}")),
    }
}

/// Writes an address where the program wants it, as much as fits, and its whole length.
pub(super) fn write(
    m: &mut Machine,
    address: Option<&Address>,
    domain: i32,
    at: u64,
    length_at: u64,
) {
    if at == 0 || length_at == 0 {
        return;
    }
    m.check_sync(length_at, 4, true);
    // SAFETY: checked.
    let room = unsafe { (length_at as *const u32).read_unaligned() } as usize;
    let mut bytes = vec![0; 2];
    bytes[..2].copy_from_slice(&(domain as u16).to_ne_bytes());
    match (address, domain) {
        (Some(Address::Inet { port, .. }), libc::AF_INET6) => {
            bytes.extend(port.to_be_bytes());
            bytes.extend([0; 4]);
            bytes.extend(std::net::Ipv6Addr::LOCALHOST.octets());
            bytes.extend([0; 4]);
        }
        (Some(Address::Inet { port, .. }), _) => {
            bytes.extend(port.to_be_bytes());
            bytes.extend([127, 0, 0, 1]);
            bytes.extend([0; 8]);
        }
        (Some(Address::Unix { name, .. }), _) => {
            bytes.extend(name);
            if name.first() != Some(&0) {
                bytes.push(0);
            }
        }
        (None, libc::AF_INET) => bytes.extend([0; 14]),
        (None, libc::AF_INET6) => bytes.extend([0; 26]),
        (None, _) => {}
    }
    let fits = room.min(bytes.len());
    m.check_sync(at, fits as u64, true);
    // SAFETY: checked.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, fits);
        (length_at as *mut u32).write_unaligned(bytes.len() as u32);
    }
}
