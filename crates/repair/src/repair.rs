//! The way from causes to repairs: propose, cover, try virtually, write, compile, explore.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use unravel_causes::Analysis;
use unravel_code::weave;
use unravel_execute::Limit;
use unravel_results::{
    CausalOrder, Cause, CauseClass, CausedBug, PatchedFile, Pattern, Rejected, Repair, RepairKind,
    Repairs,
};
use unravel_trace::{Executor, FailureKind, Input};

use crate::apart::{Part, of_part, others, parts};
use crate::budgets::{
    COVERS, MOST_ALIKE, MOST_COVERS, MOST_OF_A_KIND, MOST_OF_A_PART, MOST_PARTS, MOST_ROUNDS,
    TOGETHER_SHARE,
};
use crate::check::Effort;
use crate::cover::{Covering, covers};
use crate::graph::Graph;
use crate::propose::{Proposal, contradictions, propose};
use crate::rank::{Lack, Stood, rank};
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
    let parts = parts(&analysis.causes);
    let together = match parts.len() {
        0 | 1 => limit,
        // Then each by itself is more promising.
        _ => limit.at_most(started + request.time / TOGETHER_SHARE),
    };
    let trials = Trials::new(workshop, request, &analysis, together);
    let Tried { mut found, mut rejected } =
        in_rounds(trials, &analysis, &mut files, together, progress);
    if found.is_empty() && parts.len() > 1 {
        let mut apart = Apart { analysis: &analysis, request, limit, found: Vec::new() };
        for (number, part) in parts.iter().enumerate().take(MOST_PARTS) {
            let left = parts.len().min(MOST_PARTS) - number;
            rejected.extend(apart.repair_one(workshop, part, left, &mut files, progress));
        }
        found = apart.together(workshop, &files);
        if found.is_empty() {
            found = apart.each_best();
        }
    }
    let mut notes = Vec::new();
    if limit.is_interrupted() {
        notes.push("interrupted: this is what was known by then".to_owned());
    } else if started.elapsed() >= request.time {
        notes.push("the time was up before all candidates were tried".to_owned());
    }
    let ranked = match found.iter().any(|stood| !stood.repair.leaves.is_empty()) {
        // Each is the best for its bugs.
        true => found,
        false => ranked(found, &analysis, (request.most, MOST_OF_A_KIND)),
    };
    let mut repairs: Vec<Repair> = ranked.into_iter().map(|stood| stood.repair).collect();
    let classes = analysis.causes.classes.len();
    for repair in &mut repairs {
        // What was found on the way has no number that a reader knows.
        repair.covers.retain(|class| *class < classes);
    }
    Repairs { causes: analysis.causes, repairs, rejected, notes, elapsed: started.elapsed() }
}

/// What came of trying.
struct Tried {
    found: Vec<Stood>,
    rejected: Vec<Rejected>,
}

/// Proposes and tries, then against causes that came to light, too.
fn in_rounds<W: Workshop>(
    mut bench: Trials<'_, W>,
    analysis: &Analysis,
    files: &mut Files,
    limit: Limit<'_>,
    progress: &mut dyn FnMut(&Progress),
) -> Tried {
    let mut known = analysis.clone();
    for _ in 0..MOST_ROUNDS {
        let candidates = propose(&known, files);
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
            bench.try_cover(&cover, files);
        }
        let more = bench.take_remaining_causes();
        if !bench.found.is_empty() || bench.is_over() || !join(&mut known, more) {
            break;
        }
    }
    Tried { found: bench.found, rejected: bench.rejected }
}

/// Repairs of bugs that share no cause, each found by itself.
struct Apart<'a> {
    analysis: &'a Analysis,
    request: &'a Task<'a>,
    limit: Limit<'a>,
    /// Of each part what stood, the best first.
    found: Vec<Vec<Stood>>,
}

impl Apart<'_> {
    /// Repairs one part, of `left` that are still to be repaired; what was tried in vain.
    fn repair_one<W: Workshop>(
        &mut self,
        workshop: &mut W,
        part: &Part,
        left: usize,
        files: &mut Files,
        progress: &mut dyn FnMut(&Progress),
    ) -> Vec<Rejected> {
        // As much is kept for putting them together.
        let time = self.limit.left().unwrap_or(self.request.time) / (left as u32 + 1);
        let limit = self.limit.at_most(Instant::now() + time);
        let alone = of_part(self.analysis, part);
        let leaves = others(&self.analysis.causes, part);
        let passed_over = leaves.iter().map(|bug| self.analysis.causes.bugs[*bug].id.clone());
        let request = Task { time, most: MOST_OF_A_PART, ..self.request.clone() };
        let trials = Trials::new(workshop, &request, &alone, limit);
        let trials = trials.passing_over(passed_over.collect());
        let Tried { found, rejected } = in_rounds(trials, &alone, files, limit, progress);
        let mut found = ranked(found, &alone, (MOST_OF_A_PART, MOST_OF_A_PART));
        let global = |classes: &mut Vec<usize>| {
            let known = |class: &usize| part.classes.get(*class).copied();
            *classes = classes.iter().filter_map(known).collect();
        };
        for stood in &mut found {
            global(&mut stood.repair.covers);
            stood.measures.iter_mut().for_each(|measure| global(&mut measure.covers));
            stood.repair.leaves.clone_from(&leaves);
        }
        self.found.push(found);
        rejected
    }

    /// What stood for each part, put together: it has to stand for all.
    fn together<W: Workshop>(&self, workshop: &mut W, files: &Files) -> Vec<Stood> {
        if self.found.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        let mut trials = Trials::new(workshop, self.request, self.analysis, self.limit);
        for choice in 0..MOST_OF_A_PART {
            // The best of each, then the next best where there is one.
            let each = self.found.iter().map(|part| &part[choice.min(part.len() - 1)]);
            let mut cover: Vec<&Proposal> = Vec::new();
            for measure in each.flat_map(|stood| &stood.measures) {
                if !cover.iter().any(|known| known.measure == measure.measure) {
                    cover.push(measure);
                }
            }
            if !trials.is_over() && trials.found.is_empty() {
                trials.try_cover(&cover, files);
            }
        }
        trials.found
    }

    /// The best of each part, which leaves the others.
    fn each_best(self) -> Vec<Stood> {
        self.found.into_iter().filter_map(|part| part.into_iter().next()).collect()
    }
}

/// The best, the best first.
fn ranked(found: Vec<Stood>, analysis: &Analysis, most: (usize, usize)) -> Vec<Stood> {
    let causes = &analysis.causes;
    // Who frees what others use has to wait for them.
    let frees = |bug: &CausedBug| bug.failure.kind == FailureKind::UseAfterFree;
    let frees = causes.bugs.iter().any(frees);
    // What has no name, and does not need its threads to interrupt each other, comes of an order as well.
    let needs_none = |cause: &Cause| !Graph::of(cause).is_interleaved();
    let is_of_order = |class: &CauseClass| {
        class.pattern.is_of_order()
            || class.pattern == Pattern::Compound && class.causes.iter().all(needs_none)
    };
    let lack = Lack {
        order: frees || causes.classes.iter().any(is_of_order),
        nothing_else: frees || causes.classes.iter().all(is_of_order),
    };
    rank(found, causes.extent.passing, lack, most)
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
