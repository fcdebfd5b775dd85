//! Bugs as results.

use unravel_results::{
    Diagnosis, ExplainedBug, Explanation, Minimality, PutAside, Status, Verdict,
};
use unravel_trace::{Failure, FailureKind, Place, user_place};

use super::log::{
    ArtifactLocation, Attachment, Finding, FindingProperties, Frame, Location, Stack, Suppression,
};
use super::place::{Places, uri};
use super::{fingerprint, fix, flow, message, sentence};
use crate::escape::visible;
use crate::summary::summary;
use crate::{FileNames, words};

/// A bug that was found.
pub fn bug(
    explanation: &Explanation,
    bug: &ExplainedBug,
    names: &FileNames,
    places: &mut Places<'_>,
) -> Finding {
    let diagnosis = bug.verdict.diagnosis();
    let best = explanation.repairs.as_ref().and_then(|known| known.of_bug(&bug.id));
    Finding {
        message: message(&text(explanation, bug, names)),
        related_locations: related(bug, places),
        stacks: stacks(&bug.failure, places),
        code_flows: diagnosis.map_or_else(Vec::new, |d| flow::code_flows(d, places)),
        partial_fingerprints: fingerprint::fingerprints(&bug.failure, places),
        occurrence_count: Some(bug.found.times).filter(|times| *times > 0),
        attachments: vec![Attachment {
            description: message("trace with the failing schedule, for 'unravel replay'"),
            artifact_location: ArtifactLocation { uri: uri(&bug.trace), index: None },
        }],
        fixes: best
            .and_then(|(_, repair)| fix::fix(repair, places.sources()))
            .into_iter()
            .collect(),
        properties: properties(bug, names),
        ..finding(bug.id.kind, shown_at(bug), places)
    }
}

/// Where it failed, and of a race how each of the two accesses was reached.
fn stacks(failure: &Failure, places: &mut Places<'_>) -> Vec<Stack> {
    let related = failure.related.iter().filter(|_| failure.kind == FailureKind::DataRace);
    let related = related.map(|related| (&related.stack, Some(message(&related.message))));
    let all = std::iter::once((&failure.stack, None)).chain(related);
    all.filter(|(stack, _)| !stack.is_empty())
        .map(|(stack, message)| {
            let frame = |place| Frame { location: places.location(Some(place), None) };
            Stack { message, frames: stack.iter().map(frame).collect() }
        })
        .collect()
}

/// Where a bug is shown. Code scanning refuses results without a line: one whose failure has none is shown where its
/// root cause is, or else where its run was last.
fn shown_at(bug: &ExplainedBug) -> Option<&Place> {
    let is_known = |place: &&Place| place.line != 0;
    let diagnosis = bug.verdict.diagnosis();
    let caused = || {
        let orders = &diagnosis?.root_cause.as_ref()?.orders;
        orders.iter().flat_map(|o| [&o.first.place, &o.second.place]).find(is_known)
    };
    let last = || {
        let trace = &diagnosis?.failing.trace;
        trace.events.iter().rev().filter_map(|event| trace.place(event)).find(is_known)
    };
    bug.failure.place().filter(is_known).or_else(caused).or_else(last).or(bug.failure.place())
}

/// A known bug that was seen.
pub fn put_aside(known: &PutAside, place: &Place, places: &mut Places<'_>) -> Finding {
    Finding {
        message: message(&sentence(&super::put_aside(known))),
        occurrence_count: Some(known.times),
        suppressions: vec![Suppression {
            kind: "external",
            status: "accepted",
            justification: visible(&known.reason).into_owned(),
        }],
        properties: FindingProperties {
            bug: visible(&known.bug.to_string()).into_owned(),
            status: "put aside",
            ..FindingProperties::default()
        },
        ..finding(known.bug.kind, Some(place), places)
    }
}

