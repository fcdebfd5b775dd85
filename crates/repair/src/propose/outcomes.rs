//! Changes of atomic objects whose outcome is looked at in a step of its own.

use unravel_causes::Analysis;
use unravel_results::{CauseClass, RepairKind};

use super::{MOST_CAUSES, Proposal};
use crate::atomics::by_outcome;
use crate::measures::Measure;
use crate::rewrite::Rewrite;
use crate::spots::{Files, position, spots};

/// What it costs: what people write.
const OUTCOME: u64 = 3;

/// Changes in whose functions a class has events, each looked at by what it tells itself.
pub(super) fn outcomes(
    index: usize,
    class: &CauseClass,
    analysis: &Analysis,
    files: &mut Files,
) -> Vec<Proposal> {
    let mut rewrites: Vec<Rewrite> = Vec::new();
    let causes = class.causes.iter().take(MOST_CAUSES);
    for place in causes.flat_map(|cause| spots(cause, analysis)).flatten().flat_map(|s| s.frames) {
        let file = place.file.to_string();
        files.open(&file);
        let Some(source) = files.get(&file) else { continue };
        let Some(function) = source.function_at(position(&place)) else { continue };
        for found in source.looked_after(function.body.clone()) {
            let Some(edits) = by_outcome(&file, source, &found) else { continue };
            let line = source.position_of(found.act.bytes.start).line;
            let title = format!(
                "`{}` is changed and looked at in one step in {} (line {line})",
                found.load.object, function.name
            );
            let rewrite = Rewrite { kind: RepairKind::AtomicUpdate, title, edits };
            if !rewrites.contains(&rewrite) {
                rewrites.push(rewrite);
            }
        }
    }
    let proposal = |rewrite| Proposal {
        measure: Measure::Rewrite(rewrite),
        covers: vec![index],
        cost: OUTCOME,
    };
    rewrites.into_iter().map(proposal).collect()
}
