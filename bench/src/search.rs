//! `cargo xtask bench search`: how many executions each strategy needs to the first failure of every corpus bug, and what
//! random search with simplification costs against context bounding (Tinertia's table 3).
//!
//! Executions are the number of the first failing schedule, with one worker; of a strategy that draws, the median over
//! seeds, where a seed that finds nothing within the limit counts as the limit. They do not depend on the machine, so
//! cases run beside each other; the speed is that of one portfolio search alone.

pub mod paper;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::measure::median;
use xtask::corpus::{self, Searched};
use xtask::error::Error;
use xtask::workspace::{self, Profile};

/// The first is the one that is compared with the others; the last three do not draw.
const STRATEGIES: [&str; 13] = [
    "portfolio",
    "random",
    "pct",
    "pos",
    "uniform",
    "race-directed",
    "atomicity-directed",
    "deadlock-directed",
    "segments",
    "rounds",
    "bounded",
    "exhaustive",
    "round-robin",
];
const DRAWING: usize = 10;
/// The sampling and systematic searches that a portfolio mixes.
const MIXED: f64 = (STRATEGIES.len() - 1) as f64;
/// Executions after which a search is given up, as in the paper.
const LIMIT: u64 = 10_000;
/// Seeds whose failing traces are simplified for the comparison with context bounding.
const SIMPLIFIED: u64 = 5;

pub fn run(filter: Option<&str>, seeds: u64) -> Result<(), Error> {
    let tool = workspace::build_tool(Profile::Release)?;
    let cases = corpus::cases(filter)?;
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    heading(seeds);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = Row::measure(&tool, case, seeds);
                    row.print();
                    rows.lock().unwrap_or_else(|e| e.into_inner()).push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap_or_else(|e| e.into_inner());
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    against_bounding(&rows);
    summary(&rows);
    Ok(())
}

/// What the strategies need for one bug.
struct Row {
    name: String,
    /// By strategy: the median, and how many of the seeds found it.
    needed: Vec<(f64, u64)>,
    seeds: u64,
    /// Schedules a second.
    speed: f64,
    /// Executions of race-directed search and simplification together.
    simplified: Option<f64>,
    problem: Option<String>,
}

impl Row {
    fn measure(tool: &Path, case: &Path, seeds: u64) -> Row {
        let mut row = Row {
            name: corpus::name(case),
            needed: Vec::new(),
            seeds,
            speed: 0.0,
            simplified: None,
            problem: None,
        };
        if let Err(problem) = row.fill(tool, case) {
            row.problem = Some(problem);
        }
        row
    }

    fn fill(&mut self, tool: &Path, case: &Path) -> Result<(), String> {
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        for (number, strategy) in STRATEGIES.iter().enumerate() {
            let seeds = if number < DRAWING { self.seeds } else { 1 };
            let mut needed = Vec::new();
            for seed in 1..=seeds {
                let found = find(tool, case, scratch.path(), strategy, seed)?;
                if number == 0 && seed == 1 {
                    self.speed = found.schedules as f64 / found.seconds.max(0.001);
                }
                needed.push(found.schedule);
            }
            let found = needed.iter().flatten().count() as u64;
            let needed = median(needed.iter().map(|n| n.unwrap_or(LIMIT) as f64));
            self.needed.push((needed, found));
        }
        let mut both = Vec::new();
        for seed in 1..=SIMPLIFIED.min(self.seeds) {
            let found = find(tool, case, scratch.path(), "race-directed", seed)?;
            if let (Some(schedule), Some(trace)) = (found.schedule, &found.trace) {
                let executed = corpus::simplify(tool, case, scratch.path(), trace)?;
                both.push((schedule + executed) as f64);
            }
        }
        self.simplified = (!both.is_empty()).then(|| median(both));
        Ok(())
    }

    fn portfolio(&self) -> f64 {
        self.needed[0].0
    }

    /// The fewest executions of a single strategy, and which it is.
    fn best(&self) -> (f64, &'static str) {
        let single = self.needed.iter().zip(STRATEGIES).skip(1);
        single
            .map(|((needed, _), name)| (*needed, name))
            .fold((f64::MAX, ""), |a, b| if b.0 < a.0 { b } else { a })
    }

