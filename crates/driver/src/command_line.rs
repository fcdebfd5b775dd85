//! What a compiler's command line asks for: drop-in for `cc` and `c++`, so anything that gcc and clang take may stand here.
//!
//! Only what decides the steps is understood: inputs with their languages, the output, how far to go, what is only for the
//! compiler or only for the linker. Every other flag is kept in its place and goes to clang, which knows better.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How far the command goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// It compiles nothing, or only looks (`-E`, `-M`, `-S`, `--version`, …): clang does it as it stands.
    Other,
    /// `-c`: an object for each source.
    Objects,
    Program,
    /// `-shared`.
    Library,
    /// `-r`: one object of several.
    Relocatable,
}

/// What an input is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    C,
    Cxx,
    /// Assembler, which passes through unrecorded.
    Assembler,
    /// Objects, archives, shared libraries, linker scripts.
    Linked,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    pub path: PathBuf,
    pub kind: Kind,
    /// What `-x` said of it.
    pub language: Option<String>,
    /// Its place in [`CommandLine::arguments`].
    pub at: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandLine {
    /// All of them, response files expanded.
    pub arguments: Vec<OsString>,
    pub goal: Goal,
    pub inputs: Vec<Input>,
    pub output: Option<PathBuf>,
    /// `-g` in any form but `-g0`.
    pub debug: bool,
    /// What cannot be recorded, if there is something on the line.
    unrecordable: Option<String>,
    /// By argument: what it is for.
    roles: Vec<Role>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// For the compiler and its code generator: `-O2`, `-fPIC`, `-march=`.
    Both,
    /// For the preprocessor and the language: `-I`, `-D`, `-std=`, `-W…`.
    Front,
    /// `-l`, `-L`, `-Wl,`, `-shared`, …
    Linker,
    /// `-c`, `-o` and its value, `-x` and its value, dropped flags.
    Ours,
    Input,
}

/// Flags whose value is the next argument.
const WITH_VALUE_FRONT: &[&str] = &[
    "-I",
    "-D",
    "-U",
    "-include",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-imacros",
    "-iprefix",
    "-iwithprefix",
    "-isysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-Xpreprocessor",
    "-A",
    "-dumpbase",
    "-dumpdir",
    "-aux-info",
];
const WITH_VALUE_BOTH: &[&str] = &[
    "-target",
    "--target",
    "--sysroot",
    "-arch",
    "-mllvm",
    "-Xclang",
    "-Xassembler",
    "--param",
    "-B",
];
const WITH_VALUE_LINKER: &[&str] =
    &["-L", "-l", "-T", "-u", "-z", "-Xlinker", "-e", "-rpath", "-soname", "-h", "-framework"];

/// Why a command line cannot be recorded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CommandLineError {
    #[error("{flag} cannot be combined with recording: leave it out, or build without unravel-cc")]
    Unsupported { flag: String },
    #[error("the response file {} cannot be read", path.display())]
    ResponseFile { path: PathBuf },
}

