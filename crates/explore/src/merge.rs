//! Parts of a search put together: what one machine alone would have found and seen.

use std::path::PathBuf;

use rustc_hash::FxHashSet;
use unravel_files::{ProgramRef, ShardError, ShardFile, ShardFinding};
use unravel_results::{Covered, Explored, Stopped, Tally};
use unravel_trace::{LeftOut, ReadsFrom};

/// A search, from its parts.
#[derive(Debug)]
pub struct Merged {
    pub program: ProgramRef,
    pub explored: Explored,
    /// Each bug once, by the schedule with the smallest number; and the file of the part that found it.
    pub findings: Vec<(PathBuf, ShardFinding)>,
    /// The numbers of parts that are not there.
    pub missing: Vec<u32>,
    pub of: u32,
}

/// Puts parts together, each with the file it is from.
pub fn merge(mut parts: Vec<(PathBuf, ShardFile)>) -> Result<Merged, ShardError> {
    parts.sort_by_key(|(_, part)| part.number);
    check(&parts)?;
    let Some((_, first)) = parts.first() else {
        return Err(ShardError::None { path: PathBuf::new() });
    };
    let (program, of) = (first.program.clone(), first.of);
    let missing: Vec<u32> =
        (1..=of).filter(|n| !parts.iter().any(|(_, part)| part.number == *n)).collect();
    let mut findings: Vec<(PathBuf, ShardFinding)> = Vec::new();
    for (path, part) in &parts {
        for finding in &part.findings {
            let same = findings.iter_mut().find(|(_, other)| other.bug == finding.bug);
            match same {
                Some(other) if other.1.schedule > finding.schedule => {
                    *other = (path.clone(), finding.clone());
                }
                Some(_) => {}
                None => findings.push((path.clone(), finding.clone())),
            }
        }
    }
    findings.sort_by_key(|(_, finding)| finding.schedule);
    let explored = explored(&parts, missing.is_empty());
    Ok(Merged { program, explored, findings, missing, of })
}

/// Whether the parts belong together.
fn check(parts: &[(PathBuf, ShardFile)]) -> Result<(), ShardError> {
    for pair in parts.windows(2) {
        let [(first, a), (second, b)] = pair else { continue };
        let what = if a.program.fingerprint != b.program.fingerprint {
            Some("the program")
        } else if a.explored.strategy != b.explored.strategy {
            Some("the strategy")
        } else if a.explored.seed != b.explored.seed {
            Some("the seed")
        } else if a.of != b.of {
            Some("the number of parts")
        } else if a.lanes != b.lanes {
            Some("the number of workers (--jobs), which this strategy divides its work by,")
        } else {
            None
        };
        let (first, second) = (first.clone(), second.clone());
        if let Some(what) = what {
            return Err(ShardError::Different { first, second, what });
        }
        if a.number == b.number {
            return Err(ShardError::Twice { number: a.number, of: a.of, first, second });
        }
    }
    Ok(())
}

fn explored(parts: &[(PathBuf, ShardFile)], all_there: bool) -> Explored {
    let mut tally = Tally::default();
    let mut systematic = Vec::new();
    let mut flows: FxHashSet<ReadsFrom> = FxHashSet::default();
    let mut classes: Option<FxHashSet<u64>> = Some(FxHashSet::default());
    let mut most_classes = 0;
    let mut covered = Covered::default();
    let mut elapsed = std::time::Duration::ZERO;
    let first = &parts[0].1;
    let same_visible = parts.iter().all(|(_, part)| part.visible == first.visible);
    for (_, part) in parts {
        let explored = &part.explored;
        tally.add(explored.tally.clone());
        flows.extend(&part.reads_from);
        match (&mut classes, &part.classes) {
            (Some(all), Some(some)) => all.extend(some),
            _ => classes = None,
        }
        most_classes = most_classes.max(explored.covered.classes);
        covered.recent_schedules += explored.covered.recent_schedules;
        covered.recent_classes += explored.covered.recent_classes;
        // They ran side by side.
        elapsed = elapsed.max(explored.elapsed);
        for theirs in &explored.systematic {
            let at = systematic.iter().position(|ours: &unravel_trace::Reached| {
                (ours.method, ours.deviations) == (theirs.method, theirs.deviations)
            });
            match at {
                Some(at) => {
                    let ours = std::mem::replace(&mut systematic[at], theirs.clone());
                    systematic[at] = ours.with(theirs.clone());
                }
                None => systematic.push(theirs.clone()),
            }
        }
    }
    // A part that saw no occasion to deviate did not look at what others did.
    for group in &mut systematic {
        let has = |part: &ShardFile| {
            let theirs = part.explored.systematic.iter();
            theirs.clone().any(|s| (s.method, s.deviations) == (group.method, group.deviations))
        };
        if group.is_complete() && !parts.iter().all(|(_, part)| has(part)) {
            group.left_out.push(LeftOut::PartsMissing);
        }
    }
    let differ = tally.nonzero_exits > 0 && tally.exited() > tally.nonzero_exits;
    tally.exits_differ |= !tally.nondet && differ;
    covered.reads_from = flows.len() as u64;
    // Without all fingerprints: those of the part that saw most, which is what is sure.
    covered.classes = classes.map_or(most_classes, |classes| classes.len() as u64);
    if !(same_visible && all_there) {
        for part in systematic.iter_mut().filter(|part| part.is_complete()) {
            part.left_out.push(match all_there {
                true => LeftOut::PartsDiffer,
                false => LeftOut::PartsMissing,
            });
        }
    }
    let every = |stopped: Stopped| parts.iter().all(|(_, part)| part.explored.stopped == stopped);
    let stopped = if !tally.failed.is_empty() {
        Stopped::Found
    } else if every(Stopped::Exhausted) && same_visible && all_there {
        Stopped::Exhausted
    } else {
        let reason = |stopped: &Stopped| *stopped != Stopped::Exhausted;
        parts
            .iter()
            .map(|(_, part)| part.explored.stopped)
            .find(reason)
            .unwrap_or(Stopped::Schedules)
    };
    Explored {
        strategy: first.explored.strategy.clone(),
        variety: first.explored.variety,
        seed: first.explored.seed,
        tally,
        stopped,
        elapsed,
        covered,
        systematic,
        part: None,
        long: parts
            .iter()
            .filter_map(|(_, part)| part.explored.long.clone())
            .max_by_key(|long| long.one),
    }
}
