//! What an access does besides accessing: being a point, teaching what is shared, atomic sections.

use unravel_trace::{EventKind, Op, SiteId};

use crate::machine::Machine;
use crate::site_tables::{DEFINED, LEARN, POINT, TELL, WATCH};
use crate::thread::Need;

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

    /// Alone, a thread shares nothing, but it may touch what was shared before it was alone. It is not alone with what
    /// threads did that it has not joined.
    fn learn(&mut self, address: u64, bytes: u64, write: bool, site: SiteId) {
        if self.alive > 1 || self.unjoined > 0 {
            let who = self.accessor();
            self.sharing.access(address, bytes, write, who, site);
        } else {
            self.sharing.revisit(address, bytes, site);
        }
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
