//! What Z3 does at its bounds, and that a dump is what was asked.

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use unravel_solve::generate::{Tiny, large, tiny};
use unravel_solve::{Answer, Before, Bounds, Goal, Model, Query, Solver, StepId, Wish, Z3};

fn long() -> Model {
    let generated = large(1_500, 6, 3);
    Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace")
}

fn query<'a>(model: &'a Model, near: Option<&'a [StepId]>, bounds: Bounds<'a>) -> Query<'a> {
    Query { near, bounds, ..Query::new(model, Wish::Passes) }
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
