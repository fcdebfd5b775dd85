//! A bug in one or two sentences, the same in the terminal, the page, SARIF, annotations and JSON.
//!
//! The first is the root cause's own, with what its threads run. The second says what the nearest run that passes does
//! otherwise, where that is a single value that a thread takes from elsewhere: of more there is no short way to speak.

use std::collections::BTreeSet;

use unravel_results::{Alternate, Diagnosis};
use unravel_trace::{EventKind, ThreadName, Trace, shown_name};

use crate::{library, names, words};

/// Letters of `0x` and a number that may mean something.
const LONGEST_NUMBER: usize = 11;

/// `None` if the root cause is not known.
pub fn summary(diagnosis: &Diagnosis) -> Option<String> {
    let cause = diagnosis.root_cause.as_ref()?;
    // A thread that the failing run did not come to start is known from the run that passes.
    let others = diagnosis.alternates.first().map(|nearest| &nearest.run.trace);
    let runs: Vec<&Trace> = [&diagnosis.failing.trace].into_iter().chain(others).collect();
    let first = format!("{}.", without_addresses(&introduced(&runs, &cause.sentence)));
    let second = diagnosis.alternates.first().and_then(|nearest| otherwise(diagnosis, nearest));
    let library = library::at_fault(diagnosis).and_then(|frames| {
        let (inner, call) = (frames.last()?, diagnosis.failure.place()?);
        let (inner, call) = (words::at(inner), words::at(call));
        Some(format!(
            "All that matters happens inside of the call at {call}, which waits at {inner}: the fault is in the library, not in the call"
        ))
    });
    let more = library.into_iter().chain(second).map(|text| format!(" {text}."));
    Some(first + &more.collect::<String>())
}

/// A text with what each thread runs where it is mentioned first: `T0.2 (teller) reads …`. Everybody knows what the
/// first thread runs.
fn introduced(runs: &[&Trace], text: &str) -> String {
    let mut told: BTreeSet<&str> = BTreeSet::from(["T0"]);
    let mut out = String::new();
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            out.push(' ');
        }
        let name = word.trim_end_matches([',', ';', ':', '.']);
        let name = name.strip_suffix("'s").unwrap_or(name);
        let is_name = name.strip_prefix('T').is_some_and(is_dotted);
        let role =
            (is_name && told.insert(name)).then(|| runs.iter().find_map(|run| role_of(run, name)));
        let role = role.flatten();
        match role {
            Some(role) if word == name || !word.contains('\'') => {
                out += &format!("{name} ({role}){}", &word[name.len()..]);
            }
            _ => out += word,
        }
    }
    out
}

/// A text without values that are addresses, which tell nobody anything: `writes head at …`, not `writes head = 0x1020 at …`.
fn without_addresses(text: &str) -> String {
    let mut words = text.split(' ').peekable();
    let mut kept: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        let is_address = |next: &&str| next.starts_with("0x") && next.len() >= LONGEST_NUMBER;
        if matches!(word, "=" | "(=")
            && let Some(value) = words.next_if(is_address)
        {
            // What stands behind the value belongs to the word before.
            let end = value.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            let end = if word == "(=" { end.trim_start_matches(')') } else { end };
            if let Some(last) = kept.last_mut() {
                last.push_str(end);
            }
            continue;
        }
        kept.push(word.to_owned());
    }
    kept.join(" ")
}

/// `0.2`.
fn is_dotted(text: &str) -> bool {
    text.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn role_of<'t>(run: &'t Trace, name: &str) -> Option<&'t str> {
    let thread: &ThreadName = run.threads.iter().find(|thread| thread.to_string() == name)?;
    names::role(run, thread)
}

/// `In the nearest run that passes, T0.2 reads BankTotal = 330 there, which T0.1 wrote at bank.c:54`.
fn otherwise(diagnosis: &Diagnosis, nearest: &Alternate) -> Option<String> {
    let [change] = nearest.projection.flows.as_slice() else { return None };
    // A run on another path has more that differs than its values.
    if nearest.distance.data_flow != 1 || !nearest.same_path {
        return None;
    }
    let (failing, passing) = (change.failing?, change.alternate?);
    let (ours, theirs) = (&diagnosis.failing.trace, &nearest.run.trace);
    let value = |run: &Trace, index: u32| {
        let event = run.events.get(index as usize)?;
        let at = run.locations.get(event.kind.location()?.0 as usize)?;
        match &event.kind {
            EventKind::Read { value, .. } => Some(at.show(value)),
            EventKind::ReadModifyWrite { old, .. } => Some(at.show(old)),
            _ => None,
        }
    };
    let (seen, instead) = (value(ours, failing.to)?, value(theirs, passing.to)?);
    let reader = theirs.events.get(passing.to as usize)?;
    let (who, place) = (theirs.thread_name(reader.thread), words::place(theirs, reader)?);
    let what = match instead {
        value if value != seen && value.starts_with("0x") => {
            shown_name(&change.location).to_owned()
        }
        value => format!("{} = {value}", shown_name(&change.location)),
    };
    let at = words::at(place);
    let Some(from) = passing.from else {
        return Some(format!(
            "In the nearest run that passes, {who} reads {what} at {at}, as it was at first"
        ));
    };
    let writer = theirs.events.get(from as usize)?;
    let written = words::at(words::place(theirs, writer)?);
    let source = match theirs.thread_name(writer.thread) {
        name if name == who => format!("which it wrote itself at {written}"),
        name => format!("which {name} wrote at {written}"),
    };
    Some(format!("In the nearest run that passes, {who} reads {what} at {at}, {source}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_left_out_and_numbers_stay() {
        let text = "T1 writes head = 0x102080000010 at a.c:3; then T2 reads head (= 0x102080000010); then n (= 0x4), n = 7";
        let expected = "T1 writes head at a.c:3; then T2 reads head; then n (= 0x4), n = 7";
        assert_eq!(without_addresses(text), expected);
    }

    #[test]
    fn names_of_threads_are_told_from_other_words() {
        for name in ["0", "0.2", "0.12.3"] {
            assert!(is_dotted(name), "{name}");
        }
        for other in ["", "0.", ".1", "otal", "0.x", "1-2"] {
            assert!(!is_dotted(other), "{other}");
        }
    }
}
