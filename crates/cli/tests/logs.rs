//! `unravel diagnose LOG` and `unravel hunt --from LOG…`, with logs that runs of the machine leave behind: their paths and the
//! stamps of their sync operations, nothing of their order. What recorded programs write themselves is tested with the recorder.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use unravel_execute::{Laboratory, Lesson, Replay};
use unravel_recording::{
    Begin, BlockId, BuildId, End, Ending, Function, FunctionId, Inputs, Log, Mode, Object, Record,
    Sync, SyncKind, Thread,
};
use unravel_strategies::Random;
use unravel_trace::{
    Alarm, Detail, Executed, FailureKind, Input, Observer, Observes, Op, Outcome, Run, VisibleSet,
    Want,
};
use unravel_vm::Vm;

const FINDING: i32 = 1;
const ERROR: i32 = 2;
const INCONCLUSIVE: i32 = 3;

/// A process has room for one machine.
static ONE_MACHINE: Mutex<()> = Mutex::new(());

const LOST_UPDATE: &str = r#"
#include <assert.h>
#include <pthread.h>
static int balance;
static void *deposit(void *amount) {
    for (int i = 0; i < 3; i++) balance = *(volatile int *)&balance + *(int *)amount;
    return 0;
}
int main(void) {
    pthread_t a, b;
    int one = 1, ten = 10;
    pthread_create(&a, 0, deposit, &one);
    pthread_create(&b, 0, deposit, &ten);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(balance == 33);
    return 0;
}
"#;

const DEADLOCK: &str = r#"
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int moved;
static void *there(void *u) {
    pthread_mutex_lock(&a); pthread_mutex_lock(&b);
    if (moved < 5) moved++;
    pthread_mutex_unlock(&b); pthread_mutex_unlock(&a);
    return 0;
}
static void *back(void *u) {
    pthread_mutex_lock(&b); pthread_mutex_lock(&a);
    if (moved > 0) moved--;
    pthread_mutex_unlock(&a); pthread_mutex_unlock(&b);
    return 0;
}
int main(int argc, char **argv) {
    pthread_t x, y;
    if (argc > 5) return 1;
    pthread_create(&x, 0, there, 0);
    pthread_create(&y, 0, back, 0);
    pthread_join(x, 0);
    pthread_join(y, 0);
    return 0;
}
"#;

const CRASH: &str = r#"
#include <pthread.h>
#include <stdlib.h>
struct config { int size; };
static struct config *volatile config;
static volatile int ready;
static void *use(void *u) {
    if (ready) config->size++;
    return 0;
}
int main(void) {
    pthread_t user;
    pthread_create(&user, 0, use, 0);
    ready = 1;
    config = malloc(sizeof *config);
    config->size = 0;
    pthread_join(user, 0);
    return config->size > 1;
}
"#;

fn directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("logs").join(test);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    directory
}

fn unravel(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command.output().expect("unravel runs")
}

