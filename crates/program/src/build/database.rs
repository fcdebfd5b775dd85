//! Flags from a `compile_commands.json`, as CMake, Bear and others write it.
//!
//! Taken are the flags that decide what a source means: include paths, macros, forced includes and
//! the language standard. All others are left out, for they say how to make a native object. Paths
//! are made absolute by the entry's directory. Of several entries for one source the first counts.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::Deserialize;

use super::{BuildError, CompilationDatabase};

const NAME: &str = "compile_commands.json";

/// One command, as the file has it.
#[derive(Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    /// The command as words …
    arguments: Option<Vec<String>>,
    /// … or as one string for a shell.
    command: Option<String>,
}

/// The databases of one build, each read once.
pub(super) struct CompilationDatabases {
    /// The one the user gave.
    given: Option<PathBuf>,
    search: bool,
    read: HashMap<PathBuf, Rc<Vec<Entry>>>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Flags for one source.
pub(super) struct Found {
    pub flags: Vec<String>,
    pub database: PathBuf,
}

impl CompilationDatabases {
    pub fn new(wanted: &CompilationDatabase, base: &Path) -> Self {
        let given = match wanted {
            CompilationDatabase::At(path) => {
                let path = base.join(path);
                Some(if path.is_dir() { path.join(NAME) } else { path })
            }
            CompilationDatabase::Search | CompilationDatabase::Ignore => None,
        };
        let search = *wanted == CompilationDatabase::Search;
        CompilationDatabases { given, search, read: HashMap::new(), notes: Vec::new() }
    }

    /// The flags for an existing source. A database that was given must be usable; of one that was
    /// found it is enough to say that it is not.
    pub fn flags_for(&mut self, source: &Path) -> Result<Option<Found>, BuildError> {
        let Ok(source) = source.canonicalize() else { return Ok(None) };
        if let Some(path) = self.given.clone() {
            let entries = self.load(&path)?;
            let found = find(&entries, &source);
            if found.is_none() {
                let (path, source) = (path.display(), source.display());
                self.notes.push(format!("{path} has no entry for {source}"));
            }
            return Ok(found.map(|entry| Found { flags: flags(entry), database: path }));
        }
        if !self.search {
            return Ok(None);
        }
        let Some(path) = source.ancestors().skip(1).find_map(nearest) else { return Ok(None) };
        match self.load(&path) {
            Ok(entries) => {
                Ok(find(&entries, &source)
                    .map(|entry| Found { flags: flags(entry), database: path }))
            }
            Err(error) => {
                self.notes.push(error.to_string());
                Ok(None)
            }
        }
    }

    fn load(&mut self, path: &Path) -> Result<Rc<Vec<Entry>>, BuildError> {
        if let Some(entries) = self.read.get(path) {
            return Ok(entries.clone());
        }
        let text = fs::read(path).map_err(|e| BuildError::reading(path, e))?;
        let mut entries: Vec<Entry> = serde_json::from_slice(&text).map_err(|e| {
            BuildError::Database { path: path.to_path_buf(), problem: e.to_string() }
        })?;
        // The format asks for absolute directories; not all writers care.
        let here = path.parent().unwrap_or(path);
        for entry in &mut entries {
            entry.directory = here.join(&entry.directory);
        }
        let entries = Rc::new(entries);
        self.read.insert(path.to_path_buf(), entries.clone());
        Ok(entries)
    }
}

/// The database of a directory: in it, or in a folder of it that things are built in (`build`, `build-debug`,
/// `cmake-build-release`, …), the first by name.
fn nearest(directory: &Path) -> Option<PathBuf> {
    let own = directory.join(NAME);
    if own.is_file() {
        return Some(own);
    }
    let is_build = |name: &str| {
        ["build", "cmake-build", "_build", "out", "builddir"].iter().any(|b| name.starts_with(b))
    };
    let entries = fs::read_dir(directory).ok()?.filter_map(Result::ok);
    let folders = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_build));
    let mut found: Vec<PathBuf> =
        folders.map(|entry| entry.path().join(NAME)).filter(|path| path.is_file()).collect();
    found.sort();
    found.into_iter().next()
}

fn find<'a>(entries: &'a [Entry], source: &Path) -> Option<&'a Entry> {
    entries.iter().find(|entry| {
        // Asking the file system about each of a thousand entries would take its time; a link to
        // the source under another name is not found.
        entry.file.file_name() == source.file_name()
            && entry.directory.join(&entry.file).canonicalize().is_ok_and(|path| path == *source)
    })
}

/// Flags with a path, which may be joined to the option or stand after it.
const PATHS: [&str; 6] = ["-isystem", "-iquote", "-idirafter", "-imacros", "-include", "-I"];

/// Options that are not taken, and whose argument might look like one that is.
const ARGUMENT_IS_NOT_A_FLAG: [&str; 5] = ["-include-pch", "-o", "-MF", "-MT", "-MQ"];

