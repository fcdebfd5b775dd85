//! `cargo xtask consistent DIR`: do reports contradict themselves?
//!
//! Read from the JSON alone, as a user's script would: what one sentence says must not deny what another one says. Each rule is one
//! function; a rule that cannot be broken by the tool of today stays, because it was broken once.

use std::path::Path;

use serde_json::Value;

use crate::error::Error;

/// All JSON reports in a folder; false if one contradicts itself.
pub fn check_folder(folder: &Path) -> Result<bool, Error> {
    let failed = |source| Error::File { path: folder.to_owned(), source };
    let mut reports = 0;
    let mut broken = 0;
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .map_err(failed)?
        .filter_map(Result::ok)
        .map(|e| e.path())
        .collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "json")) {
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let Ok(report) = serde_json::from_str::<Value>(&text) else { continue };
        if report["bugs"].is_null() {
            continue;
        }
        reports += 1;
        let complaints = check(&report);
        broken += usize::from(!complaints.is_empty());
        for complaint in complaints {
            println!("{}: {complaint}", path.display());
        }
    }
    println!("{reports} reports, {broken} that contradict themselves");
    Ok(broken == 0 && reports > 0)
}

/// What one explanation says against itself.
pub fn check(report: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    let explored = &report["explored"];
    counts(report, explored, &mut complaints);
    for bug in list(&report["bugs"]) {
        let name = bug["bug"].as_str().unwrap_or("?");
        let mut own = Vec::new();
        verdict(bug, &mut own);
        if let Some(diagnosis) = bug.get("diagnosis").filter(|d| !d.is_null()) {
            status(diagnosis, explored, &mut own);
            cause(diagnosis, &mut own);
        }
        complaints.extend(own.into_iter().map(|complaint| format!("{name}: {complaint}")));
    }
    sequential(report, &mut complaints);
    complaints
}

