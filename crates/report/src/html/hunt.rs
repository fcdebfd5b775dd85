//! A hunt: the verdict, each failure with its diagnosis and beside the run it was derived from, what was searched, and the
//! journal of attempts.

use maud::{Markup, html};
use unravel_results::{Attempt, Exposed, How, Hunt, replay_command, shell_word};

use super::timeline::Timeline;
use super::{bug, cause, facts};
use crate::FileNames;
use crate::escape::visible;
use crate::hunts::{self as said, Weight};
use crate::source::Sources;
use crate::words::{self, count};

/// Attempts in the table; more are in the JSON.
const MOST_ATTEMPTS: usize = 300;

/// The verdict, what the hunt started from, and the way to each failure.
pub fn overview(hunt: &Hunt) -> Markup {
    let weight = said::weight(hunt);
    let found = if weight == Weight::Found { "found" } else { "nothing" };
    let names = FileNames::of_failures(hunt.exposed.iter().map(|exposed| &exposed.failure));
    html! {
        section.overview aria-label="Summary" {
            p.verdict.(found) { (visible(&hunt.program)) ": " (visible(&said::headline(hunt))) }
            p.start { (said::start(hunt)) }
            @for (index, text) in said::extent(hunt).iter().enumerate() {
                @let class = if weight == Weight::Exhausted && index == 0 { "sure" } else { "unsure" };
                p.extent.(class) { (visible(text)) }
            }
            @if let Some(further) = said::further(hunt) { p.advice { (further) } }
            p.command-line { span { "Made by" } " " code { (visible(&hunt.command)) } }
            @if hunt.exposed.len() > 1 {
                ol.bugs {
                    @for (index, exposed) in hunt.exposed.iter().enumerate() {
                        li { a href=(format!("#failure-{}", index + 1)) { (visible(&said::failure(exposed, &names))) } }
                    }
                }
            }
            @if !hunt.notes.is_empty() { ul.notes { @for note in &hunt.notes { li { (visible(note)) } } } }
        }
    }
}

/// One failure.
pub fn section(hunt: &Hunt, index: usize, typed: Option<&String>, sources: &Sources) -> Markup {
    let exposed = &hunt.exposed[index];
    let diagnosis = exposed.diagnosis.as_deref();
    let names = FileNames::of_failures(hunt.exposed.iter().map(|exposed| &exposed.failure));
    html! {
        article.card.bug id=(format!("failure-{}", index + 1)) {
            header {
                @if hunt.exposed.len() > 1 { p.which { "Failure " (index + 1) " of " (hunt.exposed.len()) } }
                h2 { span.sign aria-hidden="true" { "✗" } " " (visible(&words::failure(&exposed.failure))) }
                (trust(exposed))
            }
            div.story {
                div.why {
                    (bug::stack(&exposed.failure, diagnosis, &names))
                    (how(exposed))
                    @if let Some((diagnosis, cause)) = diagnosis.and_then(|d| Some((d, d.root_cause.as_ref()?))) {
                        (cause::root_cause(diagnosis, cause, sources))
                    }
                }
                div.then {
                    @if let Some(diagnosis) = diagnosis { (cause::what_should_hold(diagnosis, sources)) }
                    (next(exposed, typed))
                }
            }
            @if let Some(diagnosis) = diagnosis {
                @let timeline = Timeline::of(diagnosis);
                (bug::explorer(&timeline, sources))
                div.facts {
                    (facts::numbers(diagnosis))
                    (facts::differences(diagnosis, &timeline.names))
                    (facts::notes(&diagnosis.notes))
                }
            }
            (derived(hunt, exposed, sources))
        }
    }
}

/// What a failure rests on.
fn trust(exposed: &Exposed) -> Markup {
    let (evidence, holds) = said::evidence(exposed);
    let class = if holds { "sure" } else { "unsure" };
    html! {
        p.trust {
            @match exposed.how {
                How::ByItself => { span.chip { "failed by itself" } }
                How::BySchedule => { span.chip { "the same steps in another order" } }
                How::ByPath => { span.chip { "another path" } }
            }
            @if exposed.how != How::ByItself { " " span.chip.(class) { (visible(&evidence)) } }
            @if let Some(diagnosis) = &exposed.diagnosis {
                " " span.chip { "diagnosis " (visible(&diagnosis.status.to_string())) }
                @if let Some(cause) = &diagnosis.root_cause { " " span.chip { (cause.pattern) } }
            } @else if let Some(reason) = &exposed.undiagnosed {
                " " span.chip.unsure { "not diagnosed" } " " (visible(reason))
            }
            " " span.chip title="bugs that need a weaker memory model are not found" { "sequential consistency" }
        }
    }
}

/// How it came about.
fn how(exposed: &Exposed) -> Markup {
    html! {
        section.found {
            h3 { "How it was exposed" }
            ul {
                @for text in said::how(exposed) { li { (visible(&text)) } }
                @if let Some(found) = said::found(exposed) { li { "found " (found) } }
            }
        }
    }
}

fn next(exposed: &Exposed, typed: Option<&String>) -> Markup {
    html! {
        @if let Some(trace) = &exposed.trace {
            section.replay {
                h3 { "Replay" }
                (facts::command(&replay_command(trace)))
                @if exposed.diagnosis.is_none() {
                    p { "Diagnose it with" }
                    (facts::command(&format!("unravel diagnose {}", shell_word(trace))))
                }
            }
        }
        @if let Some(typed) = typed {
            section.replay {
                h3 { "Then" }
                @if exposed.how == How::ByItself {
                    (facts::command(&format!("unravel explain {typed}")))
                } @else {
                    (facts::command(&format!("unravel causes {typed}")))
                    (facts::command(&format!("unravel repair {typed}")))
                }
            }
        }
    }
}

/// The failing run beside the one it was derived from.
fn derived(hunt: &Hunt, exposed: &Exposed, sources: &Sources) -> Markup {
    let Some(derived) = &exposed.derived else { return html! {} };
    let Some(comparison) = said::comparison(hunt, exposed) else { return html! {} };
    let timeline = Timeline::derived(&comparison);
    html! {
        (bug::explorer(&timeline, sources))
        p.dim { (said::differs(derived)) }
    }
}

/// What was searched, and the attempts one by one.
pub fn searched(hunt: &Hunt) -> Markup {
    html! {
        section.card.explored {
            h2 { "What was searched" }
            ul { @for text in said::effort(hunt) { li { (visible(&text)) } } }
            p.dim { (said::bounds(hunt)) }
            @if !hunt.journal.is_empty() { (journal(&hunt.journal)) }
        }
    }
}

fn journal(attempts: &[Attempt]) -> Markup {
    html! {
        div.journal tabindex="0" {
            table {
                thead {
                    tr {
                        @for name in ["Attempt", "What goes another way", "Traces", "Result"] { th scope="col" { (name) } }
                    }
                }
                tbody {
                    @for attempt in attempts.iter().take(MOST_ATTEMPTS) {
                        tr {
                            th scope="row" { (attempt.number) }
                            td {
                                @if attempt.flips.is_empty() { "nothing" }
                                @for flip in &attempt.flips { div { (visible(&said::flip(flip))) } }
                            }
                            td { (said::source(attempt.traces)) }
                            td { (said::result(attempt.result)) }
                        }
                    }
                }
            }
        }
        @if let Some(more) = attempts.len().checked_sub(MOST_ATTEMPTS).filter(|more| *more > 0) {
            p.dim { (count(more as u64, "more attempt")) ", in the JSON." }
        }
    }
}
