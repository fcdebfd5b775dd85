//! Threads that are led along a path that nobody has seen, and then go on by themselves, in the machine.
//!
//! A process has one virtual machine at a time, and here they come one after the other.

mod support;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use unravel_program::build::{BuildSpec, Builder};
use unravel_strategies::RunToBlock;
use unravel_trace::*;
use unravel_vm::{Options, Vm};

use support::{corpus, directory, write};

/// One machine at a time, whatever the number of tests.
static MACHINE: Mutex<()> = Mutex::new(());

/// A program in its machine.
struct Lab {
    vm: Vm,
    visible: VisibleSet,
    _alone: MutexGuard<'static, ()>,
}

impl Lab {
    fn new(source: &Path) -> Lab {
        let alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let spec = BuildSpec::new(vec![source.to_owned()]);
        let built = Builder::from_env().open(&spec).expect("the program compiles");
        let program = unravel_program::load(&built.bitcode).expect("the program loads");
        let vm = Vm::new(program, Options::default()).expect("a machine");
        let visible = vm.sites().all().clone();
        Lab { vm, visible, _alone: alone }
    }

    /// A program of threads with these bodies, which main creates and joins before it does the rest.
    fn of(test: &str, globals: &str, bodies: &[&str], rest: &str) -> Lab {
        let mut source =
            format!("#include <pthread.h>\n#include <assert.h>\n#include <stdlib.h>\n{globals}\n");
        let (mut create, mut join) = (String::new(), String::new());
        for (i, body) in bodies.iter().enumerate() {
            source += &format!("static void *t{i}(void *a) {{ {body} return a; }}\n");
            create += &format!("pthread_create(&t[{i}], 0, t{i}, 0);");
            join += &format!("pthread_join(t[{i}], 0);");
        }
        let number = bodies.len();
        source += &format!(
            "int main(void) {{ pthread_t t[{number}]; {create} {join} {rest} return 0; }}\n"
        );
        let directory = directory(&format!("lead-{test}"));
        write(&directory, "program.c", &source);
        Lab::new(&directory.join("program.c"))
    }

    /// One thread after the other, and which way they went.
    fn run(&mut self) -> (Run, Vec<Vec<u32>>) {
        let (input, want) = (Input::default(), Want::only(Detail::Separable));
        let job = Job { input: &input, visible: &self.visible, want };
        let run = self.vm.run(&job, &mut RunToBlock, &mut ()).expect("the machine is well");
        let branches = run.branches();
        (run, branches)
    }

    fn lead(&mut self, threads: &[LedThread]) -> Led {
        self.lead_with(threads, &[])
    }

    fn lead_with(&mut self, threads: &[LedThread], guesses: &[Guess]) -> Led {
        let lead = Lead { threads: threads.to_vec() };
        let (input, want) = (Input::default(), Want::only(Detail::Separable));
        let job = Job { input: &input, visible: &self.visible, want };
        self.vm.lead(&job, &lead, guesses).expect("the machine can lead")
    }
}

/// The first child of main is `child(1)`.
fn child(number: u32) -> ThreadName {
    ThreadName(vec![number])
}

fn then_free(name: ThreadName, outcomes: &[u32]) -> LedThread {
    LedThread { name, outcomes: outcomes.to_vec(), then: Then::Free }
}

/// The parts of a led run.
fn parts(led: &Led) -> Vec<ThreadTrace> {
    separate(&led.run, &led.branches, &led.unscheduled).expect("a symbolic run")
}

fn part(led: &Led, name: &ThreadName) -> ThreadTrace {
    parts(led).into_iter().find(|part| part.name() == name).expect("the thread did something")
}

/// What a thread does where it goes another way, of each of its branches that could.
fn otherwise(part: &ThreadTrace) -> Vec<Otherwise> {
    let conditions = part.symbolic.conditions.iter();
    let branches = conditions.filter(|condition| condition.why == ConditionKind::Branch);
    branches.map(|condition| condition.otherwise).collect()
}

