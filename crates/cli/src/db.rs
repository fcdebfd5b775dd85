//! `unravel db`: databases of thread traces.

use std::path::Path;

use unravel_database::{Database, DatabaseError, KnownRun, path_text};
use unravel_hunt::{Options, Task};
use unravel_report::json;
use unravel_results::{Damage, RunsSeen, Stats, ThreadStats, shell_word};

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{DbCommand, DbMergeFlags, DbRecordFlags, DbStatsFlags};
use crate::interrupt::{self, INTERRUPTED};
use crate::progress::Progress;
use crate::story::count;
use crate::{hunt, output, program};

pub fn db(command: &DbCommand) -> Result<Exit, CliError> {
    match command {
        DbCommand::Record(flags) => return record(flags),
        DbCommand::Stats(flags) => stats(flags)?,
        DbCommand::Show(flags) => show(&flags.directory)?,
        DbCommand::Merge(flags) => merge(flags)?,
        DbCommand::Compact(flags) => compact(&flags.directory)?,
    }
    Ok(Exit::Clean)
}

fn record(flags: &DbRecordFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    let mut loaded = program::load(&flags.program, &config)?;
    let damage = damage(&flags.directory);
    interrupt::listen();
    let mut progress = Progress::new(true);
    let defaults = Options::default();
    let request = Task {
        program: &loaded.reference,
        input: &loaded.input,
        rules: &loaded.rules,
        database: Some(&flags.directory),
        recorded: &[],
        options: Options {
            runs: flags.runs,
            seed: flags.seed,
            time: flags.time,
            search: false,
            ..defaults
        },
        command: output::command(),
    };
    let mut show = |now| progress.show(&hunt::words(&now));
    let bag = unravel_hunt::hunt(&mut loaded.vm, &request, &INTERRUPTED, &mut show)?;
    drop(progress);
    for note in damage {
        sayln!("note: {note}");
    }
    let RunsSeen { executed, passing, failing, distinct, known_before, .. } = bag.hunt.runs;
    let passed = count(passing, "run");
    sayln!("{passed} of {executed} passed; {distinct} distinct now, {known_before} before");
    if failing > 0 {
        sayln!("{} failed and were not kept: see `unravel explain`", count(failing, "run"));
    }
    Ok(if passing == 0 { Exit::Inconclusive } else { Exit::Clean })
}

fn stats(flags: &DbStatsFlags) -> Result<(), CliError> {
    let stats = Database::read(&flags.directory)?.stats();
    if flags.json {
        sayln!("{}", json::database(&stats));
        return Ok(());
    }
    let Stats { program, seen, distinct, .. } = &stats;
    sayln!(
        "{}: {} seen, {distinct} distinct; {}, {}",
        program,
        count(*seen, "run"),
        count(stats.inputs as u64, "input"),
        count(stats.visible_sets as u64, "visible set"),
    );
    let width = stats.threads.iter().map(|thread| thread.thread.to_string().len()).max();
    for thread in &stats.threads {
        sayln!("  {}", thread_line(thread, width.unwrap_or(0)));
    }
    let files = count(stats.segments as u64, "segment");
    sayln!("{files}, {} on disk", count(stats.bytes, "byte"));
    complain(&flags.directory, &stats.damage);
    Ok(())
}

/// `T0.1  3 traces on 2 paths of 1 to 4 branches; 5 nodes for 6 branches instead of 9`.
fn thread_line(of: &ThreadStats, width: usize) -> String {
    let lengths = match (of.shortest, of.longest) {
        (1, 1) => "1 branch".to_owned(),
        (shortest, longest) if shortest == longest => format!("{longest} branches"),
        (shortest, longest) => format!("{shortest} to {longest} branches"),
    };
    format!(
        "{:width$}  {} on {} of {lengths}; {} for {} branches instead of {}",
        of.thread.to_string(),
        count(of.traces as u64, "trace"),
        count(of.paths as u64, "path"),
        count(of.nodes as u64, "node"),
        of.stored,
        of.branches,
    )
}

/// Says what could not be read, if anything.
fn complain(directory: &Path, damage: &Damage) {
    for note in notes(directory, damage) {
        sayln!("note: {note}");
    }
}

/// What cannot be read of a database, if there is one.
pub fn damage(directory: &Path) -> Vec<String> {
    let database = Database::read(directory);
    database.map_or_else(|_| Vec::new(), |known| notes(directory, &known.stats().damage))
}

fn notes(directory: &Path, damage: &Damage) -> Vec<String> {
    let kinds = [
        (damage.torn, "segment", "torn: a writer was stopped; what it wrote before is used"),
        (damage.records, "damaged record", "passed over"),
        (damage.segments, "file", "among the segments that this program did not write"),
        (damage.incomplete, "run", "not usable, because a trace was damaged"),
    ];
    let there = kinds.into_iter().filter(|(number, ..)| *number > 0);
    let mut notes: Vec<String> =
        there.map(|(number, noun, what)| format!("{} {what}", count(number, noun))).collect();
    if damage.torn + damage.records > 0 {
        let directory = shell_word(&directory.display().to_string());
        notes.push(format!("clear it away with: unravel db compact {directory}"));
    }
    notes
}

fn show(directory: &Path) -> Result<(), CliError> {
    let database = Database::read(directory)?;
    for run in database.runs() {
        sayln!("{}", run_line(&database, run));
    }
    Ok(())
}

/// `T0: 1  T0.1: 10  seen 3 times  (seed 7)`.
fn run_line(database: &Database, run: &KnownRun) -> String {
    let traces = run.threads.iter().filter_map(|id| database.trace(*id));
    let paths: Vec<String> =
        traces.map(|trace| format!("{}: {}", trace.name(), path_text(&trace.path))).collect();
    // Whoever recorded the run chose these words; a line of them stays a line.
    let from: String = run.from.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("{}  seen {}  ({from})", paths.join("  "), count(run.count, "time"))
}

fn merge(flags: &DbMergeFlags) -> Result<(), CliError> {
    let into = match Database::read(&flags.into) {
        // It is made, for the program that the first of the others is of.
        Err(DatabaseError::NotFound { .. } | DatabaseError::NotADatabase { .. }) => {
            Database::read(flags.from.first().unwrap_or(&flags.into))?
        }
        read => read?,
    };
    let mut into = Database::open(&flags.into, into.programs())?;
    for from in &flags.from {
        let merged = into.merge(from)?;
        sayln!(
            "{}: {} and {} new, {} more seen",
            from.display(),
            count(merged.runs as u64, "run"),
            count(merged.traces as u64, "trace"),
            count(merged.seen, "run"),
        );
        complain(from, &merged.damage);
    }
    sayln!("{}: {} now", flags.into.display(), count(into.runs().len() as u64, "distinct run"));
    Ok(into.finish()?)
}

fn compact(directory: &Path) -> Result<(), CliError> {
    let program = Database::read(directory)?.programs().clone();
    let mut database = Database::open(directory, &program)?;
    let compacted = database.compact()?;
    sayln!(
        "{} rewritten: {} before, {} now",
        count(compacted.segments as u64, "segment"),
        count(compacted.bytes_before, "byte"),
        count(compacted.bytes_after, "byte"),
    );
    if compacted.live > 0 {
        sayln!("note: {} left: somebody writes there", count(compacted.live as u64, "segment"));
    }
    let lost = compacted.dropped.records + compacted.dropped.torn;
    if lost > 0 {
        sayln!("note: {} cleared away", count(lost, "damaged record"));
    }
    Ok(database.finish()?)
}
