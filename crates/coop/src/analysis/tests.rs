//! The metrics and rankings against the formulas of the paper, written down as they stand there, over fractions; and its examples.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use unravel_trace::FailureKind;

use super::*;
use crate::elements::ElementId;
use crate::log::{Ending, FailureSite, Log, LogId, Who};

const FAILURE: FailureSite = FailureSite { kind: FailureKind::Assertion, places: 1 };

type Vectors = BTreeMap<u64, Vec<u64>>;

fn log(id: u128, failed: bool, vectors: &Vectors) -> Log {
    let ending = if failed { Ending::Failed(FAILURE) } else { Ending::Passed };
    let named = |(element, vector): (&u64, &Vec<u64>)| {
        (ElementId(*element), vector.iter().map(|who| Who(*who)).collect())
    };
    Log { id: LogId(id), build: 1, ending, vectors: vectors.iter().map(named).collect() }
}

fn collection(elements: u64, logs: &[(bool, Vectors)]) -> Collection {
    let ids = (0..elements).map(ElementId).collect();
    let logs = logs.iter().enumerate().map(|(id, (failed, of))| log(id as u128, *failed, of));
    Collection::of(ids, logs).expect("its elements are known")
}

/// The formulas, naively.
struct Naive<'a> {
    elements: u64,
    failing: Vec<(usize, &'a Vectors)>,
}

impl Naive<'_> {
    fn dispersion(&self, element: u64) -> f64 {
        let distinct = |of: &dyn Fn(u64) -> bool| {
            let all = self.failing.iter().flat_map(|(_, vectors)| vectors.iter());
            all.filter(|(element, _)| of(**element)).collect::<BTreeSet<_>>().len() as f64
        };
        distinct(&|one| one == element) / distinct(&|_| true).max(1.0)
    }

    fn similarity(&self, metric: Metric, a: &Vectors, b: &Vectors) -> f64 {
        let common: Vec<u64> = a.keys().filter(|one| b.contains_key(one)).copied().collect();
        let (equal, different): (Vec<u64>, Vec<u64>) =
            common.iter().partition(|one| a[one] == b[one]);
        let sum = |of: &[u64]| of.iter().map(|one| self.dispersion(*one)).sum::<f64>();
        let all = self.elements as f64;
        match metric {
            Metric::Psim => equal.len() as f64 / all * (1.0 - different.len() as f64 / all),
            Metric::Dsim => sum(&equal) * (1.0 - sum(&different)),
            Metric::Dhs => {
                let hamming = |a: &[u64], b: &[u64]| {
                    let longer = a.len().max(b.len());
                    let same = a.iter().zip(b).filter(|(a, b)| a == b).count();
                    if longer == 0 { 1.0 } else { same as f64 / longer as f64 }
                };
                common.iter().map(|one| hamming(&a[one], &b[one]) * self.dispersion(*one)).sum()
            }
        }
    }
}

fn logs(elements: u64) -> impl Strategy<Value = Vec<(bool, Vectors)>> {
    let vector = prop::collection::vec(0u64..3, 0..4);
    let vectors = prop::collection::btree_map(0..elements, vector, 1..=elements as usize);
    prop::collection::vec((prop::bool::weighted(0.8), vectors), 1..12)
}

