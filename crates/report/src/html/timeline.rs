//! Both schedules side by side: which rows there are, which lanes, and the frame around them.
//!
//! A row is an event, time goes down. The lanes of the threads, the arrows and the bracket of what should be atomic are
//! drawn by `page/lanes.js` from the data of `shown.rs`; without it, rows still say which thread does what.

use std::collections::BTreeSet;
use std::sync::Arc;

use maud::{Markup, html};
use unravel_results::{Alternate, Diagnosis, Observed};
use unravel_trace::{EventKind, Place, ThreadId, ThreadName, Trace};

use super::row;
use super::twins::Twins;
use crate::names::{self, Names};
use crate::side::{self, Side};
use crate::source::Sources;
use crate::words::{self, count};

/// Events shown first of each run; the others are there on demand.
const MOST_SHOWN: usize = 150;
/// Runs with more events than this, together, are not embedded in full.
const MOST_EMBEDDED: usize = 400_000;

/// What the page shows of a diagnosis' two runs.
pub struct Timeline<'d> {
    pub diagnosis: &'d Diagnosis,
    pub failing: Side<'d>,
    pub passing: Option<Side<'d>>,
    pub names: Names,
    /// A lane each: first those that matter, by birth, then all others.
    pub threads: Vec<ThreadName>,
    /// How many of them matter.
    pub involved: usize,
    pub twins: Twins,
    /// What stands beside the failing run.
    pub beside: Beside,
    files: Vec<Arc<str>>,
}

/// Which passing run it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beside {
    Nearest,
    /// A run that was executed before, from which a hunt got to the failure.
    Derived,
}

impl Beside {
    pub fn name(self) -> &'static str {
        match self {
            Beside::Nearest => "the nearest run that passes",
            Beside::Derived => "the run it was derived from",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Beside::Nearest => "Nearest passing schedule",
            Beside::Derived => "Run it was derived from",
        }
    }
}

