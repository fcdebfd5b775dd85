//! Two engines, one machine: whatever is compiled, a run is the same to the byte.
//!
//! Programs are run by interpreting and with every function compiled as soon as it is met, under the same schedulers, and all
//! that is kept of each run is compared: events, values, stacks, output, what was learned, outcome and steps. Programs: random
//! ones that compute (`programs.rs`), random ones with threads (those of `brute_force`), the semantics tests', the corpus'.
//!
//! What a program does to its process, the next machine there would find: the test starts itself anew for each program and engine.

#[path = "../brute_force/programs.rs"]
mod concurrent;
mod programs;

use std::fmt::{Debug, Write};
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use unravel_compile::Cranelift;
use unravel_program::build::{BuildSpec, Builder};
use unravel_strategies::{Exhaustive, Random, RunToBlock, Systematic};
use unravel_trace::*;
use unravel_vm::{Engine, Options, Vm, When};

/// The process that runs a program finds its source, its arguments and the engine here.
const SOURCE: &str = "UNRAVEL_ENGINES_SOURCE";
const ARGUMENTS: &str = "UNRAVEL_ENGINES_ARGUMENTS";
const ENGINE: &str = "UNRAVEL_ENGINES_ENGINE";
/// What that process prints before each of its lines, and instead of them.
const SAID: &str = "said: ";
const NO_PROGRAM: &str = "no program";
/// How many random programs of each kind, and the first one's number. With it, all other programs are compared too.
const PROGRAMS: &str = "UNRAVEL_ENGINES_PROGRAMS";
const FIRST: &str = "UNRAVEL_ENGINES_FIRST";
const SEED: u64 = 25;
/// Without a number: of random programs, and every so many others.
const FEW: usize = 10;
const EVERY: usize = 9;
/// Calls and jumps of a run at most, and runs of a search.
const MAX_STEPS: u64 = 3_000_000;
const SEARCHED: usize = 40;
/// How often a program is interpreted again whose runs differ.
const INTERPRETED_AGAIN: usize = 8;

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// A program to compare.
struct Case {
    source: PathBuf,
    arguments: String,
}

#[test]
fn random_programs_run_the_same() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("engines");
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    let first = number(FIRST).unwrap_or(0);
    let mut cases = Vec::new();
    for number in first..first + number(PROGRAMS).unwrap_or(FEW) {
        let mut rng = Rng::new(Rng::derive(SEED, number as u64));
        for (kind, text) in
            [("computes", programs::program(&mut rng)), ("shares", concurrent::program(&mut rng))]
        {
            let source = directory.join(format!("{kind}-{number}.c"));
            std::fs::write(&source, text).expect("the program is written");
            cases.push(Case { source, arguments: String::new() });
        }
    }
    compare(&cases);
}

#[test]
fn programs_of_other_tests_run_the_same() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cases = Vec::new();
    for folder in ["tests/semantics", "tests/outcomes"] {
        for source in files(&here.join(folder)) {
            let text = std::fs::read_to_string(&source).expect("the program is there");
            let arguments = text.lines().take(5).find_map(|line| line.strip_prefix("// args: "));
            cases.push(Case { source, arguments: arguments.unwrap_or_default().to_owned() });
        }
    }
    for kind in files(&here.join("../../corpus")).iter().filter(|path| path.is_dir()) {
        for folder in files(kind).iter().filter(|path| path.is_dir()) {
            let arguments = arguments(&folder.join("expect.toml"));
            let sources = files(folder).into_iter().filter(|file| is_source(file));
            let case = |source| Case { source, arguments: arguments.clone() };
            cases.extend(sources.map(case));
        }
    }
    let chosen = if number(PROGRAMS).is_some() { 1 } else { EVERY };
    let cases: Vec<Case> = cases.into_iter().step_by(chosen).collect();
    assert!(cases.len() > 20, "the programs are there");
    compare(&cases);
}

/// What a corpus case's program is given.
fn arguments(expect: &Path) -> String {
    let text = std::fs::read_to_string(expect).unwrap_or_default();
    let expect: toml::Table = text.parse().unwrap_or_default();
    let all = expect.get("args").and_then(|args| args.as_array()).into_iter().flatten();
    all.filter_map(|arg| arg.as_str()).collect::<Vec<_>>().join(" ")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files
}

fn is_source(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ["c", "cc", "cpp"].iter().any(|one| *one == ending))
}

/// Compares programs, as many at a time as there are cores.
fn compare(cases: &[Case]) {
    let (next, told) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let said = one(case);
                    told.lock().expect("no comparison panics").push(said);
                }
            });
        }
    });
    let told = told.into_inner().expect("no comparison panics");
    let (mut runs, mut left_out) = (0, 0);
    let mut differences = Vec::new();
    for said in told {
        match said {
            Said::Same(count) => runs += count,
            Said::NoProgram => left_out += 1,
            Said::Differs(how) => differences.push(how),
        }
    }
    println!("{} programs, {runs} runs of each engine, {left_out} no programs", cases.len());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(left_out * 4 <= cases.len(), "{left_out} of {} do not compile alone", cases.len());
}

enum Said {
    /// So many runs.
    Same(usize),
    /// One file of several.
    NoProgram,
    Differs(String),
}

