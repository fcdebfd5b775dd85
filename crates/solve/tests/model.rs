//! Models and evaluations of traces written by hand: one idea a test.

use unravel_solve::generate::{Generated, Recording, large};
use unravel_solve::{
    Evaluator, Model, ModelError, SlotId, Source, StepId, SyncFamily, Verdict, criteria,
};
use unravel_trace::*;

const X: u64 = 0x1000;
const LOCK: u64 = 0x2000;
const A: ThreadId = ThreadId(0);
const B: ThreadId = ThreadId(1);

fn model(run: &Generated) -> Model {
    Model::new(&run.trace, &run.symbolic).expect("a consistent trace")
}

fn steps(numbers: &[u32]) -> Vec<StepId> {
    numbers.iter().copied().map(StepId).collect()
}

fn verdict(model: &Model, order: &[u32]) -> Verdict {
    Evaluator::new(model).evaluate(&steps(order))
}

fn lock(run: &mut Recording, thread: ThreadId, address: u64) {
    let at = run.location(address, 40);
    run.step(thread);
    run.event(EventKind::Lock { at, shared: false });
}

fn unlock(run: &mut Recording, thread: ThreadId, address: u64) {
    let at = run.location(address, 40);
    run.step(thread);
    run.event(EventKind::Unlock { at });
}

fn put(run: &mut Recording, thread: ThreadId, address: u64, value: u128) {
    let value = run.symbolic.exprs.constant(value, 32);
    run.step(thread);
    run.write(address, 4, value);
}

/// The last read is 7: that is the bug.
fn fails_if_seven(run: &mut Recording, seen: ExprId) -> Bug {
    let seven = run.symbolic.exprs.constant(7, 32);
    let fails = run.symbolic.exprs.compare(CompareOp::Eq, seen, seven);
    let after = run.trace.events.len() as u32 - 1;
    Bug::Condition { thread: run.trace.events[after as usize].thread, after, fails }
}

/// B reads what A wrote.
fn racy() -> Generated {
    let mut run = Recording::new(2);
    put(&mut run, A, X, 7);
    run.step(B);
    let seen = run.read(X, 4);
    let bug = fails_if_seven(&mut run, seen);
    run.finish(bug)
}

#[test]
fn a_race_goes_both_ways() {
    let model = model(&racy());
    assert_eq!(verdict(&model, &[0, 1]), Verdict::Fails { at: StepId(1) });
    assert_eq!(verdict(&model, &[1, 0]), Verdict::Passes);
    assert_eq!(verdict(&model, &[1]), Verdict::Passes);
    assert_eq!(verdict(&model, &[1, 1]), Verdict::Blocked { at: StepId(1) });
    assert_eq!(verdict(&model, &[9]), Verdict::Blocked { at: StepId(9) });
    assert!(model.conflicts(StepId(0), StepId(1)));
    assert_eq!(model.candidates(SlotId(0)), [Source::Initial, Source::Write(0)]);
}

#[test]
fn bytes_flow_through_cells() {
    let mut run = Recording::new(2);
    put(&mut run, A, X, 0x0102_0304);
    run.step(B);
    let byte = run.symbolic.exprs.constant(7, 8);
    run.write(X + 1, 1, byte);
    run.step(B);
    let seen = run.read(X, 4);
    assert_eq!(run.concrete(seen), 0x0102_0704);
    let bug = fails_if_seven(&mut run, seen);
    let generated = run.finish(bug);
    let model = model(&generated);
    assert_eq!(model.cells().len(), 3);
    let mut evaluator = Evaluator::new(&model);
    evaluator.evaluate(&steps(&[1, 0, 2]));
    assert_eq!(evaluator.value(model.reads()[0].symbol), 0x0102_0304);
    evaluator.evaluate(&steps(&[0, 1, 2]));
    assert_eq!(evaluator.value(model.reads()[0].symbol), 0x0102_0704);
    let flows = criteria::flows(&model, &evaluator);
    assert_eq!(flows, [(Some(0), 2), (Some(1), 2)]);
}

#[test]
fn sections_hide_what_is_overwritten() {
    let mut run = Recording::new(2);
    lock(&mut run, A, LOCK);
    put(&mut run, A, X, 1);
    put(&mut run, A, X, 7);
    unlock(&mut run, A, LOCK);
    lock(&mut run, B, LOCK);
    run.step(B);
    let seen = run.read(X, 4);
    let bug = fails_if_seven(&mut run, seen);
    let model = model(&run.finish(bug));
    assert_eq!(model.candidates(SlotId(0)), [Source::Initial, Source::Write(1)]);
    // B was cut off holding the lock: it gets a release, so that A can come later.
    let held = model.sections().iter().find(|s| s.thread == B).expect("B took it");
    assert!(held.synthetic && held.release == Some(StepId(5)));
    assert_eq!(verdict(&model, &[4, 5, 0, 1, 2, 3]), Verdict::Passes);
    assert_eq!(verdict(&model, &[0, 4]), Verdict::Blocked { at: StepId(4) });
}

