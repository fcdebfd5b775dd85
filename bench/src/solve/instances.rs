//! What the solvers are asked about: failing runs of the corpus, imported traces, generated ones.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use unravel_files::TraceFile;
use unravel_files::import::symbiosis;
use unravel_solve::generate::{Generated, atomic_counter, counter, distant, hot, large, waiting};
use unravel_trace::{Bug, KnownOrder};

use super::question::Question;
use crate::generated;
use crate::scale::Scale;
use xtask::corpus;
use xtask::error::Error;
use xtask::workspace::{self, Profile};

const THREADS: usize = 4;
/// What a smoke run asks about: the smallest of every family that is always there.
const SMOKE: [&str; 7] = [
    "atomicity/account",
    "large 100 #1",
    "unordered 100 #1",
    "waiting 100",
    "counter 10, 1 lost",
    "hot 100",
    "distant 300, 200 apart",
];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub enum Family {
    Corpus,
    /// Traces of Symbiosis, if there are any beside the project.
    Imported,
    /// One atomicity violation in the middle of much work.
    Large,
    /// The same without its order.
    Unordered,
    /// Threads that wait for each other.
    Waiting,
    /// Many updates of one counter.
    Counter,
    /// Many accesses to one location.
    Hot,
    /// A violation whose ends are far apart.
    Distant,
}

pub struct Instance {
    pub family: Family,
    pub name: String,
    pub trace: PathBuf,
    pub events: usize,
    pub questions: Vec<Question>,
    /// The trace does not say the order: the one that is found first is that which other questions are about.
    pub is_unordered: bool,
}

impl Instance {
    /// Whether later questions are about the order that is found first.
    pub fn gives_order(&self) -> bool {
        self.is_unordered && self.questions.len() > 1
    }
}

/// Those families, as far as their names contain `filter`.
pub struct Selection<'a> {
    pub families: &'a [Family],
    pub filter: Option<&'a str>,
    pub scale: Scale,
    pub scratch: &'a Path,
}

