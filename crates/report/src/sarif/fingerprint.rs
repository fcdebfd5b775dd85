//! What tells whether results of two runs are the same bug. Line numbers and addresses are left out, so that code may
//! move; the name of the file and of the function, the kind and the message stay.
//!
//! Two bugs of one kind with one message in one function share `bugHash/v1`; `bugLineHash/v1` adds the text of the line
//! and tells most of those apart. Renaming the function or its file makes a new bug of an old one.

use sha2::{Digest, Sha256};
use unravel_trace::{Failure, FailureKind, Place, user_place};

use super::Dictionary;
use super::place::Places;

pub fn fingerprints(failure: &Failure, places: &Places<'_>) -> Dictionary<String> {
    let at: Vec<&Place> = match failure.kind {
        // As in the id of a bug: the set of blocked places, whoever noticed.
        FailureKind::Deadlock | FailureKind::Livelock if !failure.related.is_empty() => {
            failure.related.iter().filter_map(|related| user_place(&related.stack)).collect()
        }
        // Both places, whichever was first.
        FailureKind::DataRace => {
            let related = failure.related.iter().filter_map(|related| user_place(&related.stack));
            failure.place().into_iter().chain(related).collect()
        }
        _ => failure.place().into_iter().collect(),
    };
    let mut parts = vec![failure.kind.name().to_owned()];
    // Which thread came first, and so the message, is the schedule's affair.
    if failure.kind != FailureKind::DataRace {
        parts.push(without_addresses(&failure.message));
    }
    let functions = at.iter().map(|place| {
        let file = place.file.rsplit('/').next().unwrap_or_default();
        format!("{file}\0{}", place.function)
    });
    parts.extend(sorted(functions));
    let mut prints = Dictionary::from([("bugHash/v1".to_owned(), hash(&parts))]);
    let lines =
        sorted(at.iter().filter_map(|place| places.line(place)).map(|line| squeezed(&line)));
    if !lines.is_empty() {
        parts.extend(lines);
        prints.insert("bugLineHash/v1".to_owned(), hash(&parts));
    }
    prints
}

fn sorted(parts: impl Iterator<Item = String>) -> Vec<String> {
    let mut parts: Vec<String> = parts.collect();
    parts.sort();
    parts.dedup();
    parts
}

/// The text without blanks: indentation is no difference.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text with `0x` for every address: those move with the code.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + "0x" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit())
    })
}

fn hash(parts: &[String]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update([0xff]);
    }
    hasher
        .finalize()
        .iter()
        .take(16)
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_do_not_matter() {
        assert_eq!(without_addresses("read of 0x1000f2 by T0, 0x2"), "read of 0x by T0, 0x");
        assert_eq!(without_addresses("no address"), "no address");
    }
}
