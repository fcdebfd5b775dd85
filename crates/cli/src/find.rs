//! `unravel find`: search, write traces, say how to replay them.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use unravel_explore::{AfterFirst, Finding, Plan, SearchResult, Strategy, search};
use unravel_trace::{ProgramRef, Stopped, Tally, TraceFile};

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{FindFlags, parse_time};
use crate::interrupt::{self, INTERRUPTED};
use crate::program::{self, Loaded};
use crate::story::{self, count};

/// How long a search lasts if the user says nothing.
const DEFAULT_TIME: Duration = Duration::from_secs(30);

/// A search is inconclusive if one run in so many was.
const FEW: u64 = 10;

pub fn find(flags: &FindFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    let mut loaded = program::load(&flags.program, &config)?;
    let plan = plan(flags, &config, &loaded);
    interrupt::listen();
    let progress = progress(flags);
    let result = search(&mut loaded.vm, &loaded.input, &plan, |tally, elapsed| {
        progress.set_message(status(tally, elapsed));
        progress.tick();
        !INTERRUPTED.load(Ordering::Relaxed)
    })?;
    progress.finish_and_clear();
    let paths = result
        .findings
        .iter()
        .enumerate()
        .map(|(number, finding)| write_trace(flags, &plan, &loaded, finding, number))
        .collect::<Result<Vec<_>, _>>()?;
    if flags.json {
        print_json(&loaded.reference, &plan, &result, &paths);
    } else {
        print_text(flags, &loaded.reference, &plan, &result, &paths);
    }
    Ok(exit(&result))
}

fn plan(flags: &FindFlags, config: &Config, loaded: &Loaded) -> Plan {
    let wishes = &config.search;
    let strategy =
        flags.strategy.or_else(|| wishes.strategy.as_ref()?.parse().ok()).unwrap_or(Strategy::Mix);
    let schedules = flags.schedules.or(wishes.schedules);
    let time = flags
        .time
        .or_else(|| parse_time(wishes.time.as_ref()?).ok())
        .or(schedules.is_none().then_some(DEFAULT_TIME));
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    Plan {
        strategy,
        seed: flags.seed.or(wishes.seed).unwrap_or(1),
        // One schedule of a strategy that has only one is enough.
        schedules: if strategy.is_random() { schedules.unwrap_or(u64::MAX) } else { 9 },
        time,
        jobs: flags.jobs.or(wishes.jobs).unwrap_or(cores),
        after_first: if flags.all { AfterFirst::GoOn } else { AfterFirst::Stop },
        rules: loaded.rules.clone(),
        known: config.known_bugs(),
    }
}

fn progress(flags: &FindFlags) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    let shown = !flags.quiet && std::io::stderr().is_terminal();
    bar.set_draw_target(if shown {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    });
    bar.set_style(
        ProgressStyle::with_template("{spinner} searching: {msg}").expect("a valid template"),
    );
    bar
}

fn status(tally: &Tally, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(0.001);
    format!(
        "{}, {:.0}/s, {:.1} s",
        count(tally.schedules, "schedule"),
        tally.schedules as f64 / seconds,
        elapsed.as_secs_f64()
    )
}

fn write_trace(
    flags: &FindFlags,
    plan: &Plan,
    loaded: &Loaded,
    finding: &Finding,
    number: usize,
) -> Result<PathBuf, CliError> {
    std::fs::create_dir_all(&flags.out)
        .map_err(|source| CliError::Write { path: flags.out.clone(), source })?;
    let kind = finding.run.outcome.failure().map_or("run", |f| f.kind.name());
    let path = free_name(&flags.out, &format!("{}-{kind}", loaded.reference.name), number + 1);
    let file = TraceFile {
        program: loaded.reference.clone(),
        input: finding.run.input(&loaded.input),
        rules: loaded.rules.clone(),
        strategy: plan.strategy.to_string(),
        seed: Some(plan.seed),
        run: finding.run.clone(),
    };
    file.write(&path)?;
    Ok(path)
}

/// Traces of one search are numbered; a later search of the same program overwrites them.
fn free_name(directory: &Path, stem: &str, number: usize) -> PathBuf {
    directory.join(format!("{stem}-{number}.trace"))
}

fn exit(result: &SearchResult) -> Exit {
    let tally = &result.explored.tally;
    if !result.findings.is_empty() {
        Exit::Finding
    } else if tally.discarded < tally.schedules && tally.inconclusive * FEW < tally.schedules {
        Exit::Clean
    } else {
        Exit::Inconclusive
    }
}

