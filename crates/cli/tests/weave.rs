//! Repairs applied virtually: programs with measures woven in, explored like any other, in the machine.
//!
//! A process has one virtual machine at a time, and here they come one after the other.

mod support;

use std::sync::{Mutex, PoisonError};

use unravel_code::Program;
use unravel_code::weave::{Measure, Span, weave};
use unravel_execute::RaceChecked;
use unravel_program::build::{BuildSpec, Builder};
use unravel_strategies::{Exhaustive, Random, RunToBlock, Systematic};
use unravel_trace::*;
use unravel_vm::{Options, Vm};

use support::{directory, write};

/// One machine at a time, whatever the number of tests.
static MACHINE: Mutex<()> = Mutex::new(());

/// A program, and the places in its source.
struct Subject {
    source: String,
    file: String,
    program: Program,
}

impl Subject {
    fn new(test: &str, source: &str) -> Subject {
        let directory = directory(&format!("weave-{test}"));
        write(&directory, "program.c", source);
        let built = Builder::from_env()
            .open(&BuildSpec::new(vec![directory.join("program.c")]))
            .expect("the program compiles");
        let program = unravel_program::load(&built.bitcode).expect("the program loads");
        let files = program.sites.iter().map(|site| &site.place.file);
        let file = files.into_iter().find(|file| file.ends_with("program.c"));
        let file = file.expect("its own code").to_string();
        Subject { source: source.to_owned(), file, program }
    }

    /// From the line with the first text to the end of the one with the second.
    fn span(&self, first: &str, last: &str) -> Span {
        let line = |text: &str| {
            let found = self.source.lines().position(|line| line.contains(text));
            found.unwrap_or_else(|| panic!("no line has {text}")) as u32 + 1
        };
        Span { file: self.file.clone(), from: (line(first), 1), to: (line(last) + 1, 1) }
    }

    fn hold(&self, lock: u32, first: &str, last: &str) -> Measure {
        Measure::Hold { lock, span: self.span(first, last) }
    }

    /// Every class of interleavings of the program under these measures.
    fn explore(&self, measures: &[Measure]) -> Explored {
        self.explore_by(measures, &Rules::default())
    }

    fn explore_by(&self, measures: &[Measure], rules: &Rules) -> Explored {
        let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let woven = weave(&self.program, measures).expect("the spans have code");
        let vm = Vm::new(woven, Options::default()).expect("a machine");
        explore(RaceChecked::new(vm, rules))
    }

    /// One run, as far as threads go without being interrupted, with everything kept.
    fn run(&self, measures: &[Measure]) -> Run {
        let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let woven = weave(&self.program, measures).expect("the spans have code");
        let mut vm = Vm::new(woven, Options::default()).expect("a machine");
        let visible = vm.sites().all().clone();
        let want = Want::only(Detail::Symbolic);
        let job = Job { input: &Input::default(), visible: &visible, want };
        vm.run(&job, &mut RunToBlock, &mut ()).expect("the machine is well")
    }
}

/// What a search came to. It ends with its first failure.
#[derive(Debug)]
struct Explored {
    failure: Option<Failure>,
    classes: u64,
    complete: bool,
}

impl Explored {
    fn assert_passes(&self) {
        assert!(self.complete && self.failure.is_none(), "{self:#?}");
    }

    /// What the threads wait for, in the words of the failure.
    fn waits(&self) -> Vec<&str> {
        let related = self.failure.iter().flat_map(|failure| &failure.related);
        related.map(|related| related.message.as_str()).collect()
    }

    fn assert_fails(&self, kind: FailureKind) {
        assert!(self.failure.as_ref().is_some_and(|failure| failure.kind == kind), "{self:#?}");
    }
}

/// Explores a program, from the start again whenever more turns out to be shared.
fn explore(mut executor: impl Executor) -> Explored {
    let mut visible = VisibleSet::default();
    let want = Want { learn: true, prune_spins: true, ..Want::only(Detail::Outcome) };
    'again: loop {
        let mut search = Exhaustive::new(0, 1);
        let mut failure = None;
        while failure.is_none() {
            let Some(mut scheduler) = search.scheduler() else { break };
            let job = Job { input: &Input::default(), visible: &visible, want };
            let run = executor.run(&job, &mut *scheduler, &mut ()).expect("the machine is well");
            drop(scheduler);
            search.learn(&run);
            if visible.merge(&run.learned) {
                continue 'again;
            }
            assert!(!matches!(run.outcome, Outcome::Inconclusive { .. }), "{:?}", run.outcome);
            failure = run.outcome.failure().cloned();
        }
        let summary = search.summary();
        return Explored { failure, classes: summary.classes, complete: summary.is_complete() };
    }
}