    fn of(&self, strategy: &str) -> (f64, u64) {
        let at = STRATEGIES.iter().position(|name| *name == strategy);
        at.map_or((LIMIT as f64, 0), |at| self.needed[at])
    }

    fn print(&self) {
        if let Some(problem) = &self.problem {
            println!("{}: {problem}", self.name);
            return;
        }
        let mut line = format!("{:28}", self.name);
        for (number, (needed, found)) in self.needed.iter().enumerate() {
            let seeds = if number < DRAWING { self.seeds } else { 1 };
            let text = match *found {
                0 => "-".to_owned(),
                all if all == seeds => format!("{needed:.0}"),
                some => format!("{needed:.0} ({some})"),
            };
            line += &format!(" {text:>13}");
        }
        let (best, _) = self.best();
        println!("{line} {:>7.1} {:>9.0}", self.portfolio() / best, self.speed);
    }
}

/// One search, up to the limit.
fn find(
    tool: &Path,
    case: &Path,
    scratch: &Path,
    strategy: &str,
    seed: u64,
) -> Result<Searched, String> {
    let (seed, limit) = (seed.to_string(), LIMIT.to_string());
    let flags = [
        "--strategy",
        strategy,
        "--seed",
        &seed,
        "--schedules",
        &limit,
        "--time",
        "20s",
        "--quiet",
    ];
    corpus::search(tool, case, scratch, &flags)
}

fn heading(seeds: u64) {
    println!(
        "executions to the first failure, median of {seeds} seeds, at most {LIMIT}; in brackets how many seeds found it"
    );
    let mut line = format!("{:28}", "program");
    for strategy in STRATEGIES {
        line += &format!(" {strategy:>13}");
    }
    println!("{line} {:>7} {:>9}", "× best", "runs/s");
}

/// Tinertia's table 3, for the programs it has and for the others.
fn against_bounding(rows: &[Row]) {
    println!(
        "\nrace-directed search and simplification against context bounding, executions (Tinertia's table 3)"
    );
    println!(
        "{:28} {:>10} {:>10} {:>16} {:>16}",
        "program", "simplified", "bounded", "paper: Thrille", "paper: CHESS"
    );
    let (mut fewer, mut compared) = (0, 0);
    for row in rows.iter().filter(|row| row.problem.is_none()) {
        let program = row.name.rsplit('/').next().unwrap_or_default();
        let (bounded, found) = row.of("bounded");
        let told = |found: bool, n: f64| if found { format!("{n:.0}") } else { "-".to_owned() };
        let (thrille, chess) =
            paper::table_3(program).map_or((String::new(), String::new()), |p| {
                let chess = p.chess.map_or("10000, none".to_owned(), |n| n.to_string());
                (p.thrille.to_string(), chess)
            });
        let simplified = row.simplified;
        println!(
            "{:28} {:>10} {:>10} {thrille:>16} {chess:>16}",
            row.name,
            told(simplified.is_some(), simplified.unwrap_or_default()),
            told(found > 0, bounded)
        );
        if let Some(simplified) = simplified {
            compared += 1;
            fewer += u32::from(found == 0 || simplified < bounded);
        }
    }
    println!("search and simplification need fewer executions in {fewer} of {compared}");
}

fn summary(rows: &[Row]) {
    let good: Vec<&Row> = rows.iter().filter(|row| row.problem.is_none()).collect();
    let found = good.iter().filter(|row| row.needed[0].1 * 2 > row.seeds).count();
    let ratios = good.iter().map(|row| row.portfolio() / row.best().0);
    let mean = (ratios.clone().map(f64::ln).sum::<f64>() / good.len().max(1) as f64).exp();
    let within = ratios.filter(|ratio| *ratio <= MIXED).count();
    let worst = good
        .iter()
        .max_by(|a, b| (a.portfolio() / a.best().0).total_cmp(&(b.portfolio() / b.best().0)));
    let worst = worst.map_or(String::new(), |row| {
        let (best, name) = row.best();
        format!(", worst {} {:.1}× ({name})", row.name, row.portfolio() / best)
    });
    println!(
        "search: portfolio finds {found} of {}, geometric mean {mean:.2}× the best strategy, {within} within {MIXED}×{worst}",
        rows.len()
    );
}
