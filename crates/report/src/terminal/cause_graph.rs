//! The graph of a cause, drawn with lines. A column a thread; an event has a row for its source line and one for what it
//! does. An arrow goes down in a track of its own beside the column it comes from, and then straight to where it ends:
//! no other event is in that row, so it crosses lines but never a text.
//!
//! Where the columns would be too narrow to be read there is no graph, and the caller writes the orders as a list.

use super::line::{Line, Tone, columns, keep_start};
use super::page::Page;
use crate::cause_graph::CauseGraph;
use crate::escape;
use crate::source::Sources;

/// A column needs this many letters to be read.
const READABLE: usize = 18;
/// Graphs with more events are no small graphs.
const MOST_EVENTS: usize = 40;
/// Blanks at the left of everything.
const INDENT: usize = 2;
/// Columns between threads, without tracks: blanks, and the ends of arrows.
const GAP: usize = 6;
/// Columns of a track.
const TRACK: usize = 2;
/// From an event's sign to what stands in the row below.
const BELOW: usize = 4;

const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

/// Draws the graph; false if there is no room for it.
pub fn draw(page: &mut Page, graph: &CauseGraph<'_>, sources: &Sources) -> bool {
    let Some(layout) = Layout::of(graph, sources, page) else { return false };
    let mut canvas = Canvas::default();
    layout.texts(&mut canvas, page, graph);
    layout.program_order(&mut canvas, graph);
    for route in &layout.routes {
        layout.arrow(&mut canvas, page, route);
    }
    canvas.lines(page.style.unicode).into_iter().for_each(|line| page.line(line));
    true
}

/// Where everything is.
struct Layout {
    /// Where each thread's column begins.
    lanes: Vec<usize>,
    events: Vec<Spot>,
    routes: Vec<Route>,
}

/// An event on the page.
struct Spot {
    lane: usize,
    row: usize,
    head: String,
    below: Vec<String>,
}

/// An arrow's way.
struct Route {
    from: usize,
    to: usize,
    /// The gap between columns that it goes down in, and its track there.
    gap: usize,
    track: usize,
}

impl Route {
    fn goes_right(&self, events: &[Spot]) -> bool {
        events[self.from].lane < events[self.to].lane
    }

    fn rows(&self, events: &[Spot]) -> (usize, usize) {
        let (from, to) = (events[self.from].row, events[self.to].row);
        (from.min(to), from.max(to) + 1)
    }
}

impl Layout {
    fn of(graph: &CauseGraph<'_>, sources: &Sources, page: &Page) -> Option<Layout> {
        if graph.events.len() > MOST_EVENTS || graph.threads.len() < 2 {
            return None;
        }
        let mut events = Vec::new();
        let mut row = 1;
        for event in &graph.events {
            let visible = |text: String| escape::visible(&text).into_owned();
            let head = visible(graph.headline(event, sources));
            let below: Vec<String> =
                graph.details(event, sources).into_iter().map(visible).collect();
            let rows = 1 + below.len();
            events.push(Spot { lane: event.lane, row, head, below });
            row += rows;
        }
        let routes = routes(graph, &events);
        let gaps: Vec<usize> = (0..graph.threads.len() - 1)
            .map(|gap| {
                routes.iter().filter(|r| r.gap == gap).map(|r| r.track + 1).max().unwrap_or(0)
            })
            .map(|tracks| GAP + TRACK * tracks)
            .collect();
        let room = page.width().checked_sub(INDENT + gaps.iter().sum::<usize>())?;
        let wished = (0..graph.threads.len()).map(|lane| wished_width(graph, &events, lane));
        let widths = share(room, wished.collect())?;
        for spot in &mut events {
            let (width, ellipsis) = (widths[spot.lane], page.glyphs.ellipsis);
            spot.head = keep_start(&spot.head, width - 2, ellipsis);
            for text in &mut spot.below {
                *text = keep_start(text, width - BELOW, ellipsis);
            }
        }
        let mut lanes = vec![INDENT];
        for (width, gap) in widths.iter().zip(&gaps) {
            lanes.push(lanes[lanes.len() - 1] + width + gap);
        }
        // Gaps are numbered by the column at their left, so its end is where tracks begin.
        let mut layout = Layout { lanes, events, routes };
        for route in &mut layout.routes {
            route.track =
                layout.lanes[route.gap] + widths[route.gap] + 1 + TRACK * (route.track + 1);
        }
        Some(layout)
    }

