//! The rows of a schedule: an event, a gap, an event that the run never reached, the end.
//!
//! Scripts know a row by its classes and data: `data-event` is its index in the trace, `data-thread` its lane,
//! `data-place` its source line, `data-twin` the same event of the other run.

use maud::{Markup, html};
use unravel_results::Flow;
use unravel_trace::{Place, Trace};

use super::timeline::{Panel, Timeline};
use crate::escape::visible;
use crate::side::{Item, Missing, Side, Step};
use crate::source::Sources;
use crate::words::{self, Phrase, count};

pub fn rows(
    timeline: &Timeline<'_>,
    side: &Side<'_>,
    sources: &Sources,
    panel: &Panel<'_>,
) -> Markup {
    let writer = Writer { timeline, side, sources, panel };
    // What threads wait for in vain is why the run ended; what was not reached comes after the end.
    let waits = side.missing.iter().any(|missing| missing.why == words::WAITS);
    let mut next = 0;
    let mut row = |item: &Item| match item {
        Item::Event(step) => {
            next = step.event as usize + 1;
            writer.event(step)
        }
        Item::Gap { events, projected } => {
            let from = next;
            next += events;
            writer.gap(from, *events, *projected)
        }
    };
    html! {
        @for item in &side.items { (row(item)) }
        @if !waits { (writer.end()) }
        @for missing in &side.missing { (writer.missing(missing)) }
        @if waits { (writer.end()) }
    }
}

/// The parts of a row that every event has. Scripts fill an empty one for each event that is not shown at first.
pub fn template() -> Markup {
    let nothing = Phrase { verb: "", name: String::new(), rest: String::new() };
    html! {
        template.event-row { li.row.step { (text("", "", None, &nothing)) } }
    }
}

fn text(thread: &str, label: &str, source: Option<&str>, phrase: &Phrase) -> Markup {
    html! {
        span.lanes {}
        span.line { bdi { (visible(label)) } }
        code.source { (visible(source.unwrap_or_default())) }
        span.what {
            span.thread { (thread) } " "
            span.phrase { (phrase.verb) " " b { bdi { (visible(&phrase.name)) } } span { (visible(&phrase.rest)) } }
        }
    }
}

struct Writer<'w, 'd> {
    timeline: &'w Timeline<'d>,
    side: &'w Side<'d>,
    sources: &'w Sources,
    panel: &'w Panel<'w>,
}

impl Writer<'_, '_> {
    fn trace(&self) -> &Trace {
        &self.side.run.trace
    }

    fn event(&self, step: &Step) -> Markup {
        let trace = self.trace();
        let index = step.event as usize;
        let event = &trace.events[index];
        let is_same = |other: Option<usize>| {
            other.and_then(|i| trace.events.get(i)).is_some_and(|e| e.thread == event.thread)
        };
        let classes = [
            ("causal", step.causal),
            ("projected", step.projected || step.causal),
            ("starts", !is_same(index.checked_sub(1))),
            ("ends", !is_same(Some(index + 1))),
        ];
        let classes = classes.iter().filter(|(_, holds)| *holds).map(|(name, _)| *name);
        let classes: Vec<&str> = ["row", "step"].into_iter().chain(classes).collect();
        let place = words::place(trace, event);
        let (label, source) = self.line(place);
        let thread = trace.thread_name(event.thread);
        html! {
            li class=(classes.join(" ")) data-event=(step.event)
                data-thread=(self.timeline.lane(thread))
                data-place=[place.and_then(|p| self.timeline.key(p))]
                data-twin=[self.panel.twins[index]] {
                @let thread = thread.to_string();
                (text(&thread, &label, source.as_deref(), &words::phrase(trace, event)))
                @if step.causal { span.mark role="img" aria-label="root cause" title="named by the root cause" { "●" } }
                @for flow in &step.flows { span.from { "◀ " (self.origin(flow)) } }
                @if step.other_path { span.from { "↯ other path" } }
            }
        }
    }

    /// Where a read takes its value from.
    fn origin(&self, flow: &Flow) -> String {
        match flow.from {
            Some(writer) => format!("from {}", self.timeline.names.writer(self.trace(), writer)),
            None => "initial value".to_owned(),
        }
    }

    /// A place's short name and the text of its line.
    fn line(&self, place: Option<&Place>) -> (String, Option<String>) {
        let label = place.map_or(String::new(), |place| self.timeline.names.label(place));
        (label, place.and_then(|place| self.sources.line(place)))
    }

    fn gap(&self, from: usize, events: usize, projected: usize) -> Markup {
        let to = from + events;
        let hidden = &self.trace().events[from..to];
        let switches = hidden.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count();
        let mut said = count(events as u64, "event");
        if switches > 0 {
            said += &format!(", {}", count(switches as u64, "context switch"));
        }
        if projected > 0 {
            said += &format!(", {projected} of the projection");
        }
        html! {
            li.row.gap data-from=(from) data-to=(to) {
                span.lanes {}
                @if self.timeline.is_complete() {
                    button.open type="button" { span aria-hidden="true" { "⋮ " } (said) }
                } @else {
                    span.open { "⋮ " (said) }
                }
            }
        }
    }

    fn end(&self) -> Markup {
        html! {
            li.row.end data-thread=[self.panel.thread.map(|name| self.timeline.lane(name))] {
                span.lanes {}
                span.what title=(visible(&self.panel.end)) { (self.panel.sign) " " (visible(&self.panel.end)) }
            }
        }
    }

    /// An event of the root cause that the run never came to.
    fn missing(&self, missing: &Missing<'_>) -> Markup {
        let who = missing.who;
        let (label, source) = self.line(Some(&who.place));
        html! {
            li.row.missing data-thread=(self.timeline.lane(&who.key.thread))
                data-place=[self.timeline.key(&who.place)] {
                span.lanes {}
                span.line { bdi { (visible(&label)) } }
                code.source { (visible(&source.unwrap_or_else(|| who.verb.to_string()))) }
                span.what { span.thread { (who.key.thread) } " " b { (missing.why) } }
            }
        }
    }
}
