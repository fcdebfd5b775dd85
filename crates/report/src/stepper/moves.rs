//! Going from position to position, and the breakpoints that are stopped at.

use unravel_trace::ThreadId;

use super::Stepper;
use super::breakpoints::{self, Breakpoint, On};
use super::command::Target;
use super::history::{first_from, last_before};
use super::names;
use super::output::Output;
use crate::terminal::line::{Line, Tone};
use crate::words;

const AT_START: &str = "this is the start of the run";
const AT_END: &str = "this is the end of the run: `back` goes back, `start` to its start";

impl Stepper<'_> {
    fn end(&self) -> usize {
        self.history.len()
    }

    fn move_to(&mut self, position: usize, out: &mut Output) {
        self.position = position;
        self.listed = None;
        self.show(out);
    }

    pub(super) fn next(&mut self, count: usize, out: &mut Output) -> Result<(), String> {
        if self.position == self.end() {
            out.plain(AT_END);
            return Ok(());
        }
        self.move_to(self.position.saturating_add(count).min(self.end()), out);
        Ok(())
    }

    pub(super) fn back(&mut self, count: usize, out: &mut Output) -> Result<(), String> {
        if self.position == 0 {
            out.plain(AT_START);
            return Ok(());
        }
        self.move_to(self.position.saturating_sub(count), out);
        Ok(())
    }

    /// The first position after this one that some breakpoint stops at.
    fn next_stop(&self, from: usize) -> Option<usize> {
        self.breakpoints.iter().filter_map(|b| first_from(&b.positions, from + 1)).min()
    }

    fn last_stop(&self, from: usize) -> Option<usize> {
        self.breakpoints.iter().filter_map(|b| last_before(&b.positions, from)).max()
    }

    pub(super) fn go_on(&mut self, count: usize, out: &mut Output) -> Result<(), String> {
        if self.position == self.end() {
            out.plain(AT_END);
            return Ok(());
        }
        let mut position = self.position;
        for _ in 0..count {
            match self.next_stop(position) {
                Some(next) => position = next,
                None => {
                    position = self.end();
                    break;
                }
            }
        }
        self.stop_at(position, out);
        Ok(())
    }

    pub(super) fn go_back(&mut self, count: usize, out: &mut Output) -> Result<(), String> {
        if self.position == 0 {
            out.plain(AT_START);
            return Ok(());
        }
        let mut position = self.position;
        for _ in 0..count {
            match self.last_stop(position) {
                Some(last) => position = last,
                None => {
                    position = 0;
                    break;
                }
            }
        }
        self.stop_at(position, out);
        Ok(())
    }

    /// Goes there, and says which breakpoints are the reason.
    fn stop_at(&mut self, position: usize, out: &mut Output) {
        let mut reasons: Vec<String> = Vec::new();
        for breakpoint in self.breakpoints.iter().filter(|b| b.is_at(position)) {
            let (kind, text) = (breakpoint.kind(), breakpoint.text(&self.history));
            reasons.push(format!("{kind} {}, {text}", breakpoint.number));
        }
        if reasons.is_empty() && position == 0 {
            reasons.push(AT_START.to_owned());
        }
        for reason in reasons {
            out.line(Line::new().with(&reason, Tone::Strong));
        }
        self.move_to(position, out);
    }

    pub(super) fn go_to(&mut self, target: &Target, out: &mut Output) -> Result<(), String> {
        let end = self.end();
        let position = match target {
            Target::Start => 0,
            Target::End => end,
            // Behind the last event is the end.
            Target::Event(number) if (1..=end + 1).contains(number) => number - 1,
            Target::Event(number) => {
                return Err(format!("there is no event {number}: this run has {end}"));
            }
        };
        self.move_to(position, out);
        Ok(())
    }

    pub(super) fn until(&mut self, place: &str, out: &mut Output) -> Result<(), String> {
        let found = self.resolve(place, None)?;
        let Some(next) = first_from(&found.positions, self.position + 1) else {
            let text = found.text(&self.history);
            let last = found.positions.last().map_or(0, |last| last + 1);
            out.plain(&format!("the run does not come to {text} any more; last at event {last}"));
            return Ok(());
        };
        self.move_to(next, out);
        Ok(())
    }

    /// The thread whose event is next; at the end, the one of the last event.
    fn current(&self) -> Option<ThreadId> {
        let events = &self.history.trace.events;
        events.get(self.position).or(events.last()).map(|event| event.thread)
    }

    pub(super) fn on_to_thread(
        &mut self,
        name: Option<&str>,
        count: usize,
        out: &mut Output,
    ) -> Result<(), String> {
        let thread = match name {
            Some(name) => names::thread(self.history.trace, name)?,
            None => self.current().ok_or(AT_END)?,
        };
        let mut position = self.position;
        for _ in 0..count {
            let Some(next) = first_from(self.history.of_thread(thread), position + 1) else {
                let name = &self.history.trace.threads[thread.index()];
                let words = self.stage_words(thread, self.end()).1;
                out.plain(&format!("{name} has no further event: {words}"));
                return Ok(());
            };
            position = next;
        }
        self.move_to(position, out);
        Ok(())
    }

    pub(super) fn back_in_thread(&mut self, count: usize, out: &mut Output) -> Result<(), String> {
        let thread = self.current().ok_or(AT_START)?;
        let mut position = self.position;
        for _ in 0..count {
            let Some(last) = last_before(self.history.of_thread(thread), position) else {
                let name = &self.history.trace.threads[thread.index()];
                out.plain(&format!("{name} has no earlier event"));
                return Ok(());
            };
            position = last;
        }
        self.move_to(position, out);
        Ok(())
    }

    /// Whether another thread has its turn here than just before.
    pub(super) fn is_switch(&self, position: usize) -> bool {
        let events = &self.history.trace.events;
        position > 0
            && position < events.len()
            && events[position - 1].thread != events[position].thread
    }

    pub(super) fn on_to_switch(&mut self, count: usize, out: &mut Output) -> Result<(), String> {
        let ahead = (self.position + 1..self.end()).filter(|position| self.is_switch(*position));
        match ahead.take(count).last() {
            Some(position) => self.move_to(position, out),
            None => out.plain("there is no further context switch"),
        }
        Ok(())
    }

    pub(super) fn back_to_switch(&mut self, count: usize, out: &mut Output) -> Result<(), String> {
        let before = (1..self.position).rev().filter(|position| self.is_switch(*position));
        match before.take(count).last() {
            Some(position) => self.move_to(position, out),
            None => out.plain("there is no earlier context switch"),
        }
        Ok(())
    }

    fn resolve(&self, text: &str, watch: Option<On>) -> Result<Breakpoint, String> {
        let here = self.file();
        breakpoints::resolve(&self.history, text, here.as_deref(), watch)
    }

    pub(super) fn set_break(
        &mut self,
        text: &str,
        watch: Option<On>,
        out: &mut Output,
    ) -> Result<(), String> {
        let mut found = self.resolve(text, watch)?;
        self.numbered += 1;
        found.number = self.numbered;
        let times = words::count(found.positions.len() as u64, "time");
        out.line(Line::new().with(
            &format!(
                "{} {}, {}: stops {times}, first at event {}",
                found.kind(),
                found.number,
                found.text(&self.history),
                found.positions[0] + 1
            ),
            Tone::Plain,
        ));
        self.breakpoints.push(found);
        Ok(())
    }

    pub(super) fn delete(&mut self, number: Option<usize>, out: &mut Output) -> Result<(), String> {
        let before = self.breakpoints.len();
        self.breakpoints.retain(|b| number.is_some_and(|number| b.number != number));
        let gone = before - self.breakpoints.len();
        match number {
            Some(number) if gone == 0 => return Err(format!("there is no breakpoint {number}")),
            _ => out.plain(&format!("{} deleted", words::count(gone as u64, "breakpoint"))),
        }
        Ok(())
    }
}
