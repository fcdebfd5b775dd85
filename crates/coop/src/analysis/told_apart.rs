//! Failures at one place that are different bugs, told apart by what their logs share. Ours: the paper takes all logs for one bug's, and thinks
//! of the line and the kind of the failure where there are several (thesis §3.1.1, footnote 4).
//!
//! The *pattern* of an access vector is how threads take turns, without how long each goes on and which thread is which: [3,3,1,3] and
//! [2,1,1,2] are both *a b a*. A pattern is *telling* if several failing logs have it and no passing one does. Logs that have a telling pattern
//! in common belong together. Two such sets are different bugs only if each fails without what is telling of the other: there is an
//! element with patterns that tell of the first, which in all logs of the second goes as in runs that pass, and the other way round. (With
//! telling patterns alone each variant of one bug would be a bug.) Logs without a telling pattern, and sets of few logs, count for each.
//!
//! It errs on the side of one bug: without passing logs, or where threads take turns so often that no pattern comes twice, all logs of a
//! place stay together.

use rustc_hash::{FxHashMap, FxHashSet};

use super::collection::{Collection, Group};
use crate::budgets::LEAST_ALIKE;
use crate::log::FailureSite;

/// Logs that failed alike: at one place, and for all they share by one bug.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alike {
    pub site: FailureSite,
    /// How many different bugs fail there.
    pub bugs_there: usize,
    /// Positions in the collection, ascending.
    pub logs: Vec<usize>,
}

/// By element that a failing log has: the number of its pattern there, and whether runs that pass have it too.
type Patterns = Vec<FxHashMap<usize, (u32, bool)>>;

impl Collection {
    /// Different failures, those with most logs first.
    pub fn alike(&self) -> Vec<Alike> {
        let mut all: Vec<Alike> = Vec::new();
        for (site, _) in self.failures() {
            let parts = told_apart(&self.group(site));
            let bugs_there = parts.len();
            all.extend(parts.into_iter().map(|logs| Alike { site, bugs_there, logs }));
        }
        // Stable: places as they come, and of one place the larger part first.
        all.sort_by_key(|one| std::cmp::Reverse(one.logs.len()));
        all
    }

    /// The logs that failed alike, and of those that passed as many as the one-element case looks at.
    pub fn group_of(&self, alike: &Alike) -> Group<'_> {
        self.group_among(alike.site, |log| alike.logs.binary_search(&log).is_ok())
    }
}

/// The logs of each bug, as positions in the collection.
fn told_apart(group: &Group<'_>) -> Vec<Vec<usize>> {
    let patterns = patterns(group);
    let mut bugs: Vec<Vec<usize>> = together(&patterns);
    // Those that are not told apart are one, until all are.
    while let Some((a, b)) = first_pair(&bugs, |a, b| !are_different(&patterns, a, b)) {
        let other = bugs.remove(b);
        bugs[a].extend(other);
    }
    if bugs.len() < 2 {
        return vec![group.failing.clone()];
    }
    let mut assigned = vec![false; group.failing.len()];
    bugs.iter().flatten().for_each(|log| assigned[*log] = true);
    let rest = || (0..assigned.len()).filter(|log| !assigned[*log]);
    let positions = |bug: Vec<usize>| {
        let mut logs: Vec<usize> =
            bug.into_iter().chain(rest()).map(|log| group.failing[log]).collect();
        logs.sort_unstable();
        logs
    };
    bugs.into_iter().map(positions).collect()
}

/// How threads take turns: each stretch of one thread once, threads by their first appearance.
fn pattern(vector: &[u16]) -> Vec<u16> {
    let mut names: FxHashMap<u16, u16> = FxHashMap::default();
    let mut pattern: Vec<u16> = Vec::new();
    for who in vector {
        let next = names.len() as u16;
        let name = *names.entry(*who).or_insert(next);
        if pattern.last() != Some(&name) {
            pattern.push(name);
        }
    }
    pattern
}

