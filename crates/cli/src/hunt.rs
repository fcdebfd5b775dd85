//! `unravel hunt`: failures that never happened, from runs that passed.

use std::io::Write;

use unravel_hunt::{Bag, Options, Progress as Now, Request};
use unravel_trace::{FreeInput, Hunt, HuntBounds, HuntEnd, How, TraceFile};

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::HuntFlags;
use crate::interrupt::{self, INTERRUPTED};
use crate::output;
use crate::program::{self, Loaded};
use crate::progress::Progress;

pub fn hunt(flags: &HuntFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    output::prepare(&flags.out)?;
    let mut loaded = program::load(&flags.program, &config)?;
    interrupt::listen();
    let mut progress = Progress::new(!flags.quiet);
    let request = Request {
        program: &loaded.reference,
        input: &loaded.input,
        rules: &loaded.rules,
        database: flags.db.as_deref(),
        options: options(flags),
        command: output::command(),
    };
    let mut show = |now| progress.show(&words(&now));
    let mut bag = unravel_hunt::hunt(&mut loaded.vm, &request, &INTERRUPTED, &mut show)?;
    drop(progress);
    keep_traces(&mut bag, &loaded, flags)?;
    let text = if flags.json {
        format!("{:#?}\n", bag.hunt.effort)
    } else {
        format!("{:#?}\n{:#?} {:#?}\n", bag.hunt.runs, bag.hunt.effort, bag.hunt.end)
            + &bag
                .hunt
                .exposed
                .iter()
                .map(|e| {
                    format!(
                        "exposed {} {:?} attempt {} D {} N {} flips {:?} flipped {} synth {} inputs {:?} events {} in {:?} dpsp {:?} diag {:?}\n",
                        e.failure.message, e.how, e.attempt, e.depth, e.traces, e.flips.iter().map(|f| format!("{} {}", f.thread, f.place.short())).collect::<Vec<_>>(), e.flipped, e.synthesised, e.inputs, e.events, e.time,
                        e.derived.as_ref().map(|d| (d.passing.projection.flows.len(), d.passing.projection.failing.len(), d.passing.projection.all_flows)), e.undiagnosed
                    )
                })
                .collect::<String>()
    };
    // A reader that stops early (head, less) is no error.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(exit(&bag.hunt))
}

fn options(flags: &HuntFlags) -> Options {
    let extent = &flags.extent;
    Options {
        runs: flags.runs,
        seed: flags.seed,
        bounds: HuntBounds { depth: extent.depth, traces: extent.traces, flips: extent.flips },
        time: extent.time,
        all: flags.all,
        free: if flags.symbolic_input { FreeInput::All } else { FreeInput::Nondet },
        ..Options::default()
    }
}

/// Writes a trace for each failure, named as `find` names them.
fn keep_traces(bag: &mut Bag, loaded: &Loaded, flags: &HuntFlags) -> Result<(), CliError> {
    for (number, (exposed, quarry)) in bag.hunt.exposed.iter_mut().zip(&bag.runs).enumerate() {
        let kind = exposed.failure.kind.name();
        let name = format!("{}-{kind}-{}.trace", loaded.reference.name, number + 1);
        let path = flags.out.join(name);
        let file = TraceFile {
            program: loaded.reference.clone(),
            input: quarry.input.clone(),
            rules: loaded.rules.clone(),
            strategy: "hunt".to_owned(),
            seed: None,
            run: quarry.run.clone(),
        };
        file.write(&path)?;
        exposed.trace = Some(path.display().to_string());
    }
    Ok(())
}

/// Nothing was found, and nothing is left: clean. Anything less is not.
fn exit(hunt: &Hunt) -> Exit {
    match hunt.end {
        _ if hunt.exposed.iter().any(|exposed| exposed.how != How::ByItself) => Exit::Finding,
        _ if !hunt.exposed.is_empty() => Exit::Finding,
        HuntEnd::Exhausted | HuntEnd::Found => Exit::Clean,
        HuntEnd::Incomplete { .. } | HuntEnd::Stopped { .. } => Exit::Clean,
    }
}

fn words(now: &Now) -> String {
    match now {
        Now::Running(seen) => format!("running: {} passed, {} failed", seen.passing, seen.failing),
        Now::Searching { effort, what } => {
            format!("{what}: {} attempts, {} questions", effort.attempts, effort.queries)
        }
        Now::Diagnosing => "looking for the cause".to_owned(),
    }
}
