//! The SARIF log: valid by the official schema, complete, and nothing of the program is obeyed.

mod support;

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use serde_json::Value;
use unravel_report::{Sources, sarif};
use unravel_results::Explanation;
use unravel_trace::FailureKind;

use support::explained;

fn log(explanation: &Explanation, sources: &Sources) -> Value {
    serde_json::from_str(&sarif::explanation(explanation, sources).to_string()).unwrap()
}

/// The official schema of SARIF 2.1.0, as the package `serde-sarif` carries it.
fn official_schema() -> Value {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform"])
        // Packages for other systems need not be there.
        .arg(format!("{}-unknown-linux-gnu", env::consts::ARCH))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let package = metadata["packages"].as_array().unwrap().iter();
    let manifest = package
        .filter(|package| package["name"] == "serde-sarif")
        .find_map(|package| package["manifest_path"].as_str())
        .expect("serde-sarif is a dev-dependency: it carries the official schema");
    let file = PathBuf::from(manifest).with_file_name("src").join("schema.json");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!("{}: {error}: this version of serde-sarif has its schema elsewhere", file.display())
    });
    let schema: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema["title"], "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema");
    schema
}

#[test]
fn every_log_obeys_the_official_schema() {
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&official_schema())
        .expect("the official schema is a schema");
    for (name, explanation, sources) in explained::explanations() {
        for sources in [&sources, &Sources::none()] {
            let log = log(&explanation, sources);
            let complaints: Vec<String> =
                validator.iter_errors(&log).map(|e| format!("{}: {e}", e.instance_path)).collect();
            assert_eq!(complaints, [""; 0], "{name}: {log:#}");
        }
    }
    let (several, sources) = explained::several();
    for (pointer, wrong) in [
        ("/version", Value::from("2.2.0")),
        ("/runs/0/results/0/locations/0/physicalLocation/region/startLine", Value::from(0)),
        ("/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri", Value::from("a b")),
        ("/runs/0/results/0/codeFlows/0/threadFlows", Value::from(Vec::<Value>::new())),
    ] {
        let mut log = log(&several, &sources);
        *log.pointer_mut(pointer).unwrap() = wrong;
        assert!(!validator.is_valid(&log), "{pointer}: the schema refuses what is wrong");
    }
}

#[test]
fn every_log_is_what_a_typed_reader_understands() {
    for (name, explanation, sources) in explained::explanations() {
        let text = sarif::explanation(&explanation, &sources).to_string();
        let read: serde_sarif::sarif::Sarif = serde_json::from_str(&text).expect(name);
        let written = serde_json::to_value(&read).unwrap();
        assert_eq!(written, log(&explanation, &sources), "{name}: nothing is lost on the way");
    }
}

#[test]
fn a_result_says_what_failed_why_and_how_to_see_it() {
    let (several, sources) = explained::several();
    let log = log(&several, &sources);
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "unravel");
    assert_eq!(run["automationDetails"]["id"], "unravel/bank/");
    assert_eq!(run["invocations"][0]["commandLine"], several.command);
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    let result = &run["results"][0];
    assert_eq!(result["ruleId"], "assertion");
    assert_eq!(result["level"], "error");
    assert_eq!(
        result["message"]["text"],
        "assertion 'total == 300' failed. Root cause: T0.1 and T0.2 both read total (bank.c:12 and bank.c:12) before \
         either writes it back (bank.c:13 and bank.c:13): one update is lost. Advice: reading and writing total should \
         be one atomic step: from bank.c:12 to bank.c:13. Replay: unravel replay unravel-out/bank-1.trace"
    );
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/bank.c");
    assert_eq!(place["region"]["startLine"], 31);
    assert_eq!(place["region"]["startColumn"], 5);
    assert_eq!(place["region"]["snippet"]["text"], "sert(total == 300);");
    assert_eq!(place["contextRegion"]["snippet"]["text"], "  assert(total == 300);");
    assert_eq!(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "main");
    let related: Vec<_> = result["relatedLocations"].as_array().unwrap().iter().collect();
    assert_eq!(related.len(), 4);
    assert_eq!(related[0]["message"]["text"], "T0.1 reads total");
    assert_eq!(result["occurrenceCount"], 3);
    let properties = &result["properties"];
    assert_eq!(properties["status"], "confirmed");
    assert_eq!(properties["pattern"], "lost-update");
    assert_eq!(properties["provedOnPath"], true);
    assert_eq!(properties["alternateProvedNearest"], true);
    assert_eq!(properties["gap"], 0);
    assert_eq!(properties["replay"], "unravel replay unravel-out/bank-1.trace");
    assert_eq!(run["results"][1]["properties"]["sameCauseAs"], 0);
    let undiagnosed = &run["results"][2];
    assert_eq!(undiagnosed["ruleId"], "use-after-free");
    assert_eq!(undiagnosed["properties"]["status"], "undiagnosed");
    assert!(
        undiagnosed["message"]["text"]
            .as_str()
            .unwrap()
            .contains("Why it happens is not known: the time was up."),
        "{undiagnosed}"
    );
    assert!(undiagnosed.get("codeFlows").is_none(), "{undiagnosed}");
}

