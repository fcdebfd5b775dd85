//! Where candidates are tried: woven into the machine, then written, compiled, and explored again.

use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use unravel_causes::{Allowed, Analysis, allowed_classes};
use unravel_code::weave;
use unravel_execute::Limit;
use unravel_results::{
    CauseClass, Check, CheckedAs, Meaning, PatchedFile, Rejected, Repair, RepairCost, RepairKind,
};
use unravel_trace::{BugId, Failure, FailureKind, Input, Place, SiteId, VisibleSet};

use crate::apart::passed_over;
use crate::budgets::{
    BEFORE_SHARE, COUNTING, EXHAUSTIVE_SHARE, MOST_REMAINING, NARROW, SAMPLING_SHARE, SPARE,
};
use crate::check::{self, Checked, Effort, Explored};
use crate::draft::{Written, write};
use crate::graph::Graph;
use crate::late::{Late, when_late};
use crate::meaning::Before;
use crate::measures::Measure;
use crate::propose::Proposal;
use crate::rank::{Fit, Stood};
use crate::reached;
use crate::repair::{Task, Workshop};
use crate::spots::{Files, Stretch};

/// Tries candidates, and keeps what comes of it.
pub struct Trials<'b, W: Workshop> {
    workshop: &'b mut W,
    request: &'b Task<'b>,
    limit: Limit<'b>,
    visible: &'b VisibleSet,
    /// The classes that pass without any repair, with the first input.
    passing: FxHashSet<u64>,
    first: &'b Input,
    /// Where the program found out that all is not well.
    checks: Vec<Place>,
    /// How it fails.
    kinds: Vec<FailureKind>,
    /// Whether runs of the program as it is are seen to come there; not asked yet.
    is_seen: Option<bool>,
    /// Of the classes of causes that were known from the beginning, whether keeping threads apart is enough.
    interleaved: Vec<bool>,
    inputs: Vec<Checked>,
    /// What the program does without any, by input.
    before: Vec<Before>,
    pub found: Vec<Stood>,
    pub rejected: Vec<Rejected>,
    /// The causes of failures that measures left.
    remaining: Vec<Analysis>,
    /// Bugs that are somebody else's.
    others: Vec<BugId>,
}

/// A repair that stood its checks.
struct Standing {
    repair: Repair,
    late: Late,
}

impl<'b, W: Workshop> Trials<'b, W> {
    pub fn new(
        workshop: &'b mut W,
        request: &'b Task<'b>,
        analysis: &'b Analysis,
        limit: Limit<'b>,
    ) -> Trials<'b, W> {
        let inputs = to_check(analysis, request.input);
        // Long runs must not eat the time that candidates need.
        let share = request.time / BEFORE_SHARE / inputs.len().max(1) as u32;
        let before = match workshop.weave(&[]) {
            Ok(mut machine) => {
                let each = inputs.iter().map(|checked| {
                    let limit = limit.at_most(Instant::now() + share);
                    Before::of(&mut machine, &checked.input, limit)
                });
                each.collect()
            }
            Err(_) => Vec::new(),
        };
        Trials {
            workshop,
            request,
            limit,
            before,
            visible: &analysis.visible,
            passing: analysis.passing.iter().copied().collect(),
            checks: checks(analysis),
            kinds: analysis.causes.bugs.iter().map(|bug| bug.failure.kind).collect(),
            is_seen: None,
            interleaved: analysis.causes.classes.iter().map(is_interleaved).collect(),
            first: analysis.inputs.first().unwrap_or(request.input),
            inputs,
            found: Vec::new(),
            rejected: Vec::new(),
            remaining: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Bugs that are passed over: measures are not for them.
    pub fn passing_over(self, others: Vec<BugId>) -> Trials<'b, W> {
        Trials { others, ..self }
    }

    pub fn is_over(&self) -> bool {
        !self.limit.may_go_on() || self.found.len() >= self.request.most * SPARE
    }

    pub fn title(cover: &[&Proposal]) -> String {
        let titles: Vec<String> = cover.iter().map(|c| c.measure.title()).collect();
        titles.join("; ")
    }

    pub fn take_remaining_causes(&mut self) -> Vec<Analysis> {
        std::mem::take(&mut self.remaining)
    }

    pub fn try_cover(&mut self, cover: &[&Proposal], files: &Files) {
        let title = Self::title(cover);
        match self.checked(cover, files) {
            Ok(checked) => {
                let (Standing { repair, late }, cover) = self.leaner(checked, cover, files);
                if !self.found.iter().any(|known| known.repair.diff == repair.diff) {
                    let price = cover.iter().map(|candidate| candidate.cost).sum();
                    let fit = match late {
                        Late::Fails => Fit::RestsOnSleep,
                        _ => self.fit(&cover),
                    };
                    let is_narrow = is_narrow(&cover, files);
                    let measures = cover.into_iter().cloned().collect();
                    self.found.push(Stood { repair, price, fit, is_narrow, measures });
                }
            }
            Err(reason) => self.rejected.push(Rejected { title, reason }),
        }
    }

