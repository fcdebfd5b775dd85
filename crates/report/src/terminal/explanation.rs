//! An explanation: a section a bug, then all causes and the best repair, what was explored, and what to type next. The bugs
//! are shown while repairs are looked for.
//!
//! What a person sees last in a terminal is what they see first, so the summary and the commands end the report. A repair
//! is against the causes of all bugs, so it follows the last of them.

use unravel_results::{Diagnosis, ExplainedBug, Explanation, PutAside, Status, Verdict};

use super::line::Tone;
use super::page::Page;
use super::{headline, repairs, told};
use crate::searched::searched;
use crate::source::Sources;
use crate::words::count;
use crate::{deviations, evidence};

/// A section a bug.
pub fn write_bugs(page: &mut Page, all: &Explanation, sources: &Sources) {
    for (index, bug) in all.bugs.iter().enumerate() {
        if all.bugs.len() > 1 {
            if index > 0 {
                page.blank();
            }
            let title = format!("Bug {} of {}", index + 1, all.bugs.len());
            page.rule(&title);
        }
        section(page, all, bug, sources);
    }
}

/// The rest. `html` is where the HTML report is.
pub fn write_rest(page: &mut Page, all: &Explanation, html: Option<&str>) {
    let told = all.bugs.iter().filter(|bug| bug.same_cause_as.is_none()).count();
    if let Some(repairs) = &all.repairs {
        if all.bugs.len() > 1 && (told > 1 || !page.style.brief) {
            page.blank();
            page.rule("All bugs");
        }
        repairs::of_an_explanation(page, repairs, &all.patches);
    }
    if !all.bugs.is_empty() {
        page.blank();
    }
    summary(page, all);
    put_aside(page, &all.put_aside);
    next(page, all, html);
}

fn section(page: &mut Page, all: &Explanation, bug: &ExplainedBug, sources: &Sources) {
    headline::failure(page, &bug.failure, &all.program, bug.verdict.diagnosis());
    let found = found(all, bug);
    match &bug.verdict {
        Verdict::Diagnosed(diagnosis) => {
            let is_sure = diagnosis.status == Status::Confirmed && diagnosis.root_cause.is_some();
            let brief = page.style.brief && is_sure;
            if brief {
                let needs = deviations::sentence(&bug.needs);
                needs.iter().for_each(|needs| page.prose("  ", needs, Tone::Strong));
            } else {
                page.prose("  ", &found, Tone::Plain);
                headline::status(page, &diagnosis.status);
            }
            match bug.same_cause_as {
                Some(earlier) => again(page, diagnosis, earlier, bug),
                None => told(page, diagnosis, sources),
            }
            if brief && bug.same_cause_as.is_none() {
                let (times, all) = (bug.found.times, all.explored.tally.schedules);
                let trust = headline::trust(&diagnosis.status);
                page.prose(
                    "  ",
                    &format!("{times} of {all} schedules fail so; {trust}"),
                    Tone::Dim,
                );
            }
        }
        Verdict::Undiagnosed { reason } => {
            page.prose("  ", &format!("{found}; {}", replayed(bug)), Tone::Plain);
            if let Some(other) = bug.same_cause_as {
                page.prose("  ", &evidence::vanished(bug, other), Tone::Plain);
                return;
            }
            page.prose("  ", &format!("not diagnosed: {reason}"), Tone::Strong);
            let command = format!("unravel diagnose {}", unravel_results::shell_word(&bug.trace));
            page.row("diagnose", &command);
        }
    }
}

/// `found in schedule 47 (mix, seed 1); 63 of 1046 schedules fail so`.
fn found(all: &Explanation, bug: &ExplainedBug) -> String {
    let often = often(all, bug);
    match deviations::sentence(&bug.needs) {
        Some(needs) => format!("{often}; {needs}"),
        None => often,
    }
}

fn often(all: &Explanation, bug: &ExplainedBug) -> String {
    let explored = &all.explored;
    let first = format!(
        "found in schedule {} ({}, seed {})",
        bug.found.schedule, explored.strategy, explored.seed
    );
    match bug.found.times {
        1 => first,
        times => format!("{first}; {times} of {} schedules fail so", explored.tally.schedules),
    }
}

fn replayed(bug: &ExplainedBug) -> &'static str {
    if bug.found.replayed {
        "it fails again when replayed"
    } else {
        "but it did NOT fail again when replayed"
    }
}

/// A bug whose cause another one tells.
fn again(page: &mut Page, diagnosis: &Diagnosis, other: usize, bug: &ExplainedBug) {
    if page.style.brief {
        let evidence = bug.vanished.map(|_| format!(": {}", evidence::vanished(bug, other)));
        let evidence = evidence.unwrap_or_default();
        let text = format!("the root cause is that of bug {}{evidence}", other + 1);
        return page.prose("  ", &text, Tone::Strong);
    }
    if bug.vanished.is_some() {
        page.section(&format!("Root cause: that of bug {}", other + 1));
        page.prose("  ", &evidence::vanished(bug, other), Tone::Plain);
    } else if let Some(cause) = &diagnosis.root_cause {
        page.section(&format!("Root cause: {}, as of bug {}", cause.pattern, other + 1));
        page.prose("  ", &cause.sentence, Tone::Plain);
    }
    let command = format!("unravel diagnose {}", unravel_results::shell_word(&bug.trace));
    page.row("in full", &command);
}

fn summary(page: &mut Page, all: &Explanation) {
    let said = searched(&all.program, &all.explored, all.bugs.len());
    let tone = if all.bugs.is_empty() { Tone::Plain } else { Tone::Strong };
    let headline = match page.style.brief && !all.bugs.is_empty() {
        true => found_in_short(all),
        false => said.headline,
    };
    page.prose("", &headline, tone);
    // Who has a bug to look at does not ask how complete the search was.
    let of_search = if page.style.brief && !all.bugs.is_empty() { &[][..] } else { &said.notes };
    for note in of_search.iter().chain(&all.notes) {
        page.prose("note: ", note, Tone::Plain);
    }
    if let Some(advice) = said.advice {
        page.prose("", &advice, Tone::Plain);
    }
}

/// `bank: 2 bugs found in 892 schedules, 0.1 s`.
fn found_in_short(all: &Explanation) -> String {
    let bugs = count(all.bugs.len() as u64, "bug");
    let schedules = count(all.explored.tally.schedules, "schedule");
    let seconds = all.explored.elapsed.as_secs_f64();
    format!("{}: {bugs} found in {schedules}, {seconds:.1} s", all.program)
}

fn put_aside(page: &mut Page, known: &[PutAside]) {
    for PutAside { bug, reason, times } in known {
        let seen = match times {
            0 => "not seen".to_owned(),
            times => format!("seen in {}", count(*times, "schedule")),
        };
        page.prose("put aside: ", &format!("{bug}, {seen} ({reason})"), Tone::Dim);
    }
}

fn next(page: &mut Page, all: &Explanation, html: Option<&str>) {
    let step = if page.style.brief { "   (--step: event by event)" } else { "" };
    for bug in &all.bugs {
        page.row("replay", &format!("{}{step}", bug.replay));
    }
    if let ([bug], false) = (all.bugs.as_slice(), page.style.brief) {
        page.row("step", &format!("{} --step", bug.replay));
    }
    if let ([bug], true) = (all.bugs.as_slice(), page.style.brief) {
        let trace = unravel_results::shell_word(&bug.trace);
        page.row("in full", &format!("unravel diagnose {trace}"));
    }
    if let Some(html) = html {
        page.row("page", html);
    }
}