#[test]
fn every_kind_of_failure_is_a_rule() {
    let log = log(&explained::explanation(vec![]), &Sources::none());
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let ids: Vec<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids, FailureKind::ALL.map(FailureKind::name));
    assert_eq!(log["runs"][0]["results"], Value::Array(vec![]), "nothing found");
    for (_, explanation, sources) in explained::explanations() {
        let log = self::log(&explanation, &sources);
        for result in log["runs"][0]["results"].as_array().unwrap() {
            let index = result["ruleIndex"].as_u64().unwrap() as usize;
            assert_eq!(result["ruleId"], ids[index]);
        }
    }
}

/// The steps of a code flow as `number thread text importance`, by number.
fn steps(flow: &Value) -> Vec<(u64, String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut steps: Vec<_> = (flow["threadFlows"].as_array().unwrap().iter())
        .flat_map(|thread| {
            let of_thread = thread["locations"].as_array().unwrap().iter();
            let mut last = 0;
            of_thread.map(move |step| {
                let number = step["executionOrder"].as_u64().unwrap();
                assert!(number > last, "a thread's own steps are in order");
                last = number;
                let says = text(&step["location"]["message"]["text"]);
                (number, text(&thread["id"]), says, text(&step["importance"]))
            })
        })
        .collect();
    steps.sort();
    steps
}

#[test]
fn a_code_flow_is_the_interleaving() {
    let (diagnosis, sources) = support::lost_update();
    let log = log(&explained::explanation(vec![explained::diagnosed(diagnosis)]), &sources);
    let flows = log["runs"][0]["results"][0]["codeFlows"].as_array().unwrap();
    assert_eq!(flows.len(), 2);
    let failing = steps(&flows[0]);
    let numbers: Vec<u64> = failing.iter().map(|step| step.0).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "from 1, each once");
    let said: Vec<(&str, &str)> =
        failing.iter().map(|step| (step.2.as_str(), step.3.as_str())).collect();
    assert!(
        said.windows(4).any(|four| four
            == [
                ("T0.1: read total = 100", "essential"),
                ("T0.2: read total = 100", "essential"),
                ("T0.2: write total := 200", "essential"),
                ("T0.1: write total := 200", "essential"),
            ]),
        "{said:#?}"
    );
    assert_eq!(
        said.last(),
        Some(&("T0: assertion 'total == 300' failed", "essential")),
        "{said:#?}"
    );
    let read = flows[0]["threadFlows"].as_array().unwrap().iter().find(|t| t["id"] == "T0.2");
    assert_eq!(read.unwrap()["locations"][0]["state"]["total"]["text"], "100");
    assert!(flows[1]["message"]["text"].as_str().unwrap().contains("passing run"));
    let passing = steps(&flows[1]);
    assert!(passing.iter().any(|step| step.2 == "T0.2: write total := 300"), "{passing:#?}");
}

#[test]
fn a_deadlock_ends_where_its_threads_wait() {
    let (diagnosis, sources) = support::deadlock();
    let log = log(&explained::explanation(vec![explained::diagnosed(diagnosis)]), &sources);
    let result = &log["runs"][0]["results"][0];
    let failing = steps(&result["codeFlows"][0]);
    let waiting: Vec<_> = failing.iter().filter(|s| s.2.contains("waits here for ever")).collect();
    assert_eq!(waiting.len(), 2, "{failing:#?}");
    assert!(waiting.iter().any(|s| s.2 == "T0.1: locks b: waits here for ever"), "{failing:#?}");
    let related = result["relatedLocations"].as_array().unwrap();
    assert_eq!(related[0]["message"]["text"], "T0.1 waits for mutex 'b', held by T0.2");
}

