//! How a report may look, by what the user's terminal can show.

use std::io::IsTerminal;
use std::sync::OnceLock;

use unravel_report::terminal::Style;

use crate::flags::Color;
use crate::show::terminal_width;

/// Columns of a report where nobody says how many there are.
const WIDTH: usize = 100;

/// What a shell, or whoever reads our output, says of its width.
fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
}

/// What `--color` says.
static WANTED: OnceLock<Color> = OnceLock::new();

/// Takes what `--color` says, once, before anything is printed.
pub fn want(color: Color) {
    let _ = WANTED.set(color);
}

/// Whether standard output gets colours: by the flag, else by the environment, else on a terminal.
fn is_coloured() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let is_forced =
        is_set("CLICOLOR_FORCE") && std::env::var_os("CLICOLOR_FORCE") != Some("0".into());
    match WANTED.get().copied().unwrap_or_default() {
        Color::Always => true,
        Color::Never => false,
        // Who says NO_COLOR means it; else who asks for colour gets it, also through a pipe.
        Color::Auto => !is_set("NO_COLOR") && (is_forced || std::io::stdout().is_terminal()),
    }
}

/// The style of standard output.
pub fn style() -> Style {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    Style {
        color: is_coloured(),
        width: terminal_width().or_else(columns).unwrap_or(WIDTH),
        brief: false,
        // Without any locale somebody reads a log; those are UTF-8.
        unicode: locale.is_none_or(|l| l.to_uppercase().replace('-', "").contains("UTF8")),
    }
}
