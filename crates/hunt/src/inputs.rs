//! Inputs worth looking at: a few that take the branches that depend on inputs both ways, and those that made runs fail.
//!
//! A hunt comes across inputs: it draws some, and the solver finds others that turn a branch or break an assertion, which
//! are executed. Of these as few are taken as go every way that was seen. So `causes` and `repair` see what `hunt` sees;
//! ConcBugAssist has its model checker choose an input with each failing schedule (design §10: φ_in).
//!
//! Which branches depend on inputs is asked of data flow through memory, whenever it is written: errs on the side of
//! "depends", and so of more inputs. *Not covered*: values that decide no branch (the index of an array), branches behind
//! the bounds of the hunt. So these are examples, and nothing that holds for them is proved for all.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rustc_hash::FxHashSet;
use unravel_execute::Replay;
use unravel_results::InputValue;
use unravel_solve::Heeding;
use unravel_strategies::Production;
use unravel_trace::{
    Executor, Exprs, Input, InputCell, Nondet, SiteId, SymbolId, Symbolic, ThreadId, ThreadTrace,
    combine,
};

use crate::collect::turns;
use crate::execute::Performed;
use crate::hunt::{HereError, Searched, Task, search};

/// How many inputs are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Few {
    pub most: usize,
    /// So many even if fewer go every way: drawn ones.
    pub least: usize,
}

/// An input, written out by thread, so that it is the same whatever the schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownInput {
    pub input: Input,
    pub values: Vec<InputValue>,
}

/// A branch, and the way it goes.
type Side = (SiteId, u32);

/// An input with the sides of branches that it took.
#[derive(Clone, Debug)]
struct Seen {
    known: KnownInput,
    sides: FxHashSet<Side>,
}

/// The task's own input, and others that were found on a hunt within the task's time. No more than one if the program
/// asks for none that could be another.
pub fn inputs(
    executor: &mut dyn Executor,
    request: &Task<'_>,
    few: Few,
    interrupted: &AtomicBool,
) -> Result<Vec<KnownInput>, HereError> {
    let deadline = Instant::now() + request.options.time;
    let solver = Heeding::new(request.options.solver.make(), interrupted);
    let mut solver = solver.until(Some(deadline));
    let searched = search(executor, request, &mut solver, deadline, interrupted, &mut |_| {})?;
    let Searched { mut stage, database, caught, .. } = searched;
    let own = stage.perform(request.input, &mut Production::new(0));
    let own = Seen::of(request.input, &own);
    let mut failing = Vec::new();
    for performed in std::mem::take(&mut stage.failed) {
        // What was learnt from has no symbols.
        let mut replay = Replay::new(&performed.run.schedule);
        let again = stage.perform(&performed.input, &mut replay);
        failing.push(Seen::of(request.input, &again));
    }
    failing.extend(caught.iter().map(|caught| Seen::of(request.input, &caught.performed)));
    let passing = database.runs().iter().filter_map(|run| {
        let traces: Option<Vec<_>> = run.threads.iter().map(|id| database.trace(*id)).collect();
        Some(Seen::of_traces(request.input, &traces?, &run.turns))
    });
    let passing: Vec<Seen> = passing.collect();
    if let Some(problem) = stage.lab.problem() {
        return Err(problem.clone().into());
    }
    Ok(choose(own, failing, passing, few))
}

impl Seen {
    fn of(given: &Input, performed: &Performed) -> Seen {
        let traces: Vec<&ThreadTrace> = performed.parts.iter().collect();
        let mut seen = Seen::of_traces(given, &traces, &turns(performed));
        if seen.known.values.is_empty() {
            // It could not be taken apart, or nobody asked.
            seen.known.values = performed.values();
            seen.known.input = performed.input.clone();
        }
        seen
    }

    fn of_traces(given: &Input, traces: &[&ThreadTrace], turns: &[ThreadId]) -> Seen {
        let mut cells: Vec<InputCell> = Vec::new();
        let mut sides = FxHashSet::default();
        if let Ok(combined) = combine(traces, turns) {
            sides = taken(&combined.symbolic, traces);
            cells = combined.symbolic.inputs;
        }
        let base = Input { nondet: Nondet::default(), ..given.clone() };
        let input = match cells.is_empty() {
            true => given.clone(),
            false => base.with_values(&cells, &|cell| cell.value),
        };
        let values = cells.iter().map(InputValue::from).collect();
        Seen { known: KnownInput { input, values }, sides }
    }

