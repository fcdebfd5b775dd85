//! Where rows are measured: the tool, a folder for its files, and the failing runs that several tables look at.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use xtask::corpus::{self, Failing};
use xtask::error::Error;
use xtask::workspace::{self, Profile};

/// Commands that run beside each other.
const BESIDE: usize = 2;

/// A program of a table, and what makes it as long as the paper's.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// `kind/name` in the corpus.
    pub case: &'static str,
    /// None if it is as the corpus has it.
    pub args: &'static [&'static str],
    /// Of the paper's failing run.
    pub events: u64,
}

type Runs = HashMap<(&'static str, &'static [&'static str], u64, &'static str), Failing>;

pub struct Lab {
    pub tool: PathBuf,
    pub scratch: tempfile::TempDir,
    /// One row of each table: to see whether it runs.
    pub quick: bool,
    runs: Mutex<Runs>,
}

impl Lab {
    pub fn new(quick: bool) -> Result<Lab, Error> {
        let tool = workspace::build_tool(Profile::Release)?;
        let scratch = tempfile::tempdir()
            .map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
        Ok(Lab { tool, scratch, quick, runs: Mutex::default() })
    }

    pub fn folder(&self, case: &str) -> PathBuf {
        workspace::root().join("corpus").join(case)
    }

    /// Measures every row, some of them beside each other; the results are in the order of the rows.
    pub fn rows<'p, P: Sync, R: Send>(
        &self,
        papers: &'p [P],
        measure: impl Fn(&'p P) -> R + Sync,
    ) -> Vec<R> {
        let papers = &papers[..if self.quick { papers.len().min(1) } else { papers.len() }];
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..BESIDE {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(paper) = papers.get(at) else { return };
                        let row = measure(paper);
                        done.lock().unwrap_or_else(|e| e.into_inner()).push((at, row));
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, row)| row).collect()
    }

    /// The failing run of the program as the corpus has it.
    pub fn small(&self, case: &'static str) -> Result<Failing, String> {
        self.run(Subject { case, args: &[], events: 0 }, "")
    }

    /// A failing run about as long as the paper's, by this strategy.
    pub fn sized(&self, subject: Subject, strategy: &'static str) -> Result<Failing, String> {
        self.run(subject, strategy)
    }

    fn run(&self, subject: Subject, strategy: &'static str) -> Result<Failing, String> {
        let Subject { case, args, events } = subject;
        let key = (case, args, events, strategy);
        if let Some(known) = self.runs.lock().unwrap_or_else(|e| e.into_inner()).get(&key) {
            return Ok(known.clone());
        }
        let near = (!strategy.is_empty()).then_some((strategy, events));
        let scratch = self.scratch.path().join(format!("runs-{events}"));
        std::fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
        let failing = corpus::failing(&self.tool, &self.folder(case), &scratch, args, near)?;
        self.runs.lock().unwrap_or_else(|e| e.into_inner()).insert(key, failing.clone());
        Ok(failing)
    }
}
