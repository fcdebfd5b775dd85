//! A log that begins in the middle, as a flight recorder's does: the recorded suffixes are a *goal* (Symbiosis has whole paths, and no answer here).
//!
//! Nothing is modelled from the middle: the machine runs the program from its start, at random, until a run ends as the log says with
//! the recorded suffix at the end of every thread's path. A thread that failed or returned has to have its suffix to the last branch. One that
//! was still on its way when the process ended may have come further, or only into its suffix, by at least the half of it.
//!
//! In which direction it errs: it finds nothing where a run is rare, or where rounds of a busy wait differ. What it finds
//! was executed twice, and did at its end what the log says; what it did before is *one* way to get there.

use unravel_execute::Laboratory;
use unravel_trace::{Beyond, Detail, Outcome, Rng, Route, Turn, VisibleSet, Want};

use crate::search::{Options, RebuildError, Rebuilt, at_random};
use crate::steer::Steer;
use crate::task::Task;

/// Searches for a run that ends along the suffixes.
pub(crate) fn reach(
    lab: &mut Laboratory<'_>,
    task: &Task,
    options: &Options,
) -> Result<Rebuilt, RebuildError> {
    let (mut runs, mut ended, mut events) = (0, 0, 64);
    let mut learned = VisibleSet::default();
    while runs < options.runs && lab.may_go_on() {
        let policy = at_random(Rng::derive(options.seed, runs), events);
        runs += 1;
        let mut steer = Steer::new(&task.route, None, &[], policy);
        steer.early = runs.is_multiple_of(8);
        let want = Want { learn: true, ..Want::only(Detail::Outcome) };
        let followed = lab.follow(None, &mut steer, &mut (), want)?;
        events = events.max(followed.run.schedule.events());
        if task.expected.is_end(&followed.run.outcome) {
            ended += 1;
            let along = followed.taken.as_deref().is_some_and(|taken| is_along(task, taken));
            if along && let Some(found) = confirm(lab, task, &followed.run, runs) {
                return Ok(found);
            }
        }
        learned.merge(&followed.run.learned);
        let more = learned.without(lab.visible());
        if !more.is_empty() {
            let mut visible = lab.visible().clone();
            visible.merge(&more);
            lab.see(visible);
        }
    }
    match lab.problem() {
        Some(problem) => Err(problem.clone().into()),
        None if lab.is_damaged() => Err(RebuildError::Damaged { runs }),
        None => Err(RebuildError::Goal { runs, ended }),
    }
}

/// The same run by its schedule alone.
fn confirm(
    lab: &mut Laboratory<'_>,
    task: &Task,
    found: &unravel_trace::Run,
    runs: u64,
) -> Option<Rebuilt> {
    let run = lab.replay(&found.schedule, Detail::Events);
    let same = match (&run.outcome, &found.outcome) {
        (Outcome::Exited { code: a }, Outcome::Exited { code: b }) => a == b,
        (a, b) => a.is_same_bug(b),
    };
    same.then(|| Rebuilt {
        run,
        runs,
        earlier: false,
        rounds_left_out: 0,
        orders: None,
        stamped: false,
        branches: task.route.turns() as u64,
        threads: task.route.legs.len(),
        suffixes: true,
    })
}

/// Whether every recorded thread of the run did at its end what the log says.
fn is_along(task: &Task, taken: &Route) -> bool {
    let recorded = &task.route.functions;
    // By function of the run: its number in the log, if its branches were recorded.
    let numbers: Vec<Option<u32>> = taken
        .functions
        .iter()
        .map(|name| recorded.iter().position(|known| known == name).map(|number| number as u32))
        .collect();
    task.route.legs.iter().zip(&task.middle).all(|(leg, middle)| {
        let did = taken.leg(&leg.thread).map_or(&[] as &[Turn], |leg| leg.turns.as_slice());
        let did = did.iter().filter_map(|turn| {
            Some(Turn { function: (*numbers.get(turn.function as usize)?)?, ..*turn })
        });
        let did: Vec<Turn> = did.collect();
        // Who failed or returned did all of it.
        match (middle, leg.then == Beyond::Ended) {
            (true, true) => did.ends_with(&leg.turns),
            (false, true) => did == leg.turns,
            (true, false) => overlaps(&did, &leg.turns),
            (false, false) => did.starts_with(&leg.turns) || leg.turns.starts_with(&did),
        }
    })
}

/// Whether a suffix occurs in a path, or the path ends within the second half of it. Knuth, Morris and Pratt's search.
fn overlaps(path: &[Turn], suffix: &[Turn]) -> bool {
    let mut back = vec![0; suffix.len()];
    let mut length = 0;
    for at in 1..suffix.len() {
        while length > 0 && suffix[at] != suffix[length] {
            length = back[length - 1];
        }
        length += usize::from(suffix[at] == suffix[length]);
        back[at] = length;
    }
    let mut matched = 0;
    for turn in path {
        while matched > 0 && suffix[matched] != *turn {
            matched = back[matched - 1];
        }
        matched += usize::from(suffix.get(matched) == Some(turn));
        if matched == suffix.len() {
            return true;
        }
    }
    matched * 2 >= suffix.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(numbers: &[u32]) -> Vec<Turn> {
        numbers.iter().map(|&block| Turn { function: 0, block, successor: 0 }).collect()
    }

    #[test]
    fn a_suffix_occurs_or_the_path_ends_well_into_it() {
        let suffix = turns(&[1, 2, 1, 3]);
        for (path, along) in [
            (&[0, 1, 2, 1, 3][..], true),
            (&[1, 2, 1, 2, 1, 3, 7], true),
            (&[5, 1, 2], true),
            (&[5, 1], false),
            (&[1, 2, 9], false),
            (&[], false),
        ] {
            assert_eq!(overlaps(&turns(path), &suffix), along, "{path:?}");
        }
        assert!(overlaps(&turns(&[4]), &[]));
    }
}
