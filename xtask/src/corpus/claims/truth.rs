//! What an explanation has to say of a case whose truth was written by hand: pattern, variables, what should be atomic or come
//! first, the locks, the lines; and with what evidence.

use serde_json::Value;

use crate::corpus::case::Truth;

/// Everything that does not hold of a root cause, in words.
pub fn check(truth: &Truth, cause: &Value) -> Result<(), String> {
    let mut complaints = Vec::new();
    let text = |key: &str| cause[key].as_str().unwrap_or("").to_owned();
    let pattern = text("pattern");
    if pattern != truth.pattern && !truth.also.contains(&pattern) {
        complaints.push(format!("the pattern {}, seen {pattern}", truth.pattern));
    }
    let said = format!("{} {}", text("sentence"), text("advice"));
    for name in truth.variables.iter().chain(&truth.locks) {
        if !has_word(&said, name) {
            complaints.push(format!("'{name}' in the sentence"));
        }
    }
    let kept: Vec<(String, String, String)> = cause["evidence"]["kept"]
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .map(|kept| {
            let kind = kept["kind"].as_str().unwrap_or("").to_owned();
            (kind, place(&kept["from"]), place(&kept["to"]))
        })
        .collect();
    if cause["evidence"].is_null() {
        complaints.push("evidence, seen none".to_owned());
    }
    let is_shown = cause["evidence"]["kind"] == "shown";
    if !is_shown && !truth.stretch.is_empty() {
        let is_right = |(kind, from, to): &(String, String, String)| {
            kind == "atomic" && truth.stretch.contains(&format!("{from} to {to}"))
        };
        if !kept.iter().any(is_right) {
            complaints.push(format!("atomic {}, seen {kept:?}", truth.stretch.join(" or ")));
        }
    }
    if !is_shown && truth.stretch.is_empty() && !truth.order.is_empty() {
        // What is written too early and what too late is an order, too.
        let is_right = |(kind, from, to): &(String, String, String)| match kind.as_str() {
            "atomic" => truth.order.contains(&format!("{to} before {from}")),
            _ => truth.order.contains(&format!("{from} before {to}")),
        };
        if !kept.iter().any(is_right) {
            complaints.push(format!("{}, seen {kept:?}", truth.order.join(" or ")));
        }
    }
    let places: Vec<&String> = kept.iter().flat_map(|(_, from, to)| [from, to]).collect();
    let is_shown = |line: &&String| has_word(&said, line) || places.contains(line);
    let missing: Vec<&String> = truth.lines.iter().filter(|line| !is_shown(line)).collect();
    match &truth.gap {
        None => complaints.extend(missing.iter().map(|line| format!("{line} in the explanation"))),
        // A gap is about lines alone: all else has to hold.
        Some(gap) if missing.is_empty() => {
            complaints.push(format!("the gap '{gap}', seen none: remove it"));
        }
        Some(_) => {}
    }
    match complaints.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "truth: expected {}; it says: {}",
            complaints.join("; expected "),
            text("sentence")
        )),
    }
}

fn place(place: &Value) -> String {
    let file = place["file"].as_str().unwrap_or("");
    let file = file.rsplit('/').next().unwrap_or(file);
    format!("{file}:{}", place["line"].as_u64().unwrap_or(0))
}

/// Whether a text has this name, not as a part of another.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}
