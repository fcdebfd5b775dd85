//! A differential schedule projection for Graphviz, drawn as in Symbiosis (figures 3 and 6): the failing and the
//! passing schedule as two boxes, a column a thread, data flows that differ as arrows, the region that should be
//! atomic in a dashed, shaded box.
//!
//! Invisible edges between consecutive events of different threads make time go down. Where a thread's events were left
//! out, the edge says how many.

mod causes;

use std::collections::{BTreeMap, HashSet};

use unravel_results::{Diagnosis, FlowChange};
use unravel_trace::ThreadName;

use crate::escape::quoted;
use crate::side::{self, Item, Missing, Region, RegionKind, Side, Step};
use crate::source::Sources;
use crate::words::{self, count};

pub use causes::causes;

/// Graphviz takes very long for graphs that nobody can read anyway.
const MOST_EVENTS: usize = 200;

/// The projection on the alternate of this number. If there is none, only the failing run is drawn.
pub fn projection(diagnosis: &Diagnosis, alternate: usize, sources: &Sources) -> String {
    let chosen = diagnosis.alternates.get(alternate);
    let failing = side::failing(
        diagnosis,
        chosen.map(|a| &a.projection),
        side::Extent::Projection(MOST_EVENTS),
    );
    let passing =
        chosen.map(|a| side::alternate(diagnosis, a, side::Extent::Projection(MOST_EVENTS)));
    let title = format!("{}: {}", diagnosis.program, diagnosis.failure.message);
    let mut graph = Graph { text: String::new(), sources };
    graph.line("digraph projection {");
    graph.line(&format!(
        r#"  graph [label="{}", labelloc=t, fontname="Helvetica", newrank=false];"#,
        quoted(&title)
    ));
    graph.line(
        r#"  node [shape=box, fontname="Courier", fontsize=10, style=filled, fillcolor=white];"#,
    );
    graph.line(r#"  edge [fontname="Helvetica", fontsize=9];"#);
    let flows = chosen.map_or(&[][..], |a| &a.projection.flows);
    graph.side(&failing, &FAILING, flows);
    if let Some(passing) = &passing {
        graph.side(passing, &PASSING, flows);
    }
    graph.line("}");
    graph.text
}

/// How the two sides differ.
struct Look {
    /// Before the number of an event in its node's name.
    letter: char,
    title: &'static str,
    color: &'static str,
    shade: &'static str,
}

const FAILING: Look =
    Look { letter: 'f', title: "failing schedule", color: "firebrick", shade: "mistyrose" };
const PASSING: Look =
    Look { letter: 'a', title: "alternate schedule", color: "darkgreen", shade: "honeydew" };

struct Graph<'d> {
    text: String,
    sources: &'d Sources,
}

