//! Sites of `unravel.toml` as places. A site names a file by its last component only (`bank.c:31`); which file that is,
//! the places of an explanation tell, if they tell one file only.

use std::collections::BTreeSet;

use unravel_results::Explanation;
use unravel_trace::{Place, Trace};

/// The file and line of `bank.c:31`.
pub fn parse(site: &str) -> Option<(&str, u32)> {
    let (file, line) = site.rsplit_once(':')?;
    let line = line.parse().ok().filter(|line| *line > 0)?;
    (!file.is_empty()).then_some((file, line))
}

/// The place of a site, if exactly one file of the explanation has that name.
pub fn resolve(explanation: &Explanation, site: &str) -> Option<Place> {
    let (name, line) = parse(site)?;
    let mut files: BTreeSet<&str> = BTreeSet::new();
    places(explanation, &mut |place| {
        if place.file.rsplit('/').next() == Some(name) {
            files.insert(&place.file);
        }
    });
    let mut files = files.into_iter();
    let file = files.next().filter(|_| files.next().is_none())?;
    Some(Place { function: "".into(), file: file.into(), line, column: 0 })
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
