//! Which of the user's compiler flags are kept, which name libraries, and which are dropped.
//!
//! Flags are those a user pastes from a makefile, so all that a native build may need is expected
//! here. Dropped with a note: whatever changes what we execute (optimisation, sanitizers, coverage,
//! link-time optimisation, another target) and whatever only a native linker understands. Dropped
//! silently: what we set ourselves (`-g`, `-c`, `-o`, dependency output). Everything else goes to
//! clang, which complains better about what it does not know than we could.

use std::path::Path;

use super::BuildError;

/// What a source file is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Language {
    C,
    Cxx,
    PreprocessedC,
    PreprocessedCxx,
    /// LLVM's textual form.
    Assembly,
    /// Needs no compilation.
    Bitcode,
}

impl Language {
    /// By the file's ending.
    pub fn of(path: &Path) -> Result<Language, BuildError> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let hint = match ending {
            "c" => return Ok(Language::C),
            "cc" | "cp" | "cpp" | "cxx" | "c++" | "C" | "CC" | "CPP" => return Ok(Language::Cxx),
            "i" => return Ok(Language::PreprocessedC),
            "ii" => return Ok(Language::PreprocessedCxx),
            "ll" => return Ok(Language::Assembly),
            "bc" => "it ends in .bc but does not hold LLVM bitcode",
            "h" | "hh" | "hpp" | "hxx" => "it is a header; give the source files that include it",
            "s" | "S" | "asm" => "assembly cannot be interpreted",
            "rs" => "Rust sources are not supported yet; give bitcode (rustc --emit=llvm-bc)",
            _ => {
                "unknown file type; C (.c .i), C++ (.cc .cpp .cxx .c++ .C .ii), LLVM (.ll .bc) \
                 and programs made by `unravel build` are known"
            }
        };
        Err(BuildError::UnknownType { path: path.to_path_buf(), hint })
    }

    /// As the user names it after `-x`.
    pub fn named(name: &str) -> Option<Language> {
        [Language::C, Language::Cxx, Language::PreprocessedC, Language::PreprocessedCxx]
            .into_iter()
            .chain([Language::Assembly])
            .find(|language| language.name() == name)
    }

    /// The name that clang's `-x` takes.
    pub fn name(self) -> &'static str {
        match self {
            Language::C => "c",
            Language::Cxx => "c++",
            Language::PreprocessedC => "cpp-output",
            Language::PreprocessedCxx => "c++-cpp-output",
            Language::Assembly | Language::Bitcode => "ir",
        }
    }

    pub fn is_c(self) -> bool {
        matches!(self, Language::C | Language::PreprocessedC)
    }

    pub fn is_cxx(self) -> bool {
        matches!(self, Language::Cxx | Language::PreprocessedCxx)
    }

    /// Whether compiling reads other files than the source itself.
    pub fn has_includes(self) -> bool {
        matches!(self, Language::C | Language::Cxx)
    }

    /// Not LLVM's own language.
    pub fn is_source(self) -> bool {
        !matches!(self, Language::Assembly | Language::Bitcode)
    }

    /// Whether a flag may be given for this language: clang refuses `-std=c++20` for C, and C and
    /// C++ sources can be mixed.
    pub fn takes(self, flag: &str) -> bool {
        match flag.strip_prefix("-std=") {
            Some(standard) => self.is_source() && self.is_cxx() == (standard.contains("++")),
            None => true,
        }
    }
}

/// A list of flags, sorted out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Sorted {
    /// For the compiler. An option and its argument are one after the other.
    pub compile: Vec<String>,
    pub libs: Vec<String>,
    pub notes: Vec<String>,
    /// What `-x` says.
    pub language: Option<Language>,
}

/// Options that clang takes an argument for as the next word, and that are kept with it.
const WITH_ARGUMENT: [&str; 16] = [
    "-I",
    "-D",
    "-U",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-include",
    "-imacros",
    "-isysroot",
    "--sysroot",
    "-iprefix",
    "-iwithprefix",
    "-Xclang",
    "-Xpreprocessor",
    "-mllvm",
    "-cxx-isystem",
];

/// Options that are dropped with the word after them, and why.
const DROPPED_WITH_ARGUMENT: [(&str, Why); 14] = [
    ("-o", Why::Ours),
    ("-include-pch", Why::Ours),
    ("-MF", Why::Ours),
    ("-MT", Why::Ours),
    ("-MQ", Why::Ours),
    ("-MJ", Why::Ours),
    ("-target", Why::Target),
    ("-arch", Why::Target),
    ("-Xlinker", Why::Linker),
    ("-T", Why::Linker),
    ("-u", Why::Linker),
    ("-z", Why::Linker),
    ("-e", Why::Linker),
    ("-Xassembler", Why::Linker),
];

/// Why a flag is dropped.
#[derive(Clone, Copy)]
enum Why {
    /// We set it ourselves; not worth a word.
    Ours,
    Linker,
    Target,
    Optimisation,
    Instrumentation,
    Werror,
    Output,
}

impl Why {
    fn note(self, flag: &str) -> Option<String> {
        let reason = match self {
            Why::Ours => return None,
            Why::Linker => "it only matters to a native linker",
            Why::Target => "programs are executed for this machine's 64-bit target",
            Why::Optimisation => "the program is executed unoptimised, as written",
            Why::Instrumentation => "instrumented code cannot be executed, and is not needed",
            Why::Werror => "warnings stay warnings",
            Why::Output => "only bitcode is made",
        };
        Some(format!("dropped {flag}: {reason}"))
    }
}

