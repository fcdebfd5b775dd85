//! What the steps say, as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};
use unravel_coop::{Alike, ElementKind, Followed, Group, Mode, Profile};
use unravel_fleet::Ingested;

use super::native::Built;
use super::steps::{Made, Outcome, Recorded};
use crate::story::count;

/// Logs that are shown one by one.
const MOST_SHOWN: usize = 5;

fn kind(kind: ElementKind) -> &'static str {
    match kind {
        ElementKind::Data => "data",
        ElementKind::Sync => "lock",
        ElementKind::Block => "block",
    }
}

pub fn profile(made: &Made) -> String {
    let Made { profile, surveyed, escape, name } = made;
    let mut text = String::new();
    let shared = count(profile.elements.len() as u64, "shared element");
    let _ = writeln!(
        text,
        "{name}: {shared}, of {} that threads touched in {}; {} of {} could be shared",
        surveyed.seen.len(),
        count(surveyed.runs, "run"),
        escape.len(),
        count(escape.variables as u64, "global"),
    );
    for element in &profile.elements {
        let accesses = element.accesses / surveyed.runs.max(1);
        let _ =
            writeln!(text, "  {:5} {}, about {accesses} a run", kind(element.kind), element.name);
    }
    if profile.elements.is_empty() {
        let _ = writeln!(text, "inconclusive: no run had threads that share anything");
        return text;
    }
    let sizes = || profile.instances.iter().map(Vec::len);
    let each = match (sizes().min(), sizes().max()) {
        (Some(least), Some(most)) if least < most => format!("{least} or {most}"),
        (least, _) => least.unwrap_or(0).to_string(),
    };
    let _ = writeln!(
        text,
        "{} log {each} of them each ({})",
        count(profile.instances.len() as u64, "instance"),
        profile.coverage
    );
    text
}

/// Of logs that are not compared with the others.
pub fn left_out(number: u64) -> String {
    let logs = count(number, "log");
    format!("warning: {logs} left out: more accesses or threads, all together, than are compared")
}

/// Of logs of other programs, or of other elements.
pub fn foreign(number: u64) -> String {
    format!(
        "note: {} of the store left out: of another build than the profile",
        count(number, "log")
    )
}

pub fn profile_json(made: &Made) -> Value {
    let elements: Vec<Value> = made
        .profile
        .elements
        .iter()
        .map(|one| json!({ "id": one.id.0, "name": one.name, "kind": kind(one.kind), "accesses": one.accesses }))
        .collect();
    json!({
        "program": made.name,
        "build": made.profile.build(),
        "mode": match made.profile.mode { Mode::Orders => "orders", Mode::Blocks => "blocks" },
        "elements": elements,
        "touched": made.surveyed.seen.len(),
        "runs": made.surveyed.runs,
        "globals": made.escape.variables,
        "globals_that_may_be_shared": made.escape.len(),
        "instances": made.profile.instances.len(),
        "coverage": made.profile.coverage.to_string(),
    })
}

fn accesses(count: u64) -> String {
    if count == 1 { "1 access".to_owned() } else { format!("{count} accesses") }
}

pub fn recorded(recorded: &Recorded) -> String {
    let silent = match recorded.silent {
        0 => String::new(),
        silent => format!(", {} could not be followed and logged nothing", count(silent, "run")),
    };
    let lost = match recorded.lost {
        0 => String::new(),
        lost => format!("; {} left out, because accesses are missing", count(lost, "vector")),
    };
    let mut text = format!(
        "{} with {}, {} failed{silent}{lost}",
        count(recorded.logs, "partial log"),
        accesses(recorded.accesses),
        recorded.failed
    );
    if recorded.same > 0 || !recorded.differ.is_empty() {
        let _ = write!(text, "; the machine follows {} of them to the same end", recorded.same);
    }
    for (log, followed) in recorded.differ.iter().take(MOST_SHOWN) {
        let what = match followed {
            Followed::Same => continue,
            Followed::Contradicted { events } => {
                format!("its orders contradict each other after {}", count(*events, "event"))
            }
            Followed::Vector { element, logged, here } => {
                format!(
                    "the vector of {:016x} has {here} accesses instead of {logged}, or others",
                    element.0
                )
            }
            Followed::Ending => "it ends otherwise".to_owned(),
        };
        let _ = write!(text, "\n  {log}: {what}");
    }
    text
}

