//! Schedules as columns: a column a thread, time goes down.
//!
//! One row has one event, so its text may run over the columns at its right: thread columns are only as far apart as
//! their headings need, and four threads fit twice into 100 columns. Where even that is too narrow the passing
//! schedule stands below the failing one, and where the threads are too many for columns they become a list, with the
//! thread's name where it changes. The bracket of the region that should be atomic stands at the left of all columns,
//! so that what interrupts it is seen inside it.

use std::sync::Arc;

use unravel_trace::{EventKind, ThreadName, Trace};

use super::line::{Line, Tone, columns, keep_end, keep_start, wrap};
use super::page::{Glyphs, Page};
use crate::escape;
use crate::names::Names;
use crate::side::{Item, Missing, Region, RegionKind, Side, Step};
use crate::source::Sources;
use crate::words::{self, count};

/// An event needs this many columns to be read.
const READABLE: usize = 26;
/// A name is not cut shorter than this for a value beside it.
const SHORT_NAME: usize = 8;
/// Columns of the bracket.
const GUTTER: usize = 3;
/// Rows of a failure's message.
const MESSAGE: usize = 3;

/// What is said of a run above and below its events.
pub struct Verdict<'d> {
    pub tone: Tone,
    pub title: String,
    pub sign: &'static str,
    pub end: String,
    /// Whose column the end belongs to.
    pub thread: Option<&'d ThreadName>,
}

/// Writes schedules.
pub struct Columns<'d> {
    pub names: &'d Names,
    pub sources: &'d Sources,
    pub threads: Vec<ThreadName>,
    /// A row an event: what it does, then its source line as far as there is room.
    pub brief: bool,
}

impl Columns<'_> {
    pub fn write(
        &self,
        page: &mut Page,
        failing: (&Side<'_>, &Verdict<'_>),
        passing: Option<(&Side<'_>, &Verdict<'_>)>,
    ) {
        let divide = format!(" {} ", page.glyphs.divide);
        let regions =
            failing.0.region.is_some() || passing.is_some_and(|(s, _)| s.region.is_some());
        let gutter = if regions { GUTTER } else { 1 };
        let half = page.width().saturating_sub(columns(&divide)) / 2;
        let rows = |layout: Layout, (side, verdict): (&Side<'_>, &Verdict<'_>)| {
            let writer = Writer { columns: self, layout, glyphs: page.glyphs, side, verdict };
            writer.rows()
        };
        let narrow = Layout { width: half, gutter, step: self.step() };
        if let Some(passing) = passing.filter(|_| narrow.room(self.threads.len()) >= READABLE) {
            let (left, right) = (rows(narrow, failing), rows(narrow, passing));
            for index in 0..left.len().max(right.len()) {
                let mut line = left.get(index).cloned().unwrap_or_default();
                line.pad(half);
                line.push(&divide, Tone::Dim);
                line.append(right.get(index).cloned().unwrap_or_default());
                page.line(line);
            }
            return;
        }
        let wide = Layout { width: page.width(), gutter, step: self.step() };
        let list = Layout { step: 0, ..wide };
        let layout = if wide.room(self.threads.len()) >= READABLE { wide } else { list };
        let below = passing.map(|passing| rows(layout, passing));
        rows(layout, failing).into_iter().for_each(|line| page.line(line));
        for (index, line) in below.into_iter().flatten().enumerate() {
            if index == 0 {
                page.blank();
            }
            page.line(line);
        }
    }

    /// How far columns are apart.
    fn step(&self) -> usize {
        self.threads.iter().map(|name| columns(&name.to_string()) + 2).max().unwrap_or(0)
    }
}

#[derive(Clone, Copy)]
struct Layout {
    width: usize,
    gutter: usize,
    /// Columns between threads; 0 for a list.
    step: usize,
}

impl Layout {
    /// Columns for the text of the last of so many threads.
    fn room(&self, threads: usize) -> usize {
        self.width.saturating_sub(self.gutter + threads.saturating_sub(1) * self.step + 2)
    }
}

/// Writes one run.
struct Writer<'w, 'd> {
    columns: &'w Columns<'w>,
    layout: Layout,
    glyphs: Glyphs,
    side: &'w Side<'d>,
    verdict: &'w Verdict<'w>,
}

