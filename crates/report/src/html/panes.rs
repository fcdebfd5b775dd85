//! The source files that matter, with the lines that matter marked. Of long files only what is near such lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use maud::{Markup, html};
use unravel_trace::{Place, user_place};

use super::shown::steps;
use super::timeline::Timeline;
use crate::escape::visible;
use crate::side::Side;
use crate::source::Sources;
use crate::words;

/// Files up to this many lines are shown in full.
const SHORT_FILE: usize = 400;
/// Lines shown around those that matter, on a screen and on paper.
const AROUND: usize = 15;
const AROUND_ON_PAPER: usize = 4;

/// Threads named beside a line.
const MOST_NAMES: usize = 3;

/// What is remarkable about a line.
#[derive(Default)]
struct Mark {
    causal: bool,
    differs: bool,
    failure: bool,
    /// Threads with a shown event here, by lane.
    threads: BTreeSet<usize>,
}

type Marks = BTreeMap<u32, Mark>;

pub fn panes(timeline: &Timeline<'_>, sources: &Sources) -> Markup {
    let files = marks(timeline);
    html! {
        div.sources tabindex="0" role="region" aria-label="Source" {
            h4 { "Source" }
            @if files.is_empty() {
                p.missing { "There is no line information: the program was built without debug information." }
            }
            @for (file, marks) in &files { (pane(timeline, sources, file, marks)) }
        }
    }
}

/// The lines that matter, by file.
fn marks(timeline: &Timeline<'_>) -> BTreeMap<Arc<str>, Marks> {
    let mut files: BTreeMap<Arc<str>, Marks> = BTreeMap::new();
    let mut mark = |place: Option<&Place>, change: &dyn Fn(&mut Mark)| {
        if let Some(place) = place.filter(|place| place.line != 0) {
            change(files.entry(place.file.clone()).or_default().entry(place.line).or_default());
        }
    };
    let mut side = |side: &Side<'_>| {
        let trace = &side.run.trace;
        for step in steps(side) {
            let event = &trace.events[step.event as usize];
            let lane = timeline.lane_of(trace, event.thread);
            mark(words::place(trace, event), &|mark| {
                mark.differs |= step.projected;
                mark.threads.insert(lane);
            });
        }
    };
    side(&timeline.failing);
    timeline.passing.iter().for_each(side);
    let diagnosis = timeline.diagnosis;
    for order in diagnosis.root_cause.iter().flat_map(|cause| &cause.orders) {
        for who in [&order.first, &order.second] {
            let lane = timeline.lane(&who.key.thread);
            mark(Some(&who.place), &|mark| {
                mark.causal = true;
                mark.threads.insert(lane);
            });
        }
    }
    mark(diagnosis.failure.place(), &|mark| mark.failure = true);
    let related = diagnosis.failure.related.iter().map(|related| user_place(&related.stack));
    related.for_each(|place| mark(place, &|_| {}));
    files
}

fn pane(timeline: &Timeline<'_>, sources: &Sources, file: &Arc<str>, marks: &Marks) -> Markup {
    let lines = sources.lines(file);
    html! {
        figure.file {
            figcaption { (visible(file)) }
            @match lines {
                None => {
                    p.missing { "This file was not found where the program was built; its lines cannot be shown." }
                }
                Some(lines) => ol.code {
                    @let shown = excerpt(lines.len(), marks);
                    @for (index, line) in shown.iter().enumerate() {
                        @if index > 0 && shown[index - 1] + 1 < *line { li.skipped { "⋮" } }
                        (code(timeline, file, *line, &lines[*line as usize - 1], marks))
                    }
                }
            }
        }
    }
}

/// The numbers of the lines that are shown.
fn excerpt(lines: usize, marks: &Marks) -> Vec<u32> {
    let all = 1..=lines as u32;
    if lines <= SHORT_FILE {
        return all.collect();
    }
    all.filter(|line| is_near(*line, marks, AROUND)).collect()
}

fn is_near(line: u32, marks: &Marks, around: usize) -> bool {
    let around = around as u32;
    marks.range(line.saturating_sub(around)..=line + around).next().is_some()
}

fn code(timeline: &Timeline<'_>, file: &Arc<str>, line: u32, text: &str, marks: &Marks) -> Markup {
    let place = Place { function: "".into(), file: file.clone(), line, column: 0, wrapper: false };
    let mark = marks.get(&line);
    let near = is_near(line, marks, AROUND_ON_PAPER).then_some("near");
    let text = text.replace('\t', "    ");
    html! {
        li class=[near] data-place=[timeline.key(&place)] {
            span.number { (line) }
            div {
                code { (visible(&text)) }
                @if let Some(mark) = mark { (badges(timeline, mark)) }
            }
        }
    }
}

fn badges(timeline: &Timeline<'_>, mark: &Mark) -> Markup {
    html! {
        span.badges {
            @if mark.causal { span.badge.causal { "● root cause" } }
            @if mark.differs && !mark.causal { span.badge.differs { "≠ differs" } }
            @if mark.failure { span.badge.failure { "✗ failure" } }
            @let names: Vec<String> = mark.threads.iter().map(|lane| timeline.threads[*lane].to_string()).collect();
            @if names.len() > MOST_NAMES {
                span.badge.who title=(names.join(", ")) { (names.len()) " threads" }
            } @else {
                @for name in &names { span.badge.who { (name) } }
            }
        }
    }
}