#[test]
fn a_flipped_branch_leads_to_the_assertion_behind_it() {
    let mut lab = Lab::new(&PathBuf::from(corpus("figures/thesis-5.1/thesis-5.1.c")));
    let (run, branches) = lab.run();
    assert_eq!(run.outcome, Outcome::Exited { code: 0 });
    // z > 0, y == 0 and the assertion.
    let path = &branches[1];
    assert_eq!(path.len(), 3, "{branches:?}");
    let flipped = [path[0], 1 - path[1]];
    let led = lab.lead(&[then_free(child(1), &flipped)]);
    assert_eq!(led.run.outcome, Outcome::Exited { code: 0 }, "{:?}", led.others);
    let t1 = part(&led, &child(1));
    assert_eq!(t1.path[..2], flipped);
    assert_eq!(t1.path.len(), 3);
    assert_eq!(led.open[1], [2], "the assertion is the only branch of its own");
    assert_eq!(otherwise(&t1), [Otherwise::Turns(0), Otherwise::Turns(1), Otherwise::Fails]);
    let symbolic = led.run.symbolic.as_ref().expect("a symbolic run");
    assert_eq!((symbolic.order, &symbolic.bug), (KnownOrder::Unknown, &Bug::None));
    // It does what it did not do in the run: x is read and written once more.
    let kinds =
        t1.trace.events.iter().filter(|event| matches!(event.kind, EventKind::Write { .. }));
    assert_eq!(kinds.count(), 3, "x = 1, y = 1, x--");
    // The other thread goes on as it did.
    assert_eq!(led.branches[2].len(), branches[2].len());
}

#[test]
fn a_thread_that_is_told_to_stop_does_so_at_its_next_branch() {
    let mut lab = Lab::new(&PathBuf::from(corpus("figures/thesis-5.1/thesis-5.1.c")));
    let stops = LedThread { name: child(1), outcomes: vec![0], then: Then::Stop };
    let led = lab.lead(&[stops]);
    assert_eq!(led.run.outcome, Outcome::Exited { code: 0 });
    assert_eq!(led.branches[1], [0]);
    assert!(led.open[1].is_empty());
    assert_eq!(otherwise(&part(&led, &child(1))), [Otherwise::Turns(0)]);
}

#[test]
fn a_loop_ends_as_its_values_say() {
    let body = "for (int i = 0; i < n; i++) sum += i;";
    let mut lab = Lab::of("loop", "int n = 7, sum;", &[body, "n = 3;"], "");
    let led = lab.lead(&[then_free(child(1), &[1, 1])]);
    assert_eq!(led.run.outcome, Outcome::Exited { code: 0 });
    assert_eq!(led.branches[1], [1, 1, 1, 1, 1, 1, 1, 0], "seven rounds");
    assert_eq!(led.open[1], [2, 3, 4, 5, 6, 7]);
    let turns: Vec<Otherwise> = (0..8).map(Otherwise::Turns).collect();
    assert_eq!(otherwise(&part(&led, &child(1))), turns);
}

#[test]
fn a_loop_without_an_end_is_left_alone() {
    for (test, body) in
        [("branches", "for (unsigned i = 0; i + 1; i += 2) x = i;"), ("none", "for (;;) x++;")]
    {
        let mut lab = Lab::of(test, "volatile unsigned x;", &[body, "x = 5;"], "");
        let led = lab.lead(&[]);
        assert_eq!(led.run.outcome, Outcome::Exited { code: 0 }, "{test}");
        assert!(led.branches[1].len() <= 5_000, "{test}");
        assert!(part(&led, &child(1)).trace.events.len() > 1_000, "{test}");
    }
}

#[test]
fn a_busy_wait_waits_for_others_and_is_let_through_without_them() {
    let globals = "#include <stdatomic.h>\natomic_int flag, lock; int x;";
    // The second thread sets the flag, but the first one runs first.
    let bodies = ["while (!flag) ; x = 1;", "flag = 1;"];
    let mut lab = Lab::of("spin", globals, &bodies, "");
    let led = lab.lead(&[]);
    assert_eq!(led.run.outcome, Outcome::Exited { code: 0 });
    assert!((2..20).contains(&led.branches[1].len()), "{:?}", led.branches[1]);
    assert_eq!(parts(&led).len(), 3);
    drop(lab);
    // Nobody sets it.
    let mut lab = Lab::of("spin-alone", globals, &["while (!flag) ; x = 1;", "x = 2;"], "");
    let led = lab.lead(&[]);
    assert_eq!(led.run.outcome, Outcome::Exited { code: 0 });
    let t1 = part(&led, &child(1));
    assert!((2..20).contains(&t1.path.len()), "{:?}", t1.path);
    let wrote = t1.trace.events.iter().any(|event| matches!(event.kind, EventKind::Write { .. }));
    assert!(wrote, "it goes on behind the loop");
    drop(lab);
    // A lock that is never given back, taken by compare-and-exchange.
    let take =
        "int free = 0; while (!atomic_compare_exchange_strong(&lock, &free, 1)) free = 0; x = 1;";
    let mut lab = Lab::of("spin-exchange", globals, &[take, take], "");
    let led = lab.lead(&[]);
    assert_eq!(led.run.outcome, Outcome::Exited { code: 0 });
    assert!(led.branches[1..].iter().all(|path| path.len() < 100), "{:?}", led.branches);
    assert!(
        parts(&led).iter().skip(1).all(|part| part
            .trace
            .events
            .last()
            .is_some_and(|event| event.kind == EventKind::Exit))
    );
}

