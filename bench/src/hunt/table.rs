//! The text of the tables. Where a column has two figures, the first is the thesis'; `–` is where there is none.

use super::Trial;
use super::paper::{Conciseness, Cortex};
use xtask::corpus::Exposed;

const NONE: &str = "–";

/// Tables 5.2 and 5.3.
pub fn bug_heading() -> String {
    format!(
        "bugs exposed from 100 runs that passed; each pair: the thesis' figure, ours\n\
         events: of the failing run, and of ours also those of the run that passed and that it was derived from, which did not\n\
         end early; runs: different ones; failed: runs that failed by themselves, put aside; observed: combinations of what\n\
         threads did in runs that were asked about, which is no attempt; made: traces synthesised; refused: promised orders\n\
         that execution did not keep; solving: Cortex' solver for one question; ours: from the first question to the failure,\n\
         and the whole command with compiling, running and diagnosing; confirmed: it replays, and is the bug of the corpus\n\
         {:<12} {:>17} {:>7} {:>6} {:>8} {:>17} | {:>6} {:>5} {:>8} {:>5} | {:>6} {:>6} {:>7} {:>7} {:>7} | {:>7} {:>8} {:>7} {:>9}",
        "program",
        "events",
        "runs",
        "failed",
        "observed",
        "depends on",
        "Cortex",
        "MCR",
        "ICB-DPOR",
        "ours",
        "(D,N)",
        "",
        "flipped",
        "made",
        "refused",
        "solving",
        "ours ms",
        "whole s",
        "confirmed"
    )
}

pub fn bug_line(trial: &Trial) -> String {
    let cortex = trial.row.cortex.as_ref();
    let program = trial.row.program;
    let bug = match &trial.bug {
        Ok(bug) => bug,
        Err(problem) => return format!("{program:<12} {problem}"),
    };
    let quarry = bug.hunt.quarry();
    let derived = quarry.and_then(|quarry| quarry.derived.as_ref());
    let guided = cortex.and_then(|cortex| cortex.guided);
    let ours = |figure: fn(&Exposed) -> String| quarry.map_or(NONE.to_owned(), figure);
    let confirmed = match (quarry, &bug.confirmed) {
        (None, _) => NONE,
        (Some(_), Ok(())) => "yes",
        (Some(_), Err(_)) => "NO",
    };
    format!(
        "{program:<12} {:>5} {:>5} {:>5} {:>3} {:>3} {:>6} {:>8} {:>8} {:>8} | {:>6} {:>5} {:>8} {:>5} | {:>6} {:>6} {:>3} {:>3} {:>3} {:>3} {:>7} | {:>7} {:>8} {:>7.1} {:>9}",
        told(cortex, |cortex| cortex.conciseness.events),
        told(derived, |derived| derived.failing.events),
        told(derived, |derived| derived.passing.run.events),
        told(cortex, |cortex| cortex.runs),
        bug.hunt.runs.distinct,
        bug.hunt.runs.failing,
        bug.hunt.effort.observed,
        told(cortex, |cortex| kind(cortex.guided.is_some())),
        ours(|quarry| kind(quarry.is_by_path()).to_owned()),
        told(cortex, Cortex::attempts),
        told(cortex.and_then(|cortex| cortex.systematic), |(mcr, _)| mcr),
        told(cortex.and_then(|cortex| cortex.systematic), |(_, icb_dpor)| icb_dpor),
        ours(|quarry| quarry.attempt.to_string()),
        told(guided, |guided| format!("({},{})", guided.depth, guided.traces)),
        ours(extent),
        told(guided, |guided| guided.flipped),
        ours(|quarry| quarry.flipped.to_string()),
        told(guided, |guided| guided.synthesised),
        ours(|quarry| quarry.synthesised.to_string()),
        bug.hunt.refused(),
        told(cortex, |cortex| cortex.solving),
        ours(milliseconds),
        bug.seconds,
        confirmed,
    )
}

fn told<T, U: ToString>(from: Option<T>, figure: impl FnOnce(T) -> U) -> String {
    from.map_or(NONE.to_owned(), |from| figure(from).to_string())
}

/// From the first question to the failure, which the tool tells to the millisecond.
fn milliseconds(quarry: &Exposed) -> String {
    let milliseconds = quarry.seconds * 1e3;
    if milliseconds < 1.0 { "<1".to_owned() } else { format!("{milliseconds:.0}") }
}

fn kind(by_path: bool) -> &'static str {
    if by_path { "path" } else { "schedule" }
}

/// D and N, where a branch had to be flipped.
fn extent(quarry: &Exposed) -> String {
    if quarry.is_by_path() {
        format!("({},{})", quarry.depth, quarry.traces)
    } else {
        NONE.to_owned()
    }
}

