//! Pointers that others may follow before what they lead to is filled: filled first, by a name of its own, and published then.

use unravel_causes::Analysis;
use unravel_results::{CauseClass, RepairKind};
use unravel_trace::Verb;

use super::{MOST_CAUSES, Proposal};
use crate::measures::Measure;
use crate::rewrite::{Edit, Rewrite};
use crate::source::{Language, Source};
use crate::spots::{Files, position, spots};

/// What it costs: what people write.
const PUBLISH: u64 = 4;

/// The publications of a class that come too early.
pub(super) fn publications(
    index: usize,
    class: &CauseClass,
    analysis: &Analysis,
    files: &mut Files,
) -> Vec<Proposal> {
    let mut rewrites: Vec<Rewrite> = Vec::new();
    let causes = class.causes.iter().take(MOST_CAUSES);
    for spot in causes.flat_map(|cause| spots(cause, analysis)).flatten() {
        if !matches!(spot.verb, Verb::Writes | Verb::Updates) {
            continue;
        }
        for place in &spot.frames {
            files.open(&place.file);
            let Some(source) = files.get(&place.file) else { continue };
            // The write that a cause names may be the pointer's, or one that comes too late.
            let own = source.region(&[position(place)]);
            let before = own.iter().flat_map(|region| source.preceding(region));
            let starts = own.iter().map(|r| r.bytes.start).chain(before.map(|r| r.bytes.start));
            let found = starts.collect::<Vec<_>>().into_iter();
            let rewrite = found.filter_map(|at| filled_first(&place.file, source, at)).next();
            rewrites.extend(rewrite.filter(|new| !rewrites.contains(new)));
        }
    }
    let proposal = |rewrite| Proposal {
        measure: Measure::Rewrite(rewrite),
        covers: vec![index],
        cost: PUBLISH,
    };
    rewrites.into_iter().map(proposal).collect()
}

fn filled_first(file: &str, source: &Source, byte: usize) -> Option<Rewrite> {
    let found = source.publication_at(byte)?;
    let wishes = ["made", "fresh", "filled"].into_iter();
    let fresh = wishes.map(|wish| source.fresh_name(wish)).min_by_key(|name| name.contains('_'))?;
    let of_type = match source.language() {
        Language::Cpp => "auto *".to_owned(),
        Language::C => found.pointer_type.clone()?,
    };
    let mut edits = vec![Edit::replace(file, found.target.clone(), &format!("{of_type}{fresh}"))];
    edits.extend(found.uses.iter().map(|used| Edit::replace(file, used.clone(), &fresh)));
    edits.push(Edit::after(file, &found.last, &format!("{} = {fresh};", found.pointer)));
    let line = source.position_of(found.target.start).line;
    let title = format!("`{}` (line {line}) is set when what it leads to is filled", found.pointer);
    Some(Rewrite { kind: RepairKind::MovedStatement, title, edits })
}