    fn texts(&self, canvas: &mut Canvas, page: &Page, graph: &CauseGraph<'_>) {
        for (lane, name) in graph.threads.iter().enumerate() {
            canvas.text(0, self.lanes[lane], &name.to_string(), Tone::Strong);
        }
        for (spot, event) in self.events.iter().zip(&graph.events) {
            let column = self.lanes[spot.lane];
            let (sign, tone) = match event.absent {
                None => (page.glyphs.causal, Tone::Bad),
                Some(_) => (page.glyphs.missing, Tone::Dim),
            };
            canvas.text(spot.row, column, sign, tone);
            let tone = if event.absent.is_none() { Tone::Strong } else { Tone::Dim };
            canvas.text(spot.row, column + 2, &spot.head, tone);
            for (index, text) in spot.below.iter().enumerate() {
                canvas.text(spot.row + 1 + index, column + BELOW, text, Tone::Dim);
            }
        }
    }

    fn program_order(&self, canvas: &mut Canvas, graph: &CauseGraph<'_>) {
        for (number, spot) in self.events.iter().enumerate() {
            let Some(next) = graph.successor(number) else { continue };
            let column = self.lanes[spot.lane];
            for row in spot.row + 1..self.events[next].row {
                canvas.stroke(row, column, UP | DOWN, Tone::Dim);
            }
        }
    }

    fn arrow(&self, canvas: &mut Canvas, page: &Page, route: &Route) {
        let (from, to) = (&self.events[route.from], &self.events[route.to]);
        let right = route.goes_right(&self.events);
        let row = self.leaves(route);
        // A blank is between a text and an arrow.
        let beside = |spot: &Spot, row: usize| {
            let text = match row.checked_sub(spot.row + 1).and_then(|index| spot.below.get(index)) {
                Some(below) => BELOW + columns(below),
                None => 2 + columns(&spot.head),
            };
            self.lanes[spot.lane] + text + 1
        };
        let before = |spot: &Spot| self.lanes[spot.lane] - 2;
        let track = route.track;
        let (start, head) = match right {
            true => (beside(from, row), before(to)),
            false => (before(from), beside(to, to.row)),
        };
        canvas.horizontal(row, start, track);
        canvas.vertical(track, row, to.row);
        canvas.horizontal(to.row, track, head);
        let sign = match (right, page.style.unicode) {
            (true, true) => "▶",
            (false, true) => "◀",
            (true, false) => ">",
            (false, false) => "<",
        };
        canvas.text(to.row, head, sign, Tone::Bad);
    }

    /// The row that an arrow leaves its event in: the second one, if another arrow ends beside the first.
    fn leaves(&self, route: &Route) -> usize {
        let spot = &self.events[route.from];
        let right = route.goes_right(&self.events);
        let taken =
            |other: &Route| other.to == route.from && other.goes_right(&self.events) != right;
        spot.row + usize::from(self.routes.iter().any(taken) && !spot.below.is_empty())
    }
}

/// The gap and the track of every arrow; arrows that pass the same row of a gap have different tracks.
fn routes(graph: &CauseGraph<'_>, events: &[Spot]) -> Vec<Route> {
    let mut routes: Vec<Route> = Vec::new();
    for order in &graph.orders {
        let (from, to) = (events[order.from].lane, events[order.to].lane);
        if from == to {
            continue;
        }
        let gap = if from < to { from } else { from - 1 };
        let mut route = Route { from: order.from, to: order.to, gap, track: 0 };
        let (first, last) = route.rows(events);
        let meets = |other: &&Route| {
            let (start, end) = other.rows(events);
            other.gap == gap && first <= end && start <= last
        };
        let taken: Vec<usize> = routes.iter().filter(meets).map(|other| other.track).collect();
        route.track = (0..).find(|track| !taken.contains(track)).unwrap_or(0);
        routes.push(route);
    }
    routes
}