/// Rows without the bracket, and where the events of the bracket are.
#[derive(Default)]
struct Rows {
    lines: Vec<Line>,
    /// First row of the region's start; first and last row of its end.
    start: Option<usize>,
    end: Option<(usize, usize)>,
    /// The thread and line that the last row belongs to.
    current: Option<(usize, Arc<str>, u32)>,
    /// Of a list: the thread whose name was written last.
    named: Option<usize>,
}

impl Writer<'_, '_> {
    fn rows(&self) -> Vec<Line> {
        let mut rows = Rows::default();
        for item in &self.side.items {
            match item {
                Item::Event(step) => self.event(&mut rows, step),
                Item::Gap { events, projected } => self.gap(&mut rows, *events, *projected),
            }
        }
        // What threads wait for in vain is why the run ended; what was not reached comes after the end.
        if self.side.missing.iter().any(|missing| missing.why == words::WAITS) {
            self.absent(&mut rows);
            self.end(&mut rows);
        } else {
            self.end(&mut rows);
            self.absent(&mut rows);
        }
        let mut lines = vec![Line::new().with(&self.verdict.title, self.verdict.tone)];
        if self.layout.step > 0 {
            lines.push(self.headings());
        }
        let brackets = self.brackets(&rows);
        lines.extend(rows.lines.into_iter().zip(brackets).map(|(row, bracket)| {
            let mut line = Line::new().with(bracket, self.verdict.tone);
            line.pad(self.layout.gutter);
            line.append(row);
            line
        }));
        lines.iter_mut().for_each(|line| line.fit(self.layout.width, self.glyphs.ellipsis));
        lines
    }

    fn headings(&self) -> Line {
        let mut line = Line::new();
        for (index, name) in self.columns.threads.iter().enumerate() {
            line.pad(self.layout.gutter + index * self.layout.step);
            line.push(&name.to_string(), Tone::Strong);
        }
        line
    }

