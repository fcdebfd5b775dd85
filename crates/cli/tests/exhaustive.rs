//! Exhaustive search of real programs, in the machine: as many classes as there must be, and the bugs among them.
//!
//! A process has one virtual machine, so the test starts itself anew for each program.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use unravel_program::build::{BuildSpec, Builder};
use unravel_strategies::{Bounding, Counted, Exhaustive, RunToBlock};
use unravel_trace::*;
use unravel_vm::{Options, Vm};

use support::{directory, write};

/// The process that a program is explored in finds its sources here, separated by colons.
const SOURCES: &str = "UNRAVEL_EXPLORED_SOURCES";
/// `exhaustive`, or the lane and the number of lanes, `1/3`, or `bounded`.
const HOW: &str = "UNRAVEL_EXPLORED_HOW";
/// What it prints before its counts.
const COUNTS: &str = "counts:";

/// What a search of a program came to.
#[derive(Debug)]
struct Explored {
    classes: u64,
    failures: u64,
    complete: bool,
}

fn explore(sources: &[PathBuf], how: &str) -> Explored {
    let sources: Vec<String> = sources.iter().map(|path| path.display().to_string()).collect();
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "one_program", "--ignored", "--nocapture"])
        .env(SOURCES, sources.join(":"))
        .env(HOW, how)
        .output()
        .expect("the test starts itself");
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.split_once(COUNTS)).map(|(_, counts)| counts);
    let counts: Vec<u64> = line
        .unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
        .split_whitespace()
        .map(|word| word.parse().expect("a number"))
        .collect();
    Explored { classes: counts[0], failures: counts[1], complete: counts[2] == 1 }
}

/// The number of classes of a program that does not fail.
fn classes(test: &str, source: &str) -> u64 {
    let directory = directory(&format!("exhaustive-{test}"));
    write(&directory, "program.c", source);
    let explored = explore(&[directory.join("program.c")], "exhaustive");
    assert!(explored.complete && explored.failures == 0, "{test}: {explored:?}");
    explored.classes
}

/// A program of threads with these bodies, which `main` creates and joins.
fn threads(globals: &str, bodies: &[&str]) -> String {
    let mut source = format!("#include <pthread.h>\n{globals}\n");
    let mut create = String::new();
    let mut join = String::new();
    for (i, body) in bodies.iter().enumerate() {
        source += &format!("static void *t{i}(void *a) {{ {body} return a; }}\n");
        create += &format!("pthread_create(&t[{i}], 0, t{i}, 0);");
        join += &format!("pthread_join(t[{i}], 0);");
    }
    let number = bodies.len();
    source + &format!("int main(void) {{ pthread_t t[{number}]; {create} {join} return 0; }}\n")
}

fn corpus(path: &str) -> PathBuf {
    PathBuf::from(support::corpus(path))
}

#[test]
fn writes_are_counted_as_the_formula_says() {
    let globals = "volatile int x, y;";
    assert_eq!(classes("apart", &threads(globals, &["x = 1; x = 2; x = 3;", "y = 1; y = 2;"])), 1);
    let same = threads(globals, &["x = 1; x = 2; x = 3;", "x = 4; x = 5;"]);
    assert_eq!(classes("same", &same), 10, "5 over 2");
    let each = threads(globals, &["x = 1;", "x = 2;", "x = 3;", "x = 4;"]);
    assert_eq!(classes("each", &each), 24, "4!");
    let readers = threads(globals, &["y = x;", "(void)x;", "(void)x;", "x = 1;"]);
    assert_eq!(classes("readers", &readers), 8, "each before or after the write");
}

#[test]
fn sections_are_permuted() {
    let globals = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int x;";
    let section = "pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);";
    assert_eq!(classes("sections", &threads(globals, &[section; 4])), 24, "4!");
}

#[test]
fn a_busy_wait_has_happened_once_it_is_over() {
    let globals = "#include <stdatomic.h>\natomic_int flag, lock; int x;";
    let source = threads(globals, &["while (!flag) ; x++;", "x++; flag = 1;"]);
    assert_eq!(classes("spin", &source), 1);
    let section =
        "for (int e = 0; !atomic_compare_exchange_strong(&lock, &e, 1); e = 0) ; x++; lock = 0;";
    assert_eq!(classes("spinlock", &threads(globals, &[section; 3])), 6, "3!");
}

#[test]
fn a_wait_that_nobody_ends_is_a_livelock() {
    let globals = "#include <stdatomic.h>\natomic_int x, y;";
    let source = threads(globals, &["while (!x) ; y = 1;", "if (y) x = 1;", "x = x;"]);
    let directory = directory("exhaustive-livelock");
    write(&directory, "program.c", &source);
    let explored = explore(&[directory.join("program.c")], "exhaustive");
    assert!(explored.complete && explored.failures == 1, "{explored:?}");
}

