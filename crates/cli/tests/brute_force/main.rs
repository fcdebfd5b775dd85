//! Exhaustive search against brute force, on random programs in the machine.
//!
//! A program is executed under every schedule there is, with no reduction, and by exhaustive search, with the same bound on
//! deviations of the environment. Both must see the same failures and the same exit codes, unless exhaustive search says that
//! it left something out; then it is not called complete, and that must be rare. The programs are C (`programs.rs`), the
//! reference knows the joint alone (`every.rs`).
//!
//! A process has one virtual machine, so the test starts itself anew for each program.

mod every;
mod programs;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use unravel_program::build::{BuildSpec, Builder};
use unravel_strategies::{Exhaustive, Systematic};
use unravel_trace::*;
use unravel_vm::{Options, Vm};

use every::Every;

/// The process that a program is explored in finds its source here.
const SOURCE: &str = "UNRAVEL_BRUTE_FORCE_SOURCE";
/// How many runs brute force may take for one program; another is drawn if it needs more.
const MOST: &str = "UNRAVEL_BRUTE_FORCE_MOST";
/// What the process prints before each of its lines: how a comparison came out.
const SAID: &str = "said:";
/// The bounds on deviations that are compared.
const BOUNDS: [u32; 3] = [0, 1, 2];
/// How many programs there are to be compared, and from which seed, if not the usual number from the usual one.
const PROGRAMS: &str = "UNRAVEL_BRUTE_FORCE_PROGRAMS";
const SEED: &str = "UNRAVEL_BRUTE_FORCE_SEED";

/// How much is compared.
struct Extent {
    programs: u64,
    most: u64,
}

/// The full suite fuzzes longer, and says so by this variable.
fn extent() -> Extent {
    let usual = match std::env::var("UNRAVEL_FUZZ_ITERS") {
        Ok(_) => Extent { programs: 300, most: 200_000 },
        Err(_) => Extent { programs: 36, most: 20_000 },
    };
    Extent { programs: number(PROGRAMS).unwrap_or(usual.programs), ..usual }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// What the comparisons of many programs came to.
#[derive(Debug, Default)]
struct Tally {
    compared: u64,
    fail: u64,
    complete: u64,
    bounds: [u64; BOUNDS.len()],
    /// Where a search that says what it left out has missed something.
    admitted: Vec<String>,
    differences: Vec<String>,
}

#[test]
fn exhaustive_search_sees_what_brute_force_sees() {
    let Extent { programs, most } = extent();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("brute-force");
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    let tally = Mutex::new(Tally::default());
    let next = AtomicU64::new(0);
    let seed = number(SEED).unwrap_or(1);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while tally.lock().expect("no comparison panics").compared < programs {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let path = directory.join(format!("program-{number}.c"));
                    let source = programs::program(&mut Rng::new(Rng::derive(seed, number)));
                    std::fs::write(&path, source).expect("the program is written");
                    let said = explore(&path, most);
                    tally.lock().expect("no comparison panics").add(&path, &said);
                }
            });
        }
    });
    let tally = tally.into_inner().expect("no comparison panics");
    println!("{tally:?}");
    assert!(tally.differences.is_empty(), "{}", tally.differences.join("\n"));
    assert!(tally.compared >= programs);
    // To admit it is honest, but a search that often has to is none.
    let admitted = tally.admitted.len() as u64;
    assert!(admitted * 50 <= programs, "{}", tally.admitted.join("\n"));
    // Otherwise the programs, not the search, are to blame for its being right.
    let (fail, least) = (tally.fail, programs / 4);
    assert!(fail >= least && fail <= programs - least, "{fail} of {programs} programs can fail");
}

impl Tally {
    fn add(&mut self, program: &Path, said: &[String]) {
        let has = |word: &str| said.iter().any(|line| line.starts_with(word));
        if !has("compared 0") {
            return;
        }
        self.compared += 1;
        self.fail += u64::from(has("fails"));
        self.complete += u64::from(has("complete"));
        for (count, bound) in self.bounds.iter_mut().zip(BOUNDS) {
            *count += u64::from(has(&format!("compared {bound}")));
        }
        for line in said {
            let line = format!("{}: {line}", program.display());
            if line.contains(": differs") {
                self.differences.push(line);
            } else if line.contains(": admits") {
                self.admitted.push(line);
            }
        }
    }
}

/// Explores a program in a process of its own.
fn explore(source: &Path, most: u64) -> Vec<String> {
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "one_program", "--ignored", "--nocapture"])
        .env(SOURCE, source)
        .env(MOST, most.to_string())
        .output()
        .expect("the test starts itself");
    let text = String::from_utf8_lossy(&output.stdout);
    let said = text.lines().filter_map(|line| Some(line.split_once(SAID)?.1.trim().to_owned()));
    let said: Vec<String> = said.collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}{errors}", source.display());
    said
}

