//! What a compiler does within `unravel build -- COMMAND`: whatever the project's own compiler does, and unoptimised bitcode
//! of each source in a section of its object ([`unravel_program::build::kept`]).
//!
//! The project's compiler runs with the project's flags, so that a build goes as it always goes, tests of `configure` and
//! generators of sources included. Link-time optimisation alone is left out, because it would make objects that are no
//! objects. Where several sources become a program in one command, that command is taken apart. Nothing that we
//! cannot do makes a build fail: a source that clang refuses, assembler, and objects made elsewhere are records that
//! say so, and a command line that we do not understand runs as it stands.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use unravel_program::build::kept::{Kept, Lack, SECTION};
use unravel_program::build::{Builder, Module, Single};

use crate::command_line::{CommandLine, Goal, Input, Kind};
use crate::shims::{Journal, Shims};
use crate::wrap::{DriverError, io, run};

/// Does what the command line says, by the compiler that `name` means outside of the build; its exit code.
pub fn keep(name: &OsStr, arguments: Vec<OsString>) -> Result<i32, DriverError> {
    let shims = Shims::of_environment()?;
    let native = shims.real(name)?;
    let as_it_stands = || run(shims.outside(&mut Command::new(&native)).args(&arguments));
    let Ok(line) = CommandLine::parse_any(arguments.iter().cloned()) else {
        return as_it_stands();
    };
    if line.goal == Goal::Other || is_test_of_configure(&line) {
        return as_it_stands();
    }
    let scratch =
        tempfile::Builder::new().prefix("unravel-cc-").tempdir().map_err(io("scratch folder"))?;
    let job = Job {
        native,
        shims: &shims,
        scratch: scratch.path(),
        line: &line,
        as_cxx: name.as_bytes().windows(2).any(|pair| pair == b"++"),
        directory: std::env::current_dir().map_err(io("the current directory"))?,
    };
    match line.goal {
        Goal::Objects => job.objects(&arguments),
        _ => job.link(),
    }
}

/// The programs that `configure` tries are not the project's.
fn is_test_of_configure(line: &CommandLine) -> bool {
    let mut inputs = line.inputs.iter();
    inputs.any(|input| input.path.file_stem().is_some_and(|stem| stem == "conftest"))
}

struct Job<'a> {
    /// The project's compiler.
    native: PathBuf,
    shims: &'a Shims,
    scratch: &'a Path,
    line: &'a CommandLine,
    as_cxx: bool,
    directory: PathBuf,
}

