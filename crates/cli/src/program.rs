//! From what the user named to a machine that runs it.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use unravel_compile::Cranelift;
use unravel_execute::{Judged, RaceChecked};
use unravel_files::ProgramRef;
use unravel_program::build::{BuildSpec, Builder, Built, DATABASE_FLAG};
use unravel_program::{LoadError, Locals};
use unravel_trace::{Input, Limits, Nondet, Rules, Uninit};
use unravel_vm::{Engine, Options, Vm, When};

use crate::budgets::PIPE_PATIENCE_MS;
use crate::config::Config;
use crate::error::CliError;
use crate::flags::{CompileFlags, EngineName, InputFlags, ProgramFlags, RuleFlags};
use crate::progress::Progress;

/// Which engine executes programs in this process. They differ in speed only.
static ENGINE: OnceLock<EngineName> = OnceLock::new();

fn engine() -> Engine {
    match ENGINE.get_or_init(EngineName::from_environment) {
        EngineName::Interpret => Engine::Interpret,
        EngineName::Compiled => Engine::Compiled(Cranelift::boxed, When::Hot),
    }
}

/// Functions that this process sees through besides those that are found, as the project's file says.
static WRAPPERS: OnceLock<Vec<String>> = OnceLock::new();

/// From now on programs are loaded with these functions as wrappers.
pub fn see_through(wrappers: &[String]) {
    // Whoever reads the file again reads the same.
    let _ = WRAPPERS.set(wrappers.to_vec());
}

/// Lowers bitcode, with the wrappers that the project's file names.
pub fn lower_bitcode(bitcode: &[u8], locals: Locals) -> Result<unravel_code::Program, LoadError> {
    let mut program = Builder::from_env().lower(bitcode, locals)?;
    if let Some(names) = WRAPPERS.get() {
        for name in unravel_code::wrappers::mark_named(&mut program, names) {
            warnln!("note: unravel.toml names the wrapper '{name}', which no function is called");
        }
    }
    Ok(program)
}

/// What runs programs: races and the user's rules decide what fails.
pub type Machine = Judged<RaceChecked<Vm>>;

/// A program that was built and is ready to run.
pub struct Loaded {
    pub built: Built,
    pub vm: Machine,
    pub reference: ProgramRef,
    pub input: Input,
    pub rules: Rules,
}

impl CompileFlags {
    /// As the compiler wants them.
    pub fn to_flags(&self) -> Vec<String> {
        let prefixed = |prefix: &'static str, values: &[String]| {
            values.iter().map(move |v| format!("{prefix}{v}")).collect::<Vec<_>>()
        };
        let mut flags = prefixed("-I", &self.include);
        flags.extend(prefixed("-D", &self.define));
        flags.extend(prefixed("-l", &self.library));
        let database = self.compile_commands.as_deref().map(|place| {
            let whole = std::path::absolute(place).unwrap_or_else(|_| place.to_path_buf());
            format!("{DATABASE_FLAG}{}", whole.display())
        });
        flags.extend(database);
        flags.extend(self.other.iter().cloned());
        flags
    }
}

/// Builds or opens what the user named.
pub fn open(sources: &[PathBuf], flags: Vec<String>) -> Result<(Built, ProgramRef), CliError> {
    let spec = BuildSpec::new(sources.to_vec()).with_flags(flags.clone());
    let mut progress = Progress::new(true);
    progress.show("compiling");
    let built = Builder::from_env().open(&spec);
    drop(progress);
    let built = built?;
    for note in &built.notes {
        warnln!("note: {note}");
    }
    if !built.warnings.is_empty() && std::io::stderr().is_terminal() {
        warn!("{}", built.warnings);
    }
    let name = sources
        .first()
        .and_then(|p| p.file_stem())
        .map_or("program".into(), |s| s.to_string_lossy().into_owned());
    let reference = ProgramRef {
        sources: sources.iter().map(|p| p.display().to_string()).collect(),
        flags,
        name,
        fingerprint: built.fingerprint(),
        built: None,
        cwd: std::env::current_dir().map(|d| d.display().to_string()).unwrap_or_default(),
    };
    Ok((built, reference))
}

