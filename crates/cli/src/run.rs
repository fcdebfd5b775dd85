//! `unravel run`: one schedule, with the program's own output.

use std::time::Duration;

use unravel_execute::Judge;
use unravel_explore::{AfterFirst, Plan, Shard, search};
use unravel_files::TraceFile;
use unravel_strategies::{Knowledge, Strategy};
use unravel_trace::{Detail, Executor, Input, Outcome, Rules, VisibleSet, Want};

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::RunFlags;
use crate::output::Aside;
use crate::{program, story};

/// About how many events a single run is expected to have.
const RUN_LENGTH: u64 = 1000;

pub fn run(flags: &RunFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    let mut loaded = program::load(&flags.program, &config)?;
    let mut judge = Judge::open(&loaded.rules).map_err(CliError::Stdin)?;
    // A schedule means something only if it can switch at shared accesses: learn them first.
    let visible = learn(&mut loaded.vm, &loaded.input, &loaded.rules, flags.seed)?;
    let knowledge = Knowledge { longest: RUN_LENGTH, ..Knowledge::default() };
    let mut scheduler = flags.strategy.scheduler(flags.seed, 2, &knowledge, false);
    let want = Want::only(Detail::Events);
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
        for note in unravel_report::notes::notes(&run.notes) {
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

/// A few silent runs in other processes that tell which accesses are shared.
pub fn learn(
    vm: &mut impl Executor,
    input: &Input,
    rules: &Rules,
    seed: u64,
) -> Result<VisibleSet, CliError> {
    let plan = Plan {
        strategy: Strategy::Portfolio,
        seed,
        schedules: 8,
        time: Some(Duration::from_secs(10)),
        jobs: 1,
        shard: Shard::WHOLE,
        after_first: AfterFirst::GoOn,
        rules: rules.clone(),
        known: Vec::new(),
    };
    Ok(search(vm, input, &plan, |_, _| true)?.visible)
}
