//! The drawing: well-formed, complete, and nothing of the program is obeyed.

mod support;

use std::collections::BTreeSet;

use support::caused;
use unravel_report::{Sources, dot};

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Word(String),
    Text(String),
    Sign(char),
    Arrow,
}

/// The tokens of a graph; panics on what Graphviz would not read.
fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => {}
            '{' | '}' | '[' | ']' | ';' | ',' | '=' => found.push(Token::Sign(c)),
            '-' => {
                assert_eq!(rest.next(), Some('>'));
                found.push(Token::Arrow);
            }
            '"' => {
                let mut inside = String::new();
                loop {
                    match rest.next().expect("a string ends") {
                        '"' => break,
                        '\\' => inside.extend(['\\', rest.next().expect("an escape ends")]),
                        c => {
                            assert!(!c.is_control(), "{c:?} in a string");
                            inside.push(c);
                        }
                    }
                }
                found.push(Token::Text(inside));
            }
            c => {
                assert!(c.is_ascii_alphanumeric() || c == '_', "{c:?} outside a string");
                let mut word = String::from(c);
                while let Some(c) = rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    word.push(c);
                }
                found.push(Token::Word(word));
            }
        }
    }
    found
}

/// What a graph declares.
#[derive(Default)]
struct Graph {
    nodes: BTreeSet<String>,
    edges: Vec<(String, String)>,
    clusters: BTreeSet<String>,
}

/// Reads the statements of a graph; panics where the grammar is left.
fn parse(text: &str) -> Graph {
    let tokens = tokens(text);
    let mut graph = Graph::default();
    let mut depth = 0;
    let mut at = 0;
    let word = |at: usize| match &tokens[at] {
        Token::Word(word) => word.clone(),
        other => panic!("{other:?} instead of a name"),
    };
    // `[name=value, …]`
    let attributes = |mut at: usize| {
        assert_eq!(tokens[at], Token::Sign('['));
        loop {
            word(at + 1);
            assert_eq!(tokens[at + 2], Token::Sign('='));
            assert!(matches!(tokens[at + 3], Token::Word(_) | Token::Text(_)));
            at += 4;
            match tokens[at] {
                Token::Sign(',') => {}
                Token::Sign(']') => return at + 1,
                ref other => panic!("{other:?} in attributes"),
            }
        }
    };
    while at < tokens.len() {
        match &tokens[at] {
            Token::Sign('}') => {
                depth -= 1;
                at += 1;
                continue;
            }
            Token::Word(first) if first == "digraph" || first == "subgraph" => {
                assert!(graph.clusters.insert(word(at + 1)), "{} twice", word(at + 1));
                assert_eq!(tokens[at + 2], Token::Sign('{'));
                depth += 1;
                at += 3;
                continue;
            }
            Token::Word(first) if ["graph", "node", "edge"].contains(&first.as_str()) => {
                at = attributes(at + 1);
            }
            Token::Word(first) => match &tokens[at + 1] {
                Token::Arrow => {
                    graph.edges.push((first.clone(), word(at + 2)));
                    at = attributes(at + 3);
                }
                Token::Sign('=') => at += 3,
                _ => {
                    assert!(graph.nodes.insert(first.clone()), "{first} twice");
                    at = attributes(at + 1);
                }
            },
            other => panic!("{other:?} begins a statement"),
        }
        assert_eq!(tokens[at], Token::Sign(';'));
        at += 1;
    }
    assert_eq!(depth, 0, "braces match");
    for (from, to) in &graph.edges {
        assert!(graph.nodes.contains(from) && graph.nodes.contains(to), "{from} -> {to}");
    }
    graph
}

#[test]
fn every_graph_is_well_formed_and_has_the_events_of_the_projection() {
    for (name, diagnosis, sources) in support::all() {
        for number in 0..=diagnosis.alternates.len() {
            let text = dot::projection(&diagnosis, number, &sources);
            let graph = parse(&text);
            let Some(alternate) = diagnosis.alternates.get(number).filter(|_| name != "large")
            else {
                continue;
            };
            let failing = alternate.projection.failing.iter().map(|e| format!("f{e}"));
            let passing = alternate.projection.alternate.iter().map(|e| format!("a{e}"));
            for node in failing.chain(passing) {
                assert!(graph.nodes.contains(&node), "{name}: {node} is not drawn");
            }
        }
    }
}

