//! Rounds that belong together: one thread makes something in each round of a loop, another takes something in each of its own, both with
//! the same lock held, and the second does not wait until there is something.
//!
//! A count of what was made goes beside it, with a condition of the lock that both hold: each round of the second waits for one more
//! of the first. An order that is kept once is not enough there, and a lock is held already. For POSIX threads only. If
//! more is taken than made, the exploration finds a thread that waits for ever, and it is no repair.

use unravel_causes::Analysis;
use unravel_results::{CauseClass, Pattern, RepairKind};
use unravel_trace::{Place, Verb};

use super::{Proposal, closing};
use crate::graph::Graph;
use crate::locks::{Lock, Taking, is_held, operations};
use crate::measures::Measure;
use crate::rewrite::{Deed, Edit, Rewrite};
use crate::source::Region;
use crate::spots::{Files, Stretch, position};

/// What it costs: less than a flag with a lock of its own, more than a section.
const HAND_OVER: u64 = 40;

/// The counts that may help against a class; each is tried against all, because one cause is often seen from several sides.
pub(super) fn handovers(
    class: &CauseClass,
    classes: usize,
    analysis: &Analysis,
    files: &mut Files,
) -> Vec<Proposal> {
    // Where threads only have to be kept apart, it would say besides which comes first.
    let is_apart = class.pattern.is_of_stretch()
        || class.causes.iter().all(|cause| Graph::of(cause).is_interleaved());
    let is_early = class.pattern == Pattern::EarlyPublication;
    let is_other = matches!(class.pattern, Pattern::DataRace | Pattern::Deadlock);
    if is_apart && !is_early || is_other {
        return Vec::new();
    }
    let mut found: Vec<Proposal> = Vec::new();
    for (first, then) in closing(class, analysis) {
        // Whoever only looks makes nothing that another could wait for.
        if !matches!(first.verb, Verb::Writes | Verb::Updates) {
            continue;
        }
        for place in first.frames.iter().chain(&then.frames) {
            files.open(&place.file);
        }
        let made = first.frames.iter().find_map(|place| round(place, files));
        let taken = then.frames.iter().find_map(|place| round(place, files));
        let Some((made, taken)) = made.zip(taken) else { continue };
        let rewrite = handed_over(&made, &taken, files);
        let proposals = rewrite.into_iter().map(|rewrite| Proposal {
            measure: Measure::Rewrite(rewrite),
            covers: (0..classes).collect(),
            cost: HAND_OVER,
        });
        found.extend(proposals);
    }
    found
}

/// What a loop does in each round with a lock held.
struct Round {
    stretch: Stretch,
    lock: Lock,
}

/// The statement of a place, in the block where the lock is taken that it holds; it is in a loop.
fn round(place: &Place, files: &Files) -> Option<Round> {
    let source = files.get(&place.file)?;
    let region = source.region(&[position(place)])?;
    let all = operations(source, &region);
    let before = |bytes: &std::ops::Range<usize>| bytes.end <= region.bytes.start;
    let taken = all.iter().rfind(|operation| {
        before(&operation.bytes)
            && operation.statement.is_some()
            && is_held(&all, &operation.lock.text, region.bytes.start)
    })?;
    let statement = taken.statement.clone()?;
    let taking = source.region(&[source.position_of(statement.start)])?;
    let (taking, region) = source.siblings(&taking, &region)?;
    let is_posix = matches!(&taken.lock.taking, Taking::Statements { lock, .. } if lock.starts_with("pthread_mutex_lock("));
    (is_posix && taking.bytes == statement && source.is_in_loop(region.bytes.start)).then(|| {
        Round {
            stretch: Stretch { file: place.file.to_string(), region },
            lock: taken.lock.clone(),
        }
    })
}

fn handed_over(made: &Round, taken: &Round, files: &Files) -> Option<Rewrite> {
    let file = &made.stretch.file;
    let source = files.get(file)?;
    let (first, then): (&Region, &Region) = (&made.stretch.region, &taken.stretch.region);
    if taken.stretch.file != *file || made.lock != taken.lock || first.function == then.function {
        return None;
    }
    let count = source.fresh_name(&format!("{}_rounds", first.function));
    let changed = source.fresh_name(&format!("{count}_changed"));
    let zeros = source.has_pthread_text();
    let initializer = if zeros { "{ { 0 } }" } else { "PTHREAD_COND_INITIALIZER" };
    let (lock, unit) = (&taken.lock.text, source.indent_unit());
    let used_at = first.bytes.start.min(then.bytes.start);
    let text = format!("static pthread_cond_t {changed} = {initializer};\nstatic int {count};");
    let declare = Edit { file: file.clone(), deed: Deed::Declare { text, used_at } };
    let announce = format!("{count}++;\npthread_cond_signal(&{changed});");
    let wait =
        format!("while ({count} == 0)\n{unit}pthread_cond_wait(&{changed}, {lock});\n{count}--;");
    let title = format!(
        "each round of {} waits for one more of {}",
        taken.stretch.name(),
        made.stretch.name()
    );
    let edits = vec![declare, Edit::after(file, first, &announce), Edit::before(file, then, &wait)];
    Some(Rewrite { kind: RepairKind::Order, title, edits })
}
