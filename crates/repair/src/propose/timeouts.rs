//! Waits with a time limit: that the time is over does not say that what was waited for has not come. Who gives up looks again first.
//!
//! Proposed where a test of the wait's result follows the wait, or is made with it, and a loop or an `if` around the wait says what is
//! waited for. Tests in other functions are not seen.

use unravel_causes::Analysis;
use unravel_results::{CauseClass, RepairKind};

use super::{MOST_CAUSES, Proposal};
use crate::measures::Measure;
use crate::rewrite::{Edit, Rewrite};
use crate::source::Source;
use crate::spots::{Files, position, spots};

/// What another look costs.
const LOOK: u64 = 3;

/// The waits of a class that give up without looking again.
pub(super) fn timeouts(
    index: usize,
    class: &CauseClass,
    analysis: &Analysis,
    files: &mut Files,
) -> Vec<Proposal> {
    let mut rewrites: Vec<Rewrite> = Vec::new();
    let causes = class.causes.iter().take(MOST_CAUSES);
    let places = causes.flat_map(|cause| spots(cause, analysis)).flatten().flat_map(|s| s.frames);
    for place in places {
        files.open(&place.file);
        let Some(source) = files.get(&place.file) else { continue };
        for body in source.bodies_near(position(&place)) {
            for new in looks_again(&place.file, source, body.bytes) {
                if !rewrites.contains(&new) {
                    rewrites.push(new);
                }
            }
        }
    }
    let proposal =
        |rewrite| Proposal { measure: Measure::Rewrite(rewrite), covers: vec![index], cost: LOOK };
    rewrites.into_iter().map(proposal).collect()
}

fn looks_again(file: &str, source: &Source, body: std::ops::Range<usize>) -> Vec<Rewrite> {
    let found = source.gives_up(body).into_iter().map(|given_up| {
        let (test, wanted) = (&given_up.test, &given_up.missing);
        let text = &source.text()[test.clone()];
        let bracket = |text: &str| match text.contains("||") {
            true => format!("({text})"),
            false => text.to_owned(),
        };
        let edit =
            Edit::replace(file, test.clone(), &format!("{} && {}", bracket(text), bracket(wanted)));
        let line = source.position_of(test.start).line;
        let title =
            format!("who gives up at line {line} looks first whether `{wanted}` still holds");
        Rewrite { kind: RepairKind::Signalling, title, edits: vec![edit] }
    });
    found.collect()
}
