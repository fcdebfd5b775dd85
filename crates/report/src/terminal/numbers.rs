//! The diagnosis in numbers: how much smaller it is than the run, how near the alternate, what it took.

use unravel_trace::{Diagnosis, Distance, Minimality};

use super::line::Tone;
use super::page::Page;
use crate::words::{self, count};

/// Columns of the names before the numbers.
const NAMES: usize = 20;
/// Lines to look at; more are in the JSON.
const MOST_LINES: usize = 24;

pub fn write(page: &mut Page, diagnosis: &Diagnosis) {
    page.section("In numbers");
    let reduced = diagnosis.failing.schedule.context_switches();
    let given = diagnosis.switches_given;
    row(page, "context switches", &format!("{given} in the run given, {reduced} after reduction"));
    let first = diagnosis.alternates.first();
    if let Some(alternate) = first {
        let all = diagnosis.failing.trace.events.len().max(alternate.run.trace.events.len());
        row(page, "operations", &share(alternate.distance.operations as usize, all, "events"));
        let flows = alternate.projection.flows.len();
        let all = (alternate.projection.all_flows as usize).max(flows);
        match flows {
            0 => row(page, "data flows", "none differ"),
            _ => row(page, "data flows", &share(flows, all, "data flows")),
        }
        row(page, "difference", &distance(alternate.distance, alternate.minimality));
    }
    row(page, "effort", &effort(diagnosis));
    let projection = first.map(|a| (&a.projection, &a.run.trace));
    let places = words::lines_to_look_at(diagnosis, projection);
    if !places.is_empty() {
        let mut names: Vec<String> = places.iter().take(MOST_LINES).map(words::at).collect();
        if places.len() > MOST_LINES {
            names.push(format!("{} more", places.len() - MOST_LINES));
        }
        row(page, "lines to look at", &names.join(", "));
    }
    row(page, "memory model", "sequential consistency");
}

fn row(page: &mut Page, name: &str, text: &str) {
    page.prose(&format!("  {name:NAMES$}"), text, Tone::Plain);
}

/// `6 of 41 events (85 % fewer)`.
fn share(part: usize, all: usize, noun: &str) -> String {
    let fewer = match all {
        0 => String::new(),
        _ => format!(" ({} % fewer)", 100 * all.saturating_sub(part) / all),
    };
    format!("{part} of {all} {noun}{fewer}")
}

/// `DF 1 (proved minimal), BS 1, CTX 2, OP 6`: the criteria of the MaxSMT paper.
pub fn distance(distance: Distance, minimality: Minimality) -> String {
    let Distance { data_flow, segments, switches, operations } = distance;
    format!("DF {data_flow} ({minimality}), BS {segments}, CTX {switches}, OP {operations}")
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
