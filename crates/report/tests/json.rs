//! The documents that programs read.

mod support;

use serde_json::{Value, json};
use unravel_report::json::{
    self, CausesDocument, DiagnosisDocument, ExplanationDocument, ReadError, RepairsDocument,
};
use unravel_results::{Diagnosis, Explanation};
use unravel_trace::EventKind;

use support::{caused, explained};

fn diagnosis(diagnosis: &Diagnosis) -> Value {
    serde_json::to_value(json::diagnosis(diagnosis)).unwrap()
}

fn explanation(explanation: &Explanation) -> Value {
    serde_json::to_value(json::explanation(explanation)).unwrap()
}

#[test]
fn names_are_resolved() {
    let (lost_update, _) = support::lost_update();
    let document = diagnosis(&lost_update);
    assert_eq!(document["schema"], "unravel.diagnosis/1");
    assert_eq!(document["status"], json!({ "kind": "confirmed", "reason": null }));
    assert_eq!(document["memory_model"], "sequential consistency");
    assert_eq!(document["failure"]["bug"], "assertion at bank.c:31");
    assert_eq!(document["context_switches"], json!({ "given": 9, "reduced": 4 }));
    assert_eq!(document["root_cause"]["pattern"], "lost-update");
    assert_eq!(
        document["root_cause"]["orders"][0]["first"],
        json!({
            "thread": "T0.1",
            "verb": "reads",
            "place": { "function": "worker", "file": "src/bank.c", "line": 12, "column": 5 },
            "occurrence": 0,
            "event": 4,
            "called": null,
        })
    );
    let alternate = &document["alternates"][0];
    assert_eq!(
        alternate["distance"],
        json!({ "data_flow": 2, "broken_segments": 1, "context_switches": 2, "operations": 7 })
    );
    assert_eq!(alternate["minimality"], json!({ "proved": true, "gap": 0 }));
    assert_eq!(alternate["run"]["outcome"], json!({ "kind": "exited", "code": 0 }));
    assert_eq!(document["failing"]["outcome"], document["failure"]);
    assert_eq!(alternate["run"]["schedule"][0], json!({ "thread": "T0", "events": 4 }));
    assert_eq!(
        alternate["projection"]["flows"][0]["alternate"]["from"],
        json!({
            "index": 5,
            "thread": "T0.1",
            "verb": "write",
            "text": "write total := 200",
            "location": "total",
            "value": "200",
            "old_value": null,
            "place": { "function": "worker", "file": "src/bank.c", "line": 13, "column": 5 },
            "wrapped": null,
        })
    );
    let lines: Vec<&Value> =
        document["lines"].as_array().unwrap().iter().map(|p| &p["line"]).collect();
    assert_eq!(lines, [12, 13, 25, 29, 31]);
}

#[test]
fn absent_things_are_null_and_addresses_hexadecimal() {
    let (order_violation, _) = support::order_violation();
    let document = diagnosis(&order_violation);
    assert_eq!(document["root_cause"]["orders"][0]["second"]["event"], Value::Null);
    let projection = &document["alternates"][0]["projection"];
    assert_eq!(projection["flows"][0]["failing"]["from"], Value::Null);
    assert_eq!(projection["flows"][0]["alternate"]["to"]["value"], "0x100000004020");
    assert_eq!(projection["branches"][0]["failing"], Value::Null);
    let (inconclusive, _) = support::inconclusive();
    let document = diagnosis(&inconclusive);
    assert_eq!(document["status"]["kind"], "inconclusive");
    assert_eq!(document["root_cause"], Value::Null);
    assert_eq!(document["alternates"], json!([]));
}

