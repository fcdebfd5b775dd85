//! Exhaustive search against brute force, on random programs in the machine.
//!
//! A program is executed under every schedule there is, with no reduction, and by exhaustive search, with the same bound on
//! deviations of the environment. Both must see the same failures and the same exit codes, unless exhaustive search says that
//! it left something out; then it is not called complete, and that must be rare. The programs are C (`programs.rs`), the
//! reference knows the joint alone (`every.rs`).
//!
//! Loops that come round again and again have no end of schedules, and that reference leaves out what comes to nothing as the search
//! does. So programs are also compared with all that they may do in so many steps, nothing left out (`prefixes.rs`): those from above, and
//! others made of such loops (`rounds.rs`).
//!
//! A process has one virtual machine, so the test starts itself anew for each program.

mod every;
mod prefixes;
mod programs;
mod rounds;
mod ties;

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
use prefixes::Prefixes;

/// The process that a program is explored in finds its source here.
const SOURCE: &str = "UNRAVEL_BRUTE_FORCE_SOURCE";
/// How many runs brute force may take for one program; another is drawn if it needs more.
const MOST: &str = "UNRAVEL_BRUTE_FORCE_MOST";
/// What is done with it: one of [`How`].
const HOW: &str = "UNRAVEL_BRUTE_FORCE_HOW";
/// Runs of a search after which it has not ended: what is compared with brute force ends long before.
const MOST_SEARCHED: u64 = 100_000;
/// How many steps a run may have then: a loop comes round several times.
const LONGEST: usize = 36;
/// What the process prints before each of its lines: how a comparison came out.
const SAID: &str = "said:";
/// The bounds on deviations that are compared.
const BOUNDS: [u32; 3] = [0, 1, 2];
/// How many programs there are to be compared, and from which seed, if not the usual number from the usual one.
const PROGRAMS: &str = "UNRAVEL_BRUTE_FORCE_PROGRAMS";
const SEED: &str = "UNRAVEL_BRUTE_FORCE_SEED";

/// What is done with a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// It is compared with all its schedules.
    Schedules,
    /// It is compared with all its beginnings.
    Beginnings,
    /// It is explored without deviations.
    Search,
}

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
    let tally = compare(programs, most, How::Schedules);
    // To admit it is honest, but a search that often has to is none.
    let admitted = tally.admitted.len() as u64;
    assert!(admitted * 50 <= programs, "{}", tally.admitted.join("\n"));
    // Otherwise the programs, not the search, are to blame for its being right.
    let (fail, least) = (tally.fail, programs / 4);
    assert!(fail >= least && fail <= programs - least, "{fail} of {programs} programs can fail");
}

#[test]
fn exhaustive_search_sees_all_that_loops_may_do() {
    let Extent { programs, most } = extent();
    let tally = compare(programs, most, How::Beginnings);
    // Otherwise nothing would be said of most.
    assert!(tally.complete * 2 > programs, "{} of {programs} are complete", tally.complete);
}

#[test]
fn of_a_tie_both_orders_are_explored() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("brute-force-ties");
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    let all = ties::all();
    let (wrong, next) = (Mutex::new(Vec::new()), AtomicU64::new(0));
    on_all_cores(|| {
        while let Some(tie) = all.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
            let path = directory.join(format!("{}.c", tie.what.replace(' ', "-").replace(',', "")));
            std::fs::write(&path, &tie.source).expect("the program is written");
            wrong.lock().expect("no comparison panics").extend(tie.wrong_in(&explore(
                &path,
                0,
                How::Search,
            )));
        }
    });
    let wrong = wrong.into_inner().expect("no comparison panics");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Compares so many random programs; fails if they differ.
fn compare(programs: u64, most: u64, how: How) -> Tally {
    let rounds = how == How::Beginnings;
    let name = if rounds { "brute-force-rounds" } else { "brute-force" };
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    let tally = Mutex::new(Tally::default());
    let next = AtomicU64::new(0);
    let seed = number(SEED).unwrap_or(1);
    on_all_cores(|| {
        while tally.lock().expect("no comparison panics").compared < programs {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let path = directory.join(format!("program-{number}.c"));
            let rng = &mut Rng::new(Rng::derive(seed, number));
            let source = if rounds { rounds::program(rng) } else { programs::program(rng) };
            std::fs::write(&path, source).expect("the program is written");
            let said = explore(&path, most, how);
            tally.lock().expect("no comparison panics").add(&path, &said);
        }
    });
    let tally = tally.into_inner().expect("no comparison panics");
    println!("{tally:?}");
    assert!(tally.differences.is_empty(), "{}", tally.differences.join("\n"));
    assert!(tally.compared >= programs);
    tally
}

