//! `unravel doctor`: what is installed and what is missing.

use std::process::Command;

use serde_json::json;
use unravel_program::build::{Builder, INSTALL};
use unravel_solve::SolverChoice;

use crate::budgets;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::DoctorFlags;

struct Item {
    name: &'static str,
    what_for: &'static str,
    found: Option<String>,
    needed: bool,
}

pub fn doctor(flags: &DoctorFlags) -> Result<Exit, CliError> {
    if flags.budgets {
        list_budgets(flags.json);
        return Ok(Exit::Clean);
    }
    let tools = Builder::from_env().tools();
    let (clang, linker) = match &tools {
        Ok(tools) => (Some(tools.clang.clone()), tools.linker.clone()),
        Err(_) => (None, None),
    };
    let version = |path: Option<std::path::PathBuf>| {
        let output = Command::new(path?).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find(|l| l.contains("version")).map(|l| l.trim().to_owned())
    };
    let items = [
        Item {
            name: "clang 19",
            what_for: "compiles C and C++ to bitcode",
            found: version(clang),
            needed: true,
        },
        Item {
            name: "llvm-link 19",
            what_for: "joins the files of a program",
            found: version(linker),
            needed: true,
        },
        Item {
            name: "orders",
            what_for: "proofs and goals of diagnose",
            found: Some(SolverChoice::Orders.make().name()),
            needed: true,
        },
        Item {
            name: "Z3",
            what_for: "the same with --solver z3; values that orders leave open",
            found: Some(SolverChoice::Z3.make().name()),
            needed: true,
        },
        Item { name: "C++ headers", what_for: "C++ programs", found: cxx_headers(), needed: false },
    ];
    let missing = items.iter().any(|i| i.needed && i.found.is_none());
    if flags.json {
        let list: Vec<_> = items
            .iter()
            .map(|i| json!({ "name": i.name, "for": i.what_for, "found": i.found, "needed": i.needed }))
            .collect();
        sayln!(
            "{}",
            json!({ "version": env!("CARGO_PKG_VERSION"), "items": list, "install": INSTALL })
        );
    } else {
        sayln!("unravel {}", env!("CARGO_PKG_VERSION"));
        for item in &items {
            let state = item.found.as_deref().unwrap_or("MISSING");
            sayln!("  {:14} {state}  ({})", item.name, item.what_for);
        }
        if missing {
            sayln!("install what is missing:\n  {INSTALL}");
        } else {
            sayln!("everything that is needed is here");
        }
    }
    Ok(if missing { Exit::Error } else { Exit::Clean })
}

/// How much each room does at most.
fn list_budgets(json: bool) {
    let all = budgets::all();
    if json {
        let list: Vec<_> = all
            .iter()
            .map(
                |b| json!({ "room": b.room, "name": b.name, "value": b.value, "reason": b.reason }),
            )
            .collect();
        sayln!("{}", json!({ "budgets": list }));
        return;
    }
    for room in all.chunk_by(|a, b| a.room == b.room) {
        sayln!("{}", room[0].room);
        for budget in room {
            sayln!("  {} = {}\n      {}", budget.name, budget.value, budget.reason);
        }
    }
}

fn cxx_headers() -> Option<String> {
    let entries = std::fs::read_dir("/usr/include/c++").ok()?;
    let mut versions: Vec<String> =
        entries.filter_map(|e| Some(e.ok()?.file_name().to_string_lossy().into_owned())).collect();
    versions.sort();
    versions.pop().map(|v| format!("libstdc++ {v}"))
}
