//! What libatomic does: atomic operations on objects that the processor has no instruction for (structs of
//! odd sizes) or that clang does not use it for (16 bytes).

use unravel_code::code::RmwOp;
use unravel_trace::{EventKind, Op, SiteId, Value};

use super::{Args, Family, Flow, OK};
use crate::arith::update_wide;
use crate::machine::Machine;
use crate::site_tables::LEARN;
use crate::thread::Need;

macro_rules! models {
    ($($bytes:literal)*) => {
        &[
            ("__atomic_load", load),
            ("__atomic_store", store),
            ("__atomic_exchange", exchange),
            ("__atomic_compare_exchange", compare_exchange),
            ("__atomic_is_lock_free", |_, a| Flow::Return(u64::from(a.word(0).is_power_of_two() && a.word(0) <= 16))),
            $(
                (concat!("__atomic_load_", $bytes), load_value),
                (concat!("__atomic_store_", $bytes), |m, a| update(m, a, RmwOp::Exchange)),
                (concat!("__atomic_exchange_", $bytes), |m, a| update(m, a, RmwOp::Exchange)),
                (concat!("__atomic_compare_exchange_", $bytes), compare_exchange_value),
                (concat!("__atomic_fetch_add_", $bytes), |m, a| update(m, a, RmwOp::Add)),
                (concat!("__atomic_fetch_sub_", $bytes), |m, a| update(m, a, RmwOp::Sub)),
                (concat!("__atomic_fetch_and_", $bytes), |m, a| update(m, a, RmwOp::And)),
                (concat!("__atomic_fetch_or_", $bytes), |m, a| update(m, a, RmwOp::Or)),
                (concat!("__atomic_fetch_xor_", $bytes), |m, a| update(m, a, RmwOp::Xor)),
                (concat!("__atomic_fetch_nand_", $bytes), |m, a| update(m, a, RmwOp::Nand)),
            )*
        ]
    };
}

pub(crate) const MODELS: Family = models!(1 2 4 8 16);

impl Machine {
    /// An atomic update of up to 16 bytes, as one event. Returns the old value.
    pub fn update_atomically(
        &mut self,
        op: RmwOp,
        (address, bytes): (u64, u64),
        value: u128,
        site: SiteId,
    ) -> u128 {
        self.before_library_atomic(address, bytes, site);
        // SAFETY: checked.
        unsafe {
            let old = read(address, bytes);
            let new =
                truncate(update_wide(op, extend(op, old, bytes), extend(op, value, bytes)), bytes);
            self.shadow_library_update(op, (address, bytes), (value, new));
            write(address, bytes, new);
            self.shadow_updated(address, bytes);
            self.updated(address, bytes, old, new, site);
            old
        }
    }

    fn before_library_atomic(&mut self, address: u64, bytes: u64, site: SiteId) {
        if self.alive > 1 {
            self.point(Op::Update, address, bytes as u32, site, Need::Nothing);
            // SAFETY: the table covers all sites.
            if unsafe { *self.site_flags.add(site.index()) } & LEARN != 0 {
                let who = self.accessor();
                self.sharing.learn(address, bytes, true, (who, true), site);
            }
        } else {
            self.tell(Op::Update, address, bytes as u32, site);
        }
        self.check_sync(address, bytes, true);
    }

    fn updated(&mut self, address: u64, bytes: u64, old: u128, new: u128, site: SiteId) {
        if old != new {
            self.made_progress();
        }
        if self.records_accesses() {
            let at = self.location(address, bytes, site);
            let (old, new) = (value_of(old, bytes), value_of(new, bytes));
            self.record(site, EventKind::ReadModifyWrite { at, old, new });
        }
    }
}

fn value_of(value: u128, bytes: u64) -> Value {
    if bytes <= 8 {
        Value::Word(value as u64)
    } else {
        Value::Bytes(value.to_le_bytes()[..bytes as usize].into())
    }
}

/// Comparisons of signed numbers see their sign.
fn extend(op: RmwOp, value: u128, bytes: u64) -> u128 {
    match op {
        RmwOp::Max | RmwOp::Min => crate::arith::sign_extend_wide(value, (bytes * 8) as u8) as u128,
        _ => truncate(value, bytes),
    }
}

fn truncate(value: u128, bytes: u64) -> u128 {
    value & crate::arith::mask_wide((bytes * 8) as u8)
}

/// # Safety
/// `bytes` bytes, at most 16, are there.
unsafe fn read(address: u64, bytes: u64) -> u128 {
    let mut value = [0u8; 16];
    // SAFETY: per the contract.
    unsafe {
        std::ptr::copy_nonoverlapping(address as *const u8, value.as_mut_ptr(), bytes as usize)
    };
    u128::from_le_bytes(value)
}

/// # Safety
/// As for [`read`].
unsafe fn write(address: u64, bytes: u64, value: u128) {
    let value = value.to_le_bytes();
    // SAFETY: per the contract.
    unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), address as *mut u8, bytes as usize) };
}

/// The size in bytes that a model's name ends with, from the value it takes.
fn size(a: Args, value: usize) -> u64 {
    u64::from(a.bits(value)) / 8
}

fn wide(value: u128) -> Flow {
    Flow::Pair(value as u64, (value >> 64) as u64)
}

