//! `cargo xtask bench causes --repairs`: which bugs of the corpus get a repair, and whether it holds.
//!
//! Every case is repaired by the tool as users have it. Each repair that it shows is applied to a copy with code of our own,
//! compiled and searched with 2,000 schedules of another seed; nothing may be found. What is not repaired is listed with the
//! reason that its `expect.toml` gives (`repair = "no: …"`). All other programs than the paper's 34 count as *others*, whatever
//! their kind of bug: that asks more than the deadlocks, atomicity and order violations and lost updates among them.

use std::path::Path;
use std::time::Instant;

use super::paper;
use xtask::corpus::{self, Repairs};
use xtask::error::Error;
use xtask::workspace::{self, Profile};

/// How many of the paper's programs must be repaired, and which part of the others.
const OF_PAPER: usize = 30;
const OF_OTHERS: f64 = 0.9;

/// False if a repair does not hold, if too few are repaired, or if one is not and nobody said why.
pub fn run(filter: Option<&str>) -> Result<bool, Error> {
    let tool = workspace::build_tool(Profile::Release)?;
    let (mut paper, mut others) = (Share::default(), Share::default());
    let (mut broken, mut unrepaired) = (Vec::new(), Vec::new());
    println!(
        "{:<30} {:<20} {:>7} {:>8} {:>8} {:>7}  the best, and all kinds",
        "case", "pattern", "repairs", "seconds", "holds", "lines"
    );
    for folder in corpus::cases(filter)? {
        let name = corpus::name(&folder);
        let tried = match Tried::new(&tool, &folder) {
            Ok(tried) => tried,
            Err(problem) => {
                println!("{name}: {problem}");
                Tried::default()
            }
        };
        println!("{name:<30} {tried}");
        let share = if paper::has(&name) { &mut paper } else { &mut others };
        share.all += 1;
        share.repaired += usize::from(tried.is_repaired());
        broken.extend(tried.broken.iter().map(|problem| format!("{name}: {problem}")));
        if !tried.is_repaired() {
            unrepaired.push((name, corpus::unrepaired(&folder).ok().flatten(), tried.rejected));
        }
    }
    let reasons = unrepaired.iter().all(|(_, reason, _)| reason.is_some());
    print_unrepaired(&unrepaired);
    for problem in &broken {
        println!("DOES NOT HOLD {problem}");
    }
    println!(
        "repairs: {} of the paper's {}, {} of {} others ({:.0} %); {} shown repairs failed 2,000 schedules",
        paper.repaired,
        paper.all,
        others.repaired,
        others.all,
        others.part() * 100.0,
        broken.len()
    );
    let enough = filter.is_some() || paper.repaired >= OF_PAPER && others.part() >= OF_OTHERS;
    Ok(broken.is_empty() && reasons && enough)
}

fn print_unrepaired(unrepaired: &[(String, Option<String>, Option<String>)]) {
    if unrepaired.is_empty() {
        return;
    }
    println!("\nwithout a repair");
    for (name, reason, rejected) in unrepaired {
        match (reason, rejected) {
            (Some(reason), _) => println!("{name:<30} {reason}"),
            (None, Some(rejected)) => {
                println!("{name:<30} NO REASON IS KNOWN; rejected: {rejected}")
            }
            (None, None) => println!("{name:<30} NO REASON IS KNOWN; nothing was tried"),
        }
    }
    println!();
}

#[derive(Default)]
struct Share {
    repaired: usize,
    all: usize,
}

impl Share {
    fn part(&self) -> f64 {
        if self.all == 0 { 1.0 } else { self.repaired as f64 / self.all as f64 }
    }
}

/// What became of a case.
#[derive(Default)]
struct Tried {
    /// Of its first cause.
    pattern: String,
    repairs: usize,
    seconds: f64,
    /// Repairs that do not hold, with the reason.
    broken: Vec<String>,
    /// Title of the best, and lines that it adds and removes.
    best: Option<(String, u32, u32)>,
    /// In the order of the repairs, each once.
    kinds: Vec<String>,
    /// The first candidate that was none, and why.
    rejected: Option<String>,
}

impl Tried {
    fn new(tool: &Path, folder: &Path) -> Result<Tried, String> {
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        let started = Instant::now();
        let Repairs { causes, repairs, rejected } = corpus::repairs(tool, folder, scratch.path())?;
        let seconds = started.elapsed().as_secs_f64();
        let held = corpus::stand(tool, folder, scratch.path(), &repairs)?;
        let broken = held.iter().zip(&repairs).filter_map(|(held, repair)| {
            let problem = held.as_ref().err()?;
            Some(format!("'{}': {problem}", repair.title))
        });
        let mut kinds = Vec::new();
        for repair in &repairs {
            if !kinds.contains(&repair.kind) {
                kinds.push(repair.kind.clone());
            }
        }
        Ok(Tried {
            pattern: causes.classes.first().map_or(causes.verdict, |class| class.pattern.clone()),
            repairs: repairs.len(),
            seconds,
            broken: broken.collect(),
            best: repairs
                .first()
                .map(|best| (best.title.clone(), best.cost.lines_added, best.cost.lines_removed)),
            kinds,
            rejected: rejected.first().map(|one| format!("{}: {}", one.title, one.reason)),
        })
    }

    fn is_repaired(&self) -> bool {
        self.repairs > 0 && self.broken.is_empty()
    }
}

impl std::fmt::Display for Tried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let holds = match (self.repairs, self.broken.len()) {
            (0, _) => "–".to_owned(),
            (_, 0) => "yes".to_owned(),
            (all, some) => format!("{some}/{all} NOT"),
        };
        write!(f, "{:<20} {:>7} {:>8.1} {holds:>8}", self.pattern, self.repairs, self.seconds)?;
        if let Some((title, added, removed)) = &self.best {
            write!(
                f,
                " {:>7}  {title} [{}]",
                format!("+{added} -{removed}"),
                self.kinds.join(", ")
            )?;
        }
        Ok(())
    }
}