    /// How hard its values are to read.
    fn size(&self) -> u128 {
        self.known.values.iter().map(|value| u128::from(value.value.unsigned_abs())).sum()
    }
}

/// The given input, those that fail, and then those that go the most ways that none before went; easy ones first.
fn choose(own: Seen, failing: Vec<Seen>, passing: Vec<Seen>, few: Few) -> Vec<KnownInput> {
    if own.known.values.is_empty() && failing.iter().all(|seen| seen.known.values.is_empty()) {
        return vec![own.known];
    }
    let mut chosen = vec![own];
    let mut open: Vec<Seen> = Vec::new();
    let (failures, all) = (failing.len(), failing.into_iter().chain(passing));
    for (index, seen) in all.enumerate() {
        let is_same = |other: &Seen| other.known.values == seen.known.values;
        if chosen.iter().any(is_same) {
            continue;
        }
        if index < failures && chosen.len() < few.most {
            chosen.push(seen);
        } else {
            open.push(seen);
        }
    }
    open.sort_by_key(Seen::size);
    while chosen.len() < few.most {
        let covered: FxHashSet<Side> =
            chosen.iter().flat_map(|seen| seen.sides.iter().copied()).collect();
        let gain = |seen: &Seen| -> (usize, bool) {
            let new = seen.sides.difference(&covered).count();
            (new, !chosen.iter().any(|other| other.sides == seen.sides))
        };
        // The first of the best: `max_by_key` takes the last.
        let best = (0..open.len()).rev().max_by_key(|index| gain(&open[*index]));
        let Some(best) = best.filter(|best| gain(&open[*best]) != (0, false)) else { break };
        let best = open.remove(best);
        open.retain(|seen| seen.known.values != best.known.values);
        chosen.push(best);
    }
    for seen in open {
        let is_new = !chosen.iter().any(|other| other.known.values == seen.known.values);
        if chosen.len() < few.least && is_new {
            chosen.push(seen);
        }
    }
    chosen.into_iter().map(|seen| seen.known).collect()
}

/// The sides of branches that depend on inputs.
fn taken(symbolic: &Symbolic, traces: &[&ThreadTrace]) -> FxHashSet<Side> {
    let depends = from_inputs(symbolic);
    let mut sides = FxHashSet::default();
    for condition in &symbolic.conditions {
        let Some(branch) = condition.otherwise.branch() else { continue };
        let mut symbols = symbolic.exprs.symbols(condition.holds).into_iter();
        if !symbols.any(|symbol| depends.contains(&symbol)) {
            continue;
        }
        let trace = traces.iter().find(|trace| trace.thread == condition.thread);
        let way = trace.and_then(|trace| trace.path.get(branch as usize));
        sides.extend(way.map(|way| (condition.site, *way)));
    }
    sides
}

/// Reads whose value inputs may decide: of inputs, and of memory into which something was written that does.
fn from_inputs(symbolic: &Symbolic) -> FxHashSet<SymbolId> {
    let bytes = |address: u64, count: u8| address..address + u64::from(count);
    let mut tainted: FxHashSet<u64> =
        symbolic.inputs.iter().flat_map(|cell| bytes(cell.address, cell.bytes)).collect();
    let mut found: FxHashSet<SymbolId> = FxHashSet::default();
    let mut accesses: Vec<(u32, bool)> = Vec::new();
    for shadow in &symbolic.shadows {
        let writes = shadow.first + shadow.reads;
        accesses.extend((shadow.first..writes).map(|index| (index, false)));
        accesses.extend((writes..writes + shadow.writes).map(|index| (index, true)));
    }
    loop {
        let before = (tainted.len(), found.len());
        for (index, is_write) in &accesses {
            let access = &symbolic.accesses[*index as usize];
            if *is_write {
                if is_from(&symbolic.exprs, access.value, &found) {
                    tainted.extend(bytes(access.address, access.bytes));
                }
            } else if bytes(access.address, access.bytes).any(|at| tainted.contains(&at)) {
                found.insert(SymbolId(*index));
            }
        }
        if (tainted.len(), found.len()) == before {
            return found;
        }
    }
}

