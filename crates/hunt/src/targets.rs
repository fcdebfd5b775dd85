//! What could go wrong in a combination of threads: every assertion it passes, every pointer it follows, every object it
//! uses, every lock it waits for.
//!
//! After Cortex (thesis §5.2.2.1), which asks about assertions. A target is a way to fail, as a constraint over the steps that
//! are there: the bug of a cut trace ([`crate::cut`]).
//!
//! - *Assertions*: conditions whose other side can only fail ([`Otherwise::Fails`]).
//! - *Memory*: an address that was kept could be null or outside of its object; an object could be dead.
//! - *Deadlocks*: cycles of locks held and wanted, by threads that share no other lock; waits that nobody ends.
//!
//! *Not modelled*: failures on paths that nobody took (those are what flipping branches is for), barriers that are not
//! reached, data races, and where only the output is wrong.

mod deadlocks;

use unravel_trace::{
    BinaryOp, Bug, Combined, CompareOp, Condition, ConditionKind, ExprId, Exprs, Node, Object,
    Otherwise, SiteId, ThreadId,
};

use crate::budgets::{MOST_AT_A_PLACE, MOST_MEETINGS};
use crate::cut::Failing;
use crate::values::Values;

/// Addresses below this are null, or a member of null.
const NULL_PAGE: u128 = 4096;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Aim {
    Assertion,
    UseAfterFree,
    Null,
    OutOfBounds,
    ExitCode,
    Deadlock,
    /// A wait that nobody ends.
    Forgotten,
    /// No failure: a branch that goes the other way.
    Flip,
    /// Any of these, in a trace whose addresses may be others.
    Guess,
}

/// One way to fail.
#[derive(Clone, Debug)]
pub struct Target {
    pub aim: Aim,
    pub thread: ThreadId,
    pub site: SiteId,
    /// How often the thread comes to this place again after it.
    pub later: usize,
    pub failing: Failing,
}

/// All targets of a combination.
#[derive(Debug)]
pub struct Targets {
    pub targets: Vec<Target>,
    /// The expressions of the combination, and those of the targets.
    pub exprs: Exprs,
    /// Targets that no value in memory could reach: never asked.
    pub refuted: u64,
    /// Places with more occurrences than are asked about.
    pub left_out: u64,
}

/// Targets of a combination, assertions first.
pub fn targets(combined: &Combined, values: &Values, exit_code: bool) -> Targets {
    let mut found = Found {
        combined,
        values,
        targets: Targets {
            targets: Vec::new(),
            exprs: combined.symbolic.exprs.clone(),
            refuted: 0,
            left_out: 0,
        },
    };
    for (index, condition) in combined.symbolic.conditions.iter().enumerate() {
        match (condition.otherwise, condition.why) {
            (Otherwise::Fails, ConditionKind::Alive) => found.negated(index, Aim::UseAfterFree),
            (Otherwise::Fails, _) => found.negated(index, Aim::Assertion),
            (Otherwise::Exits, _) if exit_code => found.negated(index, Aim::ExitCode),
            (_, ConditionKind::Address) => found.addresses(index),
            _ => {}
        }
    }
    found.thin_out();
    if let Bug::Reached { thread, after } = combined.symbolic.bug {
        let site = combined.trace.events[after as usize].site;
        let last = vec![(thread, Some(after))];
        let failing = Failing {
            last,
            from_condition: None,
            other_answer: None,
            relaxed: false,
            bug: combined.symbolic.bug.clone(),
        };
        found.targets.targets.push(Target { aim: Aim::Assertion, thread, site, later: 0, failing });
    }
    let Found { mut targets, .. } = found;
    let (deadlocks, left_out) = deadlocks::deadlocks(combined);
    targets.targets.extend(deadlocks);
    targets.left_out += left_out;
    // Of a loop its end comes first, in every thread: whatever the others do can have happened by then.
    targets.targets.sort_by_key(|target| (target.aim, target.later));
    targets
}

/// The target that a condition does not hold; `None` if no value in memory makes it so.
pub fn flip(combined: &Combined, values: &Values, condition: usize) -> Option<(Target, Exprs)> {
    let exprs = combined.symbolic.exprs.clone();
    let targets = Targets { targets: Vec::new(), exprs, refuted: 0, left_out: 0 };
    let mut found = Found { combined, values, targets };
    found.negated(condition, Aim::Flip);
    let Targets { mut targets, exprs, .. } = found.targets;
    Some((targets.pop()?, exprs))
}

