//! Concolic execution tells the truth: a symbolic run evaluated in its own order gives the values that were
//! recorded, and evaluated in the order of *another* run, as long as that stays on the path, the values of that one.
//!
//! The programs are those in `programs/`, which use every kind of value, and the corpus. A process has one virtual
//! machine, so the test starts itself anew for each of them.

mod agreement;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use unravel_execute::Replay;
use unravel_program::build::{BuildSpec, Builder};
use unravel_strategies::{Knowledge, Sight, Strategy};
use unravel_trace::*;
use unravel_vm::{Options, Vm};

use agreement::{Agreement, compare};

/// The process that a case is executed in finds it here.
const CASE: &str = "UNRAVEL_SYMBOLIC_CASE";
/// How many schedules are executed symbolically, and compared with each other.
const RUNS: u64 = 24;
/// How many are tried to find a failure.
const SEARCH: u64 = 1000;

/// What a case's `expect.toml` says that matters here.
#[derive(Deserialize)]
struct Case {
    sources: Vec<PathBuf>,
    #[serde(default)]
    args: Vec<String>,
    stdin: Option<String>,
    #[serde(default)]
    libs: Vec<String>,
}

fn programs() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = |directory: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).expect("the directory is there");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    };
    let mut all = list(&here.join("tests/symbolic/programs"));
    for kind in list(&here.join("../../corpus")) {
        all.extend(list(&kind).into_iter().filter(|case| case.join("expect.toml").exists()));
    }
    all.sort();
    all
}

