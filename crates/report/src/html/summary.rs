//! The top of the page and its end: what was found or not, what was explored, what is put aside.

use maud::{Markup, html};
use unravel_results::{ExplainedBug, Explanation, Explored, PutAside, Stopped, Verdict};

use crate::FileNames;
use crate::escape::visible;
use crate::searched::searched;
use crate::words::{self, count};

/// `keys` says whether there are keys to be told of.
pub fn header(program: &str, keys: bool) -> Markup {
    html! {
        header.top {
            h1 { span.brand { "unravel" } " " span.program { (visible(program)) } }
            div.tools {
                button #theme type="button" title="light or dark (t)" { "Theme" }
                @if keys { button #keys type="button" title="what the keys do (?)" { "Keys" } }
            }
        }
    }
}

/// What came of the search, in words, and the way to each bug.
pub fn overview(all: &Explanation) -> Markup {
    let said = searched(&all.program, &all.explored, all.bugs.len());
    let names = FileNames::of_failures(all.bugs.iter().map(|bug| &bug.failure));
    html! {
        section.overview aria-label="Summary" {
            p.verdict.(if all.bugs.is_empty() { "nothing" } else { "found" }) { (visible(&said.headline)) }
            @if all.bugs.is_empty() { (made_by(all)) }
            @if all.bugs.len() > 1 {
                ol.bugs {
                    @for (index, bug) in all.bugs.iter().enumerate() { li { (link(index, bug, &names)) } }
                }
            }
            @if all.bugs.is_empty() { (notes(all)) }
        }
        @if all.bugs.is_empty() { (nothing(&all.explored, said.advice.as_deref())) }
    }
}

/// The end of a page with bugs: the command that made it, and what is to be known of the search.
pub fn search(all: &Explanation) -> Markup {
    html! {
        @if !all.bugs.is_empty() {
            section.overview.search aria-label="How this page was made" { (made_by(all)) (notes(all)) }
        }
    }
}

fn made_by(all: &Explanation) -> Markup {
    html! { p.command-line { span { "Made by" } " " code { (visible(&all.command)) } } }
}

fn notes(all: &Explanation) -> Markup {
    let said = searched(&all.program, &all.explored, all.bugs.len());
    let notes: Vec<&String> = said.notes.iter().chain(&all.notes).collect();
    html! {
        @if !notes.is_empty() { ul.notes { @for note in notes { li { (visible(note)) } } } }
    }
}

/// What was explored without finding a bug, and how to look further.
fn nothing(explored: &Explored, advice: Option<&str>) -> Markup {
    let tally = &explored.tally;
    let schedules = match tally.inconclusive {
        0 => tally.schedules.to_string(),
        some => format!("{}, {some} of them inconclusive", tally.schedules),
    };
    let covered = &explored.covered;
    let rows = [
        ("schedules", schedules),
        ("classes of schedules", covered.classes.to_string()),
        ("pairs of a write and a read", covered.reads_from.to_string()),
        ("strategy", format!("{}, seed {}", explored.strategy, explored.seed)),
        (
            "size",
            format!(
                "up to {} and {}",
                count(tally.most_threads, "thread"),
                count(tally.most_events, "event")
            ),
        ),
        ("ended", ended(explored.stopped).to_owned()),
        ("memory model", "sequential consistency".to_owned()),
    ];
    html! {
        section.card.explored {
            h2 { "What was explored" }
            @if explored.stopped != Stopped::Exhausted {
                p { "This is what was tried, not a proof that there is no bug." }
            }
            table {
                @for (name, text) in rows { tr { th scope="row" { (name) } td { (visible(&text)) } } }
            }
            @if let Some(advice) = advice { p.advice { (visible(advice)) "." } }
        }
    }
}

fn ended(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Found => "a bug was found",
        Stopped::Exhausted => "every class of schedules was explored",
        Stopped::Schedules => "as many schedules were tried as were asked for",
        Stopped::OneSchedule => {
            "there is one schedule only: no threads, no input that could differ"
        }
        Stopped::AllInconclusive => "not one of the first runs could be followed to its end",
        Stopped::Time => "the time was up",
        Stopped::Interrupted => "interrupted",
    }
}

/// A line about a bug that leads to it.
fn link(index: usize, bug: &ExplainedBug, names: &FileNames) -> Markup {
    let cause = bug.verdict.diagnosis().and_then(|diagnosis| diagnosis.root_cause.as_ref());
    html! {
        a href=(format!("#bug-{}", index + 1)) { (visible(&words::failure(&bug.failure))) }
        @if let Some(place) = bug.failure.place() { " " span.dim { (visible(&names.place(place))) } }
        @match (&bug.verdict, cause, bug.same_cause_as) {
            (Verdict::Undiagnosed { .. }, ..) => { " " span.chip.unsure { "not diagnosed" } }
            (_, _, Some(earlier)) => { " " span.chip { "same cause as bug " (earlier + 1) } }
            (_, Some(cause), None) => { " " span.chip { (cause.pattern) } }
            (_, None, None) => {}
        }
    }
}

/// What `unravel.toml` puts aside.
pub fn put_aside(all: &Explanation) -> Markup {
    html! {
        @if !all.put_aside.is_empty() {
            section.card.put-aside {
                h2 { "Put aside by unravel.toml" }
                ul {
                    @for PutAside { bug, reason, times } in &all.put_aside {
                        li {
                            b { (visible(&bug.to_string())) } " "
                            @if *times == 0 { "not seen" } @else { "seen in " (count(*times, "schedule")) }
                            ": " (visible(reason))
                        }
                    }
                }
            }
        }
    }
}
