//! Finds clang and llvm-link.
//!
//! LLVM 19 reads the bitcode later, and bitcode of a newer version may not be readable, so a `clang`
//! without a version in its name is asked for its version. Who sets `UNRAVEL_CLANG` is trusted.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::BuildError;

/// The line that installs everything needed on Debian and Ubuntu.
pub const INSTALL: &str = "apt-get install clang-19 llvm-19-dev libffi-dev libz3-dev g++";

const HOME: &str = "/usr/lib/llvm-19/bin";

/// The tools that builds use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tools {
    /// Absolute.
    pub clang: PathBuf,
    /// Needed for several sources only.
    pub linker: Option<PathBuf>,
}

impl Tools {
    pub(super) fn find(wanted: Option<&Path>, path: &[PathBuf]) -> Result<Tools, BuildError> {
        let clang = find_clang(wanted, path)?;
        // The one that belongs to this clang fits best; `/usr/bin/clang-19` is a link to it.
        let beside = clang.canonicalize().ok().and_then(|c| Some(c.parent()?.join("llvm-link")));
        let linker = beside
            .filter(|tool| tool.is_file())
            .or_else(|| on_path("llvm-link-19", path))
            .or_else(|| Some(Path::new(HOME).join("llvm-link")).filter(|tool| tool.is_file()));
        Ok(Tools { clang, linker })
    }

    pub(super) fn linker(&self) -> Result<&Path, BuildError> {
        self.linker.as_deref().ok_or_else(|| BuildError::LinkerMissing {
            tried: format!("llvm-link beside {}, llvm-link-19, {HOME}", self.clang.display()),
        })
    }
}

fn find_clang(wanted: Option<&Path>, path: &[PathBuf]) -> Result<PathBuf, BuildError> {
    if let Some(wanted) = wanted {
        // A bare name is looked up as a shell would.
        let found = match wanted.to_str() {
            Some(name) if !name.contains('/') => on_path(name, path),
            _ => std::path::absolute(wanted).ok().filter(|tool| tool.is_file()),
        };
        return found.ok_or_else(|| BuildError::ClangMissing {
            tried: format!("UNRAVEL_CLANG={}", wanted.display()),
        });
    }
    on_path("clang-19", path)
        .or_else(|| Some(Path::new(HOME).join("clang")).filter(|tool| tool.is_file()))
        .or_else(|| on_path("clang", path).filter(|clang| is_version_19(clang)))
        .ok_or_else(|| BuildError::ClangMissing {
            tried: format!("clang-19, {HOME}/clang, and a clang of version 19"),
        })
}

fn on_path(name: &str, path: &[PathBuf]) -> Option<PathBuf> {
    path.iter()
        .filter_map(|directory| std::path::absolute(directory.join(name)).ok())
        .find(|tool| tool.is_file())
}

fn is_version_19(clang: &Path) -> bool {
    let output = Command::new(clang).arg("--version").stdin(Stdio::null()).output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("clang version 19."))
}