#[test]
fn data_flows_and_the_atomic_region_are_drawn() {
    let (diagnosis, sources) = support::lost_update();
    let text = dot::projection(&diagnosis, 0, &sources);
    let graph = parse(&text);
    assert!(
        graph.clusters.contains("cluster_f_region") && graph.clusters.contains("cluster_a_region")
    );
    assert!(text.contains(r#"f0 -> f5 [label="total", color=firebrick"#), "{text}");
    assert!(text.contains(r#"a5 -> a6 [label="total", color=darkgreen"#), "{text}");
    assert!(
        text.contains(r#"[label="bank.c:12  int seen = total;\lread total = 100\l""#),
        "{text}"
    );
    assert!(text.contains(r#"f0 -> f8 [color=gray, weight=10, label="3 events"];"#), "{text}");
}

#[test]
fn an_order_that_should_hold_is_an_arrow_and_a_missing_event_a_dotted_box() {
    let (diagnosis, _) = support::order_violation();
    let text = dot::projection(&diagnosis, 0, &Sources::none());
    assert!(text.contains(r#"a1 -> a2 [label="has to come first""#), "{text}");
    assert!(
        text.contains(r#"fm0 [label="T0.1 writes bank.c:20\nnot reached", style=dotted];"#),
        "{text}"
    );
    assert!(text.contains(r#"fi1 [label="initial value""#), "{text}");
}

#[test]
fn a_root_cause_without_an_alternate_and_a_run_without_events_are_drawn() {
    for (name, mut diagnosis, sources) in support::all() {
        diagnosis.alternates.clear();
        let graph = parse(&dot::projection(&diagnosis, 0, &sources));
        let orders = diagnosis.root_cause.iter().flat_map(|cause| &cause.orders);
        for event in orders.flat_map(|order| [order.first.event, order.second.event]).flatten() {
            assert!(graph.nodes.contains(&format!("f{event}")), "{name}: {event} is not drawn");
        }
        assert!(!graph.clusters.contains("cluster_a"), "{name}: there is no other run");
        diagnosis.failing.trace.events.clear();
        parse(&dot::projection(&diagnosis, 0, &sources));
    }
}

#[test]
fn every_class_of_causes_is_a_cluster_and_every_order_an_edge() {
    for (name, causes, sources) in caused::all() {
        let text = dot::causes(&causes, &sources);
        let graph = parse(&text);
        for (number, class) in causes.classes.iter().enumerate() {
            assert!(graph.clusters.contains(&format!("cluster_c{number}")), "{name}");
            let own = |event: &String| event.starts_with(&format!("c{number}e"));
            let events = graph.nodes.iter().filter(|node| own(node)).count();
            let orders = class.causes[0].orders.len();
            assert!(events > orders && events <= 2 * orders, "{name}: {events} events");
        }
        let bold: usize = causes.classes.iter().map(|class| class.causes[0].orders.len()).sum();
        assert_eq!(text.matches("style=bold").count(), bold, "{name}");
    }
}

#[test]
fn a_cause_has_program_order_causal_orders_and_what_was_not_reached() {
    let (causes, sources) = caused::figure_3_2();
    let text = dot::causes(&causes, &sources);
    assert!(text.contains(r#"c0e0 [label="5: x = 0;\lwrites x\l", color=firebrick];"#), "{text}");
    assert!(text.contains(r#"c0e0 -> c0e1 [label="x", color=firebrick"#), "{text}");
    assert!(text.contains(r#"c0e2 -> c0e3 [label="y", color=firebrick"#), "{text}");
    assert!(text.contains("c0e0 -> c0e3 [color=gray, weight=10];"), "{text}");
    assert!(text.contains(r#"c1e0 [label="10: x = 1;\lwrites x\l""#), "{text}");
    let (causes, _) = caused::too_early();
    let text = dot::causes(&causes, &Sources::none());
    assert!(
        text.contains(
            r#"[label="41: writes session->band\l(not reached)\l", style=dashed, fontcolor=gray]"#
        ),
        "{text}"
    );
}

#[test]
fn of_very_many_causes_the_first_are_drawn() {
    let (mut causes, sources) = caused::figure_3_2();
    causes.classes = vec![causes.classes[0].clone(); 60];
    let text = dot::causes(&causes, &sources);
    let graph = parse(&text);
    assert_eq!(graph.nodes.len(), 201);
    assert!(text.contains(r#"more [label="10 causes more""#), "{text}");
}