/// Whether a flag that stands alone is dropped.
fn dropped(flag: &str) -> Option<Why> {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| flag.starts_with(prefix));
    let is = |flags: &[&str]| flags.contains(&flag);
    if starts(&["-D_FORTIFY_SOURCE", "-O"]) || flag == "-fwhole-program" {
        return Some(Why::Optimisation);
    }
    if is(&["-c", "-pipe", "-v", "-emit-llvm"]) || starts(&["-g", "-M", "-save-temps", "-o"]) {
        return Some(Why::Ours);
    }
    if is(&["--coverage", "-coverage", "-pg", "-p", "-ftest-coverage"])
        || starts(&["-fsanitize", "-fno-sanitize", "-fprofile", "-fcoverage", "-fxray"])
        || starts(&["-finstrument", "-flto", "-fno-lto", "-ffat-lto", "-fwhole-program-vtables"])
    {
        return Some(Why::Instrumentation);
    }
    if is(&["-m32", "-mx32", "-m16"]) || starts(&["--target="]) {
        return Some(Why::Target);
    }
    if is(&["-Werror", "-pedantic-errors"]) || starts(&["-Werror="]) {
        return Some(Why::Werror);
    }
    if is(&["-E", "-S", "-fsyntax-only", "-emit-ast", "--analyze", "-###", "--version"]) {
        return Some(Why::Output);
    }
    if is(&["-s", "-shared", "-rdynamic", "-pie", "-no-pie", "-nostartfiles", "-nodefaultlibs"])
        || is(&["-nostdlib", "-nostdlib++", "-nolibc", "-r"])
        || starts(&["-Wl,", "-Wa,", "-static", "-shared-", "-fuse-ld="])
    {
        return Some(Why::Linker);
    }
    None
}

/// Sorts flags out. `directory` is where `-L` of relative directories starts.
pub(super) fn sort(flags: &[String], directory: &Path) -> Result<Sorted, BuildError> {
    let mut sorted = Sorted::default();
    let (mut libraries, mut directories) = (Vec::new(), Vec::new());
    let mut rest = flags.iter();
    while let Some(flag) = rest.next() {
        let bad = |problem| BuildError::BadFlag { flag: flag.clone(), problem };
        let mut argument = || rest.next().cloned().ok_or_else(|| bad("its argument is missing"));
        if flag.starts_with('@') {
            return Err(bad("response files are not read; give the flags themselves"));
        }
        if !flag.starts_with('-') || flag == "-" {
            return Err(bad("it does not begin with '-'; give files as files"));
        }
        if let Some((_, why)) = DROPPED_WITH_ARGUMENT.iter().find(|(name, _)| name == flag) {
            sorted.notes.extend(why.note(&format!("{flag} {}", argument()?)));
        } else if flag == "-x" {
            sorted.language = language(&argument()?).map_err(bad)?;
        } else if let Some(name) = flag.strip_prefix("-x") {
            sorted.language = language(name).map_err(bad)?;
        } else if flag == "-l" {
            libraries.push(argument()?);
        } else if let Some(name) = flag.strip_prefix("-l") {
            libraries.push(name.to_owned());
        } else if flag == "-L" {
            directories.push(argument()?);
        } else if let Some(path) = flag.strip_prefix("-L") {
            directories.push(path.to_owned());
        } else if WITH_ARGUMENT.contains(&flag.as_str()) {
            let argument = argument()?;
            match (flag.as_str(), dropped(&format!("{flag}{argument}"))) {
                ("-D", Some(why)) => sorted.notes.extend(why.note(&format!("-D{argument}"))),
                _ => {
                    sorted.notes.extend(remark(&format!("{flag}{argument}")));
                    sorted.compile.extend([flag.clone(), argument]);
                }
            }
        } else if let Some(why) = dropped(flag) {
            sorted.notes.extend(why.note(flag));
        } else {
            sorted.notes.extend(remark(flag));
            // Clang knows both spellings, `Language::takes` only one.
            sorted.compile.push(match flag.strip_prefix("--std=") {
                Some(standard) => format!("-std={standard}"),
                None => flag.clone(),
            });
        }
    }
    for name in libraries {
        let (lib, note) = locate(&name, &directories, directory);
        sorted.libs.push(lib);
        sorted.notes.extend(note);
    }
    Ok(sorted)
}

fn language(name: &str) -> Result<Option<Language>, &'static str> {
    match name {
        "none" => Ok(None),
        name => Language::named(name).map(Some).ok_or("only C and C++ can be compiled"),
    }
}

/// Something worth knowing about a flag that is kept.
fn remark(flag: &str) -> Option<String> {
    (flag == "-DNDEBUG" || flag.starts_with("-DNDEBUG="))
        .then(|| "-DNDEBUG removes assertions: what they check is not found".to_owned())
}

/// Where the library is, if it is in one of the directories; its name otherwise.
fn locate(name: &str, directories: &[String], base: &Path) -> (String, Option<String>) {
    // `-l:file` asks for a file of that name.
    let file = match name.strip_prefix(':') {
        Some(file) => file.to_owned(),
        None => format!("lib{name}.so"),
    };
    let candidates = || directories.iter().map(|directory| base.join(directory));
    let found = candidates().map(|directory| directory.join(&file)).find(|path| path.is_file());
    if let Some(path) = found.as_ref().and_then(|path| path.to_str()) {
        return (path.to_owned(), None);
    }
    let only_static =
        candidates().any(|directory| directory.join(format!("lib{name}.a")).is_file());
    let note = only_static.then(|| {
        format!("-l{name}: only a static library is there; give its sources or a shared one")
    });
    (name.to_owned(), note)
}
