//! Logs together: every distinct access vector of an element once, logs as numbers of vectors.

use std::hash::Hasher;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};
use thiserror::Error;

use crate::budgets::MOST_PASSING;
use crate::elements::ElementId;
use crate::log::{Ending, FailureSite, Log, LogId, Who};

/// Logs of one build.
#[derive(Clone, Debug)]
pub struct Collection {
    /// All elements of the program, ascending: the set S of the paper.
    elements: Vec<ElementId>,
    threads: Vec<Who>,
    numbers: FxHashMap<Who, u16>,
    /// By element: its distinct vectors, as numbers of threads. Shared with collections of parts of the same logs.
    vectors: Arc<Vec<Vec<Box<[u16]>>>>,
    /// By element: vectors by hash. Those with one hash are compared.
    hashes: Arc<Vec<FxHashMap<u64, Vec<u32>>>>,
    entries: Vec<Entry>,
}

/// A log: by element the number of its vector, if it was logged.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub id: LogId,
    pub ending: Ending,
    pub vectors: Vec<Option<u32>>,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum CollectionError {
    #[error("log {log} has an element that the program has not")]
    UnknownElement { log: LogId },
    #[error("the logs have more than 65,536 threads")]
    TooManyThreads,
}

/// A vector has 16 bits for a thread.
const MOST_COLLECTED_THREADS: usize = 1 << 16;

impl Collection {
    /// No logs yet. `elements` is sorted.
    pub fn new(elements: Vec<ElementId>) -> Collection {
        let count = elements.len();
        Collection {
            elements,
            threads: Vec::new(),
            numbers: FxHashMap::default(),
            vectors: Arc::new(vec![Vec::new(); count]),
            hashes: Arc::new(vec![FxHashMap::default(); count]),
            entries: Vec::new(),
        }
    }

    pub fn of(
        elements: Vec<ElementId>,
        logs: impl IntoIterator<Item = Log>,
    ) -> Result<Collection, CollectionError> {
        let mut collection = Collection::new(elements);
        logs.into_iter().try_for_each(|log| collection.add(&log))?;
        Ok(collection)
    }

    /// Adds a log, or leaves everything as it was. Whoever collects sees to it that none comes twice; logs that come in the order of their ids cost least.
    pub fn add(&mut self, log: &Log) -> Result<(), CollectionError> {
        let mut vectors = vec![None; self.elements.len()];
        let mut places = Vec::with_capacity(log.vectors.len());
        for (element, vector) in &log.vectors {
            let at = self
                .elements
                .binary_search(element)
                .map_err(|_| CollectionError::UnknownElement { log: log.id })?;
            places.push((at, vector));
        }
        let new = log.threads().into_iter().filter(|who| !self.numbers.contains_key(who)).count();
        if self.threads.len() + new > MOST_COLLECTED_THREADS {
            return Err(CollectionError::TooManyThreads);
        }
        for (at, vector) in places {
            let numbers = vector.iter().map(|who| self.number(*who)).collect();
            vectors[at] = Some(self.intern(at, numbers));
        }
        let at = self.entries.partition_point(|entry| entry.id < log.id);
        self.entries.insert(at, Entry { id: log.id, ending: log.ending, vectors });
        Ok(())
    }

    fn number(&mut self, who: Who) -> u16 {
        let Collection { numbers, threads, .. } = self;
        *numbers.entry(who).or_insert_with(|| {
            threads.push(who);
            // `add` has seen to it that they fit.
            (threads.len() - 1) as u16
        })
    }

    fn intern(&mut self, element: usize, vector: Vec<u16>) -> u32 {
        let mut hasher = FxHasher::default();
        vector.iter().for_each(|number| hasher.write_u16(*number));
        hasher.write_usize(vector.len());
        let same_hash =
            Arc::make_mut(&mut self.hashes)[element].entry(hasher.finish()).or_default();
        let all = &mut Arc::make_mut(&mut self.vectors)[element];
        if let Some(known) = same_hash.iter().find(|at| *all[**at as usize] == *vector) {
            return *known;
        }
        let number = all.len() as u32;
        all.push(vector.into());
        same_hash.push(number);
        number
    }

    /// The same runs, had each logged these elements only: positions of elements, by position of the log.
    #[must_use]
    pub fn parts(&self, mut logged: impl FnMut(usize) -> Vec<u32>) -> Collection {
        let mut collection = self.clone();
        for (log, entry) in collection.entries.iter_mut().enumerate() {
            let logged = logged(log);
            for (element, vector) in entry.vectors.iter_mut().enumerate() {
                if !logged.contains(&(element as u32)) {
                    *vector = None;
                }
            }
        }
        collection
    }

    /// How many of these logs differ from all others in some vector.
    pub fn distinct(&self, logs: &[usize]) -> usize {
        let mut all: Vec<&[Option<u32>]> =
            logs.iter().map(|log| self.entries[*log].vectors.as_slice()).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    }

