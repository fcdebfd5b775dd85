//! `unravel run`: one schedule, with the program's own output.

use std::time::Instant;

use unravel_execute::learn_apart;
use unravel_explore::SearchError;
use unravel_files::TraceFile;
use unravel_strategies::{Knowledge, Sight};
use unravel_trace::{Detail, Executor, Input, Job, Note, Outcome, Run, VisibleSet, Want};

use crate::budgets::{LEARNING, LONG_RUN, RUN_LENGTH};
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::RunFlags;
use crate::output::Aside;
use crate::{output, program, say, story};

pub fn run(flags: &RunFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    let mut loaded = program::load(&flags.program, &config)?;
    // The program runs once, so that nobody knows what is shared: a schedule may switch at every access.
    let visible = loaded.vm.sites().all().clone();
    let knowledge = Knowledge { longest: RUN_LENGTH, ..Knowledge::default() };
    let mut scheduler = flags.strategy.scheduler(flags.seed, 2, &knowledge, Sight::Shared);
    // Events are for the file; a long run has more of them than there is memory for.
    let want = Want::only(match &flags.output {
        Some(_) => Detail::Events,
        None => Detail::Outcome,
    });
    let aside = Aside::begin(flags.json);
    let job = Job { input: &loaded.input, visible: &visible, want };
    let started = Instant::now();
    let run = loaded.vm.run(&job, &mut *scheduler, &mut ())?;
    let took = started.elapsed();
    show_output(&run);
    drop(aside);
    if took >= LONG_RUN {
        warnln!("note: {}", story::long_run(&run, took, loaded.vm.busiest().as_ref()));
    }
    if let Some(path) = &flags.output {
        let file = TraceFile {
            program: loaded.reference.clone(),
            input: loaded.input.clone(),
            rules: loaded.rules.clone(),
            strategy: flags.strategy.to_string(),
            seed: Some(flags.seed),
            engine: loaded.vm.name().to_owned(),
            run: run.clone(),
        };
        file.write(path)?;
    }
    if flags.json {
        let mut json = story::run_json(&run);
        json["busiest"] = story::busiest_json(loaded.vm.busiest().as_ref());
        sayln!("{json}");
    } else {
        match &run.outcome {
            Outcome::Exited { code: 0 } => {}
            Outcome::Failed(failure) => warn!("{}", story::failure(failure, &run)),
            _ => warnln!("{}", story::ending(&run)),
        }
        let is_told = |note: &&Note| **note == Note::EndlessLoop;
        for note in run.notes.iter().filter(|note| !is_told(note)).map(unravel_report::notes::note)
        {
            warnln!("note: {note}");
        }
    }
    Ok(exit_for(&run.outcome))
}

/// Exit code for a single run: the program's own exit code is not ours to pass on.
pub fn exit_for(outcome: &Outcome) -> Exit {
    match outcome {
        Outcome::Exited { .. } => Exit::Clean,
        Outcome::Failed(_) => Exit::Finding,
        Outcome::Discarded | Outcome::Inconclusive { .. } => Exit::Inconclusive,
    }
}

/// What a run that was to be judged has printed, where it would have gone.
pub fn show_output(run: &Run) {
    say::put(run.output.as_deref().unwrap_or_default());
    output::notice_loss();
}

/// A few silent runs in another process tell which accesses are shared.
pub fn learn(vm: &mut dyn Executor, input: &Input) -> Result<VisibleSet, CliError> {
    learn_apart(vm, input, LEARNING).map_err(|error| SearchError::Fork(error).into())
}