/// Who was woken and waits again in the state in which it waited before does not go round a busy wait: the signal is spent.
#[test]
fn who_waits_again_may_take_the_next_signal_too() {
    let patient =
        "pthread_mutex_lock(&m); sem_post(&here); while (!done) pthread_cond_wait(&c, &m);";
    let once = "pthread_mutex_lock(&m); sem_post(&here); pthread_cond_wait(&c, &m);";
    let source = format!(
        "#include <pthread.h>\n#include <semaphore.h>\n\
         static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
         static pthread_cond_t c = PTHREAD_COND_INITIALIZER;\nstatic sem_t here;\nstatic int done;\n\
         static void *patient(void *a) {{ {patient} pthread_mutex_unlock(&m); return a; }}\n\
         static void *once(void *a) {{ {once} pthread_mutex_unlock(&m); return a; }}\n\
         int main(void) {{ pthread_t p, o; sem_init(&here, 0, 0);\n\
         pthread_create(&p, 0, patient, 0); pthread_create(&o, 0, once, 0);\n\
         sem_wait(&here); sem_wait(&here); pthread_mutex_lock(&m); pthread_mutex_unlock(&m);\n\
         pthread_cond_signal(&c); pthread_cond_signal(&c); pthread_join(o, 0);\n\
         pthread_mutex_lock(&m); done = 1; pthread_mutex_unlock(&m);\n\
         pthread_cond_signal(&c); pthread_join(p, 0); return 0; }}\n"
    );
    let directory = directory("exhaustive-again");
    write(&directory, "program.c", &source);
    let explored = explore(&[directory.join("program.c")], "exhaustive");
    assert!(explored.complete && explored.failures == 1, "{explored:?}");
    // As many as without any notion of a wait: counted by brute force over the prefixes of all classes.
    let explored = explore(&[corpus("explained/nested_wait/fixed.cpp")], "exhaustive");
    assert!(explored.complete && explored.classes == 936, "{explored:?}");
}

#[test]
fn what_an_event_did_counts() {
    let globals = "#include <stdatomic.h>\natomic_int x; pthread_barrier_t b;";
    let one = |i: u32| format!("int e = 0; atomic_compare_exchange_strong(&x, &e, {i});");
    let (a, b, c) = (one(1), one(2), one(3));
    assert_eq!(classes("exchanges", &threads(globals, &[&a, &b, &c])), 3, "who is first");
    assert_eq!(classes("updates", &threads(globals, &["x++;", "x += 2;", "x--;"])), 1);
    assert_eq!(classes("looks", &threads(globals, &["x++;", "x += 2;", "(void)x;"])), 4);
    let source = threads(globals, &["pthread_barrier_wait(&b);"; 3])
        .replace("pthread_t t[3];", "pthread_t t[3]; pthread_barrier_init(&b, 0, 3);");
    assert_eq!(classes("meeting", &source), 1);
    let looks = source.replace("pthread_barrier_wait(&b);", "if (pthread_barrier_wait(&b)) x = 1;");
    assert!(classes("last", &looks) >= 3, "who is last");
}

#[test]
fn what_main_leaves_running_may_get_anywhere() {
    let source = "#include <pthread.h>\nvolatile int x;\n\
        static void *t(void *a) { x = 1; x = 2; return a; }\n\
        int main(void) { pthread_t t0; pthread_create(&t0, 0, t, 0); x = 3; return 0; }\n";
    let directory = directory("exhaustive-leaves");
    write(&directory, "program.c", source);
    let explored = explore(&[directory.join("program.c")], "exhaustive");
    assert!(explored.complete && explored.classes >= 6, "{explored:?}");
}

#[test]
fn twins_are_explored_without_a_failure_and_the_others_fail() {
    for (name, buggy, fixed) in
        [("order/reorder", "reorder.c", "fixed.c"), ("atomicity/account", "account.c", "fixed.c")]
    {
        let twin = explore(&[corpus(&format!("{name}/{fixed}"))], "exhaustive");
        assert!(twin.complete && twin.failures == 0, "{name}: {twin:?}");
        let bug = explore(&[corpus(&format!("{name}/{buggy}"))], "exhaustive");
        assert!(bug.failures > 0, "{name}: {bug:?}");
        let lanes = [0, 1, 2].map(|lane| {
            explore(&[corpus(&format!("{name}/{fixed}"))], &format!("{lane}/3")).classes
        });
        assert_eq!(lanes.iter().sum::<u64>(), twin.classes, "{name} in lanes");
    }
}