/// A program whose threads run `a` and `b`, with what `main` does when both have ended.
fn two(globals: &str, a: &str, b: &str, end: &str) -> String {
    format!(
        "#include <assert.h>\n#include <pthread.h>\n{globals}\n\
         void *a(void *p) {{\n{a}\nreturn p;\n}}\n\
         void *b(void *p) {{\n{b}\nreturn p;\n}}\n\
         int main(void) {{\npthread_t t[2];\n\
         pthread_create(&t[0], 0, a, 0);\npthread_create(&t[1], 0, b, 0);\n\
         pthread_join(t[0], 0);\npthread_join(t[1], 0);\n{end}\nreturn 0;\n}}\n"
    )
}

fn lost_update(test: &str) -> Subject {
    let a = "int i = x; /*a1*/\ni = i + 1;\nx = i; /*a2*/";
    let b = "int i = x; /*b1*/\ni = i + 1;\nx = i; /*b2*/";
    Subject::new(test, &two("int x;", a, b, "assert(x == 2);"))
}

#[test]
fn a_lock_repairs_a_lost_update() {
    let subject = lost_update("lost");
    subject.explore(&[]).assert_fails(FailureKind::Assertion);
    let (a, b) = (subject.hold(1, "/*a1*/", "/*a2*/"), subject.hold(1, "/*b1*/", "/*b2*/"));
    let explored = subject.explore(&[a.clone(), b.clone()]);
    explored.assert_passes();
    assert_eq!(explored.classes, 2, "one section before the other, or the other way round");
    subject.explore(&[a]).assert_fails(FailureKind::Assertion);
    let other = subject.hold(2, "/*b1*/", "/*b2*/");
    subject
        .explore(&[subject.hold(1, "/*a1*/", "/*a2*/"), other])
        .assert_fails(FailureKind::Assertion);
    // Too narrow: what was read is old when it is written.
    let narrow = [subject.hold(1, "/*a2*/", "/*a2*/"), subject.hold(1, "/*b2*/", "/*b2*/")];
    subject.explore(&narrow).assert_fails(FailureKind::Assertion);
}

#[test]
fn an_atomic_section_repairs_a_lost_update() {
    let subject = lost_update("atomic");
    let atomic = |first, last| Measure::Atomic { span: subject.span(first, last) };
    subject.explore(&[atomic("/*a1*/", "/*a2*/"), atomic("/*b1*/", "/*b2*/")]).assert_passes();
    subject
        .explore(&[atomic("/*a2*/", "/*a2*/"), atomic("/*b2*/", "/*b2*/")])
        .assert_fails(FailureKind::Assertion);
}

#[test]
fn what_is_held_by_the_same_lock_does_not_race() {
    let subject = lost_update("races");
    let rules = Rules { races: true, ..Rules::default() };
    subject.explore_by(&[], &rules).assert_fails(FailureKind::DataRace);
    let held = [subject.hold(1, "/*a1*/", "/*a2*/"), subject.hold(1, "/*b1*/", "/*b2*/")];
    subject.explore_by(&held, &rules).assert_passes();
    let apart = [subject.hold(1, "/*a1*/", "/*a2*/"), subject.hold(2, "/*b1*/", "/*b2*/")];
    subject.explore_by(&apart, &rules).assert_fails(FailureKind::DataRace);
}

fn use_before_init(test: &str) -> Subject {
    let a = "value = 5; /*init*/\nother = 1; /*init2*/";
    let b = "int v = value; /*use*/\nassert(v == 5);";
    Subject::new(test, &two("int value, other;", a, b, ""))
}