pub fn built(profile: &Profile, built: &Built, output: &std::path::Path) -> String {
    let mut text = format!(
        "{} logs {} of {} at {}\n",
        output.display(),
        built.logged(),
        count(profile.elements.len() as u64, "element"),
        count(built.sites as u64, "site"),
    );
    for (element, why) in &built.unlogged {
        let _ = writeln!(text, "  not logged: {element}, {why}");
    }
    text
}

pub fn built_json(profile: &Profile, built: &Built) -> Value {
    let unlogged: Vec<Value> =
        built.unlogged.iter().map(|(name, why)| json!({ "name": name, "why": why })).collect();
    json!({
        "build": profile.build(),
        "elements": profile.elements.len(),
        "logged": built.logged(),
        "sites": built.sites,
        "unlogged": unlogged,
    })
}

pub fn recorded_json(recorded: &Recorded) -> Value {
    let Recorded { logs, failed, accesses, silent, lost, same, differ } = recorded;
    let differ: Vec<Value> = differ
        .iter()
        .map(|(log, what)| json!({ "log": log.to_string(), "what": format!("{what:?}") }))
        .collect();
    json!({ "logs": logs, "failed": failed, "accesses": accesses, "inconclusive": silent, "lost": lost, "followed": same, "differ": differ })
}

pub fn ingested(ingested: &Ingested) -> String {
    let mut text = format!("{} taken into the store", count(ingested.taken, "log"));
    if ingested.known > 0 {
        let _ = write!(text, ", {} looked at before", count(ingested.known, "file"));
    }
    text.push('\n');
    for (why, times) in &ingested.aside {
        let _ = writeln!(text, "  set aside: {times} {}", why.name());
    }
    text
}

pub fn no_failures(logs: usize, wanted: usize, failures: usize) -> String {
    match failures {
        0 => format!("none of {} failed", count(logs as u64, "log")),
        _ => format!("there is no failure {wanted}: the logs have {failures}"),
    }
}

pub fn analysis(
    profile: &Profile,
    group: &Group<'_>,
    (failures, looked_at): (&[Alike], usize),
    ranked: &[(String, String, String)],
) -> String {
    let mut text = String::new();
    for (number, alike) in failures.iter().enumerate() {
        let logs = count(alike.logs.len() as u64, "log");
        let there = match alike.bugs_there {
            1 => String::new(),
            bugs => format!(", one of {bugs} bugs there by what logs share"),
        };
        let here = if number == looked_at { ", looked at" } else { "" };
        let _ = writeln!(text, "failure {}: {}, {logs}{there}{here}", number + 1, alike.site);
    }
    let (dispersion, all) = group.dispersion();
    let logged = group.logged();
    for ((element, different), logged) in profile.elements.iter().zip(dispersion).zip(logged) {
        let _ = writeln!(
            text,
            "  {}: {different} different of {logged} logged, {different}/{all} of all",
            element.name
        );
    }
    if group.has_single_elements() {
        let _ = writeln!(
            text,
            "every log has a single element: vectors are chosen by how they go with failing"
        );
    }
    let _ = writeln!(text, "the most relevant logs:");
    for (log, numerator, denominator) in ranked.iter().take(10) {
        let _ = writeln!(text, "  {log} {numerator}/{denominator}");
    }
    text
}

