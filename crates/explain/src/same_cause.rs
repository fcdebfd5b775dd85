//! Failures of one cause: one race can break several assertions.
//!
//! Two bugs have one cause if the same shield keeps both away: it is the same stretch or order, by line, or the shield of one
//! is tried on the other, which then goes away too (`vanishing.rs`). Where the failing run itself shows the cause, if the same is
//! advised, or the same object is raced for. Where there is no evidence, if the lines of the root causes are the same, which says
//! "look here first" and not that one repair mends both.

use std::collections::BTreeSet;

use unravel_results::{Evidence, ExplainedBug, Kept, Participant, RootCause, Vanished};
use unravel_trace::Place;

/// Has each bug point to the one that tells its cause: the first of those of which is known what keeps them away, else the
/// first. `try_on` keeps what keeps one bug away in schedules of another, by its index.
pub fn mark(bugs: &mut [ExplainedBug], mut try_on: impl FnMut(usize, &[Kept]) -> Option<Vanished>) {
    let mut order: Vec<usize> = (0..bugs.len()).collect();
    order.sort_by_key(|index| kept(&bugs[*index]).is_none());
    let mut heads: Vec<usize> = Vec::new();
    for index in order {
        let own = cause(&bugs[index]);
        let is_same = |head: &&usize| own.is_some() && cause(&bugs[**head]) == own;
        let mut found = heads.iter().find(is_same).map(|head| (*head, None));
        if found.is_none() && is_open(&bugs[index]) {
            found = heads.iter().find_map(|head| {
                let vanished = try_on(index, kept(&bugs[*head])?)?;
                Some((*head, Some(vanished)))
            });
        }
        match found {
            Some((head, vanished)) => {
                bugs[index].same_cause_as = Some(head);
                bugs[index].vanished = vanished;
            }
            None => heads.push(index),
        }
    }
}

/// Whether a shield may say more of a bug than is known: who waits for whom, and who races with whom, is known.
fn is_open(bug: &ExplainedBug) -> bool {
    let cause = bug.verdict.diagnosis().and_then(|diagnosis| diagnosis.root_cause.as_ref());
    !cause.is_some_and(|cause| cause.evidence == Some(Evidence::Shown))
}

/// What keeps a bug away.
fn kept(bug: &ExplainedBug) -> Option<&[Kept]> {
    match bug.verdict.diagnosis()?.root_cause.as_ref()?.evidence.as_ref()? {
        Evidence::Shielded { kept, .. } => Some(kept),
        Evidence::Unavoidable { .. } | Evidence::Shown => None,
    }
}

type Line = (String, u32);

#[derive(PartialEq, Eq)]
enum Cause {
    Kept(BTreeSet<(Line, Line)>),
    Advised(String),
    RacedFor(String),
    Orders(BTreeSet<(Line, Line)>),
}

fn cause(bug: &ExplainedBug) -> Option<Cause> {
    let diagnosis = bug.verdict.diagnosis()?;
    let cause: &RootCause = diagnosis.root_cause.as_ref()?;
    let line = |place: &Place| (place.file.to_string(), place.line);
    match &cause.evidence {
        Some(Evidence::Shielded { kept, .. } | Evidence::Unavoidable { kept, .. }) => {
            Some(Cause::Kept(kept.iter().map(|kept| (line(&kept.from), line(&kept.to))).collect()))
        }
        Some(Evidence::Shown) => Some(match &diagnosis.race {
            Some(race) => Cause::RacedFor(race.object.clone()),
            None => Cause::Advised(cause.advice.clone()),
        }),
        None => lines(bug).map(Cause::Orders),
    }
}

/// The orders of a bug's root cause, by line. Nothing of a cause without lines.
fn lines(bug: &ExplainedBug) -> Option<BTreeSet<(Line, Line)>> {
    let cause: &RootCause = bug.verdict.diagnosis()?.root_cause.as_ref()?;
    let line = |who: &Participant| {
        let Place { file, line, .. } = &who.place;
        (*line != 0).then(|| (file.to_string(), *line))
    };
    let orders = cause.orders.iter().map(|o| Some((line(&o.first)?, line(&o.second)?)));
    let lines: BTreeSet<_> = orders.collect::<Option<_>>()?;
    (!lines.is_empty()).then_some(lines)
}

