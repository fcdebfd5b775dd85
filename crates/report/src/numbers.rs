//! The diagnosis in numbers, in words, the same in all reports: how much smaller it is than the run, how near the
//! alternate, what it took.

use unravel_results::{Alternate, Certification, Certified, Diagnosis, Distance, Minimality};

use crate::words::{self, count};

/// Lines to look at; more are in the JSON.
const MOST_LINES: usize = 24;

/// What each number is called, and the number with its words.
pub fn rows(diagnosis: &Diagnosis) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let mut row = |name, text: String| rows.push((name, text));
    let reduced = diagnosis.failing.schedule.context_switches();
    let given = diagnosis.switches_given;
    row("context switches", format!("{given} in the run given, {reduced} after reduction"));
    let first = diagnosis.alternates.first();
    if let Some(alternate) = first {
        row("what differs", differs(diagnosis, alternate));
    }
    row("effort", effort(diagnosis));
    if let Some(certified) = &diagnosis.certified {
        row("certificates", certificates(certified));
    }
    let projection = first.map(|a| (&a.projection, &a.run.trace));
    let places = words::lines_to_look_at(diagnosis, projection);
    if !places.is_empty() {
        let mut names: Vec<String> = places.iter().take(MOST_LINES).map(words::at).collect();
        if places.len() > MOST_LINES {
            names.push(format!("{} more", places.len() - MOST_LINES));
        }
        row("lines to look at", names.join(", "));
    }
    rows
}

/// `1 data flow of 17 (proved minimal), 6 events of 60, 1 broken segment, 2 context switches`.
fn differs(diagnosis: &Diagnosis, alternate: &Alternate) -> String {
    let distance = alternate.distance;
    let events = diagnosis.failing.trace.events.len().max(alternate.run.trace.events.len());
    let flows = alternate.projection.all_flows;
    let of = |count: String, all: u64| format!("{count} of {all}");
    let flows = match distance.data_flow {
        0 => "no data flow".to_owned(),
        some => of(count(some, "data flow"), u64::from(flows.max(some))),
    };
    format!(
        "{flows} ({}), {}, {}, {}",
        alternate.minimality,
        of(count(distance.operations, "event"), events as u64),
        count(distance.segments, "segment"),
        count(distance.switches, "switch")
    )
}

/// `1 data flow (proved minimal), 1 broken segment, 2 context switches`: DF, BS and CTX of the MaxSMT paper.
pub fn distance(distance: Distance, minimality: Minimality) -> String {
    let Distance { data_flow, segments, switches, .. } = distance;
    format!(
        "{} ({minimality}), {}, {}",
        count(data_flow, "data flow"),
        count(segments, "broken segment"),
        count(switches, "context switch")
    )
}

/// `3 proofs accepted, 1,204 lines; root cause: certified; fewest data flows: certified`.
fn certificates(certified: &Certified) -> String {
    let Certified { claims, lines, root_cause, alternates, refused } = certified;
    let mut parts = Vec::new();
    if !refused.is_empty() {
        let withdrawn = count(refused.len() as u64, "claim");
        parts.push(format!("REFUSED, and {withdrawn} withdrawn ({})", refused.join("; ")));
    }
    parts.push(format!("{} accepted ({})", count(*claims, "proof"), count(*lines, "line")));
    if let Some(of) = root_cause {
        parts.push(format!("proved on the recorded path: {}", certification(of)));
    }
    if let Some(Some(of)) = alternates.first() {
        parts.push(format!("proved minimal: {}", certification(of)));
    }
    parts.join("; ")
}

/// What stands behind a word "proved".
fn certification(of: &Certification) -> String {
    match of {
        Certification::Certified => "certified".to_owned(),
        Certification::AcceptedBut(trusted) => {
            let rules: Vec<String> = trusted
                .iter()
                .map(|(rule, clauses)| format!("{} of {rule}", count(*clauses, "clause")))
                .collect();
            format!("accepted but for {}", rules.join(", "))
        }
        Certification::NotCertifiable(how) => format!("not certifiable: {how}"),
    }
}

fn effort(diagnosis: &Diagnosis) -> String {
    let effort = &diagnosis.effort;
    let mut text = format!(
        "{} evaluated by the model, {} executed",
        count(effort.evaluated, "schedule"),
        effort.executed
    );
    if effort.queries > 0 {
        let solver = effort.solver.as_deref().unwrap_or("a solver");
        text += &format!(", {} to {solver}", count(effort.queries, "query"));
    }
    text
}
