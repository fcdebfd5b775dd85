//! `unravel coop`: cooperative logs. Each command a step of the way; `demo` takes all of them.

mod guided;
mod native;
mod steps;
mod words;

use std::path::Path;

use serde_json::json;
use unravel_coop::{Collection, Fleet, Profile};
use unravel_fleet::{Collected, Question, Store, ingest as take, spark};

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{
    CoopAnalyseFlags, CoopBuildFlags, CoopCommand, CoopDemoFlags, CoopIngestFlags,
    CoopProfileFlags, CoopRecordFlags, CoopReplayFlags, Engine,
};
use crate::output::put;
use crate::{interrupt, program};
use steps::Bench;

pub fn coop(command: &CoopCommand) -> Result<Exit, CliError> {
    match command {
        CoopCommand::Profile(flags) => profile(flags),
        CoopCommand::Build(flags) => build(flags),
        CoopCommand::Record(flags) => record(flags),
        CoopCommand::Ingest(flags) => ingest(flags),
        CoopCommand::Analyse(flags) => analyse(flags),
        CoopCommand::Replay(flags) => replay(flags),
        CoopCommand::Demo(flags) => demo(flags),
    }
}

fn profile(flags: &CoopProfileFlags) -> Result<Exit, CliError> {
    interrupt::listen();
    let mut bench = Bench::load(&flags.program)?;
    let made = bench.profile(&flags.share)?;
    put(&flags.output, &made.profile.to_json())?;
    match flags.json {
        true => sayln!("{}", words::profile_json(&made)),
        false => {
            say!("{}", words::profile(&made));
            sayln!("the profile is in {}", flags.output.display());
        }
    }
    Ok(if made.profile.elements.is_empty() { Exit::Inconclusive } else { Exit::Clean })
}

fn build(flags: &CoopBuildFlags) -> Result<Exit, CliError> {
    let profile = steps::read_profile(&flags.profile)?;
    let bench = Bench::load(&flags.program)?;
    bench.check(&profile, &flags.profile)?;
    let built = bench.build(&profile, flags.instance, &flags.output)?;
    match flags.json {
        true => sayln!("{}", words::built_json(&profile, &built)),
        false => say!("{}", words::built(&profile, &built, &flags.output)),
    }
    Ok(if built.logged() > 0 { Exit::Clean } else { Exit::Inconclusive })
}

fn record(flags: &CoopRecordFlags) -> Result<Exit, CliError> {
    interrupt::listen();
    let profile = steps::read_profile(&flags.profile)?;
    let mut bench = Bench::load(&flags.program)?;
    bench.check(&profile, &flags.profile)?;
    let instances = match flags.instance {
        Some(one) => (one, one + 1),
        None => (0, profile.instances.len()),
    };
    let fleet = Fleet { seed: flags.seed, instances, runs: flags.runs, random: flags.random };
    let recorded = match &flags.native {
        Some(native) => bench.record_native(&profile, &fleet, native, flags)?,
        None => {
            bench.record(&profile, &fleet, (flags.verify, flags.paths.as_deref()), &flags.out)?
        }
    };
    match flags.json {
        true => sayln!("{}", words::recorded_json(&recorded)),
        false => sayln!("{}; the logs are in {}", words::recorded(&recorded), flags.out.display()),
    }
    Ok(if recorded.failed > 0 { Exit::Finding } else { Exit::Clean })
}

fn ingest(flags: &CoopIngestFlags) -> Result<Exit, CliError> {
    let profile = steps::read_profile(&flags.profile)?;
    let store = Store::open(&flags.into)?;
    let ingested = take(&store, &profile, &flags.from)?;
    match flags.json {
        true => sayln!("{}", json!(ingested)),
        false => say!("{}", words::ingested(&ingested)),
    }
    Ok(Exit::Clean)
}

