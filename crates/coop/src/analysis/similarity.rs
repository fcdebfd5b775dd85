//! How similar two partial logs are: PSIM, DSIM and DHS (CoopREP, thesis §3.2, equations 3.1 to 3.4).
//!
//! With S the elements, d(s) the distinct vectors of an element among the failing logs and D their sum over all elements:
//!
//! - PSIM = |Equal| · (|S| − |Diff|) / |S|²
//! - DSIM = Σ_Equal d · (D − Σ_Diff d) / D²
//! - DHS = Σ_Common (h/L) · d / D, h the positions at which the vectors agree and L the length of the longer one.
//!
//! Two threads over x and y: with x logged as [1,1,2] by both and y as [1,2] and [2,1], d(x) = 1, d(y) = 2, D = 3, PSIM = 1·1/4,
//! DSIM = 1·(3 − 2)/9, DHS = 1/3 + 0.
//!
//! One deviation: a term of DHS is rounded down to a millionth of d before the sum, because its denominators are all different. Two
//! empty vectors agree entirely.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::collection::Group;

/// A metric.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Metric {
    /// Plain similarity.
    Psim,
    /// Dispersion similarity.
    Dsim,
    /// Dispersion Hamming similarity.
    Dhs,
}

impl Metric {
    pub const ALL: [Metric; 3] = [Metric::Psim, Metric::Dsim, Metric::Dhs];

    pub fn name(self) -> &'static str {
        match self {
            Metric::Psim => "psim",
            Metric::Dsim => "dsim",
            Metric::Dhs => "dhs",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Metric, String> {
        let known = Metric::ALL.into_iter().find(|metric| metric.name() == text);
        known.ok_or_else(|| format!("no metric is called '{text}'; there are psim, dsim and dhs"))
    }
}

/// Parts of one, of a term of DHS.
pub(super) const PARTS: u64 = 1_000_000;

/// A number as a fraction, compared exactly.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Ratio {
    pub numerator: u128,
    /// Not 0.
    pub denominator: u128,
}

impl Ratio {
    pub fn new(numerator: u128, denominator: u128) -> Ratio {
        Ratio { numerator, denominator: denominator.max(1) }
    }

    /// The one division.
    pub fn value(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Ratio) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ratio {}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Ratio) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Ratio) -> Ordering {
        // At most 2⁶⁴ each where logs come from: distinct vectors squared, times a millionth, times neighbours.
        (self.numerator * other.denominator).cmp(&(other.numerator * self.denominator))
    }
}

impl Group<'_> {
    /// What a similarity is a fraction of.
    pub fn whole(&self, metric: Metric) -> u128 {
        let elements = self.dispersion.len() as u128;
        let all = u128::from(self.all);
        match metric {
            Metric::Psim => elements * elements,
            Metric::Dsim => all * all,
            Metric::Dhs => all * u128::from(PARTS),
        }
        .max(1)
    }

    /// The similarity of two logs, as so many parts of [`Group::whole`].
    pub fn similarity(&self, metric: Metric, a: usize, b: usize) -> u128 {
        let (a, b) = (&self.collection.entry(a).vectors, &self.collection.entry(b).vectors);
        let common = || {
            let both = a.iter().zip(b).enumerate();
            both.filter_map(|(element, (one, other))| Some((element, (*one)?, (*other)?)))
        };
        match metric {
            Metric::Psim => {
                let equal = common().filter(|(_, one, other)| one == other).count() as u128;
                let different = common().count() as u128 - equal;
                equal * (a.len() as u128 - different)
            }
            Metric::Dsim => {
                let (mut equal, mut different) = (0, 0);
                for (element, one, other) in common() {
                    match one == other {
                        true => equal += self.dispersion[element],
                        false => different += self.dispersion[element],
                    }
                }
                u128::from(equal) * u128::from(self.all - different)
            }
            Metric::Dhs => {
                let term = |(element, one, other)| {
                    let weight = u128::from(self.dispersion[element]) * u128::from(PARTS);
                    if one == other {
                        return weight;
                    }
                    let (one, other) =
                        (self.collection.raw(element, one), self.collection.raw(element, other));
                    let longer = one.len().max(other.len()) as u128;
                    u128::from(agreeing(one, other)) * weight / longer
                };
                common().map(term).sum()
            }
        }
    }
}

/// At how many positions two vectors agree. What the shorter one lacks agrees with nothing.
fn agreeing(a: &[u16], b: &[u16]) -> u64 {
    // In pieces whose count fits the lanes of a vector register.
    let pieces = a.chunks(32_768).zip(b.chunks(32_768));
    pieces
        .map(|(a, b)| {
            let equal = a.iter().zip(b).map(|(a, b)| u16::from(a == b));
            u64::from(equal.fold(0u16, u16::wrapping_add))
        })
        .sum()
}
