//! From what a person types to what the trace has: variables by name or pattern, threads, lines, functions.

use unravel_trace::{LocationId, Place, ThreadId, Trace};

use super::history::History;
use crate::words;

/// Names that are offered where one was not found.
const OFFERED: usize = 5;

/// The locations that a name means: those of that name; else those that a pattern with `*` or `?` fits; else those
/// that begin with it.
pub fn locations(history: &History<'_>, name: &str) -> Result<Vec<LocationId>, String> {
    let all = || {
        let named = history.trace.locations.iter().enumerate();
        let named = named.map(|(index, l)| (LocationId(index as u32), l.name.as_str()));
        named.filter(|(id, _)| history.is_touched(*id))
    };
    let choose = |fits: &dyn Fn(&str) -> bool| -> Vec<LocationId> {
        all().filter(|(_, known)| fits(known)).map(|(id, _)| id).collect()
    };
    let mut found = choose(&|known| known == name);
    if found.is_empty() && name.contains(['*', '?']) {
        found = choose(&|known| fits(name, known));
    }
    if found.is_empty() && !name.is_empty() {
        found = choose(&|known| known.starts_with(name));
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let part = name.to_lowercase();
    let mut near: Vec<&str> = all()
        .map(|(_, known)| known)
        .filter(|known| known.to_lowercase().contains(&part))
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(OFFERED);
    let hint = match near.as_slice() {
        [] => "`info values` lists what events touch; variables of one thread alone are no events"
            .to_owned(),
        near => format!("there is {}", near.join(", ")),
    };
    Err(format!("no event of this run touches '{name}': {hint}"))
}

/// Whether a pattern fits all of a text: `*` is any text, `?` any letter, everything else itself.
pub fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where the last `*` was, and what it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                (p, t) = (at + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// The thread of this name.
pub fn thread(trace: &Trace, name: &str) -> Result<ThreadId, String> {
    let wanted = name.to_uppercase();
    let found = trace.threads.iter().position(|known| known.to_string() == wanted);
    found.map(|index| ThreadId(index as u32)).ok_or_else(|| {
        let all: Vec<String> = trace.threads.iter().take(20).map(ToString::to_string).collect();
        format!("there is no thread '{name}': the threads are {}", all.join(", "))
    })
}

/// A line of a file, as typed: `53`, `bank.c:53`, `src/bank.c:53`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineOf {
    pub file: Option<String>,
    pub line: u32,
}

/// The line that a text means, if it means one.
pub fn line(text: &str) -> Option<LineOf> {
    if let Ok(line) = text.parse() {
        return Some(LineOf { file: None, line });
    }
    let (file, line) = text.rsplit_once(':')?;
    let line = line.parse().ok()?;
    (!file.is_empty()).then(|| LineOf { file: Some(file.to_owned()), line })
}

/// All the places of an event, innermost first: its own, where that was inlined, and the call from the user's code.
pub fn places(trace: &Trace, event: usize) -> impl Iterator<Item = &Place> {
    let event = &trace.events[event];
    let sites = [Some(event.site), event.caller].into_iter().flatten();
    sites
        .filter_map(|site| trace.site(site))
        .flat_map(|site| std::iter::once(&site.place).chain(&site.inlined_at))
}

/// Where an event is, if its line is known.
pub fn place(trace: &Trace, event: usize) -> Option<&Place> {
    words::place(trace, &trace.events[event]).filter(|place| place.line != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(fits("accounts[*].balance", "accounts[12].balance"));
        assert!(fits("*", ""));
        assert!(fits("*lock*", "a.lock"));
        assert!(fits("?ock", "lock"));
        assert!(!fits("acc", "accounts"));
        assert!(!fits("*balance", "balance2"));
        assert!(fits("a*b*c", "a1b2b3c"));
    }

    #[test]
    fn lines_are_numbers_or_files_with_numbers() {
        assert_eq!(line("53"), Some(LineOf { file: None, line: 53 }));
        assert_eq!(line("a.c:53"), Some(LineOf { file: Some("a.c".into()), line: 53 }));
        assert_eq!(line("std::f"), None);
        assert_eq!(line(":7"), None);
    }
}
