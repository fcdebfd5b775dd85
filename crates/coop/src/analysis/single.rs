//! Logs with a single element: which vectors go with failing (CoopREP, thesis §3.4, equations 3.7 to 3.9).
//!
//! Of a vector v of an element, with F(v) and S(v) the failing and passing logs that have it and F all failing logs that logged the
//! element: sensitivity F(v)/F, specificity F(v)/(S(v)+F(v)), and BugCorrelation, their harmonic mean, which is
//! 2·F(v) / (F + S(v) + F(v)).

use rustc_hash::FxHashMap;

use super::candidates::Part;
use super::collection::Group;
use super::similarity::Ratio;

/// A vector, and how it goes with failing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Correlated {
    /// With the failing log of the smallest id that has it.
    pub part: Part,
    pub correlation: Ratio,
}

impl Group<'_> {
    /// By element: the vectors that failing logs have, those that go most with failing first.
    pub(super) fn correlated(&self) -> Vec<Vec<Correlated>> {
        (0..self.dispersion.len()).map(|element| self.correlated_of(element)).collect()
    }

    fn correlated_of(&self, element: usize) -> Vec<Correlated> {
        let mut failing: FxHashMap<u32, (u64, usize)> = FxHashMap::default();
        let mut total = 0u64;
        for &log in &self.failing {
            if let Some(vector) = self.picked(log, element) {
                failing.entry(vector).or_insert((0, log)).0 += 1;
                total += 1;
            }
        }
        let mut passing: FxHashMap<u32, u64> = FxHashMap::default();
        for vector in self.passing.iter().filter_map(|log| self.picked(*log, element)) {
            *passing.entry(vector).or_default() += 1;
        }
        let mut all: Vec<Correlated> = failing
            .into_iter()
            .map(|(vector, (times, from))| {
                let passed = passing.get(&vector).copied().unwrap_or(0);
                let correlation =
                    Ratio::new(2 * u128::from(times), u128::from(total + passed + times));
                Correlated { part: Part { vector, from }, correlation }
            })
            .collect();
        all.sort_by(|a, b| b.correlation.cmp(&a.correlation).then(a.part.from.cmp(&b.part.from)));
        all
    }

    /// By element: the vectors that failing logs have, the most frequent first.
    pub(super) fn frequent(&self, element: usize) -> Vec<Part> {
        let mut times: FxHashMap<u32, (u64, usize)> = FxHashMap::default();
        for &log in &self.failing {
            if let Some(vector) = self.picked(log, element) {
                times.entry(vector).or_insert((0, log)).0 += 1;
            }
        }
        let mut all: Vec<(u64, Part)> =
            times.into_iter().map(|(vector, (n, from))| (n, Part { vector, from })).collect();
        all.sort_by_key(|(times, part)| (std::cmp::Reverse(*times), part.from));
        all.into_iter().map(|(_, part)| part).collect()
    }
}
