//! Runs clang and llvm-link.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;
use std::{fs, thread};

use super::flags::Language;
use super::scratch::Scratch;
use super::tools::Tools;
use super::{BuildError, Optimise, Plan, markers};

/// A source and how it is compiled.
pub(super) struct Unit {
    /// As the user wrote it.
    pub source: PathBuf,
    pub language: Language,
    pub flags: Vec<String>,
}

/// What the tools made.
pub(super) struct Made {
    pub bitcode: Vec<u8>,
    pub warnings: String,
    /// Every file that was read: sources and headers, absolute, each once.
    pub inputs: Vec<PathBuf>,
    /// When the first tool was started.
    pub began: SystemTime,
}

/// Set after the user's flags, so that they win.
///
/// Without `optnone` on every function passes still run on `-O0` code; without strict return a
/// function that forgets to return a value does so with a garbage value, and not by running into
/// whatever comes next. A warning that a flag is of no use to the compiler is of no use to the user.
const ALWAYS: [&str; 7] = [
    "-g",
    "-Xclang",
    "-disable-O0-optnone",
    "-fno-strict-return",
    "-Qunused-arguments",
    "-emit-llvm",
    "-c",
];

/// Old C that gcc takes with a warning, up to version 13, and clang refuses.
const OLD_C: [&str; 4] = [
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=implicit-int",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-function-pointer-types",
];

/// Vector and unrolled code is of no use to an interpreter.
const OPTIMISED: [&str; 3] = ["-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops"];

/// Compiles all units and links them.
pub(super) fn make(plan: &Plan, tools: &Tools) -> Result<Made, BuildError> {
    let began = SystemTime::now();
    let scratch = Scratch::new().map_err(|source| BuildError::Io {
        action: "make a directory in",
        path: std::env::temp_dir(),
        source,
    })?;
    let compiled = compile_all(plan, tools, scratch.path());

    let mut objects = Vec::with_capacity(plan.units.len());
    let mut inputs = Vec::new();
    let mut printed = String::new();
    let mut failed = Vec::new();
    for (unit, compiled) in plan.units.iter().zip(compiled) {
        let compiled = compiled?;
        printed.push_str(&compiled.printed);
        match compiled.object {
            Some(object) => objects.push(object),
            None => failed.push(unit.source.clone()),
        }
        inputs.extend(compiled.inputs);
    }
    if !failed.is_empty() {
        return Err(BuildError::Compile { sources: failed, stderr: printed });
    }
    let linked = match objects.as_slice() {
        [only] => only.clone(),
        several => {
            let linked = scratch.path().join("linked.bc");
            let sources: Vec<PathBuf> = plan.units.iter().map(|u| u.source.clone()).collect();
            printed.push_str(&link(tools, &plan.directory, several, &linked, &sources)?);
            linked
        }
    };
    let bitcode = fs::read(&linked).map_err(|e| BuildError::reading(&linked, e))?;
    inputs.sort();
    inputs.dedup();
    Ok(Made { bitcode, warnings: printed, inputs, began })
}

/// What became of one unit.
struct Compiled {
    /// `None` if the compiler refused it.
    object: Option<PathBuf>,
    inputs: Vec<PathBuf>,
    /// By the compiler, on stderr.
    printed: String,
}