/// The target that an address is one that another thread uses in the same object; `None` if it is no address, or none is.
pub fn meet(combined: &Combined, values: &Values, condition: usize) -> Option<(Target, Exprs)> {
    let Condition { holds, thread, .. } = combined.symbolic.conditions[condition];
    let mut exprs = combined.symbolic.exprs.clone();
    let (address, value) = kept_value(&exprs, holds)?;
    let object = combined.trace.objects.iter().find(|object| contains(object, value))?;
    let mut others: Vec<u64> = Vec::new();
    for (event, shadow) in combined.trace.events.iter().zip(&combined.symbolic.shadows) {
        let first = shadow.first as usize;
        let accesses =
            &combined.symbolic.accesses[first..first + (shadow.reads + shadow.writes) as usize];
        for access in accesses.iter().filter(|_| event.thread != thread) {
            let at = access.address;
            let new = u128::from(at) != value && !others.contains(&at);
            if new && contains(object, u128::from(at)) && others.len() < MOST_MEETINGS {
                others.push(at);
            }
        }
    }
    let bits = exprs.bits(address);
    let meetings = others.iter().map(|at| {
        let at = exprs.constant(u128::from(*at), bits);
        exprs.compare(CompareOp::Eq, address, at)
    });
    let meetings: Vec<ExprId> = meetings.collect();
    let any = meetings.into_iter().reduce(|a, b| exprs.binary(BinaryOp::Or, a, b))?;
    let targets = Targets { targets: Vec::new(), exprs, refuted: 0, left_out: 0 };
    let mut found = Found { combined, values, targets };
    found.add(condition, Aim::Flip, any);
    let Targets { mut targets, exprs, .. } = found.targets;
    Some((targets.pop()?, exprs))
}

/// The expression that a condition keeps at a value, and the value.
fn kept_value(exprs: &Exprs, holds: ExprId) -> Option<(ExprId, u128)> {
    let Node::Compare(CompareOp::Eq, a, b) = exprs.node(holds) else { return None };
    match (exprs.as_const(a), exprs.as_const(b)) {
        (None, Some(value)) => Some((a, value)),
        (Some(value), None) => Some((b, value)),
        _ => None,
    }
}

fn contains(object: &Object, address: u128) -> bool {
    let start = u128::from(object.address);
    (start..start + u128::from(object.bytes)).contains(&address)
}

/// The target that a trylock, or who is first, has the other answer.
pub fn other_answer(combined: &Combined, event: u32) -> Target {
    let (thread, site) = {
        let event = &combined.trace.events[event as usize];
        (event.thread, event.site)
    };
    let conditions = &combined.symbolic.conditions;
    let later = conditions.iter().position(|c| c.thread == thread && c.after >= event);
    Target {
        aim: Aim::Flip,
        thread,
        site,
        later: 0,
        failing: Failing {
            last: vec![(thread, Some(event))],
            from_condition: later.map(|index| (thread, index)),
            other_answer: Some(event),
            relaxed: false,
            bug: Bug::Reached { thread, after: event },
        },
    }
}

struct Found<'a> {
    combined: &'a Combined,
    values: &'a Values,
    targets: Targets,
}

impl Found<'_> {
    /// A condition does not hold.
    fn negated(&mut self, condition: usize, aim: Aim) {
        let holds = self.combined.symbolic.conditions[condition].holds;
        let fails = self.targets.exprs.not(holds);
        self.add(condition, aim, fails);
    }

    /// An address that was kept at its value is null, or outside of the object it was in.
    fn addresses(&mut self, condition: usize) {
        let exprs = &mut self.targets.exprs;
        let holds = self.combined.symbolic.conditions[condition].holds;
        let Some((address, value)) = kept_value(exprs, holds) else { return };
        let bits = exprs.bits(address);
        if bits != 64 {
            return;
        }
        let page = exprs.constant(NULL_PAGE, bits);
        let null = exprs.compare(CompareOp::Ult, address, page);
        self.add(condition, Aim::Null, null);
        let mut objects = self.combined.trace.objects.iter();
        let Some(object) = objects.find(|object| contains(object, value)) else { return };
        let exprs = &mut self.targets.exprs;
        let start = exprs.constant(u128::from(object.address), bits);
        let end = exprs.constant(u128::from(object.address + object.bytes), bits);
        let page = exprs.constant(NULL_PAGE, bits);
        let below = exprs.compare(CompareOp::Ult, address, start);
        let above = exprs.compare(CompareOp::Ule, end, address);
        let not_null = exprs.compare(CompareOp::Ule, page, address);
        let either = exprs.binary(BinaryOp::Or, below, above);
        let outside = exprs.and(either, not_null);
        self.add(condition, Aim::OutOfBounds, outside);
    }

    fn add(&mut self, index: usize, aim: Aim, fails: ExprId) {
        let condition = &self.combined.symbolic.conditions[index];
        if !self.values.may_hold(&self.targets.exprs, fails) {
            self.targets.refuted += 1;
            return;
        }
        let (thread, after) = (condition.thread, condition.after);
        self.targets.targets.push(Target {
            aim,
            thread,
            site: condition.site,
            later: 0,
            failing: Failing {
                last: vec![(thread, Some(after))],
                from_condition: Some((thread, index)),
                other_answer: None,
                relaxed: false,
                bug: Bug::Condition { thread, after, fails },
            },
        });
    }

    /// Keeps the last occurrences of each place: loops assert the same again and again.
    fn thin_out(&mut self) {
        let mut seen: rustc_hash::FxHashMap<(Aim, ThreadId, SiteId), usize> = Default::default();
        let mut kept = Vec::new();
        for mut target in std::mem::take(&mut self.targets.targets).into_iter().rev() {
            let count = seen.entry((target.aim, target.thread, target.site)).or_default();
            target.later = *count;
            *count += 1;
            if *count <= MOST_AT_A_PLACE {
                kept.push(target);
            } else {
                self.targets.left_out += 1;
            }
        }
        kept.reverse();
        self.targets.targets = kept;
    }
}