#[test]
fn symbolic_runs_agree_with_execution() {
    let todo = std::sync::Mutex::new(programs());
    let failed = std::sync::Mutex::new(Vec::new());
    assert!(todo.lock().expect("nobody panics").len() > 80, "the corpus is there");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = { todo.lock().expect("nobody panics").pop() } {
                    let mut child = Command::new(std::env::current_exe().expect("this test"));
                    child.args(["--exact", "one_case", "--ignored"]).env(CASE, &case);
                    let output = child.output().expect("the test starts itself");
                    if !output.status.success() {
                        let text = String::from_utf8_lossy(&output.stdout).into_owned();
                        failed.lock().expect("nobody panics").push(format!("{case:?}\n{text}"));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("nobody panics");
    assert!(failed.is_empty(), "{} cases:\n{}", failed.len(), failed.join("\n"));
}

#[test]
#[ignore = "executes one case, for the test above"]
fn one_case() {
    let path = PathBuf::from(std::env::var(CASE).expect("the case is named"));
    let (case, directory) = match path.is_dir() {
        true => {
            let text = std::fs::read_to_string(path.join("expect.toml")).expect("an expectation");
            (toml::from_str(&text).expect("a case"), path.clone())
        }
        false => {
            let sources = vec![path.clone()];
            let case = Case { sources, args: Vec::new(), stdin: None, libs: Vec::new() };
            (case, path.parent().expect("in a directory").to_owned())
        }
    };
    std::env::set_current_dir(&directory).expect("the directory of the case");
    Lab::new(&case).examine();
}

/// One program, and the sites that its threads share.
struct Lab {
    vm: Vm,
    input: Input,
    visible: VisibleSet,
}

impl Lab {
    fn new(case: &Case) -> Lab {
        let mut spec = BuildSpec::new(case.sources.clone());
        spec.flags = case.libs.iter().map(|lib| format!("-l{lib}")).collect();
        let built = Builder::from_env().open(&spec).expect("the program compiles");
        let program = unravel_program::load(&built.bitcode).expect("the program loads");
        let options =
            Options { program_name: "program".into(), libraries: built.libs, ..Options::default() };
        let vm = Vm::new(program, options).expect("a machine");
        let stdin = case.stdin.clone().map(String::into_bytes);
        let input = Input { args: case.args.clone(), stdin, ..Input::default() };
        let mut lab = Lab { visible: vm.sites().all().clone(), vm, input };
        let mut visible = VisibleSet::default();
        for index in 0..RUNS {
            let mut scheduler =
                Strategy::Random.scheduler(1, index, &Knowledge::default(), Sight::Shared);
            let want = Want { learn: true, ..Want::only(Detail::Outcome) };
            let run = lab.execute(&mut *scheduler, want);
            visible.merge(&run.learned);
        }
        lab.visible = visible;
        lab
    }

    fn run(&mut self, index: u64, detail: Detail) -> Run {
        let strategies = [Strategy::Random, Strategy::Pct(Some(3)), Strategy::RoundRobin];
        let strategy = strategies[(index % 3) as usize];
        let mut scheduler = strategy.scheduler(2, index, &Knowledge::default(), Sight::Shared);
        self.execute(&mut *scheduler, Want::only(detail))
    }

    fn execute(&mut self, scheduler: &mut dyn Scheduler, want: Want) -> Run {
        let job = Job { input: &self.input, visible: &self.visible, want };
        self.vm.run(&job, scheduler, &mut ()).expect("the machine is well")
    }

    fn examine(&mut self) {
        let runs: Vec<Run> = (0..RUNS).map(|index| self.run(index, Detail::Symbolic)).collect();
        for (index, run) in runs.iter().enumerate() {
            let symbolic = run.symbolic.as_ref().expect("a symbolic run");
            symbolic.check(run).unwrap_or_else(|e| panic!("run {index} ({}): {e}", run.outcome));
        }
        for (i, model) in runs.iter().enumerate() {
            for (j, other) in runs.iter().enumerate() {
                if let Agreement::Wrong(why) = compare(model, other) {
                    panic!("the model of run {i} in the order of run {j}: {why}");
                }
            }
        }
        let failing = (0..SEARCH)
            .map(|index| self.run(index, Detail::Outcome))
            .find(|run| run.outcome.failure().is_some());
        if let Some(found) = failing {
            self.diagnose(found);
        }
    }

    /// A failure is the same when it is executed symbolically, and has a reason.
    fn diagnose(&mut self, found: Run) {
        let input = found.input(&self.input);
        let mut replay = Replay::new(&found.schedule);
        let job = Job { input: &input, visible: &self.visible, want: Want::only(Detail::Symbolic) };
        let run = self.vm.run(&job, &mut replay, &mut ()).expect("the machine is well");
        assert_eq!(replay.divergence(), None);
        assert_eq!(run.outcome, found.outcome);
        assert_eq!(run.schedule.segments, found.schedule.segments);
        let symbolic = run.symbolic.as_ref().expect("a symbolic run");
        symbolic.check(&run).unwrap_or_else(|e| panic!("the failing run ({}): {e}", run.outcome));
        let kind = run.outcome.failure().expect("it failed").kind;
        match (kind, &symbolic.bug) {
            (FailureKind::Deadlock, Bug::Deadlock { requests }) => assert!(!requests.is_empty()),
            (FailureKind::Livelock | FailureKind::DeadStack, Bug::Opaque) => {}
            // What a pipe or a socket holds is none of the model's business.
            (_, Bug::Opaque)
                if run
                    .trace
                    .events
                    .iter()
                    .any(|event| matches!(event.kind, EventKind::Descriptor { .. })) => {}
            // Nor how often somebody looks at the clock who waits so: each look is a sleep.
            (_, Bug::Opaque)
                if run.trace.events.iter().any(|event| event.kind == EventKind::Yield) => {}
            // The only thing that is done to it is in vain.
            (FailureKind::Deadlock, Bug::Opaque) => {
                let failure = run.outcome.failure().expect("it failed");
                let awaited = ["data from", "room in", "an event of"];
                let waits =
                    |related: &Related| awaited.iter().any(|what| related.message.contains(what));
                assert!(failure.related.iter().any(waits), "{failure:?}");
            }
            (FailureKind::UseAfterFree | FailureKind::DoubleFree, Bug::Condition { fails, .. }) => {
                let read = symbolic.exprs.symbols(*fails);
                let cell = symbolic.accesses[read[0].0 as usize].address;
                assert!(cell >= SYNTHETIC, "it is decided by whether the object is alive");
            }
            (_, Bug::Condition { .. } | Bug::Reached { .. }) => {}
            (kind, bug) => panic!("{kind} with {bug:?}"),
        }
    }
}