    /// Whether measures bring about what their causes lack.
    fn fit(&self, cover: &[&Proposal]) -> Fit {
        let is_apart = |class: &usize| self.interleaved.get(*class) == Some(&true);
        let each = cover.iter().map(|candidate| match &candidate.measure {
            Measure::Move(change) if change.parts_threads => Fit::PartsThreads,
            Measure::Move(change) if change.leaves_race => Fit::LeavesRace,
            Measure::Order { first, .. } if self.checks.iter().any(|place| is_in(place, first)) => {
                Fit::LooksFirst
            }
            Measure::Order { .. } if candidate.covers.iter().all(is_apart) => Fit::FixesOrder,
            _ => Fit::Fits,
        });
        each.max().unwrap_or(Fit::Fits)
    }

    /// Whether runs of the program as it is come to the check that failed. Only while no candidate is loaded: a process has room for one
    /// machine.
    fn is_check_seen(&mut self, files: &Files) -> Result<bool, String> {
        if self.checks.is_empty() {
            return Ok(false);
        }
        if let Some(is_seen) = self.is_seen {
            return Ok(is_seen);
        }
        let lines = reached::lines(&self.checks, files, &[]);
        let is_seen = self.workshop.weave(&[]).is_ok_and(|mut before| {
            reached::is_reached(&mut before, self.first, &lines, self.limit)
        });
        if !is_seen && !self.limit.may_go_on() {
            return Err(undecided(self.limit));
        }
        Ok(*self.is_seen.insert(is_seen))
    }

    /// Whether no run comes any more to the check that was seen. It is asked before the schedules are explored: with the time up nobody
    /// would know, and a repair that only keeps everybody from the check would be shown.
    fn avoids_check(
        &self,
        machine: &mut W::Machine,
        written: &Written,
        files: &Files,
    ) -> Result<bool, String> {
        let changed: Vec<(&str, &str)> =
            written.files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
        let lines = reached::lines(&self.checks, files, &changed);
        match reached::is_reached(machine, self.first, &lines, self.limit) {
            true => Ok(false),
            false if self.limit.may_go_on() => Ok(true),
            false => Err(undecided(self.limit)),
        }
    }

    /// The same repair without measures that it does not need: a measure may do more than its cause asks for.
    fn leaner<'c>(
        &mut self,
        mut repair: Standing,
        cover: &[&'c Proposal],
        files: &Files,
    ) -> (Standing, Vec<&'c Proposal>) {
        let mut cover = cover.to_vec();
        let mut index = 0;
        while cover.len() > 1 && index < cover.len() && !self.is_over() {
            let mut fewer = cover.clone();
            fewer.remove(index);
            match self.checked(&fewer, files) {
                Ok(leaner) => (repair, cover) = (leaner, fewer),
                Err(_) => index += 1,
            }
        }
        (repair, cover)
    }

    /// The repair that a cover makes, if it stands every check.
    fn checked(&mut self, cover: &[&Proposal], files: &Files) -> Result<Standing, String> {
        let measures: Vec<Measure> = cover.iter().map(|c| c.measure.clone()).collect();
        let written =
            write(&measures, files).map_err(|error| format!("cannot be written: {error}"))?;
        let mut checks = Vec::new();
        let mut classes_kept = None;
        if let Some(woven) = woven(&measures, files) {
            let (check, kept) = self.virtually(&woven, files)?;
            checks.push(check);
            classes_kept = kept;
        }
        let reshaped: Vec<String> = measures.iter().flat_map(Measure::reshaped).collect();
        let (check, meaning, late) = self.patched(&written, &reshaped, files)?;
        checks.push(check);
        let mut covers: Vec<usize> = cover.iter().flat_map(|c| c.covers.clone()).collect();
        covers.sort_unstable();
        covers.dedup();
        let sections = measures.iter().flat_map(|measure| measure.sections());
        let longest = sections.map(|s| s.region.last_line - s.region.first_line + 1).max();
        let Written { files, diff, lines_added, lines_removed } = written;
        let mut notes = notes(&measures);
        if late == Late::Unknown {
            let text =
                "the time was up before it was tried what happens when sleeps are over too early";
            notes.push(text.to_owned());
        }
        let repair = Repair {
            title: Self::title(cover),
            kind: measures.iter().map(Measure::kind).max().unwrap_or(RepairKind::Order),
            covers,
            leaves: Vec::new(),
            diff,
            files,
            checks,
            meaning,
            cost: RepairCost {
                lines_added,
                lines_removed,
                classes_kept,
                longest_section: longest.unwrap_or(0),
            },
            notes,
        };
        Ok(Standing { repair, late })
    }

