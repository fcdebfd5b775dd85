//! Sites of `unravel.toml` as places. A site names the end of a path (`bank.c:31`); which file that is, the places of an
//! explanation tell, if they tell one file only.

use std::collections::BTreeSet;

use unravel_results::Explanation;
use unravel_trace::{Place, Trace, WrittenPlace};

/// The place of a site, if it is a line and exactly one file of the explanation is called so.
pub fn resolve(explanation: &Explanation, site: &WrittenPlace) -> Option<Place> {
    let line = site.line?;
    let mut files: BTreeSet<&str> = BTreeSet::new();
    places(explanation, &mut |place| {
        if site.names(&place.file) {
            files.insert(&place.file);
        }
    });
    let mut files = files.into_iter();
    let file = files.next().filter(|_| files.next().is_none())?;
    Some(Place { function: "".into(), file: file.into(), line, column: 0, wrapper: false })
}

/// Every place that an explanation knows.
fn places<'e>(explanation: &'e Explanation, take: &mut impl FnMut(&'e Place)) {
    for bug in &explanation.bugs {
        bug.failure.stack.iter().for_each(&mut *take);
        bug.failure.related.iter().flat_map(|related| &related.stack).for_each(&mut *take);
        let Some(diagnosis) = bug.verdict.diagnosis() else { continue };
        let runs = diagnosis.alternates.iter().map(|alternate| &alternate.run.trace);
        for trace in runs.chain([&diagnosis.failing.trace]) {
            let trace: &'e Trace = trace;
            for (_, site) in &trace.sites {
                take(&site.place);
                site.inlined_at.iter().for_each(&mut *take);
            }
        }
    }
}
