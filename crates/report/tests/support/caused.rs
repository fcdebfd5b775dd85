//! Causes and repairs made by hand.

use std::time::Duration;

use super::pages::INJECTION;
use super::*;

/// An event: thread, line, verb; `event` is its number in the failing run.
pub fn who(name: &str, line: u32, verb: Verb, event: Option<u32>) -> Participant {
    let key = EventKey { thread: thread(name), site: SiteId(line), occurrence: 0 };
    Participant { key, place: place(line), verb, event, called: None }
}

pub fn before(first: Participant, second: Participant, object: &str) -> CausalOrder {
    CausalOrder { first, second, object: object.into(), witness: Some(Schedule::default()) }
}

pub fn cause(orders: Vec<CausalOrder>) -> Cause {
    let segments = vec![Segment { thread: 0, events: 3 }, Segment { thread: 1, events: 2 }];
    let threads = vec![thread("T0"), thread("T0.1")];
    let failing = Schedule { threads, segments, ..Schedule::default() };
    Cause { orders, failing, constraints: 8, blocks: 1, minimal: true }
}

pub fn class(pattern: Pattern, causes: Vec<Cause>) -> CauseClass {
    CauseClass {
        causes,
        pattern,
        sentence: "T0.2 comes between two writes of T0.1".into(),
        advice: "no other thread should come between bank.c:5 and bank.c:6".into(),
        regions: vec![region("T0.1", 5, 6), region("T0.2", 10, 11)],
        same_regions_as: None,
        bugs: vec![0],
        inputs: vec![0],
    }
}

fn region(name: &str, from: u32, to: u32) -> CauseRegion {
    CauseRegion { thread: thread(name), from: place(from), to: place(to) }
}

fn caused(failure: Failure, classes: u64) -> CausedBug {
    let schedule = cause(vec![]).failing;
    let trace = Some("unravel-out/bank-1.trace".into());
    CausedBug { id: failure.id(), failure, classes, inputs: vec![0], schedule, trace }
}

pub fn causes(failure: Failure, classes: Vec<CauseClass>) -> Causes {
    let failing = classes.iter().flat_map(|class| &class.causes).map(|cause| cause.blocks).sum();
    let mut unique = Vec::new();
    for order in classes.iter().flat_map(|c| &c.causes).flat_map(|c| &c.orders) {
        let (first, second) = order.lines();
        let line = LineOrder { first, second, object: order.object.clone() };
        if !unique.contains(&line) {
            unique.push(line);
        }
    }
    let iterations = classes.iter().map(|class| class.causes.len() as u64).sum();
    Causes {
        program: "bank".into(),
        command: "unravel causes src/bank.c -- 3".into(),
        bugs: vec![caused(failure, failing)],
        verdict: CausesVerdict::Concurrent,
        counts: CauseCounts {
            iterations,
            constraints: 8.0,
            core: 2.0,
            unique: unique.len() as u64,
        },
        unique,
        classes,
        extent: Extent {
            schedules: 31,
            passing: 25,
            failing,
            max_steps: 20_000_000,
            most_events: 14,
            ..Extent::default()
        },
        inputs: vec![],
        notes: vec![],
        elapsed: Duration::from_micros(123_456),
    }
}

/// ConcBugAssist's figure 3.2: `x` and `y` are written together by each of two threads, and have to stay equal.
pub fn figure_3_2() -> (Causes, Sources) {
    let failure = failure(FailureKind::Assertion, "assertion 'x == y' failed", "T0", 19);
    let write = |name, line, event| who(name, line, Verb::Writes, Some(event));
    let one_way = cause(vec![
        before(write("T0.1", 5, 3), write("T0.2", 10, 4), "x"),
        before(write("T0.2", 11, 5), write("T0.1", 6, 6), "y"),
    ]);
    let other_way = cause(vec![
        before(write("T0.2", 10, 3), write("T0.1", 5, 4), "x"),
        before(write("T0.1", 6, 5), write("T0.2", 11, 6), "y"),
    ]);
    let mut second = class(Pattern::AtomicityViolation, vec![other_way]);
    second.same_regions_as = Some(0);
    second.sentence = "T0.1 comes between two writes of T0.2".into();
    let classes = vec![class(Pattern::AtomicityViolation, vec![one_way]), second];
    let source = lines(&[(5, "  x = 0;"), (6, "  y = 0;"), (10, "  x = 1;"), (11, "  y = 1;")]);
    (causes(failure, classes), Sources::none().with(FILE, &source))
}

/// Transmission's use before initialisation: the run crashes before the write.
pub fn too_early() -> (Causes, Sources) {
    let failure = failure(FailureKind::NullDereference, "null pointer is read", "T0.1", 20);
    let orders = vec![before(
        who("T0.1", 20, Verb::Reads, Some(4)),
        who("T0", 41, Verb::Writes, None),
        "session->band",
    )];
    let mut class = class(Pattern::OrderViolation, vec![cause(orders)]);
    class.sentence =
        "T0.1 reads session->band at bank.c:20 before T0 writes it at bank.c:41".into();
    class.advice = "bank.c:41 has to come before bank.c:20".into();
    let source = lines(&[
        (20, "  use(session->band);"),
        (41, "  session->band = tr_bandwidthNew(session, NULL);"),
    ]);
    (causes(failure, vec![class]), Sources::none().with(FILE, &source))
}

