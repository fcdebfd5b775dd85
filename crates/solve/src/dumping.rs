//! A solver that also writes every query down, as SMT-LIB.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Answer, Found, Goal, Nearest, Query, Solver, Z3};

/// Z3, with a file for each query: `01-find.smt2`, `02-nearest.smt2`, …
#[derive(Debug)]
pub struct Dumping {
    solver: Z3,
    directory: PathBuf,
    written: u32,
    problem: Option<io::Error>,
}

impl Dumping {
    pub fn new(solver: Z3, directory: &Path) -> io::Result<Dumping> {
        std::fs::create_dir_all(directory)?;
        let directory = std::path::absolute(directory)?;
        Ok(Dumping { solver, directory, written: 0, problem: None })
    }

    /// How many queries were written, or the first thing that went wrong.
    pub fn finish(self) -> io::Result<u32> {
        self.problem.map_or(Ok(self.written), Err)
    }

    fn write(&mut self, name: &str, query: &Query<'_>, goal: Option<Goal>) {
        self.written += 1;
        let path = self.directory.join(format!("{:02}-{name}.smt2", self.written));
        if let Err(error) = std::fs::write(path, self.solver.dump(query, goal)) {
            self.problem.get_or_insert(error);
        }
    }
}

impl Solver for Dumping {
    fn name(&self) -> String {
        self.solver.name()
    }

    fn find(&mut self, query: &Query<'_>) -> Answer<Found> {
        self.write("find", query, None);
        self.solver.find(query)
    }

    fn core(&mut self, query: &Query<'_>) -> Answer<Vec<usize>> {
        self.write("core", query, None);
        self.solver.core(query)
    }

    fn nearest(&mut self, query: &Query<'_>, goal: Goal) -> Answer<Nearest> {
        self.write("nearest", query, Some(goal));
        self.solver.nearest(query, goal)
    }
}