proptest! {
    #[test]
    fn metrics_are_those_of_the_paper(logs in logs(4)) {
        let collection = collection(4, &logs);
        let group = collection.group(FAILURE);
        let failing: Vec<(usize, &Vectors)> =
            logs.iter().enumerate().filter(|(_, (failed, _))| *failed).map(|(at, (_, of))| (at, of)).collect();
        prop_assert_eq!(&group.failing, &failing.iter().map(|(at, _)| *at).collect::<Vec<_>>());
        let naive = Naive { elements: 4, failing };
        for metric in Metric::ALL {
            for (a, va) in &naive.failing {
                for (b, vb) in &naive.failing {
                    let ours = Ratio::new(group.similarity(metric, *a, *b), group.whole(metric)).value();
                    let theirs = naive.similarity(metric, va, vb);
                    // A term of DHS is rounded down to a millionth.
                    prop_assert!((ours - theirs).abs() < 5e-6, "{metric}: {ours} {theirs}");
                }
            }
        }
    }

    #[test]
    fn rankings_are_those_of_the_paper(logs in logs(4)) {
        let collection = collection(4, &logs);
        let group = collection.group(FAILURE);
        let of = |at: usize| &logs[at].1;
        let naive = Naive { elements: 4, failing: group.failing.iter().map(|at| (*at, of(*at))).collect() };
        for metric in Metric::ALL {
            for ranked in group.ranked(Heuristic::Sgm, metric) {
                let own = of(ranked.log);
                // One neighbour for each element that it lacks: the most similar one that has it, the next of several behind it.
                let mut neighbours = BTreeSet::new();
                for element in (0..4).filter(|one| !own.contains_key(one)) {
                    let mut best: Option<(usize, u128)> = None;
                    let mut others: Vec<usize> = group.failing.iter().copied().filter(|other| *other != ranked.log).collect();
                    others.sort_by_key(|other| (*other < ranked.log, *other));
                    for other in others {
                        let near = group.similarity(metric, ranked.log, other);
                        if of(other).contains_key(&element) && best.is_none_or(|(_, nearest)| near > nearest) {
                            best = Some((other, near));
                        }
                    }
                    neighbours.extend(best.map(|(other, _)| other));
                }
                let complete = own.len() == 4;
                let sum: f64 = neighbours.iter().map(|at| naive.similarity(metric, own, of(*at))).sum();
                let relevance = if complete { 1.0 } else { sum / (neighbours.len().max(1)) as f64 };
                prop_assert!((ranked.relevance.value() - relevance).abs() < 5e-6);
            }
            for ranked in group.ranked(Heuristic::Dgm, metric) {
                let sum: f64 = of(ranked.log).keys().map(|one| naive.dispersion(*one)).sum();
                prop_assert!((ranked.relevance.value() - sum).abs() < 1e-9);
            }
            for heuristic in Heuristic::ALL {
                let ranked = group.ranked(heuristic, metric);
                prop_assert_eq!(ranked.len(), group.failing.len());
                let falls = |a: &Ranked, b: &Ranked| {
                    a.relevance > b.relevance || a.relevance == b.relevance && a.log < b.log
                };
                prop_assert!(ranked.is_sorted_by(falls), "descending, ties by id");
            }
        }
    }

    /// The order in which logs arrive changes nothing.
    #[test]
    fn order_of_arrival_does_not_matter(logs in logs(3), seed in any::<u64>()) {
        let ids: Vec<ElementId> = (0..3).map(ElementId).collect();
        let all: Vec<Log> =
            logs.iter().enumerate().map(|(id, (failed, of))| log(id as u128, *failed, of)).collect();
        let mut shuffled = all.clone();
        let mut rng = unravel_trace::Rng::new(seed);
        for at in (1..shuffled.len()).rev() {
            shuffled.swap(at, rng.below(at as u32 + 1) as usize);
        }
        let (a, b) = (Collection::of(ids.clone(), all).unwrap(), Collection::of(ids, shuffled).unwrap());
        let (a, b) = (a.group(FAILURE), b.group(FAILURE));
        for metric in Metric::ALL {
            prop_assert_eq!(a.ranked(Heuristic::Sgm, metric), b.ranked(Heuristic::Sgm, metric));
            let vectors = |group: &Group<'_>| -> Vec<_> {
                Candidates::new(group, Heuristic::Dgm, metric).take(20).map(|one| one.vectors(group)).collect()
            };
            prop_assert_eq!(vectors(&a), vectors(&b));
        }
    }

    /// Brute force ends, and comes to every combination of vectors that the failing logs have.
    #[test]
    fn candidates_are_all_there_is_and_each_once(logs in logs(3)) {
        let collection = collection(3, &logs);
        let group = collection.group(FAILURE);
        let all: Vec<Vec<_>> =
            Candidates::new(&group, Heuristic::Sgm, Metric::Dsim).map(|one| one.vectors(&group)).collect();
        let distinct: BTreeSet<_> = all.iter().collect();
        prop_assert_eq!(distinct.len(), all.len());
        for one in &all {
            let logged = one.iter().all(|(element, vector)| {
                let vector: Vec<u64> = vector.iter().map(|who| who.0).collect();
                logs.iter().any(|(failed, of)| *failed && of.get(&element.0) == Some(&vector))
            });
            prop_assert!(logged);
        }
    }
}

