//! Logs without a recorder: a run of the machine leaves its routes behind, its order is forgotten, and the run is rebuilt. The
//! programs are optimised as production builds are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use unravel_execute::{Laboratory, Lesson, Replay};
use unravel_rebuild::{
    Cause, Expected, Hint, HintKind, Options, RebuildError, Rebuilt, Stamped, Task, rebuild,
};
use unravel_strategies::Random;
use unravel_trace::{
    Detail, Executed, FailureKind, Input, Observer, Observes, Op, Outcome, Route, Run, VisibleSet,
    Want,
};
use unravel_vm::Vm;

/// The optimised module of a program of the corpus.
fn optimised(source: &Path) -> Vec<u8> {
    let clang = std::env::var("UNRAVEL_CLANG").unwrap_or_else(|_| "clang-19".to_owned());
    let out = Command::new(clang)
        .args(["-O2", "-g", "-emit-llvm", "-c", "-o", "-"])
        .arg(source)
        .output()
        .expect("clang runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name)
}

/// Stamps every sync operation with its number.
#[derive(Default)]
struct Stamping {
    hints: Vec<Vec<Hint>>,
}

impl Observer for Stamping {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<unravel_trace::Alarm> {
        self.hints.resize_with(executed.names.len().max(self.hints.len()), Vec::new);
        let waits = executed.what.mutex().is_some();
        let kind = match executed.what.op {
            Op::Acquire if waits => HintKind::Wake { timed_out: false },
            Op::Acquire | Op::AcquireShared => HintKind::Acquire,
            Op::Release => HintKind::Release,
            Op::Wait => HintKind::Wait,
            Op::Signal => HintKind::Signal,
            Op::Fork => HintKind::Fork,
            Op::Join => HintKind::Join,
            _ => return None,
        };
        let on = |object| Stamped { object, stamp: executed.number };
        let also = executed.what.mutex().map(on);
        let hint = Hint { kind, on: Some(on(executed.what.address)), also };
        self.hints[executed.thread.index()].push(hint);
        None
    }
}

/// A run that failed, what it left behind, and how it ended.
fn record(lab: &mut Laboratory<'_>, failing: bool) -> Option<(Run, Arc<Route>, Vec<Vec<Hint>>)> {
    for seed in 0..3_000 {
        let run = lab.run(&mut Random::new(seed), &mut (), Want::only(Detail::Outcome));
        let wanted = match &run.outcome {
            Outcome::Failed(_) => failing,
            Outcome::Exited { .. } => !failing,
            _ => false,
        };
        if !wanted {
            continue;
        }
        let mut stamping = Stamping::default();
        let mut replay = Replay::new(&run.schedule);
        let want = Want::only(Detail::Outcome);
        let followed = lab.follow(None, &mut replay, &mut stamping, want).expect("a good engine");
        assert_eq!(followed.run.outcome, run.outcome, "the same run again");
        let route = followed.taken.expect("there was no route to keep to");
        stamping.hints.resize_with(route.legs.len(), Vec::new);
        return Some((run, route, stamping.hints));
    }
    None
}

fn expected(outcome: &Outcome) -> Expected {
    let Outcome::Failed(failure) = outcome else {
        let Outcome::Exited { code } = outcome else { panic!("{outcome}") };
        return Expected::Exit { code: *code };
    };
    let cause = match failure.kind {
        FailureKind::Deadlock | FailureKind::Livelock => return Expected::Hang,
        FailureKind::Assertion => Cause::Assertion,
        FailureKind::Abort => Cause::Abort,
        FailureKind::UncaughtException => Cause::UncaughtException,
        FailureKind::DivisionByZero => Cause::Arithmetic,
        _ => Cause::Crash,
    };
    Expected::Failure { thread: failure.thread.clone(), cause }
}

/// Records a run and rebuilds it. `None` if no run of this kind was found.
fn round(
    bitcode: &[u8],
    failing: bool,
    stamps: bool,
) -> Option<(Outcome, Result<Rebuilt, RebuildError>)> {
    let program = unravel_program::load(bitcode).expect("optimised code is lowered");
    let mut vm = Vm::new(program, unravel_vm::Options::default()).expect("a machine");
    let mut lab = Laboratory::new(&mut vm, Input::default(), VisibleSet::default());
    let visible = lab.learn(&Lesson::default(), |input, _| input.clone(), |_, _| {});
    lab.see(visible);
    let (run, route, hints) = record(&mut lab, failing)?;
    let middle = vec![false; route.legs.len()];
    let task = Task { route, hints, middle, expected: expected(&run.outcome) };
    let options = Options { stamps, ..Options::default() };
    Some((run.outcome, rebuild(&mut lab, &task, &options)))
}

/// Of these every failing run is rebuilt, with stamps and without.
const FAILING: [&str; 8] = [
    "atomicity/account/account.c",
    "atomicity/bank/bank.c",
    "atomicity/double_checked/double_checked.c",
    "data-race/counter_seq/counter_seq.c",
    "deadlock/philosophers/philosophers.c",
    "deadlock/deadlock/deadlock.c",
    "multi-variable/two_fields/two_fields.c",
    "order/use_before_init/use_before_init.c",
];

#[test]
fn a_failing_run_is_rebuilt_from_its_paths() {
    let mut tried = 0;
    for name in FAILING.iter().map(|name| corpus(name)).filter(|path| path.exists()) {
        let bitcode = optimised(&name);
        for stamps in [true, false] {
            let Some((outcome, rebuilt)) = round(&bitcode, true, stamps) else { continue };
            tried += 1;
            let rebuilt = rebuilt.unwrap_or_else(|error| panic!("{}: {error}", name.display()));
            assert!(rebuilt.run.outcome.is_same_bug(&outcome), "{}", name.display());
        }
    }
    assert!(tried >= 8, "{tried} runs were recorded");
}

#[test]
#[ignore = "a table for people: UNRAVEL_BITCODE names the modules"]
fn table() {
    let modules = std::env::var("UNRAVEL_BITCODE").unwrap_or_default();
    for module in modules.split_whitespace() {
        let bitcode = std::fs::read(module).expect("a module");
        for (failing, stamps) in [(true, true), (true, false), (false, true)] {
            let line = match round(&bitcode, failing, stamps) {
                None => "nothing to record".to_owned(),
                Some((outcome, Ok(found))) => {
                    let same = found.run.outcome.is_same_bug(&outcome) || !failing;
                    format!(
                        "{} runs {} orders {:?} branches {} left out {} {}",
                        if same { "rebuilt" } else { "OTHER" },
                        found.runs,
                        found.orders,
                        found.branches,
                        found.rounds_left_out,
                        if same {
                            String::new()
                        } else {
                            format!("{} / {outcome}", found.run.outcome)
                        }
                    )
                }
                Some((outcome, Err(error))) => format!("NOT {error} [{outcome}]"),
            };
            println!("{module} failing={failing} stamps={stamps}: {line}");
        }
    }
}
