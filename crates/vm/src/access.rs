//! What an access does besides accessing: being a point, teaching what is shared, atomic sections.

use unravel_trace::{EventKind, Op, Pending, SiteId};

use crate::machine::Machine;
use crate::memory::in_arena;
use crate::site_tables::{DEFINED, LEARN, POINT, TELL, WATCH};
use crate::thread::{Expected, Need};

impl Machine {
    /// What an access at a visible or learning site does before it happens.
    pub fn before_access(
        &mut self,
        flags: u8,
        address: u64,
        bytes: u64,
        write: bool,
        site: SiteId,
    ) {
        if flags & WATCH != 0 {
            // A loop that looks at memory is no empty one.
            self.current_thread().empty_loops = 0;
        }
        if flags & POINT != 0 {
            let op = if write { Op::Write } else { Op::Read };
            self.point(op, address, bytes as u32, site, Need::Nothing);
        } else if flags & TELL != 0 {
            let op = if write { Op::Write } else { Op::Read };
            self.tell(op, address, bytes as u32, site);
        }
        if flags & LEARN != 0 {
            self.learn(address, bytes, write, site);
        }
        if flags & DEFINED != 0 {
            match write {
                true => self.define(address, bytes),
                false => self.check_defined(address, bytes),
            }
        }
    }

    pub fn before_atomic(&mut self, flags: u8, address: u64, bytes: u64, site: SiteId) {
        if flags & WATCH != 0 {
            self.current_thread().empty_loops = 0;
        }
        if flags & POINT != 0 {
            self.point(Op::Update, address, bytes as u32, site, Need::Nothing);
        } else if flags & TELL != 0 {
            self.tell(Op::Update, address, bytes as u32, site);
        }
        if flags & LEARN != 0 {
            self.learn(address, bytes, true, site);
        }
        if flags & DEFINED != 0 {
            self.check_defined(address, bytes);
            self.define(address, bytes);
        }
    }

    /// The same of a compare-exchange, which is told as the read that it is if it will find another value than this.
    pub fn before_exchange(&mut self, flags: u8, address: u64, expected: &[u8], site: SiteId) {
        let mut wanted = Expected { site, address, bytes: expected.len(), value: [0; 16] };
        wanted.value[..expected.len()].copy_from_slice(expected);
        self.current_thread().expected = Some(wanted);
        self.before_atomic(flags, address, expected.len() as u64, site);
        self.current_thread().expected = None;
    }

    /// Whether an update that the current thread is about to make is a compare-exchange that will be refused. A handler of a signal
    /// may come between a thread and what it expects: then it is not known, and no.
    pub fn is_refused(&self, update: &Pending) -> bool {
        let Some(expected) = &self.threads[self.current].expected else { return false };
        let Expected { site, address, bytes, value } = expected;
        if *site != update.site
            || *address != update.address
            || !in_arena(*address)
            || self.memory.check(*address, *bytes as u64).is_err()
        {
            return false;
        }
        // SAFETY: the bytes can be accessed.
        let found = unsafe { std::slice::from_raw_parts(*address as *const u8, *bytes) };
        found != &value[..*bytes]
    }

    /// Alone, a thread shares nothing, but it may touch what was shared before it was alone. It is not alone with what
    /// threads did that it has not joined.
    fn learn(&mut self, address: u64, bytes: u64, write: bool, site: SiteId) {
        let by = self.learns_of();
        self.sharing.learn(address, bytes, write, by, site);
    }

    pub fn enter_atomic(&mut self) {
        if self.alive > 1 && self.threads[self.current].atomic == 0 {
            let site = self.current_site();
            self.point(Op::Fence, 0, 0, site, Need::Nothing);
            self.record(site, EventKind::AtomicBegin);
        }
        self.current_thread().atomic += 1;
        self.update_flags();
    }

    pub fn leave_atomic(&mut self) {
        let thread = self.current_thread();
        thread.atomic = thread.atomic.saturating_sub(1);
        if thread.atomic == 0 {
            self.progress += 1;
            self.shared_progress += 1;
        }
        self.update_flags();
    }
}