#[test]
fn locks_held_before_the_recording_are_inferred() {
    let mut run = Recording::new(2);
    put(&mut run, A, X, 7);
    unlock(&mut run, A, LOCK);
    lock(&mut run, B, LOCK);
    run.step(B);
    let seen = run.read(X, 4);
    let bug = fails_if_seven(&mut run, seen);
    let model = model(&run.finish(bug));
    assert_eq!(model.syncs()[0].family, SyncFamily::Lock);
    assert_eq!(model.syncs()[0].initial, [SyncState::Held { by: A, shared: false }]);
    assert_eq!(verdict(&model, &[2]), Verdict::Blocked { at: StepId(2) });
    assert!(matches!(verdict(&model, &[0, 1, 2, 3]), Verdict::Fails { .. }));
}

/// A: lock 1, lock 2. B: lock 2, lock 1.
fn deadlock() -> Generated {
    let mut run = Recording::new(2);
    let other = LOCK + 64;
    lock(&mut run, A, LOCK);
    lock(&mut run, B, other);
    let (one, two) = (run.location(LOCK, 40), run.location(other, 40));
    let request =
        |thread, at| Request { thread, site: SiteId(0), wants: Wants::Lock { at, shared: false } };
    run.finish(Bug::Deadlock { requests: vec![request(A, two), request(B, one)] })
}

#[test]
fn deadlocks_are_requests_that_nobody_grants() {
    let model = model(&deadlock());
    assert_eq!(verdict(&model, &[0, 1, 2, 3]), Verdict::Fails { at: StepId(3) });
    assert_eq!(verdict(&model, &[1, 0, 3, 2]), Verdict::Fails { at: StepId(2) });
    // A gets both before B begins.
    assert_eq!(verdict(&model, &[0, 2, 1, 3]), Verdict::Passes);
}

#[test]
fn lost_wakeups_need_a_signal_while_one_waits() {
    let mut run = Recording::new(2);
    let (cond, mutex) = (run.location(0x3000, 48), run.location(LOCK, 40));
    run.step(B);
    run.event(EventKind::Signal { at: cond, woken: None });
    lock(&mut run, A, LOCK);
    run.step(A);
    run.event(EventKind::Wait { at: cond, mutex });
    let wants = Wants::Wake { at: cond, mutex };
    let generated =
        run.finish(Bug::Deadlock { requests: vec![Request { thread: A, site: SiteId(0), wants }] });
    let model = model(&generated);
    assert!(matches!(verdict(&model, &[0, 1, 2, 3]), Verdict::Fails { .. }));
    assert_eq!(verdict(&model, &[1, 2, 0, 3]), Verdict::Passes);
    // The request stands before the signal: it waits, and goes on.
    assert_eq!(verdict(&model, &[1, 2, 3, 0]), Verdict::Passes);
    assert!(model.conflicts(StepId(0), StepId(2)) && model.conflicts(StepId(0), StepId(3)));
}

#[test]
fn signals_choose_the_recorded_waiter_else_the_first() {
    let mut run = Recording::new(3);
    let (cond, mutex) = (run.location(0x3000, 48), run.location(LOCK, 40));
    let c = ThreadId(2);
    for thread in [A, B] {
        lock(&mut run, thread, LOCK);
        run.step(thread);
        run.event(EventKind::Wait { at: cond, mutex });
    }
    run.step(c);
    run.event(EventKind::Signal { at: cond, woken: Some(B) });
    run.step(c);
    run.read(X, 4);
    let after = run.trace.events.len() as u32 - 1;
    let model = model(&run.finish(Bug::Reached { thread: c, after }));
    let mut evaluator = Evaluator::new(&model);
    assert!(matches!(evaluator.evaluate(&steps(&[0, 1, 2, 3, 4, 5])), Verdict::Fails { .. }));
    assert_eq!(evaluator.choices(), [1]);
    evaluator.evaluate(&steps(&[2, 3, 0, 1, 4, 5]));
    assert_eq!(evaluator.choices(), [0]);
    evaluator.evaluate(&steps(&[0, 1, 4, 5]));
    assert!(evaluator.choices().is_empty());
}