#[test]
#[ignore = "explores one program, for the tests above"]
fn one_program() {
    let sources = std::env::var(SOURCES).expect("the program is named");
    let how = std::env::var(HOW).unwrap_or_default();
    let mut lab = Lab::new(sources.split(':').map(PathBuf::from).collect());
    let (mut failures, summary, time) = lab.explore(&how);
    failures.dedup();
    println!(
        "\n{} runs, {:.0} a second, {summary:?}",
        summary.schedules,
        summary.schedules as f64 / time.as_secs_f64()
    );
    println!("{COUNTS} {} {} {}", summary.classes, failures.len(), u8::from(summary.is_complete()));
}

/// One program, and the sites that its threads share.
struct Lab {
    vm: Vm,
    visible: VisibleSet,
}

impl Lab {
    fn new(sources: Vec<PathBuf>) -> Lab {
        let root = sources[0].parent().unwrap_or(Path::new("/")).to_path_buf();
        std::env::set_current_dir(root).expect("the directory of the program");
        let spec = BuildSpec::new(sources);
        let built = Builder::from_env().open(&spec).expect("the program compiles");
        let program = unravel_program::load(&built.bitcode).expect("the program loads");
        let options =
            Options { program_name: "program".into(), libraries: built.libs, ..Options::default() };
        let vm = Vm::new(program, options).expect("a machine");
        Lab { vm, visible: VisibleSet::default() }
    }

    fn run(&mut self, scheduler: &mut dyn Scheduler) -> Run {
        let want =
            Want { learn: true, prune_spins: true, awaits: true, ..Want::only(Detail::Outcome) };
        let job = Job { input: &Input::default(), visible: &self.visible, want };
        self.vm.run(&job, scheduler, &mut ()).expect("the machine is well")
    }

    /// Explores the program, from the start again whenever more turns out to be shared.
    fn explore(&mut self, how: &str) -> (Vec<String>, unravel_trace::Reached, Duration) {
        loop {
            let started = Instant::now();
            let mut search: Box<dyn unravel_strategies::Systematic> = match how.split_once('/') {
                Some((lane, lanes)) => Box::new(Exhaustive::new(
                    lane.parse().expect("a lane"),
                    lanes.parse().expect("a number of lanes"),
                )),
                None if how == "bounded" => Box::new(Bounding::new(Some(2), 0, 1)),
                None => Box::new(Exhaustive::new(0, 1)),
            };
            let mut failures = Vec::new();
            let learned = loop {
                let Some(mut scheduler) = search.scheduler() else { break false };
                let run = self.run(&mut *scheduler);
                drop(scheduler);
                let counted = search.learn(&run);
                if self.visible.merge(&run.learned) {
                    break true;
                }
                if let (Counted::New, Some(failure)) = (counted, run.outcome.failure()) {
                    failures.push(failure.id().to_string());
                }
                if started.elapsed() > Duration::from_secs(60) {
                    break false;
                }
            };
            if !learned {
                failures.sort();
                return (failures, search.summary(), started.elapsed());
            }
        }
    }
}

/// Measures what a run costs, and what going on from the middle of one in a forked process would.
#[test]
#[ignore = "a measurement: set UNRAVEL_EXPLORED_SOURCES"]
fn fork_or_execute_again() {
    let sources = std::env::var(SOURCES).expect("the program is named");
    let mut lab = Lab::new(sources.split(':').map(PathBuf::from).collect());
    loop {
        let learned = lab.run(&mut RunToBlock).learned;
        if !lab.visible.merge(&learned) {
            break;
        }
    }
    let length = lab.run(&mut RunToBlock).schedule.events();
    let mut time = |forks: bool, times: u32| {
        let started = Instant::now();
        for _ in 0..times {
            let at = if forks { length / 2 } else { u64::MAX };
            lab.run(&mut Forking { at, child: false });
        }
        started.elapsed() / times
    };
    time(false, 20);
    let (again, both) = (time(false, 200), time(true, 200));
    println!("\n{length} events; a run {again:?}; with a fork in the middle {both:?}");
}

/// Run to block; at some event the process forks, the child goes on to the end and the parent waits for it.
struct Forking {
    at: u64,
    child: bool,
}

impl Scheduler for Forking {
    fn next(&mut self, view: &View<'_>) -> Choice {
        if view.events >= self.at && !self.child {
            self.at = u64::MAX;
            // SAFETY: the child is this process with its one thread, and ends by `_exit`.
            match unsafe { libc::fork() } {
                0 => self.child = true,
                child => {
                    let mut status = 0;
                    // SAFETY: waits for the child above.
                    unsafe { libc::waitpid(child, &mut status, 0) };
                }
            }
        }
        Choice { events: 1, ..RunToBlock.next(view) }
    }

    fn finish(&mut self, _events: u64) {
        if self.child {
            // SAFETY: ends the forked process without running anything of the parent's.
            unsafe { libc::_exit(0) };
        }
    }
}
