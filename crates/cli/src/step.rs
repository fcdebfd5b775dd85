//! `unravel replay --step`: the run is executed once more, in silence, and then stepped through. This file reads lines
//! and prints answers; what they mean is in `report::stepper`.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal};
use std::os::fd::AsFd;
use std::path::Path;

use unravel_execute::{Replay, Silence};
use unravel_files::TraceFile;
use unravel_report::Sources;
use unravel_report::stepper::{AnswerKind, Stepper, Subject};
use unravel_trace::{Detail, Executor, Job, Outcome, Run, Want};

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::ReplayFlags;
use crate::recorded::{self, Opened};
use crate::replay::Report;
use crate::run::exit_for;
use crate::{say, story};

const PROMPT: &str = "(unravel) ";

pub fn step(flags: &ReplayFlags) -> Result<Exit, CliError> {
    let file = TraceFile::read(&flags.trace)?;
    // The machine gives descriptor 0 to the program, and what the program reads there comes from the trace.
    let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(CliError::Stdin)?;
    let (run, exit) = if file.is_executable() {
        let report = execute(&file, flags)?;
        if let Some(difference) = &report.difference {
            let text = format!("the replay differs from the recording: {difference}");
            print(&format!("{text}\nthis is the run as it went now\n"));
        }
        let exit = if report.same { exit_for(&report.run.outcome) } else { Exit::Inconclusive };
        (report.run, exit)
    } else {
        print("imported: these are the recorded events, nothing is executed\n");
        let exit = exit_for(&file.run.outcome);
        (file.run.clone(), exit)
    };
    let order_known = story::is_order_known(&run);
    if !order_known {
        print("the order between threads is unknown: the events are listed in one that could be\n");
    }
    let ending = match &run.outcome {
        Outcome::Failed(failure) => story::without_size(failure),
        _ => story::ending(&run),
    };
    let subject =
        Subject { trace: &run.trace, outcome: &run.outcome, ending: &ending, order_known };
    let sources = Sources::under(Path::new(&file.program.cwd));
    let mut stepper = Stepper::new(subject, &sources, crate::style::style());
    print(&greeting(&file, &run));
    print(&stepper.here());
    let understood = if flags.commands.is_empty() {
        session(&mut stepper, File::from(input))
    } else {
        script(&mut stepper, flags.commands.iter().map(|line| Ok(line.clone())))
    };
    Ok(if understood { exit } else { Exit::Error })
}

/// The run once more, its output sent away.
fn execute(file: &TraceFile, flags: &ReplayFlags) -> Result<Report, CliError> {
    let Opened { mut vm, visible, changed, recorded } = recorded::open(file, &flags.program)?;
    let silence = Silence::begin().map_err(CliError::Stdin)?;
    let mut scheduler = Replay::new(&file.run.schedule);
    let want = Want::only(file.run.detail().max(Detail::Events));
    let job = Job { input: &file.input, visible: &visible, want };
    let run = vm.run(&job, &mut scheduler, &mut ())?;
    drop(silence);
    Ok(Report::new(&recorded, run, scheduler.divergence(), changed))
}

fn greeting(file: &TraceFile, run: &Run) -> String {
    let events = story::count(run.trace.events.len() as u64, "event");
    let threads = story::count(run.trace.threads.len() as u64, "thread");
    format!("{}: {events} of {threads}, `help` lists the commands\n", file.program.name)
}

/// Commands from a person, or from a pipe: then each is shown, so that the log can be read.
fn session(stepper: &mut Stepper<'_>, input: File) -> bool {
    let interactive = input.is_terminal();
    let mut lines = BufReader::new(input).lines();
    if !interactive {
        return script(stepper, lines);
    }
    loop {
        print(PROMPT);
        let Some(Ok(line)) = lines.next() else {
            // The shell's prompt belongs on a line of its own.
            print("\n");
            return true;
        };
        let answer = stepper.execute(&line);
        if answer.kind == AnswerKind::Quit || !print(&answer.text) {
            return true;
        }
    }
}

/// Commands that nobody types: what is refused makes the whole an error. Empty lines and comments are passed over.
fn script(stepper: &mut Stepper<'_>, lines: impl Iterator<Item = std::io::Result<String>>) -> bool {
    let mut understood = true;
    for line in lines.map_while(Result::ok) {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let answer = stepper.execute(&line);
        understood &= answer.kind != AnswerKind::Refused;
        let shown = unravel_report::stepper::echo(&line);
        if !print(&format!("{PROMPT}{shown}\n{}", answer.text)) {
            break;
        }
        if answer.kind == AnswerKind::Quit {
            break;
        }
    }
    understood
}

/// False if nobody reads any more.
fn print(text: &str) -> bool {
    say::put(text.as_bytes())
}
