//! A folder of compilers that are all this program under their names, put before all others on `PATH`, and the journal of
//! what they made.
//!
//! A build finds them as it finds its compilers: by name, or by `CC` and `CXX`. One that was told the whole path of a compiler
//! before (a folder that CMake configured) does not find them, and keeps nothing: whoever wraps has to say so. The other
//! way round, a folder that was configured with these compilers goes on using them: so theirs stays where it is, and
//! they work without a journal, too.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::wrap::{DriverError, io};

/// Where the folder of compilers is, for those that are found by name.
const FOLDER: &str = "UNRAVEL_COMPILERS";
/// Where they write what they made.
const JOURNAL: &str = "UNRAVEL_JOURNAL";
/// What the folder is called.
const NAME: &str = "unravel-compilers";

/// The names that compilers of C and C++ have, with or without a target before and a version behind.
const NAMES: [&str; 9] = ["cc", "c++", "gcc", "g++", "clang", "clang++", "c89", "c99", "CC"];

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shims {
    folder: PathBuf,
    journal: Option<PathBuf>,
}

/// What compilers say of what they made, a line each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Journal {
    file: Option<PathBuf>,
}

/// What a build made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Made {
    /// Executables that were linked, in order.
    pub programs: Vec<PathBuf>,
    /// Sources without bitcode, and why.
    pub missing: Vec<(PathBuf, String)>,
}

impl Shims {
    /// Makes the folder within `place`: a link to this program for each compiler on `PATH`.
    pub fn new(place: &Path, journal: &Path) -> Result<Shims, DriverError> {
        let own = std::env::current_exe().map_err(io("the path of this program"))?;
        let shims = Shims { folder: place.join(NAME), journal: Some(journal.to_path_buf()) };
        fs::create_dir_all(&shims.folder).map_err(io("the folder of compilers"))?;
        let mut names = BTreeSet::new();
        for folder in std::env::split_paths(&shims.path_outside()) {
            let Ok(entries) = fs::read_dir(folder) else { continue };
            let files = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
            names.extend(files.filter(|name| name.to_str().is_some_and(is_compiler)));
        }
        for name in names {
            shims.link(&own, &name).map_err(io("the folder of compilers"))?;
        }
        Ok(shims)
    }

    /// Puts a link in its place in one step: another build may be using it.
    fn link(&self, own: &Path, name: &OsStr) -> std::io::Result<()> {
        let to = self.folder.join(name);
        if fs::read_link(&to).is_ok_and(|old| old == own) {
            return Ok(());
        }
        let new = self.folder.join(format!(".{}.{}", name.display(), std::process::id()));
        symlink(own, &new)?;
        fs::rename(&new, &to)
    }

    /// The folder that this process was started from, as one of its compilers.
    pub(crate) fn of_environment() -> Result<Shims, DriverError> {
        let called = std::env::args_os().next().map(PathBuf::from);
        let own = called.as_deref().and_then(Path::parent).filter(|p| p.ends_with(NAME));
        let folder = own.map(Path::to_path_buf).or_else(|| Some(std::env::var_os(FOLDER)?.into()));
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let folder = folder.ok_or_else(missing).map_err(io(FOLDER))?;
        Ok(Shims { folder, journal: std::env::var_os(JOURNAL).map(PathBuf::from) })
    }

    /// The name of the compiler that this process was called as, if it was started from such a folder.
    pub fn called_as(arguments: &[OsString]) -> Option<OsString> {
        let called = Path::new(arguments.first()?);
        let name = called.file_name()?;
        let by_path = called.parent().is_some_and(|folder| folder.ends_with(NAME));
        let by_name = called == Path::new(name) && std::env::var_os(FOLDER).is_some();
        ((by_path || by_name) && is_compiler(name.to_str()?)).then(|| name.to_owned())
    }

    pub fn journal(&self) -> Journal {
        Journal { file: self.journal.clone() }
    }