#[test]
fn values_are_numbers_of_their_type() {
    use unravel_trace::Shape::*;
    for (shape, bytes, word, text) in [
        (Signed, 4, 0xffff_ffff, "-1"),
        (Unsigned, 4, 0xffff_ffff, "4294967295"),
        (Boolean, 1, 1, "1"),
        (Character, 1, 97, "97"),
        (Pointer, 8, 0, "0"),
        (Unknown, 8, 0x1000_0000_4020, "0x100000004020"),
    ] {
        let (mut made, _) = support::lost_update();
        let trace = &mut made.failing.trace;
        let EventKind::Read { at, value } = &mut trace.events[4].kind else { panic!("a read") };
        *value = unravel_trace::Value::Word(word);
        let location = &mut trace.locations[at.0 as usize];
        (location.shape, location.bytes) = (shape, bytes);
        let document = diagnosis(&made);
        assert_eq!(
            document["alternates"][0]["projection"]["failing"][1]["value"], text,
            "{shape:?}"
        );
    }
}

#[test]
fn an_explanation_says_what_was_explored_and_what_is_known_of_each_bug() {
    let (several, _) = explained::several();
    let document = explanation(&several);
    assert_eq!(document["schema"], "unravel.explanation/1");
    assert_eq!(document["program"], "bank");
    assert_eq!(document["command"], "unravel explain src/bank.c --seed 7");
    assert_eq!(
        document["explored"],
        json!({
            "strategy": "portfolio",
            "seed": 7,
            "schedules": 120,
            "seconds": 1.235,
            "stopped": "found",
            "inconclusive": 0,
            "reason": null,
            "discarded": 0,
            "failed": 9,
            "nonzero_exits": 0,
            "exit_code": null,
            "most_threads": 3,
            "most_events": 11,
            "steps": 4800,
            "nondeterministic": false,
            "classes": 40,
            "reads_from": 12,
            "recent_classes": 3,
            "recent_schedules": 64,
            "notes": [],
        })
    );
    let bugs = &document["bugs"];
    assert_eq!(bugs[0]["bug"], "assertion at bank.c:31");
    assert_eq!(
        (&bugs[0]["kind"], &bugs[0]["places"]),
        (&json!("assertion"), &json!(["bank.c:31"]))
    );
    assert_eq!(
        bugs[0]["found"],
        json!({
            "schedule": 12, "times": 3, "replayed": true, "threads": 3, "events": 11, "context_switches": 9,
        })
    );
    assert_eq!(bugs[0]["suppress"], json!({ "kind": "assertion", "site": "bank.c:31" }));
    assert_eq!(bugs[0]["diagnosis"], diagnosis(several.bugs[0].verdict.diagnosis().unwrap()));
    assert_eq!(bugs[0]["undiagnosed"], Value::Null);
    assert_eq!(bugs[1]["same_cause_as"], 0);
    assert_eq!(bugs[2]["diagnosis"], Value::Null);
    assert_eq!(bugs[2]["undiagnosed"], "the time was up");
    for place in ["causes", "repairs"] {
        assert_eq!(bugs[0].get(place), Some(&Value::Null), "{place}: not looked for");
        assert_eq!(document.get(place), Some(&Value::Null), "{place}: not looked for");
    }
    assert_eq!(
        document["put_aside"][0],
        json!({
            "kind": "deadlock", "sites": ["bank.c:88"], "reason": "known, see ticket 17", "times": 4,
        })
    );
    assert_eq!(document["notes"], json!(["one worker ended early"]));
}

#[test]
fn an_explanation_has_the_causes_of_each_bug_and_the_repairs_of_all() {
    let (mut made, _) = explained::repaired();
    made.bugs.push(explained::undiagnosed());
    let document = explanation(&made);
    let causes = made.repairs.as_ref().map(|repairs| json::causes(&repairs.causes)).unwrap();
    assert_eq!(document["causes"], serde_json::to_value(&causes).unwrap());
    let bugs = &document["bugs"];
    assert_eq!(bugs[0]["causes"], document["causes"]["classes"]);
    assert_eq!(bugs[0]["repairs"], json!([0, 1]));
    assert_eq!(bugs[1]["causes"], json!([]), "no cause leads there");
    let repairs = json::repairs(made.repairs.as_ref().unwrap());
    assert_eq!(document["repairs"], serde_json::to_value(&repairs.repairs).unwrap());
    assert_eq!(document["repairs"][0]["covers"], json!([0, 1]));
}

