//! The root cause: its pattern, one sentence, the orders with their source lines, and what should hold instead.

use unravel_results::{CausalOrder, Diagnosis, Evidence, Participant, Pattern, RootCause};
use unravel_trace::{Failure, Place, shown_name};

use super::line::{Line, Tone, columns};
use super::page::Page;
use super::race;
use crate::side::{self, RegionKind};
use crate::source::Sources;
use crate::summary::summary;
use crate::words::count;
use crate::{escape, evidence, library, words};

/// Orders of a brief report where nothing else can be said.
const FEW_ORDERS: usize = 3;
/// Lines of a region that are shown in full; of a longer one the ends.
const LONGEST_REGION: u32 = 12;

pub fn write(page: &mut Page, diagnosis: &Diagnosis, cause: &RootCause, sources: &Sources) {
    page.section(&format!("Root cause: {}", cause.pattern));
    let summary = summary(diagnosis).filter(|_| page.style.brief);
    page.prose("  ", summary.as_ref().unwrap_or(&cause.sentence), Tone::Plain);
    let shown = if page.style.brief { page.limits.orders } else { cause.orders.len() };
    // Where several orders have to come together they are all that there is to say.
    let shown = if cause.pattern == Pattern::Compound { shown.max(FEW_ORDERS) } else { shown };
    if !cause.orders.is_empty() && shown > 0 {
        page.blank();
    }
    for (index, order) in cause.orders.iter().take(shown).enumerate() {
        let lead = format!("  {}  ", index + 1);
        match page.style.brief {
            true => page.prose(&lead, &in_short(&diagnosis.failure, order), Tone::Plain),
            false => write_order(page, &lead, Some(&diagnosis.failure), order, sources),
        }
    }
    let more = cause.orders.len().checked_sub(shown).filter(|more| *more > 0 && shown > 0);
    if let Some(more) = more {
        let more = count(more as u64, "more order");
        page.line(Line::new().with(&format!("     {more} of the same run"), Tone::Dim));
    }
    if let Some(race) = &diagnosis.race {
        race::write(page, race, sources);
    }
    if !page.style.brief {
        evidence(page, diagnosis, cause);
    }
    if !cause.advice.is_empty() {
        page.section("What should hold");
        page.prose("  ", &cause.advice, Tone::Good);
        remedy(page, diagnosis, sources);
        for place in library::at_fault(diagnosis).unwrap_or_default() {
            bracketed(page, page.glyphs.before, place, sources);
        }
    }
    let is_about_orders = !matches!(cause.evidence, Some(Evidence::Shielded { .. }));
    let evidence = evidence::in_short(diagnosis, cause).filter(|_| page.style.brief);
    // What is said of orders that are not shown is said of nothing.
    if let Some(text) = evidence.filter(|_| !is_about_orders || page.limits.orders > 0) {
        page.prose("  ", &text, Tone::Dim);
    }
}

/// An order as a clause: `T0.1 reads x at bank.c:12 before T0.2 writes it at bank.c:14`.
fn in_short(failure: &Failure, order: &CausalOrder) -> String {
    let side = |who: &Participant, object: &str| {
        let object =
            if object.is_empty() { String::new() } else { format!(" {}", shown_name(object)) };
        let text = format!("{} {}{object} {}", who.key.thread, who.verb, words::at_or_in(who));
        match who.event {
            Some(_) => text,
            None => format!("{text} ({})", words::absent(who, Some(failure))),
        }
    };
    let again = if order.object.is_empty() { "" } else { "it" };
    format!("{} before {}", side(&order.first, &order.object), side(&order.second, again))
}

/// What an order says of one of its events: the event, its source line, why the failing run lacks it.
fn texts(
    failure: Option<&Failure>,
    who: &Participant,
    object: &str,
    sources: &Sources,
) -> (String, Vec<String>) {
    let absent = match who.event {
        Some(_) => None,
        None => Some(format!("{} in the failing run", words::absent(who, failure))),
    };
    let below = sources.line(&who.place).into_iter().chain(absent);
    let visible = |text: &str| escape::visible(text).into_owned();
    (visible(&clause(who, object)), below.map(|text| visible(&text)).collect())
}

