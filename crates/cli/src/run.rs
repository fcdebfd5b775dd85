//! `unravel run`: one schedule, with the program's own output.

use unravel_explore::Judge;
use unravel_trace::{Detail, Executor, Outcome, TraceFile, VisibleSet, Want};

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::RunFlags;
use crate::output::Aside;
use crate::{program, story};

pub fn run(flags: &RunFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    let mut loaded = program::load(&flags.program, &config)?;
    let mut judge = Judge::open(&loaded.rules).map_err(CliError::Stdin)?;
    // A schedule means something only if it can switch at shared accesses: learn them first.
    let visible = learn(&mut loaded, flags)?;
    let mut scheduler = flags.strategy.scheduler(flags.seed, 2, 1000);
    let want = Want { detail: Detail::Events, learn: false };
    let aside = Aside::begin(flags.json);
    let run = judge.around(|| loaded.vm.run(&loaded.input, &visible, &mut *scheduler, want));
    drop(aside);
    if let Some(path) = &flags.output {
        let file = TraceFile {
            program: loaded.reference.clone(),
            input: loaded.input.clone(),
            rules: loaded.rules.clone(),
            strategy: flags.strategy.to_string(),
            seed: Some(flags.seed),
            run: run.clone(),
        };
        file.write(path)?;
    }
    if flags.json {
        println!("{}", story::run_json(&run));
    } else {
        match &run.outcome {
            Outcome::Exited { code: 0 } => {}
            Outcome::Failed(failure) => eprint!("{}", story::failure(failure, &run)),
            other => eprintln!("{other}"),
        }
        for note in &run.notes {
            eprintln!("note: {note}");
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

/// A few silent runs in another process that tell which accesses are shared.
fn learn(loaded: &mut program::Loaded, flags: &RunFlags) -> Result<VisibleSet, CliError> {
    let plan = unravel_explore::Plan {
        strategy: unravel_explore::Strategy::Mix,
        seed: flags.seed,
        schedules: 8,
        time: Some(std::time::Duration::from_secs(10)),
        jobs: 1,
        after_first: unravel_explore::AfterFirst::GoOn,
        rules: loaded.rules.clone(),
        known: Vec::new(),
    };
    let result = unravel_explore::search(&mut loaded.vm, &loaded.input, &plan, |_, _| true)?;
    Ok(result.visible)
}