    /// All accesses of a log.
    pub fn accesses(&self, log: usize) -> usize {
        let of = |(element, vector): (usize, &Option<u32>)| {
            vector.map_or(0, |vector| self.raw(element, vector).len())
        };
        self.entries[log].vectors.iter().enumerate().map(of).sum()
    }

    pub fn elements(&self) -> &[ElementId] {
        &self.elements
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn entry(&self, log: usize) -> &Entry {
        &self.entries[log]
    }

    pub(super) fn raw(&self, element: usize, vector: u32) -> &[u16] {
        &self.vectors[element][vector as usize]
    }

    /// A vector, with threads as logs call them.
    pub fn vector(&self, element: usize, vector: u32) -> Vec<Who> {
        self.raw(element, vector).iter().map(|number| self.threads[*number as usize]).collect()
    }

    /// What a log has, by element.
    pub fn vectors(&self, log: usize) -> Vec<(ElementId, Vec<Who>)> {
        let of = |(at, vector): (usize, &Option<u32>)| {
            vector.map(|vector| (self.elements[at], self.vector(at, vector)))
        };
        self.entries[log].vectors.iter().enumerate().filter_map(of).collect()
    }

    pub fn id(&self, log: usize) -> LogId {
        self.entries[log].id
    }

    /// Places of failures, those with most logs first, and how many logs each has.
    pub fn failures(&self) -> Vec<(FailureSite, usize)> {
        let mut counts: FxHashMap<FailureSite, usize> = FxHashMap::default();
        for site in self.entries.iter().filter_map(|entry| entry.ending.failure()) {
            *counts.entry(site).or_default() += 1;
        }
        let mut all: Vec<(FailureSite, usize)> = counts.into_iter().collect();
        all.sort_by_key(|(site, count)| (std::cmp::Reverse(*count), *site));
        all
    }

    /// The logs that failed so, and of those that passed as many as the one-element case looks at.
    pub fn group(&self, failure: FailureSite) -> Group<'_> {
        self.group_among(failure, |_| true)
    }

    /// The same, of some logs.
    pub(super) fn group_among(
        &self,
        failure: FailureSite,
        is_among: impl Fn(usize) -> bool,
    ) -> Group<'_> {
        let numbered = || self.entries.iter().enumerate();
        let failing: Vec<usize> = numbered()
            .filter(|(at, entry)| entry.ending == Ending::Failed(failure) && is_among(*at))
            .map(|(at, _)| at)
            .collect();
        let passing = numbered()
            .filter(|(_, entry)| entry.ending == Ending::Passed)
            .map(|(at, _)| at)
            .take(MOST_PASSING)
            .collect();
        let distinct = |element: usize| {
            let mut all: Vec<u32> =
                failing.iter().filter_map(|log| self.entries[*log].vectors[element]).collect();
            all.sort_unstable();
            all.dedup();
            all.len() as u64
        };
        let dispersion: Vec<u64> = (0..self.elements.len()).map(distinct).collect();
        let all = dispersion.iter().sum();
        Group { collection: self, failure, failing, passing, dispersion, all }
    }
}

/// Logs that failed alike.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    pub(super) collection: &'a Collection,
    pub failure: FailureSite,
    /// Positions in the collection, which is ascending by id.
    pub failing: Vec<usize>,
    /// The same of some that passed.
    pub passing: Vec<usize>,
    /// By element: how many different vectors the failing logs have of it, |AV*ₛ|.
    pub(super) dispersion: Vec<u64>,
    /// Of all elements together, |AV*|.
    pub(super) all: u64,
}

impl Group<'_> {
    pub fn collection(&self) -> &Collection {
        self.collection
    }

    /// Overall dispersion (equation 3.2) as a fraction: by element its distinct vectors, and all there are.
    pub fn dispersion(&self) -> (&[u64], u64) {
        (&self.dispersion, self.all)
    }

    /// By element: how often any of its vectors was logged, |AVₛ| (for equation 3.10).
    pub fn logged(&self) -> Vec<u64> {
        let of = |element: usize| {
            let has = |log: &&usize| self.picked(**log, element).is_some();
            self.failing.iter().filter(has).count() as u64
        };
        (0..self.dispersion.len()).map(of).collect()
    }

    /// Whether every failing log has a single element: then similarity says nothing (§3.4).
    pub fn has_single_elements(&self) -> bool {
        self.failing.iter().all(|log| {
            self.collection.entry(*log).vectors.iter().filter(|one| one.is_some()).count() <= 1
        })
    }

    /// The vector that a log has of an element.
    pub(super) fn picked(&self, log: usize, element: usize) -> Option<u32> {
        self.collection.entry(log).vectors[element]
    }
}
