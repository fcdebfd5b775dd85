//! What Z3 does at its bounds, that a dump is what was asked, and that unknown initial values are found.

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use unravel_solve::generate::{Tiny, large, tiny};
use unravel_solve::{
    Answer, Before, Bounds, Evaluator, Goal, Model, Query, Solver, StepId, Verdict, Wish, Z3,
};
use unravel_trace::{
    Access, Bug, CompareOp, Event, EventKind, Initial, LocationId, Shadow, SiteId, Step, SymbolId,
    Symbolic, ThreadId, ThreadName, Trace, Value,
};

fn long() -> Model {
    let generated = large(1_500, 6, 3);
    Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace")
}

fn query<'a>(model: &'a Model, near: Option<&'a [StepId]>, bounds: Bounds<'a>) -> Query<'a> {
    let (keep, assume) = (Vec::new(), Vec::new());
    Query { model, wish: Wish::Passes, keep, assume, near, free: None, bounds }
}

fn reason<T: std::fmt::Debug>(answer: Answer<T>) -> String {
    match answer {
        Answer::Unknown { reason, .. } => reason,
        other => panic!("an answer within the bounds: {other:?}"),
    }
}

#[test]
fn time_ends() {
    let model = long();
    let observed = model.observed();
    let bounds = Bounds { time: Some(Duration::from_millis(300)), ..Bounds::default() };
    let start = Instant::now();
    let query = query(&model, observed.as_deref(), bounds);
    assert_eq!(reason(Z3::new().find(&query)), "Z3 reached the time limit");
    let nearest = Z3::new().nearest(&query, Goal::Lexicographic);
    assert_eq!(reason(nearest), "Z3 reached the time limit");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn conflicts_end_the_same_way_every_time() {
    let model = long();
    let observed = model.observed();
    let bounds = Bounds { conflicts: Some(20), ..Bounds::default() };
    let query = query(&model, observed.as_deref(), bounds);
    let first = Z3::new().find(&query);
    assert_eq!(first, Z3::new().find(&query));
    assert_eq!(reason(first), "Z3 reached the limit of conflicts");
    let nearest = Z3::new().nearest(&query, Goal::Lexicographic);
    assert_eq!(reason(nearest), "Z3 reached the limit of conflicts");
}

#[test]
fn interrupts_end() {
    let model = long();
    let observed = model.observed();
    let flag = AtomicBool::new(false);
    let bounds = Bounds { interrupt: Some(&flag), ..Bounds::default() };
    let query = query(&model, observed.as_deref(), bounds);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            flag.store(true, Ordering::Relaxed);
        });
        let start = Instant::now();
        assert_eq!(reason(Z3::new().find(&query)), "Z3 was interrupted");
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    });
    // It is still set.
    let nearest = Z3::new().nearest(&query, Goal::Lexicographic);
    assert_eq!(reason(nearest), "Z3 was interrupted");
}

#[test]
fn steps_that_are_not_free_keep_their_order() {
    let mut moved = 0;
    for seed in 0..60 {
        let generated = tiny(seed, Tiny::default());
        let model = Model::new(&generated.trace, &generated.symbolic).expect("consistent");
        let observed = model.observed().expect("it was observed");
        let mut query = query(&model, Some(&observed), Bounds::default());
        let half = observed.len() / 2;
        query.free = Some(observed[half..].to_vec());
        match Z3::new().nearest(&query, Goal::Lexicographic) {
            Answer::Yes(nearest) => {
                let fixed: Vec<StepId> = nearest
                    .order
                    .iter()
                    .copied()
                    .filter(|s| observed[..half].contains(s))
                    .collect();
                assert_eq!(fixed, observed[..half], "seed {seed}");
                moved += 1;
            }
            Answer::No => {}
            Answer::Unknown { reason, .. } => panic!("seed {seed}: {reason}"),
        }
    }
    assert!(moved > 10, "{moved}");
}

