//! Merged logs in the order in which they are tried (CoopREP, thesis §3.4, algorithm 5): those of the heuristic, then brute force.
//!
//! A merged log that was there before is left out, since replaying it again would show the same; the paper does not say what it does. Brute
//! force goes through the logs as they are ranked and fills what each lacks with every combination of vectors that failing logs have;
//! combinations of frequent vectors come first, because the paper gives no order.

use std::collections::{BinaryHeap, VecDeque};

use rustc_hash::FxHashSet;
use std::cmp::Reverse;

use super::collection::Group;
use super::merge::{Heuristic, Ranked};
use super::similarity::Metric;
use crate::budgets::MOST_COMBINATIONS;
use crate::elements::ElementId;
use crate::log::{LogId, Who};

/// The vector of an element in a merged log, and the log that it is from (a position in the collection).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Part {
    pub vector: u32,
    pub from: usize,
}

/// A merged log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The log it began with; none of the one-element case.
    pub base: Option<usize>,
    /// By element. None if no log has it.
    pub parts: Vec<Option<Part>>,
    /// It is from brute force.
    pub brute: bool,
}

impl Candidate {
    /// The orders to keep: by element who accesses it, in order.
    pub fn vectors(&self, group: &Group<'_>) -> Vec<(ElementId, Vec<Who>)> {
        let collection = group.collection();
        let of = |(at, part): (usize, &Option<Part>)| {
            let vector = collection.vector(at, (*part)?.vector);
            Some((collection.elements()[at], vector))
        };
        self.parts.iter().enumerate().filter_map(of).collect()
    }

    /// The logs it was put together from, each once.
    pub fn sources(&self, group: &Group<'_>) -> Vec<LogId> {
        let mut from: Vec<usize> = self.parts.iter().flatten().map(|part| part.from).collect();
        from.sort_unstable();
        from.dedup();
        from.into_iter().map(|log| group.collection().id(log)).collect()
    }

    fn key(&self) -> Vec<Option<u32>> {
        self.parts.iter().map(|part| part.map(|part| part.vector)).collect()
    }
}

/// All candidates of a group, one after another.
#[derive(Debug)]
pub struct Candidates<'g, 'c> {
    group: &'g Group<'c>,
    metric: Metric,
    ranked: VecDeque<Ranked>,
    /// Logs whose combinations are to come, and those of the one before them.
    brute: VecDeque<Ranked>,
    combinations: Option<Combinations>,
    seen: FxHashSet<Vec<Option<u32>>>,
}

impl<'g, 'c> Candidates<'g, 'c> {
    pub fn new(group: &'g Group<'c>, heuristic: Heuristic, metric: Metric) -> Candidates<'g, 'c> {
        let single = group.has_single_elements();
        let ranked: VecDeque<Ranked> = match single {
            true => VecDeque::new(),
            false => group.ranked(heuristic, metric).into(),
        };
        let combinations = single.then(|| {
            let correlated = group.correlated();
            let ranks = correlated.iter().map(|all| {
                // Those that go with failing alike are tried as if they were one.
                let mut rank = 0;
                let mut last = None;
                all.iter()
                    .map(|one| {
                        rank += u32::from(last.is_some_and(|last| last != one.correlation));
                        last = Some(one.correlation);
                        (rank, one.part)
                    })
                    .collect()
            });
            Combinations::new(None, ranks.collect())
        });
        let brute = ranked.clone();
        Candidates { group, metric, ranked, brute, combinations, seen: FxHashSet::default() }
    }

    fn produce(&mut self) -> Option<Candidate> {
        if let Some(Ranked { log, .. }) = self.ranked.pop_front() {
            let parts = self.group.completed(self.metric, log);
            return Some(Candidate { base: Some(log), parts, brute: false });
        }
        loop {
            if let Some(combinations) = &mut self.combinations {
                let base = combinations.base;
                let first = combinations.is_new();
                if let Some(parts) = combinations.next() {
                    return Some(Candidate { base, parts, brute: base.is_some() || !first });
                }
            }
            let Ranked { log, .. } = self.brute.pop_front()?;
            let own = |element| {
                let part = self.group.picked(log, element).map(|vector| Part { vector, from: log });
                match part {
                    Some(part) => vec![(0, part)],
                    None => {
                        let all = self.group.frequent(element).into_iter().enumerate();
                        all.map(|(rank, part)| (rank as u32, part)).collect()
                    }
                }
            };
            let elements = self.group.collection().elements().len();
            let choices = (0..elements).map(own).collect();
            self.combinations = Some(Combinations::new(Some(log), choices));
        }
    }
}

impl Iterator for Candidates<'_, '_> {
    type Item = Candidate;

    fn next(&mut self) -> Option<Candidate> {
        loop {
            let candidate = self.produce()?;
            if self.seen.insert(candidate.key()) {
                return Some(candidate);
            }
        }
    }
}

/// Every combination of one choice an element, those with the smallest sum of ranks first.
#[derive(Debug)]
struct Combinations {
    base: Option<usize>,
    /// By element: choices with their ranks, which ascend. An element without any stays without.
    choices: Vec<Vec<(u32, Part)>>,
    /// Sum of ranks, and the choice of each element.
    open: BinaryHeap<Reverse<(u32, Vec<u32>)>>,
    seen: FxHashSet<Vec<u32>>,
    begun: bool,
}

impl Combinations {
    fn new(base: Option<usize>, choices: Vec<Vec<(u32, Part)>>) -> Combinations {
        let first = vec![0; choices.len()];
        let open = BinaryHeap::from([Reverse((0, first.clone()))]);
        let seen = [first].into_iter().collect();
        Combinations { base, choices, open, seen, begun: false }
    }

    fn is_new(&self) -> bool {
        !self.begun
    }

    fn next(&mut self) -> Option<Vec<Option<Part>>> {
        self.begun = true;
        let Reverse((_, chosen)) = self.open.pop()?;
        for element in 0..chosen.len() {
            let mut next = chosen.clone();
            next[element] += 1;
            let is_there = (next[element] as usize) < self.choices[element].len();
            if is_there && self.seen.len() < MOST_COMBINATIONS && self.seen.insert(next.clone()) {
                let ranks = next.iter().zip(&self.choices);
                let sum = ranks.filter_map(|(at, all)| Some(all.get(*at as usize)?.0)).sum();
                self.open.push(Reverse((sum, next)));
            }
        }
        let part = |(at, all): (&u32, &Vec<(u32, Part)>)| Some(all.get(*at as usize)?.1);
        Some(chosen.iter().zip(&self.choices).map(part).collect())
    }
}
