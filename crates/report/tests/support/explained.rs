//! Explanations made of the diagnoses.

use std::time::Duration;

use super::*;

pub fn explored(schedules: u64, stopped: Stopped) -> Explored {
    let tally = Tally {
        schedules,
        steps: 40 * schedules,
        most_events: 11,
        most_threads: 3,
        ..Tally::default()
    };
    let elapsed = Duration::from_micros(1_234_567);
    let covered = Covered { classes: 40, reads_from: 12, recent_schedules: 64, recent_classes: 3 };
    Explored {
        strategy: "portfolio".into(),
        variety: Variety::Portfolio,
        seed: 7,
        tally,
        stopped,
        elapsed,
        covered,
        systematic: Vec::new(),
        part: None,
        long: None,
    }
}

/// A bug as a search finds it.
pub fn bug(verdict: Verdict, failure: &Failure) -> ExplainedBug {
    let id = failure.id();
    ExplainedBug {
        id,
        failure: failure.clone(),
        found: Found {
            schedule: 12,
            times: 3,
            replayed: true,
            threads: 3,
            events: 11,
            switches: 9,
        },
        trace: "unravel-out/bank-1.trace".into(),
        replay: "unravel replay unravel-out/bank-1.trace".into(),
        verdict,
        needs: Vec::new(),
        same_cause_as: None,
        vanished: None,
    }
}

pub fn diagnosed(diagnosis: Diagnosis) -> ExplainedBug {
    let failure = diagnosis.failure.clone();
    bug(Verdict::Diagnosed(Box::new(diagnosis)), &failure)
}

pub fn undiagnosed() -> ExplainedBug {
    let failure = failure(FailureKind::UseAfterFree, "memory freed before is read", "T0.2", 60);
    bug(Verdict::Undiagnosed { reason: "the time was up".into() }, &failure)
}

pub fn explanation(bugs: Vec<ExplainedBug>) -> Explanation {
    let stopped = if bugs.is_empty() { Stopped::Schedules } else { Stopped::Found };
    let mut explored = explored(120, stopped);
    bugs.iter().for_each(|bug| explored.tally.count_failed(bug.id.clone(), bug.found.times));
    Explanation {
        program: "bank".into(),
        command: "unravel explain src/bank.c --seed 7".into(),
        explored,
        bugs,
        repairs: None,
        patches: vec![],
        put_aside: vec![],
        notes: vec![],
    }
}

pub fn put_aside(site: &str, times: u64) -> PutAside {
    let bug = KnownBug { kind: FailureKind::Deadlock, site: site.parse().expect("a place") };
    PutAside { bug, reason: "known, see ticket 17".into(), times }
}

/// Two bugs with one root cause, and a third that nobody could explain.
pub fn several() -> (Explanation, Sources) {
    let (first, sources) = lost_update();
    let mut second = first.clone();
    second.failure = failure(FailureKind::OutOfBounds, "read beyond 'rows'", "T0.1", 33);
    let mut second = diagnosed(second);
    second.same_cause_as = Some(0);
    let mut several = explanation(vec![diagnosed(first), second, undiagnosed()]);
    several.notes = vec!["one worker ended early".into()];
    several.put_aside =
        vec![put_aside("bank.c:88", 4), put_aside("other.c:9", 2), put_aside("bank.c:99", 0)];
    (several, sources)
}

/// A bug with all of its causes and two repairs; the diff of the first was written to a file.
pub fn repaired() -> (Explanation, Sources) {
    let (repairs, _) = caused::repaired();
    let (diagnosis, sources) = lost_update();
    let mut bug = diagnosed(diagnosis);
    bug.id = repairs.causes.bugs[0].id.clone();
    let mut made = explanation(vec![bug]);
    made.repairs = Some(Box::new(repairs));
    made.patches = vec!["unravel-out/bank-repair-1.diff".into()];
    (made, sources)
}

/// Nothing could be followed.
pub fn all_inconclusive() -> Explanation {
    let mut nothing = explanation(vec![]);
    nothing.explored = explored(5, Stopped::AllInconclusive);
    nothing.explored.tally.inconclusive = 5;
    nothing.explored.tally.reason =
        Some(Unfollowed::Inconclusive { reason: "it calls 'fork'".into(), at: None });
    nothing
}

/// Names everywhere that want to be obeyed, by GitHub and by SARIF viewers too.
pub fn hostile_explanation() -> (Explanation, Sources) {
    let (mut diagnosis, _) = hostile();
    let bad = "x\n::error::a%0A{0}[b](javascript:1),c:\u{202e}\x1b[2J";
    let place = Place {
        function: bad.into(),
        file: "a b/ü#?%,:\n.c".into(),
        line: 3,
        column: 7,
        wrapper: false,
    };
    diagnosis.failure.message = bad.into();
    diagnosis.failure.stack = vec![place.clone()];
    diagnosis.failure.related = vec![Related { message: bad.into(), stack: vec![place.clone()] }];
    let mut bug = diagnosed(diagnosis);
    bug.trace = bad.into();
    bug.replay = bad.into();
    let mut all = explanation(vec![bug]);
    all.program = bad.into();
    all.command = bad.into();
    all.notes = vec![bad.into()];
    all.put_aside = vec![PutAside { reason: bad.into(), ..put_aside(&format!("{bad}:3"), 1) }];
    (all, Sources::none().with(&place.file, "one\ntwo\nü = \"😀\"; {0}\n"))
}

/// All of them, with a name.
pub fn explanations() -> Vec<(&'static str, Explanation, Sources)> {
    let mut all: Vec<(&'static str, Explanation, Sources)> = super::all()
        .into_iter()
        .map(|(name, diagnosis, sources)| (name, explanation(vec![diagnosed(diagnosis)]), sources))
        .collect();
    let (explanation_of_several, sources) = several();
    all.push(("several", explanation_of_several, sources));
    let (explanation_with_repairs, sources) = repaired();
    all.push(("repaired", explanation_with_repairs, sources));
    let (mut unrepaired, sources) = several();
    unrepaired.repairs = Some(Box::new(caused::unrepaired().0));
    all.push(("unrepaired", unrepaired, sources));
    let (mut injected, sources) = several();
    injected.repairs = Some(Box::new(caused::injected_repairs().0));
    injected.patches = vec!["\x1b<img>".into()];
    all.push(("injected repairs", injected, sources));
    let (explanation_of_hostile, sources) = hostile_explanation();
    all.push(("hostile explanation", explanation_of_hostile, sources));
    all.push(("nothing found", explanation(vec![]), Sources::none()));
    all.push(("undiagnosed", explanation(vec![undiagnosed()]), Sources::none()));
    all.push(("all inconclusive", all_inconclusive(), Sources::none()));
    all
}
