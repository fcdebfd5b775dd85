//! How far a schedule is from the failing one: the three criteria of *MaxSMT-based DSPs* (§4.2; design §7).
//!
//! - DF, data-flow variations: reads-from edges that the other schedule has and the failing one has not.
//! - BS, broken segments: segments `o1…ok` of the failing schedule such that another thread's operation falls
//!   between `o1` and `ok` in the other.
//! - CTX, context-switch variations: switches `(oi, oj)` of the failing schedule such that `oj` does not directly
//!   follow `oi` in the other.
//!
//! Operations of segments and switches are *steps*, those without events included, because steps are what a
//! schedule orders. Data flow is between events. What has a step that the other schedule lacks is left out.

use rustc_hash::FxHashSet;

use crate::{Evaluator, Model, Op, Source, StepId};

/// A reads-from edge: the event that wrote, `None` for memory as it was before the run, and the event that read.
/// Several bytes that flow the same way are one edge.
pub type Flow = (Option<u32>, u32);

/// Data-flow variations, broken segments, context-switch variations.
pub type Distance = [u32; 3];

/// The reads-from edges of what was evaluated last, sorted.
pub fn flows(model: &Model, evaluator: &Evaluator<'_>) -> Vec<Flow> {
    let sources = evaluator.sources();
    let mut found = Vec::with_capacity(sources.len());
    for &step in evaluator.performed() {
        for op in evaluator.performed_ops(step) {
            if let Op::Read(slot) = *op {
                let writer = match sources[slot.index()] {
                    Source::Initial => None,
                    Source::Write(write) => Some(model.write(write).event),
                };
                found.push((writer, model.read(slot).event));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The distance of a schedule from the failing one; flows as [`flows`] gives them.
pub fn distance(
    model: &Model,
    failing: &[StepId],
    failing_flows: &[Flow],
    order: &[StepId],
    flows: &[Flow],
) -> Distance {
    let places = places(model, order);
    [
        new_flows(failing_flows, flows),
        broken_segments(model, failing, &places),
        lost_switches(model, failing, &places),
    ]
}

/// The segments of a schedule: maximal runs of one thread's steps.
pub fn segments<'a>(
    model: &'a Model,
    order: &'a [StepId],
) -> impl Iterator<Item = &'a [StepId]> + 'a {
    order.chunk_by(|a, b| model.owner(*a) == model.owner(*b))
}

/// Edges of the second list that the first, sorted one has not. What the failing schedule never read, because it
/// failed before, is left out.
fn new_flows(failing: &[Flow], flows: &[Flow]) -> u32 {
    let readers: FxHashSet<u32> = failing.iter().map(|(_, reader)| *reader).collect();
    let is_new = |flow: &&Flow| readers.contains(&flow.1) && failing.binary_search(flow).is_err();
    flows.iter().filter(is_new).count() as u32
}

/// By step: its place in the order, `None` if absent.
fn places(model: &Model, order: &[StepId]) -> Vec<Option<u32>> {
    let mut places = vec![None; model.len()];
    for (place, step) in order.iter().enumerate() {
        places[step.index()] = Some(place as u32);
    }
    places
}

fn broken_segments(model: &Model, failing: &[StepId], places: &[Option<u32>]) -> u32 {
    let is_broken = |segment: &&[StepId]| {
        // Its own thread's steps between the two are those of the segment: any more are others'.
        match (places[segment[0].index()], places[segment[segment.len() - 1].index()]) {
            (Some(first), Some(last)) => last.wrapping_sub(first) != segment.len() as u32 - 1,
            _ => false,
        }
    };
    segments(model, failing).filter(is_broken).count() as u32
}

fn lost_switches(model: &Model, failing: &[StepId], places: &[Option<u32>]) -> u32 {
    let is_lost = |pair: &&[StepId]| {
        let places = (places[pair[0].index()], places[pair[1].index()]);
        let switch = model.owner(pair[0]) != model.owner(pair[1]);
        switch && matches!(places, (Some(i), Some(j)) if j != i + 1)
    };
    failing.windows(2).filter(is_lost).count() as u32
}