#[test]
fn every_document_survives_the_way_through_text() {
    for (name, made, _) in support::all() {
        let document = json::diagnosis(&made);
        let text = document.to_string();
        assert!(!text.contains(|c: char| c < ' '), "{name}");
        let read = DiagnosisDocument::read(&text).unwrap();
        assert_eq!(read, document, "{name}");
        assert_eq!(read.to_string(), text, "{name}");
    }
    for (name, made, _) in explained::explanations() {
        let document = json::explanation(&made);
        let text = document.to_string();
        let read = ExplanationDocument::read(&text).unwrap();
        assert_eq!(read, document, "{name}");
        assert_eq!(read.to_string(), text, "{name}");
    }
}

#[test]
fn causes_say_who_comes_before_whom_and_where() {
    let (made, _) = caused::figure_3_2();
    let document = serde_json::to_value(json::causes(&made)).unwrap();
    assert_eq!(document["schema"], "unravel.causes/1");
    assert_eq!(document["verdict"], "concurrent");
    assert_eq!(document["bugs"][0]["replay"], "unravel replay unravel-out/bank-1.trace");
    let class = &document["classes"][1];
    assert_eq!(class["pattern"], "atomicity-violation");
    assert_eq!((&class["same_regions_as"], &class["leads_to"]), (&json!(0), &json!([0])));
    assert_eq!(class["regions"][1]["thread"], "T0.2");
    let order = &class["causes"][0]["orders"][0];
    assert_eq!(order["object"], "x");
    assert_eq!(
        order["first"],
        json!({
            "thread": "T0.2",
            "verb": "writes",
            "place": { "function": "worker", "file": "src/bank.c", "line": 10, "column": 5 },
            "occurrence": 0,
            "event": 3,
            "called": null,
        })
    );
    assert_eq!(
        document["unique_orders"][1],
        json!({ "first_line": "bank.c:11", "second_line": "bank.c:6", "object": "y" })
    );
    assert_eq!(
        document["counts"],
        json!({
            "iterations": 2, "orders_a_schedule": 8.0, "orders_a_cause": 2.0, "unique": 4, "reduction_ratio": 0.5,
        })
    );
    assert_eq!(document["seconds"], 0.123);
    let (made, _) = caused::too_early();
    let document = serde_json::to_value(json::causes(&made)).unwrap();
    let order = &document["classes"][0]["causes"][0]["orders"][0];
    assert_eq!(order["second"]["event"], Value::Null, "it was not reached");
}

#[test]
fn repairs_have_their_diff_what_was_checked_and_their_cost() {
    let (made, _) = caused::repaired();
    let document = serde_json::to_value(json::repairs(&made)).unwrap();
    assert_eq!(document["schema"], "unravel.repairs/1");
    assert_eq!(document["causes"], serde_json::to_value(json::causes(&made.causes)).unwrap());
    let repair = &document["repairs"][0];
    assert_eq!((&repair["kind"], &repair["covers"]), (&json!("new-lock"), &json!([0, 1])));
    assert_eq!(repair["diff"], made.repairs[0].diff);
    assert_eq!(
        repair["cost"],
        json!({
            "lines_added": 4, "lines_removed": 0, "kept": { "allowed": 6, "passing": 8 }, "longest_section": 3,
        })
    );
    assert_eq!(
        document["repairs"][1]["checks"][1],
        json!({
            "how": "patched", "complete": false, "schedules": 2000, "passing": 700, "aside": 0, "left_out": ["parts are missing"],
            "inputs": [],
        })
    );
    assert_eq!(document["repairs"][1]["cost"]["kept"], Value::Null);
}

