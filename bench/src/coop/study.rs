//! One program of the study: its elements, complete logs of runs that failed and passed, and what partial logs drawn from them replay.

use std::path::Path;
use std::time::{Duration, Instant};

use unravel_coop::{
    Attempts, Candidates, Collection, Coverage, ElementId, Elements, FailureSite, Heuristic, LogId,
    Metric, Mode, Oracle, Sharing, Surveyed, Tried, Who, draw, record, survey,
};
use unravel_execute::{Laboratory, Silence};
use unravel_program::build::{BuildSpec, Builder};
use unravel_strategies::{Production, Random};
use unravel_trace::{Input, Rng, Scheduler, VisibleSet};
use unravel_vm::{Options, Vm};
use xtask::corpus::Case;

/// A program that can be executed.
pub struct Subject {
    vm: Vm,
    input: Input,
    program: unravel_code::Program,
}

impl Subject {
    /// The buggy program of a case, which gets these arguments instead of its own if there are any.
    pub fn load(folder: &Path, args: &[&str]) -> Result<Subject, String> {
        let case = Case::read(folder)?;
        let sources: Vec<_> =
            case.expect.sources.iter().map(|source| folder.join(source)).collect();
        let flags: Vec<String> =
            case.expect.libs.iter().map(|library| format!("-l{library}")).collect();
        let built = Builder::from_env()
            .open(&BuildSpec::new(sources).with_flags(flags))
            .map_err(|error| error.to_string())?;
        let lower = || unravel_program::load(&built.bitcode).map_err(|error| error.to_string());
        let args = match args {
            [] => case.expect.args.clone(),
            args => args.iter().map(|arg| (*arg).to_owned()).collect(),
        };
        let stdin = case.expect.stdin.map(String::into_bytes);
        let input = Input { args, stdin, ..Input::default() };
        let options = Options {
            program_name: "program".to_owned(),
            libraries: built.libs.clone(),
            ..Options::default()
        };
        let program = lower()?;
        let vm = Vm::new(lower()?, options).map_err(|error| error.to_string())?;
        Ok(Subject { vm, input, program })
    }
}

/// How runs were made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Runs {
    /// Slices of so many events in the mean.
    Slices(u32),
    /// A switch may come at every event.
    Random,
}

impl Runs {
    fn scheduler(self, seed: u64) -> Box<dyn Scheduler> {
        match self {
            Runs::Slices(events) => Box::new(Production::sliced(seed, events)),
            Runs::Random => Box::new(Random::new(seed)),
        }
    }
}

/// Slices that are tried: 2 to these powers of events.
const SLICES: std::ops::RangeInclusive<u32> = 1..=17;
/// Runs that say how often a program fails under some slices.
const PILOTS: u64 = 400;

/// What a study collects.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub failing: usize,
    pub passing: usize,
    pub time: Duration,
    /// How many of a hundred runs should fail, about.
    pub rate: u32,
    pub sharing: Sharing,
}

/// Complete logs of one program in one mode.
pub struct Study {
    pub surveyed: Surveyed,
    /// All of them complete.
    pub logs: Collection,
    pub failure: FailureSite,
    pub runs: u64,
    pub by: Runs,
    pub mode: Mode,
}

impl Study {
    pub fn collect(subject: &mut Subject, mode: Mode, extent: &Extent) -> Result<Study, String> {
        let _silence = Silence::begin().map_err(|error| error.to_string())?;
        let mut lab =
            Laboratory::new(&mut subject.vm, subject.input.clone(), VisibleSet::default());
        let surveying = unravel_coop::Extent { sharing: extent.sharing, ..Default::default() };
        let surveyed = survey(&mut lab, &subject.program, mode, &surveying);
        if surveyed.table.is_empty() {
            return Err("threads share nothing".to_owned());
        }
        let mut elements =
            Elements::new(mode, &subject.program, surveyed.table.clone(), &surveyed.sites);
        let ids: Vec<_> = surveyed.table.iter().map(|element| element.id).collect();
        let by = calibrated(&mut lab, &mut elements, extent);
        let mut logs = Collection::new(ids);
        let mut run = 0u64;
        let (mut failing, mut passing) = (0, 0);
        let mut failure: Option<FailureSite> = None;
        let until = Instant::now() + extent.time;
        while failing < extent.failing && Instant::now() < until && lab.may_go_on() {
            let mut scheduler = by.scheduler(Rng::derive(1, run));
            // Ids that ascend with the runs.
            let id = LogId(u128::from(run));
            let (_, log) = record(&mut lab, &mut elements, &mut *scheduler, (0, id));
            run += 1;
            let Some(log) = log else { continue };
            let wanted = match log.ending.failure() {
                None => passing < extent.passing,
                Some(site) => *failure.get_or_insert(site) == site,
            };
            if wanted {
                match log.ending.failure() {
                    None => passing += 1,
                    Some(_) => failing += 1,
                }
                logs.add(&log).map_err(|error| error.to_string())?;
            }
        }
        let failure = failure.ok_or("no run failed")?;
        Ok(Study { surveyed, logs, failure, runs: run, by, mode })
    }

