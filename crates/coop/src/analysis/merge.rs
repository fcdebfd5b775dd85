//! Both heuristics: which failing log to begin with, and from which others to take what it lacks (CoopREP, thesis §3.3, algorithms 1 to 4).
//!
//! The nearest neighbours of a log are, for each element that it lacks, the most similar log that has it; each counts once. SGM ranks by
//! the mean similarity to them (equation 3.5), DGM by the dispersion of what the log has itself (equation 3.6).
//!
//! Of several logs that are as similar the paper draws one. Here it is the next one behind the log by id, in a circle: so each log asks
//! others than the one before it, as draws would have it (the smallest id would complete all logs from the same few), and every
//! engine says the same.

use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::collection::Group;
use super::similarity::{Metric, Ratio};
use crate::analysis::Part;

/// How logs are merged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Heuristic {
    /// Similarity-guided merge.
    Sgm,
    /// Dispersion-guided merge.
    Dgm,
}

impl Heuristic {
    pub const ALL: [Heuristic; 2] = [Heuristic::Sgm, Heuristic::Dgm];

    pub fn name(self) -> &'static str {
        match self {
            Heuristic::Sgm => "sgm",
            Heuristic::Dgm => "dgm",
        }
    }
}

impl fmt::Display for Heuristic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Heuristic {
    type Err = String;

    fn from_str(text: &str) -> Result<Heuristic, String> {
        let known = Heuristic::ALL.into_iter().find(|heuristic| heuristic.name() == text);
        known.ok_or_else(|| format!("no heuristic is called '{text}'; there are sgm and dgm"))
    }
}

/// A log with its relevance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ranked {
    /// Its position in the collection.
    pub log: usize,
    pub relevance: Ratio,
}

impl Group<'_> {
    /// For each element that a log lacks, the most similar log that has it, with the similarity.
    pub fn neighbours(&self, metric: Metric, log: usize) -> Vec<(usize, usize, u128)> {
        let lacks = self.lacks(log);
        if lacks.is_empty() {
            return Vec::new();
        }
        let mut best: Vec<Option<(usize, u128)>> = vec![None; lacks.len()];
        // Ascending by id, from the log on and round: whoever is as similar comes later and stays behind.
        let behind = self.failing.partition_point(|other| *other <= log);
        let (before, behind) = self.failing.split_at(behind);
        for &other in behind.iter().chain(before).filter(|other| **other != log) {
            if lacks.iter().all(|element| self.picked(other, *element).is_none()) {
                continue;
            }
            let similarity = self.similarity(metric, log, other);
            for (best, element) in best.iter_mut().zip(&lacks) {
                let nearer = best.is_none_or(|(_, nearest)| similarity > nearest);
                if nearer && self.picked(other, *element).is_some() {
                    *best = Some((other, similarity));
                }
            }
        }
        let found = lacks.into_iter().zip(best);
        found.filter_map(|(element, best)| best.map(|(log, near)| (element, log, near))).collect()
    }

    pub(super) fn lacks(&self, log: usize) -> Vec<usize> {
        (0..self.dispersion.len()).filter(|one| self.picked(log, *one).is_none()).collect()
    }

    fn relevance(&self, heuristic: Heuristic, metric: Metric, log: usize) -> Ratio {
        match heuristic {
            Heuristic::Sgm => {
                let mut neighbours: Vec<(usize, u128)> = self
                    .neighbours(metric, log)
                    .into_iter()
                    .map(|(_, log, similarity)| (log, similarity))
                    .collect();
                neighbours.sort_unstable();
                neighbours.dedup();
                if neighbours.is_empty() && self.lacks(log).is_empty() {
                    // Complete as it is: nothing can be nearer to a run that failed.
                    return Ratio::new(1, 1);
                }
                let sum = neighbours.iter().map(|(_, similarity)| similarity).sum();
                Ratio::new(sum, self.whole(metric) * neighbours.len().max(1) as u128)
            }
            Heuristic::Dgm => {
                let has = (0..self.dispersion.len()).filter(|one| self.picked(log, *one).is_some());
                let sum: u64 = has.map(|element| self.dispersion[element]).sum();
                Ratio::new(u128::from(sum), u128::from(self.all))
            }
        }
    }

    /// The failing logs, the most relevant first, on as many cores as there are.
    pub fn ranked(&self, heuristic: Heuristic, metric: Metric) -> Vec<Ranked> {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = workers.min(self.failing.len().div_ceil(16)).max(1);
        let next = AtomicUsize::new(0);
        let all = Mutex::new(Vec::with_capacity(self.failing.len()));
        let work = || {
            let mut own = Vec::new();
            while let Some(&log) = self.failing.get(next.fetch_add(1, Ordering::Relaxed)) {
                own.push(Ranked { log, relevance: self.relevance(heuristic, metric, log) });
            }
            all.lock().expect("no worker panics").extend(own);
        };
        match workers {
            1 => work(),
            _ => std::thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(work);
                }
            }),
        }
        let mut all = all.into_inner().expect("no worker panics");
        all.sort_by(|a, b| b.relevance.cmp(&a.relevance).then(a.log.cmp(&b.log)));
        all
    }

    /// A log, with what it lacks from its nearest neighbours.
    pub(super) fn completed(&self, metric: Metric, log: usize) -> Vec<Option<Part>> {
        let own = |element| self.picked(log, element).map(|vector| Part { vector, from: log });
        let mut parts: Vec<Option<Part>> = (0..self.dispersion.len()).map(own).collect();
        for (element, from, _) in self.neighbours(metric, log) {
            parts[element] = self.picked(from, element).map(|vector| Part { vector, from });
        }
        parts
    }
}