fn on_all_cores(work: impl Fn() + Sync) {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(&work);
        }
    });
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
fn explore(source: &Path, most: u64, how: How) -> Vec<String> {
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "one_program", "--ignored", "--nocapture"])
        .env(SOURCE, source)
        .env(MOST, most.to_string())
        .env(HOW, format!("{how:?}"))
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
    match std::env::var(HOW).as_deref() {
        Ok("Beginnings") => return lab.compare_rounds(most),
        Ok("Search") => {
            let Found { ends, reached } = lab.search(0);
            ends.iter().for_each(|end| println!("{SAID} {end}"));
            if reached.is_complete() {
                println!("{SAID} complete");
            }
            return;
        }
        _ => {}
    }
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
        if let Some(all) = lab.prefixes(bound, most / 4) {
            let found_ends = &found.ends;
            report_missed(bound, &all, found_ends, &found.reached);
        }
        if found.reached.is_complete() && found.reached.is_for_all_deviations() {
            settled.get_or_insert(found.ends);
        }
    }
}

/// Says what a search has missed of what there is at least.
fn report_missed(bound: u32, all: &All, found: &BTreeSet<String>, reached: &Reached) {
    let missed: Vec<&String> = all.ends.difference(found).collect();
    if !missed.is_empty() {
        let told = if reached.is_complete() { "differs" } else { "admits" };
        println!(
            "{SAID} {told} with {bound} deviations: missed {missed:?} of its beginnings, {reached:?}"
        );
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
        let options =
            Options { program_name: "program".into(), libraries: built.libs, ..Options::default() };
        Lab { vm: Vm::new(program, options).expect("a machine"), visible: VisibleSet::default() }
    }

    /// One run; only a search knows what to make of busy waits.
    fn run(&mut self, scheduler: &mut dyn Scheduler, awaits: bool) -> Run {
        self.execute(scheduler, Want { prune_spins: true, awaits, ..Want::only(Detail::Outcome) })
    }

    fn execute(&mut self, scheduler: &mut dyn Scheduler, want: Want) -> Run {
        let want = Want { learn: true, ..want };
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

    /// All that a loop may do in so many steps, against what the search makes of it.
    fn compare_rounds(&mut self, most: u64) {
        for bound in BOUNDS {
            let found = self.search(bound);
            let Some(all) = self.prefixes(bound, most) else { return };
            println!(
                "{SAID} compared {bound}: {} beginnings, {} classes in {} schedules, {:?} of {:?}",
                all.runs, found.reached.classes, found.reached.schedules, all.ends, found.ends
            );
            if all.ends.iter().any(|end| !end.starts_with("exited")) {
                println!("{SAID} fails");
            }
            if found.reached.is_complete() {
                println!("{SAID} complete {bound}");
            }
            report_missed(bound, &all, &found.ends, &found.reached);
        }
    }

    /// Goes on once from every beginning of a class; `None` if there are more than this.
    fn prefixes(&mut self, bound: u32, most: u64) -> Option<All> {
        let new = || Prefixes::new(bound, LONGEST);
        let (mut prefixes, mut ends, mut runs) = (new(), BTreeSet::new(), 0);
        while runs < most {
            let run = self.execute(&mut prefixes, Want::only(Detail::Outcome));
            runs += 1;
            if self.visible.merge(&run.learned) {
                (prefixes, ends, runs) = (new(), BTreeSet::new(), 0);
                continue;
            }
            ends.extend(end(&run.outcome));
            if !prefixes.turn() {
                return Some(All { ends, runs });
            }
        }
        None
    }

    /// The same by exhaustive search.
    fn search(&mut self, bound: u32) -> Found {
        'again: loop {
            let (mut search, mut ends) = (Exhaustive::within(bound, 0, 1), BTreeSet::new());
            for _ in 0..MOST_SEARCHED {
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
