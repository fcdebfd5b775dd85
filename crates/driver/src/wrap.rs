//! `unravel-cc` and `unravel-c++`: does what the compiler would, with recording code in every object.
//!
//! A source is compiled to its optimised module (clang, `-emit-llvm`), the module is kept and instrumented, and clang makes the object
//! of it with all its passes off (`-disable-llvm-passes`), so that what is decoded later is what runs. Objects that others made, archives and
//! assembler pass through. A program is linked with the runtime, a shared library is not: it finds it in the program.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use unravel_instrument::{ModuleError, Options, Request, instrument};
use unravel_program::build::{BuildError, Builder};

use crate::command_line::{CommandLine, CommandLineError, Goal, Input, Kind};

pub(crate) static RUNTIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.o"));

/// A loop that straddles lines of the instruction cache costs more than what recording puts in.
pub(crate) const ALIGNED: &str = "-falign-loops=32";

/// Names that libraries find in the program rather than in the C library, and recorded libraries in the program.
pub(crate) const EXPORTED: &[&str] = &[
    "__unravel_p",
    "__unravel_register",
    "__unravel_pthread_*",
    "__unravel_q_*",
    "__unravel_r_*",
    "__unravel_sem_*",
    "pthread_create",
    "pthread_join",
    "pthread_mutex_*",
    "pthread_cond_*",
    "pthread_rwlock_*",
    "pthread_barrier_wait",
    "pthread_once",
    "pthread_spin_*",
    "pthread_sigmask",
    "sem_*",
    "mtx_*",
    "cnd_*",
    "thrd_create",
    "thrd_join",
    "call_once",
    "sigaction",
    "signal",
    "sigprocmask",
    "__assert_fail",
    "__assert",
    "_exit",
    "_Exit",
    "longjmp",
    "_longjmp",
    "siglongjmp",
    "__longjmp_chk",
    "dlopen",
    "exec*",
];

/// What a command is called as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compiler {
    C,
    Cxx,
}

