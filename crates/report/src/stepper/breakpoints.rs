//! Where to stop. The run is known, so a breakpoint is the list of its positions, found when it is set: going on, either
//! way, is a search in that list.
//!
//! A line is stopped at when a thread comes to it, not at each of its events: `total += amount` reads and writes. Sites
//! are numbered in the order of the code, so a thread that is at the same line at an earlier site has come again.

use unravel_trace::{Event, EventKind, LocationId, ThreadId, is_path_end};

use super::history::History;
use super::names::{self, LineOf};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breakpoint {
    pub number: usize,
    pub what: What,
    /// Only where this thread comes.
    pub thread: Option<ThreadId>,
    /// Events just before which it stops, in order. Never empty.
    pub positions: Vec<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// A file that was not `typed` is that of the position: then the whole path is meant, and its end shown.
    Line {
        file: String,
        typed: bool,
        line: u32,
    },
    Function(String),
    Variable {
        name: String,
        locations: Vec<LocationId>,
        on: On,
    },
}

/// Which accesses a watchpoint stops at. Operations on a sync object count as either.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum On {
    Reads,
    Writes,
    Both,
}

/// What to stop at, as typed: a line, a function or a variable, perhaps with a thread.
pub fn resolve(
    history: &History<'_>,
    text: &str,
    here: Option<&str>,
    watch: Option<On>,
) -> Result<Breakpoint, String> {
    let (text, thread) = match text.split_once(" thread ") {
        Some((text, name)) => (text.trim(), Some(names::thread(history.trace, name.trim())?)),
        None => (text.trim(), None),
    };
    let what = match (watch, names::line(text)) {
        (None, Some(line)) => at_line(history, &line, here)?,
        (None, None) if is_function(history, text) => What::Function(text.to_owned()),
        (on, _) => {
            let locations = names::locations(history, text)?;
            What::Variable { name: text.to_owned(), locations, on: on.unwrap_or(On::Writes) }
        }
    };
    let mut positions = positions(history, &what);
    if let Some(thread) = thread {
        positions.retain(|event| history.event(*event).thread == thread);
    }
    if positions.is_empty() {
        let who =
            thread.map_or(String::new(), |t| format!(" of {}", history.trace.threads[t.index()]));
        return Err(match &what {
            What::Variable { name, on: On::Writes, .. } => {
                format!("no event{who} writes {name}: `rwatch` stops where it is read")
            }
            What::Variable { name, .. } => format!("no event{who} reads {name}"),
            What::Line { line, .. } => format!("no event{who} is at line {line}"),
            What::Function(name) => format!("no event{who} is in {name}"),
        });
    }
    Ok(Breakpoint { number: 0, what, thread, positions })
}

impl Breakpoint {
    /// `bank.c:54`, `deposit`, `write of BankTotal`, with the thread.
    pub fn text(&self, history: &History<'_>) -> String {
        let what = match &self.what {
            What::Line { file, typed: true, line } => format!("{file}:{line}"),
            What::Line { file, typed: false, line } => format!("{}:{line}", last_part(file)),
            What::Function(name) => name.clone(),
            What::Variable { name, on, .. } => match on {
                On::Reads => format!("reads of {name}"),
                On::Writes => format!("writes of {name}"),
                On::Both => format!("accesses of {name}"),
            },
        };
        match self.thread {
            Some(thread) => format!("{what} in {}", history.trace.threads[thread.index()]),
            None => what,
        }
    }

    /// The word for what it is.
    pub fn kind(&self) -> &'static str {
        if matches!(self.what, What::Variable { .. }) { "watchpoint" } else { "breakpoint" }
    }

    pub fn is_at(&self, position: usize) -> bool {
        self.positions.binary_search(&position).is_ok()
    }
}