#[test]
fn what_fails_whatever_is_read_is_told() {
    for (test, kind, bad) in [
        ("assertion", FailureKind::Assertion, "int one = 1; assert(one == 2);"),
        ("abort", FailureKind::Abort, "abort();"),
        ("null", FailureKind::NullDereference, "int *volatile p = 0; *p = 1;"),
    ] {
        let body = format!("if (go) {{ x = 1; {bad} }}");
        let mut lab =
            Lab::of(&format!("fails-{test}"), "int go, x;", &[&body, "go = 1; x = 2;"], "");
        // By itself, it does not go there.
        let led = lab.lead(&[]);
        assert_eq!(led.run.outcome, Outcome::Exited { code: 0 }, "{test}");
        let led = lab.lead(&[then_free(child(1), &[1 - led.branches[1][0]])]);
        let failure = led.run.outcome.failure().expect("it fails");
        assert_eq!((failure.kind, &failure.thread), (kind, &child(1)), "{test}");
        let bug = &led.run.symbolic.as_ref().expect("a symbolic run").bug;
        let Bug::Reached { thread, after } = bug else { panic!("{test}: {bug:?}") };
        assert_eq!(led.run.trace.events[*after as usize].thread, *thread);
        // The other thread goes on to its end.
        let t2 = part(&led, &child(2));
        assert_eq!(
            t2.trace.events.last().map(|event| &event.kind),
            Some(&EventKind::Exit),
            "{test}"
        );
    }
}

#[test]
fn assertions_and_assumptions_that_are_calls_hold() {
    let globals = "void __VERIFIER_assert(int); void __VERIFIER_assume(int); int x, y;";
    let body = "__VERIFIER_assume(x == 1); __VERIFIER_assert(y == 2); y = 3;";
    let mut lab = Lab::of("calls", globals, &[body, "x = 1; y = 2;"], "");
    let led = lab.lead(&[]);
    assert_eq!(led.run.outcome, Outcome::Exited { code: 0 });
    let t1 = part(&led, &child(1));
    assert_eq!(otherwise(&t1), [Otherwise::Unknown, Otherwise::Fails]);
    drop(lab);
    let body = "x = 1; int no = 0; __VERIFIER_assume(no);";
    let mut lab = Lab::of("calls-never", globals, &[body, "x = 2;"], "");
    let Outcome::Inconclusive { reason, .. } = lab.lead(&[]).run.outcome else {
        panic!("no run has such a path")
    };
    assert!(reason.contains("leaves an assumption"), "{reason}");
}

#[test]
fn a_branch_that_nothing_decides_cannot_be_flipped() {
    let body = "for (int i = 0; i < 3; i++) x++;";
    let mut lab = Lab::of("concrete", "int x;", &[body, "x = 5;"], "");
    let led = lab.lead(&[then_free(child(1), &[1, 0])]);
    let Outcome::Inconclusive { reason, .. } = &led.run.outcome else { panic!("{:?}", led.run) };
    assert!(reason.contains("went the other way"), "{reason}");
    // A thread that there is not is said, too.
    let led = lab.lead(&[then_free(child(9), &[1])]);
    let Outcome::Inconclusive { reason, .. } = &led.run.outcome else { panic!("{:?}", led.run) };
    assert!(reason.contains("never created"), "{reason}");
}

#[test]
fn a_pointer_that_is_not_there_yet_is_found_in_another_attempt() {
    let globals = "int target; int *pointer; int x;";
    let body = "if (x) { int *p = pointer; *p = 1; }";
    let mut lab = Lab::of("pointer", globals, &[body, "x = 1; pointer = &target;"], "");
    let other = 1 - lab.run().1[1][0];
    let flipped = [then_free(child(1), &[other])];
    let led = lab.lead(&flipped);
    assert!(matches!(led.run.outcome, Outcome::Inconclusive { .. }), "{:?}", led.run.outcome);
    let guess = led.others.first().expect("another pointer").clone();
    let led = lab.lead_with(&flipped, &[guess]);
    assert_eq!(led.run.outcome, Outcome::Exited { code: 0 });
    assert_eq!(led.branches[1], [other]);
}

#[test]
fn a_led_run_is_the_same_twice_and_leaves_nothing_behind() {
    let mut lab = Lab::new(&PathBuf::from(corpus("figures/thesis-5.1/thesis-5.1.c")));
    let before = lab.run();
    let lead = [then_free(child(1), &[1, 1]), then_free(child(2), &[1])];
    let (first, second) = (lab.lead(&lead), lab.lead(&lead));
    assert_eq!(parts(&first), parts(&second));
    assert_eq!((&first.branches, &first.open), (&second.branches, &second.open));
    assert_eq!(first.run, second.run);
    assert_eq!(lab.run(), before);
}