/// Both events in one row with their source lines below, or, where that is too wide, one below the other.
/// `failure` is how the run ends that keeps this order.
pub fn write_order(
    page: &mut Page,
    lead: &str,
    failure: Option<&Failure>,
    order: &CausalOrder,
    sources: &Sources,
) {
    let (first, below_first) = texts(failure, &order.first, &order.object, sources);
    let (second, below_second) = texts(failure, &order.second, &order.object, sources);
    let between = "   before   ";
    let widest = |text: &str, below: &[String]| {
        below.iter().map(|t| columns(t)).max().unwrap_or(0).max(columns(text))
    };
    let indent = columns(lead);
    let middle = indent + widest(&first, &below_first);
    let right = middle + columns(between);
    if right + widest(&second, &below_second) <= page.width() {
        let mut line = Line::new().with(lead, Tone::Plain).with(&first, Tone::Strong);
        line.pad(middle);
        page.line(line.with(between, Tone::Plain).with(&second, Tone::Strong));
        for index in 0..below_first.len().max(below_second.len()) {
            let text = |below: &[String]| below.get(index).cloned().unwrap_or_default();
            let mut line = Line::new();
            line.pad(indent);
            line.push(&text(&below_first), Tone::Dim);
            line.pad(right);
            page.line(line.with(&text(&below_second), Tone::Dim));
        }
        return;
    }
    let blanks = " ".repeat(indent);
    for (lead, text, below) in
        [(lead, first, below_first), (&format!("{blanks}before "), second, below_second)]
    {
        page.prose(lead, &text, Tone::Strong);
        for text in below {
            page.line(Line::new().with(&format!("{blanks}  {text}"), Tone::Dim));
        }
    }
}

/// `T0.1 reads x  bank.c:12`.
fn clause(who: &Participant, object: &str) -> String {
    let object = if object.is_empty() { String::new() } else { format!(" {object}") };
    format!("{} {}{object}  {}", who.key.thread, who.verb, words::at_called(who))
}

/// Why these orders are enough, and why each of them is needed.
fn evidence(page: &mut Page, diagnosis: &Diagnosis, cause: &RootCause) {
    let sentences = evidence::sentences(diagnosis, cause);
    if !sentences.is_empty() {
        page.blank();
    }
    sentences.iter().for_each(|text| page.prose("  ", text, Tone::Plain));
}

/// The lines of the region in a bracket, or the order with an arrow.
fn remedy(page: &mut Page, diagnosis: &Diagnosis, sources: &Sources) {
    let Some((kind, start, end)) = side::remedy_places(diagnosis) else { return };
    if start.line == 0 || end.line == 0 {
        return;
    }
    match kind {
        RegionKind::Order => order(page, start, end, sources),
        RegionKind::Atomic => region(page, start, end, sources),
    }
}

fn order(page: &mut Page, start: &Place, end: &Place, sources: &Sources) {
    let text = |place: &Place| match sources.line(place) {
        Some(source) => format!("{}  {source}", words::at(place)),
        None => words::at(place),
    };
    let arrow = page.glyphs.before;
    let line = Line::new()
        .with("  ", Tone::Plain)
        .with(&text(start), Tone::Plain)
        .with(&format!("   {arrow}   "), Tone::Good)
        .with(&text(end), Tone::Plain);
    if line.columns() <= page.width() {
        return page.line(line);
    }
    page.line(Line::new().with("  ", Tone::Plain).with(&text(start), Tone::Plain));
    let lead = format!("  {arrow} ");
    page.line(Line::new().with(&lead, Tone::Good).with(&text(end), Tone::Plain));
}

fn region(page: &mut Page, start: &Place, end: &Place, sources: &Sources) {
    let glyphs = page.glyphs;
    if start.file == end.file && start.line == end.line {
        return bracketed(page, glyphs.before, start, sources);
    }
    // What lies between two functions in a file is none of the region.
    let whole = start.file == end.file
        && start.function == end.function
        && start.line < end.line
        && end.line - start.line < LONGEST_REGION;
    bracketed(page, glyphs.open, start, sources);
    if whole {
        for line in start.line + 1..end.line {
            let place = Place { line, ..start.clone() };
            if sources.line(&place).is_some() {
                bracketed(page, glyphs.inside, &place, sources);
            }
        }
    } else {
        let lead = format!("  {}  {}", glyphs.inside, glyphs.gap);
        page.line(Line::new().with(&lead, Tone::Good));
    }
    bracketed(page, glyphs.close, end, sources);
}

fn bracketed(page: &mut Page, sign: &str, place: &Place, sources: &Sources) {
    let text = format!(" {}  {}", words::at(place), sources.line(place).unwrap_or_default());
    page.line(Line::new().with(&format!("  {sign}"), Tone::Good).with(&text, Tone::Plain));
}
