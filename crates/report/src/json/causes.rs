//! `unravel.causes/1`: every cause of a program's failures, up to a bound.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unravel_results as results;
use unravel_results::replay_command;

use super::diagnosis::Order;
use super::explanation::milliseconds;
use super::hunt::NeededInput;
use super::run::{Failure, Place, Segment, segments};
use super::{CAUSES, MEMORY_MODEL};
use crate::{FileNames, file_names, notes, words};

/// Every cause of a program's failures, up to a bound. Within version 1 fields are added, never changed or removed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Causes", title = "unravel.causes/1")]
pub struct CausesDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = CAUSES))]
    pub schema: String,
    /// The program's name, without directory and ending.
    pub program: String,
    /// The command that finds them again.
    pub command: String,
    /// What the executions assume of memory.
    pub memory_model: String,
    pub verdict: CausesVerdict,
    /// How far the exploration went.
    pub extent: Extent,
    /// The inputs that were tried, where the program asks for values that were not given: all that is said here holds for
    /// these. Else empty.
    pub inputs: Vec<TriedInput>,
    /// Distinct failures, those with the most failing classes of schedules first.
    pub bugs: Vec<CausedBug>,
    /// Causes whose orders are between the same lines are one class.
    pub classes: Vec<CauseClass>,
    /// The orders of all causes between lines, each once.
    pub unique_orders: Vec<LineOrder>,
    pub counts: CauseCounts,
    /// What the reader should know besides.
    pub notes: Vec<String>,
    /// How long it took, to the millisecond.
    pub seconds: f64,
}

/// An input that was tried, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TriedInput {
    /// In the order in which a run asked for them.
    pub values: Vec<NeededInput>,
    /// Classes of schedules that pass with it.
    pub passing: u64,
    /// Classes of schedules that fail with it.
    pub failing: u64,
    /// Whether all classes of schedules were executed with it.
    pub complete: bool,
    /// Whether every schedule fails with it: then no order of events is the cause.
    pub every_schedule_fails: bool,
}

/// Whether there is anything to find causes of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CausesVerdict {
    /// No schedule failed.
    NothingFails,
    /// Every schedule failed, of the inputs with which any did: the order of events has nothing to do with it.
    Sequential,
    /// Some schedules fail and others pass.
    Concurrent,
}

/// How far an exploration went, and what it rests on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Extent {
    /// Whether all classes of schedules were executed, of the inputs that were tried; if not, `left_out` says why.
    pub complete: bool,
    /// Schedules executed.
    pub schedules: u64,
    /// Classes of schedules that pass.
    pub passing: u64,
    /// Classes of schedules that fail.
    pub failing: u64,
    /// The bound: instructions that a run may take.
    pub max_steps: u64,
    /// Events of the run that had most.
    pub most_events: u64,
    /// Whether nondeterministic values were fixed: other inputs were not looked at.
    pub fixed_inputs: bool,
    /// The environment deviated so often at most from what an ordinary system does (a wait that wakes or times out early, a
    /// thread that is late, …).
    pub deviations: u32,
    /// Whether it could have deviated more often: such runs were not looked at.
    pub could_deviate: bool,
    /// What was not explored, in words.
    pub left_out: Vec<String>,
}

/// A failure, and how many classes of schedules end in it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CausedBug {
    /// What makes two failures the same bug, in words: `assertion at bank.c:31`.
    pub bug: String,
    /// The failure of the run below.
    pub failure: Failure,
    /// Classes of schedules that fail so.
    pub failing_classes: u64,
    /// The inputs with which it was seen, as indices of `inputs`.
    pub inputs: Vec<u64>,
    /// A schedule that fails so, with the fewest context switches of those that were seen.
    pub schedule: Vec<Segment>,
    /// Its trace file, if one was written.
    pub trace: Option<String>,
    /// The command that makes the failure happen again; null without a trace file.
    pub replay: Option<String>,
}

/// Causes that are the same for a reader: their orders are between the same lines.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CauseClass {
    /// The kind of concurrency bug. More may be added.
    #[schemars(extend("examples" = [
        "lost-update", "atomicity-violation", "order-violation", "deadlock", "lost-wake-up", "compound"
    ]))]
    pub pattern: String,
    /// What happens, in one sentence.
    pub sentence: String,
    /// What should hold instead.
    pub advice: String,
    /// The same lines, each time with other threads or occurrences; the first is the simplest.
    pub causes: Vec<Cause>,
    /// What each thread must be kept from being interrupted in, in the first cause.
    pub regions: Vec<CauseRegion>,
    /// An earlier class with the same regions, as its index in `classes`; else null.
    pub same_regions_as: Option<u64>,
    /// The failures that these causes lead to, as indices of `bugs`.
    pub leads_to: Vec<u64>,
    /// The inputs with which they do, as indices of `inputs`.
    pub inputs: Vec<u64>,
}

/// A minimal set of orders; every passing schedule breaks one of them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// All of them together make a run fail. A witness keeps the other orders, reverses this one, and passes.
    pub orders: Vec<Order>,
    /// A schedule that keeps all of them, and fails.
    pub failing: Vec<Segment>,
    /// Orders between conflicting accesses of different threads in that schedule.
    pub constraints: u64,
    /// Failing classes of schedules that keep all orders and were not ruled out by an earlier cause.
    pub blocks: u64,
    /// Whether no order can be left out: each has a passing schedule that breaks it and no other.
    pub minimal: bool,
}