impl<'d> Timeline<'d> {
    pub fn of(diagnosis: &'d Diagnosis) -> Timeline<'d> {
        let first = diagnosis.alternates.first();
        let failing = side::failing(
            diagnosis,
            first.map(|a| &a.projection),
            side::Extent::Projection(MOST_SHOWN),
        );
        let passing = first.map(|alternate| {
            side::alternate(diagnosis, alternate, side::Extent::Projection(MOST_SHOWN))
        });
        let sides: Vec<&Side<'_>> = [&failing].into_iter().chain(&passing).collect();
        let names = Names::of(&sides);
        let mut threads = names::threads(&sides, &diagnosis.failure.thread);
        let involved = threads.len();
        let traces = || sides.iter().map(|side| &side.run.trace);
        let all: BTreeSet<&ThreadName> = traces().flat_map(|trace| &trace.threads).collect();
        let others: Vec<ThreadName> =
            all.into_iter().filter(|name| !threads.contains(name)).cloned().collect();
        threads.extend(others);
        let twins = Twins::of(&failing.run.trace, passing.as_ref().map(|s| &s.run.trace));
        let files = files(diagnosis, traces());
        let beside = Beside::Nearest;
        Timeline { diagnosis, failing, passing, names, threads, involved, twins, beside, files }
    }

    /// The same where the passing run is the one that the failing run was derived from.
    pub fn derived(comparison: &'d Diagnosis) -> Timeline<'d> {
        Timeline { beside: Beside::Derived, ..Timeline::of(comparison) }
    }

    /// Whether all events of both runs are in the page.
    pub fn is_complete(&self) -> bool {
        let passing = self.passing.as_ref().map_or(0, |side| side.run.trace.events.len());
        self.failing.run.trace.events.len() + passing <= MOST_EMBEDDED
    }

    pub fn lane(&self, name: &ThreadName) -> usize {
        self.threads.iter().position(|n| n == name).unwrap_or(0)
    }

    pub fn lane_of(&self, trace: &Trace, thread: ThreadId) -> usize {
        self.lane(trace.thread_name(thread))
    }

    /// What links rows and source lines: `0:53`, the number of the file and the line.
    pub fn key(&self, place: &Place) -> Option<String> {
        let file = self.files.binary_search(&place.file).ok().filter(|_| place.line != 0)?;
        Some(format!("{file}:{}", place.line))
    }

    pub fn view(&self, sources: &Sources) -> Markup {
        html! {
            div.panels {
                (self.panel(&self.failing, sources, &Panel {
                    class: "failing",
                    sign: "✗",
                    title: "Failing schedule",
                    about: about(self.failing.run, None),
                    end: words::failure(&self.diagnosis.failure),
                    thread: Some(&self.diagnosis.failure.thread),
                    twins: &self.twins.failing,
                }))
                @if let (Some(passing), Some(alternate)) = (&self.passing, self.diagnosis.alternates.first()) {
                    (self.panel(passing, sources, &Panel {
                        class: "passing",
                        sign: "✓",
                        title: self.beside.title(),
                        about: about(passing.run, Some(alternate)),
                        end: passing.run.outcome.to_string(),
                        thread: None,
                        twins: &self.twins.passing,
                    }))
                }
            }
        }
    }

    fn panel(&self, side: &Side<'_>, sources: &Sources, panel: &Panel<'_>) -> Markup {
        html! {
            section.panel.(panel.class) aria-label=(panel.title) {
                header {
                    h4 { span.sign aria-hidden="true" { (panel.sign) } " " (panel.title) }
                    p { (panel.about) }
                }
                div.scroller tabindex="0" {
                    div.lane-names aria-hidden="true" {}
                    ol.rows aria-label=(panel.title) {
                        (row::rows(self, side, sources, panel))
                    }
                }
            }
        }
    }
}

/// What a run's panel says around its rows.
pub struct Panel<'d> {
    pub class: &'static str,
    pub sign: &'static str,
    title: &'static str,
    about: String,
    pub end: String,
    /// Whose lane the end belongs to.
    pub thread: Option<&'d ThreadName>,
    pub twins: &'d [Option<u32>],
}

/// `54 events, 4 context switches`.
fn about(run: &Observed, alternate: Option<&Alternate>) -> String {
    let events = count(run.trace.events.len() as u64, "event");
    let switches = count(run.schedule.context_switches() as u64, "context switch");
    let path = match alternate {
        Some(alternate) if !alternate.same_path => ", on another path",
        _ => "",
    };
    format!("{events}, {switches}{path}")
}

/// Every file that a row, an order or the failure may name, sorted.
fn files<'t>(diagnosis: &Diagnosis, traces: impl Iterator<Item = &'t Trace>) -> Vec<Arc<str>> {
    let mut files: BTreeSet<Arc<str>> = BTreeSet::new();
    for trace in traces {
        let sites = trace.sites.iter().map(|(_, site)| site);
        let places = sites.flat_map(|site| [&site.place].into_iter().chain(&site.inlined_at));
        files.extend(places.map(|place| place.file.clone()));
    }
    let orders = diagnosis.root_cause.iter().flat_map(|cause| &cause.orders);
    files.extend(orders.flat_map(|o| [o.first.place.file.clone(), o.second.place.file.clone()]));
    let related = diagnosis.failure.related.iter().flat_map(|related| &related.stack);
    files.extend(diagnosis.failure.stack.iter().chain(related).map(|place| place.file.clone()));
    files.into_iter().collect()
}

/// From which event on a thread lives, and with which it ends; `None` if the run ended before it.
pub fn life(trace: &Trace, thread: ThreadId) -> (usize, Option<usize>) {
    let born = trace.events.iter().position(|e| e.kind == EventKind::Fork { child: thread });
    let ended = trace.events.iter().rposition(|e| e.thread == thread && e.kind == EventKind::Exit);
    (born.unwrap_or(0), ended)
}