#[test]
fn a_flag_repairs_a_use_before_initialisation() {
    let subject = use_before_init("flag");
    subject.explore(&[]).assert_fails(FailureKind::Assertion);
    let raise = Measure::Raise { flag: 1, span: subject.span("/*init*/", "/*init*/") };
    let wait = Measure::Await { flag: 1, span: subject.span("/*use*/", "/*use*/") };
    let explored = subject.explore(&[raise.clone(), wait.clone()]);
    explored.assert_passes();
    assert_eq!(explored.classes, 1, "the flag leaves one order");
    let rules = Rules { races: true, ..Rules::default() };
    subject.explore_by(&[], &rules).assert_fails(FailureKind::DataRace);
    subject.explore_by(&[raise, wait.clone()], &rules).assert_passes();
    let late = Measure::Raise { flag: 2, span: subject.span("/*init*/", "/*init*/") };
    subject.explore(&[late, wait]).assert_fails(FailureKind::Deadlock);
}

#[test]
fn those_who_wait_for_a_flag_do_not_depend_on_each_other() {
    let work = "int v = value; /*use*/\nassert(v == 5);";
    let source = format!(
        "#include <assert.h>\n#include <pthread.h>\nint value;\n\
         void *user(void *p) {{\n{work}\nreturn p;\n}}\n\
         int main(void) {{\npthread_t t[3];\nfor (int i = 0; i < 3; i++)\n\
         pthread_create(&t[i], 0, user, 0);\nvalue = 5; /*init*/\nfor (int i = 0; i < 3; i++)\n\
         pthread_join(t[i], 0);\nreturn 0;\n}}\n"
    );
    let subject = Subject::new("users", &source);
    let raise = Measure::Raise { flag: 1, span: subject.span("/*init*/", "/*init*/") };
    let wait = Measure::Await { flag: 1, span: subject.span("/*use*/", "/*use*/") };
    let explored = subject.explore(&[raise, wait]);
    explored.assert_passes();
    assert_eq!(explored.classes, 1, "all of them read after the write");
}

#[test]
fn a_flag_that_nobody_raises_is_named_by_the_deadlock() {
    let subject = use_before_init("nobody");
    let wait = Measure::Await { flag: 3, span: subject.span("/*use*/", "/*use*/") };
    let explored = subject.explore(&[wait]);
    explored.assert_fails(FailureKind::Deadlock);
    let waits = explored.waits();
    assert!(waits.contains(&"T0.2 waits for 'repair flag 3' to change"), "{waits:?}");
}

/// A program both of whose threads execute a statement, with their marks in it.
fn guarded(test: &str, statement: &str, end: &str) -> Subject {
    let body = |mark: &str| format!("int i = 0;\n{statement}\ni = 1;").replace("MARK", mark);
    Subject::new(test, &two("int z;", &body("a"), &body("b"), end))
}

/// Holds a lock at the marked lines of both threads: the program passes, and the lock is never taken twice or given
/// back by who does not have it. Without, it fails.
fn assert_repaired(subject: &Subject) {
    subject.explore(&[]).assert_fails(FailureKind::Assertion);
    let measures = [subject.hold(1, "/*a1*/", "/*a2*/"), subject.hold(1, "/*b1*/", "/*b2*/")];
    subject.explore(&measures).assert_passes();
}

#[test]
fn every_way_out_gives_the_lock_back() {
    let end = "assert(z == 2);";
    // An early return.
    let early = "if (p == 0) { /*MARK1*/\ni = z;\nz = i + 1;\nreturn 0;\n}\ni = 0; /*MARK2*/";
    assert_repaired(&guarded("return", early, end));
    // A break and a continue, out of the span and inside of the loop.
    let leave = "for (int k = 0; k < 3; k++) {\nif (k == 0) continue; /*MARK1*/\ni = z;\nz = i + 1;\n\
                 if (k == 1) break; /*MARK2*/\nz = 100;\n}";
    assert_repaired(&guarded("break", leave, end));
    // Some cases inside.
    let cases = "for (int k = 0; k < 2; k++) {\nswitch (k) {\ncase 0:\ni = z; /*MARK1*/\nz = i + 1;\nbreak; \
                 /*MARK2*/\ncase 1:\nbreak;\ndefault:\nz = 100;\n}\n}";
    assert_repaired(&guarded("switch", cases, end));
    // Falling through into the span and out of it.
    let through = "switch (p != 0) {\ncase 0:\ni = 3;\ncase 5:\ni = z; /*MARK1*/\nz = i + 1; /*MARK2*/\n\
                   case 6:\ni = 4;\n}";
    assert_repaired(&guarded("through", through, end));
    // Goto out and back in.
    let back = "int n = 0;\nagain:\ni = z; /*MARK1*/\nif (n++ == 0) goto outside;\nz = i + 1;\n\
                goto done; /*MARK2*/\noutside:\nn = 1;\ngoto again;\ndone:\ni = 0;";
    assert_repaired(&guarded("goto", back, end));
}