impl Graph<'_> {
    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn side(&mut self, side: &Side<'_>, look: &Look, flows: &[FlowChange]) {
        let letter = look.letter;
        self.line(&format!("  subgraph cluster_{letter} {{"));
        self.line(&format!(
            r#"    label="{}"; color={}; fontcolor={}; fontname="Helvetica";"#,
            look.title, look.color, look.color
        ));
        let mut threads: BTreeMap<&ThreadName, Vec<&Step>> = BTreeMap::new();
        for step in steps(side) {
            let thread = side.run.trace.events[step.event as usize].thread;
            threads.entry(side.run.trace.thread_name(thread)).or_default().push(step);
        }
        for (number, (name, steps)) in threads.iter().enumerate() {
            self.thread(side, look, number, name, steps);
        }
        for (number, Missing { who, why }) in side.missing.iter().enumerate() {
            let text = format!("{} {} {}", who.key.thread, who.verb, words::at(&who.place));
            self.line(&format!(
                r#"    {letter}m{number} [label="{}\n{}", style=dotted];"#,
                quoted(&text),
                why
            ));
        }
        self.line("  }");
        self.time(side, letter);
        self.flows(side, look, flows);
        let shown = |event: u32| steps(side).any(|step| step.event == event);
        if let Some(Region { kind: RegionKind::Order, start, end: Some(end) }) = side.region
            && shown(start)
            && shown(end)
        {
            self.line(&format!(
                r#"  {letter}{start} -> {letter}{end} [label="has to come first", color={}, style=bold, constraint=false];"#,
                look.color
            ));
        }
    }

    /// One thread's column: boxes, the dashed box around its region, program order.
    fn thread(
        &mut self,
        side: &Side<'_>,
        look: &Look,
        number: usize,
        name: &ThreadName,
        steps: &[&Step],
    ) {
        let letter = look.letter;
        self.line(&format!("    subgraph cluster_{letter}_thread{number} {{"));
        self.line(&format!(r#"      label="{}"; color=gray;"#, quoted(&name.to_string())));
        let atomic = side.region.filter(|region| {
            region.kind == RegionKind::Atomic && steps.iter().any(|s| s.event == region.start)
        });
        let (inside, outside): (Vec<&Step>, Vec<&Step>) = steps.iter().partition(|step| {
            atomic.is_some_and(|r| step.event >= r.start && r.end.is_none_or(|e| step.event <= e))
        });
        outside.iter().for_each(|step| self.node(side, look, step));
        if !inside.is_empty() {
            self.line(&format!("      subgraph cluster_{letter}_region {{"));
            self.line(&format!(
                r#"        label="should be atomic"; style="dashed,filled"; color={}; fillcolor={};"#,
                look.color, look.shade
            ));
            inside.iter().for_each(|step| self.node(side, look, step));
            self.line("      }");
        }
        self.line("    }");
        let thread = side.run.trace.events[steps[0].event as usize].thread;
        for pair in steps.windows(2) {
            let (from, to) = (pair[0].event, pair[1].event);
            let between = &side.run.trace.events[from as usize + 1..to as usize];
            let left_out = between.iter().filter(|e| e.thread == thread).count();
            let label = match left_out {
                0 => String::new(),
                n => format!(r#", label="{}""#, count(n as u64, "event")),
            };
            self.line(&format!(
                "    {letter}{from} -> {letter}{to} [color=gray, weight=10{label}];"
            ));
        }
    }

    fn node(&mut self, side: &Side<'_>, look: &Look, step: &Step) {
        let trace = &side.run.trace;
        let event = &trace.events[step.event as usize];
        let place = words::place(trace, event);
        let mut label = String::new();
        if let Some(place) = place {
            label += &quoted(&words::at(place));
            if let Some(source) = self.sources.line(place) {
                label += &format!("  {}", quoted(&source));
            }
            label += r"\l";
        }
        label += &format!(r"{}\l", quoted(&words::phrase(trace, event).text()));
        if step.other_path {
            label += r"other path\l";
        }
        let mut look_of_it = String::new();
        if step.causal {
            look_of_it += &format!(", color={}, penwidth=2", look.color);
        }
        if !step.projected && !step.causal {
            look_of_it += ", fontcolor=gray";
        }
        let (letter, number) = (look.letter, step.event);
        self.line(&format!(r#"      {letter}{number} [label="{label}"{look_of_it}];"#));
    }

    fn time(&mut self, side: &Side<'_>, letter: char) {
        let shown: Vec<&Step> = steps(side).collect();
        for pair in shown.windows(2) {
            let thread = |step: &Step| side.run.trace.events[step.event as usize].thread;
            if thread(pair[0]) != thread(pair[1]) {
                let (from, to) = (pair[0].event, pair[1].event);
                self.line(&format!("  {letter}{from} -> {letter}{to} [style=invis];"));
            }
        }
    }

    /// Data flows that only this run has. A value from before the run comes from a node of its own.
    fn flows(&mut self, side: &Side<'_>, look: &Look, flows: &[FlowChange]) {
        let letter = look.letter;
        let shown: HashSet<u32> = steps(side).map(|step| step.event).collect();
        for change in flows {
            let flow = if letter == FAILING.letter { change.failing } else { change.alternate };
            let Some(flow) = flow.filter(|flow| shown.contains(&flow.to)) else { continue };
            let to = flow.to;
            let from = match flow.from {
                Some(from) if shown.contains(&from) => format!("{letter}{from}"),
                Some(_) => continue,
                None => {
                    self.line(&format!(
                        r#"  {letter}i{to} [label="initial value", shape=plaintext];"#
                    ));
                    format!("{letter}i{to}")
                }
            };
            self.line(&format!(
                r#"  {from} -> {letter}{to} [label="{}", color={}, fontcolor={}, style="dashed,bold", constraint=false];"#,
                quoted(&change.location), look.color, look.color
            ));
        }
    }
}

fn steps<'s>(side: &'s Side<'_>) -> impl Iterator<Item = &'s Step> {
    side.items.iter().filter_map(|item| match item {
        Item::Event(step) => Some(step),
        Item::Gap { .. } => None,
    })
}
