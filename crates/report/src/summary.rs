//! A bug in one or two sentences, the same in the terminal, the page, SARIF, annotations and JSON.
//!
//! The first is the root cause's own, with what its threads run. The second says what the nearest run that passes does
//! otherwise, where that is a single value that a thread takes from elsewhere: of more there is no short way to speak.

use std::collections::BTreeSet;

use unravel_results::{Alternate, Diagnosis};
use unravel_trace::{EventKind, ThreadName, Trace};

use crate::{names, words};

/// `None` if the root cause is not known.
pub fn summary(diagnosis: &Diagnosis) -> Option<String> {
    let cause = diagnosis.root_cause.as_ref()?;
    let first = format!("{}.", introduced(&diagnosis.failing.trace, &cause.sentence));
    let second = diagnosis.alternates.first().and_then(|nearest| otherwise(diagnosis, nearest));
    Some(first + &second.map_or(String::new(), |text| format!(" {text}.")))
}

/// A text with what each thread runs where it is mentioned first: `T0.2 (teller) reads …`. Everybody knows what the
/// first thread runs.
pub fn introduced(run: &Trace, text: &str) -> String {
    let mut told: BTreeSet<&str> = BTreeSet::from(["T0"]);
    let mut out = String::new();
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            out.push(' ');
        }
        let name = word.trim_end_matches([',', ';', ':', '.']);
        let name = name.strip_suffix("'s").unwrap_or(name);
        let is_name = name.strip_prefix('T').is_some_and(is_dotted);
        let role = (is_name && told.insert(name)).then(|| role_of(run, name)).flatten();
        match role {
            Some(role) if word == name || !word.contains('\'') => {
                out += &format!("{name} ({role}){}", &word[name.len()..]);
            }
            _ => out += word,
        }
    }
    out
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
    let source = match passing.from {
        None => "its initial value".to_owned(),
        Some(from) => {
            let writer = theirs.events.get(from as usize)?;
            let at = words::at(words::place(theirs, writer)?);
            match theirs.thread_name(writer.thread) {
                name if name == who => format!("which it wrote itself at {at}"),
                name => format!("which {name} wrote at {at}"),
            }
        }
    };
    let instead = if seen == instead { "the same value".to_owned() } else { instead };
    let (name, at) = (&change.location, words::at(place));
    Some(match passing.from {
        None => format!(
            "In the nearest run that passes, {who} finds {name} at {at} as it was at first ({instead})"
        ),
        Some(_) => format!(
            "In the nearest run that passes, {who} reads {name} = {instead} at {at}, {source}"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