    /// What stands beside each row.
    fn brackets(&self, rows: &Rows) -> Vec<&'static str> {
        let mut signs = vec![""; rows.lines.len()];
        let (Some(region), Some(start)) = (self.side.region, rows.start) else { return signs };
        let end = match (region.kind, rows.end) {
            (RegionKind::Atomic, Some((_, last))) => last,
            (RegionKind::Order, Some((first, _))) => first,
            (RegionKind::Atomic, None) => rows.lines.len() - 1,
            (RegionKind::Order, None) => return signs,
        };
        if start >= end {
            return signs;
        }
        signs[start..=end].fill(self.glyphs.inside);
        signs[start] = self.glyphs.open;
        signs[end] = match (region.kind, region.end) {
            (RegionKind::Order, _) => self.glyphs.arrow,
            (RegionKind::Atomic, Some(_)) => self.glyphs.close,
            // The run ended inside.
            (RegionKind::Atomic, None) => self.glyphs.inside,
        };
        signs
    }

    fn event(&self, rows: &mut Rows, step: &Step) {
        let trace = &self.side.run.trace;
        let event = &trace.events[step.event as usize];
        let thread = self.column(trace.thread_name(event.thread));
        let place = words::place(trace, event);
        let tone = if step.projected || step.causal { Tone::Plain } else { Tone::Dim };
        let room = self.text_room(thread);
        let label = place.map_or(String::new(), |place| self.columns.names.label(place));
        let label = escape::visible(&label).into_owned();
        let source = place.and_then(|place| self.columns.sources.line(place));
        let here = place.map(|place| (thread, place.file.clone(), place.line));
        let goes_on = here.is_some() && rows.current == here && source.is_some();
        self.name_thread(rows, thread);
        let first = rows.lines.len();
        if self.columns.brief {
            let indent = if goes_on { " ".repeat(columns(&label)) } else { label };
            let source = source.filter(|_| !goes_on).unwrap_or_default();
            self.one_row(rows, thread, step, &format!("{indent} "), &source, room);
            return self.note_region(rows, step, first, here);
        }
        let mut sign = if step.causal { self.glyphs.causal } else { self.glyphs.event };
        let mut indent = String::new();
        if let Some(source) = &source {
            indent = "  ".to_owned();
            if !goes_on {
                let text = escape::visible(&format!("{label}: {source}")).into_owned();
                let text = keep_start(&text, room, self.glyphs.ellipsis);
                self.row(rows, thread, sign, Line::new().with(&text, tone), step.causal);
                sign = self.glyphs.idle;
            }
        } else if !label.is_empty() {
            indent = keep_end(&format!("{label}: "), room / 2, self.glyphs.ellipsis);
        }
        let said = goes_on || !source.as_ref().is_some_and(|s| says_it_all(trace, &event.kind, s));
        for line in self.details(step, &indent, room, tone, said) {
            self.row(rows, thread, sign, line, step.causal && sign == self.glyphs.causal);
            sign = self.glyphs.idle;
        }
        self.note_region(rows, step, first, here);
    }

    /// An event in one row, if that is wide enough: what it does, where it takes its value from, its source line.
    fn one_row(
        &self,
        rows: &mut Rows,
        thread: usize,
        step: &Step,
        label: &str,
        source: &str,
        room: usize,
    ) {
        let mut sign = if step.causal { self.glyphs.causal } else { self.glyphs.event };
        let lines = self.details(step, label, room, Tone::Plain, true);
        let single = lines.len() == 1;
        for mut line in lines {
            // Half a line of source tells less than none.
            let source = format!("   {}", escape::visible(source));
            if single && line.columns() + columns(&source) <= room {
                line.push(&source, Tone::Dim);
            }
            self.row(rows, thread, sign, line, step.causal && sign == self.glyphs.causal);
            sign = self.glyphs.idle;
        }
    }

    /// Keeps in mind which rows an event of the region has, and what the last row belongs to.
    fn note_region(
        &self,
        rows: &mut Rows,
        step: &Step,
        first: usize,
        here: Option<(usize, Arc<str>, u32)>,
    ) {
        let last = rows.lines.len() - 1;
        rows.current = here;
        if let Some(Region { start, end, .. }) = self.side.region {
            if start == step.event {
                rows.start = Some(first);
            }
            if end == Some(step.event) {
                rows.end = Some((first, last));
            }
        }
    }

    /// What the event does, where it takes its value from, whether it is on another path.
    fn details(&self, step: &Step, indent: &str, room: usize, tone: Tone, said: bool) -> Vec<Line> {
        let trace = &self.side.run.trace;
        let blanks = " ".repeat(columns(indent).min(2));
        let mut lines: Vec<Line> = Vec::new();
        if said {
            let phrase = words::phrase(trace, &trace.events[step.event as usize]);
            let rest = escape::visible(&phrase.rest).into_owned();
            let name = escape::visible(&phrase.name).into_owned();
            let room = room.saturating_sub(columns(indent) + phrase.verb.len() + 1);
            // A value is not cut off for a name: it gets a row of its own.
            let together = room >= columns(&name).min(SHORT_NAME) + columns(&rest);
            let room = if together { room.saturating_sub(columns(&rest)) } else { room };
            let name = keep_end(&name, room, self.glyphs.ellipsis);
            let (rest, below) = if together { (rest, None) } else { (String::new(), Some(rest)) };
            let text = words::Phrase { name, rest, ..phrase }.text();
            lines.push(Line::new().with(indent, tone).with(&text, tone));
            let below = below.map(|rest| rest.trim_start_matches([',', ' ']).to_owned());
            lines.extend(below.map(|rest| Line::new().with(&format!("{blanks} {rest}"), tone)));
        }
        for flow in &step.flows {
            let from = match flow.from {
                Some(writer) => self.columns.names.writer(trace, writer),
                None => "initial value".to_owned(),
            };
            let text = format!("{} {from} {}", self.glyphs.from, self.verdict.sign);
            match lines.last_mut() {
                Some(line) if line.columns() + 1 + columns(&text) <= room => {
                    line.push(&format!(" {text}"), self.verdict.tone);
                }
                _ => lines.push(Line::new().with(&blanks, tone).with(&text, self.verdict.tone)),
            }
        }
        if step.other_path {
            let text = format!("{} other path", self.glyphs.other_path);
            match lines.last_mut() {
                Some(line) if self.columns.brief && line.columns() + 1 + columns(&text) <= room => {
                    line.push(&format!(" {text}"), self.verdict.tone);
                }
                _ => lines.push(Line::new().with(&format!("{blanks}{text}"), self.verdict.tone)),
            }
        }
        lines
    }

    fn gap(&self, rows: &mut Rows, events: usize, projected: usize) {
        rows.current = None;
        rows.named = None;
        if self.columns.brief {
            // The title says how many are shown.
            return;
        }
        let of = match projected {
            0 => String::new(),
            n => format!(", {n} of the projection"),
        };
        let text = format!("{} {}{of}", self.glyphs.gap, count(events as u64, "event"));
        rows.lines.push(Line::new().with(&text, Tone::Dim));
    }

    /// How the run ended, in the column of the thread that ended it.
    fn end(&self, rows: &mut Rows) {
        let thread = self.verdict.thread.map_or(0, |name| self.column(name));
        if self.verdict.thread.is_some() {
            self.name_thread(rows, thread);
        }
        let text = escape::visible(&self.verdict.end).into_owned();
        let lead = format!("{} ", self.verdict.sign);
        let mut parts = wrap(&text, (self.text_room(thread) + 2).saturating_sub(columns(&lead)));
        let cut = parts.len() > MESSAGE;
        parts.truncate(MESSAGE);
        for (index, part) in parts.iter().enumerate() {
            let lead = if index == 0 { lead.clone() } else { " ".repeat(columns(&lead)) };
            let more = if cut && index + 1 == MESSAGE { self.glyphs.ellipsis } else { "" };
            let mut line = self.lifelines(thread);
            line.push(&format!("{lead}{part}{more}"), self.verdict.tone);
            rows.lines.push(line);
        }
        rows.current = None;
    }

    /// The events of the root cause that this run never came to.
    fn absent(&self, rows: &mut Rows) {
        for Missing { who, why } in &self.side.missing {
            let thread = self.column(&who.key.thread);
            self.name_thread(rows, thread);
            let label = self.columns.names.label(&who.place);
            let source = self.columns.sources.line(&who.place);
            if self.columns.brief {
                let said = format!("{label} {why}");
                let source = format!("   {}", source.unwrap_or_default());
                let fits = columns(&said) + columns(&source) <= self.text_room(thread);
                let text = if fits { said + &source } else { said };
                let text = Line::new().with(&escape::visible(text.trim_end()), self.verdict.tone);
                self.row(rows, thread, self.glyphs.missing, text, false);
                continue;
            }
            let text = match source {
                Some(source) => format!("{label}: {source}"),
                None if label.is_empty() => who.verb.to_string(),
                None => format!("{label}: {}", who.verb),
            };
            let room = self.text_room(thread);
            let text = keep_start(&escape::visible(&text), room, self.glyphs.ellipsis);
            self.row(rows, thread, self.glyphs.missing, Line::new().with(&text, Tone::Dim), false);
            let said = format!("  {why}");
            let said = Line::new().with(&said, self.verdict.tone);
            self.row(rows, thread, " ", said, false);
        }
    }

    /// A row of a thread: the other threads' lines up to its column, its sign, its text.
    fn row(&self, rows: &mut Rows, thread: usize, sign: &str, text: Line, causal: bool) {
        let mut line = self.lifelines(thread);
        let tone = if causal { self.verdict.tone } else { Tone::Dim };
        line.push(&format!("{sign} "), tone);
        line.append(text);
        rows.lines.push(line);
    }

    fn lifelines(&self, thread: usize) -> Line {
        let mut line = Line::new();
        if self.layout.step > 0 {
            for index in 0..thread {
                line.push(self.glyphs.idle, Tone::Dim);
                line.pad((index + 1) * self.layout.step);
            }
        }
        line
    }

    /// In a list the thread's name stands before its first event in a row.
    fn name_thread(&self, rows: &mut Rows, thread: usize) {
        if self.layout.step == 0 && rows.named != Some(thread) {
            let name = self.columns.threads[thread].to_string();
            rows.lines.push(Line::new().with(&name, Tone::Strong));
            rows.named = Some(thread);
            rows.current = None;
        }
    }

    fn column(&self, name: &ThreadName) -> usize {
        self.columns.threads.iter().position(|n| n == name).unwrap_or(0)
    }

    /// Columns for the text of an event of this thread.
    fn text_room(&self, thread: usize) -> usize {
        self.layout.room(thread + 1)
    }
}

/// Whether a source line says what the event does: `pthread_mutex_lock(&m)` needs no `lock m` below it.
fn says_it_all(trace: &Trace, kind: &EventKind, source: &str) -> bool {
    match kind {
        EventKind::Lock { at, shared: false } | EventKind::Unlock { at } => {
            let name = trace.locations.get(at.0 as usize).map(|location| location.name.as_str());
            name.is_some_and(|name| !name.is_empty() && source.contains(name))
                && source.contains("lock")
        }
        _ => false,
    }
}
