//! The document that programs read.

mod support;

use serde_json::{Value, json};
use unravel_report::json;

#[test]
fn names_are_resolved() {
    let (diagnosis, _) = support::lost_update();
    let document = json::diagnosis(&diagnosis);
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
        })
    );
    let alternate = &document["alternates"][0];
    assert_eq!(
        alternate["distance"],
        json!({ "data_flow": 2, "broken_segments": 1, "context_switches": 2, "operations": 7 })
    );
    assert_eq!(alternate["minimality"], json!({ "proved": true, "gap": 0 }));
    assert_eq!(alternate["run"]["outcome"], json!({ "kind": "exited", "code": 0 }));
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
        })
    );
    let lines: Vec<&Value> =
        document["lines"].as_array().unwrap().iter().map(|p| &p["line"]).collect();
    assert_eq!(lines, [12, 13, 25, 29, 31]);
}

#[test]
fn absent_things_are_null_and_addresses_hexadecimal() {
    let (diagnosis, _) = support::order_violation();
    let document = json::diagnosis(&diagnosis);
    assert_eq!(document["root_cause"]["orders"][0]["second"]["event"], Value::Null);
    let projection = &document["alternates"][0]["projection"];
    assert_eq!(projection["flows"][0]["failing"]["from"], Value::Null);
    assert_eq!(projection["flows"][0]["alternate"]["to"]["value"], "0x100000004020");
    assert_eq!(projection["branches"][0]["failing"], Value::Null);
    let (diagnosis, _) = support::inconclusive();
    let document = json::diagnosis(&diagnosis);
    assert_eq!(document["status"]["kind"], "inconclusive");
    assert_eq!(document["root_cause"], Value::Null);
    assert_eq!(document["alternates"], json!([]));
}

#[test]
fn every_diagnosis_survives_the_way_through_text() {
    for (name, diagnosis, _) in support::all() {
        let document = json::diagnosis(&diagnosis);
        let text = document.to_string();
        assert!(!text.contains(|c: char| c < ' '), "{name}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document, "{name}");
        let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
        assert_eq!(keys.len(), 12, "{name}: {keys:?}: the header of json.rs names every key");
    }
}
