//! The sites of a program: where they are, which of them access memory, and what they are called whoever lowers them.

use rustc_hash::FxHashSet;

use crate::{Site, SiteId, VisibleSet};

/// All sites of a program.
#[derive(Clone, Debug, Default)]
pub struct SiteTable {
    rows: Vec<SiteRow>,
    all: VisibleSet,
    fingerprint: u64,
}

/// One site.
#[derive(Clone, Debug)]
pub struct SiteRow {
    pub site: Site,
    /// Whether it accesses memory: whether it could be visible.
    pub accesses: bool,
    /// The variable or field that it accesses, as a number; `None` if the source does not tell.
    pub name: Option<u32>,
    /// Whether that is a global variable which several functions use.
    pub global: bool,
}

impl SiteTable {
    /// `fingerprint` identifies the program.
    pub fn new(rows: Vec<SiteRow>, fingerprint: u64) -> SiteTable {
        let mut all = VisibleSet::default();
        for (index, _) in rows.iter().enumerate().filter(|(_, row)| row.accesses) {
            all.insert(SiteId(index as u32));
        }
        SiteTable { rows, all, fingerprint }
    }

    /// Every site that could be visible.
    pub fn all(&self) -> &VisibleSet {
        &self.all
    }

    pub fn get(&self, site: SiteId) -> Option<&SiteRow> {
        self.rows.get(site.index())
    }

    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// These sites and those that may touch the same memory, as far as the source tells: the same variable, a field of the
    /// same name, a global that several functions use. Runs that never executed a site cannot tell what it shares.
    ///
    /// Errs on the side of too many; a site that is nobody else's costs an event, no more. Memory without a name (`*p`) is
    /// missed until a run executes it.
    pub fn kin(&self, visible: &VisibleSet) -> VisibleSet {
        let shared: FxHashSet<u32> =
            visible.iter().filter_map(|site| self.get(site)?.name).collect();
        let mut kin = visible.clone();
        for (index, row) in self.rows.iter().enumerate().filter(|(_, row)| row.accesses) {
            if row.global || row.name.is_some_and(|name| shared.contains(&name)) {
                kin.insert(SiteId(index as u32));
            }
        }
        kin
    }
}
