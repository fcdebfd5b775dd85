//! Trace files of runs that no program made.

use std::path::Path;
use std::sync::Arc;

use unravel_files::{ProgramRef, TraceFile};
use unravel_solve::generate::Generated;
use unravel_trace::{Failure, FailureKind, Input, Outcome, Place, Rules, Run, Site, ThreadName};

use xtask::error::Error;

/// Writes a generated run as a trace that can be diagnosed, but not executed.
pub fn write(generated: Generated, path: &Path) -> Result<(), Error> {
    let Generated { mut trace, symbolic } = generated;
    // Every event has a site of its own; the reader wants all of them described.
    let (function, file): (Arc<str>, Arc<str>) = ("work".into(), "generated.c".into());
    let sites = (trace.events.iter().zip(1..)).map(|(event, line)| {
        let (function, file) = (function.clone(), file.clone());
        let place = Place { function, file, line, column: 1, wrapper: false };
        (event.site, Site { place, inlined_at: Vec::new(), key: None })
    });
    trace.sites = sites.collect();
    trace.sites.sort_by_key(|(site, _)| *site);
    let failure = Failure {
        kind: FailureKind::Assertion,
        message: "an update was lost".into(),
        thread: ThreadName::main(),
        stack: Vec::new(),
        related: Vec::new(),
    };
    let file = TraceFile {
        program: ProgramRef { name: "generated".into(), ..ProgramRef::default() },
        input: Input::default(),
        rules: Rules::default(),
        strategy: "generated".into(),
        seed: None,
        engine: String::new(),
        run: Run {
            trace,
            outcome: Outcome::Failed(Box::new(failure)),
            symbolic: Some(Box::new(symbolic)),
            ..Run::default()
        },
    };
    file.write(path)
        .map_err(|error| Error::Trace { path: path.to_owned(), problem: error.to_string() })
}