/// Imported traces judge reads of several threads together.
#[test]
fn conditions_over_several_threads_wait_for_the_last() {
    let mut run = Recording::new(2);
    put(&mut run, A, X, 3);
    run.step(B);
    let seen = run.read(X, 4);
    run.step(A);
    let other = run.read(X + 4, 4);
    let sum = run.symbolic.exprs.binary(BinaryOp::Add, seen, other);
    let expected = run.concrete(sum);
    let exprs = &mut run.symbolic.exprs;
    let expected = exprs.constant(expected, 32);
    let fails = exprs.eq(sum, expected);
    let model = model(&run.finish(Bug::Condition { thread: B, after: 1, fails }));
    assert!(model.is_bug_deferred());
    assert_eq!(verdict(&model, &[0, 1, 2]), Verdict::Fails { at: StepId(2) });
    assert_eq!(verdict(&model, &[0, 2, 1]), Verdict::Fails { at: StepId(1) });
    assert_eq!(verdict(&model, &[1, 0, 2]), Verdict::Passes);
}

#[test]
fn distance_counts_flows_segments_and_switches() {
    let mut run = Recording::new(2);
    put(&mut run, A, X, 1);
    put(&mut run, A, X, 7);
    run.step(B);
    let seen = run.read(X, 4);
    put(&mut run, B, X + 4, 0);
    let bug = fails_if_seven(&mut run, seen);
    let bug = match bug {
        Bug::Condition { thread, fails, .. } => Bug::Condition { thread, after: 2, fails },
        other => other,
    };
    let model = model(&run.finish(bug));
    let (failing, other) = (steps(&[0, 1, 2]), steps(&[0, 2, 3, 1]));
    let mut evaluator = Evaluator::new(&model);
    evaluator.evaluate(&failing);
    let flows = criteria::flows(&model, &evaluator);
    assert_eq!(evaluator.evaluate(&other), Verdict::Passes);
    let others = criteria::flows(&model, &evaluator);
    assert_eq!(criteria::distance(&model, &failing, &flows, &other, &others), [1, 1, 1]);
    assert_eq!(criteria::distance(&model, &failing, &flows, &failing, &flows), [0, 0, 0]);
}

#[test]
fn long_traces_have_one_violation() {
    for (events, threads) in [(40, 2), (500, 3), (5_000, 4)] {
        let generated = large(events, threads, 3);
        let model = model(&generated);
        let failing = model.observed().expect("it was observed");
        let mut evaluator = Evaluator::new(&model);
        assert!(matches!(evaluator.evaluate(&failing), Verdict::Fails { .. }));
        // Undone by letting the first of the two finish before the second begins.
        let balance = model.cells().find(|c| model.cell_range(*c).0 == X).expect("it is accessed");
        let second = model.reads()[model.reads_of(balance)[1] as usize].step;
        let first = model.writes()[model.writes_of(balance)[0] as usize].step;
        let from = failing.iter().position(|s| *s == second).expect("all steps are there") - 1;
        let to = failing.iter().position(|s| *s == first).expect("all steps are there") + 1;
        let mut order = failing.clone();
        // lock, read, unlock of the second go behind lock, write, unlock of the first.
        order[from..=to].rotate_left(3);
        assert_eq!(evaluator.evaluate(&order), Verdict::Passes, "{events} events");
    }
}

#[test]
fn bad_traces_are_errors() {
    let good = racy();
    let build = |change: fn(&mut Generated)| {
        let mut bad = good.clone();
        change(&mut bad);
        Model::new(&bad.trace, &bad.symbolic).map(|_| ())
    };
    assert_eq!(build(|g| g.symbolic.bug = Bug::None), Err(ModelError::NoFailure));
    assert_eq!(
        build(|g| g.symbolic = Symbolic { bug: Bug::Opaque, ..Symbolic::default() }),
        Err(ModelError::NotSymbolic)
    );
    let contradictions: [fn(&mut Generated); 8] = [
        |g| g.symbolic.steps.truncate(1),
        |g| g.symbolic.steps[0].thread = ThreadId(7),
        |g| g.symbolic.steps[0].events = u32::MAX,
        |g| g.symbolic.shadows[1].first = 99,
        |g| g.symbolic.accesses[0].bytes = 0,
        |g| g.symbolic.bug = Bug::Reached { thread: A, after: 99 },
        |g| g.symbolic.shadows[1].reads = 0,
        |g| g.trace.events[0].kind = EventKind::Join { child: ThreadId(9) },
    ];
    for (index, change) in contradictions.into_iter().enumerate() {
        assert!(matches!(build(change), Err(ModelError::Contradiction(_))), "number {index}");
    }
}