fn at_line(history: &History<'_>, wanted: &LineOf, here: Option<&str>) -> Result<What, String> {
    let Some(file) = wanted.file.as_deref().or(here) else {
        return Err("which file? write FILE:LINE".to_owned());
    };
    // Lines that `arrivals` finds, of the files of that name.
    let mut lines: Vec<u32> = Vec::new();
    let mut others: Vec<&str> = Vec::new();
    for event in (0..history.len()).filter(|event| !is_exit(history, *event)) {
        for place in names::places(history.trace, event).filter(|place| place.line != 0) {
            if is_path_end(file, &place.file) {
                lines.push(place.line);
            } else if !place.is_system() && !others.contains(&&*place.file) && others.len() < 8 {
                others.push(&place.file);
            }
        }
    }
    lines.sort_unstable();
    lines.dedup();
    if lines.is_empty() {
        return Err(match others.as_slice() {
            [] => "no event of this run has a line".to_owned(),
            others => format!("no event is in '{file}': there are events in {}", others.join(", ")),
        });
    }
    match lines.binary_search(&wanted.line) {
        Ok(_) => Ok(What::Line {
            file: file.to_owned(),
            typed: wanted.file.is_some(),
            line: wanted.line,
        }),
        Err(at) => {
            let before = at.checked_sub(1).map(|before| lines[before].to_string());
            let near: Vec<String> =
                before.into_iter().chain(lines.get(at).map(ToString::to_string)).collect();
            let (noun, verb) = if near.len() == 1 { ("line", "is") } else { ("lines", "are") };
            Err(format!(
                "no event of this run is at {}:{}; the nearest {noun} with events {verb} {}",
                last_part(file),
                wanted.line,
                near.join(" and ")
            ))
        }
    }
}

fn last_part(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

fn is_function(history: &History<'_>, name: &str) -> bool {
    let sites = history.trace.sites.iter().map(|(_, site)| site);
    !name.is_empty()
        && sites
            .flat_map(|s| std::iter::once(&s.place).chain(&s.inlined_at))
            .any(|p| &*p.function == name)
}

fn positions(history: &History<'_>, what: &What) -> Vec<usize> {
    let trace = history.trace;
    let mut found = Vec::new();
    match what {
        What::Variable { locations, on, .. } => {
            let mut all: Vec<LocationId> =
                locations.iter().flat_map(|at| history.overlapping(*at)).collect();
            all.sort_unstable();
            all.dedup();
            for at in all {
                let accesses = history.accesses(at).iter().copied();
                found.extend(accesses.filter(|event| is_watched(&history.event(*event).kind, *on)));
                found.extend(history.syncs(at));
                found.extend(history.lives(at).iter().filter(|_| *on != On::Reads));
            }
        }
        What::Line { file, line, .. } => {
            let is_there = |event: usize| {
                names::places(trace, event).any(|p| p.line == *line && is_path_end(file, &p.file))
            };
            arrivals(history, is_there, Again::ThanLast, &mut found);
        }
        What::Function(name) => {
            let is_there =
                |event: usize| names::places(trace, event).any(|place| *place.function == **name);
            arrivals(history, is_there, Again::ThanEntry, &mut found);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn is_watched(kind: &EventKind, on: On) -> bool {
    match kind {
        EventKind::Read { .. } => on != On::Writes,
        EventKind::Write { .. } => on != On::Reads,
        _ => true,
    }
}

/// The events at which a thread comes to where it was not just before, or comes again: to an earlier site than its last
/// one there (a line), or than the one it entered by (a function, which may have loops).
fn arrivals(
    history: &History<'_>,
    is_there: impl Fn(usize) -> bool,
    again: Again,
    found: &mut Vec<usize>,
) {
    for thread in 0..history.trace.threads.len() {
        let mut last = None;
        for event in history.of_thread(ThreadId(thread as u32)) {
            let Event { site, caller, .. } = history.event(*event);
            let site = (caller.unwrap_or(*site), *site);
            // A thread exits where it was last.
            if is_exit(history, *event) {
                continue;
            }
            if !is_there(*event) {
                last = None;
                continue;
            }
            let comes = last.is_none_or(|last| last >= site);
            if comes {
                found.push(*event);
            }
            if comes || again == Again::ThanLast {
                last = Some(site);
            }
        }
    }
}

fn is_exit(history: &History<'_>, event: usize) -> bool {
    matches!(history.event(event).kind, EventKind::Exit)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    ThanLast,
    ThanEntry,
}
