//! The log of a real run → a trace of the machine that is the same run, and the kept module beside it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use unravel_execute::{Limit, Silence};
use unravel_files::{ProgramRef, TraceFile};
use unravel_program::build::Built;
use unravel_rebuild::{ApartError, Expected, Options, Rebuilt, Task, rebuild_apart};
use unravel_recording::{BuildId, Log, Unrecorded, layout};
use unravel_simplify::{Budget, simplify};
use unravel_trace::{Executor, Input, Limits, Nondet, Rules};

use crate::budgets::SIMPLIFY_TIME;
use crate::error::CliError;
use crate::interrupt::INTERRUPTED;
use crate::program::{self, Loaded, Machine};

/// How logs are rebuilt.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// Where module and trace are written.
    pub out: &'a Path,
    /// Arguments of the program, if the log has none.
    pub args: &'a [String],
    pub stdin: Option<&'a Path>,
    pub libraries: &'a [String],
    /// Whether sync operations keep to the order that was recorded.
    pub stamps: bool,
    pub time: Duration,
}

/// A log that was read, with the machine that its program runs in.
pub struct Opened {
    pub task: Task,
    build: BuildId,
    vm: Machine,
    built: Built,
    program: ProgramRef,
    pub input: Input,
    rules: Rules,
}

/// Whether a file is the log of a recorded run.
pub fn is_log(path: &Path) -> bool {
    let mut start = [0; 8];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && (start == layout::MAGIC.to_le_bytes() || Log::is_decoded(&start))
}

/// A log as it was recorded.
pub fn read(path: &Path) -> Result<Log, CliError> {
    let mut start = [0; 8];
    let unread = |source| CliError::Read { path: path.to_owned(), source };
    let mut file = std::fs::File::open(path).map_err(unread)?;
    if file.read_exact(&mut start).is_err() || !Log::is_decoded(&start) {
        return unravel_instrument::open_log(path).map_err(|source| match source {
            // It names the file itself.
            unravel_instrument::OpenError::Log(_) => source.into(),
            source => CliError::UnreadableLog { path: path.to_owned(), source },
        });
    }
    let bytes = std::fs::read(path).map_err(unread)?;
    Log::from_bytes(&bytes).ok_or_else(|| CliError::DamagedLog { path: path.to_owned() })
}

fn task(path: &Path, log: &Log) -> Result<Task, CliError> {
    Task::of(log).map_err(|source| CliError::RefusedLog { path: path.to_owned(), source })
}

/// Writes the module that a log is of, and makes a machine for it.
pub fn open(path: &Path, log: &Log, wanted: &Wanted<'_>) -> Result<Opened, CliError> {
    let task = task(path, log)?;
    if !log.unrecorded.is_empty() {
        let all: Vec<String> = log.unrecorded.iter().map(unrecorded).collect();
        warnln!("note: not recorded: {}", all.join(", "));
    }
    let name = path.file_stem().map_or("program".into(), |stem| stem.to_string_lossy());
    let module = wanted.out.join(format!("{name}-{:016x}.bc", log.build.0));
    let write = |source| CliError::Write { path: module.clone(), source };
    std::fs::create_dir_all(wanted.out).map_err(write)?;
    std::fs::write(&module, &log.program).map_err(write)?;
    let flags = wanted.libraries.iter().map(|library| format!("-l{library}")).collect();
    let (built, mut program) = program::open(&[module], flags)?;
    // The program may go by its own name.
    program.name = if log.name.is_empty() { name.into_owned() } else { log.name.clone() };
    let rules = match &task.expected {
        Expected::Exit { code } if code & 0xff != 0 => {
            Rules { fail_on_exit: true, ..Rules::default() }
        }
        _ => Rules::default(),
    };
    let input = input(log, wanted)?;
    let vm = program::machine(&built, &program.name, &input, &rules)?;
    Ok(Opened { build: log.build, task, vm, built, program, input, rules })
}

fn input(log: &Log, wanted: &Wanted<'_>) -> Result<Input, CliError> {
    let stdin = wanted.stdin.map(program::read_file).transpose()?;
    let stdin = stdin.or_else(|| log.inputs.stdin.clone());
    let recorded = log.inputs.arguments.iter().skip(1);
    let recorded = recorded.map(|arg| String::from_utf8_lossy(arg).into_owned());
    let args = if wanted.args.is_empty() { recorded.collect() } else { wanted.args.to_vec() };
    // A log says how long the run is.
    let branches = log.branches() as u64;
    let limits = Limits::default();
    let max_steps = limits.max_steps.max(branches.saturating_mul(20));
    let limits = Limits { max_steps, ..limits };
    let nondet = Nondet::default();
    Ok(Input { args, stdin, nondet, limits, forced: Vec::new(), stubs: Vec::new() })
}

