//! What is done when a wait with a time limit is over.

use std::ops::Range;

use tree_sitter::Node;

use super::{Source, words};

/// The last parts of the names of waits with a time limit.
const TIMED: [&str; 4] = ["pthread_cond_timedwait", "cnd_timedwait", "wait_for", "wait_until"];

/// A test whether the time is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GivenUp {
    /// The condition, without brackets.
    pub test: Range<usize>,
    /// What holds as long as one has to wait.
    pub missing: String,
}

impl Source {
    /// The tests of a stretch that go by the result of a timed wait alone.
    pub fn gives_up(&self, bytes: Range<usize>) -> Vec<GivenUp> {
        let mut found: Vec<GivenUp> = Vec::new();
        let is_timed = |name: &str| TIMED.contains(&name.rsplit(['.', '>']).next().unwrap_or(name));
        for call in self.calls(bytes.clone()).iter().filter(|call| is_timed(&call.name)) {
            // With a predicate it looks again by itself.
            if call.name.ends_with("wait_for") && call.arguments.len() > 2 {
                continue;
            }
            let results = self.results_of(bytes.clone(), &is_timed);
            let Some(missing) = self.waited_for(call.bytes.start, &results) else { continue };
            for (condition, _) in self.tests(bytes.clone()) {
                let test = condition.start + 1..condition.end - 1;
                let text = &self.text[test.clone()];
                let is_behind = test.start > call.bytes.start || test.contains(&call.bytes.start);
                let by_result = test.contains(&call.bytes.start)
                    || results.iter().any(|name| self.mentions(&test, name));
                // Who looks at what was waited for does so already.
                let looks = words(&missing).any(|(_, word)| {
                    !test.contains(&call.bytes.start) && self.mentions(&test, word)
                });
                let new = GivenUp { test, missing: missing.clone() };
                if is_behind && by_result && !looks && is_over(text) && !found.contains(&new) {
                    found.push(new);
                }
            }
        }
        found
    }

    /// The condition of the loop or `if` around a wait, without what it says of the wait's own result.
    fn waited_for(&self, byte: usize, results: &[&str]) -> Option<String> {
        let node = self.tree.root_node().descendant_for_byte_range(byte, byte + 1)?;
        let mut around = std::iter::successors(Some(node), |node| node.parent());
        around.find_map(|node| {
            let is_test =
                matches!(node.kind(), "while_statement" | "if_statement" | "do_statement");
            let condition = node.child_by_field_name("condition").filter(|_| is_test)?;
            if condition.byte_range().contains(&byte) {
                return None;
            }
            let inner = condition.named_child(0)?;
            let mut parts = Vec::new();
            conjuncts(inner, &mut parts);
            let own =
                |part: &Node| !results.iter().any(|name| self.mentions(&part.byte_range(), name));
            let parts: Vec<&str> =
                parts.iter().filter(|p| own(p)).map(|p| self.node_text(*p)).collect();
            (!parts.is_empty()).then(|| parts.join(" && "))
        })
    }
}

/// Whether a test is one for the end of the time, or for any failure.
fn is_over(text: &str) -> bool {
    let negated =
        text.contains("== 0") || text.trim_start().starts_with('!') || text.contains("no_timeout");
    !negated
}

/// The parts that have to hold together.
fn conjuncts<'t>(node: Node<'t>, parts: &mut Vec<Node<'t>>) {
    let operator = node.child_by_field_name("operator").map(|operator| operator.kind());
    match (node.kind(), operator) {
        ("binary_expression", Some("&&")) => {
            for side in ["left", "right"] {
                if let Some(side) = node.child_by_field_name(side) {
                    conjuncts(side, parts);
                }
            }
        }
        _ => parts.push(node),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn given_up(file: &str, text: &str) -> Vec<(String, String)> {
        let source = Source::parse(file, text.to_owned()).expect("the sample parses");
        let found = source.gives_up(0..text.len()).into_iter();
        found.map(|found| (text[found.test].to_owned(), found.missing)).collect()
    }

    #[test]
    fn what_is_waited_for_is_what_the_loop_says() {
        let text = "int f(void) { int rc = 0; while (!ready && rc == 0) rc = pthread_cond_timedwait(&c, &m, &t); if (rc == ETIMEDOUT) return 0; return 1; }";
        let found = given_up("a.c", text);
        assert_eq!(found, [("rc == ETIMEDOUT".to_owned(), "!ready".to_owned())]);
        let text = "bool f() { while (q.empty()) { if (c.wait_for(l, t) == std::cv_status::timeout) return false; } return true; }";
        let found = given_up("a.cpp", text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].1, "q.empty()");
    }

    #[test]
    fn who_looks_already_is_left_alone() {
        let text = "int f(void) { while (!ready) { if (pthread_cond_timedwait(&c, &m, &t) == 0) continue; return 0; } return 1; }";
        assert_eq!(given_up("a.c", text), [], "that is no giving up");
        let text = "int f(void) { int rc = 0; while (!ready && rc == 0) rc = pthread_cond_timedwait(&c, &m, &t); if (rc && !ready) return 0; return 1; }";
        assert_eq!(given_up("a.c", text), []);
        let text = "bool f() { while (n == 0) { if (!c.wait_for(l, t, [&] { return n > 0; })) return false; } return true; }";
        assert_eq!(given_up("a.cpp", text), [], "it looks again by itself");
    }
}
