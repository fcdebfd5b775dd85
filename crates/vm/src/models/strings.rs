//! Functions on memory and strings. What they read and write is seen by other threads: if the call's
//! site is visible, the whole range is one read and one write.

use unravel_trace::{ExprId, SiteId};

use super::{Args, Family, Flow, OK};
use crate::machine::Machine;
use crate::memory::in_arena;
use crate::site_tables::{DEFINED, POINT, RECORD, WATCH};

pub(crate) const MODELS: Family = &[
    ("memcpy", |m, a| copy(m, a)),
    ("memmove", |m, a| copy(m, a)),
    ("mempcpy", |m, a| {
        copy(m, a);
        Flow::Return(a.word(0) + a.word(2))
    }),
    ("llvm.memcpy", |m, a| copy(m, a)),
    ("llvm.memcpy.inline", |m, a| copy(m, a)),
    ("llvm.memmove", |m, a| copy(m, a)),
    ("__memcpy_chk", |m, a| copy(m, a)),
    ("__memmove_chk", |m, a| copy(m, a)),
    ("memset", |m, a| set(m, a)),
    ("llvm.memset", |m, a| set(m, a)),
    ("llvm.memset.inline", |m, a| set(m, a)),
    ("__memset_chk", |m, a| set(m, a)),
    ("bzero", |m, a| {
        fill(m, a.word(0), (0, None), a.word(1), a.site());
        OK
    }),
    ("bcopy", |m, a| {
        transfer(m, a.word(1), a.word(0), a.word(2), a.site());
        OK
    }),
    ("memcmp", |m, a| compare(m, a, a.word(2))),
    ("bcmp", |m, a| compare(m, a, a.word(2))),
    ("memchr", find_byte),
    ("strlen", |m, a| {
        let length = m.read_string(a.word(0), u64::MAX, a.site());
        Flow::Return(length)
    }),
    ("strnlen", |m, a| {
        let length = m.read_string(a.word(0), a.word(1), a.site());
        Flow::Return(length.min(a.word(1)))
    }),
    ("strcpy", |m, a| copy_string(m, a, u64::MAX)),
    ("__strcpy_chk", |m, a| copy_string(m, a, u64::MAX)),
    ("stpcpy", |m, a| {
        let length = m.read_string(a.word(1), u64::MAX, a.site());
        m.write_bytes(a.word(0), a.word(1), length + 1, a.site());
        Flow::Return(a.word(0) + length)
    }),
    ("strncpy", |m, a| copy_string(m, a, a.word(2))),
    ("__strncpy_chk", |m, a| copy_string(m, a, a.word(2))),
    ("strcat", |m, a| append(m, a, u64::MAX)),
    ("__strcat_chk", |m, a| append(m, a, u64::MAX)),
    ("strncat", |m, a| append(m, a, a.word(2))),
    ("strcmp", |m, a| compare_strings(m, a, u64::MAX, false)),
    ("strncmp", |m, a| compare_strings(m, a, a.word(2), false)),
    ("strcasecmp", |m, a| compare_strings(m, a, u64::MAX, true)),
    ("strncasecmp", |m, a| compare_strings(m, a, a.word(2), true)),
    ("strchr", |m, a| find_char(m, a, false)),
    ("index", |m, a| find_char(m, a, false)),
    ("strrchr", |m, a| find_char(m, a, true)),
    ("rindex", |m, a| find_char(m, a, true)),
    ("strstr", find_string),
    ("strdup", |m, a| duplicate(m, a, u64::MAX)),
    ("__strdup", |m, a| duplicate(m, a, u64::MAX)),
    ("strndup", |m, a| duplicate(m, a, a.word(1))),
];

impl Machine {
    /// Reads or writes a range: the event, if the site is visible, and the check.
    pub fn range(&mut self, address: u64, bytes: u64, write: bool, site: SiteId) -> u8 {
        // SAFETY: the table covers all sites.
        let flags = unsafe { *self.site_flags.add(site.index()) };
        if bytes == 0 {
            return 0;
        }
        if flags != 0 && in_arena(address) {
            // What a function copies may be padding.
            let flags = if write { flags } else { flags & !DEFINED };
            self.before_access(flags, address, bytes, write, site);
        }
        if let Err(fault) = self.memory.check(address, bytes) {
            self.fail_access(address, bytes, write, fault);
        }
        let mut flags = if in_arena(address) { flags } else { 0 };
        if self.concolic.is_on() {
            if self.is_event_after_all(address, bytes) {
                flags |= RECORD;
            }
            if write && flags & RECORD != 0 {
                self.before_write(address, bytes);
            }
        }
        flags
    }

