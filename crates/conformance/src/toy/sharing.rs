//! Which sites touch what other threads touch.

use unravel_trace::{SiteId, VisibleSet};

/// Who touched a cell while others were alive.
#[derive(Clone, Debug, Default)]
pub(super) struct Sharing {
    visits: Vec<Visit>,
}

#[derive(Clone, Copy, Debug)]
struct Visit {
    cell: usize,
    /// `None` for who was alone: then it shares what the others shared before, and nothing by itself.
    thread: Option<usize>,
    writes: bool,
    site: SiteId,
}

impl Sharing {
    pub fn visit(&mut self, cell: usize, thread: Option<usize>, writes: bool, site: SiteId) {
        self.visits.push(Visit { cell, thread, writes, site });
    }

    /// The sites of cells that two threads touched, one of them writing.
    pub fn learned(&self) -> VisibleSet {
        let conflict = |a: &Visit, b: &Visit| {
            a.cell == b.cell
                && a.thread.is_some()
                && b.thread.is_some()
                && a.thread != b.thread
                && (a.writes || b.writes)
        };
        let shared: Vec<usize> = self
            .visits
            .iter()
            .filter(|visit| self.visits.iter().any(|other| conflict(visit, other)))
            .map(|visit| visit.cell)
            .collect();
        let mut learned = VisibleSet::default();
        for visit in self.visits.iter().filter(|visit| shared.contains(&visit.cell)) {
            learned.insert(visit.site);
        }
        learned
    }
}
