//! Causes that are the same for a reader, and how classes of them relate.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_results::{CausalOrder, Cause, CauseClass, CauseRegion, LineOrder, Participant};
use unravel_trace::{EventKey, Place};

/// A cause with the words for it.
#[derive(Debug)]
pub struct Worded {
    pub cause: Cause,
    pub words: unravel_diagnose::Words,
    /// Failures it leads to.
    pub bugs: Vec<usize>,
}

/// Puts causes together whose orders are between the same lines; simple ones come first.
pub fn classes(causes: Vec<Worded>) -> Vec<CauseClass> {
    let mut classes: Vec<CauseClass> = Vec::new();
    let mut by_lines: FxHashMap<Vec<(String, String)>, usize> = FxHashMap::default();
    for Worded { cause, words, bugs } in causes {
        let lines = lines(&cause.orders);
        if let Some(index) = by_lines.get(&lines) {
            let class = &mut classes[*index];
            class.causes.push(cause);
            class.bugs.extend(bugs);
            class.bugs.sort_unstable();
            class.bugs.dedup();
            continue;
        }
        let regions = regions(&cause.orders);
        let same = |class: &CauseClass| is_same(&class.regions, &regions);
        by_lines.insert(lines, classes.len());
        classes.push(CauseClass {
            same_regions_as: classes.iter().position(same),
            causes: vec![cause],
            pattern: words.pattern,
            sentence: words.sentence,
            advice: words.advice,
            regions,
            bugs,
        });
    }
    classes
}

/// The orders of all classes between lines, each once, as the paper counts them.
pub fn unique(classes: &[CauseClass]) -> Vec<LineOrder> {
    let mut seen = FxHashSet::default();
    let mut unique = Vec::new();
    for order in classes.iter().flat_map(|class| &class.causes).flat_map(|cause| &cause.orders) {
        let (first, second) = (order.first.place.short(), order.second.place.short());
        if seen.insert((first.clone(), second.clone())) {
            unique.push(LineOrder { first, second, object: order.object.clone() });
        }
    }
    unique
}

fn lines(orders: &[CausalOrder]) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> =
        orders.iter().map(|o| (o.first.place.short(), o.second.place.short())).collect();
    lines.sort();
    lines.dedup();
    lines
}

/// What each thread does in a cause, from its first event there to its last.
fn regions(orders: &[CausalOrder]) -> Vec<CauseRegion> {
    let mut events: Vec<&Participant> =
        orders.iter().flat_map(|order| [&order.first, &order.second]).collect();
    let by_time = |who: &&Participant| (who.event.unwrap_or(u32::MAX), who.place.clone());
    events.sort_by_key(by_time);
    let mut regions: Vec<CauseRegion> = Vec::new();
    for Participant { key: EventKey { thread, .. }, place, .. } in events {
        match regions.iter_mut().find(|region| region.thread == *thread) {
            Some(region) => region.to = place.clone(),
            None => regions.push(CauseRegion {
                thread: thread.clone(),
                from: place.clone(),
                to: place.clone(),
            }),
        }
    }
    regions
}

/// Whether two causes are about the same stretches of code, whoever executes them.
fn is_same(one: &[CauseRegion], other: &[CauseRegion]) -> bool {
    let places = |regions: &[CauseRegion]| {
        let mut places: Vec<(Place, Place)> = regions
            .iter()
            .map(|r| (r.from.clone().min(r.to.clone()), r.to.clone().max(r.from.clone())))
            .collect();
        places.sort();
        places.iter().map(|(from, to)| (from.file.clone(), from.line, to.line)).collect::<Vec<_>>()
    };
    places(one) == places(other)
}