    fn read_range(&mut self, address: u64, bytes: u64, site: SiteId) {
        let flags = self.range(address, bytes, false, site);
        if flags & RECORD != 0 {
            self.record_read(address, bytes, site);
        }
    }

    /// A read whose bytes decide what the function does.
    fn look_at(&mut self, address: u64, bytes: u64, site: SiteId) {
        self.read_range(address, bytes, site);
        self.shadow_look(address, bytes);
    }

    /// Copies bytes that were read already to `to`, as one write. Others may run before that: what was read stays
    /// what it was.
    fn write_bytes(&mut self, to: u64, from: u64, bytes: u64, site: SiteId) {
        let me = self.current;
        // SAFETY: the table covers all sites; the source was checked when it was read.
        let is_point = unsafe { *self.site_flags.add(site.index()) } & POINT != 0;
        if is_point {
            let mut copied = std::mem::take(&mut self.threads[me].copied);
            copied.clear();
            copied.extend_from_slice(self.bytes(from, bytes));
            self.threads[me].copied = copied;
        }
        let mut flags = self.range(to, bytes, true, site);
        if flags & RECORD == 0 && self.copies_input(from, bytes) {
            self.before_write(to, bytes);
            flags |= RECORD;
        }
        self.shadow_copy(from, to, bytes);
        let source = if is_point { self.threads[me].copied.as_ptr() } else { from as *const u8 };
        // SAFETY: both ranges were checked.
        unsafe { std::ptr::copy(source, to as *mut u8, bytes as usize) };
        self.wrote(flags, to, bytes, site);
    }

    fn wrote(&mut self, flags: u8, address: u64, bytes: u64, site: SiteId) {
        if flags & (POINT | WATCH) != 0 {
            self.stored(flags & POINT != 0);
        }
        self.record_write(flags, address, bytes, site);
    }

    /// The length of a string, at most `limit`, read as one event.
    fn read_string(&mut self, address: u64, limit: u64, site: SiteId) -> u64 {
        let length = self.string_length(address, limit);
        self.look_at(address, (length + 1).min(limit), site);
        length
    }

    /// Scans for the end of a string, checking as it goes.
    fn string_length(&mut self, address: u64, limit: u64) -> u64 {
        let mut length = 0;
        while length < limit {
            let at = address.wrapping_add(length);
            if !self.memory.is_plain(at, 1)
                && let Err(fault) = self.memory.check(at, 1)
            {
                self.fail_access(at, 1, false, fault);
            }
            // SAFETY: checked, or foreign memory that the program vouches for.
            if unsafe { *(at as *const u8) } == 0 {
                break;
            }
            length += 1;
        }
        length
    }

    /// Bytes of the program's memory that were checked just before. They are borrowed with the machine, so that no
    /// other thread runs and writes them meanwhile.
    fn bytes(&self, address: u64, count: u64) -> &[u8] {
        // SAFETY: callers have checked the range; nobody writes it, as said above.
        unsafe { std::slice::from_raw_parts(address as *const u8, count as usize) }
    }

    /// A string of the program, for our own use.
    pub fn c_string(&mut self, address: u64) -> String {
        if address == 0 {
            return String::new();
        }
        let length = self.string_length(address, 1 << 16);
        // SAFETY: scanned just now.
        let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, length as usize) };
        String::from_utf8_lossy(bytes).into_owned()
    }
}

fn transfer(m: &mut Machine, to: u64, from: u64, bytes: u64, site: SiteId) {
    m.read_range(from, bytes, site);
    m.write_bytes(to, from, bytes, site);
}

fn copy(m: &mut Machine, a: Args) -> Flow {
    if a.word(2) != 0 {
        transfer(m, a.word(0), a.word(1), a.word(2), a.site());
    }
    Flow::Return(a.word(0))
}

fn fill(m: &mut Machine, to: u64, byte: (u8, Option<ExprId>), bytes: u64, site: SiteId) {
    let flags = m.range(to, bytes, true, site);
    if bytes != 0 {
        m.shadow_fill(to, bytes, byte.1);
        // SAFETY: checked.
        unsafe { (to as *mut u8).write_bytes(byte.0, bytes as usize) };
        m.wrote(flags, to, bytes, site);
    }
}

fn set(m: &mut Machine, a: Args) -> Flow {
    let byte = (a.word(1) as u8, m.shadow_argument(a, 1));
    fill(m, a.word(0), byte, a.word(2), a.site());
    Flow::Return(a.word(0))
}

