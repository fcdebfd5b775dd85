//! The way from a program to all its causes.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use unravel_explore::{Apart, Judge, Random, Received};
use unravel_trace::{
    BugId, CausalOrder, Cause, CauseCounts, CausedBug, Causes, CausesVerdict, Detail, EventStack,
    Executor, Extent, FailureKind, Input, Nondet, Rng, Rules, Run, Schedule, VisibleSet, Want,
};

use crate::classes::{Worded, classes, unique};
use crate::enumerate::{Enumerated, Found, enumerate};
use crate::gather::{Effort, FailingMember, Gathered, Gatherer};
use crate::orders::Pairs;
use crate::sampled::{Diagnosed, diagnose_each, find_failures};
use crate::tell::{Teller, schedule};
use crate::watch::Words;

/// How often progress is told.
const TICK: Duration = Duration::from_millis(100);
/// How long work may go on after the time is up, before its process is killed.
const GRACE: Duration = Duration::from_secs(10);

/// What to find the causes of.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub program: &'a str,
    pub input: &'a Input,
    pub rules: &'a Rules,
    pub budget: Budget,
    /// The command that asks for this.
    pub command: String,
}

/// How much may be done.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub time: Duration,
    /// Classes of schedules that are kept in memory.
    pub classes: usize,
    /// Schedules tried at random where exhaustive search does not end.
    pub samples: u64,
    /// Inputs that are tried, if the program asks for nondeterministic values and none were given.
    pub inputs: u32,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { time: Duration::from_secs(30), classes: 300_000, samples: 5_000, inputs: 3 }
    }
}

/// All causes, and what a repair needs to know besides.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Analysis {
    pub causes: Causes,
    /// The call stacks of the events of all causes.
    pub stacks: Vec<EventStack>,
    /// For each bug its simplest failing run, with its events.
    pub runs: Vec<Run>,
    /// What was visible, and the fingerprints of the classes that pass; of the first input. No classes where not all are
    /// known.
    pub visible: VisibleSet,
    pub passing: Vec<u64>,
}

/// What has been done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Progress {
    /// Classes of schedules that pass and that fail.
    Exploring {
        passing: u64,
        failing: u64,
    },
    Enumerating,
}

#[derive(Debug, thiserror::Error)]
pub enum CausesError {
    #[error("no process can be started: {0}")]
    Fork(#[source] std::io::Error),
    #[error("the program's output cannot be sent away: {0}")]
    Output(#[source] std::io::Error),
    #[error("the program killed the process that explored it (signal {signal})")]
    Killed { signal: i32 },
    #[error("a run did not end within {seconds} s; a smaller --max-steps gives such runs up")]
    Stuck { seconds: u64 },
}

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Progress(Progress),
    Failed(String),
    Ends(Box<Analysis>),
}

/// Finds all causes, in a process of its own: whatever the program does to it, we are still there.
pub fn causes<E: Executor>(
    executor: &mut E,
    request: &Request<'_>,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Analysis, CausesError> {
    let started = Instant::now();
    let mut work: Apart<Message> = Apart::start(executor, |executor, stop, send| {
        let judge = match Judge::silent(request.rules) {
            Ok(judge) => judge,
            Err(error) => return send(&Message::Failed(error.to_string())),
        };
        let told = &mut |progress| send(&Message::Progress(progress));
        let analysis = here(executor, judge, request, stop, told);
        send(&Message::Ends(Box::new(analysis)));
    })
    .map_err(CausesError::Fork)?;
    loop {
        match work.receive(TICK) {
            Received::Message(Message::Progress(now)) => progress(now),
            Received::Message(Message::Ends(analysis)) => return Ok(*analysis),
            Received::Message(Message::Failed(reason)) => {
                return Err(CausesError::Output(std::io::Error::other(reason)));
            }
            Received::Ended { signal } => return Err(CausesError::Killed { signal }),
            Received::Nothing => {}
        }
        if interrupted.load(std::sync::atomic::Ordering::Relaxed) {
            work.stop();
        }
        if started.elapsed() > request.budget.time + GRACE {
            return Err(CausesError::Stuck { seconds: started.elapsed().as_secs() });
        }
    }
}

/// The same in this process, whose output has been sent away.
pub fn here<E: Executor>(
    executor: &mut E,
    mut judge: Judge,
    request: &Request<'_>,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Analysis {
    let started = Instant::now();
    let mut summary = Summary::default();
    let mut words = Words::default();
    let mut pairs = Pairs::default();
    let inputs = match asks_for_values(executor, &mut judge, request.input) {
        true => request.budget.inputs.max(1),
        false => 1,
    };
    for number in 0..inputs {
        let input = input_of(request.input, number);
        let share = request.budget.time / inputs * (number + 1);
        let effort = Effort {
            until: started + share,
            classes: request.budget.classes,
            samples: request.budget.samples,
        };
        let mut gatherer = Gatherer {
            executor: &mut *executor,
            judge: &mut judge,
            input: &input,
            words: &mut words,
            pairs: &mut pairs,
            interrupted,
            progress: &mut |passing, failing| progress(Progress::Exploring { passing, failing }),
        };
        let mut gathered = gatherer.gather(&effort);
        summary.notes.extend(gathered.set_sequential_aside());
        let is_one_of_many =
            gathered.asks_for_values && matches!(request.input.nondet, Nondet::Seed(_));
        summary.count(&gatherer, &gathered);
        if gathered.exhausted {
            let enumerated = enumerate(gatherer.pairs, &gatherer.words.keys, &gathered, &effort);
            summary.add(&mut gatherer, &gathered, enumerated);
        } else {
            summary.sample(&mut gatherer, &gathered, request, &effort);
        }
        if !is_one_of_many || interrupted.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
    }
    summary.finish(request, started.elapsed())
}

/// Whether two sets of orders are between the same events.
fn is_same(one: &[CausalOrder], other: &[CausalOrder]) -> bool {
    let keys = |order: &CausalOrder| (order.first.key.clone(), order.second.key.clone());
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| keys(a) == keys(b))
}