fn analyse(flags: &CoopAnalyseFlags) -> Result<Exit, CliError> {
    let profile = steps::read_profile(&flags.profile)?;
    let store = Store::open(&flags.store)?;
    let (collection, is_whole) = collected(&store, &profile)?;
    let failures = collection.alike();
    let number = flags.how.failure.max(1) - 1;
    let Some(alike) = failures.get(number) else {
        sayln!("{}", words::no_failures(collection.len(), flags.how.failure, failures.len()));
        return Ok(Exit::Clean);
    };
    let group = collection.group_of(alike);
    let ranked: Vec<(String, String, String)> = match flags.engine {
        Engine::Embedded => {
            let of = |one: &unravel_coop::Ranked| {
                let (id, ratio) = (collection.id(one.log), one.relevance);
                (id.to_string(), ratio.numerator.to_string(), ratio.denominator.to_string())
            };
            group.ranked(flags.how.heuristic, flags.how.metric).iter().map(of).collect()
        }
        Engine::Spark => {
            let logs = store.logs().display().to_string();
            let ids = || alike.logs.iter().map(|log| collection.id(*log)).collect::<Vec<_>>();
            let only = (alike.bugs_there > 1 || !is_whole).then(ids);
            let question = Question {
                logs: &logs,
                master: flags.master.as_deref(),
                failure: alike.site,
                only: only.as_deref(),
                elements: profile.elements.len(),
                heuristic: flags.how.heuristic,
                metric: flags.how.metric,
                partitions: flags.partitions,
            };
            let ranked = spark(&question, &flags.store)?;
            ranked.into_iter().map(|one| (one.log, one.numerator, one.denominator)).collect()
        }
    };
    match flags.json {
        true => sayln!("{}", words::analysis_json(&profile, &group, (&failures, number), &ranked)),
        false => say!("{}", words::analysis(&profile, &group, (&failures, number), &ranked)),
    }
    Ok(Exit::Finding)
}

/// The logs of a store, and whether that is all of them.
fn collected(store: &Store, profile: &Profile) -> Result<(Collection, bool), CliError> {
    let Collected { collection, left_out, foreign } = store.collection(profile)?;
    if !left_out.is_empty() {
        warnln!("{}", words::left_out(left_out.len() as u64));
    }
    if foreign > 0 {
        warnln!("{}", words::foreign(foreign));
    }
    Ok((collection, left_out.is_empty() && foreign == 0))
}

fn replay(flags: &CoopReplayFlags) -> Result<Exit, CliError> {
    interrupt::listen();
    let profile = steps::read_profile(&flags.profile)?;
    let mut bench = Bench::load(&flags.program)?;
    bench.check(&profile, &flags.profile)?;
    let (collection, _) = collected(&Store::open(&flags.store)?, &profile)?;
    let (replayed, exit) = match &flags.paths {
        Some(paths) => bench.replay_guided(
            &profile,
            &collection,
            &flags.how,
            (flags.attempts.attempts, flags.seed),
            (paths, &flags.out),
        )?,
        None => bench.replay(
            &profile,
            &collection,
            &flags.how,
            (&flags.attempts, flags.seed),
            &flags.out,
        )?,
    };
    match flags.json {
        true => sayln!("{}", words::replay_json(&replayed)),
        false => say!("{}", words::replay(&replayed)),
    }
    Ok(exit)
}

fn demo(flags: &CoopDemoFlags) -> Result<Exit, CliError> {
    interrupt::listen();
    let trace = {
        let mut bench = Bench::load(&flags.program)?;
        let made = bench.profile(&flags.share)?;
        say!("{}", words::profile(&made));
        crate::output::prepare(&flags.out)?;
        let at = |name: &str| flags.out.join(name);
        // Of a demonstration that was here before, of another program perhaps, nothing is left: its logs are no part of this fleet.
        let old = at("coop-demo");
        match std::fs::remove_dir_all(&old) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(CliError::Write { path: old, source });
            }
            _ => {}
        }
        put(&at("profile.json"), &made.profile.to_json())?;
        if made.profile.elements.is_empty() {
            return Ok(Exit::Inconclusive);
        }
        let instances = (0, made.profile.instances.len());
        let fleet = Fleet { seed: flags.share.seed, instances, runs: flags.runs, random: false };
        let recorded = bench.record(&made.profile, &fleet, (false, None), &at("coop-demo/logs"))?;
        sayln!("{}", words::recorded(&recorded));
        let store = Store::open(&at("coop-demo/fleet"))?;
        say!("{}", words::ingested(&take(&store, &made.profile, &[at("coop-demo/logs")])?));
        let (collection, _) = collected(&store, &made.profile)?;
        let seed = flags.share.seed;
        let (replayed, exit) = bench.replay(
            &made.profile,
            &collection,
            &flags.how,
            (&flags.attempts, seed),
            &flags.out,
        )?;
        say!("{}", words::replay(&replayed));
        match replayed.trace {
            Some(trace) => trace,
            None => return Ok(exit),
        }
    };
    diagnose(&trace)
}

/// What `unravel diagnose TRACE` says.
fn diagnose(trace: &Path) -> Result<Exit, CliError> {
    use clap::Parser;
    let arguments = ["unravel".as_ref(), "diagnose".as_ref(), trace.as_os_str()];
    match crate::flags::Cli::parse_from(arguments).command {
        crate::flags::Command::Diagnose(flags) => crate::diagnose::diagnose(&flags),
        _ => unreachable!("it was asked to diagnose"),
    }
}

/// What a command that runs a program needs, besides what all of them do.
fn load(flags: &crate::flags::ProgramFlags) -> Result<program::Loaded, CliError> {
    program::load(flags, &Config::find()?)
}
