//! The graph of a cause as a drawing: a column a thread, a box an event, program order thin, causal orders bold.
//!
//! A letter counts as six tenths of the font's size, which is what fonts of one width have; in a wider one, the end of a
//! long line leaves its box. An arrow slants down in the gap beside the column it comes from and then goes straight, in a row
//! that has no other box. Colours and dashes are the style's.

use maud::{Markup, html};
use unicode_width::UnicodeWidthStr as _;

use crate::cause_graph::{CauseGraph, GraphOrder};
use crate::escape::visible;
use crate::source::Sources;
use crate::terminal::line::keep_start;

/// Letters of a source line that are shown; the rest is told when the pointer is there.
const MOST_LETTERS: usize = 44;
/// Width of a letter of 12.5 px.
const LETTER: f64 = 7.6;
const MARGIN: f64 = 1.0;
/// Between the columns of threads, as wide as arrows need to be seen.
const GAP: f64 = 64.0;
/// Above the first box, for the names of threads.
const NAMES: f64 = 24.0;
/// Between boxes.
const SPACE: f64 = 12.0;
/// In a box, beside the text; and the height of its rows.
const INSIDE: f64 = 10.0;
const LINE: f64 = 17.0;
/// An arrow's head.
const HEAD: f64 = 9.0;
/// Where an arrow leaves a box and before its head it goes straight.
const STRAIGHT: f64 = 7.0;
/// Colours of threads in the style.
const COLORS: usize = 8;

/// An event's box.
struct Frame {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    texts: Vec<String>,
    whole: String,
}

impl Frame {
    fn right(&self) -> f64 {
        self.x + self.width
    }
}

/// The drawing; `label` says what it is to those who cannot see it.
pub fn draw(graph: &CauseGraph<'_>, sources: &Sources, label: &str) -> Markup {
    let (frames, lanes, width, height) = place(graph, sources);
    html! {
        svg.cause-graph role="img" aria-label=(visible(label))
            width=(px(width)) height=(px(height)) viewBox=(format!("0 0 {} {}", px(width), px(height))) {
            @for (lane, (name, (x, _))) in graph.threads.iter().zip(&lanes).enumerate() {
                text.thread.(color(lane)) x=(px(x + 1.0)) y=(px(NAMES - 9.0)) { (name) }
            }
            @for (number, frame) in frames.iter().enumerate() {
                @if let Some(next) = graph.successor(number) {
                    @let x = frame.x + INSIDE + 4.0;
                    path.program-order d=(format!("M{0} {1}V{2}", px(x), px(frame.y + frame.height), px(frames[next].y))) {}
                }
            }
            @for (event, frame) in graph.events.iter().zip(&frames) {
                g.event.(color(event.lane)).(if event.absent.is_some() { "absent" } else { "reached" }) {
                    title { (visible(&frame.whole)) }
                    rect x=(px(frame.x)) y=(px(frame.y)) width=(px(frame.width)) height=(px(frame.height)) rx="6" {}
                    @for (row, text) in frame.texts.iter().enumerate() {
                        text.(if row == 0 { "source" } else { "detail" })
                            x=(px(frame.x + INSIDE)) y=(px(frame.y + LINE * (row as f64 + 1.0) + 2.0)) { (text) }
                    }
                }
            }
            @for order in graph.orders.iter().filter(|o| graph.events[o.from].lane != graph.events[o.to].lane) {
                @let (line, head) = arrow(graph, &frames, &lanes, order);
                path.causal-order d=(line) { title { (visible(order.object)) } }
                path.causal-head d=(head) {}
            }
        }
    }
}

/// Boxes, columns as (left, right), and the size of all.
fn place(graph: &CauseGraph<'_>, sources: &Sources) -> (Vec<Frame>, Vec<(f64, f64)>, f64, f64) {
    let mut frames: Vec<Frame> = Vec::new();
    let mut y = NAMES;
    for event in &graph.events {
        let head = visible(&graph.headline(event, sources)).into_owned();
        let details = graph.details(event, sources);
        let all = [head].into_iter().chain(details.iter().map(|text| visible(text).into_owned()));
        let all: Vec<String> = all.collect();
        let texts: Vec<String> =
            all.iter().map(|text| keep_start(text, MOST_LETTERS, "…")).collect();
        let height = LINE * texts.len() as f64 + INSIDE;
        frames.push(Frame { x: 0.0, y, width: 0.0, height, texts, whole: all.join(", ") });
        y += height + SPACE;
    }
    let mut lanes = Vec::new();
    let mut x = MARGIN;
    for (lane, name) in graph.threads.iter().enumerate() {
        let own = || graph.events.iter().zip(&frames).filter(|(event, _)| event.lane == lane);
        let letters = own().flat_map(|(_, frame)| &frame.texts).map(|text| text.width()).max();
        let letters = letters.unwrap_or(0).max(name.to_string().width());
        let width = letters as f64 * LETTER + 2.0 * INSIDE;
        lanes.push((x, x + width));
        x += width + GAP;
    }
    for (event, frame) in graph.events.iter().zip(&mut frames) {
        let (left, right) = lanes[event.lane];
        (frame.x, frame.width) = (left, right - left);
    }
    (frames, lanes, x - GAP + MARGIN, y - SPACE + MARGIN)
}

/// The line of an arrow and its head.
fn arrow(
    graph: &CauseGraph<'_>,
    frames: &[Frame],
    lanes: &[(f64, f64)],
    order: &GraphOrder<'_>,
) -> (String, String) {
    let (from, to) = (&frames[order.from], &frames[order.to]);
    let lane = graph.events[order.from].lane;
    let right = lane < graph.events[order.to].lane;
    let forth = if right { 1.0 } else { -1.0 };
    let (start, side, end) = match right {
        true => (from.right(), lanes[lane + 1].0, to.x),
        false => (from.x, lanes[lane - 1].1, to.right()),
    };
    let (top, bottom) = (
        port(graph, frames, order.from, right, false),
        port(graph, frames, order.to, !right, true),
    );
    let (leave, turn, neck) =
        (start + forth * STRAIGHT, side - forth * (HEAD + STRAIGHT), end - forth * HEAD);
    let line = format!(
        "M{} {}H{}L{} {}H{}",
        px(start),
        px(top),
        px(leave),
        px(turn),
        px(bottom),
        px(neck)
    );
    let head = format!(
        "M{} {}L{} {}V{}Z",
        px(end),
        px(bottom),
        px(neck),
        px(bottom - HEAD / 2.0),
        px(bottom + HEAD / 2.0)
    );
    (line, head)
}

/// How high an arrow meets a side of a box: in its middle, unless others meet this side in the other direction.
fn port(graph: &CauseGraph<'_>, frames: &[Frame], event: usize, right: bool, arrives: bool) -> f64 {
    let own = graph.events[event].lane;
    let is_here = |other: usize| match right {
        true => graph.events[other].lane > own,
        false => graph.events[other].lane < own,
    };
    let crowded = graph.orders.iter().any(|order| match arrives {
        true => order.from == event && is_here(order.to),
        false => order.to == event && is_here(order.from),
    });
    let frame = &frames[event];
    let part = match (crowded, arrives) {
        (false, _) => 0.5,
        (true, true) => 0.3,
        (true, false) => 0.75,
    };
    frame.y + frame.height * part
}

fn color(lane: usize) -> String {
    format!("c{}", lane % COLORS)
}

/// A number as the drawing wants it, with no more digits than can be seen.
fn px(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}
