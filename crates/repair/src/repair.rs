//! The way from causes to repairs: propose, cover, try virtually, write, compile, explore.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use unravel_causes::Analysis;
use unravel_program::weave;
use unravel_trace::{
    CheckedAs, Executor, Input, PatchedFile, Rejected, Repair, RepairCost, RepairKind, Repairs, Rules,
};

use crate::check::{self, Effort, Explored};
use crate::cover::{Covering, covers};
use crate::draft::{Written, write};
use crate::measures::Measure;
use crate::propose::{Candidate, contradictions, propose};
use crate::rank::rank;
use crate::spots::Files;

/// Where changed programs are made.
pub trait Workshop {
    type Machine: Executor;

    /// The program with measures woven in, its source untouched.
    fn weave(&mut self, measures: &[weave::Measure]) -> Result<Self::Machine, String>;

    /// The program with these files instead of the user's.
    fn compile(&mut self, files: &[PatchedFile]) -> Result<Self::Machine, String>;}

/// What to repair.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// What names of files are relative to.
    pub root: &'a Path,
    pub input: &'a Input,
    pub rules: &'a Rules,
    pub effort: Effort,
    pub time: Duration,
    /// How many repairs to show.
    pub most: usize,
}

/// What is being done.
#[derive(Clone, Debug)]
pub struct Progress {
    pub tried: usize,
    pub of: usize,
    pub found: usize,
    pub title: String,
}

/// Covers that are looked at.
const MOST_COVERS: usize = 40;
/// Candidates of one kind that are shown.
const MOST_OF_A_KIND: usize = 2;
/// Repairs that are found before the search ends, as a multiple of those that are shown.
const SPARE: usize = 2;

/// Finds repairs for what was analysed.
pub fn repair<W: Workshop>(
    workshop: &mut W,
    analysis: Analysis,
    request: &Request<'_>,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> Repairs {
    let started = Instant::now();
    let mut files = Files::under(request.root);
    let candidates = propose(&analysis, &mut files);
    let mut bench = Bench {
        workshop,
        request,
        interrupted,
        until: started + request.time,
        files: &files,
        candidates: &candidates,
        found: Vec::new(),
        rejected: Vec::new(),
        virtually_failed: Vec::new(),
    };
    let coverings: Vec<Covering> = candidates
        .iter()
        .map(|candidate| Covering { covers: candidate.covers.clone(), cost: candidate.cost })
        .collect();
    let classes = analysis.causes.classes.len();
    let covers = covers(classes, &coverings, &contradictions(&candidates), MOST_COVERS);
    let of = covers.len();
    for (tried, cover) in covers.into_iter().enumerate() {
        if bench.is_over() {
            break;
        }
        let title = bench.title(&cover);
        progress(&Progress { tried, of, found: bench.found.len(), title });
        bench.try_cover(&cover);
    }
    let Bench { found, rejected, .. } = bench;
    let mut notes = Vec::new();
    if interrupted.load(Ordering::Relaxed) {
        notes.push("interrupted: this is what was known by then".to_owned());
    }
    Repairs {
        causes: analysis.causes,
        repairs: rank(found, request.most, MOST_OF_A_KIND),
        rejected,
        notes,
        elapsed: started.elapsed(),
    }
}

/// Where candidates are tried.
struct Bench<'b, W: Workshop> {
    workshop: &'b mut W,
    request: &'b Request<'b>,
    interrupted: &'b AtomicBool,
    until: Instant,
    files: &'b Files,
    candidates: &'b [Candidate],
    found: Vec<Repair>,
    rejected: Vec<Rejected>,
    /// Covers that failed in the machine: what contains one of them and nothing else of its kind is not tried.
    virtually_failed: Vec<Vec<usize>>,
}

impl<W: Workshop> Bench<'_, W> {
    fn is_over(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
            || Instant::now() >= self.until
            || self.found.len() >= self.request.most * SPARE
    }

    fn measures(&self, cover: &[usize]) -> Vec<Measure> {
        cover.iter().map(|index| self.candidates[*index].measure.clone()).collect()
    }

    fn title(&self, cover: &[usize]) -> String {
        let titles: Vec<String> = self.measures(cover).iter().map(Measure::title).collect();
        titles.join("; ")
    }

    fn try_cover(&mut self, cover: &[usize]) {
        let title = self.title(cover);
        match self.checked(cover) {
            Ok(repair) => {
                if !self.found.iter().any(|known| known.diff == repair.diff) {
                    self.found.push(repair);
                }
            }
            Err(reason) => self.rejected.push(Rejected { title, reason }),
        }
    }

    /// The repair that a cover makes, if it stands every check.
    fn checked(&mut self, cover: &[usize]) -> Result<Repair, String> {
        let measures = self.measures(cover);
        let written = write(&measures, self.files).map_err(|error| format!("cannot be written: {error}"))?;
        let mut checks = Vec::new();
        if let Some(woven) = woven(&measures, self.files) {
            let mut machine =
                self.workshop.weave(&woven).map_err(|error| format!("cannot be tried: {error}"))?;
            match self.explore(&mut machine, CheckedAs::Virtual) {
                Explored::Passes(check) => checks.push(check),
                Explored::Fails(failure) => {
                    self.virtually_failed.push(cover.to_vec());
                    return Err(told("tried in the machine", &failure));
                }
                Explored::Unknown(reason) => return Err(format!("not decided: {reason}")),
            }
        }
        let mut machine = self
            .workshop
            .compile(&written.files)
            .map_err(|error| format!("does not compile: {}", first_line(&error)))?;
        match self.explore(&mut machine, CheckedAs::Patched) {
            Explored::Passes(check) => checks.push(check),
            Explored::Fails(failure) => return Err(told("patched and compiled", &failure)),
            Explored::Unknown(reason) => return Err(format!("not decided: {reason}")),
        }
        let kind = measures.iter().map(Measure::kind).max().unwrap_or(RepairKind::Order);
        let mut covered: Vec<usize> =
            cover.iter().flat_map(|index| self.candidates[*index].covers.clone()).collect();
        covered.sort_unstable();
        covered.dedup();
        let Written { files, diff, lines_added, lines_removed } = written;
        let sections = measures.iter().flat_map(|measure| measure.sections());
        let longest = sections.map(|s| s.region.last_line - s.region.first_line + 1).max();
        Ok(Repair {
            title: self.title(cover),
            kind,
            covers: covered,
            diff,
            files,
            checks,
            cost: RepairCost {
                lines_added,
                lines_removed,
                classes_kept: None,
                longest_section: longest.unwrap_or(0),
            },
            notes: Vec::new(),
        })
    }

    fn explore(&self, machine: &mut W::Machine, how: CheckedAs) -> Explored {
        let Request { input, rules, effort, .. } = self.request;
        let mut go_on = || !self.interrupted.load(Ordering::Relaxed);
        check::explore(machine, how, input, rules, effort, &mut go_on)
    }
}

fn woven(measures: &[Measure], files: &Files) -> Option<Vec<weave::Measure>> {
    let each: Option<Vec<Vec<weave::Measure>>> = measures
        .iter()
        .enumerate()
        .map(|(number, measure)| measure.woven(number as u32 + 1, files))
        .collect();
    each.map(|measures| measures.concat())
}

/// How a candidate fails.
fn told(when: &str, failure: &unravel_trace::Failure) -> String {
    let place = failure.place().map_or_else(String::new, |place| format!(" at {}", place.short()));
    format!("{when}, it fails: {}{place}: {}", failure.kind.name(), first_line(&failure.message))
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("")
}
