//! The JSON Schemas of the documents: committed as the types are, obeyed by every document, told on a page.

mod support;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use unravel_report::json::{
    self, CausesDocument, DatabaseDocument, DiagnosisDocument, ExplanationDocument, HuntDocument,
    RepairsDocument,
};
use unravel_results::{Diagnosis, Explanation};

use support::{caused, explained, hunted};

fn diagnosis(diagnosis: &Diagnosis) -> Value {
    serde_json::to_value(json::diagnosis(diagnosis)).unwrap()
}

fn explanation(explanation: &Explanation) -> Value {
    serde_json::to_value(json::explanation(explanation)).unwrap()
}

/// The committed schema of a document.
fn schema_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(name)
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    for (name, schema) in [
        ("unravel.diagnosis-1.json", DiagnosisDocument::schema()),
        ("unravel.explanation-1.json", ExplanationDocument::schema()),
        ("unravel.causes-1.json", CausesDocument::schema()),
        ("unravel.repairs-1.json", RepairsDocument::schema()),
        ("unravel.hunt-1.json", HuntDocument::schema()),
        ("unravel.database-1.json", DatabaseDocument::schema()),
    ] {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let file = schema_file(name);
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, &text).unwrap();
        }
        let committed = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            committed == text,
            "docs/schema/{name} is not what the types say; UPDATE_SCHEMAS=1 cargo test -p unravel-report rewrites it"
        );
    }
}

#[test]
fn the_page_names_every_field() {
    let page = fs::read_to_string(schema_file("../formats/json.md")).unwrap();
    for schema in [ExplanationDocument::schema(), RepairsDocument::schema(), HuntDocument::schema()]
    {
        let parts = schema["$defs"].as_object().unwrap().values().chain([&schema]);
        let fields = parts.filter_map(|part| part["properties"].as_object());
        for field in fields.flat_map(|fields| fields.keys()) {
            let named = [format!("`{field}`"), format!("\"{field}\":")];
            assert!(
                named.iter().any(|name| page.contains(name)),
                "{field} is not in docs/formats/json.md"
            );
        }
    }
}

#[test]
fn every_document_obeys_its_schema() {
    let validator = |name: &str| {
        let schema: Value =
            serde_json::from_str(&fs::read_to_string(schema_file(name)).unwrap()).unwrap();
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
        jsonschema::validator_for(&schema).unwrap()
    };
    let complaints = |validator: &jsonschema::Validator, document: &Value| -> Vec<String> {
        validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path)).collect()
    };
    let diagnoses = validator("unravel.diagnosis-1.json");
    for (name, made, _) in support::all() {
        assert_eq!(complaints(&diagnoses, &diagnosis(&made)), [""; 0], "{name}");
    }
    let explanations = validator("unravel.explanation-1.json");
    for (name, made, _) in explained::explanations() {
        assert_eq!(complaints(&explanations, &explanation(&made)), [""; 0], "{name}");
    }
    let causes = validator("unravel.causes-1.json");
    for (name, made, _) in caused::all() {
        let document = serde_json::to_value(json::causes(&made)).unwrap();
        assert_eq!(complaints(&causes, &document), [""; 0], "{name}");
        let mut wrong = document;
        wrong["verdict"] = json!("perhaps");
        assert_ne!(complaints(&causes, &wrong), [""; 0], "{name}");
    }
    let repairs = validator("unravel.repairs-1.json");
    for (made, _) in [caused::repaired(), caused::unrepaired(), caused::injected_repairs()] {
        let document = serde_json::to_value(json::repairs(&made)).unwrap();
        assert_eq!(complaints(&repairs, &document), [""; 0]);
        let mut wrong = document;
        wrong["rejected"][0] = json!("why not");
        assert_ne!(complaints(&repairs, &wrong), [""; 0]);
    }
    let hunts = validator("unravel.hunt-1.json");
    for (name, made, _) in hunted::all() {
        let document = serde_json::to_value(json::hunt(&made)).unwrap();
        assert_eq!(complaints(&hunts, &document), [""; 0], "{name}");
        let mut wrong = document;
        wrong["end"]["kind"] = json!("perhaps");
        assert_ne!(complaints(&hunts, &wrong), [""; 0], "{name}");
    }
    // A schema that accepts everything would pass the above.
    let (several, _) = explained::several();
    for (field, wrong) in
        [("schema", json!("unravel.explanation/2")), ("bugs", json!({})), ("explored", Value::Null)]
    {
        let mut document = explanation(&several);
        document[field] = wrong;
        assert_ne!(complaints(&explanations, &document), [""; 0], "{field}");
    }
    let mut document = explanation(&several);
    document["bugs"][0].as_object_mut().unwrap().remove("suppress");
    assert_ne!(
        complaints(&explanations, &document),
        [""; 0],
        "every field is there, if only as null"
    );
}