#[test]
fn branches_inside_of_a_span_stay_inside() {
    let end = "assert(z == 2);";
    let one = "if (z == 0 || p != 0 || z == 1) /*MARK1*/\nz = z + 1; /*MARK2*/";
    assert_repaired(&guarded("if", one, end));
    let other = "if (p) { /*MARK1*/\ni = 7;\n} else {\ni = z;\nz = i + 1;\n} /*MARK2*/";
    assert_repaired(&guarded("else", other, end));
    let choice = "i = z; /*MARK1*/\nz = p ? 9 : i == 0 && z == 0 ? i + 1 : z + 1; /*MARK2*/";
    assert_repaired(&guarded("choice", choice, end));
    let loops = "i = z; /*MARK1*/\nfor (int k = 0; k < 2; k++)\nif (k)\ni++;\nwhile (z != i)\nz = i; /*MARK2*/";
    assert_repaired(&guarded("loop", loops, end));
}

#[test]
fn the_body_of_a_loop_is_entered_once_an_iteration() {
    let body = "for (int k = 0; k < 2; k++) {\ni = z; /*MARK1*/\nz = i + 1; /*MARK2*/\n}";
    let subject = guarded("iterations", body, "assert(z == 4);");
    assert_repaired(&subject);
    let whole = "for (int k = 0; k < 2; k++) { /*MARK1*/\ni = z;\nz = i + 1;\n} /*MARK2*/";
    let whole = guarded("whole", whole, "assert(z == 4);");
    assert_repaired(&whole);
    let measures = |of: &Subject| [of.hold(1, "/*a1*/", "/*a2*/"), of.hold(1, "/*b1*/", "/*b2*/")];
    let (each, all) = (subject.run(&measures(&subject)), whole.run(&measures(&whole)));
    let locks = |run: &Run| {
        run.trace.events.iter().filter(|event| matches!(event.kind, EventKind::Lock { .. })).count()
    };
    assert_eq!((locks(&each), locks(&all)), (4, 2));
}

#[test]
fn a_lock_stays_held_in_what_the_span_calls() {
    let source = two(
        "int x;\nstatic void add(void) {\nint i = x; /*in*/\nx = i + 1; /*in2*/\n}",
        "add(); /*a*/",
        "add(); /*b*/",
        "assert(x == 2);",
    );
    let subject = Subject::new("calls", &source);
    subject.explore(&[]).assert_fails(FailureKind::Assertion);
    subject
        .explore(&[subject.hold(1, "/*a*/", "/*a*/"), subject.hold(1, "/*b*/", "/*b*/")])
        .assert_passes();
    // In the callee, one measure serves both.
    let inside = subject.hold(1, "/*in*/", "/*in2*/");
    subject.explore(std::slice::from_ref(&inside)).assert_passes();
    // A default mutex does not let its owner in again.
    let twice = subject.explore(&[inside, subject.hold(1, "/*a*/", "/*a*/")]);
    twice.assert_fails(FailureKind::Deadlock);
    let itself = "T0.1 waits for mutex 'repair lock 1', which it holds itself";
    assert!(twice.waits().contains(&itself), "{twice:#?}");
}

#[test]
fn locks_in_both_orders_deadlock() {
    let source = two(
        "int x;\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;",
        "int i = x; /*a1*/\npthread_mutex_lock(&m);\nx = i + 1;\npthread_mutex_unlock(&m); /*a2*/",
        "pthread_mutex_lock(&m);\nint i = x; /*b1*/\nx = i + 1; /*b2*/\npthread_mutex_unlock(&m);",
        "assert(x == 2);",
    );
    let subject = Subject::new("orders", &source);
    subject.explore(&[]).assert_fails(FailureKind::Assertion);
    let measures = [subject.hold(1, "/*a1*/", "/*a2*/"), subject.hold(1, "/*b1*/", "/*b2*/")];
    let explored = subject.explore(&measures);
    explored.assert_fails(FailureKind::Deadlock);
    let named = |wait: &&str| wait.contains("waits for mutex 'repair lock 1', held by");
    assert!(explored.waits().iter().any(named), "{explored:#?}");
    // Around the whole section of the other thread, the orders agree.
    let same = Span {
        from: (subject.span("/*b1*/", "/*b1*/").from.0 - 1, 1),
        ..subject.span("/*b1*/", "/*b2*/")
    };
    subject.explore(&[measures[0].clone(), Measure::Hold { lock: 1, span: same }]).assert_passes();
}

