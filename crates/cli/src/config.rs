//! `unravel.toml`: what a project wants of every command. Found in the current directory or above.
//!
//! ```toml
//! [build]
//! flags = ["-Iinclude", "-DDEBUG"]
//! stubs = ["log_message"]
//! wrappers = ["queue_lock"]
//!
//! [search]
//! strategy = "portfolio"
//! schedules = 10000
//! time = "1m"
//! jobs = 2
//!
//! [[suppress]]
//! kind = "deadlock"
//! site = "worker.c:120"
//! reason = "known, see ticket 17"
//! ```

use std::path::{Path, PathBuf};

use serde::Deserialize;
use unravel_explain::Known;
use unravel_trace::{FailureKind, KnownBug, WrittenPlace};

use crate::error::CliError;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub build: Build,
    pub search: Search,
    pub suppress: Vec<Suppression>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Build {
    /// Flags for the compiler. Relative paths count from the file's directory.
    pub flags: Vec<String>,
    /// Functions that nobody defines and that do nothing.
    pub stubs: Vec<String>,
    /// Functions around a lock or an atomic access that reports see through, besides those that are found.
    pub wrappers: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Search {
    pub strategy: Option<String>,
    pub seed: Option<u64>,
    pub schedules: Option<u64>,
    pub time: Option<String>,
    pub jobs: Option<usize>,
    pub max_steps: Option<u64>,
    pub deviations: Option<u32>,
    pub fail_on_exit: Option<bool>,
    pub check: Option<String>,
    pub races: Option<bool>,
}

/// A bug to pass over.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suppression {
    pub kind: String,
    /// `file:line`, or a whole file; of the path, the end is enough.
    pub site: String,
    /// Why, for whoever reads the file; every suppression must give one.
    pub reason: String,
}

impl Suppression {
    /// What keeps it from meaning anything.
    fn problem(&self) -> Option<String> {
        if self.site.parse::<WrittenPlace>().is_err() {
            return Some(format!(
                "'{}' is no place to put a bug aside at: write file.c:120, or file.c for the whole file",
                self.site
            ));
        }
        let unexplained = self.reason.trim().is_empty();
        unexplained.then(|| format!("the bug at {} is put aside without a reason", self.site))
    }
}

impl Config {
    /// Reads the project's file; without one, everything is at its default.
    pub fn find() -> Result<Config, CliError> {
        let Ok(start) = std::env::current_dir() else { return Ok(Config::default()) };
        match start.ancestors().map(|d| d.join("unravel.toml")).find(|p| is_there(p)) {
            Some(path) => {
                let config = Config::read(&path)?;
                crate::program::see_through(&config.build.wrappers);
                Ok(config)
            }
            None => Ok(Config::default()),
        }
    }

    fn read(path: &Path) -> Result<Config, CliError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| CliError::Read { path: path.to_owned(), source })?;
        let complain = |message: String| CliError::Config { path: path.to_owned(), message };
        let mut config: Config = toml::from_str(&text).map_err(|e| complain(e.to_string()))?;
        let directory = path.parent().map(Path::to_owned).unwrap_or_default();
        for flag in &mut config.build.flags {
            resolve_include(flag, &directory);
        }
        if let Some(time) = &config.search.time {
            crate::flags::parse_time(time).map_err(complain)?;
        }
        if let Some(strategy) = &config.search.strategy {
            strategy
                .parse::<unravel_strategies::Strategy>()
                .map_err(|e| CliError::Config { path: path.to_owned(), message: e.to_string() })?;
        }
        if let Some(bad) =
            config.suppress.iter().find(|s| FailureKind::from_name(&s.kind).is_none())
        {
            let kinds: Vec<_> = FailureKind::ALL.iter().map(|k| k.name()).collect();
            return Err(CliError::Config {
                path: path.to_owned(),
                message: format!(
                    "no kind of failure is called '{}'; there are {}",
                    bad.kind,
                    kinds.join(", ")
                ),
            });
        }
        if let Some(problem) = config.suppress.iter().find_map(Suppression::problem) {
            return Err(complain(problem));
        }
        Ok(config)
    }

    /// The bugs to put aside.
    pub fn known(&self) -> Vec<Known> {
        let known = |s: &Suppression| {
            let kind = FailureKind::from_name(&s.kind)?;
            let bug = KnownBug { kind, site: s.site.parse().ok()? };
            Some(Known { bug, reason: s.reason.clone() })
        };
        self.suppress.iter().filter_map(known).collect()
    }
}

/// Also what cannot be read: a file that is meant to say something is not passed over.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// `-Iinclude` in the file means the directory beside the file.
fn resolve_include(flag: &mut String, directory: &Path) {
    for prefix in ["-I", "-L", "-isystem"] {
        if let Some(path) = flag.strip_prefix(prefix).filter(|p| !p.is_empty()) {
            let path = PathBuf::from(path);
            if path.is_relative() {
                *flag = format!("{prefix}{}", directory.join(path).display());
            }
            return;
        }
    }
}
