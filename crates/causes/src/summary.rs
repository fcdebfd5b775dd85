//! What the inputs of a program showed, put together: its bugs, its causes with names, and how far all that goes.

use std::time::{Duration, Instant};

use unravel_diagnose::{describe, granted};
use unravel_execute::Limit;
use unravel_hunt::KnownInput;
use unravel_results::{
    CausalOrder, Cause, CauseCounts, CausedBug, Causes, CausesVerdict, EventStack, Extent,
    TriedInput,
};
use unravel_trace::{BugId, FailureKind, Input, LeftOut, Run, VisibleSet};

use crate::causes::{Analysis, Task, telling};
use crate::classes::{Worded, classes, unique};
use crate::enumerate::{Enumerated, Found};
use crate::gather::{Effort, FailingMember, Gathered, Gatherer};
use crate::races;
use crate::sampled::{Diagnosed, diagnose_each, find_failures};
use crate::tell::{Teller, schedule};
use crate::watch::Course;

/// What several inputs showed.
#[derive(Clone, Default)]
pub struct Summary {
    bugs: Vec<CausedBug>,
    /// By bug.
    runs: Vec<Run>,
    visible: VisibleSet,
    passing: Vec<u64>,
    causes: Vec<Worded>,
    stacks: Vec<EventStack>,
    extent: Extent,
    /// In the order they were tried.
    inputs: Vec<(Input, TriedInput)>,
    iterations: u64,
    untold: usize,
    unlooked: usize,
    pub notes: Vec<String>,
}

impl Summary {
    /// Counts what was gathered with one more input.
    pub fn count(&mut self, gatherer: &Gatherer<'_>, gathered: &Gathered, tried: &KnownInput) {
        let extent = &mut self.extent;
        let is_first = self.inputs.is_empty();
        extent.schedules += gathered.schedules;
        extent.passing += gathered.passing.len() as u64;
        extent.failing += gathered.failing.len() as u64;
        extent.deviations = gathered.deviations;
        extent.max_steps = gatherer.lab.input().limits.max_steps;
        extent.most_events = extent.most_events.max(gathered.most_events);
        extent.fixed_inputs |= gathered.asks_for_values;
        extent.could_deviate |= gathered.could_deviate;
        for what in &gathered.left_out {
            if !extent.left_out.contains(what) {
                extent.left_out.push(what.clone());
            }
        }
        if is_first {
            self.visible = gathered.visible.clone();
            if gathered.exhausted {
                self.passing = gathered.passing.iter().map(|member| member.course.class).collect();
            }
        }
        let new = TriedInput {
            values: tried.values.clone(),
            passing: gathered.passing.len() as u64,
            failing: gathered.failing.len() as u64,
            complete: gathered.is_complete(),
            sequential: gathered.passing.is_empty() && !gathered.failing.is_empty(),
        };
        self.inputs.push((tried.input.clone(), new));
    }

    /// The number of the input that was counted last.
    fn input(&self) -> usize {
        self.inputs.len().saturating_sub(1)
    }

    /// Adds causes that were diagnosed one by one.
    pub fn sample(
        &mut self,
        gatherer: &mut Gatherer<'_>,
        gathered: &Gathered,
        request: &Task<'_>,
        effort: &Effort,
        end: Instant,
    ) {
        if gathered.passing.is_empty() {
            let limit = telling(end, gatherer.interrupted);
            return self.add(gatherer, gathered, Enumerated::default(), limit);
        }
        let found = find_failures(gatherer, gathered, effort);
        let visible = &gathered.visible;
        let (diagnosed, left) = diagnose_each(
            gatherer,
            gathered,
            found,
            effort,
            &request.program.name,
            |gatherer, course| schedule(course, &gatherer.words.keys, visible),
        );
        let limit = telling(end, gatherer.interrupted);
        self.add(gatherer, gathered, Enumerated { left, ..Enumerated::default() }, limit);
        for Diagnosed { mut worded, stacks, run } in diagnosed {
            let Some(failure) = run.outcome.failure() else { continue };
            let id = failure.id();
            let index = self.bugs.iter().position(|bug| bug.id == id);
            let index = index.unwrap_or_else(|| {
                self.bugs.push(CausedBug {
                    id,
                    failure: failure.clone(),
                    classes: 1,
                    inputs: Vec::new(),
                    schedule: run.schedule.clone(),
                    trace: None,
                });
                self.extent.failing += 1;
                self.bugs.len() - 1
            });
            self.fails_now(index);
            if index == self.runs.len() {
                self.runs.push(run);
            }
            worded.bugs.push(index);
            worded.inputs.push(self.input());
            self.iterations += 1;
            self.causes.push(worded);
            self.stacks.extend(stacks);
        }
    }

