//! The way from causes to repairs: propose, cover, try virtually, write, compile, explore.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use unravel_causes::Analysis;
use unravel_code::weave;
use unravel_execute::Limit;
use unravel_results::{
    CausalOrder, Cause, CauseClass, CausedBug, PatchedFile, Pattern, RepairKind, Repairs,
};
use unravel_trace::{Executor, FailureKind, Input};

use crate::budgets::{COVERS, MOST_ALIKE, MOST_COVERS, MOST_OF_A_KIND, MOST_ROUNDS};
use crate::check::Effort;
use crate::cover::{Covering, covers};
use crate::graph::Graph;
use crate::propose::{Proposal, contradictions, propose};
use crate::rank::{Lack, rank};
use crate::spots::Files;
use crate::trials::Trials;

/// Where changed programs are made.
pub trait Workshop {
    type Machine: Executor;

    /// The program with measures woven in, its source untouched.
    fn weave(&mut self, measures: &[weave::Measure]) -> Result<Self::Machine, String>;

    /// How many sites the program has: those of a woven one with larger numbers were woven in.
    fn sites(&self) -> u32;

    /// All causes of a woven program, with this input.
    fn causes(
        &mut self,
        machine: &mut Self::Machine,
        input: &Input,
        at_most: Duration,
    ) -> Option<Analysis>;

    /// The program with these files instead of the user's.
    fn compile(&mut self, files: &[PatchedFile]) -> Result<Self::Machine, String>;
}

/// What to repair.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    /// What names of files are relative to.
    pub root: &'a Path,
    pub input: &'a Input,
    pub effort: Effort,
    pub time: Duration,
    /// How many repairs to show.
    pub most: usize,
}

/// What is being done.
#[derive(Clone, Debug)]
pub struct Progress {
    pub tried: usize,
    pub of: usize,
    pub found: usize,
    pub title: String,
}

/// Finds repairs for what was analysed.
pub fn repair<W: Workshop>(
    workshop: &mut W,
    analysis: Analysis,
    request: &Task<'_>,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> Repairs {
    let started = Instant::now();
    let mut files = Files::under(request.root);
    let limit = Limit::new(Some(started + request.time), Some(interrupted));
    let mut bench = Trials::new(workshop, request, &analysis, limit);
    let mut known = analysis.clone();
    for _ in 0..MOST_ROUNDS {
        let candidates = propose(&known, &mut files);
        let coverings: Vec<Covering> = candidates
            .iter()
            .map(|candidate| Covering { covers: candidate.covers.clone(), cost: candidate.cost })
            .collect();
        let classes = known.causes.classes.len();
        let covers = covers(classes, &coverings, &contradictions(&candidates), COVERS, limit);
        let covers = varied(covers, &candidates);
        let of = covers.len();
        for (tried, cover) in covers.into_iter().enumerate() {
            if bench.is_over() {
                break;
            }
            let cover: Vec<_> = cover.into_iter().map(|index| &candidates[index]).collect();
            let title = Trials::<W>::title(&cover);
            progress(&Progress { tried, of, found: bench.found.len(), title });
            bench.try_cover(&cover, &files);
        }
        let more = bench.take_remaining_causes();
        if !bench.found.is_empty() || bench.is_over() || !join(&mut known, more) {
            break;
        }
    }
    let Trials { found, rejected, .. } = bench;
    let mut notes = Vec::new();
    if limit.is_interrupted() {
        notes.push("interrupted: this is what was known by then".to_owned());
    } else if started.elapsed() >= request.time {
        notes.push("the time was up before all candidates were tried".to_owned());
    }
    // Who frees what others use has to wait for them.
    let frees = |bug: &CausedBug| bug.failure.kind == FailureKind::UseAfterFree;
    let frees = analysis.causes.bugs.iter().any(frees);
    // What has no name, and does not need its threads to interrupt each other, comes of an order as well.
    let needs_none = |cause: &Cause| !Graph::of(cause).is_interleaved();
    let is_of_order = |class: &CauseClass| {
        class.pattern.is_of_order()
            || class.pattern == Pattern::Compound && class.causes.iter().all(needs_none)
    };
    let lack = Lack {
        order: frees || analysis.causes.classes.iter().any(is_of_order),
        nothing_else: frees || analysis.causes.classes.iter().all(is_of_order),
    };
    let passing = analysis.causes.extent.passing;
    let mut repairs = rank(found, passing, lack, (request.most, MOST_OF_A_KIND));
    let classes = analysis.causes.classes.len();
    for repair in &mut repairs {
        // What was found on the way has no number that a reader knows.
        repair.covers.retain(|class| *class < classes);
    }
    Repairs { causes: analysis.causes, repairs, rejected, notes, elapsed: started.elapsed() }
}

/// The cheapest covers, but not too many that do the same kinds of things.
fn varied(covers: Vec<Vec<usize>>, candidates: &[Proposal]) -> Vec<Vec<usize>> {
    let mut seen: FxHashMap<Vec<RepairKind>, usize> = FxHashMap::default();
    let mut chosen = Vec::new();
    for cover in covers {
        let mut kinds: Vec<RepairKind> =
            cover.iter().map(|index| candidates[*index].measure.kind()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let alike = seen.entry(kinds).or_default();
        *alike += 1;
        if *alike <= MOST_ALIKE && chosen.len() < MOST_COVERS {
            chosen.push(cover);
        }
    }
    chosen
}

/// Adds causes that a measure left; false if they are no news.
fn join(known: &mut Analysis, more: Vec<Analysis>) -> bool {
    let lines = |class: &CauseClass| {
        let mut lines: Vec<_> = class.causes[0].orders.iter().map(CausalOrder::lines).collect();
        lines.sort();
        lines
    };
    let mut grew = false;
    for analysis in more {
        for class in analysis.causes.classes {
            if !known.causes.classes.iter().any(|other| lines(other) == lines(&class)) {
                known.causes.classes.push(class);
                grew = true;
            }
        }
        for stack in analysis.stacks {
            if !known.stacks.iter().any(|other| other.key == stack.key) {
                known.stacks.push(stack);
            }
        }
    }
    grew
}