#[test]
fn fingerprints_stay_when_code_moves() {
    let (diagnosis, sources) = support::lost_update();
    let fingerprints = |explanation: &Explanation, sources: &Sources| {
        log(explanation, sources)["runs"][0]["results"][0]["partialFingerprints"].clone()
    };
    let here = explained::explanation(vec![explained::diagnosed(diagnosis)]);
    let before = fingerprints(&here, &sources);
    assert!(before["bugHash/v1"].is_string() && before["bugLineHash/v1"].is_string(), "{before}");
    let mut moved = here.clone();
    moved.bugs[0].failure.stack[0].line += 7;
    moved.bugs[0].found.schedule = 99;
    let text = "\n".repeat(37) + "        assert(total  ==  300);";
    let shifted = Sources::none().with(support::FILE, &text);
    assert_eq!(fingerprints(&moved, &shifted), before);
    let mut other = here.clone();
    other.bugs[0].failure.message = "assertion 'total == 301' failed".into();
    assert_ne!(fingerprints(&other, &sources)["bugHash/v1"], before["bugHash/v1"]);
}

#[test]
fn known_bugs_are_suppressed_results_where_their_file_is_known() {
    let (several, sources) = explained::several();
    let log = log(&several, &sources);
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 4, "three bugs, and one that was put aside and seen");
    let known = &results[3];
    assert_eq!(known["suppressions"][0]["kind"], "external");
    assert_eq!(known["suppressions"][0]["justification"], "known, see ticket 17");
    let place = &known["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/bank.c", "bank.c is named elsewhere");
    assert_eq!(place["region"]["startLine"], 88);
    let notifications = run["invocations"][0]["toolExecutionNotifications"].to_string();
    assert!(
        notifications.contains("deadlock at other.c:9: 2 schedules failed so"),
        "{notifications}"
    );
    assert!(notifications.contains("one worker ended early"), "{notifications}");
    assert!(!notifications.contains("bank.c:99"), "it was not seen: {notifications}");
    assert!(results[..3].iter().all(|result| result.get("suppressions").is_none()));
}

#[test]
fn what_could_not_be_followed_is_no_success() {
    let log = log(&explained::all_inconclusive(), &Sources::none());
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let notification = &invocation["toolExecutionNotifications"][0];
    assert_eq!(notification["level"], "warning");
    assert!(notification["message"]["text"].as_str().unwrap().contains("it calls 'fork'"));
}

#[test]
fn names_of_the_program_are_text_only() {
    let (hostile, sources) = explained::hostile_explanation();
    let log = log(&hostile, &sources);
    let result = &log["runs"][0]["results"][0];
    let text = result["message"]["text"].as_str().unwrap();
    assert!(text.contains("{{0}}") && !text.contains("]("), "{text}");
    assert!(!text.contains(char::is_control) && !text.contains('\u{202e}'), "{text}");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "a%20b/%C3%BC%23%3F%25%2C%3A%0A.c");
    // ü is two bytes, and one code unit.
    assert_eq!(place["region"]["startColumn"], 6);
    assert_eq!(place["region"]["snippet"]["text"], "😀\"; {0}");
}

#[test]
fn the_best_repair_is_a_fix_in_whole_lines() {
    let (mut made, _) = explained::repaired();
    let best = &mut made.repairs.as_mut().expect("it has repairs").repairs[0];
    best.files[0].text = "one\nlock();\n2\nfour\n".into();
    let sources = Sources::none().with(support::FILE, "one\ntwo\nthree\nfour\n");
    let fixes = |sources| log(&made, sources)["runs"][0]["results"][0]["fixes"].clone();
    let fix = &fixes(&sources)[0];
    assert_eq!(fix["description"]["text"], "a new mutex around bank.c:5 to 6 and bank.c:10 to 11");
    let change = &fix["artifactChanges"][0];
    assert_eq!(change["artifactLocation"]["uri"], support::FILE);
    assert_eq!(
        change["replacements"],
        serde_json::json!([{
            "deletedRegion": { "startLine": 2, "startColumn": 1, "endLine": 4, "endColumn": 1 },
            "insertedContent": { "text": "lock();\n2\n" },
        }])
    );
    assert_eq!(
        fixes(&Sources::none()),
        Value::Null,
        "nothing is known of the lines that are there"
    );
}
