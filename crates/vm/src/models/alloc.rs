//! The heap: `malloc` and `operator new` with their families.
//!
//! Memory that nobody has written holds one pattern in every byte ([`unravel_trace::Uninit`]), so that what an
//! uninitialised read sees does not depend on the schedule. Large blocks hold zeros, as those that come fresh from the
//! system do.

use unravel_trace::{Deviation, EventKind, Op, SiteId};

use super::{Args, Family, Flow, OK, error};
use crate::guard;
use crate::interpret::Uncaught;
use crate::machine::Machine;
use crate::memory::{BadFree, Fault, in_arena};
use crate::site_tables::LEARN;
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("malloc", |m, a| Flow::Return(m.allocate(a.word(0), 16, a.site()))),
    ("valloc", |m, a| Flow::Return(m.allocate(a.word(0), 4096, a.site()))),
    ("_Znwm", |m, a| new(m, a.word(0), 16, a.site())),
    ("_Znam", |m, a| through(m, a, &["_Znwm"]).unwrap_or_else(|| new(m, a.word(0), 16, a.site()))),
    ("_ZnwmRKSt9nothrow_t", |m, a| new_or_null(m, a, &["_Znwm"])),
    ("_ZnamRKSt9nothrow_t", |m, a| new_or_null(m, a, &["_Znam", "_Znwm"])),
    ("_ZnwmSt11align_val_t", |m, a| new(m, a.word(0), a.word(1), a.site())),
    ("_ZnamSt11align_val_t", |m, a| {
        through(m, a, &["_ZnwmSt11align_val_t"])
            .unwrap_or_else(|| new(m, a.word(0), a.word(1), a.site()))
    }),
    ("calloc", |m, a| {
        Flow::Return(m.allocate_as(a.word(0).saturating_mul(a.word(1)), 16, a.site(), true))
    }),
    ("realloc", |m, a| realloc(m, a.word(0), a.word(1), a.site())),
    ("reallocarray", |m, a| realloc(m, a.word(0), a.word(1).saturating_mul(a.word(2)), a.site())),
    ("memalign", |m, a| {
        let align = a.word(0).checked_next_power_of_two().unwrap_or(u64::MAX);
        Flow::Return(m.allocate(a.word(1), align, a.site()))
    }),
    ("aligned_alloc", |m, a| Flow::Return(m.allocate(a.word(1), a.word(0), a.site()))),
    ("posix_memalign", posix_memalign),
    ("malloc_usable_size", usable_size),
    ("free", |m, a| free(m, a.word(0), a.site())),
    ("cfree", |m, a| free(m, a.word(0), a.site())),
    ("_ZdlPv", |m, a| free(m, a.word(0), a.site())),
    ("_ZdaPv", |m, a| delete(m, a, &["_ZdlPv"])),
    ("_ZdlPvm", |m, a| delete(m, a, &["_ZdlPv"])),
    ("_ZdaPvm", |m, a| delete(m, a, &["_ZdaPv", "_ZdlPv"])),
    ("_ZdlPvSt11align_val_t", |m, a| free(m, a.word(0), a.site())),
    ("_ZdaPvSt11align_val_t", |m, a| delete(m, a, &[ALIGNED_DELETE])),
    ("_ZdlPvmSt11align_val_t", |m, a| delete_sized_aligned(m, a, &[ALIGNED_DELETE])),
    ("_ZdaPvmSt11align_val_t", |m, a| {
        delete_sized_aligned(m, a, &["_ZdaPvSt11align_val_t", ALIGNED_DELETE])
    }),
    ("_ZdlPvRKSt9nothrow_t", |m, a| delete(m, a, &["_ZdlPv"])),
    ("_ZdaPvRKSt9nothrow_t", |m, a| delete(m, a, &["_ZdaPv", "_ZdlPv"])),
];

const ALIGNED_DELETE: &str = "_ZdlPvSt11align_val_t";

/// Calls the first of these operators that the program defines, as the library's own do: who replaces `operator delete(void *)`
/// sees what the others free as well.
fn through_words(m: &mut Machine, names: &[&str], words: &[u64]) -> Option<Flow> {
    let program = m.program.clone();
    let defined = |name: &&str| program.by_name.get(*name).copied();
    let function = names.iter().filter_map(defined).find(|function| m.has_body(*function))?;
    Some(match m.try_call(function, words) {
        Ok(result) => Flow::Return(result),
        Err(Uncaught) => Flow::Throw,
    })
}