#[link(name = "z3")]
unsafe extern "C" {
    fn Z3_mk_config() -> *mut c_void;
    fn Z3_mk_context(config: *mut c_void) -> *mut c_void;
    fn Z3_set_error_handler(context: *mut c_void, handler: extern "C" fn(*mut c_void, i32));
    fn Z3_eval_smtlib2_string(context: *mut c_void, text: *const c_char) -> *const c_char;
}

extern "C" fn ignore(_: *mut c_void, _: i32) {}

/// What a fresh Z3 says to a script.
fn told(text: &str) -> String {
    let text = CString::new(text).expect("no null bytes");
    // SAFETY: a context of its own that is never deleted; the answer is copied at once.
    unsafe {
        let context = Z3_mk_context(Z3_mk_config());
        Z3_set_error_handler(context, ignore);
        CStr::from_ptr(Z3_eval_smtlib2_string(context, text.as_ptr()))
            .to_string_lossy()
            .into_owned()
    }
}

#[test]
fn dumps_are_accepted() {
    for seed in 0..40 {
        let generated = tiny(seed, Tiny::default());
        let model = Model::new(&generated.trace, &generated.symbolic).expect("consistent");
        let observed = model.observed().expect("it was observed");
        let mut query = query(&model, Some(&observed), Bounds::default());
        let expected = match Z3::new().find(&query) {
            Answer::Yes(_) => "sat",
            _ => "unsat",
        };
        let dump = Z3::new().dump(&query, None);
        let said = told(&dump);
        assert_eq!(said.lines().next(), Some(expected), "seed {seed}: {said}\n{dump}");
        let with_goal = Z3::new().dump(&query, Some(Goal::Lexicographic));
        assert!(with_goal.contains("(get-objectives)"), "seed {seed}");
        query.assume = observed.windows(2).map(|p| Before { first: p[0], second: p[1] }).collect();
        let core = Z3::new().dump(&query, None);
        assert!(core.contains("(check-sat-assuming (a0"), "seed {seed}");
        // The program `z3` gives cores; its library's reader of scripts does not, and says so.
        let said = told(&core);
        let mut unheard = said.lines().filter(|l| l.contains("error") || l.contains("unsupported"));
        assert!(unheard.all(|line| line.contains("unsat")), "seed {seed}: {said}");
        let expected = match Z3::new().core(&query) {
            Answer::Yes(_) => "unsat",
            _ => "sat",
        };
        assert!(said.lines().any(|line| line == expected), "seed {seed}: {said}");
    }
}

/// One thread reads what nobody knows, and fails if it is 77.
#[test]
fn unknown_initial_values_are_found() {
    let mut symbolic = Symbolic::default();
    let value = symbolic.exprs.symbol(SymbolId(0), 32);
    let wanted = symbolic.exprs.constant(77, 32);
    let fails = symbolic.exprs.compare(CompareOp::Eq, value, wanted);
    symbolic.accesses.push(Access { address: 0x1000, bytes: 4, value });
    symbolic.shadows.push(Shadow { first: 0, reads: 1, writes: 0 });
    symbolic.steps.push(Step { thread: ThreadId::MAIN, first: 0, events: 1 });
    symbolic.initial.push(Initial { address: 0x1000, bytes: 4, value: None });
    symbolic.bug = Bug::Condition { thread: ThreadId::MAIN, after: 0, fails };
    let kind = EventKind::Read { at: LocationId(0), value: Value::Word(77) };
    let trace = Trace {
        threads: vec![ThreadName::main()],
        events: vec![Event { thread: ThreadId::MAIN, site: SiteId(0), caller: None, kind }],
        ..Trace::default()
    };
    let mut model = Model::new(&trace, &symbolic).expect("consistent");
    let mut query = query(&model, None, Bounds::default());
    query.wish = Wish::Fails;
    let Answer::Yes(found) = Z3::new().find(&query) else { panic!("77 fails") };
    assert_eq!(found.initial.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [77]);
    for (cell, value) in &found.initial {
        model.set_initial(*cell, *value);
    }
    let verdict = Evaluator::new(&model).evaluate(&found.order);
    assert!(matches!(verdict, Verdict::Fails { .. }));
}