/// By failing log of the group.
fn patterns(group: &Group<'_>) -> Patterns {
    let elements = group.collection().elements().len();
    let mut all: Patterns = vec![FxHashMap::default(); group.failing.len()];
    for element in 0..elements {
        let mut known: FxHashMap<u32, (u32, bool)> = FxHashMap::default();
        let mut numbers: FxHashMap<Vec<u16>, u32> = FxHashMap::default();
        let pattern_of = |vector: u32| pattern(group.collection().raw(element, vector));
        let passing: FxHashSet<u32> =
            group.passing.iter().filter_map(|log| group.picked(*log, element)).collect();
        let passing: FxHashSet<Vec<u16>> = passing.into_iter().map(pattern_of).collect();
        for (log, &position) in group.failing.iter().enumerate() {
            let Some(vector) = group.picked(position, element) else { continue };
            let one = *known.entry(vector).or_insert_with(|| {
                let pattern = pattern_of(vector);
                let is_usual = passing.contains(&pattern);
                let next = numbers.len() as u32;
                (*numbers.entry(pattern).or_insert(next), is_usual)
            });
            all[log].insert(element, one);
        }
        // Without a run that passed to compare with, nothing is telling.
        if passing.is_empty() {
            for log in &mut all {
                log.remove(&element);
            }
        }
    }
    all
}

/// Logs joined by telling patterns, sets that are large enough, the largest first.
fn together(patterns: &Patterns) -> Vec<Vec<usize>> {
    let mut by_pattern: FxHashMap<(usize, u32), Vec<usize>> = FxHashMap::default();
    for (log, all) in patterns.iter().enumerate() {
        for (element, (pattern, _)) in all.iter().filter(|(_, (_, is_usual))| !is_usual) {
            by_pattern.entry((*element, *pattern)).or_default().push(log);
        }
    }
    let mut parents: Vec<usize> = (0..patterns.len()).collect();
    fn root(parents: &mut [usize], mut log: usize) -> usize {
        while parents[log] != log {
            parents[log] = parents[parents[log]];
            log = parents[log];
        }
        log
    }
    let mut is_told = vec![false; patterns.len()];
    for logs in by_pattern.values().filter(|logs| logs.len() > 1) {
        for log in logs {
            is_told[*log] = true;
            let (a, b) = (root(&mut parents, logs[0]), root(&mut parents, *log));
            parents[a.max(b)] = a.min(b);
        }
    }
    let mut sets: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for log in (0..patterns.len()).filter(|log| is_told[*log]) {
        sets.entry(root(&mut parents, log)).or_default().push(log);
    }
    let least = LEAST_ALIKE.max(patterns.len().div_ceil(10));
    let mut sets: Vec<Vec<usize>> = sets.into_values().filter(|set| set.len() >= least).collect();
    sets.sort_by_key(|set| (std::cmp::Reverse(set.len()), set[0]));
    sets
}

fn first_pair(
    sets: &[Vec<usize>],
    is_it: impl Fn(&[usize], &[usize]) -> bool,
) -> Option<(usize, usize)> {
    let pairs = (0..sets.len()).flat_map(|a| (a + 1..sets.len()).map(move |b| (a, b)));
    pairs.into_iter().find(|(a, b)| is_it(&sets[*a], &sets[*b]))
}

/// Each fails without what is telling of the other.
fn are_different(patterns: &Patterns, a: &[usize], b: &[usize]) -> bool {
    fails_without(patterns, a, b) && fails_without(patterns, b, a)
}

/// Whether there is an element that tells of `these`, and is as in runs that pass in all of `others`, in several of each.
fn fails_without(patterns: &Patterns, these: &[usize], others: &[usize]) -> bool {
    let mut telling: FxHashMap<usize, usize> = FxHashMap::default();
    for log in these {
        for (element, _) in patterns[*log].iter().filter(|(_, (_, is_usual))| !is_usual) {
            *telling.entry(*element).or_default() += 1;
        }
    }
    telling.into_iter().filter(|(_, times)| *times > 1).any(|(element, _)| {
        let mut logged = others.iter().filter_map(|log| patterns[*log].get(&element)).peekable();
        let mut times = 0;
        logged.peek().is_some()
            && logged.all(|(_, is_usual)| {
                times += 1;
                *is_usual
            })
            && times > 1
    })
}