/// What passes in some order of its threads is not sequential.
fn sequential(report: &Value, complaints: &mut Vec<String>) {
    let passes = list(&report["bugs"]).iter().any(|bug| {
        let alternates = list(&bug["diagnosis"]["alternates"]);
        bug["diagnosis"]["status"]["kind"] == "confirmed"
            && alternates.iter().any(|alternate| alternate["found_by"] != "usual-answers")
    });
    if passes && report["causes"]["verdict"] == "sequential" {
        complaints.push("its causes are sequential, but a run that passes is shown".to_owned());
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Schedules that failed, that were not followed and that passed are all that were tried.
fn counts(report: &Value, explored: &Value, complaints: &mut Vec<String>) {
    let schedules = number(&explored["schedules"]);
    let failed = number(&explored["failed"]);
    let rest = number(&explored["inconclusive"]) + number(&explored["discarded"]);
    if failed + rest > schedules {
        complaints
            .push(format!("{failed} failed and {rest} not followed of {schedules} schedules"));
    }
    let times: u64 = list(&report["bugs"]).iter().map(|bug| number(&bug["found"]["times"])).sum();
    if times > schedules {
        complaints.push(format!("bugs were seen {times} times in {schedules} schedules"));
    }
    for bug in list(&report["bugs"]) {
        let found = number(&bug["found"]["schedule"]);
        if found > schedules {
            complaints.push(format!("found in schedule {found} of {schedules}"));
        }
    }
}

/// Diagnosed or not, and not both.
fn verdict(bug: &Value, complaints: &mut Vec<String>) {
    if bug["diagnosis"].is_null() == bug["undiagnosed"].is_null() {
        complaints.push("both diagnosed and not, or neither".to_owned());
    }
}

/// What is confirmed has two runs; what fails always has none that passes.
fn status(diagnosis: &Value, explored: &Value, complaints: &mut Vec<String>) {
    let kind = diagnosis["status"]["kind"].as_str().unwrap_or("");
    let reason = diagnosis["status"]["reason"].as_str().unwrap_or("");
    let passes = |alternate: &Value| alternate["run"]["outcome"]["kind"] == "exited";
    let alternates = list(&diagnosis["alternates"]);
    let failing = diagnosis["failing"]["outcome"]["kind"].as_str().unwrap_or("");
    let races = !diagnosis["race"].is_null();
    if kind == "confirmed" && !races && !alternates.iter().any(passes) {
        complaints.push("confirmed without a run that passes".to_owned());
    }
    if kind == "confirmed" && ["", "exited", "discarded", "inconclusive"].contains(&failing) {
        complaints.push(format!("confirmed with a failing run that {failing}"));
    }
    let rest = number(&explored["failed"])
        + number(&explored["inconclusive"])
        + number(&explored["discarded"]);
    let passed = number(&explored["schedules"]).saturating_sub(rest);
    if reason.contains("sequential bug") && passed > 0 {
        complaints.push(format!("a sequential bug, but {passed} schedules passed"));
    }
    if reason.contains("every schedule") && alternates.iter().any(passes) {
        complaints.push("fails under every schedule, and one that passes is shown".to_owned());
    }
}

/// A pattern is said with its evidence, and only of what happened.
fn cause(diagnosis: &Value, complaints: &mut Vec<String>) {
    let cause = &diagnosis["root_cause"];
    if cause.is_null() || diagnosis["status"]["kind"] != "confirmed" {
        return;
    }
    let pattern = cause["pattern"].as_str().unwrap_or("");
    let evidence = &cause["evidence"];
    if pattern != "compound" && evidence.is_null() {
        complaints.push(format!("{pattern} without evidence"));
    }
    if evidence["kind"] == "unavoidable" && list(&evidence["kept"]).is_empty() {
        complaints.push("unavoidable with nothing kept".to_owned());
    }
    if evidence["kind"] == "shielded" {
        let (tried, without) = (number(&evidence["tried"]), number(&evidence["failed_without"]));
        if tried == 0 || without == 0 || without > tried {
            complaints.push(format!("evidence of {without} failures in {tried} schedules"));
        }
        if list(&evidence["kept"]).is_empty() {
            complaints.push("evidence with nothing kept".to_owned());
        }
    }
    let advice = cause["advice"].as_str().unwrap_or("");
    if pattern == "compound" && advice.contains("should be atomic") {
        complaints.push("advice for a pattern that is not said".to_owned());
    }
    if cause["sentence"].as_str().is_none_or(str::is_empty) {
        complaints.push("a root cause without a sentence".to_owned());
    }
    for order in list(&cause["orders"]) {
        // What fails is no event, but it was executed.
        let failed = diagnosis["failure"]["at"]["line"].as_u64();
        let is_failed = |who: &Value| failed.is_some() && who["place"]["line"].as_u64() == failed;
        let is_missing = |who: &Value| who["event"].is_null() && !is_failed(who);
        if is_missing(&order["first"]) && is_missing(&order["second"]) {
            complaints.push("an order of two events that did not happen".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report() -> Value {
        json!({
            "explored": { "schedules": 10, "failed": 4, "inconclusive": 0, "discarded": 0 },
            "causes": null,
            "bugs": [{
                "bug": "assertion at a.c:1",
                "found": { "schedule": 3, "times": 4 },
                "undiagnosed": null,
                "diagnosis": {
                    "status": { "kind": "confirmed", "reason": null },
                    "failing": { "outcome": { "kind": "assertion" } },
                    "alternates": [{ "run": { "outcome": { "kind": "exited" } } }],
                    "root_cause": {
                        "pattern": "lost-update", "sentence": "it is lost", "advice": "",
                        "evidence": { "kind": "shielded", "kept": [{}], "tried": 9, "failed_without": 2 },
                        "orders": [{ "first": { "event": 1 }, "second": { "event": null } }]
                    }
                }
            }]
        })
    }

    #[test]
    fn a_sound_report_is_left_alone() {
        assert_eq!(check(&report()), Vec::<String>::new());
    }

    #[test]
    fn each_contradiction_is_seen() {
        let changes: [(&str, Value, &str); 10] = [
            ("/causes", json!({ "verdict": "sequential" }), "causes are sequential"),
            ("/explored/failed", json!(11), "not followed of"),
            ("/bugs/0/found/schedule", json!(11), "found in schedule"),
            ("/bugs/0/undiagnosed", json!("no time"), "both diagnosed"),
            ("/bugs/0/diagnosis/alternates", json!([]), "without a run that passes"),
            ("/bugs/0/diagnosis/failing/outcome/kind", json!("exited"), "failing run that"),
            (
                "/bugs/0/diagnosis/status",
                json!({ "kind": "inconclusive", "reason": "it looks like a sequential bug" }),
                "schedules passed",
            ),
            ("/bugs/0/diagnosis/root_cause/evidence", json!(null), "without evidence"),
            ("/bugs/0/diagnosis/root_cause/evidence/failed_without", json!(0), "evidence of 0"),
            ("/bugs/0/diagnosis/root_cause/orders/0/first/event", json!(null), "did not happen"),
        ];
        for (path, value, expected) in changes {
            let mut report = report();
            *report.pointer_mut(path).expect(path) = value;
            let said = check(&report).join("; ");
            assert!(said.contains(expected), "{path}: {said}");
        }
    }
}
