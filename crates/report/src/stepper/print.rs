//! Variables and locks by name: what they hold, who wrote it, who is next.

use unravel_trace::{EventKind, LocationId, Value};

use super::Stepper;
use super::history::first_from;
use super::names;
use super::output::Output;
use super::values::{Known, is_known};
use crate::terminal::line::{Line, Tone};

/// Variables that one command shows; the rest is counted.
const ROWS: usize = 40;

impl Stepper<'_> {
    pub(super) fn print(&self, name: &str, out: &mut Output) -> Result<(), String> {
        match names::locations(&self.history, name)?.as_slice() {
            [one] => self.print_one(*one, out),
            several => self.print_short("", several, out),
        }
        Ok(())
    }

    /// The name of a location, with its object where another one is called the same.
    pub(super) fn full_name(&self, at: LocationId) -> String {
        let trace = self.history.trace;
        let name = self.location(at);
        let twins = trace.locations.iter().filter(|other| other.name == name).count();
        let object = trace.locations.get(at.0 as usize).map(|location| location.object.0 as usize);
        match object.and_then(|object| trace.objects.get(object)) {
            Some(object) if twins > 1 && object.name != name => format!("{name} ({})", object.name),
            _ => name.to_owned(),
        }
    }

    /// A line for each location.
    pub(super) fn print_short(&self, lead: &str, locations: &[LocationId], out: &mut Output) {
        for at in locations.iter().take(ROWS) {
            let mut line = Line::new().with(lead, Tone::Dim);
            self.value_words(*at, &mut line);
            if !self.history.accesses(*at).is_empty()
                && let Some(written) = self.history.known(*at, self.position).written
                && self.subject.order_known
            {
                line.push(&format!("  (written by {})", self.who(written)), Tone::Dim);
            }
            out.line(line);
        }
        if locations.len() > ROWS {
            out.dim(&format!("and {} more", locations.len() - ROWS));
        }
    }

    /// `BankTotal = 300`, `lock: free`.
    fn value_words(&self, at: LocationId, line: &mut Line) {
        let name = self.full_name(at);
        line.push(&name, Tone::Strong);
        if !self.history.accesses(at).is_empty() {
            self.known_words(at, line);
        } else if !self.history.syncs(at).is_empty() {
            let sync = self.history.sync(at, self.position);
            line.push(&format!(": {}", self.sync_words(&sync)), Tone::Plain);
        } else {
            line.push(": no event reads or writes it", Tone::Plain);
        }
        if let Some(freed) = self.history.known(at, self.position).freed {
            line.push(&format!(" (freed by {})", self.who(freed)), Tone::Bad);
        }
    }

    /// A value as reports write it.
    pub(super) fn value(&self, at: LocationId, value: &Value) -> String {
        let location = self.history.trace.locations.get(at.0 as usize);
        location.map_or_else(|| value.to_string(), |location| location.show(value))
    }

    fn known_words(&self, at: LocationId, line: &mut Line) {
        let known = self.history.known(at, self.position);
        match &known {
            Known { value: Some(value), .. } => {
                line.push(&format!(" = {}", self.value(at, value)), Tone::Plain)
            }
            Known { seen: Some(_), .. } => line.push(" is not known", Tone::Plain),
            Known { seen: None, .. } => line.push(": no event has touched it yet", Tone::Plain),
        }
    }

    fn print_one(&self, at: LocationId, out: &mut Output) {
        let mut line = Line::new();
        self.value_words(at, &mut line);
        out.line(line);
        if self.history.accesses(at).is_empty() {
            let events = match self.history.syncs(at) {
                [] => self.history.lives(at),
                syncs => syncs,
            };
            self.print_next("next", first_from(events, self.position), out);
            return;
        }
        if self.subject.order_known {
            let known = self.history.known(at, self.position);
            match known.written {
                Some(event) => self.print_event("  written by ", event, out),
                None => {
                    if let Some(seen) = known.seen {
                        let who = self.who(seen);
                        let text = format!("  no event wrote it before; read by {who}");
                        out.line(Line::new().with(&text, Tone::Plain));
                    }
                }
            }
            if known.changed_since {
                out.plain("  it has changed since without an event");
            }
        }
        let (mut read, mut write) = (None, None);
        for other in self.history.overlapping(at) {
            let ahead = self.history.accesses(other).iter().copied();
            let ahead = ahead.skip_while(|event| *event < self.position);
            let next = ahead
                .clone()
                .find(|e| !matches!(self.history.event(*e).kind, EventKind::Write { .. }));
            read = [read, next].into_iter().flatten().min();
            let next = first_from(self.history.writes(other), self.position);
            write = [write, next].into_iter().flatten().min();
        }
        self.print_next("next read", read, out);
        self.print_next("next write", write, out);
    }

    fn print_next(&self, what: &str, event: Option<usize>, out: &mut Output) {
        match event {
            Some(event) => self.print_event(&format!("  {what}: "), event, out),
            None => out.dim(&format!("  {what}: none")),
        }
    }

    /// An event with its value and its line.
    fn print_event(&self, lead: &str, event: usize, out: &mut Output) {
        let mut line = Line::new().with(lead, Tone::Plain);
        line.push(&self.who(event), Tone::Plain);
        let value = match &self.history.event(event).kind {
            EventKind::Read { at, value } | EventKind::Write { at, value } => {
                is_known(value).then(|| format!(": {}", self.value(*at, value)))
            }
            EventKind::ReadModifyWrite { at, old, new } => {
                Some(format!(": {} -> {}", self.value(*at, old), self.value(*at, new)))
            }
            kind => Some(format!(": {}", kind.verb())),
        };
        line.push(&value.unwrap_or_default(), Tone::Plain);
        if let Some(text) =
            names::place(self.history.trace, event).and_then(|p| self.sources.line(p))
        {
            line.push(&format!("   {text}"), Tone::Dim);
        }
        out.line(line);
    }

    pub(super) fn display(&mut self, name: Option<String>, out: &mut Output) -> Result<(), String> {
        if let Some(name) = name {
            names::locations(&self.history, &name)?;
            self.displayed += 1;
            self.displays.push((self.displayed, name));
        }
        for (number, name) in &self.displays {
            self.print_short(&format!("{number}: "), &names::locations(&self.history, name)?, out);
        }
        Ok(())
    }

    pub(super) fn undisplay(
        &mut self,
        number: Option<usize>,
        _: &mut Output,
    ) -> Result<(), String> {
        let before = self.displays.len();
        self.displays.retain(|(own, _)| number.is_some_and(|number| *own != number));
        match number {
            Some(number) if before == self.displays.len() => {
                Err(format!("there is no display {number}"))
            }
            _ => Ok(()),
        }
    }
}