/// Whether the program asks for values that we may choose.
fn asks_for_values<E: Executor>(executor: &mut E, judge: &mut Judge, input: &Input) -> bool {
    if !matches!(input.nondet, Nondet::Seed(_)) {
        return false;
    }
    let want = Want::only(Detail::Outcome);
    let mut run = executor.run(input, &VisibleSet::default(), &mut Random::new(0), want);
    // Its output is not the next run's.
    judge.judge(&mut run);
    !run.nondet.is_empty()
}

/// Input number `number`: as given, then with other nondeterministic values.
fn input_of(input: &Input, number: u32) -> Input {
    let mut input = input.clone();
    if let Nondet::Seed(seed) = input.nondet
        && number > 0
    {
        input.nondet = Nondet::Seed(Rng::derive(seed, u64::from(number)));
    }
    input
}

/// What several inputs showed.
#[derive(Default)]
struct Summary {
    bugs: Vec<CausedBug>,
    /// By bug.
    runs: Vec<Run>,
    visible: VisibleSet,
    passing: Vec<u64>,
    causes: Vec<Worded>,
    stacks: Vec<EventStack>,
    extent: Extent,
    inputs: u64,
    /// Inputs with which everything fails.
    sequential: u64,
    iterations: u64,
    untold: usize,
    unlooked: usize,
    notes: Vec<String>,
}

impl Summary {
    fn count<E>(&mut self, gatherer: &Gatherer<'_, E>, gathered: &Gathered) {
        let extent = &mut self.extent;
        extent.complete = gathered.is_complete() && (self.inputs == 0 || extent.complete);
        extent.schedules += gathered.schedules;
        extent.passing += gathered.passing.len() as u64;
        extent.failing += gathered.failing.len() as u64;
        extent.max_steps = gatherer.input.limits.max_steps;
        extent.most_events = extent.most_events.max(gathered.most_events);
        extent.fixed_inputs |= gathered.asks_for_values;
        for what in &gathered.left_out {
            if !extent.left_out.contains(what) {
                extent.left_out.push(what.clone());
            }
        }
        if self.inputs == 0 {
            self.visible = gathered.visible.clone();
            if gathered.exhausted {
                self.passing = gathered.passing.iter().map(|member| member.course.class).collect();
            }
        }
        self.inputs += 1;
        self.sequential += u64::from(gathered.passing.is_empty() && !gathered.failing.is_empty());
    }

    /// Adds causes that were diagnosed one by one.
    fn sample<E: Executor>(
        &mut self,
        gatherer: &mut Gatherer<'_, E>,
        gathered: &Gathered,
        request: &Request<'_>,
        effort: &Effort,
    ) {
        if gathered.passing.is_empty() {
            return self.add(gatherer, gathered, Enumerated::default());
        }
        let found = find_failures(gatherer, gathered, request.rules, effort);
        let visible = &gathered.visible;
        let (diagnosed, left) = diagnose_each(
            gatherer,
            gathered,
            found,
            request.rules,
            effort,
            request.program,
            |gatherer, course| schedule(course, &gatherer.words.keys, visible),
        );
        self.add(gatherer, gathered, Enumerated { left, ..Enumerated::default() });
        for Diagnosed { mut worded, stacks, run } in diagnosed {
            let Some(failure) = run.outcome.failure() else { continue };
            let id = failure.id();
            let index = self.bugs.iter().position(|bug| bug.id == id);
            let index = index.unwrap_or_else(|| {
                self.bugs.push(CausedBug {
                    id,
                    failure: failure.clone(),
                    classes: 1,
                    schedule: run.schedule.clone(),
                    trace: None,
                });
                self.extent.failing += 1;
                self.bugs.len() - 1
            });
            if index == self.runs.len() {
                self.runs.push(run);
            }
            worded.bugs.push(index);
            self.iterations += 1;
            self.causes.push(worded);
            self.stacks.extend(stacks);
        }
    }