pub fn analysis_json(
    profile: &Profile,
    group: &Group<'_>,
    (failures, looked_at): (&[Alike], usize),
    ranked: &[(String, String, String)],
) -> Value {
    let failure = |alike: &Alike| {
        let Alike { site, bugs_there, logs } = alike;
        json!({ "kind": site.kind.name(), "places": site.places, "logs": logs.len(), "bugs_there": bugs_there })
    };
    let (dispersion, all) = group.dispersion();
    let elements = profile.elements.iter().zip(dispersion).zip(group.logged());
    let elements: Vec<Value> = elements
        .map(|((element, different), logged)| {
            json!({ "id": element.id.0, "name": element.name, "different": different, "logged": logged })
        })
        .collect();
    let one = |(log, numerator, denominator): &(String, String, String)| json!({ "log": log, "numerator": numerator, "denominator": denominator });
    json!({
        "failures": failures.iter().map(failure).collect::<Vec<_>>(),
        "failure": failure(&failures[looked_at]),
        "different": all,
        "elements": elements,
        "ranked": ranked.iter().map(one).collect::<Vec<_>>(),
    })
}

pub fn replay(outcome: &Outcome) -> String {
    let mut text = String::new();
    let Some(failure) = outcome.failure else {
        let _ = writeln!(text, "{}", no_failures(outcome.logs, 1, outcome.failures));
        return text;
    };
    let _ = writeln!(
        text,
        "{} failed alike ({failure}); {} in all",
        count(outcome.failing as u64, "log"),
        count(outcome.failures as u64, "different failure")
    );
    let tried = &outcome.tried;
    match (&outcome.found, &outcome.trace) {
        (Some((attempt, fill, sources, missing, brute)), Some(trace)) => {
            text.push_str(&outcome.said);
            let how = match (fill, brute) {
                _ if outcome.filled => {
                    "what its orders leave open filled in along its paths".to_owned()
                }
                (0, false) => "its orders alone".to_owned(),
                (0, true) => "its orders alone, by brute force".to_owned(),
                (fill, _) => format!("what its orders leave open drawn at random, time {fill}"),
            };
            let _ = writeln!(
                text,
                "  replayed at attempt {attempt} ({how}), from {} and without {}; fails again",
                count(sources.len() as u64, "log"),
                count(*missing as u64, "element")
            );
            let path = unravel_results::shell_word(&trace.display().to_string());
            let _ = writeln!(text, "  replay it:  unravel replay {path}");
            let _ = writeln!(text, "  explain it: unravel diagnose {path}");
        }
        _ if outcome.filled => {
            let _ = match tried.attempts {
                0 => writeln!(text, "inconclusive: there are no paths of these logs"),
                attempts => writeln!(
                    text,
                    "inconclusive: along the paths of {} no run was found that keeps its orders and fails so; of the last one: {}",
                    count(u64::from(attempts), "log"),
                    outcome.said
                ),
            };
        }
        _ => {
            let _ = writeln!(
                text,
                "inconclusive: none of {} failed so: {} contradicted themselves, {} passed, {} failed otherwise, \
                 {} could not be followed",
                count(u64::from(tried.attempts), "merged log"),
                tried.contradicted,
                tried.passed,
                tried.other_failures,
                tried.inconclusive
            );
        }
    }
    text
}

pub fn replay_json(outcome: &Outcome) -> Value {
    let tried = &outcome.tried;
    let found = outcome.found.as_ref().map(|(attempt, fill, sources, missing, brute)| {
        let sources: Vec<String> = sources.iter().map(ToString::to_string).collect();
        json!({ "attempt": attempt, "fill": fill, "sources": sources, "missing": missing, "brute_force": brute })
    });
    json!({
        "logs": outcome.logs,
        "failing": outcome.failing,
        "failures": outcome.failures,
        "kind": outcome.failure.map(|failure| failure.kind.name()),
        "attempts": tried.attempts,
        "executions": tried.executions,
        "contradicted": tried.contradicted,
        "passed": tried.passed,
        "other_failures": tried.other_failures,
        "inconclusive": tried.inconclusive,
        "along_paths": outcome.filled,
        "replayed": found,
        "trace": outcome.trace,
        "said": outcome.said,
        "seconds": outcome.seconds,
    })
}