/// Columns that a thread would like to have.
fn wished_width(graph: &CauseGraph<'_>, events: &[Spot], lane: usize) -> usize {
    let own = events.iter().filter(|spot| spot.lane == lane);
    let widest = |spot: &Spot| {
        let below = spot.below.iter().map(|text| BELOW + columns(text)).max().unwrap_or(0);
        below.max(2 + columns(&spot.head))
    };
    own.map(widest).max().unwrap_or(0).max(columns(&graph.threads[lane].to_string()))
}

/// Gives everybody what they wish if there is room, else the largest wishes are cut; `None` if that is not enough.
fn share(room: usize, mut wished: Vec<usize>) -> Option<Vec<usize>> {
    while wished.iter().sum::<usize>() > room {
        let widest = wished.iter_mut().max()?;
        if *widest <= READABLE {
            return None;
        }
        *widest -= 1;
    }
    Some(wished)
}

/// Rows of texts and strokes. A text is never crossed, strokes that meet are joined.
#[derive(Default)]
struct Canvas {
    rows: Vec<Row>,
}

#[derive(Default)]
struct Row {
    strokes: Vec<(u8, Option<Tone>)>,
    texts: Vec<(usize, String, Tone)>,
}

impl Canvas {
    fn row(&mut self, row: usize) -> &mut Row {
        if self.rows.len() <= row {
            self.rows.resize_with(row + 1, Row::default);
        }
        &mut self.rows[row]
    }

    fn text(&mut self, row: usize, column: usize, text: &str, tone: Tone) {
        let texts = &mut self.row(row).texts;
        // Two arrows may end in one head.
        if !texts.iter().any(|(there, known, _)| *there == column && known == text) {
            texts.push((column, text.to_owned(), tone));
        }
    }

    fn stroke(&mut self, row: usize, column: usize, strokes: u8, tone: Tone) {
        let row = &mut self.row(row).strokes;
        if row.len() <= column {
            row.resize(column + 1, (0, None));
        }
        let (known, color) = &mut row[column];
        *known |= strokes;
        *color = Some(tone);
    }

    fn horizontal(&mut self, row: usize, from: usize, to: usize) {
        let (left, right) = (from.min(to), from.max(to));
        for column in left..=right {
            let begins = if column == left { 0 } else { LEFT };
            let ends = if column == right { 0 } else { RIGHT };
            self.stroke(row, column, begins | ends, Tone::Bad);
        }
    }

    fn vertical(&mut self, column: usize, from: usize, to: usize) {
        let (top, bottom) = (from.min(to), from.max(to));
        for row in top..=bottom {
            let begins = if row == top { 0 } else { UP };
            let ends = if row == bottom { 0 } else { DOWN };
            self.stroke(row, column, begins | ends, Tone::Bad);
        }
    }

    fn lines(self, unicode: bool) -> Vec<Line> {
        self.rows.into_iter().map(|row| row.line(unicode)).collect()
    }
}

impl Row {
    fn line(mut self, unicode: bool) -> Line {
        self.texts.sort_by_key(|(column, ..)| *column);
        let mut line = Line::new();
        let mut texts = self.texts.into_iter().peekable();
        let mut column = 0;
        while column < self.strokes.len() || texts.peek().is_some() {
            if let Some((_, text, tone)) = texts.next_if(|(start, ..)| *start <= column) {
                column += columns(&text);
                line.push(&text, tone);
                continue;
            }
            let (strokes, tone) = self.strokes.get(column).copied().unwrap_or((0, None));
            line.push(sign(strokes, unicode), tone.unwrap_or(Tone::Plain));
            column += 1;
        }
        line
    }
}

fn sign(strokes: u8, unicode: bool) -> &'static str {
    const ACROSS: u8 = LEFT | RIGHT;
    const DOWNWARDS: u8 = UP | DOWN;
    let drawn = [" ", "│", "│", "│", "─", "┘", "┐", "┤", "─", "└", "┌", "├", "─", "┴", "┬", "┼"];
    match (unicode, strokes) {
        (true, strokes) => drawn[usize::from(strokes & 15)],
        (false, 0) => " ",
        (false, s) if s & ACROSS == 0 => "|",
        (false, s) if s & DOWNWARDS == 0 => "-",
        (false, _) => "+",
    }
}