    fn add<E: Executor>(
        &mut self,
        gatherer: &mut Gatherer<'_, E>,
        gathered: &Gathered,
        enumerated: Enumerated,
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
            let Some(run) = schedule.map(|schedule| teller.run(&schedule)) else { continue };
            match self.runs.get_mut(bug) {
                Some(known) => *known = run,
                None => self.runs.push(run),
            }
        }
        for found in &enumerated.found {
            self.tell(&mut teller, gathered, found, &bug_of);
        }
    }

    /// The number of a run's failure. The simplest schedule of each is kept, also in `simplest` if it is new.
    fn bug<E: Executor>(
        &mut self,
        failing: &FailingMember,
        teller: &Teller<'_, '_, E>,
        simplest: &mut Vec<Option<Schedule>>,
    ) -> usize {
        let id: BugId = failing.failure.id();
        let course = &failing.member.course;
        let index = self.bugs.iter().position(|bug| bug.id == id).unwrap_or(self.bugs.len());
        let known = self.bugs.get_mut(index);
        let is_simpler =
            known.as_ref().is_none_or(|bug| course.switches() < bug.schedule.context_switches());
        if is_simpler {
            simplest.resize(simplest.len().max(index + 1), None);
            simplest[index] = Some(teller.schedule(course));
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
                schedule: teller.schedule(course),
                trace: None,
            }),
        }
        index
    }

    fn tell<E: Executor>(
        &mut self,
        teller: &mut Teller<'_, '_, E>,
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
        let words = unravel_diagnose::describe(&failing.failure, &orders, &seen.trace);
        // Another input may have shown the same.
        let is_known = |known: &Worded| is_same(&known.cause.orders, &orders);
        if let Some(known) = self.causes.iter_mut().find(|known| is_known(known)) {
            known.cause.blocks += found.blocks.len() as u64;
            return;
        }
        let mut bugs: Vec<usize> = found.blocks.iter().map(|index| bug_of[*index]).collect();
        bugs.sort_unstable();
        bugs.dedup();
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
        });
    }

    fn finish(mut self, request: &Request<'_>, elapsed: Duration) -> Analysis {
        let iterations = self.iterations;
        let told = self.causes.len();
        let mean = |sum: u64| if told == 0 { 0.0 } else { sum as f64 / told as f64 };
        let constraints = mean(self.causes.iter().map(|w| w.cause.constraints).sum());
        let core = mean(self.causes.iter().map(|w| w.cause.orders.len() as u64).sum());
        let classes = classes(std::mem::take(&mut self.causes));
        let unique = unique(&classes);
        let verdict = if self.bugs.is_empty() {
            CausesVerdict::NothingFails
        } else if self.sequential == self.inputs && !self.races_only() {
            CausesVerdict::Sequential
        } else {
            CausesVerdict::Concurrent
        };
        self.extent.inputs = self.inputs;
        self.note_gaps(verdict);
        self.stacks.sort_by(|a, b| a.key.cmp(&b.key));
        self.stacks.dedup_by(|a, b| a.key == b.key);
        Analysis {
            causes: Causes {
                program: request.program.to_owned(),
                command: request.command.clone(),
                bugs: self.bugs,
                verdict,
                counts: CauseCounts { iterations, constraints, core, unique: unique.len() as u64 },
                classes,
                unique,
                extent: self.extent,
                notes: self.notes,
                elapsed,
            },
            stacks: self.stacks,
            runs: self.runs,
            visible: self.visible,
            passing: self.passing,
        }
    }

    /// A race needs no particular order: it is there whatever the schedule, and still no sequential bug.
    fn races_only(&self) -> bool {
        self.bugs.iter().all(|bug| bug.id.kind == FailureKind::DataRace)
    }

    fn note_gaps(&mut self, verdict: CausesVerdict) {
        if verdict == CausesVerdict::Concurrent && self.sequential == self.inputs {
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
            self.extent.complete = false;
            self.extent
                .left_out
                .push(format!("{} failing classes that no cause accounts for", self.unlooked));
        }
        if verdict == CausesVerdict::Concurrent && self.sequential > 0 && !self.races_only() {
            self.notes.push(format!(
                "with {} of {} inputs every schedule fails: that is no bug of concurrency",
                self.sequential, self.inputs
            ));
        }
    }
}