fn vectors(of: &[(u64, u64)]) -> Vectors {
    // A vector for each of its names: [1], [2], …
    of.iter().map(|(element, name)| (*element, vec![*name])).collect()
}

/// Figure 3.5 with elements threads, pos, countW and countR, as far as the text tells it; logs A to F.
fn figure() -> Vec<(bool, Vectors)> {
    let (threads, pos, count_w, count_r) = (0, 1, 2, 3);
    [
        vectors(&[(threads, 1), (count_w, 1)]),
        vectors(&[(pos, 2), (count_w, 2)]),
        vectors(&[(pos, 3), (count_r, 2)]),
        vectors(&[(pos, 1), (count_w, 1)]),
        vectors(&[(threads, 1), (count_r, 1)]),
        vectors(&[(threads, 1), (count_r, 2)]),
    ]
    .map(|of| (true, of))
    .to_vec()
}

#[test]
fn the_example_of_the_paper() {
    let collection = collection(4, &figure());
    let group = collection.group(FAILURE);
    assert_eq!(group.dispersion(), (&[1, 3, 2, 2][..], 8));
    let near = |a, b| Ratio::new(group.similarity(Metric::Dsim, a, b), group.whole(Metric::Dsim));
    assert_eq!(near(0, 3), Ratio::new(2, 8));
    assert_eq!(near(3, 0), Ratio::new(2, 8));
    assert_eq!(near(1, 0), Ratio::new(0, 1), "B is like nobody");
    let sgm = group.ranked(Heuristic::Sgm, Metric::Dsim);
    assert_eq!((sgm[0].log, sgm[0].relevance), (0, Ratio::new(3, 16)), "A comes first");
    let first = Candidates::new(&group, Heuristic::Sgm, Metric::Dsim).next().expect("a candidate");
    let from: Vec<Option<usize>> =
        first.parts.iter().map(|part| part.map(|part| part.from)).collect();
    assert_eq!(from, [Some(0), Some(3), Some(0), Some(4)], "pos from D and countR from E");
    let dgm = group.ranked(Heuristic::Dgm, Metric::Dsim);
    assert_eq!((dgm[0].log, dgm[0].relevance), (1, Ratio::new(5, 8)), "B, before C and D");
    let first = Candidates::new(&group, Heuristic::Dgm, Metric::Dsim).next().expect("a candidate");
    let from: Vec<Option<usize>> =
        first.parts.iter().map(|part| part.map(|part| part.from)).collect();
    // Nobody is like it: the paper draws A and C.
    assert_eq!(from, [Some(4), Some(1), Some(1), Some(2)], "threads from E and countR from C");
}

/// Equations 3.7 to 3.9: a vector in 3 of 4 failing and 1 passing log has sensitivity 3/4, specificity 3/4 and correlation 3/4.
#[test]
fn single_elements_are_chosen_by_what_goes_with_failing() {
    let one = |failed, name| (failed, vectors(&[(0, name)]));
    let other = |failed, name| (failed, vectors(&[(1, name)]));
    let logs = [
        one(true, 1),
        one(true, 1),
        one(true, 1),
        one(true, 2),
        one(false, 1),
        other(true, 5),
        other(true, 6),
        other(true, 6),
        other(false, 6),
        other(false, 6),
        other(false, 6),
    ];
    let collection = collection(2, &logs);
    let group = collection.group(FAILURE);
    assert!(group.has_single_elements());
    let correlated = group.correlated();
    assert_eq!(correlated[0][0].correlation, Ratio::new(3, 4));
    assert_eq!(correlated[0][1].correlation, Ratio::new(2, 5));
    // 6 fails twice of three, but passes three times: 2·2/(3+3+2); 5 fails once: 2/(3+0+1).
    assert_eq!(correlated[1][0].correlation, Ratio::new(1, 2));
    let first = Candidates::new(&group, Heuristic::Sgm, Metric::Dsim).next().expect("a candidate");
    assert_eq!(first.vectors(&group)[0].1, [Who(1)]);
    assert_eq!(Candidates::new(&group, Heuristic::Sgm, Metric::Dsim).count(), 4);
}