#[cfg(test)]
mod tests {
    use unravel_results::{Diagnosis, Effort, Found, Observed, Pattern, Status, Verdict as Told};
    use unravel_trace::{
        Failure, FailureKind, Mark, Outcome, Schedule, Shield, SiteId, ThreadName, Trace,
    };

    use super::*;

    fn place(line: u32) -> Place {
        Place { function: "put".into(), file: "queue.c".into(), line, column: 1, wrapper: false }
    }

    fn kept_at(line: u32) -> Kept {
        let mark = Mark { site: SiteId(line), caller: None };
        Kept {
            shield: Shield::Atomic { from: mark, to: mark, most: 4, lock: None },
            from: place(line),
            to: place(line),
        }
    }

    /// A bug at a line, with this evidence.
    fn bug(line: u32, evidence: Option<Evidence>) -> ExplainedBug {
        let failure = Failure {
            kind: FailureKind::Assertion,
            message: "assertion".to_owned(),
            thread: ThreadName::main(),
            stack: vec![place(line)],
            related: Vec::new(),
        };
        let outcome = Outcome::Failed(Box::new(failure.clone()));
        let cause = RootCause { evidence, pattern: Pattern::LostUpdate, ..RootCause::unsaid() };
        let diagnosis = Diagnosis {
            program: "queue".to_owned(),
            failure: failure.clone(),
            status: Status::Confirmed,
            failing: Observed { trace: Trace::default(), schedule: Schedule::default(), outcome },
            switches_given: 0,
            root_cause: Some(cause),
            race: None,
            certified: None,
            alternates: Vec::new(),
            effort: Effort::default(),
            notes: Vec::new(),
        };
        ExplainedBug {
            id: failure.id(),
            failure,
            found: Found {
                schedule: 1,
                times: 1,
                replayed: true,
                threads: 2,
                events: 9,
                switches: 3,
            },
            trace: String::new(),
            replay: String::new(),
            verdict: Told::Diagnosed(Box::new(diagnosis)),
            needs: Vec::new(),
            same_cause_as: None,
            vanished: None,
        }
    }

    fn shielded(line: u32) -> Option<Evidence> {
        Some(Evidence::Shielded { kept: vec![kept_at(line)], tried: 9, failed_without: 4 })
    }

    const GONE: Vanished = Vanished { tried: 240, failed_without: 12 };

    #[test]
    fn the_same_lines_need_no_trial() {
        let mut bugs = [bug(1, shielded(7)), bug(2, shielded(7))];
        mark(&mut bugs, |_, _| panic!("nothing is tried"));
        assert_eq!(bugs[1].same_cause_as, Some(0));
        assert_eq!(bugs[1].vanished, None);
    }

    #[test]
    fn what_vanishes_with_another_has_its_cause() {
        let mut bugs = [bug(1, shielded(7)), bug(2, shielded(8)), bug(3, shielded(9))];
        mark(&mut bugs, |index, kept| (index == 2 && kept[0].from.line == 7).then_some(GONE));
        assert_eq!(bugs.each_ref().map(|bug| bug.same_cause_as), [None, None, Some(0)]);
        assert_eq!(bugs[2].vanished, Some(GONE));
    }

    #[test]
    fn who_knows_what_helps_tells_the_cause() {
        let mut bugs = [bug(1, None), bug(2, shielded(8))];
        mark(&mut bugs, |index, _| (index == 0).then_some(GONE));
        assert_eq!(bugs.each_ref().map(|bug| bug.same_cause_as), [Some(1), None]);
    }

    #[test]
    fn what_the_run_itself_shows_is_not_doubted() {
        let mut bugs = [bug(1, shielded(7)), bug(2, Some(Evidence::Shown))];
        mark(&mut bugs, |_, _| Some(GONE));
        assert_eq!(bugs[1].same_cause_as, None);
    }
}