fn unrecorded(left_out: &Unrecorded) -> String {
    match left_out {
        Unrecorded::Image(name) => name.clone(),
        Unrecorded::Function { name, reason } => format!("{name} ({reason})"),
        Unrecorded::Threads(number) => format!("{number} threads"),
    }
}

impl Opened {
    /// Another log of the same build, which is that of `first`.
    pub fn next(
        &mut self,
        path: &Path,
        log: &Log,
        first: &Path,
        wanted: &Wanted<'_>,
    ) -> Result<(), CliError> {
        if log.build != self.build {
            let (path, first) = (path.to_owned(), first.to_owned());
            return Err(CliError::OtherBuild { path, first });
        }
        self.task = task(path, log)?;
        self.input = input(log, wanted)?;
        Ok(())
    }

    /// What a command needs that goes on with the program.
    pub fn into_loaded(self) -> Loaded {
        let Opened { vm, built, program: reference, input, rules, .. } = self;
        Loaded { built, vm, reference, input, rules }
    }

    /// A run of the machine that is the recorded one.
    pub fn rebuild(&mut self, wanted: &Wanted<'_>) -> Result<Rebuilt, ApartError> {
        let limit = Limit::new(Some(Instant::now() + wanted.time), Some(&INTERRUPTED));
        let options = Options { stamps: wanted.stamps, ..Options::default() };
        rebuild_apart(&mut self.vm, &self.input, &self.task, &options, limit)
    }

    /// The same failure with fewer context switches, so that a diagnosis sees what matters; says what came of it. The run stays as it is
    /// if that fails.
    pub fn simplify(
        &mut self,
        rebuilt: &mut Rebuilt,
        wanted: &Wanted<'_>,
    ) -> Result<String, CliError> {
        let silence = Silence::begin().map_err(CliError::Stdin)?;
        let budget = Budget {
            proof_executions: 0,
            until: Some(Instant::now() + wanted.time.min(SIMPLIFY_TIME)),
            ..Budget::default()
        };
        let mut watch = |_: &unravel_simplify::Progress| !INTERRUPTED.load(Ordering::Relaxed);
        let input = rebuilt.run.input(&self.input);
        let simple = simplify(&mut self.vm, &input, &rebuilt.run, &budget, &mut watch);
        drop(silence);
        match simple {
            Ok(simple) => {
                let (before, after) = (simple.before.all(), simple.after.all());
                rebuilt.run = simple.run;
                Ok(format!(
                    "simplified before it was diagnosed: {after} context switches of {before}"
                ))
            }
            Err(error) => Ok(format!("not simplified before it was diagnosed: {error}")),
        }
    }

    /// Writes the trace of a run that was rebuilt.
    pub fn keep(&self, rebuilt: &Rebuilt, out: &Path) -> Result<PathBuf, CliError> {
        let kind = rebuilt.run.outcome.failure().map_or("passed", |failure| failure.kind.name());
        let path = out.join(format!("{}-{kind}-log.trace", self.program.name));
        let file = TraceFile {
            program: self.program.clone(),
            input: rebuilt.run.input(&self.input),
            rules: self.rules.clone(),
            strategy: "log".to_owned(),
            seed: None,
            engine: self.vm.name().to_owned(),
            run: rebuilt.run.clone(),
        };
        file.write(&path)?;
        Ok(path)
    }
}

/// What a report says of a run that was rebuilt.
pub fn note(rebuilt: &Rebuilt, path: &Path) -> String {
    let Rebuilt { runs, branches, threads, .. } = rebuilt;
    let plural = |number: u64| if number == 1 { "" } else { "s" };
    let mut note = format!(
        "rebuilt from {}: {branches} branch{} of {threads} thread{}, {}, in {runs} run{}",
        path.display(),
        if *branches == 1 { "" } else { "es" },
        plural(*threads as u64),
        if rebuilt.suffixes {
            "the ends of their paths, for the log begins in the middle; what came before is one way to get there"
        } else if rebuilt.stamped {
            "sync operations in the recorded order"
        } else {
            "sync operations in any order"
        },
        plural(*runs),
    );
    if rebuilt.rounds_left_out > 0 {
        note += &format!("; {} rounds of busy waits were left out", rebuilt.rounds_left_out);
    }
    if rebuilt.earlier {
        note += "; no run of the machine came to the recorded failure: this one fails before it on the recorded paths, by \
                 what a system may not notice";
    }
    note
}