fn through(m: &mut Machine, a: Args, names: &[&str]) -> Option<Flow> {
    through_words(m, names, &[a.word(0), a.word(1)])
}

fn delete(m: &mut Machine, a: Args, names: &[&str]) -> Flow {
    through(m, a, names).unwrap_or_else(|| free(m, a.word(0), a.site()))
}

/// The size does not count, and the alignment is behind it.
fn delete_sized_aligned(m: &mut Machine, a: Args, names: &[&str]) -> Flow {
    through_words(m, names, &[a.word(0), a.word(2)]).unwrap_or_else(|| free(m, a.word(0), a.site()))
}

fn new_or_null(m: &mut Machine, a: Args, names: &[&str]) -> Flow {
    match through(m, a, names) {
        None => Flow::Return(m.allocate(a.word(0), 16, a.site())),
        Some(Flow::Throw) => m.finish_inconclusive(
            "the program's own operator new throws where it is called with std::nothrow".into(),
        ),
        Some(flow) => flow,
    }
}

/// The C library's allocator asks the system for blocks of this size on, which come zeroed.
const FROM_SYSTEM: u64 = 128 << 10;
/// No process gets as much as this (47 bits of addresses), so that `malloc` of it fails natively too.
const IMPOSSIBLE: u64 = 1 << 46;

impl Machine {
    /// Allocates in the region of the current thread; 0 and an error number if natively it would be so.
    /// What only the VM has no room for is no failure of the program.
    pub fn allocate(&mut self, bytes: u64, align: u64, site: SiteId) -> u64 {
        self.allocate_as(bytes, align, site, false)
    }

    pub fn allocate_as(&mut self, bytes: u64, align: u64, site: SiteId, zeroed: bool) -> u64 {
        let failed = self.deviated.iter().filter(|d| d.kind == Deviation::NoMemory).count() as u32;
        if failed < self.limits.malloc_fails && self.deviate(Deviation::NoMemory, site) {
            // SAFETY: errno of this native thread.
            unsafe { *libc::__errno_location() = libc::ENOMEM };
            return 0;
        }
        let number = match (bytes >= IMPOSSIBLE || align >= IMPOSSIBLE, align.is_power_of_two()) {
            (true, _) => libc::ENOMEM,
            (false, false) => libc::EINVAL,
            (false, true) => {
                let slot = self.threads[self.current].slot;
                let own_site = self.own_site(site);
                let ty = self.made_at(site);
                match self.memory.allocate(slot, bytes, align, (own_site, ty)) {
                    0 => self.finish_inconclusive(format!(
                        "there is no room for {bytes} more bytes of heap in one thread"
                    )),
                    address => {
                        self.shadow_forget(address, bytes);
                        if !zeroed {
                            self.leave_undefined(address, bytes.min(FROM_SYSTEM));
                        }
                        if !zeroed && bytes < FROM_SYSTEM {
                            let pattern = self.limits.uninit.pattern;
                            // SAFETY: a block of that many bytes, allocated above.
                            unsafe { (address as *mut u8).write_bytes(pattern, bytes as usize) };
                        }
                        return address;
                    }
                }
            }
        };
        // SAFETY: errno of this native thread.
        unsafe { *libc::__errno_location() = number };
        0
    }
}

/// `operator new`, which asks the program's handler and then throws where `malloc` returns null.
fn new(m: &mut Machine, bytes: u64, align: u64, site: SiteId) -> Flow {
    loop {
        let address = m.allocate(bytes, align, site);
        if address != 0 {
            return Flow::Return(address);
        }
        let asked = match m.handlers.new {
            0 => return m.throw_bad_alloc(),
            handler => m.try_call_address(handler, &[]),
        };
        if let Err(Uncaught) = asked {
            return Flow::Throw;
        }
    }
}

