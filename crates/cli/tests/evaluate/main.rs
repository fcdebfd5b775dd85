//! Every verdict of `evaluate` on a trace of the machine agrees with executing that schedule.
//!
//! For each program of the corpus that fails by itself, orders near the failing one are evaluated and executed: *fails*
//! is the same bug right there, *passes* is no failure up to there, *blocked* is a thread that cannot go on, and up to
//! where a path is *left* all events have the values that the model gives. A process has one virtual machine, so the
//! test starts itself anew for each program.

mod follow;
mod orders;
mod verdicts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use unravel_execute::Replay;
use unravel_program::build::{BuildSpec, Builder};
use unravel_solve::{Evaluator, Model, Verdict};
use unravel_strategies::{Knowledge, Sight, Strategy};
use unravel_trace::*;
use unravel_vm::{Options, Vm};

use follow::Follow;
use verdicts::{Compared, Reference};

/// The process that a case is executed in finds it here.
const CASE: &str = "UNRAVEL_EVALUATE_CASE";
/// What a case prints before its counts.
const COUNTS: &str = "counts:";
/// Runs that learn what is shared, and runs that look for a failure.
const LEARNING: u64 = 24;
/// Its wait gives up while the mutex is taken, which is two points in execution and one step in the model.
const TWO_POINTS: &str = "pool_handoff_tie";
/// A known gap: where its loop over the array was not yet known to race, execution stops before the loop's reads, and the model has
/// them in one step with what comes before them. Searches and diagnoses are not affected: they confirm by execution.
const UNKNOWN_RACE: &str = "much_between";
/// Runs with more events are left out.
const LONG: u64 = 2_000;
const SEARCH: u64 = 2000;
/// Orders of one failing run, and how many failing runs.
const ORDERS: u64 = 250;
const FAILURES: usize = 2;

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
    let list = |directory: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).expect("the directory is there");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    };
    let mut all = Vec::new();
    for kind in list(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")) {
        let cases = list(&kind).into_iter().filter(|case| case.join("expect.toml").exists());
        all.extend(cases.filter(|case| !has_signals(case) && !is_left_out(case)));
    }
    all.sort();
    all
}

fn is_left_out(case: &Path) -> bool {
    [TWO_POINTS, UNKNOWN_RACE].iter().any(|name| case.ends_with(name))
}

/// When signals arrive is no matter of the model.
fn has_signals(case: &Path) -> bool {
    let files = std::fs::read_dir(case).expect("the directory is there");
    let texts = files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
    texts.into_iter().any(|text| text.contains("<signal.h>"))
}