/// What one thread does in a cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CauseRegion {
    /// The thread's name.
    pub thread: String,
    /// Its first event in the cause.
    pub from: Place,
    /// Its last event in the cause.
    pub to: Place,
}

/// An order between source lines.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LineOrder {
    /// `file:line` of what comes first.
    pub first_line: String,
    /// `file:line` of what comes then.
    pub second_line: String,
    /// What both touch.
    pub object: String,
}

/// The columns of ConcBugAssist's table 5.2.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CauseCounts {
    /// Failing schedules that had to be ruled out until none was left.
    pub iterations: u64,
    /// Orders between conflicting accesses of different threads in a failing schedule, on average.
    pub orders_a_schedule: f64,
    /// Orders in a cause, on average.
    pub orders_a_cause: f64,
    /// Distinct orders between lines in all causes.
    pub unique: u64,
    /// `unique` divided by `orders_a_schedule`.
    pub reduction_ratio: f64,
}

impl From<&results::Causes> for CausesDocument {
    fn from(causes: &results::Causes) -> CausesDocument {
        let names = file_names::of_causes(causes);
        let lines = file_names::of_orders(causes);
        let unique = causes.unique.iter().map(|order| LineOrder {
            first_line: lines.line(&order.first),
            second_line: lines.line(&order.second),
            object: order.object.clone(),
        });
        CausesDocument {
            schema: CAUSES.to_owned(),
            program: causes.program.clone(),
            command: causes.command.clone(),
            memory_model: MEMORY_MODEL.to_owned(),
            verdict: match causes.verdict {
                results::CausesVerdict::NothingFails => CausesVerdict::NothingFails,
                results::CausesVerdict::Sequential => CausesVerdict::Sequential,
                results::CausesVerdict::Concurrent => CausesVerdict::Concurrent,
            },
            extent: (&causes.extent).into(),
            inputs: causes.inputs.iter().map(TriedInput::from).collect(),
            bugs: causes.bugs.iter().map(|bug| CausedBug::of(bug, causes, &names)).collect(),
            classes: causes.classes.iter().map(|class| CauseClass::of(class, causes)).collect(),
            unique_orders: unique.collect(),
            counts: (&causes.counts).into(),
            notes: causes.notes.clone(),
            seconds: milliseconds(causes.elapsed),
        }
    }
}

impl From<&results::Extent> for Extent {
    fn from(extent: &results::Extent) -> Extent {
        Extent {
            complete: extent.is_complete(),
            schedules: extent.schedules,
            passing: extent.passing,
            failing: extent.failing,
            max_steps: extent.max_steps,
            most_events: extent.most_events,
            fixed_inputs: extent.fixed_inputs,
            deviations: extent.deviations,
            could_deviate: extent.could_deviate,
            left_out: notes::all_left_out(&extent.left_out),
        }
    }
}

impl From<&results::TriedInput> for TriedInput {
    fn from(tried: &results::TriedInput) -> TriedInput {
        TriedInput {
            values: tried.values.iter().map(NeededInput::from).collect(),
            passing: tried.passing,
            failing: tried.failing,
            complete: tried.complete,
            every_schedule_fails: tried.sequential,
        }
    }
}

/// Numbers of inputs; none where there is nothing to say of them.
fn numbers(inputs: &[usize], causes: &results::Causes) -> Vec<u64> {
    let known = inputs.iter().filter(|number| **number < causes.inputs.len());
    known.map(|number| *number as u64).collect()
}

impl CausedBug {
    fn of(bug: &results::CausedBug, causes: &results::Causes, names: &FileNames) -> CausedBug {
        CausedBug {
            bug: names.bug(&bug.id),
            failure: Failure::of(&bug.failure, names),
            failing_classes: bug.classes,
            inputs: numbers(&bug.inputs, causes),
            schedule: segments(&bug.schedule),
            trace: bug.trace.clone(),
            replay: bug.trace.as_deref().map(replay_command),
        }
    }
}

impl CauseClass {
    pub(super) fn of(class: &results::CauseClass, causes: &results::Causes) -> CauseClass {
        let region = |region: &results::CauseRegion| CauseRegion {
            thread: region.thread.to_string(),
            from: (&region.from).into(),
            to: (&region.to).into(),
        };
        CauseClass {
            pattern: words::pattern_name(class.pattern),
            sentence: class.sentence.clone(),
            advice: class.advice.clone(),
            causes: class.causes.iter().map(Cause::from).collect(),
            regions: class.regions.iter().map(region).collect(),
            same_regions_as: class.same_regions_as.map(|index| index as u64),
            leads_to: class.bugs.iter().map(|index| *index as u64).collect(),
            inputs: numbers(&class.inputs, causes),
        }
    }
}

impl From<&results::Cause> for Cause {
    fn from(cause: &results::Cause) -> Cause {
        Cause {
            orders: cause.orders.iter().map(Order::from).collect(),
            failing: segments(&cause.failing),
            constraints: cause.constraints,
            blocks: cause.blocks,
            minimal: cause.minimal,
        }
    }
}

impl From<&results::CauseCounts> for CauseCounts {
    fn from(counts: &results::CauseCounts) -> CauseCounts {
        CauseCounts {
            iterations: counts.iterations,
            orders_a_schedule: thousandths(counts.constraints),
            orders_a_cause: thousandths(counts.core),
            unique: counts.unique,
            reduction_ratio: thousandths(counts.reduction()),
        }
    }
}

/// More digits would mean nothing, and not every reader keeps them.
fn thousandths(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
