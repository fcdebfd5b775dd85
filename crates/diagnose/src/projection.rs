//! The projection: only what differs between the failing run and the one that passes.
//!
//! Schedule edges are pairs of consecutive events. A differential schedule projection (Symbiosis) keeps the schedule
//! and data-flow edges that only one of the runs has, and the events on them; when a thread takes another path, the
//! places where the paths part belong to it too (DPSP, Cortex).

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_results::{Flow, FlowChange, Projection};
use unravel_trace::{Key, Keys, Trace};

use crate::branches::Branches;
use crate::flows::Lineup;

/// A run with its trace.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub trace: &'a Trace,
    pub lineup: &'a Lineup,
}

pub fn project(
    keys: &Keys,
    branches: &Branches,
    failing: Side<'_>,
    alternate: Side<'_>,
) -> Projection {
    let branches = branches.changed(keys, failing, alternate);
    let mut in_failing: BTreeSet<u32> = BTreeSet::new();
    let mut in_alternate: BTreeSet<u32> = BTreeSet::new();
    let ours = edges(failing.lineup, alternate.lineup);
    let theirs = edges(alternate.lineup, failing.lineup);
    for (from, to) in ours.difference(&theirs) {
        in_failing.extend([failing.lineup.positions[from], failing.lineup.positions[to]]);
    }
    for (from, to) in theirs.difference(&ours) {
        in_alternate.extend([alternate.lineup.positions[from], alternate.lineup.positions[to]]);
    }
    let flows = flow_changes(failing, alternate);
    for change in &flows {
        let ends = |flow: &Option<Flow>| flow.map(|f| [Some(f.to), f.from]).unwrap_or([None, None]);
        in_failing.extend(ends(&change.failing).into_iter().flatten());
        in_alternate.extend(ends(&change.alternate).into_iter().flatten());
    }
    for branch in &branches {
        in_failing.extend(branch.failing);
        in_alternate.extend(branch.alternate);
    }
    Projection {
        failing: in_failing.into_iter().collect(),
        alternate: in_alternate.into_iter().collect(),
        flows,
        branches,
        all_flows: failing.lineup.flows.len() as u32,
    }
}

/// Distinct events of a projection: OP.
pub fn operations(projection: &Projection, failing: &Lineup, alternate: &Lineup) -> u32 {
    let ours = projection.failing.iter().map(|i| failing.keys[*i as usize]);
    let theirs = projection.alternate.iter().map(|i| alternate.keys[*i as usize]);
    ours.chain(theirs).collect::<FxHashSet<Key>>().len() as u32
}

/// Pairs of consecutive events, up to the last that both runs have. Of consecutive events of one thread that only
/// this run has, the first and the last stand for all.
fn edges(of: &Lineup, other: &Lineup) -> FxHashSet<(Key, Key)> {
    let is_common = |index: &usize| other.contains(of.keys[*index]);
    let Some(last) = (0..of.keys.len()).rev().find(is_common) else { return FxHashSet::default() };
    let alike =
        |a: usize, b: usize| !is_common(&a) && !is_common(&b) && of.threads[a] == of.threads[b];
    let kept: Vec<usize> = (0..=last)
        .filter(|&i| i == 0 || i == last || !(alike(i - 1, i) && alike(i, i + 1)))
        .collect();
    kept.windows(2).map(|w| (of.keys[w[0]], of.keys[w[1]])).collect()
}

/// Data flows that only one run has, between events that both have, by reader.
fn flow_changes(failing: Side<'_>, alternate: Side<'_>) -> Vec<FlowChange> {
    let only = |of: Side<'_>, other: Side<'_>| -> FxHashMap<Key, Vec<Flow>> {
        let mut by_reader: FxHashMap<Key, Vec<Flow>> = FxHashMap::default();
        for flow in &of.lineup.flows {
            let from = flow.from.map(|w| of.lineup.keys[w as usize]);
            let to = of.lineup.keys[flow.to as usize];
            if other.lineup.contains(to) && !other.lineup.edges.contains(&(from, to)) {
                by_reader.entry(to).or_default().push(*flow);
            }
        }
        by_reader
    };
    let mut ours = only(failing, alternate);
    let mut theirs = only(alternate, failing);
    let mut readers: Vec<Key> = ours.keys().chain(theirs.keys()).copied().collect();
    readers.sort_by_key(|reader| failing.lineup.positions[reader]);
    readers.dedup();
    let mut changes = Vec::new();
    for reader in readers {
        let event = failing.lineup.positions[&reader] as usize;
        let location = failing.trace.events[event].kind.location();
        let location = location.map_or(String::new(), |l| failing.trace.location(l).name.clone());
        let (left, right) =
            (ours.remove(&reader).unwrap_or_default(), theirs.remove(&reader).unwrap_or_default());
        for index in 0..left.len().max(right.len()) {
            changes.push(FlowChange {
                location: location.clone(),
                failing: left.get(index).copied(),
                alternate: right.get(index).copied(),
            });
        }
    }
    changes
}
