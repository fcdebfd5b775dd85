//! Trace files of format 7, which are read and converted, in the manner of [`super::version5`].
//!
//! Format 8 knows whether mutexes may be unlocked by whoever does not hold them. Before, that was always a failure.

use serde::Deserialize;
use unravel_trace::{Forced, Nondet, Rules, Run, Uninit};

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
struct Input {
    args: Vec<String>,
    stdin: Option<Vec<u8>>,
    nondet: Nondet,
    limits: Limits,
    forced: Vec<Forced>,
    stubs: Vec<String>,
}

#[derive(Deserialize)]
struct Limits {
    max_steps: u64,
    malloc_fails: u32,
    uninit: Uninit,
}

impl From<TraceFile> for crate::TraceFile {
    fn from(old: TraceFile) -> crate::TraceFile {
        let TraceFile { program, input, rules, strategy, seed, engine, run } = old;
        crate::TraceFile { program, input: input.into(), rules, strategy, seed, engine, run }
    }
}

impl From<Input> for unravel_trace::Input {
    fn from(old: Input) -> unravel_trace::Input {
        let Input { args, stdin, nondet, limits, forced, stubs } = old;
        let Limits { max_steps, malloc_fails, uninit } = limits;
        let limits =
            unravel_trace::Limits { max_steps, malloc_fails, uninit, lenient_locks: false };
        unravel_trace::Input { args, stdin, nondet, limits, forced, stubs }
    }
}