impl CommandLine {
    /// Of a command whose objects are to be recorded.
    pub fn parse(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<CommandLine, CommandLineError> {
        let mut line = CommandLine::parse_any(arguments)?;
        match line.unrecordable.take() {
            Some(flag) => Err(CommandLineError::Unsupported { flag }),
            None => Ok(line),
        }
    }

    /// Of any command.
    pub fn parse_any(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<CommandLine, CommandLineError> {
        let mut expanded = Vec::new();
        for argument in arguments {
            expand(argument, &mut expanded, 0)?;
        }
        let mut line = CommandLine {
            roles: vec![Role::Both; expanded.len()],
            arguments: expanded,
            goal: Goal::Program,
            inputs: Vec::new(),
            output: None,
            debug: false,
            unrecordable: None,
        };
        let mut language = None;
        let mut at = 0;
        while at < line.arguments.len() {
            at += line.argument(at, &mut language);
        }
        if line.inputs.is_empty() {
            line.goal = Goal::Other;
        }
        Ok(line)
    }

    /// Takes the argument at this place, and says how many it was with its value.
    fn argument(&mut self, at: usize, language: &mut Option<String>) -> usize {
        let whole = self.arguments[at].clone();
        let text = whole.to_string_lossy().into_owned();
        let value = self.arguments.get(at + 1).cloned();
        let mut take = |role: Role, count: usize| {
            let end = (at + count).min(self.roles.len());
            self.roles[at..end].fill(role);
            count
        };
        match text.as_str() {
            "-c" => {
                self.goal = if self.goal == Goal::Other { Goal::Other } else { Goal::Objects };
                return take(Role::Ours, 1);
            }
            "-o" => {
                self.output = value.map(PathBuf::from);
                return take(Role::Ours, 2);
            }
            "-x" => {
                *language = value.map(|v| v.to_string_lossy().into_owned()).filter(|v| v != "none");
                return take(Role::Ours, 2);
            }
            "-E" | "-M" | "-MM" | "-S" | "-fsyntax-only" | "-###" | "--help" | "--version"
            | "-V" | "-emit-llvm" => {
                self.goal = Goal::Other;
                return take(Role::Ours, 1);
            }
            "-shared" | "--shared" => {
                self.goal =
                    if matches!(self.goal, Goal::Program) { Goal::Library } else { self.goal };
                return take(Role::Linker, 1);
            }
            "-r" => {
                self.goal =
                    if matches!(self.goal, Goal::Program) { Goal::Relocatable } else { self.goal };
                return take(Role::Linker, 1);
            }
            "-static" | "--static" | "-static-pie" => {
                self.unrecordable = Some(text);
                return take(Role::Linker, 1);
            }
            "-" => {}
            _ if text.starts_with("-fsanitize=")
                || text.starts_with("-fprofile-") && !text.starts_with("-fprofile-use")
                || text == "-pg"
                || text == "--coverage" =>
            {
                self.unrecordable = Some(text);
                return take(Role::Both, 1);
            }
            // Link-time optimisation would run after numbering: objects are made without it.
            _ if text.starts_with("-flto")
                || text.starts_with("-fno-lto")
                || text.starts_with("-ffat-lto")
                || text == "-fwhole-program" =>
            {
                return take(Role::Ours, 1);
            }
            _ if text.starts_with("-print-")
                || text.starts_with("--print-")
                || text.starts_with("-dump")
                    && text.len() > 5
                    && !text.starts_with("-dumpbase") =>
            {
                self.goal = Goal::Other;
                return take(Role::Ours, 1);
            }
            flag if WITH_VALUE_FRONT.contains(&flag) => return take(Role::Front, 2),
            flag if WITH_VALUE_BOTH.contains(&flag) => return take(Role::Both, 2),
            flag if WITH_VALUE_LINKER.contains(&flag) => return take(Role::Linker, 2),
            _ if text.starts_with('-') => {
                if text.starts_with("-g") && text != "-g0" && !text.starts_with("-gcc") {
                    self.debug = true;
                }
                let linker = [
                    "-l",
                    "-L",
                    "-Wl,",
                    "-rdynamic",
                    "-pie",
                    "-no-pie",
                    "-nostdlib",
                    "-nodefaultlibs",
                    "-nostartfiles",
                    "-s",
                ];
                let exactly = ["-s", "-pie", "-no-pie", "-rdynamic"];
                let is_linker = linker
                    .iter()
                    .any(|&f| if exactly.contains(&f) { text == f } else { text.starts_with(f) });
                let front = [
                    "-I",
                    "-D",
                    "-U",
                    "-std",
                    "-W",
                    "-w",
                    "-pedantic",
                    "-ansi",
                    "-M",
                    "-include",
                    "-isystem",
                    "-P",
                    "-C",
                    "-H",
                    "-trigraphs",
                    "-nostdinc",
                    "-idirafter",
                    "-iquote",
                    "-Wp,",
                ];
                let is_front =
                    front.iter().any(|f| text.starts_with(f)) && !text.starts_with("-Wa,");
                return take(
                    if is_linker {
                        Role::Linker
                    } else if is_front {
                        Role::Front
                    } else {
                        Role::Both
                    },
                    1,
                );
            }
            _ => {}
        }
        let path = PathBuf::from(&whole);
        let kind = kind_of(&path, language.as_deref());
        self.inputs.push(Input { path, kind, language: language.clone(), at });
        take(Role::Input, 1)
    }

    /// What the compiler gets besides the source: everything that is not for the linker.
    pub fn compile_flags(&self) -> Vec<OsString> {
        self.with_roles(&[Role::Both, Role::Front])
    }

    /// What code generation gets.
    pub fn code_flags(&self) -> Vec<OsString> {
        self.with_roles(&[Role::Both])
    }

    fn with_roles(&self, roles: &[Role]) -> Vec<OsString> {
        let wanted =
            self.arguments.iter().zip(&self.roles).filter(|(_, role)| roles.contains(role));
        wanted.map(|(argument, _)| argument.clone()).collect()
    }

    /// The linker's command line, with what became of each input in its place.
    pub fn link_arguments(&self, mut object: impl FnMut(&Input) -> PathBuf) -> Vec<OsString> {
        let mut all = Vec::new();
        for (at, (argument, role)) in self.arguments.iter().zip(&self.roles).enumerate() {
            match role {
                Role::Input => {
                    let input = self.inputs.iter().find(|input| input.at == at);
                    all.extend(input.map(|input| object(input).into_os_string()));
                }
                Role::Both | Role::Linker => all.push(argument.clone()),
                Role::Front | Role::Ours => {}
            }
        }
        all
    }

    /// Where the object of a source goes, if the goal is objects.
    pub fn object_of(&self, input: &Input) -> PathBuf {
        match &self.output {
            Some(output) => output.clone(),
            None => {
                PathBuf::from(input.path.file_name().unwrap_or(OsStr::new("a"))).with_extension("o")
            }
        }
    }

    /// Dependency files are named after the object, which is not what this step of the compiler makes.
    pub(crate) fn dependencies(&self, command: &mut Command, object: &Path) {
        let has =
            |prefix: &str| self.arguments.iter().any(|a| a.to_string_lossy().starts_with(prefix));
        if !self.has("-MD") && !self.has("-MMD") {
            return;
        }
        if !has("-MF") {
            command.arg("-MF").arg(object.with_extension("d"));
        }
        if !has("-MT") && !has("-MQ") {
            command.arg("-MT").arg(object);
        }
    }

    /// The libraries that are linked by name, and where they are looked for: `-l` and `-L`.
    pub fn libraries(&self) -> Vec<String> {
        let mut libraries = Vec::new();
        let mut words = self.arguments.iter().map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            if word == "-l" || word == "-L" {
                libraries.extend(words.next().map(|value| format!("{word}{value}")));
            } else if word.starts_with("-l") || word.starts_with("-L") {
                libraries.push(word.into_owned());
            }
        }
        libraries
    }

    /// Whether a flag stands on the line.
    pub fn has(&self, flag: &str) -> bool {
        self.arguments.iter().any(|a| a == flag)
    }
}

fn kind_of(path: &Path, language: Option<&str>) -> Kind {
    match language {
        Some("c" | "cpp-output" | "c-header") => return Kind::C,
        Some("c++" | "c++-cpp-output" | "c++-header") => return Kind::Cxx,
        Some(_) => return Kind::Assembler,
        None => {}
    }
    match path.extension().map(OsStr::as_bytes) {
        Some(b"c" | b"i") => Kind::C,
        Some(b"cc" | b"cp" | b"cpp" | b"cxx" | b"c++" | b"C" | b"CC" | b"CPP" | b"ii") => Kind::Cxx,
        Some(b"s" | b"S" | b"sx" | b"asm") => Kind::Assembler,
        _ => Kind::Linked,
    }
}

/// Replaces `@file` by the arguments in the file.
fn expand(
    argument: OsString,
    into: &mut Vec<OsString>,
    depth: u32,
) -> Result<(), CommandLineError> {
    let Some(path) = argument.as_bytes().strip_prefix(b"@").filter(|p| !p.is_empty()) else {
        into.push(argument);
        return Ok(());
    };
    let path = PathBuf::from(OsStr::from_bytes(path));
    let unreadable = || CommandLineError::ResponseFile { path: path.clone() };
    if depth > 8 {
        return Err(unreadable());
    }
    let text = std::fs::read_to_string(&path).map_err(|_| unreadable())?;
    split(&text).into_iter().try_for_each(|word| expand(word.into(), into, depth + 1))
}

/// Splits as gcc does: white space between arguments, quotes of both kinds, backslashes.
fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (_, '\\') => {
                word.extend(characters.next());
                begun = true;
            }
            (Some(q), c) if c == q => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                begun = true;
            }
            (None, c) if c.is_whitespace() => {
                if std::mem::take(&mut begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, c) => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> CommandLine {
        CommandLine::parse(line.split_whitespace().map(OsString::from)).expect("can be recorded")
    }

    #[test]
    fn the_steps_of_usual_lines() {
        let compile = parse("-O2 -g -Wall -I inc -DX=1 -fPIC -c a.c -o out/a.o");
        assert_eq!((compile.goal, compile.debug), (Goal::Objects, true));
        assert_eq!(compile.object_of(&compile.inputs[0]), Path::new("out/a.o"));
        assert_eq!(compile.code_flags(), ["-O2", "-g", "-fPIC"]);
        assert_eq!(compile.compile_flags(), ["-O2", "-g", "-Wall", "-I", "inc", "-DX=1", "-fPIC"]);
        let link = parse("a.o b.cc -o prog -lm -Wl,-z,now -Llib -pthread");
        assert_eq!(link.goal, Goal::Program);
        let kinds: Vec<Kind> = link.inputs.iter().map(|i| i.kind).collect();
        assert_eq!(kinds, [Kind::Linked, Kind::Cxx]);
        let arguments = link.link_arguments(|i| i.path.with_extension("X"));
        assert_eq!(arguments, ["a.X", "b.X", "-lm", "-Wl,-z,now", "-Llib", "-pthread"]);
        assert_eq!(parse("-shared -o l.so a.o").goal, Goal::Library);
        assert_eq!(parse("-E a.c").goal, Goal::Other);
        assert_eq!(parse("--version").goal, Goal::Other);
        assert_eq!(parse("-print-file-name=x -c a.c").goal, Goal::Other);
        assert_eq!(parse("-x c - -c").inputs[0].kind, Kind::C);
        assert_eq!(parse("-x assembler-with-cpp q.c -x none r.c").inputs[1].kind, Kind::C);
        assert_eq!(parse("-flto -O2 -c a.c").code_flags(), ["-O2"]);
    }

    #[test]
    fn what_cannot_be_recorded_is_refused_by_name() {
        for flag in ["-static", "-fsanitize=thread", "--coverage"] {
            let line = ["a.c".into(), OsString::from(flag)];
            let error = CommandLine::parse(line).expect_err("cannot be recorded");
            assert!(error.to_string().starts_with(flag), "{error}");
        }
    }

    #[test]
    fn response_files_are_split_as_gcc_does() {
        assert_eq!(split("a 'b c'\n\"d\\\"e\" f\\ g ''"), ["a", "b c", "d\"e", "f g", ""]);
    }
}