#[test]
fn a_run_with_measures_is_recorded_like_any_other() {
    let subject = use_before_init("recorded");
    let raise = Measure::Raise { flag: 1, span: subject.span("/*init*/", "/*init*/") };
    let wait = Measure::Await { flag: 1, span: subject.span("/*use*/", "/*use*/") };
    let hold = subject.hold(1, "/*init2*/", "/*init2*/");
    let run = subject.run(&[raise, wait, hold]);
    assert_eq!(run.outcome, Outcome::Exited { code: 0 });
    let named: Vec<&str> = run.trace.locations.iter().map(|at| at.name.as_str()).collect();
    assert!(named.contains(&"repair flag 1") && named.contains(&"repair lock 1"), "{named:?}");
    let symbolic = run.symbolic.expect("it was asked for");
    assert!(!symbolic.conditions.is_empty(), "that the flag was raised is one");
}

/// Keeps which events write, to ask for their stacks.
struct Watching {
    writes: Vec<(u64, SiteId)>,
}

impl Observer for Watching {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        if executed.what.op == Op::Write {
            self.writes.push((executed.number, executed.what.site));
        }
        None
    }
}

#[test]
fn an_executor_tells_the_stacks_of_events() {
    let source =
        two("int x;\nstatic void set(int n) {\nx = n;\n}", "set(1);", "set(2);", "assert(x);");
    let subject = Subject::new("stacks", &source);
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let vm = Vm::new(subject.program, Options::default()).expect("a machine");
    let mut executor = RaceChecked::new(vm, &Rules::default());
    let mut watching = Watching { writes: Vec::new() };
    let visible = executor.sites().all().clone();
    let want = Want { stacks: true, ..Want::only(Detail::Outcome) };
    let job = Job { input: &Input::default(), visible: &visible, want };
    let run = executor.run(&job, &mut RunToBlock, &mut watching).expect("the machine is well");
    let stacks = watching.writes.iter().map(|(number, site)| {
        let stack = run.stacks.get(*number, *site);
        stack.iter().map(|place| place.function.to_string()).collect::<Vec<_>>().join(" < ")
    });
    let stacks: Vec<String> = stacks.collect();
    assert!(stacks.contains(&"set < a".to_owned()), "{stacks:?}");
    assert!(stacks.contains(&"set < b".to_owned()), "{stacks:?}");
}

#[test]
fn machines_may_follow_each_other_and_find_nothing_of_the_last() {
    // The heap, the globals, a stream and a file descriptor are left in disorder.
    let first = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <fcntl.h>\nint x = 3;\n\
        int main(void) {\nx = 9;\nchar *p = malloc(100);\nmemset(p, 7, 100);\nfopen(\"/dev/null\", \"r\");\n\
        open(\"/dev/null\", O_RDONLY);\nreturn p[99] + x;\n}\n";
    let second = "#include <assert.h>\n#include <stdlib.h>\nint before[4], x = 3;\n\
        int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }\n\
        int main(void) {\nint *p = calloc(25, 4);\nassert(x == 3 && before[0] == 0 && p[0] == 0);\n\
        int four[] = { 4, 2, 3, 1 };\nqsort(four, 4, sizeof *four, compare);\nreturn four[0] + four[3];\n}\n";
    let subjects = [Subject::new("first", first), Subject::new("second", second)];
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..20 {
        for (subject, code) in subjects.iter().zip([16, 5]) {
            let mut vm = Vm::new(subject.program.clone(), Options::default()).expect("a machine");
            let another = Vm::new(subject.program.clone(), Options::default());
            assert!(another.is_err(), "there is one already");
            for _ in 0..2 {
                let (input, visible) = (Input::default(), VisibleSet::default());
                let want = Want::only(Detail::Outcome);
                let job = Job { input: &input, visible: &visible, want };
                let run = vm.run(&job, &mut Random::new(1), &mut ()).expect("the machine is well");
                assert_eq!(run.outcome, Outcome::Exited { code });
            }
        }
    }
}
