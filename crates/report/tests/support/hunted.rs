//! Hunts made by hand.

use std::time::Duration;

use super::pages::INJECTION;
use super::*;

/// A hunt from 100 runs, 3 of them different, that exposed these.
pub fn hunt(exposed: Vec<Exposed>, end: HuntEnd) -> Hunt {
    Hunt {
        program: "bank".into(),
        command: "unravel hunt src/bank.c -- 3".into(),
        runs: RunsSeen { executed: 100, passing: 100, distinct: 3, ..RunsSeen::default() },
        bounds: HuntBounds { depth: 16, traces: 4, flips: 4 },
        effort: HuntEffort {
            attempts: 5,
            observed: 3,
            queries: 12,
            ruled_out: 2,
            redundant: 1,
            from_database: 1,
            synthesised: 2,
            promised: 4,
            executions: 123,
            ..HuntEffort::default()
        },
        exposed,
        end,
        journal: Vec::new(),
        notes: Vec::new(),
        time: Duration::from_millis(1_240),
    }
}

pub fn flip(name: &str, line: u32, kind: FlipKind) -> Flip {
    Flip { thread: thread(name), place: place(line), kind }
}

/// The lost update, derived from the run that its diagnosis has beside it.
pub fn exposed(how: How) -> (Exposed, Sources) {
    let (diagnosis, sources) = lost_update();
    let derived =
        Derived { failing: diagnosis.failing.clone(), passing: diagnosis.alternates[0].clone() };
    let flips = match how {
        How::ByPath => vec![
            flip("T0.1", 12, FlipKind::Branch),
            Flip {
                place: Place {
                    function: "".into(),
                    file: "".into(),
                    line: 0,
                    column: 0,
                    wrapper: false,
                },
                ..flip("T0.2", 0, FlipKind::Answer)
            },
        ],
        How::BySchedule | How::ByItself => Vec::new(),
    };
    let exposed = Exposed {
        failure: diagnosis.failure.clone(),
        how,
        attempt: 5,
        depth: 3,
        traces: 1,
        flips,
        flipped: 7,
        synthesised: 2,
        inputs: Vec::new(),
        events: 11,
        derived: Some(Box::new(derived)),
        diagnosis: Some(Box::new(diagnosis)),
        undiagnosed: None,
        trace: Some("unravel-out/bank-assertion-1.trace".into()),
        time: Duration::from_millis(30),
    };
    (exposed, sources)
}

/// Found on another path, with an input.
pub fn by_path() -> (Hunt, Sources) {
    let (mut found, sources) = exposed(How::ByPath);
    found.inputs = vec![InputValue { source: InputSource::Argument { index: 0 }, value: -7 }];
    let mut hunt = hunt(vec![found], HuntEnd::Found);
    let attempt = |number, flips, traces, result| Attempt { number, flips, traces, result };
    let turned = || vec![flip("T0.1", 12, FlipKind::Branch)];
    hunt.journal = vec![
        attempt(4, turned(), TraceSource::Database, AttemptEnd::NoOrderFails),
        attempt(5, turned(), TraceSource::Execution, AttemptEnd::Fails),
    ];
    (hunt, sources)
}

/// Found in another order of the same steps.
pub fn by_schedule() -> (Hunt, Sources) {
    let (mut found, sources) = exposed(How::BySchedule);
    found.attempt = 1;
    (found.flipped, found.synthesised) = (0, 0);
    (hunt(vec![found], HuntEnd::Found), sources)
}

/// A failure that needed no hunting.
fn plain() -> Exposed {
    Exposed { derived: None, diagnosis: None, attempt: 0, ..exposed(How::ByItself).0 }
}

/// Three of the runs failed.
pub fn by_itself() -> (Hunt, Sources) {
    let mut hunt = hunt(vec![plain()], HuntEnd::Exhausted);
    hunt.runs.failing = 3;
    hunt.runs.executed = 103;
    (hunt, exposed(How::ByItself).1)
}

/// One failed by itself, another is not diagnosed, and both are of the same bug.
pub fn several() -> (Hunt, Sources) {
    let (mut hunt, sources) = by_itself();
    let (mut second, _) = exposed(How::BySchedule);
    second.diagnosis = None;
    second.undiagnosed = Some("the time was up".into());
    hunt.exposed.push(second);
    (hunt, sources)
}

pub fn nothing(end: HuntEnd) -> (Hunt, Sources) {
    (hunt(Vec::new(), end), Sources::none())
}

/// Nothing at all: no run, no bound, no time.
pub fn empty() -> (Hunt, Sources) {
    let (mut hunt, sources) = nothing(HuntEnd::Exhausted);
    hunt.runs = RunsSeen::default();
    hunt.effort = HuntEffort::default();
    hunt.bounds = HuntBounds { depth: 0, traces: 0, flips: 0 };
    hunt.time = Duration::ZERO;
    (hunt, sources)
}

/// Whose every text wants to be a script.
pub fn injected() -> (Hunt, Sources) {
    let (mut hunt, _) = by_path();
    let bad = || INJECTION.to_owned();
    hunt.program = bad();
    hunt.command = bad();
    hunt.notes = vec![bad()];
    hunt.end = HuntEnd::Incomplete { why: vec![HuntGap::Unanswered { why: bad() }] };
    hunt.effort.refused = vec![Refused { reason: bad(), count: 2 }];
    hunt.journal[0].flips[0].place.file = INJECTION.into();
    let exposed = &mut hunt.exposed[0];
    exposed.failure.message = bad();
    exposed.trace = Some(bad());
    exposed.diagnosis = None;
    exposed.undiagnosed = Some(bad());
    (hunt, Sources::none())
}

pub fn all() -> Vec<(&'static str, Hunt, Sources)> {
    let mut all = Vec::new();
    let mut add = |name, (hunt, sources)| all.push((name, hunt, sources));
    add("by path", by_path());
    add("by schedule", by_schedule());
    add("by itself", by_itself());
    add("several", several());
    add("exhausted", nothing(HuntEnd::Exhausted));
    add("incomplete", nothing(HuntEnd::Incomplete { why: vec![HuntGap::LongLoops] }));
    add("stopped", nothing(HuntEnd::Stopped { why: HuntStop::Time, left: 12 }));
    add("empty", empty());
    add("injected", injected());
    all
}