/// Standard output and standard error of a command that ends with this code.
fn said(directory: &Path, arguments: &[&str], code: i32) -> String {
    let output = unravel(directory, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {all}");
    all
}

fn json(directory: &Path, arguments: &[&str], code: i32) -> Value {
    let said = said(directory, arguments, code);
    let line = said.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// Stamps sync operations as the recorder does: a condition wait is four records.
#[derive(Default)]
struct Stamping {
    records: Vec<Vec<(u64, Sync)>>,
}

impl Observer for Stamping {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        self.records.resize_with(executed.names.len().max(self.records.len()), Vec::new);
        let kind = match executed.what.op {
            Op::Acquire => SyncKind::Lock,
            Op::Release => SyncKind::Unlock,
            Op::Fork => SyncKind::Create,
            Op::Join => SyncKind::Join,
            _ => return None,
        };
        let child = executed.what.thread().map(|thread| u64::from(thread.0));
        let object = Object(child.unwrap_or(executed.what.address));
        let sync = Sync { kind, object, stamp: executed.number };
        self.records[executed.thread.index()].push((executed.number, sync));
        None
    }
}

/// The log of a run of a program, optimised, that ends so.
fn log(source: &str, wanted: impl Fn(&Outcome) -> bool, seed: u64) -> Log {
    let _one = ONE_MACHINE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("program.c");
    std::fs::write(&file, source).expect("written");
    let clang = std::env::var("UNRAVEL_CLANG").unwrap_or_else(|_| "clang-19".to_owned());
    let mut compile = Command::new(clang);
    compile.args(["-O2", "-g", "-emit-llvm", "-c", "-o", "-"]).arg(&file);
    let bitcode = compile.output().expect("clang runs").stdout;
    let program = unravel_program::load(&bitcode).expect("it is lowered");
    let mut vm = Vm::new(program, unravel_vm::Options::default()).expect("a machine");
    let mut lab = Laboratory::new(&mut vm, Input::default(), VisibleSet::default());
    let visible = lab.learn(&Lesson::default(), |input, _| input.clone(), |_, _| {});
    lab.see(visible);
    let want = Want::only(Detail::Outcome);
    let mut runs = (seed..seed + 2_000).map(|seed| lab.run(&mut Random::new(seed), &mut (), want));
    let run = runs.find(|run| wanted(&run.outcome)).expect("a run that ends so");
    let mut stamping = Stamping::default();
    let mut replay = Replay::new(&run.schedule);
    let followed = lab.follow(None, &mut replay, &mut stamping, want).expect("a good engine");
    let route = followed.taken.expect("there was nothing to keep to");
    stamping.records.resize_with(route.legs.len(), Vec::new);
    let function = |name: &String| Function { name: name.clone(), blocks: 1_000, unrecorded: None };
    let thread = |(index, leg): (usize, &unravel_trace::Leg)| {
        let branches = leg.turns.iter().map(|turn| Record::Branch {
            function: FunctionId(turn.function),
            block: BlockId(turn.block),
            successor: turn.successor,
        });
        let syncs = stamping.records[index].iter().map(|(_, sync)| Record::Sync(*sync));
        Thread {
            name: leg.thread.clone(),
            begin: Begin::Start,
            records: syncs.chain(branches).collect(),
            end: if leg.then == unravel_trace::Beyond::Ended {
                End::Returned
            } else {
                End::Running
            },
            lost: Vec::new(),
        }
    };
    Log {
        // The module has the name of a scratch folder in it.
        build: BuildId(unravel_code::fingerprint(source.as_bytes())),
        mode: Mode::Whole,
        functions: route.functions.iter().map(function).collect(),
        name: "program".to_owned(),
        inputs: Inputs::default(),
        threads: Arc::clone(&route).legs.iter().enumerate().map(thread).collect(),
        ending: ending(&run),
        unrecorded: Vec::new(),
        program: bitcode,
    }
}

fn ending(run: &Run) -> Ending {
    let failure = match &run.outcome {
        Outcome::Failed(failure) => failure,
        Outcome::Exited { code } => return Ending::Exited { code: *code },
        other => panic!("{other}"),
    };
    let (thread, stack) = (failure.thread.clone(), Vec::new());
    match failure.kind {
        FailureKind::Deadlock => Ending::Hang,
        FailureKind::Assertion => {
            Ending::Assertion { thread, message: failure.message.clone(), stack }
        }
        _ => Ending::Signal { thread, signal: 11, address: None, stack },
    }
}

fn fails(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(_))
}

fn write(directory: &Path, name: &str, log: &Log) {
    std::fs::write(directory.join(name), log.to_bytes()).expect("written");
}

/// The failure is rebuilt from the log and diagnosed.
fn is_confirmed(test: &str, source: &str, kind: &str) {
    let directory = directory(test);
    write(&directory, "run.log", &log(source, fails, 0));
    for flags in
        [&["diagnose", "run.log", "--json"][..], &["diagnose", "run.log", "--json", "--no-stamps"]]
    {
        let json = json(&directory, flags, FINDING);
        assert_eq!(json["status"]["kind"], "confirmed", "{json}");
        assert_eq!(json["failure"]["kind"], kind, "{json}");
        let note = json["notes"][0].as_str().unwrap_or_default();
        assert!(note.starts_with("rebuilt from run.log"), "{json}");
    }
    // The rebuilt program goes by the name that the recorded one had.
    let trace = format!("unravel-out/program-{kind}-log.trace");
    let replayed = said(&directory, &["replay", &trace], FINDING);
    assert!(replayed.contains(kind), "{replayed}");
}

#[test]
fn a_lost_update_is_rebuilt_from_its_log_and_confirmed() {
    is_confirmed("lost-update", LOST_UPDATE, "assertion");
}

#[test]
fn a_hang_is_rebuilt_from_its_log_and_confirmed() {
    is_confirmed("hang", DEADLOCK, "deadlock");
}

#[test]
fn a_crash_is_rebuilt_from_its_log_and_confirmed() {
    is_confirmed("crash", CRASH, "null-dereference");
}

#[test]
fn a_branch_that_cannot_be_is_told_with_thread_branch_and_line() {
    let directory = directory("divergence");
    let mut log = log(LOST_UPDATE, fails, 0);
    // The assertion holds in the log, which nevertheless says that it failed.
    let branches = log.threads[0].records.iter_mut().rev();
    let mut branches = branches.filter_map(|record| match record {
        Record::Branch { successor, .. } => Some(successor),
        _ => None,
    });
    let last = branches.next().expect("a branch");
    *last = 1 - *last;
    write(&directory, "run.log", &log);
    let said = said(&directory, &["diagnose", "run.log"], INCONCLUSIVE);
    assert!(said.starts_with("inconclusive: the recorded run was not rebuilt"), "{said}");
    let told = said.contains("T0 leaves its recorded path at branch 1, program.c:16")
        || said.contains("the recorded paths were kept, but no run ended as the log says");
    assert!(told, "{said}");
}

