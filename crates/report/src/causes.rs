//! All causes in words, the same in all reports: what was explored, how causes relate, how many there are.
//!
//! The numbers are those of ConcBugAssist's table 5.2.

use unravel_results::{CausalOrder, Cause, CauseClass, Causes, CausesVerdict, Extent, Participant};
use unravel_trace::{Failure, SourceLine, ThreadName, Verb};

use crate::words::{count, grouped, listed};
use crate::{FileNames, file_names, inputs, notes};

/// Other threads and occurrences of a class that are told of.
const MOST_TOLD: usize = 3;

/// One sentence: what was found out.
pub fn headline(causes: &Causes) -> String {
    let extent = &causes.extent;
    let all = extent.passing + extent.failing;
    match causes.verdict {
        CausesVerdict::NothingFails => nothing_fails(causes),
        CausesVerdict::Sequential if extent.is_complete() => {
            let with = inputs::with_which(causes, &sequential(causes));
            let with = with.map_or_else(String::new, |with| format!("{with} it "));
            format!("{with}fails under every schedule: this is {}", sequential_bug(extent))
        }
        CausesVerdict::Sequential => format!(
            "{}all {} that were seen fail: this looks like {}",
            inputs::with_which(causes, &sequential(causes))
                .map_or_else(String::new, |with| format!("{with} ")),
            count(extent.failing, "class of schedules"),
            sequential_bug(extent)
        ),
        CausesVerdict::Concurrent => match causes.classes.len() as u64 {
            0 => "it depends on the schedule; orders that all failing schedules come from were not found".to_owned(),
            some => format!(
                "{}; {} of {} classes of schedules {}",
                count(some, "cause"),
                grouped(extent.failing),
                grouped(all),
                if extent.failing == 1 { "fails" } else { "fail" }
            ),
        },
    }
}

/// What sleeps and timeouts put in an order is an order of threads all the same.
fn sequential_bug(extent: &Extent) -> &'static str {
    match extent.could_deviate && extent.deviations == 0 {
        true => {
            "a sequential bug, or one of time: in none of these is a thread late (--deviations)"
        }
        false => "a sequential bug, not one of concurrency: debug it with gdb",
    }
}

/// The headline without the word for a class: `28 of all 53 interleavings fail (with this input)`.
pub fn in_short(causes: &Causes) -> String {
    let extent = &causes.extent;
    let all = grouped(extent.passing + extent.failing);
    let fail = if extent.failing == 1 { "fails" } else { "fail" };
    let failing = grouped(extent.failing);
    if causes.verdict != CausesVerdict::Concurrent || causes.classes.is_empty() {
        return headline(causes);
    }
    let several = match causes.classes.len() {
        1 => String::new(),
        some => format!(", by {some} causes"),
    };
    let known = match causes.inputs.len() {
        0 => "with this input".to_owned(),
        some => format!("with the {} tried", count(some as u64, "input")),
    };
    let usual = match extent.could_deviate {
        true => format!(", {}", crate::deviations::at_most(extent.deviations)),
        false => String::new(),
    };
    match extent.is_complete() {
        true => format!("{failing} of all {all} interleavings {fail}{several} ({known}{usual})"),
        false => format!("{failing} of {all} interleavings seen {fail}{several}; there are more"),
    }
}

/// The command that tells all causes, for those who had them from a command that repairs.
pub fn causes_command(command: &str) -> Option<String> {
    Some(format!("unravel causes {}", command.strip_prefix("unravel repair ")?))
}

fn nothing_fails(causes: &Causes) -> String {
    let Causes { program, extent, elapsed, .. } = causes;
    let pace = format!("{}, {:.1} s", schedules(extent), elapsed.as_secs_f64());
    let events = count(extent.most_events, "event");
    let size = format!("up to {events}, {}; sequential consistency", bound(extent));
    if extent.passing == 0 {
        let first = extent.left_out.first().map(notes::left_out);
        let why = first.unwrap_or_else(|| "no run came to its end".to_owned());
        format!("{program}: inconclusive: {why} ({pace})")
    } else if extent.is_complete() {
        let all = count(extent.passing + extent.failing, "class of schedules");
        format!(
            "{program}: no failure: all {all}{} explored, in {pace} ({size})",
            of_inputs(causes)
        )
    } else {
        format!("{program}: no failure found in {pace}{} ({size})", of_inputs(causes))
    }
}

/// ` of 5 inputs`, where there was a choice.
fn of_inputs(causes: &Causes) -> String {
    match causes.inputs.len() {
        0 => String::new(),
        some => format!(" of {}", count(some as u64, "input")),
    }
}

/// The inputs with which every schedule fails.
fn sequential(causes: &Causes) -> Vec<usize> {
    let inputs = causes.inputs.iter().enumerate();
    inputs.filter(|(_, tried)| tried.sequential).map(|(number, _)| number).collect()
}

