//! Answers to questions: what a variable holds, where the threads are, who holds which lock, what stops where.

use unravel_trace::{LocationId, ThreadId};

use super::Stepper;
use super::command::Topic;
use super::names;
use super::output::Output;
use super::show::place_words;
use super::sync::Sync;
use super::threads::{Stage, Waits};
use crate::terminal::line::{Line, Tone};
use crate::words;

/// Rows of a list; the rest is counted.
const ROWS: usize = 40;
/// Events shown before and behind the position.
const AROUND: usize = 6;

impl Stepper<'_> {
    pub(super) fn info(&self, topic: &Topic, out: &mut Output) -> Result<(), String> {
        match topic {
            Topic::Breaks => self.info_breaks(out),
            Topic::Threads => self.info_threads(out),
            Topic::Locks => self.info_locks(out),
            Topic::Events => self.info_events(out),
            Topic::Values(pattern) => return self.info_values(pattern.as_deref(), out),
        }
        Ok(())
    }

    fn info_breaks(&self, out: &mut Output) {
        if self.breakpoints.is_empty() {
            out.plain("no breakpoints");
        }
        for breakpoint in &self.breakpoints {
            let done = breakpoint.positions.partition_point(|event| *event < self.position);
            let text = breakpoint.text(&self.history);
            let times = words::count(breakpoint.positions.len() as u64, "stop");
            let kind = breakpoint.kind();
            out.line(Line::new().with(
                &format!("{}  {kind}  {text}  ({times}, {done} before here)", breakpoint.number),
                Tone::Plain,
            ));
        }
        for (number, name) in &self.displays {
            out.line(Line::new().with(&format!("{number}  display  {name}"), Tone::Plain));
        }
    }

    /// Where a thread is and what it is about to do.
    pub(super) fn stage_words(&self, thread: ThreadId, position: usize) -> (String, String) {
        let place = |event: Option<usize>| event.map_or(String::new(), |e| self.place_words(e));
        match self.history.stage(thread, position, self.subject.outcome) {
            Stage::NotCreated => (String::new(), "not created yet".to_owned()),
            Stage::Ended { event } => (String::new(), format!("ended at event {}", event + 1)),
            Stage::Before { event, waits: Some(waits) } if self.subject.order_known => {
                (place(Some(event)), self.waits_words(&waits))
            }
            Stage::Before { event, .. } => {
                let phrase = words::phrase(self.history.trace, self.history.event(event));
                (place(Some(event)), format!("next: {} (event {})", phrase.text(), event + 1))
            }
            Stage::Over { at, says } => {
                let place = at.map_or(String::new(), |place| place_words(&place));
                (place, self.over_words(says, position))
            }
        }
    }

    /// What is said of a thread that has no further event. Only at the end the failure's words are true.
    pub(super) fn over_words(&self, says: Option<String>, position: usize) -> String {
        match says {
            Some(says) if position == self.history.len() => says,
            Some(says) => format!("no further event; at the end it {says}"),
            None => "no further event in this run".to_owned(),
        }
    }

    fn info_threads(&self, out: &mut Output) {
        let current = self.history.trace.events.get(self.position).map(|event| event.thread);
        let all = 0..self.history.trace.threads.len();
        let rows = all.map(|index| {
            let thread = ThreadId(index as u32);
            let (place, what) = self.stage_words(thread, self.position);
            let mark = if Some(thread) == current { "* " } else { "  " };
            [format!("{mark}{}", self.name(thread)), place, what]
        });
        table(rows.collect(), out);
    }

    fn info_locks(&self, out: &mut Output) {
        let all = (0..self.history.trace.locations.len()).map(|index| LocationId(index as u32));
        let mut free: Vec<String> = Vec::new();
        let mut rows = Vec::new();
        for at in all.filter(|at| !self.history.syncs(*at).is_empty()) {
            match self.history.sync(at, self.position) {
                Sync::Unused => {}
                Sync::Lock { holders, .. } if holders.is_empty() => free.push(self.full_name(at)),
                sync => rows.push([self.full_name(at), self.sync_words(&sync), self.wanted(at)]),
            }
        }
        if rows.is_empty() && free.is_empty() {
            out.plain("this run has no locks, conditions, semaphores or barriers");
        }
        table(rows, out);
        if !free.is_empty() {
            let more = free.len().saturating_sub(ROWS);
            free.truncate(ROWS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            out.whole(Line::new().with(&format!("free: {}{more}", free.join(", ")), Tone::Plain));
        }
    }

    fn info_values(&self, pattern: Option<&str>, out: &mut Output) -> Result<(), String> {
        let found = match pattern {
            Some(pattern) => names::locations(&self.history, pattern)?,
            None => (0..self.history.trace.locations.len() as u32).map(LocationId).collect(),
        };
        let (known, unknown): (Vec<LocationId>, Vec<LocationId>) = found
            .into_iter()
            .filter(|at| !self.history.accesses(*at).is_empty())
            .partition(|at| self.history.known(*at, self.position).seen.is_some());
        self.print_short("", &known, out);
        if !unknown.is_empty() {
            let text =
                format!("{} not touched yet", words::count(unknown.len() as u64, "variable"));
            out.line(Line::new().with(&text, Tone::Dim));
        }
        Ok(())
    }

    fn info_events(&self, out: &mut Output) {
        let from = self.position.saturating_sub(AROUND);
        let to = (self.position + AROUND + 1).min(self.history.len());
        let rows = (from..to).map(|index| {
            let event = self.history.event(index);
            let mark = if index == self.position { "* " } else { "  " };
            let number = format!("{mark}{}", index + 1);
            let place = format!("{}  {}", self.name(event.thread), self.place_words(index));
            [number, place, words::phrase(self.history.trace, event).text()]
        });
        table(rows.collect(), out);
        if self.position == self.history.len() {
            out.plain("* the end");
        }
    }

    /// Who waits for a lock or another sync object.
    fn wanted(&self, at: LocationId) -> String {
        let names: Vec<String> = (0..self.history.trace.threads.len() as u32)
            .map(ThreadId)
            .filter(|thread| {
                let stage = self.history.stage(*thread, self.position, self.subject.outcome);
                let Stage::Before { waits: Some(waits), .. } = stage else { return false };
                matches!(
                    waits,
                    Waits::Lock { at: own, .. }
                        | Waits::Semaphore { at: own }
                        | Waits::Barrier { at: own } if own == at
                )
            })
            .map(|thread| self.name(thread))
            .collect();
        match names.as_slice() {
            [] => String::new(),
            [one] => format!("{one} waits for it"),
            several => format!("{} wait for it", several.join(", ")),
        }
    }

    pub(super) fn sync_words(&self, sync: &Sync) -> String {
        let list = |words: Vec<String>| words.join(", ");
        match sync {
            Sync::Lock { holders, .. } if holders.is_empty() => "free".to_owned(),
            Sync::Lock { holders, .. } => list(
                holders
                    .iter()
                    .map(|holder| {
                        let how = if holder.shared { " (shared)" } else { "" };
                        let often = match holder.times {
                            1 => String::new(),
                            times => format!(" ({times} times)"),
                        };
                        format!("held{how}{often} by {}", self.since(holder.since.event))
                    })
                    .collect(),
            ),
            Sync::Condition { waiting } if waiting.is_empty() => "nobody waits".to_owned(),
            Sync::Condition { waiting } => {
                let waiting: Vec<String> = waiting.iter().map(|w| self.since(w.event)).collect();
                format!("waiting: {}", waiting.join("; "))
            }
            Sync::Semaphore { count: Some(count) } => format!("count {count}"),
            Sync::Semaphore { count: None } => "count unknown".to_owned(),
            Sync::Barrier { arrived, of: Some(of @ 1..) } => {
                format!("{} of {of} threads are there", arrived % u64::from(*of))
            }
            Sync::Barrier { arrived, .. } => format!("{arrived} arrivals"),
            Sync::Once { done: Some(done), .. } => format!("done by {}", self.who(*done)),
            Sync::Once { running: Some(by), .. } => format!("begun by {}", self.who(by.event)),
            Sync::Once { .. } => "not begun".to_owned(),
            Sync::Unused => "not used in this run".to_owned(),
        }
    }

    pub(super) fn tell_where(&self, out: &mut Output) -> Result<(), String> {
        let Some(event) = self.history.trace.events.get(self.position) else {
            out.block(self.subject.ending);
            return Ok(());
        };
        let frames = names::places(self.history.trace, self.position).enumerate();
        for (depth, place) in frames {
            let who =
                if depth == 0 { format!(" ({})", self.name(event.thread)) } else { String::new() };
            out.plain(&format!("#{depth}  {}{who}", place_words(place)));
        }
        out.dim("further callers are not recorded; the failure has its whole stack (`end`)");
        Ok(())
    }
}

/// Rows with columns as wide as they need to be.
fn table(mut rows: Vec<[String; 3]>, out: &mut Output) {
    let more = rows.len().saturating_sub(ROWS);
    rows.truncate(ROWS);
    let width = |column: usize| {
        let cells = rows.iter().map(|row| Line::new().with(&row[column], Tone::Plain).columns());
        cells.max().unwrap_or(0).min(48)
    };
    let (first, second) = (width(0), width(1));
    for [name, place, what] in &rows {
        let mut line = Line::new().with(name, Tone::Strong);
        line.pad(first);
        line.push("  ", Tone::Plain);
        line.push(place, Tone::Plain);
        if second > 0 {
            line.pad(first + 2 + second);
            line.push("  ", Tone::Plain);
        }
        line.push(what, Tone::Plain);
        out.line(line);
    }
    if more > 0 {
        out.dim(&format!("… {more} more"));
    }
}