fn is_from(exprs: &Exprs, id: unravel_trace::ExprId, of: &FxHashSet<SymbolId>) -> bool {
    exprs.as_const(id).is_none() && exprs.symbols(id).iter().any(|symbol| of.contains(symbol))
}

#[cfg(test)]
mod tests {
    use unravel_trace::{Access, InputSource, Shadow, ThreadName, input_cell};

    use super::*;

    fn seen(value: i64, sides: &[u32]) -> Seen {
        let source = InputSource::Nondet { thread: ThreadName::main(), index: 0 };
        let nondet = Nondet::List(vec![value as u64]);
        Seen {
            known: KnownInput {
                input: Input { nondet, ..Input::default() },
                values: vec![InputValue { source, value }],
            },
            sides: sides.iter().map(|side| (SiteId(side / 2), side % 2)).collect(),
        }
    }

    fn chosen(own: Seen, failing: Vec<Seen>, passing: Vec<Seen>, few: Few) -> Vec<i64> {
        let all = choose(own, failing, passing, few);
        all.iter().map(|known| known.values[0].value).collect()
    }

    #[test]
    fn few_inputs_go_every_way_and_easy_ones_come_first() {
        let few = Few { most: 8, least: 0 };
        let passing = vec![seen(900, &[0, 3]), seen(-7, &[0, 3]), seen(5, &[0, 2]), seen(1, &[1])];
        assert_eq!(chosen(seen(33, &[0, 2]), vec![], passing, few), [33, 1, -7]);
    }

    #[test]
    fn an_input_that_fails_is_taken_whatever_way_it_goes() {
        let few = Few { most: 2, least: 0 };
        let (failing, passing) = (vec![seen(4711, &[0])], vec![seen(1, &[1])]);
        assert_eq!(chosen(seen(33, &[0]), failing, passing, few), [33, 4711]);
    }

    #[test]
    fn drawn_ones_fill_up_and_none_comes_twice() {
        let few = Few { most: 8, least: 3 };
        let passing = vec![seen(3, &[0]), seen(3, &[0]), seen(4, &[0]), seen(9, &[0])];
        assert_eq!(chosen(seen(33, &[0]), vec![], passing, few), [33, 3, 4]);
    }

    #[test]
    fn who_asks_for_nothing_has_one_input() {
        let mut own = seen(0, &[]);
        own.known.values.clear();
        let few = Few { most: 8, least: 3 };
        assert_eq!(choose(own.clone(), vec![], vec![own], few).len(), 1);
    }

    #[test]
    fn what_is_computed_of_an_input_and_stored_depends_on_it() {
        let what = InputSource::Nondet { thread: ThreadName::main(), index: 0 };
        let cell = input_cell(&what, ThreadId::MAIN);
        let mut symbolic = Symbolic {
            inputs: vec![InputCell { address: cell, bytes: 4, what, value: 7 }],
            ..Symbolic::default()
        };
        let input = symbolic.exprs.symbol(SymbolId(0), 32);
        let one = symbolic.exprs.constant(1, 32);
        let more = symbolic.exprs.binary(unravel_trace::BinaryOp::Add, input, one);
        let copy = symbolic.exprs.symbol(SymbolId(2), 32);
        let other = symbolic.exprs.symbol(SymbolId(3), 32);
        let accesses = [(cell, input, 1), (0x1000, more, 0), (0x1000, copy, 1), (0x2000, other, 1)];
        for (index, (address, value, reads)) in accesses.into_iter().enumerate() {
            symbolic.accesses.push(Access { address, bytes: 4, value });
            symbolic.shadows.push(Shadow { first: index as u32, reads, writes: 1 - reads });
        }
        let mut found: Vec<u32> = from_inputs(&symbolic).iter().map(|symbol| symbol.0).collect();
        found.sort_unstable();
        assert_eq!(found, [0, 2], "the input and its copy, but not the other memory");
    }
}
