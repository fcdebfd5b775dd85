//! The steps: a program with its elements, on which profiles, recordings and replays are made.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use unravel_code::Program;
use unravel_coop::{
    Alike, Attempts, Candidates, Collection, Draw, Elements, Ending, Escape, FailureSite, Fleet,
    Followed, Log, LogId, Mode, Oracle, Profile, Surveyed, Tried, escape, follow, simulate, survey,
};
use unravel_execute::{Laboratory, Silence};
use unravel_files::TraceFile;
use unravel_fleet::Store;
use unravel_trace::{Executor, Run, VisibleSet};

use super::guided;

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{AttemptFlags, MergeHow, ProgramFlags, ShareFlags};
use crate::interrupt::INTERRUPTED;
use crate::program::{self, Loaded};
use crate::story;

/// A program that is ready to run, and its code to look at.
pub struct Bench {
    pub(super) loaded: Loaded,
    pub(super) program: Program,
}

/// A profile, and what it was made from.
pub struct Made {
    pub profile: Profile,
    pub surveyed: Surveyed,
    pub escape: Escape,
    pub name: String,
}

/// What instances did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recorded {
    pub logs: u64,
    pub failed: u64,
    pub accesses: u64,
    pub silent: u64,
    /// Vectors of native runs of which accesses are missing, and which are left out for it.
    pub lost: u64,
    /// If logs were to be verified: those that the machine follows to the same end, and what the others came to.
    pub same: u64,
    pub differ: Vec<(LogId, Followed)>,
}

/// What came of replaying.
pub struct Outcome {
    /// Failing logs, all logs that were looked at, and how many different failures there are.
    pub failing: usize,
    pub logs: usize,
    pub failures: usize,
    pub failure: Option<FailureSite>,
    pub tried: Tried,
    /// Which attempt failed, which execution of it, from which logs; how many elements no log had; and whether by brute force.
    pub found: Option<(u32, u32, Vec<LogId>, usize, bool)>,
    /// What a log leaves open was to be filled in, along the paths of its run.
    pub filled: bool,
    /// How it failed, or why the last attempt along paths came to nothing.
    pub said: String,
    pub trace: Option<PathBuf>,
    pub seconds: f64,
}

impl Outcome {
    /// Nothing was tried yet.
    pub(super) fn begun(logs: &Collection, chosen: Option<&Alike>, failures: usize) -> Outcome {
        Outcome {
            failing: chosen.map_or(0, |alike| alike.logs.len()),
            logs: logs.len(),
            failures,
            failure: chosen.map(|alike| alike.site),
            tried: Tried::default(),
            found: None,
            filled: false,
            said: String::new(),
            trace: None,
            seconds: 0.0,
        }
    }
}

impl Bench {
    pub fn load(flags: &ProgramFlags) -> Result<Bench, CliError> {
        let loaded = super::load(flags)?;
        let program = program::lower(&loaded.built, &loaded.reference.name, &loaded.input)?;
        Ok(Bench { loaded, program })
    }

    pub fn profile(&mut self, share: &ShareFlags) -> Result<Made, CliError> {
        let mode = if share.blocks { Mode::Blocks } else { Mode::Orders };
        let draw = if share.informed { Draw::Informed } else { Draw::Uniform };
        let silence = Silence::begin().map_err(CliError::Stdin)?;
        let mut lab =
            Laboratory::new(&mut self.loaded.vm, self.loaded.input.clone(), VisibleSet::default())
                .until(None, Some(&INTERRUPTED));
        let surveyed = survey(&mut lab, &self.program, mode, &Default::default());
        if let Some(problem) = lab.problem() {
            return Err(problem.clone().into());
        }
        drop(silence);
        let what = (share.coverage, draw);
        let fingerprint = self.program.fingerprint;
        let profile = Profile::new(fingerprint, mode, &surveyed, what, share.instances, share.seed);
        let name = self.loaded.reference.name.clone();
        Ok(Made { profile, surveyed, escape: escape(&self.program), name })
    }

    /// Refuses the profile of another program.
    pub fn check(&self, profile: &Profile, path: &Path) -> Result<(), CliError> {
        match profile.program == self.program.fingerprint {
            true => Ok(()),
            false => Err(CliError::OtherProfile { path: path.to_owned() }),
        }
    }

    pub(super) fn elements(&self, profile: &Profile) -> Elements {
        Elements::new(profile.mode, &self.program, profile.elements.clone(), &profile.sites)
    }

    /// Follows a log in the machine, if that is wanted.
    pub(super) fn verify(&mut self, profile: &Profile, log: &Log) -> Result<Followed, CliError> {
        let mut elements = self.elements(profile);
        let _silence = Silence::begin().map_err(CliError::Stdin)?;
        let mut lab =
            Laboratory::new(&mut self.loaded.vm, self.loaded.input.clone(), profile.visible())
                .until(None, Some(&INTERRUPTED));
        let followed = follow(&mut lab, &mut elements, log);
        match lab.problem() {
            Some(problem) => Err(problem.clone().into()),
            None => Ok(followed),
        }
    }

