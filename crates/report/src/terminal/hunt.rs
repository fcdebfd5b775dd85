//! A hunt: what was exposed that no run showed, how it came about, why it fails, the run that it was derived from, what
//! was searched, and what to type next.
//!
//! The verdict comes first here, because a hunt is often run to be told that there is nothing.

use unravel_results::{Exposed, How, Hunt, replay_command, shell_word};

use super::line::Tone;
use super::page::Page;
use super::{headline, notes, schedules, told};
use crate::hunts::{self as said, Weight};
use crate::source::Sources;

/// Columns of the names before what is said of a failure.
const NAMES: usize = 11;

/// `typed` is how each failure's program is typed again, with the input it needs; `html` is where the page is.
pub fn write(
    page: &mut Page,
    hunt: &Hunt,
    sources: &Sources,
    typed: &[String],
    html: Option<&str>,
) {
    let weight = said::weight(hunt);
    let tone = match weight {
        Weight::Found => Tone::Bad,
        Weight::Exhausted => Tone::Good,
        Weight::Open | Weight::Inconclusive => Tone::Strong,
    };
    page.prose("", &said::headline(hunt), tone);
    page.prose("  ", &format!("program {}; {}", hunt.program, said::start(hunt)), Tone::Plain);
    let several = hunt.exposed.len() > 1;
    for (index, exposed) in hunt.exposed.iter().enumerate() {
        page.blank();
        if several {
            page.rule(&format!("Failure {} of {}", index + 1, hunt.exposed.len()));
        }
        section(page, hunt, exposed, sources);
    }
    searched(page, hunt);
    notes(page, &hunt.notes);
    next(page, hunt, typed, html);
}

fn section(page: &mut Page, hunt: &Hunt, exposed: &Exposed, sources: &Sources) {
    let diagnosis = exposed.diagnosis.as_deref();
    headline::failure(page, &exposed.failure, &hunt.program, diagnosis);
    for (index, text) in said::how(exposed).iter().enumerate() {
        said_of(page, if index == 0 { "how" } else { "" }, text, Tone::Plain);
    }
    if let Some(found) = said::found(exposed) {
        said_of(page, "found", &found, Tone::Plain);
    }
    if exposed.how != How::ByItself {
        let (evidence, holds) = said::evidence(exposed);
        said_of(page, "evidence", &evidence, if holds { Tone::Good } else { Tone::Strong });
    }
    if let Some(diagnosis) = diagnosis {
        said_of(
            page,
            "diagnosis",
            &format!("{}; sequential consistency", diagnosis.status),
            Tone::Plain,
        );
        told(page, diagnosis, sources);
    } else if let Some(reason) = &exposed.undiagnosed {
        said_of(page, "diagnosis", &format!("none: {reason}"), Tone::Strong);
    }
    if let (Some(comparison), Some(derived)) =
        (said::comparison(hunt, exposed), exposed.derived.as_deref())
    {
        schedules::beside(
            page,
            &comparison,
            sources,
            "How it fails, and the run it was derived from",
        );
        page.prose("  ", &said::differs(derived), Tone::Dim);
    }
}

fn said_of(page: &mut Page, name: &str, text: &str, tone: Tone) {
    page.prose(&format!("  {name:NAMES$}"), text, tone);
}

/// What was done, and how far that went.
fn searched(page: &mut Page, hunt: &Hunt) {
    page.section("What was searched");
    said::effort(hunt).iter().for_each(|text| page.prose("  ", text, Tone::Plain));
    let tone = if said::weight(hunt) == Weight::Exhausted { Tone::Good } else { Tone::Strong };
    for (index, text) in said::extent(hunt).iter().enumerate() {
        let bullet = format!("  {} ", page.glyphs.bullet);
        let (lead, tone) = if index == 0 { ("  ", tone) } else { (bullet.as_str(), Tone::Plain) };
        page.prose(lead, text, tone);
    }
    page.prose("  ", "sequential consistency", Tone::Plain);
    if let Some(further) = said::further(hunt) {
        page.prose("  ", further, Tone::Plain);
    }
}

fn next(page: &mut Page, hunt: &Hunt, typed: &[String], html: Option<&str>) {
    if hunt.exposed.is_empty() && html.is_none() {
        return;
    }
    page.blank();
    for (index, exposed) in hunt.exposed.iter().enumerate() {
        if let Some(trace) = &exposed.trace {
            page.row("replay", &replay_command(trace));
            if exposed.diagnosis.is_none() {
                page.row("diagnose", &format!("unravel diagnose {}", shell_word(trace)));
            }
        }
        let Some(words) = typed.get(index) else { continue };
        // Failures of the same input have these commands in common: they are said once.
        if typed[..index].contains(words) {
            continue;
        }
        match exposed.how {
            How::ByItself => page.row("explain", &format!("unravel explain {words}")),
            How::BySchedule | How::ByPath => {
                page.row("causes", &format!("unravel causes {words}"));
                page.row("repair", &format!("unravel repair {words}"));
            }
        }
    }
    if let Some(html) = html {
        page.row("page", html);
    }
}