impl Job<'_> {
    fn native(&self) -> Command {
        let mut command = Command::new(&self.native);
        self.shims.outside(&mut command);
        command
    }

    /// Our own compiler, which is none of the shims.
    fn builder(&self) -> Builder {
        let path = std::env::split_paths(&self.shims.path_outside()).collect();
        Builder { path, ..Builder::from_env() }
    }

    /// `-c`: the command as it stands, but for link-time optimisation; then each object gets its section.
    fn objects(&self, arguments: &[OsString]) -> Result<i32, DriverError> {
        let code = run(self.native().args(arguments.iter().filter(|a| !is_link_time(a))))?;
        if code != 0 {
            return Ok(code);
        }
        for input in &self.line.inputs {
            if input.kind != Kind::Linked {
                self.attach(&self.line.object_of(input), &self.record(input)?)?;
            }
        }
        Ok(0)
    }

    fn link(&self) -> Result<i32, DriverError> {
        for input in self.line.inputs.iter().filter(|input| input.kind != Kind::Linked) {
            let object = self.temporary(input);
            let mut command = self.native();
            command.args(self.line.compile_flags()).arg("-c");
            self.line.dependencies(&mut command, &object);
            if let Some(language) = &input.language {
                command.args(["-x", language]);
            }
            let code = run(command.arg(&input.path).arg("-o").arg(&object))?;
            if code != 0 {
                return Ok(code);
            }
            self.attach(&object, &self.record(input)?)?;
        }
        let mut command = self.native();
        let object = |input: &Input| match input.kind {
            Kind::Linked => input.path.clone(),
            _ => self.temporary(input),
        };
        command.args(self.line.link_arguments(object));
        command.args(self.elsewhere()?);
        let output = self.line.output.clone().unwrap_or_else(|| "a.out".into());
        let code = run(command.arg("-o").arg(&output))?;
        if code == 0 && self.line.goal == Goal::Program {
            self.shims.journal().program(&self.directory.join(output))?;
        }
        Ok(code)
    }

    /// What there is to keep of a source.
    fn record(&self, input: &Input) -> Result<Kept, DriverError> {
        let source = self.directory.join(&input.path);
        if input.kind == Kind::Assembler {
            return Ok(Kept::Missing { what: source, why: Lack::Assembler });
        }
        let words = self.line.compile_flags();
        let words: Vec<String> = words.iter().map(|w| w.to_string_lossy().into_owned()).collect();
        let single = Single {
            source: &input.path,
            directory: &self.directory,
            words: &words,
            language: input.language.as_deref(),
            as_cxx: self.as_cxx,
        };
        let refused = |said: String| Lack::Refused { said };
        Ok(match self.builder().module(single) {
            Ok(Module::Made(bitcode)) => Kept::Module { source, bitcode },
            Ok(Module::Refused(said)) => Kept::Missing { what: source, why: refused(said) },
            Err(error) => Kept::Missing { what: source, why: refused(error.to_string()) },
        })
    }

    /// An object with records about what else is linked and has none: one more input.
    fn elsewhere(&self) -> Result<Option<PathBuf>, DriverError> {
        let mut section = Vec::new();
        for input in self.line.inputs.iter().filter(|input| input.kind == Kind::Linked) {
            let path = self.directory.join(&input.path);
            let Ok(content) = fs::read(&path) else { continue };
            let what = path.clone();
            if content.starts_with(b"BC\xc0\xde") {
                // An object of link-time optimisation: it is its own bitcode.
                section.extend(Kept::Module { source: what, bitcode: content }.encode());
            } else if is_object(&content) && !Kept::are_in(&content) {
                section.extend(Kept::Missing { what, why: Lack::Native }.encode());
            }
        }
        if section.is_empty() {
            return Ok(None);
        }
        let object = self.scratch.join("elsewhere.o");
        let source = self.scratch.join("elsewhere.s");
        fs::write(&source, ".section .note.GNU-stack,\"\",@progbits\n").map_err(io("an object"))?;
        let clang = self.builder().tools()?.clang;
        let mut command = Command::new(clang);
        if run(command.arg("-c").arg(&source).arg("-o").arg(&object))? != 0 {
            return Ok(None);
        }
        self.add_section(&object, &section)?;
        Ok(Some(object))
    }

    fn attach(&self, object: &Path, record: &Kept) -> Result<(), DriverError> {
        if let Kept::Missing { what, why } = record {
            self.shims.journal().missing(what, why)?;
        }
        self.add_section(object, &record.encode())
    }

    fn add_section(&self, object: &Path, content: &[u8]) -> Result<(), DriverError> {
        let is_elf = fs::read(object).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
        if !is_elf {
            // A header that was compiled before its users, or nothing (`-o /dev/null`).
            return Ok(());
        }
        let file = self.scratch.join("section");
        fs::write(&file, content).map_err(io("the bitcode"))?;
        let mut option = OsString::from(format!("{SECTION}="));
        option.push(&file);
        let mut command = Command::new(self.shims.object_tool()?);
        run(command.arg("--add-section").arg(option).arg(object))?;
        Ok(())
    }

    fn temporary(&self, input: &Input) -> PathBuf {
        let stem = input.path.file_stem().unwrap_or_default().to_string_lossy();
        self.scratch.join(format!("{}.{stem}.o", input.at))
    }
}

fn is_link_time(argument: &OsStr) -> bool {
    ["-flto", "-ffat-lto", "-fwhole-program"]
        .iter()
        .any(|flag| argument.as_bytes().starts_with(flag.as_bytes()))
}

/// A relocatable object, or an archive. Shared libraries are looked at when the program is opened.
fn is_object(content: &[u8]) -> bool {
    const RELOCATABLE: u8 = 1;
    content.starts_with(b"!<arch>")
        || content.starts_with(b"\x7fELF") && content.get(16) == Some(&RELOCATABLE)
}

impl Journal {
    /// A program was linked.
    fn program(&self, path: &Path) -> Result<(), DriverError> {
        self.write(b"program", path, b"")
    }

    /// A source has no bitcode.
    fn missing(&self, path: &Path, why: &Lack) -> Result<(), DriverError> {
        self.write(b"missing", path, why.to_string().as_bytes())
    }

    /// One write, so that lines of several compilers do not mix.
    fn write(&self, kind: &[u8], path: &Path, rest: &[u8]) -> Result<(), DriverError> {
        let line = [kind, path.as_os_str().as_bytes(), rest].join(&b'\t');
        let flat: Vec<u8> = line.into_iter().map(|b| if b == b'\n' { b' ' } else { b }).collect();
        let Some(path) = self.path() else { return Ok(()) };
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        let written = file.and_then(|mut file| file.write_all(&[&flat[..], b"\n"].concat()));
        written.map_err(io("the journal of the build"))
    }
}