/// Runs in circles before it comes to the update, so that a flight recorder would have lost the beginning.
const LONG_WAY: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static volatile int balance, steps;
static void *deposit(void *amount) {
    for (int i = 0; i < 40; i++) if ((i * 7 + *(int *)amount) % 3 == steps) abort();
    int seen = balance;
    if (seen > 0) steps = 5;
    balance = seen + *(int *)amount;
    return 0;
}
int main(void) {
    pthread_t a, b;
    int one = 1, ten = 10;
    steps = 7;
    pthread_create(&a, 0, deposit, &one);
    pthread_create(&b, 0, deposit, &ten);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(balance == 11);
    return 0;
}
"#;

#[test]
fn what_is_left_of_a_long_run_is_a_goal() {
    let directory = directory("middle");
    let mut log = log(LONG_WAY, fails, 0);
    for thread in &mut log.threads[1..] {
        let branches = thread.records.iter().filter(|r| matches!(r, Record::Branch { .. })).count();
        assert!(branches > 40, "there is something to lose: {branches}");
        thread.records.drain(..thread.records.len() - 9);
        thread.begin = Begin::Middle { stack: Vec::new() };
        thread.lost = vec![unravel_recording::Lost::Recycled { bytes: 1 << 20 }];
    }
    log.mode = Mode::Flight;
    write(&directory, "middle.log", &log);
    let found = said(&directory, &["diagnose", "--json", "middle.log"], FINDING);
    assert!(found.contains("the log begins in the middle"), "{found}");
    // The goal cannot be reached: a thread that saw the other's deposit does not lose it.
    for thread in &mut log.threads[1..] {
        let last = thread.records.iter_mut().rev().find_map(|record| match record {
            Record::Branch { successor, .. } => Some(successor),
            _ => None,
        });
        *last.expect("a branch") ^= 1;
    }
    write(&directory, "never.log", &log);
    let arguments = ["diagnose", "--json", "--time", "5s", "never.log"];
    let found = said(&directory, &arguments, INCONCLUSIVE);
    assert!(found.contains("its branches are a goal"), "{found}");
}

#[test]
fn what_is_no_use_is_refused_with_one_message() {
    let directory = directory("refused");
    let good = log(LOST_UPDATE, fails, 0);
    let refused = |log: &Log, message: &str| {
        write(&directory, "bad.log", log);
        let said = said(&directory, &["diagnose", "bad.log"], ERROR);
        assert!(said.contains(message), "{said}");
    };
    let mut silent = good.clone();
    silent.threads.iter_mut().for_each(|thread| thread.records.clear());
    refused(&silent, "the log has neither branches nor sync operations");
    let mut killed = good.clone();
    killed.ending = Ending::Killed;
    refused(&killed, "says nothing of how the run ended");
    let mut passed = good.clone();
    passed.ending = Ending::Exited { code: 0 };
    refused(&passed, "the recorded run passed");
    let mut no_module = good.clone();
    no_module.program = b"BC".to_vec();
    refused(&no_module, "bad-");
    let bytes = good.to_bytes();
    for length in [8, 9, 100, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(directory.join("bad.log"), &bytes[..length]).expect("written");
        let said = said(&directory, &["diagnose", "bad.log"], ERROR);
        assert!(said.contains("damaged log"), "{length}: {said}");
    }
}

#[test]
fn a_hunt_starts_from_logs_of_runs_that_passed() {
    let directory = directory("hunt");
    let passes = |outcome: &Outcome| *outcome == Outcome::Exited { code: 0 };
    for seed in 0..3 {
        write(&directory, &format!("{seed}.log"), &log(LOST_UPDATE, passes, 100 * seed));
    }
    let from = ["hunt", "--from", "0.log", "1.log", "2.log", "--json"];
    let hunted = json(&directory, &from, FINDING);
    assert_eq!(hunted["runs"]["executed"], 3, "{hunted}");
    assert_eq!(hunted["exposed"][0]["failure"]["kind"], "assertion", "{hunted}");
    // Logs of another build, and of runs that failed, are no use to it.
    write(&directory, "other.log", &log(CRASH, passes, 0));
    let other = said(&directory, &["hunt", "--from", "0.log", "other.log"], ERROR);
    assert!(other.contains("other.log is of another build than 0.log"), "{other}");
    write(&directory, "failed.log", &log(LOST_UPDATE, fails, 0));
    let failed = said(&directory, &["hunt", "--from", "failed.log"], ERROR);
    assert!(failed.contains("the recorded run failed"), "{failed}");
}
