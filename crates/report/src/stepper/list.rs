//! The source around a line: where the run stands, where it would stop, where the other threads are.

use unravel_trace::{Place, ThreadId, is_path_end};

use super::breakpoints::What;
use super::output::Output;
use super::threads::Stage;
use super::{Stepper, names};
use crate::terminal::line::{Line, Tone};

/// Lines shown at once.
const LINES: u32 = 10;

impl Stepper<'_> {
    /// The place of the next event; at the end, of the failure.
    fn source_place(&self) -> Option<(String, u32)> {
        let place = if self.position < self.history.len() {
            names::place(self.history.trace, self.position)
        } else {
            self.subject.outcome.failure().and_then(|failure| failure.place())
        };
        place.filter(|place| place.line != 0).map(|place| (place.file.to_string(), place.line))
    }

    /// The file that a line without a file is in: the one listed last, else that of the next event, else that of the
    /// last event that has one.
    pub(super) fn file(&self) -> Option<String> {
        let listed = self.listed.as_ref().map(|(file, _)| file.clone());
        let here = || self.source_place().map(|(file, _)| file);
        let before = || {
            let known = (0..self.position.min(self.history.len())).rev();
            let mut known = known.filter_map(|event| names::place(self.history.trace, event));
            known.next().map(|place| place.file.to_string())
        };
        listed.or_else(here).or_else(before)
    }

    pub(super) fn list(&mut self, place: Option<&str>, out: &mut Output) -> Result<(), String> {
        let (file, first) = match place {
            Some(text) => {
                let wanted = names::line(text)
                    .ok_or_else(|| format!("'{text}' is no line: write LINE or FILE:LINE"))?;
                let file = match wanted.file {
                    Some(name) => self.whole_name(&name),
                    None => self.file().ok_or("which file? write FILE:LINE")?,
                };
                (file, wanted.line.saturating_sub(LINES / 2).max(1))
            }
            None => match (self.listed.clone(), self.source_place()) {
                (Some((file, next)), _) => (file, next),
                (None, Some((file, line))) => (file, line.saturating_sub(LINES / 2).max(1)),
                (None, None) => return Err("no line is known here".to_owned()),
            },
        };
        let here = self.source_place();
        let mut shown = 0;
        for line in first..first.saturating_add(LINES) {
            let Some(text) = self.text(&file, line) else { break };
            let is_here = here.as_ref().is_some_and(|(f, l)| *f == file && *l == line);
            self.list_line(&file, line, &text, is_here, out);
            shown += 1;
        }
        if shown == 0 {
            let short = file.rsplit('/').next().unwrap_or(&file);
            return Err(match self.text(&file, 1) {
                Some(_) => format!("{short} ends before line {first}"),
                None => format!("the source {short} cannot be read"),
            });
        }
        self.listed = Some((file, first + shown));
        Ok(())
    }

    fn text(&self, file: &str, line: u32) -> Option<String> {
        let place =
            Place { function: "".into(), file: file.into(), line, column: 0, wrapper: false };
        self.sources.whole_line(&place)
    }

    fn list_line(&self, file: &str, line: u32, text: &str, is_here: bool, out: &mut Output) {
        let stops = self.breakpoints.iter().any(|breakpoint| {
            matches!(&breakpoint.what, What::Line { file: name, line: own, .. }
                if *own == line && is_path_end(name, file))
        });
        let mark = if stops { "b" } else { " " };
        let pointer = if is_here { out.arrow() } else { "" };
        let mut row = Line::new().with(mark, Tone::Bad).with(pointer, Tone::Strong);
        row.pad(4);
        row.push(&format!("{line:>4}  "), Tone::Dim);
        let tone = if is_here { Tone::Strong } else { Tone::Plain };
        row.push(&text.replace('\t', "    "), tone);
        let others = self.threads_at(file, line);
        if !others.is_empty() {
            row.push(&format!("   <- {}", others.join(", ")), Tone::Good);
        }
        out.line(row);
    }

    /// The other threads whose next event is at a line.
    fn threads_at(&self, file: &str, line: u32) -> Vec<String> {
        let all = (0..self.history.trace.threads.len() as u32).map(ThreadId);
        let there = all.filter(|thread| {
            match self.history.stage(*thread, self.position, self.subject.outcome) {
                Stage::Before { event, .. } if event != self.position => {
                    names::place(self.history.trace, event)
                        .is_some_and(|place| place.line == line && &*place.file == file)
                }
                _ => false,
            }
        });
        there.map(|thread| self.name(thread)).collect()
    }

    /// A file of the trace by the end of its name.
    fn whole_name(&self, name: &str) -> String {
        let sites = self.history.trace.sites.iter().map(|(_, site)| site);
        let mut places = sites.flat_map(|s| std::iter::once(&s.place).chain(&s.inlined_at));
        let found = places.find(|place| is_path_end(name, &place.file));
        found.map_or_else(|| name.to_owned(), |place| place.file.to_string())
    }
}
