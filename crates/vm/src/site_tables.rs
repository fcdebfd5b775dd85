//! What an access does besides accessing, by site and by the state that the machine is in.
//!
//! A byte a site, looked up before every access: so the tables are made once for what a run wants and kept, as long as runs
//! want the same. A search alternates between two kinds of runs (those that may switch at every access learn, the
//! others do not), so the tables of the kind before are kept too: a program may have 100,000 sites.

use unravel_code::{AccessKind, Program};
use unravel_trace::{Detail, Op, PointRule, SiteId, VisibleSet, Want};

/// The access is a point where the scheduler may decide.
pub(crate) const POINT: u8 = 1;
/// See whether memory that is read was written.
pub(crate) const DEFINED: u8 = 32;
/// Tell observers of the access.
pub(crate) const TELL: u8 = 64;
/// Learn whether the location is shared.
pub(crate) const LEARN: u8 = 2;
/// Record the access.
pub(crate) const RECORD: u8 = 4;
/// Notice every store that changes memory, shared or not.
pub(crate) const WATCH: u8 = 8;

/// One table of flags for each state the machine can be in, a byte a site.
#[derive(Debug, Default)]
pub(crate) struct SiteTables {
    /// What they were made for: the visible set, and the flags that the run wants at all.
    visible: VisibleSet,
    wanted: u8,
    /// One thread alive, and there never were more.
    pub first: Vec<u8>,
    /// The same in a loop that seems to get nowhere.
    pub first_watched: Vec<u8>,
    /// One thread alive: what it does is recorded, if anything is.
    pub alone: Vec<u8>,
    /// One thread alive, not the first one all the time, in a loop that seems to get nowhere.
    pub alone_watched: Vec<u8>,
    /// Several threads.
    pub shared: Vec<u8>,
    /// Several threads, inside an atomic section.
    pub atomic: Vec<u8>,
    /// Several threads, none of which seems to get anywhere.
    pub watched: Vec<u8>,
}

/// The tables of this run, and those of the last run that wanted others.
#[derive(Debug, Default)]
pub(crate) struct KeptTables {
    pub now: SiteTables,
    before: SiteTables,
}

/// What a run wants of its accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessWish {
    pub want: Want,
    /// Somebody is told of events.
    pub tells: bool,
    /// Reading what was never written is a failure.
    pub defined: bool,
}

impl KeptTables {
    /// Makes the tables of a run the present ones.
    pub fn set(&mut self, program: &Program, visible: &VisibleSet, wish: AccessWish) {
        let wanted = wish.flags();
        if self.now.is_for(visible, wanted) {
            return;
        }
        std::mem::swap(&mut self.now, &mut self.before);
        if !self.now.is_for(visible, wanted) {
            self.now = SiteTables::new(program, visible, wanted);
        }
    }

    pub fn visible(&self) -> &VisibleSet {
        &self.now.visible
    }
}

impl AccessWish {
    fn flags(self) -> u8 {
        let if_so = |flag, is_wanted: bool| if is_wanted { flag } else { 0 };
        POINT
            | if_so(LEARN, self.want.learn)
            | if_so(RECORD, self.want.detail >= Detail::Events)
            | if_so(TELL, self.tells)
            | if_so(DEFINED, self.defined)
    }
}

impl SiteTables {
    fn is_for(&self, visible: &VisibleSet, wanted: u8) -> bool {
        self.wanted == wanted && self.visible == *visible
    }

    fn new(program: &Program, visible: &VisibleSet, wanted: u8) -> SiteTables {
        // Calls have sites behind those of accesses.
        let sites = program.sites.len() + 1;
        let (record, tell) = (wanted & RECORD, wanted & TELL);
        let everywhere = wanted & (LEARN | DEFINED);
        let mut tables = SiteTables {
            visible: visible.clone(),
            wanted,
            first: vec![wanted & DEFINED; sites],
            first_watched: vec![wanted & DEFINED | WATCH; sites],
            alone: vec![everywhere; sites],
            alone_watched: vec![everywhere | WATCH; sites],
            shared: vec![everywhere; sites],
            atomic: vec![everywhere; sites],
            watched: Vec::new(),
        };
        for (index, access) in program.accesses.iter().enumerate() {
            let atomic = access.kind == AccessKind::Atomic;
            // With company: without it, other tables hold.
            if PointRule::of(Op::Read, atomic).is_one(SiteId(index as u32), visible, 2) {
                tables.shared[index] |= POINT | record;
                tables.atomic[index] |= record | tell;
                tables.alone[index] |= record | tell;
                tables.alone_watched[index] |= record | tell;
            }
        }
        tables.watched = tables.shared.iter().map(|flags| flags | WATCH).collect();
        tables
    }
}