    pub fn add(
        &mut self,
        gatherer: &mut Gatherer<'_>,
        gathered: &Gathered,
        enumerated: Enumerated,
        limit: Limit<'_>,
    ) {
        self.untold += enumerated.untold;
        self.iterations += enumerated.iterations as u64;
        self.unlooked += enumerated.left;
        let mut teller = Teller::new(gatherer, &gathered.visible);
        let mut simplest = vec![None; self.bugs.len()];
        let bug_of: Vec<usize> = gathered
            .failing
            .iter()
            .map(|member| self.bug(member, &teller, &mut simplest))
            .collect();
        for (bug, schedule) in simplest.into_iter().enumerate() {
            let Some(run) = schedule.map(|course| teller.run(course)) else { continue };
            match self.runs.get_mut(bug) {
                Some(known) => *known = run,
                None => self.runs.push(run),
            }
        }
        self.tell_races(&mut teller, limit);
        for found in &enumerated.found {
            if !limit.may_go_on() {
                self.unlooked += found.blocks.len();
                continue;
            }
            self.tell(&mut teller, gathered, found, &bug_of);
        }
    }

    /// Each race is a cause of its own.
    fn tell_races(&mut self, teller: &mut Teller<'_, '_>, limit: Limit<'_>) {
        for (index, bug) in self.bugs.iter().enumerate() {
            if bug.id.kind != FailureKind::DataRace || !limit.may_go_on() {
                continue;
            }
            if let Some(known) = self.causes.iter_mut().find(|known| known.bugs == [index]) {
                known.inputs.clone_from(&bug.inputs);
                continue;
            }
            let Some((race, told)) = teller.race(&bug.schedule, &bug.failure) else { continue };
            let (mut worded, stacks) = races::worded(race, told, bug.schedule.clone(), bug.classes);
            worded.bugs.push(index);
            worded.inputs = bug.inputs.clone();
            self.causes.push(worded);
            self.stacks.extend(stacks);
        }
    }

