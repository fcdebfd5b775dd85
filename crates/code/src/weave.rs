//! A repair applied *virtually*: measures woven into a lowered program, without any edit of its source.
//!
//! A measure is about a [`Span`] of source. An instruction is inside of it if its debug location is, or that of a call
//! that it was inlined at; so "inside" is a property of a frame, and stays with it while it calls others. Every edge of
//! the control flow that leads into the span gets what entering means, every edge and every return that leads out what
//! leaving means, as edge profiling instruments code (Ball & Larus, *Optimally profiling and tracing programs*, POPL
//! 1992). So every path through a body enters and leaves in turn. What is woven in are calls of library functions that
//! the VM models: `pthread_mutex_lock` of a mutex called "repair lock 1" is what a patch would write, and whoever
//! explores, watches for races or records needs to know nothing of measures.
//!
//! Where several measures begin or end on one edge, all that ends does so first. Flags lie outside of locks, locks with
//! small numbers outside of those with large ones, and atomic sections inside of all. Spans of one lock that overlap are
//! held as one; spans that only touch are left and entered again.
//!
//! *Not modelled*: an exception or a `longjmp` that takes a frame away leaves its locks held, and so does a thread that
//! ends itself inside of a span; a `longjmp` back into a frame counts as no edge. A patch without clean-up handlers would
//! behave the same, so this errs on the side of deadlocks. Calls of an inlined function with nothing between them
//! are inside of its spans without a break. Of what was compiled without columns, a span that begins within a line
//! misses the rest of that line.

mod body;
mod guard;
mod inside;
mod objects;

use crate::{Function, Program};
use body::BodyWeaver;
use inside::Inside;
use objects::Objects;

/// The modelled function that raises the flag at its argument. No C library has it.
pub const RAISE: &str = "__unravel_raise";
/// The modelled function that waits until the flag at its argument is raised.
pub const AWAIT: &str = "__unravel_await";

/// A stretch of source: from one place (inclusive) to another (exclusive), 1-based line and column, as debug
/// information has them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    /// As [`unravel_trace::Place::file`] has it.
    pub file: String,
    pub from: (u32, u32),
    pub to: (u32, u32),
}

/// What a repair does at one stretch of source.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Measure {
    /// The lock with this number is held while a thread is inside of the span. It is no recursive one.
    Hold { lock: u32, span: Span },
    /// The flag with this number is raised, and stays so, whenever a thread leaves the span.
    Raise { flag: u32, span: Span },
    /// Nobody enters the span before the flag is raised.
    Await { flag: u32, span: Span },
    /// The span is one indivisible step, as between `__VERIFIER_atomic_begin` and `__VERIFIER_atomic_end`.
    Atomic { span: Span },
}

impl Measure {
    pub fn span(&self) -> &Span {
        match self {
            Measure::Hold { span, .. }
            | Measure::Raise { span, .. }
            | Measure::Await { span, .. }
            | Measure::Atomic { span } => span,
        }
    }
}

/// Why measures cannot be woven in.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WeaveError {
    #[error(
        "no code lies between {}:{}:{} and {}:{}",
        .span.file, .span.from.0, .span.from.1, .span.to.0, .span.to.1
    )]
    NoCode { span: Span },
    #[error(
        "'{function}' jumps to labels by address (`goto *`) both inside and outside of a measure's span, \
         so that what such a jump enters or leaves is not known"
    )]
    IndirectJump { function: String },
}

/// The same program with measures in force. Sites of the program keep their numbers; those of the measures
/// come behind them. It has another fingerprint: what was recorded of one is no trace of the other.
pub fn weave(program: &Program, measures: &[Measure]) -> Result<Program, WeaveError> {
    let guards = guard::guards(measures);
    let inside = Inside::new(program, measures);
    let mut woven = program.clone();
    let mut objects = Objects::default();
    let mut has_code = vec![false; measures.len()];
    for (index, Function { body, display_name, .. }) in program.functions.iter().enumerate() {
        let Some(body) = body else { continue };
        let spans = inside.spans_of(body);
        spans.iter().flatten().for_each(|measure| has_code[*measure] = true);
        if spans.iter().all(Vec::is_empty) {
            continue;
        }
        let weaver = BodyWeaver::new(&mut woven, &mut objects, &guards, body, &spans);
        let body = weaver
            .weave()
            .ok_or_else(|| WeaveError::IndirectJump { function: display_name.clone() })?;
        woven.functions[index].body = Some(body);
    }
    if let Some(without) = has_code.iter().position(|has_code| !has_code) {
        return Err(WeaveError::NoCode { span: measures[without].span().clone() });
    }
    woven.fingerprint ^= crate::fingerprint(format!("{measures:?}").as_bytes());
    Ok(woven)
}
