//! A case of the corpus, as its `expect.toml` tells it.
//!
//! The file is the truth, written by hand. An unknown key, an unknown kind of failure, a source that is
//! missing or a line that its file does not have is a mistake in the case and fails it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use unravel_trace::FailureKind;

use crate::error::Error;

/// The folders a case can be in.
const KINDS: [&str; 13] = [
    "atomicity",
    "cpp",
    "data-race",
    "deadlock",
    "environment",
    "explained",
    "figures",
    "memory",
    "multi-variable",
    "order",
    "path-dependent",
    "real",
    "sync",
];

/// The names of what can be wrong, as the answers of the tool have them.
const PATTERNS: [&str; 24] = [
    "lost-update",
    "check-then-act",
    "torn-read",
    "atomicity-violation",
    "early-publication",
    "missing-join",
    "early-free",
    "early-use",
    "order-violation",
    "lost-wake-up",
    "missing-signal",
    "wrong-wake-up",
    "missed-recheck",
    "deadlock",
    "deadlock-by-condition",
    "never-holds",
    "lock-not-released",
    "double-free",
    "broken-lock",
    "timeout",
    "order-by-time",
    "early-exit",
    "taken-for-granted",
    "data-race",
];

/// What an environment may do that an ordinary one does not, as the answers of the tool call it.
const DEVIATIONS: [&str; 6] =
    ["stall", "early-timeout", "spurious-wakeup", "weak-cas", "try-lock", "malloc"];