#[test]
#[ignore = "compares one program, for the test above"]
fn one_program() {
    let source = PathBuf::from(std::env::var(SOURCE).expect("the program is named"));
    let most = number(MOST).unwrap_or(200_000);
    let mut lab = Lab::new(&source);
    println!();
    // What there is if a search said that further deviations change nothing.
    let mut settled: Option<BTreeSet<String>> = None;
    for bound in BOUNDS {
        let Some(all) = lab.brute_force(bound, most) else { break };
        if settled.as_ref().is_some_and(|settled| *settled != all.ends) {
            println!(
                "{SAID} differs: {bound} deviations show more than was said to be all: {settled:?}"
            );
        }
        let found = lab.search(bound);
        println!(
            "{SAID} compared {bound}: {} schedules, {} classes, {:?}",
            all.runs, found.reached.classes, all.ends
        );
        if all.ends.iter().any(|end| !end.starts_with("exited")) {
            println!("{SAID} fails");
        }
        if found.reached.is_complete() {
            println!("{SAID} complete {bound}");
        }
        let missed: Vec<&String> = all.ends.difference(&found.ends).collect();
        let invented: Vec<&String> = found.ends.difference(&all.ends).collect();
        if !missed.is_empty() || !invented.is_empty() {
            let told = invented.is_empty() && !found.reached.left_out.is_empty();
            println!(
                "{SAID} {} with {bound} deviations: missed {missed:?}, invented {invented:?}, {:?}",
                if told { "admits" } else { "differs" },
                found.reached
            );
        }
        if found.reached.is_complete() && found.reached.is_for_all_deviations() {
            settled.get_or_insert(found.ends);
        }
    }
}

/// What brute force came to.
struct All {
    ends: BTreeSet<String>,
    runs: u64,
}

/// What a search came to.
struct Found {
    ends: BTreeSet<String>,
    reached: Reached,
}

/// One program, and the sites that its threads share.
struct Lab {
    vm: Vm,
    visible: VisibleSet,
}

impl Lab {
    fn new(source: &Path) -> Lab {
        let spec = BuildSpec::new(vec![source.to_path_buf()]);
        let built = Builder::from_env().open(&spec).expect("the program compiles");
        let program = unravel_program::load(&built.bitcode).expect("the program loads");
        let options = Options { program_name: "program".into(), libraries: built.libs };
        Lab { vm: Vm::new(program, options).expect("a machine"), visible: VisibleSet::default() }
    }

    /// One run; only a search knows what to make of busy waits.
    fn run(&mut self, scheduler: &mut dyn Scheduler, awaits: bool) -> Run {
        let want = Want { learn: true, prune_spins: true, awaits, ..Want::only(Detail::Outcome) };
        let job = Job { input: &Input::default(), visible: &self.visible, want };
        self.vm.run(&job, scheduler, &mut ()).expect("the machine is well")
    }

    /// Executes every schedule, from the start again whenever more turns out to be shared; `None` if there are more than this.
    fn brute_force(&mut self, bound: u32, most: u64) -> Option<All> {
        let (mut every, mut ends, mut runs) = (Every::new(bound), BTreeSet::new(), 0);
        while runs < most {
            let run = self.run(&mut every, false);
            runs += 1;
            if self.visible.merge(&run.learned) {
                (every, ends, runs) = (Every::new(bound), BTreeSet::new(), 0);
                continue;
            }
            assert_eq!(run.deviated.len(), every.spent() as usize, "deviations are counted alike");
            ends.extend(end(&run.outcome));
            if !every.turn() {
                return Some(All { ends, runs });
            }
        }
        None
    }

    /// The same by exhaustive search.
    fn search(&mut self, bound: u32) -> Found {
        'again: loop {
            let (mut search, mut ends) = (Exhaustive::within(bound, 0, 1), BTreeSet::new());
            loop {
                let Some(mut scheduler) = search.scheduler() else { break };
                let run = self.run(&mut *scheduler, true);
                drop(scheduler);
                search.learn(&run);
                if self.visible.merge(&run.learned) {
                    continue 'again;
                }
                ends.extend(end(&run.outcome));
            }
            return Found { ends, reached: search.summary() };
        }
    }
}

/// How a run ended: the failure with its place, or the exit code. Nothing of a run that a search cut short.
fn end(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Exited { code } => Some(format!("exited with {code}")),
        Outcome::Failed(failure) => Some(failure.id().to_string()),
        Outcome::Discarded => None,
        Outcome::Inconclusive { reason, .. } => Some(format!("inconclusive: {reason}")),
    }
}