/// Two threads wait for each other.
pub fn deadlocked() -> (Causes, Sources) {
    let (diagnosis, sources) = deadlock();
    let root = diagnosis.root_cause.unwrap();
    let mut class = class(Pattern::Deadlock, vec![cause(root.orders)]);
    class.sentence = root.sentence;
    class.advice = root.advice;
    (causes(diagnosis.failure, vec![class]), sources)
}

/// Both threads read before either writes: arrows cross.
pub fn crossing() -> (Causes, Sources) {
    let (diagnosis, sources) = lost_update();
    let root = diagnosis.root_cause.unwrap();
    let mut class = class(Pattern::LostUpdate, vec![cause(root.orders)]);
    class.sentence = root.sentence;
    class.advice = root.advice;
    (causes(diagnosis.failure, vec![class]), sources)
}

/// Three threads; an event that one order leads to and another leaves, and an arrow over a column.
pub fn three_threads() -> (Causes, Sources) {
    let failure = failure(FailureKind::Assertion, "assertion 'done' failed", "T0.3", 32);
    let orders = vec![
        before(
            who("T0.1", 5, Verb::Writes, Some(1)),
            who("T0.3", 30, Verb::Reads, Some(2)),
            "ready",
        ),
        before(
            who("T0.3", 31, Verb::Writes, Some(3)),
            who("T0.2", 10, Verb::Updates, Some(4)),
            "done",
        ),
        before(
            who("T0.2", 10, Verb::Updates, Some(4)),
            who("T0.3", 32, Verb::Reads, Some(5)),
            "done",
        ),
    ];
    let source = lines(&[
        (5, "ready = true;"),
        (10, "done--;"),
        (30, "if (ready)"),
        (31, "  done++;"),
        (32, "assert(done);"),
    ]);
    let class = class(Pattern::Compound, vec![cause(orders)]);
    (causes(failure, vec![class]), Sources::none().with(FILE, &source))
}

/// A search that left something out, one class with many causes, two failures.
pub fn incomplete() -> (Causes, Sources) {
    let (mut made, sources) = figure_3_2();
    let first = &mut made.classes[0];
    let with = |one: &str, other: &str| {
        let mut again = first.causes[0].clone();
        for order in &mut again.orders {
            for who in [&mut order.first, &mut order.second] {
                let name = if who.key.thread == thread("T0.1") { one } else { other };
                who.key.thread = thread(name);
            }
        }
        again
    };
    let more = [
        with("T0.2", "T0.1"),
        with("T0.1", "T0.2"),
        with("T0.1", "T0.3"),
        with("T0.3", "T0.4"),
        with("T0.5", "T0.6"),
    ];
    first.causes.extend(more);
    first.causes[0].minimal = false;
    first.bugs = vec![0, 1];
    made.bugs.push(caused(failure(FailureKind::Abort, "abort was called", "T0.2", 12), 3));
    made.extent = Extent {
        schedules: 5000,
        passing: 1_200,
        failing: 34,
        fixed_inputs: true,
        left_out: vec![LeftOut::PartsMissing, LeftOut::ManyThreads { most: 128 }],
        ..made.extent
    };
    made.notes = vec!["one worker ended early".into()];
    (made, sources)
}

/// The same behind inputs: the first cause needs one, the second is there with two of three. With the third every schedule
/// fails.
pub fn with_inputs() -> (Causes, Sources) {
    let (mut made, sources) = figure_3_2();
    let tried = |value, passing, failing| TriedInput {
        values: vec![InputValue {
            source: InputSource::Nondet { thread: thread("T0"), index: 0 },
            value,
        }],
        passing,
        failing,
        complete: true,
        sequential: passing == 0,
    };
    made.inputs = vec![tried(4, 5, 0), tried(4711, 3, 2), tried(-1, 0, 4)];
    made.bugs[0].inputs = vec![1];
    made.classes[0].inputs = vec![1];
    made.classes[1].inputs = vec![0, 1];
    made.extent.fixed_inputs = true;
    (made, sources)
}

pub fn sequential() -> (Causes, Sources) {
    let (mut made, sources) = figure_3_2();
    made.verdict = CausesVerdict::Sequential;
    made.classes.clear();
    made.unique.clear();
    made.extent.passing = 0;
    made.extent.failing = 27;
    (made, sources)
}

pub fn nothing_fails() -> (Causes, Sources) {
    let (mut made, sources) = sequential();
    made.verdict = CausesVerdict::NothingFails;
    made.bugs.clear();
    made.extent.passing = 27;
    made.extent.failing = 0;
    (made, sources)
}

