//! What every step shows: the context switch if there was one, the event that comes next with its line, where its value
//! comes from, and at the end how the run ended.

use unravel_trace::{EventKind, LocationId, Place, ThreadId};

use super::Stepper;
use super::history::last_before;
use super::names;
use super::output::Output;
use super::sync::Sync;
use super::threads::{Stage, Waits};
use crate::terminal::line::{Line, Tone, columns, keep_start};
use crate::words;

/// Columns for the place and for the event, so that what follows stands below each other; longer ones take more.
const PLACE: usize = 32;
/// Columns of a function's name; those of C++ can be longer than any terminal.
const FUNCTION: usize = 40;

impl Stepper<'_> {
    pub(super) fn show(&self, out: &mut Output) {
        if self.position >= self.history.len() {
            self.show_end(out);
        } else {
            self.show_event(self.position, out);
        }
        for (number, name) in &self.displays {
            // A name that was displayed once stays known: the run does not change.
            if let Ok(found) = names::locations(&self.history, name) {
                self.print_short(&format!("{number}: "), &found, out);
            }
        }
    }

    fn show_event(&self, index: usize, out: &mut Output) {
        if self.is_switch(index) {
            self.show_switch(index, out);
        }
        let event = self.history.event(index);
        let total = self.history.len().to_string();
        let number = format!("{:>width$}/{total}  ", index + 1, width = total.len());
        let indent = columns(&number);
        let mut head = Line::new().with(&number, Tone::Dim);
        head.push(&self.name(event.thread), Tone::Strong);
        head.push("  ", Tone::Plain);
        head.push(&self.place_words(index), Tone::Plain);
        if let Some(text) =
            names::place(self.history.trace, index).and_then(|p| self.sources.line(p))
        {
            head.pad(indent + PLACE);
            head.push("  ", Tone::Plain);
            head.push(&text, Tone::Dim);
        }
        out.line(head);
        let mut what = Line::new();
        what.pad(indent);
        what.push(&words::phrase(self.history.trace, event).text(), Tone::Good);
        if let Some(from) = self.origin(index) {
            what.pad(indent + PLACE);
            what.push(&format!("  ({from})"), Tone::Plain);
        }
        out.line(what);
    }

    fn show_switch(&self, position: usize, out: &mut Output) {
        let before = self.history.event(position - 1);
        let (from, to) = (before.thread, self.history.event(position).thread);
        let mut line = Line::new();
        let arrow = out.arrow();
        line.push(&format!("switch: {} {arrow} {}", self.name(from), self.name(to)), Tone::Bad);
        if self.subject.order_known {
            line.push(&format!(", {}", self.why_switched(from, position)), Tone::Plain);
        }
        out.line(line);
    }

    /// Why a thread does not go on at a position.
    fn why_switched(&self, from: ThreadId, position: usize) -> String {
        let yielded = matches!(self.history.event(position - 1).kind, EventKind::Yield);
        match self.history.stage(from, position, self.subject.outcome) {
            Stage::Ended { .. } => format!("{} has ended", self.name(from)),
            Stage::Before { waits: Some(waits), .. } => {
                format!("{} {}", self.name(from), self.waits_words(&waits))
            }
            Stage::Before { .. } if yielded => format!("{} gave way", self.name(from)),
            Stage::Before { event, .. } => {
                let place = names::place(self.history.trace, event);
                let place = place.map_or(String::new(), |p| format!(" before {}", words::at(p)));
                format!("preempted{place}: {} could go on", self.name(from))
            }
            Stage::Over { says, .. } => {
                format!("{} has {}", self.name(from), self.over_words(says, position))
            }
            Stage::NotCreated => format!("{} is not created yet", self.name(from)),
        }
    }

    fn show_end(&self, out: &mut Output) {
        let count = words::count(self.history.len() as u64, "event");
        out.line(Line::new().with(&format!("end of the run, after {count}"), Tone::Dim));
        let failed = self.subject.outcome.failure().is_some();
        for (index, text) in self.subject.ending.lines().enumerate() {
            let tone = if index == 0 && failed { Tone::Bad } else { Tone::Plain };
            out.whole(Line::new().with(text, tone));
        }
    }

    pub(super) fn name(&self, thread: ThreadId) -> String {
        let name = self.history.trace.threads.get(thread.index());
        name.map_or_else(|| "?".to_owned(), ToString::to_string)
    }

    /// The name of a location.
    pub(super) fn location(&self, at: LocationId) -> &str {
        self.history.trace.locations.get(at.0 as usize).map_or("?", |location| &location.name)
    }

    /// Where an event is, in words.
    pub(super) fn place_words(&self, event: usize) -> String {
        let trace = self.history.trace;
        let place = words::place(trace, &trace.events[event]);
        place.map_or_else(|| "(no line information)".to_owned(), place_words)
    }

    /// `T0.1 at event 28, bank.c:54`.
    pub(super) fn who(&self, event: usize) -> String {
        self.who_when("at", event)
    }

    /// `T0.1 since event 28, bank.c:54`.
    pub(super) fn since(&self, event: usize) -> String {
        self.who_when("since", event)
    }

    fn who_when(&self, when: &str, event: usize) -> String {
        let place = names::place(self.history.trace, event);
        let place = place.map_or(String::new(), |place| format!(", {}", words::at(place)));
        let thread = self.name(self.history.event(event).thread);
        format!("{thread} {when} event {}{place}", event + 1)
    }

    /// Where what an event meets comes from: the last write, the last release, the creation.
    fn origin(&self, index: usize) -> Option<String> {
        if !self.subject.order_known {
            return None;
        }
        let event = self.history.event(index);
        match &event.kind {
            EventKind::Read { at, value } => {
                let known = self.history.known(*at, index);
                let Some(written) = known.written else {
                    return Some("no event wrote it before".to_owned());
                };
                let who = self.who(written);
                let last = known.value.filter(|last| last != value);
                let last = last.filter(|_| known.seen == Some(written));
                Some(match last {
                    Some(last) => {
                        let last = self.value(*at, &last);
                        format!("no event wrote that: last {last} by {who}")
                    }
                    None => format!("written by {who}"),
                })
            }
            EventKind::Write { at, .. } => {
                let known = self.history.known(*at, index);
                let was = known.value.map(|value| format!("was {}", self.value(*at, &value)))?;
                Some(match known.written {
                    Some(written) => format!("{was}, written by {}", self.who(written)),
                    None => was,
                })
            }
            EventKind::ReadModifyWrite { at, .. } => {
                let written = self.history.known(*at, index).written?;
                Some(format!("written by {}", self.who(written)))
            }
            EventKind::Lock { at, .. } => match self.history.sync(*at, index) {
                Sync::Lock { released: Some(event), .. } => {
                    Some(format!("released by {}", self.who(event)))
                }
                _ => None,
            },
            EventKind::Unlock { at } => match self.history.sync(*at, index) {
                Sync::Lock { holders, .. } => {
                    let own = holders.iter().find(|h| h.since.thread == event.thread)?;
                    Some(format!("held since event {}", own.since.event + 1))
                }
                _ => None,
            },
            EventKind::Wake { .. } => {
                let wait = last_before(self.history.of_thread(event.thread), index)?;
                Some(format!("waiting since event {}", wait + 1))
            }
            EventKind::Join { child } => {
                let ended = self.history.ended(*child)?;
                Some(format!("ended at event {}", ended + 1))
            }
            EventKind::Start => {
                let created = self.history.created(event.thread)?;
                Some(format!("created by {}", self.who(created)))
            }
            _ => None,
        }
    }

    pub(super) fn waits_words(&self, waits: &Waits) -> String {
        match waits {
            Waits::Lock { at, by } => {
                let by: Vec<String> = by.iter().map(|thread| self.name(*thread)).collect();
                format!("waits for {}, held by {}", self.location(*at), by.join(" and "))
            }
            Waits::Signal { at } => format!("waits for a signal of {}", self.location(*at)),
            Waits::Semaphore { at } => format!("waits for semaphore {}", self.location(*at)),
            Waits::Barrier { at } => {
                format!("waits for other threads at barrier {}", self.location(*at))
            }
            Waits::Once { at, by } => {
                format!("waits for {}, which {} initialises", self.location(*at), self.name(*by))
            }
            Waits::End { of } => format!("waits for {} to end", self.name(*of)),
        }
    }
}

/// `bank.c:53 in deposit`, as much of it as is known.
pub fn place_words(place: &Place) -> String {
    match (place.line, place.function.is_empty()) {
        (0, _) | (_, true) => words::at(place),
        _ => format!("{} in {}", words::at(place), function(&place.function)),
    }
}

/// A function's name without its template arguments, and not longer than there is room for.
fn function(name: &str) -> String {
    let mut depth = 0;
    let mut short = String::new();
    // `operator<` and its like have brackets that are none.
    let has_brackets = !name.contains("operator");
    for c in name.chars() {
        match c {
            '<' if has_brackets => {
                depth += 1;
                if depth == 1 {
                    short.push_str("<>");
                }
            }
            '>' if has_brackets && depth > 0 => depth -= 1,
            c if depth == 0 => short.push(c),
            _ => {}
        }
    }
    keep_start(&short, FUNCTION, "..")
}
