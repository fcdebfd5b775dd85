//! Barriers by hand that do not know one round from the next: who is fast arrives again before who is slow has left.
//!
//! Where who arrives last sets the count back, those that wait look at the number of the round instead of the count. Where who
//! leaves last does, who arrives waits until all of the round before have left. Barriers of semaphores are not looked at.

use unravel_causes::Analysis;
use unravel_results::{CauseClass, RepairKind};

use super::signalling::{signals, waits};
use super::{MOST_CAUSES, Proposal};
use crate::measures::Measure;
use crate::rewrite::{Deed, Edit, Rewrite};
use crate::source::{Meeting, Region, Source};
use crate::spots::{Files, position, spots};

/// What such a repair costs: one fact more that the barrier keeps.
const ROUND: u64 = 10;

/// The repairs of barriers that a class goes through.
pub(super) fn generations(
    index: usize,
    class: &CauseClass,
    analysis: &Analysis,
    files: &mut Files,
) -> Vec<Proposal> {
    let mut rewrites: Vec<Rewrite> = Vec::new();
    let causes = class.causes.iter().take(MOST_CAUSES);
    let places = causes.flat_map(|cause| spots(cause, analysis)).flatten().flat_map(|s| s.frames);
    for place in places {
        let file = place.file.to_string();
        files.open(&file);
        let Some(source) = files.get(&file) else { continue };
        // A cause often names what is done before and after a barrier, and not the barrier.
        for body in source.bodies_near(position(&place)) {
            for meeting in source.meetings(&body) {
                let rewrite = match meeting.is_reset_by_leaving() {
                    false => counted_rounds(&file, source, &meeting),
                    true => closed_while_leaving(&file, source, &body, &meeting),
                };
                rewrites.extend(rewrite.filter(|new| !rewrites.contains(new)));
            }
        }
    }
    let proposal =
        |rewrite| Proposal { measure: Measure::Rewrite(rewrite), covers: vec![index], cost: ROUND };
    rewrites.into_iter().map(proposal).collect()
}

/// Those that wait do so until the round is over, whatever the count is by then.
fn counted_rounds(file: &str, source: &Source, meeting: &Meeting) -> Option<Rewrite> {
    let counter = &meeting.counter;
    let member = last_word(counter);
    let object = &counter[..counter.len() - member.len()];
    let of_type = source.specifiers_of(member).unwrap_or_else(|| "int".to_owned());
    let generation = source.fresh_name("generation");
    let (path, mine) = (format!("{object}{generation}"), source.fresh_name("arrived_in"));
    let plain = of_type.trim_start_matches("static ").to_owned();
    let declaration = if object.is_empty() {
        let text = format!("static {plain} {generation};");
        Deed::Declare { text, used_at: meeting.counting.bytes.start }
    } else {
        let (at, globals) = source.after_members(member)?;
        let indent = source.indentation_at(at);
        Deed::Member { at, text: format!("\n{indent}{plain} {generation};"), globals }
    };
    let local = plain.replace("_Atomic ", "").replace("volatile ", "");
    let local = if local.contains("atomic") { "int".to_owned() } else { local };
    let edits = vec![
        Edit { file: file.to_owned(), deed: declaration },
        Edit::before(file, &meeting.counting, &format!("{local} {mine} = {path};")),
        Edit::after(file, &meeting.reset, &format!("{path}++;")),
        Edit::replace(file, meeting.condition.clone(), &format!("{path} == {mine}")),
    ];
    let name = &meeting.counting.function;
    let title = format!("{name} counts its rounds, and who waits does so until the round is over");
    Some(Rewrite { kind: RepairKind::Signalling, title, edits })
}

/// Nobody arrives while the round before is being left.
fn closed_while_leaving(
    file: &str,
    source: &Source,
    body: &Region,
    meeting: &Meeting,
) -> Option<Rewrite> {
    let behind = meeting.waiting.bytes.end..body.bytes.end;
    let (leaving, _) = source.increased(&behind).into_iter().next()?;
    let wait = source.calls(meeting.body.clone()).into_iter().find(waits)?.statement?;
    let said = signals(source, body.bytes.clone()).into_iter().find(|s| !waits(&s.call))?;
    let signal = source.text()[said.call.statement?].to_owned();
    let (unit, wait) = (source.indent_unit(), &source.text()[wait]);
    let edits = vec![
        Edit::before(file, &meeting.counting, &format!("while ({leaving} > 0)\n{unit}{wait}")),
        Edit::after(file, &meeting.reset, &signal),
    ];
    let name = &meeting.counting.function;
    let title = format!("who comes to {name} waits until all have left the round before");
    Some(Rewrite { kind: RepairKind::Signalling, title, edits })
}

/// `arrived` of `b->arrived`.
fn last_word(text: &str) -> &str {
    text.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or(text)
}