#[derive(Debug)]
pub struct Case {
    pub folder: PathBuf,
    pub expect: Expect,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expect {
    /// One sentence: what goes wrong.
    pub about: String,
    /// Where the program comes from.
    pub from: String,
    pub sources: Vec<String>,
    /// The sources of the twin without the bug.
    pub fixed: Vec<String>,
    #[serde(default)]
    pub args: Vec<String>,
    /// What the program reads; closed if the key is missing.
    pub stdin: Option<String>,
    /// Native libraries, as after `-l`.
    #[serde(default)]
    pub libs: Vec<String>,
    /// The exit code of the twin in every schedule, if it is not 0.
    pub twin_exit: Option<i32>,
    /// The program assumes: runs in which it does not hold are discarded.
    #[serde(default)]
    pub assumes: bool,
    pub bug: Bug,
    /// What an explanation has to say.
    pub truth: Option<Truth>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bug {
    /// The name of a [`FailureKind`].
    pub outcome: String,
    /// `file:line`, any of which is right. For a deadlock, where some thread is blocked.
    pub at: Vec<String>,
    /// The exit code, of a bug that is one.
    pub exit: Option<i32>,
    /// What the environment has to do for the bug to show, one of [`DEVIATIONS`], or `none`; and how often.
    pub needs: Option<String>,
    pub deviations: Option<u32>,
    /// The lines whose order decides.
    pub racy_lines: Vec<String>,
    /// Orders `file:line -> file:line` that together make the failure.
    #[serde(default)]
    pub root_cause: Vec<String>,
    /// How many causes there are; those between the same lines are one.
    pub causes: Option<u32>,
    /// Why no order of threads makes the failure, once the environment does what it needs: then there is no diagnosis.
    pub undiagnosed: Option<String>,
    /// Why what is said of the cause, or of the nearest run that passes, falls short; the check complains once it does not.
    pub unexplained: Option<String>,
    /// `no: ` and why no repair is to be expected. The case complains once there is one.
    pub repair: Option<String>,
    /// For readers: a path that differs is marked, whether it has to differ or not.
    #[serde(default)]
    pub path_dependent: bool,
    /// Why a search with default settings misses the bug. The case complains once it is found.
    pub known_gap: Option<String>,
    /// With a known gap: flags of a search that finds it all the same, so that it can be diagnosed.
    #[serde(default)]
    pub find_with: Vec<String>,
}

/// What is wrong with the program, as somebody says it who has understood it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Truth {
    /// One of [`PATTERNS`], and others that are as right.
    pub pattern: String,
    #[serde(default)]
    pub also: Vec<String>,
    /// What the sentence has to name: shared data, locks, condition variables.
    pub variables: Vec<String>,
    /// `file:line to file:line`: what should be atomic; any of them is right.
    #[serde(default)]
    pub stretch: Vec<String>,
    /// `file:line before file:line`: what should come first; any of them is right.
    #[serde(default)]
    pub order: Vec<String>,
    /// All of them have to be named.
    #[serde(default)]
    pub locks: Vec<String>,
    /// Lines that have to be shown, all of them.
    pub lines: Vec<String>,
    /// Why a line is not shown; the case complains once all are. All else has to hold.
    pub gap: Option<String>,
}

/// All folders two levels down, in order.
pub fn list(corpus: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut cases = Vec::new();
    for kind in folders(corpus)? {
        cases.extend(folders(&kind)?);
    }
    cases.sort();
    Ok(cases)
}

fn folders(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::File { path: directory.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    Ok(found)
}

/// `kind/name`.
pub fn name(folder: &Path) -> String {
    let last = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    format!("{}/{}", folder.parent().map(last).unwrap_or_default(), last(folder))
}

/// Why there is no repair, of `no: reason`.
pub fn reason(repair: &str) -> Option<&str> {
    repair.strip_prefix("no: ").map(str::trim).filter(|reason| !reason.is_empty())
}

impl Case {
    /// Reads a case; what is wrong with it, in words, if something is.
    pub fn read(folder: &Path) -> Result<Case, String> {
        let text = std::fs::read_to_string(folder.join("expect.toml"))
            .map_err(|error| format!("cannot read expect.toml: {error}"))?;
        let expect = toml::from_str::<Expect>(&text).map_err(|error| {
            format!("expect.toml: {}", error.to_string().trim_end().replace('\n', " "))
        })?;
        let case = Case { folder: folder.to_owned(), expect };
        case.validate().map_err(|problem| format!("expect.toml: {problem}"))?;
        Ok(case)
    }

    /// The case with other arguments of its program, if there are any.
    pub fn with(mut self, args: &[&str]) -> Case {
        if !args.is_empty() {
            self.expect.args = args.iter().map(|&arg| arg.to_owned()).collect();
        }
        self
    }

    fn validate(&self) -> Result<(), String> {
        let Expect { about, from, sources, fixed, bug, .. } = &self.expect;
        let kind = name(&self.folder);
        if !KINDS.iter().any(|k| kind.strip_prefix(k).is_some_and(|rest| rest.starts_with('/'))) {
            return Err(format!("the folder of {kind} is none of {}", KINDS.join(", ")));
        }
        for (key, empty) in [
            ("about", about.is_empty()),
            ("from", from.is_empty()),
            ("sources", sources.is_empty()),
            ("fixed", fixed.is_empty()),
            ("at", bug.at.is_empty()),
            ("racy-lines", bug.racy_lines.is_empty()),
        ] {
            if empty {
                return Err(format!("'{key}' is empty"));
            }
        }
        if sources == fixed {
            return Err("the fixed twin is the buggy program itself".into());
        }
        if let Some(missing) = sources.iter().chain(fixed).find(|s| !self.folder.join(s).is_file())
        {
            return Err(format!("there is no file {missing}"));
        }
        if FailureKind::from_name(&bug.outcome).is_none() {
            return Err(format!("no kind of failure is called '{}'", bug.outcome));
        }
        if bug.known_gap.is_some() == bug.find_with.is_empty() {
            return Err("'known-gap' and 'find-with' belong together".into());
        }
        if bug.repair.as_deref().is_some_and(|text| reason(text).is_none()) {
            return Err("'repair' is not of the form 'no: reason'".into());
        }
        if (bug.outcome == FailureKind::ExitCode.name()) != bug.exit.is_some() {
            return Err("'exit' belongs to the outcome 'exit-code'".into());
        }
        bug.validate_environment(kind.starts_with("environment/"))?;
        let mut lines: Vec<&str> =
            bug.at.iter().chain(&bug.racy_lines).map(String::as_str).collect();
        for order in &bug.root_cause {
            let (earlier, later) = order
                .split_once(" -> ")
                .ok_or_else(|| format!("'{order}' is not of the form file:line -> file:line"))?;
            lines.extend([earlier, later]);
        }
        if let Some(truth) = &self.expect.truth {
            lines.extend(truth.places()?);
        }
        lines.into_iter().try_for_each(|line| self.validate_line(line))
    }

    fn validate_line(&self, place: &str) -> Result<(), String> {
        let (file, line) = place
            .rsplit_once(':')
            .and_then(|(file, line)| Some((file, line.parse::<usize>().ok()?)))
            .ok_or_else(|| format!("'{place}' is not of the form file:line"))?;
        let text = std::fs::read_to_string(self.folder.join(file))
            .map_err(|error| format!("{place}: cannot read {file}: {error}"))?;
        match line.checked_sub(1).and_then(|index| text.lines().nth(index)) {
            Some(line) if !line.trim().is_empty() => Ok(()),
            _ => Err(format!("{place} is an empty line or beyond the end of the file")),
        }
    }

    /// Whether a file the tool named belongs to the case. Paths differ, names do not.
    pub fn owns(&self, file: &str) -> bool {
        let name = Path::new(file).file_name().unwrap_or_default();
        !name.is_empty() && self.folder.join(name).is_file()
    }
}

impl Bug {
    /// What the bug needs of its environment is said completely, and of all bugs that are about the environment.
    fn validate_environment(&self, must: bool) -> Result<(), String> {
        match (self.needs.as_deref(), self.deviations) {
            (None, None) if !must => Ok(()),
            (Some("none"), Some(0)) => Ok(()),
            (Some(needs), Some(1..)) if DEVIATIONS.contains(&needs) => Ok(()),
            (needs, deviations) => Err(format!(
                "'needs' and 'deviations' are none and 0, or one of {} and how often, not {needs:?} and {deviations:?}",
                DEVIATIONS.join(", ")
            )),
        }
    }
}

impl Truth {
    /// All lines it names.
    fn places(&self) -> Result<Vec<&str>, String> {
        let patterns = std::iter::once(&self.pattern).chain(&self.also);
        if let Some(unknown) = patterns.into_iter().find(|name| !PATTERNS.contains(&name.as_str()))
        {
            return Err(format!("no pattern is called '{unknown}'"));
        }
        let mut places: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        for (pairs, word) in [(&self.stretch, " to "), (&self.order, " before ")] {
            for pair in pairs {
                let ends = pair.split_once(word);
                let (from, to) = ends.ok_or_else(|| {
                    format!("'{pair}' is not of the form file:line{word}file:line")
                })?;
                places.extend([from, to]);
            }
        }
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use super::Case;

    const GOOD: &str = r#"
about = "goes wrong"
from = "here"
sources = ["a.c"]
fixed = ["fixed.c"]

[bug]
outcome = "assertion"
at = ["a.c:2"]
racy-lines = ["a.c:1", "a.c:2"]
root-cause = ["a.c:1 -> a.c:2"]
"#;

    /// What is said about a case with this `expect.toml`.
    fn read(kind: &str, expect: &str) -> Result<Case, String> {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let folder = scratch.path().join(kind).join("name");
        std::fs::create_dir_all(&folder).expect("folders");
        for (name, text) in [("expect.toml", expect), ("a.c", "one\ntwo\n"), ("fixed.c", "one\n")] {
            std::fs::write(folder.join(name), text).expect("files");
        }
        Case::read(&folder)
    }

    #[test]
    fn a_right_case_is_accepted() {
        assert_eq!(read("order", GOOD).expect("a case").expect.bug.at, ["a.c:2"]);
    }

    #[test]
    fn mistakes_in_a_case_are_named() {
        const FIXED: &str = "fixed = [\"fixed.c\"]";
        for (right, wrong, said) in [
            ("about =", "abuot =", "unknown field `abuot`"),
            ("[bug]", "[bug]\nknown-gaps = 1", "unknown field `known-gaps`"),
            (FIXED, "", "missing field `fixed`"),
            (FIXED, "fixed = []", "'fixed' is empty"),
            (FIXED, "fixed = [\"a.c\"]", "the buggy program itself"),
            (FIXED, "fixed = [\"b.c\"]", "there is no file b.c"),
            ("\"assertion\"", "\"asertion\"", "called 'asertion'"),
            ("at = [\"a.c:2\"]", "at = [\"a.c:3\"]", "a.c:3 is an empty line or beyond"),
            ("[bug]", "[bug]\nknown-gap = \"why\"", "'find-with' belong together"),
            ("[bug]", "[bug]\nrepair = \"no\"", "'repair' is not of the form"),
            ("[bug]", "[bug]\nneeds = \"stall\"", "not Some(\"stall\") and None"),
            ("[bug]", "[bug]\nneeds = \"stal\"\ndeviations = 1", "one of stall, early-timeout"),
            ("[bug]", "[bug]\nneeds = \"none\"\ndeviations = 1", "are none and 0"),
            ("[bug]", "[bug]\nexit = 1", "'exit' belongs to the outcome"),
            (" -> ", " before ", "is not of the form file:line -> file:line"),
        ] {
            assert!(GOOD.contains(right));
            let problem = read("order", &GOOD.replace(right, wrong)).expect_err(wrong);
            assert!(problem.contains(said), "{wrong}: {problem}");
        }
        assert!(read("environment", GOOD).expect_err("no needs").contains("not None and None"));
        assert!(read("misc", GOOD).expect_err("no kind").contains("is none of atomicity"));
    }
}