    /// A command that finds these compilers.
    pub fn inside<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let own = std::iter::once(self.folder.clone());
        let others = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(own.chain(std::env::split_paths(&others)));
        command.env("PATH", path.unwrap_or(others)).env(FOLDER, &self.folder);
        if let Some(journal) = &self.journal {
            command.env(JOURNAL, journal);
        }
        for (variable, usual) in [("CC", "cc"), ("CXX", "c++")] {
            // What the user wants is wanted by name: `ccache gcc`, `/opt/bin/gcc-13`.
            let wanted = std::env::var(variable).unwrap_or_else(|_| usual.to_owned());
            let mut words: Vec<String> = wanted.split_whitespace().map(str::to_owned).collect();
            for word in &mut words {
                let name = Path::new(word.as_str()).file_name().map(|name| self.folder.join(name));
                if let Some(shim) = name.filter(|shim| shim.is_symlink()) {
                    *word = shim.display().to_string();
                }
            }
            command.env(variable, words.join(" "));
        }
        command
    }

    /// A command that does not.
    pub(crate) fn outside<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("PATH", self.path_outside())
    }

    pub(crate) fn path_outside(&self) -> OsString {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let others: Vec<PathBuf> =
            std::env::split_paths(&path).filter(|folder| *folder != self.folder).collect();
        std::env::join_paths(others).unwrap_or(path)
    }

    /// The compiler that a name means outside.
    pub(crate) fn real(&self, name: &OsStr) -> Result<PathBuf, DriverError> {
        self.find(name).ok_or_else(|| DriverError::NoCompiler { name: name.to_owned() })
    }

    /// What adds sections to objects.
    pub(crate) fn object_tool(&self) -> Result<PathBuf, DriverError> {
        let names = ["objcopy", "llvm-objcopy-19", "llvm-objcopy"];
        let found = names.iter().find_map(|name| self.find(OsStr::new(name)));
        found.ok_or_else(|| DriverError::NoCompiler { name: "objcopy".into() })
    }

    fn find(&self, name: &OsStr) -> Option<PathBuf> {
        std::env::split_paths(&self.path_outside())
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    }
}

impl Journal {
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// What the build made; each program once.
    pub fn read(&self) -> Made {
        use std::os::unix::ffi::OsStrExt;
        let mut made = Made::default();
        let content = self.file.as_ref().and_then(|file| fs::read(file).ok()).unwrap_or_default();
        for line in content.split(|byte| *byte == b'\n') {
            let mut parts = line.splitn(3, |byte| *byte == b'\t');
            let (kind, path) = (parts.next(), parts.next().map(OsStr::from_bytes));
            let why = parts.next().map(|why| String::from_utf8_lossy(why).into_owned());
            match (kind, path) {
                (Some(b"program"), Some(path)) if !made.programs.contains(&path.into()) => {
                    made.programs.push(path.into());
                }
                (Some(b"missing"), Some(path)) => {
                    made.missing.push((path.into(), why.unwrap_or_default()));
                }
                _ => {}
            }
        }
        made
    }
}

/// Whether a program of this name compiles C or C++: `gcc-13`, `x86_64-linux-gnu-g++`, `clang++-19`.
pub(crate) fn is_compiler(name: &str) -> bool {
    let version = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let bare = match name.rsplit_once('-') {
        Some((before, behind)) if !behind.is_empty() && version(behind) => before,
        _ => name,
    };
    let last = bare.rsplit_once('-').map_or(bare, |(_, last)| last);
    // `gcc-ar` and its kin end otherwise; `c++filt` is no version of `c++`.
    NAMES.contains(&last) && !bare.starts_with("unravel")
}

#[cfg(test)]
mod tests {
    #[test]
    fn compilers_are_known_by_their_names() {
        for name in ["cc", "gcc-13", "x86_64-linux-gnu-g++-12", "clang++-19", "c99", "clang"] {
            assert!(super::is_compiler(name), "{name}");
        }
        for name in ["gcc-ar", "c++filt", "clang-format-19", "unravel-cc", "ccache", "gcc-nm-12"] {
            assert!(!super::is_compiler(name), "{name}");
        }
    }
}