    pub fn record(
        &mut self,
        profile: &Profile,
        fleet: &Fleet,
        (verified, paths): (bool, Option<&Path>),
        out: &Path,
    ) -> Result<Recorded, CliError> {
        if let Some(folder) = paths {
            guided::prepare(folder)?;
        }
        let mut logs = Vec::new();
        let mut elements = self.elements(profile);
        let mut recorded = Recorded::default();
        let mut problem: Option<CliError> = None;
        let silence = Silence::begin().map_err(CliError::Stdin)?;
        let mut lab =
            Laboratory::new(&mut self.loaded.vm, self.loaded.input.clone(), profile.visible())
                .until(None, Some(&INTERRUPTED));
        recorded.silent = simulate(&mut lab, &mut elements, profile, fleet, |lab, run, log| {
            recorded.logs += 1;
            recorded.failed += u64::from(log.ending != Ending::Passed);
            recorded.accesses += log.accesses() as u64;
            problem = Store::write(out, &log).err().map(CliError::from);
            if let Some(folder) = paths.filter(|_| problem.is_none()) {
                problem = guided::keep(lab, run, log.id, folder).err();
            }
            if verified {
                logs.push(log);
            }
            problem.is_none()
        });
        drop(silence);
        if let Some(problem) = lab.problem() {
            return Err(problem.clone().into());
        }
        for log in &logs {
            match self.verify(profile, log)? {
                Followed::Same => recorded.same += 1,
                other => recorded.differ.push((log.id, other)),
            }
        }
        problem.map_or(Ok(recorded), Err)
    }

    pub fn replay(
        &mut self,
        profile: &Profile,
        collection: &Collection,
        how: &MergeHow,
        (attempts, seed): (&AttemptFlags, u64),
        out: &Path,
    ) -> Result<(Outcome, Exit), CliError> {
        let started = Instant::now();
        let failures = collection.alike();
        let chosen = failures.get(how.failure.max(1) - 1);
        let mut outcome = Outcome::begun(collection, chosen, failures.len());
        let Some(alike) = chosen else { return Ok((outcome, Exit::Clean)) };
        let group = collection.group_of(alike);
        let candidates = Candidates::new(&group, how.heuristic, how.metric);
        let mut elements = self.elements(profile);
        let silence = Silence::begin().map_err(CliError::Stdin)?;
        let mut lab =
            Laboratory::new(&mut self.loaded.vm, self.loaded.input.clone(), profile.visible())
                .until(None, Some(&INTERRUPTED));
        let attempts = Attempts { most: attempts.attempts, fills: attempts.fill, seed };
        let mut oracle = Oracle { lab: &mut lab, elements: &mut elements, attempts };
        let go_on = |_: &Tried| !INTERRUPTED.load(Ordering::Relaxed);
        let (replayed, tried) = oracle.replay(&group, candidates, go_on);
        let problem = lab.problem().cloned();
        drop(silence);
        if let Some(problem) = problem {
            return Err(problem.into());
        }
        outcome.tried = tried;
        outcome.seconds = started.elapsed().as_secs_f64();
        let Some(found) = replayed else { return Ok((outcome, Exit::Inconclusive)) };
        outcome.found =
            Some((found.attempt, found.fill, found.sources, found.missing, found.brute));
        self.written(&mut outcome, found.run, seed, out)?;
        Ok((outcome, Exit::Finding))
    }

    /// Writes a failing run as an ordinary trace.
    pub(super) fn written(
        &self,
        outcome: &mut Outcome,
        run: Run,
        seed: u64,
        out: &Path,
    ) -> Result<(), CliError> {
        if let Some(failure) = run.outcome.failure() {
            outcome.said = story::failure(failure, &run);
        }
        crate::output::prepare(out)?;
        let path = out.join(format!("{}-coop.trace", self.loaded.reference.name));
        let rules = match run.outcome.failure() {
            Some(failure) => self.loaded.rules.with(failure.kind),
            None => self.loaded.rules.clone(),
        };
        let file = TraceFile {
            program: self.loaded.reference.clone(),
            input: run.input(&self.loaded.input),
            rules,
            strategy: "coop".to_owned(),
            seed: Some(seed),
            engine: self.loaded.vm.name().to_owned(),
            run,
        };
        file.write(&path)?;
        outcome.trace = Some(path);
        Ok(())
    }
}

pub fn read_profile(path: &Path) -> Result<Profile, CliError> {
    let text = program::read_file(path)?;
    Ok(Profile::from_json(&String::from_utf8_lossy(&text))?)
}