/// What all results have.
fn finding(kind: FailureKind, place: Option<&Place>, places: &mut Places<'_>) -> Finding {
    let location = place.map(|place| places.location(Some(place), None));
    Finding {
        rule_id: kind.name(),
        rule_index: FailureKind::ALL.iter().position(|k| *k == kind).expect("ALL has all kinds"),
        kind: "fail",
        level: "error",
        message: message(kind.name()),
        locations: location.into_iter().filter(|l| *l != Location::default()).collect(),
        related_locations: vec![],
        stacks: vec![],
        code_flows: vec![],
        partial_fingerprints: Default::default(),
        occurrence_count: None,
        suppressions: vec![],
        attachments: vec![],
        fixes: vec![],
        properties: FindingProperties::default(),
    }
}

/// The failure; why it happens; what to do; how to see it.
fn text(explanation: &Explanation, bug: &ExplainedBug, names: &FileNames) -> String {
    let mut parts = vec![sentence(&words::failure(&bug.failure))];
    let diagnosis = bug.verdict.diagnosis();
    let summary = diagnosis.and_then(summary);
    let cause = diagnosis.and_then(|diagnosis| diagnosis.root_cause.as_ref());
    if let Some((cause, summary)) = cause.zip(summary) {
        parts.push(sentence(&format!("Root cause: {summary}")));
        if !cause.advice.is_empty() {
            parts.push(sentence(&format!("Advice: {}", cause.advice)));
        }
    }
    if let Some(reason) = words::undiagnosed(bug) {
        parts.push(sentence(&format!("Why it happens is not known: {reason}")));
    }
    if let Some(earlier) = bug.same_cause_as.and_then(|number| explanation.bugs.get(number)) {
        let earlier = names.bug(&earlier.id);
        parts.push(format!("The root cause is in the same lines as that of {earlier}."));
    }
    parts.push(format!("Replay: {}", bug.replay));
    parts.join(" ")
}

/// Other places of the failure, and those of the root cause.
fn related(bug: &ExplainedBug, places: &mut Places<'_>) -> Vec<Location> {
    let mut found: Vec<Location> = Vec::new();
    let mut add = |place: Option<&Place>, text: &str| {
        let location = places.location(place, Some(text));
        if !found.contains(&location) {
            found.push(location);
        }
    };
    for related in &bug.failure.related {
        add(user_place(&related.stack), &related.message);
    }
    let diagnosis = bug.verdict.diagnosis();
    let cause = diagnosis.and_then(|diagnosis| Some((diagnosis, diagnosis.root_cause.as_ref()?)));
    if let Some((diagnosis, cause)) = cause {
        for order in &cause.orders {
            for who in [&order.first, &order.second] {
                let mut text = format!("{} {} {}", who.key.thread, who.verb, order.object);
                if who.event.is_none() {
                    text += &format!(" ({})", words::absent(who, Some(&diagnosis.failure)));
                }
                add(Some(&who.place), &text);
            }
        }
    }
    for (number, location) in found.iter_mut().enumerate() {
        location.id = Some(number as u64 + 1);
    }
    found
}

fn properties(bug: &ExplainedBug, names: &FileNames) -> FindingProperties {
    let common = FindingProperties {
        bug: visible(&names.bug(&bug.id)).into_owned(),
        status: "undiagnosed",
        first_schedule: Some(bug.found.schedule),
        replayed: Some(bug.found.replayed),
        replay: Some(bug.replay.clone()),
        same_cause_as: bug.same_cause_as,
        ..FindingProperties::default()
    };
    let Verdict::Diagnosed(diagnosis) = &bug.verdict else { return common };
    let diagnosis: &Diagnosis = diagnosis;
    let cause = diagnosis.root_cause.as_ref();
    let nearest = diagnosis.alternates.first().map(|alternate| alternate.minimality);
    FindingProperties {
        status: match diagnosis.status {
            Status::Confirmed => "confirmed",
            Status::Modelled => "modelled",
            Status::Inconclusive { .. } => "inconclusive",
        },
        pattern: cause.map(|cause| words::pattern_name(cause.pattern)),
        proved_on_path: cause.map(|cause| cause.proved_on_path),
        alternate_proved_nearest: nearest.map(|minimality| minimality == Minimality::Proved),
        gap: nearest.map(|minimality| match minimality {
            Minimality::Proved => 0,
            Minimality::BestFound { gap } => gap,
        }),
        context_switches: Some(diagnosis.failing.schedule.context_switches() as u64),
        ..common
    }
}