/// Flags of code generation without which a source may mean something else, or not compile.
const MEANING: [&str; 22] = [
    "-fsigned-char",
    "-funsigned-char",
    "-fexceptions",
    "-fno-exceptions",
    "-frtti",
    "-fno-rtti",
    "-fshort-enums",
    "-fms-extensions",
    "-fcommon",
    "-fno-common",
    "-fno-builtin",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-ffreestanding",
    "-fblocks",
    "-fno-access-control",
    "-fno-threadsafe-statics",
    "-fchar8_t",
    "-fno-char8_t",
    "-fsized-deallocation",
    "-faligned-new",
    "-fpermissive",
];

/// The flags of the command that we take.
fn flags(entry: &Entry) -> Vec<String> {
    let words = match (&entry.arguments, &entry.command) {
        (Some(words), _) => words.clone(),
        (None, Some(command)) => split(command),
        (None, None) => Vec::new(),
    };
    // The first word is the compiler.
    meaning(words.into_iter().skip(1), &entry.directory)
}

/// Of a compiler's arguments those that decide what a source means, paths made absolute.
pub(super) fn meaning(words: impl IntoIterator<Item = String>, directory: &Path) -> Vec<String> {
    let absolute = |path: &str| directory.join(path).to_string_lossy().into_owned();
    // A forced include is looked for in the directory first and in the include paths then.
    let included = |path: &str| match directory.join(path) {
        full if full.is_file() => full.to_string_lossy().into_owned(),
        _ => path.to_owned(),
    };
    let mut flags = Vec::new();
    // CMake gives forced includes as `-Xclang -include -Xclang file`.
    let mut words = words.into_iter().filter(|word| word != "-Xclang");
    while let Some(word) = words.next() {
        if ARGUMENT_IS_NOT_A_FLAG.contains(&word.as_str()) {
            words.next();
        } else if let Some(option) = PATHS.into_iter().find(|option| word.starts_with(option)) {
            let joined = word[option.len()..].to_owned();
            let path = if joined.is_empty() { words.next() } else { Some(joined) };
            let Some(path) = path else { break };
            let forced = option == "-include" || option == "-imacros";
            flags.push(option.to_owned());
            flags.push(if forced { included(&path) } else { absolute(&path) });
        } else if word == "-D" || word == "-U" {
            let Some(name) = words.next() else { break };
            flags.push(format!("{word}{name}"));
        } else if word.starts_with("-D") || word.starts_with("-U") {
            flags.push(word);
        } else if let Some(standard) = word.trim_start_matches('-').strip_prefix("std=") {
            flags.push(format!("-std={standard}"));
        } else if ["-ansi", "-pthread", "-nostdinc", "-nostdinc++"].contains(&word.as_str())
            || MEANING.contains(&word.as_str())
            || word.starts_with("-stdlib=")
            || is_instruction_set(&word)
        {
            flags.push(word);
        }
    }
    flags
}

/// `-msse4.2`, `-mavx2`, `-march=native`: headers of intrinsics ask for them. Other `-m` flags say how code is made.
fn is_instruction_set(word: &str) -> bool {
    let sets = ["-msse", "-mssse", "-mavx", "-maes", "-mpclmul", "-mpopcnt", "-mbmi", "-mlzcnt"];
    let more = ["-mcrc32", "-mfma", "-mf16c", "-msha", "-mcx16", "-mrtm", "-mrdrnd", "-march="];
    sets.iter().chain(&more).any(|set| word.starts_with(set))
}

/// Splits a command as a shell does: blanks, quotes and backslashes. Nothing is expanded.
pub(super) fn split(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                // Quotes around nothing are a word, too.
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (None, '\\') => word.get_or_insert_default().extend(characters.next()),
            (Some('"'), '\\') => {
                let word = word.get_or_insert_default();
                match characters.next() {
                    Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                    Some(c) => word.extend(['\\', c]),
                    None => word.push('\\'),
                }
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_as_a_shell_does() {
        let words = split(r#"cc -DA="x y" '-DB="q"' -DC=\"s\" "" -I/a\ b  "\n" "#);
        assert_eq!(words, ["cc", "-DA=x y", r#"-DB="q""#, r#"-DC="s""#, "", "-I/a b", r"\n"]);
    }

    #[test]
    fn only_what_gives_meaning_is_taken() {
        let entry = Entry {
            directory: "/b".into(),
            file: "x.c".into(),
            arguments: None,
            command: Some(
                "cc -O2 -g -Iinc -I /abs -isystem sys -DX=1 -U Y --std=c11 -include none.h \
                 -fPIC -MF -Dnot -Xclang -include-pch -Xclang p.pch -o -Iout -c x.c"
                    .into(),
            ),
        };
        let expected = [
            "-I", "/b/inc", "-I", "/abs", "-isystem", "/b/sys", "-DX=1", "-UY", "-std=c11",
            "-include", "none.h",
        ];
        assert_eq!(flags(&entry), expected);
    }
}