pub(crate) fn free(m: &mut Machine, address: u64, site: SiteId) -> Flow {
    if address == 0 {
        return OK;
    }
    if !in_arena(address) {
        // SAFETY: a library allocated it; whose memory it is, the shim's `free` sees.
        unsafe { libc::free(address as *mut _) };
        return OK;
    }
    if m.alive > 1 {
        // SAFETY: the flags table covers all sites.
        let flags = unsafe { *m.site_flags.add(site.index()) };
        if flags & LEARN != 0
            && let Some((_, _, object)) = m.memory.heap_object(address)
        {
            let who = m.accessor();
            m.sharing.learn(address, object.bytes, true, (who, true), site);
        }
        let bytes = m.memory.heap_object(address).map_or(1, |(_, _, object)| object.bytes.max(1));
        m.point(Op::Free, address, bytes.min(u64::from(u32::MAX)) as u32, site, Need::Nothing);
        m.made_progress();
    } else if let Some((_, _, object)) = m.memory.heap_object(address) {
        m.tell(Op::Free, address, object.bytes.clamp(1, u64::from(u32::MAX)) as u32, site);
    }
    let location = m.recorder.is_on().then(|| m.location(address, 1, site));
    let (current, own_site) = (m.current as u32, m.own_site(site));
    match m.memory.free(address, current, own_site) {
        Ok(_) => {
            if let Some(at) = location {
                m.record(site, EventKind::Free { at });
            }
            OK
        }
        Err(BadFree::Double) if m.tolerates(Fault::Freed) => {
            if let Some(at) = location {
                m.record(site, EventKind::Free { at });
            }
            OK
        }
        Err(bad) => m.fail_free(address, bad),
    }
}

fn realloc(m: &mut Machine, address: u64, bytes: u64, site: SiteId) -> Flow {
    if address == 0 {
        return Flow::Return(m.allocate(bytes, 16, site));
    }
    if !in_arena(address) {
        guard::enter_native();
        // SAFETY: a library's block.
        let block = unsafe { libc::realloc(address as *mut _, bytes as usize) };
        guard::leave_native();
        return Flow::Return(block as u64);
    }
    if bytes == 0 {
        free(m, address, site);
        return Flow::Return(0);
    }
    let old = match m.memory.heap_object(address) {
        Some((_, _, object)) if object.address == address && object.freed.is_none() => object.bytes,
        Some((_, _, object)) if object.address == address => {
            m.fail_free(address, crate::memory::BadFree::Double)
        }
        _ => m.fail_free(address, crate::memory::BadFree::NotAllocated),
    };
    let new = m.allocate(bytes, 16, site);
    if new != 0 {
        m.define(new, old.min(bytes));
        m.shadow_copy(address, new, old.min(bytes));
        // SAFETY: both blocks are at least this long.
        unsafe {
            std::ptr::copy_nonoverlapping(
                address as *const u8,
                new as *mut u8,
                old.min(bytes) as usize,
            )
        };
        free(m, address, site);
    }
    Flow::Return(new)
}

fn posix_memalign(m: &mut Machine, a: Args) -> Flow {
    m.check_sync(a.word(0), 8, true);
    if a.word(1) < 8 || !a.word(1).is_power_of_two() {
        return error(libc::EINVAL);
    }
    let address = m.allocate(a.word(2), a.word(1), a.site());
    if address == 0 {
        return error(libc::ENOMEM);
    }
    // SAFETY: checked.
    unsafe { (a.word(0) as *mut u64).write_unaligned(address) };
    OK
}

fn usable_size(m: &mut Machine, a: Args) -> Flow {
    let bytes = m.memory.heap_object(a.word(0)).map_or(0, |(_, _, object)| object.bytes);
    Flow::Return(bytes)
}

/// The shim asks whose memory this is.
#[unsafe(no_mangle)]
extern "C" fn unravel_owns(pointer: *const libc::c_void) -> i32 {
    i32::from(in_arena(pointer as u64))
}

/// A library frees what the program allocated.
#[unsafe(no_mangle)]
extern "C" fn unravel_free(pointer: *mut libc::c_void) {
    // SAFETY: called by native code on the running fiber, which holds no borrow across a native call.
    if let Some(mut machine) = unsafe { guard::machine() } {
        let site = machine.current_site();
        free(&mut machine, pointer as u64, site);
    }
}

#[unsafe(no_mangle)]
extern "C" fn unravel_realloc(pointer: *mut libc::c_void, bytes: usize) -> *mut libc::c_void {
    // SAFETY: as for `unravel_free`.
    let machine = unsafe { guard::machine() };
    let mut machine = machine.expect("arena memory exists only with a machine");
    let site = machine.current_site();
    match realloc(&mut machine, pointer as u64, bytes as u64, site) {
        Flow::Return(address) => address as *mut _,
        _ => std::ptr::null_mut(),
    }
}
