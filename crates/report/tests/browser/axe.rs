//! What axe-core finds on the pages: nothing serious. `cargo xtask test --full` runs it; it fetches axe-core, and fails where that
//! cannot be had.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use unravel_report::html;

use crate::sizes::pages_of_all_sizes;
use crate::support::{caused, explained, hunted};
use crate::tab::Tab;

fn succeeds(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    assert!(status.as_ref().is_ok_and(|status| status.success()), "{command:?}: {status:?}");
}

/// The script of axe-core, fetched once.
fn axe() -> String {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("axe");
    let script: PathBuf = home.join("node_modules/axe-core/axe.min.js");
    if !script.exists() {
        if !Command::new("npm").arg("--version").output().is_ok_and(|o| o.status.success()) {
            succeeds(Command::new("apt-get").args(["install", "-yqq", "npm"]));
        }
        let install = ["install", "--no-audit", "--no-fund", "--prefix"];
        succeeds(Command::new("npm").args(install).arg(&home).arg("axe-core@4"));
    }
    std::fs::read_to_string(&script).expect("axe-core's script")
}

/// A page of each kind.
fn pages_of_all_kinds() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for (name, explanation, sources) in explained::explanations() {
        pages.push((name.to_owned(), html::explanation(&explanation, &sources)));
    }
    for (name, causes, sources) in caused::all() {
        pages.push((format!("causes {name}"), html::causes(&causes, &sources)));
    }
    let (repairs, sources) = caused::repaired();
    pages.push(("repairs".to_owned(), html::repairs(&repairs, &sources, &[])));
    for (name, hunt, sources) in hunted::all() {
        let typed = vec!["src/bank.c".to_owned(); hunt.exposed.len()];
        pages.push((format!("hunt {name}"), html::hunt(&hunt, &sources, &typed)));
    }
    pages
}

#[test]
#[ignore = "fetches axe-core"]
fn axe_finds_nothing_serious() {
    let axe = axe();
    let mut tab = Tab::open("");
    let mut found = Vec::new();
    let run = "axe.run().then((result) => result.violations
        .filter((rule) => ['serious', 'critical'].includes(rule.impact))
        .map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.target.join(' ')).slice(0, 3).join(', ')}`))";
    // A page without a language must be found: what finds nothing anywhere proves nothing.
    tab.load("<!DOCTYPE html><html><title>x</title><img src='data:,'></html>");
    tab.get(&format!("{axe}; 0"));
    assert_ne!(tab.get(run), json!([]), "axe runs");
    let (sizes, kinds) = (pages_of_all_sizes(), pages_of_all_kinds());
    for scheme in ["light", "dark"] {
        let feature = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        tab.chromium.call("Emulation.setEmulatedMedia", feature);
        for width in [400, 800, 1400] {
            tab.resize(width, 900);
            // Colours are in one place and widths tried with pages of all sizes: the others are looked at once.
            let others = kinds.iter().filter(|_| (scheme, width) == ("dark", 800));
            for (name, page) in sizes.iter().chain(others) {
                tab.load(page);
                tab.get(&format!("{axe}; 0"));
                let Value::Array(rules) = tab.get(run) else { panic!("axe answers with a list") };
                found.extend(rules.iter().map(|rule| format!("{name}, {width}, {scheme}: {rule}")));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
