//! The commands that make a target, as ninja and make list them without running them.

use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use super::ProjectError;

/// One simple command, and where it would run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Command {
    pub directory: PathBuf,
    pub words: Vec<String>,
}

pub(super) struct Listed {
    /// Who listed them.
    pub tool: &'static str,
    pub commands: Vec<Command>,
}

pub(super) fn of(folder: &Path, target: &str) -> Result<Listed, ProjectError> {
    let has = |name: &str| folder.join(name).is_file();
    if has("build.ninja") {
        let said = ask("ninja", &["-t", "commands", target], folder, target)
            .or_else(|_| ask("ninja", &["-t", "commands"], folder, target))?;
        return Ok(Listed { tool: "ninja", commands: parse(&said, folder) });
    }
    if has("Makefile") || has("makefile") || has("GNUmakefile") {
        let wanted = ["-Bnwk", "VERBOSE=1", "V=1", target];
        let said = ask("make", &wanted, folder, target)?;
        return Ok(Listed { tool: "make", commands: parse(&said, folder) });
    }
    Err(ProjectError::NoBuildFiles { folder: folder.to_path_buf() })
}

fn ask(
    tool: &'static str,
    arguments: &[&str],
    folder: &Path,
    target: &str,
) -> Result<String, ProjectError> {
    let mut process = Process::new(tool);
    process.args(arguments).current_dir(folder).stdin(Stdio::null());
    // What make says of the directories it enters is read, and is translated.
    process.env("LC_ALL", "C").env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    let output = process.output().map_err(|source| ProjectError::Tool {
        tool,
        target: target.to_owned(),
        source,
    })?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // A dry run of make may fail over a file that only a real one makes, and has listed most by then.
    if !output.status.success() && (tool == "ninja" || said.lines().count() < 3) {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(ProjectError::Unknown { tool, target: target.to_owned(), said });
    }
    Ok(said)
}

/// The simple commands of such a list.
fn parse(text: &str, folder: &Path) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut entered = vec![folder.to_path_buf()];
    let whole = text.replace("\\\n", " ");
    for line in whole.lines() {
        if let Some(path) = quoted(line, ": Entering directory ") {
            entered.push(PathBuf::from(path));
        } else if quoted(line, ": Leaving directory ").is_some() {
            entered.pop();
        } else {
            let here = entered.last().map_or(folder, PathBuf::as_path);
            simple(line, here, &mut commands, 0);
        }
    }
    commands
}

fn quoted<'a>(line: &'a str, after: &str) -> Option<&'a str> {
    let (who, rest) = line.split_once(after)?;
    let is_make = who.starts_with("make") && !who.contains(' ');
    is_make.then(|| rest.trim_matches(['\'', '`', '"']))
}

/// Scripts of CMake's linking refer to none themselves; a loop of our own making is cut.
const DEEP: usize = 4;

/// Takes one line of shell apart.
fn simple(line: &str, directory: &Path, into: &mut Vec<Command>, depth: usize) {
    let mut here = directory.to_path_buf();
    for words in split(line) {
        let mut words = words.as_slice();
        // Assignments before a command.
        while let [first, rest @ ..] = words
            && first.split_once('=').is_some_and(|(name, _)| is_variable(name))
        {
            words = rest;
        }
        match words {
            [cd, to, ..] if cd == "cd" => here = here.join(to),
            [_, e, link, script, ..]
                if e == "-E" && link == "cmake_link_script" && depth < DEEP =>
            {
                let script = std::fs::read_to_string(here.join(script)).unwrap_or_default();
                script.lines().for_each(|line| simple(line, &here, into, depth + 1));
            }
            [] => {}
            words => into.push(Command { directory: here.clone(), words: words.to_vec() }),
        }
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Words of the simple commands of a line; `&&`, `||`, `;`, `|`, `(` and `)` stand between them.
fn split(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words) = (Vec::new(), Vec::new());
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '&' | '|' | ';' | '(' | ')') => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            (None, '#') if word.is_none() => break,
            (None, '\'' | '"' | '`') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (None, '\\') => word.get_or_insert_default().extend(characters.next()),
            (Some('"'), '\\') => match characters.peek() {
                Some('"' | '\\' | '$' | '`') => {
                    word.get_or_insert_default().extend(characters.next());
                }
                _ => word.get_or_insert_default().push('\\'),
            },
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    commands.push(words);
    commands.retain(|words| !words.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ninja_and_make_are_taken_apart() {
        let text = "make[1]: Entering directory '/p/sub'\n\
                    cd deep && V=1 gcc -DX=\\\"a\\\" -c \\\n  'a b.c' -o a.o # why\n\
                    make[1]: Leaving directory '/p/sub'\n\
                    : && /usr/bin/ar qc libx.a a.o && :\n";
        let commands = parse(text, Path::new("/p"));
        let shown: Vec<(String, String)> = commands
            .iter()
            .map(|c| (c.directory.display().to_string(), c.words.join("|")))
            .collect();
        let expected = [
            ("/p/sub/deep", "gcc|-DX=\"a\"|-c|a b.c|-o|a.o"),
            ("/p", ":"),
            ("/p", "/usr/bin/ar|qc|libx.a|a.o"),
            ("/p", ":"),
        ];
        let expected = expected.map(|(d, w)| (d.to_owned(), w.to_owned()));
        assert_eq!(shown, expected);
    }
}