fn one(case: &Case) -> Said {
    let Some(expected) = told(case, "interpret") else { return Said::NoProgram };
    let found = told(case, "compiled").expect("it was a program a moment ago");
    // A few programs see where a library's memory lies, which depends on what our native threads map first: interpreting again
    // may tell another place. What it never tells is the engine's doing.
    let again = std::iter::repeat_with(|| told(case, "interpret")).take(INTERPRETED_AGAIN);
    if expected == found || again.flatten().any(|expected| expected == found) {
        return Said::Same(found.lines().count());
    }
    let lines = expected.lines().zip(found.lines());
    let differs = lines.into_iter().find(|(expected, found)| expected != found);
    let how = differs
        .map_or("in length".into(), |(expected, found)| format!("{expected}\nbecame {found}"));
    Said::Differs(format!("{}: {how}", case.source.display()))
}

/// What a process that runs a program on an engine tells of its runs, a line each; `None` if it is no program.
fn told(case: &Case, engine: &str) -> Option<String> {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        // With fewer native threads, fewer things depend on which of them is first.
        .args(["--exact", "one_program", "--ignored", "--nocapture", "--test-threads=1"])
        .env(SOURCE, &case.source)
        .env(ARGUMENTS, &case.arguments)
        .env(ENGINE, engine)
        .stdin(Stdio::null());
    // SAFETY: a system call, which may be made between fork and exec. Addresses of libraries are the same in both processes.
    unsafe {
        command.pre_exec(|| {
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            Ok(())
        });
    }
    let output = command.output().expect("the test starts itself");
    let text = String::from_utf8_lossy(&output.stdout);
    let said = text.lines().filter_map(|line| Some(line.split_once(SAID)?.1));
    let said = said.collect::<Vec<_>>().join("\n");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {engine}: {text}{errors}", case.source.display());
    (said != NO_PROGRAM).then_some(said)
}

#[test]
#[ignore = "runs one program on one engine, for the tests above"]
fn one_program() {
    let source = PathBuf::from(std::env::var(SOURCE).expect("the program is named"));
    let arguments = std::env::var(ARGUMENTS).unwrap_or_default();
    let is_compiled = std::env::var(ENGINE).is_ok_and(|name| name == "compiled");
    let engine = match is_compiled {
        true => Engine::Compiled(Cranelift::thorough, When::Met),
        false => Engine::Interpret,
    };
    let mut spec = BuildSpec::new(vec![source]);
    spec.flags.push("-lm".into());
    let built = Builder::from_env().open(&spec);
    let loaded = built.as_ref().ok().and_then(|built| unravel_program::load(&built.bitcode).ok());
    let Some(program) = loaded.filter(|program| program.main.is_some()) else {
        println!("\n{SAID}{NO_PROGRAM}");
        return;
    };
    let libraries = built.expect("it was loaded").libs;
    let args = arguments.split_whitespace().map(str::to_owned).collect();
    let mut input = Input { args, ..Input::default() };
    input.limits.max_steps = MAX_STEPS;
    let options = Options { program_name: "program".into(), libraries, engine };
    let mut vm = Vm::new(program, options).expect("a machine");
    let runs = runs(&mut vm, &input);
    assert_eq!(is_compiled, vm.compiled_functions() > 0, "something is compiled, or nothing");
    println!();
    for (number, run) in runs.iter().enumerate() {
        println!("{SAID}run {number}: {}", digest(run));
    }
}

/// A run in a line: its parts by hashes of all they hold.
fn digest(run: &Run) -> String {
    struct Digest(DefaultHasher);
    impl Write for Digest {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let hash = |part: &dyn Debug| {
        let mut digest = Digest(DefaultHasher::new());
        write!(digest, "{part:?}").expect("nothing fails here");
        digest.0.finish()
    };
    let Run { trace, schedule, learned, output, outcome, steps, .. } = run;
    format!(
        "{steps} steps, {} events {:x}, schedule {:x}, learned {:x}, output {:x}, all {:x}, {outcome:?}",
        trace.events.len(),
        hash(trace),
        hash(schedule),
        hash(learned),
        hash(output),
        hash(run),
    )
}

/// Runs of every kind that a search makes.
fn runs(vm: &mut Vm, input: &Input) -> Vec<Run> {
    let mut runs = Vec::new();
    let all = vm.sites().all().clone();
    let everything =
        Want { stacks: true, output: true, finals: true, ..Want::only(Detail::Events) };
    let quiet = Want { output: true, ..Want::only(Detail::Outcome) };
    let mut learned = VisibleSet::default();
    let mut run = |visible: &VisibleSet, want: Want, by: &mut dyn Scheduler| {
        let job = Job { input, visible, want };
        let run = vm.run(&job, by, &mut ()).expect("the machine is well");
        runs.push(run.clone());
        run
    };
    for seed in 0..2 {
        let want = Want { learn: true, ..everything };
        learned.merge(&run(&all, want, &mut Random::new(seed)).learned);
        learned.merge(&run(&all, Want { learn: true, ..quiet }, &mut Random::new(seed)).learned);
    }
    run(&VisibleSet::default(), quiet, &mut RunToBlock);
    run(&learned, everything, &mut RunToBlock);
    for seed in 2..5 {
        run(&learned, everything, &mut Random::new(seed));
        run(&learned, Want { skip_rounds: true, ..everything }, &mut Random::new(seed));
        run(&all, Want { skip_rounds: true, ..quiet }, &mut Random::new(seed));
    }
    let mut search = Exhaustive::within(1, 0, 1);
    for _ in 0..SEARCHED {
        let Some(mut scheduler) = search.scheduler() else { break };
        let want = Want { learn: true, prune_spins: true, ..quiet };
        let run = run(&learned, want, &mut *scheduler);
        drop(scheduler);
        search.learn(&run);
    }
    runs
}
