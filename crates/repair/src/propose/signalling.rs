//! Wake-ups that get lost: signals that should wake all who wait, and waits that should test again what they wait for.
//!
//! A wait that tests nothing gets something to test: a flag that every signal sets. All are proposed wherever a cause touches a function that waits or signals; whether it helps, the checks find out.

use unravel_causes::Analysis;
use unravel_results::{CauseClass, RepairKind};

use super::Proposal;
use crate::measures::Measure;
use crate::rewrite::{Deed, Edit, Rewrite};
use crate::source::{Call, Language, Source};
use crate::spots::{Files, position, spots};

/// What a rewritten line costs.
const LINE: u64 = 3;

/// What wakes one, and what wakes all instead.
const SIGNALS: [(&str, &str); 3] = [
    ("pthread_cond_signal", "pthread_cond_broadcast"),
    ("cnd_signal", "cnd_broadcast"),
    ("notify_one", "notify_all"),
];
const WAITS: [&str; 4] =
    ["pthread_cond_wait", "pthread_cond_timedwait", "cnd_wait", "cnd_timedwait"];

/// A call about a condition variable.
pub(super) struct Signal {
    /// The last part of its name: `is_set` of `&f->is_set`.
    pub(super) condition: String,
    pub(super) call: Call,
}

/// What is written instead, and where; `None` if nothing is.
type Rewording = Option<(std::ops::Range<usize>, String)>;

/// Candidates against lost wake-ups.
pub fn signalling(classes: &[CauseClass], analysis: &Analysis, files: &mut Files) -> Vec<Proposal> {
    let mut conditions: Vec<(String, Vec<usize>)> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        let causes = class.causes.iter().take(super::MOST_CAUSES);
        let spots = causes.flat_map(|cause| spots(cause, analysis)).flatten();
        for place in spots.flat_map(|spot| spot.frames) {
            let file = place.file.to_string();
            files.open(&file);
            let Some(source) = files.get(&file) else { continue };
            let Some(function) = source.function_at(position(&place)) else { continue };
            if !seen.contains(&file) {
                seen.push(file);
            }
            for signal in signals(source, function.body.clone()) {
                match conditions.iter_mut().find(|(name, _)| *name == signal.condition) {
                    Some((_, covers)) if covers.contains(&index) => {}
                    Some((_, covers)) => covers.push(index),
                    None => conditions.push((signal.condition, vec![index])),
                }
            }
        }
    }
    let mut candidates = Vec::new();
    for (condition, covers) in conditions {
        candidates.extend(flagged(&seen, files, &condition).map(|rewrite| Proposal {
            cost: LINE * (rewrite.edits.len() as u64 + 1),
            measure: Measure::Rewrite(rewrite),
            covers: covers.clone(),
        }));
        let wakes = rewordings(&seen, files, &condition, wakes_all);
        let tests = rewordings(&seen, files, &condition, tests_again);
        let all = [wakes.clone(), tests.clone()].concat();
        let wakes_title = format!("every signal of `{condition}` wakes all who wait");
        let tests_title = format!("who waits for `{condition}` tests again when woken");
        let both_title = format!("{wakes_title}, and {tests_title}");
        let is_both = !wakes.is_empty() && !tests.is_empty();
        let offers =
            [(wakes, wakes_title, true), (tests, tests_title, true), (all, both_title, is_both)];
        for (edits, title, _) in
            offers.into_iter().filter(|(edits, _, use_it)| *use_it && !edits.is_empty())
        {
            let cost = LINE * edits.len() as u64;
            let kind = RepairKind::Signalling;
            let measure = Measure::Rewrite(Rewrite { kind, title, edits });
            candidates.push(Proposal { measure, covers: covers.clone(), cost });
        }
    }
    candidates
}

