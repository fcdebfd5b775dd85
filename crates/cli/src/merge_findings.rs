//! `unravel merge-findings`: the parts of a search that several machines divided, put together.

use std::path::{Path, PathBuf};

use serde_json::json;
use unravel_explore::{Finding, Merged, Plan, SearchResult, Shard, merge};
use unravel_files::{ProgramRef, ShardError, ShardFile, ShardFinding, TraceFile};
use unravel_report::FileNames;
use unravel_report::searched::searched;
use unravel_results::shell_word;

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::MergeFlags;
use crate::{plan, story};

/// Writes down what a part of a search found, beside its traces.
pub fn write_part(
    out: &Path,
    program: &ProgramRef,
    plan: &Plan,
    result: &SearchResult,
    traces: &[PathBuf],
) -> Result<PathBuf, CliError> {
    let mut classes: Vec<u64> = result.classes.iter().copied().collect();
    classes.sort_unstable();
    let mut reads_from: Vec<_> = result.flows.iter().copied().collect();
    reads_from.sort_unstable();
    let findings = result.findings.iter().zip(traces);
    let finding = |(finding, trace): (&Finding, &PathBuf)| {
        Some(ShardFinding {
            bug: finding.run.outcome.failure()?.id(),
            schedule: finding.index,
            replayed: finding.replayed,
            trace: trace.file_name()?.to_str()?.to_owned(),
        })
    };
    let part = ShardFile {
        format: ShardFile::FORMAT,
        program: program.clone(),
        number: plan.shard.number(),
        of: plan.shard.of(),
        lanes: plan.lanes_in_all(),
        explored: result.explored.clone(),
        visible: result.visible.clone(),
        classes: (classes.len() <= ShardFile::MOST_CLASSES).then_some(classes),
        reads_from,
        findings: findings.filter_map(finding).collect(),
    };
    std::fs::create_dir_all(out)
        .map_err(|source| CliError::Write { path: out.to_owned(), source })?;
    let path = out.join(part.file_name());
    part.write(&path)?;
    Ok(path)
}

/// What a part's traces are called besides, so that several parts may write to one directory.
pub fn suffix(shard: Shard) -> String {
    match shard {
        Shard::WHOLE => String::new(),
        part => format!("-part-{}", part.number()),
    }
}

pub fn merge_findings(flags: &MergeFlags) -> Result<Exit, CliError> {
    let mut parts = Vec::new();
    for path in &flags.parts {
        for file in files(path)? {
            let part = ShardFile::read(&file)?;
            parts.push((file, part));
        }
    }
    let merged = merge(parts)?;
    let mut traces = Vec::new();
    for (number, (file, finding)) in merged.findings.iter().enumerate() {
        traces.push(keep(flags, &merged, number, file, finding)?);
    }
    if flags.json {
        print_json(&merged, &traces);
    } else {
        print_text(&merged, &traces);
    }
    Ok(plan::exit(&merged.explored, merged.findings.len()))
}

/// The parts that a path stands for: itself, or those in the directory.
fn files(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |source| CliError::Read { path: path.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.to_string_lossy().ends_with(ShardFile::SUFFIX) {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(ShardError::None { path: path.to_owned() }.into());
    }
    Ok(files)
}

/// Copies the trace of a finding to where the whole search would have written it.
fn keep(
    flags: &MergeFlags,
    merged: &Merged,
    number: usize,
    part: &Path,
    finding: &ShardFinding,
) -> Result<(PathBuf, TraceFile), CliError> {
    let from = part.parent().unwrap_or(Path::new("")).join(&finding.trace);
    let trace = TraceFile::read(&from)?;
    let name = format!("{}-{}-{}.trace", merged.program.name, finding.bug.kind, number + 1);
    std::fs::create_dir_all(&flags.out)
        .map_err(|source| CliError::Write { path: flags.out.clone(), source })?;
    let to = flags.out.join(name);
    trace.write(&to)?;
    Ok((to, trace))
}

fn print_text(merged: &Merged, traces: &[(PathBuf, TraceFile)]) {
    let failures = traces.iter().filter_map(|(_, trace)| trace.run.outcome.failure());
    let names = FileNames::of_failures(failures);
    for ((_, finding), (path, trace)) in merged.findings.iter().zip(traces) {
        if let Some(failure) = trace.run.outcome.failure() {
            say!("{}", story::one_of_several(failure, &trace.run, &names));
        }
        let path = shell_word(&path.display().to_string());
        sayln!("  found in schedule {}", number(merged, finding));
        sayln!("  replay it:  unravel replay {path}\n");
    }
    let said = searched(&merged.program.name, &merged.explored, merged.findings.len());
    sayln!("{}", said.headline);
    if let Some(coverage) = &said.coverage {
        sayln!("{coverage}");
    }
    for note in &said.notes {
        sayln!("note: {note}");
    }
    for number in &merged.missing {
        sayln!("note: part {number}/{} is missing", merged.of);
    }
}

fn print_json(merged: &Merged, traces: &[(PathBuf, TraceFile)]) {
    let names = story::names(traces.iter().map(|(_, trace)| &trace.run));
    let findings: Vec<_> = merged
        .findings
        .iter()
        .zip(traces)
        .map(|((_, finding), (path, trace))| {
            json!({
                "schedule": number(merged, finding),
                "replayed": finding.replayed,
                "trace": path,
                "run": story::one_run_json(&trace.run, &names),
            })
        })
        .collect();
    let explored = &merged.explored;
    sayln!(
        "{}",
        json!({
            "program": merged.program.name,
            "strategy": explored.strategy,
            "seed": explored.seed,
            "parts": merged.of,
            "missing": merged.missing,
            "findings": findings,
            "schedules": explored.tally.schedules,
            "stopped": explored.stopped.name(),
            "inconclusive": explored.tally.inconclusive,
            "classes": explored.covered.classes,
            "reads_from": explored.covered.reads_from,
        })
    );
}

/// Which of the schedules that were tried it was found in; some numbers were tried by nobody.
fn number(merged: &Merged, finding: &ShardFinding) -> u64 {
    (finding.schedule + 1).min(merged.explored.tally.schedules)
}
