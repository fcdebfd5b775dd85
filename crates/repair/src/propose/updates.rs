//! Updates of plain variables that are each one statement: one atomic operation of the compiler's does the same.

use unravel_causes::Analysis;
use unravel_results::{Cause, CauseClass};

use super::{MOST_CAUSES, Proposal};
use crate::graph::Graph;
use crate::measures::{AtomicUpdate, Measure};
use crate::spots::{Files, Spot, Stretch, position, spots};

/// Updates that are each one statement: whoever has more than one event in the cause has them all in one update.
pub(super) fn atomic_updates(
    classes: &[CauseClass],
    analysis: &Analysis,
    files: &mut Files,
) -> Vec<Proposal> {
    let mut all: Vec<AtomicUpdate> = Vec::new();
    let mut covers = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        let updates: Option<Vec<Vec<AtomicUpdate>>> = class
            .causes
            .iter()
            .take(MOST_CAUSES)
            .map(|cause| updates_of(cause, analysis, files))
            .collect();
        if let Some(updates) = updates.filter(|updates| updates.iter().any(|u| !u.is_empty())) {
            for update in updates.into_iter().flatten() {
                if !all.contains(&update) {
                    all.push(update);
                }
            }
            covers.push(index);
        }
    }
    if covers.is_empty() {
        return Vec::new();
    }
    let cost = 5 * all.len() as u64;
    vec![Proposal { measure: Measure::Atomic { updates: all }, covers, cost }]
}

/// The updates of a cause, if making them atomic makes it impossible.
fn updates_of(cause: &Cause, analysis: &Analysis, files: &mut Files) -> Option<Vec<AtomicUpdate>> {
    if !Graph::of(cause).is_interleaved() {
        return None;
    }
    let mut updates = Vec::new();
    for thread in spots(cause, analysis) {
        let place = thread[0].frames.first()?;
        let file = place.file.to_string();
        files.open(&file);
        let source = files.get(&file)?;
        // What is atomic has operations of its own.
        let update = source.update_at(position(place));
        let update = update.filter(|update| !source.is_atomic(&update.target));
        let Some(update) = update else {
            if thread.len() > 1 {
                return None;
            }
            continue;
        };
        let same = |spot: &Spot| {
            spot.frames.first().and_then(|place| source.update_at(position(place))).as_ref()
                == Some(&update)
        };
        if !thread.iter().all(same) {
            return None;
        }
        let region = source.region(&[position(place)])?;
        updates.push(AtomicUpdate { stretch: Stretch { file, region }, update });
    }
    Some(updates)
}