/// Compiles as many units at a time as there are processors. Results are in the units' order, so
/// that messages and linking do not depend on who is first.
fn compile_all(plan: &Plan, tools: &Tools, scratch: &Path) -> Vec<Result<Compiled, BuildError>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..processors.min(plan.units.len()) {
            scope.spawn(|| {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    let Some(unit) = plan.units.get(nth) else { return };
                    let result = compile(plan, tools, unit, &scratch.join(nth.to_string()));
                    results.lock().expect("no compile thread panics").push((nth, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no compile thread panics");
    results.sort_by_key(|(nth, _)| *nth);
    results.into_iter().map(|(_, result)| result).collect()
}

fn compile(
    plan: &Plan,
    tools: &Tools,
    unit: &Unit,
    scratch: &Path,
) -> Result<Compiled, BuildError> {
    let source = plan.directory.join(&unit.source);
    if unit.language == Language::Bitcode {
        let object = Some(source.clone());
        return Ok(Compiled { object, inputs: vec![source], printed: String::new() });
    }
    let object = scratch.with_extension("bc");
    let dependencies = scratch.with_extension("d");
    let mut command = Command::new(&tools.clang);
    if unit.language.is_c() {
        command.args(OLD_C);
    }
    command.args(&unit.flags);
    match plan.optimise {
        None => command.arg("-O0"),
        Some(Optimise::Light) => command.arg("-O1").args(OPTIMISED),
        Some(Optimise::Full) => command.arg("-O2").args(OPTIMISED),
    };
    command.args(ALWAYS);
    if unit.language.has_includes() {
        command.args(["-MD", "-MF"]).arg(&dependencies);
    }
    if let Some(overlay) = overlay(&source, &unit.source, scratch)? {
        // The driver keeps it from a compiler that has nothing to preprocess.
        command.args(["-Xclang", "-ivfsoverlay", "-Xclang"]).arg(overlay);
    }
    command.arg("-o").arg(&object).args(["-x", unit.language.name(), "--"]).arg(&unit.source);
    let output = run(command, &tools.clang, &plan.directory)?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        // A compiler that was killed has printed nothing.
        let printed = match printed.is_empty() {
            true => format!("clang: {}\n", output.status),
            false => printed,
        };
        return Ok(Compiled { object: None, inputs: Vec::new(), printed });
    }
    let mut inputs = vec![source];
    if unit.language.has_includes() {
        let text = fs::read(&dependencies).map_err(|source| BuildError::Io {
            action: "read",
            path: dependencies,
            source,
        })?;
        let listed = prerequisites(&String::from_utf8_lossy(&text));
        inputs.extend(listed.into_iter().map(|path| plan.directory.join(path)));
    }
    Ok(Compiled { object: Some(object), inputs, printed })
}

/// Of a preprocessed source, what tells clang to read it with its line markers overruled, under its own name.
fn overlay(source: &Path, name: &Path, scratch: &Path) -> Result<Option<PathBuf>, BuildError> {
    // What cannot be read the compiler complains of, in its own words.
    let Ok(text) = fs::read(source) else { return Ok(None) };
    let Some(text) = markers::overruled(&text, &name.display().to_string()) else {
        return Ok(None);
    };
    let instead = scratch.with_extension("overruled");
    let overlay = scratch.with_extension("yaml");
    let source = std::path::absolute(source).unwrap_or_else(|_| source.to_owned());
    let described = serde_json::json!({
        "version": 0,
        "use-external-names": false,
        "roots": [{ "name": source, "type": "file", "external-contents": instead }],
    });
    for (path, text) in [(&instead, text), (&overlay, described.to_string().into_bytes())] {
        fs::write(path, text).map_err(|source| BuildError::Io {
            action: "write",
            path: path.clone(),
            source,
        })?;
    }
    Ok(Some(overlay))
}

/// Links and returns what the linker printed.
pub(super) fn link(
    tools: &Tools,
    directory: &Path,
    objects: &[impl AsRef<OsStr>],
    linked: &Path,
    sources: &[PathBuf],
) -> Result<String, BuildError> {
    let linker = tools.linker()?;
    let mut command = Command::new(linker);
    command.args(objects).arg("-o").arg(linked);
    let output = run(command, linker, directory)?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return Ok(stderr);
    }
    Err(BuildError::Link { sources: sources.to_vec(), stderr })
}

fn run(mut command: Command, tool: &Path, directory: &Path) -> Result<Output, BuildError> {
    // SAFETY: between fork and exec nothing but a system call: whoever dies takes the compiler along.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    command.current_dir(directory).stdin(Stdio::null()).output().map_err(|source| BuildError::Io {
        action: "run",
        path: tool.to_path_buf(),
        source,
    })
}

/// The files after the colon of a makefile rule that clang wrote. Blanks and `#` in names are
/// escaped by a backslash, `$` is doubled, lines are continued by a backslash at their end.
fn prerequisites(rule: &str) -> Vec<String> {
    let Some((_, rest)) = rule.split_once(": ") else { return Vec::new() };
    let mut files = Vec::new();
    let mut file = String::new();
    let mut characters = rest.chars().peekable();
    while let Some(c) = characters.next() {
        match (c, characters.peek()) {
            ('\\', Some(' ' | '#')) | ('$', Some('$')) => file.extend(characters.next()),
            ('\\', Some('\n')) => {}
            (c, _) if c.is_whitespace() => {
                if !file.is_empty() {
                    files.push(std::mem::take(&mut file));
                }
            }
            (c, _) => file.push(c),
        }
    }
    if !file.is_empty() {
        files.push(file);
    }
    files
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_in_dependency_rules_are_unescaped() {
        let rule = "0.bc: a.c \\\n  my\\ dir/x.h cost$$.h \\\n  n\\#1.h back\\slash.h\n";
        assert_eq!(
            super::prerequisites(rule),
            ["a.c", "my dir/x.h", "cost$.h", "n#1.h", "back\\slash.h"]
        );
        assert!(super::prerequisites("").is_empty());
    }
}