#[test]
fn causes_and_repairs_survive_the_way_through_text() {
    for (name, made, _) in caused::all() {
        let document = json::causes(&made);
        let text = document.to_string();
        assert!(!text.contains(|c: char| c < ' '), "{name}");
        assert_eq!(CausesDocument::read(&text).unwrap(), document, "{name}");
    }
    let document = json::repairs(&caused::injected_repairs().0);
    assert_eq!(RepairsDocument::read(&document.to_string()).unwrap(), document);
    let refused = CausesDocument::read(&document.to_string()).unwrap_err().to_string();
    assert!(refused.starts_with("this is 'unravel.repairs/1', but only 'unravel.causes/1'"));
}

#[test]
fn outcomes_of_all_kinds_survive() {
    let (mut made, _) = support::lost_update();
    let at = Some(support::place(9));
    for outcome in [
        unravel_trace::Outcome::Exited { code: -1 },
        unravel_trace::Outcome::Discarded,
        unravel_trace::Outcome::Inconclusive { reason: "a signal".into(), at },
        unravel_trace::Outcome::Inconclusive { reason: "a signal".into(), at: None },
    ] {
        made.failing.outcome = outcome;
        let text = json::diagnosis(&made).to_string();
        assert_eq!(DiagnosisDocument::read(&text).unwrap().to_string(), text);
    }
}

/// Adds a field to every object.
fn add_unknown(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(add_unknown);
            fields.insert("a_field_of_tomorrow".into(), json!([1, { "deep": null }]));
        }
        Value::Array(items) => items.iter_mut().for_each(add_unknown),
        _ => {}
    }
}

#[test]
fn fields_of_later_programs_are_passed_over() {
    let (several, _) = explained::several();
    let document = json::explanation(&several);
    let mut newer = serde_json::to_value(&document).unwrap();
    add_unknown(&mut newer);
    assert_eq!(ExplanationDocument::read(&newer.to_string()).unwrap(), document);
    newer["bugs"][0]["failure"]["kind"] = json!("a-kind-of-tomorrow");
    let read = ExplanationDocument::read(&newer.to_string()).unwrap();
    assert_eq!(read.bugs[0].failure.kind, "a-kind-of-tomorrow");
}

#[test]
fn other_documents_and_versions_are_refused_in_words() {
    let says = |text: &str| DiagnosisDocument::read(text).unwrap_err().to_string();
    assert!(says("no").starts_with("this is not JSON: "), "{}", says("no"));
    assert_eq!(says("[]"), "this is no unravel.diagnosis/1: it has no field 'schema'");
    assert_eq!(
        says(r#"{ "schema": "unravel.diagnosis/2" }"#),
        "this is 'unravel.diagnosis/2', but only 'unravel.diagnosis/1' can be read; a newer version of unravel may \
         know it"
    );
    assert!(matches!(
        DiagnosisDocument::read(&json::explanation(&explained::explanation(vec![])).to_string()),
        Err(ReadError::OtherSchema { .. })
    ));
    let half = says(r#"{ "schema": "unravel.diagnosis/1", "program": "bank" }"#);
    assert!(half.contains("missing field `status`"), "{half}");
}

#[test]
fn causes_and_checks_name_their_inputs_by_number() {
    let (mut made, _) = caused::repaired();
    made.causes = caused::with_inputs().0;
    made.repairs[0].checks[0].inputs = vec![1, 0];
    let document = serde_json::to_value(json::repairs(&made)).unwrap();
    let causes = &document["causes"];
    assert_eq!(
        causes["inputs"][1],
        json!({
            "values": [{ "what": "nondet value 1 of T0", "value": "4711" }],
            "passing": 3, "failing": 2, "complete": true, "every_schedule_fails": false,
        })
    );
    assert_eq!(causes["classes"][0]["inputs"], json!([1]));
    assert_eq!(causes["bugs"][0]["inputs"], json!([1]));
    assert_eq!(document["repairs"][0]["checks"][0]["inputs"], json!([1, 0]));
}