fn print_text(
    flags: &FindFlags,
    program: &ProgramRef,
    plan: &Plan,
    result: &SearchResult,
    paths: &[PathBuf],
) {
    let mut out = std::io::stdout().lock();
    for (finding, path) in result.findings.iter().zip(paths) {
        if let Some(failure) = finding.run.outcome.failure() {
            let _ = write!(out, "{}", story::failure(failure, &finding.run));
        }
        let _ = writeln!(
            out,
            "  found in schedule {} ({}, seed {}), {}",
            finding.index + 1,
            plan.strategy,
            plan.seed,
            if finding.replayed {
                "replayed: fails again"
            } else {
                "but it did NOT fail again when replayed"
            }
        );
        let path = story::shell_word(&path.display().to_string());
        let _ = writeln!(out, "  replay it:  unravel replay {path}");
        let _ = writeln!(out, "  explain it: unravel diagnose {path}");
        let _ = writeln!(out, "  look at it: unravel trace show {path}\n");
    }
    if flags.quiet {
        return;
    }
    let tally = &result.explored.tally;
    let searched = status(tally, result.explored.elapsed);
    let extent = format!(
        "at most {} and {} a run, sequential consistency",
        count(tally.most_threads, "thread"),
        count(tally.most_events, "event")
    );
    let reason = tally.reason.as_deref().unwrap_or("inconclusive");
    let nothing_followed = result.findings.is_empty() && tally.inconclusive == tally.schedules;
    if result.findings.is_empty() && tally.schedules == 0 {
        let _ =
            writeln!(out, "{}: inconclusive because no run ended within {searched}", program.name);
        let _ = writeln!(out, "  give it more with --time, or less to do with --max-steps");
    } else if result.findings.is_empty() && tally.discarded == tally.schedules {
        let _ = writeln!(
            out,
            "{}: inconclusive because an assumption of the program holds in none of {searched}",
            program.name
        );
        let _ = writeln!(out, "  other inputs: --nondet-seed N, or --nondet N,N,…");
    } else if nothing_followed {
        let _ = writeln!(out, "{}: {reason}", program.name);
        let _ = writeln!(out, "  (so in all of {searched})");
    } else if result.findings.is_empty() {
        let _ = writeln!(out, "{}: no failure found in {searched} ({extent})", program.name);
    } else {
        let _ = writeln!(
            out,
            "{}: {} found in {searched} ({extent})",
            program.name,
            count(result.findings.len() as u64, "bug")
        );
    }
    if tally.most_threads == 1 && !nothing_followed {
        let _ = writeln!(out, "note: the program created no thread, so there is one schedule only");
    }
    if tally.inconclusive > 0 && !nothing_followed {
        let why = reason.trim_start_matches("inconclusive because ");
        let _ = writeln!(
            out,
            "note: {} of them inconclusive, the first because {why}",
            tally.inconclusive
        );
    }
    if tally.discarded > 0 && tally.discarded < tally.schedules {
        let _ = writeln!(
            out,
            "note: {} of them discarded, because an assumption did not hold",
            tally.discarded
        );
    }
    let put_aside: u64 = tally.put_aside.iter().sum();
    if put_aside > 0 {
        let _ = writeln!(
            out,
            "note: {put_aside} of them failed with a bug that unravel.toml puts aside"
        );
    }
    if let Some(code) = tally.exit_code.filter(|_| tally.nonzero_exits > 0) {
        let _ = writeln!(
            out,
            "note: {} of them ended with an exit code other than 0 (first: {code}); --fail-on-exit makes that a failure",
            tally.nonzero_exits
        );
    }
    for note in &tally.notes {
        let _ = writeln!(out, "note: {note}");
    }
    match result.explored.stopped {
        Stopped::Interrupted => {
            let _ = writeln!(out, "interrupted; what was found is kept");
        }
        Stopped::Time | Stopped::Schedules
            if result.findings.is_empty() && plan.strategy.is_random() =>
        {
            let other = if plan.strategy == Strategy::Pct(5) { "random" } else { "pct:5" };
            let _ =
                writeln!(out, "look further with --time 5m, another --seed, or --strategy {other}");
        }
        _ => {}
    }
}

fn print_json(program: &ProgramRef, plan: &Plan, result: &SearchResult, paths: &[PathBuf]) {
    let findings: Vec<_> = result
        .findings
        .iter()
        .zip(paths)
        .map(|(finding, path)| {
            json!({
                "schedule": finding.index + 1,
                "replayed": finding.replayed,
                "trace": path,
                "run": story::run_json(&finding.run),
            })
        })
        .collect();
    let tally = &result.explored.tally;
    println!(
        "{}",
        json!({
            "program": program.name,
            "strategy": plan.strategy.to_string(),
            "seed": plan.seed,
            "findings": findings,
            "schedules": tally.schedules,
            "seconds": result.explored.elapsed.as_secs_f64(),
            "stopped": result.explored.stopped.name(),
            "inconclusive": tally.inconclusive,
            "reason": tally.reason,
            "discarded": tally.discarded,
            "suppressed": tally.put_aside.iter().sum::<u64>(),
            "most_threads": tally.most_threads,
            "most_events": tally.most_events,
            "visible_sites": result.visible.len(),
            "notes": tally.notes,
        })
    );
}
