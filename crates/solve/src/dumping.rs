//! A solver that also writes every query down, as SMT-LIB.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::{Answer, Found, Goal, Nearest, Query, Solver, Z3};

/// Any solver, with a file for each query: `01-find.smt2`, `02-nearest.smt2`, … The files are what Z3 is asked,
/// whoever answers.
pub struct Dumping {
    solver: Box<dyn Solver>,
    directory: PathBuf,
    written: u32,
    problem: Option<io::Error>,
}

impl fmt::Debug for Dumping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (solver, directory, written) = (self.solver.name(), &self.directory, self.written);
        write!(f, "Dumping {{ {solver}, {written} queries in {} }}", directory.display())
    }
}

impl Dumping {
    pub fn new(solver: Box<dyn Solver>, directory: &Path) -> io::Result<Dumping> {
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
        if let Err(error) = std::fs::write(path, Z3::new().dump(query, goal)) {
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

    /// One file: the query that is minimised, not the many that it takes.
    fn minimal_core(&mut self, query: &Query<'_>) -> Answer<Vec<usize>> {
        self.write("core", query, None);
        self.solver.minimal_core(query)
    }

    fn proves_up_to(&self) -> usize {
        self.solver.proves_up_to()
    }

    fn conflicts(&self) -> Option<u64> {
        self.solver.conflicts()
    }
}