impl Selection<'_> {
    pub fn instances(&self) -> Result<Vec<Instance>, Error> {
        let mut found = Vec::new();
        if self.has(Family::Corpus) {
            self.corpus(&mut found)?;
        }
        if self.has(Family::Imported) {
            self.imported(&mut found)?;
        }
        self.generated(&mut found)?;
        Ok(found)
    }

    fn has(&self, family: Family) -> bool {
        self.families.is_empty() || self.families.contains(&family)
    }

    fn wants(&self, name: &str) -> bool {
        self.filter.is_none_or(|filter| name.contains(filter))
            && (self.scale == Scale::Whole || SMOKE.contains(&name))
    }

    /// The runs that diagnoses are about: as few context switches as possible.
    fn corpus(&self, found: &mut Vec<Instance>) -> Result<(), Error> {
        let mut cases = corpus::cases(None)?;
        cases.retain(|path| self.wants(&corpus::name(path)));
        if cases.is_empty() {
            return Ok(());
        }
        let tool = workspace::build_tool(Profile::Release)?;
        for path in cases {
            let name = corpus::name(&path);
            let scratch = self.scratch.join(name.replace('/', "-"));
            std::fs::create_dir_all(&scratch)
                .map_err(|source| Error::File { path: scratch.clone(), source })?;
            let explained = corpus::measure(&tool, &path, &scratch);
            let trace = explained.and_then(|measured| {
                measured.traces.into_iter().next().ok_or("it was not found".to_owned())
            });
            match trace.and_then(|trace| read(trace, Family::Corpus, &name)) {
                Ok(instance) => found.push(instance),
                Err(problem) => println!("{name}: {problem}"),
            }
        }
        Ok(())
    }

    fn imported(&self, found: &mut Vec<Instance>) -> Result<(), Error> {
        let folder = workspace::root().join("../shared/traces/symbiosis");
        let Ok(entries) = std::fs::read_dir(&folder) else {
            println!("imported: there is no folder of traces beside the project");
            return Ok(());
        };
        let mut folders: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        folders.retain(|path| path.is_dir());
        folders.sort();
        for folder in folders {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !self.wants(&name) {
                continue;
            }
            let trace = self.scratch.join(format!("{name}.imported"));
            let imported = symbiosis::import(&folder, &symbiosis::Options::default())
                .map_err(|error| error.to_string())
                .and_then(|imported| imported.file.write(&trace).map_err(|error| error.to_string()))
                .and_then(|()| read(trace, Family::Imported, &name));
            match imported {
                Ok(instance) => found.push(instance),
                Err(problem) => println!("{name}: {problem}"),
            }
        }
        Ok(())
    }

    fn generated(&self, found: &mut Vec<Instance>) -> Result<(), Error> {
        use Question::{Alternate, Core, Failing};
        let all = &Question::ALL[..];
        let ordered = &[Alternate, Core][..];
        for (size, seeds) in [(100, 3), (300, 5), (1_000, 5)] {
            for seed in 1..=seeds {
                let name = format!("large {size} #{seed}");
                self.add(found, Family::Large, name, ordered, || large(size, THREADS, seed))?;
            }
        }
        for size in [3_000, 10_000, 30_000, 100_000] {
            let name = format!("large {size} #1");
            self.add(found, Family::Large, name, ordered, || large(size, THREADS, 1))?;
        }
        for (size, seeds) in [(100, 3), (300, 5), (1_000, 5), (3_000, 3)] {
            for seed in 1..=seeds {
                let name = format!("unordered {size} #{seed}");
                self.add(found, Family::Unordered, name, &[Failing], || {
                    // Who asks for a failing order forgets the one that the trace has.
                    large(size, THREADS, seed)
                })?;
            }
        }
        for (size, asked) in [(100, all), (300, all), (1_000, all), (3_000, all), (10_000, ordered)]
        {
            let name = format!("waiting {size}");
            self.add(found, Family::Waiting, name, asked, || waiting(size, THREADS, 1))?;
        }
        for (updates, lost) in [(10, 1), (10, 5), (40, 1), (40, 20)] {
            let name = format!("counter {updates}, {lost} lost");
            self.add(found, Family::Counter, name, all, || counter(6, updates, lost, 1))?;
        }
        for updates in [10, 40, 400] {
            let name = format!("atomic counter {updates}");
            self.add(found, Family::Counter, name, all, || atomic_counter(6, updates, 1))?;
        }
        for accesses in [100, 300, 900, 10_000] {
            let name = format!("hot {accesses}");
            self.add(found, Family::Hot, name, ordered, || hot(accesses, THREADS, 1))?;
        }
        for (events, apart) in [(300, 200), (900, 700), (6_000, 5_000)] {
            let name = format!("distant {events}, {apart} apart");
            let make = || distant(events, apart, THREADS, 1);
            self.add(found, Family::Distant, name, ordered, make)?;
        }
        Ok(())
    }

    /// One generated trace.
    fn add(
        &self,
        found: &mut Vec<Instance>,
        family: Family,
        name: String,
        questions: &[Question],
        make: impl FnOnce() -> Generated,
    ) -> Result<(), Error> {
        if !self.has(family) || !self.wants(&name) {
            return Ok(());
        }
        let trace = self.scratch.join(format!("{name}.trace"));
        let run = make();
        let events = run.trace.events.len();
        let is_unordered = run.symbolic.order == KnownOrder::Unknown;
        generated::write(run, &trace)?;
        let questions = questions.to_vec();
        found.push(Instance { family, name, trace, events, questions, is_unordered });
        Ok(())
    }
}

/// An instance of a trace that is there.
fn read(trace: PathBuf, family: Family, name: &str) -> Result<Instance, String> {
    let file = TraceFile::read(&trace).map_err(|error| error.to_string())?;
    let symbolic = file.run.symbolic.ok_or("it was not diagnosed, so there is no model of it")?;
    let is_unordered = symbolic.order == KnownOrder::Unknown;
    let mut questions = Question::ALL.to_vec();
    if symbolic.bug == Bug::Opaque {
        // Nothing but its order says that it failed.
        questions.retain(|question| *question != Question::Failing);
    }
    // The order that others are about has to be found first.
    questions.sort_by_key(|question| is_unordered && *question != Question::Failing);
    let events = file.run.trace.events.len();
    Ok(Instance { family, name: name.to_owned(), trace, events, questions, is_unordered })
}