#[test]
fn verdicts_agree_with_execution() {
    let todo = std::sync::Mutex::new(programs());
    let failed = std::sync::Mutex::new(Vec::new());
    let counts = std::sync::Mutex::new(BTreeMap::<String, u64>::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = { todo.lock().expect("nobody panics").pop() } {
                    let mut child = Command::new(std::env::current_exe().expect("this test"));
                    child
                        .args(["--exact", "one_case", "--ignored", "--nocapture"])
                        .env(CASE, &case);
                    let output = child.output().expect("the test starts itself");
                    let text = String::from_utf8_lossy(&output.stdout).into_owned()
                        + &String::from_utf8_lossy(&output.stderr);
                    if !output.status.success() {
                        failed.lock().expect("nobody panics").push(format!("{case:?}\n{text}"));
                    }
                    let mut counts = counts.lock().expect("nobody panics");
                    let said = text.lines().filter_map(|line| line.split_once(COUNTS));
                    for word in said.flat_map(|(_, words)| words.split_whitespace()) {
                        let (kind, number) = word.split_once('=').expect("a count");
                        *counts.entry(kind.to_owned()).or_default() +=
                            number.parse::<u64>().expect("a number");
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("nobody panics");
    let counts = counts.into_inner().expect("nobody panics");
    println!("{counts:?}");
    assert!(failed.is_empty(), "{} cases:\n{}", failed.len(), failed.join("\n"));
    let seen = |kind: &str| counts.get(kind).copied().unwrap_or(0);
    assert!(seen("programs") >= 80, "most programs fail by themselves: {counts:?}");
    for kind in ["Fails", "Passes", "Blocked", "LeavesVisibly"] {
        assert!(seen(kind) >= 500, "every verdict is tried: {counts:?}");
    }
    assert!(seen("LeavesVisibly") > seen("LeavesSilently"), "paths really differ: {counts:?}");
    assert!(seen("FreedOtherwise") <= 20, "almost all addresses are the same: {counts:?}");
    assert!(seen("Beyond") * 20 < seen("Passes"), "few comparisons are given up: {counts:?}");
}

#[test]
#[ignore = "executes one case, for the test above"]
fn one_case() {
    let path = PathBuf::from(std::env::var(CASE).expect("the case is named"));
    let text = std::fs::read_to_string(path.join("expect.toml")).expect("an expectation");
    let case: Case = toml::from_str(&text).expect("a case");
    std::env::set_current_dir(&path).expect("the directory of the case");
    let mut lab = Lab::new(&case);
    let mut counts = BTreeMap::<String, u64>::new();
    let mut wrong = Vec::new();
    for (number, found) in lab.failures().into_iter().enumerate() {
        *counts.entry("failures".into()).or_default() += 1;
        counts.insert("programs".into(), 1);
        lab.examine(number as u64, &found, &mut counts, &mut wrong);
    }
    let counts: Vec<String> = counts.iter().map(|(kind, n)| format!("{kind}={n}")).collect();
    println!("\n{COUNTS} {}", counts.join(" "));
    assert!(
        wrong.is_empty(),
        "{} disagreements, such as\n{}",
        wrong.len(),
        wrong[..wrong.len().min(3)].join("\n")
    );
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
        for index in 0..LEARNING {
            let mut scheduler =
                Strategy::Random.scheduler(1, index, &Knowledge::default(), Sight::Shared);
            visible.merge(&lab.run(&mut *scheduler, Detail::Outcome, true).learned);
        }
        lab.visible = visible;
        lab
    }

    fn run(&mut self, scheduler: &mut dyn Scheduler, detail: Detail, learn: bool) -> Run {
        let want = Want { learn, ..Want::only(detail) };
        let job = Job { input: &self.input, visible: &self.visible, want };
        self.vm.run(&job, scheduler, &mut ()).expect("the machine is well")
    }

    /// The first failing runs.
    fn failures(&mut self) -> Vec<Run> {
        let strategies = [Strategy::Random, Strategy::Pct(Some(3)), Strategy::RoundRobin];
        let runs = (0..SEARCH).map(|index| {
            let mut scheduler = strategies[(index % 3) as usize].scheduler(
                2,
                index,
                &Knowledge::default(),
                Sight::Shared,
            );
            self.run(&mut *scheduler, Detail::Outcome, false)
        });
        // Every point of a run is evaluated in other orders: of one that works until another has slept that takes minutes.
        let short = |run: &Run| run.outcome.failure().is_some() && run.schedule.events() < LONG;
        runs.filter(short).take(FAILURES).collect()
    }

    fn examine(
        &mut self,
        seed: u64,
        found: &Run,
        counts: &mut BTreeMap<String, u64>,
        wrong: &mut Vec<String>,
    ) {
        self.input = found.input(&self.input);
        let run = self.run(&mut Replay::new(&found.schedule), Detail::Symbolic, false);
        let symbolic = run.symbolic.as_ref().expect("a symbolic run");
        let model = match Model::new(&run.trace, symbolic) {
            Ok(model) => model,
            Err(error) => return wrong.push(format!("not modelled: {error}")),
        };
        let recorded = model.observed().expect("it was observed");
        let mut evaluator = Evaluator::new(&model);
        let verdict = evaluator.evaluate(&recorded);
        if !matches!(verdict, Verdict::Fails { .. }) {
            return wrong.push(format!("{} is {verdict:?} in the model", run.outcome));
        }
        if matches!(model.bug(), Bug::Opaque) {
            // Only execution can tell.
            *counts.entry("opaque".into()).or_default() += 1;
            return;
        }
        let reference = Reference { run: &run, symbolic, model: &model };
        let mut rng = Rng::new(seed);
        for number in 0..ORDERS {
            let order = orders::near(&model, &recorded, &mut rng);
            let verdict = evaluator.evaluate(&order);
            let performed = reference.performed(&evaluator);
            let threads = reference.threads(&performed);
            let choices = evaluator.choices().to_vec();
            let mut follow = Follow::new(&threads, &choices);
            let executed = self.run(&mut follow, Detail::Symbolic, false);
            let compared = reference.compare(&evaluator, verdict, &performed, &executed, &follow);
            let compared = match compared {
                Err(_) if reference.frees_otherwise(&order) => Ok(Compared::FreedOtherwise),
                compared => compared,
            };
            match compared {
                Ok(compared) => *counts.entry(format!("{compared:?}")).or_default() += 1,
                Err(why) => wrong.push(format!(
                    "failure {seed} ({}), order {number}: {verdict:?}, but {why}",
                    run.outcome
                )),
            }
        }
    }
}
