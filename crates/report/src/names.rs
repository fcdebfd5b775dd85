//! How threads and places are called in a schedule: as short as can be.

use std::collections::BTreeSet;

use unravel_trace::{Event, EventKind, Place, SourceLine, ThreadName, Trace};

use crate::side::{Item, Side};
use crate::{FileNames, words};

/// How places are called in a schedule.
#[derive(Debug)]
pub struct Names {
    /// The only file that occurs: then lines are enough.
    pub file: Option<String>,
    /// What they are called if there are several.
    several: FileNames,
}

impl Names {
    pub fn of(sides: &[&Side<'_>]) -> Names {
        let mut lines: Vec<SourceLine> = Vec::new();
        for side in sides {
            let steps = side.items.iter().filter_map(|item| match item {
                Item::Event(step) => side.run.trace.events.get(step.event as usize),
                Item::Gap { .. } => None,
            });
            let places = steps.filter_map(|event| words::place(&side.run.trace, event));
            let places = places.chain(side.missing.iter().map(|missing| &missing.who.place));
            lines.extend(places.filter(|p| p.line != 0).map(SourceLine::from));
        }
        let first = lines.first().map(|line| line.file.clone());
        let only = first.filter(|file| lines.iter().all(|line| line.file == *file));
        let file = only.and_then(|file| file.rsplit('/').next().map(str::to_owned));
        Names { file, several: FileNames::of(lines) }
    }

    /// `12`, or `bank.c:12`, or the function's name; empty if nothing is known.
    pub fn label(&self, place: &Place) -> String {
        match (place.line, &self.file) {
            (0, _) => place.function.to_string(),
            (line, Some(_)) => line.to_string(),
            (_, None) => self.several.place(place),
        }
    }

    /// `T0.2:20`.
    pub fn writer(&self, trace: &Trace, event: u32) -> String {
        let Some(event) = trace.events.get(event as usize) else { return "?".to_owned() };
        let thread = trace.thread_name(event.thread);
        match words::place(trace, event).filter(|place| place.line != 0) {
            Some(place) if self.file.is_some() => format!("{thread}:{}", place.line),
            Some(place) => format!("{thread} {}", self.several.place(place)),
            None => thread.to_string(),
        }
    }
}

/// The threads that matter, in order of birth: those with an event to show, and the one that failed.
pub fn threads(sides: &[&Side<'_>], failed: &ThreadName) -> Vec<ThreadName> {
    let mut names = BTreeSet::from([failed.clone()]);
    for side in sides {
        for item in &side.items {
            if let Item::Event(step) = item {
                let event = &side.run.trace.events[step.event as usize];
                names.insert(side.run.trace.thread_name(event.thread).clone());
            }
        }
        names.extend(side.missing.iter().map(|missing| missing.who.key.thread.clone()));
    }
    names.into_iter().collect()
}

/// The function that a thread runs. Threads that a library starts (`std::thread`) begin in its code, which says nothing.
pub fn role<'t>(run: &'t Trace, thread: &ThreadName) -> Option<&'t str> {
    let is_start = |event: &&Event| {
        event.kind == EventKind::Start && run.threads.get(event.thread.index()) == Some(thread)
    };
    let place = words::place(run, run.events.iter().find(is_start)?)?;
    (!place.is_system() && !place.function.is_empty()).then_some(&*place.function)
}

/// What threads run, as far as the run tells: `T0.1 and T0.2 run producer, T0.3 runs consumer`.
pub fn roles(run: &Trace, threads: &[ThreadName]) -> Option<String> {
    let mut roles: Vec<(&str, Vec<String>)> = Vec::new();
    for name in threads {
        let Some(role) = role(run, name) else { continue };
        match roles.iter_mut().find(|(function, _)| *function == role) {
            Some((_, names)) => names.push(name.to_string()),
            None => roles.push((role, vec![name.to_string()])),
        }
    }
    let said = |(function, names): &(&str, Vec<String>)| {
        let verb = if names.len() == 1 { "runs" } else { "run" };
        format!("{} {verb} {function}", words::listed(names))
    };
    // Everybody knows what the first thread runs.
    let is_news = roles.iter().any(|(_, names)| names.iter().any(|name| name != "T0"));
    is_news.then(|| roles.iter().map(said).collect::<Vec<_>>().join(", "))
}