    /// Explores the woven program; also how many of the passing classes it allows, and of how many.
    fn virtually(
        &mut self,
        woven: &[weave::Measure],
        files: &Files,
    ) -> Result<(Check, Option<(u64, u64)>), String> {
        let machine = self.workshop.weave(woven);
        let mut machine = machine.map_err(|error| format!("cannot be tried: {error}"))?;
        match self.explore(&mut machine, CheckedAs::Virtual, (files, &[])) {
            Explored::Passes(check) => {
                let kept = self.kept(&mut machine);
                Ok((check, kept))
            }
            Explored::Fails(failure) => {
                self.look_for_remaining(&mut machine, &failure);
                Err(told("tried in the machine", &failure))
            }
            Explored::Unknown(reason) => Err(format!("not decided: {reason}")),
        }
    }

    /// Explores the patched program and compares its meaning, but for globals that are made of more than before; also whether it rests on
    /// a sleep.
    fn patched(
        &mut self,
        written: &Written,
        reshaped: &[String],
        files: &Files,
    ) -> Result<(Check, Option<Meaning>, Late), String> {
        if !self.limit.may_go_on() {
            return Err(undecided(self.limit));
        }
        let is_seen = self.is_check_seen(files)?;
        let machine = self.workshop.compile(&written.files);
        let mut machine =
            machine.map_err(|error| format!("does not compile: {}", complaint(&error)))?;
        if is_seen && self.avoids_check(&mut machine, written, files)? {
            return Err("no run comes to the check that fails any more: it is avoided, not mended"
                .to_owned());
        }
        match self.explore(&mut machine, CheckedAs::Patched, (files, &written.files)) {
            Explored::Passes(check) => {
                let meaning = self.meaning(&mut machine, reshaped);
                let meaning = meaning
                    .map_err(|other| format!("with its threads one after another, it {other}"))?;
                Ok((check, meaning, self.when_late(&mut machine)))
            }
            Explored::Fails(failure) => Err(told("patched and compiled", &failure)),
            Explored::Unknown(reason) => Err(format!("not decided: {reason}")),
        }
    }

    /// Whether a patched program fails as before as soon as somebody is late. Where that was allowed it was explored.
    fn when_late(&self, machine: &mut W::Machine) -> Late {
        if self.request.effort.deviations > 0 {
            return Late::Stands;
        }
        let each = self.inputs.iter();
        let mut each = each.map(|with| when_late(machine, &with.input, &self.kinds, self.limit));
        each.find(|late| *late != Late::Stands).unwrap_or(Late::Stands)
    }

    /// Whether a patched program still does what the program did, with every input.
    fn meaning(
        &self,
        machine: &mut W::Machine,
        reshaped: &[String],
    ) -> Result<Option<Meaning>, String> {
        let mut all: Option<Meaning> = None;
        for (before, checked) in self.before.iter().zip(&self.inputs) {
            let new = before.compare(machine, &checked.input, reshaped, self.limit)?;
            let Some(new) = new else { continue };
            let known = all.get_or_insert(Meaning { runs: 0, before: 0, globals: 0 });
            known.runs += new.runs;
            known.before += new.before;
            known.globals = known.globals.max(new.globals);
        }
        Ok(all)
    }

    /// Explores what was made of the files, of which these were changed.
    fn explore(
        &self,
        machine: &mut W::Machine,
        how: CheckedAs,
        (files, changed): (&Files, &[PatchedFile]),
    ) -> Explored {
        let Task { effort, time, .. } = self.request;
        // Several candidates have to fit in.
        let effort = Effort {
            exhaustive: effort.exhaustive.min(*time / EXHAUSTIVE_SHARE),
            time: effort.time.min(*time / SAMPLING_SHARE),
            ..*effort
        };
        let known = passed_over(&self.others, files, changed);
        check::explore_each(machine, how, (&self.inputs, &known), &effort, self.limit)
    }

    fn kept(&self, machine: &mut W::Machine) -> Option<(u64, u64)> {
        if self.passing.is_empty() || !self.limit.may_go_on() {
            return None;
        }
        let allowed = Allowed {
            input: self.first,
            visible: self.visible,
            woven_from: SiteId(self.workshop.sites()),
            time: COUNTING.min(self.left()),
        };
        let classes = allowed_classes(machine, &allowed)?;
        let kept = classes.iter().filter(|class| self.passing.contains(class)).count();
        Some((kept as u64, self.passing.len() as u64))
    }

