//! Paths beside logs: `record --paths` keeps them, and `replay --paths` has the solver fill in the orders that a log lacks, instead of another log.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use unravel_coop::{Collection, Ending, FailureSite, Log, LogId, Profile, Tried, known_orders};
use unravel_diagnose::{DiagnoseError, Options, failing_along};
use unravel_execute::{Laboratory, Silence};
use unravel_solve::SolverChoice;
use unravel_trace::{Detail, Paths, Run, Trace};

use super::steps::{Bench, Outcome};
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::MergeHow;
use crate::interrupt::INTERRUPTED;
use crate::program;

fn path_of(folder: &Path, id: LogId) -> PathBuf {
    folder.join(format!("{id}.paths"))
}

/// Keeps the paths of a failing run; a passing one is never put together anew.
pub fn keep(lab: &mut Laboratory<'_>, run: &Run, id: LogId, folder: &Path) -> Result<(), CliError> {
    let again = lab.replay(&run.schedule, Detail::Symbolic);
    let Some(paths) = Paths::of(&again) else { return Ok(()) };
    let text = serde_json::to_string(&paths).expect("paths are plain data");
    let path = path_of(folder, id);
    let write = |source| CliError::Write { path: path.clone(), source };
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(write)
}

/// The folder of paths, which is nobody else's business.
pub fn prepare(folder: &Path) -> Result<(), CliError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| CliError::Write { path: folder.to_owned(), source })
}

/// The paths of a log's run, if they were kept. What does not fail as the log did is another run's.
fn paths_of(folder: &Path, id: LogId, failure: FailureSite) -> Result<Option<Paths>, CliError> {
    let path = path_of(folder, id);
    if !path.is_file() {
        return Ok(None);
    }
    let text = program::read_file(&path)?;
    let paths: Option<Paths> = serde_json::from_slice(&text).ok();
    Ok(paths.filter(|paths| FailureSite::from(&paths.failure.id()) == failure))
}

impl Bench {
    /// Each attempt is one log with its own paths, the most relevant first: its orders are kept, the solver fills in the rest.
    pub fn replay_guided(
        &mut self,
        profile: &Profile,
        collection: &Collection,
        how: &MergeHow,
        (most, seed): (u32, u64),
        (folder, out): (&Path, &Path),
    ) -> Result<(Outcome, Exit), CliError> {
        let started = Instant::now();
        let failures = collection.alike();
        let chosen = failures.get(how.failure.max(1) - 1);
        let mut outcome = Outcome::begun(collection, chosen, failures.len());
        let Some(alike) = chosen else { return Ok((outcome, Exit::Clean)) };
        outcome.filled = true;
        let group = collection.group_of(alike);
        let mut tried = Tried::default();
        let mut found: Option<(Run, LogId, usize)> = None;
        for ranked in group.ranked(how.heuristic, how.metric) {
            let id = collection.id(ranked.log);
            let Some(paths) = paths_of(folder, id, alike.site)? else { continue };
            if tried.attempts >= most || INTERRUPTED.load(Ordering::Relaxed) {
                break;
            }
            tried.attempts += 1;
            let vectors = collection.vectors(ranked.log);
            let missing = profile.elements.len() - vectors.len();
            let ending = Ending::Failed(alike.site);
            let log = Log { id, build: profile.build(), ending, vectors };
            match self.filled(profile, &log, &paths, &mut tried)? {
                Ok(run) => {
                    found = Some((run, id, missing));
                    break;
                }
                Err(why) => outcome.said = why,
            }
        }
        outcome.tried = tried;
        outcome.seconds = started.elapsed().as_secs_f64();
        let Some((run, id, missing)) = found else { return Ok((outcome, Exit::Inconclusive)) };
        outcome.found = Some((tried.attempts, 0, vec![id], missing, false));
        self.written(&mut outcome, run, seed, out)?;
        Ok((outcome, Exit::Finding))
    }

    /// A run that fails as the log says, keeps its orders and its paths; executed twice. Or why there is none.
    fn filled(
        &mut self,
        profile: &Profile,
        log: &Log,
        paths: &Paths,
        tried: &mut Tried,
    ) -> Result<Result<Run, String>, CliError> {
        let mut elements = self.elements(profile);
        let visible = profile.visible();
        let _silence = Silence::begin().map_err(CliError::Stdin)?;
        let mut lab =
            Laboratory::new(&mut self.loaded.vm, self.loaded.input.clone(), visible.clone())
                .until(None, Some(&INTERRUPTED));
        let mut known = |trace: &Trace| known_orders(&mut elements, log, trace, &visible);
        let mut solver = SolverChoice::Orders.make();
        let options = Options::default();
        let run = match failing_along(&mut lab, paths, &mut known, &mut *solver, &options) {
            Ok(run) => run,
            Err(DiagnoseError::NoFailingSchedule(why)) => {
                tried.inconclusive += 1;
                return Ok(Err(why));
            }
            Err(error) => return Err(error.into()),
        };
        tried.executions += 2;
        let again = lab.replay(&run.schedule, Detail::Events);
        let fails = again.outcome.failure().map(|failure| FailureSite::from(&failure.id()));
        match Some(log.ending) == fails.map(Ending::Failed) {
            true => Ok(Ok(again)),
            false => {
                tried.other_failures += 1;
                Ok(Err(format!("it ends otherwise ({})", again.outcome)))
            }
        }
    }
}