#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error(transparent)]
    CommandLine(#[from] CommandLineError),
    #[error(transparent)]
    Tools(#[from] BuildError),
    #[error("{source_file}: {error}")]
    Module { source_file: String, error: ModuleError },
    #[error("there is no {} on PATH", name.display())]
    NoCompiler { name: OsString },
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
}

pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> DriverError {
    let what = what.into();
    move |source| DriverError::Io { what, source }
}

/// Does what the command line says. The exit code is the compiler's if that failed.
pub fn wrap(
    compiler: Compiler,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<i32, DriverError> {
    wrap_with(compiler, arguments, Options::default())
}

/// The same, with what tests need.
pub fn wrap_with(
    compiler: Compiler,
    arguments: impl IntoIterator<Item = OsString>,
    options: Options,
) -> Result<i32, DriverError> {
    let line = CommandLine::parse(arguments)?;
    let job = Job {
        clang: Builder::from_env().tools()?.clang,
        scratch: tempfile::Builder::new()
            .prefix("unravel-cc-")
            .tempdir()
            .map_err(io("scratch folder"))?,
        compiler,
        options,
        line: &line,
    };
    match line.goal {
        Goal::Other => job.as_it_stands(),
        Goal::Objects => job.objects(),
        Goal::Program | Goal::Library | Goal::Relocatable => job.link(),
    }
}

struct Job<'a> {
    clang: PathBuf,
    scratch: tempfile::TempDir,
    compiler: Compiler,
    options: Options,
    line: &'a CommandLine,
}

impl Job<'_> {
    fn clang(&self) -> Command {
        let mut command = Command::new(&self.clang);
        if self.compiler == Compiler::Cxx {
            command.arg("--driver-mode=g++");
        }
        command
    }

    fn as_it_stands(&self) -> Result<i32, DriverError> {
        run(self.clang().args(&self.line.arguments))
    }

    fn objects(&self) -> Result<i32, DriverError> {
        for input in &self.line.inputs {
            let object = self.line.object_of(input);
            let code = match input.kind {
                Kind::C | Kind::Cxx => self.compile(input, &object)?,
                Kind::Assembler => self.assemble(input, &object)?,
                Kind::Linked => 0,
            };
            if code != 0 {
                return Ok(code);
            }
        }
        Ok(0)
    }

    fn input(&self, command: &mut Command, input: &Input) {
        if let Some(language) = &input.language {
            command.args(["-x", language]);
        }
        command.arg(&input.path);
    }

    fn assemble(&self, input: &Input, object: &Path) -> Result<i32, DriverError> {
        let mut command = self.clang();
        command.args(self.line.compile_flags()).arg("-c");
        self.input(&mut command, input);
        run(command.arg("-o").arg(object))
    }

    /// A source to an object with recording code.
    fn compile(&self, input: &Input, object: &Path) -> Result<i32, DriverError> {
        let number = input.at;
        let file = |name: &str| self.scratch.path().join(format!("{number}.{name}"));
        let (optimised, kept, recorded) = (file("bc"), file("kept"), file("recorded.bc"));
        let mut command = self.clang();
        command.args(self.line.compile_flags()).args(["-c", "-emit-llvm"]);
        // The kept module needs lines and names of variables; debug information changes no code.
        if !self.line.debug {
            command.arg("-g");
        }
        self.line.dependencies(&mut command, object);
        self.input(&mut command, input);
        let code = run(command.arg("-o").arg(&optimised))?;
        if code != 0 {
            return Ok(code);
        }
        let source = input.path.to_string_lossy();
        let bitcode = std::fs::read(&optimised).map_err(io("the compiler's output"))?;
        let request = Request {
            source: &source,
            kept_at: &kept,
            debug: self.line.debug,
            options: self.options,
        };
        let made = instrument(&bitcode, request)
            .map_err(|error| DriverError::Module { source_file: source.into_owned(), error })?;
        std::fs::write(&kept, made.kept.encode()).map_err(io("the kept module"))?;
        std::fs::write(&recorded, made.bitcode).map_err(io("the instrumented module"))?;
        let mut command = self.clang();
        // The user's own alignment comes after it.
        command.arg(ALIGNED).args(self.line.code_flags());
        command.args([
            "-w",
            "-Qunused-arguments",
            "-Xclang",
            "-disable-llvm-passes",
            "-c",
            "-x",
            "ir",
        ]);
        run(command.arg(&recorded).arg("-o").arg(object))
    }

    fn link(&self) -> Result<i32, DriverError> {
        for input in &self.line.inputs {
            let object = self.temporary_object(input);
            let code = match input.kind {
                Kind::C | Kind::Cxx => self.compile(input, &object)?,
                Kind::Assembler => self.assemble(input, &object)?,
                Kind::Linked => 0,
            };
            if code != 0 {
                return Ok(code);
            }
        }
        let mut command = self.clang();
        command.args(self.line.link_arguments(|input| match input.kind {
            Kind::Linked => input.path.clone(),
            _ => self.temporary_object(input),
        }));
        command.arg("-Qunused-arguments");
        if let Some(output) = &self.line.output {
            command.arg("-o").arg(output);
        }
        match self.line.goal {
            Goal::Program => {
                let runtime = self.scratch.path().join("unravel-runtime.o");
                std::fs::write(&runtime, RUNTIME).map_err(io("the runtime"))?;
                command.arg(runtime);
                command.args(
                    EXPORTED.iter().map(|name| format!("-Wl,--export-dynamic-symbol={name}")),
                );
            }
            // The runtime is in the program that loads the library.
            Goal::Library => {
                command.arg("-Wl,-z,undefs");
            }
            _ => {}
        }
        run(&mut command)
    }

    fn temporary_object(&self, input: &Input) -> PathBuf {
        let stem = input.path.file_stem().unwrap_or_default().to_string_lossy();
        self.scratch.path().join(format!("{}.{stem}.o", input.at))
    }
}

pub(crate) fn run(command: &mut Command) -> Result<i32, DriverError> {
    // What was said so far comes before what the compiler says.
    let _ = std::io::stdout().flush();
    let status: ExitStatus = command.status().map_err(io("the compiler cannot be started"))?;
    Ok(status.code().unwrap_or(1))
}