fn ordering(left: &[u8], right: &[u8]) -> Flow {
    let order =
        left.iter().zip(right).map(|(l, r)| i32::from(*l) - i32::from(*r)).find(|d| *d != 0);
    Flow::Return(order.unwrap_or(0) as u32 as u64)
}

fn compare(m: &mut Machine, a: Args, count: u64) -> Flow {
    if count == 0 {
        return OK;
    }
    m.look_at(a.word(0), count, a.site());
    m.look_at(a.word(1), count, a.site());
    ordering(m.bytes(a.word(0), count), m.bytes(a.word(1), count))
}

fn find_byte(m: &mut Machine, a: Args) -> Flow {
    if a.word(2) == 0 {
        return OK;
    }
    m.look_at(a.word(0), a.word(2), a.site());
    let found = m.bytes(a.word(0), a.word(2)).iter().position(|b| *b == a.word(1) as u8);
    Flow::Return(found.map_or(0, |i| a.word(0) + i as u64))
}

fn copy_string(m: &mut Machine, a: Args, limit: u64) -> Flow {
    let (to, from) = (a.word(0), a.word(1));
    let length = m.read_string(from, limit, a.site());
    if limit == u64::MAX {
        m.write_bytes(to, from, length + 1, a.site());
    } else if limit > 0 {
        // strncpy pads with zeros.
        let flags = m.range(to, limit, true, a.site());
        m.shadow_forget(to, limit);
        // SAFETY: checked.
        unsafe {
            std::ptr::copy(from as *const u8, to as *mut u8, length as usize);
            ((to + length) as *mut u8).write_bytes(0, (limit - length) as usize);
        }
        m.wrote(flags, to, limit, a.site());
    }
    Flow::Return(to)
}

fn append(m: &mut Machine, a: Args, limit: u64) -> Flow {
    let (to, from) = (a.word(0), a.word(1));
    let end = to + m.read_string(to, u64::MAX, a.site());
    let length = m.read_string(from, limit, a.site());
    let flags = m.range(end, length + 1, true, a.site());
    m.shadow_forget(end, length + 1);
    // SAFETY: checked.
    unsafe {
        std::ptr::copy(from as *const u8, end as *mut u8, length as usize);
        *((end + length) as *mut u8) = 0;
    }
    m.wrote(flags, end, length + 1, a.site());
    Flow::Return(to)
}

fn compare_strings(m: &mut Machine, a: Args, limit: u64, fold: bool) -> Flow {
    let left = m.read_string(a.word(0), limit, a.site());
    let right = m.read_string(a.word(1), limit, a.site());
    let take = |address, length: u64| {
        let byte = |b: u8| if fold { b.to_ascii_lowercase() } else { b };
        m.bytes(address, length)
            .iter()
            .map(move |b| byte(*b))
            .chain(std::iter::once(0))
            .take(limit as usize)
    };
    let order = take(a.word(0), left)
        .zip(take(a.word(1), right))
        .map(|(l, r)| i32::from(l) - i32::from(r))
        .find(|d| *d != 0);
    Flow::Return(order.unwrap_or(0) as u32 as u64)
}

fn find_char(m: &mut Machine, a: Args, last: bool) -> Flow {
    let length = m.read_string(a.word(0), u64::MAX, a.site());
    let text = m.bytes(a.word(0), length + 1);
    let wanted = a.word(1) as u8;
    let found = if last {
        text.iter().rposition(|b| *b == wanted)
    } else {
        text.iter().position(|b| *b == wanted)
    };
    Flow::Return(found.map_or(0, |i| a.word(0) + i as u64))
}

fn find_string(m: &mut Machine, a: Args) -> Flow {
    let text = m.read_string(a.word(0), u64::MAX, a.site());
    let wanted = m.read_string(a.word(1), u64::MAX, a.site());
    let (text, wanted) = (m.bytes(a.word(0), text), m.bytes(a.word(1), wanted));
    let found = if wanted.is_empty() {
        Some(0)
    } else {
        text.windows(wanted.len()).position(|window| window == wanted)
    };
    Flow::Return(found.map_or(0, |i| a.word(0) + i as u64))
}

fn duplicate(m: &mut Machine, a: Args, limit: u64) -> Flow {
    let length = m.read_string(a.word(0), limit, a.site());
    let address = m.allocate_as(length + 1, 16, a.site(), true);
    if address != 0 {
        // SAFETY: memory just allocated, zero behind the copy.
        unsafe {
            std::ptr::copy_nonoverlapping(
                a.word(0) as *const u8,
                address as *mut u8,
                length as usize,
            )
        };
    }
    Flow::Return(address)
}
