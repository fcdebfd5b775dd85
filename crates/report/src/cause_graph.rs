//! A cause as a small graph, as ConcBugAssist draws one (figure 3.3): threads are columns, time goes down, program order
//! leads down a column, and the causal orders lead from one column to another.
//!
//! Every event has a row of its own, in the order of the failing run, so that a line in an event's row meets no other
//! event. Events that the failing run did not reach come last; among them the order is that of the cause, since no run
//! says more. What happens between the events of a cause is not drawn.

use std::collections::BTreeSet;
use std::sync::Arc;

use unravel_results::{Cause, Participant};
use unravel_trace::{Failure, Place, ThreadName};

use crate::source::Sources;
use crate::{FileNames, words};

/// The graph of one cause.
pub struct CauseGraph<'c> {
    /// In order of birth: a column each.
    pub threads: Vec<&'c ThreadName>,
    /// A row each, in order of time.
    pub events: Vec<GraphEvent<'c>>,
    /// Between events of different threads.
    pub orders: Vec<GraphOrder<'c>>,
    /// Whether all events are in one file, so that lines are enough; else what files are called.
    one_file: bool,
    names: FileNames,
}

/// An event of a cause.
pub struct GraphEvent<'c> {
    pub who: &'c Participant,
    /// What it touches, as the programmer wrote it.
    pub object: &'c str,
    /// Its column.
    pub lane: usize,
    /// Why the failing run does not have it; `None` if it does.
    pub absent: Option<&'static str>,
}

/// A causal order: numbers of events.
pub struct GraphOrder<'c> {
    pub from: usize,
    pub to: usize,
    pub object: &'c str,
}

impl<'c> CauseGraph<'c> {
    /// `failure` is how a run ends that keeps these orders, if that is known.
    pub fn of(cause: &'c Cause, failure: Option<&Failure>) -> CauseGraph<'c> {
        let mut found: Vec<(&Participant, &str)> = Vec::new();
        for order in &cause.orders {
            for who in [&order.first, &order.second] {
                if !found.iter().any(|(known, _)| known.key == who.key) {
                    found.push((who, &order.object));
                }
            }
        }
        found.sort_by_key(|(who, _)| who.event.unwrap_or(u32::MAX));
        let threads: BTreeSet<&ThreadName> = found.iter().map(|(who, _)| &who.key.thread).collect();
        let threads: Vec<&ThreadName> = threads.into_iter().collect();
        let number = |who: &Participant| found.iter().position(|(known, _)| known.key == who.key);
        let ends = |order: &'c unravel_results::CausalOrder| {
            let (from, to) = (number(&order.first)?, number(&order.second)?);
            Some(GraphOrder { from, to, object: &order.object })
        };
        let orders = cause.orders.iter().filter_map(ends).collect();
        let files: BTreeSet<&Arc<str>> = found
            .iter()
            .filter(|(who, _)| who.place.line != 0)
            .map(|(w, _)| &w.place.file)
            .collect();
        let event = |(who, object): &(&'c Participant, &'c str)| GraphEvent {
            who,
            object,
            lane: threads.iter().position(|name| **name == who.key.thread).unwrap_or(0),
            absent: match who.event {
                Some(_) => None,
                None => Some(words::absent(who, failure)),
            },
        };
        let events = found.iter().map(event).collect();
        let names = FileNames::of(found.iter().map(|(who, _)| (&who.place).into()));
        CauseGraph { events, threads, orders, one_file: files.len() == 1, names }
    }

    /// The next event of the same thread: an edge of program order.
    pub fn successor(&self, event: usize) -> Option<usize> {
        let lane = self.events[event].lane;
        (event + 1..self.events.len()).find(|next| self.events[*next].lane == lane)
    }

    /// `12: total = seen + 100;`, or what is known instead: a function, or nothing but what the event does.
    pub fn headline(&self, event: &GraphEvent<'_>, sources: &Sources) -> String {
        let place = &event.who.place;
        let text = sources.line(place).unwrap_or_else(|| event.does());
        match self.label(place) {
            label if label.is_empty() => text,
            label => format!("{label}: {text}"),
        }
    }

    /// What stands below the source line: what the event does, and why the failing run lacks it.
    pub fn details(&self, event: &GraphEvent<'_>, sources: &Sources) -> Vec<String> {
        let does = sources.line(&event.who.place).map(|_| event.does());
        does.into_iter().chain(event.absent.map(|why| format!("({why})"))).collect()
    }

    fn label(&self, place: &Place) -> String {
        match place.line {
            0 => place.function.to_string(),
            line if self.one_file => line.to_string(),
            _ => self.names.place(place),
        }
    }
}

impl GraphEvent<'_> {
    /// `writes x`.
    pub fn does(&self) -> String {
        format!("{} {}", self.who.verb, self.object).trim_end().to_owned()
    }
}
