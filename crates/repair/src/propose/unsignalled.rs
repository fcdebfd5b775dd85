//! A wait whose condition comes true without anybody saying so: whoever makes it true signals.
//!
//! The wait is one that a thread of the failing run is in or came through, the change one that a cause names. What is signalled is
//! called as the wait calls it: where that name means nothing, the patch does not compile and is none.

use unravel_causes::Analysis;
use unravel_results::{CauseClass, RepairKind};
use unravel_trace::{FailureKind, Verb};

use super::Proposal;
use super::signalling::{Signal, last_name, signals, waits};
use crate::measures::Measure;
use crate::rewrite::{Edit, Rewrite};
use crate::source::Source;
use crate::spots::{Files, position, spots};

/// What a signal costs; waking all costs one more, because one is what people write.
const SIGNAL: u64 = 2;
/// What it costs more if the condition is signalled elsewhere: then another signal is the more likely fault than a missing one.
const ANOTHER: u64 = 4;

/// Signals after what causes write, of every condition that their functions wait for and nobody signals behind it.
pub fn unsignalled(
    classes: &[CauseClass],
    analysis: &Analysis,
    files: &mut Files,
) -> Vec<Proposal> {
    let is_stuck = analysis.causes.bugs.iter().any(|b| b.failure.kind == FailureKind::Deadlock);
    if !is_stuck {
        return Vec::new();
    }
    let mut found: Vec<(Rewrite, Vec<usize>, u64)> = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        let causes = class.causes.iter().take(super::MOST_CAUSES);
        let spots: Vec<_> = causes.flat_map(|cause| spots(cause, analysis)).flatten().collect();
        for place in spots.iter().filter_map(|spot| spot.frames.first()) {
            files.open(&place.file);
        }
        for spot in spots.iter().filter(|spot| matches!(spot.verb, Verb::Writes | Verb::Updates)) {
            let Some(place) = spot.frames.first() else { continue };
            let Some(source) = files.get(&place.file) else { continue };
            for (title, edit, cost) in after(source, &place.file, position(place)) {
                match found.iter_mut().find(|(known, _, _)| known.edits == [edit.clone()]) {
                    Some((_, covers, _)) if covers.contains(&index) => {}
                    Some((_, covers, _)) => covers.push(index),
                    None => {
                        let kind = RepairKind::Signalling;
                        let rewrite = Rewrite { kind, title, edits: vec![edit] };
                        found.push((rewrite, vec![index], cost));
                    }
                }
            }
        }
    }
    let proposal =
        |(rewrite, covers, cost)| Proposal { measure: Measure::Rewrite(rewrite), covers, cost };
    found.into_iter().map(proposal).collect()
}

/// The signals that may be missing behind a statement: title, edit and cost of each.
fn after(source: &Source, file: &str, at: crate::source::Position) -> Vec<(String, Edit, u64)> {
    let (Some(function), Some(region)) = (source.function_at(at), source.region(&[at])) else {
        return Vec::new();
    };
    let behind = region.bytes.end..function.body.end.max(region.bytes.end);
    let said = signals(source, behind);
    let is_said = |condition: &str| {
        said.iter().any(|signal| signal.condition == condition && !waits(&signal.call))
    };
    let mut offers: Vec<(String, Edit, u64)> = Vec::new();
    let all = signals(source, 0..source.text().len());
    for Signal { condition, call } in &all {
        if !waits(call) || is_said(condition) {
            continue;
        }
        let another =
            if all.iter().any(|signal| signal.condition == *condition && !waits(&signal.call)) {
                ANOTHER
            } else {
                0
            };
        for (extra, wakes_all) in [(0, false), (1, true)] {
            let Some(text) = statement(&call.name, call.arguments.first(), wakes_all) else {
                continue;
            };
            let whom = if wakes_all { "all who wait" } else { "who waits" };
            let title = format!(
                "{} (line {}) signals `{condition}` to {whom}",
                region.function, region.first_line
            );
            let edit = Edit::after(file, &region, &text);
            if !offers.iter().any(|(_, known, _)| *known == edit) {
                offers.push((title, edit, SIGNAL + extra + another));
            }
        }
    }
    offers
}

/// The signal that answers a wait of this name.
fn statement(wait: &str, argument: Option<&String>, all: bool) -> Option<String> {
    let object = &wait[..wait.len() - last_name(wait).len()];
    let call = |one: &str, many: &str| {
        argument.map(|argument| format!("{}({argument});", if all { many } else { one }))
    };
    match last_name(wait) {
        "pthread_cond_wait" | "pthread_cond_timedwait" => {
            call("pthread_cond_signal", "pthread_cond_broadcast")
        }
        "cnd_wait" | "cnd_timedwait" => call("cnd_signal", "cnd_broadcast"),
        "wait" => {
            let method = if all { "notify_all" } else { "notify_one" };
            Some(format!("{object}{method}();"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_called_as_the_wait_is() {
        let argument = "&q->filled".to_owned();
        let said = |name: &str, all| statement(name, Some(&argument), all);
        assert_eq!(
            said("pthread_cond_timedwait", false).as_deref(),
            Some("pthread_cond_signal(&q->filled);")
        );
        assert_eq!(said("cnd_wait", true).as_deref(), Some("cnd_broadcast(&q->filled);"));
        assert_eq!(said("q->filled.wait", false).as_deref(), Some("q->filled.notify_one();"));
        assert_eq!(said("filled.wait", true).as_deref(), Some("filled.notify_all();"));
    }
}
