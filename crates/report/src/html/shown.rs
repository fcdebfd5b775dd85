//! What scripts need to know of the rows that are shown first: lanes, arrows, the bracket, and the values at each step.
//!
//! Values at a step include what hidden events before it changed, so that every event of the run (`every.rs`) is read
//! only if somebody asks for it.

use serde::Serialize;
use unravel_trace::{EventKind, LocationId, ThreadId};

use super::stages::stages;
use super::strings::Strings;
use super::timeline::{Timeline, life};
use super::values::Changes;
use crate::side::{Item, RegionKind, Side, Step};
use crate::stepper::history::History;

/// Variables that are watched, if the shown events touch fewer.
const FEWEST_WATCHED: usize = 12;
const MOST_WATCHED: usize = 40;

#[derive(Serialize)]
pub struct Shown {
    threads: Vec<String>,
    involved: usize,
    failing: Run,
    passing: Option<Run>,
    /// Names of the watched variables.
    variables: Vec<String>,
    values: Strings,
    /// Event, variable, value; event, variable, value; …
    changes: Vec<u32>,
    /// What threads are about to do: for each shown event of the failing run, a text for each thread that matters.
    stages: Strings,
    stages_at: Vec<Vec<u32>>,
}

#[derive(Serialize)]
struct Run {
    events: usize,
    /// By thread: the events between which it lives. `null` if the run has no such thread.
    lives: Vec<Option<(usize, usize)>>,
    /// By thread: whether it comes to its end in this run.
    ends: Vec<bool>,
    /// Data flows that only this run has.
    flows: Vec<(Option<u32>, u32)>,
    region: Option<Region>,
}

#[derive(Serialize)]
struct Region {
    kind: &'static str,
    start: u32,
    end: Option<u32>,
}

/// The locations of the shown events, then others while they are few.
pub fn watched(side: &Side<'_>) -> Vec<LocationId> {
    let trace = &side.run.trace;
    let mut watched: Vec<LocationId> = Vec::new();
    let mut add = |event: usize, most: usize| {
        let kind = &trace.events[event].kind;
        let at = kind.location().filter(|_| !matches!(kind, EventKind::Alloc { .. }));
        if let Some(at) = at.filter(|at| !watched.contains(at) && watched.len() < most) {
            watched.push(at);
        }
    };
    steps(side).filter(|s| s.causal).for_each(|step| add(step.event as usize, MOST_WATCHED));
    steps(side).for_each(|step| add(step.event as usize, MOST_WATCHED));
    (0..trace.events.len()).for_each(|event| add(event, FEWEST_WATCHED));
    watched
}

pub fn steps<'s>(side: &'s Side<'_>) -> impl Iterator<Item = &'s Step> {
    side.items.iter().filter_map(|item| match item {
        Item::Event(step) => Some(step),
        Item::Gap { .. } => None,
    })
}

impl Shown {
    /// `history` and `changes` are those of the failing run; its first `watched` variables are shown.
    pub fn of(
        timeline: &Timeline<'_>,
        history: &History<'_>,
        changes: &Changes<'_>,
        watched: usize,
    ) -> Shown {
        let (events, values) = at_steps(&timeline.failing, changes, watched);
        let (stages, stages_at) = stages(timeline, history);
        Shown {
            threads: timeline.threads.iter().map(ToString::to_string).collect(),
            involved: timeline.involved,
            failing: Run::of(timeline, &timeline.failing),
            passing: timeline.passing.as_ref().map(|side| Run::of(timeline, side)),
            variables: changes.variables.iter().take(watched).cloned().collect(),
            values,
            changes: events,
            stages,
            stages_at,
        }
    }
}

/// The last change of each watched variable up to each shown event, as if that event had made it.
fn at_steps(side: &Side<'_>, changes: &Changes<'_>, watched: usize) -> (Vec<u32>, Strings) {
    let mut values = Strings::default();
    let mut flat = Vec::new();
    let mut left = changes.list.iter().filter(|c| (c.variable as usize) < watched).peekable();
    for step in steps(side) {
        let mut last = vec![None; watched];
        while let Some(change) = left.next_if(|change| change.event <= step.event) {
            last[change.variable as usize] = Some(change.value);
        }
        for (variable, value) in last.into_iter().enumerate() {
            let Some(value) = value else { continue };
            flat.extend([step.event, variable as u32, values.number(changes.values.text(value))]);
        }
    }
    (flat, values)
}

impl Run {
    fn of(timeline: &Timeline<'_>, side: &Side<'_>) -> Run {
        let trace = &side.run.trace;
        let events = trace.events.len();
        let id = |name| Some(ThreadId(trace.threads.iter().position(|n| n == name)? as u32));
        let lives: Vec<Option<(usize, Option<usize>)>> =
            timeline.threads.iter().map(|name| Some(life(trace, id(name)?))).collect();
        let until_end = |(born, ended): (usize, Option<usize>)| (born, ended.unwrap_or(events));
        let kept: Vec<u32> = steps(side).map(|step| step.event).collect();
        let is_shown = |event: u32| kept.binary_search(&event).is_ok();
        let flows = steps(side).flat_map(|step| &step.flows);
        let flows = flows.filter(|flow| flow.from.is_none_or(is_shown));
        Run {
            events,
            ends: lives.iter().map(|life| life.is_some_and(|(_, end)| end.is_some())).collect(),
            lives: lives.into_iter().map(|life| life.map(until_end)).collect(),
            flows: flows.map(|flow| (flow.from, flow.to)).collect(),
            region: side.region.map(|region| Region {
                kind: match region.kind {
                    RegionKind::Atomic => "atomic",
                    RegionKind::Order => "order",
                },
                start: region.start,
                end: region.end,
            }),
        }
    }
}