#[cfg(test)]
mod tests {
    use unravel_trace::FailureKind;

    use super::*;
    use crate::elements::ElementId;
    use crate::log::{Ending, Log, LogId, Who};

    const SITE: FailureSite = FailureSite { kind: FailureKind::Assertion, places: 1 };

    /// Logs of three elements; failing ones come first.
    fn collection(failing: &[[Option<&[u64]>; 3]], passing: &[[Option<&[u64]>; 3]]) -> Collection {
        let failing = failing.iter().map(|of| (Ending::Failed(SITE), of));
        let passing = passing.iter().map(|of| (Ending::Passed, of));
        let logs = failing.chain(passing).enumerate().map(|(id, (ending, of))| {
            let vector = |(at, vector): (usize, &Option<&[u64]>)| {
                let whos = vector.as_ref()?.iter().map(|who| Who(*who)).collect();
                Some((ElementId(at as u64), whos))
            };
            let vectors = of.iter().enumerate().filter_map(vector).collect();
            Log { id: LogId(id as u128), build: 1, ending, vectors }
        });
        Collection::of((0..3).map(ElementId).collect(), logs).expect("its elements are known")
    }

    const USUAL: Option<&[u64]> = Some(&[1, 1, 2, 2]);
    const TORN: Option<&[u64]> = Some(&[1, 2, 2, 1]);
    /// The same by other threads, and for longer.
    const TORN_TOO: Option<&[u64]> = Some(&[2, 2, 1, 2]);

    #[test]
    fn turns_are_a_pattern() {
        assert_eq!(pattern(&[3, 3, 1, 3]), [0, 1, 0]);
        assert_eq!(pattern(&[2, 1, 1, 2]), [0, 1, 0]);
        assert_eq!(pattern(&[]), [0u16; 0]);
    }

    #[test]
    fn two_bugs_at_one_place_are_told_apart() {
        let failing = [
            [TORN, USUAL, None],
            [TORN_TOO, None, USUAL],
            [None, TORN, USUAL],
            [TORN, USUAL, USUAL],
            [USUAL, TORN_TOO, None],
            [USUAL, TORN, None],
            [None, None, USUAL],
        ];
        let logs = collection(&failing, &[[USUAL; 3]; 4]);
        let alike = logs.alike();
        let parts: Vec<&[usize]> = alike.iter().map(|one| one.logs.as_slice()).collect();
        assert_eq!(parts, [[0, 1, 3, 6], [2, 4, 5, 6]], "the last log counts for both");
        assert!(alike.iter().all(|one| one.bugs_there == 2));
        assert_eq!(logs.group_of(&alike[1]).failing, [2, 4, 5, 6]);
    }

    /// Some logs show one trace of a bug, some another: neither goes as in runs that pass where the other was logged.
    #[test]
    fn two_traces_of_one_bug_are_one() {
        let failing = [
            [TORN, None, USUAL],
            [TORN, None, USUAL],
            [TORN_TOO, None, USUAL],
            [None, TORN, USUAL],
            [None, TORN, USUAL],
            [None, TORN_TOO, USUAL],
        ];
        let logs = collection(&failing, &[[USUAL; 3]; 4]);
        let alike = logs.alike();
        assert_eq!(alike.len(), 1);
        assert_eq!(alike[0].logs.len(), 6);
    }

    #[test]
    fn without_runs_that_passed_nothing_is_told_apart() {
        let failing = [[TORN, USUAL, None], [USUAL, TORN, None]].repeat(3);
        assert_eq!(collection(&failing, &[]).alike().len(), 1);
    }
}
