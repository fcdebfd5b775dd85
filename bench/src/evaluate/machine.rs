//! What it was measured on: processor, cores, memory, compiler, commit. No names of hosts, users or folders.

use std::process::Command;

use xtask::workspace;

/// In one line.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let processor = field("/proc/cpuinfo", "model name").unwrap_or("an unknown processor".into());
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok())
        .map_or(String::new(), |kilobytes| format!(", {:.0} GB", kilobytes / 1024.0 / 1024.0));
    let commit = said("git", &["rev-parse", "--short=12", "HEAD"]).unwrap_or("unknown".into());
    let changed = said("git", &["status", "--porcelain", "--untracked-files=no"]);
    let changed = if changed.is_some_and(|files| !files.is_empty()) { " with changes" } else { "" };
    format!("Measured on {cores} cores ({processor}{memory}), commit {commit}{changed}")
}

/// The value of the first line `key: value`.
fn field(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new(program).args(arguments).current_dir(workspace::root()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