/// A built program, lowered. Bitcode that others made is read by another process first.
pub fn lower(built: &Built, name: &str, input: &Input) -> Result<unravel_code::Program, CliError> {
    let file = || built.spec.sources.first().map_or(name.to_owned(), |s| s.display().to_string());
    if built.foreign {
        unravel_program::probe(&built.bitcode)
            .map_err(|source| CliError::Damaged { program: file(), source })?;
    }
    lower_bitcode(&built.bitcode, locals(input))
        .map_err(|source| CliError::Load { program: file(), source })
}

/// Makes a machine for a built program, whose runs fail as the rules say.
pub fn machine(
    built: &Built,
    name: &str,
    input: &Input,
    rules: &Rules,
) -> Result<Machine, CliError> {
    machine_of(lower(built, name, input)?, built, name, rules)
}

/// Where variables of functions have to be for runs with this input: what nobody has written is known of memory only.
pub fn locals(input: &Input) -> Locals {
    if input.limits.uninit.fails { Locals::InMemory } else { Locals::Promoted }
}

/// The same for a program that is not quite what was built.
pub fn machine_of(
    program: unravel_code::Program,
    built: &Built,
    name: &str,
    rules: &Rules,
) -> Result<Machine, CliError> {
    let options =
        Options { program_name: name.to_owned(), libraries: built.libs.clone(), engine: engine() };
    Vm::new(program, options)
        .map(|vm| Judged::new(RaceChecked::new(vm, rules), rules))
        .map_err(|source| CliError::Machine { program: name.to_owned(), source })
}

/// Everything a command that runs a program needs.
pub fn load(flags: &ProgramFlags, config: &Config) -> Result<Loaded, CliError> {
    let _ = ENGINE.set(flags.engine.engine);
    let mut compile = config.build.flags.clone();
    compile.extend(flags.compile.to_flags());
    let (built, reference) = open(&flags.program, compile)?;
    let input = read_input(&flags.input, &flags.args, config)?;
    let rules = read_rules(&flags.rules, config)?;
    let vm = machine(&built, &reference.name, &input, &rules)?;
    Ok(Loaded { built, vm, reference, input, rules })
}

fn read_input(flags: &InputFlags, args: &[String], config: &Config) -> Result<Input, CliError> {
    let nondet = match (&flags.nondet, flags.nondet_seed) {
        (Some(values), _) => Nondet::List(values.iter().map(|v| *v as u64).collect()),
        (None, seed) => Nondet::Seed(seed.unwrap_or(0)),
    };
    let defaults = Limits::default();
    let limits = Limits {
        max_steps: flags.max_steps.or(config.search.max_steps).unwrap_or(defaults.max_steps),
        malloc_fails: flags.malloc_fails.unwrap_or(0),
        uninit: Uninit { fails: flags.uninit, ..defaults.uninit },
        lenient_locks: flags.lenient_locks,
    };
    let stdin = match &flags.stdin {
        Some(path) => Some(read_file(path)?),
        None => own_stdin()?,
    };
    let mut stubs: Vec<String> = config.build.stubs.iter().chain(&flags.stub).cloned().collect();
    stubs.sort();
    stubs.dedup();
    Ok(Input { args: args.to_vec(), stdin, nondet, limits, forced: Vec::new(), stubs })
}

fn read_rules(flags: &RuleFlags, config: &Config) -> Result<Rules, CliError> {
    Ok(Rules {
        fail_on_exit: flags.fail_on_exit || config.search.fail_on_exit.unwrap_or(false),
        expect_output: flags.expect_output.as_deref().map(read_file).transpose()?,
        check: flags.check.clone().or_else(|| config.search.check.clone()),
        races: flags.races || config.search.races.unwrap_or(false),
    })
}

pub fn read_file(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path).map_err(|source| CliError::Read { path: path.to_owned(), source })
}

/// Our standard input, to be given to every run anew. A terminal or a silent pipe counts as closed.
fn own_stdin() -> Result<Option<Vec<u8>>, CliError> {
    let mut stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let mut poll = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
    // SAFETY: looks at descriptor 0.
    let ready = unsafe { libc::poll(&mut poll, 1, PIPE_PATIENCE_MS) };
    if ready == 0 {
        warnln!(
            "note: nothing came from standard input, so the program gets none; a file is given with --stdin"
        );
    }
    if ready <= 0 || poll.revents & libc::POLLNVAL != 0 {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    match stdin.read_to_end(&mut bytes) {
        Ok(0) => Ok(None),
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.raw_os_error() == Some(libc::EBADF) => Ok(None),
        Err(error) => Err(CliError::Stdin(error)),
    }
}
