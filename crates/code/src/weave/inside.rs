//! Which instructions lie inside of which spans.

use unravel_trace::{Place, Site};

use super::{Measure, Span};
use crate::{Body, Program};

/// For each site of a program: indices of the measures in whose span it lies; `None` if it has no line.
pub(super) struct Inside {
    sites: Vec<Option<Vec<usize>>>,
}

impl Inside {
    pub fn new(program: &Program, measures: &[Measure]) -> Inside {
        let spans_of = |site: &Site| {
            let lies_in = |(_, measure): &(usize, &Measure)| measure.span().contains_site(site);
            let spans = measures.iter().enumerate().filter(lies_in).map(|(index, _)| index);
            has_line(site).then(|| spans.collect())
        };
        Inside { sites: program.sites.iter().map(spans_of).collect() }
    }

    /// For each instruction of a body: indices of the measures in whose span it lies. What has no line belongs to what precedes
    /// it.
    pub fn spans_of(&self, body: &Body) -> Vec<Vec<usize>> {
        let mut spans: Vec<Vec<usize>> = Vec::with_capacity(body.code.len());
        for (index, site) in body.places.iter().enumerate() {
            let before = index.checked_sub(1).filter(|before| body.code[*before].falls_through());
            let inherited = || before.map_or_else(Vec::new, |before| spans[before].clone());
            let own = self.sites[site.index()].clone().unwrap_or_else(inherited);
            spans.push(own);
        }
        spans
    }
}

fn has_line(site: &Site) -> bool {
    site.place.line != 0 || site.inlined_at.iter().any(|place| place.line != 0)
}

impl Span {
    /// Whether a site is here, or was inlined at a call that is.
    fn contains_site(&self, site: &Site) -> bool {
        self.contains(&site.place) || site.inlined_at.iter().any(|place| self.contains(place))
    }

    fn contains(&self, place: &Place) -> bool {
        let at = (place.line, place.column);
        *place.file == *self.file && self.from <= at && at < self.to
    }
}
