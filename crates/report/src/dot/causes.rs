//! All causes for Graphviz, drawn as in ConcBugAssist (figure 3.3): a box a class of causes, a column a thread, program
//! order thin, causal orders bold with what both events touch, and dashed what the failing run did not reach.

use unravel_results::{CauseClass, Causes};

use super::MOST_EVENTS;
use crate::cause_graph::CauseGraph;
use crate::causes as said;
use crate::escape::quoted;
use crate::source::Sources;
use crate::words::{self, count};

/// One graph with all classes of causes.
pub fn causes(causes: &Causes, sources: &Sources) -> String {
    let title = match causes.bugs.first() {
        Some(bug) => format!("{}: {}", causes.program, words::failure(&bug.failure)),
        None => said::headline(causes),
    };
    let mut text = String::from("digraph causes {\n");
    text += &format!(
        "  graph [label=\"{}\", labelloc=t, fontname=\"Helvetica\", newrank=false];\n",
        quoted(&title)
    );
    text +=
        "  node [shape=box, fontname=\"Courier\", fontsize=10, style=filled, fillcolor=white];\n";
    text += "  edge [fontname=\"Helvetica\", fontsize=9];\n";
    let mut drawn = 0;
    for (number, class) in causes.classes.iter().enumerate() {
        let Some(first) = class.causes.first() else { continue };
        let graph = CauseGraph::of(first, said::failure(causes, class));
        drawn += graph.events.len();
        if drawn > MOST_EVENTS {
            let left = count((causes.classes.len() - number) as u64, "cause");
            text += &format!("  more [label=\"{left} more\", shape=plaintext];\n");
            break;
        }
        text += &cluster(number, class, &graph, sources);
    }
    text + "}\n"
}

fn cluster(number: usize, class: &CauseClass, graph: &CauseGraph<'_>, sources: &Sources) -> String {
    let name = |event: usize| format!("c{number}e{event}");
    let title = format!("cause {}: {}", number + 1, class.pattern);
    let mut text = format!("  subgraph cluster_c{number} {{\n");
    text += &format!("    label=\"{title}\"; color=firebrick; fontcolor=firebrick;\n");
    for (lane, thread) in graph.threads.iter().enumerate() {
        text += &format!("    subgraph cluster_c{number}_thread{lane} {{\n");
        text += &format!(
            "      label=\"{}\"; color=gray; fontcolor=black;\n",
            quoted(&thread.to_string())
        );
        for (index, event) in graph.events.iter().enumerate().filter(|(_, e)| e.lane == lane) {
            let below = graph.details(event, sources);
            let rows = [graph.headline(event, sources)].into_iter().chain(below);
            let label: String = rows.map(|row| format!(r"{}\l", quoted(&row))).collect();
            let look = match event.absent {
                Some(_) => "style=dashed, fontcolor=gray",
                None => "color=firebrick",
            };
            text += &format!("      {} [label=\"{label}\", {look}];\n", name(index));
        }
        text += "    }\n";
    }
    for index in 0..graph.events.len() {
        if let Some(next) = graph.successor(index) {
            text += &format!("    {} -> {} [color=gray, weight=10];\n", name(index), name(next));
        }
    }
    for order in &graph.orders {
        text += &format!(
            "    {} -> {} [label=\"{}\", color=firebrick, fontcolor=firebrick, style=bold];\n",
            name(order.from),
            name(order.to),
            quoted(order.object)
        );
    }
    text + "  }\n"
}