    /// The failure that measures left may have causes that nobody has seen yet: of a deadlock only the measures are.
    fn look_for_remaining(&mut self, machine: &mut W::Machine, failure: &Failure) {
        let is_ours = failure.kind == FailureKind::Deadlock;
        let is_over = !self.limit.may_go_on();
        if !is_ours && self.remaining.len() < MOST_REMAINING && self.found.is_empty() && !is_over {
            // Those that failed before come first.
            let input = self.inputs.first().map_or(self.first, |checked| &checked.input);
            self.remaining.extend(self.workshop.causes(machine, input, self.left() / 2));
        }
    }

    fn left(&self) -> Duration {
        self.limit.left().unwrap_or(self.request.time)
    }
}

/// Whether all that is done is to hold locks for a few statements that run once.
fn is_narrow(cover: &[&Proposal], files: &Files) -> bool {
    let is_short = |stretch: &Stretch| {
        let lines = stretch.region.last_line - stretch.region.first_line;
        let source = files.get(&stretch.file);
        lines < NARROW && source.is_some_and(|source| !source.has_loop(&stretch.region.bytes))
    };
    cover.iter().all(|candidate| {
        let sections = candidate.measure.sections();
        !sections.is_empty() && sections.iter().all(is_short)
    })
}

/// Where assertions and the like failed.
fn checks(analysis: &Analysis) -> Vec<Place> {
    let is_check = |failure: &&Failure| {
        matches!(failure.kind, FailureKind::Assertion | FailureKind::Abort | FailureKind::ExitCode)
    };
    let failures = analysis.causes.bugs.iter().map(|bug| &bug.failure).filter(is_check);
    failures.filter_map(|failure| failure.place().cloned()).collect()
}

fn is_in(place: &Place, stretch: &Stretch) -> bool {
    let lines = stretch.region.first_line..=stretch.region.last_line;
    *place.file == *stretch.file && lines.contains(&place.line)
}

fn is_interleaved(class: &CauseClass) -> bool {
    class.pattern.is_of_stretch()
        || class.causes.iter().all(|cause| Graph::of(cause).is_interleaved())
}

/// The inputs that a repair has to stand: those with which the program failed first, then those with which it did not. Where
/// every schedule fails, none will pass: such an input is no test of a repair.
fn to_check(analysis: &Analysis, given: &Input) -> Vec<Checked> {
    let tried = &analysis.causes.inputs;
    if tried.is_empty() {
        let input = analysis.inputs.first().unwrap_or(given).clone();
        return vec![Checked { number: None, input }];
    }
    let inputs = tried.iter().zip(&analysis.inputs).enumerate();
    let mut inputs: Vec<_> = inputs.filter(|(_, (tried, _))| !tried.sequential).collect();
    inputs.sort_by_key(|(_, (tried, _))| tried.failing == 0);
    let checked = |(number, (_, input)): (usize, (_, &Input))| Checked {
        number: Some(number),
        input: input.clone(),
    };
    inputs.into_iter().map(checked).collect()
}

fn woven(measures: &[Measure], files: &Files) -> Option<Vec<weave::Measure>> {
    let each: Option<Vec<Vec<weave::Measure>>> = measures
        .iter()
        .enumerate()
        .map(|(number, measure)| measure.woven(number as u32 + 1, files))
        .collect();
    each.map(|measures| measures.concat())
}

/// What exploring one input cannot find out.
fn notes(measures: &[Measure]) -> Vec<String> {
    let mut notes = Vec::new();
    for measure in measures {
        if let Measure::Order { first, times, .. } = measure {
            notes.push(format!(
                "whoever waits does so for ever if {} is not reached{}; make sure that it is on every input",
                first.name(),
                if *times > 1 { format!(" {times} times") } else { String::new() }
            ));
        }
    }
    notes
}

/// How a candidate fails.
fn told(when: &str, failure: &Failure) -> String {
    let place = failure.place().map_or_else(String::new, |place| format!(" at {}", place.short()));
    let message = failure.message.lines().next().unwrap_or("");
    format!("{when}, it fails: {}{place}: {message}", failure.kind.name())
}

/// What a compiler minds: its first error, without the path of our copy.
fn complaint(stderr: &str) -> &str {
    let line = stderr.lines().find(|line| line.contains("error")).or(stderr.lines().next());
    let line = line.unwrap_or("");
    line.find("error").map_or(line, |at| &line[at..])
}

/// The time was up before it was known.
fn undecided(limit: Limit<'_>) -> String {
    format!("not decided: {}", check::why_over(limit))
}