/// Two repairs that stood the checks, one of them not completely, and a candidate that did not.
pub fn repaired() -> (Repairs, Sources) {
    let (causes, sources) = figure_3_2();
    let check = |how, complete, classes| Check {
        how,
        complete,
        schedules: 2000,
        classes,
        aside: 0,
        left_out: if complete { vec![] } else { vec![LeftOut::PartsMissing] },
        inputs: vec![],
    };
    let lock = Repair {
        title: "a new mutex around bank.c:5 to 6 and bank.c:10 to 11".into(),
        kind: RepairKind::NewLock,
        covers: vec![0, 1],
        leaves: vec![],
        diff: "--- a/src/bank.c\n+++ b/src/bank.c\n@@ -4,4 +4,6 @@\n void *first(void *arg) {\n+\tpthread_mutex_lock(&unravel_mutex);\n   x = 0;\n-  y = 0; // slow\n+  y = 0;\n+\tpthread_mutex_unlock(&unravel_mutex);\n }\n".into(),
        files: vec![PatchedFile { path: FILE.into(), text: "int x;\n".into() }],
        checks: vec![check(CheckedAs::Virtual, true, 12), check(CheckedAs::Patched, true, 9)],
        meaning: None,
        cost: RepairCost {
            lines_added: 4,
            lines_removed: 0,
            classes_kept: Some((6, 8)),
            longest_section: 3,
        },
        notes: vec!["the mutex is in bank.c, other files cannot see it".into()],
    };
    let order = Repair {
        title: "T0.2 waits until T0.1 is done".into(),
        kind: RepairKind::Order,
        covers: vec![1],
        checks: vec![check(CheckedAs::Virtual, true, 1), check(CheckedAs::Patched, false, 700)],
        cost: RepairCost { lines_added: 1, lines_removed: 1, ..RepairCost::default() },
        notes: vec![],
        ..lock.clone()
    };
    let repairs = Repairs {
        causes: Causes { command: "unravel repair src/bank.c -- 3".into(), ..causes },
        repairs: vec![lock, order],
        rejected: vec![Rejected {
            title: "take 'm' around bank.c:5".into(),
            reason: "deadlocks: T0.1 waits for mutex 'm', which it holds".into(),
        }],
        notes: vec!["at most 3 repairs were looked for".into()],
        elapsed: Duration::from_millis(2500),
    };
    (repairs, sources)
}

/// Nothing stood the checks.
pub fn unrepaired() -> (Repairs, Sources) {
    let (mut made, sources) = repaired();
    made.repairs.clear();
    (made, sources)
}

/// Every text wants to be obeyed.
pub fn injected_repairs() -> (Repairs, Sources) {
    let (mut made, _) = repaired();
    let bad = || format!("{INJECTION}\x1b[2J\u{202e}\"];\\N");
    let place = |line| Place { function: bad().into(), file: bad().into(), ..super::place(line) };
    let causes = &mut made.causes;
    causes.program = bad();
    causes.command = bad();
    causes.notes = vec![bad()];
    causes.extent.left_out = vec![LeftOut::Inconclusive { reason: bad() }];
    for bug in &mut causes.bugs {
        bug.failure.message = bad();
        bug.failure.stack = vec![place(19)];
        bug.trace = Some(bad());
    }
    for order in &mut causes.unique {
        let line = SourceLine { file: bad().into(), line: 3, function: "".into() };
        *order = LineOrder { first: line.clone(), second: line, object: bad() };
    }
    for class in &mut causes.classes {
        class.sentence = bad();
        class.advice = bad();
        for order in class.causes.iter_mut().flat_map(|cause| &mut cause.orders) {
            order.object = bad();
            for who in [&mut order.first, &mut order.second] {
                who.place = place(who.place.line);
            }
        }
    }
    for repair in &mut made.repairs {
        repair.title = bad();
        repair.notes = vec![bad()];
        repair.diff += &format!("{}\n@@ -1 +1 @@\n-{}\n+{}\n", bad(), bad(), bad());
        repair.checks[1].left_out = vec![LeftOut::Inconclusive { reason: bad() }];
    }
    made.rejected[0] = Rejected { title: bad(), reason: bad() };
    made.notes = vec![bad()];
    let source = vec![bad(); 40].join("\n");
    (made, Sources::none().with(&bad(), &source))
}

/// All of them, with a name.
pub fn all() -> Vec<(&'static str, Causes, Sources)> {
    let mut all = Vec::new();
    let mut add = |name, (causes, sources)| all.push((name, causes, sources));
    add("figure 3.2", figure_3_2());
    add("too early", too_early());
    add("deadlock", deadlocked());
    add("crossing", crossing());
    add("three threads", three_threads());
    add("incomplete", incomplete());
    add("with inputs", with_inputs());
    add("sequential", sequential());
    add("nothing fails", nothing_fails());
    let (hostile, sources) = injected_repairs();
    add("hostile", (hostile.causes, sources));
    all
}