    pub fn failing(&self) -> Vec<usize> {
        self.logs.group(self.failure).failing
    }

    /// Mean accesses of a failing run to what is shared.
    pub fn accesses(&self) -> usize {
        let failing = self.failing();
        let all: usize = failing.iter().map(|log| self.logs.accesses(*log)).sum();
        all / failing.len().max(1)
    }

    /// By element: how many different vectors the failing runs have (the paper's figure 3.6).
    pub fn dispersion(&self) -> Vec<(&str, usize)> {
        let mut distinct = vec![std::collections::HashSet::new(); self.surveyed.table.len()];
        for log in self.failing() {
            for (seen, (_, vector)) in distinct.iter_mut().zip(self.logs.vectors(log)) {
                seen.insert(vector);
            }
        }
        let names = self.surveyed.table.iter().map(|element| element.name.as_str());
        names.zip(distinct.iter().map(std::collections::HashSet::len)).collect()
    }

    /// The vectors of a log, which is complete.
    pub fn complete(&self, log: usize) -> Vec<(ElementId, Vec<Who>)> {
        self.logs.vectors(log)
    }

    /// The same runs, had each logged so much.
    pub fn drawn(&self, coverage: Coverage, seed: u64) -> Collection {
        let elements = self.logs.elements().len();
        let each = coverage.of(elements);
        self.logs.parts(|log| draw(&mut Rng::new(Rng::derive(seed, log as u64)), elements, each))
    }

    /// Attempts until a replay fails as the logs say.
    pub fn replay(
        &self,
        subject: &mut Subject,
        logs: &Collection,
        (heuristic, metric): (Heuristic, Metric),
        attempts: Attempts,
        until: Instant,
    ) -> Result<(Option<u32>, Tried), String> {
        let _silence = Silence::begin().map_err(|error| error.to_string())?;
        let mut lab =
            Laboratory::new(&mut subject.vm, subject.input.clone(), self.surveyed.visible.clone());
        let mut elements = Elements::new(
            self.mode,
            &subject.program,
            self.surveyed.table.clone(),
            &self.surveyed.sites,
        );
        let group = logs.group(self.failure);
        let candidates = Candidates::new(&group, heuristic, metric);
        let mut oracle = Oracle { lab: &mut lab, elements: &mut elements, attempts };
        let (replayed, tried) = oracle.replay(&group, candidates, |_| Instant::now() < until);
        Ok((replayed.map(|replayed| replayed.attempt), tried))
    }
}

/// Slices under which about as many runs fail as should: a program whose every second run is preempted where it hurts has logs that have
/// nothing in common, and the paper's had not. The longest slices with at least as many failures, or the next longer ones if they are
/// nearer (as a ratio); switches at any event if the shortest are too long.
fn calibrated(lab: &mut Laboratory<'_>, elements: &mut Elements, extent: &Extent) -> Runs {
    let mut failing = |by: Runs| {
        let mut fails = |run: &u64| {
            let mut scheduler = by.scheduler(Rng::derive(2, *run));
            let (_, log) = record(lab, elements, &mut *scheduler, (0, LogId(u128::from(*run))));
            log.is_some_and(|log| log.ending.failure().is_some())
        };
        (0..PILOTS).filter(&mut fails).count() as f64 * 100.0 / PILOTS as f64
    };
    let wanted = f64::from(extent.rate);
    let (mut short, mut long) = (*SLICES.start(), *SLICES.end() + 1);
    let mut last = failing(Runs::Slices(1 << short));
    if last < wanted / 2.0 {
        return Runs::Random;
    }
    let mut next = 0.0;
    while long - short > 1 {
        let middle = short.midpoint(long);
        let rate = failing(Runs::Slices(1 << middle));
        match rate >= wanted {
            true => (short, last) = (middle, rate),
            false => (long, next) = (middle, rate),
        }
    }
    let is_nearer = next > 0.0 && wanted / next < last / wanted;
    Runs::Slices(1 << if is_nearer { long } else { short })
}