/// A flag for a condition variable that some wait of the file waits for without looking at anything.
fn flagged(seen: &[String], files: &Files, condition: &str) -> Option<Rewrite> {
    let [file] = seen else { return None };
    let source = files.get(file)?;
    let flag = source.fresh_name(&format!("{condition}_signalled"));
    let all = signals(source, 0..source.text().len()).into_iter();
    let own: Vec<Call> =
        all.filter(|signal| signal.condition == condition).map(|signal| signal.call).collect();
    let is_bare = |call: &Call| {
        let statement = call.statement.as_ref();
        waits(call)
            && (call.name != "wait" || call.arguments.len() == 1)
            && statement.is_some_and(|statement| !source.is_tested(statement.start))
    };
    if !own.iter().any(is_bare) {
        return None;
    }
    let is_cpp = source.language() == Language::Cpp;
    let (yes, no, of_type) = if is_cpp { ("true", "false", "bool") } else { ("1", "0", "int") };
    let first_use = own.iter().map(|call| call.bytes.start).min()?;
    let text = format!("static {of_type} {flag};");
    let deed = Deed::Declare { text, used_at: first_use };
    let mut edits = vec![Edit { file: file.clone(), deed }];
    for call in &own {
        let statement = call.statement.clone()?;
        let region = source.region(&[source.position_of(statement.start)])?;
        if !waits(call) {
            edits.push(Edit::before(file, &region, &format!("{flag} = {yes};")));
        } else if is_bare(call) {
            let indent = source.indentation_at(statement.start);
            let unit = source.indent_unit();
            let wait = &source.text()[statement.clone()];
            let text = format!("while (!{flag})\n{indent}{unit}{wait}");
            edits.push(Edit::replace(file, statement.clone(), &text));
            // Who waits again waits for the next signal.
            if source.is_in_loop(statement.start) {
                edits.push(Edit::after(file, &region, &format!("{flag} = {no};")));
            }
        }
    }
    let title = format!("who waits for `{condition}` tests a flag that every signal sets");
    Some(Rewrite { kind: RepairKind::Signalling, title, edits })
}

/// The edits of all calls about a condition variable in these files.
fn rewordings(
    seen: &[String],
    files: &Files,
    condition: &str,
    reword: fn(&Source, &Call) -> Rewording,
) -> Vec<Edit> {
    let mut found = Vec::new();
    for file in seen {
        let Some(source) = files.get(file) else { continue };
        for signal in signals(source, 0..source.text().len()) {
            if signal.condition == condition
                && let Some((bytes, text)) = reword(source, &signal.call)
            {
                let edit = Edit::replace(file, bytes, &text);
                if !found.contains(&edit) {
                    found.push(edit);
                }
            }
        }
    }
    found
}

/// A signal becomes a broadcast.
fn wakes_all(_: &Source, call: &Call) -> Rewording {
    let (one, all) = SIGNALS.iter().find(|(one, _)| last_name(&call.name) == *one)?;
    let end = call.bytes.start + call.name.len();
    Some((end - one.len()..end, (*all).to_owned()))
}

/// The `if` around a wait becomes a `while`.
fn tests_again(source: &Source, call: &Call) -> Rewording {
    // With a predicate, the wait tests again by itself.
    if !waits(call) || last_name(&call.name) == "wait" && call.arguments.len() > 1 {
        return None;
    }
    let keyword = source.governing_if(call.bytes.start)?.keyword;
    Some((keyword, "while".to_owned()))
}

/// The calls about condition variables in a stretch.
pub(super) fn signals(source: &Source, bytes: std::ops::Range<usize>) -> Vec<Signal> {
    let calls = source.calls(bytes).into_iter();
    let about = |call: Call| {
        let is_signal =
            SIGNALS.iter().any(|(one, all)| [*one, *all].contains(&last_name(&call.name)));
        if !is_signal && !waits(&call) {
            return None;
        }
        let method = last_name(&call.name);
        let object = call.name[..call.name.len() - method.len()].trim_end_matches(['.', '-', '>']);
        let named = if object.is_empty() { call.arguments.first()?.as_str() } else { object };
        let condition = last_word(named).to_owned();
        (!condition.is_empty()).then_some(Signal { condition, call })
    };
    calls.filter_map(about).collect()
}

pub(super) fn waits(call: &Call) -> bool {
    WAITS.contains(&call.name.as_str())
        || call.name.ends_with(".wait")
        || call.name.ends_with("->wait")
}

/// `notify_one` of `q->changed.notify_one`.
pub(super) fn last_name(name: &str) -> &str {
    name.rsplit(['.', '>']).next().unwrap_or(name)
}

/// `is_set` of `&f->is_set`.
fn last_word(text: &str) -> &str {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.trim_end_matches(|c| !is_word(c)).rsplit(|c| !is_word(c)).next().unwrap_or("")
}
