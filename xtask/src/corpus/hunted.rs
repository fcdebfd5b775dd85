//! What `unravel hunt --json` answers, as far as it is looked at here.

use std::path::PathBuf;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct Hunt {
    pub runs: RunsSeen,
    pub effort: Effort,
    pub exposed: Vec<Exposed>,
    pub end: End,
    /// Without compiling.
    pub seconds: f64,
}

#[derive(Debug, Deserialize)]
pub struct RunsSeen {
    pub passing: u64,
    /// They failed by themselves, and were put aside.
    pub failing: u64,
    /// Different ones among those that passed.
    pub distinct: u64,
}

#[derive(Debug, Deserialize)]
pub struct Effort {
    /// Executions that were synthesised and asked about.
    pub attempts: u64,
    /// Combinations of observed threads that were asked about before anything was flipped.
    pub observed: u64,
    /// What execution did not keep of the promised orders.
    pub refused: Vec<Refused>,
}

#[derive(Debug, Deserialize)]
pub struct Refused {
    pub count: u64,
}

#[derive(Debug, Deserialize)]
pub struct Exposed {
    /// `by-itself`, `by-schedule`, `by-path`.
    pub how: String,
    pub attempt: u64,
    /// D and N that would have been enough.
    pub depth: u32,
    pub traces: u32,
    pub flipped: u64,
    pub synthesised: u64,
    /// The run that passed, which it was derived from, and what differs.
    pub derived: Option<Derived>,
    pub trace: Option<PathBuf>,
    /// From the first question to the failure.
    pub seconds: f64,
}

#[derive(Debug, Deserialize)]
pub struct Derived {
    pub failing: Size,
    pub passing: Passing,
}

/// A run, of which only the size matters here.
#[derive(Debug, Deserialize)]
pub struct Size {
    pub events: u64,
}

#[derive(Debug, Deserialize)]
pub struct Passing {
    pub run: Size,
    pub projection: Projection,
}

#[derive(Debug, Deserialize)]
pub struct Projection {
    /// Events of the failing run, of which only the number matters here.
    pub failing: Vec<serde::de::IgnoredAny>,
    pub flows: Vec<serde::de::IgnoredAny>,
    /// Data flows of the whole failing run.
    pub all_flows: u64,
}

#[derive(Debug, Deserialize)]
pub struct End {
    /// `found`, `exhausted`, `incomplete`, `stopped`.
    pub kind: String,
    /// In words.
    #[serde(default)]
    pub why: Vec<String>,
    /// Flips that were left when it had to stop.
    #[serde(default)]
    pub left: u64,
}

impl Hunt {
    /// The first failure that had to be hunted for: no run showed it by itself.
    pub fn quarry(&self) -> Option<&Exposed> {
        self.exposed.iter().find(|exposed| exposed.how != "by-itself")
    }

    pub fn refused(&self) -> u64 {
        self.effort.refused.iter().map(|refused| refused.count).sum()
    }

    /// Nothing is left to ask within the bounds, and every question was answered.
    pub fn is_exhausted(&self) -> bool {
        self.end.kind == "exhausted"
    }

    /// How it ended, and why.
    pub fn ending(&self) -> String {
        let End { kind, why, left } = &self.end;
        let why = if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) };
        let left = if *left == 0 { String::new() } else { format!(", {left} flips left") };
        format!("{kind}{why}{left}")
    }
}

impl Exposed {
    /// Some thread had to take another path; else another order was enough.
    pub fn is_by_path(&self) -> bool {
        self.how == "by-path"
    }
}