fn schedules(extent: &Extent) -> String {
    match extent.schedules {
        1 => "1 schedule".to_owned(),
        some => format!("{} schedules", grouped(some)),
    }
}

/// `complete: all 27 classes of schedules of this input, up to 20,000,000 steps a run`, `complete for the 5 inputs tried: …`, or
/// what was left.
pub fn extent(causes: &Causes) -> String {
    let extent = &causes.extent;
    let all = extent.passing + extent.failing;
    let (number, classes) =
        (grouped(all), if all == 1 { "class of schedules" } else { "classes of schedules" });
    let steps = bound(extent);
    if extent.is_complete() {
        let all = if all == 1 { "the only".to_owned() } else { format!("all {number}") };
        return match causes.inputs.len() {
            0 => format!("complete: {all} {classes} of this input, {steps}"),
            1 => format!("complete for the input tried: {all} {classes}, {steps}"),
            some => format!("complete for the {some} inputs tried: {all} {classes}, {steps}"),
        };
    }
    let of = of_inputs(causes);
    let seen =
        format!("not complete: {number} {classes}{of} seen in {}, {steps}", schedules(extent));
    match extent.left_out.is_empty() {
        true => seen,
        false => format!("{seen}; left: {}", notes::all_left_out(&extent.left_out).join("; ")),
    }
}

fn bound(extent: &Extent) -> String {
    let steps = format!("up to {} steps a run", grouped(extent.max_steps));
    match extent.could_deviate {
        true => format!("{steps}, {}", crate::deviations::at_most(extent.deviations)),
        false => steps,
    }
}

/// What the reader should know of the inputs, and all other notes.
pub fn notes(causes: &Causes) -> Vec<String> {
    let mut said = Vec::new();
    if !causes.inputs.is_empty() {
        let all: Vec<usize> = (0..causes.inputs.len()).collect();
        let tried = inputs::named(causes, &all);
        said.push(format!("tried with {tried}; with others it may fail in other ways"));
    } else if causes.extent.fixed_inputs {
        let fixed = "values of __VERIFIER_nondet_* were fixed: other inputs were not looked at";
        said.push(fixed.to_owned());
    }
    if causes.verdict == CausesVerdict::Concurrent {
        let with = inputs::with_which(causes, &sequential(causes));
        let fails = "every schedule fails: that is no bug of concurrency";
        said.extend(with.map(|with| format!("{with} {fails}")));
    }
    said.extend(causes.notes.iter().cloned());
    said
}

/// The failure that a class leads to first.
pub fn failure<'c>(causes: &'c Causes, class: &CauseClass) -> Option<&'c Failure> {
    let bug = class.bugs.first().and_then(|index| causes.bugs.get(*index));
    bug.or(causes.bugs.first()).map(|bug| &bug.failure)
}

/// What is known of a class besides its graph, its sentence and its advice.
pub fn facts(causes: &Causes, class: &CauseClass) -> Vec<String> {
    let mut facts = Vec::new();
    let blocked: u64 = class.causes.iter().map(|cause| cause.blocks).sum();
    let fail = if blocked == 1 { "fails" } else { "fail" };
    let with = inputs::with_which(causes, &class.inputs);
    let with = with.map_or_else(String::new, |with| format!(", {with}"));
    facts.push(format!("{} {fail} so{with}", count(blocked, "class of schedules")));
    facts.extend(other_threads(class));
    facts.extend(same_regions(causes, class));
    if causes.bugs.len() > 1 {
        let bugs = class.bugs.iter().filter_map(|index| causes.bugs.get(*index));
        let names = file_names::of_causes(causes);
        let bugs: Vec<String> = bugs.map(|bug| names.bug(&bug.id)).collect();
        if !bugs.is_empty() {
            facts.push(format!("it leads to {}", listed(&bugs)));
        }
    }
    facts.extend(minimal(class));
    facts
}

/// Whether each order is needed.
fn minimal(class: &CauseClass) -> Option<String> {
    let orders = class.causes.first()?.orders.len();
    Some(match (class.causes.iter().all(|cause| cause.minimal), orders) {
        (_, 0) => return None,
        (true, 1) => "with this order reversed the program passes (executed)".to_owned(),
        (true, _) => {
            "each order is needed: with it alone reversed the program passes (executed)".to_owned()
        }
        (false, _) => "not proved minimal: some of these orders may not be needed".to_owned(),
    })
}

