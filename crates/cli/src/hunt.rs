//! `unravel hunt`: failures that never happened, from runs that passed.

use unravel_files::TraceFile;
use unravel_hunt::{Bag, Options, Progress as Now, Quarry, Recorded, Task};
use unravel_rebuild::{ApartError, Expected};
use unravel_report::hunts::{self, Weight};
use unravel_report::{Sources, html, json, terminal};
use unravel_results::{Hunt, HuntBounds};
use unravel_trace::{Executor, FreeInput, Nondet};

use crate::budgets::REBUILD_TIME;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{HuntFlags, InputFlags, ProgramFlags};
use crate::interrupt::{self, INTERRUPTED};
use crate::output::{self, Unwritten, put};
use crate::program::{self, Loaded};
use crate::progress::Progress;
use crate::rebuilt::{self, Opened, Wanted};
use crate::{db, retyped, say, style};

pub fn hunt(flags: &HuntFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    output::prepare(&flags.out)?;
    let (mut loaded, recorded, left_out) = match flags.from {
        true => load_logs(flags)?,
        false => (program::load(&flags.program, &config)?, Vec::new(), Vec::new()),
    };
    // What the hunt goes without is said, whatever comes of it.
    let damage = flags.db.as_deref().map(db::damage).unwrap_or_default();
    interrupt::listen();
    let mut progress = Progress::new(!flags.quiet);
    let request = Task {
        program: &loaded.reference,
        input: &loaded.input,
        rules: &loaded.rules,
        database: flags.db.as_deref(),
        recorded: &recorded,
        options: options(flags),
        command: output::command(),
    };
    let mut show = |now| progress.show(&words(&now));
    let mut bag = unravel_hunt::hunt(&mut loaded.vm, &request, &INTERRUPTED, &mut show)?;
    drop(progress);
    bag.hunt.notes.extend(damage);
    bag.hunt.notes.extend(left_out);
    let mut unwritten = Unwritten::default();
    unwritten.note(keep_traces(&mut bag, &loaded, flags));
    let hunt = &bag.hunt;
    let sources = Sources::under(&loaded.reference.cwd);
    let typed: Vec<String> = bag.runs.iter().map(|quarry| typed(flags, quarry)).collect();
    let page = flags.out.join(format!("{}-hunt.html", hunt.program));
    let is_written = unwritten.note(put(&page, &html::hunt(hunt, &sources, &typed))).is_some();
    let text = if flags.json {
        format!("{}\n", json::hunt(hunt))
    } else if flags.quiet {
        terminal::brief_hunt(hunt)
    } else {
        let page = page.display().to_string();
        terminal::hunt(hunt, &sources, style::style(), &typed, is_written.then_some(page.as_str()))
    };
    say::put(text.as_bytes());
    Ok(unwritten.end(exit(hunt)))
}

/// The program that logs are of, and those of their runs that could be rebuilt; what could not is said. All of them have to be of
/// one build.
fn load_logs(flags: &HuntFlags) -> Result<(Loaded, Vec<Recorded>, Vec<String>), CliError> {
    let wanted = Wanted {
        out: &flags.out,
        args: &flags.program.args,
        stdin: flags.program.input.stdin.as_deref(),
        libraries: &flags.program.compile.library,
        stamps: !flags.no_stamps,
        time: REBUILD_TIME,
    };
    interrupt::listen();
    let mut progress = Progress::new(!flags.quiet);
    let (mut first, mut recorded, mut left_out) = (None, Vec::new(), Vec::new());
    let logs = &flags.program.program;
    for (number, path) in logs.iter().enumerate() {
        progress.show(&format!("rebuilding run {} of {}", number + 1, logs.len()));
        let log = rebuilt::read(path)?;
        let opened: &mut Opened = match &mut first {
            None => first.insert(rebuilt::open(path, &log, &wanted)?),
            Some(opened) => {
                opened.next(path, &log, &logs[0], &wanted)?;
                opened
            }
        };
        if opened.task.expected != (Expected::Exit { code: 0 }) {
            return Err(CliError::FailedLog { path: path.clone() });
        }
        match opened.rebuild(&wanted) {
            Ok(found) => recorded.push(Recorded {
                input: found.run.input(&opened.input),
                schedule: found.run.schedule,
                from: path.display().to_string(),
            }),
            Err(ApartError::NotRebuilt(why)) => {
                left_out.push(format!("{} was not rebuilt: {why}", path.display()));
            }
            Err(source) => return Err(CliError::Rebuild { path: path.clone(), source }),
        }
    }
    drop(progress);
    let opened = first.expect("the command line has at least one");
    if recorded.is_empty() {
        let (path, why) = (logs[0].clone(), left_out.swap_remove(0));
        return Err(CliError::Rebuild { path, source: ApartError::NotRebuilt(why) });
    }
    Ok((opened.into_loaded(), recorded, left_out))
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
            engine: loaded.vm.name().to_owned(),
            run: quarry.run.clone(),
        };
        file.write(&path)?;
        exposed.trace = Some(path.display().to_string());
    }
    Ok(())
}

/// The program as it is typed again, with the input that a failing run needs. What was on its standard input, and values
/// of several threads, cannot be typed: those only the trace has.
fn typed(flags: &HuntFlags, quarry: &Quarry) -> String {
    let program = &flags.program;
    let input = quarry.run.input(&quarry.input);
    let nondet = match &input.nondet {
        Nondet::List(values) => Some(values.iter().map(|value| *value as i64).collect()),
        Nondet::Seed(_) | Nondet::ByThread(_) => program.input.nondet.clone(),
    };
    let nondet_seed = program.input.nondet_seed.filter(|_| nondet.is_none());
    let again = ProgramFlags {
        program: program.program.clone(),
        from: program.from.clone(),
        args: input.args,
        compile: program.compile.clone(),
        input: InputFlags { nondet, nondet_seed, ..program.input.clone() },
        rules: program.rules.clone(),
        engine: program.engine.clone(),
    };
    retyped::program(&again.compile.to_flags(), &again)
}

/// That nothing was exposed is clean, as for `find`, whether anything is left or not: the output says which. But where no
/// run passed, nothing was searched.
fn exit(hunt: &Hunt) -> Exit {
    match hunts::weight(hunt) {
        Weight::Found => Exit::Finding,
        Weight::Exhausted | Weight::Open => Exit::Clean,
        Weight::Inconclusive => Exit::Inconclusive,
    }
}

pub fn words(now: &Now) -> String {
    match now {
        Now::Running(seen) => format!("running: {} passed, {} failed", seen.passing, seen.failing),
        Now::Searching { effort, what } => {
            format!("{what}: {} attempts, {} questions", effort.attempts, effort.queries)
        }
        Now::Diagnosing => "looking for the cause".to_owned(),
    }
}
