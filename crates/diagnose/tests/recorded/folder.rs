//! Recorded executions as a folder of the format.

use std::path::Path;

use unravel_trace::Rng;

use crate::program::{Machine, Told};

/// What is left to the one who records.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// No thread is marked with its assertion.
    pub unmarked: bool,
    /// Executions but the first are only traces of single threads, in a subfolder.
    pub subfolder: bool,
    /// Without `branch-` and `pathid-`.
    pub bare: bool,
    /// Lines that nobody knows.
    pub noise: bool,
}

/// The file of one thread.
pub fn text(told: &Told, style: Style) -> String {
    let mut text = String::new();
    let mut say = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    match told.held {
        Some(held) if !style.unmarked => {
            say(if held { "<assertThread_ok>" } else { "<assertThread_fail>" });
        }
        _ => {}
    }
    for (nth, line) in told.lines.iter().enumerate() {
        if !(style.bare && line.starts_with("branch-")) {
            say(line);
        }
        if style.noise && nth == 1 {
            say("gc-77 was here");
            say("p.java@3:Q-probe_1-0");
        }
    }
    if !told.conditions.is_empty() {
        say("<pathjpf>");
        told.conditions.iter().for_each(|condition| say(condition));
        if !style.bare {
            say(&format!("pathid-1{}", told.bits));
        }
    }
    text
}

/// Writes executions, under numbers that may be negative.
pub fn write(directory: &Path, executions: &[Machine], style: Style, rng: &mut Rng) {
    for (nth, machine) in executions.iter().enumerate() {
        // Ascending, so that the first stays the first.
        let execution = nth as i64 * 1000 - 1500;
        for (id, told) in machine.told() {
            let path = i64::from(rng.below(100_000)) - 50_000;
            let name = format!("T{id}_{execution}_{path}");
            let place = match style.subfolder && nth > 0 {
                true => directory.join("more"),
                false => directory.to_owned(),
            };
            std::fs::create_dir_all(&place).expect("a folder");
            std::fs::write(place.join(name), text(told, style)).expect("writes");
        }
    }
}