/// Table 5.4.
pub fn projection_heading() -> String {
    format!(
        "differential path-schedule projections against the run that passed and that the failure was derived from\n\
         flows: those that only one of the two runs has, of all of the failing run; events: those of the failing run that are\n\
         in the projection, of all of them\n\
         {:<12} {:>16} {:>16}   {:>16} {:>16}",
        "program", "flows: thesis", "ours", "events: thesis", "ours"
    )
}

pub fn projection_line(trial: &Trial) -> String {
    let thesis = trial.row.cortex.map(|cortex| cortex.conciseness);
    let ours = ours(trial);
    let shown = |pair: Option<Share>| pair.map_or(NONE.to_owned(), |share| share.to_string());
    format!(
        "{:<12} {:>16} {:>16}   {:>16} {:>16}",
        trial.row.program,
        shown(thesis.map(flows)),
        shown(ours.map(|(flows, _)| flows)),
        shown(thesis.map(events)),
        shown(ours.map(|(_, events)| events)),
    )
}

/// How much smaller projections are than runs, on average over the rows of the table that were exposed.
pub fn means(trials: &[Trial]) -> String {
    let both = trials.iter().filter_map(|trial| {
        let (thesis, (flows_here, events_here)) = (trial.row.cortex?.conciseness, ours(trial)?);
        Some([flows(thesis), flows_here, events(thesis), events_here])
    });
    let all: Vec<[Share; 4]> = both.collect();
    let mean = |column: usize| {
        let sum: f64 = all.iter().map(|shares| shares[column].fewer()).sum();
        sum / all.len().max(1) as f64 * 100.0
    };
    format!(
        "fewer on average, of those exposed: flows {:.0} %, ours {:.0} %; events {:.0} %, ours {:.0} %",
        mean(0),
        mean(1),
        mean(2),
        mean(3)
    )
}

/// So many of so many.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share {
    pub part: u64,
    pub all: u64,
}

impl Share {
    /// The part that is left out; negative if there is more than in the whole.
    pub fn fewer(self) -> f64 {
        1.0 - self.part as f64 / self.all.max(1) as f64
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{} of {}", self.part, self.all))
    }
}

pub fn flows(of: Conciseness) -> Share {
    Share { part: of.projected_flows.into(), all: of.flows.into() }
}

pub fn events(of: Conciseness) -> Share {
    Share { part: of.projected_events.into(), all: of.events.into() }
}

/// Flows and events of our projection.
pub fn ours(trial: &Trial) -> Option<(Share, Share)> {
    let derived = trial.quarry()?.derived.as_ref()?;
    let projection = &derived.passing.projection;
    let flows = Share { part: projection.flows.len() as u64, all: projection.all_flows };
    let events = Share { part: projection.failing.len() as u64, all: derived.failing.events };
    Some((flows, events))
}

pub fn twin_heading() -> String {
    format!(
        "the fixed twins, hunted in the same way\n{:<12} {:>5} {:>8} {:>8} {:>7} {:>7} {:>7}  {}",
        "program", "runs", "observed", "attempts", "refused", "seconds", "exposed", "end"
    )
}

pub fn twin_line(trial: &Trial) -> String {
    let program = trial.row.program;
    match &trial.twin {
        Ok(twin) => format!(
            "{program:<12} {:>5} {:>8} {:>8} {:>7} {:>7.1} {:>7}  {}",
            twin.runs.distinct,
            twin.effort.observed,
            twin.effort.attempts,
            twin.refused(),
            twin.seconds,
            twin.exposed.len(),
            twin.ending()
        ),
        Err(problem) => format!("{program:<12} {problem}"),
    }
}

pub fn headline(trials: &[Trial]) -> String {
    let (table, figure): (Vec<&Trial>, Vec<&Trial>) =
        trials.iter().partition(|trial| trial.row.cortex.is_some());
    let count = |of: fn(&Trial) -> bool| table.iter().filter(|trial| of(trial)).count();
    let seconds = |trial: &&Trial| trial.bug.as_ref().map_or(0.0, |bug| bug.seconds);
    let slowest = table.iter().max_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    let slowest = slowest.map_or(String::new(), |trial| {
        format!(", slowest {} {:.1} s", trial.row.program, seconds(trial))
    });
    let figure = figure.first().map_or(String::new(), |trial| {
        let seen = trial.quarry().map_or("not exposed".to_owned(), |quarry| {
            format!("in attempt {} (at most {})", quarry.attempt, trial.row.at_most)
        });
        format!(", {} {seen}", trial.row.program)
    });
    let silent = trials.iter().filter(|trial| trial.is_silent());
    let exhausted =
        silent.clone().filter(|trial| trial.twin.as_ref().is_ok_and(|twin| twin.is_exhausted()));
    format!(
        "hunt: {} of {} exposed, {} within Cortex's attempts{slowest}{figure}; {} of {} twins silent, {} exhausted",
        count(Trial::is_exposed),
        table.len(),
        count(Trial::is_within),
        silent.count(),
        trials.len(),
        exhausted.count(),
    )
}
