//! Trace files of format 6, which are read and converted, in the manner of [`super::version5`].
//!
//! Format 7 knows where the environment deviated from what an ordinary system does, and what uninitialised memory held.
//! Before, waits could be made to wake spuriously or time out early in all runs; what came of that is not converted, so that
//! such a run, if anybody has one, does not fit when it is replayed, which is said then.

use serde::Deserialize;
use unravel_trace::{Nondet, Note, Outcome, Rules, Schedule, Symbolic, Trace, Uninit, VisibleSet};

use crate::ProgramRef;

#[derive(Deserialize)]
pub(super) struct TraceFile {
    program: ProgramRef,
    input: Input,
    rules: Rules,
    strategy: String,
    seed: Option<u64>,
    engine: String,
    run: Run,
}

#[derive(Deserialize)]
pub(super) struct Input {
    args: Vec<String>,
    stdin: Option<Vec<u8>>,
    nondet: Nondet,
    limits: Limits,
}

#[derive(Deserialize)]
struct Limits {
    max_steps: u64,
    _spurious_wakes: bool,
    _early_timeouts: bool,
}

#[derive(Deserialize)]
struct Run {
    trace: Trace,
    schedule: Schedule,
    outcome: Outcome,
    steps: u64,
    learned: VisibleSet,
    nondet: Vec<u64>,
    notes: Vec<Note>,
    symbolic: Option<Box<Symbolic>>,
}

impl From<TraceFile> for crate::TraceFile {
    fn from(old: TraceFile) -> crate::TraceFile {
        let TraceFile { program, input, rules, strategy, seed, engine, run } = old;
        let (input, run) = (input.into(), run.into());
        crate::TraceFile { program, input, rules, strategy, seed, engine, run }
    }
}

impl From<Input> for unravel_trace::Input {
    fn from(old: Input) -> unravel_trace::Input {
        let Input { args, stdin, nondet, limits } = old;
        // Memory came zeroed then.
        let uninit = Uninit { pattern: 0, ..Uninit::default() };
        let limits = unravel_trace::Limits {
            max_steps: limits.max_steps,
            uninit,
            ..unravel_trace::Limits::default()
        };
        unravel_trace::Input { args, stdin, nondet, limits, ..unravel_trace::Input::default() }
    }
}

impl From<Run> for unravel_trace::Run {
    fn from(old: Run) -> unravel_trace::Run {
        let Run { trace, schedule, outcome, steps, learned, nondet, notes, symbolic } = old;
        unravel_trace::Run {
            trace,
            schedule,
            outcome,
            steps,
            learned,
            nondet,
            notes,
            symbolic,
            ..unravel_trace::Run::default()
        }
    }
}
