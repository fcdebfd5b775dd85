//! A schedule followed where more is visible than it counts: against all schedules of toy programs, and decision by decision.

use std::collections::BTreeSet;

use unravel_conformance::{Act, Toy};
use unravel_execute::{Laboratory, Recount};
use unravel_strategies::Random;
use unravel_trace::*;

const OUTCOME: Detail = Detail::Outcome;

/// Counts the events of each thread, as a visible set counts them.
struct Counts<'v> {
    visible: &'v VisibleSet,
    last: u64,
    /// Whose events they were, in order.
    counted: Vec<u32>,
}

impl<'v> Counts<'v> {
    fn new(visible: &'v VisibleSet) -> Counts<'v> {
        Counts { visible, last: 0, counted: Vec::new() }
    }
}

impl Observer for Counts<'_> {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        let is_new = std::mem::replace(&mut self.last, executed.number) < executed.number;
        if is_new && is_counted(&executed.what, self.visible) {
            self.counted.push(executed.thread.0);
        }
        None
    }
}

/// Whose events a schedule has, in order.
fn order(schedule: &Schedule) -> Vec<u32> {
    let segments = schedule.segments.iter();
    segments.flat_map(|segment| vec![segment.thread; segment.events as usize]).collect()
}

/// Two threads that add to two variables, one atomically in halves, and to one plainly.
fn program() -> Toy {
    let body = vec![
        Act::Read(0),
        Act::Put(0, 1),
        Act::Load(1),
        Act::Read(2),
        Act::Store(1, 1),
        Act::Put(2, 1),
        Act::Update(1),
    ];
    Toy::joined(vec![body.clone(), body], vec![Act::Expect(0, 2), Act::Expect(2, 2)])
}

/// Every set of plain sites of a program's first thread and all of the second.
fn visible_sets(toy: &Toy) -> Vec<VisibleSet> {
    let all: Vec<SiteId> = toy.sites().all().iter().collect();
    (0..1 << 4)
        .map(|bits: u32| {
            let chosen = all.iter().enumerate().filter(|(index, _)| bits >> (index % 4) & 1 == 1);
            let mut visible = VisibleSet::default();
            for (_, site) in chosen {
                visible.insert(*site);
            }
            visible
        })
        .collect()
}

#[test]
fn a_schedule_counts_the_same_where_more_is_visible() {
    let mut toy = program();
    let all = toy.sites().all().clone();
    let mut outcomes = BTreeSet::new();
    for visible in visible_sets(&toy) {
        let mut lab = Laboratory::new(&mut toy, Input::default(), visible.clone());
        for seed in 0..40 {
            let recorded = lab.run(&mut Random::new(seed), &mut (), Want::only(OUTCOME));
            let mut counts = Counts::new(&visible);
            let again = lab.recount(&recorded.schedule, &all, &mut counts, Want::only(OUTCOME));
            assert_eq!(again.outcome, recorded.outcome, "seed {seed} with {visible:?}");
            assert_eq!(counts.counted, order(&recorded.schedule), "seed {seed} with {visible:?}");
            // And from there it is an ordinary schedule.
            let replayed = lab.replay(&again.schedule, OUTCOME);
            assert_eq!(replayed.outcome, recorded.outcome);
            outcomes.insert(recorded.outcome.to_string());
        }
    }
    assert!(outcomes.len() > 1, "only {outcomes:?}");
}

/// A view in which two threads are about to do this.
fn decide(recount: &mut Recount<'_>, current: u32, first: Pending, second: Pending) -> u32 {
    let enabled = [(1, first), (2, second)].map(|(thread, pending)| Ready {
        thread: ThreadId(thread),
        pending,
        by_time: false,
        is_over: false,
    });
    let names = [ThreadName::main(), ThreadName::main().child(1), ThreadName::main().child(2)];
    let view = View {
        enabled: &enabled,
        early: &[],
        names: &names,
        current: ThreadId(current),
        why: Why::UsedUp,
        events: 0,
    };
    let choice = recount.next(&view);
    assert_eq!(choice.events, 1);
    choice.thread.0
}

#[test]
fn an_atomic_access_out_of_sight_is_counted() {
    let access = |op, atomic| Pending {
        op,
        address: 0x1000,
        bytes: 4,
        site: SiteId(7),
        caller: None,
        operand: Operand::None,
        atomic,
    };
    let threads =
        vec![ThreadName::main(), ThreadName::main().child(1), ThreadName::main().child(2)];
    let segments = vec![
        Segment { thread: 1, events: 2 },
        Segment { thread: 2, events: 1 },
        Segment { thread: 1, events: 1 },
    ];
    let (choices, visible) = (Vec::new(), VisibleSet::default());
    let schedule = Schedule { threads, segments, choices, visible };
    let (load, store) = (access(Op::Read, true), access(Op::Write, true));
    let plain = access(Op::Write, false);

    // Nothing is visible, and still the schedule counts both atomic accesses of the first thread.
    let mut recount = Recount::new(&schedule);
    assert_eq!(decide(&mut recount, 1, load, store), 1);
    assert_eq!(decide(&mut recount, 1, store, store), 1);
    assert_eq!(decide(&mut recount, 1, load, store), 2);
    assert_eq!(decide(&mut recount, 2, load, store), 1);

    // What is no event of the schedule is done right after what is one, before anybody else's turn.
    let mut recount = Recount::new(&schedule);
    assert_eq!(decide(&mut recount, 1, load, store), 1);
    assert_eq!(decide(&mut recount, 1, plain, store), 1);
    assert_eq!(decide(&mut recount, 1, store, store), 1);
    assert_eq!(decide(&mut recount, 1, plain, store), 1);
    assert_eq!(decide(&mut recount, 1, load, store), 2);
    assert_eq!(decide(&mut recount, 2, load, plain), 2);
    assert_eq!(decide(&mut recount, 2, load, store), 1);
}