/// `__atomic_fetch_add_16(object, value, order)` and its like; a store ignores the old value.
fn update(m: &mut Machine, a: Args, op: RmwOp) -> Flow {
    wide(m.update_atomically(op, (a.word(0), size(a, 1)), a.wide(1), a.site()))
}

/// `__atomic_load_16(object, order)`.
fn load_value(m: &mut Machine, a: Args) -> Flow {
    let (address, bytes) = (a.word(0), u64::from(a.result_bits()) / 8);
    m.before_library_atomic(address, bytes, a.site());
    record_load(m, address, bytes, a.site());
    m.shadow_return_loaded(address, bytes);
    // SAFETY: checked.
    wide(unsafe { read(address, bytes) })
}

fn record_load(m: &mut Machine, address: u64, bytes: u64, site: SiteId) {
    if m.records_accesses() {
        m.record_read(address, bytes, site);
    }
}

/// `__atomic_compare_exchange_16(object, expected, desired, success, failure)`.
fn compare_exchange_value(m: &mut Machine, a: Args) -> Flow {
    let (address, expected, bytes) = (a.word(0), a.word(1), size(a, 2));
    m.shadow_look(expected, bytes);
    m.check_sync(expected, bytes, true);
    m.before_library_atomic(address, bytes, a.site());
    // SAFETY: both checked.
    unsafe {
        let old = read(address, bytes);
        let equal = old == read(expected, bytes);
        let new = if equal { truncate(a.wide(2), bytes) } else { old };
        let same = m.shadow_library_exchange((address, expected), bytes, equal);
        write(address, bytes, new);
        if !equal {
            write(expected, bytes, old);
        } else {
            m.shadow_updated(address, bytes);
        }
        m.updated(address, bytes, old, new, a.site());
        m.shadow_went(same, equal);
        Flow::Return(u64::from(equal))
    }
}

/// `__atomic_load(bytes, object, to, order)`: of any size.
fn load(m: &mut Machine, a: Args) -> Flow {
    let (bytes, address, to) = (a.word(0), a.word(1), a.word(2));
    m.check_sync(to, bytes, true);
    m.before_library_atomic(address, bytes, a.site());
    record_load(m, address, bytes, a.site());
    m.shadow_copy(address, to, bytes);
    // SAFETY: both checked.
    unsafe { std::ptr::copy(address as *const u8, to as *mut u8, bytes as usize) };
    OK
}

/// `__atomic_store(bytes, object, from, order)`.
fn store(m: &mut Machine, a: Args) -> Flow {
    let (bytes, address, from) = (a.word(0), a.word(1), a.word(2));
    m.check_sync(from, bytes, false);
    m.before_library_atomic(address, bytes, a.site());
    m.shadow_overwrite(address, bytes);
    // SAFETY: both checked.
    unsafe { std::ptr::copy(from as *const u8, address as *mut u8, bytes as usize) };
    wrote(m, address, bytes, a.site());
    OK
}

fn wrote(m: &mut Machine, address: u64, bytes: u64, site: SiteId) {
    m.made_progress();
    if m.records_accesses() {
        m.record_write(crate::site_tables::RECORD, address, bytes, site);
    }
}

/// `__atomic_exchange(bytes, object, from, to, order)`.
fn exchange(m: &mut Machine, a: Args) -> Flow {
    let (bytes, address, from, to) = (a.word(0), a.word(1), a.word(2), a.word(3));
    m.check_sync(from, bytes, false);
    m.check_sync(to, bytes, true);
    m.before_library_atomic(address, bytes, a.site());
    record_load(m, address, bytes, a.site());
    m.shadow_copy(address, to, bytes);
    m.shadow_overwrite(address, bytes);
    // SAFETY: all checked; `from` and `to` may be the same.
    unsafe {
        for i in 0..bytes {
            let old = *((address + i) as *const u8);
            *((address + i) as *mut u8) = *((from + i) as *const u8);
            *((to + i) as *mut u8) = old;
        }
    }
    wrote(m, address, bytes, a.site());
    OK
}

/// `__atomic_compare_exchange(bytes, object, expected, desired, success, failure)`.
fn compare_exchange(m: &mut Machine, a: Args) -> Flow {
    let (bytes, address, expected, desired) = (a.word(0), a.word(1), a.word(2), a.word(3));
    m.shadow_look(expected, bytes);
    m.check_sync(expected, bytes, true);
    m.check_sync(desired, bytes, false);
    m.before_library_atomic(address, bytes, a.site());
    record_load(m, address, bytes, a.site());
    m.shadow_look(address, bytes);
    let length = bytes as usize;
    // SAFETY: all checked.
    let equal = unsafe {
        let (object, wanted) = (address as *mut u8, expected as *mut u8);
        let equal = std::slice::from_raw_parts(object, length)
            == std::slice::from_raw_parts(wanted, length);
        if equal {
            m.shadow_overwrite(address, bytes);
            std::ptr::copy(desired as *const u8, object, length);
        } else {
            std::ptr::copy(object, wanted, length);
        }
        equal
    };
    if equal {
        wrote(m, address, bytes, a.site());
    }
    Flow::Return(u64::from(equal))
}
