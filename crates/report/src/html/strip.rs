//! The whole failing run from left to right above its schedule, a line a thread: where in a long run the shown steps are.
//!
//! Drawn from as many pieces as a screen has room for; in a piece every thread that runs in it is drawn. Scripts
//! (`page/strip.js`) add the current step, and go where one clicks.

use maud::{Markup, html};

use super::shown::steps;
use super::timeline::Timeline;
use crate::words::count;

/// Runs up to this many events are seen at a glance without it.
const SHORT: usize = 60;
/// Pieces that a run is drawn from.
const PIECES: usize = 400;
/// How wide a piece is.
const PIECE: usize = 4;
/// How high the line of a thread is, and all lines together at least and at most.
const LINE: usize = 7;
const LOWEST: usize = 24;
const HIGHEST: usize = 84;

/// A thread's line from one piece to before another.
struct Bar {
    lane: usize,
    from: usize,
    to: usize,
}

pub fn strip(timeline: &Timeline<'_>) -> Markup {
    let events = timeline.failing.run.trace.events.len();
    if events <= SHORT {
        return html! {};
    }
    let pieces = events.min(PIECES);
    let width = pieces * PIECE;
    let lanes = timeline.threads.len();
    let height = (lanes * LINE).clamp(LOWEST, HIGHEST);
    let line = height as f64 / lanes as f64;
    let at = |event: u32| (f64::from(event) + 0.5) / events as f64 * width as f64;
    let shown: Vec<(u32, bool)> =
        steps(&timeline.failing).map(|step| (step.event, step.causal)).collect();
    let said = format!(
        "The whole failing run, {}, from left to right; {} shown below",
        count(events as u64, "event"),
        shown.len()
    );
    html! {
        svg.strip viewBox=(format!("0 0 {width} {height}")) height=(height) preserveAspectRatio="none"
            role="img" aria-label=(said) {
            title { (said) }
            @for (event, _) in shown.iter().filter(|(_, causal)| !causal) { (mark("shown", at(*event), height)) }
            @for bar in bars(timeline, pieces) {
                rect.(format!("c{}", bar.lane % 8)) x=(bar.from * PIECE) width=((bar.to - bar.from) * PIECE)
                    y=(format!("{:.1}", line * bar.lane as f64 + line * 0.15)) height=(format!("{:.1}", line * 0.7)) {}
            }
            @for (event, _) in shown.iter().filter(|(_, causal)| *causal) { (mark("causal", at(*event), height)) }
            (mark("now", 0.0, height))
        }
    }
}

fn mark(class: &str, at: f64, height: usize) -> Markup {
    let x = format!("{at:.1}");
    html! { line.(class) x1=(x) x2=(x) y1="0" y2=(height) {} }
}

/// When each thread runs, in pieces; what follows without a break is one bar.
fn bars(timeline: &Timeline<'_>, pieces: usize) -> Vec<Bar> {
    let trace = &timeline.failing.run.trace;
    let lanes: Vec<usize> = trace.threads.iter().map(|name| timeline.lane(name)).collect();
    let mut last: Vec<Option<usize>> = vec![None; timeline.threads.len()];
    let mut bars: Vec<Bar> = Vec::new();
    for (index, event) in trace.events.iter().enumerate() {
        let piece = index * pieces / trace.events.len();
        let lane = lanes[event.thread.index()];
        match last[lane].map(|bar| &mut bars[bar]) {
            Some(bar) if bar.to >= piece => bar.to = piece + 1,
            _ => {
                last[lane] = Some(bars.len());
                bars.push(Bar { lane, from: piece, to: piece + 1 });
            }
        }
    }
    bars
}