    /// The number of a run's failure. The simplest schedule of each is kept, also in `simplest` if it is new.
    fn bug<'f>(
        &mut self,
        failing: &'f FailingMember,
        teller: &Teller<'_, '_>,
        simplest: &mut Vec<Option<&'f Course>>,
    ) -> usize {
        let id: BugId = failing.failure.id();
        let course = &failing.member.course;
        let index = self.bugs.iter().position(|bug| bug.id == id).unwrap_or(self.bugs.len());
        let known = self.bugs.get_mut(index);
        let is_simpler =
            known.as_ref().is_none_or(|bug| course.switches() < bug.schedule.context_switches());
        if is_simpler {
            simplest.resize(simplest.len().max(index + 1), None);
            simplest[index] = Some(course);
        }
        match known {
            Some(bug) => {
                bug.classes += 1;
                if is_simpler {
                    bug.schedule = teller.schedule(course);
                    bug.failure = (*failing.failure).clone();
                }
            }
            None => self.bugs.push(CausedBug {
                id,
                failure: (*failing.failure).clone(),
                classes: 1,
                inputs: Vec::new(),
                schedule: teller.schedule(course),
                trace: None,
            }),
        }
        self.fails_now(index);
        index
    }

    /// Notes that a bug was seen with the input that was counted last.
    fn fails_now(&mut self, bug: usize) {
        let input = self.input();
        let inputs = &mut self.bugs[bug].inputs;
        if inputs.last() != Some(&input) {
            inputs.push(input);
        }
        // Of failures that were met after counting.
        if let Some((_, tried)) = self.inputs.last_mut() {
            tried.failing = tried.failing.max(1);
        }
    }

    fn tell(
        &mut self,
        teller: &mut Teller<'_, '_>,
        gathered: &Gathered,
        found: &Found,
        bug_of: &[usize],
    ) {
        let failing = &gathered.failing[found.failing];
        let Some(seen) = teller.see(&failing.member.course) else {
            self.notes.push(
                "a failing schedule did not come out the same again; its cause is not told"
                    .to_owned(),
            );
            return;
        };
        let mut orders = Vec::new();
        for (order, witness) in found.orders.iter().zip(&found.witnesses) {
            let course = &gathered.passing[*witness].course;
            teller.see(course);
            let schedule = teller.schedule(course);
            orders.push(teller.order(*order, &seen, Some(schedule)));
            self.stacks.extend([order.0, order.1].into_iter().filter_map(|key| teller.stack(key)));
        }
        orders.sort_by_key(|o| {
            (o.first.event.unwrap_or(u32::MAX), o.second.event.unwrap_or(u32::MAX))
        });
        let forced = &failing.member.course.forced;
        let has_answers = |index: &usize| {
            let course = &gathered.failing[*index].member.course;
            forced.iter().all(|answer| course.forced.contains(answer))
        };
        let is_answered = !forced.is_empty() && found.blocks.iter().all(has_answers);
        let words = match found.by_answers || is_answered {
            true => granted(&seen.needs, &failing.failure, &orders, &seen.trace),
            false => describe(&failing.failure, &orders, &seen.trace),
        };
        let input = self.input();
        // Another input may have shown the same.
        let is_known = |known: &Worded| {
            let says_so =
                !(found.by_answers || is_answered) || known.words.sentence == words.sentence;
            is_same(&known.cause.orders, &orders) && says_so
        };
        if let Some(known) = self.causes.iter_mut().find(|known| is_known(known)) {
            known.cause.blocks += found.blocks.len() as u64;
            if known.inputs.last() != Some(&input) {
                known.inputs.push(input);
            }
            return;
        }
        let bugs = most_of_first(&found.blocks, bug_of);
        self.causes.push(Worded {
            cause: Cause {
                minimal: orders.iter().all(|order| order.witness.is_some()),
                orders,
                failing: teller.schedule(&failing.member.course),
                constraints: found.constraints as u64,
                blocks: found.blocks.len() as u64,
            },
            words,
            bugs,
            inputs: vec![input],
        });
    }

    pub fn finish(mut self, request: &Task<'_>, elapsed: Duration) -> Analysis {
        let iterations = self.iterations;
        let told = self.causes.len();
        let mean = |sum: u64| if told == 0 { 0.0 } else { sum as f64 / told as f64 };
        let constraints = mean(self.causes.iter().map(|w| w.cause.constraints).sum());
        let core = mean(self.causes.iter().map(|w| w.cause.orders.len() as u64).sum());
        let classes = classes(std::mem::take(&mut self.causes));
        let unique = unique(&classes);
        let verdict = if self.bugs.is_empty() {
            CausesVerdict::NothingFails
        } else if self.is_sequential() && !self.races_only() {
            CausesVerdict::Sequential
        } else {
            CausesVerdict::Concurrent
        };
        self.note_gaps(verdict, told);
        let (inputs, tried): (Vec<Input>, Vec<TriedInput>) = self.inputs.into_iter().unzip();
        // Of an input that nobody chose there is nothing to say.
        let is_chosen = tried.iter().any(|tried| !tried.values.is_empty());
        self.stacks.sort_by(|a, b| a.key.cmp(&b.key));
        self.stacks.dedup_by(|a, b| a.key == b.key);
        Analysis {
            causes: Causes {
                program: request.program.name.clone(),
                command: request.command.clone(),
                bugs: self.bugs,
                verdict,
                counts: CauseCounts { iterations, constraints, core, unique: unique.len() as u64 },
                classes,
                unique,
                extent: self.extent,
                inputs: if is_chosen { tried } else { Vec::new() },
                notes: self.notes,
                elapsed,
            },
            stacks: self.stacks,
            runs: self.runs,
            inputs,
            visible: self.visible,
            passing: self.passing,
        }
    }

    /// Whether every schedule fails with every input that fails at all.
    fn is_sequential(&self) -> bool {
        self.inputs.iter().all(|(_, tried)| tried.sequential || tried.failing == 0)
    }

    /// A race needs no particular order: it is there whatever the schedule, and still no sequential bug.
    fn races_only(&self) -> bool {
        self.bugs.iter().all(|bug| bug.id.kind == FailureKind::DataRace)
    }

    fn note_gaps(&mut self, verdict: CausesVerdict, told: usize) {
        let is_everywhere = verdict == CausesVerdict::Concurrent && self.is_sequential();
        if is_everywhere && told == 0 {
            self.notes.push(
                "every schedule has this race, so no order is its cause: nothing orders the two accesses".to_owned(),
            );
        }
        if self.untold > 0 {
            self.notes.push(format!(
                "{} failing classes differ from some passing class in no order of events, but in which waiter was woken \
                 or which timeout came",
                self.untold
            ));
        }
        if self.unlooked > 0 {
            let classes = self.unlooked as u64;
            self.extent.left_out.push(LeftOut::Unexplained { classes });
        }
    }
}

/// Whether two sets of orders are between the same events.
fn is_same(one: &[CausalOrder], other: &[CausalOrder]) -> bool {
    let keys = |order: &CausalOrder| (order.first.key.clone(), order.second.key.clone());
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| keys(a) == keys(b))
}
/// The bugs of these failing runs, each once, the one of which they are the largest share first: of `bug_of` all.
fn most_of_first(blocks: &[usize], bug_of: &[usize]) -> Vec<usize> {
    let count = |bug: usize, of: &mut dyn Iterator<Item = usize>| of.filter(|b| *b == bug).count();
    let mut bugs: Vec<usize> = blocks.iter().map(|index| bug_of[*index]).collect();
    bugs.sort_unstable();
    bugs.dedup();
    let share = |bug: &usize| {
        let its = count(*bug, &mut blocks.iter().map(|index| bug_of[*index]));
        // In millionths, so that equal shares are equal.
        its * 1_000_000 / count(*bug, &mut bug_of.iter().copied()).max(1)
    };
    bugs.sort_by_cached_key(|bug| (std::cmp::Reverse(share(bug)), *bug));
    bugs
}
