//! An explanation as annotations of GitHub Actions: lines of the form `::error file=…,line=…,title=…::message` that a
//! workflow prints to have them shown beside the source.
//!
//! GitHub shows ten of each level a step, so no more are written: an error a bug, warnings where its root cause is,
//! notices for bugs that `unravel.toml` puts aside. The last error says how many bugs were left out. Nothing of the
//! program under test can begin a line or end a message: see [`data`] and [`property`].

use std::fmt::Write;

use unravel_results::{ExplainedBug, Explanation, Participant, PutAside, Stopped};
use unravel_trace::Place;

use crate::escape::visible;
use crate::summary::summary;
use crate::words::{self, count};
use crate::{FileNames, file_names, searched, site};

/// What GitHub shows of each level, a step.
const MOST: usize = 10;
/// Places of one root cause, so that one bug leaves room for others.
const MOST_PLACES: usize = 4;

/// The annotations, most important first; empty if there is nothing to say.
pub fn explanation(explanation: &Explanation) -> String {
    let mut text = String::new();
    let bugs = &explanation.bugs;
    let shown = if bugs.len() > MOST { MOST - 1 } else { bugs.len() };
    bugs[..shown].iter().for_each(|bug| line(&mut text, &failure(bug)));
    if shown < bugs.len() {
        let message = format!(
            "{} more bugs were found. All of them: {}",
            bugs.len() - shown,
            visible(&explanation.command)
        );
        line(
            &mut text,
            &Annotation { level: "error", title: "unravel".to_owned(), place: None, message },
        );
    }
    let names = file_names::of_explanation(explanation);
    let causes = bugs.iter().filter(|bug| bug.same_cause_as.is_none());
    let causes = causes.flat_map(|bug| root_cause(bug, &names));
    let warnings = inconclusive(explanation).into_iter().chain(causes);
    warnings.take(MOST).for_each(|warning| line(&mut text, &warning));
    let seen = explanation.put_aside.iter().filter(|known| known.times > 0);
    seen.take(MOST).for_each(|known| line(&mut text, &put_aside(explanation, known)));
    text
}

struct Annotation {
    level: &'static str,
    title: String,
    place: Option<Place>,
    /// May have several lines.
    message: String,
}

fn failure(bug: &ExplainedBug) -> Annotation {
    let diagnosis = bug.verdict.diagnosis();
    let cause = diagnosis.and_then(|diagnosis| diagnosis.root_cause.as_ref());
    let mut message = visible(&words::failure(&bug.failure)).into_owned();
    match (cause, words::undiagnosed(bug)) {
        (Some(cause), _) => {
            let summary = diagnosis.and_then(summary).unwrap_or_default();
            write!(message, "\nRoot cause: {}", visible(&summary)).expect("a String");
            if !cause.advice.is_empty() {
                write!(message, "\n{}", visible(&cause.advice)).expect("a String");
            }
        }
        (None, Some(reason)) => {
            write!(message, "\nWhy it happens is not known: {}", visible(reason))
                .expect("a String");
        }
        (None, None) => {}
    }
    write!(message, "\nReplay: {}", visible(&bug.replay)).expect("a String");
    let title = match cause {
        Some(cause) => format!("unravel: {} ({})", bug.id.kind, cause.pattern),
        None => format!("unravel: {}", bug.id.kind),
    };
    Annotation { level: "error", title, place: bug.failure.place().cloned(), message }
}

/// A warning at each line of a root cause, other than the failure's own.
fn root_cause(bug: &ExplainedBug, names: &FileNames) -> Vec<Annotation> {
    let cause = bug.verdict.diagnosis().and_then(|diagnosis| diagnosis.root_cause.as_ref());
    let Some(cause) = cause else { return Vec::new() };
    let same_line = |a: &Place, b: &Place| a.file == b.file && a.line == b.line;
    let mut lines: Vec<(&Place, Vec<String>)> = Vec::new();
    for order in &cause.orders {
        let words = |who: &Participant| format!("{} {} {}", who.key.thread, who.verb, order.object);
        for (who, other, relation) in
            [(&order.first, &order.second, "before"), (&order.second, &order.first, "after")]
        {
            if who.place.line == 0 || bug.failure.place().is_some_and(|p| same_line(p, &who.place))
            {
                continue;
            }
            let sentence =
                format!("{} {relation} {} ({})", words(who), words(other), words::at(&other.place));
            match lines.iter_mut().find(|(place, _)| same_line(place, &who.place)) {
                Some((_, sentences)) if sentences.contains(&sentence) => {}
                Some((_, sentences)) => sentences.push(sentence),
                None => lines.push((&who.place, vec![sentence])),
            }
        }
    }
    let title = format!("unravel: root cause of {}", names.bug(&bug.id));
    let annotations = lines.into_iter().take(MOST_PLACES).map(|(place, sentences)| {
        let sentences: Vec<_> = sentences.iter().map(|s| visible(s)).collect();
        let (place, message) = (Some(place.clone()), sentences.join("\n"));
        Annotation { level: "warning", title: title.clone(), place, message }
    });
    annotations.collect()
}

/// That nothing was found means nothing if nothing could be followed.
fn inconclusive(explanation: &Explanation) -> Option<Annotation> {
    let explored = &explanation.explored;
    let nothing = explored.stopped == Stopped::AllInconclusive
        || explored.tally.inconclusive + explored.tally.discarded == explored.tally.schedules;
    (nothing && explanation.bugs.is_empty()).then(|| Annotation {
        level: "warning",
        title: "unravel: inconclusive".to_owned(),
        place: None,
        message: visible(&searched::searched(&explanation.program, explored, 0).headline)
            .into_owned(),
    })
}

fn put_aside(explanation: &Explanation, known: &PutAside) -> Annotation {
    let place = site::resolve(explanation, &known.bug.site);
    let message = format!(
        "{}: {} failed so. Put aside in unravel.toml: {}",
        visible(&known.bug.to_string()),
        count(known.times, "schedule"),
        visible(&known.reason)
    );
    Annotation { level: "notice", title: "unravel: known bug".to_owned(), place, message }
}

fn line(text: &mut String, annotation: &Annotation) {
    let Annotation { level, title, place, message } = annotation;
    write!(text, "::{level} ").expect("a String");
    if let Some(place) = place.as_ref().filter(|p| p.line > 0 && !p.file.is_empty()) {
        let file = place.file.trim_start_matches("./");
        write!(text, "file={},line={},", property(file), place.line).expect("a String");
        if place.column > 0 {
            write!(text, "col={},", place.column).expect("a String");
        }
    }
    writeln!(text, "title={}::{}", property(title), data(message)).expect("a String");
}

/// What stands after `::`, as the runner decodes it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// What stands after `name=`, as the runner decodes it.
fn property(text: &str) -> String {
    data(&visible(text)).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_property_or_a_message_early() {
        assert_eq!(data("100%\r\n::error::x"), "100%25%0D%0A::error::x");
        assert_eq!(property("a,b:c\n%"), "a%2Cb%3Ac\\n%25");
    }
}