/// Which other threads, or later occurrences, the causes of a class are about.
fn other_threads(class: &CauseClass) -> Option<String> {
    let (first, others) = class.causes.split_first()?;
    let mut told: Vec<String> = Vec::new();
    let mut later = 0_u64;
    for other in others {
        match roles(first, other) {
            Some(text) if !told.contains(&text) => told.push(text),
            Some(_) | None => later += 1,
        }
    }
    let more = told.len().saturating_sub(MOST_TOLD);
    told.truncate(MOST_TOLD);
    if more > 0 {
        told.push(format!("{more} more"));
    }
    if later > 0 {
        let times =
            if later == 1 { "once".to_owned() } else { format!("{} times", grouped(later)) };
        told.push(format!("{times} at other turns of the same lines"));
    }
    (!told.is_empty()).then(|| format!("also {}", listed(&told)))
}

/// Who plays whose role in another cause of the same lines; `None` if everybody plays their own.
fn roles(first: &Cause, other: &Cause) -> Option<String> {
    let (ours, theirs) = (players(first), players(other));
    if ours == theirs {
        return None;
    }
    let distinct = |players: &[ThreadName]| {
        let mut names = players.to_vec();
        names.sort();
        names.dedup();
        names
    };
    let names = distinct(&theirs);
    let text: Vec<String> = names.iter().map(ToString::to_string).collect();
    Some(match (names == distinct(&ours), names.len()) {
        (true, 2) => format!("with {} the other way round", listed(&text)),
        (true, _) => format!("with {} in other roles", listed(&text)),
        (false, _) => format!("with {}", listed(&text)),
    })
}

/// The threads of a cause's events, in an order that depends on lines alone.
fn players(cause: &Cause) -> Vec<ThreadName> {
    let mut orders: Vec<&CausalOrder> = cause.orders.iter().collect();
    orders.sort_by_key(|order| {
        let key = |who: &unravel_results::Participant| (who.place.clone(), who.verb);
        (key(&order.first), key(&order.second))
    });
    let events = orders.into_iter().flat_map(|order| [&order.first, &order.second]);
    events.map(|who| who.key.thread.clone()).collect()
}

/// `the same two regions as cause 1, the other way round`.
fn same_regions(causes: &Causes, class: &CauseClass) -> Option<String> {
    let earlier = class.same_regions_as?;
    let other = causes.classes.get(earlier)?;
    let regions = match class.regions.len() {
        1 => "region".to_owned(),
        2 => "two regions".to_owned(),
        some => format!("{some} regions"),
    };
    let (ours, theirs) = (lines(class), lines(other));
    let reversed = ours.iter().all(|(a, b)| theirs.contains(&(b.clone(), a.clone())));
    let how = if reversed { "the other way round" } else { "interleaved in another way" };
    Some(format!("the same {regions} as cause {}, {how}", earlier + 1))
}

/// The orders of a class between lines, in words.
pub fn shown_lines(class: &CauseClass, names: &FileNames) -> Vec<(String, String)> {
    let mut shown = Vec::new();
    for order in class.causes.first().map_or(&[][..], |cause| &cause.orders) {
        let pair = (line(&order.first, names), line(&order.second, names));
        if !shown.contains(&pair) {
            shown.push(pair);
        }
    }
    shown
}

/// `bank.c:31`. A function that ends has no line: it is `the end of main`.
fn line(who: &Participant, names: &FileNames) -> String {
    let SourceLine { line, function, .. } = &(&who.place).into();
    match (line, who.verb) {
        (0, Verb::Exits | Verb::EndsProcess) if !function.is_empty() => {
            format!("the end of {function}")
        }
        _ => names.line(&(&who.place).into()),
    }
}

/// The orders of a class between lines.
fn lines(class: &CauseClass) -> Vec<(SourceLine, SourceLine)> {
    let orders = class.causes.first().map_or(&[][..], |cause| &cause.orders);
    let mut lines: Vec<(SourceLine, SourceLine)> = Vec::new();
    for line in orders.iter().map(CausalOrder::lines) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// The counts of table 5.2: what each is called, and the number.
pub fn counts(causes: &Causes) -> Vec<(&'static str, String)> {
    let counts = &causes.counts;
    let mut told = vec![
        ("iterations", grouped(counts.iterations)),
        ("orders a cause", format!("{:.1}", counts.core)),
        ("unique orders", grouped(counts.unique)),
    ];
    // Where each failing run was diagnosed by itself, nobody counted the others.
    if counts.constraints > 0.0 {
        told.insert(1, ("orders in a failing schedule", format!("{:.1}", counts.constraints)));
        told.push(("reduction ratio", format!("{:.1}%", counts.reduction() * 100.0)));
    }
    told
}

/// The command that repairs what `causes` found; `None` if these causes were not found by that command.
pub fn repair_command(command: &str) -> Option<String> {
    let words: Vec<&str> = command.strip_prefix("unravel causes ")?.split(' ').collect();
    let mut kept: Vec<&str> = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word {
            // It writes no graph.
            "--dot" => drop(words.next()),
            _ if word.starts_with("--dot=") => {}
            _ => kept.push(word),
        }
    }
    Some(format!("unravel repair {}", kept.join(" ")))
}
