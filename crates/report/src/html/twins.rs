//! Which event of the one run is which of the other: the same occurrence of the same site in the same thread.

use std::collections::HashMap;

use unravel_trace::{SiteId, ThreadId, ThreadName, Trace};

/// Indices of events, by events.
#[derive(Debug, Default)]
pub struct Twins {
    /// Of the failing run's events in the passing run.
    pub failing: Vec<Option<u32>>,
    /// Of the passing run's events in the failing run.
    pub passing: Vec<Option<u32>>,
}

impl Twins {
    pub fn of(failing: &Trace, passing: Option<&Trace>) -> Twins {
        let mut twins = Twins {
            failing: vec![None; failing.events.len()],
            passing: vec![None; passing.map_or(0, |trace| trace.events.len())],
        };
        let Some(passing) = passing else { return twins };
        let known: HashMap<Key<'_>, u32> = keys(failing).zip(0..).collect();
        for (key, event) in keys(passing).zip(0..) {
            if let Some(twin) = known.get(&key) {
                twins.failing[*twin as usize] = Some(event);
                twins.passing[event as usize] = Some(*twin);
            }
        }
        twins
    }
}

type Key<'t> = (Option<&'t ThreadName>, SiteId, u32);

fn keys(trace: &Trace) -> impl Iterator<Item = Key<'_>> {
    let mut seen: HashMap<(ThreadId, SiteId), u32> = HashMap::new();
    trace.events.iter().map(move |event| {
        let count = seen.entry((event.thread, event.site)).or_insert(0);
        let occurrence = *count;
        *count += 1;
        (trace.threads.get(event.thread.index()), event.site, occurrence)
    })
}
