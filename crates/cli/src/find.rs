//! `unravel find`: search, write traces, say how to replay them.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use serde_json::json;
use unravel_execute::clock;
use unravel_explore::{AfterFirst, Finding, Plan, SearchResult, Shard, glance_at_races, search};
use unravel_files::{ProgramRef, TraceFile};
use unravel_report::searched::{glanced, not_looked_at, pace, searched};
use unravel_report::{FileNames, notes};
use unravel_results::Glance;
use unravel_trace::{Executor, Method, Reached};

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::FindFlags;
use crate::interrupt::{self, INTERRUPTED};
use crate::merge_findings::{suffix, write_part};
use crate::output::Unwritten;
use crate::program::{self, Loaded};
use crate::progress::Progress;
use crate::{plan, story};

pub fn find(flags: &FindFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    let mut loaded = program::load(&flags.program, &config)?;
    let after_first = if flags.all { AfterFirst::GoOn } else { AfterFirst::Stop };
    let known = config.known().into_iter().map(|known| known.bug).collect();
    let exit_codes = !loaded.rules.judge_runs();
    let plan = Plan { after_first, known, exit_codes, ..plan::plan(&flags.search, &config) };
    if plan::is_patient(&flags.search, &config) {
        clock::be_patient();
    }
    interrupt::listen();
    let mut progress = Progress::new(!flags.quiet);
    let result = search(&mut loaded.vm, &loaded.input, &plan, |tally, elapsed| {
        progress.show(&format!("searching: {}", pace(tally, elapsed)));
        !INTERRUPTED.load(Ordering::Relaxed)
    })?;
    let glance = match result.findings.is_empty() && !loaded.rules.races {
        true => {
            let go_on = || !INTERRUPTED.load(Ordering::Relaxed);
            glance_at_races(&mut loaded.vm, &loaded.input, &plan, &result.explored, go_on)
        }
        false => None,
    };
    drop(progress);
    let mut unwritten = Unwritten::default();
    let mut paths = Vec::new();
    for (number, finding) in result.findings.iter().enumerate() {
        paths.push(unwritten.note(write_trace(flags, &plan, &loaded, finding, number)));
    }
    let part = match plan.shard {
        Shard::WHOLE => None,
        _ => {
            let there: Vec<PathBuf> = paths.iter().flatten().cloned().collect();
            let part = write_part(&flags.out, &loaded.reference, &plan, &result, &there);
            // A part without all its traces cannot be put together with others.
            unwritten.note(part).filter(|_| there.len() == paths.len())
        }
    };
    if flags.json {
        print_json(&loaded.reference, &plan, &result, &paths, glance.as_ref());
    } else {
        print_text(flags, &loaded.reference, &plan, &result, &paths, glance.as_ref());
        if let Some(part) = part.filter(|_| !flags.quiet) {
            sayln!("part {} of the search is in {}", plan.shard, part.display());
        }
    }
    Ok(unwritten.end(plan::exit(&result.explored, result.findings.len())))
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
    let name = finding.name(&loaded.reference.name, number + 1);
    let path = flags.out.join(format!("{name}{}.trace", suffix(plan.shard)));
    let file = TraceFile {
        program: loaded.reference.clone(),
        input: finding.run.input(&loaded.input),
        rules: finding.rules(&loaded.rules),
        strategy: plan.strategy.to_string(),
        seed: Some(plan.seed),
        engine: loaded.vm.name().to_owned(),
        run: finding.run.clone(),
    };
    file.write(&path)?;
    Ok(path)
}

fn print_text(
    flags: &FindFlags,
    program: &ProgramRef,
    plan: &Plan,
    result: &SearchResult,
    paths: &[Option<PathBuf>],
    glance: Option<&Glance>,
) {
    let failures = result.findings.iter().filter_map(|finding| finding.run.outcome.failure());
    let names = FileNames::of_failures(failures);
    for (finding, path) in result.findings.iter().zip(paths) {
        if let Some(failure) = finding.run.outcome.failure() {
            say!("{}", story::one_of_several(failure, &finding.run, &names));
        }
        sayln!(
            "  found in schedule {} ({}, seed {}), replayed: fails again",
            finding.number(&result.explored.tally),
            plan.strategy,
            plan.seed,
        );
        let Some(path) = path else {
            sayln!("  its trace could not be written\n");
            continue;
        };
        let path = unravel_results::shell_word(&path.display().to_string());
        sayln!("  replay it:  unravel replay {path}");
        sayln!("  explain it: unravel diagnose {path}");
        sayln!("  look at it: unravel trace show {path}\n");
    }
    if flags.quiet {
        return;
    }
    let said = searched(&program.name, &result.explored, result.findings.len());
    sayln!("{}", said.headline);
    if let Some(coverage) = &said.coverage {
        sayln!("{coverage}");
    }
    if let Some(glance) = glance {
        sayln!("{}", glanced(glance));
    }
    if result.findings.is_empty() && result.explored.tally.most_threads > 1 {
        sayln!("{}", not_looked_at(&result.explored));
    }
    for note in &said.notes {
        sayln!("note: {note}");
    }
    if let Some(advice) = said.advice {
        sayln!("{advice}");
    }
}

fn systematic_json(part: &Reached) -> serde_json::Value {
    json!({
        "method": match part.method {
            Method::Exhaustive => "exhaustive",
            Method::Bounded => "bounded",
        },
        "schedules": part.schedules,
        "classes": part.classes,
        "complete": part.is_complete(),
        "preemptions": part.bound,
        "deviations": part.deviations,
        "for_all_deviations": part.is_for_all_deviations(),
        "left_out": notes::all_left_out(&part.left_out),
    })
}

fn print_json(
    program: &ProgramRef,
    plan: &Plan,
    result: &SearchResult,
    paths: &[Option<PathBuf>],
    glance: Option<&Glance>,
) {
    let names = story::names(result.findings.iter().map(|finding| &finding.run));
    let findings: Vec<_> = result
        .findings
        .iter()
        .zip(paths)
        .map(|(finding, path)| {
            json!({
                "schedule": finding.number(&result.explored.tally),
                "replayed": finding.replayed,
                "trace": path,
                "run": story::one_run_json(&finding.run, &names),
            })
        })
        .collect();
    let tally = &result.explored.tally;
    let covered = &result.explored.covered;
    let systematic: Vec<_> = result.explored.systematic.iter().map(systematic_json).collect();
    sayln!(
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
            "reason": tally.reason.as_ref().map(ToString::to_string),
            "discarded": tally.discarded,
            "suppressed": tally.put_aside.iter().sum::<u64>(),
            "most_threads": tally.most_threads,
            "most_events": tally.most_events,
            "visible_sites": result.visible.len(),
            "classes": covered.classes,
            "reads_from": covered.reads_from,
            "recent_classes": covered.recent_classes,
            "recent_schedules": covered.recent_schedules,
            "systematic": systematic,
            "outputs": tally.outputs,
            "exit_code": tally.exit_code,
            "nonzero_exits": tally.nonzero_exits,
            "glance": glance.map(|glance| {
                json!({
                    "schedules": glance.schedules,
                    "race": glance.race.as_ref().map(|race| FileNames::of_bugs(std::slice::from_ref(race)).bug(race)),
                })
            }),
            "notes": notes::notes(&tally.notes),
        })
    );
}
